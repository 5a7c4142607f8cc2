"""The endpoints of a local Kaggle: authentication, the API's methods, files, logs, login."""

import asyncio
import base64
import contextlib
import functools
import hashlib
import hmac
import ipaddress
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar, TypeVar

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from generator.errors import LocalKaggleError
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import TRANSPORT as NAMES
from generator.localkaggle.rpc import (
    Answer,
    ApiCall,
    ApiError,
    Content,
    FaultRule,
    Faults,
    Redirect,
    StoredFile,
    file_moment,
    parse_rule,
)
from generator.localkaggle.services.kernel_records import OPEN_METHODS, Accounts
from generator.localkaggle.services.kernels import SAVE_KERNEL
from generator.localkaggle.storage import STORAGE, UPLOAD, Blob, is_disk_full, open_given
from generator.sessions.notebook_runner import LogPiece
from generator.text import parsed_json

# Limits of the time that the server waits for a client, and of the bytes that it takes from one.


KIB, MIB = 2**10, 2**20
LARGEST_FORM = 32 * MIB


@dataclass(frozen=True)
class Limits:
    """Bounds that keep one client from using up the server.

    Attributes:
        head_seconds: How long the head of a request may take from the first byte, or from the opening of a connection.
        body_seconds: How long the whole body of a call may take.
        idle_seconds: How long an upload may send nothing, and a reader take nothing.
        largest_head: The most bytes of a request's head.
        largest_open: The most bytes of a call that needs no credentials: a token, and some more.
        largest_call: The most bytes of a call's JSON: the names of some ten thousand uploads.
        largest_notebook: The most bytes of a call that saves a notebook.
        largest_form: The most bytes of a form, which may have a file in it.
        small_body: What is read of any body; more of it than that is read of a few at a time only.
        large_bodies: How many larger bodies are read and worked on at once.
        connections: The most connections at once.
        threads: How many calls are worked on at once.
        page_threads: How many pages are made at once, beside the calls: a notebook can take seconds to be rendered.
    """

    head_seconds: float = 15
    body_seconds: float = 60
    idle_seconds: float = 60
    largest_head: int = 64 * 1024
    largest_open: int = 8 * KIB
    largest_call: int = 4 * MIB
    largest_notebook: int = 16 * MIB
    largest_form: int = LARGEST_FORM
    small_body: int = 64 * KIB
    large_bodies: int = 2
    connections: int = 1_000
    threads: int = 8
    page_threads: int = 3

    def largest_of(self, method: str) -> int:
        """The most bytes of a call of a method."""
        if method in OPEN_METHODS:
            return self.largest_open
        return self.largest_notebook if method == SAVE_KERNEL else self.largest_call


# Reading what a client sends, within bounds of size and time.


_PIECE = 1 << 20


