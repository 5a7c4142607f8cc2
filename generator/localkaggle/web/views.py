"""What pages show: notebooks, logs, files and drafts of strangers, made safe; and the templates."""

import asyncio
import base64
import csv
import hashlib
import io
import itertools
import json
import os
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache, cached_property, lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, cast
from urllib.parse import parse_qsl, quote

from markupsafe import Markup
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from generator.accelerators import AcceleratorKind, catalog
from generator.competition.tables.formats import TableFormat, UnreadableTableError, open_unpacked, table_format
from generator.competition.tables.readers import separator_in, table_rows
from generator.errors import TandemError
from generator.files import open_file
from generator.kit_files import SHARED, PageTemplates
from generator.localkaggle.endpoints import BASE, CALLER
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.protocol import LARGEST_FORM
from generator.localkaggle.rpc import Answer, ApiCall, ApiError, Fields, Redirect
from generator.localkaggle.services.kernel_records import (
    KernelRecord,
    KernelRecords,
    KernelSettings,
    KernelState,
    SessionRecord,
    VersionRecord,
)
from generator.localkaggle.services.kernels import Kernels
from generator.localkaggle.storage import ListedFile
from generator.run.execution import strip_ansi, without_overwritten
from generator.run.notebook_html import CellView, code_html, code_styles, image_source, terminal_html, view_content
from generator.run.report import BackgroundChecks, CellFindings
from generator.sessions.notebook_runner import read_all, read_piece, script_notebook
from generator.sessions.sandbox import path_of
from generator.text import JsonObject

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


# The text of a notebook, cell by cell, as somebody edits it; what else is in it stays as it was.


@dataclass(frozen=True)
class SourceCell:
    """A cell as it is edited."""

    name: str
    kind: str
    source: str


def source_cells(text: str) -> list[SourceCell]:
    """The cells of a notebook's text; none if it is no notebook."""
    return [
        SourceCell(str(cell.get("id", "")) or f"cell-{number}", str(cell.get("cell_type", "code")), _join_source(cell))
        for number, cell in enumerate(JsonObject.parse(text).sections("cells"), start=1)
    ]


def with_sources(text: str, sources: Mapping[int, str], new_cells: Iterable[tuple[str, str]]) -> str:
    """A notebook's text with other sources, and without outputs.

    Args:
        text: The notebook as it was.
        sources: The new source of each cell by its place; a cell that is not in it, or is left empty, goes.
        new_cells: Kind and source of cells to be added at the end.
    """
    notebook = JsonObject.parse(text)
    old = notebook.sections("cells")
    cells = [_with_source(cell, sources[place]) for place, cell in enumerate(old) if sources.get(place, "").strip()]
    has_ids = all(isinstance(cell.get("id"), str) for cell in old)  # the format has them since 4.5
    cell_ids = {str(cell.get("id")) for cell in old}
    free = (name for number in itertools.count(1) if (name := f"added-{number}") not in cell_ids)
    cells += [_cell(kind, source, name=next(free) if has_ids else "") for kind, source in new_cells]
    return json.dumps({**notebook, "cells": cells})


def _cell(kind: str, source: str, *, name: str) -> dict[str, Any]:
    cell = {"cell_type": kind, "metadata": {}, **({"id": name} if name else {})}
    return _with_source(cell, source)


def _with_source(cell: Mapping[str, Any], source: str) -> dict[str, Any]:
    outputs: dict[str, Any] = {"outputs": [], "execution_count": None} if cell.get("cell_type") == "code" else {}
    return {**cell, "source": source, **outputs}


def _join_source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


# Notebooks and logs of strangers as pages show them.


LONGEST_LOG = 100_000
"""The characters of a log that a page shows; the file has all of it."""

_LARGEST_NOTEBOOK = 32 * 2**20
_LARGEST_SOURCE = 300_000
_MOST_CELLS, _MOST_OUTPUTS = 5_000, 20_000
_LOG_BYTES = 1_000_000  # a line of the file has more than its text: the time, and escapes


