"""Google's command line for Colab as a child process: one command, its output, and a limit to its time.

Read and tried in google-colab-cli 0.7.5: `exec` ends with 0 though cells failed, and its time-out ends no cell; `stop`
ends with 0 for a session that it does not know; `status` repeats what was asked for, while `sessions` says what the
server gave; its requests for files have no time-out; whoever is not signed in is asked on standard input.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from generator.colab.errors import ColabError, CommandError, CommandLineMissingError
from generator.run.terminal_text import strip_ansi
from generator.untrusted import printable

PROGRAM = "colab"
_LINES, _LONGEST = 2_000, 65_536
_GRACE_SECONDS = 5.0
_UNSIGNED = ("authorize colab-cli", "No valid default credentials", "default credentials were not found")
_SESSION = re.compile(r"\[(?P<name>[^\]]*)\] (?P<endpoint>\S+) \| Hardware: (?P<hardware>\S+)")
_BALANCE = re.compile(r"Current balance: (\d{1,9}(?:\.\d{1,9})?)")


@dataclass(frozen=True)
class Assigned:
    """A machine that the account has, as the server says; `name` is "?" if this computer did not ask for it."""

    name: str
    endpoint: str
    hardware: str


@dataclass(frozen=True)
class Answer:
    """The end of a command: its exit code, its last lines, and whether its time was over."""

    code: int
    lines: tuple[str, ...]
    is_late: bool


@dataclass(frozen=True)
class CommandLine:
    """Google's program.

    Attributes:
        program: Its name or path.
        options: What stands before each command.
        temporary: Where it leaves the pictures that cells draw.
        secrets: What is hidden in all that it prints.
    """

    program: str = PROGRAM
    options: tuple[str, ...] = ()
    temporary: Path | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def check_installed(self) -> None:
        """Makes sure that there is such a program.

        Raises:
            CommandLineMissingError: There is none.
        """
        if shutil.which(self.program) is None:
            raise CommandLineMissingError(program=self.program)

    def answer(self, *arguments: str, seconds: float, tell: Callable[[str], None] | None = None) -> Answer:
        """Runs a command to its end, or to that of its time; an interrupt ends it as well.

        Args:
            arguments: The command with its options.
            seconds: How long it may take.
            tell: Hears each line that it prints, at once.

        Raises:
            ColabError: It asks who is there.
        """
        lines: deque[str] = deque(maxlen=_LINES)
        with self._started(arguments) as process, _limited(process, seconds) as is_late:
            for line in _lines(process):
                shown = self._hidden(line)
                lines.append(shown)
                if tell is not None:
                    tell(shown)
            code = process.wait()
        if code and any(sign in line for line in lines for sign in _UNSIGNED):
            raise ColabError(
                f"Google's command line is not signed in: run `{printable(self.program)} sessions` once in a terminal "
                "and follow its link, or use Application Default Credentials (--auth adc)."
            )
        return Answer(code, tuple(lines), is_late.is_set())

    def run(self, *arguments: str, seconds: float) -> tuple[str, ...]:
        """The lines of a command that has to end well.

        Raises:
            CommandError: It failed, or its time was over.
            ColabError: It asks who is there.
        """
        answer = self.answer(*arguments, seconds=seconds)
        if answer.code or answer.is_late:
            limit = seconds if answer.is_late else None
            raise CommandError(what=arguments[0], said=answer.lines, seconds=limit)
        return answer.lines

    def sessions(self) -> list[Assigned]:
        """The machines that the account has, of whoever asked for them.

        Raises:
            CommandError: The server does not say.
        """
        lines = self.run("sessions", seconds=120)
        return [Assigned(**found.groupdict()) for line in lines if (found := _SESSION.match(line))]

    def units(self) -> float | None:
        """The account's compute units; None if the server does not say, which is no reason to fail."""
        with suppress(CommandError):
            for line in self.run("usage", seconds=60):
                if found := _BALANCE.match(line):
                    return float(found[1])
        return None

    @contextmanager
    def _started(self, arguments: Sequence[str]) -> "Iterator[subprocess.Popen[str]]":
        """The process, in a group of its own, so that Ctrl-C at the terminal does not reach it."""
        try:
            process = subprocess.Popen(  # noqa: S603 - Google's program, by the name that the user gave
                [self.program, *self.options, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
                env=os.environ | ({"TMPDIR": str(self.temporary)} if self.temporary else {}),
            )
        except OSError as error:
            raise CommandLineMissingError(program=self.program) from error
        try:
            yield process
        finally:
            _end(process)
            if process.stdout is not None:
                process.stdout.close()

    def _hidden(self, line: str) -> str:
        for secret in self.secrets:
            line = line.replace(secret, "[hidden]")
        return strip_ansi(line)


@contextmanager
def _limited(process: "subprocess.Popen[str]", seconds: float) -> Iterator[threading.Event]:
    """An event that is set once the time was over and the process was ended for that."""
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        _end(process)

    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), end)
    timer.daemon = True
    timer.start()
    try:
        yield is_late
    finally:
        timer.cancel()


def _lines(process: "subprocess.Popen[str]") -> Iterator[str]:
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for; for mypy
    for line in iter(lambda: process.stdout.readline(_LONGEST), ""):  # type: ignore[union-attr]  # as asserted
        yield line.rstrip("\r\n")


def _end(process: "subprocess.Popen[str]") -> None:
    """Ends a process, if it is still there, and those that it started."""
    # Interrupted, `exec` still saves the notebook as far as it came.
    for number in (signal.SIGINT, signal.SIGTERM):
        if process.poll() is None:
            _signal(process, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
