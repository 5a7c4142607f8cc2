"""Plan a training: measure its input, compile its step, compare accelerators."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from generator.accelerators import (
    STATE_BYTES,
    Accelerator,
    AcceleratorKind,
    Bound,
    CompiledStep,
    Prediction,
    Processor,
    Roofline,
    Service,
    Status,
    Workload,
    best_batch,
    catalog,
    predict,
    roofline_of,
)
from generator.competition.schema import frameworks
from generator.errors import RunError
from generator.files import read_json
from generator.kit_files import PageTemplates
from generator.pair.folder import existing_pair, read_pair_spec
from generator.pair.workspace import Workspace
from generator.run.execution import Listener, load_notebook_v4
from generator.run.kernel import private_folder, require_packages
from generator.text import JsonObject, duration, milliseconds, operations, printable
from generator.tpu_compiler.compilation import CompileOptions, StepCost, pair_notebook

TRAIN_CELL = "train"
_LONGEST_ANSWER = 1 << 16
_ABOVE_LINE = 1.001
REFERENCE_BATCH = 128  # that a LEARNING_RATE is for
_SMALLEST, _LARGEST = 1e-9, 10**12


class MeasurementError(RunError):
    """The notebook has no training that can be measured."""

    def __init__(self, *, pair: str, problem: str) -> None:
        super().__init__(
            f"The training of {printable(pair)} cannot be measured: {printable(problem)}.",
            remedy=f"`tandem run {printable(pair)} --smoke` shows whether the notebook runs.",
        )


@dataclass(frozen=True)
class PlanOptions:
    """The options of `tandem plan`.

    Attributes:
        workspace: Where the pair is.
        pair: Its name.
        assignments: Its parameters, as for a run.
        specimen: Whether a specimen of its data is measured.
        examples: The examples of an epoch, where they are known to be others than those that are measured.
        asks_compiler: Whether to ask a TPU's compiler.
        timed_steps: Training steps to take here, to compare what they last with what is predicted.
    """

    workspace: Workspace
    pair: str
    assignments: tuple[str, ...] = ()
    specimen: bool = False
    examples: int | None = None
    asks_compiler: bool = True
    timed_steps: int = 0


@dataclass(frozen=True)
class MachineRates:
    """The peak rates of this machine's processors: operations and bytes a second, and how many cores there are."""

    flops: float
    bandwidth: float
    cores: int


@dataclass(frozen=True)
class CpuStep:
    """A training step as XLA compiles it for this machine: operations, bytes moved, memory, seconds to compile."""

    flops: float
    bytes_moved: float
    memory: float
    compile_seconds: float


@dataclass(frozen=True)
class Measurement:
    """What was measured of a training, on one device.

    Attributes:
        input_seconds: Of a processor core for an example, all that the input pipeline does.
        examples: The examples of an epoch.
        held_out: The examples that are predicted after each epoch.
        epochs: The epochs of a fold.
        folds: The folds.
        batch: The examples of a step.
        example_bytes: What goes to the device for an example.
        parameters: The weights that are trained.
        learning_rate: The highest of the schedule, at this batch.
        follows_root: Whether it grows with the root of the batch alone, as for what is fine-tuned.
        ready_seconds: From the notebook's start to its first step, here.
        loop_seconds: What a step takes here that computes nothing; 0 if that is not known.
        machine: This machine.
        step: The compiled step, or None where it is not Keras on JAX.
        step_seconds: What a step took here, or None if none was taken.
        is_specimen: Whether all this is of made-up data.
    """

    input_seconds: float
    examples: int
    held_out: int
    epochs: int
    folds: int
    batch: int
    example_bytes: float
    parameters: int
    learning_rate: float
    follows_root: bool
    ready_seconds: float
    loop_seconds: float
    machine: MachineRates
    step: CpuStep | None
    step_seconds: float | None
    is_specimen: bool


