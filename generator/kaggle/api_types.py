"""The values that a Kaggle is asked with and answers with."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.kaggle.errors import clean_log


@dataclass(frozen=True)
class RemoteCompetition:
    """A competition as `GetCompetition` describes it; texts are empty where Kaggle says nothing."""

    slug: str
    title: str
    metric: str
    is_code_competition: bool


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


class SubmissionStatus(StrEnum):
    """The state of a submission."""

    PENDING = "pending"
    COMPLETE = "complete"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class ApiSubmission:
    """One submission; a score is None until it is known."""

    ref: int
    status: SubmissionStatus
    description: str = ""
    public_score: float | None = None
    private_score: float | None = None
    error: str = ""


class SessionState(StrEnum):
    """The state of a kernel's session; a name that this kit does not know is `UNKNOWN`, not a crash."""

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
        """True once nothing more will happen to the session."""
        return self in (SessionState.COMPLETE, SessionState.ERROR, SessionState.CANCELLED)


@dataclass(frozen=True)
class SessionStatus:
    """A session's state; `failure` is Kaggle's word for why, or empty."""

    state: SessionState
    failure: str = ""


@dataclass(frozen=True)
class RemoteKernel:
    """A kernel: the number of its newest version, and that one's text."""

    version: int
    source: str


@dataclass(frozen=True)
class KernelPush:
    """A kernel to save and run: the fields of `kernel-metadata.json`, and the notebook's text.

    `machine_shape` is the accelerator asked for. A `docker_image` is not among the fields on purpose: one of a GPU
    makes a TPU session run without its TPU (Kaggle/kaggle-cli#1197). `may_hold_secrets` is not sent: somebody has
    said that what looks like a key in the text is none.
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
    may_hold_secrets: bool = False


@dataclass(frozen=True)
class PushResult:
    """The result of a push: `version` of the kernel `ref`, at `url`."""

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
    """Accelerator hours of this week."""

    gpu_used: timedelta
    gpu_allowed: timedelta
    tpu_used: timedelta
    tpu_allowed: timedelta


class DatasetState(StrEnum):
    """The state of a dataset's newest version; only one that is `READY` can be mounted."""

    PREPARING = "preparing"
    READY = "ready"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True)
class DatasetUpload:
    """Files to become a version of a dataset or model: relative POSIX names and where they are here."""

    title: str
    files: Mapping[str, Path] = field(default_factory=dict)
    notes: str = ""


def total_size(files: Sequence[RemoteFile]) -> int:
    """The bytes of all files together."""
    return sum(file.size for file in files)


# The log of a session as Kaggle writes it: events of a stream's name, a time and a text, whole or cut off.


END = "END_OF_LOG"
_EVENT = re.compile(r'\{"stream_name"\s*:')


def parse_log(log: str) -> str:
    """The text of a whole log, which is a JSON array of events; what is cut off is read as far as it goes."""
    return "".join(event.text for event in log_events(log))


def log_events(log: str) -> Iterator[LogLine]:
    """The events of a log: a JSON array, cut off anywhere or not; what is none is taken for text."""
    content = log.lstrip()
    # Of a log that lost its beginning, the first event that is whole is where it can be read from.
    first_event = _EVENT.search(content)
    if not content.startswith("[") and first_event is None:
        if content:
            yield LogLine(0.0, "stdout", clean_log(log))
        return
    decoder = json.JSONDecoder()
    position = 1 if content.startswith("[") or first_event is None else first_event.start()
    while position < len(content):
        while position < len(content) and content[position] in " \t\r\n,":
            position += 1
        try:
            value, position = decoder.raw_decode(content, position)
        except (ValueError, RecursionError):
            return
        if line := log_line(value):
            yield line


def log_line(value: Any) -> LogLine | None:
    """One event as a `LogLine`, or None if it is none."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), str):
        return None
    stream = value.get("stream_name")
    return LogLine(
        _seconds(value.get("time")),
        stream if isinstance(stream, str) and stream.isalnum() else "stdout",
        clean_log(value["data"]),
    )


def _seconds(time: Any) -> float:
    try:
        seconds = float(time)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0
