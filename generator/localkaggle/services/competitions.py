"""The API of competitions: data, submissions, scoring, leaderboards."""

import csv
import io
import logging
import os
import shutil
import threading
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import BinaryIO, ClassVar

from generator.competition.scoring import LARGEST_SUBMISSION
from generator.competition.submission import SubmissionError
from generator.files import PathOutsideError, open_below, open_file, resolve_inside
from generator.localkaggle.hosting import HostedCompetition, HostedFacts, files_below, files_fingerprint, metric_wording
from generator.localkaggle.rpc import ApiCall, ApiError, Content, Fields, Methods, Redirect, StoredFile, as_wire, page
from generator.localkaggle.services.kernel_records import SessionRecord
from generator.localkaggle.services.kernels import Kernels
from generator.localkaggle.storage import (
    Database,
    ListedFile,
    ServiceContext,
    checked_name,
    has_room,
    insert,
    listing_summary,
    pack_zip,
    tree,
)
from generator.sessions.worker import THREW

# The submissions, as the database keeps them.


SCHEMA = """
CREATE TABLE IF NOT EXISTS submissions (
    ref INTEGER PRIMARY KEY AUTOINCREMENT,
    competition TEXT NOT NULL,
    owner TEXT NOT NULL,
    moment REAL NOT NULL,
    description TEXT NOT NULL,
    file_name TEXT NOT NULL,
    size INTEGER NOT NULL DEFAULT 0,
    kernel TEXT NOT NULL DEFAULT '',
    kernel_version INTEGER NOT NULL DEFAULT 0,
    stage TEXT NOT NULL,
    public REAL,
    private REAL,
    error TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS submissions_of_a_team ON submissions (competition, owner, moment);
"""


class SubmissionStage(StrEnum):
    """The stage of a submission on its way to a score."""

    RECEIVING = "receiving"  # its file is on the way here
    ASKED = "asked"  # a rerun is to be queued, and may have been
    RERUNNING = "rerunning"
    WAITING = "waiting"  # the file is here, and not yet scored
    COMPLETE = "complete"
    ERROR = "error"

    @property
    def status(self) -> str:
        """The name that the API has for it."""
        return self.name if self in (SubmissionStage.COMPLETE, SubmissionStage.ERROR) else "PENDING"


@dataclass(frozen=True)
class SubmissionRecord:
    """One submission; `kernel` is the slug of the notebook that was submitted, or empty."""

    ref: int
    competition: str
    owner: str
    moment: datetime
    description: str
    file_name: str
    kernel: str
    kernel_version: int
    stage: SubmissionStage
    size: int = 0
    public: float | None = None
    private: float | None = None
    error: str = ""


