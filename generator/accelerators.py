"""Accelerators: what Kaggle and Colab lend, and how long a training takes there."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

# The catalog of accelerators that Kaggle and Colab lend, read from the dated file beside this module.


class AcceleratorKind(StrEnum):
    """The kinds of device that compute in a session."""

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"


class Service(StrEnum):
    """Who lends an accelerator; nobody lends the machine that the kit runs on."""

    KAGGLE = "kaggle"
    COLAB = "colab"
    HERE = "here"


class Status(StrEnum):
    """Who can have an accelerator today."""

    OFFERED = "offered"
    COMPETITION = "competition"
    RETIRED = "retired"


@dataclass(frozen=True)
class Chip:
    """The chip of an accelerator as its data sheet describes it; a figure that is not known is None or missing.

    Attributes:
        name: What its maker calls it.
        kind: GPU or TPU.
        memory_gb: Memory of the chip.
        bandwidth: Of that memory, in GB/s.
        rates: Dense matrix operations in 10^12 a second, by dtype.
        source: Where the figures stand.
    """

    name: str
    kind: AcceleratorKind
    memory_gb: float
    source: str
    bandwidth: float | None = None
    rates: Mapping[str, float] = field(default_factory=dict)

    @property
    def training_dtype(self) -> str:
        """The dtype that matrices multiply in when the notebooks train on it."""
        return "bfloat16" if self.kind is AcceleratorKind.TPU else "float16"


@dataclass(frozen=True)
class UnitPrice:
    """What an hour costs in Colab's units, and since when that is known."""

    per_hour: float
    as_of: date | int
    source: str


@dataclass(frozen=True)
class Accelerator:
    """One choice of the accelerator menu of Kaggle or Colab; what is not known of it is None.

    Attributes:
        machine_shape: The id in `kernel-metadata.json`; empty without an accelerator, and on Colab.
        name: What the menu calls it.
        kind: CPU, GPU or TPU.
        session_hours: How long one session may last.
        source: Where its figures stand.
        good_for: What it is good for, in a few words.
        service: Who lends it.
        status: Who can have it today.
        chip: The chip that computes; None for a CPU.
        chips: How many of them there are.
        devices: How many devices a framework sees.
        cores: CPU cores of the machine; the fewest, where hosts differ.
        max_cores: CPU cores of the largest host, where hosts differ.
        host_memory_gib: Memory of the machine.
        disk_gb: Disk for what a session writes and keeps.
        tmp_gb: Disk for temporary files (`/kaggle/tmp`), which the session does not keep.
        weekly_hours: How long all sessions of a week may last, or None without such a limit.
        concurrent_sessions: How many sessions of its kind an account may have at a time, queued ones included.
        units: What an hour costs on Colab, the latest price last.
        replaced_by: The machine shape that took its place.
        retired_on: When that was.
    """

    machine_shape: str
    name: str
    kind: AcceleratorKind
    session_hours: int
    source: str
    good_for: str
    service: Service = Service.KAGGLE
    status: Status = Status.OFFERED
    chip: Chip | None = None
    chips: int = 0
    devices: int = 1
    cores: int | None = None
    host_memory_gib: float | None = None
    max_cores: int | None = None
    disk_gb: float | None = None
    tmp_gb: float | None = None
    weekly_hours: int | None = None
    concurrent_sessions: int | None = None
    units: tuple[UnitPrice, ...] = ()
    replaced_by: str | None = None
    retired_on: str = ""

    @property
    def title(self) -> str:
        """The accelerator with who lends it, as both have a T4."""
        name = self.name if self.name != "None" else "CPU"
        return name if self.service is Service.HERE else f"{self.service.capitalize()} {name}"

    @property
    def device_memory_gib(self) -> float | None:
        """Memory of each device, in GiB: chips of two cores are two devices that share it."""
        return None if self.chip is None else self.chip.memory_gb * self.chips / self.devices

    def rate(self, dtype: str) -> float | None:
        """Operations a second of all chips for a dtype, or None if it is not known or they do not have it."""
        chip_rate = self.chip.rates.get(dtype) if self.chip else None
        return None if chip_rate is None else chip_rate * 1e12 * self.chips

    @property
    def bandwidth(self) -> float | None:
        """Bytes a second that all chips together move to and from their memory."""
        chip_bandwidth = self.chip.bandwidth if self.chip else None
        return None if chip_bandwidth is None else chip_bandwidth * 1e9 * self.chips


