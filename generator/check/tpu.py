"""What a kernel's code does on a TPU: its devices, models, layers and input pipelines."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps

from generator.check.cell_text import CodeCall, FunctionNode, is_false, is_true, walk_nodes
from generator.check.code import NotebookCode
from generator.check.compiled import ExecutionMode, ExecutionModes, Platform, TracedNames, is_keras, platform_of
from generator.check.environment import strings_and_commands
from generator.check.findings import Severity
from generator.check.rule import CheckRule, RuleProblem
from generator.check.source import KernelSource

# The layers that are in a Keras model, rather than in its input pipeline.


_LAYER_ROUNDS = 8
_DEEPEST = 6  # containers and functions around a layer
_MODEL_CLASSES = {"Model", "Functional", "Sequential"}


class Layers:
    """What a notebook's models are made of."""

    def __init__(self, code: NotebookCode, compilation: ExecutionModes) -> None:
        self.code, self.compilation = code, compilation
        self._symbolic: set[tuple[FunctionNode | None, str]] = set()
        self._trained_names = {
            call.receiver.id
            for call in code.calls
            if call.last in {"compile", "fit"} and isinstance(call.receiver, ast.Name)
        }
        scopes: list[FunctionNode | None] = [*code.function_defs, None] if "Input" in code.callee_names else []
        for _ in range(_LAYER_ROUNDS):
            before = len(self._symbolic)
            for scope in scopes:
                self._propagate(scope)
            if len(self._symbolic) == before:
                break

    def find_layers(self, names: set[str]) -> Iterator[CodeCall]:
        """The layers of these names that are in a model."""
        for call in self.code.calls:
            if call.last in names and is_keras(call.name, self.code) and self._is_in_model(call.node):
                yield call

    def operations(self) -> Iterator[CodeCall]:
        """The calls on what flows through a model, other than of layers."""
        for call in self.code.calls:
            if call.name.startswith(("tensorflow.", "keras.ops.")) and self._takes_symbolic(call.node):
                yield call

    def is_symbolic(self, node: ast.AST | None) -> bool:
        """True for an expression that stands for what flows through a model."""
        stack = [] if node is None else [node]
        while stack:
            expression = stack.pop()
            if isinstance(expression, ast.Name) and (self.code.function(expression), expression.id) in self._symbolic:
                return True
            call = self.code.call(expression)
            if call is not None and is_keras(call.name, self.code):
                if call.last == "Input":
                    return True
                if call.last in _MODEL_CLASSES:
                    continue
            if isinstance(expression, ast.Lambda) or (
                isinstance(expression, ast.Attribute) and expression.attr in {"shape", "ndim"}
            ):
                continue
            stack += ast.iter_child_nodes(expression)
        return False

    def _takes_symbolic(self, node: ast.Call) -> bool:
        return any(
            self.is_symbolic(argument) for argument in [*node.args, *(argument.value for argument in node.keywords)]
        )

    def _propagate(self, scope: FunctionNode | None) -> None:
        for node in self.code.inside(scope):
            if isinstance(node, ast.Assign) and self.is_symbolic(node.value):
                self._symbolic |= {
                    (scope, symbol.id)
                    for target in node.targets
                    for symbol in walk_nodes(target)
                    if isinstance(symbol, ast.Name)
                }
            elif isinstance(node, ast.Call):
                for callee in self.compilation.resolve_functions(node.func):
                    positional_args = [*callee.args.posonlyargs, *callee.args.args]
                    pairs = zip(positional_args, node.args, strict=False)
                    self._symbolic |= {(callee, symbol.arg) for symbol, value in pairs if self.is_symbolic(value)}

    def _is_in_model(self, expression: ast.AST, depth: int = 0) -> bool:
        """True if what a call makes becomes part of a model that is trained or called."""
        if depth > _DEEPEST:
            return False
        node, parent = expression, self.code.parent(expression)
        while isinstance(parent, ast.List | ast.Tuple | ast.IfExp | ast.Starred):
            node, parent = parent, self.code.parent(parent)
        call = self.code.call(parent)
        if call is not None:
            return self._is_put_in_model(call, node, depth)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            return self._is_used(parent.targets[0].id, depth)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute):
            return self._is_called_by_model(parent.targets[0].attr)
        return isinstance(parent, ast.Return) and self._is_returned_to_model(parent, depth)

    def _is_put_in_model(self, call: CodeCall, node: ast.AST, depth: int) -> bool:
        """True if a call applies a layer to what flows through a model, or puts it in a container of layers."""
        if call.node.func is node:
            return self._takes_symbolic(call.node) or self.compilation.is_on_device(call.node)
        if call.last == "Sequential":
            return self._is_in_model(call.node, depth + 1)
        return call.last == "add" and isinstance(call.receiver, ast.Name) and self._is_used(call.receiver.id, depth)

    def _is_used(self, name: str, depth: int) -> bool:
        """True if what has this name is trained, called in a model, put in a container, or returned to one that is."""
        if name in self._trained_names:
            return True
        for use in self._uses[name]:
            parent = self.code.parent(use)
            call = self.code.call(parent)
            if call is not None and call.node.func is use:
                if self._takes_symbolic(call.node) or self.compilation.is_on_device(call.node):
                    return True
            elif isinstance(parent, ast.List):
                outer = self.code.call(self.code.parent(parent))
                if outer is not None and outer.last == "Sequential" and self._is_in_model(outer.node, depth + 1):
                    return True
            elif isinstance(parent, ast.Return) and self._is_returned_to_model(parent, depth):
                return True
        return False

    @cached_property
    def _uses(self) -> dict[str, list[ast.Name]]:
        """Where each name is read."""
        uses: dict[str, list[ast.Name]] = defaultdict(list)
        for node in self.code.nodes(ast.Name):
            if isinstance(node.ctx, ast.Load):
                uses[node.id].append(node)
        return uses

    def _is_called_by_model(self, attribute: str) -> bool:
        return any(
            call.last == attribute and call.name == f"self.{attribute}" and self.compilation.is_on_device(call.node)
            for call in self.code.calls
        )

    def _is_returned_to_model(self, node: ast.Return, depth: int) -> bool:
        function = self.code.function(node)
        if not isinstance(function, ast.FunctionDef):
            return False
        calls = [call for call in self.code.calls if call.name == function.name]
        return any(self._is_in_model(call.node, depth + 1) for call in calls)


