"""Stands in for `tf.function` and `Strategy.run`: compiles each step by XLA for the CPU, as a TPU would for itself.

XLA for the CPU and the TPU's compiler agreed on what they take in all but a few of about 145 steps; of memory and time
it tells nothing. A notebook's TPU is replaced by the default strategy, which is one core of it.
"""

import time
from collections.abc import Callable
from typing import Any

from generator.tpu_compiler.worker.cells import CellLine, EnoughSeenError, Notebook

UNKNOWN = (
    "The step is TensorFlow's own: XLA compiled it for the CPU, which tells what a TPU refuses, and neither its memory "
    "nor its time; and it is one core's share, without the operations between cores."
)

_WATCHED_SECONDS = 20.0  # after the first step


class TensorFlowWatch:
    """The compiled steps of a notebook that writes its own in TensorFlow."""

    def __init__(self, notebook: Notebook, tell: Callable[[dict[str, Any]], None]) -> None:
        self.notebook = notebook
        self._tell = tell
        self._shapes: dict[str, list[str]] = {}
        self._start_time = 0.0
        self._pending: list[dict[str, Any]] = []  # steps that are traced, and not yet compiled

    def install(self) -> None:
        """Begins; imports TensorFlow."""
        import tensorflow as tf

        real, watch = tf.function, self
        is_distributed = any(".run(" in cell.source and "strategy" in cell.source for cell in self.notebook.cells)

        def function(func: Any = None, **options: Any) -> Any:
            if func is None:
                return lambda target: function(target, **options)
            if not watch.notebook.defines(func):
                return real(func, **options)
            jit_options = {} if is_distributed else {"jit_compile": True}
            return CompiledFunction(
                watch, real(func, **(options | jit_options)), func.__name__, is_outer=is_distributed
            )

        def run(_strategy: Any, fn: Any, args: Any = (), kwargs: Any = None, _options: Any = None) -> Any:
            inner = getattr(fn, "python_function", fn)
            return CompiledFunction(watch, real(inner, jit_compile=True), inner.__name__)(*args, **(kwargs or {}))

        tf.function = function
        if is_distributed:
            tf.distribute.Strategy.run = run
        strategy = tf.distribute.get_strategy
        tf.distribute.TPUStrategy = tf.distribute.experimental.TPUStrategy = lambda *_, **__: strategy()
        resolver = type(
            "TPUClusterResolver", (), {"__init__": _do_nothing, "master": lambda _self: "", "connect": _connect}
        )
        tf.distribute.cluster_resolver.TPUClusterResolver = resolver
        tf.config.experimental_connect_to_cluster = _do_nothing
        tf.tpu.experimental.initialize_tpu_system = _do_nothing

    def call_step(
        self, step: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], *, is_outer: bool
    ) -> Any:
        """Runs a compiled step, or traces it into what it is called from; tells of each new set of shapes."""
        import tensorflow as tf

        self._start_time = self._start_time or time.monotonic()
        place = self.notebook.calling_place()
        if not is_outer:
            self._tell_shapes(name, place, tf.nest.flatten((arguments, keywords)))
        try:
            result = step(*arguments, **keywords)
        except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError, tf.errors.NotFoundError) as error:
            if not tf.executing_eagerly():
                raise
            error_place = self.notebook.place_in_text(str(error)) or place
            self._tell(
                {"refused": str(error)[:20_000], "step": name, "cell": error_place.cell, "line": error_place.line}
            )
            raise EnoughSeenError from error
        if tf.executing_eagerly():
            while self._pending:
                self._tell(self._pending.pop(0))
            if self._is_enough():
                raise EnoughSeenError
        return result

    def _is_enough(self) -> bool:
        return any(len(shapes) > 1 for shapes in self._shapes.values()) or (
            time.monotonic() - self._start_time > _WATCHED_SECONDS
        )

    def _tell_shapes(self, name: str, place: CellLine, leaves: list[Any]) -> None:
        tensors = [leaf for leaf in leaves if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
        shapes = ", ".join(str(tuple(leaf.shape)) for leaf in tensors[:3])
        known_shapes = self._shapes.setdefault(name, [])
        if shapes in known_shapes:
            return
        known_shapes.append(shapes)
        at = {"step": name, "cell": place.cell, "line": place.line}
        if len(known_shapes) == 1:
            self._tell({"progress": f"compiles {name} by XLA for the CPU"})
            batch = (list(tensors[0].shape) or [0])[0] if tensors else 0
            kind = "predict" if "predict" in name else "train"
            self._pending.append(at | {"figures": {}, "what": kind, "batch_per_core": batch or 0})
        else:
            self._tell(at | {"recompilation": known_shapes})


class CompiledFunction:
    """A function under `tf.function`, compiled by XLA; `is_outer` where only a part of it is."""

    def __init__(self, watch: TensorFlowWatch, step: Any, name: str, *, is_outer: bool = False) -> None:
        self._watch, self._step, self._name, self._is_outer = watch, step, name, is_outer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Runs it, or traces it into the function that calls it."""
        return self._watch.call_step(self._step, self._name, arguments, keywords, is_outer=self._is_outer)


def _do_nothing(*_arguments: Any, **_options: Any) -> None:
    return None


def _connect(*_arguments: Any, **_options: Any) -> Any:
    return object()
