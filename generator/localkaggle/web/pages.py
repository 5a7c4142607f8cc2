"""The pages of a local Kaggle, and their routes."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import urlencode

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from generator.accelerators import AcceleratorKind, catalog
from generator.competition.tables.formats import table_format
from generator.local_server import serve_command
from generator.localkaggle.endpoints import BASE, CALLER, PAGES, cookie_name, cookie_value, file_response
from generator.localkaggle.protocol import refusal_response, server_state
from generator.localkaggle.rpc import ApiError, Fields, Stored
from generator.localkaggle.services.items import framework_named
from generator.localkaggle.services.kernel_records import (
    TITLE_LENGTHS,
    Accounts,
    KernelRecord,
    KernelState,
    SessionRecord,
    next_week,
    weekly_quota,
    weekly_usage,
)
from generator.localkaggle.services.kernels import SAVE_KERNEL
from generator.localkaggle.storage import ListedFile
from generator.localkaggle.web import views as notebook_display
from generator.localkaggle.web.views import (
    PAGE_HEADERS,
    EditorForm,
    KernelView,
    PageRequest,
    apply_form,
    draft_of,
    kernel_view,
    kernel_views,
    machine_name,
    new_draft,
    page_duration,
    path,
    preview,
    redirect,
    rerun_views,
    session_views,
    source_cells,
    static_response,
    version_views,
)
from generator.run.notebook_html import markdown_html
from generator.text import slug_of

# The pages of competitions: what they are about, their data, their leaderboard, one's own submissions.


API = "competitions.CompetitionApiService"
_FORBIDDEN = 403
_FIRST_PAGES = ("description", "overview", "evaluation")
_MOST_FILES = 500


def competitions(page: PageRequest) -> list[Fields]:
    """All competitions, each with its slug."""
    return [_with_slug(fields) for fields in page.items(f"{API}/ListCompetitions", key="competitions")]


def competition(page: PageRequest, slug: str) -> Fields:
    """One competition; `ApiError` 404 if there is none of that name."""
    return _with_slug(page.call(f"{API}/GetCompetition", competitionName=slug))


def limits(page: PageRequest, slug: str) -> Fields | None:
    """The submissions that today has seen, and has left; None for somebody who may not submit at all."""
    try:
        return page.call(f"{API}/GetSubmissionLimits", competitionName=slug)
    except ApiError as error:
        if error.status == _FORBIDDEN:
            return None
        raise


def competition_listing(page: PageRequest) -> Response:
    """All competitions."""
    return page.render("competitions.html.j2", section="competitions", competitions=competitions(page))


def overview(page: PageRequest, slug: str) -> Response:
    """The description of a competition, in the words of its host."""
    entries = page.call(f"{API}/ListCompetitionPages", competitionName=slug)["pages"]
    order = {name: place for place, name in enumerate(_FIRST_PAGES)}
    entries = sorted(entries, key=lambda entry: order.get(entry["name"].lower(), len(order)))
    texts = [{"title": _heading(entry["name"]), "html": markdown_html(entry["content"])} for entry in entries]
    return _competition_tab(page, slug, "overview", texts=texts)


def data_listing(page: PageRequest, slug: str) -> Response:
    """A competition's files, one folder at a time."""
    every = page.items(f"{API}/ListDataFiles", key="files", competitionName=slug)
    folder = page.query.get("folder", "")
    counts, sizes, files = Counter[str](), Counter[str](), []
    for file in every:
        if file["name"].startswith(folder):
            name, slash, _ = file["name"].removeprefix(folder).partition("/")
            counts[name] += bool(slash)
            sizes[name] += file["totalBytes"]
            files += [] if slash else [file]
    folders = sorted(name for name in counts if counts[name])
    if folder and not (folders or files):
        raise ApiError(404, "There is no such folder.")
    return _competition_tab(
        page,
        slug,
        "data",
        folder=folder,
        above=folder.rstrip("/").rpartition("/")[0],
        folders=[(name, counts[name], sizes[name]) for name in folders[:_MOST_FILES]],
        files=files[:_MOST_FILES],
        left_out=max(0, len(folders) - _MOST_FILES) + max(0, len(files) - _MOST_FILES),
        count=len(every),
        total=sum(file["totalBytes"] for file in every),
    )


def data_file(page: PageRequest, slug: str, file: str) -> Response:
    """One of a competition's files."""
    return redirect(page.address(f"{API}/DownloadDataFile", competitionName=slug, fileName=file))


