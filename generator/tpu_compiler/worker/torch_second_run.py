"""Steps of PyTorch/XLA with another batch: a second process runs the cells, and cuts what they copy to the device."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch_xla  # noqa: F401 - loads the library that torch_steps imports from

from generator.tpu_compiler.worker.cells import Place, notebook_of
from generator.tpu_compiler.worker.torch_steps import CaughtStep, Shape, TorchWatch

Caught = tuple[list[CaughtStep], str]
"""The steps of a run of the cells, and the error that ended it, with its place; empty if none did."""


@dataclass(frozen=True)
class SecondRun:
    """The notebook of an order, which was run up to the steps of a watch, in the folder `working`."""

    order: dict[str, Any]
    watch: TorchWatch
    working: Path
    tell: Callable[[dict[str, Any]], None]

    def catch(self, lengths: Mapping[Shape, int]) -> Caught:
        """Returns the steps with batches of other lengths, by their shapes, and the error that ended the notebook."""
        self.tell({"progress": "runs the cells again, with another batch"})
        kinds = ("train", "predict") if self.order["predict"] else ("train",)
        wanted = {(each.what, each.place) for each in self.watch.caught if each.what in kinds}
        namespace = self.watch.notebook.namespace
        namespace.clear()  # or its data are in memory twice
        namespace["__spec__"] = None  # multiprocessing asks for that of __main__
        os.chdir(self.working)  # the notebook may have gone elsewhere
        for entry in [*self.working.iterdir()]:
            (shutil.rmtree if entry.is_dir() and not entry.is_symlink() else os.unlink)(entry)
        context = get_context("spawn")
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(sending, self.order, dict(lengths), wanted))
        process.start()
        sending.close()
        try:
            caught: Caught = receiving.recv()
        except EOFError:
            return [], "the process that ran the cells again died, perhaps for want of memory"
        else:
            return caught
        finally:
            process.kill()  # the notebook may have left threads that wait for ever


def _run(
    sending: Connection, order: dict[str, Any], lengths: Mapping[Shape, int], wanted: set[tuple[str, Place]]
) -> None:
    notebook, told = notebook_of(order), list[dict[str, Any]]()
    watch = TorchWatch(notebook, told.append, lengths=lengths, wanted=wanted)
    watch.install()
    notebook.run_all(told.append)
    failed = [f"{each['cell']}, line {each['line']}: {each['failed']}" for each in told if "failed" in each]
    sending.send((watch.caught, "".join(failed)))
