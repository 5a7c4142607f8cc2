"""The names in a compiled function that stand for values on the device."""

import ast
from collections.abc import Iterator

from generator.check.analysis.compiled import Compiled
from generator.check.analysis.function_kinds import BASES, Kind
from generator.check.code import NotebookCode
from generator.check.syntax import Call, FunctionNode, arguments_given, parameters

_KNOWN_ATTRIBUTES = {"shape", "ndim", "dtype", "size", "rank", "apply_fn", "tx", "sharding", "aval", "nbytes",
                     "itemsize", "weak_type", "vma", "spec", "mesh", "axis_names", "treedef",
                     "devices", "metadata"}  # fmt: skip
_KNOWN_RESULTS = {
    "len", "isinstance", "hasattr", "getattr", "type", "id", "repr", "callable", "range", "shape", "ndim", "get_shape",
    "int_shape", "keys", "is_tensor", "tree_structure", "result_type", "axis_index", "set_shape", "size",
    "typeof", "eval_shape", "issubdtype", "axis_size", "process_index", "device_count", "local_device_count",
    "get_partition_spec", "get_named_sharding", "PartitionSpec", "iscomplexobj", "isrealobj", "isscalar", "iterable",
    "can_cast", "isdtype", "dtype", "canonicalize_dtype", "promote_types", "finfo", "iinfo", "itemsize_bits",
    "structure", "all_leaves", "is_tree_node",
}  # fmt: skip
_PLAIN = {"self", "cls", "training", "train", "is_training", "deterministic", "config", "mode", "name"}
_PLAIN_TYPES = {"bool", "str", "int", "float", "Callable", "callable"}
_MODULES = {"model", "module", "net", "network"}
_MODULE_LIBRARIES = {"flax", "equinox"}
_ROUNDS = 8
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Traced:
    """The traced names of each compiled function."""

    def __init__(self, code: NotebookCode, compiled: Compiled) -> None:
        self.code, self.compiled = code, compiled
        self._names: dict[FunctionNode, set[str]] = {}
        self._giving: set[FunctionNode] = set()  # those that return something traced
        functions = compiled.functions(Kind.DEVICE) + compiled.functions(Kind.TRACED)
        self._functions = list(dict.fromkeys(functions))
        for function in self._functions:
            is_root = function in compiled.by_reference or function in compiled.settings or self._is_method(function)
            is_decorated = bool(getattr(function, "decorator_list", ())) and Kind.TRACED in compiled.kinds[function]
            self._names[function] = set(self._arrays(function)) if is_root or is_decorated else set()
        for call in code.calls:
            for function in compiled.referred(call.node.func):
                if Kind.JAX not in compiled.kinds.get(function, Kind.JAX):  # there numbers are traced as well
                    self._names.get(function, set()).difference_update(_constants_given(function, call))
        for _ in range(_ROUNDS):
            before = self._size()
            for function in self._functions:
                self._spread(function)
            if before == self._size():
                break

    def _size(self) -> int:
        return sum(map(len, self._names.values())) + len(self._giving)

    def is_traced(self, node: ast.AST | None, held: frozenset[str] = frozenset()) -> bool:
        """True for an expression whose value is on the device while its function runs.

        Args:
            node: The expression; None for none.
            held: Names that are so as well: those that a comprehension around it takes from something traced.
        """
        stack = [] if node is None else [node]
        while stack:
            each = stack.pop()
            if isinstance(each, ast.Name):
                if each.id in held or self._knows(each):
                    return True
                continue
            if isinstance(each, _Comprehension):
                if self._gives_traced(each, held):
                    return True
                continue
            if self._is_known(each):
                continue
            call = self.code.call(each)
            if call is not None and self._is_of_structure(call):
                continue
            functions = self._followed(call) if call is not None else []
            if functions:
                if self._giving.intersection(functions):
                    return True
                continue
            stack += ast.iter_child_nodes(each)
        return False

    def _is_known(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in _KNOWN_ATTRIBUTES or self._is_of_module(node)
        return isinstance(node, ast.Lambda | ast.Compare) and _is_about_structure(node)

    def _gives_traced(self, comprehension: _Comprehension, held: frozenset[str]) -> bool:
        """True for `[v * 2 for v in xs]`, and not for the shapes in `[v.shape[0] for v in xs]`."""
        for each in comprehension.generators:
            if self.is_traced(each.iter, held):
                held |= {name.id for name in ast.walk(each.target) if isinstance(name, ast.Name)}
        # The keys of a dictionary are names.
        values = [comprehension.value if isinstance(comprehension, ast.DictComp) else comprehension.elt]
        values += [test for each in comprehension.generators for test in each.ifs]
        return any(self.is_traced(value, held) for value in values)

    def calls(self, *, kind: Kind) -> Iterator[Call]:
        """The calls in functions that are run so."""
        yield from self.compiled.calls(kind)

    def _knows(self, name: ast.Name) -> bool:
        for function in self.code.functions_around(name):
            if name.id in self._names.get(function, ()):
                return True
            if any(each.arg == name.id for each in parameters(function)):
                return False
        return False

    def _followed(self, call: Call) -> list[FunctionNode]:
        """The functions of the notebook that a call runs, if what they get and return can be followed."""
        functions = self.compiled.referred(call.node.func)
        is_plain = not call.is_open and not isinstance(call.node.func, ast.Call)
        is_plain = is_plain and not any(isinstance(each, ast.Starred) for each in call.node.args)
        return functions if is_plain and all(map(self._is_followed, functions)) else []

    def _is_followed(self, function: FunctionNode) -> bool:
        is_open = function.args.vararg is not None or function.args.kwarg is not None
        is_decorated = bool(getattr(function, "decorator_list", ()))
        return function in self._names and not is_open and not is_decorated

    def _is_of_structure(self, call: Call) -> bool:
        """True for what Python knows while it traces: `jnp.shape(x)`, `jax.tree.map(jnp.shape, x)`, `set(batch)`."""
        if call.last in _KNOWN_RESULTS or call.name == "set":
            return True
        function = call.argument(0, "f") if call.name in ("jax.tree.map", "jax.tree_util.tree_map") else None
        if isinstance(function, ast.Lambda):
            body, made = function.body, self.code.call(function.body)
            return made.last in _KNOWN_RESULTS if made else getattr(body, "attr", "") in _KNOWN_ATTRIBUTES
        return function is not None and self.code.name(function).rpartition(".")[2] in _KNOWN_RESULTS

    def _is_of_module(self, node: ast.Attribute) -> bool:
        """True for an attribute or a method of a module of layers: sizes and settings, which are known to Python."""
        owner = node.value
        if node.attr == "value" or not isinstance(owner, ast.Name):
            return False
        for function in self.code.functions_around(owner):
            for parameter in parameters(function):
                if parameter.arg == owner.id:
                    kind = self.code.name(parameter.annotation) if parameter.annotation is not None else ""
                    given = {call.name.partition(".")[0] for call in self.compiled.settings.get(function, ())}
                    decorated = {self.code.name(each) for each in getattr(function, "decorator_list", ())}
                    of_modules = given & _MODULE_LIBRARIES or any(
                        n.startswith(("flax.nnx.", "equinox.")) for n in decorated
                    )
                    return owner.id in _MODULES or bool(of_modules) or self._is_module(kind)
        return False

    def _is_module(self, name: str) -> bool:
        own = self.code.classes.get(name)
        bases = [self.code.name(base) for base in own.bases] if own is not None else [name]
        return any(base in BASES for base in bases)

    def _is_method(self, function: FunctionNode) -> bool:
        return (
            self.code.class_of(function) is not None
            and not isinstance(function, ast.Lambda)
            and (function.name in {"call", "__call__", "forward", "train_step", "test_step", "predict_step"})
        )

    def _arrays(self, function: FunctionNode) -> Iterator[str]:
        """The parameters that are arrays, or hold them."""
        arguments, static = function.args, self.compiled.static.get(function, set())
        positional = [*arguments.posonlyargs, *arguments.args]
        with_default = {each.arg for each in positional[len(positional) - len(arguments.defaults) :]}
        for each in positional:
            kind = each.annotation.id if isinstance(each.annotation, ast.Name) else ""
            if each.arg not in static | _PLAIN | with_default and kind not in _PLAIN_TYPES:
                yield each.arg

    def _spread(self, function: FunctionNode) -> None:
        """Follow traced values through a function's assignments, and into the functions that it calls."""
        for node in self.code.inside(function):
            if isinstance(node, ast.Assign) and self.is_traced(node.value):
                for target in node.targets:
                    self._add(function, target, node.value)
            elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
                if node.value is not None and self.is_traced(node.value):
                    self._add(function, node.target, node.value)
            elif isinstance(node, ast.For | ast.comprehension) and self.is_traced(node.iter):
                self._add(function, *_elements(node.target, node.iter))
            elif isinstance(node, ast.Call):
                self._hand_on(node)
            elif isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and self.is_traced(node.value):
                self._giving.add(function)
        if isinstance(function, ast.Lambda) and self.is_traced(function.body):
            self._giving.add(function)

    def _add(self, function: FunctionNode, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            if isinstance(value, ast.Attribute):
                return
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            if len(parts) == len(target.elts):
                for each, part in zip(target.elts, parts, strict=True):
                    if self.is_traced(part):
                        self._add(function, each, part)
                return
            for each in target.elts:
                self._add(function, each, value)
        elif isinstance(target, ast.Starred):
            self._add(function, target.value, value)
        elif isinstance(target, ast.Name) and target.id != "_":
            self._names.setdefault(function, set()).add(target.id)

    def _hand_on(self, node: ast.Call) -> None:
        for called in self.compiled.referred(node.func):
            if called not in self._names or isinstance(node.func, ast.Call):
                continue
            pairs = arguments_given(called, node)
            static = self.compiled.static.get(called, set())
            self._names[called] |= {name for name, value in pairs if name not in static and self.is_traced(value)}


def _constants_given(function: FunctionNode, call: Call) -> set[str]:
    """The parameters that a call gives a number or a text: `tf.function` leaves those to Python."""
    return {name for name, value in arguments_given(function, call.node) if isinstance(value, ast.Constant)}


def _is_about_structure(node: ast.Lambda | ast.Compare) -> bool:
    """True for a question that Python answers while it traces: `x is None`, `"mask" in batch`, `mode == "train"`."""
    if isinstance(node, ast.Lambda):
        return True
    if any(isinstance(each, ast.Is | ast.IsNot | ast.In | ast.NotIn) for each in node.ops):
        return True
    sides = [node.left, *node.comparators]
    parts = [part for side in sides for part in (side.elts if isinstance(side, ast.Tuple | ast.List) else [side])]
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str | None | bool) for part in parts)


def _elements(target: ast.expr, iterated: ast.expr) -> tuple[ast.expr, ast.expr]:
    """The part of a loop's target that holds what is iterated over, without numbers and keys."""
    function = iterated.func if isinstance(iterated, ast.Call) else None
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    if name in {"enumerate", "items"} and isinstance(target, ast.Tuple) and len(target.elts) > 1:
        return target.elts[1], iterated
    return target, iterated
