"""Requests over HTTP with bounds on everything: time, size, redirects; the only module that sends anything."""

import logging
import math
import os
import random
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

from generator import __version__
from generator.kaggle.errors import (
    ForbiddenError,
    KaggleError,
    NotFoundError,
    NotKaggleError,
    NotVerifiedError,
    ProxyAddressError,
    RateLimitedError,
    Redaction,
    RefusedError,
    RulesNotAcceptedError,
    ServerFailedError,
    SessionLimitError,
    SlugTakenError,
    SubmitForbiddenError,
    UnreachableError,
)
from generator.text import printable

if TYPE_CHECKING:
    from _typeshed import SupportsRead
    from urllib3 import BaseHTTPResponse, PoolManager


# When something is asked again: how long to wait before, and when to stop.


TRANSIENT = (UnreachableError, NotKaggleError, ServerFailedError, RateLimitedError)
"""The errors that may be gone a moment later."""

WAITING = logging.getLogger("generator.kaggle.waiting")
"""Told, in sentences for the user, of each attempt that is made again and of answers that are long in coming."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class RetryPolicy:
    """The bounds of asking again: so many attempts, so many seconds spent waiting; `sleep` and `jitter` for tests."""

    attempts: int = 6
    longest_wait: float = 120
    first_pause: float = 0.5
    longest_pause: float = 30
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random

    def pause(self, attempt: int) -> float:
        """Seconds after the `attempt`-th failure, counted from 0: doubling, with half of it left to chance.

        Chance keeps many clients that failed together from coming back together.
        """
        full = min(self.first_pause * 2.0**attempt, self.longest_pause)
        return full * (0.5 + self.jitter() / 2)


class Retries:
    """The failures of one thing that is tried again and again."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._wait_seconds = 0.0
        self.failures = 0

    def wait(self, error: KaggleError, *, has_progressed: bool = False) -> None:
        """Waits before the next attempt, or raises the error once the attempts or the time are used up.

        Args:
            error: How the last attempt ended.
            has_progressed: Whether it brought something all the same; then the count begins anew.
        """
        policy = self._policy
        if has_progressed:
            self.failures, self._wait_seconds = 0, 0.0
        pause = policy.pause(self.failures)
        if error.retry_after is not None:
            pause = max(error.retry_after.total_seconds(), policy.first_pause)
        if not has_progressed:
            self.failures += 1
            self._wait_seconds += pause
            if self.failures >= policy.attempts or self._wait_seconds > policy.longest_wait:
                raise error
        # What to do next is for those who are no longer waiting.
        reason = error.message.partition("; ")[0].rstrip(".")
        number = f"try {self.failures + 1} of {policy.attempts}"
        WAITING.info("%s. Trying again in %.0f s (%s).", reason, max(pause, 1), number)
        policy.sleep(pause)


def retry(ask: Callable[[], _Answer], policy: RetryPolicy) -> _Answer:
    """The first answer that is not one of `TRANSIENT`; only for what changes nothing.

    Args:
        ask: Asks once.
        policy: When to stop.

    Raises:
        KaggleError: The last answer, once the attempts or the time are used up, or at once if waiting cannot help.
    """
    retries = Retries(policy)
    while True:
        try:
            return ask()
        except TRANSIENT as error:
            retries.wait(error)


def retry_after(value: str | None, *, now: datetime | None = None) -> timedelta | None:
    """Reads the header `Retry-After`: seconds or an HTTP date; None if it says nothing that can be understood."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), 30 * 86400))
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(aware - (now or datetime.now(UTC)), timedelta(0))


# The error that an answer of Kaggle stands for: by its HTTP status and its words, or by words that came with 200.


REAL_HOST = "api.kaggle.com"


@dataclass(frozen=True)
class Operation:
    """Something that is asked of Kaggle, as far as the sentences of errors need it.

    Attributes:
        doing: A verb and its object, such as "push ada/digits-train".
        competition: The competition it is about, if it is about one.
        is_submission: Whether a submission is being made.
    """

    doing: str
    competition: str = ""
    is_submission: bool = False


@dataclass(frozen=True)
class Endpoint:
    """The addresses of an API and its web pages; `address` is the API's origin without a final slash."""

    address: str
    is_local: bool

    @property
    def is_real(self) -> bool:
        """True for Kaggle's own."""
        return urlsplit(self.address).hostname == REAL_HOST

    @property
    def host(self) -> str:
        """The host with its port, for sentences."""
        return urlsplit(self.address).netloc

    @property
    def api(self) -> str:
        """The address that the API's methods stand below."""
        # Only the real one has a host of its own for the API; everywhere else it is below /api.
        return f"{self.address}/v1" if self.is_real else f"{self.address}/api/v1"

    @property
    def site(self) -> str:
        """The address of the web pages, without a final slash."""
        return "https://www.kaggle.com" if self.is_real else self.address

    def competition(self, operation: Operation) -> str:
        """The page of the competition that an operation is about, or of all."""
        return f"{self.site}/competitions/{operation.competition}".rstrip("/")

    def rules(self, operation: Operation) -> str:
        """The page on which a competition's rules are accepted."""
        return f"{self.competition(operation)}/rules" if operation.competition else self.competition(operation)

    @property
    def work(self) -> str:
        """The page that lists the account's own notebooks and their running sessions."""
        return f"{self.site}/work"


