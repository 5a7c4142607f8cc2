"""The story of a plan: read the pair, measure its input, ask the compiler for its step, predict, recommend."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from generator.accelerators.prediction import Prediction, predict
from generator.pair.folder import existing_pair
from generator.pair.generation import read_pair
from generator.plan.compiled import Compiled, compiled_steps
from generator.plan.measurement import REFERENCE_BATCH, Measurement, PlanOptions, measure
from generator.plan.recommendation import Plan, plan_training
from generator.plan.workload import this_machine, workload_of
from generator.run.events import Listener


@dataclass(frozen=True)
class PlannedPair:
    """A pair with its plan.

    Attributes:
        name: The pair.
        framework: What its notebooks are written in.
        measurement: What was measured here.
        compiled: What a TPU's compiler said.
        plan: The plan.
        here: The training on this machine, or None.
    """

    name: str
    framework: str
    measurement: Measurement
    compiled: Compiled
    plan: Plan
    here: Prediction | None

    @property
    def assignments(self) -> tuple[str, ...]:
        """What `generate -P` would have to be told for the recommendation."""
        made = self.plan.recommended
        return (f"ACCELERATOR={made.accelerator.kind}", f"BATCH_SIZE={made.batch}")

    def learning_rate(self, made: Prediction) -> float:
        """The highest rate of the schedule with the batch of a prediction, which the notebook works out itself."""
        measured = self.measurement
        follows = _root if measured.follows_root else _line_then_root
        batches = made.batch * made.accelerator.devices
        return measured.learning_rate * follows(batches) / follows(measured.batch)

    def steps_per_execution(self, made: Prediction) -> int:
        """How many steps should be handed over at once: Keras on JAX takes them one by one whatever it is told."""
        if self.framework != "tensorflow" or made.step <= 0:
            return 1
        per_epoch = max(1, self.plan.workload.examples // (made.batch * made.accelerator.devices))
        wanted = 10 * made.loop / max(made.device, made.host, 1e-6)
        return int(max(1, min(per_epoch, 64, wanted)))


def plan_pair(options: PlanOptions, listener: Listener, tell: Callable[[str], None]) -> PlannedPair:
    """Plans the training of a pair.

    Args:
        options: The options.
        listener: Told of the notebook's cells.
        tell: Told of everything else that takes its time.

    Raises:
        TandemError: The pair, its data or its packages are missing, or its notebook fails.
    """
    spec = read_pair(existing_pair(options.workspace, options.pair))
    measured = measure(options, listener)
    compiled = Compiled((), "it was not asked")
    if options.asks_compiler:
        compiled = compiled_steps(options, measured.batch, tell)
    work = workload_of(measured, compiled.costs, examples=options.examples)
    plan = plan_training(work, batch=measured.batch, sees_tpu=spec.framework != "tensorflow")
    here = predict(work, this_machine(measured), measured.batch)
    return PlannedPair(options.pair, spec.framework, measured, compiled, plan, here)


def _root(batch: int) -> float:
    return math.sqrt(batch / REFERENCE_BATCH)


def _line_then_root(batch: int) -> float:
    return min(batch / REFERENCE_BATCH, _root(batch))
