"""Reading the test of a competition from its folder, some hundred examples of it."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath

from generator.competition.facts import Task
from generator.competition.survey.facts import Survey, Table
from generator.competition.tables.errors import UnreadableTableError
from generator.competition.tables.formats import TableFormat
from generator.competition.tables.rows import table_rows
from generator.competition.tfrecord import NotRecordsError, features_of, first_records
from generator.rehearsal.test_set import Example, NoTestSetError, Row, TestFile, TestSet
from generator.untrusted import quoted

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
            raise NoTestSetError(why="the rows of its submission are looked up in another table.")
        table, sample = (self._table(path) for path in (self.task.test_table, self.task.sample_submission))
        files = list(self._files())
        records = dict(self._records(files)) if self._text("labels_from") == "records" else {}
        names = table.column_names if table is not None else ()
        if table is not None:
            self.keys = dict.fromkeys(key for key, _ in self._keyed_rows(table))
        else:
            self.keys = dict.fromkeys(records) if records else self._keys_of_files(sample, files)
        answers = self._answers(sample)
        chosen = dict.fromkeys(islice(answers or self.keys, self.most))
        rows: dict[str, list[Row]] = {} if table is not None else {key: [] for key in chosen}
        for key, row in self._keyed_rows(table) if table is not None else ():
            if key in chosen:
                rows.setdefault(key, []).append(row)
        if not chosen or (absent := chosen.keys() - rows.keys()):
            why = f"the sample has the id {quoted(min(absent))}, which no example has." if chosen else "it is empty."
            raise NoTestSetError(why=why)
        by_name = self._by_name([] if records else files)
        examples = [
            Example(
                key=key,
                origin=key,
                rows=tuple(of_example),
                answers=tuple(answers.get(key, ())),
                files=tuple(TestFile(path, path) for path in self._named(key, of_example, names, by_name)),
                record=records.get(key, b""),
            )
            for key, of_example in rows.items()
        ]
        where = {example.key: place for place, example in enumerate(examples)}
        made_of, group = self._texts("id_columns"), self._text("group_column")
        return TestSet(
            examples=tuple(examples),
            answers=tuple(where[key] for key in chosen),
            table=table,
            columns=names,
            sample=sample,
            record_id=self._text("record_id") if records else "",
            has_given_ids=not any("/" in key for key in chosen),
            taken=frozenset(self._taken(files, by_name, is_records=bool(records))),
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
            raise NoTestSetError(why=f"{quoted(path)} is not there, or in an archive that is not called .zip.")
        if table.separator in _REGEX_SEPARATORS or len(set(table.column_names)) < len(table.columns):
            raise NoTestSetError(why=f"{quoted(path)} could not be written as it is.")
        return table

    def _rows(self, table: Table) -> Iterator[Row]:
        try:
            rows = _cells_of(self.folder / table.path, table)
            next(rows, None)
            width = len(table.columns)
            for row in rows:
                cells = row[:width] if table.has_trailing_separator else row
                if len(cells) != width:
                    raise NoTestSetError(why=f"a row of {quoted(table.path)} has {len(cells)} of {width} cells.")
                yield tuple(cells)
        except (UnreadableTableError, OSError, ValueError, csv.Error) as error:
            raise NoTestSetError(why=f"{quoted(table.path)} cannot be read: {quoted(str(error))}.") from error

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
            raise NoTestSetError(why=f"the test table has no column {quoted(self.task.id_column)}.")
        return lambda _, at: str(first + at)

    def _first_id(self, names: tuple[str, ...]) -> int | None:
        """The id of the first row where ids count the rows, which the sample says where the task does not."""
        if not names or self.task.id_column in names or self._texts("id_columns"):
            return None
        first, sample = self.task.details.get("first_id"), self._table(self.task.sample_submission)
        if first is None and sample is not None:
            place = self._id_place(sample)
            said = next((row[place] for row in self._rows(sample)), "") if place is not None else "0"
            first = int(said) if said.isdecimal() else None
        return first if isinstance(first, int) else None

    def _answers(self, sample: Table | None) -> Mapping[str, list[Row]]:
        """The rows of the sample by the example that they are about, with the id in front."""
        if sample is None:
            return {}
        place = self._id_place(sample)
        found: dict[str, list[Row]] = {}
        for position, row in enumerate(self._rows(sample)):
            name = row[place] if place is not None else str(position)
            key = _longest_known(name, self.keys)
            if key is None:
                raise NoTestSetError(why=f"the sample has the id {quoted(name)}, which no example has.")
            if key not in found and len(found) == self.most:
                break
            found.setdefault(key, []).append(row)
        return found

    def _id_place(self, sample: Table) -> int | None:
        """The position of the ids in the rows of the sample; None where the rows are in the order of the test's."""
        if self.task.id_column in sample.column_names:
            return sample.column_names.index(self.task.id_column)
        if self.task.details.get("has_sample_ids", True) or self._texts("id_columns"):
            raise NoTestSetError(why=f"the sample has no column {quoted(self.task.id_column)}.")
        return None

    def _files(self) -> Iterator[str]:
        """The files of the test folder, by their paths below the competition's folder."""
        at = self._text("test_folder")
        if not at:
            return
        if not (self.folder / at).is_dir():
            raise NoTestSetError(why=f"{quoted(at)} is no folder here.")
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
        begun = set() if ids.keys() & set(stems) else {_longest_known(stem, ids) for stem in stems}
        return ids if begun == ids.keys() else dict.fromkeys(stems)

    def _records(self, files: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The records of the test by their ids, until there are enough."""
        left = self.most
        for path in files:
            try:
                with (self.folder / path).open("rb") as file:
                    found = first_records(file, min(left, _MOST_RECORDS))
                for record in found:
                    values = features_of(record)[self._text("record_id")].values
                    yield _as_text(values[0]), record
            except (NotRecordsError, KeyError, IndexError, OSError) as error:
                raise NoTestSetError(why=f"{quoted(path)} has no records with ids.") from error
            left -= len(found)
            if left <= 0:
                break

    def _by_name(self, files: Iterable[str]) -> Mapping[str, list[str]]:
        """The files of the test by their names, with and without endings, and by the ids that they begin with."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in files:
            name = PurePosixPath(path).name
            known = _longest_known(PurePosixPath(name).stem, self.keys)
            for each in dict.fromkeys(part for part in (name, PurePosixPath(name).stem, known) if part):
                found[each].append(path)
        return found

    def _named(
        self, key: str, rows: list[Row], names: tuple[str, ...], by_name: Mapping[str, list[str]]
    ) -> Iterable[str]:
        """The files of an example: those that its rows name, or those that its id does."""
        places = [names.index(name) for name in self._media(names)]
        cells = [PurePosixPath(row[place]).name for row in rows for place in places]
        return dict.fromkeys(path for name in cells or [key] for path in by_name.get(name, ()))

    def _taken(self, files: list[str], by_name: Mapping[str, list[str]], *, is_records: bool) -> Iterator[str]:
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


def _longest_known(text: str, known: Mapping[str, object]) -> str | None:
    """The known id that a text is, or begins with before a sign that is neither a letter nor a digit."""
    for end in range(len(text), 0, -1):
        is_end = end == len(text) or not text[end].isalnum()
        if is_end and text[:end] in known:
            return text[:end]
    return None


def _as_text(value: bytes | float) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
