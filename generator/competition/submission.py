"""Submission files: their shape, and whether they are what their competition asks for."""

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile
from pathlib import Path

from generator.competition.facts import SubmissionKind, Task
from generator.competition.survey import header_names
from generator.competition.tables import (
    UTF_8,
    PyarrowMissingError,
    Row,
    TableFormat,
    UnreadableTableError,
    layout_within,
    table_format,
    table_rows,
)
from generator.errors import CompetitionError
from generator.files import reason
from generator.text import printable, quote_text

# The errors of submission files.


class SubmissionError(CompetitionError):
    """A submission that its competition would refuse."""


class UnreadableSubmissionError(SubmissionError):
    """The file cannot be read as a table; `why` is a clause."""

    def __init__(self, *, path: Path, problem: str) -> None:
        super().__init__(f"Cannot read {printable(str(path))}: {problem}.")
        self.problem = problem


class MissingReaderError(UnreadableSubmissionError):
    """A package that reads the file's format is not installed."""


class SubmissionRowError(SubmissionError):
    """One row is not what the sample has; `place` is such as "line 3"."""

    def __init__(self, *, path: Path, place: str, problem: str) -> None:
        super().__init__(f"{printable(str(path))}, {place}: {problem}.")


class SubmissionIdsError(SubmissionError):
    """The ids are not the sample's ids."""

    def __init__(self, *, path: Path, problem: str, example: str, place: str = "") -> None:
        location = f", {place}" if place else ""
        super().__init__(f'{printable(str(path))}{location}: {problem}, "{quote_text(example)}".')


# The columns of a sample submission, and differences that a submission may have from it.


_ARE_TEXTS = frozenset((SubmissionKind.RUN_LENGTH, SubmissionKind.LABEL_SET, SubmissionKind.TOP_K))
_MAY_BE_EMPTY = frozenset((SubmissionKind.RUN_LENGTH, SubmissionKind.LABEL_SET))
_MAY_BE_ONE_LABEL = _ARE_TEXTS | {SubmissionKind.LABEL}
_ROWS_OF_SEVERAL = ("column", "piece")


@dataclass(frozen=True)
class Tolerance:
    """Differences that a submission may have from a sample that says the same in all rows.

    Attributes:
        empty_answers: Whether a cell beside the id may be empty, as the run-length code of an empty mask is.
        texts: Whether a cell may be text where the sample has numbers, as a list of labels is where that has one.
        repeated_ids: Whether an id may have several rows, as an image with several masks has.
        null_words: Whether the word nan may be an answer, as where a class is called so.
        sample_answers: Whether all answers may be those of the sample, as in a submission of the sample itself.
        one_label: Whether they may where the sample has the same in all rows: a model may predict one label, or no
            mask, for all examples, but hardly the same number.
    """

    empty_answers: bool = False
    texts: bool = False
    repeated_ids: bool = False
    null_words: bool = False
    sample_answers: bool = True
    one_label: bool = False


@dataclass(frozen=True)
class SampleColumns:
    """The columns of a sample submission that are no answers, and the targets among the others.

    Attributes:
        id: The column with the ids, by the name that pandas gives it; "" for the first, or for none.
        context: The columns that a submission repeats as they are.
        has_ids: Whether there is a column with ids; else the position of a row says which it is.
        targets: The targets; where answers are called so, these must not keep the sample's placeholder in all rows.
    """

    id: str = ""
    context: tuple[str, ...] = ()
    has_ids: bool = True
    targets: tuple[str, ...] = ()


def sample_columns_of(task: Task) -> SampleColumns:
    """The columns of a task's sample submission."""
    context = task.details.get("context_columns", [])
    names = list(context) if isinstance(context, list) else []
    if task.details.get("mask_rows") == "column":  # else the class is a column of the training table alone
        names.append(str(task.details["class_column"]))
    has_ids = bool(task.details.get("has_sample_ids", True))
    return SampleColumns(task.id_column if has_ids else "", tuple(dict.fromkeys(names)), has_ids, task.targets)


