"""The values that a Kaggle is asked with and answers with."""

import json
import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, get_type_hints

from generator.kaggle.errors import clean_log
from generator.text import storable

COMPETITIONS = "kagglesdk.competitions.services.competition_api_service:CompetitionApiClient"
KERNELS = "kagglesdk.kernels.services.kernels_api_service:KernelsApiClient"
DATASETS = "kagglesdk.datasets.services.dataset_api_service:DatasetApiClient"
MODELS = "kagglesdk.models.services.model_api_service:ModelApiClient"
BLOBS = "kagglesdk.blobs.services.blob_api_service:BlobApiClient"
OAUTH = "kagglesdk.security.services.oauth_service:OAuthClient"
ACCOUNT = "kagglesdk.users.services.account_service:AccountClient"

JsonObject = Mapping[str, Any]

_LARGEST_FIELD_NAME = 60
_LONGEST_TEXT = 100_000  # characters of a text in an answer that is no document
_DOCUMENTS = ("content", "log", "source")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_SCALARS: dict[Any, str] = {str: "a text", int: "a whole number", bool: "true or false", float: "a number"}
_import_lock = threading.Lock()


class WrongTypeError(Exception):
    """A field of an answer has a type that `kagglesdk` does not expect there."""


@dataclass(frozen=True)
class SdkCall:
    """A call of a method, ready to be sent.

    Attributes:
        path: The method's name in addresses, such as `kernels.KernelsApiService/SaveKernel`.
        body: The request as JSON.
        answer_type: The type of `kagglesdk` that the answer has.
    """

    path: str
    body: bytes
    answer_type: Any

    @property
    def expects_redirect(self) -> bool:
        """True if the method answers with the address of a file."""
        return bool(self.answer_type is _import_name("kagglesdk.common.types.http_redirect:HttpRedirect"))

    def answer(self, values: JsonObject) -> Any:
        """The answer from its JSON.

        A field with an enum name that `kagglesdk` does not know is None; a field that is left out has its default,
        which for an enum is its first member.

        Raises:
            WrongTypeError: A field has another type than `kagglesdk` expects.
        """
        return _build(self.answer_type, values, "json_name")


def prepare_call(service: str, method: str, /, **fields: Any) -> SdkCall:
    """The call of a method by its name in `kagglesdk`.

    Args:
        service: One of the services above.
        method: The method in `snake_case`, such as `save_kernel`.
        fields: The fields of the request in `snake_case`: enums by name, objects as mappings. None leaves one out.
    """

    def call(service: str, method: str, request: Any, answer_type: Any) -> SdkCall:
        return SdkCall(f"{service}/{method}", json.dumps(type(request).to_dict(request)).encode(), answer_type)

    # A service hands what it is asked to its HTTP client; this one sends nothing.
    bound_method = getattr(_import_name(service)(SimpleNamespace(call=call)), method)
    prepared_call: SdkCall = bound_method(_build(get_type_hints(bound_method)["request"], fields, "field_name"))
    return prepared_call


def model_framework(name: str) -> str:
    """Kaggle's name of the framework in a model's handle: `pyTorch` is `MODEL_FRAMEWORK_PY_TORCH`; "" for none."""
    member = _enum(_import_name("kagglesdk.models.types.model_enums:ModelFramework"), name)
    return str(member.name) if member else ""