class RequestBodies:
    """Reads bodies that are needed as a whole; of the larger ones, only a few are in memory at a time."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._large = asyncio.Semaphore(limits.large_bodies)

    @asynccontextmanager
    async def whole(self, request: Request, *, most: int) -> AsyncIterator[bytes]:
        """The body of a request, to be worked on inside of the `with`: what is made of it takes memory as well.

        Raises:
            ApiError: 413 if it is larger than `most`, 408 if it does not come in time, 400 if the client breaks off.
        """
        _refuse_announced(request, most)
        async with AsyncExitStack() as turn:
            try:
                async with asyncio.timeout(self.limits.body_seconds):
                    body = await self._read(request, most, turn)
            except TimeoutError as error:
                raise ApiError(408, "The body of the request did not come in time.") from error
            except ClientDisconnect as error:
                raise ApiError(400, "The body of the request was not sent to its end.") from error
            yield body

    async def _read(self, request: Request, most: int, turn: AsyncExitStack) -> bytes:
        body, is_large = bytearray(), False
        async for piece in request.stream():
            body += piece
            if len(body) > most:
                raise _too_large(most)
            if len(body) > self.limits.small_body and not is_large:
                await turn.enter_async_context(self._large)
                is_large = True
        return bytes(body)


async def pieces(request: Request, limits: Limits, *, most: int) -> AsyncIterator[bytes]:
    """The body of an upload in pieces of about a megabyte; ends where the client breaks off.

    Raises:
        ApiError: 413 if it is larger than announced, 408 if nothing comes for long.
    """
    _refuse_announced(request, most)
    stream = request.stream()
    size, buffer = 0, bytearray()
    while True:
        try:
            async with asyncio.timeout(limits.idle_seconds):
                piece = await anext(stream)
        except (StopAsyncIteration, ClientDisconnect):
            break
        except TimeoutError as error:
            raise ApiError(408, "Nothing of the upload came for a while.") from error
        size += len(piece)
        if size > most:
            raise _too_large(most)
        buffer += piece
        if len(buffer) >= _PIECE:
            yield bytes(buffer)
            buffer.clear()
    if buffer:
        yield bytes(buffer)


def _refuse_announced(request: Request, most: int) -> None:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > most:
        raise _too_large(most)


def _too_large(most: int) -> ApiError:
    return ApiError(413, f"The body of a request may have up to {most:,} bytes here.")


# The application's state: the local Kaggle, the threads that answer for it, and what is taken from a client.


Result = TypeVar("Result")


class Workers:
    """The few threads in which everything happens that may wait for the database or the disk, and those of pages."""

    def __init__(self, limits: Limits) -> None:
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="local-kaggle")
        self._pages = ThreadPoolExecutor(limits.page_threads, thread_name_prefix="local-kaggle-page")

    async def run(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Calls a function in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def run_page(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Calls a function that makes a page, which no call of the API waits for."""
        return await asyncio.get_running_loop().run_in_executor(self._pages, function, *arguments)

    def close(self) -> None:
        """Lets the threads end once their work is done."""
        for pool in (self._pool, self._pages):
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class ServerState:
    """The parts of the server that every endpoint works with."""

    local_kaggle: LocalKaggle
    workers: Workers
    bodies: RequestBodies


def server_state(request: Request) -> ServerState:
    """The state of the application that a request came to."""
    state: ServerState = request.app.state.server
    return state


# Responses as Kaggle writes them: JSON with a code and a message where it refuses.


