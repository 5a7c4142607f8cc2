"""What the pages show of competitions, read from the API's answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from generator.localkaggle.rpc import ApiError, Fields
from generator.localkaggle.web.asking import Asker, objects, text, whole
from generator.localkaggle.web.formats import moment_of
from generator.localkaggle.web.forms import SentFile

_API = "competitions.CompetitionApiService"
_FORBIDDEN = 403
_FIRST_PAGES = ("description", "overview", "evaluation")


@dataclass(frozen=True)
class CompetitionFacts:
    """A competition."""

    slug: str
    title: str
    description: str
    metric: str
    is_code_competition: bool
    teams: int
    rank: int
    daily_limit: int
    category: str
    deadline: datetime | None


@dataclass(frozen=True)
class PageText:
    """A page that the host wrote; `content` is Markdown."""

    name: str
    content: str

    @property
    def title(self) -> str:
        """Its name as a heading."""
        return self.name.replace("-", " ").replace("_", " ").strip().capitalize()


@dataclass(frozen=True)
class FileFacts:
    """A file that can be downloaded."""

    name: str
    size: int


@dataclass(frozen=True)
class FolderFacts:
    """A folder of files: `path` is its place among all files, with a slash at its end."""

    name: str
    path: str
    count: int
    size: int


@dataclass(frozen=True)
class Level:
    """What is directly in a folder: other folders, then files."""

    folders: tuple[FolderFacts, ...]
    files: tuple[FileFacts, ...]


@dataclass(frozen=True)
class Standing:
    """A row of the leaderboard."""

    rank: int
    team: str
    score: str
    date: datetime | None
    is_mine: bool


@dataclass(frozen=True)
class SubmissionFacts:
    """A submission of this account; scores are texts, empty until they are known."""

    ref: int
    competition: str
    file_name: str
    description: str
    date: datetime | None
    state: str
    public_score: str
    private_score: str
    error: str

    @property
    def is_pending(self) -> bool:
        """Whether its score is still to come."""
        return self.state == "pending"

    @property
    def word(self) -> str:
        """The state for people."""
        return {"pending": "Scoring", "complete": "Scored", "error": "Failed"}.get(self.state, self.state.capitalize())

    @property
    def colour(self) -> str:
        """The class that colours the state."""
        return {"pending": "running"}.get(self.state, self.state)


@dataclass(frozen=True)
class LimitFacts:
    """How many submissions today has seen, and how many it has left."""

    today: int
    left: int


def competitions(asker: Asker) -> list[CompetitionFacts]:
    """All competitions."""
    return [_competition(each) for each in asker.everything(f"{_API}/ListCompetitions", key="competitions")]


def competition(asker: Asker, slug: str) -> CompetitionFacts:
    """One competition; `ApiError` 404 if there is none of that name."""
    return _competition(asker.ask(f"{_API}/GetCompetition", competitionName=slug))


def page_texts(asker: Asker, slug: str) -> list[PageText]:
    """The pages of a competition, what it is about first."""
    answer = asker.ask(f"{_API}/ListCompetitionPages", competitionName=slug)
    found = [PageText(text(each, "name"), text(each, "content")) for each in objects(answer, "pages")]
    order = {name: place for place, name in enumerate(_FIRST_PAGES)}
    return sorted(found, key=lambda each: order.get(each.name.lower(), len(order)))


def data_files(asker: Asker, slug: str) -> list[FileFacts]:
    """The files of a competition."""
    found = asker.everything(f"{_API}/ListDataFiles", key="files", competitionName=slug)
    return [FileFacts(text(each, "name"), whole(each, "totalBytes")) for each in found]


def level(files: Sequence[FileFacts], folder: str) -> Level:
    """What is directly in a folder, whose path ends with a slash; the top is the empty path."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    here = []
    for file in files:
        if not file.name.startswith(folder):
            continue
        name, slash, _ = file.name.removeprefix(folder).partition("/")
        if slash:
            counts[name] += 1
            sizes[name] += file.size
        else:
            here.append(file)
    folders = [FolderFacts(name, f"{folder}{name}/", counts[name], sizes[name]) for name in sorted(counts)]
    return Level(tuple(folders), tuple(here))


