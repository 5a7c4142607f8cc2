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

from generator.check.cell_text import (
    CodeCall,
    FunctionNode,
    arguments_given,
    children_of,
    function_parameters,
    is_true,
    walk_nodes,
)
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
    def is_for_tpu(self) -> bool:
        """True if the notebook is for a TPU."""
        return self.tensorflow or self.jax or self.keras_jax or self.torch


NO_TPU = Platform(tensorflow=False, jax=False, keras_jax=False, torch=False)


def platform_of(kernel: KernelSource, code: NotebookCode) -> Platform:
    """Return how a notebook uses a TPU; none at all if it is for a GPU."""
    modules = kernel.code.modules
    is_tpu_requested = _asked_for(kernel, code)
    backend = _keras_backend(code)
    uses_jax = bool(_JAX & modules)
    names = {call.name for call in code.calls}
    ends = {name.rpartition(".")[2] for name in names}
    if is_tpu_requested is False or (is_tpu_requested is None and _names_a_gpu(code)):
        return NO_TPU
    platform = Platform(
        tensorflow=("tensorflow" in modules and bool(ends & {"TPUStrategy", "TPUClusterResolver"}))
        or (is_tpu_requested is True and _has_strategy(code)),
        jax=uses_jax and any(name.startswith(("jax.", "flax.", "haiku.", "equinox.")) for name in names),
        keras_jax=backend == "jax" and "keras" in modules,
        torch="torch_xla" in modules,
    )
    if is_tpu_requested and not platform.is_for_tpu:
        is_keras = bool({"keras", "tensorflow"} & modules) and backend in {None, "tensorflow"}
        platform = Platform(tensorflow=is_keras, jax=uses_jax, keras_jax=False, torch=False)
    is_named = (
        bool(is_tpu_requested)
        or platform.tensorflow
        or platform.torch
        or any(_TPU.search(cell.source) for cell in code.cells)
    )
    return replace(platform, is_named=is_named)


def is_keras(name: str, code: NotebookCode) -> bool:
    """True for what Keras calls so, also after `from keras.layers import *`."""
    return name.startswith(KERAS) or ("." not in name and any(f"{module}.".startswith(KERAS) for module in code.stars))


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
    for accelerator in (
        metadata.section("kaggle").get("accelerator"),
        colab.get("gpuType"),
        metadata.get("accelerator"),
    ):
        if isinstance(accelerator, str) and accelerator.lower() not in {"", "none"}:
            return accelerator.upper().startswith(_COLAB_TPUS) or "tpu" in accelerator.lower()
    return None


def _names_a_tpu(code: NotebookCode) -> bool:
    ends = code.callee_names
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
    device_queries = [
        call for call in code.calls if call.name in {"jax.devices", "jax.local_devices"} and call.node.args
    ]
    kinds = {code.text(call.node.args[0]) for call in device_queries}
    return bool(kinds & {"gpu", "cuda"}) and "tpu" not in kinds


# How a function of a notebook can be run, and the names in each framework that make it so.


class ExecutionMode(Flag):
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
BASES: dict[str, tuple[set[str], ExecutionMode]] = {
    "flax.linen.Module": ({"__call__"}, ExecutionMode.JAX),
    "flax.nnx.Module": ({"__call__"}, ExecutionMode.JAX),
    "haiku.Module": ({"__call__"}, ExecutionMode.JAX),
    "equinox.Module": ({"__call__"}, ExecutionMode.JAX),
    "torch.nn.Module": ({"forward"}, ExecutionMode.TORCH),
}


def infer_kind(name: str, call: CodeCall | None) -> ExecutionMode:
    """How a function is run that is given to a decorator or a call of this name."""
    if name in JIT:
        return ExecutionMode.TRACED | ExecutionMode.DEVICE | ExecutionMode.JAX
    if name in SHARD_MAP:
        return ExecutionMode.DEVICE | ExecutionMode.JAX
    if name in PMAP:
        return ExecutionMode.TRACED | ExecutionMode.DEVICE | ExecutionMode.JAX | ExecutionMode.PMAP
    if name == "tensorflow.function":
        jit_option = call.keyword("jit_compile", "experimental_compile") if call is not None else None
        return (
            ExecutionMode.TRACED
            | ExecutionMode.TENSORFLOW
            | (ExecutionMode.DEVICE if is_true(jit_option) else ExecutionMode.NOTHING)
        )
    return ExecutionMode.NOTHING