def refusal_response(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """An error of the API."""
    return JSONResponse({"code": status, "message": message}, status_code=status, headers=dict(headers or {}))


def response_to(answer: Answer) -> Response:
    """The response with what a method answered."""
    if isinstance(answer, Redirect):
        return Response(status_code=302, headers={"Location": answer.url})
    if isinstance(answer, Content):
        return Response(answer.body, media_type=answer.media_type)
    return Response(json.dumps(answer), media_type="application/json")


def parse_json_object(body: bytes) -> dict[str, Any]:
    """The JSON object in the body of a call; an empty body is an empty one.

    Raises:
        ApiError: 400; it is something else.
    """
    try:
        fields = parsed_json(body) if body else {}
    except ValueError as error:
        raise ApiError(400, "The body of the request is not JSON.") from error
    if not isinstance(fields, dict):
        raise ApiError(400, "The body of the request is no JSON object.")
    return fields


TRANSPORT = "tandem.transport"
"""The key of a request's scope with the connection itself."""
_PROTOCOL = "tandem.protocol"

_PAUSE_SECONDS = 0.05


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose request does not get to the end of its head, in time or in size."""

    limits = Limits()
    waiting: ClassVar[dict["BoundedProtocol", None]] = {}
    """The connections without a request of somebody known, the one that has waited longest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn does
        """A client has connected, and should say what it wants soon."""
        super().connection_made(transport)
        # Else whoever opens connections without a token would keep out everybody who has one.
        while self.waiting and len(self.connections) >= self.limits.connections:
            self._drop_longest_waiting()
        self.waiting[self] = None
        self._unknown: asyncio.Task[Any] | None = None
        self._in_head = True
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has left."""
        self.waiting.pop(self, None)
        self._unwatch()
        super().connection_lost(exc)
        if self._unknown is not None:
            self._unknown.cancel()

    def data_received(self, data: bytes) -> None:
        """Some bytes of a head or a body have come."""
        if self._in_head and self._deadline is None:
            self._watch()
        self._head_bytes += len(data) if self._in_head else 0
        super().data_received(data)
        if self._is_refused():
            # What nobody reads any more may come slowly: as fast as it is sent, it would hold up everybody else.
            self.flow.pause_reading()
            self.loop.call_later(_PAUSE_SECONDS, self.flow.resume_reading)
        if self._in_head and self._head_bytes > self.limits.largest_head and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """The head of a request begins."""
        super().on_message_begin()
        scope: dict[str, Any] = self.scope  # type: ignore[assignment] # a key of our own
        scope[TRANSPORT] = self.transport
        scope[_PROTOCOL] = self
        self._in_head = True

    def on_headers_complete(self) -> None:
        """The head of a request is complete."""
        self._in_head = False
        self._head_bytes = 0
        self._unwatch()
        # uvicorn would count what is left of the requests of connections that are gone as well.
        has_room = len(self.connections) < self.limits.connections
        self.limit_concurrency = None if has_room else self.limits.connections
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A request is complete; the next bytes are the head of another one."""
        super().on_message_complete()
        self._in_head = True
        self._unwatch()

    def on_response_complete(self) -> None:
        """A request is answered; of one that was refused, the rest of the body may come, and not without end."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self.waiting[self] = None
        if self._is_refused() and self._deadline is None:
            self._watch()

    def keep_open(self) -> None:
        """The request that is being answered is one of somebody known."""
        self.waiting.pop(self, None)
        self._unknown = None

    def end_with_connection(self, task: "asyncio.Task[Any] | None") -> None:
        """The request that a task answers is one of nobody known."""
        self._unknown = task

    def _is_refused(self) -> bool:
        """True if the newest request was answered while its body still comes."""
        return not self._in_head and self.cycle is not None and self.cycle.response_complete

    def _drop_longest_waiting(self) -> None:
        oldest = next(iter(self.waiting))
        del self.waiting[oldest]
        self.connections.discard(oldest)
        oldest.transport.abort()

    def _watch(self) -> None:
        self._deadline = self.loop.call_later(self.limits.head_seconds, self._give_up)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.abort()


def keep_open(scope: Scope) -> None:
    """Keep the connection of a request with a token or a ticket to the end of its answer, however many others come."""
    if _PROTOCOL in scope:  # tests call the application without a connection
        scope[_PROTOCOL].keep_open()


def end_with_connection(scope: Scope) -> None:
    """End this task, which works for nobody known, when its connection is closed."""
    if _PROTOCOL in scope:
        scope[_PROTOCOL].end_with_connection(asyncio.current_task())


def make_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """The protocol with these bounds."""
    attributes: dict[str, Any] = {"limits": limits, "waiting": {}}
    return type("BoundedProtocol", (BoundedProtocol,), attributes)


# Faults of the transport: a response in place of the right one, half of it, or a connection that is closed.


_LONGEST_STALL = 600
_PAGE = "<!doctype html><html><head><title>Kaggle</title></head><body><h1>We'll be right back</h1></body></html>\n"


class ConnectionBreak(Response):
    """Closes the connection, at once or after a while, and answers nothing."""

    def __init__(self, *, wait: float = 0) -> None:
        super().__init__()
        self._wait = wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Hangs up."""
        if self._wait:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._wait):
                    await _until_gone(receive)
        await hang_up(scope, receive)