@dataclass(frozen=True)
class Experience:
    """What is reached of a data sheet, and what a session needs beside its steps, as measured."""

    attainable: float
    cpu_attainable: float
    loop_seconds: float
    epoch_seconds: float
    prediction_share: float
    rows_per_second: float
    pixels_per_second: float
    weights_per_second: float


@dataclass(frozen=True)
class AcceleratorCatalog:
    """All accelerators as of a date.

    Attributes:
        as_of: When the facts were last checked.
        accelerators: What Kaggle offers everybody, by machine shape.
        training: What a training notebook asks for.
        inference: What an inference notebook asks for.
        replacements: Machine shapes that are no longer offered, with what the server runs instead.
        all_accelerators: All of it, with what only competitions lend, what was retired, and what Colab lends.
        experience: What of the figures is reached.
        dollars_per_unit: What one of Colab's units costs.
    """

    as_of: date
    accelerators: Mapping[str, Accelerator]
    training: Accelerator
    inference: Accelerator
    replacements: Mapping[str, Accelerator]
    all_accelerators: tuple[Accelerator, ...]
    experience: Experience
    dollars_per_unit: float


@cache
def catalog() -> AcceleratorCatalog:
    """The catalog that comes with this version of the kit."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    chips = {entry["name"]: Chip(**{**entry, "kind": AcceleratorKind(entry["kind"])}) for entry in data["chip"]}
    all_accelerators = tuple(_accelerator(entry, chips) for entry in data["runtime"])
    of_kaggle = [accelerator for accelerator in all_accelerators if accelerator.service is Service.KAGGLE]
    offers = {
        accelerator.machine_shape: accelerator for accelerator in of_kaggle if accelerator.status is Status.OFFERED
    }
    return AcceleratorCatalog(
        as_of=data["as_of"],
        accelerators=offers,
        training=offers[data["training"]],
        inference=offers[data["inference"]],
        replacements={shape: offers[replacement] for shape, replacement in data["retired"].items()},
        all_accelerators=all_accelerators,
        experience=Experience(**data["experience"]),
        dollars_per_unit=data["money"]["dollars_per_unit"],
    )


def _accelerator(entry: Mapping[str, Any], chips: Mapping[str, Chip]) -> Accelerator:
    typed_fields: dict[str, Any] = {
        "kind": AcceleratorKind(entry["kind"]),
        "service": Service(entry["service"]),
        "status": Status(entry["status"]),
        "units": tuple(UnitPrice(**price) for price in entry.get("units", ())),
    }
    if "chip" in entry:
        typed_fields["chip"] = chips[entry["chip"]]
    return Accelerator(**{"machine_shape": "", **entry, **typed_fields})


# How long a training takes on an accelerator, and what bounds it: a model of device, host and session.


OPTIMIZER_BYTES = 36  # a weight and step: AdamW reads and writes weight, gradient and both moments, in float32
STATE_BYTES = 16  # a weight: itself, its gradient, both moments
USABLE_MEMORY = 0.95


class Bound(StrEnum):
    """What a step waits for."""

    MATRIX = "matrix"
    MEMORY = "memory"
    INPUT = "input"
    LOOP = "loop"


@dataclass(frozen=True)
class CompiledStep:
    """A training step on one device, as a compiler tells it; `seconds` is its own estimate for a chip."""

    batch: int
    flops: float
    bytes_moved: float
    memory: float
    compile_seconds: float
    seconds: float | None = None
    chip: str = ""


@dataclass(frozen=True)
class Processor:
    """The peak rates of one core of a host: operations and bytes a second."""

    flops: float
    bandwidth: float


@dataclass(frozen=True)
class Workload:
    """A training.

    Attributes:
        examples: The examples of an epoch.
        held_out: The examples that are predicted after each epoch.
        epochs: The epochs of a fold.
        folds: The folds.
        parameters: The weights that are trained.
        input_seconds: Of one core of a host, to prepare an example.
        ready_seconds: From the start of the notebook to its first step.
        loop_seconds: Of the loop on the host, to hand over a step that computes nothing.
        processor: A core, as the hosts are thought to have.
        steps: The step as it is compiled for an accelerator, by batch; they may be none.
        cpu_step: The step as it is compiled for a CPU.
    """

    examples: int
    held_out: int
    epochs: int
    folds: int
    parameters: int
    input_seconds: float
    ready_seconds: float
    loop_seconds: float
    processor: Processor
    cpu_step: CompiledStep
    steps: tuple[CompiledStep, ...] = ()

    @property
    def is_rough(self) -> bool:
        """Whether no compiler of an accelerator was asked: traffic and memory are then those of a CPU's program."""
        return not self.steps


