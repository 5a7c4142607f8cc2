"""The rows of a table: the made-up example that each is of, and what the column that names it says."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from generator.competition.facts import TargetKind
from generator.competition.introspection.vocabulary import TEST, TRAIN, words
from generator.competition.specimen.examples import Examples, SyntheticData
from generator.competition.specimen.id_format import format_of
from generator.competition.specimen.labels import Labels
from generator.competition.specimen.masks import EMPTY
from generator.competition.specimen.original import Original
from generator.competition.specimen.randomness import random_for
from generator.competition.specimen.sampled_names import different_rows, key_column
from generator.competition.survey.facts import Column, ColumnKind, Table
from generator.competition.survey.listing import suffix_of

_COLUMNS_COMPARED = 60
_MOSTLY, _SOME = 0.5, 0.05
_MOST_ROWS_OF_AN_EXAMPLE = 10
_PIXEL = re.compile(r"(\d{1,9})_(\d{1,9})")

SizeOf = Callable[[Examples, int], tuple[int, int]]


@dataclass(frozen=True)
class TableRows:
    """The rows of one table.

    Attributes:
        side: The examples that they are of; None if they are of none.
        examples: For each row, the number of its example; a running number where there is no side.
        parts: For each row, the part of the example that it is of, "" for all of it.
        groups: For each row, the number of its group; empty where rows are not grouped.
        key: The column that names the examples.
        key_cells: What it says; empty if there is no such column.
    """

    side: Examples | None
    examples: tuple[int, ...]
    parts: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    key: str = ""
    key_cells: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.examples)

    def levels(self, source: random.Random) -> Sequence[float]:
        """The level of each row's inputs."""
        if self.side is None:
            return [source.random() for _ in self.examples]
        return [self.side.seen.levels[example] for example in self.examples]

    def marks(self) -> Sequence[tuple[int, ...]]:
        """The classes that the inputs of each row show."""
        return [self.side.seen.marks[example] for example in self.examples] if self.side is not None else []


def rows_of_role(
    original: Original, table: Table, side: Examples, *, has_row_for_each_example: bool = False
) -> TableRows:
    """The rows of the table of the training examples, of their labels, or of the test examples."""
    key = key_column(original, table)
    is_of_groups = original.is_per_group
    has_groups = bool(side.lengths) and table.column(original.text("group_column")) is not None
    groups = side.groups
    if has_groups and is_of_groups and not has_row_for_each_example:
        return _named(side, groups, [""] * len(groups), key, groups=groups)
    if side.role == "train" and (original.text("class_column") or original.has_pieces):
        return _rows_of_masks(original, table, side)
    # Labels that have rows of their own can be in a table of their own.
    is_whole = original.is_set("label_rows") and table.path != (original.task.labels_table or original.task.train_table)
    parts = side.parts if side.role == "train" and not is_whole else ("",)
    has_row_for_each_id = key is not None and len(different_rows(table, key.name)) == len(key.distinct)
    own = side.firsts if has_row_for_each_id else range(len(side))
    examples = [example for example in own for _ in parts]
    is_grouped = has_groups and not is_of_groups and len(groups) == len(examples)
    return _named(side, examples, list(parts) * len(own), key, groups=groups if is_grouped else ())


def _rows_of_masks(original: Original, table: Table, side: Examples) -> TableRows:
    """A row for each mask, or piece of one; for those that are empty as well, if the real table has such rows."""
    codes = table.column(original.text("mask_column"))
    has_empty = codes is not None and codes.missing > 0
    rows: list[tuple[int, str]] = []
    for example, shapes in enumerate(side.shapes):
        there = [number for number, shape in enumerate(shapes) if shape is not EMPTY]
        if has_empty:
            there = (there or [0]) if original.has_pieces else list(range(len(shapes)))
        rows += [(example, side.parts[number]) for number in there]
    found = _named(side, [example for example, _ in rows], [""] * len(rows), key_column(original, table))
    return replace(found, parts=tuple(part for _, part in rows))


def rows_of_sample(original: Original, side: Examples, size_of: SizeOf) -> TableRows:
    """The rows of the sample submission: one for each part of each test example.

    Args:
        original: What is copied.
        side: The test examples.
        size_of: The width and height of the picture of an example, all of whose pixels are asked for where the real
            sample asks for pixels.
    """
    known = [_PIXEL.fullmatch(part) for part in side.parts]
    pixels = [(int(found[1]), int(found[2])) for found in known if found is not None]
    if original.task.target_kind is TargetKind.IMAGE and len(pixels) == len(side.parts):
        parts = [_pixels_of(size_of(side, example), pixels) for example in range(len(side))]
    else:
        parts = [side.parts] * len(side)
    examples = [example for example, own in enumerate(parts) for _ in own]
    column = Column(original.task.id_column, ColumnKind.TEXT, ())
    found = _named(side, examples, [part for own in parts for part in own], column)
    ids = original.lookup.column(original.task.id_column) if original.lookup is not None else None
    if ids is not None:  # which that table explains
        return replace(found, key_cells=format_of(ids.present).fresh(len(examples), random_for(0, "lookup")))
    if original.text("mask_rows") == "column":  # which names the part instead of the id
        return replace(found, key_cells=tuple(side.names[example] for example in examples))
    return found