def transient_error(status: int, headers: Mapping[str, str], *, doing: str, words: str = "") -> KaggleError | None:
    """The error for a status that may be another one a moment later: 429 or 5xx; None for any other status."""
    wait = retry_after(headers.get("retry-after"))
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimitedError(doing=doing, retry_after=wait)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerFailedError(doing=doing, status=status, words=words, retry_after=wait)
    return None


def refusal_error(status: int, words: str, *, operation: Operation, endpoint: Endpoint) -> KaggleError:
    """The error for an answer with a status of 400 to 499 other than 401 and 429, or for a refusal in words.

    Args:
        status: The HTTP status, or the `code` in an answer that came with 200; 400 for an `error` field.
        words: The server's words; may be empty.
        operation: The operation that was refused.
        endpoint: Where the pages are that the error names.
    """
    doing = operation.doing
    if error := _by_words(words, operation, endpoint):
        return error
    if status == HTTPStatus.CONFLICT:
        return SlugTakenError(doing=doing, words=words, page=endpoint.work)
    if status == HTTPStatus.NOT_FOUND:
        page = endpoint.competition(Operation(doing)) if operation.competition else endpoint.work
        return NotFoundError(doing=doing, words=words, look_at=page)
    if status == HTTPStatus.FORBIDDEN:
        return _forbidden_error(words, operation, endpoint)
    return RefusedError(doing=doing, words=words or f"with status {status}")


_NEXT_DAY = "the day's count begins anew at 00:00 UTC, submit after that"

# The order counts: a sentence on a quota may speak of sessions, but none on sessions of a quota.
_BY_WORDS: tuple[tuple[str, type[ForbiddenError] | type[RefusedError], str], ...] = (
    (r"\baccept\w*\b.{0,60}\brules\b|\brules\b.{0,60}\baccept", RulesNotAcceptedError, ""),
    (r"\bphone\b", NotVerifiedError, "verify your phone number at {page}"),
    (r"\bidentity\b|\bpersona\b", NotVerifiedError, "verify your identity at {page}"),
    (r"\bsubmissions?\b.{0,40}\b(?:limit|allowance|left|remaining|per day)\b", RefusedError, _NEXT_DAY),
    (r"\b(?:limit|maximum|no more|used all)\b.{0,40}\bsubmissions?\b", RefusedError, _NEXT_DAY),
    (
        r"\bquota\b",
        RefusedError,
        "the hours begin anew on Saturday at 00:00 UTC, see {page}; until then take another accelerator",
    ),
    (r"\bsession count\b|\bmaximum\b.{0,40}\bsessions?\b|\btoo many\b.{0,40}\bsessions?\b", SessionLimitError, ""),
    (r"\balready (?:exists|in use|taken|used)\b|\bis (?:taken|in use)\b|\bconflict", SlugTakenError, ""),
)
"""Words of a refusal, the error that they stand for, and the remedy where it is not the usual one of such errors."""


def _by_words(words: str, operation: Operation, endpoint: Endpoint) -> KaggleError | None:
    # Phone and identity are verified, and quota is shown, in the settings.
    pages = {
        RulesNotAcceptedError: endpoint.rules(operation),
        SessionLimitError: endpoint.work,
        SlugTakenError: endpoint.work,
    }
    for pattern, error, remedy in _BY_WORDS:
        if remedy is _NEXT_DAY and not operation.is_submission:
            continue
        if re.search(pattern, words, re.IGNORECASE | re.DOTALL):
            page = pages.get(error, f"{endpoint.site}/settings")
            return error(doing=operation.doing, words=words, remedy=remedy.format(page=page), page=page)
    return None