def measure(options: PlanOptions, listener: Listener) -> Measurement:
    """Runs the training notebook's own cells up to its first epoch, in a process of their own, and measures there.

    Raises:
        TandemError: The pair, its data or its packages are missing, or a cell fails.
        MeasurementError: The notebook has no cell `train`, or did not reach it.
    """
    require_packages()
    with private_folder() as private:
        # Any notebook could have written the probe's answer in its place.
        answer = read_json(_execute_probe(options, private, listener), most=_LONGEST_ANSWER)
    if not answer:
        raise MeasurementError(pair=options.pair, problem="it ended before its first epoch")
    return _measurement(answer, options)


def _execute_probe(options: PlanOptions, private: Path, listener: Listener) -> Path:
    """Executes the cells in a private folder, and returns the file that the probe writes there."""
    target = pair_notebook(options.workspace, options.pair, options.assignments, specimen=options.specimen)
    working, copy = private / "working", private / "measured.ipynb"
    copy.write_text(_with_probe(target.path, options), encoding="utf-8")
    working.mkdir()
    result = replace(target, path=copy).execute(
        listener,
        title=f"{options.pair}/{target.path.name}",
        private=private,
        working=working,
        input_root=private / "input",
        saved_as=private / "executed.ipynb",
    )
    if result.failure is not None:
        raise result.failure
    return working / "probe.json"


def _with_probe(notebook: Path, options: PlanOptions) -> str:
    """The notebook up to its cell `train`, with the probe before it."""
    import nbformat

    v4: Any = nbformat.v4
    content = load_notebook_v4(notebook)
    names = [cell.get("id", "") for cell in content.cells]
    if TRAIN_CELL not in names:
        raise MeasurementError(pair=options.pair, problem=f'its notebook has no cell with the name "{TRAIN_CELL}"')
    at = names.index(TRAIN_CELL)
    probe = Path(__file__).with_name("probe.py").read_text(encoding="utf-8")
    source = f"{probe}\n\ninstall(globals(), timed_steps={options.timed_steps})\n"
    content.cells[at:] = [v4.new_code_cell(source, id="probe"), content.cells[at]]
    return str(v4.writes(content))


def _measurement(answer: JsonObject, options: PlanOptions) -> Measurement:
    """The answer of the notebook's process, which ran a stranger's code: only numbers are taken from it."""
    cost, pipeline, machine = answer.section("cost"), answer.section("input"), answer.section("machine")
    counts = {name: _count(answer, name) for name in ("epochs", "folds", "batch", "parameters", "held_out")}
    examples, steps = _count(pipeline, "examples"), _count(answer, "steps_per_epoch")
    rates = MachineRates(_positive(machine, "flops"), _positive(machine, "bytes"), os.cpu_count() or 1)
    figures = [_positive(cost, name) for name in ("flops", "bytes", "memory", "compile_seconds")]
    is_compiled, step_seconds = min(figures[:2]) > 0, _positive(answer, "step_seconds")
    quantities = (counts["epochs"], counts["folds"], counts["batch"], examples, steps, rates.flops, rates.bandwidth)
    if min(quantities) <= 0 or not (is_compiled or step_seconds):
        raise MeasurementError(pair=options.pair, problem="its measurements are not valid")
    learning_rate, base = _positive(answer, "learning_rate"), _positive(answer, "base_rate")
    return Measurement(
        input_seconds=_positive(pipeline, "processor_seconds") / examples,
        examples=steps * counts["batch"],
        **counts,
        example_bytes=_positive(answer, "batch_bytes") / counts["batch"],
        learning_rate=learning_rate,
        follows_root=learning_rate > _ABOVE_LINE * base * counts["batch"] / REFERENCE_BATCH,
        ready_seconds=_positive(answer, "ready_seconds"),
        loop_seconds=_positive(answer, "loop_seconds"),
        machine=rates,
        step=CpuStep(*figures) if is_compiled else None,
        step_seconds=step_seconds or None,
        is_specimen=options.specimen,
    )


def _count(fields: JsonObject, name: str) -> int:
    return min(max(0, fields.count(name)), _LARGEST)


def _positive(fields: JsonObject, name: str) -> float:
    return plausible(fields.number(name))


