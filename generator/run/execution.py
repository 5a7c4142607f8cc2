"""The execution of one notebook as data: what is asked for, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from generator.competition.facts import Value
from generator.errors import RunError
from generator.run.kernel import KernelSetup


@dataclass(frozen=True)
class CellTiming:
    """The time that one code cell took, and the H2 heading above it ("" above the first)."""

    name: str
    section: str
    seconds: float


@dataclass(frozen=True)
class Execution:
    """One notebook's run to come: what to execute, where its result is saved, and with which parameters.

    `mounted` says which folder of the user each folder below INPUT_ROOT is: the mirror is gone when an error is read.
    """

    title: str
    source: Path
    saved_as: Path
    parameters: Mapping[str, Value]
    kernel: KernelSetup
    mounted: Mapping[Path, Path] = field(default_factory=dict)
    timeout: float | None = None


@dataclass(frozen=True)
class ExecutedNotebook:
    """A notebook that was run: to its end if `failure` is None."""

    path: Path
    seconds: float
    cells: tuple[CellTiming, ...]
    failure: RunError | None = None

    def sections(self) -> dict[str, float]:
        """Seconds by section, in the order of the notebook."""
        seconds: dict[str, float] = {}
        for cell in self.cells:
            seconds[cell.section] = seconds.get(cell.section, 0.0) + cell.seconds
        return seconds
