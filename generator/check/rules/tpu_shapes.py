"""Rules of TPUs: shapes, which have to be constant, and are best multiples of 8 and 128."""

import ast
from collections.abc import Iterator

from generator.check.analysis.datasets import batched_datasets, training_loaders
from generator.check.analysis.devices import DEVICES
from generator.check.analysis.function_kinds import Kind
from generator.check.analysis.platform import is_keras
from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.rule import Problem
from generator.check.rules.tpu_division import is_data_parallel
from generator.check.syntax import is_true

_TILE, _LANES = 8, 128
_HIDDEN = {"relu", "gelu", "selu", "elu", "swish", "silu", "tanh", "mish", "leaky_relu"}
_SIZED = {"nonzero", "argwhere", "flatnonzero", "unique", "unique_values", "unique_counts", "union1d", "setdiff1d",
          "intersect1d", "setxor1d", "extract", "compress"}  # fmt: skip
_DYNAMIC_TENSORFLOW = {
    "tensorflow.boolean_mask", "tensorflow.unique", "tensorflow.unique_with_counts", "tensorflow.dynamic_partition",
    "tensorflow.image.non_max_suppression", "tensorflow.sparse.to_dense", "tensorflow.sets.intersection",
}  # fmt: skip
_DYNAMIC_TORCH = {"nonzero", "masked_select", "unique", "unique_consecutive", "argwhere"}


@tpu_rule("T020", "batch-not-in-eights", Severity.WARNING)
def batch_not_in_eights(tpu: TpuCode) -> Iterator[Problem]:
    """The training batch of a core is no multiple of 8.

    The compiler lays arrays out in tiles of 8 by 128 and pads what does not fill them: a batch of 10 costs as much as
    one of 16. A global batch that eight devices do not divide is refused by sharding, and uneven elsewhere. Take 8, 16
    or, best, 128 examples for each core.

    Source (2026-11-23): Cloud TPU performance guide.
    """
    datasets = [each for each in batched_datasets(tpu) if each.is_for_training or "repeat" in each.before | each.after]
    sizes = [(each.call.node, each.call.argument(0, "batch_size"), True) for each in datasets]
    if tpu.platform.torch:
        sizes += [(call.node, call.argument(1, "batch_size"), False) for call in training_loaders(tpu)]
    else:
        sizes += [(call.node, call.keyword("batch_size"), True) for call in tpu.code.calls if call.last == "fit"]
    for node, size, is_global in sizes:
        number = tpu.devices.number(size)
        if number is None or number < 1 or (number % DEVICES and is_data_parallel(tpu)):  # T025 refuses those
            continue
        scales = size is not None and tpu.devices.decide(size)
        a_core = number / DEVICES if is_global and scales else number
        if a_core % _TILE:
            whose = "of a core" if scales or not is_global else "of all cores"
            message = f"The training batch {whose} is {a_core:g}, which is no multiple of {_TILE}."
            yield Problem(
                tpu.code.place(node),
                message,
                f"Write {_next_batch(number, a_core):g}, a multiple of {_TILE} for each core.",
            )