def plausible(value: float | None) -> float:
    """A number of a stranger's process that can be reckoned with: 0 for none, and for what is next to nothing."""
    return 0.0 if value is None or value < _SMALLEST else min(value, float(_LARGEST) ** 1.5)


# What Google's TPU compiler says of a pair's training step, where it is installed.


_LARGE_BATCH = 128


@dataclass(frozen=True)
class StepCosts:
    """The costs of the training step for a TPU, at one batch or several; or why there are none."""

    costs: tuple[StepCost, ...]
    missing: str = ""


def compiled_steps(options: PlanOptions, batch: int, tell: Callable[[str], None]) -> StepCosts:
    """Compiles the training step at the pair's own batch and at a large one, as neither tells of the other.

    A TPU lays out a small batch with padding, which a large one need not have.
    """
    if find_spec("libtpu") is None:
        return StepCosts((), "Google's TPU compiler is not installed")
    from generator.tpu_compiler.compilation import compile_steps

    costs: list[StepCost] = []
    target = pair_notebook(options.workspace, options.pair, options.assignments)
    for size in sorted({batch, _LARGE_BATCH}):
        tell(f"Compiling the step for a TPU, {size} examples a core")
        report = compile_steps(target, CompileOptions(batch_per_core=size), progress=tell)
        costs += [cost for cost in report.steps if cost.what == "train" and cost.topology != "cpu"]
        errors = [problem.sentence for problem in report.problems if problem.is_error]
    return StepCosts(tuple(costs), "" if costs else printable((errors or ["it did not compile the step"])[0]))


# A training to be planned, made of what was measured here and of what a compiler said of its step.


_CHIPS = {"v5e": "TPU v5e", "v6e": "TPU v6e", "v3": "TPU v3", "v2": "TPU v2"}


def workload_of(measurement: Measurement, costs: Sequence[StepCost] = (), *, examples: int | None = None) -> Workload:
    """Returns the training that was measured.

    Args:
        measurement: The measurement.
        costs: What a TPU's compiler said of its training step, at one batch or several; none if it was not asked.
        examples: The examples of an epoch, where those that were measured are not the competition's.
    """
    step, rates = measurement.step, measurement.machine
    flops, bytes_moved, memory, seconds = (
        (step.flops, step.bytes_moved, step.memory, step.compile_seconds) if step else _estimate_step(measurement)
    )
    scale = 1.0 if examples is None else examples / measurement.examples
    return Workload(
        examples=round(measurement.examples * scale),
        held_out=round(measurement.held_out * scale),
        epochs=measurement.epochs,
        folds=measurement.folds,
        parameters=measurement.parameters,
        input_seconds=measurement.input_seconds,
        ready_seconds=measurement.ready_seconds,
        loop_seconds=measurement.loop_seconds or catalog().experience.loop_seconds,
        processor=Processor(rates.flops / rates.cores, rates.bandwidth / rates.cores),
        cpu_step=CompiledStep(measurement.batch, flops, bytes_moved, memory, seconds),
        steps=tuple(_to_compiled_step(cost) for cost in costs if cost.topology != "cpu" and cost.batch_per_core),
    )


def this_machine(measurement: Measurement) -> Accelerator:
    """Returns the machine that was measured on, as an accelerator without limits."""
    nobody = replace(catalog().accelerators[""], service=Service.HERE, name="this machine", status=Status.OFFERED)
    return replace(nobody, kind=AcceleratorKind.CPU, cores=measurement.machine.cores, host_memory_gib=None)


def _estimate_step(measurement: Measurement) -> tuple[float, float, float, float]:
    """The figures of a step that no compiler told: of what it took here, half is arithmetic and half is traffic."""
    half = (measurement.step_seconds or 0.0) * catalog().experience.cpu_attainable / 2
    return (
        half * measurement.machine.flops,
        half * measurement.machine.bandwidth,
        float(STATE_BYTES * measurement.parameters),
        0.0,
    )


def _to_compiled_step(cost: StepCost) -> CompiledStep:
    return CompiledStep(
        batch=cost.batch_per_core,
        flops=plausible(cost.flops),
        bytes_moved=plausible(cost.bytes_moved),
        memory=plausible(cost.peak_memory),
        compile_seconds=plausible(cost.compile_seconds),
        seconds=plausible(cost.cycles_seconds) or None,
        chip=_CHIPS.get(cost.topology.partition(":")[0], ""),
    )


