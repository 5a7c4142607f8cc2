"""Answers that are copied from a column of the input: what they score where the trivial answer is to change nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generator.competition.baseline.held_out import HeldOut
from generator.competition.baseline.table_features import as_numbers, read_table
from generator.competition.facts import TargetKind
from generator.competition.tables.errors import UnreadableTableError
from generator.competition.tables.rows import table_rows
from generator.files import contained

_MOST_COLUMNS = 100
_MOST_CELLS = 20_000_000  # of one-hot answers
_FEWEST_RIGHT = 0.01  # of the answers, for a column to be one that says classes


def copied_answers(held_out: HeldOut, data: Path) -> Iterator[tuple[str, Any, Any]]:
    """Yield columns, held-out rows, and the answers there [rows, …] if the cell of a row is its answer.

    Nothing is yielded for several targets, lists of labels, files, and columns that test examples do not have.
    """
    import numpy as np

    task = held_out.task
    is_class = task.target_kind is TargetKind.CLASS
    is_one = len(task.targets) == 1 and (is_class or task.target_kind is TargetKind.NUMBER)
    if not is_one or task.details.get("prediction_per") == "group" or not task.test_table:
        return
    table, target = read_table(task, data, task.id_column), task.targets[0]
    if table is None or target not in table:
        return
    places = held_out.places_in(table[task.id_column])
    rows = held_out.rows[places[held_out.rows] >= 0]
    if not len(rows):
        return
    there = np.flatnonzero(places >= 0)
    written = table[target].to_numpy()[places[there]]
    class_of = dict(zip(written, held_out.truth[there].tolist(), strict=True)) if is_class else {}
    no_inputs = {task.id_column, target}
    inputs = [name for name in table.columns if name in _test_columns(held_out, data) and name not in no_inputs]
    decimal = str(task.details.get("decimal", "."))
    for name in inputs[:_MOST_COLUMNS]:
        cells = table[name].iloc[places[rows]]
        if not is_class:
            numbers = as_numbers(cells, decimal).to_numpy(dtype="float64")
            if np.isfinite(numbers).all():
                yield name, rows, numbers[:, None]
            continue
        answers = cells.map(class_of).fillna(held_out.class_count).to_numpy(dtype="int64")
        if (answers == held_out.truth[rows]).mean() < _FEWEST_RIGHT:
            continue
        if held_out.decision != "none":
            yield name, rows, answers
        elif len(rows) * held_out.class_count <= _MOST_CELLS:
            chances = np.eye(held_out.class_count + 1)[answers][:, :-1]
            chances[answers == held_out.class_count] = 1 / held_out.class_count  # a cell that is no class says nothing
            yield name, rows, chances


def _test_columns(held_out: HeldOut, data: Path) -> frozenset[str]:
    """The header of the test table; empty where that cannot be read."""
    details = held_out.task.details
    written = {name: str(details[name]) for name in ("separator", "encoding") if name in details}
    try:
        _, header = next(table_rows(contained(data / held_out.task.test_table, root=data), **written))
    except (OSError, UnreadableTableError, StopIteration):
        return frozenset()
    return frozenset(header)
