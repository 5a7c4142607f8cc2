"""Rules of TPUs: how a training loop is set up for eight devices."""

import ast
from collections.abc import Iterator

from generator.check.analysis.datasets import batched_datasets
from generator.check.analysis.function_kinds import Kind
from generator.check.analysis.models import is_model
from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.rule import Problem
from generator.check.syntax import Call, FunctionNode

_OPTIMIZERS = {"adam", "adamw", "sgd", "rmsprop", "nadam", "adamax", "adagrad", "lamb", "lion", "adafactor", "radam"}
_OPTIMIZER_MODULES = ("keras.", "tensorflow.", "tensorflow_addons.", "optax.")
_AVERAGES = {"pmean", "psum", "all_gather", "psum_scatter"}
_CACHES = ("jax_compilation_cache_dir", "JAX_COMPILATION_CACHE_DIR", "compilation_cache")


@tpu_rule("T060", "learning-rate-not-scaled", Severity.NOTE)
def learning_rate_not_scaled(tpu: TpuCode) -> Iterator[Problem]:
    """The batch grows with the number of devices, and the learning rate does not.

    Eight devices take eight times fewer steps an epoch; with the learning rate of one they learn too slowly. Multiply
    it by the number of replicas (linear scaling), with a warm-up over the first epochs. A rate that was tuned on the
    TPU itself needs nothing.

    Source (2026-11-23): He et al., "Bag of tricks for image classification" (2018); Goyal et al. (2017).
    """
    sizes = [batched.call.argument(0, "batch_size") for batched in batched_datasets(tpu)]
    sizes += [call.keyword("batch_size") for call in tpu.code.calls if call.last == "fit"]
    is_scheduled = any("schedule" in call.last.lower() for call in tpu.code.calls)
    rates = any("lr" in name.lower() or "learning" in name.lower() for name in tpu.devices.names)
    if is_scheduled or rates or not any(size is not None and tpu.devices.decide(size) for size in sizes):
        return
    for call in tpu.code.calls:
        if call.last.lower() in _OPTIMIZERS and call.name.startswith(_OPTIMIZER_MODULES):
            rate = call.argument(0, "learning_rate", "lr")
            if rate is not None and tpu.devices.number(rate) is not None and not tpu.devices.decide(rate):
                message = "The batch grows with the number of devices, and the learning rate does not."
                remedy = f"Write {ast.unparse(rate)[:40]} * strategy.num_replicas_in_sync, with a warm-up."
                yield Problem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T061", "one-step-per-call", Severity.NOTE)
def one_step_per_call(tpu: TpuCode) -> Iterator[Problem]:
    """Keras on TensorFlow goes back to Python after every step (`steps_per_execution` is 1).

    Small steps take less time on a TPU than the way there and back. `compile(..., steps_per_execution=32)` runs as many
    steps in one call; callbacks see every 32nd batch. Keras on JAX gains nothing by it, since it loops in Python.

    Source (2026-11-23): TensorFlow's guide to TPUs; Keras's own trainers.
    """
    names = tpu.code.called
    if not tpu.platform.tensorflow or tpu.platform.keras_jax or "TPUStrategy" not in names or "fit" not in names:
        return
    for call in tpu.code.calls:
        is_compile = call.last == "compile" and call.receiver is not None and call.keyword("loss", "optimizer")
        given = call.keyword("steps_per_execution", "experimental_steps_per_execution")
        if is_compile and not call.is_open and (given is None or tpu.devices.number(given) == 1):
            message = "Keras goes back to Python after every step."
            yield Problem(tpu.code.place(call.node), message, "Add steps_per_execution=32 to compile.")


@tpu_rule("T063", "gradients-not-averaged", Severity.WARNING, on_any_device=True)
def gradients_not_averaged(tpu: TpuCode) -> Iterator[Problem]:
    """Each device takes its own gradient's step, so that eight models are trained on an eighth of the data each.

    Nothing fails: one of the eight is saved, and scores less. In a function of `jax.pmap` average the gradients with
    `jax.lax.pmean(gradients, axis_name="batch")`; in processes of PyTorch/XLA step with
    `xm.optimizer_step(optimizer)`, which does it, rather than with `optimizer.step()`.

    Source (2026-11-23): JAX, pmap; PyTorch/XLA, "Running on multiple XLA devices with multi-processing".
    """
    for function in sorted(tpu.compiled.functions(Kind.PMAP | Kind.GRADIENT), key=tpu.code.order):
        ends = {call.last for call in tpu.compiled.calls_in(function)}
        steps = ends & {"apply_updates", "apply_gradients", "update", "tree_map", "map"} or _steps_by_hand(
            tpu, function
        )
        if steps and not ends & _AVERAGES:
            message = "Each device steps by its own gradients, so that eight different models are trained."
            remedy = 'Write gradients = jax.lax.pmean(gradients, axis_name="batch"), with that axis_name in pmap.'
            yield Problem(tpu.code.place(function), message, remedy)
    averaging = {"optimizer_step", "reduce_gradients", "all_reduce", "DistributedDataParallel"}
    if not tpu.spawned() or averaging & tpu.code.called:
        return
    for call in tpu.code.calls:
        if call.last == "step" and _is_optimizer(tpu, call) and tpu.code.function(call.node) is not None:
            message = "Each process steps by its own gradients, so that eight different models are trained."
            yield Problem(
                tpu.code.place(call.node),
                message,
                "Write xm.optimizer_step(optimizer) in the place of optimizer.step().",
            )


@tpu_rule("T067", "no-compilation-cache", Severity.NOTE)
def no_compilation_cache(tpu: TpuCode) -> Iterator[Problem]:
    """Every fold compiles the same program again.

    A new model is a new function to JAX, also where its program is the same; a compilation takes from half a minute to
    several. Set `JAX_COMPILATION_CACHE_DIR` (or `jax_compilation_cache_dir`) before the first one.

    Source (2026-11-23): JAX, persistent compilation cache; measured on the reference pairs (26 to 4 s), see
    docs/adr/0017.
    """
    if not tpu.platform.keras_jax or tpu.mentions(*_CACHES):
        return
    for loop in tpu.code.nodes(ast.For):
        if tpu.is_fold_loop(loop):
            calls = tpu.runs_in(loop)
            if any(call.last == "fit" for call in calls) and any(is_model(tpu, call) for call in calls):
                message = "Every fold compiles the same step again."
                yield Problem(
                    tpu.code.place(loop),
                    message,
                    'Write os.environ["JAX_COMPILATION_CACHE_DIR"] = "/tmp/jax" above the first import.',
                )


def _steps_by_hand(tpu: TpuCode, function: FunctionNode) -> bool:
    """True for `w - 0.1 * gradient`."""
    parts = [each for each in tpu.code.inside(function) if isinstance(each, ast.BinOp)]
    return any(
        isinstance(each.op, ast.Sub) and isinstance(each.right, ast.BinOp) and isinstance(each.right.op, ast.Mult)
        for each in parts
    )


def _is_optimizer(tpu: TpuCode, call: Call) -> bool:
    name = call.receiver.id if isinstance(call.receiver, ast.Name) else ""
    made = tpu.code.call(tpu.code.resolved(call.receiver))
    return "opt" in name.lower() or (made is not None and made.name.startswith("torch.optim."))
