"""Rules of TPUs: how a notebook finds its devices, and puts a model on all of them."""

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from generator.check.analysis.models import builds_model, is_model
from generator.check.analysis.platform import XLA_DEVICES
from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.rule import Problem
from generator.check.syntax import Call, walk

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
def hidden_missing_tpu(tpu: TpuCode) -> Iterator[Problem]:
    """A session without its TPU goes unnoticed, since an `except` falls back to the default strategy or device.

    The helper dates from the time when one notebook served every accelerator. On Kaggle a pushed TPU notebook can land
    on a CPU without an error, and then trains for nine hours what takes minutes. Let the connection fail, or check what
    was found before training (`strategy.num_replicas_in_sync`, `jax.default_backend()`) and raise.

    Source (2026-11-23): Kaggle/kaggle-cli#1197; practitioners' notebooks of 2021 to 2023.
    """
    if _raises_without_devices(tpu):
        return
    for attempt in tpu.code.nodes(ast.Try):
        tried = [call for statement in attempt.body for call in tpu.runs_in(statement)]
        asked = [tpu.code.text(call.argument(0, "backend")) for call in tried if call.name in _JAX_DEVICES]
        if "tpu" not in asked and not any(call.last in _CONNECTS for call in tried):
            continue
        for handler in attempt.handlers:
            ends = _stops(tpu, handler) or _connects_after(tpu, attempt) or _is_checked_after(tpu, attempt)
            if not ends:
                message = "Without a TPU the notebook goes on by itself on whatever is there."
                remedy = "Write `raise` here, or before the training: assert strategy.num_replicas_in_sync == 8"
                if "tpu" in asked:
                    remedy = 'Write `raise` here, or before the training: assert jax.default_backend() == "tpu"'
                yield Problem(tpu.code.place(handler), message, remedy)


@tpu_rule("T002", "tensorflow-sees-no-tpu", Severity.WARNING)
def tensorflow_sees_no_tpu(tpu: TpuCode) -> Iterator[Problem]:
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
        message = "TensorFlow of Kaggle's TPU image finds no TPU."
        remedy = 'Train with Keras on JAX: os.environ["KERAS_BACKEND"] = "jax" above the first import.'
        yield Problem(tpu.code.place(call.node), message, remedy)


@tpu_rule("T003", "model-outside-scope", Severity.WARNING)
def model_outside_scope(tpu: TpuCode) -> Iterator[Problem]:
    """A model that is trained was not built inside the scope of the TPU's strategy.

    Where all is outside, it trains on one device; where `compile` or `fit` is inside, it stops with "Need to be inside
    with strategy.scope()" or "Mixing different tf.distribute.Strategy objects". Build and compile it in
    `with strategy.scope():`, and call `fit` outside.

    Source (2026-11-27): Keras 3.13 on TensorFlow 2.20 with two devices, tried.
    """
    has_strategy = "TPUStrategy" in tpu.code.called
    if not has_strategy or not tpu.code.called.isdisjoint({"experimental_set_strategy", "__enter__"}):
        return
    trained = [call.receiver for call in tpu.code.calls if call.last in {"fit", "fit_generator", "train_on_batch"}]
    seen: set[ast.AST] = set()
    for name in trained:
        given = tpu.code.given(name) if isinstance(name, ast.Name) else []
        built = [call for call in map(tpu.code.call, given) if call is not None and builds_model(tpu, call)]
        if built and not any(_is_in_scope(tpu, call) for call in built):
            for call in [call for call in built if call.node not in seen]:
                seen.add(call.node)
                message = "This model is built outside of the strategy's scope, and trained."
                yield Problem(tpu.code.place(call.node), message, "Move it and compile into `with strategy.scope():`.")


