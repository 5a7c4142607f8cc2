"""Rules of TPUs: the input pipeline, its batches, and the operations that the compiler refuses or runs slowly."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import floor
from typing import TypeGuard

from generator.check.cell_text import CodeCall, FunctionNode, is_false, is_true, walk_nodes
from generator.check.compiled import ExecutionMode, is_keras
from generator.check.findings import Severity, with_argument
from generator.check.rule import RuleProblem
from generator.check.tpu import DEVICES, TpuCode, batched_datasets, tpu_rule, training_loaders

# Rules of TPUs: batches that Keras on JAX splits over the devices, which have to divide each of them.


_DEFAULT = 32  # Keras' batch size for arrays
_DEEPEST = 50
_ALL_DEVICES = {"jax.devices", "jax.local_devices", "keras.distribution.list_devices"}
_BY_SHAPE = {"zeros", "ones", "empty", "full"}
_BY_SIZES = {"rand", "randn"}  # of NumPy: a number for each axis
_RANDOM_ARRAYS = {"normal", "uniform", "random", "standard_normal", "integers", "randint", "random_sample"}
_SAME_ROWS = {"astype", "copy", "float", "clip", "asarray", "array", "ascontiguousarray", "to_numpy", "expand_dims"}
_OF_ARRAYS = ("numpy.", "jax.", "keras.")
_ON_KERAS_FIT = {"epochs", "validation_data", "validation_split", "callbacks", "steps_per_epoch", "initial_epoch"}
_IN_TRAINING = f"Train on .batch(batch_size, drop_remainder=True), with a batch_size that is a multiple of {DEVICES}."
_PADDING_REMEDY = f'repeat the last row: np.pad(x, [(0, -len(x) % {DEVICES}), *[(0, 0)] * (x.ndim - 1)], mode="edge")'
_ELSEWHERE = f"Use a batch_size that is a multiple of {DEVICES}, and {_PADDING_REMEDY}; "


@dataclass(frozen=True)
class _Feed:
    """What a model is fed with: the size of its batches, and the rows they are cut from (None: not known)."""

    call: CodeCall
    label: str
    batch: float | None
    rows: float | None
    is_whole: bool = False  # the last batch is dropped, or as large as the others
    is_dataset: bool = False  # of tf.data, whose batches are made by the notebook

    @property
    def is_training(self) -> bool:
        """True for what a step of training is given."""
        return self.label == "`fit`"

    @property
    def remedy(self) -> str:
        """How its batches become whole."""
        if self.is_training:
            return _IN_TRAINING
        is_predicted = self.label == "`predict`"
        return _ELSEWHERE + ("keep predictions[: len(x)]." if is_predicted else "give the copies a sample_weight of 0.")

    @property
    def remainder(self) -> float | None:
        """The rows of a batch that eight devices do not divide, 0 where they divide each, None if nobody knows."""
        if self.batch is not None and self.batch % DEVICES and not (self.rows and self.rows < self.batch):
            return self.batch
        if self.is_whole:
            return None if self.batch is None else 0
        if self.batch is None or self.rows is None:
            return None
        last = self.rows % self.batch
        return last if last % DEVICES else 0


@tpu_rule("T025", "indivisible-batch", Severity.ERROR)
def indivisible_batch(tpu: TpuCode) -> Iterator[RuleProblem]:
    """Keras on JAX splits a batch that is not a multiple of the eight devices.

    With `keras.distribution.DataParallel` every batch is sharded along its first axis: one of 100 rows, or a last one
    of 26, ends in `IndivisibleError`. In `predict`, `evaluate` and validation that comes after the training.

    Source (2026-11-26): keras-team/keras#21167; executed with Keras 3.15 and JAX 0.10.2 on eight devices.
    """
    for feed in _find_feeds(tpu):
        if feed.remainder:
            label = feed.label[0].upper() + feed.label[1:]
            message = f"{label} has a batch of {feed.remainder:g} rows, which is not a multiple of {DEVICES} devices."
            yield RuleProblem(tpu.code.place(feed.call.node), message, feed.remedy)


@tpu_rule("T026", "last-batch-may-not-divide", Severity.WARNING)
def last_batch_may_not_divide(tpu: TpuCode) -> Iterator[RuleProblem]:
    """Keras on JAX splits a last batch that may not be a multiple of the eight devices.

    With `keras.distribution.DataParallel` every batch is sharded along its first axis. Where the number of rows is no
    multiple of 8, the last batch of a dataset that keeps it ends in `IndivisibleError`; in `predict` that comes after
    the training.

    Source (2026-11-26): keras-team/keras#21167; executed with Keras 3.15 and JAX 0.10.2 on eight devices.
    """
    for feed in _find_feeds(tpu):
        if feed.is_dataset and feed.remainder is None and not feed.is_whole:
            message = f"The last batch of {feed.label} fails if the number of rows is not a multiple of {DEVICES}."
            yield RuleProblem(tpu.code.place(feed.call.node), message, feed.remedy)


def fed_arrays(tpu: TpuCode) -> Iterator[_Feed]:
    """Return what `fit` trains on in arrays whose batches eight devices divide."""
    return (feed for feed in _find_feeds(tpu) if not feed.is_dataset and not feed.remainder)


@lru_cache(maxsize=1)  # asked for each batch
def is_data_parallel(tpu: TpuCode) -> bool:
    """True if Keras on JAX splits each batch over all devices."""
    calls = [call for call in tpu.code.calls if call.name == "keras.distribution.DataParallel"]
    return tpu.platform.keras_jax and any(_is_of_all_devices(tpu, call) for call in calls)


def _is_of_all_devices(tpu: TpuCode, call: CodeCall) -> bool:
    devices = call.keyword("devices")
    if devices is None:
        return not call.is_open and call.keyword("device_mesh") is None and not call.node.args
    device_call = tpu.code.call(tpu.code.resolve(devices))
    return device_call is not None and device_call.name in _ALL_DEVICES


def _find_feeds(tpu: TpuCode) -> Iterator[_Feed]:
    """Everything that the models of a notebook are fed with, where it is known what that is."""
    if not is_data_parallel(tpu):
        return
    models = set(_models(tpu))
    for call in tpu.code.calls:
        receiver = call.receiver
        if call.last not in ("fit", "evaluate", "predict") or receiver is None or call.is_open:
            continue
        if ast.dump(receiver) in models or (
            call.last == "fit" and any(call.keyword(keyword) for keyword in _ON_KERAS_FIT)
        ):
            yield from _fed_by(tpu, call)


def _models(tpu: TpuCode) -> Iterator[str]:
    """The expressions that are Keras models: what is compiled, or made by Keras."""
    for call in tpu.code.calls:
        is_compiled = call.last == "compile" and call.name != "re.compile" and call.receiver is not None
        if is_compiled or (call.last == "fit" and any(call.keyword(keyword) for keyword in _ON_KERAS_FIT)):
            yield ast.dump(call.receiver) if call.receiver is not None else ""
    for assign in tpu.code.nodes(ast.Assign):
        constructor = tpu.code.call(assign.value)
        is_model = constructor is not None and constructor.last in ("Sequential", "Model", "load_model", "Functional")
        if constructor is not None and is_model and is_keras(constructor.name, tpu.code):
            for target in assign.targets:
                if isinstance(target, ast.Name):
                    yield ast.dump(ast.Name(target.id, ast.Load()))


def _fed_by(tpu: TpuCode, call: CodeCall) -> Iterator[_Feed]:
    examples = call.argument(0, "x")
    batch_size = call.argument(1 if call.last == "predict" else 2, "batch_size")
    batch = tpu.devices.number(batch_size) if batch_size is not None and not _is_none(batch_size) else float(_DEFAULT)
    name = f"`{call.last}`"
    dataset = _dataset(tpu, call, examples, name)
    split = tpu.devices.number(call.keyword("validation_split")) if call.last == "fit" else None
    if dataset is not None:
        yield dataset
    elif examples is not None and _is_array(tpu, examples, is_targeted=call.last != "predict" and _has_targets(call)):
        rows = _rows(tpu, examples)
        if split and rows is not None:
            training_rows = floor(rows * (1 - split))
            yield _Feed(call, f"the validation of {name}", batch, rows - training_rows)
            rows = training_rows
        yield _Feed(call, name, batch, rows)
    validation = tpu.code.resolve(call.keyword("validation_data")) if call.last == "fit" else None
    if isinstance(validation, ast.Tuple | ast.List) and validation.elts:
        size = call.keyword("validation_batch_size")
        yield _Feed(
            call,
            f"the validation of {name}",
            batch if size is None else tpu.devices.number(size),
            _rows(tpu, validation.elts[0]),
        )
    elif validation is not None:
        validation_feed = _dataset(tpu, call, call.keyword("validation_data"), f"the validation of {name}")
        if validation_feed is not None:
            yield validation_feed


def _has_targets(call: CodeCall) -> bool:
    return call.argument(1, "y") is not None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_array(tpu: TpuCode, node: ast.expr, *, is_targeted: bool) -> bool:
    """True for an array: it has targets beside it, or it is seen how it is made."""
    return is_targeted or _rows(tpu, node) is not None


def _dataset(tpu: TpuCode, call: CodeCall, node: ast.expr | None, label: str) -> _Feed | None:
    """What a dataset of tf.data gives, whose batches are made in sight."""
    node = tpu.code.resolve(node)
    after: list[CodeCall] = []
    for _ in range(_DEEPEST):
        method_call = tpu.code.call(node)
        if method_call is None or method_call.receiver is None:
            return None
        if method_call.last == "batch":
            break
        after.append(method_call)
        node = tpu.code.resolve(method_call.receiver)
    else:
        return None
    if {"unbatch", "rebatch", "filter", "flat_map", "padded_batch"} & {
        later_call.last for later_call in after
    } or method_call.is_open:
        return None
    batch = tpu.devices.number(method_call.argument(0, "batch_size"))
    drops = method_call.argument(1, "drop_remainder")
    before, rows = _before(tpu, method_call.receiver)
    is_whole = is_true(drops) or "repeat" in before
    if batch is None and not (drops is None or is_whole):
        return None
    return _Feed(call, label, batch, rows, is_whole, is_dataset=True)


def _before(tpu: TpuCode, node: ast.expr | None) -> tuple[set[str], float | None]:
    """The methods of a dataset down to where it begins, and its rows where nothing but order changes them."""
    methods: set[str] = set()
    limits: list[float | None] = []
    for _ in range(_DEEPEST):
        call = tpu.code.call(tpu.code.resolve(node))
        if call is None:
            return methods, None
        methods.add(call.last)
        if call.last == "from_tensor_slices" and call.node.args:
            rows = _rows(tpu, call.node.args[0])
            known_limits = [limit for limit in limits if limit is not None]
            is_known = rows is not None and len(known_limits) == len(limits)
            return methods, min([rows, *known_limits]) if is_known and rows is not None else None
        if call.last == "take":
            limits.append(tpu.devices.number(call.argument(0, "count")))
        elif call.last not in ("shuffle", "map", "cache", "prefetch", "with_options", "repeat"):
            limits.append(None)
        if call.last == "repeat" and (call.node.args or call.node.keywords):
            limits.append(None)
            methods.discard("repeat")
        node = call.receiver
    return methods, None


def _rows(tpu: TpuCode, node: ast.expr | None, depth: int = 0) -> float | None:
    """The length of an array, as far as it is seen how it is made."""
    node = tpu.code.resolve(node)
    if node is None or depth > _DEEPEST:
        return None
    if isinstance(node, ast.Tuple | ast.Dict):
        parts = node.elts if isinstance(node, ast.Tuple) else node.values
        return _rows(tpu, parts[0], depth + 1) if parts else None
    if isinstance(node, ast.Subscript):
        return _rows_of_slice(tpu, node, depth)
    call = tpu.code.call(node)
    if call is None:
        return None
    if call.last in _SAME_ROWS:
        of = call.argument(0) if call.name.startswith(_OF_ARRAYS) else call.receiver
        return _rows(tpu, of, depth + 1)
    rows = tpu.devices.number(_first_axis(tpu, call))
    return rows if rows is not None and rows > 0 else None


def _first_axis(tpu: TpuCode, call: CodeCall) -> ast.expr | None:
    """The length of the first axis of an array that a call makes or gives another shape."""
    last, first = call.node.args[-1] if call.node.args else None, call.argument(0, "shape")
    if call.last == "reshape":
        shape = last if call.name.startswith(_OF_ARRAYS) else first
    elif call.last in _RANDOM_ARRAYS:
        shape = call.keyword("size") or last
    elif call.last in _BY_SHAPE or call.last in _BY_SIZES or (call.last == "arange" and len(call.node.args) == 1):
        shape = first
    else:
        return None
    shape = tpu.code.resolve(shape)
    if isinstance(shape, ast.Tuple | ast.List):
        return shape.elts[0] if shape.elts else None
    return None if call.last in _RANDOM_ARRAYS else shape


def _rows_of_slice(tpu: TpuCode, node: ast.Subscript, depth: int) -> float | None:
    part = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    if not isinstance(part, ast.Slice) or part.step is not None:
        return None
    rows = _rows(tpu, node.value, depth + 1)
    lower = 0.0 if part.lower is None else _resolve_bound(tpu, part.lower, rows)
    upper = rows if part.upper is None else _resolve_bound(tpu, part.upper, rows)
    if rows is None or lower is None or upper is None:
        return None
    return max(0.0, min(upper, rows) - min(lower, rows))


def _resolve_bound(tpu: TpuCode, node: ast.expr, rows: float | None) -> float | None:
    """Where a slice begins or ends, counted from the beginning."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        back = tpu.devices.number(node.operand)
        return None if rows is None or back is None else rows - back
    return tpu.devices.number(node)


