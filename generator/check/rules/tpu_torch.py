"""Rules of TPUs: the training loop of PyTorch/XLA, whose steps are recorded first and compiled as a whole."""

import ast
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile
from math import inf

from generator.check.analysis.function_kinds import Kind
from generator.check.analysis.platform import XLA_DEVICES
from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.guards import is_guarded
from generator.check.rule import Problem
from generator.check.syntax import Call, FunctionNode, walk

_XM = "torch_xla.core.xla_model."
_LOADERS = {"ParallelLoader", "MpDeviceLoader", "per_device_loader"}  # which end a step with each batch
_MARKS = {"mark_step", "sync"}
_MANY_STEPS = {"jax.lax.scan", "jax.lax.fori_loop", "jax.lax.while_loop"}
_ADDRESSES = "TPU_PROCESS_ADDRESSES"
_FEW = 20  # turns of a loop within a step
_DEEPEST_CALL = 3  # of a function that asks for a device


@tpu_rule("T062", "step-without-end", Severity.WARNING)
def step_without_end(tpu: TpuCode) -> Iterator[Problem]:
    """Nothing tells PyTorch/XLA where a training step ends.

    Operations are recorded until a step is marked: without a mark the graph grows from step to step, is compiled anew
    for each length, and the memory runs out. Call `torch_xla.sync()` (or `xm.mark_step()`) after each step, step with
    `xm.optimizer_step(optimizer, barrier=True)`, or take batches from an `MpDeviceLoader`, which does it.

    Source (2026-11-23): PyTorch/XLA, "XLA tensor deep dive".
    """
    if not tpu.platform.torch or not any(tpu.calls(*XLA_DEVICES)):
        return
    if any(_ends_step(tpu, call) for call in tpu.code.calls):
        return
    steps = list(tpu.calls(f"{_XM}optimizer_step"))
    if any(call.argument(1, "barrier") is not None for call in steps):
        return
    backward = [call for call in tpu.code.calls if call.last == "backward" and any(tpu.loops(call.node))]
    for call in (steps or backward)[:1]:
        message = "Nothing marks the end of a step, so that the recorded graph grows from step to step."
        remedy = "Call torch_xla.sync() after each step, or xm.optimizer_step(optimizer, barrier=True)."
        yield Problem(tpu.code.place(call.node), message, remedy)


def _ends_step(tpu: TpuCode, call: Call) -> bool:
    """True for what marks the end of steps; a mark outside of all loops and functions ends what stands above it."""
    if call.last in _LOADERS or (call.last == "compile" and call.name != "re.compile"):
        return True
    is_mark = call.last in _MARKS and (call.name.startswith("torch_xla.") or call.receiver is not None)
    is_mark = is_mark or call.name == "torch_xla.step"
    return is_mark and (tpu.code.function(call.node) is not None or any(tpu.loops(call.node)))


@tpu_rule("T064", "item-in-step", Severity.WARNING, on_any_device=True)
def item_in_step(tpu: TpuCode) -> Iterator[Problem]:
    """The training loop reads a value from the TPU in every step.

    `.item()` has all that was recorded so far compiled and run, and waits for it: the program is cut in pieces and the
    TPU idles while Python goes on. Sum the loss up on the device and read it once an epoch, print every hundredth step,
    or use `xm.add_step_closure`.

    In JAX `float(loss)`, `loss.item()` and `np.asarray(loss)` do the same: steps are no longer dispatched ahead.

    Source (2026-11-27): PyTorch/XLA, "Troubleshooting" (`_local_scalar_dense`); JAX, asynchronous dispatch.
    """
    if tpu.platform.jax:
        for node in _read_in_every_step(tpu):
            message = "The loop waits for the device in every step to read this value."
            yield Problem(
                tpu.code.place(node),
                message,
                "Write losses.append(loss) in the loop, and float(jnp.mean(jnp.stack(losses))) once an epoch.",
            )
    if not tpu.platform.torch:
        return
    loops = _step_loops(tpu)
    for call in tpu.code.calls:
        if call.last != "item" or call.node.args or tpu.code.is_conditional(call.node):
            continue
        if next(tpu.loops(call.node), None) in loops:
            message = "The loop waits for the device in every step to read this value."
            yield Problem(
                tpu.code.place(call.node),
                message,
                "Write total += loss.detach() in the loop, and total.item() once an epoch.",
            )


