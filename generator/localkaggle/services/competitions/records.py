"""The submissions in the database."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.localkaggle.database import Database

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


class Stage(StrEnum):
    """Where a submission is on its way to a score."""

    RECEIVING = "receiving"  # its file is on the way here
    ASKED = "asked"  # a rerun is to be queued, and may have been
    RERUNNING = "rerunning"
    WAITING = "waiting"  # the file is here, and not yet scored
    COMPLETE = "complete"
    ERROR = "error"

    @property
    def status(self) -> str:
        """What the API calls it."""
        return self.name if self in (Stage.COMPLETE, Stage.ERROR) else "PENDING"


@dataclass(frozen=True)
class Submission:
    """One submission; `kernel` is the slug of the notebook that was submitted, or empty."""

    ref: int
    competition: str
    owner: str
    moment: datetime
    description: str
    file_name: str
    kernel: str
    kernel_version: int
    stage: Stage
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

    def file(self, submission: Submission) -> Path:
        """Where the submitted file is, or is to be."""
        return self._folder / str(submission.ref) / submission.file_name.rpartition("/")[2]

    def add(self, new: Submission, *, daily_limit: int) -> int | None:
        """Keeps a new submission, and returns its number; None if the day's allowance is used up.

        Counting and adding are one transaction, so that two requests at once cannot both be the last.
        """
        with self._database.transaction() as connection:
            used = connection.execute(_TODAY, (new.competition, new.owner, _day(new.moment))).fetchone()[0]
            if used >= daily_limit:
                return None
            cursor = connection.execute(
                "INSERT INTO submissions (competition, owner, moment, description, file_name, kernel, "
                "kernel_version, stage) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    new.competition,
                    new.owner,
                    new.moment.timestamp(),
                    new.description,
                    new.file_name,
                    new.kernel,
                    new.kernel_version,
                    new.stage,
                ),
            )
            return cursor.lastrowid

    def find(self, ref: int) -> Submission | None:
        """The submission of this number, if there is one."""
        row = self._database.one("SELECT * FROM submissions WHERE ref = ?", (ref,))
        return _submission(row) if row is not None else None

    def of_team(self, competition: str, owner: str) -> list[Submission]:
        """A team's submissions, the newest first."""
        rows = self._database.all(
            "SELECT * FROM submissions WHERE competition = ? AND owner = ? ORDER BY ref DESC", (competition, owner)
        )
        return [_submission(row) for row in rows]

    def scored(self, competition: str) -> list[Submission]:
        """Every team's submissions that have a score, the oldest first."""
        rows = self._database.all(
            "SELECT * FROM submissions WHERE competition = ? AND stage = ? ORDER BY ref", (competition, Stage.COMPLETE)
        )
        return [_submission(row) for row in rows]

    def at(self, stage: Stage) -> list[Submission]:
        """All submissions at a stage, the oldest first."""
        rows = self._database.all("SELECT * FROM submissions WHERE stage = ? ORDER BY ref", (stage,))
        return [_submission(row) for row in rows]

    def counts(self, competition: str, owner: str, now: datetime) -> tuple[int, int]:
        """How many submissions of a team count for today, and how many it has made at all."""
        today = self._database.one(_TODAY, (competition, owner, _day(now)))
        total = self._database.one(
            "SELECT count(*) FROM submissions WHERE competition = ? AND owner = ?", (competition, owner)
        )
        return (today[0] if today else 0), (total[0] if total else 0)

    def rerunning(self, ref: int) -> None:
        """Notes that the rerun is queued for certain, unless it has come further already."""
        self._database.run(
            "UPDATE submissions SET stage = ? WHERE ref = ? AND stage = ?", (Stage.RERUNNING, ref, Stage.ASKED)
        )

    def received(self, ref: int, size: int) -> None:
        """Notes that the file of a submission is here and can be scored."""
        self._database.run(
            "UPDATE submissions SET stage = ?, size = ? WHERE ref = ? AND stage NOT IN (?, ?)",
            (Stage.WAITING, size, ref, Stage.COMPLETE, Stage.ERROR),
        )

    def complete(self, ref: int, *, public: float, private: float) -> None:
        """Notes the scores."""
        self._database.run(
            "UPDATE submissions SET stage = ?, public = ?, private = ? WHERE ref = ?",
            (Stage.COMPLETE, public, private, ref),
        )

    def fail(self, ref: int, error: str) -> None:
        """Notes why there is no score, unless there is one."""
        self._database.run(
            "UPDATE submissions SET stage = ?, error = ? WHERE ref = ? AND stage NOT IN (?, ?)",
            (Stage.ERROR, error, ref, Stage.COMPLETE, Stage.ERROR),
        )


# What could not be scored does not count, as on Kaggle.
_TODAY = "SELECT count(*) FROM submissions WHERE competition = ? AND owner = ? AND moment >= ? AND stage != 'error'"


def _day(moment: datetime) -> float:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


def _submission(row: Any) -> Submission:
    return Submission(
        ref=row["ref"],
        competition=row["competition"],
        owner=row["owner"],
        moment=datetime.fromtimestamp(row["moment"], UTC),
        description=row["description"],
        file_name=row["file_name"],
        size=row["size"],
        kernel=row["kernel"],
        kernel_version=row["kernel_version"],
        stage=Stage(row["stage"]),
        public=row["public"],
        private=row["private"],
        error=row["error"],
    )
