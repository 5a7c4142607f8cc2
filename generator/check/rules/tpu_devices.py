"""Rules of TPUs: devices, processes, and training loops."""

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import takewhile
from math import inf

from generator.check.cell_text import CodeCall, FunctionNode, walk_nodes
from generator.check.compiled import XLA_DEVICES, ExecutionMode
from generator.check.environment import is_guarded
from generator.check.findings import Severity
from generator.check.rule import RuleProblem
from generator.check.tpu import TpuCode, batched_datasets, builds_model, makes_keras_model, tpu_rule

_CONNECTS = {
    "TPUClusterResolver", "TPUStrategy", "xla_device", "initialize_tpu_system", "experimental_connect_to_cluster",
}  # fmt: skip
_JAX_DEVICES = {"jax.devices", "jax.local_devices"}
_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_MOST_CHECKS = 9  # of one name, that are looked at
_STOPS = {"exit", "quit", "sys.exit", "os._exit", "os.abort"}
_SHARDS = {
    "pmap", "Mesh", "make_mesh", "NamedSharding", "PositionalSharding", "shard_map", "create_device_mesh", "set_mesh",
    "set_distribution", "replicate", "SingleDeviceSharding",
}  # fmt: skip
_RESTARTS = {"initialize_tpu_system", "clear_session", "reset", "clear_caches", "clear_backends"}


