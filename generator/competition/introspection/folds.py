"""What keeps the folds honest: groups that must stay together, and time that must not run backwards."""

from generator.competition.introspection.facts import Confidence, Finding, Hints
from generator.competition.introspection.features import Features
from generator.competition.introspection.tables import overlap
from generator.competition.introspection.weighing import settled
from generator.competition.introspection.words import looks_like_id, words
from generator.competition.survey.facts import Column, ColumnKind

_GROUP = frozenset(("group", "patient", "user", "subject", "customer", "client", "session", "person", "household"))
_REPEATS, _FEWEST_GROUPS = 2, 5  # as many groups as folds
_DISJOINT = 0.05


def group_of_folds(features: Features, hints: Hints) -> Finding:
    """The column whose groups the test examples have others of; "" if there is none."""
    for column in features.columns:
        test = features.in_test(column.name)
        is_named = looks_like_id(column.name) or bool(words(column.name) & _GROUP)
        repeats = _FEWEST_GROUPS <= len(column.distinct) <= len(column.present) / _REPEATS
        if is_named and repeats and test is not None and overlap(column, test) <= _DISJOINT:
            evidence = f"{column.name} repeats, and the test examples have other ones"
            return settled("group_column", column.name, evidence, hints, confidence=Confidence.LIKELY)
        if repeats and features.test is None and words(column.name) & _GROUP:
            evidence = f"{column.name} repeats, and nothing says that the test examples have the same ones"
            return settled("group_column", column.name, evidence, hints, confidence=Confidence.LIKELY)
    return settled("group_column", "", "no column groups rows that the test examples have others of", hints)


def time_of_folds(features: Features, hints: Hints) -> Finding:
    """The column with dates that are all later in the test examples; "" if there is none."""
    for column in features.columns:
        test = features.in_test(column.name)
        if (
            column.kind is ColumnKind.DATE
            and test is not None
            and test.kind is ColumnKind.DATE
            and _is_later(column, test)
        ):
            evidence = f"all sampled values of {column.name} are later in the test examples"
            return settled("time_column", column.name, evidence, hints, confidence=Confidence.LIKELY)
    return settled("time_column", "", "the test examples are not from a later time", hints)


def _is_later(train: Column, test: Column) -> bool:
    """Whether the test's dates begin where training's end; only dates from the year down can be compared as text."""
    if len(train.distinct) <= 1:
        return False
    is_comparable = all(value[:4].isdecimal() for value in train.distinct | test.distinct)
    return is_comparable and bool(train.present and test.present) and max(train.present) <= min(test.present)