@dataclass(frozen=True)
class Roofline:
    """The roof of an accelerator: operations a second at most, and bytes a second at most, of all that computes."""

    flops: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """The intensity from which on it is the matrix unit that bounds."""
        return self.flops / self.bandwidth

    def at(self, intensity: float) -> float:
        """The operations a second that a program of this intensity reaches at most."""
        return min(self.flops, self.bandwidth * intensity)


@dataclass(frozen=True)
class Prediction:
    """A training on an accelerator; all times in seconds.

    Attributes:
        accelerator: The accelerator.
        batch: Examples of a step on each device.
        device: What a step takes of the device.
        host: What it takes of the host's cores to prepare its batch.
        loop: What the loop takes that hands a batch over.
        step: The whole step.
        bound: What it waits for.
        epoch: An epoch with its predictions and its checkpoint.
        total: The training, from the notebook's start to its last epoch.
        memory: The bytes that it takes of a device, or of the host for a CPU.
        fits: Whether a device has them.
        intensity: Operations for each byte moved.
        rate: Operations a second that are computed, of all devices.
    """

    accelerator: Accelerator
    batch: int
    device: float
    host: float
    loop: float
    step: float
    bound: Bound
    epoch: float
    total: float
    memory: float
    fits: bool
    intensity: float
    rate: float

    @property
    def examples_per_second(self) -> float:
        """What goes through in training."""
        return self.batch * self.accelerator.devices / self.step

    @property
    def session_share(self) -> float:
        """The part of a session."""
        return self.total / 3600 / self.accelerator.session_hours

    @property
    def weekly_share(self) -> float | None:
        """The part of a week's quota, or None without one."""
        hours = self.accelerator.weekly_hours
        return None if hours is None else self.total / 3600 / hours

    @property
    def units(self) -> float | None:
        """What it costs in Colab's units, at the latest price that is known."""
        prices = self.accelerator.units
        return self.total / 3600 * prices[-1].per_hour if prices else None

    @property
    def dollars(self) -> float | None:
        """The same in US dollars."""
        return None if self.units is None else self.units * catalog().dollars_per_unit


