"""Calls of the API, and files sent and fetched by short-lived addresses."""

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any, BinaryIO
from urllib.parse import quote, urlsplit

from generator.files import FileReadError, FileWriteError, WorkspaceFiles, open_file, writing
from generator.kaggle import api_types
from generator.kaggle import errors as guards
from generator.kaggle.api_types import RemoteFile
from generator.kaggle.credentials import AccessToken, Credentials, LegacyKey, RefreshToken, redacted_secrets
from generator.kaggle.errors import (
    CredentialsError,
    ForbiddenError,
    KaggleError,
    NotFoundError,
    NotKaggleError,
    RefusedError,
    UnsafeAnswerError,
)
from generator.kaggle.transport import (
    TRANSIENT,
    Endpoint,
    Operation,
    Request,
    Response,
    Retries,
    RetryPolicy,
    Route,
    StreamedResponse,
    Timeouts,
    Transport,
    refusal_error,
    retry,
    transient_error,
)
from generator.text import JsonObject, is_slug, parsed_json, printable

# Calls of the API: signed, sent, repeated where that is safe, and answered by an object or one of our errors.


_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_LARGEST_ANSWER = 64 << 20  # bytes; a long log and a long notebook are in answers
_OAUTH_LIFE = timedelta(hours=12)
_LARGEST_STATUS = 999
_MOST_PAGES = 20_000