def _pixels_of(size: tuple[int, int], known: Sequence[tuple[int, int]]) -> Sequence[str]:
    """All pixels of a picture (width, height) as `<row>_<column>`, counted and ordered as the known ones are."""
    width, height = size
    first = min(1, *(number for pixel in known for number in pixel))
    rows, columns = range(first, first + height), range(first, first + width)
    is_down_the_columns = len(known) > 1 and known[0][0] != known[1][0]
    if is_down_the_columns:
        return [f"{row}_{column}" for column in columns for row in rows]
    return [f"{row}_{column}" for row in rows for column in columns]


def rows_of_other(table: Table, data: SyntheticData) -> TableRows:
    """The rows of a table that has no role in the task: of the examples, if a column names these."""
    original, link = data.original, _link(table, data)
    if link is None:
        return TableRows(None, tuple(range(_rows_beside(original, table))))
    column, side, form = link
    repeats = max(1, round(len(column.present) / max(1, len(column.distinct))))
    repeats = min(repeats, _MOST_ROWS_OF_AN_EXAMPLE)
    examples = [example for example in side.firsts for _ in range(repeats)]
    rows = _named(side, examples, [""] * len(examples), column)
    return replace(rows, key_cells=tuple(_in_form(cell, form, original.file_suffix) for cell in rows.key_cells))


def _rows_beside(original: Original, table: Table) -> int:
    """All rows of a small table; of a large one as many for each training row as there really are, or fewer."""
    train, rows = original.train, original.rows
    share = min(1.0, table.rows / train.rows) if train is not None and train.rows else 1.0
    return max(1, min(table.rows, round(rows * share) if table.rows > rows else rows))


def _named(
    side: Examples, examples: Sequence[int], parts: Sequence[str], key: Column | None, groups: Sequence[int] = ()
) -> TableRows:
    cells = [
        f"{side.names[example]}_{part}" if part else side.names[example]
        for example, part in zip(examples, parts, strict=True)
    ]
    if key is None:
        return TableRows(side, tuple(examples), tuple(parts), tuple(groups))
    return TableRows(side, tuple(examples), tuple(parts), tuple(groups), key.name, tuple(cells))


def _link(table: Table, data: SyntheticData) -> tuple[Column, Examples, str] | None:
    """The column that names examples, which ones, and in which form."""
    original = data.original
    names = {original.task.id_column, original.file_column} - {""}
    for column in table.columns[:_COLUMNS_COMPARED]:
        if column.kind not in (ColumnKind.TEXT, ColumnKind.INTEGER) or not column.present:
            continue
        is_named = column.name in names
        # Small whole numbers are the same everywhere; there the name has to say that they are these ids.
        if not is_named and column.kind is ColumnKind.INTEGER:
            continue
        for form in ("", "stem", "suffixed"):
            in_train = _share(column, data.train, form, original.file_suffix)
            in_test = _share(column, data.test, form, original.file_suffix)
            if in_train + in_test > (_SOME if is_named else _MOSTLY):
                return column, _sides(data, in_train, in_test), form
        if is_named and not table.is_complete:
            said = words(table.path)
            return column, _sides(data, not said & TEST, not said & TRAIN), ""
    return None


def _share(column: Column, side: Examples, form: str, suffix: str) -> float:
    known = {_in_form(name, form, suffix) for name in side.known}
    return len(column.distinct & known) / len(column.distinct)


def _in_form(name: str, form: str, suffix: str) -> str:
    if form == "stem":
        found = suffix_of(name)
        return name[: -len(found)] if found else name
    return name + suffix if form == "suffixed" else name


def _sides(data: SyntheticData, in_train: float, in_test: float) -> Examples:
    if in_train > _SOME and in_test > _SOME:
        train, test = data.train, data.test
        seen = Labels({}, (), train.seen.marks + test.seen.marks, train.seen.levels + test.seen.levels)
        return Examples("both", train.known + test.known, train.names + test.names, seen, seen)
    return data.train if in_train >= in_test else data.test
