"""Calls of the API: signed, sent, repeated where that is safe, and answered by an object or one of our errors."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from generator.kaggle import guards, sdk
from generator.kaggle.credentials import AccessToken, Credentials, LegacyKey, RefreshToken, telling_secrets
from generator.kaggle.errors import (
    CredentialsRefusedError,
    KaggleError,
    NotKaggleError,
    RateLimitedError,
    ServerFailedError,
)
from generator.kaggle.refusals import Errand, Site, refusal
from generator.kaggle.retries import Patience, repeated, retry_after
from generator.kaggle.transport import Reply, Request, Stream, Transport, media_type

REAL_HOST = "api.kaggle.com"
_LARGEST_ANSWER = 64 << 20  # bytes; a long log and a long notebook are in answers
_REDIRECTS = (301, 302, 303, 307, 308)
_ERROR, _SIGNED_OUT, _TOO_OFTEN, _FAILED = 400, 401, 429, 500
_OAUTH_LIFE = timedelta(hours=12)
_LARGEST_STATUS = 999
_MOST_PAGES = 20_000


@dataclass(frozen=True)
class Endpoint:
    """Where an API is, and what is spoken of it; `address` is an origin without a final slash."""

    address: str
    is_local: bool

    @property
    def base(self) -> str:
        """What the paths of the API's methods follow."""
        # Only the real one has a host of its own for the API; everywhere else it is below /api.
        return self.address if urlsplit(self.address).hostname == REAL_HOST else f"{self.address}/api"

    @property
    def site(self) -> Site:
        """The web pages that belong to the API."""
        return Site("https://www.kaggle.com" if urlsplit(self.address).hostname == REAL_HOST else self.address)


@dataclass(frozen=True)
class _Manner:
    """How one request is sent."""

    errand: Errand
    authorization: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    is_repeatable: bool