def _forbidden_error(words: str, operation: Operation, endpoint: Endpoint) -> KaggleError:
    if operation.is_submission:
        page = f"{endpoint.competition(operation)}/submit"
        return SubmitForbiddenError(doing=operation.doing, words=words, page=page)
    remedy = f"check that the name is right and that it belongs to this account, at {endpoint.work}"
    if operation.competition:
        # Kaggle answers 403 without a reason for what only those see who have joined.
        remedy = f"join the competition and accept its rules at {endpoint.rules(operation)}, then try again"
    return ForbiddenError(doing=operation.doing, words=words, remedy=remedy)


USER_AGENT = f"tandem/{__version__}"
_CHUNK = 1 << 16  # bytes
_KEPT_OPEN = 4  # connections to one host
_LARGEST_COMPLAINT = 1 << 20  # bytes of an error's body
_REDIRECTS = (301, 302, 303, 307, 308)

_logger = logging.getLogger(__name__)
_Manager = TypeVar("_Manager", bound="PoolManager")


@dataclass(frozen=True)
class Timeouts:
    """Seconds: to connect, for the head of an answer or more of its body, and for a whole answer kept in memory.

    After `silent` seconds without such an answer the user is told.
    """

    connect: float = 15
    read: float = 60
    whole: float = 300
    silent: float = 10


