"""What a table needs: columns without use, numbers that are categories, groups and time for the folds."""

from generator.competition.introspection.columns import is_whole
from generator.competition.introspection.errors import listed
from generator.competition.introspection.facts import Confidence, Finding, Hints
from generator.competition.introspection.features import Features
from generator.competition.introspection.tables import overlap
from generator.competition.introspection.weighing import settled
from generator.competition.introspection.words import looks_like_id, words
from generator.competition.survey.facts import Column, ColumnKind

_CATEGORY = frozenset(
    ("id", "nbr", "code", "type", "class", "category", "cat", "zip", "region", "group", "store", "shop")
)
_CATEGORY |= {"item", "cluster", "month", "weekday", "dow", "season", "weather", "brand", "channel", "segment", "kind"}
_GROUP = frozenset(("group", "patient", "user", "subject", "customer", "client", "session", "person", "household"))
_MOST_CATEGORIES = 300
_FEWEST_ROWS_TO_JUDGE = 5
_REPEATS = 2
_DISJOINT = 0.05
_LONGEST_LIST = 5


def tabular_details(features: Features, hints: Hints) -> tuple[Finding, ...]:
    """The findings on the columns of a table."""
    return (_dropped(features, hints), _categories(features, hints), _group(features, hints), _time(features, hints))


def _dropped(features: Features, hints: Hints) -> Finding:
    constant = [column.name for column in features.columns if _is_constant(column)]
    unique = [column.name for column in features.columns if column.name not in constant and _is_another_id(column)]
    reasons = [
        (features.others, "only training examples have {}"),
        (constant, "{} never changes"),
        (unique, "{} is different in every row"),
    ]
    clauses = [clause.format(listed(names)) for names, clause in reasons if names]
    value = [*features.others, *constant, *unique]
    return settled("drop_columns", value, "; ".join(clauses) or "every column may be of use", hints)


def _is_constant(column: Column) -> bool:
    if column.kind is ColumnKind.EMPTY:
        return True
    return len(column.values) >= _FEWEST_ROWS_TO_JUDGE and len(column.distinct) == 1 and not column.missing


def _is_another_id(column: Column) -> bool:
    if len(column.values) < _FEWEST_ROWS_TO_JUDGE or not column.is_unique:
        return False
    return column.kind is ColumnKind.TEXT or (column.kind is ColumnKind.INTEGER and _is_counted(column))


def _is_counted(column: Column) -> bool:
    """Whether it numbers the rows."""
    if not looks_like_id(column.name):
        return False
    values = [int(value) for value in column.present]
    return values == sorted(values)


def _categories(features: Features, hints: Hints) -> Finding:
    found = [column.name for column in features.numbers if _is_category(column)]
    if len(found) <= _LONGEST_LIST:
        evidence = "whole numbers whose names say that they are codes" if found else "no number looks like a code"
    else:
        evidence = f"{len(found)} columns of whole numbers whose names say that they are codes"
    return settled("category_columns", found, evidence, hints, confidence=Confidence.LIKELY)


def _is_category(column: Column) -> bool:
    if column.kind is ColumnKind.BOOLEAN or not is_whole(column) or len(column.distinct) > _MOST_CATEGORIES:
        return False
    is_named = bool(words(column.name) & _CATEGORY) or column.name.lower().endswith(("class", "code", "type"))
    return is_named and 1 < len(column.distinct) < len(column.present)


def _group(features: Features, hints: Hints) -> Finding:
    for column in features.columns:
        test = features.in_test(column.name)
        is_named = looks_like_id(column.name) or bool(words(column.name) & _GROUP)
        repeats = len(column.present) >= _REPEATS * max(1, len(column.distinct)) and len(column.distinct) > 1
        if is_named and repeats and test is not None and overlap(column, test) <= _DISJOINT:
            evidence = f"{column.name} repeats, and the test examples have other ones"
            return settled("group_column", column.name, evidence, hints, confidence=Confidence.LIKELY)
    return settled("group_column", "", "no column groups rows that the test examples have others of", hints)


def _time(features: Features, hints: Hints) -> Finding:
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
    is_comparable = all(value[:4].isdecimal() for value in train.distinct | test.distinct)
    return is_comparable and bool(train.present and test.present) and max(train.present) <= min(test.present)