class HalfResponse(Response):
    """Sends the first half of another answer, and closes the connection."""

    def __init__(self, whole: Response) -> None:
        super().__init__()
        self._whole = whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends what is to be sent, and hangs up."""
        left = 0

        async def half(message: Message) -> None:
            nonlocal left
            if message["type"] == "http.response.start":
                left = int(dict(message["headers"]).get(b"content-length", b"0")) // 2
                await send(message)
                return
            body = message.get("body", b"")[:left]
            left -= len(body)
            await send({"type": "http.response.body", "body": body, "more_body": True})
            if not left:
                raise _EnoughError

        with contextlib.suppress(_EnoughError):
            await self._whole(scope, receive, half)
        await hang_up(scope, receive)


class _EnoughError(Exception):
    """Half of an answer was sent."""


async def hang_up(scope: Scope, receive: Receive) -> None:
    """Closes the connection, once what was written has left."""
    scope[TRANSPORT].close()
    await _until_gone(receive)


_INSTEAD: dict[str, Callable[[], Response]] = {
    "429": lambda: refusal_response(429, "Too many requests."),
    "429-retry-after": lambda: refusal_response(429, "Too many requests.", headers={"Retry-After": "1"}),
    "500": lambda: refusal_response(500, "Something went wrong on our side."),
    "401": lambda: refusal_response(401, "Unauthenticated."),
    "503-html": lambda: Response(_PAGE, status_code=503, media_type="text/html"),
    "200-html": lambda: Response(_PAGE, media_type="text/html"),
    "drop": lambda: ConnectionBreak(wait=0),
    "stall": lambda: ConnectionBreak(wait=_LONGEST_STALL),
}


def instead(faults: Faults, at: str) -> Response | None:
    """The response that a fault gives without the request being handled; None if it is to be handled."""
    make = _INSTEAD.get(faults.first(list(NAMES), at=at) or "")
    return make() if make is not None else None


async def with_faults(faults: Faults, at: str, answer: Callable[[], Awaitable[Response]]) -> Response:
    """The response to a request, a refusal among them, or what the fault that strikes it makes of that."""
    name = faults.first(list(NAMES), at=at) or ""
    if name in _INSTEAD:
        return _INSTEAD[name]()
    try:
        response = await answer()
    except ApiError as error:
        response = refusal_response(error.status, error.message)
    match name:
        case "500-after":
            return refusal_response(500, "Something went wrong on our side.")
        case "drop-after":
            return ConnectionBreak()
        case "truncate":
            return HalfResponse(response)
    return response


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# The endpoints of a local Kaggle: authentication, the API's methods, files, logs, login.


# Authentication in front of every route: the Host header, the credentials, and how slowly a client may read.


_LOG = logging.getLogger(__name__)

CALLER, BASE, BY_COOKIE, PAGES = "tandem.caller", "tandem.base", "tandem.by_cookie", "tandem.pages"
"""Keys of a request's scope: the account it is made by (empty: none), our origin as the client knows it, whether the
account is known by a cookie, which a browser sends along whoever made the request, and the origin of the pages where
the request came to another one (empty: it did not)."""

_HOST = re.compile(r"(?P<name>[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>\d{1,5}))?")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
# What a page of another origin, or of this one that got through the pages' own policy, could do with an answer.
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


class Authentication:
    """ASGI middleware that refuses other hosts, says who calls, and hangs up on those who stop reading."""

    def __init__(
        self, app: ASGIApp, accounts: Accounts, limits: Limits, *, pages_host: str, hosts: Iterable[str] = ()
    ) -> None:
        """Wraps an application.

        Args:
            app: The routes.
            accounts: Whose credentials count.
            limits: How long a client may take.
            pages_host: The host name of the pages, where a browser's cookie counts.
            hosts: Host names beside the loopback's that the server was told to answer to; `*` for any IP address too.
        """
        self._app = app
        self._accounts = accounts
        self._limits = limits
        self._pages_host = pages_host
        self._hosts = _LOOPBACK_NAMES | {pages_host} | {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        send = self._guard_send(scope, send)
        host = headers.get("host", "")
        # A web page whose name was made to point at this machine (DNS rebinding) sends its own name.
        if not self._is_ours(host) or len(headers.getlist("host")) != 1:
            await refusal_response(403, "This server answers to localhost, 127.0.0.1 and [::1] only.")(
                scope, receive, send
            )
            return
        if not scope["path"].startswith("/"):
            await refusal_response(400, "The target of the request is no path.")(scope, receive, send)
            return
        scope[BASE] = f"http://{host}"
        # Browsers send the cookies of localhost to each of its ports, where a notebook may listen.
        scope[PAGES] = f"http://{self._pages_host}{_port_of(host)}" if _name_of(host) in _LOOPBACK_NAMES else ""
        scope[CALLER], scope[BY_COOKIE] = self._caller(headers, cookie="" if scope[PAGES] else cookie_name(scope))
        (keep_open if scope[CALLER] else end_with_connection)(scope)
        try:
            await self._app(scope, receive, send)
        except Exception:  # noqa: BLE001 - whatever it is, it is told here, and the server goes on
            # The routes have answered with 500 already, or hung up; the path may hold a ticket, and is not told.
            _LOG.exception("A request could not be answered: a mistake of this server.")

    def _is_ours(self, host: str) -> bool:
        name = _name_of(host)
        return name in self._hosts or ("*" in self._hosts and _is_address(name))

    def _caller(self, headers: Headers, *, cookie: str) -> tuple[str, bool]:
        scheme, _, value = headers.get("authorization", "").partition(" ")
        match scheme.lower():
            case "bearer":
                return self._accounts.with_token(value.strip()) or "", False
            case "basic":
                return self._with_basic(value), False
        value = cookie_parser(headers.get("cookie", "")).get(cookie, "") if cookie else ""
        name = value.partition(".")[0]
        if self._accounts.is_known(name) and hmac.compare_digest(
            value.encode(), cookie_value(self._accounts, name).encode()
        ):
            return name, True
        return "", False

    def _with_basic(self, value: str) -> str:
        try:
            name, _, key = base64.b64decode(value.strip(), validate=True).decode().partition(":")
        except ValueError:  # not of ASCII, not of base64, or not of UTF-8
            return ""
        return self._accounts.with_key(name, key) or ""

    def _guard_send(self, scope: Scope, send: Send) -> Send:
        async def send_in_time(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message.get("headers", ())}
                message["headers"] = [*message.get("headers", ()), *(h for h in _HEADERS if h[0] not in present)]
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    await send(message)
            except TimeoutError:
                # Whoever takes nothing for so long does not read any more, and holds a file and memory here.
                scope[TRANSPORT].abort()

        return send_in_time


def has_credentials(request: Request) -> bool:
    """True if the request has credentials that no browser adds on its own, so that no foreign page made it."""
    return bool(request.scope[CALLER]) and not request.scope[BY_COOKIE]


def cookie_value(accounts: Accounts, name: str) -> str:
    """The content of a browser's cookie for an account: proof of its token, and not the token."""
    return f"{name}.{hmac.new(accounts.token(name).encode(), b'cookie', hashlib.sha256).hexdigest()}"


