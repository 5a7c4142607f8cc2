"""The pages of kernels, and those that write, edit and copy notebooks."""

from collections.abc import Callable, Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from generator.localkaggle.endpoints import file_response
from generator.localkaggle.rpc import ApiError, Fields, StoredFile
from generator.localkaggle.services.kernel_records import (
    TITLE_LENGTHS,
    KernelRecord,
)
from generator.localkaggle.services.kernels import SAVE_KERNEL
from generator.localkaggle.storage import ListedFile
from generator.localkaggle.web import notebook_display
from generator.localkaggle.web.notebook_display import EditorForm, apply_form, draft_of, new_draft, source_cells
from generator.localkaggle.web.previews import preview
from generator.localkaggle.web.views import (
    MOST_FILES,
    PAGE_HEADERS,
    KernelView,
    PageRequest,
    kernel_view,
    kernel_views,
    machines,
    page_duration,
    path,
    redirect,
    version_views,
)
from generator.text import slug_of

# The pages of kernels: the notebook as it ran, its log as it grows, what it wrote, its versions.


_MOST_KERNELS = 200


def open_view(page: PageRequest, owner: str, kernel: str) -> KernelView:
    """The version that an address means: that of its query, or the newest.

    Raises:
        ApiError: 404 if there is none, or it is somebody else's and private.
    """
    records = page.kernels.records
    label = page.query.get("version", "")
    record = records.kernel(owner, kernel)
    view = kernel_view(records, record, int(label[:9]) if label.isdecimal() else None) if record is not None else None
    if view is None or not view.kernel.is_visible_to(page.account):
        raise ApiError(404, "There is no such notebook, or no such version of it.")
    return view


def kernel_listing(page: PageRequest) -> Response:
    """The kernels that were saved last."""
    rows = kernel_views(page.kernels.records, page.account)
    left_out = max(0, len(rows) - _MOST_KERNELS)
    rows = rows[:_MOST_KERNELS]
    return page.render("kernels.html.j2", section="code", kernels=rows, left_out=left_out, moves=_moves(rows))


def notebook(page: PageRequest, owner: str, kernel: str) -> Response:
    """The notebook as it ran; until then its source, below the log."""
    view = open_view(page, owner, kernel)
    record = view.session.record
    source = page.kernels.records.source(view.version)
    content = source.encode("utf-8", "replace")
    live = None
    if record is not None and not record.is_over:
        live = notebook_display.shown_log(page.kernels.sessions.folder(record.id).log)
    elif record is not None and (output_path := page.kernels.sessions.folder(record.id).executed_notebook).is_file():
        content = notebook_display.beginning_of(output_path)
    names = tuple(cell.name for cell in source_cells(source))
    is_script = view.version.settings.kernel_type == "script"
    notebook_view = notebook_display.shown_notebook(content, is_script=is_script, names=names)
    findings = notebook_display.checked_cells(source, view.version.settings)
    return _kernel_tab(page, view, "notebook", shown=notebook_view, log=live, checked=findings)


def log(page: PageRequest, owner: str, kernel: str) -> Response:
    """The log, which grows while the session runs."""
    view = open_view(page, owner, kernel)
    record = view.session.record
    log_view = notebook_display.shown_log(page.kernels.sessions.folder(record.id).log) if record is not None else None
    return _kernel_tab(page, view, "log", log=log_view)


def new_log_lines(page: PageRequest, owner: str, kernel: str) -> Response:
    """The lines that a log has got since the page was made, for the page's script."""
    view = open_view(page, owner, kernel)
    record = view.session.record
    position = page.query.get("from", "")
    text, following = "", int(position[:15]) if position.isdecimal() else 0
    if record is not None:
        text, following = notebook_display.read_new_log(page.kernels.sessions.folder(record.id).log, position=following)
    elapsed = view.session.elapsed(page.now)
    news = {
        "text": text,
        "next": following,
        "state": view.session.state,
        # The session may have ended between the look at its log and the look at its state.
        "is_final": view.session.is_over and not text,
        "elapsed": "" if elapsed is None else page_duration(elapsed),
    }
    return JSONResponse(news, headers=PAGE_HEADERS)


