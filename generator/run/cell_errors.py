"""The errors of a notebook that did not reach its end, with the cell and the line.

CellError               a cell raised an exception
LateOutputError         the output of a cell did not arrive
NotebookTimeoutError    the notebook took longer than it was given
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.errors import RunError
from generator.installation import install_command
from generator.run.notebook_outline import PlannedCell
from generator.run.terminal_text import strip_ansi
from generator.untrusted import printable

_LINES_AROUND = 3
_MESSAGE_LINES = 20
_MESSAGE_WIDTH = 500
_MISSING = re.compile(r"No module named '(\w+)")
_FROM_EXTRAS = dict.fromkeys(("timm", "torch", "transformers"), "torch") | dict.fromkeys(
    ("flax", "jax", "keras", "optax", "orbax", "safetensors", "tensorflow"), "run"
)
_CELL_FRAME = re.compile(r"(?:Cell|Input) In ?\[(\d+)\](?:, line (\d+)|, in <cell line: (\d+)>)")


@dataclass(frozen=True)
class RaisedError:
    """An exception as the kernel reported it; all of it is untrusted text."""

    name: str
    message: str
    traceback: str


@dataclass(frozen=True)
class Excerpt:
    """The place at which an exception arose; `line` counts from 1, and is None where the traceback tells none."""

    cell: PlannedCell
    line: int | None

    def lines(self) -> list[tuple[int, str]]:
        """The numbered lines around the place."""
        source = self.cell.cell.source.split("\n")
        if self.line is None:
            return list(enumerate(source[: 2 * _LINES_AROUND], start=1))
        first = max(1, self.line - _LINES_AROUND)
        return list(enumerate(source[first - 1 : self.line + _LINES_AROUND], start=first))


def locate(error: RaisedError, *, running: PlannedCell, executed: Sequence[PlannedCell]) -> Excerpt:
    """Find the deepest frame of the traceback that lies in a cell, which may be another one than the running one."""
    by_count = {each.cell.execution_count: each for each in (*executed, running)}
    for found in reversed(list(_CELL_FRAME.finditer(strip_ansi(error.traceback)))):
        planned, line = by_count.get(int(found[1])), int(found[2] or found[3])
        if planned is not None and line <= planned.cell.source.count("\n") + 1:
            return Excerpt(planned, line)
    return Excerpt(running, None)


class CellError(RunError):
    """A cell raised an exception."""

    def __init__(
        self, *, notebook: str, running: PlannedCell, excerpt: Excerpt, error: RaisedError, kept: Path
    ) -> None:
        self.notebook = notebook
        self.running = running
        self.error = error
        super().__init__(
            f"{_headline(notebook, running, excerpt)}\n\n"
            f"{_listing(excerpt)}\n\n"
            f"{_exception(error)}\n\n"
            f"{_remedy(error)}"
            f"The notebook as far as it got: {printable(str(kept))}"
        )


class LateOutputError(RunError):
    """The output of a cell did not arrive after the cell had ended."""

    def __init__(self, *, notebook: str, seconds: float, cell: str, kept: Path) -> None:
        super().__init__(
            f'{printable(notebook)} was stopped: cell "{printable(cell)}" ended, but its output did not arrive within '
            f"{seconds:g} s. Print less in it, or write the text to a file.\n"
            f"The notebook as far as it got: {printable(str(kept))}"
        )


class NotebookTimeoutError(RunError):
    """A notebook took longer than it was given."""

    def __init__(self, *, notebook: str, seconds: float, cell: str, kept: Path) -> None:
        doing = f'cell "{printable(cell)}" was running' if cell else "its kernel was starting"
        super().__init__(
            f"{printable(notebook)} was stopped after {seconds:g} s, while {doing}. "
            f"Give it more time with --timeout, or less to do with --smoke.\n"
            f"The notebook as far as it got: {printable(str(kept))}"
        )


def _headline(notebook: str, running: PlannedCell, excerpt: Excerpt) -> str:
    at = f" at line {excerpt.line}" if excerpt.line is not None else ""
    section = f" (section {printable(running.section)})" if running.section else ""
    if excerpt.cell is running:
        return f'{printable(notebook)} failed in cell "{printable(running.name)}"{section}{at}.'
    return (
        f'{printable(notebook)} failed in cell "{printable(running.name)}"{section}, '
        f'in code from cell "{printable(excerpt.cell.name)}"{at}.'
    )


def _listing(excerpt: Excerpt) -> str:
    lines = excerpt.lines()
    width = len(str(lines[-1][0])) if lines else 1
    return "\n".join(
        f"  {'→' if number == excerpt.line else ' '} {number:>{width}} │ {printable(text.expandtabs(4))}".rstrip()
        for number, text in lines
    )


def _exception(error: RaisedError) -> str:
    lines = strip_ansi(error.message).strip().split("\n")
    shown = [printable(line.expandtabs(4)[:_MESSAGE_WIDTH]) for line in lines[:_MESSAGE_LINES]]
    if len(lines) > _MESSAGE_LINES:
        shown.append(f"… {len(lines) - _MESSAGE_LINES} more lines")
    name = printable(error.name)
    return f"{name}: " + "\n".join(shown) if shown != [""] else name


def _remedy(error: RaisedError) -> str:
    """A line that says how a package gets here that the kit's notebooks need; nothing of any other."""
    missing = _MISSING.search(error.message) if error.name == "ModuleNotFoundError" else None
    if missing is None:
        return ""
    if missing[1] == "torchvision":
        return (
            "timm needs torchvision: install the one that goes with your PyTorch, beside tandem, from the index that "
            "PyTorch came from (pytorch.org/get-started).\n\n"
        )
    extra = _FROM_EXTRAS.get(missing[1])
    return f"Install it beside tandem: {install_command(extra)}\n\n" if extra else ""
