"""The errors of looking at a competition's folder.

CompetitionError
└── NoDataError               there is nothing to look at
    ├── MissingFolderError
    └── EmptyFolderError
"""

from pathlib import Path

from generator.errors import CompetitionError
from generator.files import reason
from generator.untrusted import printable

_REMEDY = "download the competition's data there, or name the folder that has it: tandem generate --data DIR."


class NoDataError(CompetitionError):
    """There is nothing to look at."""


class MissingFolderError(NoDataError):
    """The folder does not exist, is a file, or may not be read."""

    def __init__(self, *, folder: Path, cause: OSError) -> None:
        super().__init__(f"Cannot read the data in {printable(str(folder))}: {why(cause)}; {_REMEDY}")


class EmptyFolderError(NoDataError):
    """The folder has no file, or only hidden ones."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(f"There are no files in {printable(str(folder))}; {_REMEDY}")


def why(cause: OSError) -> str:
    """The operating system's reason not to let a file be read, in words that fit behind a colon."""
    return reason(cause).replace("to write there", "to read it")
