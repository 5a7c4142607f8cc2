"""The coordinates of a table: columns of latitudes and longitudes, and the places that they are of."""

import re
from collections.abc import Sequence

from generator.competition.introspection.errors import UnusableValueError, listed
from generator.competition.introspection.findings import Findings
from generator.competition.survey.columns import numbers_of
from generator.competition.survey.facts import Column

_KEY = "coordinate_columns"
_LATITUDE, _LONGITUDE = re.compile("latitude|lat"), re.compile("longitude|long|lng|lon")
_LARGEST_LATITUDE, _LARGEST_LONGITUDE = 90, 180
_FEWEST_PLACES, _MOST_PLACES = 2, 4


def settle_coordinates(columns: Sequence[Column], found: Findings) -> None:
    """Settles the latitudes and longitudes, in turns, of two places or more, between which there are distances.

    Raises:
        UnusableValueError: The user decided on something else.
    """
    places = _places(columns)
    if len(places) < _FEWEST_PLACES:
        evidence = "no two places of a row are named and measured as latitude and longitude"
        names = found.settle(_KEY, list[str](), evidence)
    else:
        value = [column.name for place in places[:_MOST_PLACES] for column in place]
        names = found.settle(_KEY, value, f"{listed(value)} are named and measured so")
    if len(names) % 2 or len(names) == _FEWEST_PLACES:
        wanted = "the latitude and the longitude of a place, then those of another, such as lat_a,lon_a,lat_b,lon_b"
        raise UnusableValueError(key=_KEY, value=", ".join(names), wanted=wanted)


def _places(columns: Sequence[Column]) -> list[tuple[Column, Column]]:
    """The latitude and the longitude of each place, in the order of the table."""
    longitudes = {_LONGITUDE.sub("*", column.name.lower()): column for column in columns}
    pairs = [(column, longitudes.get(_LATITUDE.sub("*", column.name.lower()))) for column in columns]
    return [
        (one, other)
        for one, other in pairs
        if other is not None
        and other is not one
        and _is_within(one, _LARGEST_LATITUDE)
        and _is_within(other, _LARGEST_LONGITUDE)
    ]


def _is_within(column: Column, limit: float) -> bool:
    numbers = numbers_of(column)
    return numbers is not None and all(abs(float(value)) <= limit for value in numbers.distinct)
