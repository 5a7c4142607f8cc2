"""One machine of Colab, rented by Google's command line, and the files sent to it."""

import codecs
import gzip
import hashlib
import io
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import tarfile
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from generator.accelerators import AcceleratorKind
from generator.colab.remote import ANSWER, pack, program
from generator.competition.tables import TOO_LARGE, tar_members
from generator.errors import TandemError, did_you_mean
from generator.pair.folder import deferred_interrupts
from generator.pair.handover import DamagedError, accelerator_in_words, read_json_object
from generator.pair.workspace import Workspace
from generator.run.execution import strip_ansi
from generator.text import JsonObject, parsed_json, printable, quote_text

# The errors of training on Colab.


class ColabError(TandemError):
    """A pair cannot be trained on Colab."""


class CommandLineMissingError(ColabError):
    """Google's command line is not installed."""

    def __init__(self, *, program: str) -> None:
        super().__init__(
            f"The program {printable(program)} does not exist. Install Google's command line for Colab, on Linux or "
            "macOS, "
            "in a separate environment (`pipx install google-colab-cli` or `uv tool install google-colab-cli`; it "
            "needs Python 3.12), or name it with --program."
        )


class StillRentedError(ColabError):
    """A machine of an earlier run may still be there."""

    def __init__(self, *, pair: str, session: str) -> None:
        super().__init__(
            f"The machine {printable(session)} of an earlier run of {printable(pair)} may still be rented. "
            f"To release it: `tandem colab stop {printable(pair)}`."
        )


class CommandError(ColabError):
    """A command of Google's command line failed."""

    def __init__(self, *, command: str, lines: Iterable[str], seconds: float | None = None) -> None:
        last = [quote_text(line) for line in lines if line.strip()][-3:]
        problem = f"took longer than {seconds:.0f} seconds" if seconds else "failed"
        super().__init__(f"`colab {printable(command)}` {problem}{': ' if last else '.'}{' / '.join(last)}")


class SubstituteError(ColabError):
    """Colab gave another machine than it was asked for."""

    def __init__(self, *, request: str, hardware: str) -> None:
        super().__init__(
            f"The request was for {printable(request)}, but Colab assigned {quote_text(hardware)}. Nothing was "
            "trained. Try again "
            "later, or request another machine: the offer depends on your plan and on demand."
        )


class TransferError(ColabError):
    """What arrived is not what was sent, or cannot be taken."""

    def __init__(self, *, item: str, problem: str) -> None:
        super().__init__(f"{printable(item)} could not be transferred: {quote_text(problem)}. Run the command again.")


class NoReceiptError(ColabError):
    """There is no receipt, or none that can be read."""

    def __init__(self, *, pair: str, path: Path) -> None:
        super().__init__(
            f"{printable(str(path))} does not exist or cannot be read: {printable(pair)} was never trained on Colab "
            "from this workspace. `colab sessions` lists what this account has rented."
        )


# Google's command line for Colab as a child process: one command, its output, and a limit to its time.
#
# Read and tried in google-colab-cli 0.7.5: `exec` ends with 0 though cells failed, and its time-out ends no cell;
# `stop` ends with 0 for a session that it does not know; `status` repeats what was asked for, while `sessions` says
# what the server gave; its requests for files have no time-out; whoever is not signed in is asked on standard
# input.


PROGRAM = "colab"
_LINES, _LONGEST = 2_000, 65_536
_MOST_CHARACTERS = 4 << 20  # of the last lines together
_CHUNK_COMMAND_LINE = 1 << 16
_LOOK_SECONDS = 0.2
_GRACE_SECONDS = 5.0
_BEHIND_THE_END_SECONDS = 1.0
_SEQUENCE = 256  # characters of colours within a secret
_LOGIN_ERRORS = ("authorize colab-cli", "No valid default credentials", "default credentials were not found")
_LISTED_SESSION = re.compile(r"\[(?P<name>[^\]]*)\] (?P<endpoint>\S+) \| Hardware: (?P<hardware>\S+)")
_NO_SESSIONS = "No active sessions"
_BALANCE = re.compile(r"Current balance: (\d{1,9}(?:\.\d{1,9})?)")


