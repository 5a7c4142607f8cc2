"""Rows that belong together in an order: the column that groups them, and the one that orders them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from generator.competition.introspection.column_statistics import overlap
from generator.competition.introspection.feature_types import settle_columns
from generator.competition.introspection.features import Features
from generator.competition.introspection.findings import Candidate, Findings, Reason, weighed
from generator.competition.introspection.vocabulary import looks_like_id, words
from generator.competition.schema import Family
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind

_ORDERED = NUMBERS | {ColumnKind.DATE}
_ORDER_WORDS = frozenset(
    ("time", "step", "order", "seq", "sequence", "timestamp", "number", "frame", "position", "day")
)
_ORDER_WORDS |= {"date", "index", "seconds", "minute", "hour"}
_SHORTEST_GROUP, _FEWEST_GROUPS, _MOST_BLOCKS = 3, 3, 8
_GROWING, _RESTARTING, _NEW = 0.95, 0.5, 0.5
_COLUMNS_COMPARED = 40
_DECIDED = 6.0
_MOST_STEPS, _MULTIPLE = 512, 8
_MOST_COUNTED, _COMMON = 1_000, 0.1


@dataclass(frozen=True)
class Groups:
    """A grouping of rows.

    Attributes:
        group: The column whose equal values make a group.
        order: The column that grows within each group.
        rows: How many rows a group has on average.
        longest: How many rows the largest group has.
        candidate: The column that groups, how sure it is, and why.
    """

    group: str
    order: str
    rows: float
    longest: int
    candidate: Candidate


def find_groups(features: Features, found: Findings) -> Groups | None:
    """Finds a group column and an order column, or takes those that the user named; None if there are none."""
    decided = _decided(features, found)
    if decided is not None:
        return decided
    columns = features.train.columns[:_COLUMNS_COMPARED]
    names = {column.name for column in features.columns} | {features.id_column}
    shared = [column for column in columns if column.name in names]
    fitting = [
        groups
        for group in shared
        if _makes_groups(group) and _is_of_sequences(group, features)
        for order in shared
        if order is not group and (groups := _groups(group, order, features)) is not None
    ]
    return max(fitting, key=lambda groups: groups.candidate.weight, default=None)


def settle_sequences(groups: Groups, features: Features, found: Findings, family: Family) -> None:
    """Settles the columns that make a sequence, and those that the model reads."""
    is_per_group = groups.group == features.id_column
    per = "the ids of the sample submission are groups" if is_per_group else "each row has an id"
    settle_columns(features, found, family, group=groups.group, order=groups.order)
    found.settle("group_column", groups.group, groups.candidate.evidence)
    found.settle("order_column", groups.order, f"it grows within each {groups.group} and starts anew")
    found.settle("prediction_per", "group" if is_per_group else "row", per)
    longest = f"the longest group seen has {groups.longest:,} rows"
    found.settle("sequence_length", sequence_length(groups.longest), longest)


def sequence_length(longest: int) -> int:
    """Rows that are read together: enough for the longest group, a multiple of 8, at most 512."""
    return min(_MOST_STEPS, -(-longest // _MULTIPLE) * _MULTIPLE)


def _decided(features: Features, found: Findings) -> Groups | None:
    group = features.train.column(found.decided("group_column"))
    order = features.train.column(found.decided("order_column"))
    if group is None or order is None:
        return None
    rows = _rows_of_a_group(group, order)
    why = "the user named its columns"
    return Groups(group.name, order.name, rows, _longest(group), Candidate(group.name, why, _DECIDED))


def _makes_groups(column: Column) -> bool:
    if column.kind not in (ColumnKind.INTEGER, ColumnKind.TEXT) or column.missing:
        return False
    runs, groups = 1 + sum(one != other for one, other in pairwise(column.values)), len(column.distinct)
    is_together = runs <= groups + _MOST_BLOCKS
    return groups >= _FEWEST_GROUPS and is_together and len(column.values) >= _SHORTEST_GROUP * groups


def _is_of_sequences(group: Column, features: Features) -> bool:
    """Test examples are other groups; the same ones at a later time would be a forecast for rows."""
    if group.name == features.id_column:
        return True
    test = features.in_test(group.name)
    return test is not None and overlap(group, test) < _NEW


def _groups(group: Column, order: Column, features: Features) -> Groups | None:
    if order.kind not in _ORDERED or order.missing or order.name == features.id_column:
        return None
    later = features.in_test(order.name)
    if later is None or (group.name != features.id_column and _are_all_later(order, later)):
        return None
    steps = list(zip(pairwise(group.values), pairwise(_places(order)), strict=True))
    inside = [here < there for (one, other), (here, there) in steps if one == other]
    between = [here >= there for (one, other), (here, there) in steps if one != other]
    if not inside or sum(inside) < _GROWING * len(inside) or sum(between) < _RESTARTING * max(1, len(between)):
        return None
    rows = _rows_of_a_group(group, order)
    reasons = [
        Reason(4, f"rows of equal {group.name} stand together, {rows:.0f} on average, and {order.name} grows in them"),
        Reason(1 * looks_like_id(group.name), f"{group.name} is named like an id"),
        Reason(1 * bool(words(order.name) & _ORDER_WORDS), f"{order.name} is named for an order"),
        Reason(1 * (group.name == features.id_column), "an id stands for a group"),
    ]
    longest = max(_longest(group), round(rows))
    return Groups(group.name, order.name, rows, longest, weighed(group.name, reasons))


def _longest(group: Column) -> int:
    return max(Counter(group.values).values(), default=1)


def _rows_of_a_group(group: Column, order: Column) -> float:
    """The rows of a group: what was sampled in pieces cuts groups, so short runs say little.

    A group that was counted from 0 or 1 has as many rows as its last number says, even if no piece has all of them.
    """
    lengths = sorted(Counter(group.values).values())
    whole = lengths[len(lengths) // 2 :]
    commonest, times = Counter(lengths).most_common(1)[0]
    usual = commonest if times > _COMMON * len(lengths) else sum(whole) / len(whole)
    if order.kind is not ColumnKind.INTEGER:
        return usual
    places = [float(place) for place in order.present]
    first, last = min(places), max(places)
    are_counted = first in (0, 1) and len(order.distinct) <= last - first + 1
    counted = last - first + 1 if are_counted else 0
    return counted if lengths[-1] < counted <= _MOST_COUNTED * lengths[-1] else usual


def _are_all_later(train: Column, test: Column) -> bool:
    """True if the test examples go on where the training examples end: a forecast, whose groups go on too."""
    if test.kind is not train.kind or not test.present:
        return False
    return bool(min(_places(test)) > max(_places(train)))


def _places(order: Column) -> Sequence[Any]:
    if order.kind is ColumnKind.DATE:
        return order.present
    return [float(value) for value in order.present]
