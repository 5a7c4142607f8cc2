"""Rules of TPUs: the input pipeline, which has to feed eight cores with batches of one shape."""

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeGuard

from generator.check.analysis.datasets import batched_datasets, training_loaders
from generator.check.analysis.function_kinds import Kind
from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.fix import with_argument
from generator.check.rule import Problem
from generator.check.rules.tpu_division import fed_arrays, is_data_parallel
from generator.check.syntax import Call, FunctionNode, is_false, is_true, walk

_READS = {"imread", "open", "load", "imdecode", "read_image", "decode_image", "read_dicom", "dcmread", "encode_plus"}
_DECODES = ("tensorflow.io.decode_", "tensorflow.image.decode_", "tensorflow.io.read_file", "tensorflow.io.parse_")
_MOST_USES = 200  # of the names of a dataset; one with more may go anywhere
_RAGGED = "compiles the step once more, or fails in a loop of one's own"


@tpu_rule("T010", "ragged-last-batch", Severity.WARNING)
def ragged_last_batch(tpu: TpuCode) -> Iterator[Problem]:
    """The last batch of an epoch of training has fewer examples than the others.

    A TPU runs programs of constant shapes. Keras compiles the whole step once more for the odd batch, which takes as
    long as the first time; a hand-written loop fails, or compiles again in each epoch. Drop it
    (`batch(n, drop_remainder=True)`, in torch `drop_last=True`), or repeat the examples before they are batched.

    Source (2026-11-23): Cloud TPU performance guide; measured with Google's compiler, see docs/adr/0017.
    """
    for batched in () if is_data_parallel(tpu) else batched_datasets(tpu):  # T025 and T026 are of those
        drops = batched.call.argument(1, "drop_remainder")
        if batched.call.last == "padded_batch":
            drops = batched.call.keyword("drop_remainder")
        is_kept = (drops is None or is_false(drops)) and not batched.call.is_open
        # Of examples that are repeated before, the last batch is whole.
        if batched.is_for_training and "repeat" not in batched.before and is_kept:
            message = f"The last training batch has another size, which {_RAGGED}."
            node, remedy = batched.call.node, "Add drop_remainder=True."
            fix = with_argument(node, "drop_remainder=True")
            if _needs_every_row(tpu, node):
                remedy = "Add drop_remainder=True in training only: evaluate and predict need every row."
                fix = None
            yield Problem(tpu.code.place(node), message, remedy, fix)
    yield from _ragged_arrays(tpu)
    if tpu.platform.torch:
        for call in training_loaders(tpu):
            drops = call.argument(8, "drop_last")
            if drops is None or is_false(drops):
                message = "The last training batch has another size, for which the step is compiled once more."
                fix = with_argument(call.node, "drop_last=True")
                yield Problem(tpu.code.place(call.node), message, "Add drop_last=True.", fix)
    if tpu.platform.jax:
        for loop in _ragged_slices(tpu):
            message = f"The last slice of this loop is shorter than the others, which {_RAGGED}."
            yield Problem(
                tpu.code.place(loop), message, "Write range(0, len(x) // batch_size * batch_size, batch_size)."
            )


