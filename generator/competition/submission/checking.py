"""The checks of a submission against what its competition asks for."""

import math
from collections.abc import Iterator, Set
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from pathlib import Path

from generator.competition.submission.errors import (
    MissingReaderError,
    SubmissionError,
    SubmissionIdsError,
    SubmissionRowError,
    UnreadableSubmissionError,
)
from generator.competition.submission.tolerance import Tolerance
from generator.competition.tables.encodings import UTF_8
from generator.competition.tables.errors import PyarrowMissingError, UnreadableTableError
from generator.competition.tables.formats import TableFormat, format_of
from generator.competition.tables.rows import Row, layout_within, table_rows
from generator.files import reason
from generator.untrusted import printable, quoted

_MANY_COLUMNS = 10
_NONE = Tolerance()


class CellKind(StrEnum):
    """The kinds of cells of a column."""

    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True)
class SubmissionShape:
    """The header, cells and ids that a competition asks for.

    Attributes:
        columns: The header, the id first.
        kinds: What the cells of each column are.
        ids: The ids of all rows.
        tolerance: What a submission may have beyond that.
        separator: What has to stand between the cells of a text; "" if anything may.
        decimal: What the numbers have for a decimal point.
    """

    columns: tuple[str, ...]
    kinds: tuple[CellKind, ...]
    ids: Set[str]
    tolerance: Tolerance = _NONE
    separator: str = ""
    decimal: str = "."


@dataclass(frozen=True)
class SubmissionSummary:
    """A submission that passed every check; without a sample there was nothing to hold it against."""

    path: Path
    rows: int
    columns: tuple[str, ...]
    has_sample: bool = True


def read_table(path: Path, *, separator: str = "", encoding: str = UTF_8) -> Iterator[Row]:
    """Yields the header and then each row, as `table_rows` does.

    Raises:
        MissingReaderError: A package that reads the format is not installed.
        UnreadableSubmissionError: It cannot be read as what its name says.
    """
    try:
        yield from table_rows(path, separator=separator, encoding=encoding)
    except OSError as error:
        raise UnreadableSubmissionError(path=path, why=reason(error)) from error
    except PyarrowMissingError as error:
        raise MissingReaderError(path=path, why="pyarrow is missing; install it with: pip install pyarrow") from error
    except UnreadableTableError as error:
        raise UnreadableSubmissionError(path=path, why=f"it {error}") from error


def validate(submission: Path, sample: Path, *, tolerance: Tolerance = _NONE) -> SubmissionSummary:
    """Checks a submission against the competition's sample submission, in any order of rows.

    The two may be written in different formats: an id is the same as a number and as a text.

    Args:
        submission: The file to check; its name says what it is written in.
        sample: The competition's own sample; its first column holds the ids. It may be compressed, or the member of a
            zip archive.
        tolerance: What a submission may have although the sample does not show it.

    Returns:
        What was checked.

    Raises:
        SubmissionError: The first disagreement, with its line and id.
    """
    shape = read_shape(sample, tolerance=tolerance)
    rows = sum(1 for _ in read_rows(submission, shape))
    return SubmissionSummary(path=submission, rows=rows, columns=shape.columns)


def read_shape(sample: Path, *, tolerance: Tolerance = _NONE) -> SubmissionShape:
    """Learns from a sample submission what a submission has to look like.

    Raises:
        SubmissionError: The sample itself is not a table, or not one with one row for each id where it has to be.
    """
    # Kaggle's files are in any encoding, and the notebooks read them so; what they write is in UTF-8.
    encoding, separator = layout_within(sample)
    columns, rows = _opened(sample, encoding=encoding)
    ids: set[str] = set()
    is_number, is_decimal = ([known] * len(columns) for known in (True, separator not in ("", ",")))
    for number, cells in rows:
        if cells[0] in ids and not tolerance.repeated_ids:
            problem, place = "an id stands there twice", _place(sample, number)
            raise SubmissionIdsError(path=sample, place=place, problem=problem, example=cells[0])
        ids.add(cells[0])
        is_number = [known and _number(cell) is not None for known, cell in zip(is_number, cells, strict=True)]
        is_decimal = [known and _number(cell, ",") is not None for known, cell in zip(is_decimal, cells, strict=True)]
    are_numbers = bool(ids) and not tolerance.texts
    # A column of numbers with commas, beside which there are those of whole numbers.
    has_comma = any(known and not other for known, other in zip(is_decimal[1:], is_number[1:], strict=True))
    is_number = is_decimal if has_comma else is_number
    kinds = tuple(CellKind.NUMBER if known and are_numbers else CellKind.TEXT for known in is_number)
    return SubmissionShape(
        columns=tuple(columns),
        kinds=kinds,
        ids=ids,
        tolerance=tolerance,
        separator=separator,
        decimal="," if has_comma else ".",
    )


