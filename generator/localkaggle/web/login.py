"""The login of browsers, in front of the pages: an address with the token sets a cookie; strangers get no page."""

from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from generator.localkaggle.endpoints import BASE, CALLER, PAGES, cookie_name, cookie_value
from generator.localkaggle.protocol import refusal_response, server_state
from generator.localkaggle.services.kernel_records import (
    Accounts,
)


class BrowserLogin:
    """ASGI middleware that lets those through to the pages who are logged in, and forms of our own pages only."""

    def __init__(self, pages: ASGIApp) -> None:
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        request = Request(scope)
        if request.method not in ("GET", "HEAD", "POST"):
            raise HTTPException(405)
        state = server_state(request)
        answer: ASGIApp = self._pages
        if request.method == "GET" and request.query_params.get("token"):
            answer = await state.workers.run_page(_log_in, request, state.local_kaggle.accounts)
        elif not scope[CALLER]:
            answer = await state.workers.run_page(_sign_in)
        elif request.method == "POST" and _is_foreign(request):
            answer = refusal_response(403, "A form is taken from this server's own pages only.")
        await answer(scope, receive, send)


def _log_in(request: Request, accounts: Accounts) -> Response:
    name = accounts.with_token(request.query_params["token"])
    if name is None:
        return _sign_in(is_wrong=True)
    # Two slashes at its beginning would make a path an address of another host.
    target = f"/{request.url.path.lstrip('/')}"
    if pages := request.scope[PAGES]:
        target = f"{pages}{target}?{urlencode({'token': request.query_params['token']})}"
        return RedirectResponse(target, status_code=303, headers={"Cache-Control": "no-store"})
    # The token leaves the address bar, and with it the history and what is copied from there.
    answer = RedirectResponse(target, status_code=303, headers={"Cache-Control": "no-store"})
    value = cookie_value(accounts, name)
    answer.set_cookie(cookie_name(request.scope), value, httponly=True, samesite="strict", path="/")
    return answer


def _sign_in(*, is_wrong: bool = False) -> Response:
    # Templates take a moment to import, which the start of the server does not wait for.
    from generator.localkaggle.web.views import sign_in

    return sign_in(is_wrong=is_wrong)


def _is_foreign(request: Request) -> bool:
    """True if a page of another origin sent a form."""
    site = request.headers.get("sec-fetch-site")
    return request.headers.get("origin") != request.scope[BASE] or site not in (None, "same-origin")
