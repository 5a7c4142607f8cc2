"""The tables of a specimen: columns filled for the made-up examples."""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from generator.competition.facts import TargetKind
from generator.competition.introspection.evidence import TEST, TRAIN, split_words
from generator.competition.specimen.examples import (
    EMPTY,
    ExampleLabels,
    Examples,
    Original,
    SyntheticData,
    different_rows,
    example_id_column,
    ids_of_rows,
    repeatable_ids,
    run_length_code,
    runs_of,
    with_different_ids,
)
from generator.competition.specimen.files import Appearance, folder_cells, grey_values, pixel_cells
from generator.competition.specimen.values import (
    Cells,
    cells_like,
    correlated_quantiles,
    even_quantiles,
    id_format,
    is_categorical,
    is_id_like,
    random_for,
)
from generator.competition.survey import NUMBERS, Column, ColumnKind, Table, kind_of, suffix_of

# The rows of a table: the made-up example that each is of, and what the column that names it says.


_COLUMNS_COMPARED = 60
_MOSTLY, _SOME_SHARE = 0.5, 0.05
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
        return [self.side.shown_labels.levels[example] for example in self.examples]

    def marks(self) -> Sequence[tuple[int, ...]]:
        """The classes that the inputs of each row show."""
        return [self.side.shown_labels.marks[example] for example in self.examples] if self.side is not None else []


def rows_of_role(
    original: Original, table: Table, side: Examples, *, has_row_for_each_example: bool = False
) -> TableRows:
    """The rows of the table of the training examples, of their labels, or of the test examples."""
    key = example_id_column(original, table)
    is_of_groups = original.is_per_group
    has_groups = bool(side.lengths) and table.column(original.text("group_column")) is not None
    groups = side.groups
    if has_groups and is_of_groups and not has_row_for_each_example:
        return _name_rows(side, groups, [""] * len(groups), key, groups=groups)
    if side.role == "train" and (original.text("class_column") or original.has_pieces):
        return _rows_of_masks(original, table, side)
    # Labels that have rows of their own can be in a table of their own.
    is_whole = original.is_set("label_rows") and table.path != (original.task.labels_table or original.task.train_table)
    parts = side.parts if side.role == "train" and not is_whole else ("",)
    has_row_for_each_id = key is not None and len(different_rows(table, key.name)) == len(key.distinct)
    base_examples = side.firsts if has_row_for_each_id else range(len(side))
    examples = [example for example in base_examples for _ in parts]
    is_grouped = has_groups and not is_of_groups and len(groups) == len(examples)
    return _name_rows(side, examples, list(parts) * len(base_examples), key, groups=groups if is_grouped else ())


def _rows_of_masks(original: Original, table: Table, side: Examples) -> TableRows:
    """A row for each mask, or piece of one; for those that are empty as well, if the real table has such rows."""
    codes = table.column(original.text("mask_column"))
    has_empty = codes is not None and codes.missing > 0
    rows: list[tuple[int, str]] = []
    for example, shapes in enumerate(side.shapes):
        numbers = [number for number, shape in enumerate(shapes) if shape is not EMPTY]
        if has_empty:
            numbers = (numbers or [0]) if original.has_pieces else list(range(len(shapes)))
        rows += [(example, side.parts[number]) for number in numbers]
    mask_rows = _name_rows(side, [example for example, _ in rows], [""] * len(rows), example_id_column(original, table))
    return replace(mask_rows, parts=tuple(part for _, part in rows))


def rows_of_sample(original: Original, side: Examples, size_of: SizeOf) -> TableRows:
    """The rows of the sample submission: one for each part of each test example.

    Args:
        original: What is copied.
        side: The test examples.
        size_of: The width and height of the picture of an example, all of whose pixels are asked for where the real
            sample asks for pixels.
    """
    matches = [_PIXEL.fullmatch(part) for part in side.parts]
    pixels = [(int(match[1]), int(match[2])) for match in matches if match is not None]
    if original.task.target_kind is TargetKind.IMAGE and len(pixels) == len(side.parts):
        parts = [_pixels_of(size_of(side, example), pixels) for example in range(len(side))]
    else:
        parts = [side.parts] * len(side)
    examples = [example for example, example_parts in enumerate(parts) for _ in example_parts]
    column = Column(original.task.id_column, ColumnKind.TEXT, ())
    sample_rows = _name_rows(side, examples, [part for example_parts in parts for part in example_parts], column)
    ids = original.lookup.column(original.task.id_column) if original.lookup is not None else None
    if ids is not None:  # which that table explains
        return replace(sample_rows, key_cells=id_format(ids.present).fresh(len(examples), random_for(0, "lookup")))
    if original.text("mask_rows") == "column":  # which names the part instead of the id
        return replace(sample_rows, key_cells=tuple(side.names[example] for example in examples))
    return sample_rows


