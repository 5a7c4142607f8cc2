"""Runs compared: what changed between two, and how alike their predictions are."""

import difflib
import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.errors import TandemError
from generator.files import open_below
from generator.pair.workspace import PairFolder, Role, Workspace
from generator.run.ledger import NOTEBOOKS, OUT_OF_FOLD, RunRecord, read_executed_code, run_folder
from generator.text import Value, python_literal

_MOST_LINES = 5_000  # of a cell that is compared line by line
_LARGEST_PREDICTIONS = 2**28  # bytes in memory
_MOST_CELLS_NAMED = 6


# What changed between two runs.


@dataclass(frozen=True)
class ParameterChange:
    """A parameter that differs; None where a run has no such parameter."""

    name: str
    roles: tuple[Role, ...]
    before: Value | None
    after: Value | None

    def __str__(self) -> str:
        return f"{self.name} {_in_words(self.before)} → {_in_words(self.after)}"


def _in_words(value: Value | None) -> str:
    return "absent" if value is None else python_literal(value)


def changed_parameters(before: RunRecord, after: RunRecord) -> list[ParameterChange]:
    """The parameters that differ between two runs; one that differs in both notebooks alike is one."""
    changes: dict[tuple[str, str, str], ParameterChange] = {}
    for role in Role:
        if role not in before.code or role not in after.code:  # such as a training without its inference
            continue
        old, new = before.values(role), after.values(role)
        for name in dict.fromkeys([*old, *new]):
            if old.get(name) != new.get(name):
                key = name, repr(old.get(name)), repr(new.get(name))
                roles = (*changes[key].roles, role) if key in changes else (role,)
                changes[key] = ParameterChange(name, roles, old.get(name), new.get(name))
    return list(changes.values())


def changed_cells(before: RunRecord, after: RunRecord) -> dict[Role, list[str]]:
    """The code cells that differ between two runs, or that only one of them has, in each notebook."""
    cells = {}
    for role in Role:
        old, new = before.code.get(role), after.code.get(role)
        if old is not None and new is not None:
            cells[role] = [name for name in dict.fromkeys([*new, *old]) if old.get(name) != new.get(name)]
    return cells


def changes_between(before: RunRecord, after: RunRecord) -> list[str]:
    """What changed between two runs, in a few words each: parameters, cells, and the data."""
    changes = [
        f"{name} {getattr(before, name)} → {getattr(after, name)}"
        for name in ("framework", "metric")
        if getattr(before, name) != getattr(after, name)
    ]
    changes += [str(change) for change in changed_parameters(before, after) if change.name != "METRIC"]
    names = list(dict.fromkeys(name for cells in changed_cells(before, after).values() for name in cells))
    if names:
        rest = f" and {len(names) - _MOST_CELLS_NAMED} more" if len(names) > _MOST_CELLS_NAMED else ""
        changes.append(f"cell{'s' * (len(names) > 1)} {', '.join(names[:_MOST_CELLS_NAMED])}{rest}")
    for name, label in (("data_sha256", "data"), ("folds_sha256", "folds")):
        hashes = {getattr(before, name), getattr(after, name)}
        changes += [label] if len(hashes - {None}) > 1 else []
    return changes


def changes_since_parent(record: RunRecord, records: Sequence[RunRecord]) -> list[str]:
    """What changed since the run before; nothing for a run that has none, or whose parent was removed."""
    parent = next((entry for entry in records if (entry.pair, entry.number) == (record.pair, record.parent)), None)
    return [] if parent is None else changes_between(parent, record)


def is_notebook_edited(folder: PairFolder, record: RunRecord) -> bool:
    """True if code cells of a pair differ from those that a run executed; parameters do not count.

    Raises:
        OSError: A notebook cannot be read, or is a link.
        ParametersCellError: The parameters are no plain values.
    """
    for role in Role:
        if role in record.code:
            # By their contents: a cell without an id is called by its place, which a run shifts.
            now = read_executed_code(folder.notebook(role)).hashes
            if Counter(record.code[role].values()) != Counter(now.values()):
                return True
    return False


def diff_of_cells(workspace: Workspace, before: RunRecord, after: RunRecord) -> Iterator[str]:
    """Yield the lines of a unified diff of the code cells that differ; a change of both notebooks comes once."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for role, names in changed_cells(before, after).items():
        old, new = (_sources(workspace, record, role) if names else {} for record in (before, after))
        for name in names:
            places.setdefault((name, old.get(name, ""), new.get(name, "")), []).append(NOTEBOOKS[role])
    for (name, old_source, new_source), notebooks in places.items():
        labels = [f"{record.name} {' and '.join(notebooks)}: {name}" for record in (before, after)]
        old_lines, new_lines = old_source.splitlines(), new_source.splitlines()
        if max(len(old_lines), len(new_lines)) > _MOST_LINES:
            yield f"{labels[1]} has too many lines to be compared."
        else:
            yield from difflib.unified_diff(old_lines, new_lines, labels[0], labels[1], lineterm="")


def _sources(workspace: Workspace, record: RunRecord, role: Role) -> Mapping[str, str]:
    with suppress(OSError, TandemError):
        folder = run_folder(workspace, record.pair, record.number)
        return read_executed_code(folder / NOTEBOOKS[role]).cells
    return {}


# How alike the out-of-fold predictions of runs are.


@dataclass(frozen=True)
class HeldOutPredictions:
    """The predictions of a run on held-out examples.

    Attributes:
        ids: The examples [examples].
        values: The predictions, as numbers [examples, outputs].
    """

    ids: Any
    values: Any


def read_predictions(folder: Path) -> HeldOutPredictions | None:
    """Read the out-of-fold predictions of a run; None if there are none that can be compared."""
    import numpy as np

    try:
        with open_below(folder, OUT_OF_FOLD) as file, zipfile.ZipFile(file) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _LARGEST_PREDICTIONS:
                return None
            arrays = {
                name: np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
                for name in ("ids", "rows", "predictions")
            }
        ids, values = arrays["ids"][arrays["rows"]].astype(str), arrays["predictions"]
        values = values.reshape(len(values), -1).astype(np.float64)
    except Exception:  # noqa: BLE001 - zipfile, zlib and NumPy raise many kinds
        return None
    if ids.ndim != 1 or len(ids) != len(values) or not np.isfinite(values).all():
        return None
    return HeldOutPredictions(ids, values)


def correlations(predictions: Sequence[HeldOutPredictions]) -> list[list[float | None]]:
    """Pearson's correlation of each two runs on the examples that both have; None where it is not defined."""
    import numpy as np

    table: list[list[float | None]] = [[None] * len(predictions) for _ in predictions]
    for row, first in enumerate(predictions):
        for column, second in enumerate(predictions[: row + 1]):
            _, places, other_places = np.intersect1d(first.ids, second.ids, return_indices=True)
            left, right = first.values[places].ravel(), second.values[other_places].ravel()
            if len(left) == len(right) > 1 and left.std() > 0 and right.std() > 0:
                table[row][column] = table[column][row] = float(np.corrcoef(left, right)[0, 1])
    return table
