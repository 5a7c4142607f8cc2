"""The server: its application, and its socket."""

import asyncio
import errno
import logging
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from generator.errors import LocalKaggleError
from generator.files import reason
from generator.localkaggle.endpoints import (
    CALLER,
    Authentication,
    Limits,
    RequestBodies,
    ServerState,
    Workers,
    api_routes,
    make_protocol,
    refusal_response,
    server_state,
)
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import ApiError
from generator.localkaggle.web.views import BrowserLogin
from generator.text import printable

# The application: which endpoint answers which path, with the authentication in front of all of them.


def application(local_kaggle: LocalKaggle, workers: Workers, limits: Limits, *, hosts: tuple[str, ...] = ()) -> ASGIApp:
    """Everything that the server answers; `hosts` are names that it answers to beside those of the loopback."""
    routes = [*api_routes(), Mount("/", BrowserLogin(_pages))]
    app = Starlette(routes=routes, exception_handlers={ApiError: _handle_api_error, HTTPException: _handle_http_error})
    app.router.redirect_slashes = False
    app.state.server = ServerState(local_kaggle, workers, RequestBodies(limits))
    return Authentication(app, local_kaggle.accounts, limits, pages_host=local_kaggle.pages_host, hosts=hosts)


async def _pages(scope: Scope, receive: Receive, send: Send) -> None:
    router = await server_state(Request(scope)).workers.run_page(_page_router)
    await router(scope, receive, send)


def _page_router() -> ASGIApp:
    # The pages take a moment to import, which the start of the server does not wait for.
    from generator.localkaggle.web.pages import ROUTER

    return ROUTER


async def _handle_api_error(_: Request, error: Any) -> Response:
    return refusal_response(error.status, error.message)


async def _handle_http_error(request: Request, error: Any) -> Response:
    if not request.scope[CALLER]:
        return refusal_response(error.status_code, error.detail)
    return await server_state(request).workers.run_page(_unrouted_page, request, error.status_code)


def _unrouted_page(request: Request, status: int) -> Response:
    from generator.localkaggle.web.pages import error_page

    return error_page(request, status)


_LOG = logging.getLogger(__name__)

_LOOPBACK = "127.0.0.1"
_LONGEST_BACKLOG = 128
_FILES_PER_CONNECTION = 2  # one is the connection; the other half is for files, the database and sessions
_KEEP_ALIVE_SECONDS = 20
_GRACE_SECONDS = 1


@dataclass(frozen=True)
class Listening:
    """The address that the server listens at, and host names that it answers to beside those of the loopback."""

    host: str = _LOOPBACK
    port: int = 0
    hosts: tuple[str, ...] = ()


class Server:
    """A local Kaggle that listens; `run` serves in this thread, `start` in one of its own."""

    def __init__(
        self, local_kaggle: LocalKaggle, listening: Listening | None = None, *, limits: Limits | None = None
    ) -> None:
        """Opens the socket, so that the address is known.

        Raises:
            LocalKaggleError: The port is taken, or may not be used.
        """
        listening = listening or Listening()
        limits = _within_open_files(limits or Limits())
        # So many are taken at once before any of them can give way.
        backlog = min(_LONGEST_BACKLOG, max(limits.connections // 8, 1))
        self._socket = _open_socket(listening, backlog)
        self._workers = Workers(limits)
        config = uvicorn.Config(
            application(local_kaggle, self._workers, limits, hosts=listening.hosts),
            http=make_protocol(limits),
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",  # what is no HTTP is the client's affair; `Authentication` tells of our mistakes
            access_log=False,
            server_header=False,
            proxy_headers=False,  # nobody stands between it and its clients
            backlog=backlog,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        self._uvicorn = _Uvicorn(config)
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """The origin at which the server is reached, without a final slash."""
        host, port = self._socket.getsockname()[:2]
        host_name = {"0.0.0.0": _LOOPBACK, "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
        return f"http://[{host_name}]:{port}" if ":" in host_name else f"http://{host_name}:{port}"

    def run(self) -> None:
        """Serves until `end` is called, by a handler of signals or another thread."""
        try:
            asyncio.run(self._serve())
        finally:
            self._close()

    async def _serve(self) -> None:
        asyncio.get_running_loop().set_exception_handler(_OpenFilesUsedUp())
        await self._uvicorn.serve(sockets=[self._socket])

    def start(self) -> None:
        """Serves in a thread of its own; requests are taken from now on, and answered in a moment."""
        self._thread = threading.Thread(target=self.run, name="local-kaggle", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Has the server end soon: what is being answered gets a moment, and nothing new is taken."""
        self._uvicorn.should_exit = True

    def stop(self) -> None:
        """Ends what `start` began, and waits for it."""
        self.end()
        if self._thread is not None:
            self._thread.join()
        self._close()

    def _close(self) -> None:
        self._workers.close()
        self._socket.close()


class _OpenFilesUsedUp:
    """Says in one line a minute that no connection can be taken; asyncio tries again each second."""

    def __init__(self) -> None:
        self._next_line = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an error that asyncio met outside of any task."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + 60
            _LOG.warning("No connection can be accepted: too many open files. End some programs, or raise `ulimit -n`.")


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals to the program: uvicorn would end it before its sessions are stopped."""
        yield


def _within_open_files(limits: Limits) -> Limits:
    """Return the limits with as many connections as the files that this process may open allow, after raising those."""
    file_limit = _FILES_PER_CONNECTION * limits.connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < file_limit:
        soft = file_limit if hard == resource.RLIM_INFINITY else min(file_limit, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        limits = replace(limits, connections=max(soft // _FILES_PER_CONNECTION, 1))
    return limits


def _open_socket(listening: Listening, backlog: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    try:
        server_socket = socket.create_server((listening.host, listening.port), family=family, backlog=backlog)
    except (OSError, OverflowError) as error:
        cause = error if isinstance(error, OSError) else OSError(str(error))
        raise LocalKaggleError(
            f"Cannot listen at {printable(listening.host)}:{listening.port}: {reason(cause)}. "
            "Choose another --port, or 0 for any free one."
        ) from error
    # asyncio does so only where a socket names its protocol; the accepted ones inherit it. Without it, an answer in two
    # parts waits 40 ms for the client to acknowledge the first.
    server_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return server_socket
