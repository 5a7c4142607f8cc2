"""What a layout of a competition's files is, and the lists of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """One competition.

    Attributes:
        name: For the list of tests.
        write: Fills an empty folder.
        task: What fields of the task have to be.
        details: What details of the task have to be.
        warns: Words that a warning has to have, for what cannot be known.
        settles: What the user can decide so that nothing remains to be warned of.
        metric: What Kaggle's API calls the metric.
    """

    name: str
    write: Callable[[Path], None]
    task: Mapping[str, object]
    details: Mapping[str, object] = field(default_factory=dict)
    warns: tuple[str, ...] = ()
    metric: str = ""
    settles: Mapping[str, str | list[str]] = field(default_factory=dict)


LAYOUTS: list[Layout] = []
WARNED: list[Layout] = []


def layout(
    *,
    details: Mapping[str, object] | None = None,
    warns: tuple[str, ...] = (),
    metric: str = "",
    settles: Mapping[str, str | list[str]] | None = None,
    **task: object,
) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Adds a function that writes a competition: to the layouts that are clear, or to those to be warned of."""

    def add(write: Callable[[Path], None]) -> Callable[[Path], None]:
        known = WARNED if warns else LAYOUTS
        known.append(Layout(write.__name__, write, task, details or {}, warns, metric, settles or {}))
        return write

    return add