def log_file(page: PageRequest, owner: str, kernel: str) -> Response:
    """The whole log, to keep."""
    view = open_view(page, owner, kernel)
    record = view.session.record
    text = notebook_display.printable_log(page.kernels.sessions.folder(record.id).log) if record is not None else ""
    name = f"{view.kernel.slug}-v{view.version.number}.log"
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode("utf-8", "replace"), media_type="text/plain", headers=headers)


def output(page: PageRequest, owner: str, kernel: str) -> Response:
    """The files that the session wrote."""
    view = open_view(page, owner, kernel)
    files = _files(page, view)
    selection = next((file for file in files if file.name == page.query.get("file")), None)
    return _kernel_tab(
        page,
        view,
        "output",
        files=files[:MOST_FILES],
        count=len(files),
        total=sum(file.size for file in files),
        chosen=None if selection is None else preview(selection),
    )


def output_file(page: PageRequest, owner: str, kernel: str, file: str) -> Response:
    """One of the files that the session wrote."""
    listed_file = next(
        (candidate for candidate in _files(page, open_view(page, owner, kernel)) if candidate.name == file), None
    )
    if listed_file is None:
        raise ApiError(404, "There is no such file in the output.")
    try:
        return file_response(StoredFile(listed_file.path, listed_file.name, below=listed_file.below))
    except OSError as error:
        raise ApiError(404, "This file of the output cannot be read.") from error


def output_archive(page: PageRequest, owner: str, kernel: str) -> Response:
    """All files that the session wrote, in an archive."""
    record = open_view(page, owner, kernel).session.record
    if record is None or not record.is_over:
        raise ApiError(404, "This version has no output.")
    return file_response(StoredFile(page.kernels.outputs.archive(record), f"{kernel}.zip", "application/zip"))


def versions(page: PageRequest, owner: str, kernel: str) -> Response:
    """The versions of a kernel."""
    view = open_view(page, owner, kernel)
    rows = version_views(page.kernels.records, view.kernel)
    return _kernel_tab(page, view, "versions", versions=rows, moves=_moves(rows))


def delete(page: PageRequest, owner: str, kernel: str) -> Response:
    """Asks whether a kernel is to be deleted, and deletes it with its versions and the session that it has."""
    if not page.is_form:
        return page.render("kernel_deletion.html.j2", section="code", it=open_view(page, owner, kernel))
    page.call("kernels.KernelsApiService/DeleteKernel", userName=owner, kernelSlug=kernel)
    return redirect("/code")


def _files(page: PageRequest, view: KernelView) -> list[ListedFile]:
    return page.kernels.outputs.files(view.session.record)


def _moves(rows: Sequence[KernelView]) -> bool:
    return any(not row.session.is_over for row in rows)


def _kernel_tab(page: PageRequest, view: KernelView, tab: str, **values: Any) -> Response:
    values.setdefault("moves", not view.session.is_over)
    return page.render(
        f"kernel_{tab}.html.j2",
        section="code",
        it=view,
        tab=tab,
        tabs=[
            ("notebook", "Notebook", f"{view.address}{view.query}", None),
            ("output", "Output", f"{view.address}/output{view.query}", len(_files(page, view)) or None),
            ("log", "Log", f"{view.address}/log{view.query}", None),
            ("versions", "Versions", f"{view.address}/versions{view.query}", view.newest),
        ],
        is_mine=view.kernel.owner == page.account,
        elapsed=view.session.elapsed(page.now),
        waited=view.session.wait_time(page.now),
        **values,
    )


# The pages that write, edit and copy notebooks.


_COPY = " copy"
_SOURCES = ("Competition", "Kernel", "Dataset", "Model")


