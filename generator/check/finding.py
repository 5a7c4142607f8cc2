"""Findings: which rule, how grave, what and where it is, and what to do."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from generator.check.fix import Fix
from generator.untrusted import printable


class Severity(StrEnum):
    """How grave a finding is; only errors make the check fail."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Place:
    """Where something is: in a file, and in a notebook's cell."""

    path: Path
    cell: str = ""  # its id where that is a name, else `cell 3`, counted from 1 among all cells
    line: int = 0  # counted from 1 within the cell, or within a file that is no notebook; 0 is the whole


@dataclass(frozen=True)
class Finding:
    """What a rule found, in one sentence, with a remedy in another, and a fix where a rule is sure of one."""

    rule: str
    severity: Severity
    place: Place
    message: str
    remedy: str
    fix: Fix | None = field(default=None, compare=False)


def where(place: Place) -> str:
    """A place within its file, in words; nothing for the whole of it."""
    line = f"line {place.line}" if place.line else ""
    cell = f"cell {place.cell}" if place.cell and not place.cell.startswith("cell ") else place.cell
    return printable(", ".join(filter(None, (cell, line))))
