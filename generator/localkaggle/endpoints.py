"""The endpoints of a local Kaggle: authentication, the API's methods, files, logs, login."""

import asyncio
import base64
import contextlib
import functools
import hashlib
import hmac
import ipaddress
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import BinaryIO

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from generator.errors import LocalKaggleError
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.protocol import (
    TRANSPORT,
    Limits,
    ServerState,
    end_with_connection,
    hang_up,
    instead,
    keep_open,
    parse_json_object,
    pieces,
    refusal_response,
    response_to,
    server_state,
    with_faults,
)
from generator.localkaggle.rpc import ApiCall, ApiError, FaultRule, StoredFile, file_moment, parse_rule
from generator.localkaggle.services.files import UPLOAD, Blob, is_disk_full
from generator.localkaggle.services.kernel_records import OPEN_METHODS, Accounts
from generator.localkaggle.storage import STORAGE, open_given
from generator.sessions.notebook_runner import LogPiece

# The endpoints of a local Kaggle: authentication, the API's methods, files, logs, login.


# Authentication in front of every route: the Host header, the credentials, and how slowly a client may read.


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
        send = self._guard_send(scope, send)
        host = headers.get("host", "")
        # A web page whose name was made to point at this machine (DNS rebinding) sends its own name.
        if not self._is_ours(host) or len(headers.getlist("host")) != 1:
            await refusal_response(403, "This server answers to localhost, 127.0.0.1 and [::1] only.")(
                scope, receive, send
            )
            return
        if not scope["path"].startswith("/"):
            await refusal_response(400, "The target of the request is no path.")(scope, receive, send)
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

    def _guard_send(self, scope: Scope, send: Send) -> Send:
        async def send_in_time(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message.get("headers", ())}
                message["headers"] = [*message.get("headers", ()), *(h for h in _HEADERS if h[0] not in present)]
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    await send(message)
            except TimeoutError:
                # Whoever takes nothing for so long does not read any more, and holds a file and memory here.
                scope[TRANSPORT].abort()

        return send_in_time


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
    match = _HOST.fullmatch(host)
    return match["name"].lower() if match is not None else ""


def _port_of(host: str) -> str:
    match = _HOST.fullmatch(host)
    return f":{match['port']}" if match is not None and match["port"] else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# The endpoint of the API's methods: `POST .../v1/<package.Service>/<Method>`.


_LOGIN_HINT = "Unauthenticated: send the token that this server printed when it started."


async def call_method(request: Request) -> Response:
    """Answers one call of a method."""
    method = f"{request.path_params['service']}/{request.path_params['method']}"
    if not has_credentials(request) and method not in OPEN_METHODS:
        return refusal_response(401, _LOGIN_HINT)
    state = server_state(request)

    async def answer() -> Response:
        async with state.bodies.whole(request, most=state.bodies.limits.largest_of(method)) as body:
            return await state.workers.run(_answer, state.local_kaggle, request, method, body)

    return await with_faults(state.local_kaggle.site.faults, method, answer)


def _answer(local_kaggle: LocalKaggle, request: Request, method: str, body: bytes) -> Response:
    try:
        call = ApiCall(method, request.scope[CALLER], request.scope[BASE], parse_json_object(body))
        return response_to(local_kaggle.handle(call))
    except ApiError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug in one method must not end the server; it is told in the log
        if is_disk_full(error):
            _LOG.warning("%s failed: the disk is full", method)
            return refusal_response(507, "The disk of this server is full. Nothing was changed.")
        _LOG.exception("%s failed", method)
        return refusal_response(500, f"{method} failed: an error of this server. See its log.")


# The endpoint of the faults: `GET /local/faults` tells which struck, `POST` of `{"rules": [...]}` replaces them.


_MOST_RULES = 1_000


async def fault_rules(request: Request) -> Response:
    """Answers one request of the person who runs the server."""
    state = server_state(request)
    faults, bodies = state.local_kaggle.site.faults, state.bodies
    if not has_credentials(request):
        return refusal_response(401, "Unauthenticated.")
    if request.method == "POST":
        async with bodies.whole(request, most=bodies.limits.largest_call) as body:
            faults.replace(_rules(body))
    return JSONResponse({"struck": [{"fault": name, "at": at} for name, at in faults.history]})


