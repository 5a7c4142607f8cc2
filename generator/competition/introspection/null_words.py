"""Words such as NA and None, which pandas reads as missing, where they may be ids, classes or missing labels."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from generator.competition.introspection.run_length import is_run_length
from generator.competition.schema import option_of
from generator.competition.survey.columns import MISSING, without_null_words
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind, Table
from generator.untrusted import printable

NULL_WORDS_KEY = "keep_null_words"
_ASKED_OF_TWO = NUMBERS | {ColumnKind.BOOLEAN}
_TWO_CLASSES = 2
_SURE_CLASSES = frozenset(("None",))  # as a label, it is hardly ever written for a missing one


def as_labels(column: Column, answers: Sequence[Column], decided: str) -> Column:
    """Return a column of text with its words such as NA and None as labels or, where they are none, as missing.

    Args:
        column: The target.
        answers: The columns of the sample to be filled.
        decided: What the user decided of such words; "" where that is open.
    """
    if column.kind is not ColumnKind.TEXT or not column.null_words:
        return column
    others = len(column.distinct - column.null_words)
    is_one_of_two = len(answers) == 1 and answers[0].kind in _ASKED_OF_TWO and others == _TWO_CLASSES
    are_missing = decided.lower() in ("false", "no") if decided else is_one_of_two
    if are_missing or is_run_length(column):
        return replace(without_null_words(column), null_words=column.null_words)
    return column


def as_answers(answer: Column, columns: Sequence[Column]) -> Column:
    """Return a column of the sample that has words such as None alone with these as values, where they are labels."""
    labels = {value for column in columns for value in column.distinct}
    if answer.kind is not ColumnKind.EMPTY or not answer.null_words & labels:
        return answer
    return answer.as_written


def null_words_of(
    ids: Sequence[Column], labels: Sequence[Column], asked: Sequence[str], answers: Sequence[Column]
) -> str:
    """Return a clause on the first ids or labels that are such words; "" if none are.

    Args:
        ids: The columns with ids.
        labels: The targets, as `as_labels` gives them.
        asked: The names of the sample's columns to be filled; one may name a label that no sampled row has.
        answers: These columns.
    """
    for column in (*ids, *labels):
        if column.kind is ColumnKind.TEXT and (words := column.distinct & column.null_words):
            counts = ", ".join(f'"{word}" in {column.values.count(word):,}' for word in sorted(words))
            return f"the column {column.name} has {counts} of {len(column.values):,} sampled rows"
    named = {*asked, *(word for answer in answers for word in answer.null_words)} & MISSING
    if named and len(labels) == 1 and labels[0].kind is ColumnKind.TEXT and not labels[0].null_words:
        return f'the sample submission has "{min(named)}" among its labels'
    return ""


def unclear_null_words(
    table: Table | None, labels: Sequence[Column], asked: Sequence[str], answers: Sequence[Column]
) -> Iterator[str]:
    """Yield warnings of words that may be a class or a missing label, saying which was taken.

    Args:
        table: The table with the labels.
        labels: Its targets, as `as_labels` gives them.
        asked: The names of the sample's columns to be filled.
        answers: These columns.
    """
    named, key = {*asked, *(value for answer in answers for value in answer.distinct)}, option_of(NULL_WORDS_KEY)
    for column in labels:
        as_written = table.column(column.name) if table is not None else None
        if table is None or as_written is None or as_written.kind is not ColumnKind.TEXT or is_run_length(column):
            continue
        classes = column.distinct & column.null_words
        words = classes - named - _SURE_CLASSES if classes else column.null_words
        if not words or (classes and len(column.distinct - classes) < _TWO_CLASSES):
            continue
        word = min(words)
        rows = f"{as_written.values.count(word):,} of {len(column.values):,} sampled rows"
        sentence = f'{printable(table.path)} has "{word}" as {printable(column.name)} in {rows}'
        if classes:
            yield f"{sentence}, which is taken for a class; {key}=false takes such words for missing labels."
        else:
            yield f"{sentence}, which is taken for a missing label; {key}=true takes such words for classes."
