"""Sending files to the short-lived addresses that Kaggle hands out, resumed where the connection broke."""

import os
import re
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO

from generator.files import FileReadError, open_file
from generator.kaggle.api_client import ApiClient
from generator.kaggle.errors import UnsafeAnswerError
from generator.kaggle.http_errors import Operation, refusal, transient_error
from generator.kaggle.retries import TRANSIENT, Retries
from generator.kaggle.transport import Request, Response

_LARGEST_ANSWER = 1 << 20
_DONE = (HTTPStatus.OK, HTTPStatus.CREATED)
_INCOMPLETE = HTTPStatus.PERMANENT_REDIRECT  # what stores of files say as long as bytes are missing
_RANGE = re.compile(r"bytes=0-(\d{1,18})")


class Uploads(ApiClient):
    """Sends files."""

    def _upload(self, operation: Operation, path: Path, service: str, method: str, /, **fields: Any) -> str:
        """Sends a file and returns the token that names it from now on.

        Args:
            operation: What the upload is for.
            path: The file.
            service: The service that hands out addresses for files of this kind.
            method: Its method that does so; what nothing is made of is thrown away, so that asking twice does no harm.
            fields: The fields of the request beside the file's size and time.

        Raises:
            FileReadError: The file cannot be read.
            UnsafeAnswerError: It changed while it was sent, or was to be sent to somewhere else than Kaggle.
            KaggleError: Kaggle did not take it.
        """
        try:
            with open_file(path) as file:
                before = os.fstat(file.fileno())
                fields |= {"content_length": before.st_size, "last_modified_epoch_seconds": int(before.st_mtime)}
                started = self._read(operation, service, method, **fields)
                if not started.token or not started.create_url:
                    raise self._unexpected(operation, "names no place for the upload")
                self._put(file, before.st_size, started.create_url, operation)
                after = os.fstat(file.fileno())
        except OSError as error:
            raise FileReadError(path=path, cause=error) from error
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise UnsafeAnswerError(
                doing=operation.doing,
                what=f"{path.name} changed while it was sent",
                remedy="try again when it is finished",
            )
        return str(started.token)

    def _put(self, file: BinaryIO, size: int, url: str, operation: Operation) -> None:
        url = self._checked_url(url, operation, is_upload=True)
        retries = Retries(self._retries)
        while True:
            try:
                # The first attempt does not ask: nothing was sent yet.
                offset = self._received(url, size, operation) if retries.failures else 0
                if offset < size or not retries.failures:
                    self._send_rest(file, url, offset, size, operation)
                return
            except TRANSIENT as error:
                retries.wait(error)

    def _received(self, url: str, size: int, operation: Operation) -> int:
        """The number of bytes that the store has so far."""
        reply = self._answer_of_store(url, {"Content-Range": f"bytes */{size}"}, b"", operation)
        if reply.status in _DONE:
            return size
        found = _RANGE.fullmatch(reply.headers.get("range", ""))
        have = int(found[1]) + 1 if found else 0
        if have > size:
            raise self._unexpected_of_store(operation, "says that it has more than was sent")
        return have

    def _send_rest(self, file: BinaryIO, url: str, offset: int, size: int, operation: Operation) -> None:
        file.seek(offset)
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size - offset)}
        if offset:
            headers["Content-Range"] = f"bytes {offset}-{size - 1}/{size}"
        reply = self._answer_of_store(url, headers, _Rest(file, size - offset), operation)
        if reply.status == _INCOMPLETE:
            raise self._unexpected_of_store(operation, "says that bytes are missing after all were sent")

    def _answer_of_store(
        self, url: str, headers: dict[str, str], body: "bytes | _Rest", operation: Operation
    ) -> Response:
        reply = self._transport.send(Request("PUT", url, operation.doing, headers, body), limit=_LARGEST_ANSWER)
        if error := transient_error(reply.status, reply.headers, doing=operation.doing):
            raise error
        if reply.status >= HTTPStatus.BAD_REQUEST:
            said = "the store of files did not take the upload"
            raise refusal(reply.status, said, operation=operation, endpoint=self._endpoint)
        if reply.status not in (*_DONE, _INCOMPLETE):
            raise self._unexpected_of_store(operation, f"has the status {reply.status}")
        return reply


class _Rest:
    """The rest of a file as a body, which never sends more than was announced."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self._left = length

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes."""
        chunk = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(chunk)
        return chunk
