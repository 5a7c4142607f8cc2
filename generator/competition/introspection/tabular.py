"""What a table needs: which columns are of no use, and which numbers are categories."""

from generator.competition.introspection.columns import is_whole
from generator.competition.introspection.errors import listed
from generator.competition.introspection.facts import Confidence, Finding, Hints
from generator.competition.introspection.features import Features
from generator.competition.introspection.weighing import settled
from generator.competition.introspection.words import looks_like_id, words
from generator.competition.survey.facts import Column, ColumnKind

_CATEGORY = frozenset(
    ("id", "nbr", "code", "type", "class", "category", "cat", "zip", "region", "group", "store", "shop")
)
_CATEGORY |= {"item", "cluster", "month", "weekday", "dow", "season", "weather", "brand", "channel", "segment", "kind"}
_CATEGORY |= {"sex", "gender"}
_MOST_CATEGORIES = 300
_FEWEST_ROWS_TO_JUDGE = 5
_LONGEST_LIST = 5


def tabular_details(features: Features, hints: Hints) -> tuple[Finding, ...]:
    """The findings on the columns of a table."""
    return (_dropped(features, hints), categories(features, hints))


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
    values = [float(value) for value in column.present]
    return values == sorted(values)


def categories(features: Features, hints: Hints, *, without: str = "") -> Finding:
    """The finding on numbers that are names of categories; the column `without` is none of the features."""
    found = [column.name for column in features.numbers if _is_category(column) and column.name != without]
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
