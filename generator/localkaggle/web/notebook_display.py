"""Notebooks and logs of strangers as pages show them."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup

from generator.errors import TandemError
from generator.files import open_file
from generator.localkaggle.services.kernel_records import (
    KernelSettings,
)
from generator.localkaggle.web.editor import source_cells
from generator.run.execution import strip_ansi, without_overwritten
from generator.run.notebook_html import CellView, code_html, terminal_html, view_content
from generator.run.report import BackgroundChecks, CellFindings
from generator.sessions.notebook_runner import read_all, read_piece

LONGEST_LOG = 100_000
"""The characters of a log that a page shows; the file has all of it."""

_LARGEST_NOTEBOOK = 32 * 2**20
_LARGEST_SOURCE = 300_000
_MOST_CELLS, _MOST_OUTPUTS = 5_000, 20_000
_LOG_BYTES = 1_000_000  # a line of the file has more than its text: the time, and escapes


@dataclass(frozen=True)
class ShownNotebook:
    """A notebook or a script; `problem` says why there is nothing to show."""

    cells: tuple[CellView, ...] = ()
    script: Markup | None = None
    problem: str = ""


_WAIT_SECONDS = 1.5  # for a check, before the page goes without it
_checks = BackgroundChecks()


@dataclass(frozen=True)
class ShownLog:
    """The end of a log; `next` is where what comes later begins, `left_out` whether something stands before it."""

    html: Markup
    next: int
    left_out: bool


def beginning_of(path: Path) -> bytes:
    """As much of a notebook as could be shown, and a byte more."""
    with open_file(path) as file:
        return file.read(_LARGEST_NOTEBOOK + 1)


@lru_cache(maxsize=8)  # people go to and fro between pages
def shown_notebook(content: bytes, *, is_script: bool, names: tuple[str, ...] = ()) -> ShownNotebook:
    """Renders a notebook, whose cells have these names in its source, or a script."""
    if is_script:
        return ShownNotebook(script=code_html(content.decode("utf-8", "replace")[:_LARGEST_SOURCE]))
    text = content.decode("utf-8", "replace") if len(content) <= _LARGEST_NOTEBOOK else ""
    cells = source_cells(text)
    is_long = len(cells) > _MOST_CELLS or text.count('"output_type"') > _MOST_OUTPUTS
    if not text or is_long or sum(len(cell.source) for cell in cells) > _LARGEST_SOURCE:
        return ShownNotebook(problem="This notebook is too large to be shown; its output can be downloaded.")
    try:
        return ShownNotebook(cells=view_content(content, name="notebook", cells=names))
    except TandemError:
        return ShownNotebook(problem="This is no notebook that can be shown.")


def checked_cells(source: str, settings: KernelSettings) -> CellFindings:
    """What `tandem check` finds in the source of a version, as far as it is known by now."""
    if len(source) > _LARGEST_NOTEBOOK:
        return CellFindings()
    metadata = {
        "language": settings.language,
        "kernel_type": settings.kernel_type,
        "machine_shape": settings.machine_shape,
        "enable_internet": settings.internet,
        "dataset_sources": list(settings.datasets),
        "competition_sources": list(settings.competitions),
        "kernel_sources": list(settings.kernels),
        "model_sources": list(settings.models),
    }
    return _checks.findings(source, metadata, wait=_WAIT_SECONDS)


def shown_log(path: Path) -> ShownLog:
    """The end of a log, with its colours."""
    pieces: list[str] = []
    position = start = _line_near_the_end(path)
    while (piece := read_piece(path, position=position)).events:
        pieces += [str(event.get("data", "")) for event in piece.events]
        position = piece.position
    text = without_overwritten("".join(pieces))
    return ShownLog(terminal_html(text[-LONGEST_LOG:]), position, start > 0 or len(text) > LONGEST_LOG)


def _line_near_the_end(path: Path) -> int:
    """The position of a line after which there is about as much as a page shows; 0 for a log that is shorter."""
    try:
        with path.open("rb") as file:
            start = file.seek(0, os.SEEK_END) - _LOG_BYTES
            if start <= 0:
                return 0
            file.seek(start)
            file.readline()
            return file.tell()
    except FileNotFoundError:
        return 0


def printable_log(path: Path) -> str:
    """A whole log as text, without what a terminal would obey."""
    return _harmless("".join(str(event.get("data", "")) for event in read_all(path)))


def read_new_log(path: Path, *, position: int) -> tuple[str, int]:
    """The text that was added to a log since a position, and the position after it."""
    piece = read_piece(path, position=position)
    return _harmless("".join(str(event.get("data", "")) for event in piece.events)), piece.position


def _harmless(text: str) -> str:
    return "".join(
        character
        for character in strip_ansi(without_overwritten(text))
        if character.isprintable() or character in "\n\t"
    )
