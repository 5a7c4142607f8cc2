"""Requests over HTTP with bounds on everything: time, size, redirects; the only module that sends anything.

The usual variables for proxies and certificates and `.netrc` are not looked at, cookies are not kept, redirects are not
followed and bodies are not compressed. Credentials go to the API's own origin and nowhere else.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from generator import __version__
from generator.kaggle.errors import NotKaggleError, UnreachableError
from generator.kaggle.redaction import Redaction

if TYPE_CHECKING:
    import requests

USER_AGENT = f"tandem/{__version__}"
_CHUNK = 1 << 16  # bytes
_LARGEST_COMPLAINT = 1 << 20  # bytes of an error's body
_ERROR_STATUS = 400

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Timeouts:
    """Seconds: to connect, to wait for the next byte, and for a whole answer that is kept in memory."""

    connect: float = 15
    read: float = 60
    whole: float = 300


@dataclass(frozen=True)
class Route:
    """How Kaggle is reached where not directly: a proxy's address, and a file of the certificates to trust."""

    proxy: str = field(default="", repr=False)
    certificates: str = ""


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
    body: bytes | Iterable[bytes] | None = None
    authorization: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    is_repeatable: bool = True

    @property
    def host(self) -> str:
        """Whom the request goes to, for sentences: `api.kaggle.com` or `127.0.0.1:8400`."""
        return urlsplit(self.url).netloc


@dataclass(frozen=True)
class Reply:
    """An answer that is kept in memory; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """The type of the body without its parameters, in lower case."""
        return media_type(self.headers)


@dataclass(frozen=True)
class Stream:
    """An answer whose body comes piece by piece, each as soon as it is there."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]

    @property
    def media_type(self) -> str:
        """The type of the body without its parameters, in lower case."""
        return media_type(self.headers)

    def read(self, limit: int = _LARGEST_COMPLAINT) -> bytes:
        """The rest of the body, at most `limit` bytes of it."""
        body = bytearray()
        for chunk in self.chunks:
            body += chunk
            if len(body) >= limit:
                break
        return bytes(body[:limit])


def media_type(headers: Mapping[str, str]) -> str:
    """The type that the headers give the body, without its parameters, in lower case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class Transport:
    """Sends requests; any thread may use it."""

    def __init__(
        self,
        timeouts: Timeouts | None = None,
        *,
        route: Route | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeouts = timeouts or Timeouts()
        self._route = route or Route()
        self._clock = clock
        self._sessions = threading.local()

    def send(self, request: Request, *, limit: int) -> Reply:
        """Sends a request and reads the whole answer.

        Args:
            request: What to send.
            limit: The most bytes that the body may have.

        Raises:
            UnreachableError: No connection, or no whole answer in time.
            NotKaggleError: The body is larger than `limit`.
        """
        deadline = self._clock() + self._timeouts.whole
        with self.stream(request) as stream:
            body = bytearray()
            largest = limit if stream.status < _ERROR_STATUS else min(limit, _LARGEST_COMPLAINT)
            for chunk in stream.chunks:
                body += chunk
                if len(body) > largest:
                    raise NotKaggleError(
                        doing=request.doing, host=request.host, why=f"is longer than {largest:,} bytes"
                    )
                if self._clock() > deadline:
                    raise _unreachable(request, "did not finish its answer in time", was_sent=True)
            return Reply(stream.status, stream.headers, bytes(body))

    @contextmanager
    def stream(self, request: Request, *, read_timeout: float | None = None) -> Iterator[Stream]:
        """Sends a request and hands out the answer while it comes.

        Args:
            request: What to send.
            read_timeout: Seconds to wait for the next byte, if other than usual.

        Raises:
            UnreachableError: No connection, or nothing more came; also while the chunks are read.
        """
        session = self._session() if request.is_repeatable else self._new_session()
        try:
            response = self._sent(session, request, read_timeout or self._timeouts.read)
            try:
                redaction = Redaction(request.secrets)
                headers = {name.lower(): redaction.cut_text(value) for name, value in response.headers.items()}
                yield Stream(response.status_code, headers, redaction.chunks(_chunks(response, request)))
            finally:
                # A body that was not read to its end would be taken for the next answer.
                response.close()
        finally:
            if not request.is_repeatable:
                session.close()

    def _sent(self, session: "requests.Session", request: Request, read_timeout: float) -> "requests.Response":
        import requests
        import urllib3

        headers = {
            "User-Agent": USER_AGENT,
            "Accept-Encoding": "identity",
            **request.headers,
            **({"Authorization": request.authorization} if request.authorization else {}),
        }
        try:
            response = session.request(
                request.verb,
                request.url,
                headers=headers,
                data=request.body,
                timeout=(self._timeouts.connect, read_timeout),
                allow_redirects=False,
                stream=True,
            )
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
            failure = _translated(error, request)
        else:
            _logger.debug("%s %s: %d", request.verb, _without_query(request.url), response.status_code)
            return response
        # Not raised where the library's error would become its context: that one carries the credentials.
        raise failure

    def _session(self) -> "requests.Session":
        session: requests.Session | None = getattr(self._sessions, "session", None)
        if session is None:
            session = self._sessions.session = self._new_session()
        return session

    def _new_session(self) -> "requests.Session":
        from http.cookiejar import DefaultCookiePolicy

        import requests

        session = requests.Session()
        session.trust_env = False
        session.headers.clear()
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        if self._route.proxy:
            session.proxies = {"https": self._route.proxy}
        if self._route.certificates:
            session.verify = self._route.certificates
        return session


def _chunks(response: "requests.Response", request: Request) -> Iterator[bytes]:
    while True:
        chunk = _next_chunk(response.raw, request)
        if isinstance(chunk, UnreachableError):
            raise chunk
        if not chunk:
            return
        yield chunk


def _next_chunk(raw: Any, request: Request) -> bytes | UnreachableError:
    """What came next, nothing at the end, or what went wrong: to be raised away from the library's own error."""
    import requests
    import urllib3

    try:
        # `read1` gives what has come; `read` would wait for a whole chunk of a log that grows slowly.
        chunk: bytes = raw.read1(_CHUNK, decode_content=False)
    except (urllib3.exceptions.HTTPError, requests.exceptions.RequestException, OSError) as error:
        return _translated(error, request)
    if not chunk and raw.length_remaining:
        early = f"closed the connection {raw.length_remaining:,} bytes too early"
        return _unreachable(request, early, was_sent=True)
    return chunk


