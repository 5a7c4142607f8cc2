"""One execution of a notebook as data: its cells and parameters, the events and errors of it, its result."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generator.errors import RunError
from generator.files import FileReadError, read_bytes
from generator.kit_files import install_command
from generator.pair.notebook import PARAMETERS_TAG, NotebookReadError, ParameterError, parse_assignment, read_parameters
from generator.pair.workspace import Role
from generator.run.kernel import KernelSetup
from generator.text import Value, printable

# Printed text as a terminal would show it: without control sequences, in whole lines.


# Colours, cursor movements (CSI) and titles or links (OSC), as terminals understand them.
_TERMINAL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# Longer ones are no colours, and Python refuses to read numbers without an end.
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,64}m")


def strip_ansi(text: str, *, keep_colours: bool = False) -> str:
    """Text without what terminals obey; what else is in it stays, and so do colours if they are to be kept."""
    return _TERMINAL_SEQUENCE.sub(
        lambda sequence: sequence[0] if keep_colours and _COLOUR.fullmatch(sequence[0]) else "", text
    )


def without_overwritten(text: str) -> str:
    """Return the text that a terminal shows in the end, without what a carriage return or a backspace overwrote."""
    text = text.replace("\r\n", "\n")
    if "\b" in text:
        text = re.sub("\b+", "\r", text)  # progress bars go back to the start of their line this way
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


class PrintedLines:
    """Collects pieces of one stream and gives back its lines as they become whole.

    The time that it takes grows with the length of the text, however it is cut into pieces.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, piece: str) -> list[str]:
        """Add a piece; return the lines that it completed, blank ones left out."""
        head, line_end, rest = piece.rpartition("\n")
        if not line_end:
            self._pieces.append(piece)
            return []
        whole = "".join([*self._pieces, head])
        self._pieces = [rest]
        return _tidy_lines(whole)

    def finish(self) -> list[str]:
        """Return what was printed without a line end."""
        rest, self._pieces = "".join(self._pieces), []
        return _tidy_lines(rest)


def _tidy_lines(text: str) -> list[str]:
    lines = (strip_ansi(line).rstrip() for line in without_overwritten(text).split("\n"))
    return [line for line in lines if line]


# A notebook seen as its sections and named cells.


INJECTED_TAG = "injected-parameters"


@dataclass(frozen=True)
class PlannedCell:
    """A code cell that will be executed: its name is its id, its section the H2 heading above it ("" for none)."""

    position: int
    name: str
    section: str
    cell: Any


def list_cells(notebook: Any) -> list[PlannedCell]:
    """Lists the code cells of a notebook; the cell in which papermill injects parameters gets a stable id."""
    planned_cells: list[PlannedCell] = []
    section = ""
    for position, cell in enumerate(notebook.cells):
        if has_tag(cell, INJECTED_TAG):
            cell["id"] = INJECTED_TAG
        if cell.cell_type == "markdown":
            section = heading(cell.source) or section
        elif cell.cell_type == "code" and cell.source.strip():
            name = cell.get("id") or f"cell-{position + 1}"
            planned_cells.append(PlannedCell(position, name, section, cell))
    return planned_cells


def has_tag(cell: Any, tag: str) -> bool:
    """True if a cell has a tag; tags that are no list, which nbformat lets through, are none."""
    tags = cell.metadata.get("tags")
    return isinstance(tags, list) and tag in tags


def heading(markdown: str) -> str | None:
    """Returns the text of the last H2 heading in a cell, or None."""
    # By no regular expression: one that leaves out what may stand behind a heading takes the square of a line's length.
    lines = (line[2:].strip(" ").rstrip("#").rstrip(" ") for line in markdown.split("\n") if line.startswith("## "))
    return next((text for text in reversed(list(lines)) if text), None)


# Reading notebooks from disk, the one place of this package that meets `nbformat`.


