"""Steps of PyTorch/XLA with another batch: a second process runs the cells, and cuts what they copy to the device."""

import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from generator.tpu_compiler.worker.cells import Place, notebook_of
from generator.tpu_compiler.worker.torch_steps import CaughtStep, Shape, TorchWatch


@dataclass(frozen=True)
class SecondRun:
    """The notebook of an order, which was run up to the steps of a watch, in the folder `working`."""

    order: dict[str, Any]
    watch: TorchWatch
    working: Path
    tell: Callable[[dict[str, Any]], None]

    def catch(self, lengths: Mapping[Shape, int]) -> tuple[list[CaughtStep], str]:
        """Returns the steps with batches of other lengths, by their shapes, and the error that ended the notebook."""
        self.tell({"progress": "runs the cells again, with another batch"})
        kinds = ("train", "predict") if self.order["predict"] else ("train",)
        wanted = {(each.what, each.place) for each in self.watch.caught if each.what in kinds}
        namespace = self.watch.notebook.namespace
        namespace.clear()  # or its data are in memory twice
        namespace["__spec__"] = None  # multiprocessing asks for that of __main__
        for entry in [*self.working.iterdir()]:
            (shutil.rmtree if entry.is_dir() and not entry.is_symlink() else os.unlink)(entry)
        # The first import loads the library that this module imports from.
        with ProcessPoolExecutor(1, get_context("spawn"), import_module, ("torch_xla",)) as pool:
            return pool.submit(_caught, self.order, dict(lengths), wanted).result()


def _caught(
    order: dict[str, Any], lengths: Mapping[Shape, int], wanted: set[tuple[str, Place]]
) -> tuple[list[CaughtStep], str]:
    notebook, told = notebook_of(order), list[dict[str, Any]]()
    watch = TorchWatch(notebook, told.append, lengths=lengths, wanted=wanted)
    watch.install()
    notebook.run_all(told.append)
    failed = [f"{each['failed']} ({each['cell']}, line {each['line']})" for each in told if "failed" in each]
    return watch.caught, "".join(failed)
