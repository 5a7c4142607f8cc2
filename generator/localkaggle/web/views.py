"""What pages show beside notebooks: times, addresses, the templates, who asks, and kernels with their sessions."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, quote, urlencode

from markupsafe import Markup
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from generator.accelerators import AcceleratorKind, catalog
from generator.kit_files import SHARED_FOLDER, PageTemplates
from generator.localkaggle.endpoints import (
    BASE,
    CALLER,
    LARGEST_FORM,
    PAGES,
    cookie_name,
    cookie_value,
    refusal_response,
    server_state,
)
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.rpc import Answer, ApiCall, ApiError, Fields, Redirect
from generator.localkaggle.services.kernel_records import (
    Accounts,
    KernelRecord,
    KernelRecords,
    KernelState,
    SessionRecord,
    VersionRecord,
)
from generator.localkaggle.services.kernels import Kernels
from generator.run.notebook_html import code_styles

# Formats of times, sizes and addresses.


_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_RECENT_DAYS = 7
_KILO = 1_000
_NO_BREAK = "\N{NO-BREAK SPACE}"


def page_duration(time: timedelta | float) -> str:
    """Writes a time the way people say it: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`; no line breaks within it."""
    from generator.run.report import exact_duration as said

    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    return said(max(seconds, 0.0)).replace(" ", _NO_BREAK)


def hours(time: timedelta) -> str:
    """Writes a budget of hours: `30 h`, `1.3 h`, `4 min`."""
    if time < timedelta(hours=1):
        return f"{round(time.total_seconds() / _MINUTE)} min"
    return f"{time.total_seconds() / _HOUR:.1f}".removesuffix(".0") + " h"


def file_size(count: int) -> str:
    """Writes a number of bytes: `13 B`, `4.2 kB`, `1.3 GB`."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < _KILO:
            return f"{value:.0f} {unit}" if unit == "B" or value >= _KILO / 10 else f"{value:.1f} {unit}"
        value /= _KILO
    return f"{value:.1f} TB"


def ago(moment: datetime, *, now: datetime) -> str:
    """Writes how long ago something was; after a week, its day."""
    seconds = (now - moment).total_seconds()
    if seconds < _MINUTE:
        return "just now"
    for unit, length, limit in (("min", _MINUTE, _HOUR), ("h", _HOUR, _DAY), ("d", _DAY, _RECENT_DAYS * _DAY)):
        if seconds < limit:
            return f"{int(seconds // length)} {unit} ago"
    return f"{moment:%Y-%m-%d}"


def path(*parts: object) -> str:
    """An address below ours, each part of it escaped: what is in a name cannot end its segment."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


# Filling in the templates of the pages.
#
# Everything that a page shows was written by somebody else. Values are escaped unless `generator.run.notebook_html`
# made them, and every page forbids what it does not need: scripts and styles but its own, frames, and forms that
# lead away.


_FOLDER = Path(__file__).parent
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class StaticFile:
    """A file that the pages refer to; `version` changes with its content, so that browsers may keep it for ever."""

    body: bytes
    media_type: str
    version: str


@cache
def static_files() -> Mapping[str, StaticFile]:
    """The files that the pages refer to, by name."""
    files = {}
    for path in sorted((_FOLDER / "static").iterdir()):
        if path.suffix not in _STATIC_TYPES:
            continue
        body = path.read_bytes()
        if path.name == "pages.css":
            body += (SHARED_FOLDER / "findings.css").read_bytes() + code_styles().encode()
        files[path.name] = StaticFile(body, _STATIC_TYPES[path.suffix], hashlib.sha256(body).hexdigest()[:12])
    return files


def static_response(version: str, name: str) -> Response:
    """A file that the pages refer to; `ApiError` 404 if there is none of that name and version."""
    file = static_files().get(name)
    if file is None or file.version != version:
        raise ApiError(404, "There is no such file, or no such version of it.")
    headers = {**PAGE_HEADERS, "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(file.body, media_type=file.media_type, headers=headers)


def render_page(template: str, values: Mapping[str, Any], *, status: int = 200) -> Response:
    """Fills in a template."""
    text = _TEMPLATES.render(template, **values)
    # What a notebook prints may hold half of a surrogate pair, which UTF-8 has no bytes for.
    return Response(text.encode("utf-8", "replace"), status_code=status, media_type="text/html", headers=PAGE_HEADERS)


def sign_in(*, is_wrong: bool = False) -> Response:
    """The page for somebody who is not logged in; it stands alone, as they may not fetch anything else.

    Args:
        is_wrong: Whether they tried, with a token that is none of this server's.
    """
    styles = Markup(static_files()["sign_in.css"].body.decode())  # noqa: S704 (a file of this package)
    digest = base64.b64encode(hashlib.sha256(styles.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self' http://*.localhost:*; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    answer = render_page("sign_in.html.j2", {"styles": styles, "is_wrong": is_wrong}, status=401)
    answer.headers["Content-Security-Policy"] = policy
    return answer


def _static_address(name: str) -> str:
    return path("static", static_files()[name].version, name)


_TEMPLATES = PageTemplates(
    _FOLDER / "templates",
    functions={"ago": ago, "path": path, "static": _static_address},
    duration=page_duration,
    hours=hours,
    size=file_size,
    file_path=quote,  # a file's relative name as the end of an address: its slashes stay
    moment=datetime.fromisoformat,
)


# A request for a page: who asks, what for, the form that was sent, and what every page says beside its own content.
#
# What a page shows is asked of the API's own methods, as the account that looks.


MOST_FILES = 500
"""The files that a page lists."""

_MOST_FIELDS = 2_000
_LISTED_AT_ONCE, _MOST_LISTINGS = 200, 25
_REFUSAL_CODE = 422


@dataclass(frozen=True)
class PageRequest:
    """A request for a page of this local Kaggle by somebody who is logged in; `body` is what a POST sent."""

    local_kaggle: LocalKaggle
    request: Request
    body: bytes = b""

    @property
    def account(self) -> str:
        """The account whose pages these are."""
        return str(self.request.scope[CALLER])

    @property
    def path(self) -> str:
        """The path with percent-escapes decoded; `request.url` would end it at a `?` in a name."""
        return str(self.request.scope["path"])

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters behind the question mark."""
        return self.request.query_params

    @property
    def kernels(self) -> Kernels:
        """The kernels with their versions, sessions and files."""
        return self.local_kaggle.kernels

    @property
    def now(self) -> datetime:
        """The present moment at this local Kaggle."""
        return self.local_kaggle.site.clock.now()

    @property
    def is_form(self) -> bool:
        """True if a form was sent, whatever stands in it."""
        return self.request.method == "POST"

    @cached_property
    def form(self) -> Mapping[str, str]:
        """The texts of the form that was sent.

        Raises:
            ApiError: The body is no form.
        """
        return {name: value for name, value in self._form_data.items() if isinstance(value, str)}

    def file(self, name: str) -> UploadFile | None:
        """The file that was chosen in a field of the form, or None.

        Raises:
            ApiError: The body is no form.
        """
        value = self._form_data.get(name)
        return value if isinstance(value, UploadFile) and value.filename else None

    @cached_property
    def _form_data(self) -> FormData:
        return _parse_form(self.body, self.request.headers)

    def call(self, method: str, **fields: Any) -> Fields:
        """The object that a method of the API answers.

        Raises:
            ApiError: It refuses.
        """
        return cast("Fields", self._answer(method, fields))

    def address(self, method: str, **fields: Any) -> str:
        """The address that a method of the API sends its callers to.

        Raises:
            ApiError: It refuses.
        """
        return cast("Redirect", self._answer(method, fields)).url

    def items(self, method: str, *, key: str, **fields: Any) -> list[Fields]:
        """All items of a listing of the API, some thousand at most.

        Raises:
            ApiError: The method refuses.
        """
        items: list[Fields] = []
        token = ""
        for _ in range(_MOST_LISTINGS):
            answer = self.call(method, pageSize=_LISTED_AT_ONCE, pageToken=token, **fields)
            items.extend(answer[key])
            token = answer["nextPageToken"]
            if not token:
                break
        return items

    def _answer(self, method: str, fields: Fields) -> Answer:
        return self.local_kaggle.handle(ApiCall(method, self.account, self.request.scope[BASE], fields))

    def render(self, template: str, *, section: str, status: int = 200, problem: str = "", **values: Any) -> Response:
        """A page from a template.

        Args:
            template: Its file.
            section: The word of the bar on top that the page belongs to.
            status: The HTTP status.
            problem: Why a form that was sent is shown again, which has a status of its own; empty if it is not.
            **values: What the template shows; with `moves` the page looks again by itself.
        """
        common = {"account": self.account, "here": section, "now": self.now, "moves": False, "problem": problem}
        return render_page(template, {**common, **values}, status=_REFUSAL_CODE if problem else status)


def redirect(address: str) -> Response:
    """Sends the browser to another address, to be fetched by GET whatever the request was."""
    return RedirectResponse(address, status_code=303, headers={"Cache-Control": "no-store"})


def _parse_form(body: bytes, headers: Headers) -> FormData:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    kind, options = parse_options_header(headers.get("content-type"))
    try:
        if kind == b"application/x-www-form-urlencoded":
            # Starlette's own parser of these would replace what is not UTF-8, silently.
            return FormData(dict(parse_qsl(body.decode(), True, max_num_fields=_MOST_FIELDS, errors="strict")))
        if kind == b"multipart/form-data" and b"boundary" in options:
            # The parser takes what it has got for the whole where the end is missing.
            if b"--%b--" % options[b"boundary"] not in body:
                raise ApiError(400, "The form was not sent to its end.")
            parser = MultiPartParser(headers, stream(), max_fields=_MOST_FIELDS, max_part_size=LARGEST_FORM)
            return asyncio.run(parser.parse())
    except (ValueError, MultiPartException) as error:
        raise ApiError(400, "What was sent is no form in UTF-8.") from error
    raise ApiError(415, "What was sent is no form.")


# Kernels, their versions and their sessions as pages show them, read from their records.


_WORDS = {
    KernelState.QUEUED: "Queued",
    KernelState.RUNNING: "Running",
    KernelState.COMPLETE: "Complete",
    KernelState.ERROR: "Failed",
}


@dataclass(frozen=True)
class SessionView:
    """The session of a version; `record` is None for a version that was saved without running."""

    record: SessionRecord | None
    title: str = ""

    @property
    def state(self) -> str:
        """The state in lower case."""
        return "saved" if self.record is None else self.record.state.lower()

    @property
    def word(self) -> str:
        """The state for people."""
        return "Saved" if self.record is None else _WORDS[self.record.state]

    @property
    def is_over(self) -> bool:
        """True if nothing more happens in it."""
        return self.record is None or self.record.is_over

    @property
    def failure(self) -> str:
        """The reason why it failed; empty if it did not."""
        return "" if self.record is None else self.record.failure

    @property
    def address(self) -> str:
        """The page of the version that ran; a rerun has none of its own."""
        return "" if self.record is None else _version_address(self.record.owner, self.record.slug, self.record.number)

    @property
    def machine(self) -> str:
        """The machine that it runs on, as the menu of accelerators calls it."""
        if self.record is None:
            return ""
        shapes = (
            accelerator.machine_shape
            for accelerator in catalog().accelerators.values()
            if accelerator.kind is self.record.accelerator
        )
        return machine_name(next(shapes, self.record.accelerator.upper()))

    def elapsed(self, now: datetime) -> timedelta | None:
        """The time that it has been running, or ran in the end; None before it begins."""
        if self.record is None or self.record.started is None:
            return None
        return max(timedelta(), (self.record.ended or now) - self.record.started)

    def wait_time(self, now: datetime) -> timedelta | None:
        """The time that it waited in the queue, or has so far."""
        if self.record is None:
            return None
        return max(timedelta(), (self.record.started or self.record.ended or now) - self.record.created)


@dataclass(frozen=True)
class KernelView:
    """A version of a kernel, and its session; `newest` is the number of the kernel's newest version."""

    kernel: KernelRecord
    version: VersionRecord
    newest: int
    session: SessionView

    @property
    def address(self) -> str:
        """The page of the kernel."""
        return path("code", self.kernel.owner, self.kernel.slug)

    @property
    def version_address(self) -> str:
        """The page of the version."""
        return _version_address(self.kernel.owner, self.kernel.slug, self.version.number)

    @property
    def query(self) -> str:
        """The query that makes addresses below the kernel's mean this version."""
        return "" if self.version.number == self.newest else f"?version={self.version.number}"

    @property
    def machine(self) -> str:
        """The machine that the version asks for."""
        return machine_name(self.version.settings.machine_shape)

    @property
    def competitions(self) -> tuple[str, ...]:
        """The competitions whose data the version uses."""
        return self.version.settings.competitions

    @property
    def can_be_submitted(self) -> bool:
        """True if there is something of this version to submit."""
        return self.session.record is not None and self.session.record.state is KernelState.COMPLETE


def machine_name(shape: str) -> str:
    """The name of a machine in the menu of accelerators."""
    accelerator = catalog().accelerators.get(shape)
    if accelerator is None:
        return shape
    return "CPU" if accelerator.kind is AcceleratorKind.CPU else accelerator.name


def machines() -> list[tuple[str, str]]:
    """The machines that a notebook can run on, by id and name."""
    return [(shape, machine_name(shape)) for shape in catalog().accelerators]


def kernel_views(records: KernelRecords, account: str, *, most: int | None = None) -> list[KernelView]:
    """The kernels that an account may see by their newest versions, the last saved first; or only `most` of them."""
    visible = [kernel for kernel in records.kernels() if kernel.is_visible_to(account)][:most]
    return [view for kernel in visible if (view := kernel_view(records, kernel)) is not None]


def kernel_view(records: KernelRecords, kernel: KernelRecord, number: int | None = None) -> KernelView | None:
    """A version of a kernel, the newest if no other is named; None if there is none."""
    newest = records.version(kernel)
    version = newest if number is None else records.version(kernel, number)
    if newest is None or version is None:
        return None
    return KernelView(kernel, version, newest.number, SessionView(records.session_of(version)))


def version_views(records: KernelRecords, kernel: KernelRecord) -> list[KernelView]:
    """The versions of a kernel, the newest first."""
    versions = records.versions(kernel)
    return [
        KernelView(kernel, version, versions[0].number, SessionView(records.session_of(version)))
        for version in versions
    ]


def rerun_views(records: KernelRecords) -> dict[int, SessionView]:
    """The reruns of submitted versions, by the number of the submission."""
    reruns = [session for session in records.sessions() if session.submission is not None]
    return {session.submission or 0: view for session, view in zip(reruns, _add_titles(records, reruns), strict=True)}


def session_views(records: KernelRecords, account: str, *, most: int) -> list[SessionView]:
    """The last sessions of kernels that an account may see, the newest first, reruns among them."""
    visible = {kernel.ref for kernel in records.kernels() if kernel.is_visible_to(account)}
    return _add_titles(records, [session for session in records.sessions() if session.ref in visible][:most])


def _add_titles(records: KernelRecords, sessions: list[SessionRecord]) -> list[SessionView]:
    titles = {kernel.ref: kernel.title for kernel in records.kernels()}
    return [SessionView(session, titles.get(session.ref, session.ref)) for session in sessions]


def _version_address(owner: str, slug: str, number: int) -> str:
    return f"{path('code', owner, slug)}?version={number}"


class BrowserLogin:
    """ASGI middleware that lets those through to the pages who are logged in, and forms of our own pages only."""

    def __init__(self, pages: ASGIApp) -> None:
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        request = Request(scope)
        if request.method not in ("GET", "HEAD", "POST"):
            raise HTTPException(405)
        state = server_state(request)
        answer: ASGIApp = self._pages
        if request.method == "GET" and request.query_params.get("token"):
            answer = await state.workers.run_page(_log_in, request, state.local_kaggle.accounts)
        elif not scope[CALLER]:
            answer = await state.workers.run_page(_sign_in)
        elif request.method == "POST" and _is_foreign(request):
            answer = refusal_response(403, "A form is taken from this server's own pages only.")
        await answer(scope, receive, send)


def _log_in(request: Request, accounts: Accounts) -> Response:
    name = accounts.with_token(request.query_params["token"])
    if name is None:
        return _sign_in(is_wrong=True)
    # Two slashes at its beginning would make a path an address of another host.
    target = f"/{request.url.path.lstrip('/')}"
    if pages := request.scope[PAGES]:
        target = f"{pages}{target}?{urlencode({'token': request.query_params['token']})}"
        return RedirectResponse(target, status_code=303, headers={"Cache-Control": "no-store"})
    # The token leaves the address bar, and with it the history and what is copied from there.
    answer = RedirectResponse(target, status_code=303, headers={"Cache-Control": "no-store"})
    value = cookie_value(accounts, name)
    answer.set_cookie(cookie_name(request.scope), value, httponly=True, samesite="strict", path="/")
    return answer


def _sign_in(*, is_wrong: bool = False) -> Response:
    # Templates take a moment to import, which the start of the server does not wait for.

    return sign_in(is_wrong=is_wrong)


def _is_foreign(request: Request) -> bool:
    """True if a page of another origin sent a form."""
    site = request.headers.get("sec-fetch-site")
    return request.headers.get("origin") != request.scope[BASE] or site not in (None, "same-origin")