def predict(work: Workload, accelerator: Accelerator, batch: int) -> Prediction | None:
    """Returns how long a training takes; None where a figure of the accelerator that it takes is not known.

    Args:
        work: The training.
        accelerator: Where it runs.
        batch: Examples of a step on each device.
    """
    roof = roofline_of(work, accelerator)
    if roof is None or accelerator.cores is None:
        return None
    experience = catalog().experience
    is_cpu, devices = accelerator.kind is AcceleratorKind.CPU, accelerator.devices
    flops = _at(batch, _steps(work, is_cpu), lambda step: step.flops, intercept=0.0) * devices
    traffic = _at(
        batch, _steps(work, is_cpu), lambda step: step.bytes_moved, intercept=OPTIMIZER_BYTES * work.parameters
    )
    traffic *= devices
    memory = _at(batch, _steps(work, is_cpu), lambda step: step.memory, intercept=STATE_BYTES * work.parameters)
    efficiency = experience.cpu_attainable if is_cpu else experience.attainable
    by_unit = {Bound.MATRIX: flops / roof.flops / efficiency, Bound.MEMORY: traffic / roof.bandwidth / efficiency}
    # XLA's programs for CPUs do one after the other.
    device = sum(by_unit.values()) if is_cpu else max(by_unit.values())
    if work.steps and all(_is_of(step, accelerator) and step.seconds for step in work.steps):
        # What a compiler makes of every operation is more to be trusted than a part of the roof.
        device = _at(batch, work.steps, lambda step: step.seconds or 0.0, intercept=0.0)
    host = work.input_seconds * batch * devices / accelerator.cores
    parts = {
        max(by_unit, key=lambda part: by_unit[part]): device,
        Bound.INPUT: host,
        Bound.LOOP: work.loop_seconds,
    }
    step = sum(parts.values()) if is_cpu else max(parts.values())
    per_example = device / (batch * devices) * experience.prediction_share
    waits = work.input_seconds / accelerator.cores
    held_out = work.held_out * (per_example + waits if is_cpu else max(per_example, waits))
    epoch = max(1, work.examples // (batch * devices)) * step + held_out + experience.epoch_seconds
    compiling = max(compiled_step.compile_seconds for compiled_step in _steps(work, is_cpu))
    room = accelerator.host_memory_gib if is_cpu else accelerator.device_memory_gib
    return Prediction(
        accelerator=accelerator,
        batch=batch,
        device=device,
        host=host,
        loop=work.loop_seconds,
        step=step,
        bound=max(parts, key=lambda part: parts[part]),
        epoch=epoch,
        total=work.ready_seconds + compiling + work.folds * work.epochs * epoch,
        memory=memory,
        fits=room is None or memory < USABLE_MEMORY * room * 1e9,
        intensity=flops / max(1.0, traffic),
        rate=flops / step,
    )


def best_batch(work: Workload, accelerator: Accelerator, candidates: Sequence[int]) -> Prediction | None:
    """Returns the prediction for the smallest batch that is nearly as fast as the fastest; None as for `predict`.

    A larger batch than it takes only makes an epoch teach less.

    Args:
        work: The training.
        accelerator: Where it runs.
        candidates: The batches that may be chosen, the smallest first; one that is too large for its memory never is.
    """
    nearly = 1.1
    all_predictions = [predict(work, accelerator, batch) for batch in candidates]
    predictions = [prediction for prediction in all_predictions if prediction is not None]
    fitting = [prediction for prediction in predictions if prediction.fits] or predictions[:1]
    if not fitting:
        return None
    fastest = min(prediction.epoch for prediction in fitting)
    return next(prediction for prediction in fitting if prediction.epoch <= nearly * fastest)


def roofline_of(work: Workload, accelerator: Accelerator) -> Roofline | None:
    """Returns the roof of an accelerator; None where its rates are not known."""
    if accelerator.chip is None:
        cores = accelerator.cores or 0
        return Roofline(work.processor.flops * cores, work.processor.bandwidth * cores) if cores else None
    flops, bandwidth = accelerator.rate(accelerator.chip.training_dtype), accelerator.bandwidth
    return None if flops is None or bandwidth is None else Roofline(flops, bandwidth)


def _steps(work: Workload, is_cpu: bool) -> Sequence[CompiledStep]:
    return (work.cpu_step,) if is_cpu or not work.steps else work.steps


def _is_of(step: CompiledStep, accelerator: Accelerator) -> bool:
    return accelerator.chip is not None and step.chip == accelerator.chip.name


def _at(
    batch: int, steps: Sequence[CompiledStep], figure: Callable[[CompiledStep], float], *, intercept: float
) -> float:
    """A figure of a step at any batch: on the line through the two nearest that were compiled.

    Through one, `intercept` is what does not grow with the batch, as far as the figure has that much.
    """
    near = sorted(steps, key=lambda step: abs(step.batch - batch))[:2]
    first = near[0]
    if first.batch == batch:
        return figure(first)
    floor = min(intercept, figure(first))
    slope = (figure(first) - floor) / first.batch
    if len(near) > 1 and near[1].batch != first.batch:
        slope = max(0.0, (figure(near[1]) - figure(first)) / (near[1].batch - first.batch))
    return max(floor, figure(first) + slope * (batch - first.batch))


# How long a CPU trains what is small, and what it is asked for nevertheless: rules of thumb, not a plan.


_SOON = 600  # seconds that nobody minds waiting for
_SMALL_IMAGE = 32**2  # pixels


def cpu_seconds(examples: int, passes: int, *, pixels: int | None, is_table: bool) -> float | None:
    """Returns about how long a CPU trains, where that is soon; None for anything that deserves a plan.

    Args:
        examples: The rows of the table of labels.
        passes: How often the training sees each of them, in all folds.
        pixels: Of an image, where they are images.
        is_table: Whether an example is a row of a table.
    """
    experience = catalog().experience
    if is_table:
        seconds = examples * passes / experience.rows_per_second
    elif pixels is not None and pixels <= _SMALL_IMAGE:
        seconds = examples * passes * pixels / experience.pixels_per_second
    else:
        return None
    return seconds if 0 < seconds < _SOON else None


def finetune_text_seconds(tokens: float, layers: int) -> float:
    """Returns about how long two cores fine-tune a pretrained model of texts.

    Args:
        tokens: The tokens of all examples, as often as the training sees them.
        layers: Millions of parameters that each token passes.
    """
    return tokens * layers * 1e6 / catalog().experience.weights_per_second
