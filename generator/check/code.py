"""The code of a notebook: one model of its syntax trees, its names, and the values that can be read from them."""

import ast
import operator
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Protocol, TypeVar, cast

from generator.check.cell_text import (
    CheckedCell,
    CodeCall,
    FunctionNode,
    Tree,
    arguments_given,
    cell_name,
    collector_paused,
    function_parameters,
    parse_code_cells,
    walk_nodes,
)
from generator.check.findings import CodeLocation
from generator.pair.notebook import join_lines
from generator.text import JsonObject

# Texts that the code of a notebook puts together, paths above all.


UNKNOWN = "\0"  # a part of a text that only a run would tell

_SAME_TEXT = {"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath", "str", "os.fspath"}
_JOINING = {"os.path.join", "posixpath.join", "tensorflow.io.gfile.join"}
_PATH_IDENTITIES = {"resolve", "absolute", "expanduser", "as_posix"}


class Names(Protocol):
    """What the code of a notebook knows of its names."""

    def name(self, node: ast.AST) -> str:
        """Return the full name that an expression is."""

    def resolve(self, node: ast.expr | None) -> ast.expr | None:
        """Return the expression that a name is given."""

    def text(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """Return the text that an expression amounts to, if it is known."""


def string_value(code: Names, node: ast.AST, depth: int) -> str | None:  # noqa: PLR0911 - a kind a line
    """Return the text that an expression amounts to, with `UNKNOWN` for parts of it, or None; as `NotebookCode.text`.

    Args:
        code: The notebook's code, which knows names.
        node: The expression.
        depth: How many expressions it is within.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        value = code.resolve(node)
        return None if value is node else code.text(value, depth + 1)
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        return "".join(code.text(part, depth + 1) or UNKNOWN for part in parts)
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, ast.Div | ast.Add):
            return None
        left, right = code.text(node.left, depth + 1), code.text(node.right, depth + 1)
        if left is None and right is None:
            return None
        if isinstance(node.op, ast.Div):
            return _path(left, right)
        return (left or UNKNOWN) + (right or UNKNOWN)
    return _text_of_call(code, node, depth) if isinstance(node, ast.Call) else None


def _text_of_call(code: Names, node: ast.Call, depth: int) -> str | None:
    name = code.name(node.func)
    method = name.rpartition(".")[2]
    if name not in _SAME_TEXT and name not in _JOINING and method != "joinpath" and method not in _PATH_IDENTITIES:
        return None
    parts = [code.text(argument, depth + 1) for argument in node.args]
    if name in _SAME_TEXT and len(parts) == 1:
        return parts[0]
    if name in _SAME_TEXT | _JOINING:
        return _path(*parts) if any(part is not None for part in parts) else None
    base = code.text(node.func.value, depth + 1) if isinstance(node.func, ast.Attribute) else None
    if base is None or method == "joinpath":
        return _path(base, *parts) if base is not None else None
    return base if method in _PATH_IDENTITIES else None


def _path(*parts: str | None) -> str:
    return str(PurePosixPath(*(UNKNOWN if part is None else part for part in parts)))


NodeT = TypeVar("NodeT", bound=ast.AST)
_MOST_CELLS = 2_000
_DEEPEST_AROUND = 200  # levels that are looked at above a node, so that a chain of thousands of terms takes linear time
_MOST_MEANINGS = 20  # things that a name may stand for, of which each is below an `if`
_MOST_VALUES = 50  # that a name is given: each of thousands of uses may look at all of them
_DEEPEST_MAKER = 6  # names and functions that are followed to what makes an object
_COPIES = {"clone", "deepcopy", "copy"}
_DEEPEST_VALUE = 30  # names and operations that are followed for a value
_DEEPEST_TEXT, _LONGEST_TEXT, _LARGEST = 20, 4_000, 2**63
_RECORDS = {"SimpleNamespace", "dict", "EasyDict", "Box", "Namespace", "AttrDict", "DotMap", "ConfigDict"}
_NAMESPACES = {"globals", "locals", "vars", "dir", "get_ipython"}
_PASSED_ON = {
    "len",
    "enumerate",
    "tqdm",
    "trange",
    "sorted",
    "list",
    "tuple",
    "reversed",
    "zip",
    "print",
    "set",
    "bool",
}
_BRANCHES = (ast.If, ast.Try, ast.For, ast.While, ast.match_case)
_RUN_BY_IPYTHON = {"run_line_magic", "run_cell_magic", "magic", "system", "getoutput"}
_SHELLS = {"bash", "sh", "script", "system", "sx", "!"}
_ENVIRONMENT = re.compile(r"(?:set_)?env\s+(?P<name>\w+)\s*[=\s]\s*(?P<value>.*)")
# Names by which a module is usually imported, also by a helper of which a notebook imports every name.
_USUAL_NAMES = {"tf": "tensorflow", "np": "numpy", "pd": "pandas", "jnp": "jax.numpy", "jax": "jax", "keras": "keras",
                "torch": "torch", "plt": "matplotlib.pyplot", "os": "os"}  # fmt: skip
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True)
class _Definition:
    """Something that gives a name what it stands for: a function, a class, an expression, or None for another thing."""

    position: tuple[int, int, int]
    value: ast.AST | None
    is_certain: bool  # it is below no `if`, loop or `try`


@dataclass(frozen=True, eq=False)  # it is what it is, so that what is known of it can be kept
class NotebookCode:
    """The code cells of a notebook, in order; what is known of them is found out when it is asked for."""

    path: Path
    cells: tuple[CheckedCell, ...]
    script: str = ""  # the file that it is, where a cell of a notebook writes it
    writer: "NotebookCode | None" = None  # the notebook that writes it

    @property
    def is_whole(self) -> bool:
        """False where cells are not analysed, so that nothing can be said of what is missing."""
        return all(cell.is_analysed for cell in (self if self.writer is None else self.writer).cells)

    @property
    def is_notebook(self) -> bool:
        """False for a script, also one that a cell writes."""
        return self.path.suffix == ".ipynb" and not self.script

    # Where nodes are

    @cached_property
    def _tree(self) -> Tree:
        return Tree(self.cells)

    def nodes(self, *kinds: type[NodeT]) -> list[NodeT]:
        """Every node of some kinds, one kind after the other, each in the order of the text."""
        by_kind = self._tree.by_kind
        return [node for kind in kinds for node in cast("list[NodeT]", by_kind.get(kind, []))]

    def all_nodes(self) -> Iterator[ast.AST]:
        """Every node, from outside to inside."""
        return iter(self._tree.cell_of)

    @cached_property
    def calls(self) -> list[CodeCall]:
        """Every call, with the full name of what is called."""
        return [CodeCall(node, self.name(node.func)) for node in self.nodes(ast.Call)]

    @cached_property
    def calls_by_name(self) -> Mapping[str, list[CodeCall]]:
        """The calls of each full name."""
        calls_by_name: dict[str, list[CodeCall]] = defaultdict(list)
        for call in self.calls:
            calls_by_name[call.name].append(call)
        return calls_by_name

    @cached_property
    def callee_names(self) -> frozenset[str]:
        """What is called anywhere, by the name after the last dot."""
        return frozenset(call.last for call in self.calls)

    @cached_property
    def _call_of(self) -> dict[ast.AST, CodeCall]:
        return {call.node: call for call in self.calls}

    def call(self, node: ast.AST | None) -> CodeCall | None:
        """A node as a call, if it is one."""
        return self._call_of.get(node) if isinstance(node, ast.Call) else None

    def below(self, node: ast.AST) -> list[CodeCall]:
        """The calls in a node, itself included."""
        calls = (self.call(descendant) for descendant in walk_nodes(node))
        return [call for call in calls if call is not None]

    def has(self, node: ast.AST) -> bool:
        """False for a far element of a long literal, which is not looked at."""
        return node in self._tree.cell_of

    def cell(self, node: ast.AST) -> CheckedCell:
        """The cell that a node is in."""
        return self.cells[self._tree.cell_of[node]]

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around a node."""
        return self._tree.parent.get(node)  # none for an element of a long literal

    def function(self, node: ast.AST) -> FunctionNode | None:
        """The innermost function whose body a node is in."""
        return self._tree.function.get(node)

    def functions_around(self, node: ast.AST) -> Iterator[FunctionNode]:
        """The functions whose bodies a node is in, from inside to outside."""
        function = self.function(node)
        while function is not None:
            yield function
            function = self.function(function)

    def ancestors(self, node: ast.AST, *, within_function: bool = False) -> Iterator[ast.AST]:
        """The nodes around a node from inside to outside, also beyond its function unless that is left out."""
        last = self.function(node) if within_function else None
        parent = self.parent(node)
        for _ in range(_DEEPEST_AROUND):
            if parent is None or parent is last:
                return
            yield parent
            parent = self.parent(parent)

    def is_conditional(self, node: ast.AST) -> bool:
        """True below an `if` of its function."""
        return any(isinstance(ancestor, ast.If | ast.IfExp) for ancestor in self.ancestors(node, within_function=True))

    def class_of(self, function: FunctionNode) -> ast.ClassDef | None:
        """The class that a function is a method of."""
        parent = self.parent(function)
        return parent if isinstance(parent, ast.ClassDef) else None

    def inside(self, function: FunctionNode | None) -> list[ast.AST]:
        """The nodes of a function's body, or those outside of all; not those of functions that are defined there."""
        return self._tree.inside.get(function, [])

    def calls_inside(self, function: FunctionNode | None) -> list[CodeCall]:
        """The calls in a function's body, or those outside of all."""
        return self._calls_by_function.get(function, [])

    @cached_property
    def _calls_by_function(self) -> Mapping[FunctionNode | None, list[CodeCall]]:
        calls_by_function: dict[FunctionNode | None, list[CodeCall]] = defaultdict(list)
        for call in self.calls:
            calls_by_function[self.function(call.node)].append(call)
        return calls_by_function

    def order(self, node: ast.AST) -> tuple[int, int]:
        """A key that sorts nodes as they are executed in a notebook that is run from top to bottom."""
        return self._tree.cell_of[node], getattr(node, "lineno", 0)

    def place(self, at: CheckedCell | ast.AST, node: ast.AST | int | None = None) -> CodeLocation:
        """Where a node is; or a cell, a line of it, a node in it."""
        cell, node = (self.cell(at), at) if isinstance(at, ast.AST) else (at, node)
        line = node if isinstance(node, int) else getattr(node, "lineno", 0)
        return CodeLocation(self.path, cell.name, line)

    def commands(self) -> Iterator[tuple[CheckedCell, int, str]]:
        """Every command and magic with its cell and line, those of `get_ipython().run_line_magic` and the like too."""
        for cell in self.cells:
            for line, command in cell.commands.items():
                yield cell, line, command
        for call in self.calls:
            if call.last in _RUN_BY_IPYTHON and self._is_ipython(call.receiver):
                texts = [self.text(argument) or "" for argument in call.node.args]
                line = call.node.lineno
                if call.last == "run_cell_magic":
                    magic, bodies = texts[:1], texts[2:3]
                    is_shell = bool(bodies) and magic[0] in _SHELLS
                    command_lines = (
                        [body_line for body in bodies for body_line in body.splitlines()] if is_shell else magic
                    )
                else:
                    command_lines = [" ".join(texts)]
                for text in command_lines:
                    yield self.cell(call.node), line, text.strip().lstrip("%!")

    def _is_ipython(self, node: ast.expr | None) -> bool:
        call = self.call(self.resolve(node))
        return call is not None and call.last == "get_ipython"

    @cached_property
    def scripts(self) -> tuple["NotebookCode", ...]:
        """The Python files that its cells write, each as code of its own, whose places are those of the cells."""
        files: dict[str, list[CheckedCell]] = defaultdict(list)
        for cell in self.cells:
            if cell.script is not None:
                command = next(iter(cell.commands.values()), "")
                files[command.split()[-1] if command.split()[1:] else cell.name].append(cell.script)
        return tuple(NotebookCode(self.path, tuple(cells), script=name, writer=self) for name, cells in files.items())

    @cached_property
    def environment_settings(self) -> list[tuple[ast.AST, str, ast.expr | None]]:
        """Where the code sets an environment variable, its name (UNKNOWN where only a run tells), and the value."""
        settings: list[tuple[ast.AST, str, ast.expr | None]] = []
        for assign in self.nodes(ast.Assign):
            targets = [target for target in assign.targets if isinstance(target, ast.Subscript)]
            names = [
                self.text(target.slice) or UNKNOWN for target in targets if self.name(target.value) == "os.environ"
            ]
            settings += [(assign, name, assign.value) for name in names]
        for call in self.calls:
            if call.name in ("os.environ.setdefault", "os.putenv"):
                settings.append((call.node, self.text(call.argument(0)) or UNKNOWN, call.argument(1)))
            elif call.name == "os.environ.update":
                mapping = self.resolve(call.argument(0))
                pairs = zip(mapping.keys, mapping.values, strict=True) if isinstance(mapping, ast.Dict) else ()
                settings += [(call.node, self.text(key) or UNKNOWN, value) for key, value in pairs]
                settings += [(call.node, keyword.arg, keyword.value) for keyword in call.node.keywords if keyword.arg]
        return settings

    @cached_property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that the notebook sets, as far as their values are known; UNKNOWN where not."""
        variables: dict[str, str] = {} if self.writer is None else dict(self.writer.environment)
        variables |= {name: self._setting(value) for _, name, value in self.environment_settings}
        for _, _, command in self.commands():
            if setting := _ENVIRONMENT.match(command):
                variables[setting["name"]] = setting["value"].strip().strip("\"'")
        return variables

    def _setting(self, node: ast.expr | None) -> str:
        value = self.resolve(node)
        if isinstance(value, ast.Call) and self.name(value.func) == "str" and value.args:
            value = self.resolve(value.args[0])
        text = self.text(value)
        if text is None and isinstance(value, ast.Constant):
            text = str(value.value)
        return UNKNOWN if text is None else text

    # What is defined

    @cached_property
    def function_defs(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function that has a name."""
        return [*self.nodes(ast.FunctionDef), *self.nodes(ast.AsyncFunctionDef)]

    @property
    def functions(self) -> list[FunctionNode]:
        """Every function, lambdas included."""
        return [*self.function_defs, *self.nodes(ast.Lambda)]

    @cached_property
    def functions_named(self) -> Mapping[str, list[FunctionNode]]:
        """The functions of each name, methods included, in the order of the text."""
        functions_by_name: dict[str, list[FunctionNode]] = defaultdict(list)
        for function in self.function_defs:
            functions_by_name[function.name].append(function)
        return functions_by_name

    @cached_property
    def methods(self) -> Mapping[tuple[ast.ClassDef, str], list[FunctionNode]]:
        """The methods of each class by their names."""
        methods: dict[tuple[ast.ClassDef, str], list[FunctionNode]] = defaultdict(list)
        for function in self.function_defs:
            if (owner := self.class_of(function)) is not None:
                methods[owner, function.name].append(function)
        return methods

    @cached_property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        """The classes of the notebook by their names."""
        return {node.name: node for node in self.nodes(ast.ClassDef)}

    # What names stand for

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """Names of the notebook by what they were imported as: `np` is `numpy`, `jit` is `jax.jit`."""
        names: dict[str, str] = {}
        nodes: list[ast.Import | ast.ImportFrom] = [*self.nodes(ast.Import), *self.nodes(ast.ImportFrom)]
        for node in sorted(nodes, key=self.order):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    names[alias.asname or top] = alias.name if alias.asname else top
            elif node.module and not node.level:
                names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        if "*" in names:
            used_names = {node.id for node in self.nodes(ast.Name)}
            stored_names = {node.id for node in self.nodes(ast.Name) if isinstance(node.ctx, ast.Store)}
            usual = {name: module for name, module in _USUAL_NAMES.items() if name in used_names - stored_names}
            names = usual | names
        return names

    @cached_property
    def import_statements(self) -> list[tuple[ast.AST, list[str]]]:
        """Every import with the full names that it brings."""
        plain = [(node, [alias.name for alias in node.names]) for node in self.nodes(ast.Import)]
        of_modules = [node for node in self.nodes(ast.ImportFrom) if node.module and not node.level]
        return [*plain, *((node, [f"{node.module}.{member.name}" for member in node.names]) for node in of_modules)]

    @cached_property
    def modules(self) -> frozenset[str]:
        """The top-level modules that the notebook imports."""
        return frozenset(name.partition(".")[0] for name in self.imports.values())

    @cached_property
    def stars(self) -> frozenset[str]:
        """The modules of which the notebook imports every name."""
        nodes = self.nodes(ast.ImportFrom)
        return frozenset(node.module or "" for node in nodes for alias in node.names if alias.name == "*")

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """The names that are given to something imported: `keras = tf.keras`, `AUTO = tf.data.AUTOTUNE`."""
        aliases: dict[str, str] = {}
        for node in self.nodes(ast.Assign):
            target, value = node.targets[0], node.value
            if len(node.targets) == 1 and isinstance(target, ast.Name) and isinstance(value, ast.Attribute):
                full = self._imported_name(value)
                if full.partition(".")[0] in self.modules and target.id not in self.imports:
                    aliases[target.id] = full
        return aliases

    def name(self, node: ast.AST) -> str:
        """The full name of what a dotted name stands for, `?.fit` where it begins with no name, or nothing.

        A module that was given a second name is followed: `keras = tf.keras`.
        """
        name = self._imported_name(node)
        head, dot, rest = name.partition(".")
        return self._aliases[head] + dot + rest if head in self._aliases else name

    def full_name(self, name: str) -> str:
        """The full name of what a name without a dot stands for."""
        return self._aliases.get(name) or self.imports.get(name, name)

    def _imported_name(self, node: ast.AST) -> str:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            return ".".join([self.imports.get(node.id, node.id), *reversed(parts)])
        return ".".join(["?", *reversed(parts)]) if parts else ""

    def statement(self, cell: CheckedCell, line: int) -> ast.stmt | None:
        """The innermost statement that a line of a cell is in; a command leaves `pass` in its place."""
        statements = self.statements.get((cell.name, line), [])
        return statements[-1] if statements else None

    @cached_property
    def statements(self) -> Mapping[tuple[str, int], list[ast.stmt]]:
        """The statements of each line, the innermost one last."""
        statements_by_line: dict[tuple[str, int], list[ast.stmt]] = defaultdict(list)
        for node in self.all_nodes():
            if isinstance(node, ast.stmt):
                last = node.end_lineno or node.lineno
                compound = isinstance(getattr(node, "body", None), list)
                for line in range(node.lineno, (node.lineno if compound else last) + 1):
                    statements_by_line[self.cell(node).name, line].append(node)
        return statements_by_line

    # Which function a name means

    @cached_property
    def _definitions(self) -> Mapping[tuple[FunctionNode | None, str], list["_Definition"]]:
        """What gives each name of a scope something to stand for, in the order of the text."""
        definitions_by_name: dict[tuple[FunctionNode | None, str], list[_Definition]] = defaultdict(list)
        for function in self.functions:
            for argument in function_parameters(function):
                definitions_by_name[function, argument.arg].append(_Definition((-1, 0, 0), None, is_certain=True))
        for node, names, value in self._definers():
            if not isinstance(self.parent(node), ast.ClassDef) and not self._is_in_class_body(node):
                certain = not any(
                    isinstance(ancestor, _BRANCHES) for ancestor in self.ancestors(node, within_function=True)
                )
                for name in names:
                    definitions_by_name[self.function(node), name].append(
                        _Definition(self._position(node), value, is_certain=certain)
                    )
        for definitions in definitions_by_name.values():
            definitions.sort(key=lambda definition: definition.position)
        return definitions_by_name

    def definitions(self) -> Iterator[tuple[str, ast.AST | None]]:
        """Every name with each thing that it is given to stand for, in any scope."""
        return (
            (name, definition.value)
            for (_, name), definitions in self._definitions.items()
            for definition in definitions
        )

    def _definers(self) -> Iterator[tuple[ast.AST, list[str], ast.AST | None]]:
        """Every node that gives names something to stand for, with the names and what is known of that."""
        def_nodes: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = [
            *self.function_defs,
            *self.nodes(ast.ClassDef),
        ]
        for node in def_nodes:
            yield node, [node.name], node
        importing: list[ast.Import | ast.ImportFrom] = [*self.nodes(ast.Import), *self.nodes(ast.ImportFrom)]
        for statement in importing:
            yield statement, [(alias.asname or alias.name).partition(".")[0] for alias in statement.names], None
        for name in self.nodes(ast.Name):
            if not isinstance(name.ctx, ast.Load):
                parent = self.parent(name)
                yield name, [name.id], parent.value if isinstance(parent, ast.Assign | ast.NamedExpr) else None

    def _is_in_class_body(self, node: ast.AST) -> bool:
        parent = self.parent(node)
        return isinstance(parent, ast.Assign | ast.AnnAssign) and isinstance(self.parent(parent), ast.ClassDef)

    def _position(self, node: ast.AST) -> tuple[int, int, int]:
        """Where something takes effect: a name that is assigned to, after its value."""
        parent = self.parent(node)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and isinstance(parent, ast.stmt):
            return self._tree.cell_of[node], parent.end_lineno or 0, parent.end_col_offset or 0
        return self._tree.cell_of[node], getattr(node, "lineno", 0), getattr(node, "col_offset", 0)

    def find_meanings(self, name: ast.Name) -> list[ast.AST | None]:
        """What a name stands for where it is: functions, classes, expressions that it was given; None is not known.

        The innermost scope that has it decides, and there the definition in force: the last one above, with others
        where that is below an `if`, up to twenty of them. In a function it is the one in force where the function is
        first used.
        """
        for scope in [*self.functions_around(name), None]:
            definitions = self._definitions.get((scope, name.id))
            if definitions is None:
                continue
            at = self._position(name) if self.function(name) is scope else self._first_use(name, scope)
            before = len(definitions) if at is None else bisect_left(definitions, at, key=lambda entry: entry.position)
            meanings: list[ast.AST | None] = []
            for definition in reversed(
                definitions[max(0, (before or len(definitions)) - _MOST_MEANINGS) : before or len(definitions)]
            ):
                meanings.append(definition.value)
                if definition.is_certain:
                    break
            return meanings
        return []

    def _first_use(self, name: ast.Name, scope: FunctionNode | None) -> tuple[int, int, int] | None:
        """Where the function around a name is first used in an outer scope, if it is."""
        inner = next(function for function in self.functions_around(name) if self.function(function) is scope)
        if isinstance(inner, ast.Lambda):
            return None
        uses = self._positions_of_uses.get(inner.name, [])
        following = bisect_right(uses, self._position(inner))
        return uses[following] if following < len(uses) else None

    @cached_property
    def _positions_of_uses(self) -> Mapping[str, list[tuple[int, int, int]]]:
        """Where each name stands, in the order of the text."""
        return {name: sorted(map(self._position, uses)) for name, uses in self.uses_by_name.items()}

    @cached_property
    def uses_by_name(self) -> Mapping[str, list[ast.Name]]:
        """Where each name stands."""
        uses: dict[str, list[ast.Name]] = defaultdict(list)
        for node in self.nodes(ast.Name):
            if isinstance(node.ctx, ast.Load):
                uses[node.id].append(node)
        return uses

    # What makes an object

    def makers(self, node: ast.expr | None, depth: int = 0) -> list[CodeCall | None]:
        """The calls that may make the object that an expression stands for; None is a maker that is not known.

        Names, fields of a class (`self.model`), choices by `if`, copies (`clone(model)`), functions of the notebook
        with what they return, and parameters with what every call hands over are followed.
        """
        key = node, depth
        if key not in self._makers:
            self._makers[key] = self._find_makers(node, depth)
        return self._makers[key]

    @cached_property
    def _makers(self) -> dict[tuple[ast.expr | None, int], list[CodeCall | None]]:
        return {}

    def _find_makers(self, node: ast.expr | None, depth: int) -> list[CodeCall | None]:
        values: list[ast.expr | None] = [None]
        call = self.call(node)
        if depth > _DEEPEST_MAKER:
            return [None]
        if call is not None:
            if call.last in _COPIES and call.node.args:
                values = [call.node.args[0]]
            elif (return_values := self._return_values(call)) is not None:
                values = return_values
            else:
                return [call]
        elif isinstance(node, ast.IfExp):
            values = [node.body, node.orelse]
        elif isinstance(node, ast.Attribute):
            is_self = isinstance(node.value, ast.Name) and node.value.id == "self"
            values = self._fields_of_self(node) if is_self else self.find_attribute_values(node) or [None]
        elif isinstance(node, ast.Name):
            meanings = self.find_meanings(node)
            values = [meaning if isinstance(meaning, ast.expr) else None for meaning in meanings] or [None]
            function = next((scope for scope in self.functions_around(node) if self.binds(scope, node.id)), None)
            if values == [None] and isinstance(function, ast.FunctionDef):
                values = self._argument_values(function, node.id)
        makers = [maker for value in values[:_MOST_MEANINGS] for maker in self._makers_of(value, depth)]
        return list(dict.fromkeys(makers)) if len(values) <= _MOST_MEANINGS else [*makers, None]

    def _makers_of(self, value: ast.expr | None, depth: int) -> list[CodeCall | None]:
        return [None] if value is None else self.makers(value, depth + 1)

    def _return_values(self, call: CodeCall) -> list[ast.expr | None] | None:
        """What the one function of the notebook that a call means returns; None where it means none."""
        functions = self.functions_named.get(call.last, [])
        if not isinstance(call.node.func, ast.Name) or not functions:
            return None
        if len(functions) > 1 or not isinstance(functions[0], ast.FunctionDef):
            return [None]
        is_plain = not functions[0].decorator_list and self.class_of(functions[0]) is None
        values = [node.value for node in self.inside(functions[0]) if isinstance(node, ast.Return)]
        return (values or [None]) if is_plain else [None]

    def _argument_values(self, function: ast.FunctionDef, parameter: str) -> list[ast.expr | None]:
        """What every call of a function hands over as a parameter; [None] if that is open."""
        is_only = len(self.functions_named[function.name]) == 1 and self.class_of(function) is None
        uses = self.uses_by_name.get(function.name, []) if is_only and not function.decorator_list else []
        values: list[ast.expr | None] = []
        for use in uses[:_MOST_VALUES]:
            call = self.parent(use)
            arguments = dict(arguments_given(function, call)) if isinstance(call, ast.Call) and call.func is use else {}
            values.append(arguments.get(parameter))
        return values or [None]

    def _fields_of_self(self, node: ast.Attribute) -> list[ast.expr | None]:
        """What the methods of its class give to `self.name`."""
        function = next((scope for scope in self.functions_around(node) if self.class_of(scope) is not None), None)
        owner = None if function is None else self.class_of(function)
        return self._self_fields.get((owner, node.attr), [None])

    @cached_property
    def _self_fields(self) -> Mapping[tuple[ast.ClassDef | None, str], list[ast.expr | None]]:
        fields: dict[tuple[ast.ClassDef | None, str], list[ast.expr | None]] = defaultdict(list)
        for target, value in self.bindings():
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                function = next((scope for scope in self.functions_around(target) if self.class_of(scope)), None)
                fields[None if function is None else self.class_of(function), target.attr].append(value)
        return fields

    # What names are given

    @cached_property
    def _values_by_scope(self) -> Mapping[tuple[FunctionNode | None, str], list[ast.expr | None]]:
        """The values of names by scope, and of attributes of classes as `CFG.size`; None is one that is not known."""
        values_by_scope: dict[tuple[FunctionNode | None, str], list[ast.expr | None]] = defaultdict(list)
        attributes: list[tuple[ast.Attribute, ast.expr | None]] = []
        for target, value in self.bindings():
            self._bind(values_by_scope, attributes, target, value)
        for function in self.functions:
            for argument in function_parameters(function):
                values_by_scope[function, argument.arg].append(None)
        for target, value in attributes:
            if isinstance(target.value, ast.Name):
                values_by_scope[None, f"{self._class_named(target.value, values_by_scope)}.{target.attr}"].append(value)
        return values_by_scope

    def is_bound(self, name: str) -> bool:
        """True if a name is given a value, or is a parameter, in any scope."""
        return name in self._names_bound

    def binds(self, function: FunctionNode | None, name: str) -> bool:
        """True if a function gives a name a value, or has it as a parameter; None is the code outside of all."""
        return (function, name) in self._values_by_scope

    @cached_property
    def _names_bound(self) -> frozenset[str]:
        return frozenset(name for _, name in self._values_by_scope)

    def bindings(self) -> Iterator[tuple[ast.expr, ast.expr | None]]:
        """Every target that something is assigned to, with the expression; None where it is not one."""
        for assign in self.nodes(ast.Assign):
            for target in assign.targets:
                yield target, assign.value
        for ann_assign in self.nodes(ast.AnnAssign):
            yield ann_assign.target, ann_assign.value
        for named_expr in self.nodes(ast.NamedExpr):
            yield named_expr.target, named_expr.value
        for aug_assign in self.nodes(ast.AugAssign):
            yield aug_assign.target, None
        loops: list[ast.For | ast.AsyncFor] = [*self.nodes(ast.For), *self.nodes(ast.AsyncFor)]
        for loop in loops:
            yield loop.target, None
        for part in self.nodes(ast.comprehension):
            yield part.target, None
        for with_item in self.nodes(ast.withitem):
            if with_item.optional_vars is not None:
                yield with_item.optional_vars, None

    def _bind(
        self,
        values_by_scope: dict[tuple[FunctionNode | None, str], list[ast.expr | None]],
        attributes: list[tuple[ast.Attribute, ast.expr | None]],
        target: ast.expr,
        value: ast.expr | None,
    ) -> None:
        if isinstance(target, ast.Name):
            around = self.ancestors(target, within_function=True)
            kept_in = next((node for node in around if isinstance(node, ast.ClassDef)), None)
            name = f"{kept_in.name}.{target.id}" if kept_in is not None else target.id
            values_by_scope[self.function(target), name].append(value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id != "self":
            attributes.append((target, value))
        elif isinstance(target, ast.Starred):
            self._bind(values_by_scope, attributes, target.value, None)
        elif isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            if len(values) != len(target.elts):
                values = []
            for element, part in zip_longest(target.elts, values):
                self._bind(values_by_scope, attributes, element, part)

    def find_values(self, name: ast.Name) -> list[ast.expr | None]:
        """Every value that a name is given in its scope; None stands for one that is not known, or for many more."""
        values = self._find_values(name, self._values_by_scope)
        return values if len(values) <= _MOST_VALUES else [*values[:_MOST_VALUES], None]

    def _find_values(
        self, name: ast.Name, values_by_scope: Mapping[tuple[FunctionNode | None, str], list[ast.expr | None]]
    ) -> list[ast.expr | None]:
        for function in [*self.functions_around(name), None]:
            if (function, name.id) in values_by_scope:
                return values_by_scope[function, name.id]
        return []

    def find_attribute_values(self, node: ast.Attribute) -> list[ast.expr | None]:
        """Every value of an attribute of a class, `CFG.size`, of an instance, or of a `SimpleNamespace(size=64)`."""
        if not isinstance(node.value, ast.Name):
            return []
        owner = self._class_named(node.value, self._values_by_scope)
        for _ in range(_DEEPEST_VALUE):
            if values := self._values_by_scope.get((None, f"{owner}.{node.attr}"), []):
                return values
            base = self.classes[owner].bases[:1] if owner in self.classes else []
            owner = base[0].id if base and isinstance(base[0], ast.Name) else ""
        owner_values = self.find_values(node.value)
        return self._fields(owner_values[0], node.attr) if len(owner_values) == 1 else []

    def _fields(self, record: ast.expr | None, key: str) -> list[ast.expr | None]:
        """The values that a literal `{"key": …}`, or a record `Namespace(key=…)`, has under a key."""
        if isinstance(record, ast.Dict):
            pairs = zip(record.keys, record.values, strict=True)
            return [value for key_node, value in pairs if isinstance(key_node, ast.Constant) and key_node.value == key]
        if isinstance(record, ast.Call) and self.name(record.func).rpartition(".")[2] in _RECORDS:
            values: list[ast.expr | None] = [keyword.value for keyword in record.keywords if keyword.arg == key]
            return values or (self._fields(record.args[0], key) if record.args else [])
        return []

    def _class_named(
        self, name: ast.Name, values_by_scope: Mapping[tuple[FunctionNode | None, str], list[ast.expr | None]]
    ) -> str:
        """The class that a name is, or an instance of which it is given alone; else the name."""
        values = self._find_values(name, values_by_scope)
        value = values[0] if len(values) == 1 else None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and not value.args and not value.keywords:
            return value.func.id
        if isinstance(value, ast.Name) and value.id in self.classes:
            return value.id
        return name.id

    def resolve(self, node: ast.expr | None) -> ast.expr | None:
        """The expression that a name is given if it is given one only, through names of names; else the node itself.

        A class's attribute is a name, too, and an entry of a dictionary that is written out.
        """
        for _ in range(_DEEPEST_VALUE):
            if isinstance(node, ast.Name):
                values = self.find_values(node)
                values = self._default(node) if values == [None] else values
            elif isinstance(node, ast.Attribute):
                values = self.find_attribute_values(node)
            elif isinstance(node, ast.IfExp) and (truth := self._truth(node.test)) is not None:
                values = [node.body if truth else node.orelse]
            elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
                table = node.value
                table_values = self.find_values(table) if isinstance(table, ast.Name) else []
                is_changed = isinstance(table, ast.Name) and (table.id, node.slice.value) in self._entries
                values = (
                    self._fields(table_values[0], str(node.slice.value))
                    if len(table_values) == 1 and not is_changed
                    else []
                )
            else:
                break
            if len(values) != 1 or values[0] is None:
                break
            node = values[0]
        return node

    def _truth(self, test: ast.expr) -> bool | None:
        """Whether a constant is true, or a name that is given one alone."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._truth(test.operand)
            return None if inner is None else not inner
        values = self.find_values(test) if isinstance(test, ast.Name) else [test]
        values = self.find_attribute_values(test) if isinstance(test, ast.Attribute) else values
        return bool(values[0].value) if len(values) == 1 and isinstance(values[0], ast.Constant) else None

    def _default(self, name: ast.Name) -> list[ast.expr | None]:
        """The default of a parameter, where every use of its function is a call that leaves it out."""
        function = next((scope for scope in self.functions_around(name) if self.binds(scope, name.id)), None)
        if function not in self._parameters_left_out:
            self._parameters_left_out[function] = self._defaults_in_force(function)
        return self._parameters_left_out[function].get(name.id, [])

    @cached_property
    def _parameters_left_out(self) -> dict[FunctionNode | None, dict[str, list[ast.expr | None]]]:
        return {}

    def _defaults_in_force(self, function: FunctionNode | None) -> dict[str, list[ast.expr | None]]:
        if function is None or isinstance(function, ast.Lambda) or function.decorator_list:
            return {}
        owner = self.class_of(function)
        name = function.name if owner is None else owner.name
        is_only = len(self.functions_named[function.name]) == 1 if owner is None else function.name == "__init__"
        uses = self.uses_by_name.get(name, []) if is_only else []
        calls = [self.parent(use) for use in uses]
        if not calls or len(calls) > _MOST_VALUES:
            return {}
        arguments = function.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = dict(
            zip([argument.arg for argument in reversed(positional)], reversed(arguments.defaults), strict=False)
        )
        pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        defaults |= {argument.arg: value for argument, value in pairs if value is not None}
        for call, use in zip(calls, uses, strict=True):
            if not isinstance(call, ast.Call) or call.func is not use:
                return {}
            is_open = any(argument.arg is None for argument in call.keywords)
            if is_open or any(isinstance(argument, ast.Starred) for argument in call.args):
                return {}
            for parameter, _ in arguments_given(function, call):
                defaults.pop(parameter, None)
        return {parameter: [value] for parameter, value in defaults.items()}

    def is_empty(self, node: ast.expr) -> bool:
        """True for what a loop over it does nothing with: `range(0)`, `()`, and an empty list that nothing fills."""
        value = self.resolve(node)
        if isinstance(value, ast.Tuple):
            return not value.elts
        if isinstance(value, ast.Call):
            is_range = self.name(value.func) == "range" and len(value.args) == 1
            inner = value.args[0] if value.args else None
            if is_range:
                number = self.number(inner)
                return number is not None and number <= 0
            is_pass = self.name(value.func).rpartition(".")[2] in _PASSED_ON
            return is_pass and inner is not None and inner is not node and self.is_empty(inner)
        is_literal = isinstance(value, ast.List) and not value.elts
        is_literal = is_literal or (isinstance(value, ast.Dict) and not value.keys)
        if not is_literal or value is node:
            return is_literal
        return not any(self._may_fill(use) for use in self._uses_of(node))

    def _uses_of(self, node: ast.expr) -> list[ast.Name] | list[ast.Attribute]:
        if isinstance(node, ast.Attribute):
            return [
                attribute
                for attribute in self.nodes(ast.Attribute)
                if attribute.attr == node.attr and _is_read(attribute)
            ]
        return self.uses_by_name.get(node.id, []) if isinstance(node, ast.Name) else []

    def _may_fill(self, use: ast.Name | ast.Attribute) -> bool:
        parent = self.parent(use)
        if isinstance(parent, ast.Call):
            return self.name(parent.func).rpartition(".")[2] not in _PASSED_ON
        return isinstance(parent, ast.Attribute | ast.Subscript | ast.Assign | ast.keyword)

    def makes_names_unseen(self) -> bool:
        """True if names are made by `globals()["x"] = 1`, `globals().update(…)` or `exec`."""
        return self._makes_names_unseen

    @cached_property
    def _makes_names_unseen(self) -> bool:
        for call in self.calls:
            if call.name in {"exec", "execfile"} or call.name.endswith(".run_line_magic"):
                return True
            if call.last in {"update", "setdefault", "__setitem__"} and self.is_namespace(call.receiver):
                return True
        targets = (subscript for subscript in self.nodes(ast.Subscript) if isinstance(subscript.ctx, ast.Store))
        return any(self.is_namespace(subscript.value) for subscript in targets)

    def is_namespace(self, node: ast.AST | None) -> bool:
        """True for `globals()` and the like, also under a name."""
        if isinstance(node, ast.Attribute) and node.attr in {"user_ns", "__dict__"}:
            return True
        call = self.call(self.resolve(node)) if isinstance(node, ast.expr) else None
        return call is not None and call.name in _NAMESPACES

    @cached_property
    def _entries(self) -> set[tuple[str, object]]:
        """The entries of dictionaries that are assigned to, each with the dictionary's name and its key."""
        return {
            (node.value.id, node.slice.value)
            for node in self.nodes(ast.Subscript)
            if isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and isinstance(node.slice, ast.Constant)
        }

    def number(
        self,
        node: ast.expr | None,
        lookup: Callable[[ast.expr], float | None] = lambda _: None,
        depth: int = 0,
    ) -> float | None:
        """The number that an expression comes to, or None where that is not known.

        Args:
            node: The expression.
            lookup: Numbers of expressions that the caller knows, such as the count of devices.
            depth: How many operations it is within.
        """
        node = self.resolve(node)
        if node is None or depth > _DEEPEST_VALUE:
            return None
        if isinstance(node, ast.Constant):
            return _finite(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.number(node.operand, lookup, depth + 1)
            return None if value is None else -value
        if (known_value := lookup(node)) is not None:
            return known_value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            key = lookup, node, depth
            if key not in self._results:  # once: both sides of `n * n` may be such an `n`
                self._results[key] = self._result(node, lookup, depth)
            return self._results[key]
        return None

    @cached_property
    def _results(self) -> dict[tuple[Callable[[ast.expr], float | None], ast.BinOp, int], float | None]:
        return {}

    def _result(self, node: ast.BinOp, lookup: Callable[[ast.expr], float | None], depth: int) -> float | None:
        left, right = self.number(node.left, lookup, depth + 1), self.number(node.right, lookup, depth + 1)
        if left is None or right is None or (right == 0 and isinstance(node.op, ast.Div | ast.FloorDiv)):
            return None
        return _finite(_OPERATIONS[type(node.op)](left, right))

    # Texts that code puts together, paths above all

    @cached_property
    def _texts(self) -> dict[ast.AST, str | None]:
        return {}

    def text(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """The text that an expression amounts to, with `UNKNOWN` for parts of it, or None where nothing is known.

        Constants, f-strings, sums, `/` and `joinpath` of paths, `os.path.join`, and names that are given one value are
        followed.
        """
        if node is None or depth > _DEEPEST_TEXT:
            return None
        if node not in self._texts:
            text = string_value(self, node, depth)
            self._texts[node] = None if text is None or len(text) > _LONGEST_TEXT else text
        return self._texts[node]


def read_code(notebook: Mapping[str, object], path: Path) -> NotebookCode:
    """Read the code cells of a notebook; what is no cell is passed by."""
    cells = enumerate(JsonObject(notebook).sections("cells")[:_MOST_CELLS], start=1)
    code = (
        (cell_name(cell, at), join_lines(cell.get("source"))) for at, cell in cells if cell.get("cell_type") == "code"
    )
    with collector_paused():
        return NotebookCode(path, parse_code_cells(code))


def _is_read(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < _LARGEST else None