class ApiClient:
    """Calls of the API for one account at one Kaggle, from any thread. Making a client sends nothing."""

    def __init__(  # noqa: PLR0913 - a keyword each for what a command or a test may want otherwise
        self,
        address: str,
        credentials: Credentials,
        *,
        is_local: bool | None = None,
        retries: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        route: Route | None = None,
    ) -> None:
        """Stands for an account.

        Args:
            address: The origin of the API, such as `https://api.kaggle.com` or `http://127.0.0.1:8400`.
            credentials: Whose account it is.
            is_local: Whether it is a local Kaggle; by default if the address is one of this machine.
            retries: How often and how long reads are repeated.
            timeouts: How long answers may take.
            route: The way there, if it is not the direct one.

        Raises:
            CredentialsError: The address is one that credentials must not be sent to, since it is not encrypted.
        """
        parts = urlsplit(address)
        local = parts.hostname in _LOOPBACK if is_local is None else is_local
        if parts.scheme != "https" and not local:
            raise CredentialsError(
                reason=f"{printable(parts.netloc.rpartition('@')[2])} is reached without encryption",
                remedy="use an address that begins with https://",
            )
        self.endpoint = Endpoint(address.rstrip("/"), local)
        self.credentials = credentials
        self.retries = retries or RetryPolicy()
        self.transport = Transport(timeouts, route=route)
        self._lock = threading.Lock()

    def read(self, operation: Operation, service: str, method: str, /, **fields: Any) -> Any:
        """Calls a method that changes nothing, again and again where the failure may pass.

        Returns:
            The answer as its type of `kagglesdk`.

        Raises:
            KaggleError: What Kaggle answered in the end.
        """
        call = api_types.prepare_call(service, method, **fields)
        return retry(lambda: self._call(operation, call), self.retries)

    def change(self, operation: Operation, service: str, method: str, /, **fields: Any) -> Any:
        """Calls a method that changes something: once, whatever happens.

        Returns:
            The answer as its type of `kagglesdk`.

        Raises:
            KaggleError: What Kaggle answered; `outcome_unknown` says whether it may have done it.
        """
        return self._call(operation, api_types.prepare_call(service, method, **fields), is_repeatable=False)

    def file_url(self, operation: Operation, service: str, method: str, /, **fields: Any) -> str:
        """Asks for the short-lived address of a file."""
        return self.checked_url(self.read(operation, service, method, **fields).url, operation)

    def checked_url(self, url: str, operation: Operation, *, is_upload: bool = False) -> str:
        """The address of a file that Kaggle named, if it is one that may be asked, or sent a file."""
        return guards.checked_address(url, base=self.endpoint.address, doing=operation.doing, is_upload=is_upload)

    def pages(self, operation: Operation, service: str, method: str, /, **fields: Any) -> Iterator[Any]:
        """Every page of a listing."""
        token: str | None = None
        earlier: set[str] = set()
        for _ in range(_MOST_PAGES):
            page = self.read(operation, service, method, page_token=token, **fields)
            yield page
            token = page.next_page_token or ""
            if not token:
                return
            if token in earlier:
                raise self.unexpected_answer(operation, "is a listing that goes in circles")
            earlier.add(token)
        raise self.unexpected_answer(operation, "is a listing without an end")

    @contextmanager
    def stream(self, operation: Operation, path: str, *, read_timeout: float) -> Iterator[StreamedResponse]:
        """Fetches a path of the API itself while it comes, with the credentials; once."""
        request = Request(
            "GET",
            f"{self.endpoint.api}/{quote(path)}",
            operation.doing,
            headers={"Accept": "text/event-stream, application/json"},
            authorization=self._authorization(operation),
            secrets=redacted_secrets(self.credentials),
        )
        with self.transport.stream(request, read_timeout=read_timeout) as stream:
            if stream.status >= HTTPStatus.BAD_REQUEST:
                raise self._error(Response(stream.status, stream.headers, stream.read()), operation)
            if stream.is_redirect:
                raise self.unexpected_answer(operation, "sends on to another address")
            yield stream

    def read_or_none(self, operation: Operation, service: str, method: str, /, **fields: Any) -> Any:
        """The answer to a look-up, or None where there is no such thing, or none that this account may see."""
        try:
            return self.read(operation, service, method, **fields)
        except NotFoundError:
            return None
        except ForbiddenError as error:
            # Kaggle forbids what is not there; creating what somebody else has fails with a sentence of its own.
            if type(error) is ForbiddenError:
                return None
            raise

    def refusal_error(self, words: str, operation: Operation) -> KaggleError:
        """The error for a refusal in words, in an answer that came with 200."""
        return refusal_error(HTTPStatus.BAD_REQUEST, words, operation=operation, endpoint=self.endpoint)

    def unexpected_answer(self, operation: Operation, reason: str) -> NotKaggleError:
        """The error for an answer without what it has to have; `reason` continues "the answer of HOST …"."""
        return NotKaggleError(doing=operation.doing, host=self.endpoint.host, reason=reason)

    def unexpected_of_store(self, operation: Operation, reason: str) -> NotKaggleError:
        """The same for an answer of the store that Kaggle keeps files in."""
        return NotKaggleError(doing=operation.doing, host="the store of files", reason=reason)

    def _call(
        self,
        operation: Operation,
        call: api_types.SdkCall,
        *,
        is_repeatable: bool = True,
        login: RefreshToken | None = None,
    ) -> Any:
        """Sends a call, signed unless it is one to exchange a login, and reads its answer."""
        request = Request(
            "POST",
            f"{self.endpoint.api}/{call.path}",
            operation.doing,
            headers={"Content-Type": "application/json", "Accept": "application/json"},
            body=call.body,
            authorization="" if login else self._authorization(operation),
            # What is answered to a login may be the access token that is known already.
            secrets=(login.refresh_token,) if login else redacted_secrets(self.credentials),
            is_repeatable=is_repeatable,
        )
        reply = self.transport.send(request, limit=_LARGEST_ANSWER)
        location = reply.headers.get("location")
        is_file = reply.is_redirect and location and call.expects_redirect
        try:
            return call.answer({"url": location} if is_file else self._object(reply, operation))
        except api_types.WrongTypeError as error:
            raise self.unexpected_answer(operation, str(error)) from error

    def _object(self, reply: Response, operation: Operation) -> api_types.JsonObject:
        """The JSON object of an answer that is none of an error."""
        if reply.status >= HTTPStatus.BAD_REQUEST:
            raise self._error(reply, operation)
        if reply.is_redirect:
            raise self.unexpected_answer(operation, "sends on to another address")
        if reply.media_type != "application/json":
            raise self.unexpected_answer(operation, f"is {reply.media_type or 'of no type'} where JSON was expected")
        value = _json(reply.body)
        if value is None:
            raise self.unexpected_answer(operation, "is JSON that is broken or cut off")
        if not isinstance(value, dict):
            raise self.unexpected_answer(operation, "is JSON of another shape than expected")
        code = value.get("code")
        if type(code) is int and HTTPStatus.BAD_REQUEST <= code <= _LARGEST_STATUS:
            raise self._error(Response(code, reply.headers, reply.body), operation)
        return value

    def _error(self, reply: Response, operation: Operation) -> KaggleError:
        if reply.status == HTTPStatus.UNAUTHORIZED:
            return self.credentials_refused()
        words = _message(reply)
        return transient_error(reply.status, reply.headers, doing=operation.doing, words=words) or refusal_error(
            reply.status, words, operation=operation, endpoint=self.endpoint
        )

    def credentials_refused(self) -> CredentialsError:
        """The error for credentials that Kaggle does not accept."""
        return CredentialsError(
            reason=f"the credentials from {printable(self.credentials.source)} are not accepted, they may have expired",
            remedy=f"make a new token at {self.endpoint.site}/settings/api and put it in their place",
        )

    def _authorization(self, operation: Operation) -> str:
        if isinstance(self.credentials, LegacyKey):
            return f"Basic {self.credentials.pair}"
        return f"Bearer {self.access_token(operation)}"

    def access_token(self, operation: Operation) -> str:
        """The token that requests are signed with, exchanged for a new one where it has expired; "" with a key."""
        with self._lock:
            credentials = self.credentials
            if isinstance(credentials, RefreshToken) and not credentials.is_fresh(datetime.now(UTC)):
                credentials = self.credentials = self._refresh(credentials, operation)
        if isinstance(credentials, RefreshToken):
            return credentials.access_token
        return credentials.token if isinstance(credentials, AccessToken) else ""

    def _refresh(self, credentials: RefreshToken, operation: Operation) -> RefreshToken:
        """Exchanges the refresh token; what is stored on this machine stays as it is."""
        call = api_types.prepare_call(
            api_types.ACCOUNT,
            "generate_access_token",
            refresh_token=credentials.refresh_token,
            api_version="API_VERSION_V1",
            expiration_duration=f"{_OAUTH_LIFE.total_seconds()}s",
        )
        try:
            answer = retry(lambda: self._call(operation, call, login=credentials), self.retries)
        except KaggleError as error:
            # Whatever was to be done with the token was not sent.
            error.outcome_unknown = False
            raise
        token = answer.token or ""
        if not token or not token.isascii() or not token.isprintable():
            raise self.credentials_refused()
        user = answer.user_name or ""
        life = timedelta(seconds=min(max(answer.expires_in or 0, 0), _OAUTH_LIFE.total_seconds()))
        return RefreshToken(
            credentials.refresh_token,
            source=credentials.source,
            username=credentials.username or (user if is_slug(user.lower()) else ""),
            access_token=token,
            expires=datetime.now(UTC) + life,
        )


