"""The journal of a chain, and the state that it amounts to."""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from generator.files import FileReadError, WorkspaceFiles, read_text, writing
from generator.kaggle.api_types import RemoteKernel, SessionState
from generator.kaggle.chain.errors import ChainError, JournalDamagedError, JournalError, NoChainError
from generator.pair.folder import Edits, base_of, cell_edits, existing_pair, pulled_version
from generator.pair.notebook import digest_of_cells
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.text import JsonObject, printable

# The events of a chain while it runs; the command line shows them, programs read them as JSON.


class EventKind(StrEnum):
    """The sorts of news."""

    STEP = "step"
    STATE = "state"
    NOTE = "note"
    LOG = "log"


@dataclass(frozen=True)
class Event:
    """One piece of news.

    Attributes:
        kind: What sort of news.
        step: The step that it is about, such as `train`, `infer`, `submit`.
        text: A sentence for people; untrusted.
        fields: The same for programs, as JSON values.
    """

    kind: EventKind
    step: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], None]


# The state of a chain: what it pushed, saw, checked and submitted; `replay` computes it from the journal.


class ChainStep(StrEnum):
    """The steps of a chain, to which it can be taken back."""

    TRAIN = "train"
    INFER = "infer"
    SUBMIT = "submit"


class Outcome(StrEnum):
    """A chain in one word."""

    UNFINISHED = "unfinished"
    FAILED = "failed"
    READY = "ready to submit"
    BY_HAND = "to be submitted by hand"
    SCORED = "scored"
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class ChainSetup:
    """The decisions that a chain began with; `target` is `local` or `kaggle`."""

    at: datetime
    pair: str
    pair_id: str
    target: str
    address: str
    account: str
    competition: str
    title: str
    is_code_competition: bool
    handoff: str
    submission_file: str
    commit: str
    parameters: JsonObject
    kit: str


@dataclass(frozen=True)
class SeenState:
    """When a session was first seen in a state."""

    state: SessionState
    at: datetime


@dataclass(frozen=True)
class Push:
    """A push that was announced; `version` is 0 as long as it is not known whether it was made.

    `source` is the digest of the kernel's folder, `sent` that of the cells that were sent. `limit_seconds` is the limit
    of the session that was sent, or 0. `log_seconds` is the time of the last line of the log, or 0.
    """

    role: Role
    ref: str
    source: str
    sent: str
    baseline: int
    machine_shape: str
    limit_seconds: int
    announce_time: datetime
    version: int = 0
    url: str = ""
    push_time: datetime | None = None
    observations: tuple[SeenState, ...] = ()
    log_seconds: float = 0.0

    @property
    def is_open(self) -> bool:
        """True as long as the answer to the push is not known."""
        return self.version == 0

    @property
    def last(self) -> SessionState | None:
        """The state the session was last seen in."""
        return self.observations[-1].state if self.observations else None

    def first_seen(self, *states: SessionState) -> datetime | None:
        """When the session was first seen in one of these states."""
        return next((observation.at for observation in self.observations if observation.state in states), None)

    @property
    def queue_time(self) -> timedelta | None:
        """The time that the session waited for a machine, as far as it was watched."""
        start_time = self.first_seen(SessionState.RUNNING) or self.end_time
        return max(start_time - self.push_time, timedelta()) if start_time and self.push_time else None

    @property
    def ran(self) -> timedelta | None:
        """The time that the session ran, as far as it was watched."""
        start_time = self.first_seen(SessionState.RUNNING)
        return max(self.end_time - start_time, timedelta()) if start_time and self.end_time else None

    @property
    def seconds(self) -> float:
        """The time of the session, by its log or as far as it was watched; 0 if it is not known."""
        return self.log_seconds or (self.ran.total_seconds() if self.ran else 0.0)

    @property
    def end_time(self) -> datetime | None:
        """When the session was seen to be over."""
        return self.first_seen(SessionState.COMPLETE, SessionState.ERROR, SessionState.CANCELLED)


@dataclass(frozen=True)
class AnnouncedUpload:
    """A dataset or model version that was announced; `version` is 0 as long as it is not known to be made."""

    what: str
    kind: str
    ref: str
    digest: str
    baseline: int
    announce_time: datetime
    version: int = 0

    @property
    def is_open(self) -> bool:
        """True as long as the answer to the upload is not known."""
        return self.version == 0