def tolerance_of(task: Task) -> Tolerance:
    """The tolerance of what a notebook predicts for a task."""
    repeated_ids = task.details.get("mask_rows") in _ROWS_OF_SEVERAL
    one_label = task.submission in _MAY_BE_ONE_LABEL
    kind = tolerance_of_kind(task.submission)
    null_words = bool(task.details.get("keep_null_words"))
    return replace(kind, repeated_ids=repeated_ids, null_words=null_words, sample_answers=False, one_label=one_label)


def tolerance_of_kind(kind: SubmissionKind) -> Tolerance:
    """The tolerance of submissions of a kind, with a row for each id."""
    return Tolerance(empty_answers=kind in _MAY_BE_EMPTY, texts=kind in _ARE_TEXTS)


# The shape of a submission: what the sample says of its columns, cells and ids.


_NO_TOLERANCE = Tolerance()
_ID_FIRST = SampleColumns()
_TYPED_FORMATS = (TableFormat.PARQUET, TableFormat.JSON, TableFormat.JSON_LINES)


class ValueKind(StrEnum):
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
    kinds: tuple[ValueKind, ...]
    ids: Set[str]
    tolerance: Tolerance = _NO_TOLERANCE
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


def submission_table(
    path: Path, *, separator: str = "", encoding: str = UTF_8, is_sample: bool = False
) -> Iterator[Row]:
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
        raise UnreadableSubmissionError(path=path, problem=reason(error)) from error
    except PyarrowMissingError as error:
        raise MissingReaderError(
            path=path, problem="pyarrow is missing; install it with: pip install pyarrow"
        ) from error
    except UnreadableTableError as error:
        raise UnreadableSubmissionError(path=path, problem=f"it {error}") from error


def read_shape(
    sample: Path, *, columns: SampleColumns = _ID_FIRST, tolerance: Tolerance = _NO_TOLERANCE
) -> SubmissionShape:
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
    answer_pool: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal answers share their memory
    apart = {id_place, *context_places}
    answer_places = [place for place in range(len(header)) if place not in apart]
    target_places = [place for place in answer_places if header[place] in columns.targets]
    is_number, is_decimal = ([flag] * len(header) for flag in (True, separator not in ("", ",")))
    for position, (number, cells) in enumerate(rows):
        key = id_of(cells, id_place, position)
        if key in answers and not tolerance.repeated_ids:
            problem, place = "an id stands there twice", place_of(sample, number)
            raise SubmissionIdsError(path=sample, place=place, problem=problem, example=key)
        answer = tuple(cells[place] for place in answer_places)
        answers.setdefault(key, answer_pool.setdefault(answer, answer))
        if context_places:
            context.add((key, *(cells[place] for place in context_places)))
        is_number = [flag and number_in(cell) is not None for flag, cell in zip(is_number, cells, strict=True)]
        is_decimal = [flag and number_in(cell, ",") is not None for flag, cell in zip(is_decimal, cells, strict=True)]
    are_numbers = bool(answers) and not tolerance.texts
    # A column of numbers with commas, beside which there are those of whole numbers.
    has_comma = any(is_decimal[place] and not is_number[place] for place in answer_places)
    is_number = is_decimal if has_comma else is_number
    kinds = tuple(ValueKind.NUMBER if flag and are_numbers else ValueKind.TEXT for flag in is_number)
    are_possible = tolerance.sample_answers or (tolerance.one_label and len(answer_pool) == 1)
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


def is_known_format(name: str) -> bool:
    """True if a file of this name is in a format that can be read as a table."""
    return table_format(name).format is not None


def is_typed(path: Path) -> bool:
    """True if a file's format knows numbers from text: 1.10 and 1.1 are the same in it."""
    return table_format(path.name).format in _TYPED_FORMATS


def plain_cell(cell: str) -> str:
    """A number as Python writes it, and other cells as they are."""
    value = number_in(cell)
    return cell if value is None else repr(value)


