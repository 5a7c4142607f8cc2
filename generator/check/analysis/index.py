"""The nodes of a notebook by kind, with the cell, the function and the node around each."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from generator.check.cell_text import CodeCell
from generator.check.code import NotebookCode
from generator.check.finding import Place

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
NodeT = TypeVar("NodeT", bound=ast.AST)
_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)  # one object stands in many places
_LONGEST = 1_000  # elements of a literal that are looked at: data, in a notebook
_DEEPEST = 200  # levels that are looked at above a node, so that a chain of thousands of terms takes linear time


@dataclass(frozen=True)
class _Around:
    """Where a node is."""

    cell: CodeCell
    parent: ast.AST | None
    function: FunctionNode | None


@dataclass(frozen=True, eq=False)
class Call:
    """A call with the full name of what is called: `tf.cast(x)` is of `tensorflow.cast`."""

    node: ast.Call
    name: str

    @property
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

    @property
    def receiver(self) -> ast.expr | None:
        """What stands before the dot of a method's call."""
        return self.node.func.value if isinstance(self.node.func, ast.Attribute) else None


class Index:
    """The nodes of a notebook in the order of their text."""

    def __init__(self, code: NotebookCode) -> None:
        self.code = code
        self._around: dict[ast.AST, _Around] = {}
        self._by_kind: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        self._in_function: dict[ast.AST | None, list[ast.AST]] = defaultdict(list)
        self._cell_numbers = {id(cell): number for number, cell in enumerate(code.cells)}
        for cell in code.cells:
            self._add(cell)
        self._aliases: dict[str, str] = {}
        self._aliases = self._module_aliases()
        self.stars = {
            node.module or "" for node in self.nodes(ast.ImportFrom) for alias in node.names if alias.name == "*"
        }
        self.calls = [Call(node, self.name(node.func)) for node in self.nodes(ast.Call)]
        self.call_of = {call.node: call for call in self.calls}
        self.functions_named: dict[str, list[FunctionNode]] = defaultdict(list)
        self.classes = {node.name: node for node in self.nodes(ast.ClassDef)}
        for function in self.defined:
            self.functions_named[function.name].append(function)

    def _add(self, cell: CodeCell) -> None:
        stack: list[tuple[ast.AST, ast.AST | None, FunctionNode | None]] = [(cell.tree, None, None)]
        while stack:
            node, parent, function = stack.pop()
            self._around[node] = _Around(cell, parent, function)
            self._by_kind[type(node)].append(node)
            self._in_function[function].append(node)
            children = _children(node)
            body = node.body if isinstance(node, FunctionNode) else []
            inside = set(body if isinstance(body, list) else [body])  # a lambda's is one expression
            stack += [
                (child, node, node if child in inside and isinstance(node, FunctionNode) else function)
                for child in reversed(children)
            ]

    def nodes(self, kind: type[NodeT]) -> list[NodeT]:
        """Every node of a kind."""
        return [node for node in self._by_kind[kind] if isinstance(node, kind)]

    @property
    def defined(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function that has a name."""
        return [*self.nodes(ast.FunctionDef), *self.nodes(ast.AsyncFunctionDef)]

    @property
    def functions(self) -> list[FunctionNode]:
        """Every function, lambdas included."""
        return [*self.defined, *self.nodes(ast.Lambda)]

    def inside(self, function: FunctionNode | None) -> list[ast.AST]:
        """The nodes of a function's body, or those outside of all; not those of functions that are defined there."""
        return self._in_function[function]

    def cell(self, node: ast.AST) -> CodeCell:
        """The cell that a node is in."""
        return self._around[node].cell

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around a node."""
        around = self._around.get(node)  # none for an element of a long literal
        return around.parent if around is not None else None

    def function(self, node: ast.AST) -> FunctionNode | None:
        """The innermost function whose body a node is in."""
        around = self._around.get(node)
        return around.function if around is not None else None

    def functions_around(self, node: ast.AST) -> Iterator[FunctionNode]:
        """The functions whose bodies a node is in, from inside to outside."""
        function = self.function(node)
        while function is not None:
            yield function
            function = self.function(function)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node as far as its function goes, from inside to outside."""
        function, parent = self.function(node), self.parent(node)
        for _ in range(_DEEPEST):
            if parent is None or parent is function:
                return
            yield parent
            parent = self.parent(parent)

    def is_conditional(self, node: ast.AST) -> bool:
        """True below an `if` of its function."""
        return any(isinstance(each, ast.If | ast.IfExp) for each in self.ancestors(node))

    def class_of(self, function: FunctionNode) -> ast.ClassDef | None:
        """The class that a function is a method of."""
        parent = self.parent(function)
        return parent if isinstance(parent, ast.ClassDef) else None

    def call(self, node: ast.AST | None) -> Call | None:
        """A node as a call, if it is one."""
        return self.call_of.get(node) if isinstance(node, ast.Call) else None

    def below(self, node: ast.AST) -> list[Call]:
        """The calls in a node, itself included."""
        return [self.call_of[each] for each in walk(node) if isinstance(each, ast.Call)]

    def place(self, node: ast.AST) -> Place:
        """Where a node is."""
        return self.code.place(self.cell(node), node)

    def order(self, node: ast.AST) -> tuple[int, int]:
        """A key that sorts nodes as they are executed in a notebook that is run from top to bottom."""
        return self._cell_numbers[id(self.cell(node))], getattr(node, "lineno", 0)

    def name(self, node: ast.AST) -> str:
        """The full name of what a dotted name stands for, also where a module was given a second name."""
        name = self.code.name_of(node)
        head, dot, rest = name.partition(".")
        return self._aliases[head] + dot + rest if head in self._aliases else name

    def _module_aliases(self) -> dict[str, str]:
        """The names that are given to something imported: `keras = tf.keras`, `AUTO = tf.data.AUTOTUNE`."""
        aliases: dict[str, str] = {}
        for node in self.nodes(ast.Assign):
            target, value = node.targets[0], node.value
            if len(node.targets) == 1 and isinstance(target, ast.Name) and isinstance(value, ast.Attribute):
                full = self.code.name_of(value)
                if full.partition(".")[0] in self.code.modules and target.id not in self.code.imported:
                    aliases[target.id] = full
        return aliases


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Every node in a node, itself included, without the far elements of a long literal."""
    stack = [node]
    while stack:
        each = stack.pop()
        yield each
        stack += reversed(_children(each))


def is_true(node: ast.expr | None) -> bool:
    """True for a literal `True`."""
    return isinstance(node, ast.Constant) and node.value is True


def is_false(node: ast.expr | None) -> bool:
    """True for a literal `False`."""
    return isinstance(node, ast.Constant) and node.value is False


def _children(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [*node.elts[:_LONGEST]]
    if isinstance(node, ast.Dict):
        return [each for each in [*node.keys[:_LONGEST], *node.values[:_LONGEST]] if each is not None]
    return [each for each in ast.iter_child_nodes(node) if not isinstance(each, _SHARED)]