def load_notebook_v4(path: Path) -> Any:
    """Reads a notebook of any version as one of format 4.

    Returns:
        An `nbformat.NotebookNode`.

    Raises:
        FileReadError: It is missing or cannot be read.
        NotebookReadError: It is no notebook.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        raise FileReadError(path=path, cause=error) from error
    return parse_notebook(content, path=path)


def parse_notebook(content: bytes, *, path: Path) -> Any:
    """Reads the bytes of a notebook of any version as one of format 4.

    Args:
        content: The bytes.
        path: What the notebook is called in the error.

    Returns:
        An `nbformat.NotebookNode`.

    Raises:
        NotebookReadError: They are no notebook.
    """
    import nbformat

    reads: Any = nbformat.reads
    try:
        notebook = reads(content.decode(), as_version=4)
    except Exception as error:  # nbformat fails in every way there is at what is no notebook
        problem = str(error).partition("\n")[0] or "it has not the form of one"
        raise NotebookReadError(path=path, problem=problem) from error
    for position, cell in enumerate(_cells(notebook, path), start=1):
        if not _is_cell(cell):
            raise NotebookReadError(path=path, problem=f"cell {position} is not one of format 4")
    return notebook


def _cells(notebook: Any, path: Path) -> list[Any]:
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        raise NotebookReadError(path=path, problem="it has no list of cells")
    return cells


def _is_cell(cell: object) -> bool:
    """True if a cell has what is read of it; nbformat lets most of what breaks the format pass with a warning."""
    if not (_has(cell, cell_type=str, source=str, metadata=Mapping) and isinstance(cell, Mapping)):
        return False
    if not isinstance(cell.get("id", ""), str):
        return False
    return cell["cell_type"] != "code" or (_has(cell, outputs=list) and all(map(_is_output, cell["outputs"])))


def _is_output(output: object) -> bool:
    if not (_has(output, output_type=str) and isinstance(output, Mapping)):
        return False
    if output["output_type"] == "stream":
        return _has(output, name=str, text=str)
    if output["output_type"] == "error":
        return _has(output, traceback=list) and all(isinstance(line, str) for line in output["traceback"])
    return isinstance(output.get("data", {}), Mapping)


def _has(value: object, **kinds: type) -> bool:
    return isinstance(value, Mapping) and all(isinstance(value.get(name), kind) for name, kind in kinds.items())


# The errors of a notebook that did not reach its end, with the cell and the line.


_LINES_AROUND = 3
_MESSAGE_LINES = 20
_MESSAGE_WIDTH = 500
_MISSING = re.compile(r"No module named '(\w+)")
_FROM_EXTRAS = {
    **dict.fromkeys(("catboost", "lightgbm", "xgboost"), "trees"),
    **dict.fromkeys(("timm", "torch", "transformers"), "torch"),
    **dict.fromkeys(("flax", "jax", "keras", "optax", "orbax", "safetensors", "tensorflow"), "run"),
}
_CELL_FRAME = re.compile(r"(?:Cell|Input) In ?\[(\d+)\](?:, line (\d+)|, in <cell line: (\d+)>)")


@dataclass(frozen=True)
class RaisedError:
    """An exception as the kernel reported it; all of it is untrusted text."""

    name: str
    message: str
    traceback: str


@dataclass(frozen=True)
class Excerpt:
    """The place at which an exception arose; `line` counts from 1, and is None where the traceback tells none."""

    cell: PlannedCell
    line: int | None

    def lines(self) -> list[tuple[int, str]]:
        """The numbered lines around the place."""
        source = self.cell.cell.source.split("\n")
        if self.line is None:
            return list(enumerate(source[: 2 * _LINES_AROUND], start=1))
        first = max(1, self.line - _LINES_AROUND)
        return list(enumerate(source[first - 1 : self.line + _LINES_AROUND], start=first))


def locate(error: RaisedError, *, running: PlannedCell, executed_cells: Sequence[PlannedCell]) -> Excerpt:
    """Find the deepest frame of the traceback that lies in a cell, which may be another one than the running one."""
    by_count = {candidate.cell.execution_count: candidate for candidate in (*executed_cells, running)}
    for frame in reversed(list(_CELL_FRAME.finditer(strip_ansi(error.traceback)))):
        planned_cell, line = by_count.get(int(frame[1])), int(frame[2] or frame[3])
        if planned_cell is not None and line <= planned_cell.cell.source.count("\n") + 1:
            return Excerpt(planned_cell, line)
    return Excerpt(running, None)


class CellError(RunError):
    """A cell raised an exception."""

    def __init__(
        self, *, notebook: str, running: PlannedCell, excerpt: Excerpt, error: RaisedError, saved_path: Path
    ) -> None:
        self.notebook = notebook
        self.running = running
        self.error = error
        super().__init__(
            f"{_headline(notebook, running, excerpt)}\n\n"
            f"{_listing(excerpt)}\n\n"
            f"{_exception(error)}\n\n"
            f"{_remedy(error)}"
            f"The partly executed notebook: {printable(str(saved_path))}"
        )


class LateOutputError(RunError):
    """The output of a cell did not arrive after the cell had ended."""

    def __init__(self, *, notebook: str, seconds: float, cell: str, saved_path: Path) -> None:
        super().__init__(
            f'{printable(notebook)} was stopped: cell "{printable(cell)}" ended, but its output did not arrive within '
            f"{seconds:g} s. Print less in it, or write the text to a file.\n"
            f"The partly executed notebook: {printable(str(saved_path))}"
        )


class NotebookTimeoutError(RunError):
    """A notebook took longer than it was given."""

    def __init__(self, *, notebook: str, seconds: float, cell: str, saved_path: Path) -> None:
        doing = f'cell "{printable(cell)}" was running' if cell else "its kernel was starting"
        summary = f"{printable(notebook)} was stopped after {seconds:g} s, while {doing}."
        remedy = "Set a longer time with --timeout, or run a smaller test with --smoke."
        notice = f"The partly executed notebook: {printable(str(saved_path))}"
        super().__init__(f"{summary} {notice}", remedy=remedy, text=f"{summary} {remedy}\n{notice}")


def _headline(notebook: str, running: PlannedCell, excerpt: Excerpt) -> str:
    at = f" at line {excerpt.line}" if excerpt.line is not None else ""
    section = f" (section {printable(running.section)})" if running.section else ""
    if excerpt.cell is running:
        return f'{printable(notebook)} failed in cell "{printable(running.name)}"{section}{at}.'
    return (
        f'{printable(notebook)} failed in cell "{printable(running.name)}"{section}, '
        f'in code from cell "{printable(excerpt.cell.name)}"{at}.'
    )


def _listing(excerpt: Excerpt) -> str:
    lines = excerpt.lines()
    width = len(str(lines[-1][0])) if lines else 1
    return "\n".join(
        f"  {'→' if number == excerpt.line else ' '} {number:>{width}} │ {printable(text.expandtabs(4))}".rstrip()
        for number, text in lines
    )


def _exception(error: RaisedError) -> str:
    lines = strip_ansi(error.message).strip().split("\n")
    message_lines = [printable(line.expandtabs(4)[:_MESSAGE_WIDTH]) for line in lines[:_MESSAGE_LINES]]
    if len(lines) > _MESSAGE_LINES:
        message_lines.append(f"… {len(lines) - _MESSAGE_LINES} more lines")
    name = printable(error.name)
    return f"{name}: " + "\n".join(message_lines) if message_lines != [""] else name


def _remedy(error: RaisedError) -> str:
    """A line that says how a package gets here that the kit's notebooks need; nothing of any other."""
    missing = _MISSING.search(error.message) if error.name == "ModuleNotFoundError" else None
    if missing is None:
        return ""
    if missing[1] == "torchvision":
        return (
            "timm needs torchvision. Install the version for your PyTorch, in tandem's environment, from the same "
            "index as PyTorch (pytorch.org/get-started).\n\n"
        )
    extra = _FROM_EXTRAS.get(missing[1])
    return f"Install it in tandem's environment: {install_command(extra)}\n\n" if extra else ""