# How many devices a TPU session has, and what in a notebook depends on them.


DEVICES = 8  # of a TPU v5e-8 and v3-8
_DEVICE_ROUNDS = 30  # names that are given names
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
_ASKING = _QUERIES | _DEVICE_LISTS


class Devices:
    """What a notebook's code says of the devices that it runs on."""

    def __init__(self, code: NotebookCode) -> None:
        self.code = code
        self.names: set[str] = set()  # whose values depend on what the session runs on, in any scope
        self._deciding: set[ast.AST] = {
            attribute for attribute in code.nodes(ast.Attribute) if self.is_count(attribute)
        }
        self._deciding |= {call.node for call in code.calls if self.is_count(call.node) or call.name in _ASKING}
        if not self._deciding:
            return
        waiting = [(_names_in(target), _names_in(value), value) for target, value in code.bindings() if value]
        self.names = {name for names, _, value in waiting if self.decide(value) for name in names}
        for _ in range(_DEVICE_ROUNDS):
            new_names = {name for names, used_names, _ in waiting if used_names & self.names for name in names}
            if new_names <= self.names:
                break
            self.names |= new_names

    def number(self, node: ast.expr | None) -> float | None:
        """The number that an expression comes to on a TPU of eight devices, or None where that is not known."""
        return self.code.number(node, self._count)

    def number_on_one(self, node: ast.expr | None) -> float | None:
        """The number that an expression comes to where a session has one device, as without its TPU."""
        return self.code.number(node, self._count_of_one)

    def _count_of_one(self, node: ast.expr) -> float | None:
        return 1 if self.is_count(node) else None

    def _count(self, node: ast.expr) -> float | None:
        return DEVICES if self.is_count(node) else None

    def is_count(self, node: ast.AST) -> bool:
        """True for an expression that says over how many devices a step is split."""
        if isinstance(node, ast.Attribute):
            return node.attr == "num_replicas_in_sync"
        call = self.code.call(node)
        if call is None:
            return False
        if call.name == "len" and call.node.args:
            list_call = self.code.call(self.code.resolve(call.node.args[0]))
            return list_call is not None and list_call.name in _DEVICE_LISTS
        return call.name in _COUNTS

    def decide(self, node: ast.AST) -> bool:
        """True if what the session runs on decides on an expression."""
        return bool(self._deciding) and any(
            descendant in self._deciding or (isinstance(descendant, ast.Name) and descendant.id in self.names)
            for descendant in walk_nodes(node)
        )