@dataclass(frozen=True)
class AssignedMachine:
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
        output = _CommandOutput(self.secrets, tell)
        with self._start_process(arguments, most_written) as process:
            is_late = not _has_ended(process, output, seconds)
            # Interrupted, `exec` still saves the notebook as far as it came, and says so.
            for number in (signal.SIGINT, signal.SIGTERM) if is_late else ():
                _signal(process, number)
                if _has_ended(process, output, _GRACE_SECONDS):
                    break
            _end(process)
            code = process.returncode
        lines = output.finish()
        if code and any(sign in line for line in lines for sign in _LOGIN_ERRORS):
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
            raise CommandError(command=arguments[0], lines=answer.lines, seconds=limit)
        return answer.lines

    def sessions(self) -> list[AssignedMachine]:
        """The machines that the account has, of whoever asked for them.

        Raises:
            CommandError: The server does not say.
            ColabError: What it says is not understood: that a machine is not in it does not mean that it is gone.
        """
        lines = self.run("sessions", seconds=STOPPING)
        machines = [AssignedMachine(**match.groupdict()) for line in lines if (match := _LISTED_SESSION.match(line))]
        is_whole = len(lines) < _LINES and (machines or any(_NO_SESSIONS in line for line in lines))
        if not is_whole:
            last = " / ".join(quote_text(line) for line in lines[-3:]) or "nothing"
            raise ColabError(
                f"`colab sessions` printed {last}, which does not list the rented machines. Check in a terminal, or at "
                "https://colab.research.google.com under Runtime, Manage sessions."
            )
        return machines

    def units(self) -> float | None:
        """The account's compute units; None if the server does not say, which is no reason to fail."""
        with suppress(CommandError):
            for line in self.run("usage", seconds=60):
                if balance := _BALANCE.match(line):
                    return float(balance[1])
        return None

    @contextmanager
    def _start_process(self, arguments: Sequence[str], most_written: int | None) -> "Iterator[subprocess.Popen[bytes]]":
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


class _CommandOutput:
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
            text = self._hidden(self._rest)
            self._keep(text[: -self._held_back])
            self._rest = text[-self._held_back :]

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