class Wire:
    """The API of one Kaggle, as one account; any thread may use it."""

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        transport: Transport,
        patience: Patience,
    ) -> None:
        self.endpoint = endpoint
        self.transport = transport
        self.patience = patience
        self._credentials = credentials
        self._lock = threading.Lock()

    def read(self, errand: Errand, service: str, method: str, /, **fields: Any) -> Any:
        """Calls a method that changes nothing, again and again where the failure may pass.

        Returns:
            The answer as its type of `kagglesdk`.

        Raises:
            KaggleError: What Kaggle answered in the end.
        """
        return repeated(lambda: self._call(errand, (service, method), fields, is_repeatable=True), self.patience)

    def change(self, errand: Errand, service: str, method: str, /, **fields: Any) -> Any:
        """Calls a method that changes something: once, whatever happens.

        Returns:
            The answer as its type of `kagglesdk`.

        Raises:
            KaggleError: What Kaggle answered; `outcome_unknown` says whether it may have done it.
        """
        return self._call(errand, (service, method), fields, is_repeatable=False)

    def location(self, errand: Errand, service: str, method: str, /, **fields: Any) -> str:
        """Asks for the short-lived address of a file."""
        location: str = self.read(errand, service, method, **fields).url
        return guards.checked_address(location, base=self.endpoint.address, doing=errand.doing)

    def pages(self, errand: Errand, service: str, method: str, /, **fields: Any) -> Iterator[Any]:
        """Every page of a listing."""
        token: str | None = None
        seen: set[str] = set()
        for _ in range(_MOST_PAGES):
            page = self.read(errand, service, method, page_token=token, **fields)
            yield page
            token = page.next_page_token or ""
            if not token:
                return
            if token in seen:
                raise self.unexpected(errand, "is a listing that goes in circles")
            seen.add(token)
        raise self.unexpected(errand, "is a listing without an end")

    @contextmanager
    def stream(self, errand: Errand, path: str, *, read_timeout: float) -> Iterator[Stream]:
        """Fetches a path of the API itself while it comes, with the credentials; once."""
        request = Request(
            "GET",
            f"{self.endpoint.base}/v1/{quote(path)}",
            errand.doing,
            headers={"Accept": "text/event-stream, application/json"},
            authorization=self._authorization(errand),
            secrets=telling_secrets(self._credentials),
        )
        with self.transport.stream(request, read_timeout=read_timeout) as stream:
            if stream.status >= _ERROR:
                raise self._error(Reply(stream.status, stream.headers, stream.read()), errand)
            if stream.status in _REDIRECTS:
                raise self.unexpected(errand, "sends on to another address")
            yield stream

    def refused(self, said: str, errand: Errand) -> KaggleError:
        """The error for a refusal in words, in an answer that came with 200."""
        return refusal(_ERROR, said, errand=errand, site=self.endpoint.site)

    def unexpected(self, errand: Errand, why: str) -> NotKaggleError:
        """The error for an answer without what it has to have; `why` continues "the answer of HOST …"."""
        return NotKaggleError(doing=errand.doing, host=self._host, why=why)

    @property
    def _host(self) -> str:
        return urlsplit(self.endpoint.address).netloc

    def _call(self, errand: Errand, name: tuple[str, str], fields: dict[str, Any], *, is_repeatable: bool) -> Any:
        authorization = self._authorization(errand)
        return self._typed(
            name, fields, _Manner(errand, authorization, telling_secrets(self._credentials), is_repeatable)
        )

    def _typed(self, name: tuple[str, str], fields: dict[str, Any], manner: "_Manner") -> Any:
        def post(method: str, body: bytes, *, wants_redirect: bool) -> sdk.JsonObject | str:
            reply = self._sent(method, body, manner)
            if wants_redirect and reply.status in _REDIRECTS and reply.headers.get("location"):
                return reply.headers["location"]
            return self._object(reply, manner.errand)

        try:
            return sdk.Sdk(post).call(*name, **fields)
        except sdk.WrongTypeError as error:
            raise self.unexpected(manner.errand, str(error)) from error

    def _sent(self, method: str, body: bytes, manner: "_Manner") -> Reply:
        request = Request(
            "POST",
            f"{self.endpoint.base}/v1/{method}",
            manner.errand.doing,
            headers={"Content-Type": "application/json", "Accept": "application/json"},
            body=body,
            authorization=manner.authorization,
            secrets=manner.secrets,
            is_repeatable=manner.is_repeatable,
        )
        return self.transport.send(request, limit=_LARGEST_ANSWER)

    def _object(self, reply: Reply, errand: Errand) -> sdk.JsonObject:
        """The JSON object of an answer that is none of an error."""
        if reply.status >= _ERROR:
            raise self._error(reply, errand)
        if reply.status in _REDIRECTS:
            raise self.unexpected(errand, "sends on to another address")
        if reply.media_type != "application/json":
            raise self.unexpected(errand, f"is {reply.media_type or 'of no type'} where JSON was expected")
        value = _json(reply.body)
        if value is None:
            raise self.unexpected(errand, "is JSON that is broken or cut off")
        if not isinstance(value, dict):
            raise self.unexpected(errand, "is JSON of another shape than expected")
        code = value.get("code")
        if type(code) is int and _ERROR <= code <= _LARGEST_STATUS:
            raise self._error(Reply(code, reply.headers, reply.body), errand)
        return value

    def _error(self, reply: Reply, errand: Errand) -> KaggleError:
        wait = retry_after(reply.headers.get("retry-after"))
        if reply.status == _SIGNED_OUT:
            return CredentialsRefusedError(source=self._credentials.source, site=self.endpoint.site.base)
        if reply.status == _TOO_OFTEN:
            return RateLimitedError(doing=errand.doing, retry_after=wait)
        said = _message(reply)
        if reply.status >= _FAILED:
            return ServerFailedError(doing=errand.doing, status=reply.status, said=said, retry_after=wait)
        return refusal(reply.status, said, errand=errand, site=self.endpoint.site)

    def _authorization(self, errand: Errand) -> str:
        credentials = self._credentials
        if isinstance(credentials, LegacyKey):
            return f"Basic {credentials.pair}"
        return f"Bearer {self.access_token(errand)}"

    def access_token(self, errand: Errand) -> str:
        """The token that requests are signed with, exchanged for a new one where it has expired; "" with a key."""
        with self._lock:
            credentials = self._credentials
            if isinstance(credentials, RefreshToken) and not credentials.is_fresh(datetime.now(UTC)):
                credentials = self._credentials = self._refreshed(credentials, errand)
        if isinstance(credentials, RefreshToken):
            return credentials.access_token
        return credentials.token if isinstance(credentials, AccessToken) else ""

    def _refreshed(self, credentials: RefreshToken, errand: Errand) -> RefreshToken:
        """Exchanges the refresh token; what is stored on this machine stays as it is."""
        fields = {
            "refresh_token": credentials.refresh_token,
            "api_version": sdk.enum_member("ApiVersion", "API_VERSION_V1"),
            "expiration_duration": _OAUTH_LIFE,
        }
        name = (sdk.ACCOUNT, "generate_access_token")
        # What is answered may be the access token that is known already.
        manner = _Manner(errand, authorization="", secrets=(credentials.refresh_token,), is_repeatable=True)
        try:
            answer = repeated(lambda: self._typed(name, fields, manner), self.patience)
        except KaggleError as error:
            # Whatever was to be done with the token was not sent.
            error.outcome_unknown = False
            raise
        token = answer.token or ""
        if not token or not token.isascii() or not token.isprintable():
            raise CredentialsRefusedError(source=credentials.source, site=self.endpoint.site.base)
        life = timedelta(seconds=min(max(answer.expires_in or 0, 0), _OAUTH_LIFE.total_seconds()))
        return RefreshToken(
            credentials.refresh_token,
            source=credentials.source,
            username=credentials.username or answer.user_name or "",
            access_token=token,
            expires=datetime.now(UTC) + life,
        )

    @property
    def credentials(self) -> Credentials:
        """Whom requests are signed as, at the moment."""
        return self._credentials


def _json(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _message(reply: Reply) -> str:
    """What an error's answer says in words, or what it is in place of words."""
    if media_type(reply.headers) == "application/json":
        value = _json(reply.body)
        message = value.get("message") if isinstance(value, dict) else None
        return message if isinstance(message, str) else ""
    return "a page of HTML in place of a reason" if b"<html" in reply.body[:2_000].lower() else ""
