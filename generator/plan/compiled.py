"""What Google's TPU compiler says of a pair's training step, where it is installed."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from generator.plan.measurement import PlanOptions
from generator.tpu_compiler.step_cost import StepCost
from generator.untrusted import printable

_LARGE_BATCH = 128


@dataclass(frozen=True)
class Compiled:
    """The costs of the training step for a TPU, at one batch or several; or why there are none."""

    costs: tuple[StepCost, ...]
    missing: str = ""


def compiled_steps(options: PlanOptions, batch: int, tell: Callable[[str], None]) -> Compiled:
    """Compiles the training step at the pair's own batch and at a large one, as neither tells of the other.

    A TPU lays out a small batch with padding, which a large one need not have.
    """
    if find_spec("libtpu") is None:
        return Compiled((), "Google's TPU compiler is not installed")
    from generator.tpu_compiler.compilation import CompileOptions, compile_steps
    from generator.tpu_compiler.targets import pair_notebook

    costs: list[StepCost] = []
    target = pair_notebook(options.workspace, options.pair, options.assignments)
    for size in sorted({batch, _LARGE_BATCH}):
        tell(f"Compiling the step for a TPU, {size} examples a core")
        report = compile_steps(target, CompileOptions(batch_per_core=size), progress=tell)
        costs += [cost for cost in report.steps if cost.what == "train" and cost.topology != "cpu"]
        said = [problem.sentence for problem in report.problems if problem.is_error]
    return Compiled(tuple(costs), "" if costs else printable((said or ["it did not compile the step"])[0]))
