"""Rules of TPUs: batches that Keras on JAX splits over the devices, which have to divide each of them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import floor

from generator.check.analysis.devices import DEVICES
from generator.check.analysis.platform import is_keras
from generator.check.analysis.tpu import TpuCode, tpu_rule
from generator.check.finding import Severity
from generator.check.rule import Problem
from generator.check.syntax import Call, is_true

_DEFAULT = 32  # Keras' batch size for arrays
_DEEPEST = 50
_ALL_DEVICES = {"jax.devices", "jax.local_devices", "keras.distribution.list_devices"}
_BY_SHAPE = {"zeros", "ones", "empty", "full"}
_BY_SIZES = {"rand", "randn"}  # of NumPy: a number for each axis
_SIZED = {"normal", "uniform", "random", "standard_normal", "integers", "randint", "random_sample"}
_SAME_ROWS = {"astype", "copy", "float", "clip", "asarray", "array", "ascontiguousarray", "to_numpy", "expand_dims"}
_OF_ARRAYS = ("numpy.", "jax.", "keras.")
_ON_KERAS_FIT = {"epochs", "validation_data", "validation_split", "callbacks", "steps_per_epoch", "initial_epoch"}
_IN_TRAINING = f"Train on .batch(batch_size, drop_remainder=True), with a batch_size that is a multiple of {DEVICES}."
_PADDED = f'repeat the last row: np.pad(x, [(0, -len(x) % {DEVICES}), *[(0, 0)] * (x.ndim - 1)], mode="edge")'
_ELSEWHERE = f"Take a batch_size that is a multiple of {DEVICES}, and {_PADDED}; "


@dataclass(frozen=True)
class _Fed:
    """What a model is fed with: the size of its batches, and the rows they are cut from (None: not known)."""

    call: Call
    what: str
    batch: float | None
    rows: float | None
    is_whole: bool = False  # the last batch is dropped, or as large as the others
    is_dataset: bool = False  # of tf.data, whose batches are made by the notebook

    @property
    def is_training(self) -> bool:
        """True for what a step of training is given."""
        return self.what == "`fit`"

    @property
    def remedy(self) -> str:
        """How its batches become whole."""
        if self.is_training:
            return _IN_TRAINING
        is_predicted = self.what == "`predict`"
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
def indivisible_batch(tpu: TpuCode) -> Iterator[Problem]:
    """Keras on JAX splits a batch over eight devices that do not divide it.

    With `keras.distribution.DataParallel` every batch is sharded along its first axis: one of 100 rows, or a last one
    of 26, ends in `IndivisibleError`. In `predict`, `evaluate` and validation that comes after the training.

    Source (2026-11-26): keras-team/keras#21167; executed with Keras 3.15 and JAX 0.10.2 on eight devices.
    """
    for fed in _fed(tpu):
        if fed.remainder:
            what = fed.what[0].upper() + fed.what[1:]
            message = f"{what} has a batch of {fed.remainder:g} rows, which {DEVICES} devices do not divide."
            yield Problem(tpu.code.place(fed.call.node), message, fed.remedy)


@tpu_rule("T026", "last-batch-may-not-divide", Severity.WARNING)
def last_batch_may_not_divide(tpu: TpuCode) -> Iterator[Problem]:
    """Keras on JAX splits a last batch over eight devices, which divide it by chance only.

    With `keras.distribution.DataParallel` every batch is sharded along its first axis. Where the number of rows is no
    multiple of 8, the last batch of a dataset that keeps it ends in `IndivisibleError`; in `predict` that comes after
    the training.

    Source (2026-11-26): keras-team/keras#21167; executed with Keras 3.15 and JAX 0.10.2 on eight devices.
    """
    for fed in _fed(tpu):
        if fed.is_dataset and fed.remainder is None and not fed.is_whole:
            message = f"The last batch of {fed.what} fails unless {DEVICES} divides the number of rows."
            yield Problem(tpu.code.place(fed.call.node), message, fed.remedy)


def fed_arrays(tpu: TpuCode) -> Iterator[_Fed]:
    """Return what `fit` trains on in arrays whose batches eight devices divide."""
    return (fed for fed in _fed(tpu) if not fed.is_dataset and not fed.remainder)


@lru_cache(maxsize=1)  # asked for each batch
def is_data_parallel(tpu: TpuCode) -> bool:
    """True if Keras on JAX splits each batch over all devices."""
    calls = [call for call in tpu.code.calls if call.name == "keras.distribution.DataParallel"]
    return tpu.platform.keras_jax and any(_is_of_all_devices(tpu, call) for call in calls)


def _is_of_all_devices(tpu: TpuCode, call: Call) -> bool:
    devices = call.keyword("devices")
    if devices is None:
        return not call.is_open and call.keyword("device_mesh") is None and not call.node.args
    listed = tpu.code.call(tpu.code.resolved(devices))
    return listed is not None and listed.name in _ALL_DEVICES


def _fed(tpu: TpuCode) -> Iterator[_Fed]:
    """Everything that the models of a notebook are fed with, where it is known what that is."""
    if not is_data_parallel(tpu):
        return
    models = set(_models(tpu))
    for call in tpu.code.calls:
        receiver = call.receiver
        if call.last not in ("fit", "evaluate", "predict") or receiver is None or call.is_open:
            continue
        if ast.dump(receiver) in models or (call.last == "fit" and any(call.keyword(each) for each in _ON_KERAS_FIT)):
            yield from _fed_by(tpu, call)


def _models(tpu: TpuCode) -> Iterator[str]:
    """The expressions that are Keras models: what is compiled, or made by Keras."""
    for call in tpu.code.calls:
        is_compiled = call.last == "compile" and call.name != "re.compile" and call.receiver is not None
        if is_compiled or (call.last == "fit" and any(call.keyword(each) for each in _ON_KERAS_FIT)):
            yield ast.dump(call.receiver) if call.receiver is not None else ""
    for assign in tpu.code.nodes(ast.Assign):
        made = tpu.code.call(assign.value)
        is_model = made is not None and made.last in ("Sequential", "Model", "load_model", "Functional")
        if made is not None and is_model and is_keras(made.name, tpu.code):
            for target in assign.targets:
                if isinstance(target, ast.Name):
                    yield ast.dump(ast.Name(target.id, ast.Load()))


def _fed_by(tpu: TpuCode, call: Call) -> Iterator[_Fed]:
    examples = call.argument(0, "x")
    given = call.argument(1 if call.last == "predict" else 2, "batch_size")
    batch = tpu.devices.number(given) if given is not None and not _is_none(given) else float(_DEFAULT)
    name = f"`{call.last}`"
    dataset = _dataset(tpu, call, examples, name)
    split = tpu.devices.number(call.keyword("validation_split")) if call.last == "fit" else None
    if dataset is not None:
        yield dataset
    elif examples is not None and _is_array(tpu, examples, is_targeted=call.last != "predict" and _has_targets(call)):
        rows = _rows(tpu, examples)
        if split and rows is not None:
            kept = floor(rows * (1 - split))
            yield _Fed(call, f"the validation of {name}", batch, rows - kept)
            rows = kept
        yield _Fed(call, name, batch, rows)
    validation = tpu.code.resolved(call.keyword("validation_data")) if call.last == "fit" else None
    if isinstance(validation, ast.Tuple | ast.List) and validation.elts:
        size = call.keyword("validation_batch_size")
        yield _Fed(
            call,
            f"the validation of {name}",
            batch if size is None else tpu.devices.number(size),
            _rows(tpu, validation.elts[0]),
        )
    elif validation is not None:
        fed = _dataset(tpu, call, call.keyword("validation_data"), f"the validation of {name}")
        if fed is not None:
            yield fed


def _has_targets(call: Call) -> bool:
    return call.argument(1, "y") is not None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_array(tpu: TpuCode, node: ast.expr, *, is_targeted: bool) -> bool:
    """True for an array: it has targets beside it, or it is seen how it is made."""
    return is_targeted or _rows(tpu, node) is not None


def _dataset(tpu: TpuCode, call: Call, node: ast.expr | None, what: str) -> _Fed | None:
    """What a dataset of tf.data gives, whose batches are made in sight."""
    node = tpu.code.resolved(node)
    after: list[Call] = []
    for _ in range(_DEEPEST):
        made = tpu.code.call(node)
        if made is None or made.receiver is None:
            return None
        if made.last == "batch":
            break
        after.append(made)
        node = tpu.code.resolved(made.receiver)
    else:
        return None
    if {"unbatch", "rebatch", "filter", "flat_map", "padded_batch"} & {each.last for each in after} or made.is_open:
        return None
    batch = tpu.devices.number(made.argument(0, "batch_size"))
    drops = made.argument(1, "drop_remainder")
    before, rows = _before(tpu, made.receiver)
    is_whole = is_true(drops) or "repeat" in before
    if batch is None and not (drops is None or is_whole):
        return None
    return _Fed(call, what, batch, rows, is_whole, is_dataset=True)


def _before(tpu: TpuCode, node: ast.expr | None) -> tuple[set[str], float | None]:
    """The methods of a dataset down to where it begins, and its rows where nothing but order changes them."""
    methods: set[str] = set()
    limits: list[float | None] = []
    for _ in range(_DEEPEST):
        made = tpu.code.call(tpu.code.resolved(node))
        if made is None:
            return methods, None
        methods.add(made.last)
        if made.last == "from_tensor_slices" and made.node.args:
            rows = _rows(tpu, made.node.args[0])
            known = [each for each in limits if each is not None]
            is_known = rows is not None and len(known) == len(limits)
            return methods, min([rows, *known]) if is_known and rows is not None else None
        if made.last == "take":
            limits.append(tpu.devices.number(made.argument(0, "count")))
        elif made.last not in ("shuffle", "map", "cache", "prefetch", "with_options", "repeat"):
            limits.append(None)
        if made.last == "repeat" and (made.node.args or made.node.keywords):
            limits.append(None)
            methods.discard("repeat")
        node = made.receiver
    return methods, None


def _rows(tpu: TpuCode, node: ast.expr | None, depth: int = 0) -> float | None:
    """The length of an array, as far as it is seen how it is made."""
    node = tpu.code.resolved(node)
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


def _first_axis(tpu: TpuCode, call: Call) -> ast.expr | None:
    """The length of the first axis of an array that a call makes or gives another shape."""
    last, first = call.node.args[-1] if call.node.args else None, call.argument(0, "shape")
    if call.last == "reshape":
        shape = last if call.name.startswith(_OF_ARRAYS) else first
    elif call.last in _SIZED:
        shape = call.keyword("size") or last
    elif call.last in _BY_SHAPE or call.last in _BY_SIZES or (call.last == "arange" and len(call.node.args) == 1):
        shape = first
    else:
        return None
    shape = tpu.code.resolved(shape)
    if isinstance(shape, ast.Tuple | ast.List):
        return shape.elts[0] if shape.elts else None
    return None if call.last in _SIZED else shape


def _rows_of_slice(tpu: TpuCode, node: ast.Subscript, depth: int) -> float | None:
    part = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    if not isinstance(part, ast.Slice) or part.step is not None:
        return None
    rows = _rows(tpu, node.value, depth + 1)
    lower = 0.0 if part.lower is None else _bound(tpu, part.lower, rows)
    upper = rows if part.upper is None else _bound(tpu, part.upper, rows)
    if rows is None or lower is None or upper is None:
        return None
    return max(0.0, min(upper, rows) - min(lower, rows))


def _bound(tpu: TpuCode, node: ast.expr, rows: float | None) -> float | None:
    """Where a slice begins or ends, counted from the beginning."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        back = tpu.devices.number(node.operand)
        return None if rows is None or back is None else rows - back
    return tpu.devices.number(node)
