"""The terminal: its width and colours, tables, and live progress."""

import os
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from generator.run.execution import (
    BaselineAwaited,
    CellFinished,
    CellStarted,
    Event,
    Listener,
    NotebookFinished,
    NotebookStarted,
    OutputKept,
    OutputLine,
    ReportWritten,
    StandInMounted,
)
from generator.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def terminal_width(stream: TextIO) -> int | None:
    """Returns how many columns a terminal has; None for a file or a pipe, which have no end."""
    import shutil

    return shutil.get_terminal_size().columns if stream.isatty() else None


def is_interactive() -> bool:
    """True if there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, *, reason: str, is_confirmed: bool) -> None:
    """Makes sure that somebody wants what spends quota or money, or submits.

    Args:
        question: What is asked at a terminal; "" where whoever sits there has said enough.
        reason: Why it takes a `--yes` where nobody is at a terminal, as sentences.
        is_confirmed: Whether `--yes` was given.

    Raises:
        click.UsageError: Nobody is at a terminal, and there is no `--yes`.
        click.Abort: The answer is no.
    """
    if is_confirmed:
        return
    if not is_interactive():
        raise click.UsageError(
            f"{reason} This is no interactive terminal, so no question can be asked: add --yes.",
            click.get_current_context(),
        )
    if question:
        click.confirm(f"{printable(question)}?", abort=True, err=True)


def live_console() -> "Console | None":
    """Returns the terminal on stderr, if it can show what changes in place and rich is installed."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(stderr=True)
    return console if console.is_terminal and not console.is_dumb_terminal else None


def apply_style(text: str, stream: TextIO, **style: Any) -> str:
    """Returns the text in a style of `click.style`, if it goes to a terminal that is to have colours."""
    has_colours = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, **style) if has_colours else text


def warn(text: str) -> None:
    """Tells the user of something that does not stop the command."""
    click.echo(f"{apply_style('Warning:', sys.stderr, fg='yellow')} {printable(text)}", err=True)


def complain(message: str) -> None:
    """Tells the user why something cannot be done; each line of the message is made printable."""
    lines = "\n".join(map(printable, message.split("\n")))
    click.echo(f"{apply_style('Error:', sys.stderr, fg='red')} {lines}", err=True)


def width_of(text: str) -> int:
    """Returns how many columns printable text takes: two for an East Asian character, none for an accent."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def wrap_text(text: str, width: int) -> list[str]:
    """Returns the lines of a text in so many columns, broken between words, or where a word is too long for a line."""
    if width_of(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        candidate = f"{lines[-1]} {word}" if lines[-1] else word
        if width_of(candidate) <= width:
            lines[-1] = candidate
            continue
        lines += [word] if lines[-1] else []
        lines[-1] = word
        while width_of(lines[-1]) > width:
            end = next(end for end in range(len(lines[-1]), 0, -1) if end == 1 or width_of(lines[-1][:end]) <= width)
            lines[-1:] = [lines[-1][:end], lines[-1][end:]]
    return lines


# Tables of plain text for the terminal.


_WIDEST = 60
_NARROWEST = 24  # columns of a terminal that are worth wrapping text in
_GAP, _INDENT = "  ", "    "


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, stream: TextIO | None = None) -> str:
    """Aligns cells in columns; every cell is made printable.

    On a terminal the lines fit into it: cells are continued on further lines, and where a last column has hardly room
    it stands below the others. Elsewhere lines are as long as they are, and all cells but the last of a row are cut.

    Returns:
        The lines of the table, without a line end after the last one.
    """
    stream = stream or sys.stdout
    columns = terminal_width(stream)
    grid = [[printable(cell) for cell in row] for row in (header, *rows)]
    if columns is None:
        grid = [[*map(_cut, row[:-1]), row[-1]] for row in grid]
    widths = [max(map(width_of, column)) for column in zip(*grid, strict=True)]
    is_last_below = columns is not None and not _fit(widths, columns)
    lines = []
    for number, row in enumerate(grid):
        cells = [wrap_text(cell, width) for cell, width in zip(row, widths, strict=True)]
        below = cells.pop() if is_last_below else []
        for parts in zip_longest(*cells, fillvalue=""):
            first, *other_cells = (
                part + " " * (width - width_of(part)) for part, width in zip(parts, widths, strict=False)
            )
            line = _GAP.join([first if number == 0 else apply_style(first, stream, fg="cyan"), *other_cells]).rstrip()
            lines.append(apply_style(line, stream, bold=True) if number == 0 else line)
        lines += [f"{_INDENT}{line}" for line in below if line and number > 0]
    return "\n".join(lines)


def _fit(widths: list[int], columns: int) -> bool:
    """Makes columns narrower until they fit; returns False where the last one has to stand below the others."""
    for widest in (columns, max(_NARROWEST, columns // 3)):
        widths[:-1] = [min(width, widest) for width in widths[:-1]]
        room = columns - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1)
        if room >= min(widths[-1], _NARROWEST):
            widths[-1] = min(widths[-1], room)
            return True
    other_count = len(widths) - 1
    while sum(widths[:-1]) + len(_GAP) * (other_count - 1) > columns and max(widths[:-1]) > 1:
        widths[widths.index(max(widths[:-1]))] -= 1
    widths[-1] = max(1, columns - len(_INDENT))
    return False


def _cut(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…"


# Live progress of a run on stderr: a status line on a terminal, plain lines elsewhere.


_LONGEST_LINE = 500
# A cell that is done sooner is not worth a line of its own in a log.
_WORTH_TELLING_SECONDS = 5.0


def clock(seconds: float) -> str:
    """Writes elapsed time as `0:07`, `12:30` or `1:02:03`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def timed_lines() -> Callable[[str], None]:
    """Whom to tell lines, which are made printable and get the time since now in front."""
    start_time = time.monotonic()

    def tell(line: str) -> None:
        click.echo(f"{clock(time.monotonic() - start_time):>7} {printable(line.expandtabs(4))}", err=True)

    return tell


