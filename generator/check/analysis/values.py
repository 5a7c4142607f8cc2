"""What names stand for: expressions, numbers, and what depends on the number of devices."""

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import zip_longest

from generator.check.analysis.index import FunctionNode, Index, walk

DEVICES = 8  # of a TPU v5e-8 and v3-8
_DEEPEST = 30  # names and operations that are followed for a number
_LARGEST = 2**63
_COUNTS = {
    "jax.device_count", "jax.local_device_count", "torch_xla.core.xla_model.xrt_world_size",
    "torch_xla.runtime.world_size", "torch_xla.runtime.global_runtime_device_count",
    "torch_xla.runtime.global_device_count", "torch_xla.core.xla_model.xla_device_count",
}  # fmt: skip
_DEVICE_LISTS = {
    "jax.devices", "jax.local_devices", "keras.distribution.list_devices",
    "torch_xla.core.xla_model.get_xla_supported_devices",
}  # fmt: skip
_QUERIES = {
    "tensorflow.config.list_logical_devices", "tensorflow.config.experimental.list_logical_devices",
    "jax.default_backend", "torch_xla.core.xla_model.xla_device_hw", "torch_xla.runtime.device_type",
    "jax.lib.xla_bridge.get_backend",
}  # fmt: skip
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


class Values:
    """The values that names of a notebook are given, by scope."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._bound: dict[tuple[FunctionNode | None, str], list[ast.expr | None]] = defaultdict(list)
        for target, value in self._bindings():
            self._bind(target, value)
        for function in index.functions:
            for argument in parameters(function):
                self._bound[function, argument.arg].append(None)
        self.device_names: set[str] = set()
        self._find_device_names()

    def _bindings(self) -> Iterator[tuple[ast.expr, ast.expr | None]]:
        for assign in self.index.nodes(ast.Assign):
            for target in assign.targets:
                yield target, assign.value
        for annotated in self.index.nodes(ast.AnnAssign):
            yield annotated.target, annotated.value
        for named in self.index.nodes(ast.NamedExpr):
            yield named.target, named.value
        for changed in self.index.nodes(ast.AugAssign):
            yield changed.target, None
        for loop in self.index.nodes(ast.For):
            yield loop.target, None
        for part in self.index.nodes(ast.comprehension):
            yield part.target, None
        for entered in self.index.nodes(ast.withitem):
            if entered.optional_vars is not None:
                yield entered.optional_vars, None

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            kept_in = next((node for node in self.index.ancestors(target) if isinstance(node, ast.ClassDef)), None)
            name = f"{kept_in.name}.{target.id}" if kept_in is not None else target.id
            self._bound[self.index.function(target), name].append(value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id != "self":
            name = f"{self._class_named(target.value)}.{target.attr}"
            self._bound[None, name].append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            if len(values) != len(target.elts):
                values = []
            for each, part in zip_longest(target.elts, values):
                self._bind(each, part)

    def given(self, name: ast.Name) -> list[ast.expr | None]:
        """Every value that a name is given in its scope; None stands for one that is not known."""
        for function in [*self.index.functions_around(name), None]:
            if (function, name.id) in self._bound:
                return self._bound[function, name.id]
        return []

    def kept(self, node: ast.Attribute) -> list[ast.expr | None]:
        """Every value of an attribute of a class, `CFG.batch_size`, or of an instance made without arguments."""
        if not isinstance(node.value, ast.Name):
            return []
        return self._bound.get((None, f"{self._class_named(node.value)}.{node.attr}"), [])

    def _class_named(self, name: ast.Name) -> str:
        """The class that a name is, or an instance of which it is given alone; else the name."""
        given = self.given(name)
        call = given[0] if len(given) == 1 else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args and not call.keywords:
            return call.func.id
        return name.id

    def resolved(self, node: ast.expr | None) -> ast.expr | None:
        """The expression that a name is given if it is given one only, through names of names; else the node itself.

        A class's attribute is a name, too.
        """
        for _ in range(_DEEPEST):
            if not isinstance(node, ast.Name | ast.Attribute):
                break
            given = self.given(node) if isinstance(node, ast.Name) else self.kept(node)
            if len(given) != 1 or given[0] is None:
                break
            node = given[0]
        return node

    def number(self, node: ast.expr | None, depth: int = 0) -> float | None:
        """The number that an expression comes to on a TPU of eight devices, or None where that is not known."""
        node = self.resolved(node)
        if node is None or depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return _finite(node.value)
        if self.is_device_count(node):
            return DEVICES
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            left, right = self.number(node.left, depth + 1), self.number(node.right, depth + 1)
            if left is None or right is None or (right == 0 and isinstance(node.op, ast.Div | ast.FloorDiv)):
                return None
            return _finite(_OPERATIONS[type(node.op)](left, right))
        return None

    def text(self, node: ast.expr | None) -> str | None:
        """The string that an expression is, or None."""
        node = self.resolved(node)
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None

    def is_device_count(self, node: ast.AST) -> bool:
        """True for an expression that says over how many devices a step is split."""
        if isinstance(node, ast.Attribute):
            return node.attr == "num_replicas_in_sync"
        call = self.index.call(node)
        if call is None:
            return False
        if call.name == "len" and call.node.args:
            listed = self.index.call(self.resolved(call.node.args[0]))
            return listed is not None and listed.name in _DEVICE_LISTS
        return call.name in _COUNTS

    def is_of_devices(self, node: ast.AST) -> bool:
        """True if what the session runs on decides on an expression."""
        for each in walk(node):
            if isinstance(each, ast.Name) and each.id in self.device_names:
                return True
            if self.is_device_count(each):
                return True
            call = self.index.call(each)
            if call is not None and call.name in _QUERIES | _DEVICE_LISTS:
                return True
        return False

    def _find_device_names(self) -> None:
        """Find the names whose values depend on what the session runs on, in any scope."""
        waiting = [(_names_in(target), _names_in(value), value) for target, value in self._bindings() if value]
        self.device_names = {name for names, _, value in waiting if self.is_of_devices(value) for name in names}
        for _ in range(_DEEPEST):
            found = {name for names, used, _ in waiting if used & self.device_names for name in names}
            if found <= self.device_names:
                break
            self.device_names |= found


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < _LARGEST else None


def _names_in(node: ast.expr) -> set[str]:
    return {each.id for each in walk(node) if isinstance(each, ast.Name)}


def parameters(function: FunctionNode) -> list[ast.arg]:
    """Every parameter of a function, in order."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return named + [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