class Submissions:
    """Keeps submissions and their files.

    A stage only ever moves on: what reports late, such as a rerun that was told of twice, changes nothing.
    """

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder

    def file(self, submission: SubmissionRecord) -> Path:
        """The path of the submitted file, which may not be there yet."""
        return self._folder / str(submission.ref) / submission.file_name.rpartition("/")[2]

    def add(self, new: SubmissionRecord, *, daily_limit: int) -> int | None:
        """Keeps a new submission, and returns its number; None if the day's allowance is used up.

        Counting and adding are one transaction, so that two requests at once cannot both be the last.
        """
        with self._database.transaction() as connection:
            count = connection.execute(_TODAY, (new.competition, new.owner, _day(new.moment))).fetchone()[0]
            if count >= daily_limit:
                return None
            values = {name: getattr(new, name) for name in _SUBMISSION_FIELDS}
            return insert(connection, "submissions", moment=new.moment.timestamp(), **values)

    def find(self, ref: int) -> SubmissionRecord | None:
        """The submission of this number, if there is one."""
        return next(iter(self._select("ref = ?", ref)), None)

    def of_team(self, competition: str, owner: str) -> list[SubmissionRecord]:
        """A team's submissions, the newest first."""
        return self._select("competition = ? AND owner = ? ORDER BY ref DESC", competition, owner)

    def list_scored(self, competition: str) -> list[SubmissionRecord]:
        """Every team's submissions that have a score, the oldest first."""
        return self._select("competition = ? AND stage = ? ORDER BY ref", competition, SubmissionStage.COMPLETE)

    def at(self, stage: SubmissionStage) -> list[SubmissionRecord]:
        """All submissions at a stage, the oldest first."""
        return self._select("stage = ? ORDER BY ref", stage)

    def counts(self, competition: str, owner: str, now: datetime) -> tuple[int, int]:
        """The number of a team's submissions that count for today, and of all."""
        today = self._database.fetch_one(_TODAY, (competition, owner, _day(now)))
        total = self._database.fetch_one(
            "SELECT count(*) FROM submissions WHERE competition = ? AND owner = ?", (competition, owner)
        )
        return (today[0] if today else 0), (total[0] if total else 0)

    def rerunning(self, ref: int) -> None:
        """Notes that the rerun is queued for certain, unless it has come further already."""
        self._database.run(
            "UPDATE submissions SET stage = ? WHERE ref = ? AND stage = ?",
            (SubmissionStage.RERUNNING, ref, SubmissionStage.ASKED),
        )

    def mark_received(self, ref: int, size: int) -> None:
        """Notes that the file of a submission is here and can be scored."""
        self._move(ref, SubmissionStage.WAITING, size=size)

    def complete(self, ref: int, *, public: float, private: float) -> None:
        """Notes the scores."""
        self._move(ref, SubmissionStage.COMPLETE, public=public, private=private)

    def fail(self, ref: int, error: str) -> None:
        """Notes why there is no score, unless there is one."""
        self._move(ref, SubmissionStage.ERROR, error=error)

    def _select(self, condition: str, *values: object) -> list[SubmissionRecord]:
        return self._database.records(SubmissionRecord, f"SELECT * FROM submissions WHERE {condition}", values)  # noqa: S608 - names only

    def _move(self, ref: int, stage: SubmissionStage, **values: object) -> None:
        columns = ", ".join(f"{name} = ?" for name in ("stage", *values))
        statement = f"UPDATE submissions SET {columns} WHERE ref = ? AND stage NOT IN (?, ?)"  # noqa: S608 - names only
        self._database.run(statement, (stage, *values.values(), ref, SubmissionStage.COMPLETE, SubmissionStage.ERROR))


_SUBMISSION_FIELDS = ("competition", "owner", "description", "file_name", "kernel", "kernel_version", "stage")
# A file that could not be scored does not count. A notebook counts in any case: it can choose by what it reads in the
# hidden test whether it fails and how, and its team is told.
_TODAY = (
    "SELECT count(*) FROM submissions WHERE competition = ? AND owner = ? AND moment >= ? "
    "AND (stage != 'error' OR kernel != '')"
)


def _day(moment: datetime) -> float:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


# The competitions that are hosted here, by name, and what the API says of them.


_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
# A competition without an end: far enough for every client that asks how long it still runs.
_NEVER = datetime(2099, 12, 31, 23, 59, tzinfo=UTC)


