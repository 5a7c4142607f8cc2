"""Names of a notebook that nothing which runs makes use of; what is left over inside a function is ruff's to find.

What runs is every statement at the top level, and the functions and classes whose names come up in what runs. A use
inside a function that nobody calls is therefore no use.
"""

import ast
from collections.abc import Iterator, Mapping

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def unused_names(cells: Mapping[str, str]) -> list[str]:
    """Finds what a notebook does not need, as `kind name`: functions, classes, imports, variables and parameters.

    A name that begins with `_` may be left over, and so may the figure that `subplots` returns beside its axes.
    """
    kinds: dict[str, str] = {}
    uses_of: dict[str, set[str]] = {}
    reached: set[str] = set()
    for cell, source in cells.items():
        tree = ast.parse(source)
        definitions = [node for node in tree.body if isinstance(node, Definition)]
        others = [node for node in tree.body if not isinstance(node, Definition)]
        for definition in definitions:
            kinds[definition.name] = "class" if isinstance(definition, ast.ClassDef) else "function"
            uses_of.setdefault(definition.name, set()).update(_read_in(definition))
            kinds |= dict.fromkeys(_declared_global(definition), "variable")
        for statement in others:
            reached |= _read_in(statement)
            kinds |= _bound_in(statement, "parameter" if cell == "parameters" else "variable")
        if cell == "runtime":  # which looks names up by strings, as in `settings["PAIR_ID"]`
            reached |= {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    waiting = list(reached)
    while waiting:
        new = uses_of.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return sorted(f"{kind} {name}" for name, kind in kinds.items() if name not in reached and name[0] != "_")


def _read_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _declared_global(definition: Definition) -> Iterator[str]:
    for node in ast.walk(definition):
        if isinstance(node, ast.Global):
            yield from node.names


def _bound_in(statement: ast.AST, kind: str) -> dict[str, str]:
    """The names that a statement of the top level binds."""
    found: dict[str, str] = {}
    figures = {id(figure) for figure in _figures(statement)}
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
            found |= dict.fromkeys(names, "import")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in figures:
            found[node.id] = kind
    return found


def _figures(statement: ast.AST) -> Iterator[ast.expr]:
    """What stands for the figure in `figure, axes = plt.subplots()`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign) and getattr(getattr(node.value, "func", None), "attr", "") == "subplots":
            yield from (target.elts[0] for target in node.targets if isinstance(target, ast.Tuple))
