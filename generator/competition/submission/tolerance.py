"""The columns of a sample submission, and differences that a submission may have from it."""

from dataclasses import dataclass, replace

from generator.competition.facts import SubmissionKind, Task

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
    repeated = task.details.get("mask_rows") in _ROWS_OF_SEVERAL
    one_label = task.submission in _MAY_BE_ONE_LABEL
    kind = tolerance_of_kind(task.submission)
    null_words = bool(task.details.get("keep_null_words"))
    return replace(kind, repeated_ids=repeated, null_words=null_words, sample_answers=False, one_label=one_label)


def tolerance_of_kind(kind: SubmissionKind) -> Tolerance:
    """The tolerance of submissions of a kind, with a row for each id."""
    return Tolerance(empty_answers=kind in _MAY_BE_EMPTY, texts=kind in _ARE_TEXTS)
