"""Statistics of sampled columns: whole numbers, shared values, and what labels are like."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from generator.competition.introspection.run_length import is_run_length
from generator.competition.introspection.vocabulary import is_nameless, looks_like_id
from generator.competition.survey.facts import Column, ColumnKind, Table

_SEPARATORS = (" ", ",", ";", "|")
_OVERLAP = 0.1
_REUSED = 0.6
_ONE_EACH = 0.98
_MANY = 20
ONES = frozenset(("1", "1.0", "true"))


@dataclass(frozen=True)
class LabelStatistics:
    """Properties of the sampled labels.

    Attributes:
        is_binary: Each column has two values, or one of several columns is 0 or 1.
        are_flags: Several columns of 0 and 1.
        is_one_hot: Exactly one of these is 1 in each row.
        separator: What separates several labels in one cell, "" if nothing does.
        is_text: The labels are names.
        is_measured: There are numbers with a fraction.
        is_uneven: Whole numbers whose steps differ, such as 0, 1 and 5.
        distinct: How many different labels were seen.
        is_run_length: The cells are pairs of numbers, or empty.
        is_different_everywhere: No label was seen twice among many.
    """

    is_binary: bool = False
    are_flags: bool = False
    is_one_hot: bool = False
    separator: str = ""
    is_text: bool = False
    is_measured: bool = False
    is_uneven: bool = False
    distinct: int = 0
    is_run_length: bool = False
    is_different_everywhere: bool = False


def is_whole(column: Column) -> bool:
    """True if all values are whole numbers, however they are written."""
    if column.kind is ColumnKind.NUMBER:
        return all(float(value).is_integer() for value in column.distinct)
    return column.kind is ColumnKind.INTEGER


def key_column(table: Table | None) -> Column | None:
    """The column that is most likely the ids of a table, before that is weighed: one of a name and unlike cells."""
    columns = table.columns if table is not None else ()
    unique = [column for column in columns if column.is_unique and not is_nameless(column.name)]
    named = [column for column in unique if looks_like_id(column.name)]
    return next(iter((*named, *unique, *columns)), None)


def overlap(one: Column, other: Column) -> float:
    """The share of the fewer different values that the other column has too, from 0 to 1."""
    fewer, more = sorted((one.distinct, other.distinct), key=len)
    return len(fewer & more) / len(fewer) if fewer else 0.0


def shares_values(column: Column, table: Table) -> bool:
    """True if a table has a column of that name with some of its values.

    The pieces that were sampled of two long tables are the same only at their beginnings and ends.
    """
    match = table.column(column.name)
    return match is not None and overlap(column, match) > _OVERLAP


def label_statistics(columns: Sequence[Column], classes: Sequence[str] = ()) -> LabelStatistics:
    """Looks at the sampled labels, or at the classes that folders or file names say."""
    if not columns:
        return LabelStatistics(is_binary=len(classes) == 2, is_text=bool(classes), distinct=len(classes))  # noqa: PLR2004 - yes and no
    are_flags = len(columns) > 1 and all(_is_flag(column) for column in columns)
    first = columns[0]
    return LabelStatistics(
        is_binary=len(first.distinct) == 2,  # noqa: PLR2004 - yes and no
        are_flags=are_flags,
        is_one_hot=are_flags and _has_one_each(columns),
        separator=separator_of(first) if len(columns) == 1 else "",
        is_text=any(column.kind in (ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.DATE) for column in columns),
        is_measured=any(column.kind is ColumnKind.NUMBER and not is_whole(column) for column in columns),
        is_uneven=len(columns) == 1 and is_whole(first) and _has_uneven_steps(first),
        distinct=max(len(column.distinct) for column in columns),
        is_run_length=len(columns) == 1 and is_run_length(first),
        is_different_everywhere=len(first.values) >= _MANY and first.is_unique,
    )


def _has_uneven_steps(column: Column) -> bool:
    numbers = sorted(set(map(float, column.distinct)))
    return len({after - before for before, after in pairwise(numbers)}) > 1


def separator_of(column: Column) -> str:
    """The separator of several labels in one cell; "" if cells hold one label each.

    Names of several words are no lists: their words belong to one name each, whereas labels come in many combinations.
    """
    for separator in _SEPARATORS:
        used: dict[str, set[str]] = defaultdict(set)
        lists = [value for value in column.distinct if separator in value.strip()]
        for value in column.distinct:
            for label in value.split(separator):
                used[label.strip()].add(value)
        inside = {label.strip() for value in lists for label in value.split(separator)}
        reused = sum(len(used[label]) > 1 for label in inside)
        if len(lists) > 1 and "" not in inside and reused >= _REUSED * len(inside):
            return separator
    return ""


def _is_flag(column: Column) -> bool:
    if column.kind is ColumnKind.BOOLEAN:
        return True
    return is_whole(column) and all(float(value) in (0, 1) for value in column.distinct)


def _has_one_each(columns: Sequence[Column]) -> bool:
    every_row = zip(*(column.values for column in columns), strict=True)
    rows = [row for row in every_row if set(row) != {None}]  # without a label, a row says nothing of the others
    ones = sum(sum(value is not None and value.strip().lower() in ONES for value in row) == 1 for row in rows)
    return bool(rows) and ones >= _ONE_EACH * len(rows)