def _stand_in_message(model: str) -> str:
    return f"{printable(model)} is not on this machine: a small untrained model takes its place."


def _output_message(path: Path) -> str:
    return f"what an earlier run left is kept in {printable(str(path))}"


def _baseline_message(seconds: float) -> str:
    return f"Computing a plain baseline, for {seconds:.0f} s at most"


class PlainProgress:
    """Progress as lines, for logs and pipes."""

    def __init__(self) -> None:
        self._tell = timed_lines()

    def __call__(self, event: Event, /) -> None:
        """Tells of one event."""
        match event:
            case NotebookStarted(notebook=notebook, cells=cells):
                self._tell(f"{printable(notebook)}: {cells} code cells")
            case CellStarted(name=name, index=index, total=total, section=section):
                at = f"{printable(section)} · " if section else ""
                self._tell(f"{at}{printable(name)} [{index}/{total}]")
            case OutputLine(text=text):
                click.echo(f"        {printable(text.expandtabs(4)[:_LONGEST_LINE])}", err=True)
            case CellFinished(name=name, seconds=seconds) if seconds >= _WORTH_TELLING_SECONDS:
                self._tell(f"{printable(name)} took {seconds:.1f} s")
            case NotebookFinished(notebook=notebook, seconds=seconds, complete=complete):
                self._tell(f"{printable(notebook)} {'done' if complete else 'stopped'} after {clock(seconds)}")
            case OutputKept(path=path):
                self._tell(_output_message(path))
            case StandInMounted(model=model):
                self._tell(_stand_in_message(model))
            case BaselineAwaited(seconds=seconds):
                self._tell(_baseline_message(seconds))
            case ReportWritten(path=path):
                self._tell(f"report: {printable(str(path))}")


class TerminalProgress:
    """Progress as one line at the bottom of a terminal, above which the notebooks' lines scroll."""

    def __init__(self, bar: "Progress") -> None:
        self._bar = bar
        self._task = bar.add_task("Starting")
        self._notebook = ""

    def __call__(self, event: Event, /) -> None:
        """Shows one event."""
        match event:
            case NotebookStarted(notebook=notebook):
                self._notebook = printable(notebook)
                self._bar.update(self._task, description=f"{self._notebook}: starting its kernel")
            case CellStarted(name=name, index=index, total=total, section=section):
                place = " · ".join(part for part in (printable(section), printable(name)) if part)
                self._bar.update(self._task, description=f"{self._notebook}  {place}  {index}/{total}")
            case OutputLine(text=text, stream=stream):
                line = printable(text.expandtabs(4)[:_LONGEST_LINE])
                self._print(f"  {line}", style="dim" if stream == "stderr" else "")
            case NotebookFinished(notebook=notebook, seconds=seconds, complete=complete):
                mark, style = ("✓", "green") if complete else ("✗", "red")
                self._print(f"{mark} {printable(notebook)}  {clock(seconds)}", style=style)
                self._bar.update(self._task, description="Looking at what it wrote")
            case OutputKept(path=path):
                self._print(_output_message(path), style="")
            case StandInMounted(model=model):
                self._print(_stand_in_message(model), style="")
            case BaselineAwaited(seconds=seconds):
                self._bar.update(self._task, description=_baseline_message(seconds))

    def _print(self, text: str, *, style: str) -> None:
        from rich.text import Text

        self._bar.console.print(Text(text, style=style), highlight=False, soft_wrap=True)


@contextmanager
def terminal_progress(console: "Console") -> Iterator[Listener]:
    """Progress on a terminal, for the length of the block."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    # The machine is busy with other things than the display.
    with Progress(*columns, console=console, transient=True, refresh_per_second=5) as bar:
        yield TerminalProgress(bar)


def progress() -> AbstractContextManager[Listener]:
    """The progress that suits where stderr goes."""
    console = live_console()
    return nullcontext(PlainProgress()) if console is None else terminal_progress(console)
