"""Calls of the API: signed, sent, repeated where that is safe, and answered by an object or one of our errors."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

from generator.kaggle import guards, sdk
from generator.kaggle.credentials import AccessToken, Credentials, LegacyKey, RefreshToken, redacted_secrets
from generator.kaggle.errors import CredentialsError, CredentialsRefusedError, KaggleError, NotKaggleError
from generator.kaggle.http_errors import Endpoint, Operation, refusal, transient_error
from generator.kaggle.retries import RetryPolicy, retried
from generator.kaggle.transport import Request, Response, Route, StreamedResponse, Timeouts, Transport
from generator.untrusted import JsonObject, is_slug, parsed_json, printable

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_LARGEST_ANSWER = 64 << 20  # bytes; a long log and a long notebook are in answers
_OAUTH_LIFE = timedelta(hours=12)
_LARGEST_STATUS = 999
_MOST_PAGES = 20_000


class ApiClient:
    """One account at one Kaggle, and the ways to call its API; any thread may use it. Making one sends nothing."""

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
                why=f"{printable(parts.netloc.rpartition('@')[2])} is reached without encryption",
                remedy="use an address that begins with https://",
            )
        self._endpoint = Endpoint(address.rstrip("/"), local)
        self._credentials = credentials
        self._retries = retries or RetryPolicy()
        self._transport = Transport(timeouts, route=route)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._endpoint.address!r})"

    def _read(self, operation: Operation, service: str, method: str, /, **fields: Any) -> Any:
        """Calls a method that changes nothing, again and again where the failure may pass.

        Returns:
            The answer as its type of `kagglesdk`.

        Raises:
            KaggleError: What Kaggle answered in the end.
        """
        call = sdk.prepared(service, method, **fields)
        return retried(lambda: self._called(operation, call), self._retries)

    def _change(self, operation: Operation, service: str, method: str, /, **fields: Any) -> Any:
        """Calls a method that changes something: once, whatever happens.

        Returns:
            The answer as its type of `kagglesdk`.

        Raises:
            KaggleError: What Kaggle answered; `outcome_unknown` says whether it may have done it.
        """
        return self._called(operation, sdk.prepared(service, method, **fields), is_repeatable=False)

    def _file_url(self, operation: Operation, service: str, method: str, /, **fields: Any) -> str:
        """Asks for the short-lived address of a file."""
        return self._checked_url(self._read(operation, service, method, **fields).url, operation)

    def _checked_url(self, url: str, operation: Operation, *, is_upload: bool = False) -> str:
        """The address of a file that Kaggle named, if it is one that may be asked, or sent a file."""
        return guards.checked_address(url, base=self._endpoint.address, doing=operation.doing, is_upload=is_upload)

    def _pages(self, operation: Operation, service: str, method: str, /, **fields: Any) -> Iterator[Any]:
        """Every page of a listing."""
        token: str | None = None
        seen: set[str] = set()
        for _ in range(_MOST_PAGES):
            page = self._read(operation, service, method, page_token=token, **fields)
            yield page
            token = page.next_page_token or ""
            if not token:
                return
            if token in seen:
                raise self._unexpected(operation, "is a listing that goes in circles")
            seen.add(token)
        raise self._unexpected(operation, "is a listing without an end")

    @contextmanager
    def _stream(self, operation: Operation, path: str, *, read_timeout: float) -> Iterator[StreamedResponse]:
        """Fetches a path of the API itself while it comes, with the credentials; once."""
        request = Request(
            "GET",
            f"{self._endpoint.api}/{quote(path)}",
            operation.doing,
            headers={"Accept": "text/event-stream, application/json"},
            authorization=self._authorization(operation),
            secrets=redacted_secrets(self._credentials),
        )
        with self._transport.stream(request, read_timeout=read_timeout) as stream:
            if stream.status >= HTTPStatus.BAD_REQUEST:
                raise self._error(Response(stream.status, stream.headers, stream.read()), operation)
            if stream.is_redirect:
                raise self._unexpected(operation, "sends on to another address")
            yield stream

    def _refused(self, said: str, operation: Operation) -> KaggleError:
        """The error for a refusal in words, in an answer that came with 200."""
        return refusal(HTTPStatus.BAD_REQUEST, said, operation=operation, endpoint=self._endpoint)

    def _unexpected(self, operation: Operation, why: str) -> NotKaggleError:
        """The error for an answer without what it has to have; `why` continues "the answer of HOST …"."""
        return NotKaggleError(doing=operation.doing, host=self._endpoint.host, why=why)

    def _unexpected_of_store(self, operation: Operation, why: str) -> NotKaggleError:
        """The same for an answer of the store that Kaggle keeps files in."""
        return NotKaggleError(doing=operation.doing, host="the store of files", why=why)

    def _called(
        self, operation: Operation, call: sdk.Call, *, is_repeatable: bool = True, login: RefreshToken | None = None
    ) -> Any:
        """Sends a call, signed unless it is one to exchange a login, and reads its answer."""
        request = Request(
            "POST",
            f"{self._endpoint.api}/{call.path}",
            operation.doing,
            headers={"Content-Type": "application/json", "Accept": "application/json"},
            body=call.body,
            authorization="" if login else self._authorization(operation),
            # What is answered to a login may be the access token that is known already.
            secrets=(login.refresh_token,) if login else redacted_secrets(self._credentials),
            is_repeatable=is_repeatable,
        )
        reply = self._transport.send(request, limit=_LARGEST_ANSWER)
        location = reply.headers.get("location")
        is_file = reply.is_redirect and location and call.expects_redirect
        try:
            return call.answer({"url": location} if is_file else self._object(reply, operation))
        except sdk.WrongTypeError as error:
            raise self._unexpected(operation, str(error)) from error

    def _object(self, reply: Response, operation: Operation) -> sdk.JsonObject:
        """The JSON object of an answer that is none of an error."""
        if reply.status >= HTTPStatus.BAD_REQUEST:
            raise self._error(reply, operation)
        if reply.is_redirect:
            raise self._unexpected(operation, "sends on to another address")
        if reply.media_type != "application/json":
            raise self._unexpected(operation, f"is {reply.media_type or 'of no type'} where JSON was expected")
        value = _json(reply.body)
        if value is None:
            raise self._unexpected(operation, "is JSON that is broken or cut off")
        if not isinstance(value, dict):
            raise self._unexpected(operation, "is JSON of another shape than expected")
        code = value.get("code")
        if type(code) is int and HTTPStatus.BAD_REQUEST <= code <= _LARGEST_STATUS:
            raise self._error(Response(code, reply.headers, reply.body), operation)
        return value

    def _error(self, reply: Response, operation: Operation) -> KaggleError:
        if reply.status == HTTPStatus.UNAUTHORIZED:
            return self._not_accepted()
        said = _message(reply)
        return transient_error(reply.status, reply.headers, doing=operation.doing, said=said) or refusal(
            reply.status, said, operation=operation, endpoint=self._endpoint
        )

    def _not_accepted(self) -> CredentialsRefusedError:
        return CredentialsRefusedError(source=self._credentials.source, site=self._endpoint.site)

    def _authorization(self, operation: Operation) -> str:
        if isinstance(self._credentials, LegacyKey):
            return f"Basic {self._credentials.pair}"
        return f"Bearer {self._access_token(operation)}"

    def _access_token(self, operation: Operation) -> str:
        """The token that requests are signed with, exchanged for a new one where it has expired; "" with a key."""
        with self._lock:
            credentials = self._credentials
            if isinstance(credentials, RefreshToken) and not credentials.is_fresh(datetime.now(UTC)):
                credentials = self._credentials = self._refreshed(credentials, operation)
        if isinstance(credentials, RefreshToken):
            return credentials.access_token
        return credentials.token if isinstance(credentials, AccessToken) else ""

    def _refreshed(self, credentials: RefreshToken, operation: Operation) -> RefreshToken:
        """Exchanges the refresh token; what is stored on this machine stays as it is."""
        call = sdk.prepared(
            sdk.ACCOUNT,
            "generate_access_token",
            refresh_token=credentials.refresh_token,
            api_version="API_VERSION_V1",
            expiration_duration=f"{_OAUTH_LIFE.total_seconds()}s",
        )
        try:
            answer = retried(lambda: self._called(operation, call, login=credentials), self._retries)
        except KaggleError as error:
            # Whatever was to be done with the token was not sent.
            error.outcome_unknown = False
            raise
        token = answer.token or ""
        if not token or not token.isascii() or not token.isprintable():
            raise self._not_accepted()
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