def cookie_name(scope: Scope) -> str:
    """The cookie of this server; cookies know no ports, so the name tells servers of one machine apart."""
    return f"tandem-local-kaggle-{scope['server'][1]}"


def _name_of(host: str) -> str:
    """Return the name in a Host header in lower case; "" if it is none."""
    match = _HOST.fullmatch(host)
    return match["name"].lower() if match is not None else ""


def _port_of(host: str) -> str:
    match = _HOST.fullmatch(host)
    return f":{match['port']}" if match is not None and match["port"] else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# The endpoint of the API's methods: `POST .../v1/<package.Service>/<Method>`.


_LOGIN_HINT = "Unauthenticated: send the token that this server printed when it started."


async def call_method(request: Request) -> Response:
    """Answers one call of a method."""
    method = f"{request.path_params['service']}/{request.path_params['method']}"
    if not has_credentials(request) and method not in OPEN_METHODS:
        return refusal_response(401, _LOGIN_HINT)
    state = server_state(request)

    async def answer() -> Response:
        async with state.bodies.whole(request, most=state.bodies.limits.largest_of(method)) as body:
            return await state.workers.run(_answer, state.local_kaggle, request, method, body)

    return await with_faults(state.local_kaggle.site.faults, method, answer)


def _answer(local_kaggle: LocalKaggle, request: Request, method: str, body: bytes) -> Response:
    try:
        call = ApiCall(method, request.scope[CALLER], request.scope[BASE], parse_json_object(body))
        return response_to(local_kaggle.handle(call))
    except ApiError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug in one method must not end the server; it is told in the log
        if is_disk_full(error):
            _LOG.warning("%s failed: the disk is full", method)
            return refusal_response(507, "The disk of this server is full. Nothing was changed.")
        _LOG.exception("%s failed", method)
        return refusal_response(500, f"{method} failed: an error of this server. See its log.")


