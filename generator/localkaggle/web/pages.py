"""The pages of a local Kaggle: what answers which path, and what is said where nothing does."""

from http import HTTPStatus

from generator.localkaggle.rpc import ApiError
from generator.localkaggle.web import (
    competition_pages,
    edit_pages,
    home_pages,
    kernel_pages,
    library_pages,
    submit_pages,
)
from generator.localkaggle.web.asking import LocalKaggleApi
from generator.localkaggle.web.request import WebAnswer, WebRequest
from generator.localkaggle.web.routes import Route, find, methods_of
from generator.localkaggle.web.templating import static_answer
from generator.localkaggle.web.visit import Visit

ROUTES = (
    Route("GET", "/", home_pages.home),
    Route("GET", "/sessions", home_pages.sessions),
    Route("GET", "/quota", home_pages.sessions),
    Route("GET", "/work", home_pages.sessions),
    Route("GET", "/competitions", competition_pages.listing),
    Route("GET", "/competitions/<slug>", competition_pages.overview),
    Route("GET", "/competitions/<slug>/data", competition_pages.data),
    Route("GET", "/competitions/<slug>/data.zip", competition_pages.archive),
    Route("GET", "/competitions/<slug>/data/<file>", competition_pages.data_file),
    Route("GET", "/competitions/<slug>/code", competition_pages.code),
    Route("GET", "/competitions/<slug>/leaderboard", competition_pages.leaderboard),
    Route("GET", "/competitions/<slug>/submissions", competition_pages.submissions),
    Route("GET", "/competitions/<slug>/submit", submit_pages.choose),
    Route("POST", "/competitions/<slug>/submit", submit_pages.submit_file),
    Route("GET", "/submissions", competition_pages.all_submissions),
    Route("GET", "/code", kernel_pages.listing),
    Route("GET", "/code/new", edit_pages.new),
    Route("POST", "/code/new", edit_pages.save_new),
    Route("GET", "/code/<owner>/<kernel>", kernel_pages.notebook),
    Route("GET", "/code/<owner>/<kernel>/log", kernel_pages.log),
    Route("GET", "/code/<owner>/<kernel>/log.json", kernel_pages.log_news),
    Route("GET", "/code/<owner>/<kernel>/log.txt", kernel_pages.log_file),
    Route("GET", "/code/<owner>/<kernel>/output", kernel_pages.output),
    Route("GET", "/code/<owner>/<kernel>/output.zip", kernel_pages.output_archive),
    Route("GET", "/code/<owner>/<kernel>/output/<file>", kernel_pages.output_file),
    Route("GET", "/code/<owner>/<kernel>/versions", kernel_pages.versions),
    Route("GET", "/code/<owner>/<kernel>/edit", edit_pages.edit),
    Route("POST", "/code/<owner>/<kernel>/edit", edit_pages.save_edit),
    Route("GET", "/code/<owner>/<kernel>/copy", edit_pages.copy),
    Route("POST", "/code/<owner>/<kernel>/copy", edit_pages.save_copy),
    Route("GET", "/code/<owner>/<kernel>/submit", submit_pages.form),
    Route("POST", "/code/<owner>/<kernel>/submit", submit_pages.submit),
    Route("GET", "/code/<owner>/<kernel>/delete", kernel_pages.deletion),
    Route("POST", "/code/<owner>/<kernel>/delete", kernel_pages.delete),
    Route("GET", "/datasets", library_pages.datasets),
    Route("GET", "/datasets/<owner>/<slug>", library_pages.dataset),
    Route("GET", "/datasets/<owner>/<slug>/archive.zip", library_pages.dataset_archive),
    Route("GET", "/models", library_pages.models),
    Route("GET", "/models/<owner>/<slug>", library_pages.model),
    Route("GET", "/models/<owner>/<slug>/<framework>/<variation>", library_pages.model),
    Route("GET", "/models/<owner>/<slug>/<framework>/<variation>/archive.tar.gz", library_pages.model_archive),
    Route("GET", "/static/<stamp>/<file>", lambda visit, stamp, file: static_answer(stamp, file) or _nothing(visit)),
)
_HEADINGS = {403: "You may not see this", 404: "There is nothing here", 405: "This is not how it is asked for"}


class Pages:
    """Answers what no method of the API is asked for."""

    def __init__(self, local_kaggle: LocalKaggleApi) -> None:
        self._local_kaggle = local_kaggle

    def answer(self, request: WebRequest) -> WebAnswer:
        """The page at a path; a page that says so where there is none, or where the API refuses."""
        visit = Visit(self._local_kaggle, request)
        found = find(ROUTES, request.method, request.path)
        try:
            if found is not None:
                return found.answering(visit, **found.places)
            if methods_of(ROUTES, request.path):
                raise ApiError(HTTPStatus.METHOD_NOT_ALLOWED, "Follow a link or press a button of one of the pages.")
        except ApiError as error:
            return _refusal(visit, error)
        return _nothing(visit)


def _nothing(visit: Visit) -> WebAnswer:
    return _refusal(
        visit, ApiError(HTTPStatus.NOT_FOUND, "The address may have been mistyped, or what was here is gone.")
    )


def _refusal(visit: Visit, error: ApiError) -> WebAnswer:
    return visit.page(
        "message.html.j2",
        here="",
        status=error.status,
        eyebrow=str(int(error.status)),
        heading=_HEADINGS.get(error.status, "That did not work"),
        sentence=error.message,
        onward=("Go to the first page", "/"),
    )
