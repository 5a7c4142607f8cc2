"""Reading the py:percent text that a template renders into named cells.

A subset of the format that jupytext defines: every cell has a name, and nothing stands before the first one. Why this
is no call of jupytext: docs/adr/0001-own-percent-reader.md.
"""

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from generator.errors import PairError
from generator.untrusted import printable

_MARKER = re.compile(r"# %%(?=\s|$)(?P<header>.*)")
# Other forms of a cell marker in jupytext, which would end a cell there but not here.
_FOREIGN_MARKER = re.compile(r"\s*#\s*(?:%%\S*|<codecell>|In\[[0-9 ]*\]:?)(?:\s|$)")
_HEADER = re.compile(r"(?:\s+\[(?P<kind>markdown)\])?(?P<options>.*)")
_OPTION = re.compile(r'\s+(?P<key>[a-z]+)=(?P<value>"(?:[^"\\]|\\.)*"|\[[^\]]*\])')
_CELL_NAME = re.compile(r"[a-z0-9-]{1,64}")

FOLDED_TAG = "hide-input"
"""The tag of a cell whose code is folded away; Jupyter Book knows it, and nbconvert can be told of it."""


class PercentError(PairError):
    """Rendered text that is no sequence of named cells.

    Attributes:
        line: The number of the line in the rendered text, from 1.
        text: The line itself.
        problem: What is wrong with it.
        source: Where it comes from, such as a template and line; empty if that is not known.
    """

    def __init__(self, *, line: int, text: str, problem: str, source: str = "") -> None:
        where = source or f"line {line} of the rendered notebook"
        super().__init__(f"{printable(where)}: {problem} (`{printable(text)}`).")
        self.line = line
        self.text = text
        self.problem = problem


class CellKind(StrEnum):
    """The kinds of cell, in the words of the notebook format."""

    CODE = "code"
    MARKDOWN = "markdown"


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook, or a part of one; `source` has no line end at its end.

    Attributes:
        part_of: The name of the cell that this part is joined into; empty for a whole cell.
    """

    name: str
    kind: CellKind
    source: str
    tags: tuple[str, ...] = ()
    part_of: str = ""


def read_cells(text: str) -> list[Cell]:
    r"""Splits py:percent text into cells.

    A cell opens with `# %% name="setup"`, `# %% name="parameters" tags=["parameters"]` or
    `# %% [markdown] name="introduction"`, and lasts until the next one. Empty lines at its ends do not count. A cell
    with `tags=["hide-input"]` is folded. `cell="..."` names the cell that a part is joined into.

    Args:
        text: The rendered template, with `\n` line ends.

    Returns:
        The cells in their order.

    Raises:
        PercentError: Text before the first cell, a header that is not as above, a name that is missing, used twice
            or not of `[a-z0-9-]{1,64}`, or a line of Markdown that is not a comment.
    """
    opened: list[tuple[Cell, list[str]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        marker = _MARKER.match(line)
        if marker is not None:
            cell = _empty_cell(number, line, marker["header"])
            if any(cell.name == earlier.name for earlier, _ in opened):
                raise PercentError(line=number, text=line, problem=f'two cells have the name "{cell.name}"')
            opened.append((cell, []))
        elif opened:
            cell, body = opened[-1]
            body.append(_body_line(number, line, cell.kind))
        elif line.strip():
            raise PercentError(line=number, text=line, problem="text stands before the first cell")
    return [replace(cell, source=_without_empty_ends(body)) for cell, body in opened]


def _empty_cell(number: int, line: str, text: str) -> Cell:
    """The cell that a line opens."""
    match = _HEADER.fullmatch(text)
    options = _options(match["options"]) if match else None
    if match is None or options is None or not set(options) <= {"name", "tags", "cell"}:
        problem = (
            'a cell opens with `# %% [markdown] name="..." cell="..." tags=["..."]`, all but the name being optional'
        )
        raise PercentError(line=number, text=line, problem=problem)
    name, tags, part_of = options.get("name"), options.get("tags", []), options.get("cell", "")
    if not isinstance(name, str) or not _CELL_NAME.fullmatch(name):
        problem = "a cell needs a name of 1 to 64 lower-case letters, digits and hyphens"
        raise PercentError(line=number, text=line, problem=problem)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise PercentError(line=number, text=line, problem="tags are a list of texts")
    if not isinstance(part_of, str) or (part_of and not _CELL_NAME.fullmatch(part_of)):
        problem = "the cell of a part has a name of 1 to 64 lower-case letters, digits and hyphens"
        raise PercentError(line=number, text=line, problem=problem)
    kind = CellKind.MARKDOWN if match["kind"] else CellKind.CODE
    return Cell(name=name, kind=kind, source="", tags=tuple(tags), part_of=part_of)


def _options(text: str) -> dict[str, Any] | None:
    """The options of a cell by key, or None if the text is anything else."""
    found = [(match["key"], match["value"]) for match in _OPTION.finditer(text)]
    if _OPTION.sub("", text).strip() or len(dict(found)) < len(found):
        return None
    try:
        return {key: json.loads(value) for key, value in found}
    except ValueError:
        return None


def _without_empty_ends(lines: list[str]) -> str:
    written = [at for at, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[written[0] : written[-1] + 1]) if written else ""


def _body_line(number: int, line: str, kind: CellKind) -> str:
    if _FOREIGN_MARKER.match(line):
        raise PercentError(line=number, text=line, problem='a cell opens with `# %% name="..."` and nothing else does')
    if kind is CellKind.CODE:
        return line if line.strip() else ""
    if line.startswith("# "):
        return line[2:]
    if line == "#" or not line.strip():
        return ""
    raise PercentError(line=number, text=line, problem="a line of Markdown begins with `# `")
