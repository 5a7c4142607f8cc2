"""Honest folds: groups that must stay together, and time that must not run backwards."""

import re
from collections.abc import Collection
from datetime import UTC, datetime

from generator.competition.introspection.column_statistics import overlap
from generator.competition.introspection.features import Features
from generator.competition.introspection.findings import Confidence, Findings
from generator.competition.introspection.vocabulary import looks_like_id, words
from generator.competition.survey.columns import are_dates
from generator.competition.survey.facts import Column

_GROUP = frozenset(("group", "patient", "user", "subject", "customer", "client", "session", "person", "household"))
_REPEATS, _FEWEST_GROUPS = 2, 5  # as many groups as folds
_DISJOINT = 0.05
_UNREADABLE = 0.05
_FROM_THE_YEAR = re.compile(
    r"(?P<year>\d{4})[-/.](?P<month>[01]?\d)(?:[-/.](?P<day>[0-3]?\d))?(?:[T\s]\s?(?P<time>\d\d?:.{2,40}))?"
)


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
        found.settle("time_column", name, evidence, Confidence.LIKELY if name else Confidence.SURE)


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
    """True if the test's dates begin where training's end, of dates that begin with the year."""
    test = features.in_test(train.name)
    if test is None or len(train.distinct) <= 1 or not (are_dates(train) and are_dates(test)):
        return False
    moments = [[_moment(value) for value in column.distinct] for column in (train, test)]
    earlier, later = ([moment for moment in column if moment is not None] for column in moments)
    # What cannot be read, such as a stray word, is passed over.
    few = sum(map(len, moments)) - len(earlier) - len(later)
    is_readable = few <= _UNREADABLE * (len(earlier) + len(later))
    return is_readable and bool(earlier and later) and max(earlier) <= min(later)


def _moment(value: str) -> datetime | None:
    """Return the moment of a date that begins with the year, in UTC where it says no offset; else None."""
    found = _FROM_THE_YEAR.fullmatch(value.strip())
    if found is None:
        return None
    day = "-".join(part.zfill(2) for part in (found["year"], found["month"], found["day"] or "1"))
    time = (found["time"] or "").replace(",", ".").replace("UTC", "Z").replace("GMT", "Z").replace(" ", "")
    time = f"0{time}" if time[1:2] == ":" else time
    try:
        moment = datetime.fromisoformat(f"{day}T{time}" if time else day)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except ValueError:
        return None
