"""The pages of competitions: what they are about, their data, their leaderboard, one's own submissions."""

from collections import Counter
from typing import Any

from starlette.responses import Response

from generator.localkaggle.rpc import ApiError, Fields
from generator.localkaggle.web.kernel_views import kernel_views, rerun_views
from generator.localkaggle.web.page_request import PageRequest, redirect
from generator.run.safe_html import markdown_html

API = "competitions.CompetitionApiService"
_FORBIDDEN = 403
_FIRST_PAGES = ("description", "overview", "evaluation")
_MOST_FILES = 500


def competitions(page: PageRequest) -> list[Fields]:
    """All competitions, each with its slug."""
    return [_with_slug(each) for each in page.items(f"{API}/ListCompetitions", key="competitions")]


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


def listing(page: PageRequest) -> Response:
    """All competitions."""
    return page.render("competitions.html.j2", here="competitions", competitions=competitions(page))


def overview(page: PageRequest, slug: str) -> Response:
    """The description of a competition, in the words of its host."""
    found = page.call(f"{API}/ListCompetitionPages", competitionName=slug)["pages"]
    order = {name: place for place, name in enumerate(_FIRST_PAGES)}
    found = sorted(found, key=lambda each: order.get(each["name"].lower(), len(order)))
    texts = [{"title": _heading(each["name"]), "html": markdown_html(each["content"])} for each in found]
    return _tab(page, slug, "overview", texts=texts)


def data(page: PageRequest, slug: str) -> Response:
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
    return _tab(
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
    kernels = [each for each in kernel_views(page.kernels.records, page.account) if slug in each.competitions]
    return _tab(page, slug, "code", kernels=kernels, moves=any(not each.session.is_over for each in kernels))


def leaderboard(page: PageRequest, slug: str) -> Response:
    """The public leaderboard, the best first."""
    rows = page.items(f"{API}/GetLeaderboard", key="submissions", competitionName=slug)
    return _tab(page, slug, "leaderboard", standings=rows)


def submissions(page: PageRequest, slug: str) -> Response:
    """One's own submissions to a competition."""
    found = _submissions(page, slug)
    return _tab(
        page,
        slug,
        "submissions",
        submissions=found,
        limits=limits(page, slug),
        origins=rerun_views(page.kernels.records),
        moves=_are_pending(found),
    )


def all_submissions(page: PageRequest) -> Response:
    """One's own submissions to all competitions."""
    every = [(each, _submissions(page, each["slug"])) for each in competitions(page)]
    return page.render(
        "submissions.html.j2",
        here="submissions",
        groups=[(each, found) for each, found in every if found],
        origins=rerun_views(page.kernels.records),
        moves=any(_are_pending(found) for _, found in every),
    )


def _submissions(page: PageRequest, slug: str) -> list[Fields]:
    return page.items(f"{API}/ListSubmissions", key="submissions", competitionName=slug)


def _are_pending(submissions: list[Fields]) -> bool:
    return any(each["status"] == "PENDING" for each in submissions)


def _with_slug(fields: Fields) -> Fields:
    return {**fields, "slug": fields["ref"].rstrip("/").rpartition("/")[2]}


def _heading(name: str) -> str:
    return name.replace("-", " ").replace("_", " ").strip().capitalize()


def _tab(page: PageRequest, slug: str, tab: str, **values: Any) -> Response:
    values["competition"] = competition(page, slug)
    return page.render(f"competition_{tab}.html.j2", here="competitions", tab=tab, **values)