def _has_ended(process: "subprocess.Popen[bytes]", output: _CommandOutput, seconds: float) -> bool:
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
                chunk = os.read(handle, _CHUNK_COMMAND_LINE)
                output.take(chunk)
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
    """Ends a process, if it is still there, and those that it started; an interrupt shortens its time for that."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            if process.poll() is None:
                _signal(process, number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE_SECONDS)
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


# The machines that Google's command line can ask Colab for, and what their devices call themselves.
#
# Names and flags are those of google-colab-cli 0.7.5, which takes an unknown GPU for an A100 and an unknown TPU for
# a v6e-1; so nothing else is passed on. Prices and figures stand in `generator.accelerators`.


@dataclass(frozen=True)
class ColabMachine:
    """A kind of machine.

    Attributes:
        name: What the command line calls it, and `colab sessions` in upper case.
        kind: What computes.
        signs: Any of these is part of the name that its device gives itself.
        in_catalog: Its name in the catalog of accelerators.
        has_shapes: Whether it comes with much memory as well; the others have one shape, which has.
    """

    name: str
    kind: AcceleratorKind
    signs: tuple[str, ...]
    in_catalog: str
    has_shapes: bool = True

    @property
    def options(self) -> list[str]:
        """The options of `colab new` for it."""
        return [] if self.kind is AcceleratorKind.CPU else [f"--{self.kind}", self.name]

    def is_device(self, platform: str, device: str) -> bool:
        """True if a device may be that of this machine, by its platform and the name that it gives itself."""
        matching_machine = next(
            (machine for machine in MACHINES if any(sign in device.lower() for sign in machine.signs)), None
        )
        return platform == self.kind and matching_machine in (None, self)


MACHINES = (
    ColabMachine("CPU", AcceleratorKind.CPU, (), "CPU"),
    ColabMachine("T4", AcceleratorKind.GPU, ("tesla t4", "nvidia t4"), "T4"),
    ColabMachine("L4", AcceleratorKind.GPU, ("nvidia l4",), "L4", has_shapes=False),
    ColabMachine("G4", AcceleratorKind.GPU, ("rtx pro 6000",), "G4"),
    ColabMachine("A100", AcceleratorKind.GPU, ("a100",), "A100"),
    ColabMachine("H100", AcceleratorKind.GPU, ("h100",), "H100"),
    ColabMachine("v5e1", AcceleratorKind.TPU, ("v5 lite", "v5e", "v5litepod"), "TPU v5e-1", has_shapes=False),
    ColabMachine("v6e1", AcceleratorKind.TPU, ("v6 lite", "v6e"), "TPU v6e-1", has_shapes=False),
)


def machine_named(name: str) -> ColabMachine:
    """The machine of a name, in upper or lower case.

    Raises:
        ColabError: There is none.
    """
    for machine in MACHINES:
        if machine.name.lower() == name.lower():
            return machine
    names = [machine.name for machine in MACHINES]
    raise ColabError(f'Colab has no "{printable(name)}": choose {", ".join(names)}.{did_you_mean(name, names)}')


def usual_machine(kind: AcceleratorKind) -> ColabMachine:
    """The machine for a pair that trains on this kind of device: the first one, which costs least."""
    return next(machine for machine in MACHINES if machine.kind is kind)


# The receipt of a training on Colab: what was asked for and what was got, and whether it may still cost units.
#
# It is on the disk before a machine is asked for, and after each step: whatever ends this process, the next one
# knows the session's name. No token is among its fields.


_SESSION_NAME = re.compile(r"tandem-[a-z0-9-]{1,40}")
_MOST_FACTS = 50
_MOST = 1e15  # of a number in a receipt


class RentalStage(StrEnum):
    """How far a rental has come."""

    ASKED = "asked for"
    RENTED = "rented"
    RETURNED = "given back"
    UNKNOWN = "perhaps still rented"


@dataclass(frozen=True)
class ColabReceipt:
    """A training on Colab.

    Attributes:
        pair: The pair.
        session: The name by which Google's command line knows the machine.
        asked: The machine that was asked for.
        high_memory: Whether much memory was asked for.
        hours: How long the notebook may run.
        stage: Where the machine is.
        others: The machines that the account had before.
        machine: What the machine says of itself before anything is trained.
        accelerator: What the notebook found.
        units: The account's balance before and after.
        out_of_fold: The score that training measured.
        handover: The SHA-256 of what it handed over.
        failure: The sentence of the error that ended it.
        began: When it began.
        ended: When it ended.
    """

    pair: str
    session: str
    asked: str
    high_memory: bool
    hours: float
    stage: RentalStage = RentalStage.ASKED
    others: tuple[str, ...] = ()
    machine: dict[str, Any] = field(default_factory=dict)
    accelerator: dict[str, Any] = field(default_factory=dict)
    units: tuple[float | None, float | None] = (None, None)
    out_of_fold: dict[str, Any] = field(default_factory=dict)
    handover: str = ""
    failure: str = ""
    began: str = ""
    ended: str = ""


@dataclass
class ReceiptFile:
    """The receipt of a pair on the disk, `output/PAIR/colab/receipt.json`."""

    workspace: Workspace
    receipt: ColabReceipt

    @property
    def path(self) -> Path:
        """The file."""
        return receipt_path(self.workspace, self.receipt.pair)

    def note(self, **changes: Any) -> None:
        """Writes the receipt with other fields."""
        self.receipt = replace(self.receipt, **changes)
        text = json.dumps(asdict(self.receipt), indent=2, ensure_ascii=False) + "\n"
        self.workspace.files.write(self.path, text.encode("utf-8"))


def receipt_path(workspace: Workspace, pair: str) -> Path:
    """The place of a pair's receipt."""
    return workspace.output(pair) / "colab" / "receipt.json"


