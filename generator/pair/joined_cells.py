"""Parts of a notebook, joined into the cells that a reader sees.

Templates write small parts, each with a name: a file of the user's takes the place of one. A reader sees one cell for
each step of the work, and one folded cell with everything that only keeps a promise.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from generator.pair.imports import runtime_parts
from generator.pair.percent import Cell, CellKind
from generator.pair.shared_cells import SHARED_MARK

_DEFINITION = (ast.FunctionDef, ast.ClassDef)


def with_runtime(parts: Iterable[Cell]) -> list[Cell]:
    """Return the parts, of which folded definitions after the cell `runtime` are moved into it.

    What both notebooks share stands at its end, below the mark of shared code.
    """
    result = list(parts)
    plumbing = runtime_parts(result)
    if not plumbing:
        return result
    runtime, *moved = plumbing
    own = [part.source for part in moved if not _is_shared(part)]
    in_order = sorted(filter(_is_shared, moved), key=lambda part: part.name)  # the same in both notebooks
    shared = [part.source.removeprefix(SHARED_MARK).strip("\n") for part in in_order]
    sources = [runtime.source, *own, *([f"{SHARED_MARK}\n{shared[0]}", *shared[1:]] if shared else [])]
    whole = replace(runtime, source="\n\n\n".join(sources))
    return [whole if part is runtime else part for part in result if part not in moved]


def joined(parts: Iterable[Cell]) -> list[Cell]:
    """Return the cells of a notebook: neighbouring code parts of one cell are joined, in their order.

    Parts with something else between them stay apart: the first of them have the name of the cell, the others their
    own. Code that both notebooks share is not joined to other code.
    """
    cells: list[Cell] = []
    for (kind, name, _), group in groupby(parts, key=lambda part: (part.kind, part.part_of, _is_shared(part))):
        some = list(group)
        if not name or kind is not CellKind.CODE or any(cell.name == name for cell in cells):
            cells += [replace(part, part_of="") for part in some]
        else:
            cells.append(replace(some[0], name=name, source=_source(some), part_of=""))
    return cells


def _source(parts: Sequence[Cell]) -> str:
    """Return the code of the parts, with the mark of a shared cell in its first line only."""
    texts = [part.source.removeprefix(SHARED_MARK).strip("\n") for part in parts]
    source = f"{SHARED_MARK}\n{texts[0]}" if _is_shared(parts[0]) else texts[0]
    for before, text in pairwise(texts):
        source += ("\n\n\n" if _has_definition_between(before, text) else "\n\n") + text
    return source


def _has_definition_between(before: str, text: str) -> bool:
    last, first = ast.parse(before).body[-1:], ast.parse(text).body[:1]
    return any(isinstance(node, _DEFINITION) for node in (*last, *first))


def _is_shared(part: Cell) -> bool:
    return part.source.startswith(SHARED_MARK)
