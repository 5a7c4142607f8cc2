"""Submission files: whether they are what their competition asks for, and what they predict.

SubmissionError
├── UnreadableSubmissionError    missing, not text, not CSV, no rows
├── SubmissionColumnsError       other columns, or in another order
├── SubmissionRowError           a row is too short or long, or has an empty or wrong cell
└── SubmissionIdsError           ids that are unknown, twice, or missing
"""

import csv
import gzip
import io
import math
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, cast

from generator.errors import CompetitionError
from generator.files import reason
from generator.untrusted import printable

# The run-length code of a large mask is longer than the 128 KiB that the csv module stops at.
csv.field_size_limit(64 * 1024 * 1024)


class SubmissionError(CompetitionError):
    """A submission that its competition would refuse."""


class UnreadableSubmissionError(SubmissionError):
    """The file cannot be read as a table."""

    def __init__(self, *, path: Path, why: str) -> None:
        super().__init__(f"Cannot read {printable(str(path))}: {why}.")


class SubmissionColumnsError(SubmissionError):
    """The header differs from the sample's."""

    def __init__(self, *, path: Path, columns: Iterable[str], expected: Iterable[str]) -> None:
        found, wanted = (", ".join(printable(column) for column in names) for names in (columns, expected))
        super().__init__(f"{printable(str(path))} has the columns {found}; the competition asks for {wanted}.")


class SubmissionRowError(SubmissionError):
    """One row is not what the sample has."""

    def __init__(self, *, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{printable(str(path))}, line {line}: {problem}.")


class SubmissionIdsError(SubmissionError):
    """The ids are not the sample's ids."""

    def __init__(self, *, path: Path, problem: str, example: str, line: int | None = None) -> None:
        where = f", line {line}" if line is not None else ""
        super().__init__(f'{printable(str(path))}{where}: {problem}, "{printable(example)}".')


class CellKind(StrEnum):
    """What the cells of a column are."""

    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True)
class SubmissionShape:
    """What a competition asks for.

    Attributes:
        columns: The header, the id first.
        kinds: What the cells of each column are.
        ids: The ids of all rows.
        has_empty_answers: Whether a cell beside the id may be empty, as the run-length code of an empty mask is.
    """

    columns: tuple[str, ...]
    kinds: tuple[CellKind, ...]
    ids: Set[str]
    has_empty_answers: bool = False


@dataclass(frozen=True)
class SubmissionSummary:
    """A submission that passed every check."""

    path: Path
    rows: int
    columns: tuple[str, ...]


def validate(submission: Path, sample: Path, *, has_empty_answers: bool = False) -> SubmissionSummary:
    """Checks a submission against the competition's sample submission, in any order of rows, reading both as streams.

    Args:
        submission: The file to check.
        sample: The competition's own sample; its first column holds the ids. It may be compressed by gzip or zip, or
            the member of a zip archive.
        has_empty_answers: Whether a cell beside the id may be empty.

    Returns:
        What was checked.

    Raises:
        SubmissionError: The first disagreement, with its line and id.
    """
    shape = replace(read_shape(sample), has_empty_answers=has_empty_answers)
    rows = sum(1 for _ in read_rows(submission, shape))
    return SubmissionSummary(path=submission, rows=rows, columns=shape.columns)


def read_shape(sample: Path) -> SubmissionShape:
    """Learns from a sample submission what a submission has to look like.

    Raises:
        SubmissionError: The sample itself is not a table with one row for each id.
    """
    rows = _records(sample)
    _, columns = next(rows, (0, []))
    if not columns:
        raise UnreadableSubmissionError(path=sample, why="it is empty")
    ids: set[str] = set()
    is_number = [True] * len(columns)
    for line, cells in rows:
        _check_length(sample, line, cells, columns)
        if cells[0] in ids:
            raise SubmissionIdsError(path=sample, line=line, problem="an id stands there twice", example=cells[0])
        ids.add(cells[0])
        is_number = [known and _number(cell) is not None for known, cell in zip(is_number, cells, strict=True)]
    kinds = tuple(CellKind.NUMBER if known and ids else CellKind.TEXT for known in is_number)
    return SubmissionShape(columns=tuple(columns), kinds=kinds, ids=ids)