def read_receipt(workspace: Workspace, pair: str) -> ColabReceipt:
    """Reads the receipt of a pair's last training on Colab.

    Raises:
        NoReceiptError: There is none, or it is none that was written here.
    """
    path = receipt_path(workspace, pair)
    workspace.files.check(path)
    try:
        fields = read_json_object(path)
        stage = RentalStage(fields.text("stage"))
    except (FileNotFoundError, DamagedError, ValueError) as error:
        raise NoReceiptError(pair=pair, path=path) from error
    # The name becomes an argument of Google's program.
    if not _SESSION_NAME.fullmatch(fields.text("session")):
        raise NoReceiptError(pair=pair, path=path)
    units = dict(enumerate(_list(fields, "units")))
    return ColabReceipt(
        pair=pair,
        session=fields.text("session"),
        asked=fields.text("asked"),
        high_memory=fields.flag("high_memory"),
        hours=fields.number("hours") or 0.0,
        stage=stage,
        others=tuple(map(str, _list(fields, "others"))),
        machine=facts_of(fields.section("machine")),
        accelerator=facts_of(fields.section("accelerator")),
        units=(_number(units.get(0)), _number(units.get(1))),
        out_of_fold=facts_of(fields.section("out_of_fold")),
        handover=fields.text("handover"),
        failure=fields.text("failure"),
        began=fields.text("began"),
        ended=fields.text("ended"),
    )


def _list(fields: JsonObject, name: str) -> list[Any]:
    value = fields.get(name)
    return value if isinstance(value, list) else []


def _number(value: object) -> float | None:
    """A number that can be reckoned with, or None."""
    number = JsonObject({"": value}).number("")
    return number if number is not None and abs(number) < _MOST else None


def facts_of(fields: JsonObject) -> dict[str, Any]:
    """What a machine says of itself, as far as it is a number or a short text; the machine is untrusted."""
    entries = islice(fields.items(), _MOST_FACTS)
    return {
        quote_text(name): quote_text(value) if isinstance(value, str) else value
        for name, value in entries
        if value is None or isinstance(value, str | bool) or _number(value) is not None
    }


