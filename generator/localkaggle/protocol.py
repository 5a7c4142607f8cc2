"""HTTP with bounds on the head and body of a request, responses, and faults of the transport."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import TRANSPORT as NAMES
from generator.localkaggle.rpc import Answer, ApiError, Content, Faults, Redirect
from generator.localkaggle.services.kernel_records import OPEN_METHODS
from generator.localkaggle.services.kernels import SAVE_KERNEL
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