def data_file_address(asker: Asker, slug: str, name: str) -> str:
    """Where a file's bytes are, for a while."""
    return asker.redirected(f"{_API}/DownloadDataFile", competitionName=slug, fileName=name)


def archive_address(asker: Asker, slug: str) -> str:
    """Where an archive of all files is, for a while."""
    return asker.redirected(f"{_API}/DownloadDataFiles", competitionName=slug)


def leaderboard(asker: Asker, slug: str) -> list[Standing]:
    """The public leaderboard, the best first."""
    rows = asker.everything(f"{_API}/GetLeaderboard", key="submissions", competitionName=slug)
    return [
        Standing(
            rank=place,
            team=text(row, "teamName"),
            score=text(row, "score"),
            date=moment_of(row.get("submissionDate")),
            is_mine=text(row, "teamName") == asker.account,
        )
        for place, row in enumerate(rows, start=1)
    ]


def submissions(asker: Asker, slug: str) -> list[SubmissionFacts]:
    """This account's submissions to a competition, the newest first."""
    found = asker.everything(f"{_API}/ListSubmissions", key="submissions", competitionName=slug)
    return [_submission(each, slug) for each in found]


def limits(asker: Asker, slug: str) -> LimitFacts | None:
    """How many submissions are left today; None for somebody who may not submit at all."""
    try:
        answer = asker.ask(f"{_API}/GetSubmissionLimits", competitionName=slug)
    except ApiError as error:
        if error.status == _FORBIDDEN:
            return None
        raise
    return LimitFacts(whole(answer, "numToday"), whole(answer, "numAllowedNow"))


def submit_version(asker: Asker, slug: str, **fields: object) -> str:
    """Submits a version of a kernel, and returns what the server says to it; `ApiError` where it refuses."""
    return text(asker.ask(f"{_API}/CreateCodeSubmission", competitionName=slug, **fields), "message")


def submit_file(asker: Asker, slug: str, file: SentFile, *, description: str) -> str:
    """Submits a file, and returns what the server says to it; `ApiError` where it refuses."""
    name, size = file.name.replace("\\", "/").rpartition("/")[2], len(file.content)
    started = asker.ask(f"{_API}/StartSubmissionUpload", competitionName=slug, fileName=name, contentLength=size)
    token = text(started, "token")
    upload = asker.local_kaggle.blobs.find(token)
    if upload is None:
        raise ApiError(500, "The upload was lost while it began.")
    asker.local_kaggle.blobs.append(upload, 0, file.content)
    fields = {"competitionName": slug, "blobFileTokens": token, "submissionDescription": description}
    return text(asker.ask(f"{_API}/CreateSubmission", **fields), "message")


def _competition(fields: Fields) -> CompetitionFacts:
    return CompetitionFacts(
        slug=text(fields, "ref").rstrip("/").rpartition("/")[2],
        title=text(fields, "title"),
        description=text(fields, "description"),
        metric=text(fields, "evaluationMetric"),
        is_code_competition=fields.get("isKernelsSubmissionsOnly") is True,
        teams=whole(fields, "teamCount"),
        rank=whole(fields, "userRank"),
        daily_limit=whole(fields, "maxDailySubmissions"),
        category=text(fields, "category"),
        deadline=moment_of(fields.get("deadline")),
    )


def _submission(fields: Fields, slug: str) -> SubmissionFacts:
    return SubmissionFacts(
        ref=whole(fields, "ref"),
        competition=slug,
        file_name=text(fields, "fileName"),
        description=text(fields, "description"),
        date=moment_of(fields.get("date")),
        state=(text(fields, "status") or "pending").lower(),
        public_score=text(fields, "publicScore"),
        private_score=text(fields, "privateScore"),
        error=text(fields, "errorDescription"),
    )