def read_rows(submission: Path, shape: SubmissionShape) -> Iterator[list[str]]:
    """Yields the rows of a submission, each checked, with points in its numbers, and makes sure that no id is missing.

    Raises:
        SubmissionError: The first disagreement with `shape`.
    """
    columns, rows = _opened(submission, separator=shape.separator)
    if tuple(columns) != shape.columns:
        # Of many columns, those are named that come where they begin to differ.
        same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(columns, shape.columns, strict=False))))
        start, where = (same, f" from column {same + 1} on") if same >= _MANY_COLUMNS else (0, "")
        found, wanted = (quoted(", ".join(names[start:])) or "none" for names in (columns, shape.columns))
        raise SubmissionError(
            f"{printable(str(submission))} has the columns {found}{where}; the competition asks for {wanted}."
        )
    missing = set(shape.ids)
    for number, cells in rows:
        problem = _problem_of_cells(cells, shape)
        if problem:
            raise SubmissionRowError(path=submission, place=_place(submission, number), problem=problem)
        if shape.decimal != ".":
            answers = zip(cells[1:], shape.kinds[1:], strict=True)
            points = (cell.replace(shape.decimal, ".") if kind is CellKind.NUMBER else cell for cell, kind in answers)
            cells = [cells[0], *points]  # noqa: PLW2901 - the same row
        if cells[0] not in missing:
            is_known = cells[0] in shape.ids
            if is_known and shape.tolerance.repeated_ids:
                yield cells
                continue
            problem = "an id stands there twice" if is_known else "an id that the competition does not have"
            place = _place(submission, number)
            raise SubmissionIdsError(path=submission, place=place, problem=problem, example=cells[0])
        missing.remove(cells[0])
        yield cells
    if missing:
        problem = f"{len(missing):,} of {len(shape.ids):,} ids are missing, the first of them"
        raise SubmissionIdsError(path=submission, problem=problem, example=min(missing))


def summarize(submission: Path) -> SubmissionSummary:
    """Counts the rows of a submission, where the competition has no sample to check it against.

    Raises:
        SubmissionError: It is no table, or has no rows.
    """
    columns, rows = _opened(submission)
    count = sum(1 for _ in rows)
    if not count:
        raise UnreadableSubmissionError(path=submission, why="it has no rows")
    return SubmissionSummary(path=submission, rows=count, columns=tuple(columns), has_sample=False)


def _opened(path: Path, *, separator: str = "", encoding: str = UTF_8) -> tuple[list[str], Iterator[Row]]:
    """The header of a table, and its rows, of which each has as many cells."""
    table = read_table(path, separator=separator, encoding=encoding)
    _, columns = next(table, (0, []))
    if not columns:
        raise UnreadableSubmissionError(path=path, why="it is empty")
    return columns, _of_one_length(path, table, len(columns))


def _of_one_length(path: Path, rows: Iterator[Row], length: int) -> Iterator[Row]:
    for number, cells in rows:
        if len(cells) != length:
            problem = f"{len(cells)} cells under {length} columns"
            raise SubmissionRowError(path=path, place=_place(path, number), problem=problem)
        yield number, cells


def _place(path: Path, number: int) -> str:
    is_counted = format_of(path.name).format in (TableFormat.PARQUET, TableFormat.JSON)
    return f"{'row' if is_counted else 'line'} {number}"  # rows below the header, or lines of a text


def _problem_of_cells(cells: list[str], shape: SubmissionShape) -> str:
    for index, (cell, kind) in enumerate(zip(cells, shape.kinds, strict=True)):
        said = cell.strip()
        if not said and shape.tolerance.empty_answers and index:
            continue
        problem = ""
        is_word = shape.tolerance.null_words and kind is CellKind.TEXT
        if not said or (said.lower() == "nan" and not is_word):
            problem = "is empty or NaN"
        elif kind is CellKind.NUMBER and _number(cell, shape.decimal) is None:
            sign = " with a decimal comma" if shape.decimal == "," else ""
            problem = f'is "{quoted(cell)}" where the sample has a number{sign}'
        if problem:
            return f'column "{quoted(shape.columns[index])}" of id "{quoted(cells[0])}" {problem}'
    return ""


def _number(cell: str, decimal: str = ".") -> float | None:
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
