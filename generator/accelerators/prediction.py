"""How long a training takes on an accelerator, and what bounds it: a model of device, host and session.

A step is bounded by the slowest of three that work at the same time: the device (its matrix unit or its memory, at the
part of the data sheet that is reached), the host that prepares the next batch, and the loop that hands it over. On a
CPU the three share the same cores, and their times add up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from generator.accelerators.catalog import Accelerator, AcceleratorKind, catalog

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
    flops = _at(batch, _steps(work, is_cpu), lambda step: step.flops, fixed=0.0) * devices
    moved = _at(batch, _steps(work, is_cpu), lambda step: step.bytes_moved, fixed=OPTIMIZER_BYTES * work.parameters)
    moved *= devices
    memory = _at(batch, _steps(work, is_cpu), lambda step: step.memory, fixed=STATE_BYTES * work.parameters)
    reached = experience.cpu_attainable if is_cpu else experience.attainable
    by_unit = {Bound.MATRIX: flops / roof.flops / reached, Bound.MEMORY: moved / roof.bandwidth / reached}
    # XLA's programs for CPUs do one after the other.
    device = sum(by_unit.values()) if is_cpu else max(by_unit.values())
    if work.steps and all(_is_of(step, accelerator) and step.seconds for step in work.steps):
        # What a compiler makes of every operation is more to be trusted than a part of the roof.
        device = _at(batch, work.steps, lambda step: step.seconds or 0.0, fixed=0.0)
    host = work.input_seconds * batch * devices / accelerator.cores
    parts = {
        max(by_unit, key=lambda bound: by_unit[bound]): device,
        Bound.INPUT: host,
        Bound.LOOP: work.loop_seconds,
    }
    step = sum(parts.values()) if is_cpu else max(parts.values())
    per_example = device / (batch * devices) * experience.prediction_share
    waits = work.input_seconds / accelerator.cores
    held_out = work.held_out * (per_example + waits if is_cpu else max(per_example, waits))
    epoch = max(1, work.examples // (batch * devices)) * step + held_out + experience.epoch_seconds
    compiling = max(each.compile_seconds for each in _steps(work, is_cpu))
    room = accelerator.host_memory_gib if is_cpu else accelerator.device_memory_gib
    return Prediction(
        accelerator=accelerator,
        batch=batch,
        device=device,
        host=host,
        loop=work.loop_seconds,
        step=step,
        bound=max(parts, key=lambda bound: parts[bound]),
        epoch=epoch,
        total=work.ready_seconds + compiling + work.folds * work.epochs * epoch,
        memory=memory,
        fits=room is None or memory < USABLE_MEMORY * room * 1e9,
        intensity=flops / max(1.0, moved),
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
    made = [predict(work, accelerator, batch) for batch in candidates]
    known = [each for each in made if each is not None]
    fitting = [each for each in known if each.fits] or known[:1]
    if not fitting:
        return None
    fastest = min(each.epoch for each in fitting)
    return next(each for each in fitting if each.epoch <= nearly * fastest)


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


def _at(batch: int, steps: Sequence[CompiledStep], figure: Callable[[CompiledStep], float], *, fixed: float) -> float:
    """A figure of a step at any batch: on the line through the two nearest that were compiled.

    Through one, `fixed` is what does not grow with the batch, as far as the figure has that much.
    """
    near = sorted(steps, key=lambda step: abs(step.batch - batch))[:2]
    first = near[0]
    if first.batch == batch:
        return figure(first)
    floor = min(fixed, figure(first))
    slope = (figure(first) - floor) / first.batch
    if len(near) > 1 and near[1].batch != first.batch:
        slope = max(0.0, (figure(near[1]) - figure(first)) / (near[1].batch - first.batch))
    return max(floor, figure(first) + slope * (batch - first.batch))
