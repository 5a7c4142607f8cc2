"""The live stream of a kernel's log, as server-sent events: one reader of the log for all who follow it."""

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from generator.localkaggle.http.authentication import BASE, CALLER
from generator.localkaggle.http.responses import refusal
from generator.localkaggle.http.server_state import Workers
from generator.localkaggle.http.transport_faults import hang_up, instead
from generator.localkaggle.local_kaggle import LocalKaggle, LogPart
from generator.localkaggle.rpc import ApiError, Call

_POLL_SECONDS = 0.2
_END = b"data: END_OF_LOG\n\n"
_NEVER = {"Cache-Control": "no-store"}


class _Follower:
    """The log of one running session, read once for everybody who follows it."""

    def __init__(self, call: Call, first: LogPart) -> None:
        self.call = call
        self.last = first
        self.chunks = [_as_events(first)]
        self.news = asyncio.Event()
        self.readers = 0
        self.task: asyncio.Task[None] | None = None

    def add(self, part: LogPart) -> None:
        """Tells those who follow of a further part."""
        self.last = part
        if part.events:
            self.chunks.append(_as_events(part))
        if part.events or part.ended:
            self.news.set()
            self.news = asyncio.Event()


class LogStreams:
    """Streams logs that are being written; a log that is complete is sent as one JSON array, as Kaggle does."""

    def __init__(self, local_kaggle: LocalKaggle, workers: Workers) -> None:
        self._local_kaggle = local_kaggle
        self._workers = workers
        self._followers: dict[int, _Follower] = {}

    async def __call__(self, request: Request) -> Response:
        """Answers GET of a kernel's log stream; a browser's cookie does, as an EventSource can send nothing else."""
        if not request.scope[CALLER]:
            return refusal(401, "Unauthenticated.")
        owner, slug = request.path_params["owner"], request.path_params["slug"]
        faults = self._local_kaggle.site.faults
        fault = instead(faults, f"{owner}/{slug}/stream")
        if fault is not None:
            return fault
        names = {"userName": owner, "kernelSlug": slug}
        call = Call("kernels/logs/stream", request.scope[CALLER], request.scope[BASE], names)
        first = await self._read(call, None)
        if first.is_over and first.session not in self._followers:
            return StreamingResponse(self._whole(call, first), media_type="application/octet-stream")
        breaks = faults.strikes("log-stream-breaks", at=f"{owner}/{slug}/stream", also=f"{owner}/{slug}")
        # Which session it is was just asked with the caller's own rights.
        follower = self._followers.setdefault(first.session, _Follower(call, first))
        events = self._events(follower, request if breaks else None)
        return StreamingResponse(events, media_type="text/event-stream", headers=_NEVER)

    async def _read(self, call: Call, after: LogPart | None) -> LogPart:
        return await self._workers.run(functools.partial(self._local_kaggle.read_log, call, after=after))

    async def _whole(self, call: Call, part: LogPart) -> AsyncIterator[bytes]:
        """One JSON array of all events, of which only a part is in memory at a time."""
        before = b"["
        # Whoever deletes the kernel meanwhile ends its log.
        with contextlib.suppress(ApiError):
            while part.events:
                yield before + b", ".join(json.dumps(event).encode() for event in part.events)
                before = b", "
                part = await self._read(call, part)
        yield b"[]" if before == b"[" else b"]"

    async def _events(self, follower: _Follower, breaks: Request | None) -> AsyncIterator[bytes]:
        follower.readers += 1
        if follower.task is None:
            follower.task = asyncio.create_task(self._follow(follower))
        sent = 0
        try:
            while True:
                news = follower.news
                for chunk in follower.chunks[sent:]:
                    yield chunk
                    sent += 1
                if breaks is not None and any(follower.chunks):
                    await hang_up(breaks.scope, breaks.receive)
                    return
                if follower.last.ended:
                    yield _END
                    return
                await news.wait()
        finally:
            follower.readers -= 1
            if not follower.readers:
                self._forget(follower)

    async def _follow(self, follower: _Follower) -> None:
        while not follower.last.ended:
            last = follower.last
            try:
                part = await self._read(follower.call, last)
            except ApiError:
                # The kernel was deleted while it ran: there is nothing left to come.
                part = LogPart(last.session, (), last.position, is_over=True)
            follower.add(part)
            if not part.events:
                await asyncio.sleep(_POLL_SECONDS)

    def _forget(self, follower: _Follower) -> None:
        if follower.task is not None:
            follower.task.cancel()
            follower.task = None
        if self._followers.get(follower.last.session) is follower:
            del self._followers[follower.last.session]


def _as_events(part: LogPart) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in part.events)
