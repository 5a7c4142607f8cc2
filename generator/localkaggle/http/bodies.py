"""Reading what a client sends, within bounds of size and time."""

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request

from generator.localkaggle.http.limits import Limits
from generator.localkaggle.rpc import ApiError


async def whole_body(request: Request, limits: Limits) -> bytes:
    """The body of a call.

    Raises:
        ApiError: 413 if it is too large, 408 if it does not come in time, 400 if the client breaks off.
    """
    most = limits.largest_call
    _refuse_announced(request, most)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > most:
                    raise _too_large(most)
    except TimeoutError as error:
        raise ApiError(408, "The body of the request did not come in time.") from error
    except ClientDisconnect as error:
        raise ApiError(400, "The body of the request was not sent to its end.") from error
    return bytes(body)


async def pieces(request: Request, limits: Limits, *, most: int) -> AsyncIterator[bytes]:
    """The body of an upload, piece by piece; ends where the client breaks off.

    Raises:
        ApiError: 413 if it is larger than announced, 408 if nothing comes for long.
    """
    _refuse_announced(request, most)
    stream = request.stream()
    received = 0
    while True:
        try:
            async with asyncio.timeout(limits.idle_seconds):
                piece = await anext(stream)
        except (StopAsyncIteration, ClientDisconnect):
            return
        except TimeoutError as error:
            raise ApiError(408, "Nothing of the upload came for a while.") from error
        received += len(piece)
        if received > most:
            raise _too_large(most)
        yield piece


def _refuse_announced(request: Request, most: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > most:
        raise _too_large(most)


def _too_large(most: int) -> ApiError:
    return ApiError(413, f"The body of a request may have up to {most:,} bytes here.")