def archive(page: PageRequest, slug: str) -> Response:
    """All of a competition's files."""
    return redirect(page.address(f"{API}/DownloadDataFiles", competitionName=slug))


def code(page: PageRequest, slug: str) -> Response:
    """The kernels that use a competition's data."""
    kernels = [view for view in kernel_views(page.kernels.records, page.account) if slug in view.competitions]
    return _competition_tab(
        page, slug, "code", kernels=kernels, moves=any(not view.session.is_over for view in kernels)
    )


def leaderboard(page: PageRequest, slug: str) -> Response:
    """The public leaderboard, the best first."""
    rows = page.items(f"{API}/GetLeaderboard", key="submissions", competitionName=slug)
    return _competition_tab(page, slug, "leaderboard", standings=rows)


def submissions(page: PageRequest, slug: str) -> Response:
    """One's own submissions to a competition."""
    rows = _submissions(page, slug)
    return _competition_tab(
        page,
        slug,
        "submissions",
        submissions=rows,
        limits=limits(page, slug),
        origins=rerun_views(page.kernels.records),
        moves=_are_pending(rows),
    )


def all_submissions(page: PageRequest) -> Response:
    """One's own submissions to all competitions."""
    every = [(entry, _submissions(page, entry["slug"])) for entry in competitions(page)]
    return page.render(
        "submissions.html.j2",
        section="submissions",
        groups=[(entry, rows) for entry, rows in every if rows],
        origins=rerun_views(page.kernels.records),
        moves=any(_are_pending(rows) for _, rows in every),
    )


def _submissions(page: PageRequest, slug: str) -> list[Fields]:
    return page.items(f"{API}/ListSubmissions", key="submissions", competitionName=slug)


def _are_pending(submissions: list[Fields]) -> bool:
    return any(submission["status"] == "PENDING" for submission in submissions)


def _with_slug(fields: Fields) -> Fields:
    return {**fields, "slug": fields["ref"].rstrip("/").rpartition("/")[2]}


def _heading(name: str) -> str:
    return name.replace("-", " ").replace("_", " ").strip().capitalize()


def _competition_tab(page: PageRequest, slug: str, tab: str, **values: Any) -> Response:
    values["competition"] = competition(page, slug)
    return page.render(f"competition_{tab}.html.j2", section="competitions", tab=tab, **values)


# The pages of datasets and models.


_DATASETS, _MODELS = "datasets.DatasetApiService", "models.ModelApiService"
_NOT_READY = 404


def datasets(page: PageRequest) -> Response:
    """All datasets."""
    return _listing(page, "datasets", page.items(f"{_DATASETS}/ListDatasets", key="datasets"))


def dataset_overview(page: PageRequest, owner: str, slug: str) -> Response:
    """One dataset."""
    key_fields = {"ownerSlug": owner, "datasetSlug": slug}
    fields = page.call(f"{_DATASETS}/GetDataset", **key_fields)
    try:
        rows = page.items(f"{_DATASETS}/ListDatasetFiles", key="datasetFiles", **key_fields)
    except ApiError as error:
        if error.status != _NOT_READY:
            raise
        rows = []
    about = (f"version {fields['currentVersionNumber']}", *([] if rows else ["not ready"]))
    files = [(file["name"], file["totalBytes"]) for file in rows]
    part = _part("Files", about, files, download=path("datasets", owner, slug, "archive.zip"))
    return _item(page, "datasets", fields, [part])


def dataset_archive(page: PageRequest, owner: str, slug: str) -> Response:
    """The files of a dataset."""
    return redirect(page.address(f"{_DATASETS}/DownloadDataset", ownerSlug=owner, datasetSlug=slug))


def models(page: PageRequest) -> Response:
    """All models."""
    return _listing(page, "models", page.items(f"{_MODELS}/ListModels", key="models"))


def model(page: PageRequest, owner: str, slug: str, **_variation: str) -> Response:
    """One model, whichever of its variations an address names."""
    fields = page.call(f"{_MODELS}/GetModel", ownerSlug=owner, modelSlug=slug)
    parts = [_variation_part(page, owner, slug, variation) for variation in fields["instances"]]
    return _item(page, "models", fields, parts)