def open_table(
    path: Path, *, separator: str = "", encoding: str = UTF_8, is_sample: bool = False
) -> tuple[list[str], Iterator[Row]]:
    """The header of a table, and its rows, of which each has as many cells."""
    table = submission_table(path, separator=separator, encoding=encoding, is_sample=is_sample)
    _, columns = next(table, (0, []))
    if not columns:
        raise UnreadableSubmissionError(path=path, problem="it is empty")
    return columns, _of_one_length(path, table, len(columns))


def _of_one_length(path: Path, rows: Iterator[Row], length: int) -> Iterator[Row]:
    for number, cells in rows:
        if len(cells) != length:
            problem = f"{len(cells)} cells under {length} columns"
            raise SubmissionRowError(path=path, place=place_of(path, number), problem=problem)
        yield number, cells


def place_of(path: Path, number: int) -> str:
    """Returns the place of a row as messages name it."""
    is_counted = table_format(path.name).format in (TableFormat.PARQUET, TableFormat.JSON)
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
    required_names = (*((columns.id,) if columns.id else ()), *columns.context)
    for name in required_names:
        if name not in names:
            raise SubmissionError(
                f'{printable(str(sample))} has no column "{quote_text(name)}"; it has {quote_text(", ".join(names))}.'
            )
    first = 0 if columns.has_ids else None
    id_place = names.index(columns.id) if columns.id else first
    return id_place, tuple(names.index(name) for name in columns.context)


def id_of(cells: list[str], place: int | None, position: int) -> str:
    """Returns the id of a row: its cell in the id column, or else its position, from 0."""
    return str(position) if place is None else cells[place]


# The checks of a submission against what its competition asks for.


_MANY_COLUMNS = 10
_FEW_ROWS = 10


@dataclass(frozen=True)
class SubmissionSummary:
    """A submission that passed every check; without a sample there was nothing to hold it against."""

    path: Path
    rows: int
    columns: tuple[str, ...]
    has_sample: bool = True


def validate(
    submission: Path, sample: Path, *, columns: SampleColumns = _ID_FIRST, tolerance: Tolerance = _NO_TOLERANCE
) -> SubmissionSummary:
    """Checks a submission against the competition's sample submission, in any order of rows.

    The two may be written in different formats: an id is the same as a number and as a text.

    Args:
        submission: The file to check; its name says what it is written in.
        sample: The competition's own sample. It may be compressed, or the member of a zip archive.
        columns: Which of the sample's columns are no answers; by default the first one, with the ids.
        tolerance: What a submission may have although the sample does not show it.

    Returns:
        What was checked.

    Raises:
        SubmissionError: The first disagreement, with its line and id.
    """
    shape = read_shape(sample, columns=columns, tolerance=tolerance)
    rows = sum(1 for _ in read_rows(submission, shape))
    return SubmissionSummary(path=submission, rows=rows, columns=shape.columns)