def _names_in(node: ast.expr) -> set[str]:
    return {descendant.id for descendant in walk_nodes(node) if isinstance(descendant, ast.Name)}


# What a kernel's code does on a TPU: everything that its rules ask for.


@dataclass(frozen=True, eq=False)
class TpuCode:
    """The analysed code of a kernel that is for a TPU."""

    platform: Platform
    code: NotebookCode
    devices: Devices
    compilation: ExecutionModes
    traces: TracedNames
    layers: Layers

    def calls(self, *names: str) -> Iterator[CodeCall]:
        """The calls of these full names."""
        return (call for call in self.code.calls if call.name in names)

    def device_calls(self, kind: ExecutionMode) -> Iterator[CodeCall]:
        """The calls that a TPU runs: in compiled functions, and in the models of Keras."""
        compiled_calls = self.compilation.calls(ExecutionMode.DEVICE | kind)
        yield from compiled_calls
        compiled_nodes = {call.node for call in compiled_calls}
        if kind is ExecutionMode.TENSORFLOW and self.platform.tensorflow:
            yield from (call for call in self.layers.operations() if call.node not in compiled_nodes)

    def mentions(self, *texts: str) -> bool:
        """True if one of these texts is a string of the code, or in a command."""
        return any(text in string for text in texts for string in strings_and_commands(self.code))

    def is_fold_loop(self, loop: ast.For | ast.While) -> bool:
        """True for a loop over the folds of a cross-validation."""
        if isinstance(loop, ast.While):
            return False
        names = [node.id for node in [*walk_nodes(loop.target), *walk_nodes(loop.iter)] if isinstance(node, ast.Name)]
        splits = any(call.last == "split" for call in self.code.below(loop.iter))
        return splits or any("fold" in name.lower() for name in names)

    def find_counter(self, loop: ast.For | ast.While) -> str:
        """The name of the number of a loop over `range(n)` or `enumerate(data)`; "" for another loop."""
        call = self.code.call(loop.iter) if isinstance(loop, ast.For) and not self.is_fold_loop(loop) else None
        if call is None or not isinstance(loop, ast.For):
            return ""
        is_pair = isinstance(loop.target, ast.Tuple)
        target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
        is_number = call.name == "range" or (call.name == "enumerate" and is_pair)
        return target.id if is_number and isinstance(target, ast.Name) else ""

    def spawn_calls(self) -> list[CodeCall]:
        """The calls that start a process for each core of PyTorch/XLA."""
        starts = "torch_xla.distributed.xla_multiprocessing.spawn", "torch_xla.launch"
        return [call for call in self.calls(*starts) if self.devices.number(call.argument(9, "nprocs")) != 1]

    def loops(self, node: ast.AST) -> Iterator[ast.For | ast.While]:
        """The loops around a node in its own function, from inside to outside."""
        for around in self.code.ancestors(node, within_function=True):
            if isinstance(around, ast.For | ast.While):
                yield around

    def runs_in(self, node: ast.AST) -> list[CodeCall]:
        """The calls in a node, and in the functions of the notebook that it calls."""
        calls = self.code.below(node)
        functions: set[FunctionNode] = set()
        for call in calls:
            for function in self.compilation.resolve_functions(call.node.func):
                functions |= self.compilation.find_reachable(function)
        return calls + [call for function in functions for call in self.code.calls_inside(function)]


def tpu_rule(
    id: str,  # noqa: A002 - what a rule has, in every linter
    name: str,
    severity: Severity,
    *,
    on_any_device: bool = False,
) -> Callable[[Callable[[TpuCode], Iterator[RuleProblem]]], CheckRule]:
    """Make a rule of a function that is asked about the analysed code of a kernel.

    Args:
        id: The rule's id.
        name: Its name.
        severity: How grave a finding is.
        on_any_device: True for what holds on a GPU as well; the other rules pass by code that names no TPU.
    """

    def decorate(find: Callable[[TpuCode], Iterator[RuleProblem]]) -> CheckRule:
        def find_in(kernel: KernelSource) -> Iterator[RuleProblem]:
            tpu = tpu_code(kernel)
            return find(tpu) if on_any_device or tpu.platform.is_named else iter(())

        return CheckRule(id, name, severity, wraps(find)(find_in))

    return decorate


