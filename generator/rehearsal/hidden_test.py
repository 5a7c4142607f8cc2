"""Hidden tests: the test of a competition read, varied, and written again."""

import csv
import math
import os
import random
import shutil
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import cast

from generator.competition.facts import Task
from generator.competition.specimen import id_format, table_file
from generator.competition.submission import submission_table
from generator.competition.survey import Column, ColumnKind, Survey, Table
from generator.competition.tables import (
    NotRecordsError,
    TableFormat,
    UnreadableTableError,
    Values,
    features_of,
    first_records,
    record_file,
    require_no_lzma,
    table_rows,
    tf_example,
)
from generator.errors import RunError
from generator.files import PathOutsideError, open_file, resolve_inside
from generator.sessions.sandbox import remove_session_tree
from generator.text import quote_text

# The test set of a competition as data: its examples, each with its rows, its answers in the sample and its files.


Row = tuple[str, ...]


class NoTestSetError(RunError):
    """A test set of a form that is not understood well enough to be changed; `why` is a sentence."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(f"No hidden test can be made of the data: {reason}")


@dataclass(frozen=True)
class TestFile:
    """A file of an example: where it lies now, and where it is to lie, both below the competition's folder."""

    source: str
    target: str
    is_damaged: bool = False


@dataclass(frozen=True)
class Example:
    """One example of a test.

    Attributes:
        key: The id by which tables, files and the sample know it.
        origin: That of the example of the test as it is that this one is, or a copy of.
        rows: Its rows of the test table.
        answers: Its rows of the sample submission.
        files: Its files.
        record: Its tf.train.Example.
    """

    key: str
    origin: str
    rows: tuple[Row, ...] = ()
    answers: tuple[Row, ...] = ()
    files: tuple[TestFile, ...] = ()
    record: bytes = b""


@dataclass(frozen=True)
class TestSet:
    """Examples, with what is known of the tables and files that they are in.

    Attributes:
        examples: In the order of the test table, or of the sample where there is none.
        answers: In which order their rows stand in the sample, as positions in `examples`.
        table: The test table, None without one.
        columns: Its header, which may have more than the table has.
        sample: The sample submission, None without one.
        id_column: The column of both with the id.
        key_columns: The columns of the test table that hold the id, or the name of a file that may begin with it.
        id_columns: The columns whose values make an id, where the table has no column with it.
        id_separator: What stands between these values.
        group_column: The column whose equal values belong together, "" without one; one of those that make an id.
        categories: The columns of numbers that are names of categories.
        folder: The folder of the files, or of the records, "" without one.
        record_id: The feature of the records with the id, "" where there are none.
        first_id: The id of the first row where ids count the rows, else None.
        has_given_ids: Whether ids can be changed: those that are paths cannot.
        test_files: Every file of the test, chosen or not, by its path: none of them is part of the rest of the data.
    """

    __test__ = False  # no test of pytest's

    examples: tuple[Example, ...]
    answers: tuple[int, ...]
    table: Table | None = None
    columns: tuple[str, ...] = ()
    sample: Table | None = None
    id_column: str = ""
    key_columns: tuple[str, ...] = ()
    id_columns: tuple[str, ...] = ()
    id_separator: str = "_"
    group_column: str = ""
    categories: frozenset[str] = field(default_factory=frozenset)
    folder: str = ""
    record_id: str = ""
    first_id: int | None = None
    has_given_ids: bool = True
    test_files: frozenset[str] = field(default_factory=frozenset)

    @property
    def id_place(self) -> int | None:
        """The position of the ids in a row of the sample; None where its rows are in the order of the test's."""
        if self.sample is None:
            return 0
        names = self.sample.column_names
        return names.index(self.id_column) if self.id_column in names else None

    @property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """The different values of each column of the test table, in their order."""
        return {
            name: list(dict.fromkeys(row[place] for example in self.examples for row in example.rows))
            for place, name in enumerate(self.columns)
        }

    def with_examples(self, examples: Sequence[Example]) -> "TestSet":
        """The same with other examples, numbered anew where ids count the rows."""
        new_examples = tuple(examples)
        if self.first_id is not None:
            keys = (str(self.first_id + place) for place in range(len(examples)))
            new_examples = tuple(
                self._renamed_answers(example, key) for example, key in zip(examples, keys, strict=True)
            )
        return replace(self, examples=new_examples, answers=tuple(range(len(new_examples))))

    def rename_example(self, example: Example, key: str, group: Mapping[str, str]) -> Example:
        """An example under another id, in its rows, its answers, its files and its record."""
        rows = tuple(self._renamed_row(row, example.key, key, group) for row in example.rows)
        files = tuple(replace(file, target=_renamed_path(file.target, example.key, key)) for file in example.files)
        return replace(self._renamed_answers(example, key), rows=rows, files=files)

    def made_id(self, example: Example, group: Mapping[str, str]) -> str:
        """The id that the columns make of which ids are made, with the group's new name."""
        values = dict(zip(self.columns, example.rows[0], strict=True))
        values[self.group_column] = group[values[self.group_column]]
        return self.id_separator.join(values[name] for name in self.id_columns)

    def _renamed_answers(self, example: Example, key: str) -> Example:
        place, answers = self.id_place, example.answers
        if place is not None:
            ids = (key + row[place].removeprefix(example.key) for row in answers)
            answers = tuple((*row[:place], new, *row[place + 1 :]) for row, new in zip(answers, ids, strict=True))
        return replace(example, key=key, answers=answers)

    def _renamed_row(self, row: Row, old: str, new: str, group: Mapping[str, str]) -> Row:
        cells = list(row)
        for place, name in enumerate(self.columns):
            if name in self.key_columns:
                cells[place] = _renamed_path(cells[place], old, new)
            elif name == self.group_column:
                cells[place] = group.get(cells[place], cells[place])
        return tuple(cells)