def _pixels_of(size: tuple[int, int], pixels: Sequence[tuple[int, int]]) -> Sequence[str]:
    """All pixels of a picture (width, height) as `<row>_<column>`, counted and ordered as the known ones are."""
    width, height = size
    first = min(1, *(number for pixel in pixels for number in pixel))
    rows, columns = range(first, first + height), range(first, first + width)
    is_down_the_columns = len(pixels) > 1 and pixels[0][0] != pixels[1][0]
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
    rows = _name_rows(side, examples, [""] * len(examples), column)
    return replace(rows, key_cells=tuple(_in_form(cell, form, original.file_suffix) for cell in rows.key_cells))


def _rows_beside(original: Original, table: Table) -> int:
    """All rows of a small table; of a large one as many for each training row as there really are, or fewer."""
    train, rows = original.train, original.rows
    share = min(1.0, table.rows / train.rows) if train is not None and train.rows else 1.0
    return max(1, min(table.rows, round(rows * share) if table.rows > rows else rows))


def _name_rows(
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
            if in_train + in_test > (_SOME_SHARE if is_named else _MOSTLY):
                return column, _sides(data, in_train, in_test), form
        if is_named and not table.is_complete:
            path_words = split_words(table.path)
            return column, _sides(data, not path_words & TEST, not path_words & TRAIN), ""
    return None


def _share(column: Column, side: Examples, form: str, suffix: str) -> float:
    known_names = {_in_form(name, form, suffix) for name in side.known_names}
    return len(column.distinct & known_names) / len(column.distinct)


def _in_form(name: str, form: str, suffix: str) -> str:
    if form == "stem":
        own_suffix = suffix_of(name)
        return name[: -len(own_suffix)] if own_suffix else name
    return name + suffix if form == "suffixed" else name


def _sides(data: SyntheticData, in_train: float, in_test: float) -> Examples:
    if in_train > _SOME_SHARE and in_test > _SOME_SHARE:
        train, test = data.train, data.test
        labels = ExampleLabels(
            {},
            (),
            train.shown_labels.marks + test.shown_labels.marks,
            train.shown_labels.levels + test.shown_labels.levels,
        )
        return Examples("both", train.known_names + test.known_names, train.names + test.names, labels, labels)
    return data.train if in_train >= in_test else data.test


_INFORMATIVE, _STRENGTH = 3, 0.45
_ROWS_COMPARED, _COMPOSED_COLUMNS = 50, 10
_MOST_GROUPS_SHARED = 0.5

Rows = dict[str, Cells]


@dataclass
class TableMaker:
    """Fills the tables, the later ones in agreement with the earlier ones.

    Attributes:
        data: The examples.
        size_of: The width and height of the picture of an example.
        filled_tables: The cells of each table so far, by path.
    """

    data: SyntheticData
    size_of: SizeOf
    filled_tables: dict[str, Rows] = field(default_factory=dict)

    @property
    def original(self) -> Original:
        """The original that is copied."""
        return self.data.original

    def make(self) -> Mapping[str, Rows]:
        """Fills all tables; returns the cells of each column by the paths of the tables."""
        original, train, test = self.original, self.data.train, self.data.test
        labels = original.survey.table(original.task.labels_table)
        if original.train is not None and original.labels_from in ("folders", "names", "records"):
            # The files say what the examples are; the table is one that happens to list them.
            self._add(original.train, rows_of_other(original.train, self.data))
        elif original.train is not None:
            self._add(original.train, rows_of_role(original, original.train, train))
        if labels is not None:
            self._add(labels, rows_of_role(original, labels, train, has_row_for_each_example=True))
        self._scatter_repeated_ids()
        if original.test is not None:
            self._add_test(original.test)
        if original.lookup is not None:
            self._add(original.lookup, rows_of_sample(original, test, self.size_of))
        if original.sample is not None:
            self._add_sample(original.sample)
        for table in original.survey.tables:
            if table.path not in self.filled_tables:
                self._add(table, rows_of_other(table, self.data))
        return self.filled_tables

    def _scatter_repeated_ids(self) -> None:
        """Puts the training rows of an id apart, and exact copies of rows among them, where the real table has such."""
        original, train, key = self.original, self.original.train, repeatable_ids(self.original)
        if train is None or key is None or key.is_unique:
            return
        source, sampled_rows = original.random("order", train.path), different_rows(train, key.name)
        cells = self.filled_tables[train.path].values()
        rows, different = len(self.filled_tables[train.path][key.name]), len(set(zip(*cells, strict=True)))
        order, copies = list(range(rows)), round(different * len(key.present) / len(sampled_rows)) - rows
        order += source.sample(order, max(0, min(copies, rows)))
        is_scattered = sum(previous[0] != current[0] for previous, current in pairwise(sampled_rows)) >= len(
            key.distinct
        )
        order = source.sample(order, len(order)) if is_scattered else sorted(order)
        for path in {train.path, original.task.labels_table or train.path}:
            if {len(cells) for cells in self.filled_tables[path].values()} == {rows}:
                self.filled_tables[path] = {
                    name: [cells[row] for row in order] for name, cells in self.filled_tables[path].items()
                }

    def _add_test(self, test: Table) -> None:
        """Where one table has both, the test rows stand behind the training rows, and lack the targets."""
        train_rows, targets = self.filled_tables.get(test.path, {}), set(self.original.task.targets)
        self._add(test, rows_of_role(self.original, test, self.data.test))
        self.filled_tables[test.path] = with_different_ids(self.original, self.filled_tables[test.path])
        if train_rows:
            rows = self.filled_tables[test.path].items()
            test_rows = {name: [None] * len(cells) if name in targets else cells for name, cells in rows}
            self.filled_tables[test.path] = {name: [*cells, *test_rows[name]] for name, cells in train_rows.items()}

    def _add(self, table: Table, frame: TableRows) -> None:
        if frame.side is None:
            frame = self._covering_categories(table, frame)
        is_of_pixels = self.original.labels_from == "pixels" and frame.side is not None
        rows = pixel_cells(table, lambda side: self._shades(frame, side)) if is_of_pixels else {}
        composites = {name: parts for name, parts in _find_composites(table).items() if name != frame.key}
        informative = self._informative()
        for column in table.columns:
            if column.name in rows or column.name in composites:
                continue
            cells = self._identity_cells(table, column, frame)
            rows[column.name] = cells if cells is not None else self._sample_cells(table, column, frame, informative)
        for name, (first, second) in composites.items():
            pairs = zip(rows[first], rows[second], strict=True)
            rows[name] = [f"{first_cell or ''}_{second_cell or ''}" for first_cell, second_cell in pairs]
        self.filled_tables[table.path] = rows

    def _identity_cells(self, table: Table, column: Column, frame: TableRows) -> Cells | None:
        """The cells of a column that says who or what a row is; None for all others."""
        if frame.key_cells and column.name == frame.key:
            return list(frame.key_cells)
        if frame.parts and column.name == self.original.text("class_column"):
            return list(frame.parts)
        is_train = frame.side is self.data.train
        values = self._labels(column, frame) if is_train else self._looked_up(table, column, frame)
        if values is None and frame.side is not None:
            cells = folder_cells(self.original, table, column, frame.side)
            values = [cells[example] for example in frame.examples] if cells else None
        if values is not None:
            return values
        if frame.groups and column.name == self.original.text("group_column"):
            return self._group_names(column, frame)
        if frame.groups and column.name == self.original.text("order_column"):
            return self._steps(table, column, frame)
        return self._ids(table, column, frame)

    def _looked_up(self, table: Table, column: Column, frame: TableRows) -> Cells | None:
        """Whose part, and which, is asked for, in the table that explains the rows of the submission."""
        if frame.side is None or table.path != self.original.text("lookup_table"):
            return None
        if column.name == self.original.text("example_column"):
            return [frame.side.names[example] for example in frame.examples]
        return list(frame.parts) if column.name == self.original.text("part_column") else None

    def _labels(self, column: Column, frame: TableRows) -> Cells | None:
        """The labels of the training examples, if that is what a column says."""
        task, truth, classes = self.original.task, self.data.train.truth, set(self.data.sampler.classes)
        is_target = column.name in task.targets
        if task.target_kind is TargetKind.MASK and (is_target or column.name == self.original.text("mask_column")):
            return self._codes(frame)
        if is_target and self.original.is_set("label_rows") and set(frame.parts) <= truth.cells.keys():
            return [truth.cells[part][example] for example, part in zip(frame.examples, frame.parts, strict=True)]
        if column.name in truth.cells:
            return [truth.cells[column.name][example] for example in frame.examples]
        if truth.classes and column.distinct and column.distinct <= classes:
            return [truth.classes[example] for example in frame.examples]
        return None

    def _ids(self, table: Table, column: Column, frame: TableRows) -> Cells | None:
        if not is_id_like(column):
            return None
        if frame.side is None and len(frame) == len(column.distinct) and self._is_category(column):
            return list(column.values)
        used_ids = {
            cell for rows in self.filled_tables.values() for cell in rows.get(column.name, ()) if cell is not None
        }
        source = self._source(table, column)
        return list(id_format(column.present).fresh(len(frame), source, used_ids))

    def _sample_cells(self, table: Table, column: Column, frame: TableRows, informative: Sequence[str]) -> Cells:
        source = self._source(table, column)
        quantiles = even_quantiles(len(frame), source)
        if column.name in informative and frame.side is not None:
            position = informative.index(column.name)
            # One of several labels leads a column, or the level, in turns from below and from above.
            levels = [float(position in marks) for marks in frame.marks()]
            if self.original.task.target_kind is not TargetKind.LABELS:
                levels = [1 - level if position % 2 else level for level in frame.levels(source)]
            quantiles = correlated_quantiles(levels, source, strength=_STRENGTH)
        return cells_like(column, quantiles, source, frame.marks())

    def _informative(self) -> tuple[str, ...]:
        """The columns that tell of the label: the first numbers, else categories, that the test examples have too."""
        task, train, test = self.original.task, self.original.train, self.original.test
        if train is None:
            return ()
        input_names = set(test.column_names) if test is not None else set(train.column_names)
        role_names = {*task.targets, task.id_column, *map(self.original.text, ("group_column", "order_column"))}
        features = [
            column
            for column in train.columns
            if column.name in input_names - role_names and not is_id_like(column) and len(column.distinct) > 1
        ]
        numbers = [column.name for column in features if column.kind in NUMBERS and not is_categorical(column)]
        categories = [column.name for column in features if is_categorical(column)]
        return tuple((numbers if len(numbers) >= _INFORMATIVE else numbers + categories)[:_INFORMATIVE])

    def _shades(self, frame: TableRows, side: int) -> Iterator[Sequence[float]]:
        """The pixels of the picture of each row, from 0 to 255."""
        role = frame.side.role if frame.side is not None else ""
        for row, (marks, level) in enumerate(zip(frame.marks(), frame.levels(random_for(0)), strict=True)):
            source = self.original.random("pixels", role, row)
            yield grey_values(Appearance(marks, level), (side, side), source).ravel().tolist()

    def _codes(self, frame: TableRows) -> Cells:
        side = self.data.train
        parts = {part: position for position, part in enumerate(side.parts)}
        cells: Cells = []
        for example, part in zip(frame.examples, frame.parts, strict=True):
            shape = side.shapes[example][parts.get(part, 0)]
            cells.append(run_length_code(shape.pixels(self.size_of(side, example))) or None)
        return cells

    def _group_names(self, column: Column, frame: TableRows) -> Cells:
        count = max(frame.groups) + 1
        source = self.original.random("group names", column.name, frame.side.role if frame.side else "")
        earlier = [
            cell for rows in self.filled_tables.values() for cell in rows.get(column.name, ()) if cell is not None
        ]
        train_column = self._in_training(column)
        shared_count = len(column.distinct & train_column.distinct) if train_column is not None else 0
        if earlier and shared_count > _MOST_GROUPS_SHARED * len(column.distinct):
            names: Sequence[str] = list(dict.fromkeys(earlier)) * count
        else:
            names = id_format(tuple(dict.fromkeys(column.present))).fresh(count, source, set(earlier))
        return [names[group] for group in frame.groups]

    def _steps(self, table: Table, column: Column, frame: TableRows) -> Cells:
        """The order within each group, as in one of the longest sampled groups."""
        group = table.column(self.original.text("group_column"))
        source = self._source(table, column)
        runs = sorted(runs_of(group), key=len) if group is not None else []
        counts = [frame.groups.count(number) for number in range(max(frame.groups) + 1)]
        cells: Cells = []
        for count in counts:
            fitting = [group_rows for group_rows in runs if len(group_rows) >= count] or runs[-1:]
            group_rows = source.choice(fitting)
            cells += [column.values[group_rows[min(step, len(group_rows) - 1)]] for step in range(count)]
        return cells

    def _covering_categories(self, table: Table, frame: TableRows) -> TableRows:
        """A table with a row for each value of a category, such as one of stores, has one for each here too."""
        for column in table.columns:
            if is_id_like(column) and self._is_category(column):
                return TableRows(None, tuple(range(len(column.distinct))))
        return frame

    def _is_category(self, column: Column) -> bool:
        train_column = self._in_training(column)
        return (
            train_column is not None
            and is_categorical(train_column)
            and len(train_column.distinct & column.distinct) > len(train_column.distinct) / 2
        )

    def _in_training(self, column: Column) -> Column | None:
        """The same column of the training table, if there is one."""
        return self.original.train.column(column.name) if self.original.train is not None else None

    def _add_sample(self, sample: Table) -> None:
        """The test ids in their order, and beside them what the sample says for the first of its ids."""
        task, side = self.original.task, self.data.test
        frame = rows_of_sample(self.original, side, self.size_of)
        test_rows = self.filled_tables.get(task.test_table, {})
        ids = ids_of_rows(self.original, test_rows)
        if ids:
            parts = [f"_{part}" if part else "" for part in frame.parts]
            keys = tuple(f"{ids[row]}{part}" for row, part in zip(frame.examples, parts, strict=True))
            frame = replace(frame, key_cells=keys)
        rows: Rows = {}
        for column in sample.columns:
            if len(side.parts) == 1 and column.name in test_rows and len(test_rows[column.name]) == len(frame):
                rows[column.name] = list(test_rows[column.name])
            elif column.name == task.id_column:
                rows[column.name] = list(frame.key_cells)
            elif column.name == self.original.text("class_column"):
                rows[column.name] = list(frame.parts)
            else:
                telling = (value for value in column.present if kind_of([value]) is column.kind)
                rows[column.name] = [next(chain(telling, column.present), None)] * len(frame)
        if self.original.is_set("has_several_images"):
            # A row for each id, where the test table has one for each of its images.
            owners = rows[task.id_column]
            firsts = [row for row, owner in enumerate(owners) if owner not in owners[:row]]
            rows = {name: [cells[row] for row in firsts] for name, cells in rows.items()}
        self.filled_tables[sample.path] = rows

    def _source(self, table: Table, column: Column) -> random.Random:
        return self.original.random("cells", table.path, column.name)


def _find_composites(table: Table) -> Mapping[str, tuple[str, str]]:
    """Columns that are two other ones with an underscore between them, such as `row_id`."""
    columns = [column for column in table.columns[:_COMPOSED_COLUMNS] if len(column.values) > 1]
    composites: dict[str, tuple[str, str]] = {}
    for whole in columns:
        values = whole.values[:_ROWS_COMPARED]
        if whole.kind is not ColumnKind.TEXT or not all(value is not None and "_" in value for value in values):
            continue
        for first in columns:
            for second in columns:
                composed_values = (
                    f"{first_value}_{second_value}"
                    for first_value, second_value in zip(first.values, second.values, strict=True)
                )
                if whole not in (first, second) and all(map(str.__eq__, map(str, values), composed_values)):
                    composites[whole.name] = (first.name, second.name)
    return {name: parts for name, parts in composites.items() if not composites.keys() & set(parts)}
