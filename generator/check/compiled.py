"""The functions of a notebook that a TPU runs, and the names in them that stand for values on the device."""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Flag, auto
from functools import cached_property
from math import inf
from typing import TypeAlias, TypeGuard, TypeVar

from generator.check.cell_text import Call, FunctionNode, arguments_given, children_of, is_true, parameters, walk
from generator.check.code import NotebookCode
from generator.check.source import KernelSource

# Which frameworks a notebook uses on a TPU, and whether it is for one at all.


KERAS = (
    "keras.",
    "tensorflow.keras.",
    "tf_keras.",
    "tensorflow.python.keras.",
    "keras_hub.",
    "keras_cv.",
    "keras_nlp.",
)
XLA_DEVICES = (
    "torch_xla.core.xla_model.xla_device", "torch_xla.device", "torch_xla.core.xla_model.get_xla_supported_devices",
)  # fmt: skip
_COLAB_TPUS = ("V2-8", "V28", "V5E", "V6E")
# The name of one, or what splits arrays over several devices.
_TPU = re.compile(r"TPU|(?<![A-Za-z])tpu|\b(?:pmap|Mesh|make_mesh|NamedSharding)\b|keras\.distribution")
_JAX = {"jax", "flax", "haiku", "equinox", "optax"}


@dataclass(frozen=True)
class Platform:
    """The frameworks by which a notebook uses a TPU."""

    tensorflow: bool  # TPUStrategy, or Keras with TensorFlow
    jax: bool  # JAX itself: jit, pmap, sharding
    keras_jax: bool  # Keras 3 with JAX
    torch: bool  # PyTorch/XLA
    is_named: bool = False  # the metadata ask for a TPU, or the code names one or several devices

    @property
    def any(self) -> bool:
        """True if the notebook is for a TPU."""
        return self.tensorflow or self.jax or self.keras_jax or self.torch


NO_TPU = Platform(tensorflow=False, jax=False, keras_jax=False, torch=False)


def platform_of(kernel: KernelSource, code: NotebookCode) -> Platform:
    """Return how a notebook uses a TPU; none at all if it is for a GPU."""
    modules = kernel.code.modules
    asked = _asked_for(kernel, code)
    backend = _keras_backend(code)
    uses_jax = bool(_JAX & modules)
    names = {call.name for call in code.calls}
    ends = {name.rpartition(".")[2] for name in names}
    if asked is False or (asked is None and _names_a_gpu(code)):
        return NO_TPU
    found = Platform(
        tensorflow=("tensorflow" in modules and bool(ends & {"TPUStrategy", "TPUClusterResolver"}))
        or (asked is True and _has_strategy(code)),
        jax=uses_jax and any(name.startswith(("jax.", "flax.", "haiku.", "equinox.")) for name in names),
        keras_jax=backend == "jax" and "keras" in modules,
        torch="torch_xla" in modules,
    )
    if asked and not found.any:
        is_keras = bool({"keras", "tensorflow"} & modules) and backend in {None, "tensorflow"}
        found = Platform(tensorflow=is_keras, jax=uses_jax, keras_jax=False, torch=False)
    is_named = bool(asked) or found.tensorflow or found.torch or any(_TPU.search(cell.source) for cell in code.cells)
    return replace(found, is_named=is_named)


def is_keras(name: str, code: NotebookCode) -> bool:
    """True for what Keras calls so, also after `from keras.layers import *`."""
    return name.startswith(KERAS) or ("." not in name and any(f"{each}.".startswith(KERAS) for each in code.stars))


def _asked_for(kernel: KernelSource, code: NotebookCode) -> bool | None:
    """True if the metadata ask for a TPU, False if for another machine, None if they do not say."""
    settings = [kernel.setting(name) for name in ("machine_shape", "enable_tpu", "enable_gpu")]
    if any(setting is not None for setting in settings):
        if kernel.is_on_tpu or "tpu" in kernel.machine_shape.lower():
            return True
        # Code for a TPU in a session that has none was meant for one.
        is_cpu = not kernel.machine_shape and not kernel.is_on("enable_gpu")
        return None if is_cpu and _names_a_tpu(code) else False
    metadata = kernel.notebook.section("metadata")
    colab = metadata.section("colab")
    for chosen in (metadata.section("kaggle").get("accelerator"), colab.get("gpuType"), metadata.get("accelerator")):
        if isinstance(chosen, str) and chosen.lower() not in {"", "none"}:
            return chosen.upper().startswith(_COLAB_TPUS) or "tpu" in chosen.lower()
    return None