def read_rows(submission: Path, shape: SubmissionShape) -> Iterator[list[str]]:
    """Yields the rows of a submission, each checked, and at the end makes sure that no id is missing.

    Raises:
        SubmissionError: The first disagreement with `shape`.
    """
    records = _records(submission)
    _, columns = next(records, (0, []))
    if not columns:
        raise UnreadableSubmissionError(path=submission, why="it is empty")
    if tuple(columns) != shape.columns:
        raise SubmissionColumnsError(path=submission, columns=columns, expected=shape.columns)
    missing = set(shape.ids)
    for line, cells in records:
        _check_length(submission, line, cells, columns)
        _check_cells(submission, line, cells, shape)
        if cells[0] not in missing:
            problem = (
                "an id stands there twice" if cells[0] in shape.ids else "an id that the competition does not have"
            )
            raise SubmissionIdsError(path=submission, line=line, problem=problem, example=cells[0])
        missing.remove(cells[0])
        yield cells
    if missing:
        problem = f"{len(missing):,} of {len(shape.ids):,} ids are missing, the first of them"
        raise SubmissionIdsError(path=submission, problem=problem, example=min(missing))


def summarize(submission: Path) -> SubmissionSummary:
    """What a submission holds, where the competition has no sample to check it against.

    Raises:
        SubmissionError: It is no table, or has no rows.
    """
    rows = _records(submission)
    _, columns = next(rows, (0, []))
    count = 0
    for line, cells in rows:
        _check_length(submission, line, cells, columns)
        count += 1
    if not count:
        raise UnreadableSubmissionError(path=submission, why="it has no rows")
    return SubmissionSummary(path=submission, rows=count, columns=tuple(columns))


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a table, unpacked if it is compressed or inside of a zip archive."""
    archive, member = (path.parent, path.name) if path.parent.suffix == ".zip" else (path, "")
    if archive.suffix == ".zip" and archive.is_file():
        with zipfile.ZipFile(archive) as opened, opened.open(member or opened.namelist()[0]) as file:
            yield file
    elif path.suffix == ".gz":
        with gzip.open(path) as compressed:
            yield cast("IO[bytes]", compressed)
    else:
        with path.open("rb") as plain:
            yield plain


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yields each row with the line it ends on; blank lines are skipped, as every reader of CSV does."""
    try:
        with _opened(path) as file:
            reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), strict=True)
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
    except OSError as error:
        raise UnreadableSubmissionError(path=path, why=reason(error)) from error
    except (zipfile.BadZipFile, EOFError, KeyError, IndexError, zlib.error) as error:
        raise UnreadableSubmissionError(path=path, why=f"it cannot be unpacked ({printable(str(error))})") from error
    except UnicodeDecodeError as error:
        raise UnreadableSubmissionError(path=path, why="it is not UTF-8 text") from error
    except csv.Error as error:
        raise UnreadableSubmissionError(path=path, why=f"it is not CSV ({printable(str(error))})") from error


def _check_length(path: Path, line: int, cells: list[str], columns: list[str]) -> None:
    if len(cells) != len(columns):
        raise SubmissionRowError(path=path, line=line, problem=f"{len(cells)} cells under {len(columns)} columns")


def _check_cells(path: Path, line: int, cells: list[str], shape: SubmissionShape) -> None:
    for column, cell, kind in zip(shape.columns, cells, shape.kinds, strict=True):
        where = f'column "{printable(column)}" of id "{printable(cells[0])}"'
        if not cell.strip() and shape.has_empty_answers and cell is not cells[0]:
            continue
        if not cell.strip() or cell.strip().lower() == "nan":
            raise SubmissionRowError(path=path, line=line, problem=f"{where} is empty or NaN")
        if kind is CellKind.NUMBER and _number(cell) is None:
            problem = f'{where} is "{printable(cell)}" where the sample has a number'
            raise SubmissionRowError(path=path, line=line, problem=problem)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
