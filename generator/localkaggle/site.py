"""What the services of a local Kaggle share: the folder, the database, the clock, the faults, the tickets.

The services meet each other here, by protocol, and nowhere else: a session asks `Mounts` for its inputs; the
competitions ask `Reruns` to run a submitted notebook on the hidden test.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from generator.localkaggle.clock import Clock
from generator.localkaggle.database import Database
from generator.localkaggle.faults import Faults
from generator.localkaggle.rpc import Call, Methods, Stored


class Tickets(Protocol):
    """Short-lived addresses that stand for one file, for one upload, and need no further credentials."""

    def download(self, call: Call, stored: Stored) -> str:
        """An absolute address at which the file can be fetched, ranges included; the last segment is its name."""


class Uploads(Protocol):
    """Blobs that clients have sent, waiting to be part of something."""

    def start(self, call: Call, *, name: str, size: int) -> "OpenUpload":
        """Begins an upload by the caller; `ApiError` 400 if the name is no relative path or the size is too large."""

    def take(self, token: str, *, owner: str) -> "Blob":
        """The whole blob behind a token; `ApiError` 400 if it is unknown, somebody else's, or not all there."""


@dataclass(frozen=True)
class Blob:
    """An upload that is complete: `name` is a relative POSIX path that was checked, `path` where the bytes are."""

    name: str
    path: Path
    size: int


@dataclass(frozen=True)
class OpenUpload:
    """An upload that has begun: the client sends the bytes to `url`, and later names the blob by its `token`."""

    token: str
    url: str


@dataclass(frozen=True)
class Site:
    """One local Kaggle; `account` is the user name that its tokens belong to."""

    root: Path
    account: str
    database: Database
    clock: Clock
    faults: Faults
    tickets: Tickets
    uploads: Uploads


class Service(Protocol):
    """A part of the API."""

    SCHEMA: ClassVar[str]
    """SQL that makes the service's tables where they are not there yet (`CREATE TABLE IF NOT EXISTS`)."""

    def methods(self) -> Methods:
        """The service's methods by name, such as `competitions.CompetitionApiService/GetCompetition`."""


class MountsCompetition(Protocol):
    """Where a competition's files are."""

    def data_folder(self, slug: str, *, hidden: bool) -> Path | None:
        """The folder to mount: the public one, or with `hidden` the one with the hidden test; None if unknown."""

    def is_known(self, slug: str) -> bool:
        """Whether there is such a competition here."""


class MountsDataset(Protocol):
    """Where a dataset's files are."""

    def dataset_folder(self, ref: str, *, account: str = "") -> Path | None:
        """The folder of `owner/slug` (its newest ready version) or `owner/slug/version`; None if there is none.

        With an account, None as well if it is private and somebody else's.
        """


class MountsModel(Protocol):
    """Where a model's files are."""

    def model_folder(self, handle: str, *, account: str = "") -> Path | None:
        """The folder of `owner/model/framework/variation[/version]`, its name the version; None if there is none.

        With an account, None as well if it is private and somebody else's.
        """


@dataclass(frozen=True)
class Rerun:
    """A rerun of a submitted kernel that has ended: `output` is its working folder, `failure` empty if it went well."""

    submission: int
    output: Path
    failure: str


class Reruns(Protocol):
    """What can run a version of a kernel again, on the hidden test."""

    def has_version(self, owner: str, slug: str, version: int) -> bool:
        """Whether there is such a version, whose session ended well."""

    def output_file(self, owner: str, slug: str, version: int, name: str) -> Path | None:
        """A file that the version wrote, or None."""

    def uses_internet(self, owner: str, slug: str, version: int) -> bool:
        """Whether the version had the internet switched on."""

    def uses_tpu(self, owner: str, slug: str, version: int) -> bool:
        """Whether the version asked for a TPU, which no code competition lets submit."""

    def rerun(self, owner: str, slug: str, version: int, *, competition: str, submission: int) -> None:
        """Queues a rerun with the hidden test mounted; when it ends, those in `when_rerun_ended` are called."""

    def when_rerun_ended(self, listener: Callable[[Rerun], None]) -> None:
        """Asks to be told of every rerun that ends, also of those that a restart of the server cut off."""