def model_archive(page: PageRequest, owner: str, slug: str, framework: str, variation: str) -> Response:
    """The files of the newest version of a variation of a model."""
    key_fields = {"ownerSlug": owner, "modelSlug": slug, "framework": framework, "instanceSlug": variation}
    return redirect(page.address(f"{_MODELS}/DownloadModelInstanceVersion", **key_fields))


def _variation_part(page: PageRequest, owner: str, slug: str, fields: Fields) -> dict[str, Any]:
    framework, variation, number = fields["framework"], fields["slug"], fields["versionNumber"]
    files = page.items(
        f"{_MODELS}/ListModelInstanceVersionFiles",
        key="files",
        ownerSlug=owner,
        modelSlug=slug,
        framework=framework,
        instanceSlug=variation,
        versionNumber=number,
    )
    word = framework_named(framework) or framework
    return _part(
        f"{word} / {variation}",
        (f"version {number}", fields.get("licenseName") or "no licence named"),
        [(file["name"], file["size"]) for file in files],
        download=path("models", owner, slug, word, variation, "archive.tar.gz"),
    )


def _part(name: str, about: tuple[str, ...], files: list[tuple[str, int]], *, download: str) -> dict[str, Any]:
    """Files that belong together and can be downloaded."""
    return {"name": name, "about": about, "files": files, "download": download if files else ""}


def _listing(page: PageRequest, kind: str, rows: list[Fields]) -> Response:
    return page.render("library.html.j2", section=kind, kind=kind, rows=rows)


def _item(page: PageRequest, kind: str, item: Fields, parts: list[dict[str, Any]]) -> Response:
    description = markdown_html(item.get("description") or "")
    return page.render("library_item.html.j2", section=kind, kind=kind, item=item, description=description, parts=parts)


# The first page, and the page of sessions and quota: what this local Kaggle is doing.


_SHOWN_KERNELS, _SHOWN_COMPETITIONS, _SHOWN_SESSIONS = 5, 6, 100


def home(page: PageRequest) -> Response:
    """The first page: sessions that run, notebooks that were pushed last, and competitions."""
    sessions = page.kernels.records.unfinished_sessions()
    running = sum(session.state is KernelState.RUNNING for session in sessions)
    return page.render(
        "home.html.j2",
        section="home",
        running=running,
        queued=len(sessions) - running,
        quotas=_quotas(page, page.kernels.records.sessions()),
        kernels=kernel_views(page.kernels.records, page.account, most=_SHOWN_KERNELS),
        clients_command=serve_command(page.local_kaggle.site.root, "--env"),
        competitions=competitions(page)[:_SHOWN_COMPETITIONS],
        moves=bool(sessions),
    )


def sessions(page: PageRequest) -> Response:
    """The sessions that wait, run and ran, and the quota that they used."""
    records = page.kernels.records
    return page.render(
        "sessions.html.j2",
        section="sessions",
        quotas=_quotas(page, records.sessions()),
        refresh=next_week(page.now),
        sessions=session_views(records, page.account, most=_SHOWN_SESSIONS),
        isolation=page.local_kaggle.isolation,
        moves=bool(records.unfinished_sessions()),
    )


def _quotas(page: PageRequest, sessions: list[SessionRecord]) -> list[tuple[str, timedelta, timedelta]]:
    """The hours of this week for each kind of accelerator: its name, those used, those allowed."""
    quotas = []
    for kind in (AcceleratorKind.GPU, AcceleratorKind.TPU):
        hours = weekly_quota(kind)
        if hours is not None:
            quotas.append((kind.upper(), weekly_usage(sessions, kind, now=page.now), hours))
    return quotas


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
        files=files[:_MOST_FILES],
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
        return file_response(Stored(listed_file.path, listed_file.name, below=listed_file.below))
    except OSError as error:
        raise ApiError(404, "This file of the output cannot be read.") from error


def output_archive(page: PageRequest, owner: str, kernel: str) -> Response:
    """All files that the session wrote, in an archive."""
    record = open_view(page, owner, kernel).session.record
    if record is None or not record.is_over:
        raise ApiError(404, "This version has no output.")
    return file_response(Stored(page.kernels.outputs.archive(record), f"{kernel}.zip", "application/zip"))


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
        machines=[(shape, machine_name(shape)) for shape in catalog().accelerators],
    )


def _free_title(title: str, is_free: Callable[[str], bool]) -> str:
    longest = TITLE_LENGTHS.stop - 1
    for number in range(1, 1_000):
        ending = _COPY if number == 1 else f"{_COPY} {number}"
        candidate = title[: longest - len(ending)].rstrip() + ending
        if is_free(slug_of(candidate)):
            return candidate
    return ""