@dataclass(frozen=True)
class Route:
    """The way to Kaggle where it is not the direct one.

    Attributes:
        proxy: The address of a proxy; empty for none. Only requests over HTTPS use it: it sees their host alone. Plain
            HTTP, such as to a local Kaggle, is sent without it, since it could read the token.
        certificates: A file of the certificates to trust; empty for those of certifi.
        direct_hosts: The hosts that are reached without the proxy, as in `NO_PROXY`: names with commas between them.
    """

    proxy: str = field(default="", repr=False)
    certificates: str = ""
    direct_hosts: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Route":
        """Read `KAGGLE_PROXY`, else `HTTPS_PROXY` or `ALL_PROXY` with `NO_PROXY`, and `KAGGLE_SSL_CA_CERT`.

        Names in small letters count too, before those in capitals, as in curl and requests.

        Raises:
            ProxyAddressError: The address of the proxy is not one of HTTP or HTTPS.
        """
        certificates = environment.get("KAGGLE_SSL_CA_CERT", "")
        for name in ("KAGGLE_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            if address := environment.get(name, "").strip():
                address = address if "://" in address else f"http://{address}"
                if not _is_proxy_address(address):
                    raise ProxyAddressError(variable=name)
                no_proxy = environment.get("no_proxy") or environment.get("NO_PROXY", "")
                return cls(address, certificates, "" if name == "KAGGLE_PROXY" else no_proxy)
        return cls(certificates=certificates)

    def uses_proxy(self, url: str) -> bool:
        """True if a request to an address goes through the proxy."""
        parts = urlsplit(url)
        is_direct = proxy_bypass_environment(parts.hostname or "", {"no": self.direct_hosts})
        return bool(self.proxy) and parts.scheme == "https" and not is_direct


def _is_proxy_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


@dataclass(frozen=True)
class Request:
    """One request; `authorization` is a header's value, and has to be empty for any other origin than the API's.

    `secrets` are cut out of the answer, whatever part of it is shown or kept.
    `is_repeatable` says that sending it twice does no harm; only such requests reuse connections, because one that
    was closed meanwhile cannot be told from one that broke after the request arrived.
    """

    verb: str
    url: str
    doing: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: "bytes | SupportsRead[bytes] | None" = None  # what is read while it is sent needs a length in a header
    authorization: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    is_repeatable: bool = True

    @property
    def host(self) -> str:
        """The host that the request goes to, for sentences: `api.kaggle.com` or `127.0.0.1:8400`."""
        return urlsplit(self.url).netloc


@dataclass(frozen=True)
class _Head:
    """The beginning of an answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]

    @property
    def media_type(self) -> str:
        """The type of the body without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_redirect(self) -> bool:
        """True if it sends on to another address."""
        return self.status in _REDIRECTS


@dataclass(frozen=True)
class Response(_Head):
    """An answer that is kept in memory."""

    body: bytes


@dataclass(frozen=True)
class StreamedResponse(_Head):
    """An answer whose body comes piece by piece, each as soon as it is there."""

    chunks: Iterator[bytes]

    def read(self, limit: int = _LARGEST_COMPLAINT) -> bytes:
        """The rest of the body, at most `limit` bytes of it."""
        body = bytearray()
        for chunk in self.chunks:
            body += chunk
            if len(body) >= limit:
                break
        return bytes(body[:limit])


class Transport:
    """Sends requests; any thread may use it."""

    def __init__(self, timeouts: Timeouts | None = None, *, route: Route | None = None) -> None:
        self._timeouts = timeouts or Timeouts()
        self._route = route or Route()
        self._connections: dict[bool, PoolManager] = {}

    def send(self, request: Request, *, limit: int) -> Response:
        """Sends a request and reads the whole answer.

        Args:
            request: What to send.
            limit: The most bytes that the body may have.

        Raises:
            UnreachableError: No connection, or no whole answer in time.
            NotKaggleError: The body is larger than `limit`.
        """
        with self._open_stream(request, self._timeouts.read, whole=self._timeouts.whole) as stream:
            body = bytearray()
            largest = limit if stream.status < HTTPStatus.BAD_REQUEST else min(limit, _LARGEST_COMPLAINT)
            for chunk in stream.chunks:
                body += chunk
                if len(body) > largest:
                    raise NotKaggleError(
                        doing=request.doing, host=request.host, reason=f"is longer than {largest:,} bytes"
                    )
            return Response(stream.status, stream.headers, bytes(body))

    @contextmanager
    def stream(self, request: Request, *, read_timeout: float | None = None) -> Iterator[StreamedResponse]:
        """Sends a request and hands out the answer while it comes.

        Args:
            request: What to send.
            read_timeout: Seconds to wait for the next byte, if other than usual.

        Raises:
            UnreachableError: No connection, or nothing more came; also while the chunks are read.
        """
        with self._open_stream(request, read_timeout or self._timeouts.read) as stream:
            yield stream

    @contextmanager
    def _open_stream(
        self, request: Request, read_timeout: float, *, whole: float | None = None
    ) -> Iterator[StreamedResponse]:
        """As `stream`; `whole` bounds the time from the head of the answer to the end of its body."""
        connections = _translating(lambda: self._connect(request), request)
        try:
            # A log or a file that comes slowly has a clock of its own; of an answer kept in memory nothing is seen.
            notice = None if whole is None else _SilenceNotice(request, self._timeouts.silent)
            with _Deadline(self._timeouts.connect + read_timeout, notice) as deadline:
                response = self._send(connections, request, read_timeout, deadline)
                try:
                    deadline.extend(whole)
                    redaction = Redaction(request.secrets)
                    headers = {name.lower(): redaction.cut_text(value) for name, value in response.headers.itermerged()}
                    chunks = _chunks(response, request, deadline, is_extended=whole is None)
                    yield StreamedResponse(response.status, headers, redaction.chunks(chunks))
                finally:
                    # A body that was not read to its end would be taken for the next answer.
                    response.close()
        finally:
            if not request.is_repeatable:
                connections.clear()

    def _send(
        self, connections: "PoolManager", request: Request, read_timeout: float, deadline: "_Deadline"
    ) -> "BaseHTTPResponse":
        from urllib3 import Timeout

        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **request.headers}
        if request.authorization:
            headers["Authorization"] = request.authorization
        body = request.body
        if body is not None and not isinstance(body, bytes):
            body = _WatchedBody(body, deadline)

        def send() -> "BaseHTTPResponse":
            return connections.urlopen(
                request.verb,
                request.url,
                redirect=False,
                body=body,
                headers=headers,
                retries=False,
                timeout=Timeout(connect=self._timeouts.connect, read=read_timeout),
                preload_content=False,
                decode_content=False,
            )

        try:
            response = _translating(send, request, deadline)
        finally:
            deadline.release()
        # The query of a short-lived address is what makes it a credential.
        _logger.debug("%s %s: %d", request.verb, request.url.partition("?")[0], response.status)
        return response

    def _connect(self, request: Request) -> "PoolManager":
        """Return connections for a request: kept ones where it can be repeated, else new ones."""
        uses_proxy = self._route.uses_proxy(request.url)
        if not request.is_repeatable:
            return self._make_pool(uses_proxy=uses_proxy)
        if uses_proxy not in self._connections:
            self._connections[uses_proxy] = self._make_pool(uses_proxy=uses_proxy)
        return self._connections[uses_proxy]

    def _make_pool(self, *, uses_proxy: bool) -> "PoolManager":
        import certifi
        import urllib3

        certificates = self._route.certificates or certifi.where()
        if not uses_proxy:
            return _watch_connections(urllib3.PoolManager(maxsize=_KEPT_OPEN, ca_certs=certificates))
        account = unquote(urllib3.util.parse_url(self._route.proxy).auth or "")
        headers = urllib3.make_headers(proxy_basic_auth=account or None)
        return _watch_connections(
            urllib3.ProxyManager(self._route.proxy, proxy_headers=headers, maxsize=_KEPT_OPEN, ca_certs=certificates)
        )


