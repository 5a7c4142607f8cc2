"""Notebook files: cells as the JSON that Jupyter and Kaggle read, and the cells of a file that somebody worked in."""

import ast
import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.errors import PairError
from generator.pair.percent import FOLDED_TAG, Cell, CellKind
from generator.untrusted import printable

_METADATA = {
    # Kaggle runs notebooks by papermill, which needs the name of a kernel.
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class NotebookReadError(PairError):
    """A file that is no notebook."""

    def __init__(self, *, path: Path, problem: str) -> None:
        super().__init__(f"{printable(str(path))} is not a notebook: {printable(problem)}.")


@dataclass(frozen=True)
class WrittenCell:
    """The text that somebody wrote into a cell, without the outputs."""

    kind: str
    source: str


def notebook_text(cells: Iterable[Cell]) -> str:
    """Writes cells as a notebook of format 4.5: the same cells always give the same bytes.

    The ids are the cells' names. There are no outputs and no execution counts.

    Returns:
        JSON with sorted keys and a final newline.
    """
    notebook = {
        "cells": [_cell(cell) for cell in cells],
        "metadata": _METADATA,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def check_syntax(cells: Iterable[Cell], *, notebook: str) -> None:
    """Makes sure that every code cell is Python.

    Args:
        cells: The cells.
        notebook: What to call the notebook in a message.

    Raises:
        PairError: The first cell that is not.
    """
    for cell in cells:
        if cell.kind is CellKind.CODE:
            try:
                ast.parse(cell.source)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                problem = printable(error.msg if isinstance(error, SyntaxError) else str(error))
                place = f" in its line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
                which = f'The {notebook} notebook\'s cell "{cell.name}"'
                raise PairError(f"{which} is not Python: {problem}{place}; mend its template.") from error


def written_cells(content: bytes, *, path: Path) -> dict[str, WrittenCell]:
    """Reads what a notebook's cells say, by id and in their order; outputs and execution counts are left out.

    A cell without an id, as editors of older formats write them, gets its position as one: `#3`.

    Args:
        content: The file.
        path: Its path, for messages.

    Raises:
        NotebookReadError: It is no notebook of format 4.
    """
    try:
        notebook = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NotebookReadError(path=path, problem=str(error)) from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise NotebookReadError(path=path, problem="it has no list of cells")
    cells: dict[str, WrittenCell] = {}
    for position, cell in enumerate(notebook["cells"], start=1):
        if not isinstance(cell, dict):
            raise NotebookReadError(path=path, problem=f"cell {position} is not an object")
        name = cell.get("id")
        if not isinstance(name, str) or name in cells:
            name = f"#{position}"
        cells[name] = WrittenCell(kind=str(cell.get("cell_type")), source=joined(cell.get("source")))
    return cells


def digest_of_cells(text: str) -> str:
    """A digest of what the cells of a notebook say, whoever wrote the file; of the text itself if it is no notebook."""
    try:
        cells = json.loads(text)["cells"]
        said = [[cell["cell_type"], joined(cell["source"])] for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        said = [["text", text]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _cell(cell: Cell) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "cell_type": str(cell.kind),
        "id": cell.name,
        "metadata": _cell_metadata(cell),
        # Split at newlines alone: `str.splitlines` would split at U+2028 and others too.
        "source": list(io.StringIO(cell.source, newline="\n")),
    }
    if cell.kind is CellKind.CODE:
        fields |= {"execution_count": None, "outputs": []}
    return fields


def _cell_metadata(cell: Cell) -> dict[str, Any]:
    metadata: dict[str, Any] = {"tags": list(cell.tags)} if cell.tags else {}
    if FOLDED_TAG in cell.tags:
        # Kaggle's viewer knows only the first, JupyterLab only the second, and nbconvert only the tag.
        metadata |= {"_kg_hide-input": True, "jupyter": {"source_hidden": True}}
    return metadata


def joined(source: object) -> str:
    """The source of a cell as a text, which may stand in a file as a list of lines."""
    if isinstance(source, list):
        return "".join(str(line) for line in source)
    return source if isinstance(source, str) else ""
