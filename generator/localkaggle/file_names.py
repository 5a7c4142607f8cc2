"""Files by the names that clients know them by, and the names that a local Kaggle accepts before they become paths."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from generator.files import open_below, open_file
from generator.localkaggle.rpc import ApiError
from generator.untrusted import printable

DEEPEST = 32
"""The most parts that a name may have, the file itself included."""

_LONGEST_NAME = 1_000
_LONGEST_PART = 255
_SHOWN = 80


@dataclass(frozen=True)
class ListedFile:
    """A file that can be listed, packed and given away: `name` is a relative POSIX path that leads nowhere else.

    `below` is set for what a notebook wrote: the folder of its session, from which the file is opened without links.
    """

    name: str
    path: Path
    size: int
    written: datetime
    below: Path | None = None

    def open(self) -> BinaryIO:
        """Opens the file to read, for the caller to close.

        Raises:
            OSError: It is gone, or no longer a file that may be given away.
        """
        return open_given(self.path, self.below)


def open_given(path: Path, below: Path | None) -> BinaryIO:
    """Opens a file that is given away; one that a notebook wrote by `open_below`.

    Raises:
        OSError: There is no such file, or it may not be given away.
    """
    return open_file(path) if below is None else open_below(below, path.relative_to(below))


class InvalidFileError(ApiError):
    """A file that cannot be taken; the sentence is what the client is told."""

    def __init__(self, *, name: str, why: str) -> None:
        super().__init__(400, f'"{printable(name[:_SHOWN])}" {why}.')


def checked_name(name: str) -> str:
    """A relative POSIX path that stays inside of whatever folder it is put in.

    Raises:
        InvalidFileError: It is empty, absolute, leads upwards, or has characters that separate names somewhere.
    """
    parts = name.split("/")
    if (
        not name.isprintable()
        or len(name) > _LONGEST_NAME
        or len(parts) > DEEPEST
        or any(part in ("", ".", "..") or len(part.encode()) > _LONGEST_PART for part in parts)
        or "\\" in name
        or ":" in name
    ):
        why = 'is no name for a file here; use a relative path without "..", backslashes and colons'
        raise InvalidFileError(name=name, why=why)
    return str(PurePosixPath(name))
