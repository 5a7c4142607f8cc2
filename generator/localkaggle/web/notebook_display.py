"""Notebooks and logs of strangers as pages show them."""

import itertools
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from generator.accelerators import AcceleratorKind, catalog
from generator.errors import TandemError
from generator.files import open_file
from generator.localkaggle.services.kernel_records import KernelSettings
from generator.localkaggle.web.views import KernelView
from generator.run.execution import strip_ansi, without_overwritten
from generator.run.notebook_html import CellView, code_html, terminal_html, view_content
from generator.run.report import BackgroundChecks, CellFindings
from generator.sessions.notebook_runner import read_all, read_piece, script_notebook
from generator.text import JsonObject

# The text of a notebook, cell by cell, as somebody edits it; what else is in it stays as it was.


@dataclass(frozen=True)
class SourceCell:
    """A cell as it is edited."""

    name: str
    kind: str
    source: str


def source_cells(text: str) -> list[SourceCell]:
    """The cells of a notebook's text; none if it is no notebook."""
    return [
        SourceCell(str(cell.get("id", "")) or f"cell-{number}", str(cell.get("cell_type", "code")), _join_source(cell))
        for number, cell in enumerate(JsonObject.parse(text).sections("cells"), start=1)
    ]


def with_sources(text: str, sources: Mapping[int, str], new_cells: Iterable[tuple[str, str]]) -> str:
    """A notebook's text with other sources, and without outputs.

    Args:
        text: The notebook as it was.
        sources: The new source of each cell by its place; a cell that is not in it, or is left empty, goes.
        new_cells: Kind and source of cells to be added at the end.
    """
    notebook = JsonObject.parse(text)
    old = notebook.sections("cells")
    cells = [_with_source(cell, sources[place]) for place, cell in enumerate(old) if sources.get(place, "").strip()]
    has_ids = all(isinstance(cell.get("id"), str) for cell in old)  # the format has them since 4.5
    cell_ids = {str(cell.get("id")) for cell in old}
    free = (name for number in itertools.count(1) if (name := f"added-{number}") not in cell_ids)
    cells += [_cell(kind, source, name=next(free) if has_ids else "") for kind, source in new_cells]
    return json.dumps({**notebook, "cells": cells})


def _cell(kind: str, source: str, *, name: str) -> dict[str, Any]:
    cell = {"cell_type": kind, "metadata": {}, **({"id": name} if name else {})}
    return _with_source(cell, source)


def _with_source(cell: Mapping[str, Any], source: str) -> dict[str, Any]:
    outputs: dict[str, Any] = {"outputs": [], "execution_count": None} if cell.get("cell_type") == "code" else {}
    return {**cell, "source": source, **outputs}


def _join_source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


# A notebook that somebody is editing: from a version to the fields of a form, and from those to a version again.


_SEPARATORS = re.compile(r"[\s,]+")
_CELL = re.compile(r"cell-(\d{1,4})")
_KINDS = ("code", "markdown")
_INPUTS = ("competitions", "kernels", "datasets", "models")
_FIRST_CODE = """\
from pathlib import Path

for path in sorted(Path("/kaggle/input").rglob("*"))[:50]:
    print(path)
"""


@dataclass(frozen=True)
class EditorForm:
    """The fields of the editor as they stand; the sources are texts with one name a word.

    Attributes:
        title: The title, and by it the slug of a new notebook.
        machine: The machine's id, empty for a CPU.
        internet: True if its session may reach the network.
        is_private: True if only its owner sees it.
        competitions: The competitions whose data are mounted.
        kernels: The notebooks whose output is mounted.
        datasets: The datasets that are mounted.
        models: The models that are mounted.
        base: The notebook's text, whose cells are edited.
        is_script: True if it is a script and `base` its code.
        cells: The cells as they stand in the form.
        added: What stands in the fields for further cells, by their kind.
    """

    title: str
    machine: str = ""
    internet: bool = False
    is_private: bool = True
    competitions: str = ""
    kernels: str = ""
    datasets: str = ""
    models: str = ""
    base: str = ""
    is_script: bool = False
    language: str = "python"
    cells: tuple[SourceCell, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)

    def fields(self, *, runs: bool) -> dict[str, Any]:
        """The fields of the API's call that saves it."""
        accelerator = catalog().accelerators.get(self.machine)
        kind = accelerator.kind if accelerator is not None else AcceleratorKind.CPU
        return {
            "newTitle": self.title,
            "text": self.text(),
            "language": self.language,
            "kernelType": "script" if self.is_script else "notebook",
            "isPrivate": self.is_private,
            "enableInternet": self.internet,
            "enableGpu": kind is AcceleratorKind.GPU,
            "enableTpu": kind is AcceleratorKind.TPU,
            "machineShape": self.machine,
            "kernelExecutionType": "SAVE_AND_RUN_ALL" if runs else "QUICK_SAVE",
            **{
                f"{name[:-1]}DataSources": list(filter(None, _SEPARATORS.split(getattr(self, name))))
                for name in _INPUTS
            },
        }

    def text(self) -> str:
        """The notebook's text with what was typed."""
        if self.is_script:
            return self.cells[0].source if self.cells else ""
        sources = {place: cell.source for place, cell in enumerate(self.cells)}
        new_cells = [(kind, source) for kind, source in self.added.items() if source.strip()]
        return with_sources(self.base, sources, new_cells)


def draft_of(view: KernelView, source: str, *, title: str = "") -> EditorForm:
    """A version of a kernel, to be edited; with a title of its own if it is to be another kernel."""
    settings = view.version.settings
    is_script = settings.kernel_type == "script"
    inputs: dict[str, Any] = {name: " ".join(getattr(settings, name)) for name in _INPUTS}
    return EditorForm(
        title=title or view.kernel.title,
        machine=settings.machine_shape,
        internet=settings.internet,
        is_private=view.kernel.is_private,
        base=source,
        is_script=is_script,
        language=settings.language,
        cells=(SourceCell("script", "code", source),) if is_script else tuple(source_cells(source)),
        **inputs,
    )


def new_draft(competition: str) -> EditorForm:
    """A notebook to begin with, on the data of a competition if one is named."""
    base = script_notebook(_FIRST_CODE, name="inputs")
    return EditorForm(title="", competitions=competition, base=base, cells=tuple(source_cells(base)))


def apply_form(draft: EditorForm, form: Mapping[str, str]) -> EditorForm:
    """The draft with what somebody typed into its form."""
    sources = {int(match[1]): text for name, text in form.items() if (match := _CELL.fullmatch(name))}
    cells = tuple(replace(cell, source=_lines(sources.get(n, ""))) for n, cell in enumerate(draft.cells))
    inputs: dict[str, Any] = {name: form.get(name, "") for name in _INPUTS}
    return replace(
        draft,
        title=form.get("title", "").strip(),
        machine=form.get("machine", ""),
        internet="internet" in form,
        is_private="private" in form,
        cells=cells,
        added={kind: _lines(form.get(f"added-{kind}", "")) for kind in _KINDS},
        **inputs,
    )


def _lines(text: str) -> str:
    # Forms end their lines as HTTP does.
    return text.replace("\r\n", "\n").rstrip("\n")


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
