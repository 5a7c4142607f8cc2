"""Turning the cells of answers and submissions into the arrays that a metric compares.

LocalKaggleError
└── ComparisonError    a metric cannot be computed for such answers
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.metrics import MetricFacts, Wants, function_of, parsed
from generator.localkaggle.errors import LocalKaggleError
from generator.localkaggle.hosting.answers import Answers
from generator.localkaggle.hosting.hosted import Question
from generator.localkaggle.hosting.keyed import table_of
from generator.localkaggle.hosting.labels import Labels, is_number, ranked_scores, sets
from generator.localkaggle.hosting.masks import RunLengths
from generator.untrusted import printable, quoted

Rows = Mapping[str, tuple[str, ...]]
Comparison = Callable[[Rows, Sequence[str]], float]
"""Compares the submitted rows of these ids with the answers; the result is the metric."""

_Metric = Callable[[Any, Any], float]
_RANKED_LABELS_AT_ONCE = 1_000


class ComparisonError(LocalKaggleError):
    """A metric cannot be computed for such answers."""

    def __init__(self, *, question: Question, problem: str) -> None:
        super().__init__(
            f'Submissions that say "{question.submission.value}" cannot be scored by '
            f'"{printable(question.metric)}": {problem}.'
        )


def comparison(question: Question, answers: Answers, columns: Sequence[str]) -> Comparison:
    """The comparison of submissions with these columns with the answers.

    Raises:
        ComparisonError: The metric is not for such submissions, or the answers are not of their form.
        UnknownMetricError: There is no such metric.
    """
    facts, _ = parsed(question.metric)
    metric = function_of(question.metric)
    kind = question.submission
    if kind is SubmissionKind.RUN_LENGTH:
        return _masks(question, answers, metric)
    if kind in (SubmissionKind.TOP_K, SubmissionKind.LABEL_SET):
        return _lists(question, answers, metric)
    if kind is SubmissionKind.CLASS_COLUMNS:
        return _class_columns(question, answers, columns)
    if kind is SubmissionKind.PROBABILITY:
        return _probability(question, answers, facts)
    if kind is SubmissionKind.LABEL and TargetKind.CLASS in facts.target_kinds:
        return _label(question, answers, facts)
    return _numbers(question, answers)


def inferred_submission(metric: str, columns: Sequence[str], answer_columns: Sequence[str]) -> SubmissionKind:
    """The kind of submission, where the host does not say it: by the metric and the number of columns.

    Raises:
        UnknownMetricError: There is no such metric.
    """
    facts, _ = parsed(metric)
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


def _numbers(question: Question, answers: Answers) -> Comparison:
    metric = function_of(question.metric)
    is_keyed = question.submission is SubmissionKind.KEYED_ROWS
    strange = ((key, cell) for key, cells in answers.rows.items() for cell in cells if not is_number(cell))
    for key, cell in strange:
        said = f'"{quoted(cell)}", the answer for {quoted(key)}, is no number'
        raise ComparisonError(question=question, problem=said)

    def compare(rows: Rows, ids: Sequence[str]) -> float:
        table = table_of(ids) if is_keyed else [[key] for key in ids]
        return metric(_matrix(answers.rows, table), _matrix(rows, table))

    return compare


def _matrix(rows: Rows, table: Sequence[Sequence[str]]) -> Any:
    import numpy

    return numpy.array([[float(cell) for key in keys for cell in rows[key]] for keys in table], dtype="float64")


def _label(question: Question, answers: Answers, facts: MetricFacts) -> Comparison:
    metric = function_of(question.metric)
    if facts.wants is not Wants.LABELS:
        raise ComparisonError(question=question, problem="the metric does not compare labels")
    labels = Labels.of(cells[0] for cells in answers.rows.values())
    if facts.is_ordinal and labels.are_numbers:
        return _numbers(question, answers)

    def compare(rows: Rows, ids: Sequence[str]) -> float:
        return metric(labels.indices(answers.rows, ids), labels.indices(rows, ids))

    return compare


def _probability(question: Question, answers: Answers, facts: MetricFacts) -> Comparison:
    import numpy

    metric = function_of(question.metric)
    labels = Labels.of(cells[0] for cells in answers.rows.values())
    if facts.wants is not Wants.PROBABILITIES or len(labels.names) > 2:  # noqa: PLR2004 - no and yes
        raise ComparisonError(question=question, problem="it takes a metric of probabilities, and two classes")
    # Where all answers are the same, they are 0 or 1 by what they say.
    is_positive = labels.positives

    def compare(rows: Rows, ids: Sequence[str]) -> float:
        truth = numpy.array([int(is_positive(answers.rows[key][0])) for key in ids])
        positive = numpy.array([float(rows[key][0]) for key in ids])
        return metric(truth, numpy.column_stack([1 - positive, positive]))

    return compare


def _class_columns(question: Question, answers: Answers, columns: Sequence[str]) -> Comparison:
    metric = function_of(question.metric)
    wants_labels = parsed(question.metric)[0].wants is Wants.LABELS
    places = _class_places(question, answers, columns)

    def compare(rows: Rows, ids: Sequence[str]) -> float:
        import numpy

        truth = numpy.array([places[key] for key in ids])
        predictions = numpy.array([[float(cell) for cell in rows[key]] for key in ids])
        return metric(truth, predictions.argmax(axis=1) if wants_labels else predictions)

    return compare


def _class_places(question: Question, answers: Answers, columns: Sequence[str]) -> Mapping[str, int]:
    """The column of a submission that is the right one, for each id."""
    classes = list(columns[1:])
    if list(answers.columns[1:]) == classes and len(classes) > 1:
        return {key: max(range(len(cells)), key=lambda i: float(cells[i])) for key, cells in answers.rows.items()}
    by_name = {name: place for place, name in enumerate(classes)}
    by_end = {name.rpartition("_")[2]: place for place, name in enumerate(classes)}
    places = {key: by_name.get(cells[0], by_end.get(cells[0], -1)) for key, cells in answers.rows.items()}
    if -1 in places.values():
        raise ComparisonError(question=question, problem="an answer is none of the columns of a submission")
    return places


def _lists(question: Question, answers: Answers, metric: _Metric) -> Comparison:
    """Rows of several labels: ranked ones a few rows at a time, since every label of theirs is a column."""
    facts, parameter = parsed(question.metric)
    is_ranked = question.submission is SubmissionKind.TOP_K
    if is_ranked != (facts.wants is Wants.RANKED) or not facts.target_kinds & {TargetKind.LABELS, TargetKind.CLASS}:
        raise ComparisonError(question=question, problem="the metric is for another form of submission")

    def compare(rows: Rows, ids: Sequence[str]) -> float:
        if not is_ranked:
            return metric(*sets(_cells(answers.rows, ids), _cells(rows, ids)))
        total, k = 0.0, int(parameter or 1)
        step = max(1, _RANKED_LABELS_AT_ONCE // k)
        for start in range(0, len(ids), step):
            some = ids[start : start + step]
            truth, scores = ranked_scores(_cells(answers.rows, some), _cells(rows, some), k=k)
            total += metric(truth, scores) * len(some)
        return total / len(ids)

    return compare


def _cells(rows: Rows, ids: Sequence[str]) -> list[str]:
    return [rows[key][0] for key in ids]


def _masks(question: Question, answers: Answers, metric: _Metric) -> Comparison:
    """The mean over the examples: the metrics of masks are such means, and one mask at a time needs little room."""
    if TargetKind.MASK not in parsed(question.metric)[0].target_kinds:
        raise ComparisonError(question=question, problem="the metric is not for masks")
    if question.mask_size is None and not answers.rows.keys() <= answers.sizes.keys():
        problem = "set mask_size, or give the answers the columns height and width"
        raise ComparisonError(question=question, problem=problem)
    codes = RunLengths(question, answers)

    def compare(rows: Rows, ids: Sequence[str]) -> float:
        return sum(metric(*codes.masks(key, answers.rows[key][0], rows[key][0])) for key in ids) / len(ids)

    return compare