@tpu_rule("T004", "distribution-after-model", Severity.WARNING)
def distribution_after_model(tpu: TpuCode) -> Iterator[Problem]:
    """A model is built before `keras.distribution.set_distribution` says that there are several devices.

    Its variables are on the first device then. Set the distribution first, right after Keras is imported.

    Source (2026-11-23): Keras, guide to distributed training with JAX.
    """
    settings = [call for call in tpu.calls("keras.distribution.set_distribution") if _is_at_top(tpu, call)]
    if not tpu.platform.keras_jax or not settings:
        return
    first = min(tpu.code.order(call.node) for call in settings)
    for call in tpu.code.calls:
        if _is_at_top(tpu, call) and tpu.code.order(call.node) < first and builds_model(tpu, call):
            message = "This model is built before the distribution is set, so that it is on one device."
            yield Problem(
                tpu.code.place(call.node),
                message,
                "Write keras.distribution.set_distribution(keras.distribution.DataParallel()) above it.",
            )
            return


@tpu_rule("T005", "one-device-of-eight", Severity.WARNING)
def one_device_of_eight(tpu: TpuCode) -> Iterator[Problem]:
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
            yield Problem(tpu.code.place(call.node), "Keras on JAX trains on the first of eight devices.", on_keras)
    elif tpu.platform.jax:
        steps = [each for each in tpu.compiled.training_steps() if tpu.code.class_of(each) is None]
        for function in steps[:1]:
            yield Problem(tpu.code.place(function), "This step runs on the first of eight devices.", on_jax)
    elif tpu.platform.torch and any(call.last == "backward" and _is_repeated(tpu, call) for call in tpu.code.calls):
        starts = {"spawn", "launch", "use_spmd", "MpModelWrapper", "initialize", "init_process_group", "Accelerator"}
        devices = list(tpu.calls(*XLA_DEVICES))
        if devices and tpu.code.called.isdisjoint(starts):
            place = tpu.code.place(devices[0].node)
            yield Problem(place, "PyTorch/XLA trains on the first of eight devices.", on_torch)


