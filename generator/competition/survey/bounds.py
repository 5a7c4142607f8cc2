"""The bounds on what is looked at of a competition's files."""

from generator.competition.tables.sample import SampleBounds

MOST_TABLES = 100
MOST_FOLDERS = 2_000  # beside each other, or in one archive
MOST_NAMES = 2_000
_MOST_CELLS_OF_ALL = 2_000_000
_MOST_BYTES_OF_ALL = 48 << 20


def bounds_for(tables: int, *, pieces: int, row_group: int) -> SampleBounds:
    """The bounds of each of so many tables: all their samples are in memory at the same time."""
    share = max(1, min(tables, MOST_TABLES))
    return SampleBounds(
        cells=min(SampleBounds.cells, _MOST_CELLS_OF_ALL // share),
        size=min(SampleBounds.size, _MOST_BYTES_OF_ALL // share),
        pieces=pieces,
        row_group=row_group,
    )
