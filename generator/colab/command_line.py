"""Google's command line for Colab as a child process: one command, its output, and a limit to its time.

Read and tried in google-colab-cli 0.7.5: `exec` ends with 0 though cells failed, and its time-out ends no cell; `stop`
ends with 0 for a session that it does not know; `status` repeats what was asked for, while `sessions` says what the
server gave; its requests for files have no time-out; whoever is not signed in is asked on standard input.
"""

import codecs
import io
import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from generator.colab.errors import ColabError, CommandError, CommandLineMissingError
from generator.run.terminal_text import strip_ansi
from generator.untrusted import printable, quoted

PROGRAM = "colab"
_LINES, _LONGEST = 2_000, 65_536
_MOST_CHARACTERS = 4 << 20  # of the last lines together
_CHUNK = 1 << 16
_LOOK_SECONDS = 0.2
_GRACE_SECONDS = 5.0
_BEHIND_THE_END_SECONDS = 1.0
_SEQUENCE = 256  # characters of colours within a secret
_UNSIGNED = ("authorize colab-cli", "No valid default credentials", "default credentials were not found")
_SESSION = re.compile(r"\[(?P<name>[^\]]*)\] (?P<endpoint>\S+) \| Hardware: (?P<hardware>\S+)")
_NO_SESSIONS = "No active sessions"
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

    def answer(
        self,
        *arguments: str,
        seconds: float,
        tell: Callable[[str], None] | None = None,
        most_written: int | None = None,
    ) -> Answer:
        """Runs a command to its end, or to that of its time; an interrupt ends it as well.

        A process that it left behind is not waited for, even if that holds its output.

        Args:
            arguments: The command with its options.
            seconds: How long it may take.
            tell: Hears each line that it prints, at once.
            most_written: How many bytes a file may have that it writes, where the system can limit that.

        Raises:
            ColabError: It asks who is there.
        """
        printed = _Printed(self.secrets, tell)
        with self._started(arguments, most_written) as process:
            is_late = not _has_ended(process, printed, seconds)
            # Interrupted, `exec` still saves the notebook as far as it came, and says so.
            for number in (signal.SIGINT, signal.SIGTERM) if is_late else ():
                _signal(process, number)
                if _has_ended(process, printed, _GRACE_SECONDS):
                    break
            _end(process)
            code = process.returncode
        lines = printed.finish()
        if code and any(sign in line for line in lines for sign in _UNSIGNED):
            raise ColabError(
                f"Google's command line is not signed in: run `{printable(self.program)} sessions` once in a terminal "
                "and follow its link, or use Application Default Credentials (--auth adc)."
            )
        return Answer(code, lines, is_late)

    def run(self, *arguments: str, seconds: float, most_written: int | None = None) -> tuple[str, ...]:
        """The lines of a command that has to end well.

        Raises:
            CommandError: It failed, or its time was over.
            ColabError: It asks who is there.
        """
        answer = self.answer(*arguments, seconds=seconds, most_written=most_written)
        if answer.code or answer.is_late:
            limit = seconds if answer.is_late else None
            raise CommandError(what=arguments[0], said=answer.lines, seconds=limit)
        return answer.lines

    def sessions(self) -> list[Assigned]:
        """The machines that the account has, of whoever asked for them.

        Raises:
            CommandError: The server does not say.
            ColabError: What it says is not understood: that a machine is not in it does not mean that it is gone.
        """
        lines = self.run("sessions", seconds=120)
        found = [Assigned(**match.groupdict()) for line in lines if (match := _SESSION.match(line))]
        is_whole = len(lines) < _LINES and (found or any(_NO_SESSIONS in line for line in lines))
        if not is_whole:
            last = " / ".join(quoted(line) for line in lines[-3:]) or "nothing"
            raise ColabError(
                f"`colab sessions` says {last}, which does not tell what is rented. Look at it in a terminal, or at "
                "https://colab.research.google.com under Runtime, Manage sessions."
            )
        return found

    def units(self) -> float | None:
        """The account's compute units; None if the server does not say, which is no reason to fail."""
        with suppress(CommandError):
            for line in self.run("usage", seconds=60):
                if found := _BALANCE.match(line):
                    return float(found[1])
        return None

    @contextmanager
    def _started(self, arguments: Sequence[str], most_written: int | None) -> "Iterator[subprocess.Popen[bytes]]":
        """The process, in a group of its own, so that Ctrl-C at the terminal does not reach it."""
        try:
            process = subprocess.Popen(  # noqa: S603 - Google's program, by the name that the user gave
                [self.program, *self.options, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | ({"TMPDIR": str(self.temporary)} if self.temporary else {}),
            )
        except OSError as error:
            raise CommandLineMissingError(program=self.program) from error
        try:
            if most_written is not None:
                _limit_files(process.pid, most_written)
            yield process
        finally:
            _end(process)
            if process.stdout is not None:
                process.stdout.close()


class _Printed:
    """What a command prints, in lines without escape sequences and secrets; a secret may be in two reads."""

    def __init__(self, secrets: tuple[str, ...], tell: Callable[[str], None] | None) -> None:
        self._secrets, self._tell = secrets, tell
        # Colours within a secret are taken out before it is looked for.
        self._held_back = max(map(len, secrets), default=0) + _SEQUENCE
        self._decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
        self._rest = ""
        self._lines: deque[str] = deque()
        self._characters = 0

    def take(self, chunk: bytes) -> None:
        """Takes in some bytes; a line that is too long becomes several."""
        *lines, self._rest = (self._rest + self._decoder.decode(chunk)).split("\n")
        for line in lines:
            self._keep(self._hidden(line))
        if len(self._rest) > _LONGEST:
            shown = self._hidden(self._rest)
            self._keep(shown[: -self._held_back])
            self._rest = shown[-self._held_back :]

    def finish(self) -> tuple[str, ...]:
        """Returns the last lines."""
        if rest := self._rest + self._decoder.decode(b"", final=True):
            self._rest = ""
            self._keep(self._hidden(rest.rstrip("\n")))
        return tuple(self._lines)

    def _keep(self, line: str) -> None:
        self._lines.append(line)
        self._characters += len(line)
        while len(self._lines) > _LINES or self._characters > _MOST_CHARACTERS:
            self._characters -= len(self._lines.popleft())
        if self._tell is not None:
            self._tell(line)

    def _hidden(self, line: str) -> str:
        line = strip_ansi(line)
        for secret in self._secrets:
            line = line.replace(secret, "[hidden]")
        return line


def _has_ended(process: "subprocess.Popen[bytes]", printed: _Printed, seconds: float) -> bool:
    """Takes in what a process prints until it has ended; False if the time was over before."""
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for; for mypy
    handle, until = process.stdout.fileno(), time.monotonic() + seconds
    has_ended = False
    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            if not has_ended and process.poll() is not None:
                # Another process may hold the pipe, and print without end.
                has_ended, until = True, min(until, time.monotonic() + _BEHIND_THE_END_SECONDS)
            if selector.select(0 if has_ended else min(left, _LOOK_SECONDS)):
                chunk = os.read(handle, _CHUNK)
                printed.take(chunk)
                if not chunk:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(left)
                    break
            elif has_ended:
                break
    return process.poll() is not None


def _limit_files(number: int, size: int) -> None:
    """Limits how large a file a process can write, on Linux."""
    import resource

    if hasattr(resource, "prlimit"):
        with suppress(OSError):
            resource.prlimit(number, resource.RLIMIT_FSIZE, (size, size))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a process, if it is still there, and those that it started."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if process.poll() is None:
            _signal(process, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