_READS = {"imread", "open", "load", "imdecode", "read_image", "decode_image", "read_dicom", "dcmread", "encode_plus"}
_DECODES = ("tensorflow.io.decode_", "tensorflow.image.decode_", "tensorflow.io.read_file", "tensorflow.io.parse_")
_MOST_USES = 200  # of the names of a dataset; one with more may go anywhere
_RAGGED_EFFECT = "compiles the step again, or fails in a custom loop"


@tpu_rule("T010", "ragged-last-batch", Severity.WARNING)
def ragged_last_batch(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The last training batch of an epoch has fewer examples than the others.

    A TPU runs programs of constant shapes. Keras compiles the whole step once more for the odd batch, which takes as
    long as the first time; a hand-written loop fails, or compiles again in each epoch. Drop it
    (`batch(n, drop_remainder=True)`, in torch `drop_last=True`), or repeat the examples before they are batched.

    Source (2026-11-23): Cloud TPU performance guide; measured with Google's compiler, see docs/adr/0017.
    """
    for dataset in () if is_data_parallel(tpu) else batched_datasets(tpu):  # T025 and T026 are of those
        drops = dataset.call.argument(1, "drop_remainder")
        if dataset.call.last == "padded_batch":
            drops = dataset.call.keyword("drop_remainder")
        is_kept = (drops is None or is_false(drops)) and not dataset.call.is_open
        # Of examples that are repeated before, the last batch is whole.
        if dataset.is_for_training and "repeat" not in dataset.before and is_kept:
            message = f"The last training batch has another size, which {_RAGGED_EFFECT}."
            node, remedy = dataset.call.node, "Add drop_remainder=True."
            fix = with_argument(node, "drop_remainder=True")
            if _needs_every_row(tpu, node):
                remedy = "Add drop_remainder=True in training only: evaluate and predict need every row."
                fix = None
            yield RuleProblem(tpu.code.place(node), message, remedy, fix)
    yield from _ragged_arrays(tpu)
    if tpu.platform.torch:
        for call in training_loaders(tpu):
            drops = call.argument(8, "drop_last")
            if drops is None or is_false(drops):
                message = "The last training batch has another size, so the step is compiled again."
                fix = with_argument(call.node, "drop_last=True")
                yield RuleProblem(tpu.code.place(call.node), message, "Add drop_last=True.", fix)
    if tpu.platform.jax:
        for loop in _ragged_slices(tpu):
            message = f"The last slice of this loop is shorter than the others, which {_RAGGED_EFFECT}."
            yield RuleProblem(
                tpu.code.place(loop), message, "Write range(0, len(x) // batch_size * batch_size, batch_size)."
            )


@tpu_rule("T011", "serial-input", Severity.WARNING)
def serial_input(tpu: TpuCode) -> Iterator[RuleProblem]:
    """Examples are read and decoded one by one, on one of the host's 96 cores.

    A TPU takes thousands of images a second, a core of the host decodes and augments some hundred: the accelerator
    waits. Give `map` its `num_parallel_calls=tf.data.AUTOTUNE`, a `DataLoader` its `num_workers`.

    Source (2026-11-23): Cloud TPU performance guide; measured on the reference pairs, see docs/adr/0017.
    """
    for call in tpu.code.calls:
        if call.last == "map" and call.receiver is not None and not call.name.startswith("jax."):
            functions = tpu.compilation.resolve_functions(call.argument(0, "map_func"))
            is_pipeline = any(
                ExecutionMode.HOST in tpu.compilation.kinds.get(function, ExecutionMode.NOTHING)
                for function in functions
            )
            is_serial = is_pipeline and call.argument(1, "num_parallel_calls") is None and not call.is_open
            if is_serial and any(_decodes(tpu, function) for function in functions):
                message = "The examples are decoded one by one."
                argument = f"num_parallel_calls={_autotune(tpu)}"
                fix = with_argument(call.node, argument)
                yield RuleProblem(tpu.code.place(call.node), message, f"Add {argument}.", fix)
    if tpu.platform.torch:
        for call in training_loaders(tpu):
            workers = call.argument(5, "num_workers")
            if (workers is None or tpu.devices.number(workers) == 0) and _reads_files(tpu, call.argument(0, "dataset")):
                message = "This loader has no workers, so the TPU waits for each example."
                yield RuleProblem(tpu.code.place(call.node), message, "Add num_workers=8.")


@tpu_rule("T012", "same-examples-on-every-core", Severity.WARNING)
def same_examples_on_every_core(tpu: TpuCode) -> Iterator[RuleProblem]:
    """Each of eight processes trains on all examples, because its loader has no distributed sampler.

    An epoch then takes eight times as long as it should. Give the loader
    `DistributedSampler(dataset, num_replicas=xr.world_size(), rank=xr.global_ordinal(), shuffle=True)`.

    Source (2026-11-23): PyTorch/XLA, "Running on multiple XLA devices with multi-processing".
    """
    if not tpu.spawn_calls() or "DistributedSampler" in tpu.code.callee_names:
        return
    for call in training_loaders(tpu):
        if is_true(call.argument(2, "shuffle")):
            message = "Each of the eight processes trains on all examples."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Write sampler=DistributedSampler(dataset, num_replicas=xr.world_size(), rank=xr.global_ordinal()).",
            )


@tpu_rule("T013", "varying-lengths", Severity.WARNING)
def varying_lengths(tpu: TpuCode) -> Iterator[RuleProblem]:
    """Texts are padded to the longest of their batch, so batches have many shapes.

    Every new length compiles the step anew, for a minute or more; what pays on a GPU does not on a TPU. Pad to one
    length (`padding="max_length"`, `padded_shapes=…`), or to few ones.

    Source (2026-11-23): Cloud TPU performance guide ("Shapes and axes must be constants").
    """
    for call in tpu.code.calls:
        if call.last == "DataCollatorWithPadding":
            padding = tpu.code.text(call.argument(1, "padding"))
            is_dynamic = padding != "max_length" and call.argument(3, "pad_to_multiple_of") is None
        elif call.last == "padded_batch":
            is_dynamic = call.argument(1, "padded_shapes") is None
        else:
            is_dynamic = _is_in_collation(tpu, call) and _pads_to_longest(tpu, call)
        if is_dynamic and not call.is_open:
            message = "Batches are padded to their longest text. Each new length compiles the step again."
            yield RuleProblem(tpu.code.place(call.node), message, _padding(call))


def _needs_every_row(tpu: TpuCode, batch_call: ast.Call) -> bool:
    """True if a dataset may go into `predict`, `evaluate` or a validation, also by its name or function."""
    code, visited_nodes = tpu.code, set[ast.AST]()
    waiting: list[ast.AST] = [batch_call]
    while waiting and len(visited_nodes) < _MOST_USES:
        node: ast.AST = waiting.pop()
        parent = code.parent(node)
        while isinstance(parent, ast.Attribute | ast.Tuple | ast.IfExp) or _goes_on(parent, node):
            node, parent = parent, code.parent(parent)
        if isinstance(parent, ast.keyword):
            if parent.arg == "validation_data":
                return True
            parent = code.parent(parent)
        given_to = code.call(parent)
        if given_to is not None and given_to.last in ("predict", "evaluate"):
            return True
        scope: FunctionNode | None = code.function(node)
        names = set[str]()
        if isinstance(parent, ast.Assign):
            names = {
                name_node.id
                for target in parent.targets
                for name_node in walk_nodes(target)
                if isinstance(name_node, ast.Name)
            }
        elif isinstance(parent, ast.Return) and isinstance(scope, ast.FunctionDef):
            names, scope = {scope.name}, None
        uses = [use for name in names for use in code.uses_by_name.get(name, [])[:_MOST_USES]]
        new = {use for use in uses if scope is None or code.function(use) is scope} - visited_nodes
        visited_nodes |= new
        waiting += new
    return bool(waiting)  # it goes to more places than were looked at


def _goes_on(parent: ast.AST | None, node: ast.AST) -> TypeGuard[ast.Call]:
    """True for a call of a method of a dataset, and for what hands one on."""
    if not isinstance(parent, ast.Call):
        return False
    return parent.func is node or getattr(parent.func, "attr", "") == "experimental_distribute_dataset"


@lru_cache(maxsize=1_000)  # many datasets may have the one function
def _decodes(tpu: TpuCode, function: FunctionNode) -> bool:
    return any(inner.name.startswith(_DECODES) for inner in tpu.compilation.calls_in(function))


def _padding(call: CodeCall) -> str:
    if call.last == "padded_batch":
        return "Write padded_shapes=([LENGTH], []), with the length of the longest text."
    return 'Write padding="max_length", max_length=512, with the length of the longest text.'


def _ragged_arrays(tpu: TpuCode) -> Iterator[RuleProblem]:
    """What Keras cuts into batches of which the last one is smaller."""
    for feed in fed_arrays(tpu):
        if feed.is_training and feed.batch and feed.rows and feed.rows > feed.batch and feed.rows % feed.batch:
            rest = feed.rows % feed.batch
            message = (
                f"The last training batch has {rest:g} rows, the others {feed.batch:g}, so the step is compiled twice."
            )
            remedy = f"Train on {feed.rows - rest:g} rows, or use another batch_size."
            yield RuleProblem(tpu.code.place(feed.call.node), message, remedy)


def _ragged_slices(tpu: TpuCode) -> Iterator[ast.For]:
    """Loops over `range(0, n, batch)` that hand a slice to a training step, and do not skip the last one."""
    for loop in tpu.code.nodes(ast.For):
        range_call = tpu.code.call(loop.iter)
        if range_call is None or range_call.name != "range" or len(range_call.node.args) != 3:  # noqa: PLR2004 - start, stop, step
            continue
        stop = tpu.code.resolve(range_call.node.args[1])
        parts = [node.op for node in walk_nodes(stop) if isinstance(node, ast.BinOp)] if stop is not None else []
        is_whole = any(isinstance(operator, ast.FloorDiv | ast.Mod | ast.Sub) for operator in parts)
        skips = any(isinstance(node, ast.Continue | ast.Break) for node in walk_nodes(loop))
        if not is_whole and not skips and _slices_by(loop) and _trains(tpu, loop):
            yield loop


def _slices_by(loop: ast.For) -> bool:
    """True if the number of a loop is where a slice begins."""
    number = loop.target.id if isinstance(loop.target, ast.Name) else ""
    slices = [node for node in walk_nodes(loop) if isinstance(node, ast.Slice) and isinstance(node.upper, ast.BinOp)]
    return any(isinstance(node.lower, ast.Name) and node.lower.id == number for node in slices)


def _trains(tpu: TpuCode, loop: ast.For) -> bool:
    """True if a loop calls a training step, or yields what was shuffled to one."""
    functions = [
        candidate for call in tpu.code.below(loop) for candidate in tpu.compilation.resolve_functions(call.node.func)
    ]
    if any(
        ExecutionMode.GRADIENT in tpu.compilation.kinds.get(candidate, ExecutionMode.NOTHING) for candidate in functions
    ):
        return True
    function = tpu.code.function(loop)
    if function is None or not any(isinstance(node, ast.Yield) for node in walk_nodes(loop)):
        return False
    return any(call.last in {"permutation", "shuffle"} for call in tpu.code.calls_inside(function))


def _reads_files(tpu: TpuCode, dataset: ast.expr | None) -> bool:
    """True if a dataset of the notebook's own reads an example when it is asked for one."""
    constructor = tpu.code.call(tpu.code.resolve(dataset))
    owner = tpu.code.classes.get(constructor.name) if constructor is not None else None
    methods = owner.body if owner is not None else []
    getters = [method for method in methods if isinstance(method, ast.FunctionDef) and method.name == "__getitem__"]
    return any(call.last in _READS for getter in getters for call in tpu.runs_in(getter))


def _is_in_collation(tpu: TpuCode, call: CodeCall) -> bool:
    for function in tpu.code.functions_around(call.node):
        if "collate" in getattr(function, "name", "").lower():
            return True
        given_to = tpu.code.parent(function)
        if isinstance(given_to, ast.keyword) and given_to.arg == "collate_fn":
            return True
    return False


def _pads_to_longest(tpu: TpuCode, call: CodeCall) -> bool:
    padding = call.keyword("padding")
    is_longest = is_true(padding) or tpu.code.text(padding) == "longest"
    return is_longest and call.keyword("pad_to_multiple_of") is None


def _autotune(tpu: TpuCode) -> str:
    """What the notebook writes for `tf.data.AUTOTUNE`, by the name that it imports TensorFlow as."""
    names = [name for name, full in tpu.code.imports.items() if full == "tensorflow"]
    return f"{names[0] if names else 'tf'}.data.AUTOTUNE"


# Rules of TPUs: operations and layers that their compiler refuses, or runs slowly.


_STRINGS = (
    "tensorflow.strings.", "tensorflow.io.decode_", "tensorflow.image.decode_", "tensorflow.io.read_file",
    "tensorflow.io.parse_", "tensorflow.audio.decode_", "tensorflow.as_string",
)  # fmt: skip
_LOOKUPS = {"TextVectorization", "StringLookup", "IntegerLookup", "Hashing", "HashedCrossing"}
_TRANSFORMS = {
    "RandomRotation", "RandomZoom", "RandomTranslation", "RandomShear", "RandomPerspective", "RandAugment",
    "RandomElasticTransform", "AugMix", "MixUp", "CutMix", "RandomCrop",
}  # fmt: skip
_GATHERING = _TRANSFORMS - {"MixUp", "CutMix", "RandomCrop"}
_TPU_REFUSALS = {
    "tensorflow.image.crop_and_resize", "tensorflow.image.random_jpeg_quality", "tensorflow.random.gamma",
    "tensorflow.math.segment_sum", "tensorflow.linalg.lu", "tensorflow.linalg.eig", "tensorflow.edit_distance",
    "tensorflow.nn.max_pool_with_argmax", "tensorflow.histogram_fixed_width",
}  # fmt: skip
_METHODS = {"bicubic", "area"}
_RESIZES = {"Resizing": "interpolation", "UpSampling2D": "interpolation"}
_FALLBACKS = {"grid_sample", "median", "histc", "nanmedian"}
_STATEFUL = {"uniform", "normal", "truncated_normal", "shuffle", "poisson", "categorical"}
_IMAGE = {"random_flip_left_right", "random_brightness", "random_contrast", "random_crop"}
_POOLS = {"MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "MaxPool1D", "MaxPool2D", "MaxPool3D"}
_CONCATENATES = {"concat", "concatenate", "cat", "hstack", "vstack", "append"}


@tpu_rule("T040", "string-op-in-step", Severity.ERROR)
def string_op_in_step(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The TPU's step reads files, decodes data, or uses strings.

    A TPU has numbers only; the compiler refuses everything else. Decode and tokenize in the input pipeline
    (`dataset.map`), which runs on the host.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    for call in tpu.device_calls(ExecutionMode.TENSORFLOW):
        if call.name.startswith(_STRINGS):
            message = f"The TPU's compiler refuses `{call.last}`, because it uses strings or files."
            yield RuleProblem(
                tpu.code.place(call.node), message, "Move it into the function of dataset.map, which runs on the host."
            )


@tpu_rule("T041", "lookup-layer-in-model", Severity.ERROR)
def lookup_layer_in_model(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The model has a lookup or hashing layer.

    `TextVectorization`, `StringLookup`, `IntegerLookup` and `Hashing` use tables and strings, which the TPU's compiler
    refuses, and which Keras on JAX cannot trace. Apply the layer in `dataset.map`; for inference put it before the
    model.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017; Keras, preprocessing layers on a
    TPU.
    """
    if tpu.platform.tensorflow or tpu.platform.keras_jax:
        for call in tpu.layers.find_layers(_LOOKUPS):
            message = f"The TPU's compiler refuses a {call.last} in the model."
            yield RuleProblem(
                tpu.code.place(call.node), message, "Apply it before: dataset.map(lambda x, y: (layer(x), y))."
            )


@tpu_rule("T042", "augmentation-in-model", Severity.ERROR)
def augmentation_in_model(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The model has an augmentation layer that a TPU does not support, or that is slow on it.

    Rotation, zoom, translation, shear, perspective and what draws one of them (`RandAugment`, `AugMix`) fetch each
    pixel from another place. TensorFlow has no TPU kernel for that (ImageProjectiveTransformV3). Keras on JAX makes
    gathers and scatters of it, which are slow on a TPU: somebody's training of 10 minutes took 2.5 hours (a warning).
    `RandomCrop` is refused by both. Apply them in `dataset.map`, on the host. Flips, brightness, contrast, hue,
    saturation, erasing, blur and sharpness are fine in the model.

    Source (2026-11-27): 145 steps given to Google's TPU compiler, see docs/adr/0017; keras-team/keras#23229; the layers
    of Keras 3.15 compiled by JAX 0.10.2, and a model with `RandomCrop` trained.
    """
    is_jax = tpu.platform.keras_jax
    for call in tpu.layers.find_layers(_TRANSFORMS) if tpu.platform.tensorflow or is_jax else ():
        if not is_jax:
            message, severity = f"TensorFlow does not support {call.last} on a TPU.", None
        elif call.last in _GATHERING:
            message = f"{call.last} reads each pixel separately, in every step of the TPU."
            severity = Severity.WARNING
        elif call.last == "RandomCrop":
            message, severity = "JAX cannot compile RandomCrop, because its position is only known at run time.", None
        else:
            continue
        remedy = "Apply it before: dataset.map(lambda x, y: (layer(x), y), num_parallel_calls=tf.data.AUTOTUNE)."
        yield RuleProblem(tpu.code.place(call.node), message, remedy, severity=severity)


@tpu_rule("T043", "refused-op", Severity.ERROR)
def refused_op(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The TPU's step has an operation that its compiler does not support.

    All of these run on a GPU: `crop_and_resize`, `random_jpeg_quality`, `random.gamma`, `segment_sum` (the unsorted one
    is fine), `lu`, `eig`, `max_pool_with_argmax`, `histogram_fixed_width`, `edit_distance`. Compute it in the input
    pipeline, or from operations that the compiler has.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    for call in tpu.device_calls(ExecutionMode.TENSORFLOW):
        if call.name in _TPU_REFUSALS:
            remedy = (
                "Write tf.math.unsorted_segment_sum(data, ids, number)."
                if call.last == "segment_sum"
                else "Move it into the function of dataset.map, which runs on the host."
            )
            yield RuleProblem(tpu.code.place(call.node), f"The TPU's compiler has no `{call.last}`.", remedy)


@tpu_rule("T044", "resize-method", Severity.ERROR)
def resize_method(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The TPU's step resizes images with the bicubic or area method.

    The compiler has the bilinear and the nearest one. Take bilinear, or resize in the input pipeline.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    for call in tpu.device_calls(ExecutionMode.TENSORFLOW):
        if call.name == "tensorflow.image.resize":
            yield from _check_resize(tpu, call, call.argument(2, "method"))
    if tpu.platform.tensorflow:
        for call in tpu.layers.find_layers(set(_RESIZES)):
            yield from _check_resize(tpu, call, call.keyword(_RESIZES[call.last]))


@tpu_rule("T045", "falls-back-to-host", Severity.WARNING)
def falls_back_to_host(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The model calls an operation that PyTorch/XLA runs only on the host.

    `grid_sample`, `median` and `histc` are not lowered: the step is cut in two, the tensor fetched, computed on a CPU
    core and sent back, in every step. The counters `aten::…` of `torch_xla.debug.metrics` show it.

    Source (2026-11-23): counters of torch_xla 2.9, see docs/adr/0017.
    """
    for call in tpu.device_calls(ExecutionMode.TORCH) if tpu.platform.torch else ():
        if call.last in _FALLBACKS and not call.name.startswith(("numpy.", "np.")):
            message = f"PyTorch/XLA computes `{call.last}` on the host, in the middle of every step."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Move it into the dataset's __getitem__, or write it with other operations.",
            )


@tpu_rule("T046", "max-pooling", Severity.NOTE)
def max_pooling(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The model uses max pooling.

    Its gradient has to find where the maximum was, which a TPU does slowly and with more traffic than the mean needs.
    Where accuracy allows it take average pooling, or a convolution with a stride.

    Source (2026-11-23): Cloud TPU performance guide.
    """
    pool_calls = list(tpu.layers.find_layers(_POOLS)) if tpu.platform.tensorflow or tpu.platform.keras_jax else []
    pool_calls += [
        call for call in tpu.device_calls(ExecutionMode.TENSORFLOW) if call.name == "tensorflow.nn.max_pool2d"
    ]
    pool_calls += [call for call in tpu.device_calls(ExecutionMode.JAX) if call.name == "flax.linen.max_pool"]
    for call in pool_calls[:1]:
        message = "The model uses max pooling, whose gradient is slow on a TPU."
        yield RuleProblem(
            tpu.code.place(call.node),
            message,
            "Try AveragePooling2D (nnx.avg_pool, F.avg_pool2d), or a convolution with strides=2.",
        )


@tpu_rule("T047", "concatenation-in-loop", Severity.WARNING)
def concatenation_in_loop(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The TPU's step grows a tensor by concatenation in a loop.

    Each pass copies all that came before, in memory that the step is bound by, and unaligned pieces are laid out anew.
    Collect the pieces in a list and concatenate or stack them once, or use `jax.lax.scan`.

    Source (2026-11-23): Cloud TPU performance guide ("few concatenations").
    """
    for call in tpu.code.calls:
        parent = tpu.code.parent(call.node)
        if call.last not in _CONCATENATES or not isinstance(parent, ast.Assign) or not call.node.args:
            continue
        is_array = call.name.startswith(("tensorflow.", "jax.numpy.", "torch.", "keras.ops.", "keras.layers."))
        operand_names = {node.id for node in walk_nodes(call.node.args[0]) if isinstance(node, ast.Name)}
        grows = isinstance(parent.targets[0], ast.Name) and parent.targets[0].id in operand_names
        kind = tpu.compilation.kind(call.node)
        is_step = ExecutionMode.DEVICE in kind and ExecutionMode.TORCH not in kind
        if is_array and grows and is_step and any(tpu.loops(call.node)):
            message = "A tensor grows by concatenation in a loop, and is copied in every iteration."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                f"Append the parts to a list in the loop, and call {call.last}(parts) once after it.",
            )


@tpu_rule("T048", "stateful-chance", Severity.NOTE)
def stateful_chance(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The TPU's step draws stateful random numbers.

    The compiler replaces them by a generator of its own, which neither `tf.random.set_seed` nor a `seed` argument
    reaches: no run can be repeated. Draw with `tf.random.stateless_uniform` and the like, from a seed handed in.

    Source (2026-11-23): TensorFlow, tf.random on XLA; 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    for call in tpu.device_calls(ExecutionMode.TENSORFLOW):
        head, _, last = call.name.rpartition(".")
        if (head == "tensorflow.random" and last in _STATEFUL) or (head == "tensorflow.image" and last in _IMAGE):
            message = f"On a TPU, seeds have no effect on `{last}`."
            yield RuleProblem(
                tpu.code.place(call.node), message, f"Write tf.{head[11:]}.stateless_{last}(…, seed=(1, step))."
            )


def _check_resize(tpu: TpuCode, call: CodeCall, method: ast.expr | None) -> Iterator[RuleProblem]:
    name = tpu.code.text(method) or (tpu.code.name(method).rpartition(".")[2] if method is not None else "")
    if name.lower() in _METHODS:
        message = f"The TPU's compiler has no {name.lower()} resize."
        yield RuleProblem(
            tpu.code.place(call.node), message, 'Write "bilinear", or move it into the function of dataset.map.'
        )
