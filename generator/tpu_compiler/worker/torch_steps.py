"""Steps of PyTorch/XLA, caught where they would be compiled."""

import gc
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import _XLAC
import torch
import torch_xla
import torch_xla.debug.metrics as xla_metrics
import torch_xla.distributed.xla_multiprocessing as xmp
from _XLAC import _clear_pending_irs as clear_pending
from _XLAC import _get_xla_tensor_debug_info as told_of
from _XLAC import _get_xla_tensors_hlo as as_text
from _XLAC import _get_xla_tensors_hlo_proto as as_proto
from _XLAC import _xla_get_tensor_id as identity_of
from _XLAC import _xla_step_marker as run_pending
from _XLAC import _xla_tensors_from_aten as upload
from torch.overrides import TorchFunctionMode

from generator.tpu_compiler.worker import CellLine, EnoughSeenError, Notebook, load_notebook

# The operations that PyTorch/XLA leaves to the host, and the lines of a notebook that call for them.


class HostWatch(TorchFunctionMode):
    """The lines of a notebook that call for operations which PyTorch/XLA leaves to the host."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__()
        self._notebook = notebook
        self.places: dict[str, CellLine] = {}

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


# PyTorch/XLA shows what is pending in no other way.


_ON_ONE_CORE = (
    "The notebook starts a process for each core: one core's share was compiled, so that the operations between cores "
    "are not in the figures."
)

_WATCHED_SECONDS = 20.0  # after the last new step; by then an epoch's last batch has come, or is not waited for
_CALLS = 2  # the optimizer makes its state in the first
_NODE = re.compile(r"^IR: (?!None)(?!.*xla::device_data)", re.MULTILINE)
_NO_DATA = "Data Handle: None"
_COMPUTES = re.compile(r" (?:convolution|dot)\(")
_PARAMETER = re.compile(r"%\S+ = (\w+)\[([\d,]*)\]\S* parameter\((\d+)\)(?:, sharding=\{([^}]*)\})?")
_SPLIT = re.compile(r"devices=\[([\d,]+)\]")
_LOSS_THAT_IS_READ = "aten::_local_scalar_dense"


Shape = tuple[int, ...]


@dataclass
class CaughtStep:
    """A step as it was pending: `batch` are the places of the batch among the parameters of its program."""

    kind: str
    place: CellLine
    program: bytes = b""
    batch: list[int] = field(default_factory=list)
    parts: int = 1
    cores: int = 1
    parameters: int = 0
    shapes: dict[str, None] = field(default_factory=dict)
    calls: int = 0


class TorchWatch:
    """The steps of a notebook that trains with PyTorch/XLA.

    What is copied to the device in a shape of `lengths` gets another length there, for steps of another batch. With
    `wanted`, kinds and places of steps, it is enough to see those.
    """

    def __init__(
        self,
        notebook: Notebook,
        tell: Callable[[dict[str, Any]], None],
        *,
        lengths: Mapping[Shape, int] | None = None,
        targets: set[tuple[str, CellLine]] | None = None,
    ) -> None:
        self.notebook = notebook
        self._lengths, self._targets = lengths or {}, targets
        self._lengths_here = {length: shape[0] for shape, length in self._lengths.items()}
        self.caught_steps: list[CaughtStep] = []
        self.is_complete = True
        self.is_on_one_core = False
        self._tell = tell
        self._last = 0.0
        self._trains: CellLine | None = None  # where the pending backward was called
        self._moves_model = False
        self._uploads: set[Shape] = set()
        self._host = HostWatch(notebook)

    def install(self) -> None:
        """Begins."""
        _keep_device()
        self._stand_in_for_fetching()
        backward, move, to = torch.autograd.backward, torch.nn.Module.to, torch.Tensor.to

        def watched_backward(*arguments: Any, **keywords: Any) -> Any:
            self._trains = self.notebook.calling_place()
            return backward(*arguments, **keywords)

        def move_model(model: Any, *arguments: Any, **keywords: Any) -> Any:
            self._moves_model = True
            try:
                return move(model, *arguments, **keywords)
            finally:
                self._moves_model = False

        def watched_to(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
            way = tensor.device.type, _device_type(arguments, keywords)
            if way == ("xla", "cpu"):
                zeros = self._zeros_for(tensor)
                tensor = tensor if zeros is None else zeros
            elif way == ("cpu", "xla") and not self._moves_model:
                tensor = self._of_other_length(tensor)
                self._uploads.add(tuple(tensor.shape))
            return to(tensor, *arguments, **keywords)

        def watched_upload(tensors: Any, *arguments: Any, **keywords: Any) -> Any:
            tensors = [self._of_other_length(tensor) for tensor in tensors]
            self._uploads.update(tuple(tensor.shape) for tensor in tensors)
            return upload(tensors, *arguments, **keywords)

        def in_this_process(fn: Callable[..., Any], args: Any = (), *_arguments: Any, **_keywords: Any) -> None:
            self.is_on_one_core = True
            self._tell({"unknown": _ON_ONE_CORE})
            fn(0, *args)

        _put(torch.autograd, "backward", watched_backward)
        _put(torch.nn.Module, "to", move_model)
        _put(torch.Tensor, "to", watched_to)
        _put(xmp, "spawn", in_this_process)
        _put(torch_xla, "launch", in_this_process)
        _put(_XLAC, "_xla_tensors_from_aten", watched_upload)
        _put(_XLAC, "_xla_step_marker", self._marker)

    def _stand_in_for_fetching(self) -> None:
        """What would be fetched from a step that was not run are zeros."""
        for name in ("cpu", "item", "tolist", "__float__", "__int__", "__bool__"):
            real = getattr(torch.Tensor, name)

            def fetch(tensor: Any, *arguments: Any, real: Any = real, **keywords: Any) -> Any:
                zeros = self._zeros_for(tensor) if tensor.device.type == "xla" else None
                return real(tensor if zeros is None else zeros, *arguments, **keywords)

            _put(torch.Tensor, name, fetch)

    def _of_other_length(self, tensor: Any) -> Any:
        """A batch with as many examples as are wanted; anything else as it is."""
        length = self._lengths.get(tuple(tensor.shape))
        if length is None:
            return tensor
        return (tensor if length < len(tensor) else torch.cat([tensor, tensor]))[:length]

    def _marker(self, device: str, *arguments: Any, **keywords: Any) -> None:
        """Takes the place of compiling and running what is pending."""
        live = _live_tensors()
        pending = [tensor for tensor in live if _state(tensor) == "pending"]
        if self._trains is not None:
            self._catch("train", self._trains, pending, live)
            self._trains = None
        elif pending and _COMPUTES.search(as_text(pending)):
            self._catch("predict", self.notebook.calling_place(), pending, live)
        if self.caught_steps:
            # What follows a step that was not run cannot run either.
            clear_pending(str(torch_xla.device()))
        run_pending(device, *arguments, **keywords)
        self._end_if_seen()

    def _zeros_for(self, tensor: Any) -> Any:
        """Zeros of the CPU, where a tensor would have to be computed; None where it is there, or is no step's."""
        state = _state(tensor)
        if state == "pending" and _COMPUTES.search(as_text([tensor])):
            if not torch.is_grad_enabled():
                self._catch("predict", self.notebook.calling_place(), [tensor], _live_tensors())
                self._end_if_seen()
        elif state == "there" or not self.caught_steps:
            return None
        # The host has the notebook's own batch, and may compare.
        lengths = [self._lengths_here.get(length, length) for length in tensor.shape[:1]]
        return torch.zeros((*lengths, *tensor.shape[1:]), dtype=tensor.dtype)

    def _catch(self, step_kind: str, place: CellLine, pending: list[Any], live: list[Any]) -> None:
        text = as_text(pending)
        inputs = {int(number): (kind, shape, split) for kind, shape, number, split in _PARAMETER.findall(_entry(text))}
        uploads = [number for number, (_, shape, _) in inputs.items() if shape and _numbers(shape) in self._uploads]
        # Beside a batch the weights of classes are uploaded, or what has the shape of those.
        length = max((_numbers(inputs[number][1]) for number in uploads), key=math.prod, default=(0,))[0]
        batch_uploads = [number for number in uploads if _numbers(inputs[number][1])[0] == length]
        # Weights can be split over their first axis as well, and a batch be made on the device.
        split = [number for number, (_, _, split) in inputs.items() if _parts(split) > 1]
        batch = sorted({*split} & {*batch_uploads}) or sorted(split or batch_uploads)
        shapes = ", ".join(str(_numbers(inputs[number][1])) for number in batch[:3])
        step = next(
            (candidate for candidate in self.caught_steps if (candidate.kind, candidate.place) == (step_kind, place)),
            None,
        )
        if step is None:
            step = CaughtStep(step_kind, place)
            self.caught_steps.append(step)
            self._tell({"progress": f"catches the step {step_kind}"})
        if shapes not in step.shapes or step.calls < _CALLS:
            self._last = time.monotonic()
        step.shapes[shapes] = None
        step.calls += 1
        if len(step.shapes) == 1 and step.calls <= _CALLS:
            step.program, step.batch = as_proto(pending), batch
            step.parts = max((_parts(inputs[number][2]) for number in batch), default=1)
            step.cores = max((_cores(split) for _, _, split in inputs.values()), default=1)
            step.parameters = sum(tensor.numel() for tensor in live if isinstance(tensor, torch.nn.Parameter))
        # What the host does slows every step down: its line is looked for in the second.
        if step.calls == 1 and not self._host.places and xla_metrics.executed_fallback_ops():
            self._host.__enter__()

    def tell_what_the_host_does(self) -> None:
        """Tells of the operations that PyTorch/XLA left to the host, at the lines that called for them."""
        for step in self.caught_steps[:1]:
            for name in sorted(set(xla_metrics.executed_fallback_ops()) - {_LOSS_THAT_IS_READ}):
                place = self._host.places.get(name, step.place)
                self._tell({"on_host": name, "step": step.kind, "cell": place.cell, "line": place.line})

    def _end_if_seen(self) -> None:
        step_keys = {
            (step.kind, step.place) for step in self.caught_steps if step.kind != "train" or step.calls >= _CALLS
        }
        if {"train", "predict"} <= {kind for kind, _ in step_keys} or (self._targets and self._targets <= step_keys):
            raise EnoughSeenError
        if self._last and time.monotonic() - self._last > _WATCHED_SECONDS:
            self.is_complete = False
            raise EnoughSeenError


