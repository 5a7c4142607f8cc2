"""The matrix of faults: what goes wrong, where, how often; and how a chain ends all the same.

Every cell is carried out on a local Kaggle with a pair of its own, by commands as a user would repeat them, and the
server is asked afterwards how many versions and submissions it has.
"""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from chain_pair import marker, pair_in, training_output
from miniature import write_tree
from scripted import ScriptedRunner, ScriptFailure, writing
from serving import DailyClock, Served, served

from generator.errors import TandemError
from generator.kaggle.chain import journal as journal_module
from generator.kaggle.chain.chain import push_pair
from generator.kaggle.chain.execution import ChainResult, Handoff, PollingPolicy, PushOptions, RunContext
from generator.kaggle.chain.journal import ChainStep, Outcome
from generator.kaggle.credentials import AccessToken
from generator.kaggle.gateway import Kaggle
from generator.kaggle.transport import RetryPolicy, Timeouts
from generator.localkaggle.services.kernels import SessionRules
from generator.pair.workspace import Workspace
from generator.sessions.sandbox import SessionOrder

PATIENT = PollingPolicy(first=0.002, growth=1.5, longest=0.02, commit=0.12)
IMPATIENT = replace(
    PATIENT, missing=0.1, forbidden_timeout=0.1, silent=0.1, settle=0.2, busy_timeout=0.1, ready=1, queue=0.5
)
"""For what goes on without end; what passes is waited for, however busy the machine is."""
ANSWERS = "id,label\n" + "".join(f"{number},{number % 3}\n" for number in range(6))
SAMPLE = "id,label\n" + "".join(f"{number},0\n" for number in range(6))


def _is_of(outcome: str, stops: str) -> bool:
    if not outcome or not stops:
        return outcome == stops
    return outcome.startswith(f"{stops}: ") or (" " in stops and stops in outcome)


@dataclass(frozen=True)
class Cell:
    """One way to go wrong.

    Attributes:
        name: What it is called in the matrix.
        rules: The faults in force.
        stops: The error that the first command ends with: its name, or words of it; "" for none.
        by: The step that has to be taken again by hand before the chain can end.
        counts: The versions of both kernels together, and the submissions, that the server has in the end.
        mode: `code` or `file`, how the competition is submitted to; or how the weights travel.
        kill: The line of the journal at which the process is killed, and whether before or after it is written.
        first: Rules for a chain before, which fails by them.
        outcome: How the chain ends.
    """

    name: str
    rules: tuple[str, ...] = ()
    stops: str = ""
    by: ChainStep | None = None
    counts: tuple[int, int] = (2, 1)
    mode: str = "code"
    kill: tuple[int, str] | None = None
    first: tuple[str, ...] = ()
    outcome: Outcome = Outcome.SCORED


@dataclass
class Arena:
    """A local Kaggle on which cells are carried out, one after the other."""

    kaggle: Served
    clock: DailyClock
    runner: ScriptedRunner
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 10_000)))

    def gateway(self, *, read_seconds: float) -> Kaggle:
        """A client that asks twice and never sleeps."""
        retries = RetryPolicy(attempts=2, sleep=lambda _: None)
        token = AccessToken(self.kaggle.token, source="the test")
        timeouts = Timeouts(connect=10, read=read_seconds, whole=20)
        return Kaggle(self.kaggle.address, token, is_local=True, retries=retries, timeouts=timeouts)

    def set_faults(self, rules: tuple[str, ...], name: str = "") -> None:
        """Puts other faults in force; `KERNEL` in a rule is the name of the cell's kernels without their role."""
        self.kaggle.set_faults(*(rule.replace("KERNEL", name) for rule in rules))


@contextmanager
def arena(root: Path) -> Iterator[Arena]:
    """A local Kaggle with two small competitions, whose sessions are over before their push is answered."""
    clock, runner = DailyClock(), ScriptedRunner()
    folders = [competition(root / "hosted", "cells-code", is_code=True)]
    folders.append(competition(root / "hosted", "cells-file", is_code=False))
    options = {"competitions": folders, "runner": runner, "clock": clock, "rules": SessionRules(slots=0)}
    with served(root / "kaggle", lint=False, **options) as kaggle:
        yield Arena(kaggle, clock, runner)


def competition(root: Path, slug: str, *, is_code: bool) -> Path:
    about = (
        f'slug = "{slug}"\ntitle = "Cells"\nmetric = "accuracy"\nsubmission = "label"\ndaily_limit = 5\n'
        f"public_share = 0.5\ncode_competition = {'true' if is_code else 'false'}\n"
    )
    data = {"data/sample_submission.csv": SAMPLE, "data/train.csv": ANSWERS}
    return write_tree(root / slug, {**data, "answers.csv": ANSWERS, "competition.toml": about})


