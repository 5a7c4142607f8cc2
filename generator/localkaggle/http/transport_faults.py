"""Faults of the transport: a response in place of the right one, half of it, or a connection that is closed."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from generator.localkaggle.faults import TRANSPORT as NAMES
from generator.localkaggle.faults import Faults
from generator.localkaggle.http.protocol import TRANSPORT
from generator.localkaggle.http.responses import refusal
from generator.localkaggle.rpc import ApiError

_LONGEST_STALL = 600
_PAGE = "<!doctype html><html><head><title>Kaggle</title></head><body><h1>We'll be right back</h1></body></html>\n"


class Broken(Response):
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


class Halved(Response):
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
    "429": lambda: refusal(429, "Too many requests."),
    "429-retry-after": lambda: refusal(429, "Too many requests.", headers={"Retry-After": "1"}),
    "500": lambda: refusal(500, "Something went wrong on our side."),
    "401": lambda: refusal(401, "Unauthenticated."),
    "503-html": lambda: Response(_PAGE, status_code=503, media_type="text/html"),
    "200-html": lambda: Response(_PAGE, media_type="text/html"),
    "drop": lambda: Broken(wait=0),
    "stall": lambda: Broken(wait=_LONGEST_STALL),
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
        response = refusal(error.status, error.message)
    match name:
        case "500-after":
            return refusal(500, "Something went wrong on our side.")
        case "drop-after":
            return Broken()
        case "truncate":
            return Halved(response)
    return response


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