class CompetitionCatalog:
    """Finds competitions."""

    def __init__(
        self, site: ServiceContext, competitions: Mapping[str, HostedCompetition], submissions: Submissions
    ) -> None:
        self._site = site
        self._submissions = submissions
        self._competitions = competitions

    def find(self, slug: str) -> HostedCompetition | None:
        """The competition of this name, if it is hosted here."""
        return self._competitions.get(slug)

    def require(self, call: ApiCall) -> HostedCompetition:
        """The competition that a request names.

        Raises:
            ApiError: 404, there is none of that name.
        """
        competition = self._competitions.get(call.text("competitionName"))
        if competition is None:
            raise ApiError(404, "Competition not found")
        return competition

    def get(self, call: ApiCall) -> Fields:
        """`GetCompetition`."""
        return self._fields(call, self.require(call).facts)

    def list(self, call: ApiCall) -> Fields:
        """`ListCompetitions`, those that have the searched words in their name or title."""
        words = call.text("search").lower().split()
        matches = [
            competition.facts
            for competition in self._competitions.values()
            if all(word in f"{competition.facts.slug} {competition.facts.title}".lower() for word in words)
        ]
        matches.sort(key=lambda facts: facts.slug)
        return page([self._fields(call, facts) for facts in matches], call, key="competitions")

    def pages(self, call: ApiCall) -> Fields:
        """`ListCompetitionPages`, all or the one named."""
        name = call.text("pageName")
        return {
            "pages": [
                {
                    "name": hosted_page.name,
                    "postTitle": hosted_page.title,
                    "content": hosted_page.content,
                    "mimeType": "text/markdown",
                    "isPublished": True,
                }
                for hosted_page in self.require(call).facts.pages
                if name in ("", hosted_page.name)
            ]
        }

    def _fields(self, call: ApiCall, facts: HostedFacts) -> Fields:
        is_private = is_private_now(facts, self._site.clock.now())
        teams = [
            submission.owner
            for submission in ranking(facts, self._submissions.list_scored(facts.slug), is_private=is_private)
        ]
        has_entered = not self._site.faults.strikes("rules-not-accepted", at=call.method, also=facts.slug)
        return {
            # The same for a name after every start.
            "id": 1_000 + sum(place * byte for place, byte in enumerate(facts.slug.encode(), start=1)) % 1_000_000,
            "ref": page_of(call, facts.slug),
            "url": page_of(call, facts.slug),
            "title": facts.title,
            "description": facts.description,
            "organizationName": "",
            "category": "Community",
            "reward": "Kudos",
            "tags": [],
            "deadline": as_wire(facts.deadline or _NEVER),
            "enabledDate": as_wire(_BEGAN),
            "dateCreated": as_wire(_BEGAN),
            "teamCount": len(teams),
            "userHasEntered": has_entered,
            "userRank": teams.index(call.caller) + 1 if call.caller in teams else 0,
            "maxDailySubmissions": facts.daily_limit,
            "maxTeamSize": 1,
            "evaluationMetric": metric_wording(facts.question.metric),
            "isKernelsSubmissionsOnly": facts.is_code_competition,
            "submissionsDisabled": False,
            "hostName": "Local Kaggle",
        }


def page_of(call: ApiCall, slug: str) -> str:
    """The address of a competition's page, at the origin that the client knows this server by."""
    return f"{call.base}/competitions/{slug}"


def is_private_now(facts: HostedFacts, now: datetime) -> bool:
    """True if the private part of the test decides, as it does from the end of a competition on."""
    return facts.deadline is not None and facts.deadline <= now


def ranking(facts: HostedFacts, submissions: Iterable[SubmissionRecord], *, is_private: bool) -> list[SubmissionRecord]:
    """The leaderboard of a competition.

    Args:
        facts: The competition; its metric says which way is better.
        submissions: All submissions that have scores.
        is_private: Whether they are ranked on the private part of the test.

    Returns:
        One submission for each team; of equal ones the earlier is better.
    """
    sign = -1 if facts.is_higher_better else 1

    def place(submission: SubmissionRecord) -> tuple[float, int]:
        score = submission.private if is_private else submission.public
        return sign * (score if score is not None else 0.0), submission.ref

    best: dict[str, SubmissionRecord] = {}
    for submission in sorted(submissions, key=place):
        best.setdefault(submission.owner, submission)
    return list(best.values())


# The data of a competition: listings, a summary, and downloads.


