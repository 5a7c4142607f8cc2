"""Waiting for the session of the version that was pushed, and for no other; and fetching what it wrote."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import TypeVar

from generator.errors import TandemError
from generator.kaggle.api import KernelOutput, RemoteFile, SessionState, SessionStatus
from generator.kaggle.chain.errors import (
    OutputDamagedError,
    OutputMissingError,
    SessionFailedError,
    StepError,
    WaitedInVainError,
)
from generator.kaggle.chain.events import EventKind
from generator.kaggle.chain.handover import DamagedError
from generator.kaggle.chain.journal import Kind
from generator.kaggle.chain.record import Record, Watch
from generator.kaggle.chain.state import Push, Step
from generator.kaggle.errors import KaggleError, UnsafeAnswerError
from generator.pair.workspace import Role

_ACTIVE = (SessionState.QUEUED, SessionState.RUNNING, SessionState.CANCELLING, SessionState.NEW)
_TAIL_LINES, _TAIL_LETTERS = 8, 2000
T = TypeVar("T")


class Session:
    """The session of a kernel's version, seen from here."""

    def __init__(self, record: Record, role: Role, *, show_log: bool = False) -> None:
        self._record = record
        self._role = role
        self._show_log = show_log
        self._finals = 0

    @property
    def push(self) -> Push:
        """The version."""
        return self._record.state.pushes[self._role]

    @property
    def what(self) -> str:
        """The version in words."""
        return f"{self.push.ref}, version {self.push.version}"

    def wait(self, needed: Iterable[str]) -> KernelOutput:
        """Waits until the session is over, and has what it should have written.

        Args:
            needed: Names that have to be in the output.

        Raises:
            SessionFailedError: It ended otherwise than well.
            OutputMissingError: It ended well, without these files.
            WaitedInVainError: Nothing was to be learned of it for too long.
        """
        names = set(needed)
        if self._show_log and not self._is_over:
            self._follow_log()
        watch = Watch(self._record, self.what, url=self.push.url, is_new=True)
        started = over = self._record.clock.monotonic()
        while True:
            status = self._status(watch)
            if status.state in (SessionState.ERROR, SessionState.CANCELLED) and self._is_believed(status.state):
                raise self._failure(status)
            if status.state is SessionState.COMPLETE and self._is_believed(status.state):
                output = self._listing(watch)
                missing = names - {file.name for file in output.files}
                if not missing:
                    self._write_state(SessionState.COMPLETE)
                    return output
                if self._record.clock.monotonic() - over >= self._record.patience.settle:
                    self._write_state(SessionState.COMPLETE)
                    raise self._missing(missing)
            else:
                over = self._record.clock.monotonic()
            if self._record.clock.monotonic() - started >= self._record.patience.queue:
                trouble = f"it has been {status.state} for {self._record.patience.queue / 3600:.0f} hours"
                raise WaitedInVainError(what=self.what, trouble=trouble, url=self.push.url, remedy="It may be stuck.")
            watch.wait()

    def fetch(self, name: str, read: Callable[[bytes], T]) -> T:
        """Fetches a file of the output, and again if it arrives otherwise than it was written.

        Args:
            name: Which file.
            read: Makes something of its bytes; raises `DamagedError` if they are not whole.

        Raises:
            OutputDamagedError: It never arrived whole.
        """
        destination = self._record.folder(self._role) / PurePosixPath(name).name
        return self.fetch_to(destination, name, lambda path: read(path.read_bytes()))

    def fetch_to(
        self,
        destination: Path,
        name: str,
        read: Callable[[Path], T],
        *,
        failure: Callable[[str], StepError] | None = None,
    ) -> T:
        """As `fetch`, into a file of the chain's folder; `failure` makes another error of what was wrong each time."""
        watch = Watch(self._record, f"{name} of {self.what}", url=self.push.url)
        problem, damaged = "", 0
        while damaged < self._record.patience.attempts:
            try:
                self._record.kaggle.fetch_output(self._file(name), destination)
                return read(destination)
            except (DamagedError, UnsafeAnswerError) as error:
                problem, damaged = str(error), damaged + 1
                watch.wait()
            except TandemError as error:
                watch.endure(error)
        unfit = failure(problem) if failure else OutputDamagedError(role=self._role, name=name, problem=problem)
        raise self._record.fail(Step(self._role), unfit)

    def _file(self, name: str) -> RemoteFile:
        """The file as it is listed now: the addresses of a listing are valid for a while only."""
        output = self._record.kaggle.output(self.push.ref, self.push.version)
        for file in output.files:
            if file.name == name:
                return file
        raise DamagedError("it is no longer listed")

    @property
    def _is_over(self) -> bool:
        return self.push.last is not None and self.push.last.is_final

    def _status(self, watch: Watch) -> SessionStatus:
        while True:
            try:
                status = self._record.kaggle.session_status(self.push.ref, self.push.version)
            except TandemError as error:
                watch.endure(error)
                continue
            watch.well()
            if status.state in _ACTIVE:
                self._finals = 0
                if self._write_state(status.state):
                    watch.pace.reset()
            return status

    def _is_believed(self, state: SessionState) -> bool:
        """Whether a final state is that of our version: one never seen at work may still be the version before."""
        if self.push.last is state or self.push.first_seen(*_ACTIVE) is not None or self.push.baseline == 0:
            return True
        self._finals += 1
        return self._finals >= self._record.patience.confirm

    def _write_state(self, state: SessionState) -> bool:
        if self.push.last is state:
            return False
        self._record.write(Kind.SESSION, role=str(self._role), version=self.push.version, state=str(state))
        self._record.tell(self._role, _WORDS.get(state, str(state)), kind=EventKind.STATE, state=str(state))
        return True

    def _listing(self, watch: Watch) -> KernelOutput:
        while True:
            try:
                return self._record.kaggle.output(self.push.ref, self.push.version)
            except UnsafeAnswerError:
                raise
            except TandemError as error:
                watch.endure(error)

    def _failure(self, status: SessionStatus) -> TandemError:
        self._write_state(status.state)
        url = self.push.url
        output = self._last_output()
        return SessionFailedError(
            role=self._role, state=str(status.state), failure=status.failure, url=url, tail=_tail(output.log)
        )

    def _last_output(self) -> KernelOutput:
        """What there is of a session that failed; a failed one may have no output at all, and its log may be lost."""
        try:
            return self._record.kaggle.output(self.push.ref, self.push.version)
        except KaggleError:
            return KernelOutput(files=(), log="")

    def _missing(self, names: set[str]) -> TandemError:
        error = OutputMissingError(role=self._role, names=", ".join(sorted(names)), url=self.push.url)
        return self._record.fail(Step(self._role), error)

    def _follow_log(self) -> None:
        """Shows the log as it grows; a thread of its own, because the stream blocks and may break."""

        def follow() -> None:
            try:
                for line in self._record.kaggle.log_lines(self.push.ref):
                    fields = {"seconds": line.seconds, "stream": line.stream}
                    for text in line.text.splitlines():
                        self._record.tell(self._role, text, kind=EventKind.LOG, **fields)
            except KaggleError as error:
                self._record.tell(self._role, f"The log cannot be followed: {error.message}")

        threading.Thread(target=follow, name=f"log of {self.push.ref}", daemon=True).start()


_WORDS = {
    SessionState.QUEUED: "waiting for a machine",
    SessionState.RUNNING: "running",
    SessionState.COMPLETE: "complete",
    SessionState.CANCELLING: "being cancelled",
}


def _tail(log: str) -> str:
    """The last lines of a log, which may be JSON lines or text."""
    from generator.kaggle.chain.log_text import plain

    return "\n".join(plain(log)[-_TAIL_LETTERS:].splitlines()[-_TAIL_LINES:])
