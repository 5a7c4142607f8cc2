"""What the kit asks of Kaggle, whoever answers: the real one, a local one, or a test.

`Kaggle` is the seam. `generator.kaggle.gateway` implements it over HTTP; the chain, the reading of a competition's
facts and `tandem data` know only what stands here. All times are aware datetimes in UTC; sizes are bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class RemoteCompetition:
    """A competition as `GetCompetition` describes it; texts are empty where Kaggle says nothing."""

    slug: str
    title: str
    url: str
    metric: str
    is_code_competition: bool
    has_accepted_rules: bool
    submissions_disabled: bool = False
    deadline: datetime | None = None
    max_daily_submissions: int | None = None


@dataclass(frozen=True)
class Page:
    """A page of a competition: `name` such as `evaluation`, `content` in Markdown or HTML."""

    name: str
    content: str


@dataclass(frozen=True)
class RemoteFile:
    """A file of a competition, dataset or kernel output; `name` is a relative POSIX path that passed the guards.

    A `size` of 0 in a kernel's output may also mean that Kaggle does not say it.
    """

    name: str
    size: int
    url: str = ""


@dataclass(frozen=True)
class RemoteFolder:
    """One folder of a competition's data, without what is in the folders below it.

    Attributes:
        folders: The names of the folders in it.
        files: The first of its files, by their path from the top of the data; names and sizes passed the guards.
        total_files: How many files it has in all, listed or not.
    """

    folders: tuple[str, ...]
    files: tuple[RemoteFile, ...]
    total_files: int


@dataclass(frozen=True)
class SubmissionLimits:
    """How many submissions are left to this account, counted by the UTC day."""

    today: int
    allowed_now: int


class SubmissionStatus(StrEnum):
    """Where a submission is."""

    PENDING = "pending"
    COMPLETE = "complete"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Submission:
    """One submission; a score is None until it is known."""

    ref: int
    status: SubmissionStatus
    file_name: str = ""
    description: str = ""
    date: datetime | None = None
    public_score: float | None = None
    private_score: float | None = None
    error: str = ""


class SessionState(StrEnum):
    """Where a kernel's session is; a name that this kit does not know is `UNKNOWN`, not a crash."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    ERROR = "error"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    NEW = "new"
    UNKNOWN = "unknown"

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen to the session."""
        return self in (SessionState.COMPLETE, SessionState.ERROR, SessionState.CANCELLED)


@dataclass(frozen=True)
class SessionStatus:
    """A session's state; `failure` is Kaggle's word for why, or empty."""

    state: SessionState
    failure: str = ""


@dataclass(frozen=True)
class RemoteKernel:
    """A kernel as `GetKernel` describes it; `version` is the newest, `source` its text."""

    ref: str
    title: str
    version: int
    machine_shape: str = ""
    is_private: bool = True
    source: str = ""
    last_run: datetime | None = None


@dataclass(frozen=True)
class KernelPush:
    """A kernel to save and run: the fields of `kernel-metadata.json`, and the notebook's text.

    `machine_shape` is the accelerator asked for. A `docker_image` is not among the fields on purpose: one of a GPU
    makes a TPU session run without its TPU (Kaggle/kaggle-cli#1197).
    """

    ref: str
    title: str
    text: str
    machine_shape: str
    enable_gpu: bool
    enable_tpu: bool
    enable_internet: bool
    is_private: bool = True
    dataset_sources: tuple[str, ...] = ()
    competition_sources: tuple[str, ...] = ()
    kernel_sources: tuple[str, ...] = ()
    model_sources: tuple[str, ...] = ()
    timeout: timedelta | None = None


@dataclass(frozen=True)
class Pushed:
    """What a push made: `version` of the kernel `ref`, at `url`."""

    ref: str
    version: int
    url: str


@dataclass(frozen=True)
class KernelOutput:
    """The files that a session wrote, and its log (JSON lines joined to text; may be cut off or empty)."""

    files: tuple[RemoteFile, ...]
    log: str


@dataclass(frozen=True)
class LogLine:
    """One piece of a session's log: `seconds` since its start; `text` has no control characters but line ends."""

    seconds: float
    stream: str
    text: str


@dataclass(frozen=True)
class Quota:
    """Accelerator hours of this week; `refresh` is when they begin anew, if Kaggle says so."""

    gpu_used: timedelta
    gpu_allowed: timedelta
    tpu_used: timedelta
    tpu_allowed: timedelta
    refresh: datetime | None = None


class DatasetState(StrEnum):
    """Whether a dataset version can be mounted."""

    PREPARING = "preparing"
    READY = "ready"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True)
