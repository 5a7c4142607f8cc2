"""Names of a notebook that nothing which runs makes use of; what is left over inside a function is ruff's to find.

What runs is every statement at the top level, and the functions and classes whose names come up in what runs. A use
inside a function that nobody calls is therefore no use. An argument, a variable of a function or the target of a
comprehension hides the variable of the notebook that has the same name.
"""

import ast
import symtable
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def unused_names(cells: Mapping[str, str]) -> list[str]:
    """Finds what a notebook does not need, as `kind name`: functions, classes, imports, variables and parameters.

    A name that begins with `_` may be left over, and so may the figure that `subplots` returns beside its axes.
    """
    kinds: dict[str, str] = {}
    uses_of: dict[str, set[str]] = {}
    reached: set[str] = set()
    for cell, source in cells.items():
        names = _names_of(source, cell if cell in ("parameters", "runtime") else "")
        kinds |= names.kinds
        reached |= names.reached
        for definition, uses in names.uses_of.items():
            uses_of.setdefault(definition, set()).update(uses)
    waiting = list(reached)
    while waiting:
        new = uses_of.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return sorted(f"{kind} {name}" for name, kind in kinds.items() if name not in reached and name[0] != "_")


@dataclass(frozen=True)
class _Names:
    """The names of a cell.

    Attributes:
        kinds: The kind of each name that the cell defines.
        uses_of: The names of the notebook that each function and class reads.
        reached: The names that the statements at the top level read.
    """

    kinds: Mapping[str, str]
    uses_of: Mapping[str, set[str]]
    reached: set[str]


@cache  # most cells are in many notebooks
def _names_of(source: str, cell: str) -> _Names:
    kinds: dict[str, str] = {}
    uses_of: dict[str, set[str]] = {}
    reached: set[str] = set()
    tree = ast.parse(source)
    if cell == "runtime":  # which looks names up by strings, as in `settings["PAIR_ID"]`
        reached |= {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for node in tree.body:
        symbols = _symbols(node)
        if isinstance(node, Definition):
            kinds[node.name] = "class" if isinstance(node, ast.ClassDef) else "function"
            uses_of.setdefault(node.name, set()).update(_read_in(symbols))
            kinds |= dict.fromkeys(_declared_global(node), "variable")
        else:
            reached |= _read_in(symbols)
            kinds |= _bound_in(symbols, "parameter" if cell == "parameters" else "variable", _figures(node))
    return _Names(kinds, uses_of, reached)


class _Generators(ast.NodeTransformer):
    """Writes comprehensions as generators, which have a scope of their own in every version of Python."""

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> ast.GeneratorExp:
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    visit_SetComp = visit_ListComp  # noqa: N815

    def visit_DictComp(self, node: ast.DictComp) -> ast.GeneratorExp:
        self.generic_visit(node)
        return ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)


def _symbols(node: ast.stmt) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(_Generators().visit(node)), "cell", "exec")


def _read_in(notebook: symtable.SymbolTable) -> set[str]:
    """The names of the notebook that a statement reads, in whatever scope."""
    scopes, names = [notebook], set()
    for scope in scopes:
        scopes += scope.get_children()
        symbols = [symbol for symbol in scope.get_symbols() if symbol.is_referenced()]
        names |= {symbol.get_name() for symbol in symbols if scope is notebook or symbol.is_global()}
    return names


def _declared_global(definition: Definition) -> Iterator[str]:
    for node in ast.walk(definition):
        if isinstance(node, ast.Global):
            yield from node.names


def _bound_in(notebook: symtable.SymbolTable, kind: str, figures: set[str]) -> dict[str, str]:
    """The names that a statement of the top level binds."""
    symbols = {symbol.get_name(): symbol for symbol in notebook.get_symbols()}
    imports = {name: "import" for name, symbol in symbols.items() if symbol.is_imported()}
    # `:=` in a comprehension counts as a declaration there.
    bound = {name for name, symbol in symbols.items() if symbol.is_assigned() or symbol.is_declared_global()}
    return imports | dict.fromkeys(bound - figures, kind)


def _figures(statement: ast.AST) -> set[str]:
    """The names of the figures in `figure, axes = plt.subplots()`."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign) and getattr(getattr(node.value, "func", None), "attr", "") == "subplots":
            firsts = [target.elts[0] for target in node.targets if isinstance(target, ast.Tuple)]
            found |= {first.id for first in firsts if isinstance(first, ast.Name)}
    return found
