"""The session of a pushed version: waiting for it and for no other, and fetching what it wrote."""

import hashlib
import re
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TypeVar

from generator.errors import TandemError
from generator.kaggle.api_types import KernelOutput, RemoteFile, SessionState, SessionStatus
from generator.kaggle.chain.errors import (
    OutputDamagedError,
    OutputMissingError,
    SessionFailedError,
    SessionTimeoutError,
    StepError,
)
from generator.kaggle.chain.execution import ChainExecution, Poll
from generator.kaggle.chain.inputs import hours_in_words
from generator.kaggle.chain.journal import ChainStep, EntryKind, EventKind, Push
from generator.kaggle.errors import KaggleError, UnsafeAnswerError
from generator.pair.handover import DamagedError
from generator.pair.workspace import Role

_ACTIVE = (SessionState.QUEUED, SessionState.RUNNING, SessionState.CANCELLING, SessionState.NEW)
_TAIL_LINES, _TAIL_LETTERS = 8, 2000
_LATE_SECONDS = 60.0
_TIMEOUT = re.compile(r"execution duration|time.?out|time.?limit|timed out", re.IGNORECASE)
T = TypeVar("T")


class KernelSession:
    """The session of a kernel's version, seen from here."""

    def __init__(self, chain: ChainExecution, role: Role, *, show_log: bool = False) -> None:
        self._chain = chain
        self._role = role
        self._show_log = show_log
        self._finals = 0

    @property
    def push(self) -> Push:
        """The version."""
        return self._chain.state.pushes[self._role]

    @property
    def label(self) -> str:
        """The version in words."""
        return f"{self.push.ref}, version {self.push.version}"

    def file(self, name: str) -> Path:
        """The place of a fetched file in the chain's folder."""
        return self._chain.folder(self._role) / PurePosixPath(name).name

    def wait(self, required_names: Collection[str]) -> KernelOutput:
        """Waits until the session is over, and has what it should have written.

        Args:
            required_names: Names that have to be in the output.

        Raises:
            SessionFailedError: It ended otherwise than well.
            OutputMissingError: It ended well, without these files.
            WaitedInVainError: Nothing was to be learned of it for too long.
        """
        if self._show_log and not self._is_over:
            self._follow_log()
        poll = self._chain.poll(self.label, url=self.push.url, is_new=True)
        policy, over = self._chain.polling, poll.seconds
        while True:
            status = self._status(poll)
            is_believed = status.state.is_final and self._is_believed(status.state)
            if is_believed and status.state is not SessionState.COMPLETE:
                raise self._failure(status)
            if is_believed:
                output = poll.ask(self._output)
                missing = set(required_names) - {file.name for file in output.files}
                if not missing or poll.seconds - over >= policy.settle:
                    self._write_state(SessionState.COMPLETE, log_seconds=output.seconds)
                    if not missing:
                        return output
                    names = ", ".join(sorted(missing))
                    error = OutputMissingError(role=self._role, names=names, url=self.push.url)
                    raise self._chain.fail(ChainStep(self._role), error)
            else:
                over = poll.seconds
            trouble = f"it has been {status.state} for {policy.queue / 3600:.0f} hours"
            poll.give_up_after(policy.queue, trouble=trouble, remedy="It may be stuck.")
            poll.pause()

    def fetch(self, name: str, reader: Callable[[Path], T], *, failure: Callable[[str], StepError] | None = None) -> T:
        """Fetches a file of the output into the chain's folder, and again if it arrives otherwise than it was written.

        Args:
            name: Which file.
            reader: Makes something of the file; raises `DamagedError` if it is not whole.
            failure: Makes another error of what was wrong each time.

        Raises:
            OutputDamagedError: It never arrived whole.
        """
        destination = self.file(name)
        poll = self._chain.poll(f"{name} of {self.label}", url=self.push.url)
        problem, damage_count = "", 0
        while damage_count < self._chain.polling.attempts:
            try:
                self._chain.kaggle.files.fetch_output(self._find_file(name), destination)
                return reader(destination)
            except (DamagedError, UnsafeAnswerError) as error:
                problem, damage_count = str(error), damage_count + 1
                poll.pause()
            except TandemError as error:
                poll.tolerate(error)
        unfit = failure(problem) if failure else OutputDamagedError(role=self._role, name=name, problem=problem)
        raise self._chain.fail(ChainStep(self._role), unfit)

    def _find_file(self, name: str) -> RemoteFile:
        """The file as it is listed now: the addresses of a listing are valid for a while only."""
        for file in self._output().files:
            if file.name == name:
                return file
        raise DamagedError("it is no longer listed")

    @property
    def _is_over(self) -> bool:
        return self.push.last is not None and self.push.last.is_final

    def _output(self) -> KernelOutput:
        return self._chain.kaggle.kernels.output(self.push.ref, self.push.version)

    def _status(self, poll: Poll) -> SessionStatus:
        status = poll.ask(lambda: self._chain.kaggle.kernels.session_status(self.push.ref, self.push.version))
        if status.state in _ACTIVE:
            self._finals = 0
            if self._write_state(status.state):
                poll.hurry()
        return status

    def _is_believed(self, state: SessionState) -> bool:
        """True if a final state is that of our version: one never seen at work may still be the version before."""
        if self.push.last is state or self.push.first_seen(*_ACTIVE) is not None or self.push.baseline == 0:
            return True
        self._finals += 1
        return self._finals >= self._chain.polling.confirm

    def _write_state(self, state: SessionState, *, log_seconds: float = 0.0) -> bool:
        if self.push.last is state:
            return False
        seconds = {"log_seconds": log_seconds} if log_seconds else {}
        self._chain.write(
            EntryKind.SESSION, role=str(self._role), version=self.push.version, state=str(state), **seconds
        )
        self._chain.tell(self._role, _WORDS.get(state, str(state)), kind=EventKind.STATE, state=str(state))
        return True

    def _failure(self, status: SessionStatus) -> TandemError:
        self._write_state(status.state)
        tail = ""
        # A session that failed may have no output at all, and its log may be lost.
        with suppress(KaggleError):
            tail = "\n".join(self._output().log[-_TAIL_LETTERS:].splitlines()[-_TAIL_LINES:])
        limit, ran = self.push.limit_seconds, self.push.ran
        is_late = bool(ran and ran.total_seconds() >= limit - _LATE_SECONDS)
        is_timeout = limit and (is_late or _TIMEOUT.search(status.failure))
        return (SessionTimeoutError if is_timeout else SessionFailedError)(
            role=self._role,
            state=str(status.state),
            failure=status.failure,
            url=self.push.url,
            tail=tail,
            limit=hours_in_words(limit) if limit else "",
        )

    def _follow_log(self) -> None:
        """Shows the log as it grows; a thread of its own, because the stream blocks and may break."""

        def follow() -> None:
            try:
                for line in self._chain.kaggle.kernels.log_lines(self.push.ref):
                    fields = {"seconds": line.seconds, "stream": line.stream}
                    for text in line.text.splitlines():
                        self._chain.tell(self._role, text, kind=EventKind.LOG, **fields)
            except KaggleError as error:
                self._chain.tell(self._role, f"The log cannot be followed: {error.message}")

        threading.Thread(target=follow, name=f"log of {self.push.ref}", daemon=True).start()


_WORDS = {
    SessionState.QUEUED: "waiting for a machine",
    SessionState.RUNNING: "running",
    SessionState.COMPLETE: "complete",
    SessionState.CANCELLING: "being cancelled",
}


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
