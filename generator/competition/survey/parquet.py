"""Tables in parquet files, by pyarrow, where it is installed."""

from collections.abc import Iterator
from importlib import import_module
from typing import IO, Any, BinaryIO

from generator.competition.survey.bounds import MOST_COLUMNS, TableBounds, evenly_drawn
from generator.competition.survey.columns import column_of, header_names
from generator.competition.survey.facts import ColumnKind
from generator.competition.survey.sample import Sample, UnreadableTableError

SUFFIXES = frozenset((".parquet", ".pq"))
_ROW_GROUPS = 4
_BATCH = 4096
_LARGEST_ROW_GROUP = 256 * 2**20  # bytes, unpacked
_TOO_FAR = "has dates beyond the year 9999, or times without end, which Python cannot hold"


class ParquetError(Exception):
    """The file is no parquet, or cannot be read; the message is a clause."""


class PyarrowMissingError(Exception):
    """The package that reads parquet is not installed."""


def sample_parquet(file: BinaryIO, bounds: TableBounds) -> Sample:
    """Reads the first rows of a few row groups.

    Args:
        file: To read and to seek in; only the pieces that are needed are read.
        bounds: How much may be read.

    Raises:
        UnreadableTableError: It is damaged or too wide, or pyarrow is not installed.
        OSError: It cannot be read.
    """
    try:
        arrow, arrow_parquet = _pyarrow()
    except PyarrowMissingError as error:
        raise UnreadableTableError(
            "was not read, since pyarrow is missing; install it with: pip install pyarrow"
        ) from error
    try:
        with arrow_parquet.ParquetFile(file, buffer_size=1 << 16) as opened:
            return _sample(opened, bounds)
    except OverflowError as error:
        raise UnreadableTableError(f"{_TOO_FAR} and was not read") from error
    except arrow.ArrowInvalid as error:
        raise UnreadableTableError("is not a parquet file, or it is damaged or cut off") from error
    except (arrow.ArrowException, ValueError) as error:
        raise UnreadableTableError("has a layout of parquet that pyarrow cannot read") from error


def rows_of_parquet(file: IO[bytes]) -> Iterator[tuple[int, list[str]]]:
    """Yields the header and then each row with its number from 1, every cell as text; "" where there is nothing.

    Args:
        file: To read and to seek in; a few thousand rows are in memory at a time.

    Raises:
        PyarrowMissingError: pyarrow is not installed.
        ParquetError: It is not a parquet file, or damaged.
    """
    arrow, arrow_parquet = _pyarrow()
    try:
        with arrow_parquet.ParquetFile(file, read_dictionary=_text_columns(arrow_parquet, file)) as opened:
            groups = map(opened.metadata.row_group, range(opened.metadata.num_row_groups))
            # One cell is read as a whole, and some KB of a file can hold one of a gigabyte.
            if any(group.total_byte_size > _LARGEST_ROW_GROUP for group in groups):
                raise ParquetError(
                    f"it has row groups of more than {_LARGEST_ROW_GROUP >> 20} MB; write it with a row_group_size"
                )
            yield 0, list(opened.schema_arrow.names)
            number = 0
            for batch in opened.iter_batches(batch_size=_BATCH):
                for cells in zip(*map(_cells, batch.columns), strict=True):
                    number += 1
                    yield number, list(cells)
    except OverflowError as error:
        raise ParquetError(f"it {_TOO_FAR}") from error
    except (arrow.ArrowException, ValueError) as error:
        raise ParquetError("it is not a parquet file, or it is damaged or cut off") from error


def _pyarrow() -> tuple[Any, Any]:
    try:
        # Imported by name, since pyarrow need not be installed and has no types.
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise PyarrowMissingError from error


def _text_columns(arrow_parquet: Any, file: IO[bytes]) -> list[str]:
    types = import_module("pyarrow.types")
    schema = arrow_parquet.read_schema(file)
    file.seek(0)
    return [field.name for field in schema if types.is_string(field.type) or types.is_large_string(field.type)]


def _cells(column: Any) -> list[str]:
    """The cells of a column; a text is kept once, however many rows have it, or a small file could fill the memory."""
    if hasattr(column, "dictionary"):
        known = ["" if value is None else str(value) for value in column.dictionary.to_pylist()]
        return ["" if place is None else known[place] for place in column.indices.to_pylist()]
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _sample(opened: Any, bounds: TableBounds) -> Sample:
    schema, total = opened.schema_arrow, opened.metadata.num_rows
    if len(schema.names) > MOST_COLUMNS:
        raise UnreadableTableError(f"has {len(schema.names):,} columns and was not read; {MOST_COLUMNS:,} are the most")
    names, remarks = header_names(schema.names)
    wanted = min(bounds.rows_of(len(names)), total)
    groups = [
        group
        for group in evenly_drawn(range(opened.metadata.num_row_groups), _ROW_GROUPS)
        if opened.metadata.row_group(group).total_byte_size <= bounds.row_group
    ]
    if total and not groups:
        remarks = (*remarks, f"has row groups of more than {bounds.row_group >> 20} MB; only its schema was read")
    kept: list[list[Any]] = [[] for _ in names]
    if groups and total <= wanted:
        groups = list(range(opened.metadata.num_row_groups))
    each = wanted if total <= wanted else -(-wanted // max(1, len(groups)))
    for group in groups:
        for values, further in zip(kept, _first_rows(opened, group, each), strict=True):
            values.extend(further)
    rows = len(kept[0]) if kept else 0
    return Sample(
        columns=tuple(
            column_of(name, map(_text, values), _kind(field.type))
            for name, field, values in zip(names, schema, kept, strict=True)
        ),
        rows=total,
        is_complete=rows == total,
        remarks=remarks,
    )


def _first_rows(opened: Any, group: int, count: int) -> Iterator[list[Any]]:
    for batch in opened.iter_batches(batch_size=count, row_groups=[group]):
        return iter([column.to_pylist() for column in batch.columns])
    return iter([[] for _ in opened.schema_arrow.names])


def _text(value: object) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN is missing
        return None
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    return str(value)


def _kind(data_type: object) -> ColumnKind | None:
    types = import_module("pyarrow.types")
    if types.is_integer(data_type):
        return ColumnKind.INTEGER
    if types.is_floating(data_type) or types.is_decimal(data_type):
        return ColumnKind.NUMBER
    if types.is_boolean(data_type):
        return ColumnKind.BOOLEAN
    if types.is_temporal(data_type):
        return ColumnKind.DATE
    return ColumnKind.TEXT