# The pages that submit a file, or a version of a notebook, to a competition.


_USUAL = "submission."


def submit_to(page: PageRequest, slug: str) -> Response:
    """The notebooks that could be submitted to a competition, and a form for a file where it takes files."""
    if not page.is_form:
        return _choice(page, slug)
    upload = page.file("file")
    if upload is None:
        return _choice(page, slug, problem="Choose a file first.")
    try:
        with upload.file as file:
            _upload_and_submit(page, slug, name=str(upload.filename), content=file.read())
    except ApiError as error:
        return _choice(page, slug, problem=error.message)
    return redirect(path("competitions", slug, "submissions"))


def submit_version(page: PageRequest, owner: str, kernel: str) -> Response:
    """A form for the submission of a version of a notebook."""
    view = open_view(page, owner, kernel)
    if not page.is_form:
        return _submit_form(page, view, slug=page.query.get("competition", ""))
    slug = page.form.get("competition", "")
    try:
        page.call(
            f"{API}/CreateCodeSubmission",
            competitionName=slug,
            kernelOwner=owner,
            kernelSlug=kernel,
            kernelVersion=view.version.number,
            fileName=page.form.get("file", ""),
            submissionDescription=page.form.get("description", "").strip(),
        )
    except ApiError as error:
        return _submit_form(page, view, slug=slug, problem=error.message)
    return redirect(path("competitions", slug, "submissions"))


def _upload_and_submit(page: PageRequest, slug: str, *, name: str, content: bytes) -> None:
    name = name.replace("\\", "/").rpartition("/")[2]
    answer = page.call(f"{API}/StartSubmissionUpload", competitionName=slug, fileName=name, contentLength=len(content))
    upload = page.local_kaggle.blobs.find(answer["token"])
    if upload is None:
        raise ApiError(500, "The upload was lost while it began.")
    page.local_kaggle.blobs.append(upload, 0, content)
    description = page.form.get("description", "").strip()
    fields = {"competitionName": slug, "blobFileTokens": answer["token"], "submissionDescription": description}
    page.call(f"{API}/CreateSubmission", **fields)


def _choice(page: PageRequest, slug: str, *, problem: str = "") -> Response:
    kernels = kernel_views(page.kernels.records, page.account)
    own_views = [view for view in kernels if view.kernel.owner == page.account and slug in view.competitions]
    return page.render(
        "submit_choice.html.j2",
        section="competitions",
        problem=problem,
        competition=competition(page, slug),
        kernels=[view for view in own_views if view.can_be_submitted],
        limits=limits(page, slug),
    )


def _submit_form(page: PageRequest, view: KernelView, *, slug: str, problem: str = "") -> Response:
    if not view.can_be_submitted:
        problem = problem or "Only a version whose session ended well can be submitted."
    every = competitions(page)
    own_competitions = [entry for entry in every if entry["slug"] in view.competitions]
    files = [file.name for file in page.kernels.outputs.files(view.session.record)]
    candidates = [name for name in files if table_format(name).format is not None] or files
    return page.render(
        "submit.html.j2",
        section="code",
        it=view,
        competitions=own_competitions or every,
        chosen=slug or (own_competitions[0]["slug"] if own_competitions else ""),
        files=sorted(candidates, key=lambda name: (not name.startswith(_USUAL), name)),
        problem=problem,
        suggested=f"{view.kernel.title}, version {view.version.number}",
        limits={entry["slug"]: limits(page, entry["slug"]) for entry in own_competitions},
    )


# The routes of the pages: which function answers which path, and the page that is shown where nothing does.


_HEADINGS = {403: "You may not see this", 404: "There is nothing here", 405: "This is not how it is asked for"}
_UNROUTED = {
    404: "The address may have been mistyped, or what was here is gone.",
    405: "Follow a link or press a button of one of the pages.",
}


class _Name(Convertor[str]):
    """The name of an account, a kernel, a competition or the like."""

    regex: ClassVar[str] = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"

    def convert(self, value: str) -> str:
        return value


class _File(_Name):
    """The name of a file, with folders."""

    regex: ClassVar[str] = r"(?s:.{1,1000})"


register_url_convertor("name", _Name())
register_url_convertor("file", _File())


def _page(path: str, answer: Callable[..., Response]) -> Route:
    return Route(path, _endpoint(answer), methods=["GET"])


