"""The operations that PyTorch/XLA leaves to the host, and the lines of a notebook that call for them."""

from typing import Any

import torch_xla.debug.metrics as xla_metrics
from torch.overrides import TorchFunctionMode

from generator.tpu_compiler.worker.cells import Notebook, Place


class HostWatch(TorchFunctionMode):
    """The lines of a notebook that call for operations which PyTorch/XLA leaves to the host."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__()
        self._notebook = notebook
        self.places: dict[str, Place] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function of PyTorch's, and looks whether the host had to do a part of it."""
        before = _on_host()
        result = func(*args, **(kwargs or {}))
        for name, count in _on_host().items():
            if count > before.get(name, 0):
                self.places.setdefault(name, self._notebook.calling_place())
        return result


def _on_host() -> dict[str, int]:
    return {name: xla_metrics.counter_value(name) for name in xla_metrics.executed_fallback_ops()}
