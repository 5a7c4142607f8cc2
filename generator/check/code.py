"""The code of a notebook as syntax trees, with the names that its imports give.

Nothing of it is executed. Magics and shell commands, which are no Python, are taken out of a cell and kept beside it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from generator.check.finding import Place


@dataclass(frozen=True)
class CodeCell:
    """A code cell: its text, its tree (empty where it is no Python), and the commands in it by their lines."""

    name: str
    source: str
    tree: ast.Module
    commands: dict[int, str] = field(default_factory=dict)  # line: `pip install x`, without its `!` or `%`
    syntax_error: SyntaxError | None = None


@dataclass(frozen=True)
class NotebookCode:
    """The code cells of a notebook, in order."""

    path: Path
    cells: tuple[CodeCell, ...]

    @cached_property
    def imported(self) -> dict[str, str]:
        """Names of the notebook by what they were imported as: `np` is `numpy`, `jit` is `jax.jit`."""
        names: dict[str, str] = {}
        for _, node in self.nodes():
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

    def nodes(self) -> Iterator[tuple[CodeCell, ast.AST]]:
        """Every node of every cell, from outside to inside."""
        for cell in self.cells:
            for node in ast.walk(cell.tree):
                yield cell, node

    def calls(self) -> Iterator[tuple[CodeCell, ast.Call, str]]:
        """Every call with the full name of what is called: `tf.cast(x)` is of `tensorflow.cast`."""
        for cell, node in self.nodes():
            if isinstance(node, ast.Call):
                yield cell, node, self.name_of(node.func)

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
