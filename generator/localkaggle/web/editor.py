"""A notebook that somebody edits: its text cell by cell, and the fields of the form."""

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from generator.accelerators import AcceleratorKind, catalog
from generator.localkaggle.web.views import KernelView
from generator.sessions.notebook_runner import script_notebook
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
