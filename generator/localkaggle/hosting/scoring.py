"""Scoring a submission by hidden answers, on a public and on a private part of the examples."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from generator.competition.facts import SubmissionKind
from generator.competition.submission import (
    CellKind,
    SubmissionError,
    SubmissionShape,
    read_rows,
    read_shape,
    tolerance_of_kind,
)
from generator.localkaggle.hosting.answers import Answers, sample_columns
from generator.localkaggle.hosting.bounds import require_bounded
from generator.localkaggle.hosting.composite_ids import example_of
from generator.localkaggle.hosting.hosted import Question, Scores
from generator.localkaggle.hosting.labels import is_number
from generator.localkaggle.hosting.metric_inputs import Comparison, comparison

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
        LocalKaggleError: The answers are not such that the metric could be computed.
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
    kind = CellKind.NUMBER if are_numbers and not tolerance.texts else CellKind.TEXT
    kinds = (CellKind.TEXT, *(kind for _ in columns[1:]))
    return SubmissionShape(columns, kinds, answers.rows.keys(), tolerance)


def _parts(question: Question, answers: Answers, seed: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the public and of the private part; all parts of one example are in the same."""
    if answers.public is not None:
        public = {key for key in answers.rows if key in answers.public}
    else:
        is_keyed = question.submission is SubmissionKind.KEYED_ROWS
        examples = {key: example_of(key) if is_keyed else key for key in answers.rows}
        ordered = sorted(set(examples.values()), key=lambda name: _rank(seed, name))
        chosen = set(ordered[: max(1, round(question.public_share * len(ordered)))])
        public = {key for key, example in examples.items() if example in chosen}
    private = set(answers.rows) - public
    # Where one part has no rows, both are the whole.
    whole = tuple(answers.rows)
    if not public or not private:
        return whole, whole
    return tuple(key for key in whole if key in public), tuple(key for key in whole if key in private)


def _rank(seed: str, name: str) -> bytes:
    return hashlib.blake2b(name.encode(), key=hashlib.sha256(seed.encode()).digest(), digest_size=16).digest()
