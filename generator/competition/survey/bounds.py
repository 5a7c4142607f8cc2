"""How much of a competition's files is looked at, and how the few are drawn from the many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

MOST_TABLES = 100
MOST_FOLDERS = 2_000  # beside each other, or in one archive
MOST_COLUMNS = 20_000
MOST_NAMES = 2_000
_MOST_ROWS = 2_000
_MOST_CELLS, _MOST_CELLS_OF_ALL = 400_000, 2_000_000
_MOST_BYTES, _MOST_BYTES_OF_ALL = 4 << 20, 48 << 20


@dataclass(frozen=True)
class TableBounds:
    """What the sample of one table may hold at most.

    Attributes:
        rows: Rows.
        cells: Rows times columns.
        size: Bytes that are read of it, uncompressed.
        pieces: From how many places they are taken where it has more.
        row_group: Bytes, uncompressed, of the groups of rows that a parquet file may be read from.
    """

    rows: int = _MOST_ROWS
    cells: int = _MOST_CELLS
    size: int = _MOST_BYTES
    pieces: int = 20
    row_group: int = 512 << 20

    def rows_of(self, columns: int) -> int:
        """How many rows of so many columns may be sampled; at least one."""
        return max(1, min(self.rows, self.cells // max(1, columns)))


def bounds_for(tables: int, *, pieces: int, row_group: int) -> TableBounds:
    """The bounds of each of so many tables: all their samples are in memory at the same time."""
    share = max(1, min(tables, MOST_TABLES))
    return TableBounds(
        cells=min(_MOST_CELLS, _MOST_CELLS_OF_ALL // share),
        size=min(_MOST_BYTES, _MOST_BYTES_OF_ALL // share),
        pieces=pieces,
        row_group=row_group,
    )


def evenly_drawn(items: Sequence[Item], count: int) -> tuple[Item, ...]:
    """At most `count` items, from the first to the last, at equal distances."""
    if len(items) <= count:
        return tuple(items)
    if count == 1:
        return (items[0],)
    return tuple(items[index * (len(items) - 1) // (count - 1)] for index in range(count))


def blocks(total: int, *, wanted: int, count: int) -> list[range]:
    """At most `count` runs of neighbouring positions out of `total`, the first and the last ones among them.

    Neighbours stay together, so that rows in groups and in order of time can be seen as such.
    """
    if total <= wanted:
        return [range(total)]
    length = max(1, wanted // count)
    starts = evenly_drawn(range(total - length + 1), min(count, wanted))
    return [range(start, start + length) for start in starts]
