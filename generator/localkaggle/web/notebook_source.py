"""The text of a notebook, cell by cell, as somebody edits it; what else is in it stays as it was."""

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from generator.untrusted import JsonObject


@dataclass(frozen=True)
class SourceCell:
    """A cell as it is edited."""

    name: str
    kind: str
    source: str


def source_cells(text: str) -> list[SourceCell]:
    """The cells of a notebook's text; none if it is no notebook."""
    return [
        SourceCell(str(cell.get("id", "")) or f"cell-{number}", str(cell.get("cell_type", "code")), _joined(cell))
        for number, cell in enumerate(JsonObject.parsed(text).sections("cells"), start=1)
    ]


def with_sources(text: str, sources: Mapping[int, str], added: Iterable[tuple[str, str]]) -> str:
    """A notebook's text with other sources, and without outputs.

    Args:
        text: The notebook as it was.
        sources: The new source of each cell by its place; a cell that is not in it, or is left empty, goes.
        added: Kind and source of cells to be added at the end.
    """
    notebook = JsonObject.parsed(text)
    old = notebook.sections("cells")
    cells = [_with_source(cell, sources[place]) for place, cell in enumerate(old) if sources.get(place, "").strip()]
    has_ids = all(isinstance(cell.get("id"), str) for cell in old)  # the format has them since 4.5
    taken = {str(cell.get("id")) for cell in old}
    free = (name for number in itertools.count(1) if (name := f"added-{number}") not in taken)
    cells += [_cell(kind, source, name=next(free) if has_ids else "") for kind, source in added]
    return json.dumps({**notebook, "cells": cells})


def _cell(kind: str, source: str, *, name: str) -> dict[str, Any]:
    cell = {"cell_type": kind, "metadata": {}, **({"id": name} if name else {})}
    return _with_source(cell, source)


def _with_source(cell: Mapping[str, Any], source: str) -> dict[str, Any]:
    outputs: dict[str, Any] = {"outputs": [], "execution_count": None} if cell.get("cell_type") == "code" else {}
    return {**cell, "source": source, **outputs}


def _joined(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
