"""The events of a run, in the order in which a listener hears of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


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
