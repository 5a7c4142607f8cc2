"""One notebook in a session like Kaggle's: in a sandbox where there is one, and told of where it ended."""

import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from generator.accelerators.catalog import AcceleratorKind
from generator.competition.facts import Value
from generator.errors import TandemError
from generator.run.notebook_file import read_notebook
from generator.run.notebook_outline import plan
from generator.run.terminal_text import strip_ansi
from generator.sessions.notebook_runner import NotebookRunner
from generator.sessions.runner import SessionEnd, SessionOrder
from generator.sessions.session_folder import SessionFolder
from generator.untrusted import printable

_LONGEST_REASON = 1_000
_FRAME = re.compile(r"(?:Cell|Input) In ?\[\d+\], line (\d+)|File .+?:(\d+)")


@dataclass(frozen=True)
class SessionWish:
    """One session to come.

    Attributes:
        name: What it is called, and its folder.
        notebook: The notebook.
        mounts: The folders that it reads, by their places below /kaggle/input.
        parameters: What overrides its parameters cell.
        environment: Environment variables beside those of a session.
        accelerator: What stands in its metadata.
        devices: How many devices of a TPU are emulated.
        hours: How long it may take.
        memory: How many bytes it may have.
        python: The Python of another environment to run it in.
        internet: Whether its metadata ask for the internet.
    """

    name: str
    notebook: Path
    mounts: Mapping[PurePosixPath, Path]
    parameters: Mapping[str, Value] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    accelerator: AcceleratorKind = AcceleratorKind.GPU
    devices: int = 1
    hours: float = 12.0
    memory: int = SessionOrder.memory_limit
    python: Path | None = None
    internet: bool = False


@dataclass(frozen=True)
class Stop:
    """The place where a notebook ended early; `is_own` says that it did so by a `raise` in a cell, with a reason."""

    cell: str
    section: str
    reason: str
    is_own: bool


@dataclass(frozen=True)
class Session:
    """A session that is over; everything in its folder is a stranger's word.

    Attributes:
        end: What Kaggle would say of it.
        working: What it wrote.
        executed: The notebook as executed.
        stop: Where it ended, if that was in a cell.
    """

    end: SessionEnd
    working: Path
    executed: Path
    stop: Stop | None = None

    @property
    def is_done(self) -> bool:
        """True if the notebook came to its end."""
        return not self.end.failure

    @property
    def reason(self) -> str:
        """The reason why it did not."""
        return self.stop.reason if self.stop is not None else printable(self.end.failure)

    @property
    def when(self) -> str:
        """The place where it ended, in words."""
        place = f", in the cell {self.stop.cell}" if self.stop is not None and self.stop.cell else ""
        section = f" ({self.stop.section})" if place and self.stop is not None and self.stop.section else ""
        return f"after {self.end.seconds:.0f} s{place}{section}"


class Sessions:
    """Runs notebooks, some at a time, each in a folder of its own below `folder`."""

    def __init__(self, folder: Path, pool: ThreadPoolExecutor, stop: threading.Event) -> None:
        self._folder = folder
        self._pool = pool
        self._stop = stop
        self._runner = NotebookRunner()

    @property
    def isolation(self) -> str:
        """The way in which notebooks are kept apart from this machine, in words."""
        return self._runner.isolation

    def start(self, wish: SessionWish) -> "Future[Session]":
        """Starts a session as soon as there is room for it."""
        return self._pool.submit(self.run, wish)

    def run(self, wish: SessionWish) -> Session:
        """Runs a session to its end."""
        files = SessionFolder(self._folder, wish.name)
        files.make()
        order = SessionOrder(
            title=wish.name,
            notebook=wish.notebook,
            executed=files.executed,
            mounts=wish.mounts,
            working=files.working,
            log=files.log,
            private=files.private,
            parameters=wish.parameters,
            environment=wish.environment,
            internet=wish.internet,
            accelerator=wish.accelerator,
            devices=wish.devices,
            time_limit=timedelta(hours=wish.hours),
            memory_limit=wish.memory,
            python=wish.python,
        )
        end = self._runner.run(order, stop=self._stop)
        ended = Session(end, files.working, files.executed)
        return ended if ended.is_done else replace(ended, stop=_stop(files.executed))


@contextmanager
def sessions(folder: Path, *, at_a_time: int) -> Iterator[Sessions]:
    """Sessions for as long as the block lasts; those that still run at its end are stopped."""
    stop = threading.Event()
    pool = ThreadPoolExecutor(at_a_time)
    try:
        yield Sessions(folder, pool, stop)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _stop(executed: Path) -> Stop | None:
    """The place where an executed notebook ended, from its first error."""
    try:
        cells = plan(read_notebook(executed))
    except TandemError:
        return None
    for planned in cells:
        for output in planned.cell.outputs:
            if output.output_type == "error":
                return _stop_at(planned, output)
    return None


def _stop_at(planned: Any, output: Mapping[str, Any]) -> Stop:
    name, message = str(output.get("ename", "")), strip_ansi(str(output.get("evalue", "")))
    frames = list(_FRAME.finditer(strip_ansi("\n".join(output["traceback"]))))
    # The last frame is where it was raised: in a cell, by a statement that says so, it was meant for the reader.
    line = int(frames[-1][1]) if frames and frames[-1][1] else 0
    return Stop(
        cell=printable(planned.name),
        section=printable(planned.section),
        reason=": ".join(filter(None, (printable(name), " ".join(map(printable, message.split())))))[:_LONGEST_REASON],
        is_own=name != "AssertionError" and _raises(output["traceback"], line),
    )


def _raises(traceback: list[str], line: int) -> bool:
    """True if the last frame of a traceback, which marks its line by an arrow, raises there by itself."""
    if not line:
        return False
    marked = [
        text for text in strip_ansi("\n".join(traceback)).splitlines() if re.match(rf"-+> {line}\b", text.strip())
    ]
    return bool(marked) and bool(re.match(rf"-+> {line} +raise\b", marked[-1].strip()))
