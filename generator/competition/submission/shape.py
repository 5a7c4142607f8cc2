"""The shape of a submission: what the sample says of its columns, cells and ids."""

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from generator.competition.submission.errors import (
    MissingReaderError,
    SubmissionError,
    SubmissionIdsError,
    SubmissionRowError,
    UnreadableSubmissionError,
)
from generator.competition.submission.tolerance import SampleColumns, Tolerance
from generator.competition.survey.columns import header_names
from generator.competition.tables.encodings import UTF_8
from generator.competition.tables.errors import PyarrowMissingError, UnreadableTableError
from generator.competition.tables.formats import TableFormat, format_of
from generator.competition.tables.rows import Row, layout_within, table_rows
from generator.files import reason
from generator.untrusted import printable, quoted

_NONE = Tolerance()
_ID_FIRST = SampleColumns()
_TYPED = (TableFormat.PARQUET, TableFormat.JSON, TableFormat.JSON_LINES)


class CellKind(StrEnum):
    """The kinds of cells of a column."""

    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True)
class SubmissionShape:
    """The header, cells and ids that a competition asks for.

    Attributes:
        columns: The header.
        kinds: What the cells of each column are.
        ids: The ids of all rows.
        tolerance: What a submission may have beyond that.
        separator: What has to stand between the cells of a text; "" if anything may.
        decimal: What the numbers have for a decimal point.
        id_place: The position of the id column; None where the number of a row is its id.
        context_places: The positions of the columns that repeat the sample's cells.
        context: The id and these cells of each row of the sample; empty where nothing has to be repeated.
        placeholders: The answers of the sample by id; empty where a submission may have all of them.
        target_places: The positions of the answers that are called as targets; of all answers where none is.
        is_typed: Whether the sample's format knows numbers from text, so that it does not keep how they are written.
    """

    columns: tuple[str, ...]
    kinds: tuple[CellKind, ...]
    ids: Set[str]
    tolerance: Tolerance = _NONE
    separator: str = ""
    decimal: str = "."
    id_place: int | None = 0
    context_places: tuple[int, ...] = ()
    context: Set[tuple[str, ...]] = frozenset()
    placeholders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    target_places: tuple[int, ...] = ()
    is_typed: bool = False

    @property
    def answer_places(self) -> tuple[int, ...]:
        """The positions of the columns with the answers."""
        apart = {self.id_place, *self.context_places}
        return tuple(place for place in range(len(self.columns)) if place not in apart)

    @property
    def answer_columns(self) -> tuple[str, ...]:
        """The names of the columns with the answers."""
        return tuple(self.columns[place] for place in self.answer_places)


def read_table(path: Path, *, separator: str = "", encoding: str = UTF_8, is_sample: bool = False) -> Iterator[Row]:
    """Yields the header and then each row, as `table_rows` does.

    The rows of a sample, or of the host's answers, may end in a separator that the header does not have; it makes no
    cell there, as in the tables.

    Raises:
        MissingReaderError: A package that reads the format is not installed.
        UnreadableSubmissionError: It cannot be read as what its name says.
    """
    width = 0
    try:
        for number, cells in table_rows(path, separator=separator, encoding=encoding):
            width = width or len(cells)
            is_ended = is_sample and len(cells) == width + 1 and not cells[-1].strip()
            yield number, cells[:-1] if is_ended else cells
    except OSError as error:
        raise UnreadableSubmissionError(path=path, why=reason(error)) from error
    except PyarrowMissingError as error:
        raise MissingReaderError(path=path, why="pyarrow is missing; install it with: pip install pyarrow") from error
    except UnreadableTableError as error:
        raise UnreadableSubmissionError(path=path, why=f"it {error}") from error


