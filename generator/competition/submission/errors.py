"""The errors of submission files.

SubmissionError
├── UnreadableSubmissionError    missing, not what its name says, no rows
│   └── MissingReaderError       a package that reads its format is not installed
├── SubmissionRowError           a row is too short or long, or has an empty or wrong cell
└── SubmissionIdsError           ids that are unknown, twice, or missing
"""

from pathlib import Path

from generator.errors import CompetitionError
from generator.untrusted import printable, quoted


class SubmissionError(CompetitionError):
    """A submission that its competition would refuse."""


class UnreadableSubmissionError(SubmissionError):
    """The file cannot be read as a table; `why` is a clause."""

    def __init__(self, *, path: Path, why: str) -> None:
        super().__init__(f"Cannot read {printable(str(path))}: {why}.")
        self.why = why


class MissingReaderError(UnreadableSubmissionError):
    """A package that reads the file's format is not installed."""


class SubmissionRowError(SubmissionError):
    """One row is not what the sample has; `place` is such as "line 3"."""

    def __init__(self, *, path: Path, place: str, problem: str) -> None:
        super().__init__(f"{printable(str(path))}, {place}: {problem}.")


class SubmissionIdsError(SubmissionError):
    """The ids are not the sample's ids."""

    def __init__(self, *, path: Path, problem: str, example: str, place: str = "") -> None:
        where = f", {place}" if place else ""
        super().__init__(f'{printable(str(path))}{where}: {problem}, "{quoted(example)}".')