def now() -> str:
    """This moment, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


FOLDER = "/content/tandem"

# In seconds.
ASKING = 600.0  # until there is a machine
COMMAND = 600.0  # any other command that does not compute
BEAT = 240.0  # between two signs of life
SILENCE = 1_500.0  # without a sign of life, after which the machine releases itself
STOPPING = 120.0  # a command that gives it back, or lists what is rented
ATTEMPTS = 3  # to give it back
RETRY = 5.0  # between them


@dataclass(frozen=True)
class Rental:
    """A machine that is there: commands on it, by Google's command line."""

    command_line: CommandLine
    session: str
    private: Path

    def execute(self, file: Path, *, seconds: float, tell: Callable[[str], None], **environment: str) -> Answer:
        """Executes a program or a notebook; `seconds` is the limit of a cell, and nearly that of all of them."""
        variables = [part for name, value in environment.items() for part in ("--env", f"{name}={value}")]
        options = ("-s", self.session, "-f", str(file), "--timeout", f"{seconds:.0f}", *variables)
        return self.command_line.answer("exec", *options, seconds=seconds + COMMAND, tell=tell)

    def ask(self, name: str, /, **arguments: Any) -> JsonObject:
        """Runs one of the programs of `remote`, and returns its answer.

        Raises:
            CommandError: It has none.
        """
        file = self.private / f"{name}.py"
        file.write_text(program(name, **arguments), encoding="utf-8")
        answer = self.execute(file, seconds=COMMAND, tell=lambda _line: None)
        for line in reversed(answer.lines):
            if line.startswith(ANSWER):
                with suppress(ValueError):
                    return JsonObject.of(parsed_json(line.removeprefix(ANSWER)))
        raise CommandError(command=f"exec {file.name}", lines=answer.lines)

    def upload(self, file: Path, name: str) -> None:
        """Sends a file.

        Raises:
            CommandError: It did not arrive.
        """
        self.command_line.run("upload", "-s", self.session, str(file), name, seconds=COMMAND)

    def download(self, name: str, file: Path, *, most: int) -> None:
        """Fetches a file, and no more of it than one byte above `most`, where the system can limit that.

        Raises:
            CommandError: It did not arrive.
        """
        file.unlink(missing_ok=True)
        arguments = ("download", "-s", self.session, name, str(file))
        lines = self.command_line.run(*arguments, seconds=COMMAND, most_written=most + 1)
        if not file.is_file():
            raise CommandError(command=f"download {name}", lines=lines)

    def restart(self) -> None:
        """Ends what its kernel computes; the files stay."""
        self.command_line.run("restart-kernel", "-s", self.session, seconds=COMMAND)

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Gives signs of life for the length of the block; one that fails is followed by the next."""
        sign, over = self.private / "alive", threading.Event()
        sign.write_text("alive\n")

        def beat() -> None:
            while not over.wait(BEAT):
                with suppress(ColabError):
                    self.upload(sign, f"{FOLDER}/alive")

        thread = threading.Thread(target=beat, name="signs of life", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()


@contextmanager
def rent_machine(
    command_line: CommandLine, machine: ColabMachine, file: ReceiptFile, *, private: Path, tell: Callable[[str], None]
) -> Iterator[Rental]:
    """Rents a machine for the length of the block, makes sure that it is the right one, and gives it back.

    Args:
        command_line: Google's.
        machine: What is asked for.
        file: The receipt, which has the name of the session.
        private: A folder for what is sent.
        tell: Hears how it is given back.

    Raises:
        CommandError: There is none to be had.
        SubstituteError: Colab gave another one.
    """
    receipt = file.receipt
    file.note(stage=RentalStage.ASKED)
    try:
        _rent(command_line, machine, file, tell)
        rental = Rental(command_line, receipt.session, private)
        with rental.alive():
            _prepare_machine(rental, machine, file)
            yield rental
    finally:
        give_back(command_line, file, tell)


def give_back(command_line: CommandLine, file: ReceiptFile, tell: Callable[[str], None]) -> bool:
    """Gives a machine back, and returns whether it is known to be gone; the receipt says so too, also if interrupted.

    Raises:
        KeyboardInterrupt: Ctrl-C came twice, or once and it is over.
    """
    tell = _unfailing(tell)
    minutes = ATTEMPTS * 2 * STOPPING / 60
    is_gone = False
    doing = f"releasing the machine, which takes up to {minutes:.0f} minutes if Google's program hangs"
    with _second_ctrl_c(doing, file, tell):
        try:
            tell(doing)
            for attempt in range(ATTEMPTS):
                if attempt:
                    time.sleep(RETRY)
                    tell(f"attempt {attempt + 1} of {ATTEMPTS} to release it")
                if is_gone := _is_given_back(command_line, file, tell):
                    break
        finally:
            file.note(stage=RentalStage.RETURNED if is_gone else RentalStage.UNKNOWN)
    return is_gone


def _is_given_back(command_line: CommandLine, file: ReceiptFile, tell: Callable[[str], None]) -> bool:
    try:
        # A failure of it need not mean that the machine is there, nor its success that it is gone.
        with suppress(CommandError):
            command_line.run("stop", "-s", file.receipt.session, seconds=STOPPING)
        if not any(_may_be(session, file) for session in command_line.sessions()):
            return True
        tell("it is still rented")
    except ColabError as error:
        tell(f"it may still be rented: {error.message}")
    return False


def _unfailing(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Lines for whoever is there: a terminal that was closed must not keep the machine rented."""

    def attempt(line: str) -> None:
        # RuntimeError: a signal came while another line was written.
        with suppress(OSError, RuntimeError):
            tell(line)

    return attempt


@contextmanager
def _second_ctrl_c(doing: str, file: ReceiptFile, tell: Callable[[str], None]) -> Iterator[None]:
    """Lets the first Ctrl-C wait for the block and say how to leave, which is a second one."""
    pair = printable(file.receipt.pair)
    leave = f"Ctrl-C again exits at once, and a machine may stay rented. To release it: `tandem colab stop {pair}`"
    with deferred_interrupts(lambda: tell(f"{doing}. {leave}")):
        yield