class CompetitionData:
    """Answers everything about the files of competitions; a listing is read once while the server runs."""

    def __init__(self, site: ServiceContext, catalog: CompetitionCatalog) -> None:
        self._site = site
        self._catalog = catalog
        self._packing = threading.Lock()
        self._listings: dict[str, Sequence[ListedFile]] = {}

    def list(self, call: ApiCall) -> Fields:
        """`ListDataFiles`."""
        competition = self._open(call)
        files: list[Fields] = [
            {
                "ref": file.name,
                "name": file.name,
                "totalBytes": file.size,
                "creationDate": as_wire(file.write_time),
                "url": f"{page_of(call, competition.facts.slug)}/data",
            }
            for file in self._files(competition)
        ]
        return page(files, call, key="files")

    def tree(self, call: ApiCall) -> Fields:
        """`ListDataTreeFiles`, one folder at a time."""
        files = self._files(self._open(call))
        creation_date = as_wire(max(file.write_time for file in files)) if files else as_wire(self._site.clock.now())
        return tree(files, call, creation_date=creation_date)

    def summary(self, call: ApiCall) -> Fields:
        """`GetCompetitionDataFilesSummary`."""
        return listing_summary(self._files(self._open(call)))

    def download_file(self, call: ApiCall) -> Redirect:
        """`DownloadDataFile`."""
        competition = self._open(call)
        name = call.text("fileName")
        if not any(file.name == name for file in self._files(competition)):
            raise ApiError(404, "File not found")
        try:
            path = resolve_inside(competition.data() / name, root=competition.data())
        except PathOutsideError as error:
            raise ApiError(404, "File not found") from error
        return Redirect(self._site.tickets.download(call, StoredFile(path, name)))

    def download_all(self, call: ApiCall) -> Redirect:
        """`DownloadDataFiles`: a zip that is made once."""
        competition = self._open(call)
        stored_file = StoredFile(self._archive(competition), f"{competition.facts.slug}.zip", "application/zip")
        return Redirect(self._site.tickets.download(call, stored_file))

    def _open(self, call: ApiCall) -> HostedCompetition:
        competition = self._catalog.require(call)
        if self._site.faults.strikes("rules-not-accepted", at=call.method, also=competition.facts.slug):
            raise ApiError(403, "You must accept this competition's rules before you'll be able to download files.")
        return competition

    def _files(self, competition: HostedCompetition) -> Sequence[ListedFile]:
        listing = self._listings.get(competition.facts.slug)
        if listing is None:
            # Data may have to be written first, which holds up nobody who asks for another competition.
            listing = self._listings[competition.facts.slug] = files_below(competition.data())
        return listing

    def _archive(self, competition: HostedCompetition) -> Path:
        files = self._files(competition)
        folder = self._site.root / "competitions" / competition.facts.slug
        archive = folder / f"archive-{files_fingerprint(files)}.zip"
        with self._packing:
            if not archive.is_file():
                folder.mkdir(parents=True, exist_ok=True)
                pack_zip(files, archive)
        return archive


# The scoring of submissions, one after the other, in a thread of its own.


_LOG = logging.getLogger(__name__)
_CUT_OFF = "Kaggle Error: Something went wrong on our end. Please try again."
# What a rerun ends with, by words of its session's failure; anything else is of the notebook's own doing.
_FAILURES = (
    (
        ("execution duration", "time limit", "timeout"),
        "Notebook Timeout: Your notebook hit the maximum allotted time for this type of competition.",
    ),
    (
        ("allowed compute", "memory"),
        "Notebook Exceeded Allowed Compute: Your notebook hit the maximum allotted compute, such as memory or disk.",
    ),
    (("server was stopped", "was deleted", "kaggle error"), _CUT_OFF),
)
_THREW = (
    "Notebook Threw Exception: While rerunning your code, your notebook encountered an unhandled error. Note that the "
    "hidden dataset can be larger/smaller/different than the public dataset."
)
_SCORING_FAILED = "Submission Scoring Error: Something went wrong while your submission was scored. Please try again."


