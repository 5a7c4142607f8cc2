"""One machine of Colab, from before it is asked for until it is known to be gone, whatever happens meanwhile.

Nothing at Colab gives a machine back for 24 hours. So three things do: the end of the block, after errors and signals
alike; a watch on the machine itself, which releases it when it has not heard from this process for a while; and the
receipt, which has the session's name before the machine is asked for.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.colab.command_line import Answer, Assigned, CommandLine
from generator.colab.errors import ColabError, CommandError, SubstituteError
from generator.colab.machines import Machine
from generator.colab.receipt import ReceiptFile, Stage, facts_of
from generator.colab.remote import ANSWER, program
from generator.pair.handover import accelerator_in_words
from generator.pair.interrupts import deferred_interrupts
from generator.untrusted import JsonObject, parsed_json

FOLDER = "/content/tandem"

# In seconds.
ASKING = 600.0  # until there is a machine
COMMAND = 600.0  # any other command that does not compute
BEAT = 240.0  # between two signs of life
SILENCE = 1_500.0  # without a sign of life, after which the machine releases itself
STOPPING = 120.0  # a command that gives it back
RETRY = 5.0  # between attempts to give it back


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
        raise CommandError(what=f"exec {file.name}", said=answer.lines)

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
        said = self.command_line.run(*arguments, seconds=COMMAND, most_written=most + 1)
        if not file.is_file():
            raise CommandError(what=f"download {name}", said=said)

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
def rented(
    command_line: CommandLine, machine: Machine, file: ReceiptFile, *, private: Path, tell: Callable[[str], None]
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
    asked = file.receipt
    file.note(stage=Stage.ASKED)
    try:
        _rent(command_line, machine, file)
        rental = Rental(command_line, asked.session, private)
        with rental.alive():
            _look(rental, machine, file)
            yield rental
    finally:
        with deferred_interrupts():
            tell("giving the machine back, for which Ctrl-C waits")
            give_back(command_line, file, tell)


def give_back(command_line: CommandLine, file: ReceiptFile, tell: Callable[[str], None]) -> bool:
    """Gives a machine back, and returns whether it is known to be gone; the receipt says so too."""
    session = file.receipt.session
    for attempt in range(3):
        if attempt:
            time.sleep(RETRY)
        try:
            # A failure of it need not mean that the machine is there, nor its success that it is gone.
            with suppress(CommandError):
                command_line.run("stop", "-s", session, seconds=STOPPING)
            if not any(_may_be(each, file) for each in command_line.sessions()):
                file.note(stage=Stage.RETURNED)
                return True
            tell("it is still rented")
        except ColabError as error:
            tell(f"whether it is gone is not known: {error.message}")
    file.note(stage=Stage.UNKNOWN)
    return False


def _may_be(assigned: Assigned, file: ReceiptFile) -> bool:
    """True if a machine is the session's, or one that nobody here knows and that was not there before."""
    is_new = assigned.endpoint not in file.receipt.others
    return assigned.name == file.receipt.session or (assigned.name == "?" and is_new)


def _rent(command_line: CommandLine, machine: Machine, file: ReceiptFile) -> None:
    session = file.receipt.session
    file.note(others=tuple(each.endpoint for each in command_line.sessions()))
    high_memory = ["--high-mem"] if file.receipt.high_memory and machine.has_shapes else []
    # Ended half-way, it may leave a machine that it does not know of.
    with deferred_interrupts():
        command_line.run("new", "-s", session, *machine.options, *high_memory, seconds=ASKING)
        file.note(stage=Stage.RENTED)
    found = next((each for each in command_line.sessions() if each.name == session), None)
    if found is not None and found.hardware.upper() != machine.name.upper():
        raise SubstituteError(asked=machine.name, got=found.hardware)


def _look(rental: Rental, machine: Machine, file: ReceiptFile) -> None:
    """Starts the watch, and makes sure that the machine says of itself what was asked for."""
    seconds = file.receipt.hours * 3600 + 2 * COMMAND
    limits = {"seconds": seconds, "silence": SILENCE}
    found = rental.ask("prepare", alive=f"{FOLDER}/alive", **limits)
    file.note(machine=facts_of(found))
    check_device(found, machine)


def check_device(found: JsonObject, machine: Machine) -> None:
    """Makes sure that what a program found is the device of the machine that was asked for.

    Raises:
        SubstituteError: It is not.
    """
    if not machine.is_device(found.text("platform"), found.text("device_kind")):
        got = accelerator_in_words(found) or found.text("problem") or "something unknown"
        raise SubstituteError(asked=machine.name, got=f"{got} ({found.text('platform') or 'no platform'})")
