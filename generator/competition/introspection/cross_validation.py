"""Honest folds: groups that must stay together, and time that must not run backwards."""

from collections.abc import Collection

from generator.competition.introspection.column_statistics import overlap
from generator.competition.introspection.feature_types import date_order
from generator.competition.introspection.features import Features
from generator.competition.introspection.findings import Confidence, Findings
from generator.competition.introspection.vocabulary import looks_like_id, words
from generator.competition.survey.columns import are_dates, moment_of
from generator.competition.survey.facts import Column

_GROUP = frozenset(("group", "patient", "user", "subject", "customer", "client", "session", "person", "household"))
_REPEATS, _FEWEST_GROUPS = 2, 5  # as many groups as folds
_DISJOINT = 0.05


def settle_folds(features: Features, keys: Collection[str], found: Findings, *, of_ids: Collection[str] = ()) -> None:
    """Settles by which columns folds are made, of those that a family's notebooks read.

    Args:
        features: The columns.
        keys: The keys that say by which columns folds are made.
        found: Takes the findings.
        of_ids: A column whose values the ids begin with: it names what several rows are of.
    """
    if "group_column" in keys:
        name, evidence = _group(features, of_ids)
        found.settle("group_column", name, evidence, Confidence.LIKELY if name else Confidence.SURE)
    if "time_column" in keys:
        name = next((column.name for column in features.columns if _is_later(column, features)), "")
        later = f"all sampled values of {name} are later in the test examples"
        evidence = later if name else "the test examples are not from a later time"
        name = found.settle("time_column", name, evidence, Confidence.LIKELY if name else Confidence.SURE)
        column = features.train.column(name)
        if column is not None:
            order = date_order(column.present)
            evidence = (
                f"dates of {name} begin with the {order}"
                if len(order) > 1
                else f"the order of day and month in {name} is unknown"
            )
            found.settle("day_first", order == "day", evidence, Confidence.THIN if order == "?" else Confidence.SURE)


def _group(features: Features, of_ids: Collection[str]) -> tuple[str, str]:
    """The column whose groups the test examples have others of; "" if there is none."""
    for column in features.columns:
        test = features.in_test(column.name)
        is_named = column.name in of_ids or looks_like_id(column.name) or bool(words(column.name) & _GROUP)
        repeats = _FEWEST_GROUPS <= len(column.distinct) <= len(column.present) / _REPEATS
        if is_named and repeats and test is not None and overlap(column, test) <= _DISJOINT:
            return column.name, f"{column.name} repeats, and the test examples have other ones"
        if repeats and features.test is None and words(column.name) & _GROUP:
            return column.name, f"{column.name} repeats, and nothing says that the test examples have the same ones"
    return "", "no column groups rows that the test examples have others of"


def _is_later(train: Column, features: Features) -> bool:
    """True if the test's times begin where training's end; False where days cannot be told from months."""
    test = features.in_test(train.name)
    if test is None or len(train.distinct) <= 1 or not (are_dates(train) and are_dates(test)):
        return False
    order = date_order((*train.present, *test.present))
    before, after = (
        [moment for value in column.distinct if (moment := moment_of(value, day_first=order == "day")) is not None]
        for column in (train, test)
    )
    return order != "?" and bool(before and after) and max(before) <= min(after)
