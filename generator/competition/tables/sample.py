"""A sample of a table's rows, drawn from all over it, within bounds on memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from generator.competition.tables.formats import TableFormat

Item = TypeVar("Item")

MOST_COLUMNS = 20_000


@dataclass(frozen=True)
class SampleBounds:
    """The limits of the sample of one table.

    Attributes:
        rows: Rows.
        cells: Rows times columns.
        size: Bytes that are read of it, uncompressed.
        pieces: From how many positions they are taken where it has more.
        row_group: Bytes, uncompressed, of the groups of rows that a parquet file may be read from.
    """

    rows: int = 2_000
    cells: int = 400_000
    size: int = 4 << 20
    pieces: int = 20
    row_group: int = 512 << 20

    def rows_of(self, columns: int) -> int:
        """The number of rows of so many columns that may be sampled; at least one."""
        return max(1, min(self.rows, self.cells // max(1, columns)))


@dataclass(frozen=True)
class Sample:
    """A table as far as it was read.

    Attributes:
        format: How it is written.
        header: The names of its columns as they stand there.
        rows: The cells of each sampled row: text of a csv, values of the other formats, None for a null.
        total: How many rows the table has: counted if `is_complete`, else estimated.
        is_complete: Whether the sample is the whole table.
        separator: Of a csv, else "".
        encoding: As Python calls it.
        kinds: What the schema of a parquet file says each column is, by the names of `ColumnKind`; () for the others.
        remarks: Predicates for the notes, such as "is not UTF-8".
        has_trailing_separator: Whether a separator ends the rows of a csv but not its header.
    """

    format: TableFormat
    header: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    total: int
    is_complete: bool
    separator: str = ""
    encoding: str = "utf-8"
    kinds: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    has_trailing_separator: bool = False


def evenly_drawn(items: Sequence[Item], count: int) -> tuple[Item, ...]:
    """At most `count` items, from the first to the last, at equal distances."""
    if len(items) <= count:
        return tuple(items)
    if count == 1:
        return (items[0],)
    return tuple(items[index * (len(items) - 1) // (count - 1)] for index in range(count))


def drawn_in_blocks(items: Sequence[Item], *, wanted: int, count: int) -> list[Item]:
    """About `wanted` items in at most `count` runs of neighbours, the first and the last items among them.

    Neighbours stay together, so that rows in groups and in order of time can be seen as such.
    """
    if len(items) <= wanted:
        return list(items)
    length = max(1, wanted // count)
    starts = evenly_drawn(range(len(items) - length + 1), min(count, wanted))
    return [item for start in starts for item in items[start : start + length]]
