"""The pages of competitions: what they are about, their data, their leaderboard, one's own submissions."""

from typing import Any

from generator.localkaggle.rpc import ApiError
from generator.localkaggle.web import competition_facts as facts
from generator.localkaggle.web.kernel_facts import kernel_rows, rerun_rows
from generator.localkaggle.web.request import WebAnswer, redirect
from generator.localkaggle.web.visit import Visit
from generator.run.safe_html import markdown_html

_MOST_FILES = 500


def listing(visit: Visit) -> WebAnswer:
    """All competitions."""
    return visit.page("competitions.html.j2", here="competitions", competitions=facts.competitions(visit.asker))


def overview(visit: Visit, slug: str) -> WebAnswer:
    """What a competition is about, in the words of its host."""
    texts = [{"title": each.title, "html": markdown_html(each.content)} for each in facts.page_texts(visit.asker, slug)]
    return _tab(visit, slug, "overview", texts=texts)


def data(visit: Visit, slug: str) -> WebAnswer:
    """A competition's files, one folder at a time."""
    files = facts.data_files(visit.asker, slug)
    folder = visit.request.query.get("folder", "")
    shown = facts.level(files, folder)
    if folder and not (shown.folders or shown.files):
        raise ApiError(404, "There is no such folder.")
    return _tab(
        visit,
        slug,
        "data",
        folder=folder,
        above=folder.rstrip("/").rpartition("/")[0],
        folders=shown.folders[:_MOST_FILES],
        files=shown.files[:_MOST_FILES],
        left_out=max(0, len(shown.folders) - _MOST_FILES) + max(0, len(shown.files) - _MOST_FILES),
        count=len(files),
        total=sum(file.size for file in files),
    )


def data_file(visit: Visit, slug: str, file: str) -> WebAnswer:
    """One of a competition's files."""
    return redirect(facts.data_file_address(visit.asker, slug, file))


def archive(visit: Visit, slug: str) -> WebAnswer:
    """All of a competition's files."""
    return redirect(facts.archive_address(visit.asker, slug))


def code(visit: Visit, slug: str) -> WebAnswer:
    """The kernels that use a competition's data."""
    kernels = [row for row in kernel_rows(visit.kernels.records, visit.account) if slug in row.competitions]
    return _tab(visit, slug, "code", kernels=kernels, moves=any(not row.session.is_over for row in kernels))


def leaderboard(visit: Visit, slug: str) -> WebAnswer:
    """The public leaderboard."""
    return _tab(visit, slug, "leaderboard", standings=facts.leaderboard(visit.asker, slug))


def submissions(visit: Visit, slug: str) -> WebAnswer:
    """One's own submissions to a competition."""
    found = facts.submissions(visit.asker, slug)
    moves = any(each.is_pending for each in found)
    limits = facts.limits(visit.asker, slug)
    return _tab(
        visit,
        slug,
        "submissions",
        submissions=found,
        limits=limits,
        origins=rerun_rows(visit.kernels.records),
        moves=moves,
    )


def all_submissions(visit: Visit) -> WebAnswer:
    """One's own submissions to all competitions."""
    every = [(each, facts.submissions(visit.asker, each.slug)) for each in facts.competitions(visit.asker)]
    groups = [(competition, found) for competition, found in every if found]
    moves = any(each.is_pending for _, found in groups for each in found)
    return visit.page(
        "submissions.html.j2", here="submissions", groups=groups, origins=rerun_rows(visit.kernels.records), moves=moves
    )


def _tab(visit: Visit, slug: str, tab: str, **values: Any) -> WebAnswer:
    values["competition"] = facts.competition(visit.asker, slug)
    return visit.page(f"competition_{tab}.html.j2", here="competitions", tab=tab, **values)
