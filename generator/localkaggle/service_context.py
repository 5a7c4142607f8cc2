"""Everything that the services of a local Kaggle share: folder, database, clock, faults, download links and uploads.

Kernels mount competitions, and competitions have submitted notebooks run again on the hidden test: they ask `Reruns`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from generator.localkaggle.clock import Clock
from generator.localkaggle.database import Database
from generator.localkaggle.download_links import Tickets
from generator.localkaggle.faults import Faults
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


@dataclass(frozen=True)
class Rerun:
    """A rerun of a submitted kernel that has ended: `output` is its working folder, `failure` empty if it went well."""

    submission: int
    output: Path
    failure: str


@dataclass(frozen=True)
class FinishedVersion:
    """A version of a kernel whose session ended well, with the files that it wrote by their names."""

    uses_internet: bool
    uses_tpu: bool
    output: Mapping[str, Path]


class Reruns(Protocol):
    """The service that can run a version of a kernel again, on the hidden test."""

    def finished_version(self, owner: str, slug: str, version: int) -> FinishedVersion | None:
        """The version; None if there is none of this number, or its session did not end well."""

    def rerun(self, owner: str, slug: str, version: int, *, competition: str, submission: int) -> None:
        """Queues a rerun with the hidden test mounted; when it ends, those in `when_rerun_ended` are called."""

    def when_rerun_ended(self, listener: Callable[[Rerun], None]) -> None:
        """Asks to be told of every rerun that ends, also of those that a restart of the server cut off."""