@dataclass
class Play:
    """One cell being carried out."""

    arena: Arena
    cell: Cell
    root: Path

    def __post_init__(self) -> None:
        self.name = f"cell-{next(self.arena.numbers):04}"
        self.slug = "cells-file" if self.cell.mode == "file" else "cells-code"
        self.folder = pair_in(self.root, name=self.name, slug=self.slug)
        outputs = training_output(self.folder)

        def script(order: SessionOrder) -> None:
            if "-train" in order.title:
                is_whole = order.devices == 8
                writing(outputs if is_whole else {"accelerator.json": _WRONG})(order)
                if not is_whole:
                    raise ScriptFailure("RuntimeError: This notebook needs a TPU")
                return
            mounted = [folder / "sample_submission.csv" for folder in order.mounts.values()]
            sample = next((path for path in mounted if path.is_file()), None)
            if sample is None:
                raise ScriptFailure("FileNotFoundError: the competition is not attached")
            writing({"submission.csv": sample.read_text()})(order)

        self.arena.runner.script = script

    def command(self, *, back_to: ChainStep | None = None, restart: bool = False) -> ChainResult:
        handoff = Handoff(self.cell.mode) if self.cell.mode in ("dataset", "model") else None
        request = PushOptions(
            Workspace(self.root),
            self.name,
            submit=True,
            back_to=back_to,
            restart=restart,
            handoff=handoff,
            verify=False,
        )
        # A busy machine may take longer for an answer than a test should wait for one that never comes.
        gateway = self.arena.gateway(read_seconds=0.4 if "stall" in str(self.cell.rules) else 20)
        lasts = any(not re.search(r"x\d+$", rule) for rule in self.cell.rules) or "wedged" in str(self.cell.rules)
        return push_pair(gateway, request, RunContext(polling=IMPATIENT if lasts else PATIENT))

    def carry_out(self) -> None:
        """The commands of a user: again and again the same one, and the way back only where the error asks for it."""
        self.arena.clock.days += 1  # so that no cell runs out of submissions
        if self.cell.first:
            self.arena.set_faults(self.cell.first, self.name)
            self._attempt(self.command)
        self.arena.set_faults(self.cell.rules, self.name)
        back = self.cell.by if self.cell.first else None
        if self.cell.kill is not None:
            self._killed_command()
        else:
            stopped = self._attempt(lambda: self.command(back_to=back))
            assert _is_of(stopped, self.cell.stops), f"the first command ended with {stopped or 'no error'}"
            struck = self.arena.kaggle.site.faults.history
            assert len(struck) >= len(self.cell.rules), f"of {self.cell.rules} only {struck} struck"
        self.arena.set_faults(())
        if self.cell.by is not None and not self.cell.first:
            again = self._attempt(self.command)
            assert _is_of(again, "StepFailedError"), f"the same command ended with {again or 'no error'}"
            self.command(back_to=self.cell.by)
        elif self.cell.outcome is Outcome.SCORED:
            carried = self.command()
            assert carried.state.outcome is Outcome.SCORED
        else:
            assert _is_of(self._attempt(self.command), self.cell.stops)

    def counts(self) -> tuple[int, int]:
        """Versions and submissions that the server has."""
        database = self.arena.kaggle.site.database
        tag = f"%tandem {self.name} %"
        versions = database.fetch_one(_VERSIONS, (f"{self.name}%",))
        made = database.fetch_one("SELECT count(*) FROM submissions WHERE description LIKE ?", (tag,))
        return versions[0], made[0]

    def _attempt(self, command: Callable[[], object]) -> str:
        """The error that a command ends with, its name first; an error that is no sentence for the user is a bug."""
        try:
            command()
        except TandemError as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def _killed_command(self) -> None:
        """A command in a process of its own, killed before or after it writes a line of its journal."""
        assert self.cell.kill is not None
        child = os.fork()
        if child == 0:
            try:
                kill_at(*self.cell.kill)
                self.command()
            except TandemError:
                os._exit(2)
            except BaseException:  # noqa: BLE001 - a forked test must never return into pytest
                os._exit(3)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"the command ended by itself, with {os.WEXITSTATUS(status)}"


_VERSIONS = "SELECT count(*) FROM kernel_versions v JOIN kernels k ON k.id = v.kernel WHERE k.slug LIKE ?"
_WRONG = json.dumps(marker(device_count=1))


def kill_at(line: int, when: str) -> None:
    """Makes this process kill itself at the n-th line that it writes to a journal."""
    append = journal_module.Journal.append
    written = iter(range(1, 1000))

    def dying(self: journal_module.Journal, *arguments: object, **options: object) -> object:
        here = next(written) == line
        if here and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        entry = append(self, *arguments, **options)
        if here:
            os.kill(os.getpid(), signal.SIGKILL)
        return entry

    journal_module.Journal.append = dying