@lru_cache(maxsize=1)
def tpu_code(kernel: KernelSource) -> TpuCode:
    """Return the analysed code of a kernel, none if it is not for a TPU; asked by every rule, done once.

    Where cells are left out nothing is said: what the rules miss may stand there.
    """
    empty_code = NotebookCode(kernel.code.path, ())
    code = kernel.code if kernel.code.is_whole else empty_code
    platform = platform_of(kernel, code)
    code = code if platform.is_for_tpu else empty_code
    compilation = ExecutionModes(code, platform)
    return TpuCode(
        platform, code, Devices(code), compilation, TracedNames(code, compilation), Layers(code, compilation)
    )


# The calls that build a Keras model.


_MODELS = {"Sequential", "Model", "Functional"}


def makes_keras_model(tpu: TpuCode, call: CodeCall) -> bool:
    """True for a call that makes a Keras model: of Keras, of transformers, or of a class of the notebook."""
    if is_keras(call.name, tpu.code):
        return call.last in _MODELS or ".applications." in call.name or call.last == "from_preset"
    if call.name.startswith(("efficientnet.", "tensorflow_hub.", "transformers.TF")):
        return call.last[:1].isupper() or call.last == "from_pretrained"
    owner = tpu.code.classes.get(call.name)
    return owner is not None and any(
        is_keras(tpu.code.name(base), tpu.code) and tpu.code.name(base).endswith(".Model") for base in owner.bases
    )


def builds_model(tpu: TpuCode, call: CodeCall) -> bool:
    """True for a call that makes a model, or of a function that makes one outside of a strategy's scope."""
    if makes_keras_model(tpu, call):
        return True
    for function in tpu.compilation.resolve_functions(call.node.func):
        calls = list(tpu.compilation.calls_in(function))
        if any(makes_keras_model(tpu, inner_call) for inner_call in calls) and not any(
            inner_call.last == "scope" for inner_call in calls
        ):
            return True
    return False


# The input pipelines of a notebook: datasets of tf.data, and loaders of PyTorch.


_SIGNS = {
    "from_tensor_slices", "from_generator", "TFRecordDataset", "prefetch", "interleave", "with_options", "Dataset",
    "list_files", "from_tensors", "TextLineDataset",
}  # fmt: skip
_BATCHES = {"batch", "padded_batch"}
_LONGEST_CHAIN = 100
_HELD_OUT = ("val", "test", "eval", "dev", "holdout", "predict")


@dataclass(frozen=True)
class BatchCall:
    """Where a dataset is put into batches, with the methods of the same dataset before and after it."""

    call: CodeCall
    before: frozenset[str]
    after: frozenset[str]

    @property
    def is_for_training(self) -> bool:
        """True for what is shuffled, and looked at in batches by nobody but a model."""
        return "shuffle" in self.before | self.after and "unbatch" not in self.before


@lru_cache(maxsize=1)  # several rules ask for those of the same notebook
def batched_datasets(tpu: TpuCode) -> list[BatchCall]:
    """Return every `batch` of a dataset of tf.data."""
    if "tensorflow" not in tpu.code.modules and "tensorflow_datasets" not in tpu.code.modules:
        return []
    groups: dict[tuple[object, str], list[CodeCall]] = defaultdict(list)
    scopes = {tpu.code.function(call.node) for call in tpu.code.calls if call.last in _BATCHES}
    for call in tpu.code.calls if scopes else ():
        if isinstance(call.node.func, ast.Attribute) and tpu.code.function(call.node) in scopes:
            groups[tpu.code.function(call.node), _dataset_name(tpu, call)].append(call)
    datasets = []
    for (_, name), calls in groups.items():
        methods = [call.last for call in calls]
        if name and (_SIGNS & set(methods) or any(call.name.startswith("tensorflow.data.") for call in calls)):
            by_end = sorted(calls, key=_end)
            first = {call.last: _end(call) for call in reversed(by_end)}
            last = {call.last: _end(call) for call in by_end}
            for call in calls:
                if call.last in _BATCHES and call.node.args + call.node.keywords:
                    before = frozenset(method for method, end in first.items() if end < _end(call))
                    after = frozenset(method for method, end in last.items() if end > _end(call))
                    datasets.append(BatchCall(call, before, after))
    return datasets


