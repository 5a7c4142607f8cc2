"""The code of a notebook as syntax trees, with the names that its imports give.

Nothing of it is executed. Magics and shell commands, which are no Python, are taken out of a cell and kept beside it.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from generator.check.cell_text import CodeCell, read_cell
from generator.check.finding import Place
from generator.pair.notebook import joined
from generator.untrusted import JsonObject

_MOST_CELLS, _MOST_CODE = 2_000, 4_000_000
# What people and this kit call cells; the ids that editors make up have digits among their letters.
_NAME = re.compile(r"[A-Za-z]+(?:[-_](?:[A-Za-z]+|\d+))*")
_RANDOM_ID = re.compile(r"[0-9a-f]{8}|[0-9a-f]{8}-[0-9a-f-]+")


@dataclass(frozen=True, eq=False)  # it is what it is, so that what is known of it can be kept
class NotebookCode:
    """The code cells of a notebook, in order."""

    path: Path
    cells: tuple[CodeCell, ...]

    @cached_property
    def imported(self) -> dict[str, str]:
        """Names of the notebook by what they were imported as: `np` is `numpy`, `jit` is `jax.jit`."""
        names: dict[str, str] = {}
        for _, node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    names[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        return names

    @cached_property
    def modules(self) -> frozenset[str]:
        """The top-level modules that the notebook imports."""
        return frozenset(name.partition(".")[0] for name in self.imported.values())

    @cached_property
    def bound(self) -> Mapping[str, int]:
        """How often each name is bound: by assignments and loops, and as an argument."""
        names = (getattr(node, "id", "") for _, node in self.nodes if isinstance(getattr(node, "ctx", None), ast.Store))
        return Counter([*names, *(node.arg for _, node in self.nodes if isinstance(node, ast.arg))])

    @cached_property
    def assigned(self) -> Mapping[str, ast.expr]:
        """The values of names that are bound exactly once in the notebook, by a plain `name = value`."""
        values: dict[str, ast.expr] = {}
        for _, node in self.nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                values[node.targets[0].id] = node.value
        return {name: value for name, value in values.items() if self.bound[name] == 1}

    @cached_property
    def texts(self) -> dict[ast.AST, str | None]:
        """What `text_of` has read already."""
        return {}

    @cached_property
    def nodes(self) -> tuple[tuple[CodeCell, ast.AST], ...]:
        """Every node of every cell, from outside to inside."""
        return tuple((cell, node) for cell in self.cells for node in ast.walk(cell.tree))

    @cached_property
    def calls(self) -> tuple[tuple[CodeCell, ast.Call, str], ...]:
        """Every call with the full name of what is called: `tf.cast(x)` is of `tensorflow.cast`."""
        return tuple((cell, node, self.name_of(node.func)) for cell, node in self.nodes if isinstance(node, ast.Call))

    @cached_property
    def _parents(self) -> Mapping[ast.AST, ast.AST]:
        return {child: node for _, node in self.nodes for child in ast.iter_child_nodes(node)}

    def commands(self) -> Iterator[tuple[CodeCell, int, str]]:
        """Every command and magic with its cell and line."""
        for cell in self.cells:
            for line, command in cell.commands.items():
                yield cell, line, command

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, from the inside out."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def name_of(self, node: ast.AST) -> str:
        """The full name of what a dotted name stands for, `?.fit` where it begins with no name, or nothing."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            return ".".join([self.imported.get(node.id, node.id), *reversed(parts)])
        return ".".join(["?", *reversed(parts)]) if parts else ""

    def place(self, cell: CodeCell, node: ast.AST | int | None = None) -> Place:
        """Where a node of a cell, or a line of it, is."""
        line = node if isinstance(node, int) else getattr(node, "lineno", 0)
        return Place(self.path, cell.name, line)


def read_code(notebook: Mapping[str, object], path: Path) -> NotebookCode:
    """Read the code cells of a notebook; what is no cell is passed by."""
    found: list[CodeCell] = []
    length = 0
    for number, cell in enumerate(JsonObject(notebook).sections("cells")[:_MOST_CELLS], start=1):
        if cell.get("cell_type") == "code":
            source = joined(cell.get("source"))
            length += len(source)
            name, too_much = cell_name(cell, number), f"the notebook has more than {_MOST_CODE:,} characters of code"
            if length > _MOST_CODE:
                found.append(CodeCell(name, source, syntax_error=SyntaxError(too_much)))
            else:
                found.append(read_cell(name, source))
    return NotebookCode(path, tuple(found))


def cell_name(cell: JsonObject, number: int) -> str:
    """What a cell is called in a finding: its id where that is a name, else its number among all cells."""
    name = cell.text("id")
    return name if _NAME.fullmatch(name) and not _RANDOM_ID.fullmatch(name) else f"cell {number}"