def _names_a_tpu(code: NotebookCode) -> bool:
    ends = code.called
    return "torch_xla" in code.modules or bool(ends & {"TPUStrategy", "TPUClusterResolver", "initialize_tpu_system"})


def _has_strategy(code: NotebookCode) -> bool:
    """True if the notebook uses a strategy of TensorFlow, also one that a helper of its own made."""
    uses = any(call.last in {"scope", "run"} and "strategy" in call.name.lower() for call in code.calls)
    return uses or any(node.attr == "num_replicas_in_sync" for node in code.nodes(ast.Attribute))


def _keras_backend(code: NotebookCode) -> str | None:
    """The backend that the notebook sets for Keras 3."""
    for call in code.calls:
        if call.name == "keras.config.set_backend":
            return code.text(call.argument(0))
    return code.environment.get("KERAS_BACKEND")


def _names_a_gpu(code: NotebookCode) -> bool:
    """True if the notebook asks for a GPU by name and never mentions a TPU."""
    for call in code.calls:
        if call.last in {"TPUStrategy", "TPUClusterResolver"} or call.name.startswith("torch_xla."):
            return False
    asked = [call for call in code.calls if call.name in {"jax.devices", "jax.local_devices"} and call.node.args]
    kinds = {code.text(call.node.args[0]) for call in asked}
    return bool(kinds & {"gpu", "cuda"}) and "tpu" not in kinds


# How a function of a notebook can be run, and the names in each framework that make it so.


class Kind(Flag):
    """How a function is run."""

    NOTHING = 0
    TRACED = auto()  # its Python runs once, while it is compiled
    DEVICE = auto()  # and what was compiled runs on the TPU
    JAX = auto()  # by JAX, which has no AutoGraph
    TENSORFLOW = auto()
    TORCH = auto()  # lazily: its Python runs in every step, and the TPU behind it
    GRADIENT = auto()  # it computes one: a training step
    STEP = auto()  # a training step, or what it calls
    PMAP = auto()  # on each device by itself
    HOST = auto()  # in an input pipeline


JIT = {
    "jax.jit", "flax.nnx.jit", "equinox.filter_jit", "haiku.jit", "jax.experimental.pjit.pjit",
}  # fmt: skip
# Outside of a compiled function it runs eagerly: operation by operation, with Python's values.
SHARD_MAP = {"jax.shard_map", "jax.experimental.shard_map.shard_map", "flax.nnx.shard_map", "jax.smap"}
PMAP = {"jax.pmap", "flax.nnx.pmap", "equinox.filter_pmap", "flax.jax_utils.pmap"}
LOOPS = {"scan", "fori_loop", "while_loop", "cond", "switch", "map", "associative_scan"}
GRADIENTS = {
    "jax.grad", "jax.value_and_grad", "flax.nnx.grad", "flax.nnx.value_and_grad", "equinox.filter_grad",
    "equinox.filter_value_and_grad", "tensorflow.GradientTape",
}  # fmt: skip
PIPELINE = {"map", "filter", "flat_map", "interleave", "scan", "from_generator", "map_with_options", "apply"}
CALLBACKS = {"py_function", "numpy_function", "py_func", "pure_callback", "io_callback", "callback"}
KERAS_METHODS = {"call", "train_step", "test_step", "predict_step", "compute_loss", "update_state"}
BASES: dict[str, tuple[set[str], Kind]] = {
    "flax.linen.Module": ({"__call__"}, Kind.JAX),
    "flax.nnx.Module": ({"__call__"}, Kind.JAX),
    "haiku.Module": ({"__call__"}, Kind.JAX),
    "equinox.Module": ({"__call__"}, Kind.JAX),
    "torch.nn.Module": ({"forward"}, Kind.TORCH),
}


def transformed(name: str, call: Call | None) -> Kind:
    """How a function is run that is given to a decorator or a call of this name."""
    if name in JIT:
        return Kind.TRACED | Kind.DEVICE | Kind.JAX
    if name in SHARD_MAP:
        return Kind.DEVICE | Kind.JAX
    if name in PMAP:
        return Kind.TRACED | Kind.DEVICE | Kind.JAX | Kind.PMAP
    if name == "tensorflow.function":
        asked = call.keyword("jit_compile", "experimental_compile") if call is not None else None
        return Kind.TRACED | Kind.TENSORFLOW | (Kind.DEVICE if is_true(asked) else Kind.NOTHING)
    return Kind.NOTHING


