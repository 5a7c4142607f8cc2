"""The tables of a specimen: the columns of the original, filled for the made-up examples."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from generator.competition.facts import TargetKind
from generator.competition.specimen.column_cells import Cells, cells_like, is_categorical, is_id_like
from generator.competition.specimen.example_folders import folder_cells
from generator.competition.specimen.examples import SyntheticData
from generator.competition.specimen.id_format import format_of
from generator.competition.specimen.images import Appearance, grey_values
from generator.competition.specimen.masks import run_length_code
from generator.competition.specimen.original import Original
from generator.competition.specimen.pixel_cells import pixel_cells
from generator.competition.specimen.randomness import correlated_quantiles, even_quantiles, random_for
from generator.competition.specimen.row_ids import ids_of_rows, with_different_ids
from generator.competition.specimen.sampled_names import different_rows, repeatable_ids, runs_of
from generator.competition.specimen.table_rows import SizeOf, TableRows, rows_of_other, rows_of_role, rows_of_sample
from generator.competition.survey.columns import kind_of
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind, Table

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
        done: The cells of each table so far, by path.
    """

    data: SyntheticData
    size_of: SizeOf
    done: dict[str, Rows] = field(default_factory=dict)

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
            if table.path not in self.done:
                self._add(table, rows_of_other(table, self.data))
        return self.done

    def _scatter_repeated_ids(self) -> None:
        """Puts the training rows of an id apart, and exact copies of rows among them, where the real table has such."""
        original, train, key = self.original, self.original.train, repeatable_ids(self.original)
        if train is None or key is None or key.is_unique:
            return
        source, known = original.random("order", train.path), different_rows(train, key.name)
        cells = self.done[train.path].values()
        rows, different = len(self.done[train.path][key.name]), len(set(zip(*cells, strict=True)))
        order, copies = list(range(rows)), round(different * len(key.present) / len(known)) - rows
        order += source.sample(order, max(0, min(copies, rows)))
        is_scattered = sum(one[0] != other[0] for one, other in pairwise(known)) >= len(key.distinct)
        order = source.sample(order, len(order)) if is_scattered else sorted(order)
        for path in {train.path, original.task.labels_table or train.path}:
            if {len(cells) for cells in self.done[path].values()} == {rows}:
                self.done[path] = {name: [cells[row] for row in order] for name, cells in self.done[path].items()}

    def _add_test(self, test: Table) -> None:
        """Where one table has both, the test rows stand behind the training rows, and lack the targets."""
        labelled, targets = self.done.get(test.path, {}), set(self.original.task.targets)
        self._add(test, rows_of_role(self.original, test, self.data.test))
        self.done[test.path] = with_different_ids(self.original, self.done[test.path])
        if labelled:
            rows = self.done[test.path].items()
            unlabelled = {name: [None] * len(cells) if name in targets else cells for name, cells in rows}
            self.done[test.path] = {name: [*cells, *unlabelled[name]] for name, cells in labelled.items()}

    def _add(self, table: Table, frame: TableRows) -> None:
        if frame.side is None:
            frame = self._covering_categories(table, frame)
        is_of_pixels = self.original.labels_from == "pixels" and frame.side is not None
        rows = pixel_cells(table, lambda side: self._shades(frame, side)) if is_of_pixels else {}
        composed = {name: parts for name, parts in _composed(table).items() if name != frame.key}
        informative = self._informative()
        for column in table.columns:
            if column.name in rows or column.name in composed:
                continue
            given = self._given(table, column, frame)
            rows[column.name] = given if given is not None else self._drawn(table, column, frame, informative)
        for name, (first, second) in composed.items():
            pairs = zip(rows[first], rows[second], strict=True)
            rows[name] = [f"{one or ''}_{other or ''}" for one, other in pairs]
        self.done[table.path] = rows

    def _given(self, table: Table, column: Column, frame: TableRows) -> Cells | None:
        """The cells of a column that says who or what a row is; None for all others."""
        if frame.key_cells and column.name == frame.key:
            return list(frame.key_cells)
        if frame.parts and column.name == self.original.text("class_column"):
            return list(frame.parts)
        is_train = frame.side is self.data.train
        given = self._labels(column, frame) if is_train else self._looked_up(table, column, frame)
        if given is None and frame.side is not None:
            cells = folder_cells(self.original, table, column, frame.side)
            given = [cells[example] for example in frame.examples] if cells else None
        if given is not None:
            return given
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
        used = {cell for rows in self.done.values() for cell in rows.get(column.name, ()) if cell is not None}
        source = self._source(table, column)
        return list(format_of(column.present).fresh(len(frame), source, used))

    def _drawn(self, table: Table, column: Column, frame: TableRows, informative: Sequence[str]) -> Cells:
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
        known = set(test.column_names) if test is not None else set(train.column_names)
        others = {*task.targets, task.id_column, *map(self.original.text, ("group_column", "order_column"))}
        features = [
            column
            for column in train.columns
            if column.name in known - others and not is_id_like(column) and len(column.distinct) > 1
        ]
        numbers = [column.name for column in features if column.kind in NUMBERS and not is_categorical(column)]
        few = [column.name for column in features if is_categorical(column)]
        return tuple((numbers if len(numbers) >= _INFORMATIVE else numbers + few)[:_INFORMATIVE])

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
        earlier = [cell for rows in self.done.values() for cell in rows.get(column.name, ()) if cell is not None]
        known = self._in_training(column)
        shared = len(column.distinct & known.distinct) if known is not None else 0
        if earlier and shared > _MOST_GROUPS_SHARED * len(column.distinct):
            names: Sequence[str] = list(dict.fromkeys(earlier)) * count
        else:
            names = format_of(tuple(dict.fromkeys(column.present))).fresh(count, source, set(earlier))
        return [names[group] for group in frame.groups]

    def _steps(self, table: Table, column: Column, frame: TableRows) -> Cells:
        """The order within each group, as in one of the longest sampled groups."""
        group = table.column(self.original.text("group_column"))
        source = self._source(table, column)
        runs = sorted(runs_of(group), key=len) if group is not None else []
        counts = [frame.groups.count(number) for number in range(max(frame.groups) + 1)]
        cells: Cells = []
        for count in counts:
            fitting = [run for run in runs if len(run) >= count] or runs[-1:]
            run = source.choice(fitting)
            cells += [column.values[run[min(step, len(run) - 1)]] for step in range(count)]
        return cells

    def _covering_categories(self, table: Table, frame: TableRows) -> TableRows:
        """A table with a row for each value of a category, such as one of stores, has one for each here too."""
        for column in table.columns:
            if is_id_like(column) and self._is_category(column):
                return TableRows(None, tuple(range(len(column.distinct))))
        return frame

    def _is_category(self, column: Column) -> bool:
        same = self._in_training(column)
        return (
            same is not None and is_categorical(same) and len(same.distinct & column.distinct) > len(same.distinct) / 2
        )

    def _in_training(self, column: Column) -> Column | None:
        """The same column of the training table, if there is one."""
        return self.original.train.column(column.name) if self.original.train is not None else None

    def _add_sample(self, sample: Table) -> None:
        """The test ids in their order, and beside them what the sample says for the first of its ids."""
        task, side = self.original.task, self.data.test
        frame = rows_of_sample(self.original, side, self.size_of)
        known = self.done.get(task.test_table, {})
        ids = ids_of_rows(self.original, known)
        if ids:
            parts = [f"_{part}" if part else "" for part in frame.parts]
            keys = tuple(f"{ids[row]}{part}" for row, part in zip(frame.examples, parts, strict=True))
            frame = replace(frame, key_cells=keys)
        rows: Rows = {}
        for column in sample.columns:
            if len(side.parts) == 1 and column.name in known and len(known[column.name]) == len(frame):
                rows[column.name] = list(known[column.name])
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
        self.done[sample.path] = rows

    def _source(self, table: Table, column: Column) -> random.Random:
        return self.original.random("cells", table.path, column.name)


def _composed(table: Table) -> Mapping[str, tuple[str, str]]:
    """Columns that are two other ones with an underscore between them, such as `row_id`."""
    columns = [column for column in table.columns[:_COMPOSED_COLUMNS] if len(column.values) > 1]
    found: dict[str, tuple[str, str]] = {}
    for whole in columns:
        values = whole.values[:_ROWS_COMPARED]
        if whole.kind is not ColumnKind.TEXT or not all(value is not None and "_" in value for value in values):
            continue
        for first in columns:
            for second in columns:
                joined = (f"{one}_{other}" for one, other in zip(first.values, second.values, strict=True))
                if whole not in (first, second) and all(map(str.__eq__, map(str, values), joined)):
                    found[whole.name] = (first.name, second.name)
    return {name: parts for name, parts in found.items() if not found.keys() & set(parts)}
