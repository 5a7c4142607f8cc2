"""Rules of TPUs: the types of numbers that they compute with."""

import ast
from collections.abc import Iterator

from generator.check.analysis.function_kinds import CALLBACKS
from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.rule import Problem

_DOUBLES = {
    "tensorflow.float64", "tensorflow.double", "jax.numpy.float64", "torch.float64", "torch.double",
    "tensorflow.complex128", "numpy.float64", "numpy.double", "jax.numpy.complex128",
}  # fmt: skip
_ENDS = {name.rpartition(".")[2] for name in _DOUBLES}
_POLICIES = {"set_global_policy", "set_policy", "set_dtype_policy", "Policy", "DTypePolicy"}


@tpu_rule("T050", "double-precision", Severity.WARNING)
def double_precision(tpu: TpuCode) -> Iterator[Problem]:
    """The TPU's step computes in float64.

    A TPU has no unit for it: the compiler emulates it, many times slower, and complex128 is refused. In JAX a float64
    is silently a float32 unless jax_enable_x64 is on. Cast to float32 before the step, or to bfloat16.

    Source (2026-11-23): Cloud TPU performance guide; 145 steps given to Google's TPU compiler, see docs/adr/0017.
    """
    message, remedy = "A TPU emulates float64, many times slower.", "Write float32, or bfloat16."
    for node in tpu.code.nodes(ast.Attribute):
        if node.attr in _ENDS and tpu.code.name(node) in _DOUBLES and _is_computed_with(tpu, node):
            yield Problem(tpu.code.place(node), message, remedy)
    for call in tpu.code.calls:
        is_setting = call.name == "jax.config.update" and tpu.code.text(call.argument(0)) == "jax_enable_x64"
        is_on = is_setting and isinstance(value := call.argument(1), ast.Constant) and bool(value.value)
        is_floatx = call.last == "set_floatx" and tpu.code.text(call.argument(0)) == "float64"
        is_double = call.last == "double" and tpu.platform.torch and tpu.compiled.is_on_device(call.node)
        texts = [each.value for each in call.node.keywords if each.arg == "dtype"]
        texts += call.node.args[1:2] if call.last in {"cast", "astype"} else []
        is_cast = any(tpu.code.text(each) == "float64" for each in texts) and tpu.compiled.is_on_device(call.node)
        if is_on or is_floatx or is_double or is_cast:
            yield Problem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T051", "half-precision", Severity.WARNING)
def half_precision(tpu: TpuCode) -> Iterator[Problem]:
    """The notebook computes in float16, or scales its loss for it.

    That is a GPU's type. A TPU's is bfloat16, which has the range of float32 and needs no scaling of the loss:
    `mixed_bfloat16`, `torch.autocast("xla", dtype=torch.bfloat16)`, `dtype=jnp.bfloat16`.

    Source (2026-11-23): Keras, guide to mixed precision; PyTorch/XLA, "Automatic mixed precision".
    """
    for call in tpu.code.calls:
        is_policy = call.last in _POLICIES and tpu.code.text(call.argument(0)) == "mixed_float16"
        is_scaler = tpu.platform.torch and call.last == "GradScaler" and not _is_switched(call.node)
        is_known = call.name.startswith(("keras.", "tensorflow.", "torch.", "torch_xla."))
        # Below an `if` another type may be taken on a TPU.
        if (is_policy or is_scaler) and is_known and not tpu.code.is_conditional(call.node):
            remedy = 'Write "mixed_bfloat16".'
            if is_scaler:
                remedy = 'Leave the scaler out, and compute in torch.autocast("xla", dtype=torch.bfloat16).'
            yield Problem(tpu.code.place(call.node), "A TPU computes in bfloat16, not in float16.", remedy)


def _is_computed_with(tpu: TpuCode, node: ast.AST) -> bool:
    """True for a type that an array on the device gets: `tf.cast(x, tf.float64)`, `dtype=jnp.float64`."""
    parent = tpu.code.parent(node)
    given_to = tpu.code.call(tpu.code.parent(parent) if isinstance(parent, ast.keyword) else parent)
    return given_to is not None and given_to.last not in CALLBACKS and tpu.compiled.is_on_device(node)


def _is_switched(node: ast.Call) -> bool:
    """True with an `enabled=` that is computed: it may be off on a TPU."""
    return any(each.arg == "enabled" and not isinstance(each.value, ast.Constant) for each in node.keywords)
