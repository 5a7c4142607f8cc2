"""Scores of submissions by hidden answers, for `tandem run` and the local Kaggle."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from generator.competition.facts import SubmissionKind, TargetKind, Wants
from generator.competition.introspection.evidence import looks_like_id
from generator.competition.introspection.observations import class_asked
from generator.competition.metrics import function_of, parse_metric
from generator.competition.submission import (
    SampleColumns,
    SubmissionError,
    SubmissionShape,
    UnreadableSubmissionError,
    ValueKind,
    read_rows,
    read_shape,
    submission_table,
    tolerance_of_kind,
)
from generator.competition.survey import header_names
from generator.competition.tables import TableFormat, UnreadableTableError, open_unpacked, table_format
from generator.errors import CompetitionError
from generator.text import printable, quote_text

# The form of a submission, and its scores.


PUBLIC_SHARE = 0.3


@dataclass(frozen=True)
class Question:
    """The form of a submission, and the metric that scores it.

    Attributes:
        metric: A metric as a task names it, such as "rmse" or "map@5".
        submission: What a row says.
        columns: The id and the answers of a submission; empty where the sample submission or the answers say it.
        header: All columns of a submission in their order, where it has others or another order.
        mask_size: Height and width of the masks, where all have the same.
        public_share: The share of the examples whose score is shown while the competition runs.
    """

    metric: str
    submission: SubmissionKind
    columns: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    mask_size: tuple[int, int] | None = None
    public_share: float = PUBLIC_SHARE


@dataclass(frozen=True)
class Scores:
    """The scores of one submission, on the two parts of the hidden test."""

    public: float
    private: float


# The bounds on the size of a submission, also a compressed one, before anything is made of it.


LARGEST_SUBMISSION = 1 << 30
_LONGEST_LINE = 1 << 24
_CHUNK = 1 << 20


def require_bounded(submission: Path) -> None:
    """Makes sure that a file, once unpacked, is not too large, and that no line of a text is.

    Raises:
        SubmissionError: It is. What cannot be unpacked is left to whoever reads it.
    """
    size = line = 0
    try:
        with open_unpacked(submission) as (file, name):
            has_lines = table_format(name).format not in (TableFormat.PARQUET, TableFormat.JSON)
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                newline = chunk.rfind(b"\n")
                line = line + len(chunk) if newline < 0 else len(chunk) - newline - 1
                if size > LARGEST_SUBMISSION:
                    raise SubmissionError(f"The submission has contents of more than {LARGEST_SUBMISSION:,} bytes.")
                if has_lines and line > _LONGEST_LINE:
                    raise SubmissionError(f"The submission has a line of more than {_LONGEST_LINE:,} bytes.")
    except (OSError, UnreadableTableError):
        return


# Ids of the form `<example>_<part>`, a row for each part of an example.


def example_id(key: str) -> str:
    """The example that such an id belongs to; an id without a part is its own example."""
    return key.rpartition("_")[0] or key


def table_of(keys: Sequence[str]) -> list[list[str]]:
    """The ids as rows of examples and columns of parts, or as one column where the examples have different parts.

    Args:
        keys: The ids, each once, in any order.

    Returns:
        Rows of equal length that hold every id once; columns are in the order of the parts' names.
    """
    examples: dict[str, dict[str, str]] = {}
    for key in keys:
        example, _, part = key.rpartition("_")
        examples.setdefault(example or key, {})[part if example else ""] = key
    parts = [sorted(row) for row in examples.values()]
    if any(names != parts[0] for names in parts):
        return [[key] for key in keys]
    return [[row[name] for name in names] for row, names in zip(examples.values(), parts, strict=True)]


# Classes and labels as indices and as columns.


MOST_CELLS = 1 << 30
_YES = frozenset(("1", "true", "yes"))


@dataclass(frozen=True)
class ClassLabels:
    """The classes of a competition, in the order of their indices: numbers by value, names by letter."""

    names: tuple[str, ...]
    are_numbers: bool

    @classmethod
    def of(cls, cells: Iterable[str]) -> "ClassLabels":
        """The different labels among some cells."""
        distinct_cells = set(cells)
        are_numbers = all(is_number(cell) for cell in distinct_cells)
        names = {_plain(cell) for cell in distinct_cells} if are_numbers else {cell.strip() for cell in distinct_cells}
        return cls(tuple(sorted(names, key=float) if are_numbers else sorted(names)), are_numbers)

    def indices(self, rows: Mapping[str, tuple[str, ...]], ids: Sequence[str]) -> Any:
        """The index of each row's label; all that is no class has one more, which is never right."""
        import numpy

        places = {name: index for index, name in enumerate(self.names)}
        unknown = len(self.names)
        return numpy.array([places.get(self._name(rows[key][0]), unknown) for key in ids])

    def positives(self, cell: str, positive: str | None = None) -> bool:
        """True if a cell says the positive class, by default the second of two; a class alone has to say yes."""
        name = self._name(cell)
        return name == (positive or self.names[-1]) if len(self.names) > 1 else name.lower() in _YES

    def _name(self, cell: str) -> str:
        return _plain(cell) if self.are_numbers and is_number(cell) else cell.strip()