def _dataset_name(tpu: TpuCode, call: CodeCall) -> str:
    """The name that the chain of a method begins with, or is assigned to; chains are told apart by it."""
    node: ast.AST = call.node
    parent = tpu.code.parent(node)
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(parent, ast.Attribute | ast.Call):
            break
        if isinstance(parent, ast.Call) and parent.func is not node:
            break
        node, parent = parent, tpu.code.parent(parent)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id
    for _ in range(2 * _LONGEST_CHAIN):
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            break
    if isinstance(parent, ast.Return) and isinstance(node, ast.Name) and tpu.code.name(node) != node.id:
        return f"returned at {parent.lineno}"  # tf.data.TFRecordDataset(…).map(…)
    return node.id if isinstance(node, ast.Name) else ""


def _end(call: CodeCall) -> tuple[int, int]:
    return call.node.end_lineno or 0, call.node.end_col_offset or 0


def training_loaders(tpu: TpuCode) -> list[CodeCall]:
    """Return every `DataLoader` of PyTorch that gives training batches: it shuffles, or samples what is shuffled."""
    return [call for call in tpu.code.calls if call.last == "DataLoader" and _is_training(tpu, call)]


def _is_training(tpu: TpuCode, call: CodeCall) -> bool:
    parent = tpu.code.parent(call.node)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    names = [expression.id for expression in (target, call.argument(0, "dataset")) if isinstance(expression, ast.Name)]
    is_held_out = any(word in name.lower() for name in names for word in _HELD_OUT)
    if call.is_open or call.keyword("batch_sampler") is not None or is_held_out:
        return False
    sampler = call.argument(3, "sampler")
    sampler_call = tpu.code.call(tpu.code.resolve(sampler))
    if sampler_call is None:
        return is_true(call.argument(2, "shuffle"))
    return "Random" in sampler_call.last or (
        sampler_call.last == "DistributedSampler" and not is_false(sampler_call.keyword("shuffle"))
    )


# What is a model of Keras in a notebook, and how it is trained.


_ENOUGH_EPOCHS = 3


def keras_stars(code: NotebookCode) -> set[str]:
    """The modules of which the notebook imports every name, and that bring no framework of somebody's own."""
    return {
        module for module in code.stars if module.startswith(("keras", "tensorflow", "matplotlib", "numpy", "tqdm"))
    }


def is_keras_model(code: NotebookCode, call: CodeCall) -> bool:
    """True if what a method is called of was compiled, fitted, or made by Keras, under the name that it has here."""
    if call.receiver is None:
        return False
    if ast.unparse(call.receiver) in _list_models(code):
        return True
    receiver_call = code.call(code.resolve(call.receiver))
    return (
        receiver_call is not None
        and is_keras(receiver_call.name, code)
        and receiver_call.last in {"Sequential", "Model", "Functional"}
    )


@lru_cache(maxsize=1)
def _list_models(code: NotebookCode) -> frozenset[str]:
    """What the notebook compiles, or shows a summary of, as it is written there."""
    calls = [call for call in code.calls if call.last in {"compile", "summary"}]
    return frozenset(ast.unparse(call.receiver) for call in calls if call.receiver is not None)


def is_keras_fit(code: NotebookCode, call: CodeCall) -> bool:
    """True for `fit` of a Keras model: one that is compiled, or that is given epochs or callbacks."""
    has_fit_keyword = call.keyword("epochs", "steps_per_epoch", "validation_data", "callbacks") is not None
    return call.receiver is not None and (has_fit_keyword or call.is_open or is_keras_model(code, call))


def is_long_keras_fit(code: NotebookCode, call: CodeCall) -> bool:
    """True for `fit` of a Keras model for several epochs."""
    if call.last not in {"fit", "fit_generator"} or not {"keras", "tensorflow"} & code.modules:
        return False
    epochs = code.number(call.argument(5, "epochs"))
    return is_keras_fit(code, call) and epochs is not None and epochs >= _ENOUGH_EPOCHS