@tpu_rule("T006", "fold-without-restart", Severity.WARNING)
def fold_without_restart(tpu: TpuCode) -> Iterator[Problem]:
    """A loop over folds builds a model in each, and never frees what the fold before left on the TPU.

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
            if "fit" in ends and any(is_model(tpu, call) for call in calls) and not ends & _RESTARTS:
                message = "Each fold builds a model, and what the fold before left stays in the TPU's memory."
                remedy = "Write keras.backend.clear_session() as the first line of the loop."
                yield Problem(tpu.code.place(loop), message, remedy)


def builds_some_model(tpu: TpuCode, call: Call) -> bool:
    """Return whether a call of `fit` is of a Keras model, as far as is known: an estimator is none."""
    given = tpu.code.given(call.receiver) if isinstance(call.receiver, ast.Name) else []
    return any(made is not None and builds_model(tpu, made) for made in map(tpu.code.call, given))


def _mentions_shards(tpu: TpuCode) -> bool:
    """True if the notebook names what splits arrays over devices, as a decorator too."""
    names = {node.attr for node in tpu.code.nodes(ast.Attribute)}
    names |= {tpu.code.full_name(name) for name in {node.id for node in tpu.code.nodes(ast.Name)}}
    return any(name.rpartition(".")[2] in _SHARDS or "sharding" in name.lower() for name in names)


def _is_repeated(tpu: TpuCode, call: Call) -> bool:
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
    return any(_stops(tpu, each) for each in (check.body if truth else check.orelse))


def _without_tpu(tpu: TpuCode, test: ast.expr, left: Mapping[str, ast.expr]) -> bool | None:
    """What a condition comes to in a session without its TPU; None where that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _without_tpu(tpu, test.operand, left)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = [_without_tpu(tpu, each, left) for each in test.values]
        decisive = isinstance(test.op, ast.Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    value = left.get(_stored_as(test))
    if value is not None:
        return bool(value.value) if isinstance(value, ast.Constant) else True if isinstance(value, ast.Call) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        value, other = left.get(_stored_as(test.left)), test.comparators[0]
        if isinstance(test.ops[0], ast.Is | ast.IsNot) and isinstance(other, ast.Constant) and value is not None:
            is_same = isinstance(value, ast.Constant) and value.value is other.value
            is_clear = isinstance(value, ast.Constant | ast.Call)
            return is_same is isinstance(test.ops[0], ast.Is) if is_clear else None
        sides = _number_without_tpu(tpu, test.left), _number_without_tpu(tpu, other)
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
    around = [each for end in ends for each in tpu.code.ancestors(end, within_function=True)]
    yield from tpu.code.nodes(ast.Assert)
    yield from dict.fromkeys(each for each in around if isinstance(each, ast.If))


@lru_cache(maxsize=1)  # asked for each `try`
def _checks_by_name(tpu: TpuCode) -> Mapping[str, list[ast.If | ast.Assert]]:
    """The conditions that name each name, the last ones."""
    found: dict[str, list[ast.If | ast.Assert]] = defaultdict(list)
    for check in sorted(_stopping_checks(tpu), key=tpu.code.order):
        for name in dict.fromkeys(map(_stored_as, walk(check.test))):
            found[name] = [*found[name][1 - _MOST_CHECKS :], check] if name else []
    return found


def _is_checked_after(tpu: TpuCode, attempt: ast.Try) -> bool:
    """True if the notebook stops below on what the attempt left: `if strategy is None: raise`."""
    handled = [each for handler in attempt.handlers for each in handler.body]
    nodes = [each for statement in [*attempt.body, *handled] for each in walk(statement)]
    names = {_stored_as(each) for each in nodes if isinstance(getattr(each, "ctx", None), ast.Store)} - {""}
    plain = [each for each in handled if isinstance(each, ast.Assign)]
    left = {_stored_as(target): each.value for each in plain for target in each.targets if _stored_as(target)}
    returned = [each.value for each in handled if isinstance(each, ast.Return) and each.value is not None]
    function = tpu.code.function(attempt)
    uses = tpu.code.uses_by_name.get(function.name, []) if isinstance(function, ast.FunctionDef) else []
    for parent in map(tpu.code.parent, uses):  # strategy = connect()
        assigned = tpu.code.parent(parent) if isinstance(parent, ast.Call) else None
        if isinstance(assigned, ast.Assign):
            own = {_stored_as(each) for target in assigned.targets for each in walk(target)} - {"", "self"}
            names |= own
            left |= dict.fromkeys(own & {_stored_as(assigned.targets[0])}, returned[0]) if len(returned) == 1 else {}
    checks = [check for name in names for check in _checks_by_name(tpu).get(name, ())]
    below = [each for each in checks if tpu.code.order(each) > tpu.code.order(attempt)]
    return any(attempt not in tpu.code.ancestors(each) and _may_stop(tpu, each, left) for each in below)


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
    made = [call.node for call in tpu.code.calls if call.last == "TPUStrategy"]
    guards = ast.Try | ast.If | ast.IfExp
    free = [each for each in made if not any(isinstance(around, guards) for around in tpu.code.ancestors(each))]
    return max(map(tpu.code.order, free), default=(-1, 0))


def _stops(tpu: TpuCode, node: ast.AST) -> bool:
    """True if a statement can end the notebook."""
    raises = any(isinstance(each, ast.Raise) for each in walk(node))
    return raises or any(call.name in _STOPS for call in tpu.code.below(node))


def _is_at_top(tpu: TpuCode, call: Call) -> bool:
    return tpu.code.function(call.node) is None


def _is_in_scope(tpu: TpuCode, call: Call) -> bool:
    """True if a call is in `with strategy.scope():`, or in a function that is called there."""
    if _has_scope_around(tpu, call.node):
        return True
    function = tpu.code.function(call.node)
    calls = tpu.code.calls_by_name.get(getattr(function, "name", ""), []) if function is not None else []
    return any(_has_scope_around(tpu, each.node) for each in calls)


def _has_scope_around(tpu: TpuCode, node: ast.AST) -> bool:
    for around in tpu.code.ancestors(node, within_function=True):
        if isinstance(around, ast.With):
            entered = [tpu.code.call(item.context_expr) for item in around.items]
            if any(call is not None and call.last == "scope" for call in entered):
                return True
    return False