def _may_be(session: AssignedMachine, file: ReceiptFile) -> bool:
    """True if a machine is the session's, or one that nobody here knows and that was not there before."""
    is_new = session.endpoint not in file.receipt.others
    return session.name == file.receipt.session or (session.name == "?" and is_new)


def _rent(command_line: CommandLine, machine: ColabMachine, file: ReceiptFile, tell: Callable[[str], None]) -> None:
    session = file.receipt.session
    file.note(others=tuple(active_session.endpoint for active_session in command_line.sessions()))
    high_memory = ["--high-mem"] if file.receipt.high_memory and machine.has_shapes else []
    # Ended half-way, it may leave a machine that it does not know of.
    doing = f"requesting a machine from Colab, which takes up to {ASKING / 60:.0f} minutes if Google's program hangs"
    with _second_ctrl_c(doing, file, _unfailing(tell)):
        command_line.run("new", "-s", session, *machine.options, *high_memory, seconds=ASKING)
        file.note(stage=RentalStage.RENTED)
    rented_session = next(
        (active_session for active_session in command_line.sessions() if active_session.name == session), None
    )
    if rented_session is not None and rented_session.hardware.upper() != machine.name.upper():
        raise SubstituteError(request=machine.name, hardware=rented_session.hardware)


def _prepare_machine(rental: Rental, machine: ColabMachine, file: ReceiptFile) -> None:
    """Starts the watch, and makes sure that the machine says of itself what was asked for."""
    seconds = file.receipt.hours * 3600 + 2 * COMMAND
    limits = {"seconds": seconds, "silence": SILENCE}
    facts = rental.ask("prepare_machine", alive=f"{FOLDER}/alive", **limits)
    file.note(machine=facts_of(facts))
    check_device(facts, machine)


def check_device(facts: JsonObject, machine: ColabMachine) -> None:
    """Makes sure that what a program found is the device of the machine that was asked for.

    Raises:
        SubstituteError: It is not.
    """
    if not machine.is_device(facts.text("platform"), facts.text("device_kind")):
        hardware = accelerator_in_words(facts) or facts.text("problem") or "something unknown"
        raise SubstituteError(request=machine.name, hardware=f"{hardware} ({facts.text('platform') or 'no platform'})")


# Folders to the machine at Colab and back: an archive in pieces, as the command line holds a whole file in memory.


PIECE_BYTES = 32 * 2**20
_MOST_PIECES = 640  # 20 GiB, what a session on Kaggle may write
_MOST_FILES = 100_000
_DEEPEST = 100  # folders below one another
_CHUNK_TRANSFER = 1 << 20
# Of sizes and times without measure, and of headers that say nothing but that another one follows.
_DAMAGE = (tarfile.TarError, EOFError, OverflowError, RecursionError, ValueError, zlib.error)


def folder_size(folder: Path, *, limit: int) -> int:
    """The bytes of the files in a folder, counted no further than the limit."""
    total = 0
    for path in folder.rglob("*"):
        total += path.stat().st_size if path.is_file() else 0
        if total > limit:
            break
    return total


def send_folder(rental: Rental, folder: Path, target: str) -> None:
    """Puts the files of a folder into one of the machine.

    Raises:
        ColabError: It has what is not sent.
        CommandError: A command failed.
        TransferError: What arrived is not what was sent.
    """
    check_sendable(folder)
    archive = rental.private / "sent"
    manifest = pack({"folder": folder, "archive": archive, "piece_bytes": PIECE_BYTES, "follow": True})
    pieces = {Path(piece): f"{FOLDER}/{Path(piece).name}" for piece in manifest["pieces"]}
    for piece, name in pieces.items():
        rental.upload(piece, name)
        piece.unlink()
    digest, names = manifest["sha256"], list(pieces.values())
    answer = rental.ask("unpack", archive=f"{FOLDER}/sent", pieces=names, sha256=digest, target=target)
    if answer.text("sha256") != digest:
        raise TransferError(item=folder.name, problem="the machine has other bytes than were sent")


