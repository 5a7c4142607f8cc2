"""The application: which endpoint answers which path, with the authentication in front of all of them."""

from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from generator.localkaggle.download_links import STORAGE
from generator.localkaggle.http.api_methods import call_method
from generator.localkaggle.http.authentication import CALLER, Authentication
from generator.localkaggle.http.fault_rules import fault_rules
from generator.localkaggle.http.file_transfer import download, upload
from generator.localkaggle.http.limits import Limits
from generator.localkaggle.http.log_stream import log_stream
from generator.localkaggle.http.login import BrowserLogin
from generator.localkaggle.http.request_bodies import RequestBodies
from generator.localkaggle.http.responses import refusal
from generator.localkaggle.http.server_state import ServerState, Workers, state_of
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import ApiError
from generator.localkaggle.services.blobs import UPLOAD


def application(local_kaggle: LocalKaggle, workers: Workers, limits: Limits, *, hosts: tuple[str, ...] = ()) -> ASGIApp:
    """Everything that the server answers; `hosts` are names that it answers to beside those of the loopback."""
    routes: list[Route | Mount] = [
        Route(f"/{STORAGE}/{{ticket}}/{{name}}", download, methods=["GET"]),
        Route(f"/{UPLOAD}/{{token}}", upload, methods=["PUT"]),
        Route("/local/faults", fault_rules, methods=["GET", "POST"]),
    ]
    # Real Kaggle serves the API at api.kaggle.com/v1; clients put /api before it for any other host.
    for prefix in ("/api/v1", "/v1"):
        routes += [
            Route(f"{prefix}/kernels/logs/stream/{{owner}}/{{slug}}", log_stream, methods=["GET"]),
            Route(f"{prefix}/{{service}}/{{method}}", call_method, methods=["POST"]),
        ]
    routes.append(Mount("/", BrowserLogin(_pages)))
    app = Starlette(routes=routes, exception_handlers={ApiError: _refused, HTTPException: _unrouted})
    app.router.redirect_slashes = False
    app.state.server = ServerState(local_kaggle, workers, RequestBodies(limits))
    return Authentication(app, local_kaggle.accounts, limits, pages_host=local_kaggle.pages_host, hosts=hosts)


async def _pages(scope: Scope, receive: Receive, send: Send) -> None:
    router = await state_of(Request(scope)).workers.run_page(_page_router)
    await router(scope, receive, send)


def _page_router() -> ASGIApp:
    # The pages take a moment to import, which the start of the server does not wait for.
    from generator.localkaggle.web.routes import ROUTER

    return ROUTER


async def _refused(_: Request, error: Any) -> Response:
    return refusal(error.status, error.message)


async def _unrouted(request: Request, error: Any) -> Response:
    if not request.scope[CALLER]:
        return refusal(error.status_code, error.detail)
    return await state_of(request).workers.run_page(_unrouted_page, request, error.status_code)


def _unrouted_page(request: Request, status: int) -> Response:
    from generator.localkaggle.web.routes import unrouted

    return unrouted(request, status)
