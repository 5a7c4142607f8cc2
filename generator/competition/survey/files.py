"""The files of a competition, wherever they are: on this disk, or behind an API that hands out pieces of them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from generator.competition.tables.sample import SampleBounds
from generator.files import open_file


@dataclass(frozen=True)
class SurveyLimits:
    """The limits of a survey's looks into files; each look at one costs little on a disk, and a request elsewhere.

    Attributes:
        table: Of the sample of a table; of several, each has less.
        probes: How many image or sound files are opened, of all folders.
        probes_of_one: How many of them of one folder.
        lone_folders: Up to how many folders are looked at each by itself; of more, those beside each other share.
        archive_listings: How many bytes the directories of all zip archives may have.
    """

    table: SampleBounds = field(default_factory=SampleBounds)
    probes: int = 400
    probes_of_one: int = 12
    lone_folders: int = 50
    archive_listings: int = 32 << 20


class Files(Protocol):
    """Files by their paths, relative to the competition's folder, with `/`.

    Every method raises OSError where a file cannot be read.
    """

    @property
    def limits(self) -> SurveyLimits:
        """The limits of looks into them."""

    def size(self, path: str) -> int:
        """The size of a file in bytes."""

    def opened(self, path: str) -> BinaryIO:
        """A file to read and to seek in; the caller closes it."""

    def head(self, path: str, length: int) -> Path | bytes:
        """The path of a file on this disk, else its first bytes."""


@dataclass(frozen=True)
class DiskFiles:
    """A folder on this disk."""

    root: Path
    limits: SurveyLimits = SurveyLimits()

    def size(self, path: str) -> int:
        """The size of a file in bytes."""
        return (self.root / path).stat().st_size

    def opened(self, path: str) -> BinaryIO:
        """A file to read and to seek in."""
        return open_file(self.root / path)

    def head(self, path: str, length: int) -> Path:  # noqa: ARG002 - all of it is at hand
        """The path of a file."""
        return self.root / path