@tpu_rule("T065", "xla-tensors-saved", Severity.WARNING)
def xla_tensors_saved(tpu: TpuCode) -> Iterator[Problem]:
    """`torch.save` writes tensors that are on the TPU.

    The file can be read only where torch_xla is installed, which is not so on a GPU or in inference. Save a copy on the
    CPU, `{k: v.cpu() for k, v in model.state_dict().items()}`, or use `xm.save`, which makes it.

    Source (2026-11-23): PyTorch/XLA, "Saving and loading XLA tensors".
    """
    if not tpu.platform.torch or not any(tpu.calls(*XLA_DEVICES)):
        return
    for call in tpu.calls("torch.save"):
        saved = tpu.code.resolved(call.argument(0, "obj"))
        states = [each for each in tpu.code.below(saved) if each.last == "state_dict"] if saved is not None else []
        if states and not _is_on_cpu(tpu, call, states[0]):
            message = "These tensors are on the TPU, and their file can be read only with torch_xla."
            yield Problem(
                tpu.code.place(call.node),
                message,
                "Write torch.save({k: v.cpu() for k, v in model.state_dict().items()}, path).",
            )


@tpu_rule("T008", "device-before-spawn", Severity.ERROR)
def device_before_spawn(tpu: TpuCode) -> Iterator[Problem]:
    """The notebook takes an XLA device before it starts a process for each core.

    The runtime is then this process's own, and the start fails: "Runtime is already initialized. Do not use the XLA
    device before calling xmp.spawn". Ask for the device in the function that is started.

    Source (2026-11-23): PyTorch/XLA, xla_multiprocessing.
    """
    launched = [call for call in tpu.calls("accelerate.notebook_launcher") if call.keyword("num_processes") is not None]
    starts = [call for call in [*tpu.spawned(), *launched] if tpu.code.function(call.node) is None]
    if not starts:
        return
    first = min(tpu.code.order(call.node) for call in starts)
    for call in tpu.code.calls_inside(None):
        if tpu.code.order(call.node) < first and (call.name in XLA_DEVICES or _takes_device(tpu, call)):
            message = "This takes the TPU for the notebook's own process, so that starting eight others fails."
            yield Problem(
                tpu.code.place(call.node), message, "Move torch_xla.device() into the function that is started."
            )


def _takes_device(tpu: TpuCode, call: Call, depth: int = 0) -> bool:
    """True for a call of a function that asks for an XLA device in this process, whatever it is given."""
    for function in tpu.compiled.referred(call.node.func):
        names = {each.name for each in tpu.compiled.calls_in(function)}
        if any(name.endswith((".spawn", ".launch", "notebook_launcher")) for name in names):
            continue
        for each in tpu.code.calls_inside(function):
            is_asked = each.name in XLA_DEVICES or (depth < _DEEPEST_CALL and _takes_device(tpu, each, depth + 1))
            if is_asked and _is_always_done(tpu, each, function):
                return True
    return False


def _is_always_done(tpu: TpuCode, call: Call, function: FunctionNode) -> bool:
    """True for a call in a function itself, below no condition, and before anything that may return."""
    inside = list(takewhile(lambda each: each is not function, tpu.code.ancestors(call.node)))
    branches = ast.If | ast.IfExp | ast.Match | ast.Try | ast.BoolOp | ast.FunctionDef | ast.Lambda | ast.ClassDef
    returns = [each for each in ast.walk(function) if isinstance(each, ast.Return) and each.lineno < call.node.lineno]
    return not returns and not any(isinstance(each, branches) for each in inside)


@tpu_rule("T066", "number-of-processes", Severity.WARNING)
def number_of_processes(tpu: TpuCode) -> Iterator[Problem]:
    """Processes are started in a number of one's own choice, such as `nprocs=8`.

    PyTorch/XLA 2 with PJRT starts one for each core by itself, and takes 1 or None: "Unsupported nprocs (8). Please use
    nprocs=1 or None (default)". Leave the argument out.

    Source (2026-11-27): pytorch/xla#7971, #8623 ("in 2.6 we make it a value error") and #8715.
    """
    for call in tpu.spawned():
        number = tpu.devices.number(call.argument(2, "nprocs")) if call.last == "spawn" else None
        if number not in (None, 1) and not is_guarded(tpu.code, call.node, any_if=True):
            message = f"torch_xla of today refuses to start {number:g} processes: 1, or None for one on each core."
            yield Problem(tpu.code.place(call.node), message, "Leave nprocs out.")