def _put(owner: Any, name: str, stand_in: Any) -> None:
    """Puts a stand-in in the place of a function of PyTorch's."""
    setattr(owner, name, stand_in)


def _device_type(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str | None:
    """The kind of device that Tensor.to, called so, is to copy to; None if it stays on its own."""
    for argument in (*arguments, *keywords.values()):
        device = getattr(argument, "device", argument)
        if isinstance(device, str | torch.device):
            return torch.device(device).type
    return None


def _keep_device() -> None:
    """A notebook that asks for the TPU gets the CPU's devices, which stand for it."""
    environment: Any = type(os.environ)
    real = environment.__setitem__

    def set_item(variables: Any, name: str, value: str) -> None:
        real(variables, name, "CPU" if name == "PJRT_DEVICE" else value)

    environment.__setitem__ = set_item


def _live_tensors() -> list[Any]:
    """The tensors of the device that Python holds, in the order in which they came to be."""
    tensors: dict[int, Any] = {}
    for candidate in gc.get_objects():
        if issubclass(type(candidate), torch.Tensor) and candidate.device.type == "xla":
            global_tensor = getattr(candidate, "global_tensor", candidate)  # of what mark_sharding returns
            for tensor in (global_tensor, global_tensor.grad if global_tensor.is_leaf else None):
                if tensor is not None:
                    tensors[identity_of(tensor)] = tensor
    return [tensors[identity] for identity in sorted(tensors)]


def _state(tensor: Any) -> str:
    """Whether a tensor is "pending", "there", or would be if its step had been "skipped"."""
    debug_info = told_of(tensor)
    if _NODE.search(debug_info):
        return "pending"
    return "skipped" if _NO_DATA in debug_info else "there"


def _entry(text: str) -> str:
    return text[text.find("\nENTRY ") :]


def _parts(sharding: str) -> int:
    """Into how many parts the first axis is split."""
    match = _SPLIT.search(sharding)
    return _numbers(match[1])[0] if match else 1


def _cores(sharding: str) -> int:
    """The devices that a sharding is over."""
    match = _SPLIT.search(sharding)
    return math.prod(_numbers(match[1])) if match else 1


def _numbers(shape: str) -> Shape:
    return tuple(int(length) for length in shape.split(",") if length)


# Steps of PyTorch/XLA with another batch: a second process runs the cells, and cuts what they copy to the device.


StepResult = tuple[list[CaughtStep], str]
"""The steps of a run of the cells, and the error that ended it, with its place; empty if none did."""


@dataclass(frozen=True)
class SecondRun:
    """The notebook of an order, which was run up to the steps of a watch, in the folder `working`."""

    order: dict[str, Any]
    watch: TorchWatch
    working: Path
    tell: Callable[[dict[str, Any]], None]

    def catch(self, lengths: Mapping[Shape, int]) -> StepResult:
        """Returns the steps with batches of other lengths, by their shapes, and the error that ended the notebook."""
        self.tell({"progress": "runs the cells again, with another batch"})
        kinds = ("train", "predict") if self.order["predict"] else ("train",)
        targets = {(step.kind, step.place) for step in self.watch.caught_steps if step.kind in kinds}
        namespace = self.watch.notebook.namespace
        namespace.clear()  # or its data are in memory twice
        namespace["__spec__"] = None  # multiprocessing asks for that of __main__
        os.chdir(self.working)  # the notebook may have gone elsewhere
        for entry in [*self.working.iterdir()]:
            (shutil.rmtree if entry.is_dir() and not entry.is_symlink() else os.unlink)(entry)
        context = get_context("spawn")
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(sending, self.order, dict(lengths), targets))
        process.start()
        sending.close()
        try:
            outcome: StepResult = receiving.recv()
        except EOFError:
            return [], "the process that ran the cells again died, perhaps for want of memory"
        else:
            return outcome
        finally:
            process.kill()  # the notebook may have left threads that wait for ever


def _run(
    sending: Connection, order: dict[str, Any], lengths: Mapping[Shape, int], targets: set[tuple[str, CellLine]]
) -> None:
    notebook, events = load_notebook(order), list[dict[str, Any]]()
    watch = TorchWatch(notebook, events.append, lengths=lengths, targets=targets)
    watch.install()
    notebook.run_all(events.append)
    failures = [f"{event['cell']}, line {event['line']}: {event['failed']}" for event in events if "failed" in event]
    sending.send((watch.caught_steps, "".join(failures)))