def _rules(body: bytes) -> list[FaultRule]:
    rules = parse_json_object(body).get("rules")
    if not isinstance(rules, list) or len(rules) > _MOST_RULES or not all(isinstance(rule, str) for rule in rules):
        raise ApiError(400, 'Send {"rules": ["NAME[@METHOD][+SKIP][xTIMES][%PERCENT]", ...]}.')
    try:
        return [parse_rule(rule) for rule in rules]
    except LocalKaggleError as error:
        raise ApiError(400, error.message) from error


# Downloads and uploads: files are sent by ticket, with ranges, and received in pieces.


_RANGE = re.compile(r"bytes (?:(?P<first>\d{1,15})-(?P<last>\d{1,15})|\*)/(?P<size>\d{1,15}|\*)")
# What a file that somebody's notebook wrote may do in a browser on our origin: nothing.
_INERT = {"Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-cache"}


async def download(request: Request) -> Response:
    """Answers GET and HEAD of a ticket; whole, a range, or a range if the file is still the same."""
    state = server_state(request)

    async def answer() -> Response:
        response = await state.workers.run(_redeem, state.local_kaggle, request.path_params["ticket"])
        if response is None:
            return refusal_response(404, "There is no file at this address any more; ask for a new one.")
        keep_open(request.scope)
        return response

    return await with_faults(state.local_kaggle.site.faults, f"{request.path_params['name']}/download", answer)


async def upload(request: Request) -> Response:
    """Answers PUT: a whole file, a piece of it, or the question how much is there."""
    state = server_state(request)
    blob = await state.workers.run(state.local_kaggle.blobs.find, request.path_params["token"])
    if blob is None:
        return refusal_response(404, "There is no upload at this address.")
    keep_open(request.scope)
    receive = functools.partial(_receive, request, state, blob)
    return await with_faults(state.local_kaggle.site.faults, f"{blob.name}/upload", receive)


async def _receive(request: Request, state: ServerState, upload: Blob) -> Response:
    offset = _offset(request.headers.get("content-range"), upload)
    received_size = upload.received_size
    if offset is not None:
        async for piece in pieces(request, state.bodies.limits, most=upload.size - min(offset, upload.size)):
            received_size = await state.workers.run(state.local_kaggle.blobs.append, upload, offset, piece)
            offset += len(piece)
    if received_size == upload.size:
        return Response("{}", media_type="application/json")
    # The client goes on after the last byte that is named here, or begins anew where none is.
    return Response(status_code=308, headers={"Range": f"bytes=0-{received_size - 1}"} if received_size else {})


def _redeem(local_kaggle: LocalKaggle, ticket: str) -> Response | None:
    stored_file = local_kaggle.tickets.redeem(ticket)
    # A link could have been put in the file's place since the ticket was given.
    if stored_file is None or (stored_file.below is None and stored_file.path.is_symlink()):
        return None
    try:
        return file_response(stored_file)
    except OSError:
        return None


def file_response(stored_file: StoredFile) -> Response:
    """A file as an answer, with its length, its date and a tag by which a download is resumed.

    It is opened here and nowhere else: what is sent is the file that was looked at, whatever has its name meanwhile.

    Raises:
        OSError: There is no such file, or it may not be given away.
    """
    file = open_given(stored_file.path, stored_file.below)
    return _OpenFile(
        file, media_type=stored_file.media_type, filename=stored_file.name.rpartition("/")[2], headers=_INERT
    )


