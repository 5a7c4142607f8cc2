"""A pair's training measured on this machine, up to its first step: what its input costs, and what a step computes."""

import os
from dataclasses import dataclass, replace
from inspect import getsource
from pathlib import Path
from typing import Any

from generator.errors import RunError
from generator.files import read_json
from generator.pair.workspace import Workspace
from generator.plan import probe
from generator.run.execution import Listener, load_notebook_v4
from generator.run.kernel import private_folder, require_packages
from generator.run.notebook_target import pair_notebook
from generator.text import JsonObject, printable

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
    source = f"{getsource(probe)}\n\ninstall(globals(), timed_steps={options.timed_steps})\n"
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
