"""The pages that submit a file, or a version of a notebook, to a competition."""

from starlette.responses import Response

from generator.competition.tables.formats import format_of
from generator.localkaggle.rpc import ApiError
from generator.localkaggle.web.competition_pages import API, competition, competitions, limits
from generator.localkaggle.web.formats import path
from generator.localkaggle.web.kernel_pages import opened
from generator.localkaggle.web.kernel_views import KernelView, kernel_views
from generator.localkaggle.web.page_request import PageRequest, redirect

_USUAL = "submission."


def submit_to(page: PageRequest, slug: str) -> Response:
    """The notebooks that could be submitted to a competition, and a form for a file where it takes files."""
    if not page.is_form:
        return _choice(page, slug)
    chosen = page.file("file")
    if chosen is None:
        return _choice(page, slug, problem="Choose a file first.")
    try:
        with chosen.file as file:
            _upload_and_submit(page, slug, name=str(chosen.filename), content=file.read())
    except ApiError as error:
        return _choice(page, slug, problem=error.message)
    return redirect(path("competitions", slug, "submissions"))


def submit_version(page: PageRequest, owner: str, kernel: str) -> Response:
    """A form for the submission of a version of a notebook."""
    found = opened(page, owner, kernel)
    if not page.is_form:
        return _form(page, found, chosen=page.query.get("competition", ""))
    slug = page.form.get("competition", "")
    try:
        page.call(
            f"{API}/CreateCodeSubmission",
            competitionName=slug,
            kernelOwner=owner,
            kernelSlug=kernel,
            kernelVersion=found.version.number,
            fileName=page.form.get("file", ""),
            submissionDescription=page.form.get("description", "").strip(),
        )
    except ApiError as error:
        return _form(page, found, chosen=slug, problem=error.message)
    return redirect(path("competitions", slug, "submissions"))


def _upload_and_submit(page: PageRequest, slug: str, *, name: str, content: bytes) -> None:
    name = name.replace("\\", "/").rpartition("/")[2]
    started = page.call(f"{API}/StartSubmissionUpload", competitionName=slug, fileName=name, contentLength=len(content))
    upload = page.local_kaggle.blobs.find(started["token"])
    if upload is None:
        raise ApiError(500, "The upload was lost while it began.")
    page.local_kaggle.blobs.append(upload, 0, content)
    description = page.form.get("description", "").strip()
    fields = {"competitionName": slug, "blobFileTokens": started["token"], "submissionDescription": description}
    page.call(f"{API}/CreateSubmission", **fields)


def _choice(page: PageRequest, slug: str, *, problem: str = "") -> Response:
    kernels = kernel_views(page.kernels.records, page.account)
    mine = [each for each in kernels if each.kernel.owner == page.account and slug in each.competitions]
    return page.render(
        "submit_choice.html.j2",
        here="competitions",
        problem=problem,
        competition=competition(page, slug),
        kernels=[each for each in mine if each.can_be_submitted],
        limits=limits(page, slug),
    )


def _form(page: PageRequest, found: KernelView, *, chosen: str, problem: str = "") -> Response:
    if not found.can_be_submitted:
        problem = problem or "Only a version whose session ended well can be submitted."
    every = competitions(page)
    attached = [each for each in every if each["slug"] in found.competitions]
    files = [file.name for file in page.kernels.outputs.files(found.session.record)]
    offered = [name for name in files if format_of(name).format is not None] or files
    return page.render(
        "submit.html.j2",
        here="code",
        it=found,
        competitions=attached or every,
        chosen=chosen or (attached[0]["slug"] if attached else ""),
        files=sorted(offered, key=lambda name: (not name.startswith(_USUAL), name)),
        problem=problem,
        suggested=f"{found.kernel.title}, version {found.version.number}",
        limits={each["slug"]: limits(page, each["slug"]) for each in attached},
    )