# The events of a run, in the order in which a listener hears of them.


@dataclass(frozen=True)
class NotebookStarted:
    """A kernel is being started; `cells` is how many code cells it will execute."""

    notebook: str
    cells: int


@dataclass(frozen=True)
class CellStarted:
    """`name` is the cell's id; `index` counts code cells from 1; `section` is the H2 heading above it."""

    name: str
    index: int
    total: int
    section: str


@dataclass(frozen=True)
class OutputLine:
    """One whole line that the running cell printed, without line end, colours and overwritten text."""

    text: str
    stream: str


@dataclass(frozen=True)
class CellFinished:
    """The running cell ended, by its last line or by an exception."""

    name: str
    seconds: float


@dataclass(frozen=True)
class NotebookFinished:
    """The kernel is gone and the notebook saved, however far it got."""

    notebook: str
    seconds: float
    complete: bool


@dataclass(frozen=True)
class OutputKept:
    """The results of an earlier run were moved out of the way of this one."""

    path: Path


@dataclass(frozen=True)
class StandInMounted:
    """A small untrained model is attached in the place of a pretrained one that is not on this machine."""

    model: str


@dataclass(frozen=True)
class BaselineAwaited:
    """The notebooks are done, and a plain baseline is not; it has so many seconds left."""

    seconds: float


@dataclass(frozen=True)
class ReportWritten:
    """The report is there, of a success or of a failure."""

    path: Path


Event = (
    NotebookStarted
    | CellStarted
    | OutputLine
    | CellFinished
    | NotebookFinished
    | OutputKept
    | StandInMounted
    | BaselineAwaited
    | ReportWritten
)


