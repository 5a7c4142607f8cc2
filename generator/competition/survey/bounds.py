"""The bounds on what is looked at of a competition's files."""

from dataclasses import replace

from generator.competition.tables.sample import SampleBounds

MOST_TABLES = 100
MOST_FOLDERS = 2_000  # beside each other, or in one archive
MOST_NAMES = 2_000
_MOST_CELLS_OF_ALL = 2_000_000
_MOST_BYTES_OF_ALL = 48 << 20


def bounds_for(tables: int, one: SampleBounds) -> SampleBounds:
    """The bounds of each of so many tables, by those of a single one: all their samples are in memory together."""
    share = max(1, min(tables, MOST_TABLES))
    cells, size = min(one.cells, _MOST_CELLS_OF_ALL // share), min(one.size, _MOST_BYTES_OF_ALL // share)
    return replace(one, cells=cells, size=size)