# The functions of a notebook that a TPU runs, those that are traced, and those of the host's input pipeline.


_MOST_FOLLOWED = 60  # names and transformations between an expression and a function
_MOST_REACHED = 500  # functions below one that are looked at
_TRANSFORMING = JIT | PMAP | GRADIENTS | {"functools.partial", "tensorflow.function", "jax.vmap"} | SHARD_MAP
_MOST_KEPT = 200  # functions whose callees are remembered


class Compiled:
    """How each function of a notebook is run."""

    def __init__(self, code: NotebookCode, platform: Platform) -> None:
        self.code, self.platform = code, platform
        self.kinds: dict[FunctionNode, Kind] = {}
        self.static: dict[FunctionNode, set[str]] = {}  # parameters that are no arrays
        self.by_reference: set[FunctionNode] = set()  # given to a transformation: every parameter is an array
        self._kind_inside: dict[FunctionNode, Kind] = {}
        self.inner: set[FunctionNode] = set()  # compiled because others call them
        self._reached: dict[FunctionNode, set[FunctionNode]] = {}
        self._called: dict[FunctionNode, set[FunctionNode]] = {}
        self._referred: dict[ast.AST, list[FunctionNode]] = {}
        self.settings: dict[FunctionNode, list[Call]] = {}  # the calls of jit, pmap and tf.function that compile it
        self._calls_by_kind: dict[Kind, list[Call]] = {}
        for function in code.defined:
            for decorator in function.decorator_list:
                self._decorated(function, decorator)
            self._method(function)
        for call in code.calls:
            self._passed(call)
        self._propagate()

    def kind(self, node: ast.AST) -> Kind:
        """How the code is run that a node is in."""
        function = self.code.function(node)
        return Kind.NOTHING if function is None else self._kind_in(function)

    def _kind_in(self, function: FunctionNode) -> Kind:
        if function not in self._kind_inside:
            self._kind_inside[function] = self._found_kind(function)
        return self._kind_inside[function]

    def _found_kind(self, function: FunctionNode) -> Kind:
        own = self.kinds.get(function, Kind.NOTHING)
        given_to = self.code.call(self.code.parent(function))
        if given_to is not None and given_to.last in CALLBACKS:
            return Kind.NOTHING
        if Kind.HOST in own or (own and not isinstance(function, ast.Lambda)):
            return own
        return own | self.kind(function)

    def is_on_device(self, node: ast.AST) -> bool:
        """True if a TPU runs the code that a node is in."""
        return Kind.DEVICE in self.kind(node)

    def calls(self, kind: Kind) -> list[Call]:
        """The calls in functions that are run so."""
        if kind not in self._calls_by_kind:
            inside = {None: False} | {each: kind in self._kind_in(each) for each in self.code.functions}
            self._calls_by_kind[kind] = [each for each in self.code.calls if inside[self.code.function(each.node)]]
        return self._calls_by_kind[kind]

    def functions(self, kind: Kind) -> list[FunctionNode]:
        """The functions that are run so, in every way that is asked for."""
        return [function for function, own in self.kinds.items() if kind in own]

    def referred(self, node: ast.AST | None) -> list[FunctionNode]:
        """The functions of the notebook that an expression may stand for."""
        if not isinstance(node, ast.Lambda | ast.IfExp | ast.Call | ast.Attribute | ast.Name):
            return []
        if node not in self._referred:
            self._referred[node] = self._functions_meant(node)
        return self._referred[node]

    def _functions_meant(self, node: ast.AST) -> list[FunctionNode]:
        """Follow an expression to functions, through names and transformations; no node twice, and not endlessly."""
        found: dict[FunctionNode, None] = {}
        seen: set[ast.AST] = set()
        waiting = [node]
        while waiting and len(seen) < _MOST_FOLLOWED:
            each = waiting.pop()
            if each in seen:  # `step = jax.jit(step)` of a step that is not known
                continue
            seen.add(each)
            following: list[ast.AST] = []
            if isinstance(each, FunctionNode):
                found[each] = None
            elif isinstance(each, ast.IfExp):
                following = [each.body, each.orelse]
            elif isinstance(each, ast.Call):  # partial(f, x), jax.grad(f), tf.function(f)
                following = [*each.args[:1]]
            elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self":
                found.update(dict.fromkeys(self._methods_beside(each)))
            elif isinstance(each, ast.Name) and each.id in self._names_of_functions:
                following = [meant for meant in self.code.meant(each) if self._may_be_function(meant)]
            waiting += reversed(following)
        return list(found)

    @cached_property
    def _names_of_functions(self) -> frozenset[str]:
        """The names that may stand for a function somewhere in the notebook."""
        return frozenset(name for name, value in self.code.definitions() if self._may_be_function(value))

    def _may_be_function(self, value: ast.AST | None) -> TypeGuard[ast.AST]:
        is_transformed = isinstance(value, ast.Call) and not self._is_made(value)
        return is_transformed or isinstance(value, FunctionNode | ast.Name | ast.IfExp)

    def _is_made(self, node: ast.AST) -> bool:
        """True if a call gives something else than its first argument transformed."""
        call = self.code.call(node)
        return call is not None and call.name not in _TRANSFORMING

    def _methods_beside(self, node: ast.Attribute) -> list[FunctionNode]:
        for function in self.code.functions_around(node):
            owner = self.code.class_of(function)
            if owner is not None:
                return self.code.methods.get((owner, node.attr), [])[-2:]  # of a property, what reads and what sets it
        return []

    def _decorated(self, function: ast.FunctionDef | ast.AsyncFunctionDef, decorator: ast.expr) -> None:
        call, name = self.code.call(decorator), self.code.name(decorator)
        if call is not None:
            name = call.name
            if call.last == "partial" and call.node.args:
                name = self.code.name(call.node.args[0])
        self._mark(function, transformed(name, call), call)

    def _method(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        owner = self.code.class_of(function)
        if owner is None:
            return
        for base in self._bases(owner):
            last = base.rpartition(".")[2]
            if is_keras(base, self.code) and last in {"Model", "Layer", "Loss", "Metric", "Sequential", "Functional"}:
                if function.name in KERAS_METHODS:
                    kind = Kind.JAX if self.platform.keras_jax and not self.platform.tensorflow else Kind.TENSORFLOW
                    self._mark(function, Kind.DEVICE | Kind.TRACED | kind)
            elif base in BASES and function.name in BASES[base][0]:
                kind = BASES[base][1]
                traced = Kind.NOTHING if kind is Kind.TORCH else Kind.TRACED
                if kind is not Kind.TORCH or self.platform.torch:
                    self._mark(function, Kind.DEVICE | traced | kind)

    def _bases(self, owner: ast.ClassDef, depth: int = 0) -> Iterator[str]:
        for base in owner.bases:
            name = self.code.name(base)
            if name in self.code.classes and depth < len(BASES):
                yield from self._bases(self.code.classes[name], depth + 1)
            else:
                yield name

    def _passed(self, call: Call) -> None:
        """Mark the functions that are given to a call which compiles them."""
        arguments = [*call.node.args, *(each.value for each in call.node.keywords)]
        if kind := transformed(call.name, call):
            self._mark_all(arguments[:1], kind, call)
        elif call.name.startswith("jax.lax.") and call.last in LOOPS:
            self._mark_all(arguments, Kind.TRACED | Kind.DEVICE | Kind.JAX, call)
        elif call.last in {"run", "experimental_run_v2"} and self._is_strategy(call):
            self._mark_all(arguments[:1], Kind.TRACED | Kind.DEVICE | Kind.TENSORFLOW, call)
        elif call.last == "compile" and (call.keyword("loss", "metrics") is not None):
            kind = Kind.JAX if self.platform.keras_jax else Kind.TENSORFLOW
            metrics = call.keyword("metrics")
            given = [call.keyword("loss"), *(metrics.elts if isinstance(metrics, ast.List) else [])]
            given = [each for each in given if isinstance(each, ast.Name | ast.Lambda)]
            self._mark_all(given, Kind.TRACED | Kind.DEVICE | kind, call)
        elif call.last in PIPELINE and "tensorflow" in self.code.modules and not call.name.startswith("jax."):
            self._mark_all(arguments, Kind.HOST, None)

    def _is_strategy(self, call: Call) -> bool:
        made = self.code.call(self.code.resolved(call.receiver))
        names_one = "strategy" in call.name.lower()
        return self.platform.tensorflow and (names_one or (made is not None and made.last.endswith("Strategy")))

    def _mark_all(self, arguments: Iterable[ast.expr | None], kind: Kind, call: Call | None) -> None:
        for argument in arguments:
            for function in self.referred(argument):
                self._mark(function, kind, call)
                self.by_reference.add(function)

    def _mark(self, function: FunctionNode, kind: Kind, call: Call | None = None) -> None:
        if not kind:
            return
        self.kinds[function] = self.kinds.get(function, Kind.NOTHING) | kind
        if call is not None:
            self.settings.setdefault(function, []).append(call)
            self.static.setdefault(function, set()).update(self._static(function, call))

    def _static(self, function: FunctionNode, call: Call) -> Iterator[str]:
        names = call.keyword("static_argnames")
        numbers = call.keyword("static_argnums", "static_broadcasted_argnums")
        for node in walk(names) if names is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
        own = [*function.args.posonlyargs, *function.args.args]
        for node in walk(numbers) if numbers is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and 0 <= node.value < len(own):
                yield own[node.value].arg

    def _propagate(self) -> None:
        """What a compiled function calls, or hands on, is compiled with it."""
        roots = {function for function, kind in self.kinds.items() if Kind.HOST not in kind}
        waiting = list(self.kinds)
        while waiting:
            function = waiting.pop()
            kind = self.kinds[function] & ~Kind.PMAP
            for node in self.code.inside(function):
                for called in self._mentioned(node):
                    before = self.kinds.get(called, Kind.NOTHING)
                    if Kind.HOST in kind and called in roots:
                        continue
                    if called is not function and before | kind != before:
                        self.kinds[called] = before | kind
                        self.inner.update({called} - roots)
                        waiting.append(called)
        for function in self._with_gradient() & set(self.kinds):
            self.kinds[function] |= Kind.GRADIENT
        for function in _reachable(self.functions(Kind.GRADIENT), lambda each: self.calls_of(each) & self.kinds.keys()):
            self.kinds[function] |= Kind.STEP

    def training_steps(self) -> list[FunctionNode]:
        """The compiled functions of the outermost level that compute a gradient, in the order of the text."""
        steps = [each for each in self.functions(Kind.TRACED | Kind.GRADIENT) if each not in self.inner]
        return sorted(steps, key=self.code.order)

    def _with_gradient(self) -> set[FunctionNode]:
        """The functions that compute a gradient, by themselves or by what they call."""
        around = [self.code.function(call.node) for call in self.code.calls if call.name in GRADIENTS]
        callers: dict[FunctionNode, set[FunctionNode]] = defaultdict(set)
        for function in self.code.functions if any(around) else ():
            for called in self.calls_of(function):
                callers[called].add(function)
        return _reachable(filter(None, around), callers.__getitem__)

    def _mentioned(self, node: ast.AST) -> list[FunctionNode]:
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return []
        if isinstance(node, ast.Name) and node.id not in self._names_of_functions:
            return []
        parent = self.code.parent(node)
        if isinstance(parent, ast.Attribute):
            return []
        given_to = self.code.call(parent)
        if given_to is not None and given_to.node.func is not node:
            is_pipeline = given_to.last in PIPELINE and given_to.receiver is not None
            is_pipeline = is_pipeline and not given_to.name.startswith("jax.")
            if is_pipeline or given_to.last in CALLBACKS or not isinstance(node, ast.Name):
                return []
            found = self.referred(node)
            self.by_reference.update(found)
            return found
        return self.referred(node)

    def calls_of(self, function: FunctionNode) -> set[FunctionNode]:
        """The functions of the notebook that a function calls or hands on."""
        if function not in self._called:
            nodes = self.code.inside(function)
            found = {each for node in nodes for each in self._mentioned(node)}
            self._called[function] = found | {node for node in nodes if isinstance(node, ast.Lambda)}
        return self._called[function]

    def reached(self, function: FunctionNode) -> set[FunctionNode]:
        """A function and those that it calls or hands on, by any number of steps."""
        if function not in self._reached:
            found = _reachable([function], self.calls_of, most=_MOST_REACHED)
            if len(self._reached) > _MOST_KEPT:
                self._reached.clear()
            self._reached[function] = found
        return self._reached[function]

    def calls_in(self, function: FunctionNode) -> Iterator[Call]:
        """The calls of a function and of those that it reaches."""
        for each in self.reached(function):
            yield from self.code.calls_inside(each)


def _reachable(
    start: Iterable[FunctionNode], following: Callable[[FunctionNode], set[FunctionNode]], *, most: float = inf
) -> set[FunctionNode]:
    """Some functions and those that follow from them by any number of steps, until there are so many."""
    found = set(start)
    waiting = list(found)
    while waiting and len(found) < most:
        new = following(waiting.pop()) - found
        found |= new
        waiting += new
    return found


# The names in a compiled function that stand for values on the device.


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
