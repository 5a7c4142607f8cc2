"""Syntax trees: a pass over them, where each node is, and calls with the names of what is called."""

import ast
import gc
from collections import defaultdict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import cast

from generator.check.cell_text import CodeCell

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LEAVES = (ast.Name, ast.Constant)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# Of a node: what is no node, or one object that stands in many places, such as `ast.Load()`.
_NO_NODES = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "asname", "module", "level", "type_comment", "simple"}
_LONGEST_LITERAL = 1_000  # elements of a literal that are looked at: data, in a notebook


@dataclass(frozen=True, eq=False)
class Call:
    """A call with the full name of what is called: `tf.cast(x)` is of `tensorflow.cast`."""

    node: ast.Call
    name: str

    @cached_property
    def last(self) -> str:
        """The name after the last dot."""
        return self.name.rpartition(".")[2]

    def keyword(self, *names: str) -> ast.expr | None:
        """The value of the first of these keywords that is given."""
        return next((each.value for each in self.node.keywords if each.arg in names), None)

    def argument(self, position: int, *names: str) -> ast.expr | None:
        """The value of an argument, given by its position or by a name."""
        value = self.keyword(*names)
        if value is None and position < len(self.node.args):
            value = self.node.args[position]
        return None if isinstance(value, ast.Starred) else value

    @property
    def is_open(self) -> bool:
        """True if it takes arguments that the code does not name: `f(**settings)`."""
        return any(each.arg is None for each in self.node.keywords)

    @cached_property
    def receiver(self) -> ast.expr | None:
        """What stands before the dot of a method's call."""
        return self.node.func.value if isinstance(self.node.func, ast.Attribute) else None


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause Python's search for unused cycles, which takes twice as long as parsing: syntax trees have none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Tree:
    """Where every node is, from one pass over the cells in the order of their text."""

    def __init__(self, cells: tuple[CodeCell, ...]) -> None:
        self.cell_of: dict[ast.AST, int] = {}
        self.parent: dict[ast.AST, ast.AST | None] = {}
        self.function: dict[ast.AST, FunctionNode | None] = {}
        self.by_kind: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        self.inside: dict[FunctionNode | None, list[ast.AST]] = defaultdict(list)
        for number, cell in enumerate(cells):
            self._add(number, cell.tree)

    def _add(self, number: int, tree: ast.Module) -> None:
        stack: list[tuple[ast.AST, ast.AST | None, FunctionNode | None]] = [(tree, None, None)]
        while stack:
            node, parent, function = stack.pop()
            self.cell_of[node], self.parent[node], self.function[node] = number, parent, function
            self.by_kind[type(node)].append(node)
            self.inside[function].append(node)
            if isinstance(node, _LEAVES):
                continue
            children = children_of(node)
            children.reverse()
            if isinstance(node, _FUNCTIONS):
                body = {*node.body} if isinstance(node.body, list) else {node.body}  # a lambda's is one expression
                stack += [(child, node, node if child in body else function) for child in children]
            else:
                stack += [(child, node, function) for child in children]


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Every node in a node, itself included, without the far elements of a long literal."""
    stack = [node]
    while stack:
        each = stack.pop()
        yield each
        stack += reversed(children_of(each))


def children_of(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, without the far elements of a long literal."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [*node.elts[:_LONGEST_LITERAL]]
    if isinstance(node, ast.Dict):
        elements = [*node.keys[:_LONGEST_LITERAL], *node.values[:_LONGEST_LITERAL]]
        return [each for each in elements if each is not None]
    children: list[ast.AST] = []
    for name in _fields(cast("Hashable", type(node))):
        value = getattr(node, name, None)
        if isinstance(value, list):
            children += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            children.append(value)
    return children


@cache
def _fields(kind: Hashable) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes."""
    return () if kind in _LEAVES else tuple(name for name in getattr(kind, "_fields", ()) if name not in _NO_NODES)


def parameters(function: FunctionNode) -> list[ast.arg]:
    """Every parameter of a function, in order."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return named + [each for each in (arguments.vararg, arguments.kwarg) if each is not None]


def arguments_given(function: FunctionNode, call: ast.Call) -> list[tuple[str, ast.expr]]:
    """The parameters of a function to which a call gives an expression, by position or by name."""
    positional = [*function.args.posonlyargs, *function.args.args]
    if positional and positional[0].arg == "self":
        positional = positional[1:]
    pairs = [(each.arg, value) for each, value in zip(positional, call.args, strict=False)]
    return pairs + [(each.arg, each.value) for each in call.keywords if each.arg]


def is_true(node: ast.expr | None) -> bool:
    """True for a literal `True`."""
    return isinstance(node, ast.Constant) and node.value is True


def is_false(node: ast.expr | None) -> bool:
    """True for a literal `False`."""
    return isinstance(node, ast.Constant) and node.value is False