class ScoringQueue:
    """Takes submissions from their arrival to their score."""

    def __init__(
        self, site: ServiceContext, catalog: CompetitionCatalog, submissions: Submissions, kernels: Kernels
    ) -> None:
        self._site = site
        self._catalog = catalog
        self._submissions = submissions
        self.kernels = kernels
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scoring")

    def start(self) -> None:
        """Takes up what a stop of the server left unscored, and gives up what it cut off on its way here."""
        for submission in self._submissions.at(SubmissionStage.RECEIVING):
            self._submissions.fail(submission.ref, _CUT_OFF)
        for submission in self._submissions.at(SubmissionStage.WAITING):
            self.queue(submission.ref)
        self.kernels.sessions.when_rerun_ended.append(self._rerun_ended)
        for submission in self._submissions.at(SubmissionStage.ASKED):
            self.rerun(submission)

    def rerun(self, submission: SubmissionRecord) -> None:
        """Runs a submitted notebook on the hidden test; what it writes is scored when it has ended."""
        try:
            self.kernels.rerun(
                submission.owner,
                submission.kernel,
                submission.kernel_version,
                competition=submission.competition,
                submission=submission.ref,
            )
        except ApiError as error:
            self._submissions.fail(submission.ref, f"Kaggle Error: {error.message}")
            return
        self._submissions.rerunning(submission.ref)

    def receive(self, submission: SubmissionRecord, file: BinaryIO) -> None:
        """Keeps a copy of the submitted file, which is open, and has it scored."""
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_SUBMISSION:
            self._submissions.fail(submission.ref, "Submission Scoring Error: The submission file is too large.")
            return
        path = self._submissions.file(submission)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not has_room(path.parent, size):
            failure = "Kaggle Error: There is no room for the submission on the disk of this server."
            self._submissions.fail(submission.ref, failure)
            return
        with path.open("wb") as copy:
            shutil.copyfileobj(file, copy)
        self._submissions.mark_received(submission.ref, path.stat().st_size)
        self.queue(submission.ref)

    def queue(self, ref: int) -> None:
        """Has a submission scored whose file is here; after `close` it waits for the next start."""
        with suppress(RuntimeError):
            self._worker.submit(self._score, ref)

    def close(self) -> None:
        """Lets the submission that is being scored finish; the others wait for the next start."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _rerun_ended(self, rerun: SessionRecord) -> None:
        """Takes over what a rerun wrote; when this returns, the rerun may be forgotten."""
        submission = self._submissions.find(rerun.submission or 0)
        if submission is None or submission.stage not in (SubmissionStage.ASKED, SubmissionStage.RERUNNING):
            return
        if rerun.failure.startswith(THREW):
            self._submissions.fail(submission.ref, _THREW)
            return
        if rerun.failure:
            messages = (message for words, message in _FAILURES if any(word in rerun.failure.lower() for word in words))
            self._submissions.fail(submission.ref, next(messages, _THREW))
            return
        try:
            output_file = open_below(self.kernels.sessions.folder(rerun.id).working, submission.file_name)
        except OSError:
            missing = "Your notebook did not output the expected submission file when it was run again."
            self._submissions.fail(submission.ref, f"Submission CSV Not Found: {missing}")
            return
        with output_file:
            self.receive(submission, output_file)

    def _score(self, ref: int) -> None:
        submission = self._submissions.find(ref)
        if submission is None or submission.stage is not SubmissionStage.WAITING:
            return
        competition = self._catalog.find(submission.competition)
        if competition is None:
            self._submissions.fail(ref, "Kaggle Error: The competition is not hosted here any more.")
            return
        try:
            self._score_by(competition, submission)
        except Exception:  # noqa: BLE001 - the next submission is to be scored whatever is wrong with this one
            _LOG.exception("submission %d could not be scored", ref)
            self._submissions.fail(ref, _SCORING_FAILED)

    def _score_by(self, competition: HostedCompetition, submission: SubmissionRecord) -> None:
        if self._site.faults.strikes("score-fails", at=f"score/{submission.competition}"):
            self._submissions.fail(submission.ref, _SCORING_FAILED)
            return
        file = self._submissions.file(submission)
        try:
            scores = competition.score(file)
        except SubmissionError as error:
            problem = error.message.replace(str(file), submission.file_name)
            self._submissions.fail(submission.ref, _public_error(competition, submission, problem))
            return
        self._submissions.complete(submission.ref, public=scores.public, private=scores.private)


def _public_error(competition: HostedCompetition, submission: SubmissionRecord, problem: str) -> str:
    """The error of a submission that cannot be scored, as the team is told it."""
    if not competition.facts.is_code_competition:
        return f"Evaluation Exception: {problem}"
    # A notebook can write the hidden test into its submission, to read it in what is quoted of it; the host may see it.
    _LOG.warning("submission %d to %s cannot be scored: %s", submission.ref, competition.facts.slug, problem)
    return (
        "Submission Scoring Error: Your notebook generated a submission file with incorrect format. Some examples "
        "causing this are: wrong number of rows or columns, empty values, an incorrect data type for a value, or "
        "invalid submission values from what is expected."
    )


# Submitting: files, notebooks, the day's allowance, and what became of it all.


_LONGEST_DESCRIPTION = 5_000
_NO_OUTPUT_FILE = "The output file was not found in this Notebook version. Save a version that writes it."
_ONLY_NOTEBOOKS = "Submission not allowed: This competition only accepts Submissions from Notebooks."


class Submitting:
    """Answers everything about submissions."""

    def __init__(
        self, site: ServiceContext, catalog: CompetitionCatalog, submissions: Submissions, scoring: ScoringQueue
    ) -> None:
        self._site = site
        self._catalog = catalog
        self._submissions = submissions
        self._scoring = scoring

    def start_upload(self, call: ApiCall) -> Fields:
        """`StartSubmissionUpload`."""
        facts = self._catalog.require(call).facts
        self._require_entered(call)
        if facts.is_code_competition:
            raise ApiError(400, _ONLY_NOTEBOOKS)
        size = call.integer("contentLength")
        if not 0 <= size <= LARGEST_SUBMISSION:
            raise ApiError(400, f"A submission has at most {LARGEST_SUBMISSION:,} bytes.")
        name = checked_name(call.text("fileName") or "submission.csv")
        return self._site.uploads.start(call, name=name, size=size)

    def submit_file(self, call: ApiCall) -> Fields:
        """`CreateSubmission`."""
        competition = self._catalog.require(call)
        self._require_allowed(call)
        if competition.facts.is_code_competition:
            raise ApiError(400, _ONLY_NOTEBOOKS)
        blob = self._site.uploads.take(call.text("blobFileTokens"), owner=call.caller)
        submission = self._add(call, competition.facts, file_name=blob.name)
        with open_file(blob.path) as file:
            self._scoring.receive(submission, file)
        return _confirm_submission(competition, submission)

    def submit_notebook(self, call: ApiCall) -> Fields:
        """`CreateCodeSubmission`: the version is run again on the hidden test, or else what it wrote is taken."""
        competition = self._catalog.require(call)
        self._require_allowed(call)
        file_name = checked_name(call.text("fileName") or competition.facts.submission_file)
        folder = self._output_folder(call, competition.facts, file_name)
        if competition.facts.is_code_competition:
            submission = self._add(call, competition.facts, file_name=file_name)
            self._scoring.rerun(submission)
            return _confirm_submission(competition, submission)
        try:
            file = open_below(folder, file_name)
        except OSError as error:
            raise ApiError(400, _NO_OUTPUT_FILE) from error
        with file:
            submission = self._add(call, competition.facts, file_name=file_name)
            self._scoring.receive(submission, file)
        return _confirm_submission(competition, submission)

    def list(self, call: ApiCall) -> Fields:
        """`ListSubmissions`, the newest first."""
        facts = self._catalog.require(call).facts
        submissions = self._submissions.of_team(facts.slug, call.caller)
        if call.text("group") == "SUBMISSION_GROUP_SUCCESSFUL":
            submissions = [submission for submission in submissions if submission.stage is SubmissionStage.COMPLETE]
        if call.text("sortBy") == "SUBMISSION_SORT_BY_PUBLIC_SCORE":
            sign = -1 if facts.is_higher_better else 1
            submissions.sort(key=lambda submission: (submission.public is None, sign * (submission.public or 0)))
        return page([self._fields(call, submission) for submission in submissions], call, key="submissions")

    def get(self, call: ApiCall) -> Fields:
        """`GetSubmission`."""
        return self._fields(call, self._require_own(call, "ref"))

    def download(self, call: ApiCall) -> Redirect:
        """`DownloadSubmission`; what a notebook wrote on the hidden test stays hidden."""
        submission = self._require_own(call, "submissionId")
        competition = self._catalog.find(submission.competition)
        if competition is None or competition.facts.is_code_competition:
            raise ApiError(403, "The submission of a code competition cannot be downloaded.")
        file = self._submissions.file(submission)
        if not file.is_file():
            raise ApiError(404, "Submission not found")
        return Redirect(self._site.tickets.download(call, StoredFile(file, file.name)))

    def limits(self, call: ApiCall) -> Fields:
        """`GetSubmissionLimits`."""
        facts = self._catalog.require(call).facts
        today, total = self._submissions.counts(facts.slug, call.caller, self._site.clock.now())
        return {
            "numToday": today,
            "numTotal": total,
            "numAllowedNow": max(facts.daily_limit - today, 0),
            "limitedByTotal": False,
        }

    def _require_entered(self, call: ApiCall) -> None:
        if self._site.faults.strikes("rules-not-accepted", at=call.method, also=call.text("competitionName")):
            raise ApiError(403, "You must accept this competition's rules before you can submit.")

    def _require_allowed(self, call: ApiCall) -> None:
        slug = call.text("competitionName")
        self._require_entered(call)
        if self._site.faults.strikes("submit-403", at=call.method, also=slug):
            raise ApiError(403, "Permission 'competitions.submit' was denied")
        if self._site.faults.strikes("submit-limit", at=call.method, also=slug):
            raise self._limit_reached(self._catalog.require(call).facts)

    def _limit_reached(self, facts: HostedFacts) -> ApiError:
        now = self._site.clock.now()
        tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        hours = (tomorrow - now).total_seconds() / 3600
        return ApiError(
            400,
            f"Submission not allowed: Your team has used its daily Submission allowance ({facts.daily_limit}) today, "
            f"please try again tomorrow UTC ({hours:.1f} hours from now).",
        )

    def _output_folder(self, call: ApiCall, facts: HostedFacts, file_name: str) -> Path:
        """The folder of what the submitted version wrote, with such a file in it, if it may be submitted at all."""
        owner, slug, number = call.text("kernelOwner"), call.text("kernelSlug"), call.integer("kernelVersion")
        # A team submits what it made itself: somebody else's notebook has to be forked first.
        version = self._scoring.kernels.finished_version(owner, slug, number) if owner == call.caller else None
        if version is None:
            raise ApiError(404, "Notebook version not found, or it has not run successfully.")
        settings, output = version
        if facts.is_code_competition:
            if settings.internet and not facts.allows_internet:
                raise ApiError(
                    400,
                    "Your Notebook cannot use internet access in this competition. Please disable internet in the "
                    "Notebook editor and save a new version.",
                )
            if settings.is_on_tpu:
                raise ApiError(
                    400,
                    "Your Notebook cannot use TPUs in this competition. Please choose another accelerator in the "
                    "Notebook editor and save a new version.",
                )
        if file_name not in output:
            raise ApiError(400, _NO_OUTPUT_FILE)
        return output[file_name].parents[len(PurePosixPath(file_name).parts) - 1]

    def _add(self, call: ApiCall, facts: HostedFacts, *, file_name: str) -> SubmissionRecord:
        is_rerun = facts.is_code_competition
        new = SubmissionRecord(
            ref=0,
            competition=facts.slug,
            owner=call.caller,
            moment=self._site.clock.now(),
            description=call.text("submissionDescription")[:_LONGEST_DESCRIPTION],
            file_name=file_name,
            kernel=call.text("kernelSlug"),
            kernel_version=call.integer("kernelVersion"),
            stage=SubmissionStage.ASKED if is_rerun else SubmissionStage.RECEIVING,
        )
        ref = self._submissions.add(new, daily_limit=facts.daily_limit)
        if ref is None:
            raise self._limit_reached(facts)
        return replace(new, ref=ref)

    def _require_own(self, call: ApiCall, key: str) -> SubmissionRecord:
        submission = self._submissions.find(call.integer(key))
        if submission is None or submission.owner != call.caller:
            raise ApiError(404, "Submission not found")
        return submission

    def _fields(self, call: ApiCall, submission: SubmissionRecord) -> Fields:
        competition = self._catalog.find(submission.competition)
        # Until a competition is over, its private scores are hidden; one without an end has nothing to hide.
        ends = competition.facts.deadline if competition is not None else None
        is_rerun = bool(submission.kernel) and (competition is None or competition.facts.is_code_competition)
        shows_private = competition is not None and (ends is None or ends <= self._site.clock.now())
        return {
            "ref": submission.ref,
            "fileName": submission.file_name,
            "date": as_wire(submission.moment),
            "description": submission.description,
            "errorDescription": submission.error,
            # A rerun chooses the size of what it writes by what it reads in the hidden test.
            "totalBytes": 0 if is_rerun else submission.size,
            "status": submission.stage.status,
            "publicScore": score_text(submission.public),
            "privateScore": score_text(submission.private) if shows_private else "",
            "submittedBy": submission.owner,
            "submittedByRef": submission.owner,
            "teamName": submission.owner,
            "url": f"{page_of(call, submission.competition)}/submissions",
        }


def score_text(score: float | None) -> str:
    """A score as Kaggle writes it; empty where there is none yet."""
    return "" if score is None else f"{score:.5f}"


def _confirm_submission(competition: HostedCompetition, submission: SubmissionRecord) -> Fields:
    return {"message": f"Successfully submitted to {competition.facts.title}", "ref": submission.ref}


# The leaderboard: each team's best submission, on the public or on the private part of the test.


class Leaderboard:
    """Answers everything about ranks: public ones while a competition runs, private ones when it is over."""

    def __init__(self, site: ServiceContext, catalog: CompetitionCatalog, submissions: Submissions) -> None:
        self._site = site
        self._catalog = catalog
        self._submissions = submissions

    def get(self, call: ApiCall) -> Fields:
        """`GetLeaderboard`."""
        facts = self._catalog.require(call).facts
        is_private = is_private_now(facts, self._site.clock.now()) and not call.flag("overridePublic")
        rows: list[Fields] = [
            {
                "teamId": rank,
                "teamName": best.owner,
                "submissionDate": as_wire(best.moment),
                "score": score_text(best.private if is_private else best.public),
            }
            for rank, best in enumerate(self._best(facts, is_private=is_private), start=1)
        ]
        return page(rows, call, key="submissions")

    def download(self, call: ApiCall) -> Content:
        """`DownloadLeaderboard`: the public one as a table in a zip, as Kaggle has it."""
        facts = self._catalog.require(call).facts
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(("Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score", "SubmissionCount"))
        for rank, best in enumerate(self._best(facts, is_private=False), start=1):
            count = self._submissions.counts(facts.slug, best.owner, self._site.clock.now())[1]
            moment = f"{best.moment:%Y-%m-%d %H:%M:%S}"
            writer.writerow((rank, rank, best.owner, moment, score_text(best.public), count))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            entry = zipfile.ZipInfo(f"{facts.slug}-publicleaderboard.csv", self._site.clock.now().timetuple()[:6])
            archive.writestr(entry, table.getvalue())
        return Content(buffer.getvalue(), "application/zip")

    def _best(self, facts: HostedFacts, *, is_private: bool) -> list[SubmissionRecord]:
        return ranking(facts, self._submissions.list_scored(facts.slug), is_private=is_private)


# The competitions as a service of the API.


_SERVICE = "competitions.CompetitionApiService"


class Competitions:
    """Everything that the API knows of competitions.

    Args:
        site: The local Kaggle.
        hosted: The competitions that it hosts, such as `generator.localkaggle.hosting.host` finds them.
        kernels: What runs submitted notebooks again.
    """

    SCHEMA: ClassVar[str] = SCHEMA

    def __init__(self, site: ServiceContext, competitions: Mapping[str, HostedCompetition], kernels: Kernels) -> None:
        submissions = Submissions(site.database, site.root / "submissions")
        self._catalog = CompetitionCatalog(site, competitions, submissions)
        self._data = CompetitionData(site, self._catalog)
        self.scoring = ScoringQueue(site, self._catalog, submissions, kernels)
        self._submitting = Submitting(site, self._catalog, submissions, self.scoring)
        self._leaderboard = Leaderboard(site, self._catalog, submissions)

    def methods(self) -> Methods:
        """The methods of the API."""
        catalog, data, submitting, leaderboard = self._catalog, self._data, self._submitting, self._leaderboard
        return {
            f"{_SERVICE}/ListCompetitions": catalog.list,
            f"{_SERVICE}/GetCompetition": catalog.get,
            f"{_SERVICE}/ListCompetitionPages": catalog.pages,
            f"{_SERVICE}/ListDataFiles": data.list,
            f"{_SERVICE}/ListDataTreeFiles": data.tree,
            f"{_SERVICE}/GetCompetitionDataFilesSummary": data.summary,
            f"{_SERVICE}/DownloadDataFile": data.download_file,
            f"{_SERVICE}/DownloadDataFiles": data.download_all,
            f"{_SERVICE}/StartSubmissionUpload": submitting.start_upload,
            f"{_SERVICE}/CreateSubmission": submitting.submit_file,
            f"{_SERVICE}/CreateCodeSubmission": submitting.submit_notebook,
            f"{_SERVICE}/ListSubmissions": submitting.list,
            f"{_SERVICE}/GetSubmission": submitting.get,
            f"{_SERVICE}/DownloadSubmission": submitting.download,
            f"{_SERVICE}/GetSubmissionLimits": submitting.limits,
            f"{_SERVICE}/GetLeaderboard": leaderboard.get,
            f"{_SERVICE}/DownloadLeaderboard": leaderboard.download,
        }


__all__ = ["Competitions"]
