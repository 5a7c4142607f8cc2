"""The pages of a local Kaggle, and their routes."""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any, ClassVar

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from generator.accelerators import AcceleratorKind
from generator.competition.tables import table_format
from generator.local_server import serve_command
from generator.localkaggle.endpoints import server_state
from generator.localkaggle.rpc import ApiError, Fields
from generator.localkaggle.services.items import framework_named
from generator.localkaggle.services.kernel_records import (
    KernelState,
    SessionRecord,
    next_week,
    weekly_quota,
    weekly_usage,
)
from generator.localkaggle.web import kernel_pages
from generator.localkaggle.web.views import (
    MOST_FILES,
    KernelView,
    PageRequest,
    kernel_views,
    path,
    redirect,
    rerun_views,
    session_views,
    static_response,
)
from generator.run.notebook_html import markdown_html

# The pages of competitions: what they are about, their data, their leaderboard, one's own submissions.


API = "competitions.CompetitionApiService"
_FORBIDDEN_CODE = 403
_FIRST_PAGES = ("description", "overview", "evaluation")


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
        if error.status == _FORBIDDEN_CODE:
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
        folders=[(name, counts[name], sizes[name]) for name in folders[:MOST_FILES]],
        files=files[:MOST_FILES],
        left_out=max(0, len(folders) - MOST_FILES) + max(0, len(files) - MOST_FILES),
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
    view = kernel_pages.open_view(page, owner, kernel)
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
_ROUTE_HINTS = {
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
    return _refusal(PageRequest(server_state(request).local_kaggle, request), ApiError(status, _ROUTE_HINTS[status]))


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
    _page("/code", kernel_pages.kernel_listing),
    _form_route("/code/new", kernel_pages.new),
    _page("/code/{owner:name}/{kernel:name}", kernel_pages.notebook),
    _page("/code/{owner:name}/{kernel:name}/log", kernel_pages.log),
    _page("/code/{owner:name}/{kernel:name}/log.json", kernel_pages.new_log_lines),
    _page("/code/{owner:name}/{kernel:name}/log.txt", kernel_pages.log_file),
    _page("/code/{owner:name}/{kernel:name}/output", kernel_pages.output),
    _page("/code/{owner:name}/{kernel:name}/output.zip", kernel_pages.output_archive),
    _page("/code/{owner:name}/{kernel:name}/output/{file:file}", kernel_pages.output_file),
    _page("/code/{owner:name}/{kernel:name}/versions", kernel_pages.versions),
    _form_route("/code/{owner:name}/{kernel:name}/edit", kernel_pages.edit),
    _form_route("/code/{owner:name}/{kernel:name}/copy", kernel_pages.copy_kernel),
    _form_route("/code/{owner:name}/{kernel:name}/submit", submit_version),
    _form_route("/code/{owner:name}/{kernel:name}/delete", kernel_pages.delete),
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
