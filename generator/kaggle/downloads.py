"""Fetching files from the short-lived addresses that Kaggle hands out: in ranges, resumed, whole or not at all."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from generator.files import FileWriteError, writing
from generator.kaggle import guards
from generator.kaggle.api_client import ApiClient
from generator.kaggle.api_types import RemoteFile
from generator.kaggle.errors import NotKaggleError, RefusedError, UnsafeAnswerError
from generator.kaggle.http_errors import Operation, transient_error
from generator.kaggle.retries import TRANSIENT, Retries, retried
from generator.kaggle.transport import Request, StreamedResponse
from generator.workspace_files import WorkspaceFiles

LARGEST_FILE = 1 << 42  # bytes; no file of Kaggle is near it, and no disk either
_LARGEST_SKIP = 8 << 20  # bytes that are read and thrown away where a server does not know ranges
_MOST_REDIRECTS = 5
_WHOLE, _PART, _BEYOND_END = HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
_EXPIRED = "the address of the file is gone or has expired, run the command again to be given a new one"
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_LARGEST_NOTE = 4_096


class Downloads(ApiClient):
    """Fetches files; credentials are never sent along, since the addresses carry their own."""

    def read_range(self, url: str, start: int, length: int) -> bytes:
        """The bytes from `start` on, at most `length`, fewer at the end; never more, whatever the server sends."""
        if length <= 0:
            return b""
        return retried(lambda: self._range(url, start, length), self._retries)

    def download(self, url: str, destination: Path, *, size: int | None = None) -> Iterator[int]:
        """Fetches into a file, resuming `destination.part`; yields the bytes so far; the name appears when whole."""
        return self._download(url, destination, size, Operation(f"download {destination.name}"))

    def _download(self, url: str, destination: Path, size: int | None, operation: Operation) -> Iterator[int]:
        partial = _PartialFile(destination)
        retries = Retries(self._retries)
        while True:
            before = partial.size()
            try:
                yield from self._more(url, partial, size, operation)
                partial.finish()
                return
            except TRANSIENT as error:
                # A connection that brought something is progress, however often it breaks.
                retries.wait(error, has_progressed=partial.size() > before)
            except OSError as error:
                raise FileWriteError(path=destination, cause=error) from error

    def fetch_output(self, file: RemoteFile, destination: Path) -> None:
        """Fetches a file of an output whole, status and size checked, and only then gives it its name."""
        operation, files = Operation(f"fetch {file.name}"), WorkspaceFiles(destination.parent)
        with writing(destination):
            files.make_folder(destination.parent)
            # A folder of its own, that nobody else can look into or put something into.
            with files.beside(destination) as folder:
                for _ in self._download(file.url, folder / "file", file.size or None, operation):
                    pass
                files.move(folder / "file", destination)

    def _range(self, url: str, start: int, length: int) -> bytes:
        operation = Operation("read a part of a file")
        headers = {"Range": f"bytes={start}-{start + length - 1}"}
        with self._opened(url, operation, headers) as stream:
            if stream.status == _BEYOND_END:
                return b""
            skip = self._offset(stream, start, operation)
            if skip > _LARGEST_SKIP:
                raise self._unexpected_of_store(operation, "is the whole of a file where a part was asked for")
            content = bytearray()
            for chunk in stream.chunks:
                content += chunk
                if len(content) >= skip + length:
                    break
            return bytes(content[skip : skip + length])

    def _offset(self, stream: StreamedResponse, start: int, operation: Operation) -> int:
        """The number of bytes that come before the part that was asked for."""
        if stream.status != _PART:
            return start
        found = _CONTENT_RANGE.fullmatch(stream.headers.get("content-range", ""))
        if found is None or int(found[1]) > start:
            raise self._unexpected_of_store(operation, "is another part of the file than was asked for")
        return start - int(found[1])

    def _more(self, url: str, partial: "_PartialFile", size: int | None, operation: Operation) -> Iterator[int]:
        """Fetches what is missing, once; yields the bytes so far."""
        have, note = partial.resumable(size)
        if size is not None and have == size and note is not None:
            yield have
            return
        headers = {"Range": f"bytes={have}-", "If-Range": note.validator} if have and note else {}
        with self._opened(url, operation, headers) as stream:
            if stream.status == _BEYOND_END:
                partial.begin(None)
                raise self._unexpected_of_store(operation, "is that the file is shorter by now")
            resumed = stream.status == _PART and have > 0
            total = _total(stream)
            if resumed and (self._offset(stream, have, operation) or (note and total != note.total)):
                raise self._unexpected_of_store(operation, "is another part of the file than was asked for")
            self._check_total(total, size, operation)
            if not resumed:
                have = 0
                partial.begin(_Note(_validator(stream.headers), total))
            yield from self._written(stream, partial, total if total is not None else size, operation)

    def _written(
        self, stream: StreamedResponse, partial: "_PartialFile", total: int | None, operation: Operation
    ) -> Iterator[int]:
        with partial.opened() as file:
            have = file.tell()
            yield have
            for chunk in stream.chunks:
                have += len(chunk)
                if have > (LARGEST_FILE if total is None else total):
                    raise UnsafeAnswerError(
                        doing=operation.doing, what="more bytes come than the file has", remedy="they were not kept"
                    )
                file.write(chunk)
                yield have
            file.flush()
            os.fsync(file.fileno())
        if total is not None and have < total:
            raise self._unexpected_of_store(operation, f"has {have:,} bytes of {total:,}")

    def _check_total(self, total: int | None, size: int | None, operation: Operation) -> None:
        if total is not None and size is not None and total != size:
            # The address will not answer otherwise when it is asked again; another listing may give a better one.
            what = f"the store of files has {total:,} bytes where {size:,} were listed"
            raise UnsafeAnswerError(doing=operation.doing, what=what, remedy="nothing was kept")
        if total is not None and total > LARGEST_FILE:
            raise UnsafeAnswerError(doing=operation.doing, what=f"the file is to have {total:,} bytes")

    @contextmanager
    def _opened(self, url: str, operation: Operation, headers: Mapping[str, str]) -> Iterator[StreamedResponse]:
        """A connection to a file, over as many redirects as it takes, each of which is looked at first."""
        for _ in range(_MOST_REDIRECTS + 1):
            url = self._checked_url(url, operation)
            with self._transport.stream(Request("GET", url, operation.doing, headers=headers)) as stream:
                location = stream.headers.get("location")
                if not stream.is_redirect or not location:
                    _check(stream, url, operation)
                    yield stream
                    return
            url = guards.joined(url, location)
        raise NotKaggleError(doing=operation.doing, host=urlsplit(url).netloc, why="sends on again and again")


def _check(stream: StreamedResponse, url: str, operation: Operation) -> None:
    """Makes sure that an answer is a file, or a part of one."""
    if error := transient_error(stream.status, stream.headers, doing=operation.doing):
        raise error
    if stream.status >= HTTPStatus.BAD_REQUEST and stream.status != _BEYOND_END:
        said = f"the store of files answers {stream.status}"
        raise RefusedError(doing=operation.doing, said=said, remedy=_EXPIRED)
    strange = ""
    if stream.status not in (_WHOLE, _PART, _BEYOND_END):
        strange = f"has the status {stream.status}"
    elif stream.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        strange = "is compressed, though that was not asked for"
    elif stream.media_type == "text/html" and not urlsplit(url).path.lower().endswith((".html", ".htm")):
        strange = "is a page of HTML where a file was expected"
    if strange:
        raise NotKaggleError(doing=operation.doing, host=urlsplit(url).netloc, why=strange)


@dataclass(frozen=True)
class _Note:
    """The marks by which a partial file is known to be a part of the file that a server has now."""

    validator: str
    total: int | None


class _PartialFile:
    """`NAME.part` with the bytes so far, and `NAME.part.json` with what they are a part of.

    Whoever names the destination has made sure of its folder; what lies in there may be anything.
    """

    def __init__(self, destination: Path) -> None:
        self._destination = destination
        self._files = WorkspaceFiles(destination.parent)
        self._path = destination.with_name(destination.name + ".part")
        self._note_path = destination.with_name(destination.name + ".part.json")

    def size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def opened(self) -> IO[bytes]:
        """The file, to add to it."""
        return os.fdopen(self._files.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab")

    def resumable(self, size: int | None) -> tuple[int, _Note | None]:
        """The bytes that can be kept, and what they are a part of; 0 and None where nothing can."""
        note, have = self._note(), self.size()
        total = note.total if note else None
        if note is None or not note.validator or total is None or have > total or size not in (None, total):
            return 0, None
        if have == total and size is None:
            # Whether it is still the same file could not be asked with a range behind its end.
            return 0, None
        return have, note

    def begin(self, note: _Note | None) -> None:
        """Forgets the bytes so far."""
        for path in (self._path, self._note_path):
            self._files.remove(path)
        if note is not None:
            text = json.dumps({"validator": note.validator, "total": note.total})
            self._files.write(self._note_path, text.encode())

    def finish(self) -> None:
        """Gives the whole file its name."""
        self._files.move(self._path, self._destination)
        self._files.remove(self._note_path)

    def _note(self) -> _Note | None:
        try:
            with os.fdopen(self._files.open(self._note_path, os.O_RDONLY), "rb") as file:
                fields = json.loads(file.read(_LARGEST_NOTE))
            validator, total = fields["validator"], fields["total"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        is_usable = isinstance(validator, str) and validator.isprintable() and validator.isascii()
        return _Note(validator, total) if is_usable and type(total) is int else None


def _validator(headers: Mapping[str, str]) -> str:
    """The value that `If-Range` compares: a strong entity tag, else the date of the last change."""
    tag = headers.get("etag", "")
    return tag if tag and not tag.startswith("W/") else headers.get("last-modified", "")


def _total(stream: StreamedResponse) -> int | None:
    """The size of the whole file, as far as the headers say it."""
    if stream.status == _PART:
        found = _CONTENT_RANGE.fullmatch(stream.headers.get("content-range", ""))
        return int(found[3]) if found and found[3] != "*" else None
    length = stream.headers.get("content-length", "")
    return int(length) if length.isdecimal() and length.isascii() else None
