"""Cells of rendered notebooks for tables, executed in this process: what a notebook knows once some of them are done.

No framework is imported, so that a test takes a fraction of a second: cells that look at the machine are left out.
"""

import ast
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

from notebook_session import rendered_cells

from generator.competition.facts import Task
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints
from generator.competition.survey import survey_folder

FRAMEWORKS = {"catboost", "jax", "keras", "lightgbm", "tensorflow", "xgboost"}
OF_THE_MACHINE = {"find-devices", "use-backbone", "use-weights", "check-backbone"}
HELPERS = (
    *("checked-rows", "labelled", "numbers-to-predict", "labels-to-predict"),
    *("test-rows-of", "labels-like", "joining", "write-checked"),
)
_BACKEND = re.compile(r"^(?:os\.environ\[|compiled = ).*$", re.MULTILINE)


def task_in(folder: Path, metric: str, **overrides: str | list[str]) -> Task:
    """Reads the task of a competition from its files and the name of its metric."""
    return read_task(survey_folder(folder), Hints(slug="digits", metric_text=metric, overrides=overrides)).task


def known_after(
    until: str,
    task: Task,
    role: str,
    folder: Path,
    *,
    more: Sequence[str] = (),
    draws: bool = False,
    **parameters: object,
) -> SimpleNamespace:
    """The names of a notebook once the cell `until` is done, and the cells `more`, which need nothing in between.

    Args:
        until: The name of a cell.
        task: What the notebook is rendered for.
        role: Which of the two notebooks.
        folder: The folder of the competition.
        more: The names of later cells.
        draws: Whether to execute cells that draw as well.
        parameters: What papermill would inject.
    """
    sources = rendered_cells("keras", role, task)
    names = list(sources)
    first = [name for name in names[: names.index(until) + 1] if name not in ("parameters", "imports")]
    roots = {"INPUT_ROOT": str(folder.parent), "WORKING_ROOT": str(folder.parent / "working")}
    if not draws:
        first = [name for name in first if "plt.show()" not in sources[name]]
    return _executed(sources, [*first, *more], role, {"COMPETITION": folder.name, **roots, **parameters})


def executed_alone(cells: Sequence[str], task: Task, role: str, **names: object) -> SimpleNamespace:
    """Executes some cells of a notebook behind its parameters and imports, with these names; returns all names.

    Args:
        cells: The names of the cells.
        task: What the notebook is rendered for.
        role: Which of the two notebooks.
        names: What the notebook knows before; `WORKING_ROOT` has to be a folder where a cell writes.
    """
    with tempfile.TemporaryDirectory() as folder:
        roots = {"INPUT_ROOT": folder, "WORKING_ROOT": folder}
        return _executed(rendered_cells("keras", role, task), cells, role, {**roots, **names})


def without_frameworks(source: str) -> str:
    """A cell without the statements that import a framework, which takes seconds."""
    lines = source.split("\n")
    for node in ast.parse(source).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] in FRAMEWORKS for name in names):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join(lines)


def _executed(
    sources: Mapping[str, str], cells: Sequence[str], role: str, injected: Mapping[str, object]
) -> SimpleNamespace:
    known = SimpleNamespace(display=print)
    names = vars(known)  # what the cells' functions look names up in
    folded = [name for name in sources if name in HELPERS and name not in cells]
    for cell in ("parameters", "imports", *dict.fromkeys(["runtime", *folded, *cells])):
        source = _BACKEND.sub("", without_frameworks(sources[cell]))
        if cell not in OF_THE_MACHINE:
            exec(compile(source, f"<cell {cell}>", "exec"), names)  # noqa: S102 - the cells are what is tested
        if cell == "parameters":
            names |= injected
        if cell == "runtime":
            names["run"] = names["Run" if role == "train" else "Inference"](names)
    return known
