"""The imports of a notebook: templates import where they use, a notebook imports once, at its beginning."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from generator.pair.percent import FOLDED_TAG, Cell, CellKind

CELL = "imports"
"""The name of the cell that the imports are gathered in."""

RUNTIME = "runtime"
"""The package of templates/runtime, whose modules import each other; in a notebook they stand in one cell."""

_LONGEST_LINE = 100
_TITLE = re.compile(r'^"""[^"]*"""\n+', re.MULTILINE)
_HAS_NO_EFFECT = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def gathered(cells: Sequence[Cell]) -> list[Cell]:
    """Moves what the cells import into the cell `imports`, each name once, and drops what no cell uses.

    The cell's own statements stand between the modules of Python and all others: they prepare what is imported next.
    A notebook without such a cell is left as it is, and so is one with a cell that is not Python.
    """
    try:
        contents = [_content(cell.source) if cell.kind is CellKind.CODE else None for cell in cells]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return list(cells)
    if not any(cell.name == CELL for cell in cells):
        return list(cells)
    plumbing = runtime_parts(cells)
    found = frozenset[tuple[str, str, str]]().union(*(content.imported for content in contents if content))
    uses = [(content.used, cell in plumbing) for cell, content in zip(cells, contents, strict=True) if content]
    used = frozenset[str]().union(*(names for names, is_plumbing in uses if not is_plumbing))
    used_there = frozenset[str]().union(*(names for names, is_plumbing in uses if is_plumbing))
    needed = {
        CELL: [one for one in found if _name(one) in used],
        RUNTIME: [one for one in found if _name(one) in used_there - used],
    }
    rest = [
        replace(cell, source=content.rest) if content else cell for cell, content in zip(cells, contents, strict=True)
    ]
    return [
        _with_imports(cell, needed[cell.name]) if cell.name in needed else cell
        for cell in rest
        if cell.source or cell.name == CELL
    ]


def runtime_parts(parts: Sequence[Cell]) -> list[Cell]:
    """Return the cell `runtime`, and the folded parts behind it that only define something."""
    start = next((place for place, part in enumerate(parts) if part.name == RUNTIME), len(parts))
    behind = [part for part in parts[start + 1 :] if part.kind is CellKind.CODE and FOLDED_TAG in part.tags]
    return [*parts[start : start + 1], *(part for part in behind if _only_defines(part.source))]


def _only_defines(source: str) -> bool:
    return all(isinstance(node, _HAS_NO_EFFECT) for node in ast.parse(source).body)


def _name(imported: tuple[str, str, str]) -> str:
    """Return the name that an import binds."""
    module, name, called = imported
    return called or name or module.partition(".")[0]


@dataclass(frozen=True)
class _Content:
    """A cell taken apart: what it imports, the names that it uses, and its source without its imports."""

    imported: frozenset[tuple[str, str, str]]
    used: frozenset[str]
    rest: str


@lru_cache(maxsize=1_024)  # most cells of a notebook are those of its pair's other one and of other pairs
def _content(source: str) -> _Content:
    tree = ast.parse(source)
    statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    used = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    imported = frozenset(one for node in statements for one in _imported(node) if one[0].partition(".")[0] != RUNTIME)
    return _Content(imported, used, _without(source, statements))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, str]]:
    """Yields the module, what is taken from it ("" for itself) and what it is called here ("" for its own name)."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield node.module or "", alias.name, alias.asname or ""
        else:
            yield alias.name, "", alias.asname or ""


def _without(source: str, statements: Iterable[ast.stmt]) -> str:
    lines = source.split("\n")
    for node in statements:
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return re.sub("\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n")


def _with_imports(cell: Cell, needed: Sequence[tuple[str, str, str]]) -> Cell:
    of_python = [one for one in needed if one[0].partition(".")[0] in sys.stdlib_module_names]
    others = [one for one in needed if one not in of_python]
    parts = (_statements(of_python), cell.source, _statements(others))
    if cell.name == RUNTIME:  # its first statement says what it is for
        title, _, code = cell.source.partition("\n\n")
        code = _TITLE.sub("", code).strip("\n")  # of the modules behind the first
        imports = "\n\n".join(part for part in (title, _statements(of_python), _statements(others)) if part)
        return replace(cell, source=f"{imports}\n\n\n{code}")
    return replace(cell, source="\n\n".join(part for part in parts if part))


def _statements(imported: Sequence[tuple[str, str, str]]) -> str:
    """The statements as ruff sorts them: modules, then names from modules."""
    plain = {(module, called) for module, name, called in imported if not name}
    modules = sorted(plain, key=lambda pair: pair[0].lower())
    lines = [f"import {module} as {called}" if called else f"import {module}" for module, called in modules]
    for module in sorted({module for module, name, _ in imported if name}, key=str.lower):
        names = sorted({(name, called) for source, name, called in imported if source == module and name}, key=_rank)
        listed = [f"{name} as {called}" if called else name for name, called in names]
        line = f"from {module} import {', '.join(listed)}"
        if len(line) > _LONGEST_LINE:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in listed) + ")"
        lines.append(line)
    return "\n".join(lines)


def _rank(name: tuple[str, str]) -> tuple[int, str]:
    """Constants before classes before functions."""
    text = name[0]
    return (0 if text.isupper() and len(text) > 1 else 1 if text[0].isupper() else 2), text
