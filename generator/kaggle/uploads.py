"""Sending files to the short-lived addresses that Kaggle hands out, resumed where the connection broke."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from generator.files import FileReadError, open_file
from generator.kaggle import guards
from generator.kaggle.errors import (
    NotKaggleError,
    RateLimitedError,
    ServerFailedError,
    UnsafeAnswerError,
)
from generator.kaggle.refusals import Errand, refusal
from generator.kaggle.retries import TRANSIENT, retry_after
from generator.kaggle.transport import Reply, Request
from generator.kaggle.wire import Wire

_LARGEST_ANSWER = 1 << 20
_DONE, _RESUME, _ERROR, _TOO_OFTEN, _FAILED = (200, 201), 308, 400, 429, 500
_RANGE = re.compile(r"bytes=0-(\d{1,18})")


@dataclass(frozen=True)
class Started:
    """An upload that Kaggle waits for: `token` names the blob, once the bytes are at `url`."""

    token: str
    url: str


Start = Callable[[int, int], Started]
"""Begins an upload, given a size in bytes and the time of the file's last change in whole seconds."""


class Uploads:
    """Sends files."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def send(self, path: Path, *, start: Start, errand: Errand) -> str:
        """Sends a file and returns the token that names it from now on.

        Args:
            path: The file.
            start: Begins the upload; is called once.
            errand: What the upload is for.

        Raises:
            FileReadError: The file cannot be read.
            UnsafeAnswerError: It changed while it was sent, or was to be sent to somewhere else than Kaggle.
            KaggleError: Kaggle did not take it.
        """
        try:
            with open_file(path) as file:
                before = os.fstat(file.fileno())
                started = start(before.st_size, int(before.st_mtime))
                self._put(file, before.st_size, started, errand)
                after = os.fstat(file.fileno())
        except OSError as error:
            raise FileReadError(path=path, cause=error) from error
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise UnsafeAnswerError(
                doing=errand.doing,
                what=f"{path.name} changed while it was sent",
                remedy="try again when it is finished",
            )
        return started.token

    def _put(self, file: BinaryIO, size: int, started: Started, errand: Errand) -> None:
        url = guards.checked_address(started.url, base=self._wire.endpoint.address, doing=errand.doing, is_upload=True)
        patience = self._wire.patience
        offset = 0
        failures = 0
        while True:
            try:
                # The first attempt does not ask: nothing was sent yet.
                offset = self._received(url, size, errand) if failures else 0
                if offset == size and failures:
                    return
                self._send_rest(file, url, offset, size, errand)
                return
            except TRANSIENT as error:
                failures += 1
                if failures >= patience.attempts:
                    raise
                wait = error.retry_after.total_seconds() if error.retry_after else patience.pause(failures - 1)
                if wait > patience.longest_wait:
                    raise
                patience.sleep(wait)

    def _received(self, url: str, size: int, errand: Errand) -> int:
        """How many bytes the store has so far."""
        reply = self._sent(Request("PUT", url, errand.doing, {"Content-Range": f"bytes */{size}"}, b""), errand)
        if reply.status in _DONE:
            return size
        found = _RANGE.fullmatch(reply.headers.get("range", ""))
        have = int(found[1]) + 1 if found else 0
        if have > size:
            raise self._strange(errand, "says that it has more than was sent")
        return have

    def _send_rest(self, file: BinaryIO, url: str, offset: int, size: int, errand: Errand) -> None:
        file.seek(offset)
        headers = {"Content-Type": "application/octet-stream"}
        if offset:
            headers["Content-Range"] = f"bytes {offset}-{size - 1}/{size}"
        body = _Rest(file, size - offset)
        reply = self._sent(Request("PUT", url, errand.doing, headers, body if size > offset else b""), errand)
        if reply.status == _RESUME:
            raise self._strange(errand, "says that bytes are missing after all were sent")

    def _sent(self, request: Request, errand: Errand) -> Reply:
        reply = self._wire.transport.send(request, limit=_LARGEST_ANSWER)
        wait = retry_after(reply.headers.get("retry-after"))
        if reply.status == _TOO_OFTEN:
            raise RateLimitedError(doing=errand.doing, retry_after=wait)
        if reply.status >= _FAILED:
            raise ServerFailedError(doing=errand.doing, status=reply.status, said="", retry_after=wait)
        if reply.status >= _ERROR:
            said = "the store of files did not take the upload"
            raise refusal(reply.status, said, errand=errand, site=self._wire.endpoint.site)
        if reply.status not in (*_DONE, _RESUME):
            raise self._strange(errand, f"has the status {reply.status}")
        return reply

    def _strange(self, errand: Errand, why: str) -> NotKaggleError:
        return NotKaggleError(doing=errand.doing, host="the store of files", why=why)


class _Rest:
    """The rest of a file as a body of a known length, which never sends more than was announced."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self._left = length
        self.len = length

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes."""
        wanted = self._left if size < 0 else min(size, self._left)
        chunk = self._file.read(wanted)
        self._left -= len(chunk)
        return chunk

    def __iter__(self) -> "_Rest":
        return self

    def __next__(self) -> bytes:
        chunk = self.read(1 << 16)
        if not chunk:
            raise StopIteration
        return chunk
