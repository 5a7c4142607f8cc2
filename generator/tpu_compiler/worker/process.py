"""The story of the process: run the notebook until its steps are caught, compile them, tell what came of it."""

import ast
import json
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from generator.tpu_compiler.worker.cells import Notebook, WorkerCell, load_notebook

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
    from generator.tpu_compiler.worker.tensorflow_steps import UNKNOWN, TensorFlowWatch

    parent.tell({"framework": "tensorflow", "unknown": UNKNOWN})
    TensorFlowWatch(notebook, parent.tell).install()
    notebook.run_all(parent.tell)


def _jax(notebook: Notebook, order: dict[str, Any], parent: Parent) -> None:
    import jax

    from generator.tpu_compiler.worker.compiler import Compiler, StepCompilation
    from generator.tpu_compiler.worker.steps import StepRecorder, TpuMesh, import_keras

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