@tpu_rule("T068", "function-of-a-notebook-spawned", Severity.ERROR)
def function_of_a_notebook_spawned(tpu: TpuCode) -> Iterator[Problem]:
    """A function of the notebook is started in new processes, which do not have it.

    `xmp.spawn` and `torch_xla.launch` start their processes by "spawn" unless they are told otherwise. Each imports the
    function from where it was defined, and the cells of a notebook cannot be imported: "Can't get attribute '_mp_fn' on
    <module '__main__' (built-in)>". A process that is forked has the function.

    Source (2026-11-27): pytorch/xla#7761 ("notebooks must use start_method='fork'") and #2750 (on Kaggle);
    ProcessPoolExecutor, by which torch_xla starts them, in a notebook's kernel, tried.
    """
    if not tpu.code.is_notebook:
        return
    for call in tpu.spawned():
        is_launch = call.last == "launch"
        method = call.argument(2 if is_launch else 5, "start_method")
        is_new = method is None or tpu.code.text(method) in ("spawn", "forkserver")
        is_one = is_launch and call.argument(3, "debug_single_process") is not None
        if is_new and not is_one and not call.is_open and tpu.compiled.referred(call.argument(0, "fn")):
            message = "The new processes import this function, which a notebook's cells do not let them."
            remedy = f'Write {ast.unparse(call.node.func)}(…, start_method="fork").'
            yield Problem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T069", "slice-that-moves", Severity.WARNING)
def slice_that_moves(tpu: TpuCode) -> Iterator[Problem]:
    """The training loop slices a tensor on the TPU by bounds that change with each step.

    PyTorch/XLA records the bounds as constants: each step is another graph and is compiled, which takes longer than the
    step. Slice on the host and move the batch, or select rows by a tensor of their numbers.

    Source (2026-11-27): pytorch/xla#1368 and #1379 (varying slices recompile), #2757 (`index_select` in their place).
    """
    if not tpu.platform.torch:
        return
    loops = _step_loops(tpu)
    for loop in sorted(loops, key=tpu.code.order):
        for node in ast.walk(loop):
            if isinstance(node, ast.Subscript) and _is_on_tpu(tpu, node.value) and _moves(tpu, node, loop):
                name = ast.unparse(node.value)
                message = f"`{name}` is on the TPU, and each slice of other bounds is compiled as another graph."
                remedy = f"Leave {name} on the host, and write {ast.unparse(node)}.to(device)."
                yield Problem(tpu.code.place(node), message, remedy)


def _is_on_tpu(tpu: TpuCode, value: ast.expr) -> bool:
    """True for a name whose tensor was made on an XLA device or moved there."""
    made = tpu.code.call(tpu.code.resolved(value)) if isinstance(value, ast.Name) else None
    target = made and (made.argument(0, "device") if made.last == "to" else made.keyword("device"))
    device = tpu.code.call(tpu.code.resolved(target)) if target else None
    return device is not None and device.name in XLA_DEVICES


