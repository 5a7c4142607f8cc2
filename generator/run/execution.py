"""One notebook executed by papermill, from its first cell to its last or as far as it gets."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from generator.competition.facts import Value
from generator.errors import RunError
from generator.run.events import Listener, NotebookFinished
from generator.run.failure import CellError, NotebookTimeoutError
from generator.run.kernel import KernelDiedError, KernelPlace


@dataclass(frozen=True)
class CellTiming:
    """How long one code cell took, and under which H2 heading it stands ("" above the first)."""

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
    place: KernelPlace
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


def execute(execution: Execution, listener: Listener) -> ExecutedNotebook:
    """Executes a notebook and saves it, also when it fails or is interrupted.

    What ends a notebook early is its failure, not this function's, and stands in the result: a cell that raises, a
    kernel that dies, a timeout.

    Raises:
        KernelStartError: The kernel did not start.
        KeyboardInterrupt: A signal asked for the end; the kernel is gone and the notebook saved.
    """
    from papermill.engines import papermill_engines  # type: ignore[import-untyped]
    from papermill.execute import execute_notebook  # type: ignore[import-untyped]

    from generator.run.engine import NotebookRun, TandemEngine

    papermill_engines.register(TandemEngine.NAME, TandemEngine)
    run = NotebookRun(execution, listener)
    started = time.monotonic()
    failure: RunError | None = None
    complete = False
    try:
        execute_notebook(
            _without_placeholders(execution.source),
            _without_placeholders(execution.saved_as),
            parameters=dict(execution.parameters),
            engine_name=TandemEngine.NAME,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            notebook_run=run,
        )
        complete = True
    except (CellError, KernelDiedError, NotebookTimeoutError) as error:
        failure = error
    finally:
        seconds = time.monotonic() - started
        listener(NotebookFinished(execution.title, seconds, complete))
    return ExecutedNotebook(execution.saved_as, seconds, tuple(run.timings), failure)


def _without_placeholders(path: Path) -> str:
    # papermill fills in `{name}` in paths.
    return str(path).replace("{", "{{").replace("}", "}}")