class Upload:
    """Files to become a version of a dataset or model: relative POSIX names and where they are here."""

    title: str
    files: Mapping[str, Path] = field(default_factory=dict)
    notes: str = ""


class Kaggle(Protocol):
    """An account at a Kaggle. Every method raises `generator.kaggle.errors.KaggleError` where it cannot answer.

    Methods that only read are repeated with back-off inside; those that change something are sent once.
    """

    @property
    def address(self) -> str:
        """The base address of the API, such as `https://api.kaggle.com`; never with credentials in it."""

    @property
    def is_local(self) -> bool:
        """Whether this is a local Kaggle (loopback), where built-in competitions exist and TPUs are emulated."""

    def warnings(self) -> tuple[str, ...]:
        """What a user should know before credentials are sent, a sentence each; for standard error."""

    def username(self) -> str:
        """Who the credentials belong to, asked of the server at most once."""

    def competition(self, slug: str) -> RemoteCompetition:
        """What Kaggle knows of a competition."""

    def pages(self, slug: str) -> tuple[Page, ...]:
        """The pages of a competition."""

    def competition_files(self, slug: str) -> tuple[RemoteFile, ...]:
        """Every file of a competition's data, of all pages of the listing, in Kaggle's order."""

    def competition_folder(self, slug: str, path: str, *, most: int) -> RemoteFolder:
        """One folder of a competition's data, by `ListDataTreeFiles`: "" is the top; at most `most` files are in it."""

    def competition_file_url(self, slug: str, name: str) -> str:
        """Where a file's bytes are, as a short-lived address that answers range requests."""

    def competition_archive_url(self, slug: str) -> str:
        """Where the archive (zip) of all files is, as a short-lived address that answers range requests."""

    def read_range(self, url: str, start: int, length: int) -> bytes:
        """The bytes from `start` on, at most `length`, fewer at the end; never more, whatever the server sends."""

    def download(self, url: str, destination: Path, *, size: int | None = None) -> Iterator[int]:
        """Fetches into a file, resuming `destination.part`; yields the bytes so far; the name appears when whole."""

    def submission_limits(self, slug: str) -> SubmissionLimits:
        """What is left of today's submissions."""

    def submissions(self, slug: str) -> tuple[Submission, ...]:
        """This account's submissions, the newest first (one page of them)."""

    def submission(self, slug: str, ref: int) -> Submission:
        """One submission, by the number that submitting returned."""

    def submit_kernel(self, slug: str, *, kernel: str, version: int, file_name: str, message: str) -> int:
        """Submits a version of a kernel to a code competition, and returns the submission's number. Sent once."""

    def submit_file(self, slug: str, *, path: Path, message: str) -> int:
        """Submits a file, and returns the submission's number. The upload may resume; the submission is sent once."""

    def kernel(self, ref: str) -> RemoteKernel | None:
        """A kernel of this account, or None if there is none of that name."""

    def push(self, kernel: KernelPush) -> Pushed:
        """Saves a version and runs it. Sent once, whatever happens; raises `SourcesRefusedError` after checking."""

    def session_status(self, ref: str, version: int) -> SessionStatus:
        """The state of the session of one version."""

    def output(self, ref: str, version: int) -> KernelOutput:
        """What a version wrote: every page of the listing, names checked, and its log."""

    def fetch_output(self, file: RemoteFile, destination: Path) -> None:
        """Fetches a file of an output whole, status and size checked, and only then gives it its name."""

    def log_lines(self, ref: str) -> Iterator[LogLine]:
        """The log of the newest session as it grows, reconnecting by itself, to its end; never twice the same line."""

    def quota(self) -> Quota:
        """The accelerator hours of this week."""

    def dataset_state(self, ref: str) -> DatasetState:
        """Whether the newest version of a dataset can be mounted."""

    def upload_dataset(self, ref: str, upload: Upload) -> int:
        """Creates a private dataset or its next version, and returns the version. Uploads resume; creating is once."""

    def upload_model(self, handle: str, upload: Upload) -> int:
        """Creates `owner/model/framework/variation` or its next version, privately, and returns the version."""

    def dataset_version(self, ref: str) -> int:
        """The newest version of a dataset, 0 if there is no such dataset."""

    def model_version(self, handle: str) -> int:
        """The newest version of a model's variation, 0 if there is none."""


def total_size(files: Sequence[RemoteFile]) -> int:
    """The bytes of all files together."""
    return sum(file.size for file in files)
