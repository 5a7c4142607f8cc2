"""Authentication in front of every route: the Host header, the credentials, and how slowly a client may read."""

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import logging
import re
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from generator.localkaggle.http.limits import Limits
from generator.localkaggle.http.protocol import TRANSPORT, end_with_connection, keep_open
from generator.localkaggle.http.responses import refusal
from generator.localkaggle.services.accounts import Accounts

_LOG = logging.getLogger(__name__)

CALLER, BASE, BY_COOKIE, PAGES = "tandem.caller", "tandem.base", "tandem.by_cookie", "tandem.pages"
"""Keys of a request's scope: the account it is made by (empty: none), our origin as the client knows it, whether the
account is known by a cookie, which a browser sends along whoever made the request, and the origin of the pages where
the request came to another one (empty: it did not)."""

_HOST = re.compile(r"(?P<name>[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>\d{1,5}))?")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
# What a page of another origin, or of this one that got through the pages' own policy, could do with an answer.
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


class Authentication:
    """ASGI middleware that refuses other hosts, says who calls, and hangs up on those who stop reading."""

    def __init__(
        self, app: ASGIApp, accounts: Accounts, limits: Limits, *, pages_host: str, hosts: Iterable[str] = ()
    ) -> None:
        """Wraps an application.

        Args:
            app: The routes.
            accounts: Whose credentials count.
            limits: How long a client may take.
            pages_host: The host name of the pages, where a browser's cookie counts.
            hosts: Host names beside the loopback's that the server was told to answer to; `*` for any IP address too.
        """
        self._app = app
        self._accounts = accounts
        self._limits = limits
        self._pages_host = pages_host
        self._hosts = _LOOPBACK_NAMES | {pages_host} | {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        send = self._guarded(scope, send)
        host = headers.get("host", "")
        # A web page whose name was made to point at this machine (DNS rebinding) sends its own name.
        if not self._is_ours(host) or len(headers.getlist("host")) != 1:
            await refusal(403, "This server answers to localhost, 127.0.0.1 and [::1] only.")(scope, receive, send)
            return
        if not scope["path"].startswith("/"):
            await refusal(400, "The target of the request is no path.")(scope, receive, send)
            return
        scope[BASE] = f"http://{host}"
        # Browsers send the cookies of localhost to each of its ports, where a notebook may listen.
        scope[PAGES] = f"http://{self._pages_host}{_port_of(host)}" if _name_of(host) in _LOOPBACK_NAMES else ""
        scope[CALLER], scope[BY_COOKIE] = self._caller(headers, cookie="" if scope[PAGES] else cookie_name(scope))
        (keep_open if scope[CALLER] else end_with_connection)(scope)
        try:
            await self._app(scope, receive, send)
        except Exception:  # noqa: BLE001 - whatever it is, it is told here, and the server goes on
            # The routes have answered with 500 already, or hung up; the path may hold a ticket, and is not told.
            _LOG.exception("A request could not be answered: a mistake of this server.")

    def _is_ours(self, host: str) -> bool:
        name = _name_of(host)
        return name in self._hosts or ("*" in self._hosts and _is_address(name))

    def _caller(self, headers: Headers, *, cookie: str) -> tuple[str, bool]:
        scheme, _, value = headers.get("authorization", "").partition(" ")
        match scheme.lower():
            case "bearer":
                return self._accounts.with_token(value.strip()) or "", False
            case "basic":
                return self._with_basic(value), False
        value = cookie_parser(headers.get("cookie", "")).get(cookie, "") if cookie else ""
        name = value.partition(".")[0]
        if self._accounts.is_known(name) and hmac.compare_digest(
            value.encode(), cookie_value(self._accounts, name).encode()
        ):
            return name, True
        return "", False

    def _with_basic(self, value: str) -> str:
        try:
            name, _, key = base64.b64decode(value.strip(), validate=True).decode().partition(":")
        except ValueError:  # not of ASCII, not of base64, or not of UTF-8
            return ""
        return self._accounts.with_key(name, key) or ""

    def _guarded(self, scope: Scope, send: Send) -> Send:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message.get("headers", ())}
                message["headers"] = [*message.get("headers", ()), *(h for h in _HEADERS if h[0] not in present)]
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    await send(message)
            except TimeoutError:
                # Whoever takes nothing for so long does not read any more, and holds a file and memory here.
                scope[TRANSPORT].abort()

        return guarded


def has_credentials(request: Request) -> bool:
    """True if the request has credentials that no browser adds on its own, so that no foreign page made it."""
    return bool(request.scope[CALLER]) and not request.scope[BY_COOKIE]


def cookie_value(accounts: Accounts, name: str) -> str:
    """The content of a browser's cookie for an account: proof of its token, and not the token."""
    return f"{name}.{hmac.new(accounts.token(name).encode(), b'cookie', hashlib.sha256).hexdigest()}"


def cookie_name(scope: Scope) -> str:
    """The cookie of this server; cookies know no ports, so the name tells servers of one machine apart."""
    return f"tandem-local-kaggle-{scope['server'][1]}"


def _name_of(host: str) -> str:
    """Return the name in a Host header in lower case; "" if it is none."""
    found = _HOST.fullmatch(host)
    return found["name"].lower() if found is not None else ""


def _port_of(host: str) -> str:
    found = _HOST.fullmatch(host)
    return f":{found['port']}" if found is not None and found["port"] else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
