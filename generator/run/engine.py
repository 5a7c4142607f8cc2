"""One notebook executed by papermill, from its first cell to its last or as far as it gets."""

import asyncio
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill.engines import Engine, NotebookExecutionManager, papermill_engines  # type: ignore[import-untyped]
from papermill.execute import execute_notebook  # type: ignore[import-untyped]

from generator.pair.folder import handled_signals
from generator.run.execution import (
    CellError,
    CellFinished,
    CellStarted,
    ExecutedNotebook,
    Execution,
    LateOutputError,
    Listener,
    NotebookFinished,
    NotebookStarted,
    NotebookTimeoutError,
    OutputLine,
    PlannedCell,
    PrintedLines,
    RaisedError,
    list_cells,
    locate,
    without_overwritten,
)
from generator.run.kernel import Kernel, KernelDiedError, started_kernel

# Cancelling a running notebook: by a signal or when its time is up.


# How long an interrupted cell has to end by itself: enough to write a checkpoint, short enough for a Ctrl-C.
GRACE_SECONDS = 3.0


class StoppedError(Exception):
    """The notebook was made to end; turned into what the caller expects before it leaves the engine.

    Its time was up if `is_late`; else a signal asked for the end.
    """

    def __init__(self, *, is_late: bool) -> None:
        super().__init__()
        self.is_late = is_late