# The plan of a training: what it takes on each accelerator, which one to take, and what the figures teach.


_BATCHES = (8, 16, 32, 64, 128)
_FEWEST_STEPS = 8  # of an epoch, as for the batch that `generate` proposes
_SOON = 600  # seconds that nobody minds waiting for
_PATIENCE = 1.5  # times as long as the fastest is fine where it costs no quota
_WORTH_SAYING = 1.25


@dataclass(frozen=True)
class Plan:
    """What a training takes, wherever that can be said.

    Attributes:
        workload: The training.
        predictions: One for each accelerator that everybody can have, with the batch to use there.
        unknown: The accelerators of which too little is known.
        recommendation: The one to take.
        reason: Why.
        lessons: What the figures show beside, a sentence each.
    """

    workload: Workload
    predictions: tuple[Prediction, ...]
    unknown: tuple[Accelerator, ...]
    recommendation: Prediction
    reason: str
    lessons: tuple[str, ...]


def plan_training(work: Workload, *, batch: int, sees_tpu: bool = True) -> Plan:
    """Returns the plan of a training.

    Args:
        work: The training.
        batch: The examples a device that the pair takes now.
        sees_tpu: Whether its framework can use the TPU of Kaggle's image.
    """
    accelerators = [accelerator for accelerator in catalog().all_accelerators if accelerator.status is Status.OFFERED]
    best_by_title = {
        accelerator.title: best_batch(work, accelerator, _candidates(work, accelerator, batch))
        for accelerator in accelerators
    }
    predictions = tuple(prediction for prediction in best_by_title.values() if prediction is not None)
    ours = [prediction for prediction in predictions if prediction.accelerator.service is Service.KAGGLE]
    usable = [prediction for prediction in ours if sees_tpu or prediction.accelerator.kind is not AcceleratorKind.TPU]
    recommendation, reason = _recommend(usable)
    unknown = tuple(accelerator for accelerator in accelerators if best_by_title[accelerator.title] is None)
    return Plan(work, predictions, unknown, recommendation, reason, tuple(_lessons(work, predictions, recommendation)))


def _candidates(work: Workload, accelerator: Accelerator, batch: int) -> list[int]:
    """The batches that leave an epoch enough steps; the pair's own where nothing is known that speaks for another."""
    most = work.examples // (_FEWEST_STEPS * accelerator.devices)
    if accelerator.kind is AcceleratorKind.CPU or work.is_rough:
        return [batch]
    return [candidate for candidate in _BATCHES if candidate <= most] or [_BATCHES[0]]


def _recommend(predictions: Sequence[Prediction]) -> tuple[Prediction, str]:
    fitting = [prediction for prediction in predictions if prediction.fits] or list(predictions)
    fastest = min(fitting, key=lambda prediction: prediction.total)
    frugal = next(
        (prediction for prediction in fitting if prediction.weekly_share is None and prediction.session_share < 1), None
    )
    if frugal is fastest:
        return frugal, "It is the fastest, and uses no quota."
    if frugal is not None and (frugal.total < _SOON or frugal.total < _PATIENCE * fastest.total):
        times = f"{duration(frugal.total)}, against {duration(fastest.total)} on {fastest.accelerator.title}"
        return frugal, f"It takes {times}, and uses no quota."
    second = min(
        (prediction for prediction in fitting if prediction is not fastest),
        key=lambda prediction: prediction.total,
        default=None,
    )
    slower = f", {second.total / fastest.total:.1f} times as fast as {second.accelerator.title}" if second else ""
    sessions = (
        "" if fastest.session_share < 1 else f" It takes {fastest.session_share:.1f} sessions, one after the other."
    )
    return fastest, f"It is the fastest{slower}.{sessions}"