class _SilenceNotice:
    """Tells the user once that an answer is long in coming."""

    def __init__(self, request: Request, seconds: float) -> None:
        self._request, self._seconds = request, seconds
        self.due = math.inf

    def postpone(self) -> None:
        """Something went on: wait for as long again."""
        self.due = time.monotonic() + self._seconds

    def tell(self, seconds_left: float) -> None:
        """Say what is waited for, and how long yet."""
        doing, host = printable(self._request.doing), printable(self._request.host)
        sentence = "Cannot %s yet: %s has not finished its answer after %.0f s. Waiting up to %.0f s more."
        WAITING.info(sentence, doing, host, self._seconds, max(seconds_left, 0))


class _Deadline:
    """Shuts a connection down at a moment that progress moves; used by the thread that sends, as a context.

    The socket is duplicated, since the library detaches it where encryption begins and drops it where a body is read.
    """

    _current = threading.local()

    def __init__(self, seconds: float, notice: _SilenceNotice | None = None) -> None:
        self._seconds = seconds
        self._notice = notice
        self._until = time.monotonic() + seconds
        self._socket: socket.socket | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._is_over = False
        self.has_passed = False

    @classmethod
    def watch(cls, connection: "socket.socket") -> None:
        """Watches a connection on behalf of the request that this thread is sending, if it is sending one."""
        deadline: _Deadline | None = getattr(cls._current, "deadline", None)
        if deadline is not None:
            deadline.attach(connection)

    def extend(self, seconds: float | None = None) -> None:
        """Gives it as much time as in the beginning from now on, or so many seconds."""
        with self._lock:
            self._until = time.monotonic() + (self._seconds if seconds is None else seconds)
            if self._notice is not None and seconds is None:
                self._notice.postpone()
            if self._timer is not None and seconds is not None:
                self._timer.cancel()
                self._start()

    def __enter__(self) -> "_Deadline":
        self._current.deadline = self
        return self

    def release(self) -> None:
        """Ends that this thread's connections are watched; the one that was goes on being watched."""
        self._current.deadline = None

    def __exit__(self, *_: object) -> None:
        self.release()
        with self._lock:
            self._is_over = True
            if self._timer is not None:
                self._timer.cancel()
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def attach(self, connection: "socket.socket") -> None:
        """Watches a connection, which has all of the time from now on."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            self._socket = socket.socket(fileno=os.dup(connection.fileno()))
            self._until = time.monotonic() + self._seconds
            if self._notice is not None:
                self._notice.postpone()
            if self._timer is None:
                self._start()

    def _start(self) -> None:
        moment = self._until if self._notice is None else min(self._until, self._notice.due)
        self._timer = threading.Timer(max(moment - time.monotonic(), 0), self._check_time)
        self._timer.daemon = True
        self._timer.start()

    def _check_time(self) -> None:
        with self._lock:
            if self._is_over or self._socket is None:
                return
            notice, now = self._notice, time.monotonic()
            is_silent = notice is not None and now >= notice.due
            if is_silent:
                self._notice = None
            if now < self._until:
                self._start()
            else:
                self.has_passed = True
                with suppress(OSError):  # the other end may have closed it
                    self._socket.shutdown(socket.SHUT_RDWR)
        if notice is not None and is_silent and not self.has_passed:
            notice.tell(self._until - now)


class _WatchedBody:
    """A body whose sending extends the deadline: each piece that is read says that the one before it was taken."""

    def __init__(self, body: "SupportsRead[bytes]", deadline: _Deadline) -> None:
        self._body, self._deadline = body, deadline

    def read(self, size: int = -1, /) -> bytes:
        self._deadline.extend()
        return self._body.read(size)


def _watch_connections(manager: "_Manager") -> "_Manager":
    """The pool manager with connections that the deadline of the request they carry can close."""
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
    from urllib3.connection import HTTPConnection, HTTPSConnection

    class WatchedConnection(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            connection = super()._new_conn()
            _Deadline.watch(connection)
            return connection

        def request(self, *args: Any, **options: Any) -> None:
            if self.sock is not None:  # kept open since an earlier request
                _Deadline.watch(self.sock)
            super().request(*args, **options)

    class WatchedSecureConnection(HTTPSConnection, WatchedConnection):
        """The same, encrypted."""

    class Pool(HTTPConnectionPool):
        ConnectionCls = WatchedConnection

    class EncryptedPool(HTTPSConnectionPool):
        ConnectionCls = WatchedSecureConnection

    manager.pool_classes_by_scheme = {"http": Pool, "https": EncryptedPool}
    return manager


def _chunks(
    response: "BaseHTTPResponse", request: Request, deadline: _Deadline, *, is_extended: bool
) -> Iterator[bytes]:
    # `read1` gives what has come; `read` would wait for a whole chunk of a log that grows slowly.
    while chunk := _translating(lambda: response.read1(_CHUNK, decode_content=False), request, deadline):
        if is_extended:
            deadline.extend()
        yield chunk
    if response.length_remaining:
        early = f"closed the connection {response.length_remaining:,} bytes too early"
        raise _unreachable(request, early, was_sent=True)


def _translating(ask: Callable[[], _Answer], request: Request, deadline: _Deadline | None = None) -> _Answer:
    """The answer of the HTTP library, whose errors become ours; after the deadline there is none."""
    import urllib3

    failure: UnreachableError | None = None
    try:
        answer = ask()
    except (urllib3.exceptions.HTTPError, OSError) as error:
        failure = _translate(error, request)
    # A socket that was shut down reads as an answer that ends there.
    if deadline is not None and deadline.has_passed:
        failure = _unreachable(request, "did not finish its answer in time", was_sent=True)
        failure.timed_out = True
    if failure is not None:
        # Not raised where the library's error would become its context: that one carries the credentials.
        raise failure
    return answer


_TUNNEL_REFUSED = "Tunnel connection failed"  # by which http.client begins its error for the answer of a proxy


def _translate(error: Exception, request: Request) -> UnreachableError:
    """The error for what the HTTP library says; what it says after it connected leaves open what has arrived."""
    from urllib3 import exceptions

    # Each of urllib3's is a kind of the one after it. Of encryption, only a certificate is looked at before anything is
    # sent; the rest of it can break at any time.
    before_sending: dict[type[Exception], str] = {
        ssl.SSLCertVerificationError: "has a certificate that this machine does not trust",
        FileNotFoundError: "cannot be trusted, since the file of certificates to trust is not there",
        exceptions.NameResolutionError: "cannot be found by its name",
        exceptions.NewConnectionError: "accepts no connection",
        exceptions.ConnectTimeoutError: "does not answer",
        exceptions.LocationValueError: "is no address",
    }
    # The library puts what it wraps among the arguments. It raises ProxyError for whatever breaks behind a proxy, also
    # after the request was sent.
    causes = (error, *error.args)
    proxy_errors = (cause for cause in causes if isinstance(cause, exceptions.ProxyError))
    for failure in [proxy_error.original_error for proxy_error in proxy_errors]:
        if isinstance(failure, exceptions.NewConnectionError | exceptions.ConnectTimeoutError) or str(
            failure
        ).startswith(_TUNNEL_REFUSED):
            reason = "cannot be reached through the proxy that KAGGLE_PROXY or HTTPS_PROXY names"
            return _unreachable(request, reason, was_sent=False)
        causes = (*causes, failure, *failure.args)
    for kind, reason in before_sending.items():
        if any(isinstance(cause, kind) for cause in causes):
            return _unreachable(request, reason, was_sent=False)
    if any(isinstance(cause, exceptions.ReadTimeoutError | TimeoutError) for cause in causes):
        late = _unreachable(request, "did not answer in time", was_sent=True)
        late.timed_out = True
        return late
    return _unreachable(request, "closed the connection before its answer was whole", was_sent=True)


def _unreachable(request: Request, reason: str, *, was_sent: bool) -> UnreachableError:
    # What changes nothing has no outcome to wonder about.
    return UnreachableError(
        doing=request.doing, host=request.host, reason=reason, was_sent=was_sent and not request.is_repeatable
    )
