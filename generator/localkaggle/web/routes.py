"""The routes of the pages: which function answers which path, and the page that is shown where nothing does."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import ClassVar

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from generator.localkaggle.http.server_state import state_of
from generator.localkaggle.rpc import ApiError
from generator.localkaggle.web import (
    competition_pages,
    dataset_and_model_pages,
    edit_pages,
    home_pages,
    kernel_pages,
    submit_pages,
)
from generator.localkaggle.web.page_request import PageRequest
from generator.localkaggle.web.templating import static_response

_HEADINGS = {403: "You may not see this", 404: "There is nothing here", 405: "This is not how it is asked for"}
_UNROUTED = {
    404: "The address may have been mistyped, or what was here is gone.",
    405: "Follow a link or press a button of one of the pages.",
}


class _Name(Convertor[str]):
    """The name of an account, a kernel, a competition or the like."""

    regex: ClassVar[str] = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"

    def convert(self, value: str) -> str:
        return value


class _File(_Name):
    """The name of a file, with folders."""

    regex: ClassVar[str] = r"(?s:.{1,1000})"


register_url_convertor("name", _Name())
register_url_convertor("file", _File())


def _page(path: str, answer: Callable[..., Response]) -> Route:
    return Route(path, _endpoint(answer), methods=["GET"])


def _form(path: str, answer: Callable[..., Response]) -> Route:
    """A page with a form that is sent to its own address."""
    return Route(path, _endpoint(answer), methods=["GET", "POST"])


def _endpoint(answer: Callable[..., Response]) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a route, whose function is called with a `PageRequest` and what the path names, by keyword."""

    async def endpoint(request: Request) -> Response:
        state = state_of(request)
        body = state.bodies.whole(request, most=state.bodies.limits.largest_form)
        async with body if request.method == "POST" else nullcontext(b"") as sent:
            page_request = PageRequest(state.local_kaggle, request, sent)
            return await state.workers.run_page(answered, answer, page_request)

    return endpoint


def answered(answer: Callable[..., Response], page_request: PageRequest) -> Response:
    """The page that a function makes, or one that says why it is refused."""
    try:
        return answer(page_request, **page_request.request.path_params)
    except ApiError as error:
        return _refusal(page_request, error)


def unrouted(request: Request, status: int) -> Response:
    """The page where no route answers a request."""
    return _refusal(PageRequest(state_of(request).local_kaggle, request), ApiError(status, _UNROUTED[status]))


def _refusal(page_request: PageRequest, error: ApiError) -> Response:
    return page_request.render(
        "message.html.j2",
        here="",
        status=error.status,
        eyebrow=str(error.status),
        heading=_HEADINGS.get(error.status, "That did not work"),
        sentence=error.message,
        onward=("Go to the first page", "/"),
    )


ROUTES = (
    _page("/", home_pages.home),
    _page("/sessions", home_pages.sessions),
    _page("/quota", home_pages.sessions),
    _page("/work", home_pages.sessions),
    _page("/competitions", competition_pages.listing),
    _page("/competitions/{slug:name}", competition_pages.overview),
    _page("/competitions/{slug:name}/data", competition_pages.data),
    _page("/competitions/{slug:name}/data.zip", competition_pages.archive),
    _page("/competitions/{slug:name}/data/{file:file}", competition_pages.data_file),
    _page("/competitions/{slug:name}/code", competition_pages.code),
    _page("/competitions/{slug:name}/leaderboard", competition_pages.leaderboard),
    _page("/competitions/{slug:name}/submissions", competition_pages.submissions),
    _form("/competitions/{slug:name}/submit", submit_pages.submit_to),
    _page("/submissions", competition_pages.all_submissions),
    _page("/code", kernel_pages.listing),
    _form("/code/new", edit_pages.new),
    _page("/code/{owner:name}/{kernel:name}", kernel_pages.notebook),
    _page("/code/{owner:name}/{kernel:name}/log", kernel_pages.log),
    _page("/code/{owner:name}/{kernel:name}/log.json", kernel_pages.log_news),
    _page("/code/{owner:name}/{kernel:name}/log.txt", kernel_pages.log_file),
    _page("/code/{owner:name}/{kernel:name}/output", kernel_pages.output),
    _page("/code/{owner:name}/{kernel:name}/output.zip", kernel_pages.output_archive),
    _page("/code/{owner:name}/{kernel:name}/output/{file:file}", kernel_pages.output_file),
    _page("/code/{owner:name}/{kernel:name}/versions", kernel_pages.versions),
    _form("/code/{owner:name}/{kernel:name}/edit", edit_pages.edit),
    _form("/code/{owner:name}/{kernel:name}/copy", edit_pages.copy),
    _form("/code/{owner:name}/{kernel:name}/submit", submit_pages.submit_version),
    _form("/code/{owner:name}/{kernel:name}/delete", kernel_pages.delete),
    _page("/datasets", dataset_and_model_pages.datasets),
    _page("/datasets/{owner:name}/{slug:name}", dataset_and_model_pages.dataset),
    _page("/datasets/{owner:name}/{slug:name}/archive.zip", dataset_and_model_pages.dataset_archive),
    _page("/models", dataset_and_model_pages.models),
    _page("/models/{owner:name}/{slug:name}", dataset_and_model_pages.model),
    _page("/models/{owner:name}/{slug:name}/{framework:name}/{variation:name}", dataset_and_model_pages.model),
    _page(
        "/models/{owner:name}/{slug:name}/{framework:name}/{variation:name}/archive.tar.gz",
        dataset_and_model_pages.model_archive,
    ),
    _page("/static/{version:name}/{file:name}", lambda _, version, file: static_response(version, file)),
)
ROUTER = Router(ROUTES, redirect_slashes=False)
