"""One notebook in a session like Kaggle's: in a sandbox where there is one, and told of where it ended."""

import re
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from generator.errors import TandemError
from generator.run.notebook_file import read_notebook
from generator.run.notebook_outline import plan
from generator.run.terminal_text import strip_ansi
from generator.sessions.notebook_runner import NotebookRunner
from generator.sessions.runner import SessionEnd, SessionOrder
from generator.sessions.session_folder import SessionFolder
from generator.untrusted import printable

_LONGEST_REASON = 1_000
_LONGEST_LINE = 120
_FRAME = re.compile(
    r"(?:Cell|Input) In ?\[\d+\](?:, line (\d+))?|File "
)  # the beginning of one in IPython's tracebacks


@dataclass(frozen=True)
class Stop:
    """Why a notebook ended early, and in which cell; `is_own` says that it did so by a `raise` there, with a reason.

    `line` is the last one of a cell that was reached, where the reason does not say enough.
    """

    reason: str
    cell: str = ""
    section: str = ""
    line: str = ""
    is_own: bool = False


@dataclass(frozen=True)
class Session:
    """A session that is over; everything in its folder is a stranger's word.

    Attributes:
        end: What Kaggle would say of it.
        files: What it wrote, and the notebook as executed.
        stop: Why it ended; says nothing if it came to its end.
    """

    end: SessionEnd
    files: SessionFolder
    stop: Stop

    @property
    def is_done(self) -> bool:
        """True if the notebook came to its end."""
        return not self.end.failure

    @property
    def when(self) -> str:
        """The place where it ended, in words."""
        place = f", in the cell {self.stop.cell}" if self.stop.cell else ""
        section = f" ({self.stop.section})" if place and self.stop.section else ""
        line = f": {self.stop.line}" if self.stop.line else ""
        return f"after {self.end.seconds:.0f} s{place}{section}{line}"


class Sessions:
    """Runs notebooks for the length of a block, some at a time, each in a folder of its own below `folder`."""

    def __init__(self, folder: Path, *, at_a_time: int) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(at_a_time)
        self._stop = threading.Event()
        self._runner = NotebookRunner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stops those that still run."""
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    @property
    def isolation(self) -> str:
        """The way in which notebooks are kept apart from this machine, in words."""
        return self._runner.isolation

    def files(self, name: str) -> SessionFolder:
        """The files of the session of this name."""
        return SessionFolder(self._folder, name)

    def start(self, order: SessionOrder) -> "Future[Session]":
        """Starts a session as soon as there is room for it."""
        return self._pool.submit(self.run, order)

    def run(self, order: SessionOrder) -> Session:
        """Runs a session to its end."""
        order.files.make()
        end = self._runner.run(order, stop=self._stop)
        stopped = _stop(order.files.executed) if end.failure else None
        return Session(end, order.files, stopped or Stop(printable(end.failure)))


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
    frames = [strip_ansi(text) for text in output["traceback"] if _FRAME.match(strip_ansi(text))]
    in_cells = [frame for frame in frames if frame.startswith(("Cell", "Input"))]
    # Of comprehensions IPython shows another line than theirs.
    named = [frame for frame in in_cells if ", in <" not in frame.partition("\n")[0]]
    line = _line(named[-1]) if named else ""
    # Where the last frame is in a cell, and its statement raises by itself, that was meant for the reader.
    is_own = name != "AssertionError" and frames[-1:] == in_cells[-1:] and re.match(r"raise\b", line) is not None
    return Stop(
        cell=printable(planned.name),
        section=printable(planned.section),
        line="" if is_own else printable(line[:_LONGEST_LINE]),
        reason=": ".join(filter(None, (printable(name), " ".join(map(printable, message.split())))))[:_LONGEST_REASON],
        is_own=is_own,
    )


def _line(frame: str) -> str:
    """The line that a frame of a cell was at; the arrow in front of it is not always at the right one."""
    begins = _FRAME.match(frame)
    number = begins[1] if begins is not None else None
    found = re.search(rf"^(?:-+>)? *{number} +(.*)$", frame, re.MULTILINE)
    return found[1].strip() if number and found is not None else ""