@dataclass(frozen=True)
class AnnouncedSubmission:
    """A submission that was announced; `reference` is 0 as long as it is not known to be made."""

    tag: str
    announce_time: datetime
    reference: int = 0

    @property
    def is_open(self) -> bool:
        """True as long as the answer to the submission is not known."""
        return self.reference == 0


@dataclass(frozen=True)
class ByHand:
    """The page and the button of a submission that Kaggle takes in a browser only."""

    page: str
    button: str


@dataclass(frozen=True)
class LeaderboardScore:
    """The scores that Kaggle gave the submission."""

    at: datetime
    public: float | None
    private: float | None


@dataclass(frozen=True)
class Failure:
    """A step that failed, in the words of its error."""

    step: ChainStep
    message: str
    error: str
    at: datetime


@dataclass(frozen=True)
class QuotaSeen:
    """Accelerator hours used, in seconds, as the account had them at a moment."""

    at: datetime
    gpu: float | None
    tpu: float | None


@dataclass(frozen=True)
class ChainState:
    """A chain, as far as it has come; with `is_repaired` it may have come further than its journal knows."""

    setup: ChainSetup | None = None
    pushes: Mapping[Role, Push] = field(default_factory=dict)
    earlier: tuple[Push, ...] = ()
    training: JsonObject | None = None
    uploads: Mapping[str, AnnouncedUpload] = field(default_factory=dict)
    prediction: JsonObject | None = None
    submission: AnnouncedSubmission | None = None
    by_hand: ByHand | None = None
    score: LeaderboardScore | None = None
    failure: Failure | None = None
    quotas: tuple[QuotaSeen, ...] = ()
    is_finished: bool = False
    is_repaired: bool = False
    last: datetime | None = None

    @property
    def outcome(self) -> Outcome:
        """The chain in one word."""
        if self.failure is not None:
            return Outcome.FAILED
        if self.score is not None:
            return Outcome.SCORED
        if self.by_hand is not None:
            return Outcome.BY_HAND
        return Outcome.READY if self.prediction is not None and self.submission is None else Outcome.UNFINISHED

    @property
    def is_at_rest(self) -> bool:
        """True if nothing is under way: all that was asked for is done."""
        return self.outcome in (Outcome.READY, Outcome.SCORED, Outcome.BY_HAND)


_LARGEST = 64 * 1024 * 1024
_CHECKSUM_LINE = re.compile(rb'(\{.+), "check": "([0-9a-f]{16})"\}')
_BEGINNING = b'{"at": "'
_NUMBER = re.compile(r"[0-9]+")
_YEARS = range(2000, 9000)  # of a clock that may be wrong; moments are added to


class EntryKind(StrEnum):
    """The kinds of lines: something happened, or is about to."""

    BEGUN = "begun"
    PUSHING = "pushing"
    PUSHED = "pushed"
    NOT_PUSHED = "not-pushed"
    SESSION = "session"
    TRAINED = "trained"
    UPLOADING = "uploading"
    UPLOADED = "uploaded"
    NOT_UPLOADED = "not-uploaded"
    PREDICTED = "predicted"
    SUBMITTING = "submitting"
    SUBMITTED = "submitted"
    NOT_SUBMITTED = "not-submitted"
    BY_HAND = "by-hand"
    SCORED = "scored"
    FAILED = "failed"
    BACK = "back"
    QUOTA = "quota"
    FINISHED = "finished"
    REPAIRED = "repaired"


@dataclass(frozen=True)
class Entry:
    """One line; `fields` are the JSON values that this kind has."""

    kind: EntryKind
    at: datetime
    fields: JsonObject = field(default_factory=JsonObject)


