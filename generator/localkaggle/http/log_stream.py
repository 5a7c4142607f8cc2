"""The live stream of a kernel's log, as server-sent events; each who follows it reads it piece by piece."""

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from generator.localkaggle.http.authentication import BASE, CALLER
from generator.localkaggle.http.responses import refusal
from generator.localkaggle.http.server_state import ServerState, state_of
from generator.localkaggle.http.transport_faults import hang_up, instead
from generator.localkaggle.rpc import ApiError, Call
from generator.sessions.session_log import LogPiece

_POLL_SECONDS = 0.2
_END = b"data: END_OF_LOG\n\n"


async def log_stream(request: Request) -> Response:
    """Answers GET of a log that is being written; one that is complete is sent as one JSON array, as Kaggle does.

    A browser's cookie is enough, as an EventSource can send nothing else.
    """
    if not request.scope[CALLER]:
        return refusal(401, "Unauthenticated.")
    state = state_of(request)
    owner, slug = request.path_params["owner"], request.path_params["slug"]
    faults = state.local_kaggle.site.faults
    fault = instead(faults, f"{owner}/{slug}/stream")
    if fault is not None:
        return fault
    names = {"userName": owner, "kernelSlug": slug}
    call = Call("kernels/logs/stream", request.scope[CALLER], request.scope[BASE], names)
    session, first, is_over = await _read(state, call)
    if is_over:
        return StreamingResponse(_array(state, call, session, first), media_type="application/octet-stream")
    breaks = faults.strikes("log-stream-breaks", at=f"{owner}/{slug}/stream", also=f"{owner}/{slug}")
    events = _events(state, call, session, first, request if breaks else None)
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _read(
    state: ServerState, call: Call, session: int | None = None, position: int = 0
) -> tuple[int, LogPiece, bool]:
    read = state.local_kaggle.kernels.read_log
    return await state.workers.run(functools.partial(read, call, session=session, position=position))


async def _array(state: ServerState, call: Call, session: int, piece: LogPiece) -> AsyncIterator[bytes]:
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
    state: ServerState, call: Call, session: int, piece: LogPiece, breaks: Request | None
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
