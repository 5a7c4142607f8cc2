"""The execution of one notebook as data: what is asked for, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from generator.competition.facts import Value
from generator.errors import RunError
from generator.run.kernel import KernelSetup


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
    """A notebook that was run: to its end if `failure` is None.

    `sections` are the seconds of its code cells by the H2 heading above them ("" above the first), in their order.
    """

    path: Path
    seconds: float
    sections: Mapping[str, float]
    failure: RunError | None = None