def _translated(error: Exception, request: Request) -> UnreachableError:
    """The error for what the HTTP library says; what it says after it connected leaves open what has arrived."""
    import ssl

    import requests
    import urllib3

    # Each of urllib3's is a kind of the one after it. Of encryption, only a certificate is looked at before anything is
    # sent; the rest of it can break at any time.
    before_sending: dict[tuple[type[BaseException], ...], str] = {
        (requests.exceptions.ProxyError, urllib3.exceptions.ProxyError): "cannot be reached through the proxy",
        (ssl.SSLCertVerificationError,): "has a certificate that this machine does not trust",
        (urllib3.exceptions.NameResolutionError,): "cannot be found by its name",
        (urllib3.exceptions.NewConnectionError,): "accepts no connection",
        (urllib3.exceptions.ConnectTimeoutError,): "does not answer",
        (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema): "is no address",
    }
    causes = list(_causes(error))
    for kinds, why in before_sending.items():
        if any(isinstance(cause, kinds) for cause in causes):
            return _unreachable(request, why, was_sent=False)
    if any(isinstance(cause, urllib3.exceptions.ReadTimeoutError | TimeoutError) for cause in causes):
        late = _unreachable(request, "did not answer in time", was_sent=True)
        late.timed_out = True
        return late
    return _unreachable(request, "closed the connection before its answer was whole", was_sent=True)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it wraps: the libraries put causes into arguments and attributes as well."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        current = waiting.pop(0)
        if current in seen:
            continue
        seen.append(current)
        if isinstance(current, UnreachableError):
            # An earlier failure, that was being dealt with when this one came.
            continue
        yield current
        inner = (*current.args, getattr(current, "reason", None), current.__cause__, current.__context__)
        waiting += [item for item in inner if isinstance(item, BaseException)]


def _unreachable(request: Request, why: str, *, was_sent: bool) -> UnreachableError:
    # What changes nothing has no outcome to wonder about.
    return UnreachableError(
        doing=request.doing, host=request.host, why=why, was_sent=was_sent and not request.is_repeatable
    )


def _without_query(url: str) -> str:
    # The query of a short-lived address is what makes it a credential.
    return url.partition("?")[0]