def new(page: PageRequest) -> Response:
    """A form for a new notebook."""
    return _edit_draft(page, new_draft(page.query.get("competition", "")), heading="New notebook")


def edit(page: PageRequest, owner: str, kernel: str) -> Response:
    """A form with a version of one's own notebook, for the next version of it."""
    view = open_view(page, owner, kernel)
    if view.kernel.owner != page.account:
        raise ApiError(403, "This notebook is somebody else's; a copy of it would be yours.")
    heading = f"Edit “{view.kernel.title}”"
    draft = draft_of(view, page.kernels.records.source(view.version))
    return _edit_draft(page, draft, heading=heading, source=view, kernel=view.kernel)


def copy_kernel(page: PageRequest, owner: str, kernel: str) -> Response:
    """A form with a version of anybody's notebook, to be saved as a new one."""
    view = open_view(page, owner, kernel)
    title = _free_title(view.kernel.title, lambda slug: page.kernels.records.kernel(page.account, slug) is None)
    draft = draft_of(view, page.kernels.records.source(view.version), title=title)
    return _edit_draft(page, draft, heading="Copy & edit", source=view)


def _edit_draft(
    page: PageRequest,
    draft: EditorForm,
    *,
    heading: str,
    source: KernelView | None = None,
    kernel: KernelRecord | None = None,
) -> Response:
    """A form with a draft; once it was sent, the page of the version that was saved, or the form with the problem."""
    if not page.is_form:
        return _editor_form(page, draft, heading=heading, source=source)
    draft = apply_form(draft, page.form)
    problem = _problem(page, draft, kernel)
    answer: Fields = {}
    if not problem:
        fields = draft.fields(runs=page.form.get("then") != "save")
        try:
            answer = page.call(SAVE_KERNEL, **fields, **({"id": kernel.id} if kernel is not None else {}))
        except ApiError as error:
            problem = error.message
    problem = problem or answer["error"]
    if problem:
        return _editor_form(page, draft, heading=heading, source=source, problem=problem)
    ref = answer["ref"].strip("/")
    invalid = [name for kind in _SOURCES for name in answer[f"invalid{kind}Sources"]]
    if not invalid:
        return redirect(path("code", *ref.split("/")))
    return page.render(
        "message.html.j2",
        section="code",
        eyebrow=ref,
        heading=f"Saved as version {answer['versionNumber']}, without all of its inputs",
        sentence=f"There is no such input here: {', '.join(invalid)}. The version was saved without it.",
        onward=("Go to the notebook", path("code", *ref.split("/"))),
    )


def _problem(page: PageRequest, draft: EditorForm, kernel: KernelRecord | None) -> str:
    """The problem that a person is better told before the API is asked; empty if there is none."""
    if len(draft.title) not in TITLE_LENGTHS:
        shortest, longest = TITLE_LENGTHS.start, TITLE_LENGTHS.stop - 1
        return f"A title has {shortest} to {longest} characters; this one has {len(draft.title)}."
    if kernel is None and page.kernels.records.kernel(page.account, slug_of(draft.title)) is not None:
        # The API would take it for the next version of that one.
        return "You have a notebook of this title already. Please choose another title."
    return ""


def _editor_form(
    page: PageRequest, draft: EditorForm, *, heading: str, source: KernelView | None = None, problem: str = ""
) -> Response:
    address = f"{page.path}?version={source.version.number}" if source is not None else page.path
    return page.render(
        "editor.html.j2",
        section="code",
        draft=draft,
        heading=heading,
        source=source,
        problem=problem,
        address=address,
        machines=machines(),
    )


def _free_title(title: str, is_free: Callable[[str], bool]) -> str:
    longest = TITLE_LENGTHS.stop - 1
    for number in range(1, 1_000):
        ending = _COPY if number == 1 else f"{_COPY} {number}"
        candidate = title[: longest - len(ending)].rstrip() + ending
        if is_free(slug_of(candidate)):
            return candidate
    return ""
