"""Progress on stderr."""

import io
from pathlib import Path

import pytest

from generator.cli.progress import PlainProgress, terminal_progress
from generator.cli.terminal import clock
from generator.run.execution import (
    CellFinished,
    CellStarted,
    Event,
    NotebookFinished,
    NotebookStarted,
    OutputLine,
    ReportWritten,
)

EVENTS: list[Event] = [
    NotebookStarted("digits/train.ipynb", 2),
    CellStarted("fit", 1, 2, "Training"),
    OutputLine("epoch 1 [loss 0.5]", "stdout"),
    OutputLine("\x1b]0;owned\x07", "stderr"),
    CellFinished("fit", 12.3),
    NotebookFinished("digits/train.ipynb", 61.0, complete=True),
    ReportWritten(Path("output/digits/report.html")),
]


def test_without_a_terminal_progress_is_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    listener = PlainProgress()
    for event in EVENTS:
        listener(event)

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "   0:00 digits/train.ipynb: 2 code cells\n"
        "   0:00 Training · fit [1/2]\n"
        "        epoch 1 [loss 0.5]\n"
        "        \\x1b]0;owned\\x07\n"
        "   0:00 fit took 12.3 s\n"
        "   0:00 digits/train.ipynb done after 1:01\n"
        "   0:00 report: output/digits/report.html\n"
    )


def test_on_a_terminal_printed_lines_scroll_above_the_status() -> None:
    from rich.console import Console

    screen = io.StringIO()
    with terminal_progress(Console(file=screen, force_terminal=True, width=100)) as listener:
        for event in EVENTS:
            listener(event)

    shown = screen.getvalue()
    assert "epoch 1 [loss 0.5]" in shown
    assert "digits/train.ipynb  1:01" in shown
    assert "\x07" not in shown


def test_elapsed_time_grows_by_hours() -> None:
    assert [clock(seconds) for seconds in (7, 750, 3_723)] == ["0:07", "12:30", "1:02:03"]