# The functions of a notebook that a TPU runs, those that are traced, and those of the host's input pipeline.


_MOST_FOLLOWED = 60  # names and transformations between an expression and a function
_MOST_REACHED = 500  # functions below one that are looked at
_TRANSFORMING = JIT | PMAP | GRADIENTS | {"functools.partial", "tensorflow.function", "jax.vmap"} | SHARD_MAP
_MOST_KEPT = 200  # functions whose callees are remembered


class ExecutionModes:
    """How each function of a notebook is run."""

    def __init__(self, code: NotebookCode, platform: Platform) -> None:
        self.code, self.platform = code, platform
        self.kinds: dict[FunctionNode, ExecutionMode] = {}
        self.static: dict[FunctionNode, set[str]] = {}  # parameters that are no arrays
        self.by_reference: set[FunctionNode] = set()  # given to a transformation: every parameter is an array
        self._kind_inside: dict[FunctionNode, ExecutionMode] = {}
        self.inner: set[FunctionNode] = set()  # compiled because others call them
        self._reachable_sets: dict[FunctionNode, set[FunctionNode]] = {}
        self._callees: dict[FunctionNode, set[FunctionNode]] = {}
        self._functions_by_node: dict[ast.AST, list[FunctionNode]] = {}
        self.settings: dict[FunctionNode, list[CodeCall]] = {}  # the calls of jit, pmap and tf.function that compile it
        self._calls_by_kind: dict[ExecutionMode, list[CodeCall]] = {}
        for function in code.function_defs:
            for decorator in function.decorator_list:
                self._mark_decorated(function, decorator)
            self._method(function)
        for call in code.calls:
            self._mark_arguments(call)
        self._propagate()

    def kind(self, node: ast.AST) -> ExecutionMode:
        """How the code is run that a node is in."""
        function = self.code.function(node)
        return ExecutionMode.NOTHING if function is None else self._kind_in(function)

    def _kind_in(self, function: FunctionNode) -> ExecutionMode:
        if function not in self._kind_inside:
            self._kind_inside[function] = self._found_kind(function)
        return self._kind_inside[function]

    def _found_kind(self, function: FunctionNode) -> ExecutionMode:
        kind = self.kinds.get(function, ExecutionMode.NOTHING)
        given_to = self.code.call(self.code.parent(function))
        if given_to is not None and given_to.last in CALLBACKS:
            return ExecutionMode.NOTHING
        if ExecutionMode.HOST in kind or (kind and not isinstance(function, ast.Lambda)):
            return kind
        return kind | self.kind(function)

    def is_on_device(self, node: ast.AST) -> bool:
        """True if a TPU runs the code that a node is in."""
        return ExecutionMode.DEVICE in self.kind(node)

    def calls(self, kind: ExecutionMode) -> list[CodeCall]:
        """The calls in functions that are run so."""
        if kind not in self._calls_by_kind:
            inside = {None: False} | {function: kind in self._kind_in(function) for function in self.code.functions}
            self._calls_by_kind[kind] = [call for call in self.code.calls if inside[self.code.function(call.node)]]
        return self._calls_by_kind[kind]

    def functions(self, kind: ExecutionMode) -> list[FunctionNode]:
        """The functions that are run so, in every way that is asked for."""
        return [function for function, function_kind in self.kinds.items() if kind in function_kind]

    def resolve_functions(self, node: ast.AST | None) -> list[FunctionNode]:
        """The functions of the notebook that an expression may stand for."""
        if not isinstance(node, ast.Lambda | ast.IfExp | ast.Call | ast.Attribute | ast.Name):
            return []
        if node not in self._functions_by_node:
            self._functions_by_node[node] = self._functions_meant(node)
        return self._functions_by_node[node]

    def _functions_meant(self, node: ast.AST) -> list[FunctionNode]:
        """Follow an expression to functions, through names and transformations; no node twice, and not endlessly."""
        functions: dict[FunctionNode, None] = {}
        visited_nodes: set[ast.AST] = set()
        waiting = [node]
        while waiting and len(visited_nodes) < _MOST_FOLLOWED:
            expression = waiting.pop()
            if expression in visited_nodes:  # `step = jax.jit(step)` of a step that is not known
                continue
            visited_nodes.add(expression)
            following: list[ast.AST] = []
            if isinstance(expression, FunctionNode):
                functions[expression] = None
            elif isinstance(expression, ast.IfExp):
                following = [expression.body, expression.orelse]
            elif isinstance(expression, ast.Call):  # partial(f, x), jax.grad(f), tf.function(f)
                following = [*expression.args[:1]]
            elif (
                isinstance(expression, ast.Attribute)
                and isinstance(expression.value, ast.Name)
                and expression.value.id == "self"
            ):
                functions.update(dict.fromkeys(self._methods_beside(expression)))
            elif isinstance(expression, ast.Name) and expression.id in self._names_of_functions:
                following = [
                    meaning for meaning in self.code.find_meanings(expression) if self._may_be_function(meaning)
                ]
            waiting += reversed(following)
        return list(functions)

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

    def _mark_decorated(self, function: ast.FunctionDef | ast.AsyncFunctionDef, decorator: ast.expr) -> None:
        call, name = self.code.call(decorator), self.code.name(decorator)
        if call is not None:
            name = call.name
            if call.last == "partial" and call.node.args:
                name = self.code.name(call.node.args[0])
        self._mark(function, infer_kind(name, call), call)

    def _method(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        owner = self.code.class_of(function)
        if owner is None:
            return
        for base in self._bases(owner):
            last = base.rpartition(".")[2]
            if is_keras(base, self.code) and last in {"Model", "Layer", "Loss", "Metric", "Sequential", "Functional"}:
                if function.name in KERAS_METHODS:
                    kind = (
                        ExecutionMode.JAX
                        if self.platform.keras_jax and not self.platform.tensorflow
                        else ExecutionMode.TENSORFLOW
                    )
                    self._mark(function, ExecutionMode.DEVICE | ExecutionMode.TRACED | kind)
            elif base in BASES and function.name in BASES[base][0]:
                kind = BASES[base][1]
                trace_kind = ExecutionMode.NOTHING if kind is ExecutionMode.TORCH else ExecutionMode.TRACED
                if kind is not ExecutionMode.TORCH or self.platform.torch:
                    self._mark(function, ExecutionMode.DEVICE | trace_kind | kind)

    def _bases(self, owner: ast.ClassDef, depth: int = 0) -> Iterator[str]:
        for base in owner.bases:
            name = self.code.name(base)
            if name in self.code.classes and depth < len(BASES):
                yield from self._bases(self.code.classes[name], depth + 1)
            else:
                yield name

    def _mark_arguments(self, call: CodeCall) -> None:
        """Mark the functions that are given to a call which compiles them."""
        arguments = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
        if kind := infer_kind(call.name, call):
            self._mark_all(arguments[:1], kind, call)
        elif call.name.startswith("jax.lax.") and call.last in LOOPS:
            self._mark_all(arguments, ExecutionMode.TRACED | ExecutionMode.DEVICE | ExecutionMode.JAX, call)
        elif call.last in {"run", "experimental_run_v2"} and self._is_strategy(call):
            self._mark_all(arguments[:1], ExecutionMode.TRACED | ExecutionMode.DEVICE | ExecutionMode.TENSORFLOW, call)
        elif call.last == "compile" and (call.keyword("loss", "metrics") is not None):
            kind = ExecutionMode.JAX if self.platform.keras_jax else ExecutionMode.TENSORFLOW
            metrics = call.keyword("metrics")
            objectives = [call.keyword("loss"), *(metrics.elts if isinstance(metrics, ast.List) else [])]
            objectives = [objective for objective in objectives if isinstance(objective, ast.Name | ast.Lambda)]
            self._mark_all(objectives, ExecutionMode.TRACED | ExecutionMode.DEVICE | kind, call)
        elif call.last in PIPELINE and "tensorflow" in self.code.modules and not call.name.startswith("jax."):
            self._mark_all(arguments, ExecutionMode.HOST, None)

    def _is_strategy(self, call: CodeCall) -> bool:
        receiver_call = self.code.call(self.code.resolve(call.receiver))
        names_one = "strategy" in call.name.lower()
        return self.platform.tensorflow and (
            names_one or (receiver_call is not None and receiver_call.last.endswith("Strategy"))
        )

    def _mark_all(self, arguments: Iterable[ast.expr | None], kind: ExecutionMode, call: CodeCall | None) -> None:
        for argument in arguments:
            for function in self.resolve_functions(argument):
                self._mark(function, kind, call)
                self.by_reference.add(function)

    def _mark(self, function: FunctionNode, kind: ExecutionMode, call: CodeCall | None = None) -> None:
        if not kind:
            return
        self.kinds[function] = self.kinds.get(function, ExecutionMode.NOTHING) | kind
        if call is not None:
            self.settings.setdefault(function, []).append(call)
            self.static.setdefault(function, set()).update(self._static(function, call))

    def _static(self, function: FunctionNode, call: CodeCall) -> Iterator[str]:
        names = call.keyword("static_argnames")
        numbers = call.keyword("static_argnums", "static_broadcasted_argnums")
        for node in walk_nodes(names) if names is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
        positional_args = [*function.args.posonlyargs, *function.args.args]
        for node in walk_nodes(numbers) if numbers is not None else ():
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, int)
                and 0 <= node.value < len(positional_args)
            ):
                yield positional_args[node.value].arg

    def _propagate(self) -> None:
        """What a compiled function calls, or hands on, is compiled with it."""
        roots = {function for function, kind in self.kinds.items() if ExecutionMode.HOST not in kind}
        waiting = list(self.kinds)
        while waiting:
            function = waiting.pop()
            kind = self.kinds[function] & ~ExecutionMode.PMAP
            for node in self.code.inside(function):
                for callee in self._find_mentions(node):
                    before = self.kinds.get(callee, ExecutionMode.NOTHING)
                    if ExecutionMode.HOST in kind and callee in roots:
                        continue
                    if callee is not function and before | kind != before:
                        self.kinds[callee] = before | kind
                        self.inner.update({callee} - roots)
                        waiting.append(callee)
        for function in self._with_gradient() & set(self.kinds):
            self.kinds[function] |= ExecutionMode.GRADIENT
        for function in _reachable(
            self.functions(ExecutionMode.GRADIENT), lambda caller: self.calls_of(caller) & self.kinds.keys()
        ):
            self.kinds[function] |= ExecutionMode.STEP

    def training_steps(self) -> list[FunctionNode]:
        """The compiled functions of the outermost level that compute a gradient, in the order of the text."""
        steps = [
            step for step in self.functions(ExecutionMode.TRACED | ExecutionMode.GRADIENT) if step not in self.inner
        ]
        return sorted(steps, key=self.code.order)

    def _with_gradient(self) -> set[FunctionNode]:
        """The functions that compute a gradient, by themselves or by what they call."""
        around = [self.code.function(call.node) for call in self.code.calls if call.name in GRADIENTS]
        callers: dict[FunctionNode, set[FunctionNode]] = defaultdict(set)
        for function in self.code.functions if any(around) else ():
            for callee in self.calls_of(function):
                callers[callee].add(function)
        return _reachable(filter(None, around), callers.__getitem__)

    def _find_mentions(self, node: ast.AST) -> list[FunctionNode]:
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
            functions = self.resolve_functions(node)
            self.by_reference.update(functions)
            return functions
        return self.resolve_functions(node)

    def calls_of(self, function: FunctionNode) -> set[FunctionNode]:
        """The functions of the notebook that a function calls or hands on."""
        if function not in self._callees:
            nodes = self.code.inside(function)
            callees = {callee for node in nodes for callee in self._find_mentions(node)}
            self._callees[function] = callees | {node for node in nodes if isinstance(node, ast.Lambda)}
        return self._callees[function]

    def find_reachable(self, function: FunctionNode) -> set[FunctionNode]:
        """A function and those that it calls or hands on, by any number of steps."""
        if function not in self._reachable_sets:
            functions = _reachable([function], self.calls_of, most=_MOST_REACHED)
            if len(self._reachable_sets) > _MOST_KEPT:
                self._reachable_sets.clear()
            self._reachable_sets[function] = functions
        return self._reachable_sets[function]

    def calls_in(self, function: FunctionNode) -> Iterator[CodeCall]:
        """The calls of a function and of those that it reaches."""
        for callee in self.find_reachable(function):
            yield from self.code.calls_inside(callee)


