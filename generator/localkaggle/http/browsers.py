"""The pages for people, and how a browser logs in: an address with the token sets a cookie."""

from contextlib import AbstractAsyncContextManager, nullcontext
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from generator.localkaggle.http.answers import refused
from generator.localkaggle.http.bodies import Bodies
from generator.localkaggle.http.calls import Workers
from generator.localkaggle.http.door import BASE, CALLER, Door, cookie_name
from generator.localkaggle.http.storage import sent
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import ApiError
from generator.localkaggle.web.request import WebAnswer, WebRequest

_POLICY = {"Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"}


class Browsers:
    """Answers whatever is no call of the API."""

    def __init__(self, local_kaggle: LocalKaggle, workers: Workers, bodies: Bodies) -> None:
        self._accounts = local_kaggle.accounts
        self._local_kaggle = local_kaggle
        self._workers = workers
        self._bodies = bodies
        self.door: Door | None = None

    async def __call__(self, request: Request) -> Response:
        """Answers a page."""
        if request.query_params.get("token") and request.method == "GET":
            return await self._workers.run(self._log_in, request)
        if not request.scope[CALLER]:
            return _as_response(await self._workers.run(_sign_in))
        try:
            sent_body: AbstractAsyncContextManager[bytes] = nullcontext(b"")
            if request.method == "POST":
                _refuse_foreign(request)
                sent_body = self._bodies.whole(request, most=self._bodies.limits.largest_form)
            async with sent_body as body:
                answer = await self._workers.run_page(self._answer, _web_request(request, body))
        except ApiError as error:
            return refused(error)
        return _as_response(answer)

    def _answer(self, request: WebRequest) -> WebAnswer:
        # Templates take a moment to import, which the start of the server does not wait for.
        from generator.localkaggle.web.pages import Pages

        return Pages(self._local_kaggle).answer(request)

    def _log_in(self, request: Request) -> Response:
        name = self._accounts.with_token(request.query_params["token"])
        if name is None or self.door is None:
            return _as_response(_sign_in(is_wrong=True))
        # The token leaves the address bar, and with it the history and what is copied from there.
        # Two slashes at its beginning would make a path an address of another host.
        place = f"/{request.url.path.lstrip('/')}"
        answer = RedirectResponse(place, status_code=303, headers={"Cache-Control": "no-store"})
        answer.set_cookie(
            cookie_name(dict(request.scope)), self.door.cookie_value(name), httponly=True, samesite="strict", path="/"
        )
        return answer


def _sign_in(*, is_wrong: bool = False) -> WebAnswer:
    from generator.localkaggle.web.templating import sign_in

    return sign_in(is_wrong=is_wrong)


def _refuse_foreign(request: Request) -> None:
    """Refuses a form that a page of another origin sent."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site")
    if origin != request.scope[BASE] or site not in (None, "same-origin"):
        raise ApiError(403, "A form is taken from this server's own pages only.")


def _web_request(request: Request, body: bytes) -> WebRequest:
    # Not of `request.url`, which is put together from the path without its escapes: a `?` in a name would end it.
    query = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return WebRequest(
        method="POST" if request.method == "POST" else "GET",
        path=request.scope["path"],
        base=request.scope[BASE],
        caller=request.scope[CALLER],
        query=dict(query),
        body=body,
        content_type=request.headers.get("content-type", ""),
    )


def _as_response(answer: WebAnswer) -> Response:
    if answer.stored is not None:
        return sent(answer.stored)
    headers = {**_POLICY, **answer.headers}
    return Response(answer.body, status_code=answer.status, media_type=answer.media_type, headers=headers)
