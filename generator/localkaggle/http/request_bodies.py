"""Reading what a client sends, within bounds of size and time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.requests import ClientDisconnect, Request

from generator.localkaggle.http.limits import Limits
from generator.localkaggle.rpc import ApiError

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
    received, gathered = 0, bytearray()
    while True:
        try:
            async with asyncio.timeout(limits.idle_seconds):
                piece = await anext(stream)
        except (StopAsyncIteration, ClientDisconnect):
            break
        except TimeoutError as error:
            raise ApiError(408, "Nothing of the upload came for a while.") from error
        received += len(piece)
        if received > most:
            raise _too_large(most)
        gathered += piece
        if len(gathered) >= _PIECE:
            yield bytes(gathered)
            gathered.clear()
    if gathered:
        yield bytes(gathered)


def _refuse_announced(request: Request, most: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > most:
        raise _too_large(most)


def _too_large(most: int) -> ApiError:
    return ApiError(413, f"The body of a request may have up to {most:,} bytes here.")
