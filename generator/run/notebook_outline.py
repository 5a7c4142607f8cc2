"""A notebook seen as its sections and named cells."""

from dataclasses import dataclass
from typing import Any

INJECTED = "injected-parameters"


@dataclass(frozen=True)
class PlannedCell:
    """A code cell that will be executed: its name is its id, its section the H2 heading above it ("" for none)."""

    position: int
    name: str
    section: str
    cell: Any


def plan(notebook: Any) -> list[PlannedCell]:
    """Lists the code cells of a notebook; the cell in which papermill injects parameters gets a stable id."""
    planned: list[PlannedCell] = []
    section = ""
    for position, cell in enumerate(notebook.cells):
        if INJECTED in cell.metadata.get("tags", []):
            cell["id"] = INJECTED
        if cell.cell_type == "markdown":
            section = heading(cell.source) or section
        elif cell.cell_type == "code" and cell.source.strip():
            name = cell.get("id") or f"cell-{position + 1}"
            planned.append(PlannedCell(position, name, section, cell))
    return planned


def heading(markdown: str) -> str | None:
    """Returns the text of the last H2 heading in a cell, or None."""
    # By no regular expression: one that leaves out what may stand behind a heading takes the square of a line's length.
    lines = (line[2:].strip(" ").rstrip("#").rstrip(" ") for line in markdown.split("\n") if line.startswith("## "))
    return next((text for text in reversed(list(lines)) if text), None)
