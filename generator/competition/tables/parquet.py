"""Tables in parquet files, by pyarrow, where it is installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any, BinaryIO

from generator.competition.tables.errors import PyarrowMissingError, UnreadableTableError
from generator.competition.tables.formats import TableFormat
from generator.competition.tables.sample import MOST_COLUMNS, Sample, SampleBounds, evenly_drawn

_ROW_GROUPS = 4
_BATCH = 4096
_LARGEST_ROW_GROUP = 256 * 2**20  # bytes, unpacked


def parquet_rows(file: IO[bytes]) -> Iterator[tuple[int, list[str]]]:
    """Yields the header and then each row with its number from 1, every cell as text; "" where there is nothing.

    Args:
        file: To read and to seek in; a few thousand rows are in memory at a time.

    Raises:
        UnreadableTableError: It is not a parquet file, or damaged, or pyarrow is not installed.
    """
    with _opened(file, has_dictionaries=True) as opened:
        groups = map(opened.metadata.row_group, range(opened.metadata.num_row_groups))
        # One cell is read as a whole, and some KB of a file can hold one of a gigabyte.
        if any(group.total_byte_size > _LARGEST_ROW_GROUP for group in groups):
            raise UnreadableTableError(
                f"has row groups of more than {_LARGEST_ROW_GROUP >> 20} MB; write it with a row_group_size"
            )
        yield 0, list(opened.schema_arrow.names)
        number = 0
        for batch in opened.iter_batches(batch_size=_BATCH):
            for cells in zip(*map(_texts, batch.columns), strict=True):
                number += 1
                yield number, list(cells)


def sample_parquet(file: BinaryIO, bounds: SampleBounds) -> Sample:
    """Reads the first rows of a few row groups.

    Args:
        file: To read and to seek in; only the pieces that are needed are read.
        bounds: How much may be read.

    Raises:
        UnreadableTableError: It is damaged or too wide, or pyarrow is not installed.
        OSError: It cannot be read.
    """
    with _opened(file) as opened:
        schema, total, count = opened.schema_arrow, opened.metadata.num_rows, opened.metadata.num_row_groups
        if len(schema.names) > MOST_COLUMNS:
            problem = f"has {len(schema.names):,} columns and was not read; {MOST_COLUMNS:,} are the most"
            raise UnreadableTableError(problem)
        wanted = min(bounds.rows_of(len(schema.names)), total)
        groups: list[int] = [
            group
            for group in evenly_drawn(range(count), _ROW_GROUPS)
            if opened.metadata.row_group(group).total_byte_size <= bounds.row_group
        ]
        remarks: tuple[str, ...] = ()
        if total and not groups:
            remarks = (f"has row groups of more than {bounds.row_group >> 20} MB; only its schema was read",)
        if groups and total <= wanted:
            groups = list(range(count))
        each = wanted if total <= wanted else -(-wanted // max(1, len(groups)))
        rows = [row for group in groups for row in _first_rows(opened, group, each)]
        return Sample(
            format=TableFormat.PARQUET,
            header=tuple(schema.names),
            rows=rows,
            total=total,
            is_complete=len(rows) == total,
            kinds=tuple(_kind(field.type) for field in schema),
            remarks=remarks,
        )


@contextmanager
def _opened(file: IO[bytes], *, has_dictionaries: bool = False) -> Iterator[Any]:
    """Opens a file; what pyarrow raises then, or when it is read, is one kind of error."""
    try:
        # Imported by name, since pyarrow need not be installed and has no types.
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        problem = "was not read, since pyarrow is missing; install it with: pip install pyarrow"
        raise PyarrowMissingError(problem) from error
    try:
        texts = _text_columns(parquet, file) if has_dictionaries else None
        with parquet.ParquetFile(file, buffer_size=1 << 16, read_dictionary=texts) as opened:
            yield opened
    except OverflowError as error:
        problem = "has dates beyond the year 9999, or times without end, which Python cannot hold, and was not read"
        raise UnreadableTableError(problem) from error
    except arrow.ArrowInvalid as error:
        raise UnreadableTableError("is not a parquet file, or it is damaged or cut off") from error
    except (arrow.ArrowException, ValueError) as error:
        raise UnreadableTableError("has a layout of parquet that pyarrow cannot read") from error


def _text_columns(parquet: Any, file: IO[bytes]) -> list[str]:
    types = import_module("pyarrow.types")
    schema = parquet.read_schema(file)
    file.seek(0)
    return [field.name for field in schema if types.is_string(field.type) or types.is_large_string(field.type)]


def _texts(column: Any) -> list[str]:
    """The cells of a column; a text is kept once, however many rows have it, or a small file could fill the memory."""
    if hasattr(column, "dictionary"):
        known = ["" if value is None else str(value) for value in column.dictionary.to_pylist()]
        return ["" if place is None else known[place] for place in column.indices.to_pylist()]
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _first_rows(opened: Any, group: int, count: int) -> list[tuple[object, ...]]:
    for batch in opened.iter_batches(batch_size=count, row_groups=[group]):
        return list(zip(*(map(_plain, column.to_pylist()) for column in batch.columns), strict=True))
    return []


def _plain(value: object) -> object:
    """A value that text can stand for; of bytes, how many there are."""
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    return str(value) if isinstance(value, dict | list) else value


def _kind(data_type: object) -> str:
    types = import_module("pyarrow.types")
    if types.is_integer(data_type):
        return "integer"
    if types.is_floating(data_type) or types.is_decimal(data_type):
        return "number"
    if types.is_boolean(data_type):
        return "boolean"
    return "date" if types.is_temporal(data_type) else "text"