def read_shape(sample: Path, *, columns: SampleColumns = _ID_FIRST, tolerance: Tolerance = _NONE) -> SubmissionShape:
    """Learns from a sample submission what a submission has to look like.

    Raises:
        SubmissionError: The sample itself is not a table, lacks a column, or does not have one row for each id where it
            has to.
    """
    # Kaggle's files are in any encoding, and the notebooks read them so; what they write is in UTF-8.
    encoding, separator = layout_within(sample)
    header, rows = open_table(sample, encoding=encoding, is_sample=True)
    id_place, context_places = _places(sample, header, columns)
    answers: dict[str, tuple[str, ...]] = {}
    context: set[tuple[str, ...]] = set()
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal answers share their memory
    apart = {id_place, *context_places}
    answer_places = [place for place in range(len(header)) if place not in apart]
    target_places = [place for place in answer_places if header[place] in columns.targets]
    is_number, is_decimal = ([known] * len(header) for known in (True, separator not in ("", ",")))
    for position, (number, cells) in enumerate(rows):
        key = id_of(cells, id_place, position)
        if key in answers and not tolerance.repeated_ids:
            problem, place = "an id stands there twice", place_of(sample, number)
            raise SubmissionIdsError(path=sample, place=place, problem=problem, example=key)
        answer = tuple(cells[place] for place in answer_places)
        answers.setdefault(key, shared.setdefault(answer, answer))
        if context_places:
            context.add((key, *(cells[place] for place in context_places)))
        is_number = [known and number_in(cell) is not None for known, cell in zip(is_number, cells, strict=True)]
        is_decimal = [known and number_in(cell, ",") is not None for known, cell in zip(is_decimal, cells, strict=True)]
    are_numbers = bool(answers) and not tolerance.texts
    # A column of numbers with commas, beside which there are those of whole numbers.
    has_comma = any(is_decimal[place] and not is_number[place] for place in answer_places)
    is_number = is_decimal if has_comma else is_number
    kinds = tuple(CellKind.NUMBER if known and are_numbers else CellKind.TEXT for known in is_number)
    are_possible = tolerance.sample_answers or (tolerance.one_label and len(shared) == 1)
    return SubmissionShape(
        columns=tuple(header),
        kinds=kinds,
        ids=answers.keys(),
        tolerance=tolerance,
        separator=separator,
        decimal="," if has_comma else ".",
        id_place=id_place,
        context_places=context_places,
        context=context,
        placeholders={} if are_possible or tolerance.repeated_ids else answers,
        target_places=tuple(target_places or answer_places),
        is_typed=is_typed(sample),
    )


def is_typed(path: Path) -> bool:
    """True if a file's format knows numbers from text: 1.10 and 1.1 are the same in it."""
    return format_of(path.name).format in _TYPED


def plain_cell(cell: str) -> str:
    """A number as Python writes it, and other cells as they are."""
    value = number_in(cell)
    return cell if value is None else repr(value)


def open_table(
    path: Path, *, separator: str = "", encoding: str = UTF_8, is_sample: bool = False
) -> tuple[list[str], Iterator[Row]]:
    """The header of a table, and its rows, of which each has as many cells."""
    table = read_table(path, separator=separator, encoding=encoding, is_sample=is_sample)
    _, columns = next(table, (0, []))
    if not columns:
        raise UnreadableSubmissionError(path=path, why="it is empty")
    return columns, _of_one_length(path, table, len(columns))


def _of_one_length(path: Path, rows: Iterator[Row], length: int) -> Iterator[Row]:
    for number, cells in rows:
        if len(cells) != length:
            problem = f"{len(cells)} cells under {length} columns"
            raise SubmissionRowError(path=path, place=place_of(path, number), problem=problem)
        yield number, cells


def place_of(path: Path, number: int) -> str:
    """Returns the place of a row as messages name it."""
    is_counted = format_of(path.name).format in (TableFormat.PARQUET, TableFormat.JSON)
    return f"{'row' if is_counted else 'line'} {number}"  # rows below the header, or lines of a text


def number_in(cell: str, decimal: str = ".") -> float | None:
    """Returns the finite number that a cell is, None if it is none."""
    if decimal != ".":
        cell = "" if "." in cell else cell.replace(decimal, ".")
    # Python reads 1_0 and other alphabets' digits as numbers, and what scores the file does not.
    if "_" in cell or not cell.isascii():
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _places(sample: Path, header: list[str], columns: SampleColumns) -> tuple[int | None, tuple[int, ...]]:
    """The positions of the id, None where rows have none, and of the context in a sample's header."""
    names, _ = header_names(header)
    named = (*((columns.id,) if columns.id else ()), *columns.context)
    for name in named:
        if name not in names:
            raise SubmissionError(
                f'{printable(str(sample))} has no column "{quoted(name)}"; it has {quoted(", ".join(names))}.'
            )
    first = 0 if columns.has_ids else None
    id_place = names.index(columns.id) if columns.id else first
    return id_place, tuple(names.index(name) for name in columns.context)


def id_of(cells: list[str], place: int | None, position: int) -> str:
    """Returns the id of a row: its cell in the id column, or else its position, from 0."""
    return str(position) if place is None else cells[place]
