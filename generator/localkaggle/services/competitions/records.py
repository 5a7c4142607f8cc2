"""The submissions, as the database keeps them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from generator.localkaggle.database import Database, insert

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
        """The path of the submitted file, which may not be there yet."""
        return self._folder / str(submission.ref) / submission.file_name.rpartition("/")[2]

    def add(self, new: Submission, *, daily_limit: int) -> int | None:
        """Keeps a new submission, and returns its number; None if the day's allowance is used up.

        Counting and adding are one transaction, so that two requests at once cannot both be the last.
        """
        with self._database.transaction() as connection:
            used = connection.execute(_TODAY, (new.competition, new.owner, _day(new.moment))).fetchone()[0]
            if used >= daily_limit:
                return None
            values = {name: getattr(new, name) for name in _GIVEN}
            return insert(connection, "submissions", moment=new.moment.timestamp(), **values)

    def find(self, ref: int) -> Submission | None:
        """The submission of this number, if there is one."""
        return next(iter(self._where("ref = ?", ref)), None)

    def of_team(self, competition: str, owner: str) -> list[Submission]:
        """A team's submissions, the newest first."""
        return self._where("competition = ? AND owner = ? ORDER BY ref DESC", competition, owner)

    def scored(self, competition: str) -> list[Submission]:
        """Every team's submissions that have a score, the oldest first."""
        return self._where("competition = ? AND stage = ? ORDER BY ref", competition, Stage.COMPLETE)

    def at(self, stage: Stage) -> list[Submission]:
        """All submissions at a stage, the oldest first."""
        return self._where("stage = ? ORDER BY ref", stage)

    def counts(self, competition: str, owner: str, now: datetime) -> tuple[int, int]:
        """The number of a team's submissions that count for today, and of all."""
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
        self._move(ref, Stage.WAITING, size=size)

    def complete(self, ref: int, *, public: float, private: float) -> None:
        """Notes the scores."""
        self._move(ref, Stage.COMPLETE, public=public, private=private)

    def fail(self, ref: int, error: str) -> None:
        """Notes why there is no score, unless there is one."""
        self._move(ref, Stage.ERROR, error=error)

    def _where(self, condition: str, *values: object) -> list[Submission]:
        return self._database.records(Submission, f"SELECT * FROM submissions WHERE {condition}", values)  # noqa: S608 - names only

    def _move(self, ref: int, stage: Stage, **values: object) -> None:
        columns = ", ".join(f"{name} = ?" for name in ("stage", *values))
        statement = f"UPDATE submissions SET {columns} WHERE ref = ? AND stage NOT IN (?, ?)"  # noqa: S608 - names only
        self._database.run(statement, (stage, *values.values(), ref, Stage.COMPLETE, Stage.ERROR))


_GIVEN = ("competition", "owner", "description", "file_name", "kernel", "kernel_version", "stage")
# A file that could not be scored does not count. A notebook counts in any case: it can choose by what it reads in the
# hidden test whether it fails and how, and its team is told.
_TODAY = (
    "SELECT count(*) FROM submissions WHERE competition = ? AND owner = ? AND moment >= ? "
    "AND (stage != 'error' OR kernel != '')"
)


def _day(moment: datetime) -> float:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