def fetch_folder(rental: Rental, folder: str, target: Path) -> None:
    """Puts the files of a folder of the machine, if there are any, into an empty one here.

    Raises:
        CommandError: A command failed.
        TransferError: What arrived is not what was sent, or too much.
    """
    manifest = rental.ask("pack", folder=folder, archive=f"{FOLDER}/results", piece_bytes=PIECE_BYTES, follow=False)
    pieces = manifest.get("pieces")
    if not isinstance(pieces, list) or not pieces:
        return
    if len(pieces) > _MOST_PIECES:
        raise TransferError(item="the results", problem=f"they have {len(pieces)} pieces of {PIECE_BYTES >> 20} MiB")
    archive, digest = rental.private / "results.tar.gz", hashlib.sha256()
    piece = rental.private / "piece"
    with archive.open("wb") as whole:
        for number in range(len(pieces)):
            rental.download(f"{FOLDER}/results.{number}", piece, most=PIECE_BYTES)
            if piece.stat().st_size > PIECE_BYTES:
                raise TransferError(item="the results", problem=f"piece {number} is larger than was promised")
            content = piece.read_bytes()
            digest.update(content)
            whole.write(content)
    if digest.hexdigest() != manifest.text("sha256"):
        raise TransferError(item="the results", problem="other bytes arrived than were sent")
    unpack_results(archive, target)


def unpack_results(archive: Path, target: Path) -> None:
    """Unpacks what came from the machine, which may be anything: files and folders alone, within bounds.

    Raises:
        TransferError: It has something else, or too much of it; part of it may be unpacked then.
    """

    def refusal(reason: str) -> TransferError:
        return TransferError(item="the results", problem=f"their archive {reason.partition(';')[0]}")

    most_bytes = _MOST_PIECES * PIECE_BYTES
    left = most_bytes
    try:
        with gzip.open(archive) as stream:
            members = tar_members(
                cast("IO[bytes]", stream), most_files=_MOST_FILES, most_bytes=most_bytes, refusal=refusal
            )
            for member, content in members:
                if member.isdir():
                    _place(member.name, target).mkdir(parents=True, exist_ok=True)
                    continue
                if content is None or member.issparse():
                    raise TransferError(item="the results", problem=f"{member.name} is neither file nor folder")
                left -= member.size
                if left < 0:
                    raise refusal(TOO_LARGE)
                path = _place(member.name, target)
                path.parent.mkdir(parents=True, exist_ok=True)
                with content, path.open("xb") as file:
                    shutil.copyfileobj(content, file, _CHUNK_TRANSFER)
    except FileExistsError as error:
        raise TransferError(item="the results", problem="a file is in them twice, or is a folder at once") from error
    except (*_DAMAGE, OSError) as error:
        raise TransferError(item="the results", problem=str(error)) from error


def _place(name: str, target: Path) -> Path:
    parts = PurePosixPath(name).parts
    if ".." in parts or name.startswith("/") or len(parts) > _DEEPEST or "\0" in name:
        raise TransferError(item="the results", problem=f"{name[:80]} is outside of their folder")
    return target.joinpath(*parts)


def check_sendable(folder: Path) -> None:
    """Makes sure that a folder has nothing but what belongs to it, before it is sent.

    Raises:
        ColabError: A link in it leads out of it, or to a folder; it has a pipe or a device, or is too deep.
    """
    top, waiting = Path(os.path.realpath(folder)), [(folder, 1)]
    while waiting:
        place, depth = waiting.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.is_symlink():
                    end = Path(os.path.realpath(entry.path))
                    problem = "" if end.is_file() and end.is_relative_to(top) else "a link to another place"
                elif entry.is_dir():
                    problem = "" if depth < _DEEPEST else "too deep"
                    waiting += [] if problem else [(Path(entry.path), depth + 1)]
                else:
                    problem = "" if entry.is_file() else "a pipe or a device"
                if problem:
                    raise ColabError(
                        f"{quote_text(entry.path)} is {problem}. It may have come with the workspace. "
                        "Only regular "
                        f"files of {printable(str(folder))} are sent to Colab. Remove it, or replace it with the file "
                        "itself."
                    )
