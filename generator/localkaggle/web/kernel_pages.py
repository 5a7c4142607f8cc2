"""The pages of kernels: the notebook as it ran, its log as it grows, what it wrote, its versions."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from generator.localkaggle.file_names import ListedFile
from generator.localkaggle.http.file_transfer import file_response
from generator.localkaggle.rpc import ApiError, Stored
from generator.localkaggle.web import notebook_display
from generator.localkaggle.web.formats import duration
from generator.localkaggle.web.kernel_views import KernelView, kernel_view, kernel_views, version_views
from generator.localkaggle.web.notebook_source import source_cells
from generator.localkaggle.web.page_request import PageRequest, redirect
from generator.localkaggle.web.previews import preview
from generator.localkaggle.web.templating import PAGE_HEADERS

_MOST_FILES = 500
_MOST_KERNELS = 200


def opened(page: PageRequest, owner: str, kernel: str) -> KernelView:
    """The version that an address means: that of its query, or the newest.

    Raises:
        ApiError: 404 if there is none, or it is somebody else's and private.
    """
    records = page.kernels.records
    asked = page.query.get("version", "")
    found = records.kernel(owner, kernel)
    view = kernel_view(records, found, int(asked[:9]) if asked.isdecimal() else None) if found is not None else None
    if view is None or not view.kernel.is_visible_to(page.account):
        raise ApiError(404, "There is no such notebook, or no such version of it.")
    return view


def listing(page: PageRequest) -> Response:
    """The kernels that were saved last."""
    rows = kernel_views(page.kernels.records, page.account)
    left_out = max(0, len(rows) - _MOST_KERNELS)
    rows = rows[:_MOST_KERNELS]
    return page.render("kernels.html.j2", here="code", kernels=rows, left_out=left_out, moves=_moves(rows))


def notebook(page: PageRequest, owner: str, kernel: str) -> Response:
    """The notebook as it ran; until then its source, below the log."""
    found = opened(page, owner, kernel)
    record = found.session.record
    source = page.kernels.records.source(found.version)
    content = source.encode("utf-8", "replace")
    live = None
    if record is not None and not record.is_over:
        live = notebook_display.shown_log(page.kernels.sessions.folder(record.id).log)
    elif record is not None and (executed := page.kernels.sessions.folder(record.id).executed).is_file():
        content = notebook_display.beginning_of(executed)
    names = tuple(cell.name for cell in source_cells(source))
    is_script = found.version.settings.kernel_type == "script"
    shown = notebook_display.shown_notebook(content, is_script=is_script, names=names)
    checked = notebook_display.checked_cells(source, found.version.settings)
    return _tab(page, found, "notebook", shown=shown, log=live, checked=checked)


def log(page: PageRequest, owner: str, kernel: str) -> Response:
    """The log, which grows while the session runs."""
    found = opened(page, owner, kernel)
    record = found.session.record
    shown = notebook_display.shown_log(page.kernels.sessions.folder(record.id).log) if record is not None else None
    return _tab(page, found, "log", log=shown)


def log_news(page: PageRequest, owner: str, kernel: str) -> Response:
    """The lines that a log has got since the page was made, for the page's script."""
    found = opened(page, owner, kernel)
    record = found.session.record
    position = page.query.get("from", "")
    text, following = "", int(position[:15]) if position.isdecimal() else 0
    if record is not None:
        text, following = notebook_display.log_news(page.kernels.sessions.folder(record.id).log, position=following)
    elapsed = found.session.elapsed(page.now)
    news = {
        "text": text,
        "next": following,
        "state": found.session.state,
        # The session may have ended between the look at its log and the look at its state.
        "is_final": found.session.is_over and not text,
        "elapsed": "" if elapsed is None else duration(elapsed),
    }
    return JSONResponse(news, headers=PAGE_HEADERS)


def log_file(page: PageRequest, owner: str, kernel: str) -> Response:
    """The whole log, to keep."""
    found = opened(page, owner, kernel)
    record = found.session.record
    text = notebook_display.log_text(page.kernels.sessions.folder(record.id).log) if record is not None else ""
    name = f"{found.kernel.slug}-v{found.version.number}.log"
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode("utf-8", "replace"), media_type="text/plain", headers=headers)


def output(page: PageRequest, owner: str, kernel: str) -> Response:
    """The files that the session wrote."""
    found = opened(page, owner, kernel)
    files = _files(page, found)
    chosen = next((file for file in files if file.name == page.query.get("file")), None)
    return _tab(
        page,
        found,
        "output",
        files=files[:_MOST_FILES],
        count=len(files),
        total=sum(file.size for file in files),
        chosen=None if chosen is None else preview(chosen),
    )


def output_file(page: PageRequest, owner: str, kernel: str, file: str) -> Response:
    """One of the files that the session wrote."""
    found = next((each for each in _files(page, opened(page, owner, kernel)) if each.name == file), None)
    if found is None:
        raise ApiError(404, "There is no such file in the output.")
    try:
        return file_response(Stored(found.path, found.name, below=found.below))
    except OSError as error:
        raise ApiError(404, "This file of the output cannot be read.") from error


def output_archive(page: PageRequest, owner: str, kernel: str) -> Response:
    """All files that the session wrote, in an archive."""
    record = opened(page, owner, kernel).session.record
    if record is None or not record.is_over:
        raise ApiError(404, "This version has no output.")
    return file_response(Stored(page.kernels.outputs.archive(record), f"{kernel}.zip", "application/zip"))


def versions(page: PageRequest, owner: str, kernel: str) -> Response:
    """The versions of a kernel."""
    found = opened(page, owner, kernel)
    rows = version_views(page.kernels.records, found.kernel)
    return _tab(page, found, "versions", versions=rows, moves=_moves(rows))


def delete(page: PageRequest, owner: str, kernel: str) -> Response:
    """Asks whether a kernel is to be deleted, and deletes it with its versions and the session that it has."""
    if not page.is_form:
        return page.render("kernel_deletion.html.j2", here="code", it=opened(page, owner, kernel))
    page.call("kernels.KernelsApiService/DeleteKernel", userName=owner, kernelSlug=kernel)
    return redirect("/code")


def _files(page: PageRequest, found: KernelView) -> list[ListedFile]:
    return page.kernels.outputs.files(found.session.record)


def _moves(rows: Sequence[KernelView]) -> bool:
    return any(not row.session.is_over for row in rows)


def _tab(page: PageRequest, found: KernelView, tab: str, **values: Any) -> Response:
    values.setdefault("moves", not found.session.is_over)
    return page.render(
        f"kernel_{tab}.html.j2",
        here="code",
        it=found,
        tab=tab,
        tabs=[
            ("notebook", "Notebook", f"{found.address}{found.query}", None),
            ("output", "Output", f"{found.address}/output{found.query}", len(_files(page, found)) or None),
            ("log", "Log", f"{found.address}/log{found.query}", None),
            ("versions", "Versions", f"{found.address}/versions{found.query}", found.newest),
        ],
        is_mine=found.kernel.owner == page.account,
        elapsed=found.session.elapsed(page.now),
        waited=found.session.waited(page.now),
        **values,
    )