@dataclass(frozen=True)
class ShownNotebook:
    """A notebook or a script; `problem` says why there is nothing to show."""

    cells: tuple[CellView, ...] = ()
    script: Markup | None = None
    problem: str = ""


_WAIT_SECONDS = 1.5  # for a check, before the page goes without it
_checks = BackgroundChecks()


@dataclass(frozen=True)
class ShownLog:
    """The end of a log; `next` is where what comes later begins, `left_out` whether something stands before it."""

    html: Markup
    next: int
    left_out: bool


def beginning_of(path: Path) -> bytes:
    """As much of a notebook as could be shown, and a byte more."""
    with open_file(path) as file:
        return file.read(_LARGEST_NOTEBOOK + 1)


@lru_cache(maxsize=8)  # people go to and fro between pages
def shown_notebook(content: bytes, *, is_script: bool, names: tuple[str, ...] = ()) -> ShownNotebook:
    """Renders a notebook, whose cells have these names in its source, or a script."""
    if is_script:
        return ShownNotebook(script=code_html(content.decode("utf-8", "replace")[:_LARGEST_SOURCE]))
    text = content.decode("utf-8", "replace") if len(content) <= _LARGEST_NOTEBOOK else ""
    cells = source_cells(text)
    is_long = len(cells) > _MOST_CELLS or text.count('"output_type"') > _MOST_OUTPUTS
    if not text or is_long or sum(len(cell.source) for cell in cells) > _LARGEST_SOURCE:
        return ShownNotebook(problem="This notebook is too large to be shown; its output can be downloaded.")
    try:
        return ShownNotebook(cells=view_content(content, name="notebook", cells=names))
    except TandemError:
        return ShownNotebook(problem="This is no notebook that can be shown.")


def checked_cells(source: str, settings: KernelSettings) -> CellFindings:
    """What `tandem check` finds in the source of a version, as far as it is known by now."""
    if len(source) > _LARGEST_NOTEBOOK:
        return CellFindings()
    metadata = {
        "language": settings.language,
        "kernel_type": settings.kernel_type,
        "machine_shape": settings.machine_shape,
        "enable_internet": settings.internet,
        "dataset_sources": list(settings.datasets),
        "competition_sources": list(settings.competitions),
        "kernel_sources": list(settings.kernels),
        "model_sources": list(settings.models),
    }
    return _checks.findings(source, metadata, wait=_WAIT_SECONDS)


def shown_log(path: Path) -> ShownLog:
    """The end of a log, with its colours."""
    pieces: list[str] = []
    position = start = _line_near_the_end(path)
    while (piece := read_piece(path, position=position)).events:
        pieces += [str(event.get("data", "")) for event in piece.events]
        position = piece.position
    text = without_overwritten("".join(pieces))
    return ShownLog(terminal_html(text[-LONGEST_LOG:]), position, start > 0 or len(text) > LONGEST_LOG)


def _line_near_the_end(path: Path) -> int:
    """The position of a line after which there is about as much as a page shows; 0 for a log that is shorter."""
    try:
        with path.open("rb") as file:
            start = file.seek(0, os.SEEK_END) - _LOG_BYTES
            if start <= 0:
                return 0
            file.seek(start)
            file.readline()
            return file.tell()
    except FileNotFoundError:
        return 0


def printable_log(path: Path) -> str:
    """A whole log as text, without what a terminal would obey."""
    return _harmless("".join(str(event.get("data", "")) for event in read_all(path)))


def read_new_log(path: Path, *, position: int) -> tuple[str, int]:
    """The text that was added to a log since a position, and the position after it."""
    piece = read_piece(path, position=position)
    return _harmless("".join(str(event.get("data", "")) for event in piece.events)), piece.position


def _harmless(text: str) -> str:
    return "".join(
        character
        for character in strip_ansi(without_overwritten(text))
        if character.isprintable() or character in "\n\t"
    )