# The endpoint of the faults: `GET /local/faults` tells which struck, `POST` of `{"rules": [...]}` replaces them.


_MOST_RULES = 1_000


async def fault_rules(request: Request) -> Response:
    """Answers one request of the person who runs the server."""
    state = server_state(request)
    faults, bodies = state.local_kaggle.site.faults, state.bodies
    if not has_credentials(request):
        return refusal_response(401, "Unauthenticated.")
    if request.method == "POST":
        async with bodies.whole(request, most=bodies.limits.largest_call) as body:
            faults.replace(_rules(body))
    return JSONResponse({"struck": [{"fault": name, "at": at} for name, at in faults.history]})


def _rules(body: bytes) -> list[FaultRule]:
    rules = parse_json_object(body).get("rules")
    if not isinstance(rules, list) or len(rules) > _MOST_RULES or not all(isinstance(rule, str) for rule in rules):
        raise ApiError(400, 'Send {"rules": ["NAME[@METHOD][+SKIP][xTIMES][%PERCENT]", ...]}.')
    try:
        return [parse_rule(rule) for rule in rules]
    except LocalKaggleError as error:
        raise ApiError(400, error.message) from error


# Downloads and uploads: files are sent by ticket, with ranges, and received in pieces.


_RANGE = re.compile(r"bytes (?:(?P<first>\d{1,15})-(?P<last>\d{1,15})|\*)/(?P<size>\d{1,15}|\*)")
# What a file that somebody's notebook wrote may do in a browser on our origin: nothing.
_INERT = {"Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-cache"}


async def download(request: Request) -> Response:
    """Answers GET and HEAD of a ticket; whole, a range, or a range if the file is still the same."""
    state = server_state(request)

    async def answer() -> Response:
        response = await state.workers.run(_redeem, state.local_kaggle, request.path_params["ticket"])
        if response is None:
            return refusal_response(404, "There is no file at this address any more; ask for a new one.")
        keep_open(request.scope)
        return response

    return await with_faults(state.local_kaggle.site.faults, f"{request.path_params['name']}/download", answer)


async def upload(request: Request) -> Response:
    """Answers PUT: a whole file, a piece of it, or the question how much is there."""
    state = server_state(request)
    blob = await state.workers.run(state.local_kaggle.blobs.find, request.path_params["token"])
    if blob is None:
        return refusal_response(404, "There is no upload at this address.")
    keep_open(request.scope)
    receive = functools.partial(_receive, request, state, blob)
    return await with_faults(state.local_kaggle.site.faults, f"{blob.name}/upload", receive)


async def _receive(request: Request, state: ServerState, upload: Blob) -> Response:
    offset = _offset(request.headers.get("content-range"), upload)
    received_size = upload.received_size
    if offset is not None:
        async for piece in pieces(request, state.bodies.limits, most=upload.size - min(offset, upload.size)):
            received_size = await state.workers.run(state.local_kaggle.blobs.append, upload, offset, piece)
            offset += len(piece)
    if received_size == upload.size:
        return Response("{}", media_type="application/json")
    # The client goes on after the last byte that is named here, or begins anew where none is.
    return Response(status_code=308, headers={"Range": f"bytes=0-{received_size - 1}"} if received_size else {})


def _redeem(local_kaggle: LocalKaggle, ticket: str) -> Response | None:
    stored_file = local_kaggle.tickets.redeem(ticket)
    # A link could have been put in the file's place since the ticket was given.
    if stored_file is None or (stored_file.below is None and stored_file.path.is_symlink()):
        return None
    try:
        return file_response(stored_file)
    except OSError:
        return None


def file_response(stored_file: StoredFile) -> Response:
    """A file as an answer, with its length, its date and a tag by which a download is resumed.

    It is opened here and nowhere else: what is sent is the file that was looked at, whatever has its name meanwhile.

    Raises:
        OSError: There is no such file, or it may not be given away.
    """
    file = open_given(stored_file.path, stored_file.below)
    return _OpenFile(
        file, media_type=stored_file.media_type, filename=stored_file.name.rpartition("/")[2], headers=_INERT
    )


