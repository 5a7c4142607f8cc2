"""A training to be planned, made of what was measured here and of what a compiler said of its step."""

from collections.abc import Sequence
from dataclasses import replace

from generator.accelerators.catalog import Accelerator, AcceleratorKind, Service, Status, catalog
from generator.accelerators.prediction import STATE_BYTES, CompiledStep, Processor, Workload
from generator.plan.measurement import Measurement, plausible
from generator.tpu_compiler.step_cost import StepCost

_CHIPS = {"v5e": "TPU v5e", "v6e": "TPU v6e", "v3": "TPU v3", "v2": "TPU v2"}


def workload_of(measured: Measurement, costs: Sequence[StepCost] = (), *, examples: int | None = None) -> Workload:
    """Returns the training that was measured.

    Args:
        measured: The measurement.
        costs: What a TPU's compiler said of its training step, at one batch or several; none if it was not asked.
        examples: The examples of an epoch, where those that were measured are not the competition's.
    """
    step, rates = measured.step, measured.machine
    flops, moved, memory, seconds = (
        (step.flops, step.bytes_moved, step.memory, step.compile_seconds) if step else _guessed(measured)
    )
    grown = 1.0 if examples is None else examples / measured.examples
    return Workload(
        examples=round(measured.examples * grown),
        held_out=round(measured.held_out * grown),
        epochs=measured.epochs,
        folds=measured.folds,
        parameters=measured.parameters,
        input_seconds=measured.input_seconds,
        ready_seconds=measured.ready_seconds,
        loop_seconds=measured.loop_seconds or catalog().experience.loop_seconds,
        processor=Processor(rates.flops / rates.cores, rates.bandwidth / rates.cores),
        cpu_step=CompiledStep(measured.batch, flops, moved, memory, seconds),
        steps=tuple(_compiled(cost) for cost in costs if cost.topology != "cpu" and cost.batch_per_core),
    )


def this_machine(measured: Measurement) -> Accelerator:
    """Returns the machine that was measured on, as an accelerator without limits."""
    nobody = replace(catalog().accelerators[""], service=Service.HERE, name="this machine", status=Status.OFFERED)
    return replace(nobody, kind=AcceleratorKind.CPU, cores=measured.machine.cores, host_memory_gib=None)


def _guessed(measured: Measurement) -> tuple[float, float, float, float]:
    """The figures of a step that no compiler told: of what it took here, half is arithmetic and half is traffic."""
    half = (measured.step_seconds or 0.0) * catalog().experience.cpu_attainable / 2
    return (
        half * measured.machine.flops,
        half * measured.machine.bandwidth,
        float(STATE_BYTES * measured.parameters),
        0.0,
    )


def _compiled(cost: StepCost) -> CompiledStep:
    return CompiledStep(
        batch=cost.batch_per_core,
        flops=plausible(cost.flops),
        bytes_moved=plausible(cost.bytes_moved),
        memory=plausible(cost.peak_memory),
        compile_seconds=plausible(cost.compile_seconds),
        seconds=plausible(cost.cycles_seconds) or None,
        chip=_CHIPS.get(cost.topology.partition(":")[0], ""),
    )
