"""Cells of rendered notebooks for tables, executed in this process: what a notebook knows once some of them are done.

No framework is imported, so that a test takes a fraction of a second: cells that look at the machine are left out.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from written_submissions import without_frameworks

from generator.competition import builtin
from generator.competition.facts import Task
from generator.competition.introspection import Hints, read_task
from generator.competition.survey import survey_folder
from generator.pair.choices import Choice, Choices, MadeBy, merged, proposed
from generator.pair.percent import CellKind
from generator.pair.rendering import render_cells
from generator.pair.spec import spec_of
from generator.pair.workspace import Role

OF_THE_MACHINE = {"find-accelerator", "check-accelerator", "distribute", "replicas"}
_BACKEND = re.compile(r"^os\.environ\[.*$", re.MULTILINE)


def task_in(folder: Path, metric: str, **overrides: str | list[str]) -> Task:
    """What the kit makes of the files in a folder and the name of a metric."""
    return read_task(survey_folder(folder), Hints(slug="digits", metric_text=metric, overrides=overrides)).task


def sources_of(task: Task, role: Role | str, framework: str = "keras") -> dict[str, str]:
    """The code cells of a notebook by name, in their order; its competition is called `digits`."""
    competition, owner = builtin.require("digits").competition, Choice("ada", MadeBy.FLAG)
    choices = merged(proposed(competition, task, framework=framework, owner=owner), Choices(), flags={})
    cells = render_cells(spec_of(choices), Role(role))
    return {cell.name: cell.source for cell in cells if cell.kind is CellKind.CODE}


def known_after(
    until: str,
    task: Task,
    role: Role | str,
    folder: Path,
    *,
    more: Sequence[str] = (),
    draws: bool = False,
    **parameters: object,
) -> SimpleNamespace:
    """What a notebook knows once the cell `until` is done, and the cells `more`, which need nothing in between.

    Args:
        until: The name of a cell.
        task: What the notebook is rendered for.
        role: Which of the two notebooks.
        folder: The folder of the competition.
        more: The names of later cells.
        draws: Whether to execute cells that draw as well.
        parameters: What papermill would inject.
    """
    sources = sources_of(task, role)
    names = list(sources)
    first = [name for name in names[: names.index(until) + 1] if name not in ("parameters", "imports")]
    roots = {"INPUT_ROOT": str(folder.parent), "WORKING_ROOT": str(folder.parent / "working")}
    if not draws:
        first = [name for name in first if "plt.show()" not in sources[name]]
    return _executed(sources, [*first, *more], {"COMPETITION": folder.name, **roots, **parameters})


def executed_alone(cells: Sequence[str], task: Task, role: Role | str, **names: object) -> SimpleNamespace:
    """What these cells of a notebook define, executed behind its parameters and imports and with these names."""
    return _executed(sources_of(task, role), cells, names)


def _executed(sources: Mapping[str, str], cells: Sequence[str], injected: Mapping[str, object]) -> SimpleNamespace:
    names: dict[str, Any] = {}
    for cell in ("parameters", "imports", *cells):
        source = _BACKEND.sub("", without_frameworks(sources[cell]))
        if cell not in OF_THE_MACHINE:
            exec(compile(source, f"<cell {cell}>", "exec"), names)  # noqa: S102 - the cells are what is tested
        if cell == "parameters":
            names |= injected
    return SimpleNamespace(**names)