def _form_route(path: str, answer: Callable[..., Response]) -> Route:
    """A page with a form that is sent to its own address."""
    return Route(path, _endpoint(answer), methods=["GET", "POST"])


def _endpoint(answer: Callable[..., Response]) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a route, whose function is called with a `PageRequest` and what the path names, by keyword."""

    async def endpoint(request: Request) -> Response:
        state = server_state(request)
        body = state.bodies.whole(request, most=state.bodies.limits.largest_form)
        async with body if request.method == "POST" else nullcontext(b"") as content:
            page_request = PageRequest(state.local_kaggle, request, content)
            return await state.workers.run_page(answer_page, answer, page_request)

    return endpoint


def answer_page(answer: Callable[..., Response], page_request: PageRequest) -> Response:
    """The page that a function makes, or one that says why it is refused."""
    try:
        return answer(page_request, **page_request.request.path_params)
    except ApiError as error:
        return _refusal(page_request, error)


def error_page(request: Request, status: int) -> Response:
    """The page where no route answers a request."""
    return _refusal(PageRequest(server_state(request).local_kaggle, request), ApiError(status, _UNROUTED[status]))


def _refusal(page_request: PageRequest, error: ApiError) -> Response:
    return page_request.render(
        "message.html.j2",
        section="",
        status=error.status,
        eyebrow=str(error.status),
        heading=_HEADINGS.get(error.status, "That did not work"),
        sentence=error.message,
        onward=("Go to the first page", "/"),
    )


ROUTES = (
    _page("/", home),
    _page("/sessions", sessions),
    _page("/quota", sessions),
    _page("/work", sessions),
    _page("/competitions", competition_listing),
    _page("/competitions/{slug:name}", overview),
    _page("/competitions/{slug:name}/data", data_listing),
    _page("/competitions/{slug:name}/data.zip", archive),
    _page("/competitions/{slug:name}/data/{file:file}", data_file),
    _page("/competitions/{slug:name}/code", code),
    _page("/competitions/{slug:name}/leaderboard", leaderboard),
    _page("/competitions/{slug:name}/submissions", submissions),
    _form_route("/competitions/{slug:name}/submit", submit_to),
    _page("/submissions", all_submissions),
    _page("/code", kernel_listing),
    _form_route("/code/new", new),
    _page("/code/{owner:name}/{kernel:name}", notebook),
    _page("/code/{owner:name}/{kernel:name}/log", log),
    _page("/code/{owner:name}/{kernel:name}/log.json", new_log_lines),
    _page("/code/{owner:name}/{kernel:name}/log.txt", log_file),
    _page("/code/{owner:name}/{kernel:name}/output", output),
    _page("/code/{owner:name}/{kernel:name}/output.zip", output_archive),
    _page("/code/{owner:name}/{kernel:name}/output/{file:file}", output_file),
    _page("/code/{owner:name}/{kernel:name}/versions", versions),
    _form_route("/code/{owner:name}/{kernel:name}/edit", edit),
    _form_route("/code/{owner:name}/{kernel:name}/copy", copy_kernel),
    _form_route("/code/{owner:name}/{kernel:name}/submit", submit_version),
    _form_route("/code/{owner:name}/{kernel:name}/delete", delete),
    _page("/datasets", datasets),
    _page("/datasets/{owner:name}/{slug:name}", dataset_overview),
    _page("/datasets/{owner:name}/{slug:name}/archive.zip", dataset_archive),
    _page("/models", models),
    _page("/models/{owner:name}/{slug:name}", model),
    _page("/models/{owner:name}/{slug:name}/{framework:name}/{variation:name}", model),
    _page(
        "/models/{owner:name}/{slug:name}/{framework:name}/{variation:name}/archive.tar.gz",
        model_archive,
    ),
    _page("/static/{version:name}/{file:name}", lambda _, version, file: static_response(version, file)),
)
ROUTER = Router(ROUTES, redirect_slashes=False)


# The login of browsers, in front of the pages: an address with the token sets a cookie; strangers get no page.


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
    from generator.localkaggle.web.views import sign_in

    return sign_in(is_wrong=is_wrong)


def _is_foreign(request: Request) -> bool:
    """True if a page of another origin sent a form."""
    site = request.headers.get("sec-fetch-site")
    return request.headers.get("origin") != request.scope[BASE] or site not in (None, "same-origin")
