"""Images whose pixels are the columns of a table."""

import re

from generator.competition.introspection.columns import is_whole
from generator.competition.survey.facts import Column, Table

_PIXEL = re.compile(r"(?:pixel|pix|px|p|x)?[_.]?\d+(?:x\d+)?")
_BRIGHTEST = 255


def pixel_columns(table: Table) -> tuple[str, ...]:
    """The columns that are pixels: numbered names, whole values from 0 to 255."""
    named = [column for column in table.columns if _PIXEL.fullmatch(column.name.lower())]
    return tuple(column.name for column in named if _is_shade(column))


def _is_shade(column: Column) -> bool:
    return is_whole(column) and all(0 <= float(value) <= _BRIGHTEST for value in column.distinct)
