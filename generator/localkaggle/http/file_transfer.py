"""Downloads and uploads: files are sent by ticket, with ranges, and received in pieces."""

import functools
import os
import re
from collections.abc import Mapping
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from generator.localkaggle.clock import file_moment
from generator.localkaggle.file_names import open_given
from generator.localkaggle.http.protocol import keep_open
from generator.localkaggle.http.request_bodies import pieces
from generator.localkaggle.http.responses import refusal
from generator.localkaggle.http.server_state import ServerState, state_of
from generator.localkaggle.http.transport_faults import with_faults
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import ApiError, Stored
from generator.localkaggle.services.blobs import Blob

_RANGE = re.compile(r"bytes (?:(?P<first>\d{1,15})-(?P<last>\d{1,15})|\*)/(?P<size>\d{1,15}|\*)")
# What a file that somebody's notebook wrote may do in a browser on our origin: nothing.
_INERT = {"Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-cache"}


async def download(request: Request) -> Response:
    """Answers GET and HEAD of a ticket; whole, a range, or a range if the file is still the same."""
    state = state_of(request)

    async def answer() -> Response:
        found = await state.workers.run(_redeemed, state.local_kaggle, request.path_params["ticket"])
        if found is None:
            return refusal(404, "There is no file at this address any more; ask for a new one.")
        keep_open(request.scope)
        return found

    return await with_faults(state.local_kaggle.site.faults, f"{request.path_params['name']}/download", answer)


async def upload(request: Request) -> Response:
    """Answers PUT: a whole file, a piece of it, or the question how much is there."""
    state = state_of(request)
    found = await state.workers.run(state.local_kaggle.blobs.find, request.path_params["token"])
    if found is None:
        return refusal(404, "There is no upload at this address.")
    keep_open(request.scope)
    receive = functools.partial(_received, request, state, found)
    return await with_faults(state.local_kaggle.site.faults, f"{found.name}/upload", receive)


async def _received(request: Request, state: ServerState, upload: Blob) -> Response:
    offset = _offset(request.headers.get("content-range"), upload)
    received = upload.received
    if offset is not None:
        async for piece in pieces(request, state.bodies.limits, most=upload.size - min(offset, upload.size)):
            received = await state.workers.run(state.local_kaggle.blobs.append, upload, offset, piece)
            offset += len(piece)
    if received == upload.size:
        return Response("{}", media_type="application/json")
    # The client goes on after the last byte that is named here, or begins anew where none is.
    return Response(status_code=308, headers={"Range": f"bytes=0-{received - 1}"} if received else {})


def _redeemed(local_kaggle: LocalKaggle, ticket: str) -> Response | None:
    stored = local_kaggle.tickets.redeem(ticket)
    # A link could have been put in the file's place since the ticket was given.
    if stored is None or (stored.below is None and stored.path.is_symlink()):
        return None
    try:
        return file_response(stored)
    except OSError:
        return None


def file_response(stored: Stored) -> Response:
    """A file as an answer, with its length, its date and a tag by which a download is resumed.

    It is opened here and nowhere else: what is sent is the file that was looked at, whatever has its name meanwhile.

    Raises:
        OSError: There is no such file, or it may not be given away.
    """
    file = open_given(stored.path, stored.below)
    return _OpenFile(file, media_type=stored.media_type, filename=stored.name.rpartition("/")[2], headers=_INERT)


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
        dated = {"st_mtime": file_moment(stat_result.st_mtime).timestamp()}
        super().set_stat_headers(os.stat_result(stat_result[:10], dated))


def _offset(header: str | None, upload: Blob) -> int | None:
    """The position in the file at which the body begins; None if the request only asks how much is there."""
    if header is None:
        return 0
    found = _RANGE.fullmatch(header.strip())
    if found is None or (found["size"] != "*" and int(found["size"]) != upload.size):
        raise ApiError(400, f"This upload has {upload.size:,} bytes; the Content-Range says something else.")
    return int(found["first"]) if found["first"] else None
