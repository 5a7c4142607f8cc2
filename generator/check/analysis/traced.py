"""The names in a compiled function that stand for values on the device."""

import ast
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias, TypeGuard, TypeVar

from generator.check.analysis.compiled import Compiled
from generator.check.analysis.function_kinds import BASES, Kind
from generator.check.code import NotebookCode
from generator.check.syntax import Call, FunctionNode, arguments_given, children_of, parameters, walk

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
_DEEPEST = 60  # expressions within one that are told apart
_MOST_PARTS = 64  # of a tuple or a dictionary, that are told apart
_SAME_PARTS = {"tuple", "list", "sorted", "reversed", "iter", "tqdm"}
_FLATTENED = {"flatten", "tree_flatten", "flatten_with_path", "tree_flatten_with_path"}  # leaves, and a structure
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
_Told = ast.Tuple | ast.List | ast.Dict | ast.Subscript | ast.Attribute | ast.Call | ast.IfExp | ast.NamedExpr
_Told |= _Comprehension | ast.Lambda | ast.Compare | ast.Name
# What of a value is on the device: all or nothing; or, of a tuple by number and of a dictionary or a record by key,
# that of each part.
Extent: TypeAlias = "bool | dict[Hashable, Extent]"
KeyT = TypeVar("KeyT", bound=Hashable)


