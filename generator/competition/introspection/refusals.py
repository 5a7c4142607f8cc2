"""Targets that no family can learn, which are refused before a pair is made that could only fail."""

import json
from collections.abc import Sequence

from generator.competition.facts import TargetKind
from generator.competition.introspection.clues import Clues
from generator.competition.introspection.errors import UnlearnableTargetError
from generator.competition.introspection.facts import Hints
from generator.competition.survey.facts import Column, ColumnKind, Table

_FEWEST_CELLS = 20
_LETTERS, _OWN_TEXTS = 8, 0.7
_PASSAGES = 0.8
_SHOWN = 30


def check_that_targets_can_be_learned(kind: TargetKind, clues: Clues, hints: Hints) -> None:
    """Refuses cells that are lists of numbers, and texts that are to be written.

    Raises:
        UnlearnableTargetError: The targets are such; not if the user decided what kind of targets they are.
    """
    columns = clues.targets.columns
    if "target_kind" in hints.overrides or not columns or kind in (TargetKind.MASK, TargetKind.IMAGE):
        return
    for column in columns:
        if _are_series(column.present):
            raise UnlearnableTargetError(
                column=column.name,
                cell=column.present[0][:_SHOWN],
                problem="a list of numbers in each cell, one for each part of an example",
            )
    train = clues.tables.train
    if len(columns) == 1 and train is not None and _is_passage(columns[0], train):
        raise UnlearnableTargetError(
            column=columns[0].name, cell=columns[0].present[0][:_SHOWN], problem="a passage of another column"
        )
    if kind is TargetKind.CLASS and len(columns) == 1 and _is_written(columns[0]):
        raise UnlearnableTargetError(
            column=columns[0].name,
            cell=columns[0].present[0][:_SHOWN],
            problem="another text in nearly every row, which would have to be written",
        )


def _are_series(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_is_series(cell) for cell in cells[:_FEWEST_CELLS])


def _is_series(cell: str) -> bool:
    if not (cell.startswith("[") and cell.endswith("]") and "," in cell):
        return False
    try:
        return all(isinstance(value, int | float) for value in json.loads(cell))
    except (ValueError, RecursionError):
        return False


def _is_passage(target: Column, train: Table) -> bool:
    """Whether the target, of several words, stands in another column of its own row."""
    spaced = sum(" " in cell for cell in target.present)
    if target.kind is not ColumnKind.TEXT or spaced < len(target.present) / 2:
        return False
    others = (column for column in train.columns if column.kind is ColumnKind.TEXT and column.name != target.name)
    return any(_is_inside(target, other) for other in others)


def _is_inside(target: Column, other: Column) -> bool:
    if len(target.values) != len(other.values):  # the labels have a table of their own
        return False
    rows = [(cell, text) for cell, text in zip(target.values, other.values, strict=True) if cell and text]
    return sum(cell.strip() in text for cell, text in rows) > _PASSAGES * max(1, len(rows))


def _is_written(column: Column) -> bool:
    """Whether nearly every cell is a text of its own; short ones may be names of rare classes."""
    present = column.present
    if column.kind is not ColumnKind.TEXT or len(present) < _FEWEST_CELLS:
        return False
    letters = sum(map(len, present)) / len(present)
    return len(column.distinct) > _OWN_TEXTS * len(present) and letters > _LETTERS
