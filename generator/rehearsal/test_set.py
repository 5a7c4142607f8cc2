"""The test set of a competition as data: its examples, each with its rows, its answers in the sample and its files.

NoTestSetError          a test of which no hidden one can be made here; the trials on it are left out
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from generator.competition.survey.facts import Table
from generator.errors import RunError

Row = tuple[str, ...]


class NoTestSetError(RunError):
    """A test set of a form that is not understood well enough to be changed; `why` is a sentence."""

    def __init__(self, *, why: str) -> None:
        self.why = why
        super().__init__(f"No hidden test can be made of the data: {why}")


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
        taken: Every file of the test, chosen or not, by its path: none of them is part of the rest of the data.
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
    taken: frozenset[str] = field(default_factory=frozenset)

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
            name: list(dict.fromkeys(row[place] for each in self.examples for row in each.rows))
            for place, name in enumerate(self.columns)
        }

    def with_examples(self, examples: Sequence[Example]) -> "TestSet":
        """The same with other examples, numbered anew where ids count the rows."""
        numbered = tuple(examples)
        if self.first_id is not None:
            keys = (str(self.first_id + place) for place in range(len(examples)))
            numbered = tuple(self._renamed_answers(each, key) for each, key in zip(examples, keys, strict=True))
        return replace(self, examples=numbered, answers=tuple(range(len(numbered))))

    def renamed(self, example: Example, key: str, group: Mapping[str, str]) -> Example:
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
