"""The pages of kernels: the notebook as it ran, its log as it grows, what it wrote, its versions."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from generator.localkaggle.rpc import ApiError, Stored
from generator.localkaggle.services.kernel_outputs import OutputFile
from generator.localkaggle.services.kernel_records import KernelRecord, State, VersionRecord
from generator.localkaggle.web import notebooks
from generator.localkaggle.web.formats import duration
from generator.localkaggle.web.kernel_facts import (
    KernelRow,
    SessionFacts,
    VersionRow,
    kernel_address,
    kernel_row,
    kernel_rows,
    version_rows,
)
from generator.localkaggle.web.previews import preview
from generator.localkaggle.web.request import WebAnswer, redirect
from generator.localkaggle.web.templating import PAGE_HEADERS
from generator.localkaggle.web.visit import Visit

_MOST_FILES = 500
_MOST_KERNELS = 200


@dataclass(frozen=True)
class Opened:
    """A version of a kernel that somebody looks at."""

    kernel: KernelRecord
    version: VersionRecord
    newest: int
    session: SessionFacts

    @property
    def address(self) -> str:
        """The page of the kernel."""
        return kernel_address(self.kernel)

    @property
    def query(self) -> str:
        """What makes addresses below the kernel's mean this version."""
        return "" if self.version.number == self.newest else f"?version={self.version.number}"


def opened(visit: Visit, owner: str, kernel: str) -> Opened:
    """The version that an address means: that of its query, or the newest.

    Raises:
        ApiError: 404 if there is none, or it is somebody else's and private.
    """
    records = visit.kernels.records
    found = records.kernel(owner, kernel)
    asked = visit.request.query.get("version", "")
    newest = records.version(found) if found is not None else None
    version = records.version(found, int(asked[:9])) if found is not None and asked.isdecimal() else newest
    if found is None or version is None or newest is None or not found.is_visible_to(visit.account):
        raise ApiError(404, "There is no such notebook, or no such version of it.")
    return Opened(found, version, newest.number, SessionFacts(records.session_of(version)))


def listing(visit: Visit) -> WebAnswer:
    """The kernels that were saved last."""
    rows = kernel_rows(visit.kernels.records, visit.account)
    left_out = max(0, len(rows) - _MOST_KERNELS)
    rows = rows[:_MOST_KERNELS]
    return visit.page("kernels.html.j2", here="code", kernels=rows, left_out=left_out, moves=_moves(rows))


def notebook(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """The notebook as it ran; until then its source, below the log."""
    found = opened(visit, owner, kernel)
    record = found.session.record
    content = visit.kernels.records.source(found.version).encode("utf-8", "replace")
    live = None
    if record is not None and not record.is_over:
        live = notebooks.shown_log(visit.kernels.folder(record.id).log)
    elif record is not None and (executed := visit.kernels.folder(record.id).executed).is_file():
        content = notebooks.beginning_of(executed)
    shown = notebooks.shown_notebook(content, is_script=found.version.settings.kernel_type == "script")
    return _tab(visit, found, "notebook", shown=shown, log=live)


def log(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """The log, which grows while the session runs."""
    found = opened(visit, owner, kernel)
    record = found.session.record
    shown = notebooks.shown_log(visit.kernels.folder(record.id).log) if record is not None else None
    return _tab(visit, found, "log", log=shown)


def log_news(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """What a log has got since the page was made, for the page's script."""
    found = opened(visit, owner, kernel)
    record = found.session.record
    position = visit.request.query.get("from", "")
    text, following = "", int(position[:15]) if position.isdecimal() else 0
    if record is not None:
        text, following = notebooks.log_news(visit.kernels.folder(record.id).log, position=following)
    elapsed = found.session.elapsed(visit.now)
    news = {
        "text": text,
        "next": following,
        "state": found.session.state,
        # The session may have ended between the look at its log and the look at its state.
        "is_final": found.session.is_over and not text,
        "elapsed": "" if elapsed is None else duration(elapsed),
    }
    return WebAnswer(body=json.dumps(news).encode(), media_type="application/json", headers=PAGE_HEADERS)


def log_file(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """The whole log, to keep."""
    found = opened(visit, owner, kernel)
    record = found.session.record
    text = notebooks.log_text(visit.kernels.folder(record.id).log) if record is not None else ""
    name = f"{found.kernel.slug}-v{found.version.number}.log"
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return WebAnswer(body=text.encode("utf-8", "replace"), media_type="text/plain; charset=utf-8", headers=headers)


def output(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """The files that the session wrote."""
    found = opened(visit, owner, kernel)
    files = _files(visit, found)
    chosen = next((file for file in files if file.name == visit.request.query.get("file")), None)
    return _tab(
        visit,
        found,
        "output",
        files=files[:_MOST_FILES],
        count=len(files),
        total=sum(file.size for file in files),
        chosen=None if chosen is None else preview(chosen),
    )


def output_file(visit: Visit, owner: str, kernel: str, file: str) -> WebAnswer:
    """One of the files that the session wrote."""
    found = next((each for each in _files(visit, opened(visit, owner, kernel)) if each.name == file), None)
    if found is None:
        raise ApiError(404, "There is no such file in the output.")
    return WebAnswer(stored=Stored(found.path, found.name.rpartition("/")[2]))


def output_archive(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """All files that the session wrote, in an archive."""
    record = opened(visit, owner, kernel).session.record
    if record is None or not record.is_over:
        raise ApiError(404, "This version has no output.")
    return WebAnswer(stored=Stored(visit.kernels.outputs.archive(record), f"{kernel}.zip", "application/zip"))


def versions(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """The versions of a kernel."""
    found = opened(visit, owner, kernel)
    rows = version_rows(visit.kernels.records, found.kernel)
    return _tab(visit, found, "versions", versions=rows, moves=_moves(rows))


def deletion(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """Asks whether a kernel is to be deleted."""
    found = opened(visit, owner, kernel)
    return visit.page("kernel_deletion.html.j2", here="code", it=found)


def delete(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """Deletes a kernel with its versions, and stops the session that it has."""
    visit.asker.ask("kernels.KernelsApiService/DeleteKernel", userName=owner, kernelSlug=kernel)
    return redirect("/code")


def can_submit(found: Opened) -> bool:
    """Whether there is something of this version to submit."""
    return found.session.record is not None and found.session.record.state is State.COMPLETE


def _files(visit: Visit, found: Opened) -> list[OutputFile]:
    return visit.kernels.outputs.files(found.session.record)


def _moves(rows: Sequence[KernelRow | VersionRow]) -> bool:
    return any(not row.session.is_over for row in rows)


def _tab(visit: Visit, found: Opened, tab: str, **values: Any) -> WebAnswer:
    records = visit.kernels.records
    row = kernel_row(records, found.kernel, found.version)
    values.setdefault("moves", not found.session.is_over)
    return visit.page(
        f"kernel_{tab}.html.j2",
        here="code",
        it=found,
        row=row,
        tab=tab,
        tabs=[
            ("notebook", "Notebook", f"{found.address}{found.query}", None),
            ("output", "Output", f"{found.address}/output{found.query}", len(_files(visit, found)) or None),
            ("log", "Log", f"{found.address}/log{found.query}", None),
            ("versions", "Versions", f"{found.address}/versions{found.query}", found.newest),
        ],
        is_mine=found.kernel.owner == visit.account,
        can_submit=can_submit(found),
        elapsed=found.session.elapsed(visit.now),
        waited=found.session.waited(visit.now),
        **values,
    )
