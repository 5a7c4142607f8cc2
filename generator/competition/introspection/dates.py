"""The columns that are dates or times, and whether these begin with the day."""

import re
from collections.abc import Iterable, Sequence

from generator.competition.introspection.errors import listed
from generator.competition.introspection.features import Features, names_of
from generator.competition.introspection.findings import Confidence, Findings
from generator.competition.survey.columns import are_dates
from generator.competition.survey.facts import Column

_IN_NUMBERS = re.compile(r"\s*(\d{1,2})([-/.])(\d{1,2})\2\d{2,4}")
_YEAR_FIRST = re.compile(r"\s*\d{4}[-/.]")
_MONTHS = 12


def settle_dates(columns: Sequence[Column], features: Features, found: Findings) -> list[str]:
    """Settles which columns are dates, whose names are returned, and how they are written."""
    dates = names_of([column for column in columns if are_dates(column)])
    evidence = f"the values of {listed(dates)} look like dates" if dates else "no text looks like dates"
    names = found.settle("date_columns", dates, evidence)
    found.settle("day_first", *_day_first([column for column in columns if column.name in names], features))
    return names


def _day_first(columns: Sequence[Column], features: Features) -> tuple[bool, str, Confidence]:
    """Whether the day comes first; a date that begins with the year would be misread by who expects the day first."""
    orders: dict[str, list[str]] = {"day": [], "month": [], "year": [], "?": []}
    for column in columns:
        later = features.in_test(column.name)
        order = _first_of((*column.present, *(later.present if later is not None else ())))
        if order:
            orders[order].append(column.name)
    by_day, others, unclear = orders["day"], [*orders["month"], *orders["year"]], orders["?"]
    value = len(by_day) >= max(1, len(others))
    if by_day and others:
        return value, f"the day comes first in {listed(by_day)} and not in {listed(others)}", Confidence.THIN
    if by_day:
        return value, f"the day comes first in {listed(by_day)}", Confidence.SURE
    if unclear and not others:
        return value, f"no day of {listed(unclear)} is above {_MONTHS}", Confidence.THIN
    return value, "no date begins with its day", Confidence.SURE


def _first_of(values: Iterable[str]) -> str:
    """What such dates begin with: "day", "month", "year", "?" if days and months look alike, "" if it is in words."""
    given = list(values)
    parts = [match for match in map(_IN_NUMBERS.match, given) if match is not None]
    if not parts:
        return "year" if any(map(_YEAR_FIRST.match, given)) else ""
    first, second = (max(int(match[place]) for match in parts) for place in (1, 3))
    if first > _MONTHS or second > _MONTHS:
        return "day" if first > _MONTHS else "month"
    # Where dates have points, the day comes first.
    return "day" if any(match[2] == "." for match in parts) else "?"