def _reachable(
    start: Iterable[FunctionNode], following: Callable[[FunctionNode], set[FunctionNode]], *, most: float = inf
) -> set[FunctionNode]:
    """Some functions and those that follow from them by any number of steps, until there are so many."""
    functions = set(start)
    waiting = list(functions)
    while waiting and len(functions) < most:
        new = following(waiting.pop()) - functions
        functions |= new
        waiting += new
    return functions


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
_FLATTENERS = {"flatten", "tree_flatten", "flatten_with_path", "tree_flatten_with_path"}  # leaves, and a structure
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
_Expression = ast.Tuple | ast.List | ast.Dict | ast.Subscript | ast.Attribute | ast.Call | ast.IfExp | ast.NamedExpr
_Expression |= _Comprehension | ast.Lambda | ast.Compare | ast.Name
# What of a value is on the device: all or nothing; or, of a tuple by number and of a dictionary or a record by key,
# that of each part.
Extent: TypeAlias = "bool | dict[Hashable, Extent]"
KeyT = TypeVar("KeyT", bound=Hashable)


class TracedNames:
    """The traced names of each compiled function."""

    def __init__(self, code: NotebookCode, compilation: ExecutionModes) -> None:
        self.code, self.compilation = code, compilation
        self._names: dict[FunctionNode, dict[str, Extent]] = {}
        self._giving: dict[FunctionNode, Extent] = {}  # what each returns
        self._has_grown = False
        functions = compilation.functions(ExecutionMode.DEVICE) + compilation.functions(ExecutionMode.TRACED)
        self._functions = list(dict.fromkeys(functions))
        for function in self._functions:
            is_root = (
                function in compilation.by_reference or function in compilation.settings or self._is_method(function)
            )
            is_decorated = (
                bool(getattr(function, "decorator_list", ())) and ExecutionMode.TRACED in compilation.kinds[function]
            )
            self._names[function] = dict.fromkeys(self._arrays(function), True) if is_root or is_decorated else {}
        for call in code.calls:
            for function in compilation.resolve_functions(call.node.func):
                if ExecutionMode.JAX not in compilation.kinds.get(
                    function, ExecutionMode.JAX
                ):  # there numbers are traced as well
                    for name in _constants_given(function, call):
                        self._names.get(function, {}).pop(name, None)
        for _ in range(_ROUNDS):
            self._has_grown = False
            for function in self._functions:
                self._propagate(function)
            if not self._has_grown:
                break

    def is_traced(self, node: ast.AST | None) -> bool:
        """True for an expression whose value, or a part of it, is on the device while its function runs."""
        return node is not None and _is_any(self._extent(node, {}))

    def _extent(  # noqa: C901, PLR0911 - a kind of node a line
        self, node: ast.AST, extents: Mapping[str, Extent], depth: int = 0
    ) -> Extent:
        """What of an expression is on the device; `extents` has the names of the comprehensions around it."""
        if isinstance(node, ast.Name):
            return extents[node.id] if node.id in extents else self._of_name(node)
        if depth > _DEEPEST:
            names = (child for child in walk_nodes(node) if isinstance(child, ast.Name))
            return any(_is_any(self._extent(child, extents)) for child in names)
        if isinstance(node, ast.Tuple | ast.List) and not any(isinstance(child, ast.Starred) for child in node.elts):
            return _told_apart(
                {at: self._extent(child, extents, depth + 1) for at, child in enumerate(children_of(node))}
            )
        if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
            keys = [key.value for key in node.keys[:_MOST_PARTS] if isinstance(key, ast.Constant)]
            pairs = zip(keys, node.values, strict=False)
            return _told_apart({key: self._extent(value, extents, depth + 1) for key, value in pairs})
        if isinstance(node, ast.Subscript):
            return self._part(node.value, node.slice, extents, depth)
        if isinstance(node, ast.Attribute):
            if node.attr in _KNOWN_ATTRIBUTES or self._is_of_module(node):
                return False
            base = self._extent(node.value, extents, depth + 1)
            return base[node.attr] if isinstance(base, dict) and node.attr in base else _is_any(base)
        if isinstance(node, ast.Call):
            return self._of_call(node, extents, depth)
        if isinstance(node, _Comprehension):
            return self._gives_traced(node, extents, depth)
        if isinstance(node, ast.Lambda | ast.Compare) and _is_about_structure(node):
            return False
        if isinstance(node, ast.IfExp):
            parts = (self._extent(child, extents, depth + 1) for child in (node.body, node.orelse))
            return _unite(*parts)
        if isinstance(node, ast.NamedExpr):
            return self._extent(node.value, extents, depth + 1)
        return self._is_any_below(node, extents, depth)

    def _is_any_below(self, node: ast.AST, extents: Mapping[str, Extent], depth: int) -> bool:
        """True if a part of an operation, of which there may be thousands in a row, is on the device."""
        stack = children_of(node)
        while stack:
            child = stack.pop()
            if not isinstance(child, _Expression):
                stack += children_of(child)
            elif _is_any(self._extent(child, extents, depth + 1)):
                return True
        return False

    def _of_name(self, name: ast.Name) -> Extent:
        for function in self.code.functions_around(name):
            if name.id in self._names.get(function, ()):
                return self._names[function][name.id]
            if self.code.binds(function, name.id):
                return False
        return False

    def _part(self, whole: ast.expr, key: ast.expr, extents: Mapping[str, Extent], depth: int) -> Extent:
        """What of a part of a tuple or a dictionary is on the device."""
        base = self._extent(whole, extents, depth + 1)
        if isinstance(base, dict):
            index = self.code.resolve(key)
            number = self.code.number(index)
            if isinstance(index, ast.Constant):
                return base.get(index.value, False)
            if number is not None:  # the last one is -1
                return base.get(number + len(base) if number < 0 else number, False)
        return _is_any(base) or _is_any(self._extent(key, extents, depth + 1))

    def _of_call(  # noqa: PLR0911 - a kind of call a line
        self, node: ast.Call, extents: Mapping[str, Extent], depth: int
    ) -> Extent:
        call = self.code.call(node)
        if call is None:
            return self._is_any_below(node, extents, depth)
        if self._is_of_structure(call):
            return False
        if functions := self.follow_call(call):
            return _unite(*(self._giving.get(function, False) for function in functions))
        first = node.args[0] if node.args else None
        if call.name in _SAME_PARTS and first is not None:
            return self._extent(first, extents, depth + 1)
        if call.last in _FLATTENERS and call.name.startswith("jax.tree") and first is not None:
            return _told_apart({0: _is_any(self._extent(first, extents, depth + 1)), 1: False})
        if call.last in {"get", "pop"} and call.receiver is not None and first is not None:
            defaults = [self._extent(argument, extents, depth + 1) for argument in node.args[1:]]
            return _unite(self._part(call.receiver, first, extents, depth), *defaults)
        if call.last == "copy" and call.receiver is not None:
            return self._extent(call.receiver, extents, depth + 1)
        if (fields := self._fields_given(call)) is not None:
            return _told_apart({name: self._extent(value, extents, depth + 1) for name, value in fields.items()})
        return self._is_any_below(node, extents, depth)

    def _fields_given(self, call: CodeCall) -> dict[Hashable, ast.expr] | None:
        """What a call gives the fields of a record: `dict(n=8)`, a named tuple or a dataclass of the notebook."""
        if call.is_open or any(isinstance(argument, ast.Starred) for argument in call.node.args):
            return None
        keyword_values: dict[Hashable, ast.expr] = {keyword.arg: keyword.value for keyword in call.node.keywords}
        owner = self.code.classes.get(call.name)
        if owner is None:
            return keyword_values if call.name == "dict" and not call.node.args else None
        kinds = [
            *owner.bases,
            *(decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in owner.decorator_list),
        ]
        if not {"NamedTuple", "dataclass"} & {self.code.name(kind).rpartition(".")[2] for kind in kinds}:
            return None
        fields = [
            statement.target.id
            for statement in owner.body
            if isinstance(statement, ast.AnnAssign) and _is_name(statement.target)
        ]
        return dict(zip(fields, call.node.args, strict=False)) | keyword_values

    def _gives_traced(self, comprehension: _Comprehension, extents: Mapping[str, Extent], depth: int) -> bool:
        """True for `[v * 2 for v in xs]`, and not for the shapes in `[v.shape[0] for v in xs]`."""
        for clause in comprehension.generators:
            for target, extent in self._elements(clause.target, clause.iter, extents, depth):
                names = [name.id for name in ast.walk(target) if isinstance(name, ast.Name)]
                extents = {**extents, **dict.fromkeys(names, extent)}
        # The keys of a dictionary are names.
        values = [comprehension.value if isinstance(comprehension, ast.DictComp) else comprehension.elt]
        values += [test for clause in comprehension.generators for test in clause.ifs]
        return any(_is_any(self._extent(value, extents, depth + 1)) for value in values)

    def _elements(  # noqa: PLR0911 - a kind of loop a line
        self, target: ast.expr, iterable: ast.expr, extents: Mapping[str, Extent], depth: int = 0
    ) -> list[tuple[ast.expr, Extent]]:
        """The parts of a loop's target with what of them is on the device: not the numbers, keys and paths."""
        call = iterable.value if isinstance(iterable, ast.Subscript) else iterable
        arguments = call.args if isinstance(call, ast.Call) else []
        name = self.code.name(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
        parts = target.elts if isinstance(target, ast.Tuple) else []
        is_deep = depth > _DEEPEST
        if name == "enumerate" and len(parts) > 1 and arguments and not is_deep:
            return [(parts[0], False), *self._elements(parts[1], arguments[0], extents, depth + 1)]
        if name == "zip" and len(parts) == len(arguments) and not is_deep:
            pairs = zip(parts, arguments, strict=True)
            return [
                element for part, argument in pairs for element in self._elements(part, argument, extents, depth + 1)
            ]
        if name in _SAME_PARTS and arguments and not is_deep:
            return self._elements(target, arguments[0], extents, depth + 1)
        if name == "keys":
            return [(target, False)]
        base = self._extent(iterable, extents, depth + 1)
        if name in {"items", "values"} and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            base = self._extent(call.func.value, extents, depth + 1)
        if (name == "items" or name.endswith("_with_path")) and len(parts) > 1:
            value = _unite(*base.values()) if isinstance(base, dict) else base
            return [(parts[0], False), (parts[1], value)]
        if isinstance(base, dict):
            is_of_keys = name != "values" and not all(isinstance(key, int) for key in base)
            return [(target, not is_of_keys and _unite(*base.values()))]
        return [(target, base and not self._is_key(target, iterable))]

    def _is_key(self, target: ast.expr, iterable: ast.expr) -> bool:
        """True for the `name` of `for name in params`, where the loop asks for `params[name]`."""
        if not isinstance(target, ast.Name) or not isinstance(iterable, ast.Name):
            return False
        function = self.code.function(target)
        if function not in self._subscripts:
            nodes = (subscript for subscript in self.code.inside(function) if isinstance(subscript, ast.Subscript))
            pairs = [(subscript.value, subscript.slice) for subscript in nodes]
            self._subscripts[function] = {(a.id, b.id) for a, b in pairs if _is_name(a) and _is_name(b)}
        return (iterable.id, target.id) in self._subscripts[function]

    @cached_property
    def _subscripts(self) -> dict[FunctionNode | None, set[tuple[str, str]]]:
        """The names that each function subscripts, each with the name of the key."""
        return {}

    def calls(self, *, kind: ExecutionMode) -> Iterator[CodeCall]:
        """The calls in functions that are run so."""
        yield from self.compilation.calls(kind)

    def follow_call(self, call: CodeCall) -> list[FunctionNode]:
        """The functions of the notebook that a call runs, if what they get and return can be followed."""
        functions = self.compilation.resolve_functions(call.node.func)
        is_plain = not call.is_open and not isinstance(call.node.func, ast.Call)
        is_plain = is_plain and not any(isinstance(argument, ast.Starred) for argument in call.node.args)
        return functions if is_plain and all(map(self._is_followed, functions)) else []

    def _is_followed(self, function: FunctionNode) -> bool:
        is_open = function.args.vararg is not None or function.args.kwarg is not None
        is_decorated = bool(getattr(function, "decorator_list", ()))
        return function in self._names and not is_open and not is_decorated

    def _is_of_structure(self, call: CodeCall) -> bool:
        """True for what Python knows while it traces: `jnp.shape(x)`, `jax.tree.map(jnp.shape, x)`, `set(batch)`."""
        if call.last in _KNOWN_RESULTS or call.name == "set":
            return True
        function = call.argument(0, "f") if call.name in ("jax.tree.map", "jax.tree_util.tree_map") else None
        if isinstance(function, ast.Lambda):
            body, body_call = function.body, self.code.call(function.body)
            return body_call.last in _KNOWN_RESULTS if body_call else getattr(body, "attr", "") in _KNOWN_ATTRIBUTES
        return function is not None and self.code.name(function).rpartition(".")[2] in _KNOWN_RESULTS

    def _is_of_module(self, node: ast.Attribute) -> bool:
        """True for an attribute or a method of a module of layers: sizes and settings, which are known to Python."""
        owner = node.value
        if node.attr == "value" or not isinstance(owner, ast.Name):
            return False
        for function in self.code.functions_around(owner):
            for parameter in function_parameters(function):
                if parameter.arg == owner.id:
                    kind = self.code.name(parameter.annotation) if parameter.annotation is not None else ""
                    libraries = {call.name.partition(".")[0] for call in self.compilation.settings.get(function, ())}
                    decorator_names = {
                        self.code.name(decorator) for decorator in getattr(function, "decorator_list", ())
                    }
                    of_modules = libraries & _MODULE_LIBRARIES or any(
                        n.startswith(("flax.nnx.", "equinox.")) for n in decorator_names
                    )
                    return owner.id in _MODULES or bool(of_modules) or self._is_module(kind)
        return False

    def _is_module(self, name: str) -> bool:
        class_def = self.code.classes.get(name)
        bases = [self.code.name(base) for base in class_def.bases] if class_def is not None else [name]
        return any(base in BASES for base in bases)

    def _is_method(self, function: FunctionNode) -> bool:
        return (
            self.code.class_of(function) is not None
            and not isinstance(function, ast.Lambda)
            and (function.name in {"call", "__call__", "forward", "train_step", "test_step", "predict_step"})
        )

    def _arrays(self, function: FunctionNode) -> Iterator[str]:
        """The parameters that are arrays, or hold them."""
        arguments, static = function.args, self.compilation.static.get(function, set())
        positional = [*arguments.posonlyargs, *arguments.args]
        with_default = {parameter.arg for parameter in positional[len(positional) - len(arguments.defaults) :]}
        for parameter in positional:
            kind = parameter.annotation.id if isinstance(parameter.annotation, ast.Name) else ""
            if parameter.arg not in static | _PLAIN | with_default and kind not in _PLAIN_TYPES:
                yield parameter.arg

    def _propagate(self, function: FunctionNode) -> None:  # noqa: C901 - a kind of statement a line
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
            is_whole = not any(isinstance(element, ast.Starred) for element in target.elts)
            is_apart = isinstance(extent, dict) and is_whole and set(extent) == set(range(len(target.elts)))
            for at, element in enumerate(target.elts):
                self._add(function, element, extent[at] if isinstance(extent, dict) and is_apart else _is_any(extent))
        elif isinstance(target, ast.Starred):
            self._add(function, target.value, extent)
        elif isinstance(target, ast.Name) and target.id != "_":
            self._grow(self._names.setdefault(function, {}), target.id, extent)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            key = self.code.resolve(target.slice)
            name = target.value.id
            if isinstance(key, ast.Constant) and self.code.binds(function, name):
                self._grow(self._names.setdefault(function, {}), name, _told_apart({key.value: extent}))

    def _hand_on(self, node: ast.Call) -> None:
        for callee in self.compilation.resolve_functions(node.func):
            if callee not in self._names or isinstance(node.func, ast.Call):
                continue
            static = self.compilation.static.get(callee, set())
            for name, value in arguments_given(callee, node):
                if name not in static:
                    self._grow(self._names[callee], name, self._extent(value, {}))

    def _grow(self, extents: dict[KeyT, Extent], key: KeyT, extent: Extent) -> None:
        """Add to what is known of a name or a function."""
        before = extents.get(key, False)
        if extent and (union := _unite(before, extent)) != before:
            extents[key] = union
            self._has_grown = True


def _is_any(extent: Extent) -> bool:
    return any(map(_is_any, extent.values())) if isinstance(extent, dict) else extent


def _told_apart(parts: dict[Hashable, Extent]) -> Extent:
    """The extent of some parts: to two levels, and False where nothing of them is on the device."""
    if not any(map(_is_any, parts.values())):
        return False
    if len(parts) > _MOST_PARTS:
        return True
    return {key: _is_any(part) if _is_nested(part) else part for key, part in parts.items()}


def _is_nested(extent: Extent) -> bool:
    return isinstance(extent, dict) and any(isinstance(part, dict) for part in extent.values())


def _unite(*extents: Extent) -> Extent:
    """What of a value is on the device that may be any of some."""
    union: Extent = False
    for extent in extents:
        if isinstance(union, dict) and isinstance(extent, dict):
            keys = dict.fromkeys([*union, *extent])
            union = _told_apart({key: _unite(union.get(key, False), extent.get(key, False)) for key in keys})
        elif extent is True or union is False:
            union = extent
    return union


def _is_name(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _constants_given(function: FunctionNode, call: CodeCall) -> set[str]:
    """The parameters that a call gives a number or a text: `tf.function` leaves those to Python."""
    return {name for name, value in arguments_given(function, call.node) if isinstance(value, ast.Constant)}


def _is_about_structure(node: ast.Lambda | ast.Compare) -> bool:
    """True for a question that Python answers while it traces: `x is None`, `"mask" in batch`, `mode == "train"`."""
    if isinstance(node, ast.Lambda):
        return True
    if any(isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn) for operator in node.ops):
        return True
    sides = [node.left, *node.comparators]
    parts = [part for side in sides for part in (side.elts if isinstance(side, ast.Tuple | ast.List) else [side])]
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str | None | bool) for part in parts)
