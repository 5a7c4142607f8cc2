"""Submitting a version of a notebook to a competition."""

from generator.competition.tables.formats import format_of
from generator.localkaggle.rpc import ApiError
from generator.localkaggle.web import competition_facts as facts
from generator.localkaggle.web.formats import path
from generator.localkaggle.web.kernel_facts import kernel_rows
from generator.localkaggle.web.kernel_pages import Opened, can_submit, opened
from generator.localkaggle.web.request import WebAnswer, redirect
from generator.localkaggle.web.visit import Visit

_REFUSED = 422
_USUAL = "submission."


def choose(visit: Visit, slug: str) -> WebAnswer:
    """The notebooks that could be submitted to a competition, and a form for a file where it takes files."""
    return _choice(visit, slug)


def submit_file(visit: Visit, slug: str) -> WebAnswer:
    """Submits a file, and shows where its score will stand."""
    sent = visit.request.form()
    if "file" not in sent.files:
        return _choice(visit, slug, problem="Choose a file first.")
    try:
        facts.submit_file(visit.asker, slug, sent.files["file"], description=sent.fields.get("description", "").strip())
    except ApiError as error:
        return _choice(visit, slug, problem=error.message)
    return redirect(path("competitions", slug, "submissions"))


def form(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """A form for the submission of a version."""
    found = opened(visit, owner, kernel)
    return _form(visit, found, competition=visit.request.query.get("competition", ""))


def submit(visit: Visit, owner: str, kernel: str) -> WebAnswer:
    """Submits a version, and shows where its score will stand."""
    found = opened(visit, owner, kernel)
    sent = visit.request.form().fields
    slug = sent.get("competition", "")
    try:
        facts.submit_version(
            visit.asker,
            slug,
            kernelOwner=owner,
            kernelSlug=kernel,
            kernelVersion=found.version.number,
            fileName=sent.get("file", ""),
            submissionDescription=sent.get("description", "").strip(),
        )
    except ApiError as error:
        return _form(visit, found, competition=slug, problem=error.message)
    return redirect(path("competitions", slug, "submissions"))


def _choice(visit: Visit, slug: str, *, problem: str = "") -> WebAnswer:
    competition = facts.competition(visit.asker, slug)
    mine = [row for row in kernel_rows(visit.kernels.records, visit.account) if row.owner == visit.account]
    ready = [row for row in mine if slug in row.competitions and row.session.state == "complete"]
    return visit.page(
        "submit_choice.html.j2",
        here="competitions",
        status=_REFUSED if problem else 200,
        problem=problem,
        competition=competition,
        kernels=ready,
        limits=facts.limits(visit.asker, slug),
    )


def _form(visit: Visit, found: Opened, *, competition: str, problem: str = "") -> WebAnswer:
    if not can_submit(found):
        problem = problem or "Only a version whose session ended well can be submitted."
    every = facts.competitions(visit.asker)
    attached = [each for each in every if each.slug in found.version.settings.competitions]
    files = [file.name for file in visit.kernels.outputs.files(found.session.record)]
    offered = [name for name in files if format_of(name).format is not None] or files
    return visit.page(
        "submit.html.j2",
        here="code",
        status=_REFUSED if problem else 200,
        it=found,
        competitions=attached or every,
        chosen=competition or (attached[0].slug if attached else ""),
        files=sorted(offered, key=lambda name: (not name.startswith(_USUAL), name)),
        problem=problem,
        can_submit=can_submit(found),
        suggested=f"{found.kernel.title}, version {found.version.number}",
        limits={each.slug: facts.limits(visit.asker, each.slug) for each in attached},
    )
