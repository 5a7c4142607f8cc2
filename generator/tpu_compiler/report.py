"""What a compilation of a notebook's steps told: plain data."""

from dataclasses import dataclass, field

from generator.tpu_compiler.step_cost import StepCost


@dataclass(frozen=True)
class Problem:
    """Something that would fail, or cost time, on a TPU.

    Attributes:
        kind: "error" (the notebook does not reach its step), "refused", "memory", "recompilation", "one-core",
            "on-host", "padding", "time-limit" or "died".
        sentence: What is wrong.
        remedy: What to do.
        cell: The name of the cell, or "".
        line: The line of the cell, counted from 1, or None.
    """

    kind: str
    sentence: str
    remedy: str
    cell: str = ""
    line: int | None = None

    @property
    def is_error(self) -> bool:
        """Whether the notebook would fail for it; else it costs time."""
        return self.kind in ("error", "refused", "memory", "died")


@dataclass(frozen=True)
class LargestBatch:
    """The largest batch of a training step that fits into the memory of a core.

    Attributes:
        batch_per_core: Examples a core, a multiple of 8; 0 if not even 8 fit.
        peak_memory: What the step then takes, or None if no compilation confirmed it.
        compilations: How many it took to find.
    """

    batch_per_core: int
    peak_memory: int | None
    compilations: int


@dataclass
class CompileReport:
    """The compiler's word on a notebook, filled in as it is heard.

    Attributes:
        topology: What was compiled for; "cpu" if the TPU's compiler is not there.
        compiler: The compiler and its version, such as "libtpu 0.0.42.1".
        steps: The cost of each step that compiled, in the order of their calls.
        problems: What is wrong.
        unknown: What could not be known, a sentence each.
        largest_batch: Of the training step, where it was asked for or the notebook's own batch does not fit.
        seconds: How long it all took, with the notebook's own cells.
    """

    topology: str
    compiler: str
    steps: list[StepCost] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    largest_batch: LargestBatch | None = None
    seconds: float = 0.0
