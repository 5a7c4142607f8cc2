"""Turning the cells of answers and submissions into the arrays that a metric compares."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection.positive_class import class_asked
from generator.competition.metrics import Wants, function_of, parsed
from generator.errors import LocalKaggleError
from generator.localkaggle.hosting.answers import Answers
from generator.localkaggle.hosting.composite_ids import table_of
from generator.localkaggle.hosting.hosted import Question
from generator.localkaggle.hosting.labels import Labels, is_number, ranked_scores, sets
from generator.localkaggle.hosting.masks import mask_of
from generator.untrusted import printable, quoted

Rows = Mapping[str, tuple[str, ...]]
Comparison = Callable[[Rows, Sequence[str]], float]
"""Compares the submitted rows of these ids with the answers; the result is the metric."""

_RANKED_LABELS_AT_ONCE = 1_000


def comparison(question: Question, answers: Answers, columns: Sequence[str]) -> Comparison:
    """The comparison of submissions with these columns with the answers.

    Raises:
        LocalKaggleError: The metric is not for such submissions, or the answers are not of their form.
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


class _Comparing:
    """The comparisons with the answers of one question; each is made once, before any submission."""

    def __init__(self, question: Question, answers: Answers) -> None:
        self.facts, self._parameter = parsed(question.metric)
        self._metric = function_of(question.metric)
        self._question, self._answers, self._truth = question, answers, answers.rows

    def numbers(self) -> Comparison:
        """Compares numbers, where ids have parts as a table with a column for each part."""
        is_keyed = self._question.submission is SubmissionKind.KEYED_ROWS
        for key, cells in self._truth.items():
            for cell in cells:
                if not is_number(cell):
                    raise self._error(f'"{quoted(cell)}", the answer for {quoted(key)}, is no number')

        def compare(rows: Rows, ids: Sequence[str]) -> float:
            table = table_of(ids) if is_keyed else [[key] for key in ids]
            return self._metric(_matrix(self._truth, table), _matrix(rows, table))

        return compare

    def labels(self) -> Comparison:
        """Compares a label a row."""
        if self.facts.wants is not Wants.LABELS:
            raise self._error("the metric does not compare labels")
        labels = Labels.of(cells[0] for cells in self._truth.values())
        if self.facts.is_ordinal and labels.are_numbers:
            return self.numbers()
        return lambda rows, ids: self._metric(labels.indices(self._truth, ids), labels.indices(rows, ids))

    def probabilities(self, column: str) -> Comparison:
        """Compares the probability of one of two classes: that which the column asks for, or the second."""
        import numpy

        labels = Labels.of(cells[0] for cells in self._truth.values())
        named = class_asked(column, labels.names)
        if self.facts.wants is not Wants.PROBABILITIES or len(labels.names) > 2:  # noqa: PLR2004 - no and yes
            raise self._error("it takes a metric of probabilities, and two classes")

        def compare(rows: Rows, ids: Sequence[str]) -> float:
            # Where all answers are the same, they are 0 or 1 by what they say.
            truth = numpy.array([int(labels.positives(self._truth[key][0], named)) for key in ids])
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
                some = ids[start : start + step]
                truth, scores = ranked_scores(_cells(self._truth, some), _cells(rows, some), k=k)
                total += self._metric(truth, scores) * len(some)
            return total / len(ids)

        return compare

    def masks(self) -> Comparison:
        """The mean over the examples: metrics of masks are such means, and one mask at a time needs little room."""
        if TargetKind.MASK not in self.facts.target_kinds:
            raise self._error("the metric is not for masks")
        if self._question.mask_size is None and not self._truth.keys() <= self._answers.sizes.keys():
            raise self._error("set mask_size, or give the answers the columns height and width")

        def compared(rows: Rows, key: str) -> float:
            size = self._answers.sizes.get(key) or self._question.mask_size
            return self._metric(*(mask_of(key, cells[key][0], size) for cells in (self._truth, rows)))

        return lambda rows, ids: sum(compared(rows, key) for key in ids) / len(ids)

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

    def _error(self, problem: str) -> LocalKaggleError:
        return LocalKaggleError(
            f'Submissions that say "{self._question.submission.value}" cannot be scored by '
            f'"{printable(self._question.metric)}": {problem}.'
        )


def _matrix(rows: Rows, table: Sequence[Sequence[str]]) -> Any:
    import numpy

    return numpy.array([[float(cell) for key in keys for cell in rows[key]] for keys in table], dtype="float64")


def _cells(rows: Rows, ids: Sequence[str]) -> list[str]:
    return [rows[key][0] for key in ids]