class _OpenFile(FileResponse):
    def __init__(self, file: BinaryIO, *, media_type: str, filename: str, headers: Mapping[str, str]) -> None:
        self._file = file  # closed when nothing refers to the answer any more, sent or not
        super().__init__(
            f"/dev/fd/{file.fileno()}",
            media_type=media_type,
            filename=filename,
            headers=headers,
            stat_result=os.fstat(file.fileno()),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()

    def set_stat_headers(self, stat_result: os.stat_result) -> None:
        # A notebook may date its files to years that no header can say.
        times = {"st_mtime": file_moment(stat_result.st_mtime).timestamp()}
        super().set_stat_headers(os.stat_result(stat_result[:10], times))


def _offset(header: str | None, upload: Blob) -> int | None:
    """The position in the file at which the body begins; None if the request only asks how much is there."""
    if header is None:
        return 0
    match = _RANGE.fullmatch(header.strip())
    if match is None or (match["size"] != "*" and int(match["size"]) != upload.size):
        raise ApiError(400, f"This upload has {upload.size:,} bytes; the Content-Range says something else.")
    return int(match["first"]) if match["first"] else None


# The live stream of a kernel's log, as server-sent events; each who follows it reads it piece by piece.


_POLL_SECONDS = 0.2
_END = b"data: END_OF_LOG\n\n"


async def log_stream(request: Request) -> Response:
    """Answers GET of a log that is being written; one that is complete is sent as one JSON array, as Kaggle does.

    A browser's cookie is enough, as an EventSource can send nothing else.
    """
    if not request.scope[CALLER]:
        return refusal_response(401, "Unauthenticated.")
    state = server_state(request)
    owner, slug = request.path_params["owner"], request.path_params["slug"]
    faults = state.local_kaggle.site.faults
    fault = instead(faults, f"{owner}/{slug}/stream")
    if fault is not None:
        return fault
    names = {"userName": owner, "kernelSlug": slug}
    call = ApiCall("kernels/logs/stream", request.scope[CALLER], request.scope[BASE], names)
    session, first, is_over = await _read(state, call)
    if is_over:
        return StreamingResponse(_array(state, call, session, first), media_type="application/octet-stream")
    breaks = faults.strikes("log-stream-breaks", at=f"{owner}/{slug}/stream", also=f"{owner}/{slug}")
    events = _events(state, call, session, first, request if breaks else None)
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _read(
    state: ServerState, call: ApiCall, session: int | None = None, position: int = 0
) -> tuple[int, LogPiece, bool]:
    read_log = state.local_kaggle.kernels.read_log
    return await state.workers.run(functools.partial(read_log, call, session=session, position=position))


async def _array(state: ServerState, call: ApiCall, session: int, piece: LogPiece) -> AsyncIterator[bytes]:
    """One JSON array of all events, of which only a part is in memory at a time."""
    before = b"["
    # Whoever deletes the kernel meanwhile ends its log.
    with contextlib.suppress(ApiError):
        while piece.events:
            yield before + b", ".join(json.dumps(event).encode() for event in piece.events)
            before = b", "
            _, piece, _ = await _read(state, call, session, piece.position)
    yield b"[]" if before == b"[" else b"]"


async def _events(
    state: ServerState, call: ApiCall, session: int, piece: LogPiece, breaks: Request | None
) -> AsyncIterator[bytes]:
    is_over = False
    # Whoever deletes the kernel meanwhile ends its log.
    with contextlib.suppress(ApiError):
        while piece.events or not is_over:
            if piece.events:
                yield b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in piece.events)
                if breaks is not None:
                    await hang_up(breaks.scope, breaks.receive)
                    return
            else:
                await asyncio.sleep(_POLL_SECONDS)
            _, piece, is_over = await _read(state, call, session, piece.position)
    yield _END


def api_routes() -> list[Route]:
    """Which endpoint answers which path of the API and of files."""
    routes: list[Route] = [
        Route(f"/{STORAGE}/{{ticket}}/{{name}}", download, methods=["GET"]),
        Route(f"/{UPLOAD}/{{token}}", upload, methods=["PUT"]),
        Route("/local/faults", fault_rules, methods=["GET", "POST"]),
    ]
    # Real Kaggle serves the API at api.kaggle.com/v1; clients put /api before it for any other host.
    for prefix in ("/api/v1", "/v1"):
        routes += [
            Route(f"{prefix}/kernels/logs/stream/{{owner}}/{{slug}}", log_stream, methods=["GET"]),
            Route(f"{prefix}/{{service}}/{{method}}", call_method, methods=["POST"]),
        ]
    return routes