@tpu_rule("T011", "serial-input", Severity.WARNING)
def serial_input(tpu: TpuCode) -> Iterator[Problem]:
    """Examples are read and decoded one after another, on one of the host's 96 cores.

    A TPU takes thousands of images a second, a core of the host decodes and augments some hundred: the accelerator
    waits. Give `map` its `num_parallel_calls=tf.data.AUTOTUNE`, a `DataLoader` its `num_workers`.

    Source (2026-11-23): Cloud TPU performance guide; measured on the reference pairs, see docs/adr/0017.
    """
    for call in tpu.code.calls:
        if call.last == "map" and call.receiver is not None and not call.name.startswith("jax."):
            functions = tpu.compiled.referred(call.argument(0, "map_func"))
            is_pipeline = any(Kind.HOST in tpu.compiled.kinds.get(each, Kind.NOTHING) for each in functions)
            is_serial = is_pipeline and call.argument(1, "num_parallel_calls") is None and not call.is_open
            if is_serial and any(_decodes(tpu, each) for each in functions):
                message = "The examples are decoded one after another."
                argument = f"num_parallel_calls={_autotune(tpu)}"
                fix = with_argument(call.node, argument)
                yield Problem(tpu.code.place(call.node), message, f"Add {argument}.", fix)
    if tpu.platform.torch:
        for call in training_loaders(tpu):
            workers = call.argument(5, "num_workers")
            if (workers is None or tpu.devices.number(workers) == 0) and _reads_files(tpu, call.argument(0, "dataset")):
                message = "This loader has no workers, so that the TPU waits for each example to be read."
                yield Problem(tpu.code.place(call.node), message, "Add num_workers=8.")


@tpu_rule("T012", "same-examples-on-every-core", Severity.WARNING)
def same_examples_on_every_core(tpu: TpuCode) -> Iterator[Problem]:
    """Each of eight processes goes through all examples, since its loader has no distributed sampler.

    An epoch then takes eight times as long as it should. Give the loader
    `DistributedSampler(dataset, num_replicas=xr.world_size(), rank=xr.global_ordinal(), shuffle=True)`.

    Source (2026-11-23): PyTorch/XLA, "Running on multiple XLA devices with multi-processing".
    """
    if not tpu.spawned() or "DistributedSampler" in tpu.code.called:
        return
    for call in training_loaders(tpu):
        if is_true(call.argument(2, "shuffle")):
            message = "Every process of the eight trains on all examples."
            yield Problem(
                tpu.code.place(call.node),
                message,
                "Write sampler=DistributedSampler(dataset, num_replicas=xr.world_size(), rank=xr.global_ordinal()).",
            )


