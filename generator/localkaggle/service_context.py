"""Everything that the services of a local Kaggle share: folder, database, clock, faults, download links and uploads.

Kernels mount competitions, and competitions have submitted notebooks run again on the hidden test: they ask `Reruns`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from generator.localkaggle.clock import Clock
from generator.localkaggle.database import Database
from generator.localkaggle.download_links import Tickets
from generator.localkaggle.faults import Faults
from generator.localkaggle.rpc import Methods
from generator.localkaggle.services.blobs import Blobs


@dataclass(frozen=True)
class ServiceContext:
    """One local Kaggle; `account` is the user name that its tokens belong to."""

    root: Path
    account: str
    database: Database
    clock: Clock
    faults: Faults
    tickets: Tickets
    uploads: Blobs


class Service(Protocol):
    """A part of the API."""

    SCHEMA: ClassVar[str]
    """SQL that makes the service's tables where they are not there yet (`CREATE TABLE IF NOT EXISTS`)."""

    def methods(self) -> Methods:
        """The service's methods by name, such as `competitions.CompetitionApiService/GetCompetition`."""


@dataclass(frozen=True)
class Rerun:
    """A rerun of a submitted kernel that has ended: `output` is its working folder, `failure` empty if it went well."""

    submission: int
    output: Path
    failure: str


class Reruns(Protocol):
    """The service that can run a version of a kernel again, on the hidden test."""

    def has_version(self, owner: str, slug: str, version: int) -> bool:
        """True if there is such a version, whose session ended well."""

    def output_file(self, owner: str, slug: str, version: int, name: str) -> Path | None:
        """A file that the version wrote, or None."""

    def uses_internet(self, owner: str, slug: str, version: int) -> bool:
        """True if the version had the internet switched on."""

    def uses_tpu(self, owner: str, slug: str, version: int) -> bool:
        """True if the version asked for a TPU, which no code competition lets submit."""

    def rerun(self, owner: str, slug: str, version: int, *, competition: str, submission: int) -> None:
        """Queues a rerun with the hidden test mounted; when it ends, those in `when_rerun_ended` are called."""

    def when_rerun_ended(self, listener: Callable[[Rerun], None]) -> None:
        """Asks to be told of every rerun that ends, also of those that a restart of the server cut off."""