class _OpenFile(FileResponse):
    def __init__(self, file: BinaryIO, *, media_type: str, filename: str, headers: Mapping[str, str]) -> None:
        self._file = file  # closed when nothing refers to the answer any more, sent or not
        super().__init__(
            f"/dev/fd/{file.fileno()}",
            media_type=media_type,
            filename=filename,
            headers=headers,
            stat_result=os.fstat(file.fileno()),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()

    def set_stat_headers(self, stat_result: os.stat_result) -> None:
        # A notebook may date its files to years that no header can say.
        times = {"st_mtime": file_moment(stat_result.st_mtime).timestamp()}
        super().set_stat_headers(os.stat_result(stat_result[:10], times))


def _offset(header: str | None, upload: Blob) -> int | None:
    """The position in the file at which the body begins; None if the request only asks how much is there."""
    if header is None:
        return 0
    match = _RANGE.fullmatch(header.strip())
    if match is None or (match["size"] != "*" and int(match["size"]) != upload.size):
        raise ApiError(400, f"This upload has {upload.size:,} bytes; the Content-Range says something else.")
    return int(match["first"]) if match["first"] else None


# The live stream of a kernel's log, as server-sent events; each who follows it reads it piece by piece.


_POLL_SECONDS = 0.2
_END = b"data: END_OF_LOG\n\n"


async def log_stream(request: Request) -> Response:
    """Answers GET of a log that is being written; one that is complete is sent as one JSON array, as Kaggle does.

    A browser's cookie is enough, as an EventSource can send nothing else.
    """
    if not request.scope[CALLER]:
        return refusal_response(401, "Unauthenticated.")
    state = server_state(request)
    owner, slug = request.path_params["owner"], request.path_params["slug"]
    faults = state.local_kaggle.site.faults
    fault = instead(faults, f"{owner}/{slug}/stream")
    if fault is not None:
        return fault
    names = {"userName": owner, "kernelSlug": slug}
    call = ApiCall("kernels/logs/stream", request.scope[CALLER], request.scope[BASE], names)
    session, first, is_over = await _read(state, call)
    if is_over:
        return StreamingResponse(_array(state, call, session, first), media_type="application/octet-stream")
    breaks = faults.strikes("log-stream-breaks", at=f"{owner}/{slug}/stream", also=f"{owner}/{slug}")
    events = _events(state, call, session, first, request if breaks else None)
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _read(
    state: ServerState, call: ApiCall, session: int | None = None, position: int = 0
) -> tuple[int, LogPiece, bool]:
    read_log = state.local_kaggle.kernels.read_log
    return await state.workers.run(functools.partial(read_log, call, session=session, position=position))


async def _array(state: ServerState, call: ApiCall, session: int, piece: LogPiece) -> AsyncIterator[bytes]:
    """One JSON array of all events, of which only a part is in memory at a time."""
    before = b"["
    # Whoever deletes the kernel meanwhile ends its log.
    with contextlib.suppress(ApiError):
        while piece.events:
            yield before + b", ".join(json.dumps(event).encode() for event in piece.events)
            before = b", "
            _, piece, _ = await _read(state, call, session, piece.position)
    yield b"[]" if before == b"[" else b"]"


async def _events(
    state: ServerState, call: ApiCall, session: int, piece: LogPiece, breaks: Request | None
) -> AsyncIterator[bytes]:
    is_over = False
    # Whoever deletes the kernel meanwhile ends its log.
    with contextlib.suppress(ApiError):
        while piece.events or not is_over:
            if piece.events:
                yield b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in piece.events)
                if breaks is not None:
                    await hang_up(breaks.scope, breaks.receive)
                    return
            else:
                await asyncio.sleep(_POLL_SECONDS)
            _, piece, is_over = await _read(state, call, session, piece.position)
    yield _END


def api_routes() -> list[Route]:
    """Which endpoint answers which path of the API and of files."""
    routes: list[Route] = [
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
    return routes