def read_rows(submission: Path, shape: SubmissionShape) -> Iterator[list[str]]:
    """Yields the id and the answers of each row of a submission, with points in its numbers.

    Each row is checked, and in the end that no id is missing, and that the targets are not those of the sample.

    Raises:
        SubmissionError: The first disagreement with `shape`.
    """
    header, rows = open_table(submission, separator=shape.separator)
    _check_header(submission, header, shape)
    missing, are_placeholders = set(shape.ids), bool(shape.placeholders)
    context = shape.context
    has_types = shape.is_typed or is_typed(submission)
    if has_types:
        context = {(key, *map(plain_cell, cells)) for key, *cells in context}
    for position, (number, cells) in enumerate(rows):
        key = id_of(cells, shape.id_place, position)
        problem = _problem_of_cells(key, cells, shape)
        if problem:
            raise SubmissionRowError(path=submission, place=place_of(submission, number), problem=problem)
        if key not in shape.ids or (key not in missing and not shape.tolerance.repeated_ids):
            problem = "an id stands there twice" if key in shape.ids else "an id that the competition does not have"
            raise SubmissionIdsError(path=submission, place=place_of(submission, number), problem=problem, example=key)
        missing.discard(key)
        context_cells = [cells[place] for place in shape.context_places]
        if context and (key, *(map(plain_cell, context_cells) if has_types else context_cells)) not in context:
            names = " and ".join(f'"{quote_text(shape.columns[place])}"' for place in shape.context_places)
            problem = f'column {names} of id "{quote_text(key)}" is not as in the sample'
            raise SubmissionRowError(path=submission, place=place_of(submission, number), problem=problem)
        answers = [cells[place] for place in shape.answer_places]
        if shape.decimal != ".":
            numbers = [shape.kinds[place] is ValueKind.NUMBER for place in shape.answer_places]
            answers = [
                cell.replace(shape.decimal, ".") if is_number else cell
                for cell, is_number in zip(answers, numbers, strict=True)
            ]
        if are_placeholders:
            placeholders = [cell.replace(shape.decimal, ".") for cell in shape.placeholders.get(key, ())]
            pairs = zip(shape.answer_places, answers, placeholders, strict=True)
            answer_pairs = [(answer, cell) for place, answer, cell in pairs if place in shape.target_places]
            are_placeholders = all(plain_cell(answer) == plain_cell(cell) for answer, cell in answer_pairs)
        yield [key, *answers]
    if missing:
        problem = f"{len(missing):,} of {len(shape.ids):,} ids are missing, the first of them"
        raise SubmissionIdsError(path=submission, problem=problem, example=min(missing))
    if are_placeholders and len(shape.ids) > _FEW_ROWS:
        names = quote_text(", ".join(shape.columns[place] for place in shape.target_places[:_MANY_COLUMNS]))
        raise SubmissionError(
            f"{printable(str(submission))} has the sample's own answers in all {len(shape.ids):,} rows of {names}: no "
            "prediction is in it. Check which columns the notebook fills."
        )


def summarize(submission: Path) -> SubmissionSummary:
    """Counts the rows of a submission, where the competition has no sample to check it against.

    Raises:
        SubmissionError: It is no table, or has no rows.
    """
    columns, rows = open_table(submission)
    count = sum(1 for _ in rows)
    if not count:
        raise UnreadableSubmissionError(path=submission, problem="it has no rows")
    return SubmissionSummary(path=submission, rows=count, columns=tuple(columns), has_sample=False)


def _check_header(submission: Path, header: list[str], shape: SubmissionShape) -> None:
    if tuple(header) == shape.columns:
        return
    # Of many columns, those are named that come where they begin to differ.
    match_count = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(header, shape.columns, strict=False))))
    start, location = (match_count, f" from column {match_count + 1} on") if match_count >= _MANY_COLUMNS else (0, "")
    actual_names, expected_names = (quote_text(", ".join(names[start:])) or "none" for names in (header, shape.columns))
    raise SubmissionError(
        f"{printable(str(submission))} has the columns {actual_names}{location}; the competition asks "
        f"for {expected_names}."
    )


def _problem_of_cells(key: str, cells: list[str], shape: SubmissionShape) -> str:
    for index, (cell, kind) in enumerate(zip(cells, shape.kinds, strict=True)):
        if index in shape.context_places:
            continue
        content = cell.strip()
        if not content and shape.tolerance.empty_answers and index != shape.id_place:
            continue
        problem = ""
        is_word = shape.tolerance.null_words and kind is ValueKind.TEXT
        if not content or (content.lower() == "nan" and not is_word):
            problem = "is empty or NaN"
        elif kind is ValueKind.NUMBER and number_in(cell, shape.decimal) is None:
            sign = " with a decimal comma" if shape.decimal == "," else ""
            problem = f'is "{quote_text(cell)}" where the sample has a number{sign}'
        if problem:
            return f'column "{quote_text(shape.columns[index])}" of id "{quote_text(key)}" {problem}'
    return ""


__all__ = [
    "MissingReaderError",
    "SampleColumns",
    "SubmissionError",
    "SubmissionIdsError",
    "SubmissionRowError",
    "SubmissionShape",
    "SubmissionSummary",
    "Tolerance",
    "UnreadableSubmissionError",
    "ValueKind",
    "read_rows",
    "read_shape",
    "sample_columns_of",
    "submission_table",
    "summarize",
    "tolerance_of",
    "tolerance_of_kind",
    "validate",
]
