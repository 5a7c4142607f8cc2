"""Differences from the sample that a submission may have."""

from dataclasses import dataclass, replace

from generator.competition.facts import SubmissionKind, Task

_ARE_TEXTS = frozenset((SubmissionKind.RUN_LENGTH, SubmissionKind.LABEL_SET, SubmissionKind.TOP_K))
_MAY_BE_EMPTY = frozenset((SubmissionKind.RUN_LENGTH, SubmissionKind.LABEL_SET))
_ROWS_OF_SEVERAL = ("column", "piece")


@dataclass(frozen=True)
class Tolerance:
    """Differences that a submission may have from a sample that says the same in all rows.

    Attributes:
        empty_answers: Whether a cell beside the id may be empty, as the run-length code of an empty mask is.
        texts: Whether a cell may be text where the sample has numbers, as a list of labels is where that has one.
        repeated_ids: Whether an id may have several rows, as an image with several masks has.
        null_words: Whether the word nan may be an answer, as where a class is called so.
    """

    empty_answers: bool = False
    texts: bool = False
    repeated_ids: bool = False
    null_words: bool = False


def tolerance_of(task: Task) -> Tolerance:
    """The tolerance of a task."""
    repeated = task.details.get("mask_rows") in _ROWS_OF_SEVERAL
    null_words = bool(task.details.get("keep_null_words"))
    return replace(tolerance_of_kind(task.submission), repeated_ids=repeated, null_words=null_words)


def tolerance_of_kind(kind: SubmissionKind) -> Tolerance:
    """The tolerance of submissions of a kind, with a row for each id."""
    return Tolerance(empty_answers=kind in _MAY_BE_EMPTY, texts=kind in _ARE_TEXTS)
