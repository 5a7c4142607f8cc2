"""Live progress of a run on stderr: a status line on a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.cli.terminal import clock, live_console, timed_lines
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

_LONGEST_LINE = 500
# A cell that is done sooner is not worth a line of its own in a log.
_WORTH_TELLING_SECONDS = 5.0


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