def _lessons(work: Workload, predictions: Sequence[Prediction], recommendation: Prediction) -> list[str]:
    """What people learn the hard way, where this training shows it."""
    lessons = []
    starved_predictions = [
        prediction
        for prediction in predictions
        if prediction.bound is Bound.INPUT and prediction.accelerator.chip is not None
    ]
    for prediction in starved_predictions[:1]:
        loss = prediction.step / max(prediction.device, 1e-9)
        times = f"{milliseconds(prediction.host)} of them and {milliseconds(prediction.device)} of the device"
        cores = f"{prediction.accelerator.cores} cores are too slow for {prediction.accelerator.title}"
        lessons.append(f"{cores}: a batch takes {times}. The device could process {loss:.1f} times as many.")
    lessons += [lesson for prediction in predictions if (lesson := _largest_host(work, prediction))]
    tpu = next((prediction for prediction in predictions if prediction.accelerator == catalog().training), None)
    if tpu is not None:
        lessons += _batches(work, tpu)
        if recommendation.accelerator.kind is AcceleratorKind.CPU and recommendation.total < tpu.total:
            computing = f"its chips would compute for {_computing(work, tpu):.1f} s"
            lessons.append(f"Small model, small data: of {duration(tpu.total)} on {tpu.accelerator.title} {computing}.")
    return lessons


def _batches(work: Workload, tpu: Prediction) -> list[str]:
    small, large = (predict(work, tpu.accelerator, batch) for batch in (_BATCHES[0], _BATCHES[-1]))
    if small is None or large is None or large.examples_per_second < _WORTH_SAYING * small.examples_per_second:
        return []
    rates = " and ".join(
        f"{prediction.examples_per_second:,.0f} with {prediction.batch} per device" for prediction in (small, large)
    )
    return [f"{tpu.accelerator.title} needs large batches, in multiples of 8. Examples per second: {rates}."]


def _largest_host(work: Workload, prediction: Prediction) -> str:
    """Return the total on the largest host of an accelerator as a sentence; "" if it is about the same."""
    accelerator = prediction.accelerator
    if accelerator.max_cores is None:
        return ""
    alternative = predict(work, replace(accelerator, cores=accelerator.max_cores), prediction.batch)
    if alternative is None or prediction.total < _WORTH_SAYING * alternative.total:
        return ""
    hosts = f"{accelerator.title} has hosts of {accelerator.cores} and of {accelerator.max_cores} cores"
    times = f"{duration(prediction.total)} on the smaller, {duration(alternative.total)} on the larger"
    return f"{hosts}. This training waits for its input: {times}."


def _computing(work: Workload, prediction: Prediction) -> float:
    steps = work.examples // (prediction.batch * prediction.accelerator.devices)
    return steps * prediction.device * work.epochs * work.folds


# The picture of a plan, as SVG: the roofs of the accelerators, with the training's point below each.


_LEFT, _RIGHT, _TOP, _BOTTOM = 86, 624, 56, 438  # the edges of what the axes span
_COLOURS = ("#0b6e99", "#c2571a", "#4b7f2a", "#7a4fa3", "#a31545")


