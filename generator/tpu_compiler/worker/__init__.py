"""The process that runs a notebook and compiles its steps. It reads an order from a pipe, and writes events to another.

    process            reads the order, runs the cells, compiles the steps; intercepts those of TensorFlow
    compiler           intercepts the steps of JAX and Keras, compiles them, searches for the largest batch that fits
    torch_steps        intercepts the steps of PyTorch/XLA; `torch_program` translates them to JAX

The cells run in an IPython of their own, with a file name for each, so that tracebacks name them.
Unlike the rest of the kit, it may import JAX, Keras, TensorFlow and PyTorch. No package imports it.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

from IPython.core.compilerop import CachingCompiler
from IPython.core.inputtransformer2 import leading_empty_lines
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from generator.run.kernel_process import Guard, refuse_network

_FILE = re.compile(r"tandem-cell-(\d+)\.py$")
_IN_TEXT = re.compile(r'tandem-cell-(\d+)\.py"?(?:, line |:|" source_line=| source_line=)(\d+)')

_LONGEST_ERROR = 300  # characters of a Python error that are told


class EnoughSeenError(BaseException):
    """Ends a notebook whose steps are all caught; no `except Exception` of a notebook stops it."""


@dataclass(frozen=True)
class CellLine:
    """A line of a cell, counted from 1; None where only the cell is known."""

    cell: str
    line: int | None


@dataclass(frozen=True)
class WorkerCell:
    """A cell: its name and its text; what `is_internal` says is the kit's own, and no line of it is the notebook's."""

    name: str
    source: str
    is_internal: bool = False


class Notebook:
    """The cells, and the shell that runs them."""

    def __init__(self, cells: list[WorkerCell]) -> None:
        self.cells = cells
        self.running = 0
        notebook = self

        class CellCompiler(CachingCompiler):
            """Names the code of a cell after the cell; AutoGraph and inspect find its text by that name."""

            def get_code_name(self, *_code: Any) -> str:
                """The file name."""
                return f"/tandem-cell-{notebook.running}.py"

        # Nothing of the user's, and nothing that outlives this process.
        shell_class: Any = type("Shell", (InteractiveShell,), {"compiler_class": CellCompiler})
        config = Config({"HistoryManager": {"enabled": False, "hist_file": ":memory:"}})
        self.shell: Any = shell_class.instance(config=config)
        # They would shift the numbers of the lines.
        self.shell.input_transformer_manager.cleanup_transforms.remove(leading_empty_lines)
        self.shell.enable_gui = lambda *_arguments, **_options: None
        self.namespace: dict[str, Any] = self.shell.user_ns

    def run_all(self, tell: Callable[[dict[str, Any]], None]) -> None:
        """Runs the cells until enough is seen; an error of the notebook's is told."""
        for number, cell in enumerate(self.cells):
            tell({"progress": f"runs cell {cell.name}"} if not cell.is_internal else {})
            error = self._run(number)
            if isinstance(error, EnoughSeenError):
                return
            if error is not None:
                place = self.place_of(error)
                message = " ".join(str(error).split())[:_LONGEST_ERROR]
                tell({"failed": f"{type(error).__name__}: {message}", "cell": place.cell, "line": place.line})
                return

    def _run(self, number: int) -> BaseException | None:
        """Runs a cell, and returns what it raised."""
        self.running = number
        result = self.shell.run_cell(self.cells[number].source, store_history=False, silent=True)
        error: BaseException | None = result.error_before_exec or result.error_in_exec
        return error

    def place_of(self, error: BaseException) -> CellLine:
        """The deepest line of a cell that an exception passed through, or the running cell."""
        if isinstance(error, SyntaxError) and error.filename and (match := _FILE.search(error.filename)):
            return CellLine(self.cells[int(match[1])].name, error.lineno)
        return self._deepest(error.__traceback__) or CellLine(self.cells[self.running].name, None)

    def _deepest(self, traceback: TracebackType | None) -> CellLine | None:
        place = None
        while traceback is not None:
            place = self._place(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno) or place
            traceback = traceback.tb_next
        return place

    def calling_place(self) -> CellLine:
        """The line of a cell that the running code was called from."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - what inspect is made of, without reading files
        while frame is not None:
            if place := self._place(frame.f_code.co_filename, frame.f_lineno):
                return place
            frame = frame.f_back
        return CellLine(self.cells[self.running].name, None)

    def place_in_text(self, text: str) -> CellLine | None:
        """The last line of a cell that a compiler's text names."""
        places = [self._place_in_cell(int(match[1]), int(match[2])) for match in _IN_TEXT.finditer(text)]
        return next((place for place in reversed(places) if place), None)

    def place_of_frames(self, frames: Any) -> CellLine | None:
        """The innermost line of a cell in the frames of a traceback of JAX's, the innermost of which comes first."""
        places = (self._place(frame.file_name, frame.line_num) for frame in frames)
        return next((place for place in places if place), None)

    def defines(self, function: Any) -> bool:
        """Whether a function's code stands in a cell."""
        code = getattr(function, "__code__", None)
        return code is not None and self._place(code.co_filename, 1) is not None

    def _place(self, filename: str, line: int) -> CellLine | None:
        match = _FILE.search(filename)
        return self._place_in_cell(int(match[1]), line) if match else None

    def _place_in_cell(self, number: int, line: int) -> CellLine | None:
        if number >= len(self.cells) or self.cells[number].is_internal:
            return None
        return CellLine(self.cells[number].name, line)


def load_notebook(order: dict[str, Any]) -> Notebook:
    """The notebook of an order, in a process that from now on refuses what Kaggle would."""
    notebook = Notebook([WorkerCell(cell["name"], cell["source"], cell["own"]) for cell in order["cells"]])
    Guard(order["read_only"]).install()
    refuse_network()
    return notebook