@tpu_rule("T013", "varying-lengths", Severity.WARNING)
def varying_lengths(tpu: TpuCode) -> Iterator[Problem]:
    """Texts are padded to the longest of their batch, so that batches have many shapes.

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
            message = "Batches are padded to their longest text, and each new length compiles the step anew."
            yield Problem(tpu.code.place(call.node), message, _padding(call))


def _needs_every_row(tpu: TpuCode, batched: ast.Call) -> bool:
    """True if a dataset may go into `predict`, `evaluate` or a validation, also by its name or function."""
    code, seen = tpu.code, set[ast.AST]()
    waiting: list[ast.AST] = [batched]
    while waiting and len(seen) < _MOST_USES:
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
            names = {each.id for target in parent.targets for each in walk(target) if isinstance(each, ast.Name)}
        elif isinstance(parent, ast.Return) and isinstance(scope, ast.FunctionDef):
            names, scope = {scope.name}, None
        uses = [each for name in names for each in code.uses_by_name.get(name, [])[:_MOST_USES]]
        new = {each for each in uses if scope is None or code.function(each) is scope} - seen
        seen |= new
        waiting += new
    return bool(waiting)  # it goes to more places than were looked at


def _goes_on(parent: ast.AST | None, node: ast.AST) -> TypeGuard[ast.Call]:
    """True for a call of a method of a dataset, and for what hands one on."""
    if not isinstance(parent, ast.Call):
        return False
    return parent.func is node or getattr(parent.func, "attr", "") == "experimental_distribute_dataset"


@lru_cache(maxsize=1_000)  # many datasets may have the one function
def _decodes(tpu: TpuCode, function: FunctionNode) -> bool:
    return any(inner.name.startswith(_DECODES) for inner in tpu.compiled.calls_in(function))


def _padding(call: Call) -> str:
    if call.last == "padded_batch":
        return "Write padded_shapes=([LENGTH], []), with the length of the longest text."
    return 'Write padding="max_length", max_length=512, with the length of the longest text.'


def _ragged_arrays(tpu: TpuCode) -> Iterator[Problem]:
    """What Keras cuts into batches of which the last one is smaller."""
    for fed in fed_arrays(tpu):
        if fed.is_training and fed.batch and fed.rows and fed.rows > fed.batch and fed.rows % fed.batch:
            rest = fed.rows % fed.batch
            message = f"The last training batch has {rest:g} rows and the others {fed.batch:g}: a step compiled twice."
            remedy = f"Train on {fed.rows - rest:g} rows, or take another batch_size."
            yield Problem(tpu.code.place(fed.call.node), message, remedy)


def _ragged_slices(tpu: TpuCode) -> Iterator[ast.For]:
    """Loops over `range(0, n, batch)` that hand a slice to a training step, and do not skip the last one."""
    for loop in tpu.code.nodes(ast.For):
        counted = tpu.code.call(loop.iter)
        if counted is None or counted.name != "range" or len(counted.node.args) != 3:  # noqa: PLR2004 - start, stop, step
            continue
        stop = tpu.code.resolved(counted.node.args[1])
        parts = [each.op for each in walk(stop) if isinstance(each, ast.BinOp)] if stop is not None else []
        is_whole = any(isinstance(each, ast.FloorDiv | ast.Mod | ast.Sub) for each in parts)
        skips = any(isinstance(each, ast.Continue | ast.Break) for each in walk(loop))
        if not is_whole and not skips and _slices_by(loop) and _trains(tpu, loop):
            yield loop


def _slices_by(loop: ast.For) -> bool:
    """True if the number of a loop is where a slice begins."""
    number = loop.target.id if isinstance(loop.target, ast.Name) else ""
    slices = [each for each in walk(loop) if isinstance(each, ast.Slice) and isinstance(each.upper, ast.BinOp)]
    return any(isinstance(each.lower, ast.Name) and each.lower.id == number for each in slices)


def _trains(tpu: TpuCode, loop: ast.For) -> bool:
    """True if a loop calls a training step, or yields what was shuffled to one."""
    functions = [each for call in tpu.code.below(loop) for each in tpu.compiled.referred(call.node.func)]
    if any(Kind.GRADIENT in tpu.compiled.kinds.get(each, Kind.NOTHING) for each in functions):
        return True
    function = tpu.code.function(loop)
    if function is None or not any(isinstance(each, ast.Yield) for each in walk(loop)):
        return False
    return any(call.last in {"permutation", "shuffle"} for call in tpu.code.calls_inside(function))


def _reads_files(tpu: TpuCode, dataset: ast.expr | None) -> bool:
    """True if a dataset of the notebook's own reads an example when it is asked for one."""
    made = tpu.code.call(tpu.code.resolved(dataset))
    owner = tpu.code.classes.get(made.name) if made is not None else None
    methods = owner.body if owner is not None else []
    getters = [each for each in methods if isinstance(each, ast.FunctionDef) and each.name == "__getitem__"]
    return any(call.last in _READS for each in getters for call in tpu.runs_in(each))


def _is_in_collation(tpu: TpuCode, call: Call) -> bool:
    for function in tpu.code.functions_around(call.node):
        if "collate" in getattr(function, "name", "").lower():
            return True
        given_to = tpu.code.parent(function)
        if isinstance(given_to, ast.keyword) and given_to.arg == "collate_fn":
            return True
    return False


def _pads_to_longest(tpu: TpuCode, call: Call) -> bool:
    padding = call.keyword("padding")
    is_longest = is_true(padding) or tpu.code.text(padding) == "longest"
    return is_longest and call.keyword("pad_to_multiple_of") is None


def _autotune(tpu: TpuCode) -> str:
    """What the notebook writes for `tf.data.AUTOTUNE`, by the name that it imports TensorFlow as."""
    names = [name for name, full in tpu.code.imported.items() if full == "tensorflow"]
    return f"{names[0] if names else 'tf'}.data.AUTOTUNE"