# The beginning of a file that a notebook wrote, as far as it can be shown: a table, a text, a picture.


_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_TEXTS = {".txt", ".json", ".jsonl", ".ndjson", ".toml", ".yaml", ".yml", ".md", ".log", ".py", ".xml", ".html", ".svg"}
_LARGEST_IMAGE = 4 * 2**20
_BEGINNING = 64 * 1024
_ROWS, _COLUMNS = 30, 40
_LONGEST_CELL = 200


@dataclass(frozen=True)
class Preview:
    """The part of a file that is shown: one of `table`, `text` and `image`, or none of them."""

    file: ListedFile
    table: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    image: str = ""
    is_cut: bool = False


def preview(file: ListedFile) -> Preview:
    """The beginning of a file."""
    kind = PurePosixPath(file.name).suffix.lower()
    is_image = kind in _IMAGES and file.size <= _LARGEST_IMAGE
    if not is_image and table_format(file.name).format is None and kind not in _TEXTS:
        return Preview(file)
    try:
        with file.open() as source:
            if is_image:
                data = base64.b64encode(source.read(_LARGEST_IMAGE)).decode()
                return Preview(file, image=image_source(_IMAGES[kind], data) or "")
            reader = _of_rows if table_format(file.name).format is TableFormat.PARQUET else _of_text
            with path_of(source, file.name) as path:
                return reader(file, path)
    except (UnreadableTableError, OSError):
        return Preview(file)


def _of_rows(file: ListedFile, path: Path) -> Preview:
    rows = [cells for _, cells in islice(table_rows(path), _ROWS + 2)]
    return Preview(file, table=_cut(rows[: _ROWS + 1]), is_cut=len(rows) > _ROWS + 1)


def _of_text(file: ListedFile, path: Path) -> Preview:
    with open_unpacked(path) as (stream, name):
        beginning = stream.read(_BEGINNING + 1)
    file_format, is_cut = table_format(name), len(beginning) > _BEGINNING
    text = beginning[:_BEGINNING].decode("utf-8", "replace")
    is_text = PurePosixPath(name).suffix.lower() in _TEXTS and not table_format(file.name).compression
    if file_format.format is TableFormat.PARQUET or (file_format.format is None and not is_text):
        return Preview(file)
    if file_format.format is not TableFormat.CSV or name.lower().endswith(".txt"):
        return Preview(file, text=text, is_cut=is_cut)
    lines = text.splitlines(keepends=True)
    lines = lines[:-1] if is_cut else lines
    try:
        separator = file_format.separator or separator_in(lines[0] if lines else "")
        rows = list(csv.reader(io.StringIO("".join(lines[: _ROWS + 1])), delimiter=separator))
    except csv.Error:
        return Preview(file, text=text, is_cut=is_cut)
    return Preview(file, table=_cut(rows), is_cut=len(lines) > _ROWS + 1 or is_cut)