@dataclass(frozen=True)
class _Scale:
    """A logarithmic axis from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (math.log10(max(value, self.low)) - math.log10(self.low)) / (
            math.log10(self.high) - math.log10(self.low)
        )
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    @property
    def decades(self) -> list[int]:
        """The powers of ten on it."""
        return list(range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1))


def roofline_picture(plan: Plan, *, title: str, local_prediction: Prediction | None = None) -> str:
    """Draws the roofs of what Kaggle lends, and of this machine.

    Args:
        plan: The plan.
        title: What is planned.
        local_prediction: The training on this machine.

    Returns:
        The SVG, a file of its own.
    """
    predictions = [prediction for prediction in plan.predictions if prediction.accelerator.service is Service.KAGGLE]
    predictions += [local_prediction] if local_prediction else []
    pairs = [(prediction, roofline_of(plan.workload, prediction.accelerator)) for prediction in predictions]
    rooflines = [(point, roof) for point, roof in pairs if roof is not None]
    across, up = _scales(rooflines)
    return PageTemplates(Path(__file__).parent, operations=operations).render(
        "roofline.html.j2",
        title=printable(title),
        across=across,
        up=up,
        drawn=[(*entry, _COLOURS[place % len(_COLOURS)]) for place, entry in enumerate(rooflines)],
        recommended=plan.recommendation,
    )


def _scales(rooflines: Sequence[tuple[Prediction, Roofline]]) -> tuple[_Scale, _Scale]:
    intensities = [value for point, roof in rooflines for value in (point.intensity, roof.ridge) if value > 0] or [1.0]
    rates = [value for point, roof in rooflines for value in (point.rate, roof.flops) if value > 0] or [1e9]
    across = _Scale(min(intensities) / 3, max(intensities) * 6, _LEFT, _RIGHT)
    return across, _Scale(min(rates) / 5, max(rates) * 3, _BOTTOM, _TOP)


@dataclass(frozen=True)
class PlannedPair:
    """A pair with its plan.

    Attributes:
        name: The pair.
        framework: What its notebooks are written in.
        measurement: What was measured here.
        compilation: What a TPU's compiler said.
        plan: The plan.
        local_prediction: The training on this machine, or None.
    """

    name: str
    framework: str
    measurement: Measurement
    compilation: StepCosts
    plan: Plan
    local_prediction: Prediction | None

    @property
    def assignments(self) -> tuple[str, ...]:
        """What `generate -P` would have to be told for the recommendation."""
        prediction = self.plan.recommendation
        return (f"ACCELERATOR={prediction.accelerator.kind}", f"BATCH_SIZE={prediction.batch}")

    def learning_rate(self, prediction: Prediction) -> float:
        """The highest rate of the schedule with the batch of a prediction, which the notebook works out itself."""
        measurement = self.measurement
        follows = _root if measurement.follows_root else _line_then_root
        batches = prediction.batch * prediction.accelerator.devices
        return measurement.learning_rate * follows(batches) / follows(measurement.batch)

    def steps_per_execution(self, prediction: Prediction) -> int:
        """How many steps should be handed over at once: Keras on JAX takes them one by one whatever it is told."""
        if self.framework != "tensorflow" or prediction.step <= 0:
            return 1
        per_epoch = max(1, self.plan.workload.examples // (prediction.batch * prediction.accelerator.devices))
        target_steps = 10 * prediction.loop / max(prediction.device, prediction.host, 1e-6)
        return int(max(1, min(per_epoch, 64, target_steps)))


def plan_pair(options: PlanOptions, listener: Listener, tell: Callable[[str], None]) -> PlannedPair:
    """Plans the training of a pair.

    Args:
        options: The options.
        listener: Told of the notebook's cells.
        tell: Told of everything else that takes its time.

    Raises:
        TandemError: The pair, its data or its packages are missing, or its notebook fails.
    """
    spec = read_pair_spec(existing_pair(options.workspace, options.pair))
    framework = frameworks()[spec.framework]
    if AcceleratorKind.TPU not in framework.accelerators:
        raise RunError(
            f"{framework.title} does not train on a TPU, so there is nothing to compare for {printable(options.pair)}.",
            remedy="`tandem run` trains it here; on Kaggle it needs a session without an accelerator, which costs no "
            "quota.",
            code="framework-without-tpu",
        )
    measurement = measure(options, listener)
    compilation = StepCosts((), "it was not asked")
    if options.asks_compiler:
        compilation = compiled_steps(options, measurement.batch, tell)
    work = workload_of(measurement, compilation.costs, examples=options.examples)
    plan = plan_training(work, batch=measurement.batch, sees_tpu=spec.framework != "tensorflow")
    local_prediction = predict(work, this_machine(measurement), measurement.batch)
    return PlannedPair(options.pair, spec.framework, measurement, compilation, plan, local_prediction)


def _root(batch: int) -> float:
    return math.sqrt(batch / REFERENCE_BATCH)


def _line_then_root(batch: int) -> float:
    return min(batch / REFERENCE_BATCH, _root(batch))


__all__ = ["Measurement", "PlanOptions", "PlannedPair", "measure", "plan_pair", "roofline_picture"]