Listener = Callable[[Event], None]
"""Whoever wants to know how a run is getting on; hears of events in the order in which they happen."""


@dataclass(frozen=True)
class Execution:
    """One notebook's run to come: what to execute, where its result is saved, and with which parameters.

    `mount_sources` says which folder of the user each folder below INPUT_ROOT is: the mirror is gone when an error is
    read.
    """

    title: str
    source: Path
    saved_as: Path
    parameters: Mapping[str, Value]
    kernel: KernelSetup
    mount_sources: Mapping[Path, Path] = field(default_factory=dict)
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


# The parameters of the two notebooks of a pair in one run: defaults, and what this run sets.


ROOTS = ("INPUT_ROOT", "WORKING_ROOT")
OFF_COLAB: Mapping[str, Value] = {"RESULTS": "", "RELEASE_RUNTIME": False}
"""What keeps a notebook that was rendered for Colab from doing there what only Colab can."""


@dataclass(frozen=True)
class NotebookParameters:
    """One notebook's parameters: their defaults in the order of its cell, and the values set for this run."""

    defaults: Mapping[str, Value]
    values: Mapping[str, Value] = field(default_factory=dict)

    def value(self, name: str) -> Value | None:
        """The value that the notebook will see, or None if it has no such parameter."""
        return self.values.get(name, self.defaults.get(name))

    def with_roots(self, *, input_root: Path, working_root: Path) -> "NotebookParameters":
        """The same with the two roots set, which is how a notebook learns where it is."""
        return NotebookParameters(self.defaults, {**root_parameters(input_root, working_root), **self.values})


def root_parameters(input_root: Path, working_root: Path) -> dict[str, Value]:
    """The two roots as parameters."""
    return dict(zip(ROOTS, (str(input_root), str(working_root)), strict=True))


def read_notebook_parameters(notebook: Path) -> NotebookParameters:
    """Reads the parameters cell of a notebook; without one there are no parameters.

    Raises:
        RunError: There is no such file.
        NotebookReadError: The file is no notebook.
        ParametersCellError: The cell holds more than plain values.
    """
    if not notebook.is_file():
        raise RunError(
            f"{printable(str(notebook))} does not exist.",
            remedy="Write the pair again with `tandem generate`.",
            code="notebook-missing",
        )
    cells = load_notebook_v4(notebook).cells
    for position, cell in enumerate(cells, start=1):
        if not isinstance(cell.metadata.get("tags", []), list):  # papermill would fail at it
            raise NotebookReadError(path=notebook, problem=f"the tags of cell {position} are not a list")
    parameter_cells = [cell for cell in cells if has_tag(cell, PARAMETERS_TAG)]
    return NotebookParameters(defaults=read_parameters(parameter_cells[0].source) if parameter_cells else {})


def set_parameters(
    notebooks: Mapping[Role, NotebookParameters], assignments: Sequence[str], *, smoke: bool
) -> dict[Role, NotebookParameters]:
    """Sets parameters in each notebook that has them.

    Args:
        notebooks: The parameters as the notebooks have them.
        assignments: Texts such as `EPOCHS=3`; the last one for a name counts.
        smoke: Whether the notebooks are to run in their smoke mode.

    Raises:
        ParameterError: An assignment that no notebook can take.
    """
    run_values: dict[str, Value] = {"ALLOW_CPU": True, **OFF_COLAB}
    if smoke:
        run_values["DEBUG"] = True
    values = {
        role: {name: value for name, value in run_values.items() if name in parameters.defaults}
        for role, parameters in notebooks.items()
    }
    defaults = {name: value for parameters in notebooks.values() for name, value in parameters.defaults.items()}
    for assignment in assignments:
        name, _ = read_assignment(assignment, defaults)
        for role, parameters in notebooks.items():
            if name in parameters.defaults:
                values[role][name] = parse_assignment(assignment, parameters.defaults)[1]
    return {role: NotebookParameters(parameters.defaults, values[role]) for role, parameters in notebooks.items()}


def read_assignment(text: str, defaults: Mapping[str, Value]) -> tuple[str, Value]:
    """Reads `NAME=VALUE` for any of these parameters but the roots.

    Raises:
        ParameterError: There is no such parameter, it is of another type, or it is one that the run chooses itself.
    """
    name, value = parse_assignment(text, defaults)
    if name in ROOTS:
        option = "--workspace" if name == "INPUT_ROOT" else "--output"
        raise ParameterError(
            f"{name} cannot be changed: the run sets it to its copy of Kaggle's folder.",
            remedy=f"Use {option} instead.",
            code="parameter-fixed",
        )
    return name, value