class StopRequest:
    """The wish that the current task ends, carried out in the way that its state allows.

    While a cell runs, the kernel is interrupted, so that the cell can clean up and its traceback shows where it was;
    the task is cancelled if that takes longer than `GRACE_SECONDS`, and at once while the kernel starts. While the
    kernel is being shut down the wish is only noted: that takes seconds at most, and must not be left half done.
    """

    def __init__(self) -> None:
        self._error: StoppedError | None = None
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._kernel: Kernel | None = None
        self._interrupting: asyncio.Task[None] | None = None
        self._grace: asyncio.TimerHandle | None = None
        self._closing = False

    def request(self, *, is_late: bool) -> None:
        """Makes the task end; all but the first request are ignored, so that hammering Ctrl-C loses nothing."""
        if self._error is not None:
            return
        self._error = StoppedError(is_late=is_late)
        if self._kernel is not None:
            self._interrupting = self._loop.create_task(self._kernel.interrupt())
            self._grace = self._loop.call_later(GRACE_SECONDS, self._cancel)
        elif not self._closing:
            self._cancel()

    def check(self) -> None:
        """Raises StoppedError if a stop was requested."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """From now on the kernel is being shut down."""
        self._closing = True

    @contextmanager
    def interrupting(self, kernel: Kernel) -> Iterator[None]:
        """While a cell runs in this kernel."""
        self._kernel = kernel
        try:
            yield
        finally:
            self._kernel = None
            if self._grace is not None:
                self._grace.cancel()

    def on_signals(self) -> AbstractContextManager[None]:
        """Turns the signals that ask for an end into a request, where this is the main thread."""
        return handled_signals(lambda *_: self._loop.call_soon_threadsafe(partial(self.request, is_late=False)))

    @contextmanager
    def after(self, seconds: float | None) -> Iterator[None]:
        """Turns the end of this time into a request."""
        timer = None if seconds is None else self._loop.call_later(seconds, partial(self.request, is_late=True))
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


# A cell that floods its output is done long before the output has all arrived.
_LATE_OUTPUT_SECONDS = 600
# Text that is added to an output is copied with it, so pieces are added together, and not one by one.
_JOIN_SECONDS = 1.0


def execute(execution: Execution, listener: Listener) -> ExecutedNotebook:
    """Executes a notebook and saves it, also when it fails or is interrupted.

    What ends a notebook early is its failure, not this function's, and stands in the result: a cell that raises, a
    kernel that dies, output that does not arrive, a timeout.

    Raises:
        KernelStartError: The kernel did not start.
        KeyboardInterrupt: A signal asked for the end; the kernel is gone and the notebook saved.
    """
    papermill_engines.register(TandemEngine.NAME, TandemEngine)
    signals: list[int] = []
    notebook_run = NotebookRun(execution, listener, signals)
    start_time = time.monotonic()
    failure: CellError | KernelDiedError | LateOutputError | NotebookTimeoutError | None = None
    complete = False
    try:
        # One that comes while papermill writes the file would leave half of it.
        with handled_signals(lambda number, _: signals.append(number)):
            execute_notebook(
                _without_placeholders(execution.source),
                _without_placeholders(execution.saved_as),
                parameters=dict(execution.parameters),
                engine_name=TandemEngine.NAME,
                kernel_name="python3",
                language="python",
                progress_bar=False,
                notebook_run=notebook_run,
            )
        complete = True
    except (CellError, KernelDiedError, LateOutputError, NotebookTimeoutError) as error:
        failure = error
    finally:
        seconds = time.monotonic() - start_time
        listener(NotebookFinished(execution.title, seconds, complete))
    if signals:
        raise KeyboardInterrupt
    return ExecutedNotebook(execution.saved_as, seconds, notebook_run.sections, failure)


def _without_placeholders(path: Path) -> str:
    # papermill fills in `{name}` in paths.
    return str(path).replace("{", "{{").replace("}", "}}")


class TandemEngine(Engine):  # type: ignore[misc,unused-ignore]
    """The engine that papermill calls to execute a notebook that it has parameterized and will save."""

    NAME: ClassVar[str] = "tandem"

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: NotebookExecutionManager, _kernel_name: str, *, notebook_run: "NotebookRun", **_: Any
    ) -> None:
        """Executes the notebook; papermill saves it once more when this returns or raises."""
        notebook_run.execute(nb_man)


class StreamingClient(NotebookClient):  # type: ignore[misc,unused-ignore]
    """An nbclient that passes printed lines on as they come and keeps each stream in one output."""

    def __init__(self, notebook: NotebookExecutionManager, *, kernel: Kernel, listener: Listener) -> None:
        super().__init__(
            notebook.nb, km=kernel.manager, iopub_timeout=_LATE_OUTPUT_SECONDS, raise_on_iopub_timeout=True
        )
        self.kc = kernel.client
        self._notebook = notebook
        self._listener = listener
        self._lines: dict[str, PrintedLines] = {}
        self._stream: NotebookNode | None = None
        self._pieces: list[str] = []  # of that stream, which its output does not have yet
        self._joined_at = 0.0

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> NotebookNode | None:
        """Handles one message of the kernel."""
        output: NotebookNode | None = super().process_message(msg, cell, cell_index)
        if time.monotonic() - self._joined_at > _JOIN_SECONDS:
            self._join_pieces()
        self._notebook.autosave_cell()
        return output

    def output(
        self, outs: list[NotebookNode], msg: dict[str, Any], display_id: str | None, cell_index: int
    ) -> NotebookNode | None:
        """Adds an output to its cell, joining what continues the stream before it."""
        new_output: NotebookNode | None = super().output(outs, msg, display_id, cell_index)
        if new_output is None or new_output.output_type != "stream":
            return new_output
        for line in self._lines.setdefault(new_output.name, PrintedLines()).feed(new_output.text):
            self._listener(OutputLine(line, new_output.name))
        if len(outs) > 1 and outs[-2] is self._stream and self._stream.name == new_output.name:
            self._pieces.append(outs.pop().text)
        else:
            self._join_pieces()
            self._stream = new_output
        return self._stream

    def _join_pieces(self) -> None:
        if self._stream is not None and self._pieces:
            self._stream.text += "".join(self._pieces)
        self._pieces = []
        self._joined_at = time.monotonic()

    def settle(self, cell: NotebookNode) -> None:
        """Ends the lines of a cell that is done, and drops what its progress bars have overwritten."""
        self._join_pieces()
        self._stream = None
        for stream, lines in self._lines.items():
            for line in lines.finish():
                self._listener(OutputLine(line, stream))
        for output in cell.outputs:
            if output.output_type == "stream":
                output.text = without_overwritten(output.text)


class NotebookRun:
    """The execution of one notebook; `sections` grow with every code cell that ended.

    It does not begin where a signal that asks for an end is in `received`.
    """

    def __init__(self, execution: Execution, listener: Listener, signals: Sequence[int]) -> None:
        self._signals = signals
        self.sections: dict[str, float] = {}
        self._execution = execution
        self._listener = listener
        self._executed_cells: list[PlannedCell] = []
        self._running = ""

    def execute(self, notebook: NotebookExecutionManager) -> None:
        """Executes all code cells.

        Raises:
            CellError: A cell raised.
            KernelStartError, KernelDiedError, LateOutputError, NotebookTimeoutError, KeyboardInterrupt: As `execute`
                says.
        """
        try:
            with asyncio.Runner() as runner:
                runner.run(self._execute(notebook))
        except StoppedError as error:
            if not error.is_late:
                raise KeyboardInterrupt from None
            raise NotebookTimeoutError(
                notebook=self._execution.title,
                seconds=self._execution.timeout or 0.0,
                cell=self._running,
                saved_path=self._execution.saved_as,
            ) from None

    async def _execute(self, notebook: NotebookExecutionManager) -> None:
        stop = StopRequest()
        cells = list_cells(notebook.nb)
        self._listener(NotebookStarted(self._execution.title, len(cells)))
        with stop.on_signals(), stop.after(self._execution.timeout):
            if self._signals:
                stop.request(is_late=False)
            try:
                async with started_kernel(self._execution.kernel) as kernel:
                    try:
                        await self._execute_cells(cells, notebook=notebook, kernel=kernel, stop=stop)
                    finally:
                        stop.close()
                stop.check()
            except asyncio.CancelledError:
                stop.check()
                raise

    async def _execute_cells(
        self, cells: list[PlannedCell], *, notebook: NotebookExecutionManager, kernel: Kernel, stop: StopRequest
    ) -> None:
        notebook.nb.metadata["language_info"] = _language()
        client = StreamingClient(notebook, kernel=kernel, listener=self._listener)
        for index, planned_cell in enumerate(cells, start=1):
            self._running = planned_cell.name
            self._listener(CellStarted(planned_cell.name, index, len(cells), planned_cell.section))
            with self._time_cell(planned_cell):
                error = await self._execute_cell(client, planned_cell, notebook=notebook, kernel=kernel, stop=stop)
            stop.check()
            if error is not None:
                if _is_clean_exit(error):
                    break
                raise self._cell_error(planned_cell, error)
            self._executed_cells.append(planned_cell)
        client.set_widgets_metadata()

    @contextmanager
    def _time_cell(self, planned_cell: PlannedCell) -> Iterator[None]:
        start_time = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - start_time
            self.sections[planned_cell.section] = self.sections.get(planned_cell.section, 0.0) + seconds
            self._listener(CellFinished(planned_cell.name, seconds))

    async def _execute_cell(
        self,
        client: StreamingClient,
        planned_cell: PlannedCell,
        *,
        notebook: NotebookExecutionManager,
        kernel: Kernel,
        stop: StopRequest,
    ) -> RaisedError | None:
        cell, position = planned_cell.cell, planned_cell.position
        notebook.cell_start(cell, position)
        try:
            with stop.interrupting(kernel):
                await client.async_execute_cell(cell, position)
        except CellExecutionError as error:
            raised_error = _extract_error(cell, error)
            if not _is_clean_exit(raised_error):
                notebook.cell_exception(cell, cell_index=position)
            return raised_error
        except DeadKernelError:
            # nbclient's word for a cancelled cell as well.
            notebook.cell_exception(cell, cell_index=position)
            stop.check()
            raise await self._kernel_error(kernel) from None
        except CellTimeoutError:  # of the output alone: cells have no time limit of their own
            notebook.cell_exception(cell, cell_index=position)
            raise LateOutputError(
                notebook=self._execution.title,
                seconds=_LATE_OUTPUT_SECONDS,
                cell=planned_cell.name,
                saved_path=self._execution.saved_as,
            ) from None
        finally:
            client.settle(cell)
            notebook.cell_complete(cell, cell_index=position)
        return None

    async def _kernel_error(self, kernel: Kernel) -> KernelDiedError:
        return KernelDiedError(
            notebook=self._execution.title,
            cell=self._running,
            exit_status=await kernel.exit_status(),
            last_output=kernel.said_last(),
            saved_path=self._execution.saved_as,
        )

    def _cell_error(self, planned_cell: PlannedCell, error: RaisedError) -> CellError:
        return CellError(
            notebook=self._execution.title,
            running=planned_cell,
            excerpt=locate(error, running=planned_cell, executed_cells=self._executed_cells),
            error=replace(error, message=self._in_the_users_words(error.message)),
            saved_path=self._execution.saved_as,
        )

    def _in_the_users_words(self, message: str) -> str:
        for mount, folder in self._execution.mount_sources.items():
            message = message.replace(str(mount), str(folder))
        return message


def _extract_error(cell: NotebookNode, error: CellExecutionError) -> RaisedError:
    # The exception's own text mixes the traceback with what the cell printed, which could imitate one.
    tracebacks = [output.traceback for output in cell.outputs if output.output_type == "error"]
    return RaisedError(error.ename, error.evalue, "\n".join(tracebacks[-1]) if tracebacks else "")


def _is_clean_exit(error: RaisedError) -> bool:
    """True if the notebook ended itself by `sys.exit()`, which papermill, and so Kaggle, takes for success."""
    return error.name == "SystemExit" and error.message in ("", "0", "None")


def _language() -> dict[str, str]:
    return {
        "name": "python",
        "version": platform.python_version(),
        "mimetype": "text/x-python",
        "file_extension": ".py",
        "pygments_lexer": "ipython3",
    }
