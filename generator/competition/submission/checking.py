"""The checks of a submission against what its competition asks for."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from generator.competition.submission.errors import (
    SubmissionError,
    SubmissionIdsError,
    SubmissionRowError,
    UnreadableSubmissionError,
)
from generator.competition.submission.shape import (
    CellKind,
    SubmissionShape,
    id_of,
    is_typed,
    number_in,
    open_table,
    place_of,
    plain_cell,
    read_shape,
)
from generator.competition.submission.tolerance import SampleColumns, Tolerance
from generator.untrusted import printable, quoted

_MANY_COLUMNS = 10
_FEW_ROWS = 10
_NONE = Tolerance()
_ID_FIRST = SampleColumns()


@dataclass(frozen=True)
class SubmissionSummary:
    """A submission that passed every check; without a sample there was nothing to hold it against."""

    path: Path
    rows: int
    columns: tuple[str, ...]
    has_sample: bool = True


def validate(
    submission: Path, sample: Path, *, columns: SampleColumns = _ID_FIRST, tolerance: Tolerance = _NONE
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
        repeated = [cells[place] for place in shape.context_places]
        if context and (key, *(map(plain_cell, repeated) if has_types else repeated)) not in context:
            names = " and ".join(f'"{quoted(shape.columns[place])}"' for place in shape.context_places)
            problem = f'column {names} of id "{quoted(key)}" is not as in the sample'
            raise SubmissionRowError(path=submission, place=place_of(submission, number), problem=problem)
        answers = [cells[place] for place in shape.answer_places]
        if shape.decimal != ".":
            numbers = [shape.kinds[place] is CellKind.NUMBER for place in shape.answer_places]
            answers = [
                cell.replace(shape.decimal, ".") if is_number else cell
                for cell, is_number in zip(answers, numbers, strict=True)
            ]
        if are_placeholders:
            known = [cell.replace(shape.decimal, ".") for cell in shape.placeholders.get(key, ())]
            pairs = zip(shape.answer_places, answers, known, strict=True)
            compared = [(answer, cell) for place, answer, cell in pairs if place in shape.target_places]
            are_placeholders = all(plain_cell(answer) == plain_cell(cell) for answer, cell in compared)
        yield [key, *answers]
    if missing:
        problem = f"{len(missing):,} of {len(shape.ids):,} ids are missing, the first of them"
        raise SubmissionIdsError(path=submission, problem=problem, example=min(missing))
    if are_placeholders and len(shape.ids) > _FEW_ROWS:
        names = quoted(", ".join(shape.columns[place] for place in shape.target_places[:_MANY_COLUMNS]))
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
        raise UnreadableSubmissionError(path=submission, why="it has no rows")
    return SubmissionSummary(path=submission, rows=count, columns=tuple(columns), has_sample=False)


def _check_header(submission: Path, header: list[str], shape: SubmissionShape) -> None:
    if tuple(header) == shape.columns:
        return
    # Of many columns, those are named that come where they begin to differ.
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(header, shape.columns, strict=False))))
    start, where = (same, f" from column {same + 1} on") if same >= _MANY_COLUMNS else (0, "")
    found, wanted = (quoted(", ".join(names[start:])) or "none" for names in (header, shape.columns))
    raise SubmissionError(
        f"{printable(str(submission))} has the columns {found}{where}; the competition asks for {wanted}."
    )


def _problem_of_cells(key: str, cells: list[str], shape: SubmissionShape) -> str:
    for index, (cell, kind) in enumerate(zip(cells, shape.kinds, strict=True)):
        if index in shape.context_places:
            continue
        said = cell.strip()
        if not said and shape.tolerance.empty_answers and index != shape.id_place:
            continue
        problem = ""
        is_word = shape.tolerance.null_words and kind is CellKind.TEXT
        if not said or (said.lower() == "nan" and not is_word):
            problem = "is empty or NaN"
        elif kind is CellKind.NUMBER and number_in(cell, shape.decimal) is None:
            sign = " with a decimal comma" if shape.decimal == "," else ""
            problem = f'is "{quoted(cell)}" where the sample has a number{sign}'
        if problem:
            return f'column "{quoted(shape.columns[index])}" of id "{quoted(key)}" {problem}'
    return ""