@tpu_rule("T001", "hidden-missing-tpu", Severity.WARNING)
def hidden_missing_tpu(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A session without its TPU is not noticed, because an `except` falls back to the default strategy or device.

    The helper dates from the time when one notebook served every accelerator. On Kaggle a pushed TPU notebook can land
    on a CPU without an error, and then trains for nine hours what takes minutes. Let the connection fail, or check what
    was found before training (`strategy.num_replicas_in_sync`, `jax.default_backend()`) and raise.

    Source (2026-11-23): Kaggle/kaggle-cli#1197; practitioners' notebooks of 2021 to 2023.
    """
    if _raises_without_devices(tpu):
        return
    for attempt in tpu.code.nodes(ast.Try):
        calls = [call for statement in attempt.body for call in tpu.runs_in(statement)]
        backends = [tpu.code.text(call.argument(0, "backend")) for call in calls if call.name in _JAX_DEVICES]
        if "tpu" not in backends and not any(call.last in _CONNECTS for call in calls):
            continue
        for handler in attempt.handlers:
            ends = _stops(tpu, handler) or _connects_after(tpu, attempt) or _is_checked_after(tpu, attempt)
            if not ends:
                message = "Without a TPU the notebook silently continues on another device."
                remedy = "Write `raise` here, or before the training: assert strategy.num_replicas_in_sync == 8"
                if "tpu" in backends:
                    remedy = 'Write `raise` here, or before the training: assert jax.default_backend() == "tpu"'
                yield RuleProblem(tpu.code.place(handler), message, remedy)


@tpu_rule("T002", "tensorflow-sees-no-tpu", Severity.WARNING)
def tensorflow_sees_no_tpu(tpu: TpuCode) -> Iterator[RuleProblem]:
    """TensorFlow of Kaggle's TPU image is built without TPU support, and the notebook installs no other.

    The image has `tensorflow-cpu` since 2025-09, because `tensorflow-tpu` needs an older libtpu than JAX does:
    `TPUClusterResolver` finds nothing there. Train with Keras on JAX (`KERAS_BACKEND=jax`). Whether `tensorflow-tpu`,
    installed before TensorFlow is imported, finds the TPU today is not known.

    Source (2026-11-23): Kaggle/docker-python, tpu/requirements.in and pull request 1499.
    """
    if tpu.mentions("tensorflow-tpu", "tensorflow_tpu"):
        return
    resolver = "TPUClusterResolver"
    connects = [call for call in tpu.code.calls if call.last == resolver or call.name.endswith(f"{resolver}.connect")]
    for call in connects[:1]:
        message = "TensorFlow in Kaggle's TPU image has no TPU support."
        remedy = 'Train with Keras on JAX: os.environ["KERAS_BACKEND"] = "jax" above the first import.'
        yield RuleProblem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T003", "model-outside-scope", Severity.WARNING)
def model_outside_scope(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A model that is trained was not built inside the scope of the TPU's strategy.

    Where all is outside, it trains on one device; where `compile` or `fit` is inside, it stops with "Need to be inside
    with strategy.scope()" or "Mixing different tf.distribute.Strategy objects". Build and compile it in
    `with strategy.scope():`, and call `fit` outside.

    Source (2026-11-27): Keras 3.13 on TensorFlow 2.20 with two devices, tried.
    """
    has_strategy = "TPUStrategy" in tpu.code.callee_names
    if not has_strategy or not tpu.code.callee_names.isdisjoint({"experimental_set_strategy", "__enter__"}):
        return
    receivers = [call.receiver for call in tpu.code.calls if call.last in {"fit", "fit_generator", "train_on_batch"}]
    reported_nodes: set[ast.AST] = set()
    for name in receivers:
        values = tpu.code.find_values(name) if isinstance(name, ast.Name) else []
        constructors = [call for call in map(tpu.code.call, values) if call is not None and builds_model(tpu, call)]
        if constructors and not any(_is_in_scope(tpu, call) for call in constructors):
            for call in [call for call in constructors if call.node not in reported_nodes]:
                reported_nodes.add(call.node)
                message = "This model is trained, but it was built outside of the strategy's scope."
                yield RuleProblem(
                    tpu.code.place(call.node), message, "Move it and compile into `with strategy.scope():`."
                )


@tpu_rule("T004", "distribution-after-model", Severity.WARNING)
def distribution_after_model(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A model is built before `keras.distribution.set_distribution` sets the devices.

    Its variables are on the first device then. Set the distribution first, right after Keras is imported.

    Source (2026-11-23): Keras, guide to distributed training with JAX.
    """
    settings = [call for call in tpu.calls("keras.distribution.set_distribution") if _is_at_top(tpu, call)]
    if not tpu.platform.keras_jax or not settings:
        return
    first = min(tpu.code.order(call.node) for call in settings)
    for call in tpu.code.calls:
        if _is_at_top(tpu, call) and tpu.code.order(call.node) < first and builds_model(tpu, call):
            message = "This model is built before the distribution is set, so it is on one device."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Write keras.distribution.set_distribution(keras.distribution.DataParallel()) above it.",
            )
            return


@tpu_rule("T005", "one-device-of-eight", Severity.WARNING)
def one_device_of_eight(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The notebook trains on one of the TPU's eight devices.

    `jax.jit`, Keras on JAX, and PyTorch/XLA use the first device unless they are told to split the batch: by
    `keras.distribution.DataParallel`, a `jax.sharding.Mesh` or `pmap`, `torch_xla.launch` or SPMD.

    Source (2026-11-23): JAX, "Distributed arrays and automatic parallelization"; PyTorch/XLA, "How to run with
    PyTorch/XLA".
    """
    on_keras = "Write keras.distribution.set_distribution(keras.distribution.DataParallel()) above the model."
    on_jax = 'Split the batch: jax.device_put(batch, NamedSharding(jax.make_mesh((8,), ("batch",)), P("batch")))'
    on_torch = "Start a process for each core: torch_xla.launch(train)"
    if _mentions_shards(tpu):
        return
    if tpu.platform.keras_jax and not tpu.platform.tensorflow:
        fits = [call for call in tpu.code.calls if call.last == "fit" and builds_some_model(tpu, call)]
        for call in fits[:1]:
            yield RuleProblem(tpu.code.place(call.node), "Keras on JAX trains on the first of eight devices.", on_keras)
    elif tpu.platform.jax:
        steps = [step for step in tpu.compilation.training_steps() if tpu.code.class_of(step) is None]
        for function in steps[:1]:
            yield RuleProblem(tpu.code.place(function), "This step runs on the first of eight devices.", on_jax)
    elif tpu.platform.torch and any(call.last == "backward" and _is_repeated(tpu, call) for call in tpu.code.calls):
        starts = {"spawn", "launch", "use_spmd", "MpModelWrapper", "initialize", "init_process_group", "Accelerator"}
        devices = list(tpu.calls(*XLA_DEVICES))
        if devices and tpu.code.callee_names.isdisjoint(starts):
            place = tpu.code.place(devices[0].node)
            yield RuleProblem(place, "PyTorch/XLA trains on the first of eight devices.", on_torch)


@tpu_rule("T006", "fold-without-restart", Severity.WARNING)
def fold_without_restart(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A loop over folds builds a model in each, and never frees the previous one on the TPU.

    Models, optimizers and compiled programs of all folds stay in the TPU's memory: five folds in one session have run
    out of it in the third. Connect and initialise the TPU again before each fold
    (`tf.tpu.experimental.initialize_tpu_system`), or call `keras.backend.clear_session()`.

    Source (2026-11-23): practitioners' notebooks of 2021 to 2023.
    """
    if not (tpu.platform.tensorflow or tpu.platform.keras_jax):
        return
    for loop in tpu.code.nodes(ast.For):
        if tpu.is_fold_loop(loop):
            calls = tpu.runs_in(loop)
            ends = {call.last for call in calls}
            if "fit" in ends and any(makes_keras_model(tpu, call) for call in calls) and not ends & _RESTARTS:
                message = "Each fold builds a model, but the previous fold's model stays in the TPU's memory."
                remedy = "Write keras.backend.clear_session() as the first line of the loop."
                yield RuleProblem(tpu.code.place(loop), message, remedy)


def builds_some_model(tpu: TpuCode, call: CodeCall) -> bool:
    """Return whether a call of `fit` is of a Keras model, as far as is known: an estimator is none."""
    values = tpu.code.find_values(call.receiver) if isinstance(call.receiver, ast.Name) else []
    return any(constructor is not None and builds_model(tpu, constructor) for constructor in map(tpu.code.call, values))


def _mentions_shards(tpu: TpuCode) -> bool:
    """True if the notebook names what splits arrays over devices, as a decorator too."""
    names = {node.attr for node in tpu.code.nodes(ast.Attribute)}
    names |= {tpu.code.full_name(name) for name in {node.id for node in tpu.code.nodes(ast.Name)}}
    return any(name.rpartition(".")[2] in _SHARDS or "sharding" in name.lower() for name in names)


def _is_repeated(tpu: TpuCode, call: CodeCall) -> bool:
    """True in a loop, or in a function that somebody may call in one; a single call shows how something works."""
    return tpu.code.function(call.node) is not None or any(tpu.loops(call.node))


def _raises_without_devices(tpu: TpuCode) -> bool:
    """True if the notebook stops when it does not like what it runs on."""
    checks = _stopping_checks(tpu)
    return any(tpu.devices.decide(check.test) and _may_stop(tpu, check, {}) for check in checks)


def _may_stop(tpu: TpuCode, check: ast.If | ast.Assert, left: Mapping[str, ast.expr]) -> bool:
    """False for a condition that lets a session without its TPU go on, such as `batch % strategy.num_replicas_in_sync`.

    Args:
        tpu: The notebook.
        check: The condition.
        left: What the names hold that a failed attempt to connect leaves.
    """
    truth = _without_tpu(tpu, check.test, left)
    if truth is None:
        return True
    if isinstance(check, ast.Assert):
        return not truth
    return any(_stops(tpu, statement) for statement in (check.body if truth else check.orelse))


def _without_tpu(tpu: TpuCode, test: ast.expr, left: Mapping[str, ast.expr]) -> bool | None:
    """What a condition comes to in a session without its TPU; None where that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _without_tpu(tpu, test.operand, left)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = [_without_tpu(tpu, operand, left) for operand in test.values]
        decisive = isinstance(test.op, ast.Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    value = left.get(_stored_as(test))
    if value is not None:
        return bool(value.value) if isinstance(value, ast.Constant) else True if isinstance(value, ast.Call) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        value, comparator = left.get(_stored_as(test.left)), test.comparators[0]
        if isinstance(test.ops[0], ast.Is | ast.IsNot) and isinstance(comparator, ast.Constant) and value is not None:
            is_same = isinstance(value, ast.Constant) and value.value is comparator.value
            is_clear = isinstance(value, ast.Constant | ast.Call)
            return is_same is isinstance(test.ops[0], ast.Is) if is_clear else None
        sides = _number_without_tpu(tpu, test.left), _number_without_tpu(tpu, comparator)
        compare = _COMPARISONS.get(type(test.ops[0]))
        return None if compare is None or sides[0] is None or sides[1] is None else compare(sides[0], sides[1])
    number = _number_without_tpu(tpu, test)
    return None if number is None else bool(number)


def _number_without_tpu(tpu: TpuCode, node: ast.expr) -> float | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        left, right = tpu.devices.number_on_one(node.left), tpu.devices.number_on_one(node.right)
        return 0 if right == 1 else None if left is None or not right else left % right
    return tpu.devices.number_on_one(node)


def _stopping_checks(tpu: TpuCode) -> Iterator[ast.If | ast.Assert]:
    """The conditions on which the notebook stops."""
    ends = [*tpu.code.nodes(ast.Raise), *(call.node for call in tpu.code.calls if call.name in _STOPS)]
    around = [ancestor for end in ends for ancestor in tpu.code.ancestors(end, within_function=True)]
    yield from tpu.code.nodes(ast.Assert)
    yield from dict.fromkeys(ancestor for ancestor in around if isinstance(ancestor, ast.If))


@lru_cache(maxsize=1)  # asked for each `try`
def _checks_by_name(tpu: TpuCode) -> Mapping[str, list[ast.If | ast.Assert]]:
    """The conditions that name each name, the last ones."""
    checks: dict[str, list[ast.If | ast.Assert]] = defaultdict(list)
    for check in sorted(_stopping_checks(tpu), key=tpu.code.order):
        for name in dict.fromkeys(map(_stored_as, walk_nodes(check.test))):
            checks[name] = [*checks[name][1 - _MOST_CHECKS :], check] if name else []
    return checks


def _is_checked_after(tpu: TpuCode, attempt: ast.Try) -> bool:
    """True if the notebook stops below on what the attempt left: `if strategy is None: raise`."""
    handler_statements = [node for handler in attempt.handlers for node in handler.body]
    nodes = [node for statement in [*attempt.body, *handler_statements] for node in walk_nodes(statement)]
    names = {_stored_as(node) for node in nodes if isinstance(getattr(node, "ctx", None), ast.Store)} - {""}
    plain = [node for node in handler_statements if isinstance(node, ast.Assign)]
    left = {_stored_as(target): node.value for node in plain for target in node.targets if _stored_as(target)}
    return_values = [
        node.value for node in handler_statements if isinstance(node, ast.Return) and node.value is not None
    ]
    function = tpu.code.function(attempt)
    uses = tpu.code.uses_by_name.get(function.name, []) if isinstance(function, ast.FunctionDef) else []
    for parent in map(tpu.code.parent, uses):  # strategy = connect()
        assignment = tpu.code.parent(parent) if isinstance(parent, ast.Call) else None
        if isinstance(assignment, ast.Assign):
            assigned_names = {_stored_as(node) for target in assignment.targets for node in walk_nodes(target)} - {
                "",
                "self",
            }
            names |= assigned_names
            left |= (
                dict.fromkeys(assigned_names & {_stored_as(assignment.targets[0])}, return_values[0])
                if len(return_values) == 1
                else {}
            )
    checks = [check for name in names for check in _checks_by_name(tpu).get(name, ())]
    below = [condition for condition in checks if tpu.code.order(condition) > tpu.code.order(attempt)]
    return any(attempt not in tpu.code.ancestors(condition) and _may_stop(tpu, condition, left) for condition in below)


def _stored_as(node: ast.AST) -> str:
    """A name, or an attribute of `self`, as it is written; nothing for another expression."""
    if isinstance(node, ast.Name):
        return node.id
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return f"self.{node.attr}" if isinstance(node, ast.Attribute) and is_own else ""


def _connects_after(tpu: TpuCode, attempt: ast.Try) -> bool:
    """True if the strategy of a TPU is built again below, where nothing catches that there is none."""
    return tpu.code.order(attempt) < _last_connection(tpu)


@lru_cache(maxsize=1)
def _last_connection(tpu: TpuCode) -> tuple[int, int]:
    """Where a strategy of a TPU is built last, below no condition and in no `try`."""
    strategies = [call.node for call in tpu.code.calls if call.last == "TPUStrategy"]
    guards = ast.Try | ast.If | ast.IfExp
    free = [node for node in strategies if not any(isinstance(around, guards) for around in tpu.code.ancestors(node))]
    return max(map(tpu.code.order, free), default=(-1, 0))


def _stops(tpu: TpuCode, node: ast.AST) -> bool:
    """True if a statement can end the notebook."""
    raises = any(isinstance(descendant, ast.Raise) for descendant in walk_nodes(node))
    return raises or any(call.name in _STOPS for call in tpu.code.below(node))


def _is_at_top(tpu: TpuCode, call: CodeCall) -> bool:
    return tpu.code.function(call.node) is None


def _is_in_scope(tpu: TpuCode, call: CodeCall) -> bool:
    """True if a call is in `with strategy.scope():`, or in a function that is called there."""
    if _has_scope_around(tpu, call.node):
        return True
    function = tpu.code.function(call.node)
    calls = tpu.code.calls_by_name.get(getattr(function, "name", ""), []) if function is not None else []
    return any(_has_scope_around(tpu, caller.node) for caller in calls)


def _has_scope_around(tpu: TpuCode, node: ast.AST) -> bool:
    for around in tpu.code.ancestors(node, within_function=True):
        if isinstance(around, ast.With):
            contexts = [tpu.code.call(item.context_expr) for item in around.items]
            if any(call is not None and call.last == "scope" for call in contexts):
                return True
    return False


# Rules of TPUs: other processes, of which only one can have the TPU.


_TAKES_TPU = {
    "jax.devices", "jax.device_count", "jax.local_devices", "jax.local_device_count", "jax.default_backend",
    "torch_xla.core.xla_model.xla_device", "torch_xla.device",
}  # fmt: skip
_STARTS = {"subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output"}
_POOLS = {"multiprocessing.Pool", "concurrent.futures.ProcessPoolExecutor", "multiprocessing.Process"}
_PROGRAMS = {"python", "python3", "accelerate", "torchrun", "deepspeed"}


@tpu_rule("T007", "second-process", Severity.WARNING)
def second_process(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The notebook uses the TPU, and starts another Python program or copies of itself.

    One process owns the TPU: a script that imports JAX or torch_xla finds it in use and fails, or trains on the CPU
    without a word. A forked copy of a process with JAX in it can hang. Run the script before the notebook itself asks
    for devices, import it, or start workers by "spawn" with `JAX_PLATFORMS=cpu`.

    Source (2026-11-23): JAX, "TPU is already in use by process"; JAX's own warning at os.fork.
    """
    tpu_start = _find_tpu_start(tpu)
    if tpu_start is None or tpu.mentions("JAX_PLATFORMS", "JAX_PLATFORM_NAME"):
        return
    cells = tpu.code.cells
    for number, cell in enumerate(cells):
        for line, command in cell.commands.items():
            if (number, line) > tpu_start and _runs_python(command.split()):
                message = "The notebook already uses the TPU, so this program cannot open it."
                place = tpu.code.place(cell, line)
                yield RuleProblem(place, message, "Run it before the notebook opens the devices, or import it.")
    for call in tpu.code.calls:
        if tpu.code.function(call.node) is not None or tpu.code.order(call.node) < tpu_start:
            continue
        if call.name in _STARTS and _runs_python(_words(tpu, call)):
            message = "The notebook already uses the TPU, so this program cannot open it."
            yield RuleProblem(tpu.code.place(call.node), message, "Run it before the notebook opens the devices.")
        elif call.name in _POOLS and tpu.platform.jax and not _is_spawned(tpu, call):
            message = "This forks a process in which JAX uses the TPU. The child processes can hang."
            remedy = 'Use threads, or multiprocessing.get_context("spawn").'
            yield RuleProblem(tpu.code.place(call.node), message, remedy)


def _find_tpu_start(tpu: TpuCode) -> tuple[int, int] | None:
    """Where the notebook's own process takes the TPU, in the order of its cells."""
    places = [
        tpu.code.order(call.node)
        for call in tpu.code.calls
        if tpu.code.function(call.node) is None
        and (call.name in _TAKES_TPU or call.last in {"TPUStrategy", "initialize_tpu_system"})
    ]
    return min(places, default=None)


def _runs_python(words: list[str]) -> bool:
    """True for a command that runs a program of Python, rather than one of its tools."""
    if not words or words[0].rpartition("/")[2] not in _PROGRAMS:
        return False
    if any(word in {"-m", "--version", "-V"} for word in words[1:2]):
        return any(word.startswith("torch.distributed") for word in words[2:3])
    return any(word.endswith(".py") for word in words) or words[0].rpartition("/")[2] == "accelerate"


def _words(tpu: TpuCode, call: CodeCall) -> list[str]:
    arguments = tpu.code.resolve(call.argument(0, "args"))
    if isinstance(arguments, ast.List | ast.Tuple):
        return [_word(tpu, element) for element in arguments.elts]
    return (tpu.code.text(arguments) or "").split()


def _word(tpu: TpuCode, node: ast.expr) -> str:
    return "python" if tpu.code.name(node) == "sys.executable" else tpu.code.text(node) or ""


def _is_spawned(tpu: TpuCode, call: CodeCall) -> bool:
    is_asked_for = not tpu.code.callee_names.isdisjoint({"set_start_method", "get_context"})
    return is_asked_for or call.keyword("mp_context") is not None


# Rules of TPUs: how a training loop is set up for eight devices.


_OPTIMIZERS = {"adam", "adamw", "sgd", "rmsprop", "nadam", "adamax", "adagrad", "lamb", "lion", "adafactor", "radam"}
_OPTIMIZER_MODULES = ("keras.", "tensorflow.", "tensorflow_addons.", "optax.")
_AVERAGES = {"pmean", "psum", "all_gather", "psum_scatter"}
_CACHES = ("jax_compilation_cache_dir", "JAX_COMPILATION_CACHE_DIR", "compilation_cache")


@tpu_rule("T060", "learning-rate-not-scaled", Severity.NOTE)
def learning_rate_not_scaled(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The batch grows with the number of devices, but the learning rate does not.

    Eight devices take eight times fewer steps an epoch; with the learning rate of one they learn too slowly. Multiply
    it by the number of replicas (linear scaling), with a warm-up over the first epochs. A rate that was tuned on the
    TPU itself needs nothing.

    Source (2026-11-23): He et al., "Bag of tricks for image classification" (2018); Goyal et al. (2017).
    """
    sizes = [dataset.call.argument(0, "batch_size") for dataset in batched_datasets(tpu)]
    sizes += [call.keyword("batch_size") for call in tpu.code.calls if call.last == "fit"]
    is_scheduled = any("schedule" in call.last.lower() for call in tpu.code.calls)
    rates = any("lr" in name.lower() or "learning" in name.lower() for name in tpu.devices.names)
    if is_scheduled or rates or not any(size is not None and tpu.devices.decide(size) for size in sizes):
        return
    for call in tpu.code.calls:
        if call.last.lower() in _OPTIMIZERS and call.name.startswith(_OPTIMIZER_MODULES):
            rate = call.argument(0, "learning_rate", "lr")
            if rate is not None and tpu.devices.number(rate) is not None and not tpu.devices.decide(rate):
                message = "The batch grows with the number of devices, but the learning rate does not."
                remedy = f"Write {ast.unparse(rate)[:40]} * strategy.num_replicas_in_sync, with a warm-up."
                yield RuleProblem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T061", "one-step-per-call", Severity.NOTE)
def one_step_per_call(tpu: TpuCode) -> Iterator[RuleProblem]:
    """Keras on TensorFlow returns to Python after every step (`steps_per_execution` is 1).

    Small steps take less time on a TPU than the way there and back. `compile(..., steps_per_execution=32)` runs as many
    steps in one call; callbacks see every 32nd batch. Keras on JAX gains nothing by it, since it loops in Python.

    Source (2026-11-23): TensorFlow's guide to TPUs; Keras's own trainers.
    """
    names = tpu.code.callee_names
    if not tpu.platform.tensorflow or tpu.platform.keras_jax or "TPUStrategy" not in names or "fit" not in names:
        return
    for call in tpu.code.calls:
        is_compile = call.last == "compile" and call.receiver is not None and call.keyword("loss", "optimizer")
        setting = call.keyword("steps_per_execution", "experimental_steps_per_execution")
        if is_compile and not call.is_open and (setting is None or tpu.devices.number(setting) == 1):
            message = "Keras returns to Python after every step."
            yield RuleProblem(tpu.code.place(call.node), message, "Add steps_per_execution=32 to compile.")


@tpu_rule("T063", "gradients-not-averaged", Severity.WARNING, on_any_device=True)
def gradients_not_averaged(tpu: TpuCode) -> Iterator[RuleProblem]:
    """Each device uses only its own gradients, so eight models are trained, each on an eighth of the data.

    Nothing fails: one of the eight is saved, and scores less. In a function of `jax.pmap` average the gradients with
    `jax.lax.pmean(gradients, axis_name="batch")`; in processes of PyTorch/XLA step with
    `xm.optimizer_step(optimizer)`, which does it, rather than with `optimizer.step()`.

    Source (2026-11-23): JAX, pmap; PyTorch/XLA, "Running on multiple XLA devices with multi-processing".
    """
    for function in sorted(tpu.compilation.functions(ExecutionMode.PMAP | ExecutionMode.GRADIENT), key=tpu.code.order):
        ends = {call.last for call in tpu.compilation.calls_in(function)}
        steps = ends & {"apply_updates", "apply_gradients", "update", "tree_map", "map"} or _steps_by_hand(
            tpu, function
        )
        if steps and not ends & _AVERAGES:
            message = "Each device uses only its own gradients, so eight different models are trained."
            remedy = 'Write gradients = jax.lax.pmean(gradients, axis_name="batch"), with that axis_name in pmap.'
            yield RuleProblem(tpu.code.place(function), message, remedy)
    averaging = {"optimizer_step", "reduce_gradients", "all_reduce", "DistributedDataParallel"}
    if not tpu.spawn_calls() or averaging & tpu.code.callee_names:
        return
    for call in tpu.code.calls:
        if call.last == "step" and _is_optimizer(tpu, call) and tpu.code.function(call.node) is not None:
            message = "Each process uses only its own gradients, so eight different models are trained."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Write xm.optimizer_step(optimizer) instead of optimizer.step().",
            )


@tpu_rule("T067", "no-compilation-cache", Severity.NOTE)
def no_compilation_cache(tpu: TpuCode) -> Iterator[RuleProblem]:
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
            if any(call.last == "fit" for call in calls) and any(makes_keras_model(tpu, call) for call in calls):
                message = "Every fold compiles the same step again."
                yield RuleProblem(
                    tpu.code.place(loop),
                    message,
                    'Write os.environ["JAX_COMPILATION_CACHE_DIR"] = "/tmp/jax" above the first import.',
                )


def _steps_by_hand(tpu: TpuCode, function: FunctionNode) -> bool:
    """True for `w - 0.1 * gradient`."""
    parts = [operation for operation in tpu.code.inside(function) if isinstance(operation, ast.BinOp)]
    return any(
        isinstance(operation.op, ast.Sub)
        and isinstance(operation.right, ast.BinOp)
        and isinstance(operation.right.op, ast.Mult)
        for operation in parts
    )


def _is_optimizer(tpu: TpuCode, call: CodeCall) -> bool:
    name = call.receiver.id if isinstance(call.receiver, ast.Name) else ""
    constructor = tpu.code.call(tpu.code.resolve(call.receiver))
    return "opt" in name.lower() or (constructor is not None and constructor.name.startswith("torch.optim."))


# Rules of TPUs: the training loop of PyTorch/XLA, whose steps are recorded first and compiled as a whole.


_XM = "torch_xla.core.xla_model."
_LOADERS = {"ParallelLoader", "MpDeviceLoader", "per_device_loader"}  # which end a step with each batch
_MARKS = {"mark_step", "sync"}
_MANY_STEPS = {"jax.lax.scan", "jax.lax.fori_loop", "jax.lax.while_loop"}
_ADDRESSES = "TPU_PROCESS_ADDRESSES"
_FEW_TURNS = 20  # turns of a loop within a step
_DEEPEST_CALL = 3  # of a function that asks for a device


@tpu_rule("T062", "step-without-end", Severity.WARNING)
def step_without_end(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The end of a training step is not marked for PyTorch/XLA.

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
        message = "The end of a step is not marked, so the recorded graph grows with every step."
        remedy = "Call torch_xla.sync() after each step, or xm.optimizer_step(optimizer, barrier=True)."
        yield RuleProblem(tpu.code.place(call.node), message, remedy)


def _ends_step(tpu: TpuCode, call: CodeCall) -> bool:
    """True for what marks the end of steps; a mark outside of all loops and functions ends what stands above it."""
    if call.last in _LOADERS or (call.last == "compile" and call.name != "re.compile"):
        return True
    is_mark = call.last in _MARKS and (call.name.startswith("torch_xla.") or call.receiver is not None)
    is_mark = is_mark or call.name == "torch_xla.step"
    return is_mark and (tpu.code.function(call.node) is not None or any(tpu.loops(call.node)))


@tpu_rule("T064", "item-in-step", Severity.WARNING, on_any_device=True)
def item_in_step(tpu: TpuCode) -> Iterator[RuleProblem]:
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
            yield RuleProblem(
                tpu.code.place(node),
                message,
                "Write losses.append(loss) in the loop, and float(jnp.mean(jnp.stack(losses))) once per epoch.",
            )
    if not tpu.platform.torch:
        return
    loops = _step_loops(tpu)
    for call in tpu.code.calls:
        if call.last != "item" or call.node.args or tpu.code.is_conditional(call.node):
            continue
        if next(tpu.loops(call.node), None) in loops:
            message = "The loop waits for the device in every step to read this value."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Write total += loss.detach() in the loop, and total.item() once per epoch.",
            )


@tpu_rule("T065", "xla-tensors-saved", Severity.WARNING)
def xla_tensors_saved(tpu: TpuCode) -> Iterator[RuleProblem]:
    """`torch.save` writes tensors that are on the TPU.

    The file can be read only where torch_xla is installed, which is not so on a GPU or in inference. Save a copy on the
    CPU, `{k: v.cpu() for k, v in model.state_dict().items()}`, or use `xm.save`, which makes it.

    Source (2026-11-23): PyTorch/XLA, "Saving and loading XLA tensors".
    """
    if not tpu.platform.torch or not any(tpu.calls(*XLA_DEVICES)):
        return
    for call in tpu.calls("torch.save"):
        payload = tpu.code.resolve(call.argument(0, "obj"))
        states = (
            [inner_call for inner_call in tpu.code.below(payload) if inner_call.last == "state_dict"]
            if payload is not None
            else []
        )
        if states and not _is_on_cpu(tpu, call, states[0]):
            message = "These tensors are on the TPU. Their file can only be read with torch_xla."
            yield RuleProblem(
                tpu.code.place(call.node),
                message,
                "Write torch.save({k: v.cpu() for k, v in model.state_dict().items()}, path).",
            )


@tpu_rule("T008", "device-before-spawn", Severity.ERROR)
def device_before_spawn(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The notebook opens an XLA device before it starts a process for each core.

    The runtime is then this process's own, and the start fails: "Runtime is already initialized. Do not use the XLA
    device before calling xmp.spawn". Ask for the device in the function that is started.

    Source (2026-11-23): PyTorch/XLA, xla_multiprocessing.
    """
    launches = [call for call in tpu.calls("accelerate.notebook_launcher") if call.keyword("num_processes") is not None]
    starts = [call for call in [*tpu.spawn_calls(), *launches] if tpu.code.function(call.node) is None]
    if not starts:
        return
    first = min(tpu.code.order(call.node) for call in starts)
    for call in tpu.code.calls_inside(None):
        if tpu.code.order(call.node) < first and (call.name in XLA_DEVICES or _takes_device(tpu, call)):
            message = "This opens the TPU in the notebook's own process, so starting eight others fails."
            yield RuleProblem(tpu.code.place(call.node), message, "Move torch_xla.device() into the started function.")


def _takes_device(tpu: TpuCode, call: CodeCall, depth: int = 0) -> bool:
    """True for a call of a function that asks for an XLA device in this process, whatever it is given."""
    for function in tpu.compilation.resolve_functions(call.node.func):
        names = {inner_call.name for inner_call in tpu.compilation.calls_in(function)}
        if any(name.endswith((".spawn", ".launch", "notebook_launcher")) for name in names):
            continue
        for inner_call in tpu.code.calls_inside(function):
            is_asked = inner_call.name in XLA_DEVICES or (
                depth < _DEEPEST_CALL and _takes_device(tpu, inner_call, depth + 1)
            )
            if is_asked and _is_always_done(tpu, inner_call, function):
                return True
    return False


def _is_always_done(tpu: TpuCode, call: CodeCall, function: FunctionNode) -> bool:
    """True for a call in a function itself, below no condition, and before anything that may return."""
    inside = list(takewhile(lambda node: node is not function, tpu.code.ancestors(call.node)))
    branches = ast.If | ast.IfExp | ast.Match | ast.Try | ast.BoolOp | ast.FunctionDef | ast.Lambda | ast.ClassDef
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.lineno < call.node.lineno]
    return not returns and not any(isinstance(node, branches) for node in inside)


@tpu_rule("T066", "number-of-processes", Severity.WARNING)
def number_of_processes(tpu: TpuCode) -> Iterator[RuleProblem]:
    """Processes are started with a fixed number, such as `nprocs=8`.

    PyTorch/XLA 2 with PJRT starts one for each core by itself, and takes 1 or None: "Unsupported nprocs (8). Please use
    nprocs=1 or None (default)". Leave the argument out.

    Source (2026-11-27): pytorch/xla#7971, #8623 ("in 2.6 we make it a value error") and #8715.
    """
    for call in tpu.spawn_calls():
        number = tpu.devices.number(call.argument(2, "nprocs")) if call.last == "spawn" else None
        if number not in (None, 1) and not is_guarded(tpu.code, call.node, any_if=True):
            message = f"torch_xla cannot start {number:g} processes, only 1, or one per core with None."
            yield RuleProblem(tpu.code.place(call.node), message, "Remove nprocs.")


@tpu_rule("T068", "function-of-a-notebook-spawned", Severity.ERROR)
def function_of_a_notebook_spawned(tpu: TpuCode) -> Iterator[RuleProblem]:
    """A function of the notebook is started in new processes, which cannot import it.

    `xmp.spawn` and `torch_xla.launch` start their processes by "spawn" unless they are told otherwise. Each imports the
    function from where it was defined, and the cells of a notebook cannot be imported: "Can't get attribute '_mp_fn' on
    <module '__main__' (built-in)>". A process that is forked has the function.

    Source (2026-11-27): pytorch/xla#7761 ("notebooks must use start_method='fork'") and #2750 (on Kaggle);
    ProcessPoolExecutor, by which torch_xla starts them, in a notebook's kernel, tried.
    """
    if not tpu.code.is_notebook:
        return
    for call in tpu.spawn_calls():
        is_launch = call.last == "launch"
        method = call.argument(2 if is_launch else 5, "start_method")
        is_new = method is None or tpu.code.text(method) in ("spawn", "forkserver")
        is_one = is_launch and call.argument(3, "debug_single_process") is not None
        if is_new and not is_one and not call.is_open and tpu.compilation.resolve_functions(call.argument(0, "fn")):
            message = "The new processes must import this function, which is impossible for a notebook's cell."
            remedy = f'Write {ast.unparse(call.node.func)}(…, start_method="fork").'
            yield RuleProblem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T069", "slice-that-moves", Severity.WARNING)
def slice_that_moves(tpu: TpuCode) -> Iterator[RuleProblem]:
    """The training loop slices a tensor on the TPU with bounds that change in each step.

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
                message = f"`{name}` is on the TPU. Each slice with other bounds is compiled again."
                remedy = f"Keep {name} on the host, and write {ast.unparse(node)}.to(device)."
                yield RuleProblem(tpu.code.place(node), message, remedy)


def _is_on_tpu(tpu: TpuCode, value: ast.expr) -> bool:
    """True for a name whose tensor was made on an XLA device or moved there."""
    origin = tpu.code.call(tpu.code.resolve(value)) if isinstance(value, ast.Name) else None
    target = origin and (origin.argument(0, "device") if origin.last == "to" else origin.keyword("device"))
    device = tpu.code.call(tpu.code.resolve(target)) if target else None
    return device is not None and device.name in XLA_DEVICES


def _moves(tpu: TpuCode, node: ast.Subscript, loop: ast.For | ast.While) -> bool:
    """True if a bound of the slice depends on the number that the loop counts."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    bounds = [limit for part in parts if isinstance(part, ast.Slice) for limit in (part.lower, part.upper) if limit]
    names = [
        name_node for slice_bound in bounds for name_node in ast.walk(slice_bound) if isinstance(name_node, ast.Name)
    ]
    for value in [tpu.code.resolve(name_node) for name_node in names]:  # as of start = step * batch_size
        names += (
            [name_node for name_node in ast.walk(value) if isinstance(name_node, ast.Name)] if value is not None else []
        )
    return any(name_node.id == tpu.find_counter(loop) for name_node in names)


@tpu_rule("T009", "spawn-addresses", Severity.WARNING)
def spawn_addresses(tpu: TpuCode) -> Iterator[RuleProblem]:
    """Processes are started for each core while TPU_PROCESS_ADDRESSES is set.

    Kaggle's TPU image sets it to "local", and several processes then fail: "Expected 8 worker addresses, got 1". Remove
    it first, `os.environ.pop("TPU_PROCESS_ADDRESSES", None)`, or train in one process with SPMD.

    Source (2026-11-23): Kaggle/docker-python, tpu/Dockerfile; huggingface/transformers#28204.
    """
    if not tpu.mentions(_ADDRESSES):
        for call in tpu.spawn_calls()[:1]:
            message = f"Kaggle's image sets {_ADDRESSES}, with which several processes do not start."
            remedy = f'Call os.environ.pop("{_ADDRESSES}", None) before.'
            yield RuleProblem(tpu.code.place(call.node), message, remedy)


def _is_on_cpu(tpu: TpuCode, save: CodeCall, state: CodeCall) -> bool:
    """True if what is saved was moved to the CPU: the model before, or its tensors here."""
    payload = save.argument(0, "obj")
    around = tpu.code.below(save.node) + (tpu.code.below(tpu.code.resolve(payload) or save.node))
    model = state.receiver
    name = model.id if isinstance(model, ast.Name) else None
    return name in _moved_to_cpu(tpu) or any(_moves_to_cpu(tpu, call) for call in around)


@lru_cache(maxsize=1)
def _moved_to_cpu(tpu: TpuCode) -> frozenset[str]:
    """The names of what the notebook moves to the CPU."""
    moves = [call.receiver for call in tpu.code.calls if call.last in {"cpu", "to"} and _moves_to_cpu(tpu, call)]
    return frozenset(receiver.id for receiver in moves if isinstance(receiver, ast.Name))


def _moves_to_cpu(tpu: TpuCode, call: CodeCall) -> bool:
    if call.last in {"cpu", "_maybe_convert_to_cpu"}:
        return True
    target = call.argument(0, "device")
    device_call = tpu.code.call(target)
    return call.last == "to" and "cpu" in {
        tpu.code.text(target),
        tpu.code.text(device_call.argument(0)) if device_call else None,
    }


def _read_in_every_step(tpu: TpuCode) -> Iterator[ast.expr]:
    """Where a loop of the host reads a result of a compiled step in each turn: as a number, or as text."""
    reads: list[tuple[ast.expr, ast.expr | None]] = []
    for call in tpu.code.calls:
        if call.name in ("float", "int", "numpy.asarray", "numpy.array") and len(call.node.args) == 1:
            reads.append((call.node, call.node.args[0]))
        elif call.last == "item" and not call.node.args:
            reads.append((call.node, call.receiver))
        elif call.name == "print":
            reads += [(call.node, argument) for argument in call.node.args]
    for text in tpu.code.nodes(ast.JoinedStr):
        reads += [(text, part.value) for part in text.values if isinstance(part, ast.FormattedValue)]
    visited_nodes: set[ast.expr] = set()
    for node, expression in reads:
        value = expression
        while isinstance(value, ast.Subscript):  # metrics["loss"]
            value = value.value
        loop = next(tpu.loops(node), None)
        if (
            not isinstance(value, ast.Name)
            or node in visited_nodes
            or loop is None
            or tpu.compilation.is_on_device(node)
        ):
            continue
        if value.id in _results_of_steps(tpu, loop) and _is_in_each_turn(tpu, node, loop):
            visited_nodes.add(node)
            yield node


def _is_in_each_turn(tpu: TpuCode, node: ast.AST, loop: ast.For | ast.While) -> bool:
    """False below a condition, also `step % 100 == 0 and print(loss)`, and after a `continue`."""
    if tpu.code.is_conditional(node):
        return False
    if any(isinstance(ancestor, ast.BoolOp) for ancestor in tpu.code.ancestors(node, within_function=True)):
        return False
    return tpu.code.order(node) <= _first_continue(tpu, loop)


@lru_cache(maxsize=100)
def _first_continue(tpu: TpuCode, loop: ast.For | ast.While) -> tuple[float, float]:
    return min(
        (tpu.code.order(node) for node in walk_nodes(loop) if isinstance(node, ast.Continue)), default=(inf, inf)
    )


@lru_cache(maxsize=100)  # a loop may read thousands of values
def _results_of_steps(tpu: TpuCode, loop: ast.For | ast.While) -> frozenset[str]:
    """The names that a loop gives to what compiled training steps return, in no loop within it."""
    names: set[str] = set()
    for assign in (node for node in ast.walk(loop) if isinstance(node, ast.Assign)):
        step_call = tpu.code.call(assign.value)
        steps = tpu.compilation.resolve_functions(step_call.node.func) if step_call is not None else ()
        around = next(tpu.loops(assign), None)
        if not any(_is_one_step(tpu, step) for step in steps):
            continue
        if around is not loop and not _is_short(tpu, around):
            return frozenset()  # what stands in the outer loop warms up, or is done once an epoch
        if around is loop:
            names |= {node.id for target in assign.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return frozenset(names)


def _step_loops(tpu: TpuCode) -> set[ast.For | ast.While]:
    """The innermost loops around `backward`, without those around another one: a step there warms up."""
    backward = [call.node for call in tpu.code.calls if call.last == "backward"]
    chains = [chain for node in backward if (chain := [*tpu.loops(node)])]
    inner = {chain[0]: chain[1:] for chain in chains}
    return set(inner) - {
        outer_loop for loop, around in inner.items() if not _is_short(tpu, loop) for outer_loop in around
    }


def _is_short(tpu: TpuCode, loop: ast.For | ast.While | None) -> bool:
    """True for a loop over a few numbers, such as the steps of a discriminator."""
    call = tpu.code.call(loop.iter) if isinstance(loop, ast.For) else None
    number = tpu.code.number(call.argument(0)) if call is not None and call.name == "range" else None
    return number is not None and number < _FEW_TURNS


def _is_one_step(tpu: TpuCode, function: FunctionNode) -> bool:
    """True for a training step; a function that runs many of them on the device is read once for all."""
    if ExecutionMode.GRADIENT not in tpu.compilation.kinds.get(function, ExecutionMode.NOTHING):
        return False
    return not any(call.name in _MANY_STEPS for call in tpu.compilation.calls_in(function))
