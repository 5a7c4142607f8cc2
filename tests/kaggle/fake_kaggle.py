"""A Kaggle in memory: it answers at once, keeps count, and goes wrong where a test says so."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from generator.files import WorkspaceFiles
from generator.kaggle.api_types import (
    AcceleratorQuota,
    ApiSubmission,
    DatasetState,
    DatasetUpload,
    KernelOutput,
    KernelPush,
    LogLine,
    PushResult,
    Quota,
    RemoteCompetition,
    RemoteFile,
    RemoteKernel,
    SessionState,
    SessionStatus,
    SubmissionStatus,
)
from generator.kaggle.errors import NotFoundError

Hook = Exception | Callable[[], None] | None
QUEUED, RUNNING, COMPLETE, ERROR = (
    SessionStatus(SessionState[name]) for name in ("QUEUED", "RUNNING", "COMPLETE", "ERROR")
)
SAMPLE = "id,label\n1,0\n2,0\n3,0\n"


def quota(*, tpu: tuple[float, float, float] = (0, 0, 20), is_pay_to_scale: bool = False) -> Quota:
    """The week of an account: hours of TPU that are used, reserved and allowed, and 30 hours of GPU."""
    times = (timedelta(hours=hours) for hours in tpu)
    gpu = AcceleratorQuota(timedelta(hours=1), timedelta(), timedelta(hours=30), is_pay_to_scale)
    return Quota(gpu, AcceleratorQuota(*times, is_pay_to_scale))


@dataclass
class Version:
    push: KernelPush
    states: list[SessionStatus]
    files: dict[str, bytes]


@dataclass
class FakeKaggle:
    """`outputs` maps a kernel's role, the end of its slug, to what its sessions write.

    `wrong` maps a method's name to what becomes of its calls in turn: an error, which stands for an answer that never
    came, a function to be called, or None. That is before a call is handled, or after it for `METHOD-after`.
    """

    outputs: dict[str, dict[str, bytes]] = field(default_factory=dict)
    account: str = "local"
    is_local: bool = True
    is_code_competition: bool = True
    address: str = "http://127.0.0.1:1"
    states: dict[str, list[SessionStatus]] = field(default_factory=dict)
    wrong: dict[str, list[Hook]] = field(default_factory=dict)
    saved: dict[str, list[Version]] = field(default_factory=dict)
    made_submissions: list[tuple[str, str]] = field(default_factory=list)
    pending: int = 1
    scoring_error: str = ""
    allowed: int = 5
    week: Quota = field(default_factory=lambda: quota(tpu=(2, 0, 20)))
    log_seconds: float = 0.0
    uploads: dict[str, list[DatasetUpload]] = field(default_factory=dict)
    dataset_states: list[DatasetState] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kernels = self.competitions = self.datasets = self.models = self.files = self

    def _called(self, name: str) -> None:
        self.calls.append(name)
        hook = self.wrong[name].pop(0) if self.wrong.get(name) else None
        if isinstance(hook, Exception):
            raise hook.with_traceback(None)
        if hook:
            hook()

    @property
    def pushes(self) -> int:
        return sum(len(versions) for versions in self.saved.values())

    def username(self) -> str:
        return self.account

    def facts(self, slug: str) -> RemoteCompetition:
        self._called("competition")
        return RemoteCompetition(slug, "Digits", "Accuracy", self.is_code_competition)

    def list_files(self, slug: str) -> tuple[RemoteFile, ...]:
        self._called("competition_files")
        return (RemoteFile("sample_submission.csv", len(SAMPLE)),)

    def file_url(self, slug: str, name: str) -> str:
        return f"{self.address}/{name}"

    def download(self, url: str, destination: Path, *, size: int | None = None) -> Iterator[int]:
        WorkspaceFiles(destination.parent).write(destination, SAMPLE.encode())
        yield len(SAMPLE)

    def submissions_left(self, slug: str) -> int:
        self._called("submissions_left")
        return self.allowed

    def submissions(self, slug: str) -> tuple[ApiSubmission, ...]:
        self._called("submissions")
        made = [self._submission(number) for number in range(len(self.made_submissions))]
        return tuple(reversed(made))

    def submission(self, slug: str, ref: int) -> ApiSubmission:
        self._called("submission")
        if self.pending:
            self.pending -= 1
            return ApiSubmission(ref, SubmissionStatus.PENDING)
        return self._submission(ref - 100)

    def _submission(self, number: int) -> ApiSubmission:
        _, message = self.made_submissions[number]
        if self.scoring_error:
            return ApiSubmission(100 + number, SubmissionStatus.ERROR, description=message, error=self.scoring_error)
        return ApiSubmission(
            100 + number, SubmissionStatus.COMPLETE, description=message, public_score=0.96, private_score=0.95
        )

    def submit_kernel(self, slug: str, *, kernel: str, version: int, file_name: str, message: str) -> int:
        self._called("submit")
        self.made_submissions.append((f"{kernel} version {version}: {file_name}", message))
        self._called("submit-after")
        return 99 + len(self.made_submissions)

    def submit_file(self, slug: str, *, path: Path, message: str) -> int:
        self._called("submit")
        self.made_submissions.append((path.read_text(), message))
        self._called("submit-after")
        return 99 + len(self.made_submissions)

    def find(self, ref: str) -> RemoteKernel | None:
        self._called("kernel")
        versions = self.saved.get(ref)
        if not versions:
            return None
        return RemoteKernel(len(versions), source=versions[-1].push.text)

    def push(self, kernel: KernelPush) -> PushResult:
        self._called("push")
        role = kernel.ref.rpartition("-")[2]
        states = self.states.get(role, [RUNNING, COMPLETE])
        versions = self.saved.setdefault(kernel.ref, [])
        versions.append(Version(kernel, list(states), dict(self.outputs.get(role, {}))))
        self._called("push-after")
        return PushResult(kernel.ref, len(versions), f"https://www.kaggle.com/code/{kernel.ref}")

    def session_status(self, ref: str, version: int) -> SessionStatus:
        self._called("session_status")
        states = self._version(ref, version).states
        return states.pop(0) if len(states) > 1 else states[0]

    def output(self, ref: str, version: int) -> KernelOutput:
        self._called("output")
        files = self._version(ref, version).files
        listed = tuple(RemoteFile(name, len(content), f"{ref}/{version}") for name, content in files.items())
        return KernelOutput(listed, "the last line\n", self.log_seconds)

    def fetch_output(self, file: RemoteFile, destination: Path, *, most: int = 2**40) -> None:
        self._called("fetch_output")
        ref, _, version = file.url.rpartition("/")
        content = self._version(ref, int(version)).files[file.name]
        WorkspaceFiles(destination.parent).write(destination, content)

    def log_lines(self, ref: str) -> Iterator[LogLine]:
        yield LogLine(1.0, "stdout", "epoch 1\n")

    def quota(self) -> Quota:
        self._called("quota")
        return self.week

    def state(self, ref: str) -> DatasetState:
        self._called("dataset_state")
        return self.dataset_states.pop(0) if self.dataset_states else DatasetState.READY

    def upload(self, ref: str, upload: DatasetUpload) -> int:
        self._called("upload")
        self.uploads.setdefault(ref, []).append(upload)
        self._called("upload-after")
        return self.version(ref)

    def version(self, ref: str) -> int:
        return len(self.uploads.get(ref, []))

    def _version(self, ref: str, version: int) -> Version:
        versions = self.saved.get(ref, [])
        if not 0 < version <= len(versions):
            raise NotFoundError(doing=f"look at {ref}", words="", look_at="https://www.kaggle.com/code")
        return versions[version - 1]