def _moves(tpu: TpuCode, node: ast.Subscript, loop: ast.For | ast.While) -> bool:
    """True if a bound of the slice depends on the number that the loop counts."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    bounds = [each for part in parts if isinstance(part, ast.Slice) for each in (part.lower, part.upper) if each]
    names = [each for bound in bounds for each in ast.walk(bound) if isinstance(each, ast.Name)]
    for assigned in [tpu.code.resolved(each) for each in names]:  # as of start = step * batch_size
        names += [each for each in ast.walk(assigned) if isinstance(each, ast.Name)] if assigned is not None else []
    return any(each.id == tpu.counted(loop) for each in names)


@tpu_rule("T009", "spawn-addresses", Severity.WARNING)
def spawn_addresses(tpu: TpuCode) -> Iterator[Problem]:
    """Processes are started for each core while TPU_PROCESS_ADDRESSES is set.

    Kaggle's TPU image sets it to "local", and several processes then fail: "Expected 8 worker addresses, got 1". Remove
    it first, `os.environ.pop("TPU_PROCESS_ADDRESSES", None)`, or train in one process with SPMD.

    Source (2026-11-23): Kaggle/docker-python, tpu/Dockerfile; huggingface/transformers#28204.
    """
    if not tpu.mentions(_ADDRESSES):
        for call in tpu.spawned()[:1]:
            message = f"Kaggle's image sets {_ADDRESSES}, with which several processes do not start."
            remedy = f'Call os.environ.pop("{_ADDRESSES}", None) before.'
            yield Problem(tpu.code.place(call.node), message, remedy)


def _is_on_cpu(tpu: TpuCode, save: Call, state: Call) -> bool:
    """True if what is saved was moved to the CPU: the model before, or its tensors here."""
    saved = save.argument(0, "obj")
    around = tpu.code.below(save.node) + (tpu.code.below(tpu.code.resolved(saved) or save.node))
    model = state.receiver
    name = model.id if isinstance(model, ast.Name) else None
    return name in _moved_to_cpu(tpu) or any(_moves_to_cpu(tpu, call) for call in around)


@lru_cache(maxsize=1)
def _moved_to_cpu(tpu: TpuCode) -> frozenset[str]:
    """The names of what the notebook moves to the CPU."""
    moves = [call.receiver for call in tpu.code.calls if call.last in {"cpu", "to"} and _moves_to_cpu(tpu, call)]
    return frozenset(each.id for each in moves if isinstance(each, ast.Name))


def _moves_to_cpu(tpu: TpuCode, call: Call) -> bool:
    if call.last in {"cpu", "_maybe_convert_to_cpu"}:
        return True
    target = call.argument(0, "device")
    made = tpu.code.call(target)
    return call.last == "to" and "cpu" in {tpu.code.text(target), tpu.code.text(made.argument(0)) if made else None}


def _read_in_every_step(tpu: TpuCode) -> Iterator[ast.expr]:
    """Where a loop of the host reads a result of a compiled step in each turn: as a number, or as text."""
    read: list[tuple[ast.expr, ast.expr | None]] = []
    for call in tpu.code.calls:
        if call.name in ("float", "int", "numpy.asarray", "numpy.array") and len(call.node.args) == 1:
            read.append((call.node, call.node.args[0]))
        elif call.last == "item" and not call.node.args:
            read.append((call.node, call.receiver))
        elif call.name == "print":
            read += [(call.node, each) for each in call.node.args]
    for text in tpu.code.nodes(ast.JoinedStr):
        read += [(text, each.value) for each in text.values if isinstance(each, ast.FormattedValue)]
    found: set[ast.expr] = set()
    for node, expression in read:
        value = expression
        while isinstance(value, ast.Subscript):  # metrics["loss"]
            value = value.value
        loop = next(tpu.loops(node), None)
        if not isinstance(value, ast.Name) or node in found or loop is None or tpu.compiled.is_on_device(node):
            continue
        if value.id in _results_of_steps(tpu, loop) and _is_in_each_turn(tpu, node, loop):
            found.add(node)
            yield node


def _is_in_each_turn(tpu: TpuCode, node: ast.AST, loop: ast.For | ast.While) -> bool:
    """False below a condition, also `step % 100 == 0 and print(loss)`, and after a `continue`."""
    if tpu.code.is_conditional(node):
        return False
    if any(isinstance(each, ast.BoolOp) for each in tpu.code.ancestors(node, within_function=True)):
        return False
    return tpu.code.order(node) <= _first_continue(tpu, loop)


@lru_cache(maxsize=100)
def _first_continue(tpu: TpuCode, loop: ast.For | ast.While) -> tuple[float, float]:
    return min((tpu.code.order(each) for each in walk(loop) if isinstance(each, ast.Continue)), default=(inf, inf))


@lru_cache(maxsize=100)  # a loop may read thousands of values
def _results_of_steps(tpu: TpuCode, loop: ast.For | ast.While) -> frozenset[str]:
    """The names that a loop gives to what compiled training steps return, in no loop within it."""
    found: set[str] = set()
    for assign in (each for each in ast.walk(loop) if isinstance(each, ast.Assign)):
        made = tpu.code.call(assign.value)
        steps = tpu.compiled.referred(made.node.func) if made is not None else ()
        around = next(tpu.loops(assign), None)
        if not any(_is_one_step(tpu, each) for each in steps):
            continue
        if around is not loop and not _is_short(tpu, around):
            return frozenset()  # what stands in the outer loop warms up, or is done once an epoch
        if around is loop:
            found |= {each.id for target in assign.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return frozenset(found)


def _step_loops(tpu: TpuCode) -> set[ast.For | ast.While]:
    """The innermost loops around `backward`, without those around another one: a step there warms up."""
    backward = [call.node for call in tpu.code.calls if call.last == "backward"]
    chains = [chain for each in backward if (chain := [*tpu.loops(each)])]
    inner = {chain[0]: chain[1:] for chain in chains}
    return set(inner) - {each for loop, around in inner.items() if not _is_short(tpu, loop) for each in around}


def _is_short(tpu: TpuCode, loop: ast.For | ast.While | None) -> bool:
    """True for a loop over a few numbers, such as the steps of a discriminator."""
    call = tpu.code.call(loop.iter) if isinstance(loop, ast.For) else None
    number = tpu.code.number(call.argument(0)) if call is not None and call.name == "range" else None
    return number is not None and number < _FEW


def _is_one_step(tpu: TpuCode, function: FunctionNode) -> bool:
    """True for a training step; a function that runs many of them on the device is read once for all."""
    if Kind.GRADIENT not in tpu.compiled.kinds.get(function, Kind.NOTHING):
        return False
    return not any(each.name in _MANY_STEPS for each in tpu.compiled.calls_in(function))