class Traced:
    """The traced names of each compiled function."""

    def __init__(self, code: NotebookCode, compiled: Compiled) -> None:
        self.code, self.compiled = code, compiled
        self._names: dict[FunctionNode, dict[str, Extent]] = {}
        self._giving: dict[FunctionNode, Extent] = {}  # what each returns
        self._has_grown = False
        functions = compiled.functions(Kind.DEVICE) + compiled.functions(Kind.TRACED)
        self._functions = list(dict.fromkeys(functions))
        for function in self._functions:
            is_root = function in compiled.by_reference or function in compiled.settings or self._is_method(function)
            is_decorated = bool(getattr(function, "decorator_list", ())) and Kind.TRACED in compiled.kinds[function]
            self._names[function] = dict.fromkeys(self._arrays(function), True) if is_root or is_decorated else {}
        for call in code.calls:
            for function in compiled.referred(call.node.func):
                if Kind.JAX not in compiled.kinds.get(function, Kind.JAX):  # there numbers are traced as well
                    for name in _constants_given(function, call):
                        self._names.get(function, {}).pop(name, None)
        for _ in range(_ROUNDS):
            self._has_grown = False
            for function in self._functions:
                self._spread(function)
            if not self._has_grown:
                break

    def is_traced(self, node: ast.AST | None) -> bool:
        """True for an expression whose value, or a part of it, is on the device while its function runs."""
        return node is not None and _is_any(self._extent(node, {}))

    def _extent(  # noqa: C901, PLR0911 - a kind of node a line
        self, node: ast.AST, held: Mapping[str, Extent], depth: int = 0
    ) -> Extent:
        """What of an expression is on the device; `held` has the names of the comprehensions around it."""
        if isinstance(node, ast.Name):
            return held[node.id] if node.id in held else self._of_name(node)
        if depth > _DEEPEST:
            names = (each for each in walk(node) if isinstance(each, ast.Name))
            return any(_is_any(self._extent(each, held)) for each in names)
        if isinstance(node, ast.Tuple | ast.List) and not any(isinstance(each, ast.Starred) for each in node.elts):
            return _told_apart({at: self._extent(each, held, depth + 1) for at, each in enumerate(children_of(node))})
        if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
            keys = [key.value for key in node.keys[:_MOST_PARTS] if isinstance(key, ast.Constant)]
            pairs = zip(keys, node.values, strict=False)
            return _told_apart({key: self._extent(value, held, depth + 1) for key, value in pairs})
        if isinstance(node, ast.Subscript):
            return self._part(node.value, node.slice, held, depth)
        if isinstance(node, ast.Attribute):
            if node.attr in _KNOWN_ATTRIBUTES or self._is_of_module(node):
                return False
            base = self._extent(node.value, held, depth + 1)
            return base[node.attr] if isinstance(base, dict) and node.attr in base else _is_any(base)
        if isinstance(node, ast.Call):
            return self._of_call(node, held, depth)
        if isinstance(node, _Comprehension):
            return self._gives_traced(node, held, depth)
        if isinstance(node, ast.Lambda | ast.Compare) and _is_about_structure(node):
            return False
        if isinstance(node, ast.IfExp):
            parts = (self._extent(each, held, depth + 1) for each in (node.body, node.orelse))
            return _united(*parts)
        if isinstance(node, ast.NamedExpr):
            return self._extent(node.value, held, depth + 1)
        return self._is_any_below(node, held, depth)

    def _is_any_below(self, node: ast.AST, held: Mapping[str, Extent], depth: int) -> bool:
        """True if a part of an operation, of which there may be thousands in a row, is on the device."""
        stack = children_of(node)
        while stack:
            each = stack.pop()
            if not isinstance(each, _Told):
                stack += children_of(each)
            elif _is_any(self._extent(each, held, depth + 1)):
                return True
        return False

    def _of_name(self, name: ast.Name) -> Extent:
        for function in self.code.functions_around(name):
            if name.id in self._names.get(function, ()):
                return self._names[function][name.id]
            if self.code.binds(function, name.id):
                return False
        return False

    def _part(self, whole: ast.expr, key: ast.expr, held: Mapping[str, Extent], depth: int) -> Extent:
        """What of a part of a tuple or a dictionary is on the device."""
        base = self._extent(whole, held, depth + 1)
        if isinstance(base, dict):
            index = self.code.resolved(key)
            number = self.code.number(index)
            if isinstance(index, ast.Constant):
                return base.get(index.value, False)
            if number is not None:  # the last one is -1
                return base.get(number + len(base) if number < 0 else number, False)
        return _is_any(base) or _is_any(self._extent(key, held, depth + 1))

    def _of_call(  # noqa: PLR0911 - a kind of call a line
        self, node: ast.Call, held: Mapping[str, Extent], depth: int
    ) -> Extent:
        call = self.code.call(node)
        if call is None:
            return self._is_any_below(node, held, depth)
        if self._is_of_structure(call):
            return False
        if functions := self.followed(call):
            return _united(*(self._giving.get(each, False) for each in functions))
        first = node.args[0] if node.args else None
        if call.name in _SAME_PARTS and first is not None:
            return self._extent(first, held, depth + 1)
        if call.last in _FLATTENED and call.name.startswith("jax.tree") and first is not None:
            return _told_apart({0: _is_any(self._extent(first, held, depth + 1)), 1: False})
        if call.last in {"get", "pop"} and call.receiver is not None and first is not None:
            defaults = [self._extent(each, held, depth + 1) for each in node.args[1:]]
            return _united(self._part(call.receiver, first, held, depth), *defaults)
        if call.last == "copy" and call.receiver is not None:
            return self._extent(call.receiver, held, depth + 1)
        if (fields := self._fields_given(call)) is not None:
            return _told_apart({name: self._extent(value, held, depth + 1) for name, value in fields.items()})
        return self._is_any_below(node, held, depth)

    def _fields_given(self, call: Call) -> dict[Hashable, ast.expr] | None:
        """What a call gives the fields of a record: `dict(n=8)`, a named tuple or a dataclass of the notebook."""
        if call.is_open or any(isinstance(each, ast.Starred) for each in call.node.args):
            return None
        named: dict[Hashable, ast.expr] = {each.arg: each.value for each in call.node.keywords}
        owner = self.code.classes.get(call.name)
        if owner is None:
            return named if call.name == "dict" and not call.node.args else None
        kinds = [*owner.bases, *(each.func if isinstance(each, ast.Call) else each for each in owner.decorator_list)]
        if not {"NamedTuple", "dataclass"} & {self.code.name(each).rpartition(".")[2] for each in kinds}:
            return None
        fields = [each.target.id for each in owner.body if isinstance(each, ast.AnnAssign) and _is_name(each.target)]
        return dict(zip(fields, call.node.args, strict=False)) | named

    def _gives_traced(self, comprehension: _Comprehension, held: Mapping[str, Extent], depth: int) -> bool:
        """True for `[v * 2 for v in xs]`, and not for the shapes in `[v.shape[0] for v in xs]`."""
        for each in comprehension.generators:
            for target, extent in self._elements(each.target, each.iter, held, depth):
                names = [name.id for name in ast.walk(target) if isinstance(name, ast.Name)]
                held = {**held, **dict.fromkeys(names, extent)}
        # The keys of a dictionary are names.
        values = [comprehension.value if isinstance(comprehension, ast.DictComp) else comprehension.elt]
        values += [test for each in comprehension.generators for test in each.ifs]
        return any(_is_any(self._extent(value, held, depth + 1)) for value in values)

    def _elements(  # noqa: PLR0911 - a kind of loop a line
        self, target: ast.expr, iterated: ast.expr, held: Mapping[str, Extent], depth: int = 0
    ) -> list[tuple[ast.expr, Extent]]:
        """The parts of a loop's target with what of them is on the device: not the numbers, keys and paths."""
        call = iterated.value if isinstance(iterated, ast.Subscript) else iterated
        arguments = call.args if isinstance(call, ast.Call) else []
        name = self.code.name(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
        parts = target.elts if isinstance(target, ast.Tuple) else []
        is_deep = depth > _DEEPEST
        if name == "enumerate" and len(parts) > 1 and arguments and not is_deep:
            return [(parts[0], False), *self._elements(parts[1], arguments[0], held, depth + 1)]
        if name == "zip" and len(parts) == len(arguments) and not is_deep:
            pairs = zip(parts, arguments, strict=True)
            return [each for part, argument in pairs for each in self._elements(part, argument, held, depth + 1)]
        if name in _SAME_PARTS and arguments and not is_deep:
            return self._elements(target, arguments[0], held, depth + 1)
        if name == "keys":
            return [(target, False)]
        base = self._extent(iterated, held, depth + 1)
        if name in {"items", "values"} and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            base = self._extent(call.func.value, held, depth + 1)
        if (name == "items" or name.endswith("_with_path")) and len(parts) > 1:
            value = _united(*base.values()) if isinstance(base, dict) else base
            return [(parts[0], False), (parts[1], value)]
        if isinstance(base, dict):
            is_of_keys = name != "values" and not all(isinstance(key, int) for key in base)
            return [(target, not is_of_keys and _united(*base.values()))]
        return [(target, base and not self._is_key(target, iterated))]

    def _is_key(self, target: ast.expr, iterated: ast.expr) -> bool:
        """True for the `name` of `for name in params`, where the loop asks for `params[name]`."""
        if not isinstance(target, ast.Name) or not isinstance(iterated, ast.Name):
            return False
        function = self.code.function(target)
        if function not in self._subscripts:
            nodes = (each for each in self.code.inside(function) if isinstance(each, ast.Subscript))
            pairs = [(each.value, each.slice) for each in nodes]
            self._subscripts[function] = {(a.id, b.id) for a, b in pairs if _is_name(a) and _is_name(b)}
        return (iterated.id, target.id) in self._subscripts[function]

    @cached_property
    def _subscripts(self) -> dict[FunctionNode | None, set[tuple[str, str]]]:
        """The names that each function subscripts, each with the name of the key."""
        return {}

    def calls(self, *, kind: Kind) -> Iterator[Call]:
        """The calls in functions that are run so."""
        yield from self.compiled.calls(kind)

    def followed(self, call: Call) -> list[FunctionNode]:
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

    def _spread(self, function: FunctionNode) -> None:  # noqa: C901 - a kind of statement a line
        """Follow traced values through a function's assignments, and into the functions that it calls."""
        for node in self.code.inside(function):
            if isinstance(node, ast.Assign):
                extent = self._extent(node.value, {})
                for target in node.targets if extent else ():
                    is_of_sizes = isinstance(target, ast.Tuple | ast.List) and isinstance(node.value, ast.Attribute)
                    if not is_of_sizes:
                        self._add(function, target, extent)
            elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
                extent = self._extent(node.value, {}) if node.value is not None else False
                self._add(function, node.target, _is_any(extent) if isinstance(node, ast.AugAssign) else extent)
            elif isinstance(node, ast.For | ast.comprehension):
                for target, extent in self._elements(node.target, node.iter, {}):
                    self._add(function, target, extent)
            elif isinstance(node, ast.Call):
                self._hand_on(node)
            elif isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value is not None:
                extent = self._extent(node.value, {})
                self._grow(self._giving, function, extent if isinstance(node, ast.Return) else _is_any(extent))
        if isinstance(function, ast.Lambda):
            self._grow(self._giving, function, self._extent(function.body, {}))

    def _add(self, function: FunctionNode, target: ast.expr, extent: Extent) -> None:
        if not extent:
            return
        if isinstance(target, ast.Tuple | ast.List):
            is_whole = not any(isinstance(each, ast.Starred) for each in target.elts)
            is_apart = isinstance(extent, dict) and is_whole and set(extent) == set(range(len(target.elts)))
            for at, each in enumerate(target.elts):
                self._add(function, each, extent[at] if isinstance(extent, dict) and is_apart else _is_any(extent))
        elif isinstance(target, ast.Starred):
            self._add(function, target.value, extent)
        elif isinstance(target, ast.Name) and target.id != "_":
            self._grow(self._names.setdefault(function, {}), target.id, extent)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            key = self.code.resolved(target.slice)
            name = target.value.id
            if isinstance(key, ast.Constant) and self.code.binds(function, name):
                self._grow(self._names.setdefault(function, {}), name, _told_apart({key.value: extent}))

    def _hand_on(self, node: ast.Call) -> None:
        for called in self.compiled.referred(node.func):
            if called not in self._names or isinstance(node.func, ast.Call):
                continue
            static = self.compiled.static.get(called, set())
            for name, value in arguments_given(called, node):
                if name not in static:
                    self._grow(self._names[called], name, self._extent(value, {}))

    def _grow(self, extents: dict[KeyT, Extent], key: KeyT, extent: Extent) -> None:
        """Add to what is known of a name or a function."""
        before = extents.get(key, False)
        if extent and (united := _united(before, extent)) != before:
            extents[key] = united
            self._has_grown = True


def _is_any(extent: Extent) -> bool:
    return any(map(_is_any, extent.values())) if isinstance(extent, dict) else extent


def _told_apart(parts: dict[Hashable, Extent]) -> Extent:
    """The extent of some parts: to two levels, and False where nothing of them is on the device."""
    if not any(map(_is_any, parts.values())):
        return False
    if len(parts) > _MOST_PARTS:
        return True
    return {key: _is_any(each) if _is_nested(each) else each for key, each in parts.items()}


def _is_nested(extent: Extent) -> bool:
    return isinstance(extent, dict) and any(isinstance(each, dict) for each in extent.values())


def _united(*extents: Extent) -> Extent:
    """What of a value is on the device that may be any of some."""
    united: Extent = False
    for extent in extents:
        if isinstance(united, dict) and isinstance(extent, dict):
            keys = dict.fromkeys([*united, *extent])
            united = _told_apart({key: _united(united.get(key, False), extent.get(key, False)) for key in keys})
        elif extent is True or united is False:
            united = extent
    return united


def _is_name(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


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