def is_number(cell: str) -> bool:
    """True if a cell is a finite number."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def sets(truth: Sequence[str], predictions: Sequence[str]) -> tuple[Any, Any]:
    """Cells of labels separated by spaces, as rows of 0 and 1 with a column for each label of either.

    Raises:
        SubmissionError: There are too many to compare.
    """
    import numpy

    split = [[set(cell.split()) for cell in cells] for cells in (truth, predictions)]
    columns = {name: index for index, name in enumerate(sorted(set().union(*split[0], *split[1])))}
    if len(columns) * len(truth) > MOST_CELLS:
        raise SubmissionError(
            f"The submission has {len(columns):,} different labels in {len(truth):,} rows, which is too many."
        )
    tables = [numpy.zeros((len(cells), max(len(columns), 1)), dtype="int8") for cells in split]
    for table, cells in zip(tables, split, strict=True):
        for row, names in enumerate(cells):
            table[row, [columns[name] for name in names]] = 1
    return tables[0], tables[1]


def ranked_scores(truth: Sequence[str], predictions: Sequence[str], *, k: int) -> tuple[Any, Any]:
    """Ranked labels as scores, the higher the earlier a label stands in its cell.

    Between the labels of a cell and those that are not in it stand `k` columns of no label: so what was not predicted
    is never among the best, however few were.

    Returns:
        Truth [rows] of indices where every cell has one label, else [rows, labels] of 0 and 1; scores [rows, labels].
    """
    import numpy

    lists = [list(dict.fromkeys(cell.split()))[:k] for cell in predictions]
    true = [cell.split() for cell in truth]
    columns = {name: k + index for index, name in enumerate(sorted({name for names in lists + true for name in names}))}
    scores = numpy.zeros((len(lists), k + len(columns)))
    scores[:, :k] = 0.5
    for row, names in enumerate(lists):
        for place, name in enumerate(names):
            scores[row, columns[name]] = k + 1 - place
    if all(len(names) == 1 for names in true):
        return numpy.array([columns[names[0]] for names in true]), scores
    table = numpy.zeros(scores.shape, dtype="int8")
    for row, names in enumerate(true):
        table[row, [columns[name] for name in names]] = 1
    return table, scores


def _plain(cell: str) -> str:
    return repr(float(cell) + 0.0)  # so that -0.0 is 0.0


# Run-length codes of masks: pairs of a start, counted from 1 down the columns, and a length.


_LARGEST_PIXELS = 1 << 28
_LONGEST_NUMBER = 10


def mask_of(key: str, code: str, size: tuple[int, int] | None) -> Any:
    """The mask [1, height, width] of 0 and 1 that a code of an example stands for.

    Raises:
        SubmissionError: It is no such code, or leads out of the mask.
    """
    import numpy

    if size is None or min(size) < 1 or size[0] * size[1] > _LARGEST_PIXELS:
        raise _code_error(key, "is of a mask whose size is not known, or too large")
    height, width = size
    flat = numpy.zeros(height * width, dtype="uint8")
    parts = code.split()
    if len(parts) % 2 or not all(_is_whole(part) for part in parts):
        # Some competitions write a single 0 or -1 for an empty mask.
        if parts in (["0"], ["-1"]):
            return flat.reshape(1, height, width)
        raise _code_error(key, "is not made of pairs of whole numbers")
    for start, length in zip(map(int, parts[::2]), map(int, parts[1::2]), strict=True):
        if start < 1 or start - 1 + length > flat.size:
            raise _code_error(key, f"leads out of its {height} x {width} pixels")
        flat[start - 1 : start - 1 + length] = 1
    return flat.reshape(width, height).T[None]


def _code_error(key: str, problem: str) -> SubmissionError:
    return SubmissionError(f'The run-length code of id "{quote_text(key)}" {problem}.')


def _is_whole(part: str) -> bool:
    return part.isascii() and part.isdecimal() and len(part) <= _LONGEST_NUMBER


# The hidden answers of a competition: a table like a submission, with the right cells.


_USAGE = "usage"
_HEIGHT, _WIDTH = "height", "width"
_PUBLIC = "public"


@dataclass(frozen=True)
class Answers:
    """The answers by id.

    Attributes:
        columns: The names of the id and, behind it, of the answers.
        rows: The cells beside the id, for each id.
        public: The ids whose score is public, where the host chose them; else None.
        sizes: Height and width of the mask of an id, where the host gave them.
    """

    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]
    public: frozenset[str] | None = None
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def read_solution(path: Path, *, sample: Path | None = None, id_column: str = "") -> Answers:
    """Reads a perfect submission in any of their formats, optionally with the columns `Usage`, `height` and `width`.

    Args:
        path: The file.
        sample: The sample submission, if there is one: what it has in each row already is no answer.
        id_column: The column with the ids; by default the first one without equal cells in both files, or the
            first of all.

    Raises:
        CompetitionError: It is missing, is no such table, or has an id twice.
        SubmissionError: The sample cannot be read.
    """
    if not path.exists():
        raise _answers_error(path, "it is missing; put a perfect submission there")
    try:
        lines = [cells for _, cells in submission_table(path, is_sample=True)]
    except UnreadableSubmissionError as error:
        raise _answers_error(path, error.problem) from error
    if len(lines) < 2 or len(lines[0]) < 2:  # noqa: PLR2004 - a header and a row; an id and an answer
        raise _answers_error(path, "it needs a header with an id and an answer, and a row for each id")
    header, rows = lines[0], lines[1:]
    for cells in rows:
        if len(cells) != len(header):
            raise _answers_error(path, f"the row of {quote_text(cells[0])} has {len(cells)} cells")
    if id_column and id_column not in header:
        raise _answers_error(path, f'it has no column "{quote_text(id_column)}", which id_column names')
    cells_of_sample = _cells_by_column(sample) if sample is not None else {}
    place = header.index(id_column) if id_column else _place_of_ids(header, rows, cells_of_sample)
    return _parse_answers(path, header, rows, place, cells_of_sample)


def _answers_error(path: Path, problem: str) -> CompetitionError:
    return CompetitionError(f"{printable(str(path))} cannot be scored by: {problem}.")


def sample_columns(answers: Answers, sample: Path) -> SampleColumns:
    """The columns of a sample submission that are no answers, by the file of answers.

    Where the answers are in other columns than those of a submission, such as the name of the class where that has a
    column for each, every column beside the id is an answer.
    """
    _, header = next(submission_table(sample), (0, []))
    names, (key, *answer_names) = header_names(header)[0], answers.columns
    if key not in names:
        return SampleColumns()
    context = [name for name in names if name not in answers.columns] if set(answer_names) <= set(names) else []
    return SampleColumns(key, tuple(context))


def _cells_by_column(table: Path) -> Mapping[str, list[str]]:
    rows = [cells for _, cells in submission_table(table, is_sample=True)]
    columns = zip(*(cells for cells in rows[1:] if len(cells) == len(rows[0])), strict=True) if rows else ()
    return {name: list(cells) for name, cells in zip(rows[0] if rows else (), columns, strict=False)}


def _place_of_ids(header: list[str], rows: list[list[str]], sample: Mapping[str, list[str]]) -> int:
    """The first column without equal or empty cells in both files, one named like an id rather than another."""
    candidates = []
    for place, name in enumerate(header):
        columns = ([cells[place] for cells in rows], sample.get(name, []))
        if name in sample and all(len(set(cells)) == len(cells) and "" not in cells for cells in columns):
            candidates.append(place)
    return next((place for place in candidates if looks_like_id(header[place])), candidates[0] if candidates else 0)


def _parse_answers(
    path: Path, header: list[str], lines: list[list[str]], at: int, sample: Mapping[str, list[str]]
) -> Answers:
    places = _places_of_notes(header, at)
    ids = sample.get(header[at], [])
    cells_by_id = {cells[at]: cells for cells in lines}

    def is_repeated(place: int) -> bool:
        """True if the sample has the same in each of its rows, and not the same in all of them."""
        cells = sample.get(header[place], [])
        rows = zip(ids, cells, strict=False)
        return len(set(cells)) > 1 and all(key in cells_by_id and cells_by_id[key][place] == cell for key, cell in rows)

    answer_places = [place for place in range(len(header)) if place != at and place not in places.values()]
    answer_places = [place for place in answer_places if not is_repeated(place)]
    if not answer_places:
        raise _answers_error(path, "no column of its is an answer")
    rows: dict[str, tuple[str, ...]] = {}
    for cells in lines:
        if cells[at] in rows:
            raise _answers_error(path, f"the id {quote_text(cells[at])} stands there twice")
        rows[cells[at]] = tuple(cells[index] for index in answer_places)
    return Answers(
        columns=(header[at], *(header[index] for index in answer_places)),
        rows=rows,
        public=_public(lines, at, places.get(_USAGE)),
        sizes=_sizes(path, lines, at, places),
    )


def _places_of_notes(header: list[str], at: int) -> dict[str, int]:
    """The positions of the columns that are notes for the scoring; a height without a width, or alone, is an answer."""
    places = {name.lower(): index for index, name in enumerate(header) if index != at}
    notes = {_USAGE} & places.keys()
    if {_HEIGHT, _WIDTH} <= places.keys() and len(header) > 1 + len(notes) + 2:
        notes |= {_HEIGHT, _WIDTH}
    return {name: places[name] for name in notes}


def _public(lines: list[list[str]], at: int, place: int | None) -> frozenset[str] | None:
    if place is None:
        return None
    return frozenset(cells[at] for cells in lines if cells[place].strip().lower() == _PUBLIC)


def _sizes(path: Path, lines: list[list[str]], at: int, places: dict[str, int]) -> dict[str, tuple[int, int]]:
    if not {_HEIGHT, _WIDTH} <= places.keys():
        return {}
    try:
        return {cells[at]: (int(cells[places[_HEIGHT]]), int(cells[places[_WIDTH]])) for cells in lines}
    except ValueError as error:
        raise _answers_error(path, "height and width have to be whole numbers") from error


# Turning the cells of answers and submissions into the arrays that a metric compares.


Rows = Mapping[str, tuple[str, ...]]
Comparison = Callable[[Rows, Sequence[str]], float]
"""Compares the submitted rows of these ids with the answers; the result is the metric."""

_RANKED_LABELS_AT_ONCE = 1_000


def comparison(question: Question, answers: Answers, columns: Sequence[str]) -> Comparison:
    """The comparison of submissions with these columns with the answers.

    Raises:
        CompetitionError: The metric is not for such submissions, or the answers are not of their form.
        UnknownMetricError: There is no such metric.
    """
    comparing = _Comparing(question, answers)
    kind, kinds_of_target = question.submission, comparing.facts.target_kinds
    if kind is SubmissionKind.RUN_LENGTH:
        return comparing.masks()
    if kind in (SubmissionKind.TOP_K, SubmissionKind.LABEL_SET):
        return comparing.lists()
    if kind is SubmissionKind.CLASS_COLUMNS:
        return comparing.class_columns(list(columns[1:]))
    if kind is SubmissionKind.PROBABILITY:
        return comparing.probabilities(columns[-1])
    if kind is SubmissionKind.LABEL and TargetKind.CLASS in kinds_of_target:
        return comparing.labels()
    return comparing.numbers()


def inferred_submission(metric: str, columns: Sequence[str], answer_columns: Sequence[str]) -> SubmissionKind:
    """The kind of submission, where the host does not say it: by the metric and the number of columns.

    Raises:
        UnknownMetricError: There is no such metric.
    """
    facts, _ = parse_metric(metric)
    is_one = len(columns) == 2  # noqa: PLR2004 - the id and one answer
    if TargetKind.MASK in facts.target_kinds:
        return SubmissionKind.RUN_LENGTH
    if facts.wants is Wants.RANKED:
        return SubmissionKind.TOP_K
    if facts.wants is Wants.NUMBERS or TargetKind.CLASS not in facts.target_kinds:
        is_set = facts.wants is Wants.LABELS and is_one
        return SubmissionKind.LABEL_SET if is_set else SubmissionKind.NUMBERS
    if not is_one:
        of_labels = TargetKind.LABELS in facts.target_kinds and len(answer_columns) == len(columns)
        return SubmissionKind.NUMBERS if of_labels else SubmissionKind.CLASS_COLUMNS
    return SubmissionKind.LABEL if facts.wants is Wants.LABELS else SubmissionKind.PROBABILITY


class _Comparing:
    """The comparisons with the answers of one question; each is made once, before any submission."""

    def __init__(self, question: Question, answers: Answers) -> None:
        self.facts, self._parameter = parse_metric(question.metric)
        self._metric = function_of(question.metric)
        self._question, self._answers, self._truth = question, answers, answers.rows

    def numbers(self) -> Comparison:
        """Compares numbers, where ids have parts as a table with a column for each part."""
        is_keyed = self._question.submission is SubmissionKind.KEYED_ROWS
        for key, cells in self._truth.items():
            for cell in cells:
                if not is_number(cell):
                    raise self._error(f'"{quote_text(cell)}", the answer for {quote_text(key)}, is no number')

        def compare(rows: Rows, ids: Sequence[str]) -> float:
            table = table_of(ids) if is_keyed else [[key] for key in ids]
            return self._metric(_matrix(self._truth, table), _matrix(rows, table))

        return compare

    def labels(self) -> Comparison:
        """Compares a label a row."""
        if self.facts.wants is not Wants.LABELS:
            raise self._error("the metric does not compare labels")
        labels = ClassLabels.of(cells[0] for cells in self._truth.values())
        if self.facts.is_ordinal and labels.are_numbers:
            return self.numbers()
        return lambda rows, ids: self._metric(labels.indices(self._truth, ids), labels.indices(rows, ids))

    def probabilities(self, column: str) -> Comparison:
        """Compares the probability of one of two classes: that which the column asks for, or the second."""
        import numpy

        labels = ClassLabels.of(cells[0] for cells in self._truth.values())
        positive_class = class_asked(column, labels.names)
        if self.facts.wants is not Wants.PROBABILITIES or len(labels.names) > 2:  # noqa: PLR2004 - no and yes
            raise self._error("it takes a metric of probabilities, and two classes")

        def compare(rows: Rows, ids: Sequence[str]) -> float:
            # Where all answers are the same, they are 0 or 1 by what they say.
            truth = numpy.array([int(labels.positives(self._truth[key][0], positive_class)) for key in ids])
            positive = numpy.array([float(rows[key][0]) for key in ids])
            return self._metric(truth, numpy.column_stack([1 - positive, positive]))

        return compare

    def class_columns(self, classes: list[str]) -> Comparison:
        """Compares a column for each class."""
        import numpy

        right = self._right_columns(classes)

        def compare(rows: Rows, ids: Sequence[str]) -> float:
            truth = numpy.array([right[key] for key in ids])
            predictions = _matrix(rows, [[key] for key in ids])
            return self._metric(truth, predictions.argmax(axis=1) if self.facts.wants is Wants.LABELS else predictions)

        return compare

    def lists(self) -> Comparison:
        """Compares several labels a row: ranked ones some rows at a time, since every label of theirs is a column."""
        is_ranked = self._question.submission is SubmissionKind.TOP_K
        is_of_labels = self.facts.target_kinds & {TargetKind.LABELS, TargetKind.CLASS}
        if is_ranked != (self.facts.wants is Wants.RANKED) or not is_of_labels:
            raise self._error("the metric is for another form of submission")
        k = int(self._parameter or 1)
        step = max(1, _RANKED_LABELS_AT_ONCE // k)

        def compare(rows: Rows, ids: Sequence[str]) -> float:
            if not is_ranked:
                return self._metric(*sets(_cells(self._truth, ids), _cells(rows, ids)))
            total = 0.0
            for start in range(0, len(ids), step):
                batch = ids[start : start + step]
                truth, scores = ranked_scores(_cells(self._truth, batch), _cells(rows, batch), k=k)
                total += self._metric(truth, scores) * len(batch)
            return total / len(ids)

        return compare

    def masks(self) -> Comparison:
        """The mean over the examples: metrics of masks are such means, and one mask at a time needs little room."""
        if TargetKind.MASK not in self.facts.target_kinds:
            raise self._error("the metric is not for masks")
        if self._question.mask_size is None and not self._truth.keys() <= self._answers.sizes.keys():
            raise self._error("set mask_size, or give the answers the columns height and width")

        def score_mask(rows: Rows, key: str) -> float:
            size = self._answers.sizes.get(key) or self._question.mask_size
            return self._metric(*(mask_of(key, cells[key][0], size) for cells in (self._truth, rows)))

        return lambda rows, ids: sum(score_mask(rows, key) for key in ids) / len(ids)

    def _right_columns(self, classes: list[str]) -> Mapping[str, int]:
        """The column of a submission that is the right one, for each id."""
        if list(self._answers.columns[1:]) == classes and len(classes) > 1:
            return {key: max(range(len(cells)), key=lambda i: float(cells[i])) for key, cells in self._truth.items()}
        by_name = {name: place for place, name in enumerate(classes)}
        by_end = {name.rpartition("_")[2]: place for place, name in enumerate(classes)}
        right = {key: by_name.get(cells[0], by_end.get(cells[0], -1)) for key, cells in self._truth.items()}
        if -1 in right.values():
            raise self._error("an answer is none of the columns of a submission")
        return right

    def _error(self, problem: str) -> CompetitionError:
        return CompetitionError(
            f'Submissions that say "{self._question.submission.value}" cannot be scored by '
            f'"{printable(self._question.metric)}": {problem}.'
        )


def _matrix(rows: Rows, table: Sequence[Sequence[str]]) -> Any:
    import numpy

    return numpy.array([[float(cell) for key in keys for cell in rows[key]] for keys in table], dtype="float64")


def _cells(rows: Rows, ids: Sequence[str]) -> list[str]:
    return [rows[key][0] for key in ids]


_NUMBERS = frozenset((SubmissionKind.NUMBERS, SubmissionKind.PROBABILITY, SubmissionKind.CLASS_COLUMNS))


class Scorer:
    """Scores submissions to one competition; safe to be used by several threads.

    Args:
        question: What is asked, and how answers are scored.
        answers: The hidden answers.
        sample: The sample submission of the hidden test, where there is one: it says what cells may be.
        seed: What the examples are divided by, the same on every machine.

    Raises:
        SubmissionError: The sample itself cannot be read.
        CompetitionError: The answers are not such that the metric could be computed.
    """

    def __init__(self, question: Question, answers: Answers, *, sample: Path | None = None, seed: str) -> None:
        self._question = question
        self._answers = answers
        self._shape = _shape(question, answers, sample)
        self._compare: Comparison = comparison(question, answers, (self._shape.columns[0], *self._shape.answer_columns))
        self._public, self._private = _parts(question, answers, seed)

    def score(self, submission: Path) -> Scores:
        """Scores a file on both parts.

        Raises:
            SubmissionError: It is not what is asked for.
        """
        require_bounded(submission)
        rows = {key: tuple(cells) for key, *cells in read_rows(submission, self._shape)}
        public = self._value(rows, self._public)
        return Scores(public, self._value(rows, self._private) if self._private != self._public else public)

    def _value(self, rows: Mapping[str, tuple[str, ...]], ids: tuple[str, ...]) -> float:
        import numpy

        # Whatever was predicted is no reason to warn whoever runs the server: what has no value is refused below.
        with numpy.errstate(all="ignore"):
            value = self._compare(rows, ids)
        if not math.isfinite(value):
            raise SubmissionError(
                f"The metric {self._question.metric} has no value for these predictions, such as when all are the same."
            )
        return value


def _shape(question: Question, answers: Answers, sample: Path | None) -> SubmissionShape:
    has_nan = any(cell.strip().lower() == "nan" for row in answers.rows.values() for cell in row)
    tolerance = replace(tolerance_of_kind(question.submission), null_words=has_nan)
    if sample is not None:
        # The answers say which examples there are; a sample may well be of another part of them.
        shape = read_shape(sample, columns=sample_columns(answers, sample), tolerance=tolerance)
        context = shape.context if shape.ids >= answers.rows.keys() else frozenset[tuple[str, ...]]()
        return replace(shape, ids=answers.rows.keys(), context=context)
    columns = question.columns or answers.columns
    cells = (cell for row in answers.rows.values() for cell in row)
    are_numbers = question.submission in _NUMBERS or all(map(is_number, cells))
    kind = ValueKind.NUMBER if are_numbers and not tolerance.texts else ValueKind.TEXT
    kinds = (ValueKind.TEXT, *(kind for _ in columns[1:]))
    return SubmissionShape(columns, kinds, answers.rows.keys(), tolerance)


def _parts(question: Question, answers: Answers, seed: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the public and of the private part; all parts of one example are in the same."""
    if answers.public is not None:
        public = {key for key in answers.rows if key in answers.public}
    else:
        is_keyed = question.submission is SubmissionKind.KEYED_ROWS
        examples = {key: example_id(key) if is_keyed else key for key in answers.rows}
        ranking = sorted(set(examples.values()), key=lambda name: _rank(seed, name))
        public_examples = set(ranking[: max(1, round(question.public_share * len(ranking)))])
        public = {key for key, example in examples.items() if example in public_examples}
    private = set(answers.rows) - public
    # Where one part has no rows, both are the whole.
    whole = tuple(answers.rows)
    if not public or not private:
        return whole, whole
    return tuple(key for key in whole if key in public), tuple(key for key in whole if key in private)


def _rank(seed: str, name: str) -> bytes:
    return hashlib.blake2b(name.encode(), key=hashlib.sha256(seed.encode()).digest(), digest_size=16).digest()
