"""Fetching files from the short-lived addresses that Kaggle hands out: in ranges, resumed, whole or not at all."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from generator.files import FileWriteError
from generator.kaggle import guards
from generator.kaggle.api import RemoteFile
from generator.kaggle.errors import (
    NotKaggleError,
    RateLimitedError,
    RefusedError,
    ServerFailedError,
    UnsafeAnswerError,
)
from generator.kaggle.refusals import Errand
from generator.kaggle.retries import TRANSIENT, Patience, repeated, retry_after
from generator.kaggle.transport import Request, Stream, Transport
from generator.kaggle.wire import Endpoint
from generator.workspace_files import WorkspaceFiles

LARGEST_FILE = 1 << 42  # bytes; no file of Kaggle is near it, and no disk either
_LARGEST_SKIP = 8 << 20  # bytes that are read and thrown away where a server does not know ranges
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_WHOLE, _PART, _ERROR, _TOO_OFTEN, _BEYOND_END, _FAILED = 200, 206, 400, 429, 416, 500
_EXPIRED = "the address of the file is gone or has expired, run the command again to be given a new one"
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_LARGEST_NOTE = 4_096


class Downloads:
    """Fetches files; credentials are never sent along, since the addresses carry their own."""

    def __init__(self, endpoint: Endpoint, *, transport: Transport, patience: Patience) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._patience = patience

    def read_range(self, url: str, start: int, length: int) -> bytes:
        """See `Kaggle.read_range`."""
        if length <= 0:
            return b""
        return repeated(lambda: self._range(url, start, length), self._patience)

    def download(self, url: str, destination: Path, *, size: int | None = None) -> Iterator[int]:
        """See `Kaggle.download`."""
        return self._download(url, destination, size, Errand(f"download {destination.name}"))

    def _download(self, url: str, destination: Path, size: int | None, errand: Errand) -> Iterator[int]:
        partial = _Partial(destination)
        failures = 0
        waited = 0.0
        while True:
            before = partial.size()
            try:
                yield from self._more(url, partial, size, errand)
                partial.finish()
                return
            except TRANSIENT as error:
                # A connection that brought something is progress, however often it breaks.
                failures = 0 if partial.size() > before else failures + 1
                pause = error.retry_after.total_seconds() if error.retry_after else self._patience.pause(failures)
                waited = waited + pause if failures else 0.0
                if failures >= self._patience.attempts or waited > self._patience.longest_wait:
                    raise
                self._patience.sleep(pause)
            except OSError as error:
                raise FileWriteError(path=destination, cause=error) from error

    def fetch(self, file: RemoteFile, destination: Path) -> None:
        """See `Kaggle.fetch_output`."""
        errand, files = Errand(f"fetch {file.name}"), WorkspaceFiles(destination.parent)
        try:
            files.make_folder(destination.parent)
            # A folder of its own, that nobody else can look into or put something into.
            with files.beside(destination) as folder:
                for _ in self._download(file.url, folder / "file", file.size or None, errand):
                    pass
                files.move(folder / "file", destination)
        except OSError as error:
            raise FileWriteError(path=destination, cause=error) from error

    def _range(self, url: str, start: int, length: int) -> bytes:
        errand = Errand("read a part of a file")
        headers = {"Range": f"bytes={start}-{start + length - 1}"}
        with self._opened(url, errand, headers) as stream:
            if stream.status == _BEYOND_END:
                return b""
            skip = self._offset(stream, start, errand)
            if skip > _LARGEST_SKIP:
                raise self._strange(errand, "is the whole of a file where a part was asked for")
            content = bytearray()
            for chunk in stream.chunks:
                content += chunk
                if len(content) >= skip + length:
                    break
            return bytes(content[skip : skip + length])

    def _offset(self, stream: Stream, start: int, errand: Errand) -> int:
        """How many bytes come before the part that was asked for."""
        if stream.status != _PART:
            return start
        found = _CONTENT_RANGE.fullmatch(stream.headers.get("content-range", ""))
        if found is None or int(found[1]) > start:
            raise self._strange(errand, "is another part of the file than was asked for")
        return start - int(found[1])

    def _more(self, url: str, partial: "_Partial", size: int | None, errand: Errand) -> Iterator[int]:
        """Fetches what is missing, once; yields the bytes so far."""
        have, note = partial.resumable(size)
        if size is not None and have == size and note is not None:
            yield have
            return
        headers = {"Range": f"bytes={have}-", "If-Range": note.validator} if have and note else {}
        with self._opened(url, errand, headers) as stream:
            if stream.status == _BEYOND_END:
                partial.begin(None)
                raise self._strange(errand, "is that the file is shorter by now")
            resumed = stream.status == _PART and have > 0
            total = _total(stream, have if resumed else 0)
            if resumed and (self._offset(stream, have, errand) or (note and total != note.total)):
                raise self._strange(errand, "is another part of the file than was asked for")
            self._check_total(total, size, errand)
            if not resumed:
                have = 0
                partial.begin(_Note(_validator(stream.headers), total))
            yield from self._written(stream, partial, total if total is not None else size, errand)

    def _written(self, stream: Stream, partial: "_Partial", total: int | None, errand: Errand) -> Iterator[int]:
        with partial.opened() as file:
            have = file.tell()
            yield have
            for chunk in stream.chunks:
                have += len(chunk)
                if have > (LARGEST_FILE if total is None else total):
                    raise UnsafeAnswerError(
                        doing=errand.doing, what="more bytes come than the file has", remedy="they were not kept"
                    )
                file.write(chunk)
                yield have
            _synced(file)
        if total is not None and have < total:
            raise self._strange(errand, f"has {have:,} bytes of {total:,}")

    def _check_total(self, total: int | None, size: int | None, errand: Errand) -> None:
        if total is not None and size is not None and total != size:
            # The address will not answer otherwise when it is asked again; another listing may give a better one.
            what = f"the store of files has {total:,} bytes where {size:,} were listed"
            raise UnsafeAnswerError(doing=errand.doing, what=what, remedy="nothing was kept")
        if total is not None and total > LARGEST_FILE:
            raise UnsafeAnswerError(doing=errand.doing, what=f"the file is to have {total:,} bytes")

    def _opened(self, url: str, errand: Errand, headers: Mapping[str, str]) -> "_Opened":
        return _Opened(self._endpoint, self._transport, Request("GET", url, errand.doing, headers=headers))

    def _strange(self, errand: Errand, why: str) -> NotKaggleError:
        return NotKaggleError(doing=errand.doing, host="the store of files", why=why)


class _Opened:
    """A connection to a file, over as many redirects as it takes, each of which is looked at first."""

    def __init__(self, endpoint: Endpoint, transport: Transport, request: Request) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._request = request

    def __enter__(self) -> Stream:
        url = self._request.url
        for _ in range(_MOST_REDIRECTS + 1):
            url = guards.checked_address(url, base=self._endpoint.address, doing=self._request.doing)
            request = Request("GET", url, self._request.doing, headers=self._request.headers)
            self._context = self._transport.stream(request)
            stream = self._context.__enter__()
            location = stream.headers.get("location")
            if stream.status not in _REDIRECTS or not location:
                break
            self._context.__exit__(None, None, None)
            url = guards.joined(url, location)
        else:
            raise NotKaggleError(doing=self._request.doing, host=urlsplit(url).netloc, why="sends on again and again")
        try:
            self._check(stream, url)
        except BaseException:
            self._context.__exit__(None, None, None)
            raise
        return stream

    def __exit__(self, *exception: object) -> None:
        self._context.__exit__(None, None, None)

    def _check(self, stream: Stream, url: str) -> None:
        doing = self._request.doing
        wait = retry_after(stream.headers.get("retry-after"))
        if stream.status == _TOO_OFTEN:
            raise RateLimitedError(doing=doing, retry_after=wait)
        if stream.status >= _FAILED:
            raise ServerFailedError(doing=doing, status=stream.status, said="", retry_after=wait)
        if stream.status >= _ERROR and stream.status != _BEYOND_END:
            said = f"the store of files answers {stream.status}"
            raise RefusedError(doing=doing, said=said, remedy=_EXPIRED)
        strange = ""
        if stream.status not in (_WHOLE, _PART, _BEYOND_END):
            strange = f"has the status {stream.status}"
        elif stream.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            strange = "is compressed, though that was not asked for"
        elif stream.media_type == "text/html" and not urlsplit(url).path.lower().endswith((".html", ".htm")):
            strange = "is a page of HTML where a file was expected"
        if strange:
            raise NotKaggleError(doing=doing, host=urlsplit(url).netloc, why=strange)


@dataclass(frozen=True)
class _Note:
    """What tells whether a partial file is a part of what a server has now."""

    validator: str
    total: int | None


class _Partial:
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
    """What `If-Range` compares: a strong entity tag, else the date of the last change."""
    tag = headers.get("etag", "")
    return tag if tag and not tag.startswith("W/") else headers.get("last-modified", "")


def _total(stream: Stream, have: int) -> int | None:
    """The size of the whole file, as far as the headers say it."""
    if stream.status == _PART:
        found = _CONTENT_RANGE.fullmatch(stream.headers.get("content-range", ""))
        return int(found[3]) if found and found[3] != "*" else None
    length = stream.headers.get("content-length", "")
    return have + int(length) if length.isdecimal() and length.isascii() else None


def _synced(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