class Journal:
    """One chain's file; `files` is the way to write it."""

    def __init__(self, path: Path, files: WorkspaceFiles) -> None:
        self.path = path
        self.files = files

    @property
    def number(self) -> int:
        """The number of the chain, which is the name of its file."""
        return int(self.path.stem)

    @property
    def folder(self) -> Path:
        """Where the files of this chain are kept: what was fetched, and what was sent."""
        return self.path.with_suffix("")

    @property
    def has_begun(self) -> bool:
        """True if it has a line, damaged or not.

        Raises:
            FileReadError: The file cannot be read.
            UnsafePlaceError: It is a link.
        """
        lines, rest = self._content()
        return bool(lines) or not _is_torn(rest)

    def entries(self) -> tuple[Entry, ...]:
        """Every line, in order; a last line that a crash cut off is left out.

        Raises:
            FileReadError: The file cannot be read.
            JournalDamagedError: A line is not what was written.
            JournalError: A line is of a newer version of the kit.
            UnsafePlaceError: The file is a link.
        """
        lines, rest = self._content()
        entries = tuple(self._entry(lines, index) for index in range(len(lines)))
        if not _is_torn(rest):
            raise self.damage_error(len(lines) + 1, "it is not what was written")
        return entries

    def append(self, event: EntryKind, /, *, at: datetime, **fields: object) -> Entry:
        """Adds a line, and returns once it is on the disk.

        Raises:
            FileWriteError: No permission or no space; nothing that the line announces may be done then.
            UnsafePlaceError: The file is a link, or below one.
        """
        whole, _ = self._content()
        entry = {"at": at.astimezone(UTC).isoformat(), "event": str(event), **fields}
        if whole:
            entry["before"] = _link(whole, len(whole))
        with writing(self.path):
            # What a crash cut off goes.
            size = sum(len(line) + 1 for line in whole)
            self.files.append(
                self.path, _add_digest(json.dumps(entry, ensure_ascii=False).encode("utf-8")), behind=size
            )
        return Entry(event, at, JsonObject(fields))

    def cut(self, line: int) -> None:
        """Forgets a line and those behind it, and keeps the file as it was beside it.

        Raises:
            FileWriteError: No permission or no space; nothing was changed.
            UnsafePlaceError: The file is a link, or below one.
        """
        lines, rest = self._content()
        number = 1 + sum(1 for _ in self.path.parent.glob(f"{self.path.stem}.damaged-*"))
        self.files.write(self.path.with_name(f"{self.path.stem}.damaged-{number}"), b"\n".join([*lines, rest]))
        self.files.write(self.path, b"".join(kept_line + b"\n" for kept_line in lines[: line - 1]))

    def damage_error(self, line: int, problem: str) -> JournalDamagedError:
        """The error for a line that cannot be gone by."""
        return JournalDamagedError(path=self.path, pair=self.path.parents[2].name, line=line, problem=problem)

    def _entry(self, lines: list[bytes], index: int) -> Entry:
        """Reads a line, if it is what was written behind the ones before it."""
        line = lines[index]
        checksum_match = _CHECKSUM_LINE.fullmatch(line)
        if checksum_match is not None and _digest(checksum_match[1]) != checksum_match[2]:
            raise self.damage_error(index + 1, "it is not what was written")
        # Journals of before there were checks are gone on with; behind a line with one there is none without.
        if checksum_match is None and index and _CHECKSUM_LINE.fullmatch(lines[index - 1]):
            raise self.damage_error(index + 1, "it has no checksum")
        try:
            fields = json.loads(line)
            fields.pop("check", None)
            link = fields.pop("before", None)
            at = datetime.fromisoformat(fields.pop("at"))
            event = str(fields.pop("event"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self.damage_error(index + 1, "it is not a line of a journal") from error
        if checksum_match is not None and link != (_link(lines, index) if index else None):
            raise self.damage_error(index + 1, "it does not follow the line before it")
        if at.tzinfo is None or at.year not in _YEARS:
            raise self.damage_error(index + 1, "its time is impossible")
        if event in set(EntryKind):
            return Entry(EntryKind(event), at, JsonObject(fields))
        if checksum_match is not None:
            raise JournalError(
                f"Line {index + 1} of {printable(str(self.path))} was written by a newer version of the kit, which is "
                "needed to go on with this chain; --restart begins a new one."
            )
        raise self.damage_error(index + 1, "it has a value that no version of the kit writes")

    def _content(self) -> tuple[list[bytes], bytes]:
        """The whole lines, and what is behind the last of them."""
        try:
            with os.fdopen(self.files.open(self.path, os.O_RDONLY), "rb") as file:
                *lines, rest = file.read(_LARGEST).split(b"\n")
        except FileNotFoundError:
            return [], b""
        except OSError as error:
            raise FileReadError(path=self.path, cause=error) from error
        return lines, rest


class Journals:
    """All chains of a pair, in `.tandem/chains`."""

    def __init__(self, pair: PairFolder) -> None:
        self._pair = pair
        self.folder = pair.state / "chains"

    def list_all(self) -> list[Journal]:
        """The journals that have begun, the oldest first."""
        paths = [path for path in self.folder.glob("*.jsonl") if _NUMBER.fullmatch(path.stem)]
        journals = [Journal(path, self._pair.files) for path in sorted(paths, key=lambda path: int(path.stem))]
        return [journal for journal in journals if journal.has_begun]

    def next(self) -> Journal:
        """The journal of a chain that is to begin."""
        last = max((journal.number for journal in self.list_all()), default=0)
        return Journal(self.folder / f"{last + 1:04}.jsonl", self._pair.files)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other chains of the pair away; the lock ends with the process, however that ends.

        Raises:
            ChainError: Another process has the lock.
            FileWriteError: The lock cannot be made.
            UnsafePlaceError: It is a link, or below one.
        """
        path = self.folder / "lock"
        with writing(path):
            self._pair.files.make_folder(self.folder)
            handle = self._pair.files.open(path, os.O_RDWR | os.O_CREAT)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                name, process = printable(self._pair.name), os.read(handle, 32).decode("ascii", "replace")
                holder = f" (process {printable(process)})" if process.strip() else ""
                raise ChainError(
                    f"Another chain of {name} is running{holder}; wait for it or stop it. `tandem status {name}` shows "
                    "where it is.",
                    code="chain-running",
                ) from error
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(handle)


def _add_digest(line: bytes) -> bytes:
    """A line with its own digest."""
    return line[:-1] + b', "check": "' + _digest(line[:-1]) + b'"}\n'


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode()


def _link(lines: list[bytes], count: int) -> str:
    """A line's word on those before it: the digest of the last one, which has theirs; of all, where it has not."""
    last = lines[count - 1]
    return _digest(last if _CHECKSUM_LINE.fullmatch(last) else b"\n".join(lines[:count])).decode()


def _is_torn(rest: bytes) -> bool:
    """True if what is behind the last line can be one that a crash cut off, and not one that was whole."""
    is_beginning = rest.startswith(_BEGINNING) or _BEGINNING.startswith(rest)
    return is_beginning and b"\0" not in rest and len(rest) < _LARGEST


# Replaying journals: from their lines to the state of a chain, and to what the chains of a pair have come to.


T = TypeVar("T")
_READERS: Mapping[Any, Callable[[JsonObject, str], Any]] = {
    str: JsonObject.text,
    int: JsonObject.count,
    bool: JsonObject.flag,
    float | None: JsonObject.number,
    JsonObject: JsonObject.section,
}


class ContradictionError(ValueError):
    """A line that cannot stand where it does; `line` is its number."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def replay_journal(entries: Iterable[Entry]) -> ChainState:
    """The state that the lines of a journal amount to. Pure; nothing here looks at the world.

    Raises:
        ContradictionError: A line contradicts those before it.
    """
    state = ChainState()
    for number, entry in enumerate(entries, start=1):
        try:
            state = replace(_CHANGES[entry.kind](state, entry), last=entry.at)
        except (KeyError, ValueError) as error:
            raise ContradictionError(number) from error
    return state


def state_in(journal: Journal) -> ChainState:
    """The state that a journal amounts to.

    Raises:
        FileReadError: It cannot be read.
        JournalDamagedError: One of its lines cannot be gone by.
        JournalError: One of them is of a newer version of the kit.
    """
    try:
        return replay_journal(journal.entries())
    except ContradictionError as error:
        raise journal.damage_error(error.line, "it contradicts the lines before it") from error


def latest(journals: Journals, target: str) -> Journal | None:
    """The newest chain of the pair on a Kaggle.

    Raises:
        JournalError: Which one that is cannot be said, or how far it has come.
    """
    for journal in reversed(journals.list_all()):
        setup = state_in(journal).setup
        if setup is not None and setup.target == target:
            return journal
    return None


def has_chain(journals: Journals, target: str) -> bool:
    """True if the pair has a chain on a Kaggle; one that cannot be gone by counts."""
    try:
        return latest(journals, target) is not None
    except JournalError:
        return True


def newest_chain(workspace: Workspace, pair: str, target: str | None) -> Journal:
    """The journal of a pair's newest chain, on the Kaggle that is asked for or on any.

    Raises:
        NoChainError: There is none.
        PairError: There is no pair of this name.
    """
    journals = Journals(existing_pair(workspace, pair))
    journal = latest(journals, target) if target else next(reversed(journals.list_all()), None)
    if journal is None:
        raise NoChainError(pair=pair, target=target or "kaggle", verb="show")
    return journal


def chains_of(workspace: Workspace, pair: str) -> list[Journal]:
    """The journals of all chains of a pair, the oldest first."""
    return Journals(workspace.pair(pair)).list_all()


def chain_of(workspace: Workspace, pair: str, number: int) -> Journal:
    """The journal of the chain with a number, of a pair that has chains.

    Raises:
        ChainError: There is none.
    """
    journals = chains_of(workspace, pair)
    journal = next((entry for entry in journals if entry.number == number), None)
    if journal is None:
        raise ChainError(
            f"There is no chain {number} of {printable(pair)}.",
            remedy=f"The last one is chain {journals[-1].number}.",
            code="chain-not-found",
        )
    return journal


def repair(journals: Journals, now: datetime) -> None:
    """Cuts damaged journals down to the lines before the damage, and notes that Kaggle knows more than they do."""
    for journal in journals.list_all():
        try:
            state_in(journal)
        except JournalDamagedError as error:
            journal.cut(error.line)
            if journal.has_begun:
                journal.append(EntryKind.REPAIRED, at=now, line=error.line)


def newest_version(journals: Journals, setup: ChainSetup, ref: str) -> int:
    """The newest version of a kernel that any chain of the pair made on the Kaggle of this one; 0 if none did.

    A journal of an earlier chain that cannot be gone by does not count: what Kaggle has is asked for as well.
    """
    newest = 0
    for journal in journals.list_all():
        try:
            state = state_in(journal)
        except JournalError:
            continue
        # A local Kaggle may be another one each time, with nothing in it.
        if state.setup is not None and (state.setup.target, state.setup.address) == (setup.target, setup.address):
            pushes = (*state.pushes.values(), *state.earlier)
            newest = max([newest, *(push.version for push in pushes if push.ref == ref)])
    return newest


def _read(kind: type[T], entry: Entry) -> T:
    """A part of the state, from the fields of a line by the same names; what has a default is not known yet."""
    values: dict[str, Any] = {}
    for attribute in fields(kind):  # type: ignore[arg-type] # a dataclass
        if attribute.default is not MISSING:
            continue
        if attribute.type is datetime:
            values[attribute.name] = entry.at
        elif attribute.type in _READERS:
            values[attribute.name] = _READERS[attribute.type](entry.fields, attribute.name)
        elif isinstance(attribute.type, type) and issubclass(attribute.type, StrEnum):
            values[attribute.name] = attribute.type(entry.fields.text(attribute.name))
    return kind(**values)


def _with_push(state: ChainState, push: Push) -> ChainState:
    return replace(state, pushes={**state.pushes, push.role: push})


def _with_upload(state: ChainState, upload: AnnouncedUpload) -> ChainState:
    return replace(state, uploads={**state.uploads, upload.what: upload})


def _role(entry: Entry) -> Role:
    return Role(entry.fields.text("role"))


def _without(mapping: Mapping[Any, T], key: str) -> dict[Any, T]:
    return {name: value for name, value in mapping.items() if name != key}


def _apply_push(state: ChainState, entry: Entry) -> ChainState:
    ref, version, url = entry.fields.text("ref"), entry.fields.count("version"), entry.fields.text("url")
    return _with_push(state, replace(state.pushes[_role(entry)], ref=ref, version=version, url=url, push_time=entry.at))


def _session(state: ChainState, entry: Entry) -> ChainState:
    push = state.pushes[_role(entry)]
    observation = SeenState(SessionState(entry.fields.text("state")), entry.at)
    log_seconds = max(entry.fields.number("log_seconds") or 0.0, push.log_seconds)
    return _with_push(state, replace(push, observations=(*push.observations, observation), log_seconds=log_seconds))


def _apply_upload(state: ChainState, entry: Entry) -> ChainState:
    upload = state.uploads[entry.fields.text("what")]
    return _with_upload(state, replace(upload, version=entry.fields.count("version")))


def _apply_submission(state: ChainState, entry: Entry) -> ChainState:
    return replace(
        state, submission=replace(_read(AnnouncedSubmission, entry), reference=entry.fields.count("reference"))
    )


def _back(state: ChainState, entry: Entry) -> ChainState:
    return taken_back(state, ChainStep(entry.fields.text("to")), handoff=entry.fields.text("handoff"))


def taken_back(state: ChainState, step: ChainStep, *, handoff: str = "") -> ChainState:
    """Forgets what a step and those behind it made; a submission that was made stays made, but is no longer ours.

    Args:
        state: A chain.
        step: The step that is to be taken again.
        handoff: How the weights travel then; empty for as before.
    """
    state = replace(
        state, submission=None, by_hand=None, score=None, failure=None, is_finished=False, is_repaired=False
    )
    if step is ChainStep.SUBMIT:
        return state
    roles = (Role.TRAIN, Role.INFER) if step is ChainStep.TRAIN else (Role.INFER,)
    earlier = tuple(push for role in roles if (push := state.pushes.get(role)) is not None and not push.is_open)
    return replace(
        state,
        setup=replace(state.setup, handoff=handoff) if handoff and state.setup is not None else state.setup,
        pushes={role: push for role, push in state.pushes.items() if role not in roles},
        earlier=state.earlier + earlier,
        training=None if step is ChainStep.TRAIN else state.training,
        prediction=None,
    )


_CHANGES: dict[EntryKind, Callable[[ChainState, Entry], ChainState]] = {
    EntryKind.BEGUN: lambda state, entry: replace(state, setup=_read(ChainSetup, entry)),
    EntryKind.PUSHING: lambda state, entry: _with_push(state, _read(Push, entry)),
    EntryKind.PUSHED: _apply_push,
    EntryKind.NOT_PUSHED: lambda state, entry: replace(state, pushes=_without(state.pushes, _role(entry))),
    EntryKind.SESSION: _session,
    EntryKind.TRAINED: lambda state, entry: replace(state, training=entry.fields),
    EntryKind.UPLOADING: lambda state, entry: _with_upload(state, _read(AnnouncedUpload, entry)),
    EntryKind.UPLOADED: _apply_upload,
    EntryKind.NOT_UPLOADED: lambda state, entry: replace(
        state, uploads=_without(state.uploads, entry.fields.text("what"))
    ),
    EntryKind.PREDICTED: lambda state, entry: replace(state, prediction=entry.fields),
    EntryKind.SUBMITTING: lambda state, entry: replace(
        state, submission=_read(AnnouncedSubmission, entry), by_hand=None
    ),
    EntryKind.SUBMITTED: _apply_submission,
    EntryKind.NOT_SUBMITTED: lambda state, _: replace(state, submission=None),
    EntryKind.BY_HAND: lambda state, entry: replace(state, submission=None, by_hand=_read(ByHand, entry)),
    EntryKind.SCORED: lambda state, entry: replace(state, score=_read(LeaderboardScore, entry)),
    EntryKind.FAILED: lambda state, entry: replace(state, failure=_read(Failure, entry)),
    EntryKind.BACK: _back,
    EntryKind.QUOTA: lambda state, entry: replace(state, quotas=(*state.quotas, _read(QuotaSeen, entry))),
    EntryKind.FINISHED: lambda state, _: replace(state, is_finished=True),
    EntryKind.REPAIRED: lambda state, _: replace(state, is_repaired=True),
}


# The notebooks that a pair sent, by which a version that was edited on Kaggle is told from one of ours.
#
# Each is kept in `.tandem/chains/sent` before it is sent, so that the cells that differ can be named.


_LONGEST_EDITS = 600


_MOST_VERSIONS = 20
_DIGEST_OF_CELLS = re.compile(r"[0-9a-f]{64}")


class KernelHistory:
    """What the kernels of a pair were, as its journals and the notebooks that were kept tell of them."""

    def __init__(self, pair: PairFolder, journals: Journals) -> None:
        self._pair, self._journals = pair, journals
        self._folder = journals.folder / "sent"

    def keep(self, text: str) -> None:
        """Keeps a notebook that is about to be sent.

        Raises:
            FileWriteError: No permission or no space.
            UnsafePlaceError: A folder above it is a link.
        """
        self._pair.files.write(self._folder / f"{digest_of_cells(text)}.ipynb", text.encode("utf-8"))

    def edits(self, role: Role, ref: str, remote: RemoteKernel, *, sends: str) -> str:
        """The cells by which a version on Kaggle differs from ours; empty if a push over it loses nothing.

        A version is ours if a journal announced its cells, whatever became of that, or if they are those of the
        notebook that is to be sent or of the one that was rendered.

        Args:
            role: Which kernel of the pair.
            ref: Its name on Kaggle.
            remote: Its newest version there.
            sends: The notebook that is to be sent.
        """
        digest, path = digest_of_cells(remote.source), PairFolder(self._pair.path).notebook(role)
        rendered_text = _text(self._pair.path / base_of(path.relative_to(self._pair.path)))
        digests, last = self._collect_digests(ref)
        digests.add(pulled_version(self._pair, role)[1].text("digest"))
        if (
            digest in digests | {digest_of_cells(sends), digest_of_cells(rendered_text)}
            or self._notebook_path(digest).is_file()
        ):
            return ""
        base, base_label = _text(self._notebook_path(last)), "what was pushed last"
        if not base:
            base, base_label = sends, "the notebook that is to be pushed"
        return f"compared with {base_label}, {_shorten(cell_edits(remote.source, since=base))}"

    def base(self, role: Role, version: JsonObject) -> bytes | None:
        """The newest version of a kernel up to this one that the pair pushed or pulled; None if it knows of none.

        Args:
            role: Which kernel of the pair.
            version: The record of a version: `ref`, `version`, and the `address` of its Kaggle.
        """
        ref, address = version.text("ref"), version.text("address")
        versions: dict[int, bytes] = {}
        for state in self._states():
            if state.setup is not None and state.setup.address == address:
                for push in (*state.earlier, *state.pushes.values()):
                    if push.ref == ref and (content := self._sent_notebook(push.sent)):
                        versions[push.version] = content
        content, record = pulled_version(self._pair, role)
        if record.text("ref") == ref and record.text("address") == address:
            versions[record.count("version")] = content
        known_versions = [number for number in versions if 0 < number <= version.count("version")]
        return versions[max(known_versions)] if known_versions else None

    def versions(self, role: Role) -> list[bytes]:
        """The last notebooks that were pushed or pulled as one of the pair's, the newest first."""
        pushes = [push for state in self._states() for push in (*state.earlier, *state.pushes.values())]
        digests = dict.fromkeys(push.sent for push in reversed(pushes) if push.role is role)
        newest = list(digests)[:_MOST_VERSIONS]
        contents = (pulled_version(self._pair, role)[0], *map(self._sent_notebook, newest))
        return [content for content in contents if content]

    def _sent_notebook(self, digest: str) -> bytes:
        """A notebook that was kept; empty if it is not there. The digest of a journal may be anything."""
        text = _text(self._notebook_path(digest)) if _DIGEST_OF_CELLS.fullmatch(digest) else ""
        return text.encode("utf-8", "replace")

    def _states(self) -> Iterator[ChainState]:
        for journal in self._journals.list_all():
            with suppress(JournalError):
                yield state_in(journal)

    def _collect_digests(self, ref: str) -> tuple[set[str], str]:
        """The digests of all notebooks that were announced, and of the last one that a kernel was made of."""
        digests, last = set[str](), ""
        for journal in self._journals.list_all():
            try:
                state, entries = state_in(journal), journal.entries()
            except JournalError:
                continue
            digests |= {entry.fields.text("sent") for entry in entries if entry.kind is EntryKind.PUSHING}
            pushes = [push for push in (*state.earlier, *state.pushes.values()) if push.ref == ref and not push.is_open]
            last = pushes[-1].sent if pushes else last
        return digests, last

    def _notebook_path(self, digest: str) -> Path:
        return self._folder / f"{digest}.ipynb"


def _text(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return read_text(path)
    except FileReadError:
        return ""


def _shorten(edits: Edits) -> str:
    text = printable(str(edits))
    return text if len(text) <= _LONGEST_EDITS else f"{text[:_LONGEST_EDITS]} …"