def _json(body: bytes) -> Any:
    try:
        return parsed_json(body.decode("utf-8-sig"))
    except ValueError:
        return None


def _message(reply: Response) -> str:
    """The words of an error's answer, or what it is in place of words."""
    if reply.media_type == "application/json":
        return JsonObject.of(_json(reply.body)).text("message")
    return "a page of HTML in place of a reason" if b"<html" in reply.body[:2_000].lower() else ""


# Fetching files from the short-lived addresses that Kaggle hands out: in ranges, resumed, whole or not at all.


LARGEST_FILE = 1 << 42  # bytes; no file of Kaggle is near it, and no disk either
_LARGEST_SKIP = 8 << 20  # bytes that are read and thrown away where a server does not know ranges
_MOST_REDIRECTS = 5
_WHOLE, _PART, _BEYOND_END = HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
_EXPIRY_REMEDY = "the address of the file is gone or has expired, run the command again to be given a new one"
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_LARGEST_NOTE = 4_096


class Downloads:
    """Fetches files; credentials are never sent along, since the addresses carry their own."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def read_range(self, url: str, start: int, length: int) -> bytes:
        """The bytes from `start` on, at most `length`, fewer at the end; never more, whatever the server sends."""
        if length <= 0:
            return b""
        return retry(lambda: self._range(url, start, length), self._client.retries)

    def download(self, url: str, destination: Path, *, size: int | None = None) -> Iterator[int]:
        """Fetches into a file, resuming `destination.part`; yields the bytes so far; the name appears when whole."""
        return self._download(url, destination, size, Operation(f"download {destination.name}"))

    def _download(self, url: str, destination: Path, size: int | None, operation: Operation) -> Iterator[int]:
        partial = _PartialFile(destination)
        retries = Retries(self._client.retries)
        while True:
            before = partial.size()
            try:
                yield from self._fetch_rest(url, partial, size, operation)
                partial.finish()
                return
            except TRANSIENT as error:
                # A connection that brought something is progress, however often it breaks.
                retries.wait(error, has_progressed=partial.size() > before)
            except OSError as error:
                raise FileWriteError(path=destination, cause=error) from error

    def fetch_output(self, file: RemoteFile, destination: Path, *, most: int = LARGEST_FILE) -> None:
        """Fetches a file of an output whole, status and size checked, and only then gives it its name.

        Raises:
            UnsafeAnswerError: It has more bytes than `most`, whatever was listed; nothing is kept.
        """
        operation, files = Operation(f"fetch {file.name}"), WorkspaceFiles(destination.parent)
        with writing(destination):
            files.make_folder(destination.parent)
            # A folder of its own, that nobody else can look into or put something into.
            with files.beside(destination) as folder:
                for count in self._download(file.url, folder / "file", file.size or None, operation):
                    if count > most:
                        problem = f"the file is larger than {most >> 20:,} MB"
                        raise UnsafeAnswerError(doing=operation.doing, problem=problem, remedy="nothing was kept")
                files.move(folder / "file", destination)

    def _range(self, url: str, start: int, length: int) -> bytes:
        operation = Operation("read a part of a file")
        headers = {"Range": f"bytes={start}-{start + length - 1}"}
        with self._open(url, operation, headers) as stream:
            if stream.status == _BEYOND_END:
                return b""
            skip = self._offset(stream, start, operation)
            if skip > _LARGEST_SKIP:
                raise self._client.unexpected_of_store(operation, "is the whole of a file where a part was asked for")
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
        match = _CONTENT_RANGE.fullmatch(stream.headers.get("content-range", ""))
        if match is None or int(match[1]) > start:
            raise self._client.unexpected_of_store(operation, "is another part of the file than was asked for")
        return start - int(match[1])

    def _fetch_rest(self, url: str, partial: "_PartialFile", size: int | None, operation: Operation) -> Iterator[int]:
        """Fetches what is missing, once; yields the bytes so far."""
        have, note = partial.resumable(size)
        if size is not None and have == size and note is not None:
            yield have
            return
        headers = {"Range": f"bytes={have}-", "If-Range": note.validator} if have and note else {}
        with self._open(url, operation, headers) as stream:
            if stream.status == _BEYOND_END:
                partial.begin(None)
                raise self._client.unexpected_of_store(operation, "is that the file is shorter by now")
            is_resumed = stream.status == _PART and have > 0
            total = _total(stream)
            if is_resumed and (self._offset(stream, have, operation) or (note and total != note.total)):
                raise self._client.unexpected_of_store(operation, "is another part of the file than was asked for")
            self._check_total(total, size, operation)
            if not is_resumed:
                have = 0
                partial.begin(_Note(_validator(stream.headers), total))
            yield from self._write_chunks(stream, partial, total if total is not None else size, operation)

    def _write_chunks(
        self, stream: StreamedResponse, partial: "_PartialFile", total: int | None, operation: Operation
    ) -> Iterator[int]:
        with partial.open_append() as file:
            have = file.tell()
            yield have
            for chunk in stream.chunks:
                have += len(chunk)
                if have > (LARGEST_FILE if total is None else total):
                    raise UnsafeAnswerError(
                        doing=operation.doing, problem="more bytes come than the file has", remedy="they were not kept"
                    )
                file.write(chunk)
                yield have
            file.flush()
            os.fsync(file.fileno())
        if total is not None and have < total:
            raise self._client.unexpected_of_store(operation, f"has {have:,} bytes of {total:,}")

    def _check_total(self, total: int | None, size: int | None, operation: Operation) -> None:
        if total is not None and size is not None and total != size:
            # The address will not answer otherwise when it is asked again; another listing may give a better one.
            problem = f"the store of files has {total:,} bytes where {size:,} were listed"
            raise UnsafeAnswerError(doing=operation.doing, problem=problem, remedy="nothing was kept")
        if total is not None and total > LARGEST_FILE:
            raise UnsafeAnswerError(doing=operation.doing, problem=f"the file is to have {total:,} bytes")

    @contextmanager
    def _open(self, url: str, operation: Operation, headers: Mapping[str, str]) -> Iterator[StreamedResponse]:
        """A connection to a file, over as many redirects as it takes, each of which is looked at first."""
        for _ in range(_MOST_REDIRECTS + 1):
            url = self._client.checked_url(url, operation)
            with self._client.transport.stream(Request("GET", url, operation.doing, headers=headers)) as stream:
                location = stream.headers.get("location")
                if not stream.is_redirect or not location:
                    _check(stream, url, operation)
                    yield stream
                    return
            url = guards.join_url(url, location)
        raise NotKaggleError(doing=operation.doing, host=urlsplit(url).netloc, reason="sends on again and again")


def _check(stream: StreamedResponse, url: str, operation: Operation) -> None:
    """Makes sure that an answer is a file, or a part of one."""
    if error := transient_error(stream.status, stream.headers, doing=operation.doing):
        raise error
    if stream.status >= HTTPStatus.BAD_REQUEST and stream.status != _BEYOND_END:
        words = f"the store of files answers {stream.status}"
        raise RefusedError(doing=operation.doing, words=words, remedy=_EXPIRY_REMEDY)
    strange = ""
    if stream.status not in (_WHOLE, _PART, _BEYOND_END):
        strange = f"has the status {stream.status}"
    elif stream.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        strange = "is compressed, though that was not asked for"
    elif stream.media_type == "text/html" and not urlsplit(url).path.lower().endswith((".html", ".htm")):
        strange = "is a page of HTML where a file was expected"
    if strange:
        raise NotKaggleError(doing=operation.doing, host=urlsplit(url).netloc, reason=strange)


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

    def open_append(self) -> IO[bytes]:
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
        match = _CONTENT_RANGE.fullmatch(stream.headers.get("content-range", ""))
        return int(match[3]) if match and match[3] != "*" else None
    length = stream.headers.get("content-length", "")
    return int(length) if length.isdecimal() and length.isascii() else None


# Sending files to the short-lived addresses that Kaggle hands out, resumed where the connection broke.


_LARGEST_UPLOAD_ANSWER = 1 << 20
_SUCCESS_CODES = (HTTPStatus.OK, HTTPStatus.CREATED)
_INCOMPLETE = HTTPStatus.PERMANENT_REDIRECT  # what stores of files say as long as bytes are missing
_RANGE = re.compile(r"bytes=0-(\d{1,18})")


class Uploads:
    """Sends files."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def send(self, operation: Operation, path: Path, service: str, method: str, /, **fields: Any) -> str:
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
                upload = self._client.read(operation, service, method, **fields)
                if not upload.token or not upload.create_url:
                    raise self._client.unexpected_answer(operation, "names no place for the upload")
                self._put(file, before.st_size, upload.create_url, operation)
                after = os.fstat(file.fileno())
        except OSError as error:
            raise FileReadError(path=path, cause=error) from error
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise UnsafeAnswerError(
                doing=operation.doing,
                problem=f"{path.name} changed while it was sent",
                remedy="try again when it is finished",
            )
        return str(upload.token)

    def _put(self, file: BinaryIO, size: int, url: str, operation: Operation) -> None:
        url = self._client.checked_url(url, operation, is_upload=True)
        retries = Retries(self._client.retries)
        while True:
            try:
                # The first attempt does not ask: nothing was sent yet.
                offset = self._query_offset(url, size, operation) if retries.failures else 0
                if offset < size or not retries.failures:
                    self._send_rest(file, url, offset, size, operation)
                return
            except TRANSIENT as error:
                retries.wait(error)

    def _query_offset(self, url: str, size: int, operation: Operation) -> int:
        """The number of bytes that the store has so far."""
        reply = self._answer_of_store(url, {"Content-Range": f"bytes */{size}"}, b"", operation)
        if reply.status in _SUCCESS_CODES:
            return size
        match = _RANGE.fullmatch(reply.headers.get("range", ""))
        have = int(match[1]) + 1 if match else 0
        if have > size:
            raise self._client.unexpected_of_store(operation, "says that it has more than was sent")
        return have

    def _send_rest(self, file: BinaryIO, url: str, offset: int, size: int, operation: Operation) -> None:
        file.seek(offset)
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size - offset)}
        if offset:
            headers["Content-Range"] = f"bytes {offset}-{size - 1}/{size}"
        reply = self._answer_of_store(url, headers, _Rest(file, size - offset), operation)
        if reply.status == _INCOMPLETE:
            raise self._client.unexpected_of_store(operation, "says that bytes are missing after all were sent")

    def _answer_of_store(
        self, url: str, headers: dict[str, str], body: "bytes | _Rest", operation: Operation
    ) -> Response:
        reply = self._client.transport.send(
            Request("PUT", url, operation.doing, headers, body), limit=_LARGEST_UPLOAD_ANSWER
        )
        if error := transient_error(reply.status, reply.headers, doing=operation.doing):
            raise error
        if reply.status >= HTTPStatus.BAD_REQUEST:
            words = "the store of files did not take the upload"
            raise refusal_error(reply.status, words, operation=operation, endpoint=self._client.endpoint)
        if reply.status not in (*_SUCCESS_CODES, _INCOMPLETE):
            raise self._client.unexpected_of_store(operation, f"has the status {reply.status}")
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