def _renamed_path(path: str, old: str, new: str) -> str:
    """A name, or the last part of a path, that begins with another id; what begins with none is left as it is."""
    name = PurePosixPath(path).name
    rest = name.removeprefix(old)
    is_its = name.startswith(old) and not rest[:1].isalnum()
    return path[: len(path) - len(name)] + new + rest if is_its else path


# Reading the test of a competition from its folder, some hundred examples of it.


_MOST_FILES = 2_000_000
_MOST_RECORDS = 1_000  # of one file
_REGEX_SEPARATORS = (r"\s+",)
_UTF_8 = ("utf-8", "utf-8-sig", "ascii")


def read_test_set(folder: Path, survey: Survey, task: Task, *, most: int) -> TestSet:
    """Reads the first examples of a test, in the order of the sample submission or else of the test table.

    Args:
        folder: The competition's files, with a folder in the place of an archive that has some of the test.
        survey: What is in it.
        task: What was made of it.
        most: How many examples at most.

    Raises:
        NoTestSetError: It has a form that is not understood.
    """
    return _Reader(folder, survey, task, most).read()


@dataclass
class _Reader:
    """Reads a test; `keys` are the ids of all its examples, once they are known."""

    folder: Path
    survey: Survey
    task: Task
    most: int
    keys: dict[str, None] = field(default_factory=dict)

    def read(self) -> TestSet:
        if self._text("lookup_table"):
            raise NoTestSetError(reason="the rows of its submission are looked up in another table.")
        table, sample = (self._table(path) for path in (self.task.test_table, self.task.sample_submission))
        files = list(self._files())
        records = dict(self._records(files)) if self._text("labels_from") == "records" else {}
        names = table.column_names if table is not None else ()
        if table is not None:
            self.keys = dict.fromkeys(key for key, _ in self._keyed_rows(table))
        else:
            self.keys = dict.fromkeys(records) if records else self._keys_of_files(sample, files)
        answers = self._answers(sample)
        chosen_keys = dict.fromkeys(islice(answers or self.keys, self.most))
        rows: dict[str, list[Row]] = {} if table is not None else {key: [] for key in chosen_keys}
        for key, row in self._keyed_rows(table) if table is not None else ():
            if key in chosen_keys:
                rows.setdefault(key, []).append(row)
        if not chosen_keys or (absent := chosen_keys.keys() - rows.keys()):
            reason = (
                f"the sample has the id {quote_text(min(absent))}, but no example has it."
                if chosen_keys
                else "it is empty."
            )
            raise NoTestSetError(reason=reason)
        by_name = self._by_name([] if records else files)
        examples = [
            Example(
                key=key,
                origin=key,
                rows=tuple(of_example),
                answers=tuple(answers.get(key, ())),
                files=tuple(TestFile(path, path) for path in self._example_files(key, of_example, names, by_name)),
                record=records.get(key, b""),
            )
            for key, of_example in rows.items()
        ]
        places = {example.key: place for place, example in enumerate(examples)}
        made_of, group = self._texts("id_columns"), self._text("group_column")
        return TestSet(
            examples=tuple(examples),
            answers=tuple(places[key] for key in chosen_keys),
            table=table,
            columns=names,
            sample=sample,
            record_id=self._text("record_id") if records else "",
            has_given_ids=not any("/" in key for key in chosen_keys),
            test_files=frozenset(self._test_files(files, by_name, is_records=bool(records))),
            id_column=self.task.id_column,
            key_columns=tuple(dict.fromkeys([self.task.id_column, *self._media(names)])),
            id_columns=tuple(made_of),
            id_separator=self._text("id_separator") or "_",
            group_column=made_of[0] if made_of and group not in made_of else group,
            categories=frozenset(self._texts("category_columns")),
            folder=self._text("test_folder"),
            first_id=self._first_id(names),
        )

    def _media(self, names: tuple[str, ...]) -> list[str]:
        """The columns of the test table that name files."""
        return [name for name in (self._text("image_column"), self._text("audio_column")) if name in names]

    def _text(self, key: str) -> str:
        value = self.task.details.get(key, "")
        return value if isinstance(value, str) else ""

    def _texts(self, key: str) -> list[str]:
        value = self.task.details.get(key, ())
        return list(value) if isinstance(value, list) else []

    def _table(self, path: str) -> Table | None:
        if not path:
            return None
        table, root = self.survey.table(path), self.folder.resolve()
        is_there = (self.folder / path).is_file() and (self.folder / path).resolve().is_relative_to(root)
        if table is None or not is_there:
            raise NoTestSetError(reason=f"{quote_text(path)} does not exist, or is in an archive that is not .zip.")
        if table.separator in _REGEX_SEPARATORS or len(set(table.column_names)) < len(table.columns):
            raise NoTestSetError(reason=f"{quote_text(path)} could not be written as it is.")
        return table

    def _rows(self, table: Table) -> Iterator[Row]:
        try:
            rows = _cells_of(self.folder / table.path, table)
            next(rows, None)
            width = len(table.columns)
            for row in rows:
                cells = row[:width] if table.has_trailing_separator else row
                if len(cells) != width:
                    raise NoTestSetError(reason=f"a row of {quote_text(table.path)} has {len(cells)} of {width} cells.")
                yield tuple(cells)
        except (UnreadableTableError, OSError, ValueError, csv.Error) as error:
            raise NoTestSetError(
                reason=f"{quote_text(table.path)} cannot be read: {quote_text(str(error))}."
            ) from error

    def _keyed_rows(self, table: Table) -> Iterator[tuple[str, Row]]:
        """The rows of the test table, each with the id of the example that it is of."""
        key_of = self._key_of(table.column_names)
        yield from ((key_of(row, place), row) for place, row in enumerate(self._rows(table)))

    def _key_of(self, names: tuple[str, ...]) -> Callable[[Row, int], str]:
        """Returns what makes the id of a row of the test table and its place."""
        if self.task.id_column in names:
            place = names.index(self.task.id_column)
            return lambda row, _: row[place]
        columns = self._texts("id_columns")
        if columns and set(columns) <= set(names):
            places, separator = [names.index(column) for column in columns], self._text("id_separator") or "_"
            return lambda row, _: separator.join(row[at] for at in places)
        first = self._first_id(names)
        if first is None:
            raise NoTestSetError(reason=f"the test table has no column {quote_text(self.task.id_column)}.")
        return lambda _, at: str(first + at)

    def _first_id(self, names: tuple[str, ...]) -> int | None:
        """The id of the first row where ids count the rows, which the sample says where the task does not."""
        if not names or self.task.id_column in names or self._texts("id_columns"):
            return None
        first, sample = self.task.details.get("first_id"), self._table(self.task.sample_submission)
        if first is None and sample is not None:
            place = self._id_place(sample)
            id_text = next((row[place] for row in self._rows(sample)), "") if place is not None else "0"
            first = int(id_text) if id_text.isdecimal() else None
        return first if isinstance(first, int) else None

    def _answers(self, sample: Table | None) -> Mapping[str, list[Row]]:
        """The rows of the sample by the example that they are about, with the id in front."""
        if sample is None:
            return {}
        place = self._id_place(sample)
        answers: dict[str, list[Row]] = {}
        for position, row in enumerate(self._rows(sample)):
            name = row[place] if place is not None else str(position)
            key = _longest_known(name, self.keys)
            if key is None:
                raise NoTestSetError(reason=f"the sample has the id {quote_text(name)}, which no example has.")
            if key not in answers and len(answers) == self.most:
                break
            answers.setdefault(key, []).append(row)
        return answers

    def _id_place(self, sample: Table) -> int | None:
        """The position of the ids in the rows of the sample; None where the rows are in the order of the test's."""
        if self.task.id_column in sample.column_names:
            return sample.column_names.index(self.task.id_column)
        if self.task.details.get("has_sample_ids", True) or self._texts("id_columns"):
            raise NoTestSetError(reason=f"the sample has no column {quote_text(self.task.id_column)}.")
        return None

    def _files(self) -> Iterator[str]:
        """The files of the test folder, by their paths below the competition's folder."""
        at = self._text("test_folder")
        if not at:
            return
        if not (self.folder / at).is_dir():
            raise NoTestSetError(reason=f"{quote_text(at)} is no folder here.")
        root = self.folder.resolve()
        # A link that leads out of the data may lead to any file of the user's.
        paths = (
            path
            for path in sorted((self.folder / at).rglob("*"))
            if path.is_file() and path.resolve().is_relative_to(root)
        )
        yield from (path.relative_to(self.folder).as_posix() for path in islice(paths, _MOST_FILES))

    def _keys_of_files(self, sample: Table | None, files: list[str]) -> dict[str, None]:
        """The ids where there is no test table: the names of the files, with their endings if the sample has them."""
        names = [PurePosixPath(path).name for path in files]
        stems = [PurePosixPath(name).stem for name in names]
        place = self._id_place(sample) if sample is not None else 0
        ids = dict.fromkeys(row[place or 0] for row in self._rows(sample)) if sample is not None else {}
        if ids.keys() & set(names):
            return dict.fromkeys(names)
        # Several files of an example begin with its id.
        stem_ids = set() if ids.keys() & set(stems) else {_longest_known(stem, ids) for stem in stems}
        return ids if stem_ids == ids.keys() else dict.fromkeys(stems)

    def _records(self, files: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The records of the test by their ids, until there are enough."""
        left = self.most
        for path in files:
            try:
                with (self.folder / path).open("rb") as file:
                    records = first_records(file, min(left, _MOST_RECORDS))
                for record in records:
                    values = features_of(record)[self._text("record_id")].values
                    yield _as_text(values[0]), record
            except (NotRecordsError, KeyError, IndexError, OSError) as error:
                raise NoTestSetError(reason=f"{quote_text(path)} has no records with ids.") from error
            left -= len(records)
            if left <= 0:
                break

    def _by_name(self, files: Iterable[str]) -> Mapping[str, list[str]]:
        """The files of the test by their names, with and without endings, and by the ids that they begin with."""
        files_by_name: dict[str, list[str]] = defaultdict(list)
        for path in files:
            name = PurePosixPath(path).name
            example_id = _longest_known(PurePosixPath(name).stem, self.keys)
            for key in dict.fromkeys(part for part in (name, PurePosixPath(name).stem, example_id) if part):
                files_by_name[key].append(path)
        return files_by_name

    def _example_files(
        self, key: str, rows: list[Row], names: tuple[str, ...], by_name: Mapping[str, list[str]]
    ) -> Iterable[str]:
        """The files of an example: those that its rows name, or those that its id does."""
        places = [names.index(name) for name in self._media(names)]
        cells = [PurePosixPath(row[place]).name for row in rows for place in places]
        return dict.fromkeys(path for name in cells or [key] for path in by_name.get(name, ()))

    def _test_files(self, files: list[str], by_name: Mapping[str, list[str]], *, is_records: bool) -> Iterator[str]:
        """The files that belong to some example of the test: all of a folder that has only such."""
        is_own = self._text("test_folder") != self._text("train_folder")
        if is_own or is_records:
            yield from files
        else:
            yield from (path for key in self.keys for path in by_name.get(key, ()))


def _cells_of(path: Path, table: Table) -> Iterator[list[str]]:
    """The header of a table and its rows; a text in another encoding than UTF-8 is read as the survey found it."""
    is_text = table.format is TableFormat.CSV and not table.compression
    if is_text and table.encoding.lower() not in _UTF_8:
        with path.open(encoding=table.encoding, newline="") as file:
            yield from csv.reader(file, delimiter=table.separator)
    else:
        yield from (cells for _, cells in table_rows(path, separator=table.separator))


def _longest_known(text: str, ids: Mapping[str, object]) -> str | None:
    """The known id that a text is, or begins with before a sign that is neither a letter nor a digit."""
    for end in range(len(text), 0, -1):
        is_end = end == len(text) or not text[end].isalnum()
        if is_end and text[:end] in ids:
            return text[:end]
    return None


def _as_text(value: bytes | float) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


# What a hidden test may have that the test which everybody sees has not; each makes one test set of another.
#
# Whoever adds one adds a line to `VARIATIONS`.


LARGER = 10
_SEED = "hidden test"
_NEW_COLUMNS = ("a_new_column", "another_new_column")
_NEVER_SEEN = {True: "987654321", False: "never seen before"}
_EMPTY_SHARE = 0.3  # of the cells
_MOST_KINDS = 0.5  # of the rows: what has more different values is no category


@dataclass(frozen=True)
class HiddenTest:
    """A hidden test.

    Attributes:
        name: In a few words.
        description: What is different in it, as a sentence.
        vary: Makes it; None if there is nothing in this test that could be different so.
        keeps_answers: Whether an example must have the answer that it has in the test as it is.
        may_stop: Whether a notebook may refuse it with a reason: nobody knows if Kaggle's test is so.
    """

    name: str
    description: str
    vary: Callable[[TestSet], TestSet | None]
    keeps_answers: bool = True
    may_stop: bool = False


def larger(test: TestSet) -> TestSet | None:
    """The test with nine copies of each example, with new ids."""
    if not test.has_given_ids:
        return None
    return test.with_examples([*test.examples, *_copies(test, LARGER - 1)])


def in_another_order(test: TestSet) -> TestSet | None:
    """The test with its rows in another order, and the sample in yet another."""
    source = _random("order")
    examples = list(test.examples)
    if test.first_id is None:
        source.shuffle(examples)
    shuffled_test = test.with_examples(examples)
    answers = list(shuffled_test.answers)
    source.shuffle(answers)
    return replace(shuffled_test, answers=tuple(answers)) if len(examples) > 1 and test.id_place is not None else None


def with_unseen_ids(test: TestSet) -> TestSet | None:
    """The test with ids that nobody has seen."""
    return None if test.first_id is not None or not test.has_given_ids else test.with_examples([*_copies(test, 1)])


def with_more_columns(test: TestSet) -> TestSet | None:
    """The test table with one column more in front and one at the end."""
    if test.table is None:
        return None
    front, end = _NEW_COLUMNS
    wider_test = _with_rows(test, lambda row: (f"{len(row)}", *row, "x"))
    return replace(wider_test, columns=(front, *test.columns, end))


def with_missing_values(test: TestSet) -> TestSet | None:
    """The test table with every third cell empty, and all of the first row."""
    places = _places_of_values(test)
    if not places:
        return None
    source, first = _random("missing"), test.examples[0].rows[0]

    def clear_cells(row: Row) -> Row:
        cleared_places = {place for place in places if row is first or source.random() < _EMPTY_SHARE}
        return tuple("" if place in cleared_places else cell for place, cell in enumerate(row))

    return _with_rows(test, clear_cells)


def with_a_new_category(test: TestSet) -> TestSet | None:
    """The test table with a value that is nowhere else in each column of categories, in every third row."""
    source, categories = _random("category"), dict(_categories(test))
    if not categories:
        return None

    def add_category(row: Row) -> Row:
        is_new = source.random() < _EMPTY_SHARE or row is test.examples[0].rows[0]
        return tuple(categories.get(place, cell) if is_new else cell for place, cell in enumerate(row))

    return _with_rows(test, add_category)


def with_a_damaged_file(test: TestSet) -> TestSet | None:
    """The test with one file that ends in the middle."""
    position = next((place for place, example in enumerate(test.examples) if example.files), None)
    if position is None:
        return None
    examples = list(test.examples)
    first, *other_files = examples[position].files
    examples[position] = replace(examples[position], files=(replace(first, is_damaged=True), *other_files))
    return test.with_examples(examples)


def of_one(test: TestSet) -> TestSet:
    """The first example alone, or the first group of those that belong together."""
    if test.group_column not in test.columns:
        return test.with_examples(test.examples[:1])
    place = test.columns.index(test.group_column)
    group = test.examples[0].rows[0][place]
    return test.with_examples([example for example in test.examples if example.rows[0][place] == group])


def of_none(test: TestSet) -> TestSet:
    """Tables without rows, and a folder without files."""
    return test.with_examples([])


VARIATIONS = (
    HiddenTest("as it is", "The public test.", lambda test: test),
    HiddenTest(f"{LARGER} times larger", f"{LARGER} times as many examples, with new ids.", larger),
    HiddenTest("another order", "The rows of the test shuffled, and the rows of the sample shuffled differently.",
              in_another_order),
    HiddenTest("unseen ids", "The same examples with new ids.", with_unseen_ids),
    HiddenTest("one row", "A test of a single example.", of_one),
    HiddenTest("more columns", "One more column at the start and at the end of the test table.", with_more_columns),
    HiddenTest("missing values", "Every third cell of the test table empty, and one empty row.", with_missing_values,
              keeps_answers=False, may_stop=True),
    HiddenTest("a new category", "A value that is not in the training data, in every column of categories.",
              with_a_new_category, keeps_answers=False, may_stop=True),
    HiddenTest("a damaged file", "One truncated file of the test, which cannot be decoded.",
              with_a_damaged_file, keeps_answers=False, may_stop=True),
    HiddenTest("empty", "A test without rows.", of_none, keeps_answers=False, may_stop=True),
)  # fmt: skip


def _copies(test: TestSet, count: int) -> Iterator[Example]:
    """So many copies of all examples, one behind the other, under new ids; groups are copied as groups."""
    if test.first_id is not None:
        yield from test.examples * count  # they are numbered in the end
        return
    size, values = len(test.examples), test.kinds.get(test.group_column, [])
    keys = () if test.id_columns else _fresh([example.key for example in test.examples], count * size, "ids")
    groups = _fresh(values, count * len(values), "groups") if values else ()
    for copy in range(count):
        group = dict(zip(values, groups[copy * len(values) :], strict=False))
        for place, example in enumerate(test.examples):
            key = keys[copy * size + place] if keys else test.made_id(example, group)
            yield test.rename_example(example, key, group)


def _fresh(ids: Sequence[str], count: int, name: str) -> tuple[str, ...]:
    """So many ids like the known ones, and none of them; numbers go on behind the largest."""
    if all(value.isdecimal() and str(int(value)) == value for value in ids):
        first = max(map(int, ids)) + 1
        return tuple(str(first + place) for place in range(count))
    return id_format(ids).fresh(count, _random(name), avoid=ids)


def _with_rows(test: TestSet, change: Callable[[Row], Row]) -> TestSet:
    examples = [replace(example, rows=tuple(map(change, example.rows))) for example in test.examples]
    return replace(test, examples=tuple(examples))


def _places_of_values(test: TestSet) -> list[int]:
    """The columns of the test table that are neither ids nor say which rows belong together."""
    names = {test.id_column, test.group_column, *test.key_columns, *test.id_columns}
    return [place for place, name in enumerate(test.columns) if name not in names]


def _categories(test: TestSet) -> Iterator[tuple[int, str]]:
    """The places of categories, and a value that each of them does not have."""
    rows = sum(len(example.rows) for example in test.examples)
    for place in _places_of_values(test):
        name = test.columns[place]
        column = test.table.column(name) if test.table is not None else None
        is_text = column is not None and column.kind is ColumnKind.TEXT
        if (is_text or name in test.categories) and len(test.kinds[name]) <= max(1, _MOST_KINDS * rows):
            yield place, _NEVER_SEEN[not is_text]


def _random(name: str) -> random.Random:
    return random.Random(f"{_SEED}/{name}")  # noqa: S311 - nothing here is a secret


# Whether examples have the answers that they had in the test as it is: neither ids nor order must change them.


Answers = Mapping[str, list[list[str]]]

# A number may change its last digits with its place in a batch, and then a class may, or the edge of a mask.
_TOLERANCE = 1e-3
_MOST_DIFFERENT, _MOST_DIFFERENT_TEXTS = 0.02, 0.2  # of the rows


def submission_rows(submission: Path, test: TestSet) -> Answers:
    """The rows of a submission by their ids, which may stand there more than once."""
    answers: dict[str, list[list[str]]] = defaultdict(list)
    rows = (cells for _, cells in submission_table(submission))
    next(rows, None)
    place = test.id_place
    for position, cells in enumerate(rows):
        if place is None:
            answers[test.examples[test.answers[position]].key].append(cells)
        else:
            answers[cells[place]].append([*cells[:place], *cells[place + 1 :]])
    return answers


def difference(test: TestSet, answers: Answers, reference_answers: Answers, *, are_texts: bool = False) -> str:
    """What is wrong with the answers to a test, as a sentence; "" where they are those that the examples had before.

    Args:
        test: The test that was answered.
        answers: The answers to it.
        reference_answers: Those to the test as it is.
        are_texts: Whether an answer is a text of many numbers or names, such as the code of a mask.
    """
    pairs = list(_pairs(test))
    different = [ids for ids in pairs if not _are_alike(answers.get(ids[0], []), reference_answers.get(ids[1], []))]
    if len(different) <= (_MOST_DIFFERENT_TEXTS if are_texts else _MOST_DIFFERENT) * len(pairs):
        return ""
    return (
        f"{len(different):,} of {len(pairs):,} rows have another answer than the same example in the public test. "
        "The answer depends on the position or the id, not on the example."
    )


def _pairs(test: TestSet) -> Iterator[tuple[str, str]]:
    """The ids of each row of a submission: that in this test, and that in the test as it is."""
    for example in test.examples:
        for row in example.answers or ((),):
            key = row[test.id_place] if row and test.id_place is not None else example.key
            yield key, example.origin + key.removeprefix(example.key)


def _are_alike(rows: list[list[str]], other_rows: list[list[str]]) -> bool:
    return len(rows) == len(other_rows) and all(map(_is_alike, chain(*rows), chain(*other_rows)))


def _is_alike(cell: str, other_cell: str) -> bool:
    if cell == other_cell:
        return True
    try:
        return math.isclose(float(cell), float(other_cell), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    except ValueError:
        return False


# Writing a competition's folder with another test in it; all the rest is the same files, under another name.


_RECORDS = "test-0.tfrec"
_MOST_OF_HALF = 2**28  # bytes


def write_folder(data: Path, test: TestSet, folder: Path) -> None:
    """Writes the competition's files with this test.

    Args:
        data: The competition's files as they are; they are neither changed nor copied where that can be helped.
        test: What takes the place of the test in them.
        folder: An empty folder that was just made.

    Raises:
        OSError: It could not be written.
    """
    data = data.resolve()
    tables = {table.path for table in (test.table, test.sample) if table is not None}
    for path in relative_paths(data):
        if path not in tables and path not in test.test_files:
            link(data, path, folder / path)
    (folder / test.folder).mkdir(parents=True, exist_ok=True)
    for example in test.examples:
        for file in example.files:
            target = resolve_inside(folder / file.target, root=folder)
            if file.is_damaged:
                _write_half(data, file.source, target)
            elif not target.exists():
                link(data, file.source, target)
    if test.record_id:
        (folder / test.folder / _RECORDS).write_bytes(record_file(_records(test)))
    if test.table is not None:
        rows = [row for example in test.examples for row in example.rows]
        _write_table(folder, _with_columns(test.table, test.columns), rows)
    if test.sample is not None:
        _write_table(folder, test.sample, [row for place in test.answers for row in test.examples[place].answers])


def _write_half(data: Path, path: str, target: Path) -> None:
    try:
        with open_file(resolve_inside(data / path, root=data)) as file:
            content = file.read(min(_MOST_OF_HALF, os.fstat(file.fileno()).st_size // 2))
    except (OSError, PathOutsideError):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def relative_paths(data: Path) -> Iterator[str]:
    """Yields the paths of all files below a folder, relative to it."""
    for at, _, names in os.walk(data):
        yield from ((Path(at) / name).relative_to(data).as_posix() for name in names)


def link(data: Path, path: str, target: Path) -> None:
    """Gives a file of the data another name as well; where that cannot be, on another disk say, it is copied.

    A link that leads out of the data is left out: a workspace that was sent may have one to any file of the user's. So
    are a link to nothing and what is no file.
    """
    try:
        source = resolve_inside(data / path, root=data)
    except PathOutsideError:
        return
    if not source.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _write_table(folder: Path, table: Table, rows: list[Row]) -> None:
    columns: Mapping[str, list[str | None]] = {
        name: [row[place] or None for row in rows] for place, name in enumerate(table.column_names)
    }
    path = folder / table.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(table_file(table, columns))


def _with_columns(table: Table, names: tuple[str, ...]) -> Table:
    return replace(table, columns=tuple(table.column(name) or Column(name, ColumnKind.TEXT, ()) for name in names))


def _records(test: TestSet) -> Iterator[bytes]:
    for example in test.examples:
        features: dict[str, tuple[str, Values]] = {
            name: (feature.kind, cast("Values", feature.values))
            for name, feature in features_of(example.record).items()
        }
        kind, _ = features[test.record_id]
        key: list[bytes] | list[int] = [example.key.encode()] if kind == "bytes" else [int(float(example.key))]
        yield tf_example({**features, test.record_id: (kind, key)})


# Zip archives that a test lies in: unpacked for the test to be read and changed, and packed again.


_MOST_BYTES = 16 << 30
_MOST_MEMBERS = 300_000
_MOST_LEVELS = 32  # of folders
_COPIES = 20  # of the test: ten tests, one of which is ten times as large
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


def archives_of(task: Task) -> list[str]:
    """Returns the archives that have the test table, the sample submission or the files of the test."""
    paths = (task.test_table, task.sample_submission, str(task.details.get("test_folder", "")))
    parts = (f"{path}/".partition(".zip/") for path in paths)
    return list(dict.fromkeys(f"{stem}.zip" for stem, is_packed, _ in parts if is_packed))


def unpack_archives(data: Path, archives: Iterable[str], folder: Path) -> None:
    """Fills an empty folder with a competition's files, and with a folder in place of each of these archives.

    Raises:
        NoTestSetError: An archive is missing, damaged, hostile, or larger than there is room for.
        OSError: The folder cannot be written.
    """
    archive_paths = set(archives)
    for path in relative_paths(data):
        if path not in archive_paths:
            link(data, path, folder / path)
    for path in archive_paths:
        try:
            with zipfile.ZipFile(resolve_inside(data / path, root=data)) as archive:
                _check(path, archive.infolist(), shutil.disk_usage(folder).free)
                archive.extractall(folder / path)
        except (*_UNREADABLE, PathOutsideError) as error:
            raise NoTestSetError(reason=f"{quote_text(path)} cannot be unpacked: {quote_text(str(error))}.") from error


def require_room(data: Path, archives: Sequence[str], test: TestSet) -> None:
    """Refuses archives that would fill the disk, packed anew for each hidden test.

    Args:
        data: The competition's files, the archives unpacked.
        archives: These archives.
        test: The test that is to be varied.

    Raises:
        NoTestSetError: They would.
    """
    example_files = {file.source for example in test.examples for file in example.files}
    inside = tuple(f"{archive}/" for archive in archives)
    paths = [path for path in relative_paths(data) if path.startswith(inside)]
    size = sum((data / path).stat().st_size for path in paths if path in example_files or path not in test.test_files)
    if _COPIES * size > shutil.disk_usage(data).free // 2:
        amount = f"{_COPIES * size / 2**30:,.1f} GB"
        raise NoTestSetError(reason=f"its archives, packed again for each test, would take {amount} of the disk.")


def pack_archives(folder: Path, archives: Iterable[str]) -> None:
    """Puts an archive in the place of each of these folders.

    Raises:
        OSError: They cannot be written.
    """
    whole = folder.with_name(f"{folder.name}.zip")  # where no file of the competition's is
    for path in archives:
        with zipfile.ZipFile(whole, "w", strict_timestamps=False) as archive:
            for member in sorted((folder / path).rglob("*")):
                archive.write(member, member.relative_to(folder / path))
        remove_session_tree(folder / path)
        whole.rename(folder / path)


def _check(path: str, members: list[zipfile.ZipInfo], free: int) -> None:
    """Refuses what a notebook refuses as well, and what no disk or stack would hold."""
    size = sum(member.file_size for member in members)
    if len(members) > _MOST_MEMBERS or size > min(_MOST_BYTES, free // 4):
        amount = f"{len(members):,} files of {size / 2**30:,.1f} GB"
        raise NoTestSetError(reason=f"{quote_text(path)} has {amount}, too much to unpack here.")
    for member in members:
        require_no_lzma(member)
        parts = PurePosixPath(member.filename.replace("\\", "/")).parts
        if ".." in parts or member.filename.startswith(("/", "\\")) or len(parts) > _MOST_LEVELS:
            raise NoTestSetError(reason=f"{quote_text(path)} would write outside of its folder, or too deep.")