@tpu_rule("T021", "features-not-in-eights", Severity.NOTE)
def features_not_in_eights(tpu: TpuCode) -> Iterator[Problem]:
    """A hidden layer has a number of units that is no multiple of 8.

    The matrix unit works on 128 features at a time and the compiler pads up to that: 300 units cost what 384 do. Where
    the number is yours to choose, take a multiple of 128, or at least of 8.

    Source (2026-11-23): Cloud TPU performance guide.
    """
    for call in tpu.code.calls:
        if call.last != "Dense" or not is_keras(call.name, tpu.code):
            continue
        units = tpu.devices.number(call.argument(0, "units"))
        activation = call.argument(1, "activation")
        name = tpu.code.text(activation) or tpu.code.name(activation or ast.Constant(None)).rpartition(".")[2]
        if units is not None and units >= _TILE and units % _TILE and name in _HIDDEN:
            padded = -(-int(units) // _LANES) * _LANES
            message = f"The {units:g} units of this hidden layer are padded to {padded}."
            yield Problem(tpu.code.place(call.node), message, f"Write {padded}, or {-(-int(units) // _TILE) * _TILE}.")


@tpu_rule("T022", "data-dependent-shape", Severity.ERROR, on_any_device=True)
def data_dependent_shape(tpu: TpuCode) -> Iterator[Problem]:
    """A function that JAX compiles makes an array whose shape depends on values.

    While the function is traced there are no values: `jnp.nonzero`, `jnp.unique`, one-armed `jnp.where` and `x[mask]`
    raise NonConcreteBooleanIndexError or ConcretizationTypeError. Give them `size=`, or compute on everything and mask
    with `jnp.where(mask, x, 0)`.

    Source (2026-11-23): JAX, "Sharp bits", dynamic shapes.
    """
    for call in tpu.traced.calls(kind=Kind.TRACED | Kind.JAX):
        arguments = len(call.node.args) + len(call.node.keywords)
        is_sized = call.last in _SIZED or (call.last == "where" and arguments == 1)
        is_numpy = call.name.startswith(("jax.numpy.", "keras.ops."))
        if not is_sized or not is_numpy or call.keyword("size") is not None:
            continue
        if any(tpu.traced.is_traced(each) for each in call.node.args):
            message = f"The shape of what `{call.last}` gives depends on values, which are not known while compiling."
            yield Problem(tpu.code.place(call.node), message, "Give it size=, or mask with jnp.where(mask, x, y).")
    for node in _masked(tpu, Kind.TRACED | Kind.JAX):
        message = "An array is indexed by a mask, so that the shape of the result is not known while compiling."
        yield Problem(tpu.code.place(node), message, "Compute on everything, and choose with jnp.where(mask, x, y).")


@tpu_rule("T023", "dynamic-shape", Severity.WARNING)
def dynamic_shape(tpu: TpuCode) -> Iterator[Problem]:
    """The TPU's step makes a tensor whose shape depends on values.

    In TensorFlow the compiler takes `boolean_mask`, `unique`, one-armed `where`, `dynamic_partition` and non-max
    suppression with a bound on the shape: slow, and it may compile anew. In PyTorch/XLA `nonzero`, `masked_select`,
    `unique` and `x[mask]` fall back to the host or compile a program for each count. Weigh by the mask instead of
    selecting with it: `tf.where(mask, x, 0)`, `(x * mask).sum() / mask.sum()`.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017; PyTorch/XLA, "Recompilation".
    """
    remedy = "Keep the whole tensor and weigh by the mask: tf.where(mask, x, 0), (x * mask).sum() / mask.sum()"
    for call in tpu.device_calls(Kind.TENSORFLOW):
        is_one_armed = call.name in {"tensorflow.where", "tensorflow.compat.v1.where"} and _arguments(call.node) == 1
        if call.name in _DYNAMIC_TENSORFLOW or is_one_armed:
            message = f"The shape of what `{call.last}` gives depends on values: slow, and it may compile anew."
            yield Problem(tpu.code.place(call.node), message, remedy)
    if not tpu.platform.torch:
        return
    for call in tpu.device_calls(Kind.TORCH):
        is_one_armed = call.name == "torch.where" and _arguments(call.node) == 1
        if (call.last in _DYNAMIC_TORCH and not call.name.startswith(("numpy.", "pandas."))) or is_one_armed:
            message = f"The shape of what `{call.last}` gives depends on values, so that each count compiles anew."
            yield Problem(tpu.code.place(call.node), message, remedy)
    for node in _masked(tpu, Kind.TORCH):
        message = "A tensor is indexed by a mask, so that each count of true values compiles anew."
        yield Problem(tpu.code.place(node), message, remedy)


@tpu_rule("T024", "ragged-tensor", Severity.ERROR)
def ragged_tensor(tpu: TpuCode) -> Iterator[Problem]:
    """The TPU's step has a ragged tensor.

    The compiler has none: the step is refused. Make it dense on the host, `ragged.to_tensor(shape=[None, length])`
    in the input pipeline, and hand the lengths or a mask to the model.

    Source (2026-11-23): 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    message, remedy = (
        "The TPU's compiler refuses ragged tensors.",
        "Write x.to_tensor(shape=[None, LENGTH]) in the function of dataset.map.",
    )
    for call in tpu.device_calls(Kind.TENSORFLOW):
        if call.name.startswith(("tensorflow.ragged.", "tensorflow.RaggedTensor.")):
            yield Problem(tpu.code.place(call.node), message, remedy)
    if tpu.platform.tensorflow:
        for call in tpu.code.calls:
            is_input = call.last in {"Input", "InputLayer"} and is_keras(call.name, tpu.code)
            if is_input and is_true(call.keyword("ragged")):
                yield Problem(tpu.code.place(call.node), message, remedy)


def _next_batch(number: float, a_core: float) -> float:
    """The batch as it is written, for the next multiple of a tile for each core."""
    return number * (-(-a_core // _TILE) * _TILE) / a_core


def _masked(tpu: TpuCode, kind: Kind) -> Iterator[ast.Subscript]:
    """Subscripts `x[y > 0]` of values on the device; `x.at[mask].set(y)` keeps its shape."""
    for node in tpu.code.nodes(ast.Subscript):
        is_read = isinstance(node.ctx, ast.Load) and not (
            isinstance(node.value, ast.Attribute) and node.value.attr == "at"
        )
        if is_read and kind in tpu.compiled.kind(node) and tpu.traced.is_traced(node.value):
            index = _mask(tpu, node.slice)
            if isinstance(index, ast.Compare) and tpu.traced.is_traced(index):
                yield node


def _mask(tpu: TpuCode, node: ast.expr) -> ast.expr | None:
    """A subscript's expression, or what its name was given."""
    index = tpu.code.resolved(node)
    while isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
        index = tpu.code.resolved(index.operand)
    return index


def _arguments(node: ast.Call) -> int:
    return len(node.args) + len([each for each in node.keywords if each.arg != "name"])
