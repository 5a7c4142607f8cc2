"""The story of the process: run the notebook until its steps are caught, compile them, tell what came of it."""

import ast
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from generator.tpu_compiler.worker import CellLine, EnoughSeenError, Notebook, WorkerCell, load_notebook

# Steps in TensorFlow.


UNKNOWN = (
    "The step is TensorFlow's own: XLA compiled it for the CPU, which tells what a TPU refuses, and neither its memory "
    "nor its time; and it is one core's share, without the operations between cores."
)

_WATCHED_SECONDS = 20.0  # after the first step


class TensorFlowWatch:
    """The compiled steps of a notebook that writes its own in TensorFlow; replaces `tf.function` and `Strategy.run`.

    It compiles each step by XLA for the CPU, as a TPU would for itself. XLA for the CPU and the TPU's compiler agreed
    on what they take in all but a few of about 145 steps; of memory and time it tells nothing. A notebook's TPU is
    replaced by the default strategy, which is one core of it.
    """

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


# The process.


_ON_ONE_CORE = (
    "The notebook is TensorFlow's: its Keras model was compiled on JAX, for one core's share of the batch, so that the "
    "operations between cores are not in the figures."
)
_NO_TORCH_XLA = (
    "torch_xla is not installed, so the steps of this notebook were not seen: whether they compile for a TPU, and what "
    "they take, is not known. Install torch==2.9.0 and torch_xla==2.9.0 beside the extra tpu, in an environment of "
    "their own, as torch_xla goes with no other PyTorch."
)


class Parent:
    """The pipes to the kit: events go out, what is in the cache comes in."""

    def __init__(self, events: int, answers: int) -> None:
        self._events = os.fdopen(events, "w", encoding="utf-8")
        self._answers = os.fdopen(answers, encoding="utf-8")

    def tell(self, event: dict[str, Any]) -> None:
        """Writes an event."""
        self._events.write(json.dumps(event) + "\n")
        self._events.flush()

    def recall(self, key: str) -> dict[str, Any] | None:
        """Asks for what the compiler said of a program before."""
        self.tell({"ask": key})
        answer = json.loads(self._answers.readline() or "null")
        return answer if isinstance(answer, dict) else None


def main() -> None:
    """Does what the order on standard input says."""
    order = json.loads(sys.stdin.buffer.read())
    parent = Parent(order["events"], order["answers"])
    notebook = load_notebook(order)
    if _trains_with_torch_xla(notebook.cells):
        _torch(notebook, order, parent)
    elif _writes_tensorflow_steps(notebook.cells):
        _tensorflow(notebook, parent)
    else:
        _jax(notebook, order, parent)
    parent.tell({"done": True})


def _nodes(cells: Iterable[WorkerCell]) -> Iterator[ast.AST]:
    """All that stands in the cells, without lines that are IPython's own."""
    for cell in cells:
        lines = cell.source.splitlines()
        try:
            yield from ast.walk(ast.parse("\n".join("" if line.startswith(("%", "!")) else line for line in lines)))
        except SyntaxError:  # magics, mostly
            continue


def _trains_with_torch_xla(cells: Iterable[WorkerCell]) -> bool:
    """Whether a cell imports PyTorch/XLA."""
    for node in _nodes(cells):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] == "torch_xla" for name in names):
            return True
    return False


def _writes_tensorflow_steps(cells: Iterable[WorkerCell]) -> bool:
    """Whether a cell has a training step of its own in TensorFlow; Keras's own is the same on JAX."""
    for node in _nodes(cells):
        if isinstance(node, ast.Attribute) and node.attr == "GradientTape":
            return True
        if isinstance(node, ast.Attribute) and node.attr == "function" and isinstance(node.value, ast.Name):
            return True
    return False


def _torch(notebook: Notebook, order: dict[str, Any], parent: Parent) -> None:
    parent.tell({"framework": "torch"})
    if find_spec("torch_xla") is None:
        parent.tell({"unknown": _NO_TORCH_XLA, "unseen": True})
        return
    parent.tell({"progress": "starts PyTorch/XLA"})
    import_module("torch_xla")  # loads the library that the next one imports from
    from generator.tpu_compiler.worker.torch_steps import TorchWatch

    watch, working = TorchWatch(notebook, parent.tell), Path.cwd()
    watch.install()
    notebook.run_all(parent.tell)
    watch.tell_what_the_host_does()
    import jax

    from generator.tpu_compiler.worker.compiler import Compiler, StepCompilation
    from generator.tpu_compiler.worker.torch_program import TorchSteps
    from generator.tpu_compiler.worker.torch_steps import SecondRun

    jax.config.update("jax_enable_x64", True)  # PyTorch computes some numbers so
    if watch.is_on_one_core:
        order["cores"] = 1
    steps = TorchSteps(watch, _tpu_devices(order) or jax.devices(), SecondRun(order, watch, working, parent.tell).catch)
    StepCompilation(steps, Compiler(order, parent.recall, parent.tell), order, parent.tell).tell_all()


def _tpu_devices(order: dict[str, Any]) -> list[Any]:
    """The devices of the TPU that is compiled for; none where XLA's compiler for the CPU stands in."""
    if order["topology"] == "cpu":
        return []
    from jax.experimental import topologies

    bounds = {"chips_per_host_bounds": (1, 1, 1)} if order["is_single_chip"] else {}
    return list(topologies.get_topology_desc(order["topology"], "tpu", **bounds).devices)


def _tensorflow(notebook: Notebook, parent: Parent) -> None:

    parent.tell({"framework": "tensorflow", "unknown": UNKNOWN})
    TensorFlowWatch(notebook, parent.tell).install()
    notebook.run_all(parent.tell)


def _jax(notebook: Notebook, order: dict[str, Any], parent: Parent) -> None:
    import jax

    from generator.tpu_compiler.worker.compiler import Compiler, StepCompilation, StepRecorder, TpuMesh, import_keras

    parent.tell({"progress": "starts JAX"})
    watch = StepRecorder(notebook, TpuMesh(_tpu_devices(order)), lambda text: parent.tell({"progress": text}))
    watch.install()
    if any("keras" in cell.source for cell in notebook.cells):
        import_keras()
    jax.config.update("jax_traceback_filtering", "off")
    notebook.run_all(parent.tell)
    if any("tf.distribute" in cell.source for cell in notebook.cells):
        # Its strategy is the default one here, which is one core of a TPU: that is no fault of the notebook's.
        order["cores"] = 1
        parent.tell({"unknown": _ON_ONE_CORE})
    StepCompilation(watch, Compiler(order, parent.recall, parent.tell), order, parent.tell).tell_all()


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001 - it is told as Python would, before the process ends
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(0)  # the notebook may have left threads that wait for ever