def _cut(rows: list[list[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(cell[:_LONGEST_CELL] for cell in row[:_COLUMNS]) for row in rows)


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
            body += (SHARED / "findings.css").read_bytes() + code_styles().encode()
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


_MOST_FIELDS = 2_000
_LISTED_AT_ONCE, _MOST_LISTINGS = 200, 25
_REFUSED = 422


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
        return render_page(template, {**common, **values}, status=_REFUSED if problem else status)


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


# A notebook that somebody is editing: from a version to the fields of a form, and from those to a version again.


_SEPARATORS = re.compile(r"[\s,]+")
_CELL = re.compile(r"cell-(\d{1,4})")
_KINDS = ("code", "markdown")
_INPUTS = ("competitions", "kernels", "datasets", "models")
_FIRST_CODE = """\
from pathlib import Path

for path in sorted(Path("/kaggle/input").rglob("*"))[:50]:
    print(path)
"""


@dataclass(frozen=True)
class EditorForm:
    """The fields of the editor as they stand; the sources are texts with one name a word.

    Attributes:
        title: The title, and by it the slug of a new notebook.
        machine: The machine's id, empty for a CPU.
        internet: True if its session may reach the network.
        is_private: True if only its owner sees it.
        competitions: The competitions whose data are mounted.
        kernels: The notebooks whose output is mounted.
        datasets: The datasets that are mounted.
        models: The models that are mounted.
        base: The notebook's text, whose cells are edited.
        is_script: True if it is a script and `base` its code.
        cells: The cells as they stand in the form.
        added: What stands in the fields for further cells, by their kind.
    """

    title: str
    machine: str = ""
    internet: bool = False
    is_private: bool = True
    competitions: str = ""
    kernels: str = ""
    datasets: str = ""
    models: str = ""
    base: str = ""
    is_script: bool = False
    language: str = "python"
    cells: tuple[SourceCell, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)

    def fields(self, *, runs: bool) -> dict[str, Any]:
        """The fields of the API's call that saves it."""
        accelerator = catalog().accelerators.get(self.machine)
        kind = accelerator.kind if accelerator is not None else AcceleratorKind.CPU
        return {
            "newTitle": self.title,
            "text": self.text(),
            "language": self.language,
            "kernelType": "script" if self.is_script else "notebook",
            "isPrivate": self.is_private,
            "enableInternet": self.internet,
            "enableGpu": kind is AcceleratorKind.GPU,
            "enableTpu": kind is AcceleratorKind.TPU,
            "machineShape": self.machine,
            "kernelExecutionType": "SAVE_AND_RUN_ALL" if runs else "QUICK_SAVE",
            **{
                f"{name[:-1]}DataSources": list(filter(None, _SEPARATORS.split(getattr(self, name))))
                for name in _INPUTS
            },
        }

    def text(self) -> str:
        """The notebook's text with what was typed."""
        if self.is_script:
            return self.cells[0].source if self.cells else ""
        sources = {place: cell.source for place, cell in enumerate(self.cells)}
        new_cells = [(kind, source) for kind, source in self.added.items() if source.strip()]
        return with_sources(self.base, sources, new_cells)


def draft_of(view: KernelView, source: str, *, title: str = "") -> EditorForm:
    """A version of a kernel, to be edited; with a title of its own if it is to be another kernel."""
    settings = view.version.settings
    is_script = settings.kernel_type == "script"
    inputs: dict[str, Any] = {name: " ".join(getattr(settings, name)) for name in _INPUTS}
    return EditorForm(
        title=title or view.kernel.title,
        machine=settings.machine_shape,
        internet=settings.internet,
        is_private=view.kernel.is_private,
        base=source,
        is_script=is_script,
        language=settings.language,
        cells=(SourceCell("script", "code", source),) if is_script else tuple(source_cells(source)),
        **inputs,
    )


def new_draft(competition: str) -> EditorForm:
    """A notebook to begin with, on the data of a competition if one is named."""
    base = script_notebook(_FIRST_CODE, name="inputs")
    return EditorForm(title="", competitions=competition, base=base, cells=tuple(source_cells(base)))


def apply_form(draft: EditorForm, form: Mapping[str, str]) -> EditorForm:
    """The draft with what somebody typed into its form."""
    sources = {int(match[1]): text for name, text in form.items() if (match := _CELL.fullmatch(name))}
    cells = tuple(replace(cell, source=_lines(sources.get(n, ""))) for n, cell in enumerate(draft.cells))
    inputs: dict[str, Any] = {name: form.get(name, "") for name in _INPUTS}
    return replace(
        draft,
        title=form.get("title", "").strip(),
        machine=form.get("machine", ""),
        internet="internet" in form,
        is_private="private" in form,
        cells=cells,
        added={kind: _lines(form.get(f"added-{kind}", "")) for kind in _KINDS},
        **inputs,
    )


def _lines(text: str) -> str:
    # Forms end their lines as HTTP does.
    return text.replace("\r\n", "\n").rstrip("\n")