def moment(value: Any) -> datetime | None:
    """A date as Kaggle writes it, in UTC; None for anything else, since a date is never worth failing for."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _import_name(name: str) -> Any:
    # Two threads that import a package for the first time at once can see half of it.
    with _import_lock:
        return resolve_name(name)


def _build(kind: Any, values: JsonObject, naming: str) -> Any:
    """An object of a type of `kagglesdk`; `naming` is the property of its fields that has their names in `values`.

    Its own reading crashes on values that it does not expect.
    """
    instance = kind()
    fields = {getattr(field, naming): field for field in kind._fields}
    for name, value in values.items():
        # An answer may have fields that are not known yet, a request may not.
        if value is not None and (name in fields or naming == "field_name"):
            field = fields[name]
            setattr(instance, field.private_field_name, _value(field, value, naming))
    return instance


def _value(field: Any, value: Any, naming: str) -> Any:
    serializer = type(field.serializer).__name__
    if serializer == "ListSerializer":
        if not isinstance(value, list):
            raise _wrong(field, "a list")
        # How the items are written is known to a closure only, but their type tells.
        return [_item(field, item, naming) for item in value if item is not None]
    if serializer == "MapSerializer":
        return value if isinstance(value, dict) else {}
    return _item(field, value, naming)


def _item(field: Any, value: Any, naming: str) -> Any:
    kind = field.field_type
    if kind is datetime:
        return moment(value)
    if kind is timedelta:
        return _duration(field, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind, value)
    if hasattr(kind, "_fields"):
        if not isinstance(value, dict):
            raise _wrong(field, "an object")
        return _build(kind, value, naming)
    if kind in _SCALARS and type(value) is not kind:
        return _scalar(field, kind, value)
    return _text(field, value) if kind is str and naming == "json_name" else value


def _text(field: Any, value: str) -> str:
    if len(value) > _LONGEST_TEXT and field.json_name not in _DOCUMENTS:
        raise _wrong(field, f"a text of at most {_LONGEST_TEXT:,} characters")
    return storable(value)


def _scalar(field: Any, kind: type, value: Any) -> Any:
    """A number that came as a text, as JSON of protocol buffers writes large ones, or a text that came as a number."""
    is_number = type(value) in (int, float)
    if kind is str and is_number:
        return str(value)
    if kind is float and is_number:
        return float(value)
    if kind is int and isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        return int(value)
    raise _wrong(field, _SCALARS[kind])


def _enum(kind: Any, value: Any) -> Any:
    """A member by its number, or by its name: without regard to case and underscores, with the enum's prefix or not."""
    if isinstance(value, str):
        names = (_plain(value), _plain(kind.__name__ + value))
        return next((member for name, member in kind.__members__.items() if _plain(name) in names), None)
    return next((member for member in kind if member.value == value), None) if type(value) is int else None


def _duration(field: Any, value: Any) -> timedelta:
    try:
        return timedelta(seconds=float(value.removesuffix("s")))
    except (AttributeError, ValueError, OverflowError):
        raise _wrong(field, "a duration") from None


def _wrong(field: Any, expected: str) -> WrongTypeError:
    return WrongTypeError(f"has {field.json_name[:_LARGEST_FIELD_NAME]} that is not {expected}")


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


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
    """A kernel: the number of a version, and that one's text, competitions and pinned image."""

    version: int
    source: str
    competitions: tuple[str, ...] = ()
    docker_image: str = ""


@dataclass(frozen=True)
class KernelPush:
    """A kernel to save and run: the fields of `kernel-metadata.json`, and the notebook's text.

    `machine_shape` is the accelerator asked for. A `docker_image` is not among the fields on purpose: one of a GPU
    makes a TPU session run without its TPU (Kaggle/kaggle-cli#1197). `may_hold_secrets` is not sent: somebody has
    said that what looks like a key in the text is none. `limit_seconds` ends the session; 0 leaves that to Kaggle.
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
    limit_seconds: int = 0


@dataclass(frozen=True)
class PushResult:
    """The result of a push: `version` of the kernel `ref`, at `url`."""

    ref: str
    version: int
    url: str


@dataclass(frozen=True)
class KernelOutput:
    """The files that a session wrote, and its log (JSON lines joined to text; may be cut off or empty).

    `seconds` is the time of the last line of the log since the session's start; 0 if it has none.
    """

    files: tuple[RemoteFile, ...]
    log: str
    seconds: float = 0.0


@dataclass(frozen=True)
class LogLine:
    """One piece of a session's log: `seconds` since its start; `text` has no control characters but line ends."""

    seconds: float
    stream: str
    text: str


@dataclass(frozen=True)
class AcceleratorQuota:
    """This week's time on one kind of accelerator.

    Attributes:
        usage: The time that sessions used.
        reservation: The time that is set aside for sessions that run.
        allowance: The time of the week.
        is_pay_to_scale: Whether sessions beyond the allowance run, and cost money.
    """

    usage: timedelta
    reservation: timedelta
    allowance: timedelta
    is_pay_to_scale: bool = False

    @property
    def left(self) -> timedelta:
        """The time that no session used and that none has set aside."""
        return max(self.allowance - self.usage - self.reservation, timedelta())


@dataclass(frozen=True)
class Quota:
    """The accelerator time of this week; None for a kind that Kaggle says nothing of."""

    gpu: AcceleratorQuota | None
    tpu: AcceleratorQuota | None


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
