"""Tables as the bytes of a file: of the format, separator, encoding and compression of the original."""

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any

from generator.competition.specimen.values import (
    Cells,
)
from generator.competition.survey import Column, ColumnKind, Table, kind_of, numbers_of
from generator.competition.tables import TableFormat
from generator.text import storable

_SPACES = r"\s+"
_LARGEST_INTEGER = 1 << 63
_COMPRESSORS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": partial(gzip.compress, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
_YES = frozenset(("True", "TRUE", "true"))


def table_file(table: Table, cells: Mapping[str, Cells]) -> bytes:
    """Writes a table.

    Args:
        table: The original.
        cells: For each of its columns, the cells in order of the rows.

    Raises:
        ImportError: It is a parquet file, and pyarrow is not installed.
    """
    if table.format is TableFormat.PARQUET:
        return _parquet(table, cells)
    text = _write_csv(table, cells) if table.format is TableFormat.CSV else _json(table, cells)
    # What the encoding does not have cannot come from the original; it can from a cell that was put together.
    content = text.encode(table.encoding or "utf-8", errors="replace")
    return _COMPRESSORS[table.compression](content) if table.compression in _COMPRESSORS else content


def _write_csv(table: Table, cells: Mapping[str, Cells]) -> str:
    stream = io.StringIO(newline="")
    separator = " " if table.separator == _SPACES else table.separator[:1] or ","
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    # A column without a name has one only in the survey, as pandas gives it.
    writer.writerow("" if name.startswith("Unnamed: ") else name for name in table.column_names)
    for row in _rows(table, _as_written(table, cells)):
        # A line with nothing on it is no row.
        if len(row) == 1 and not row[0]:
            stream.write('""\n')
        else:
            writer.writerow(("NA" if separator == " " else "") if cell is None else cell for cell in row)
    return stream.getvalue()


def _as_written(table: Table, cells: Mapping[str, Cells]) -> Mapping[str, Cells]:
    """The cells with the decimal sign of the table in their numbers."""
    if table.decimal == ".":
        return cells
    new_cells = dict(cells)
    for name in (column.name for column in table.columns if numbers_of(column) is not None):
        are_numbers = [cell is not None and kind_of([cell]) is ColumnKind.NUMBER for cell in cells[name]]
        pairs = zip(cells[name], are_numbers, strict=True)
        new_cells[name] = [
            cell.replace(".", table.decimal) if cell and is_number else cell for cell, is_number in pairs
        ]
    return new_cells


def _rows(table: Table, cells: Mapping[str, Cells]) -> list[tuple[str | None, ...]]:
    return list(zip(*(cells[name] for name in table.column_names), strict=True))


def _json(table: Table, cells: Mapping[str, Cells]) -> str:
    records = []
    for row in _rows(table, cells):
        record: dict[str, Any] = {}
        for column, cell in zip(table.columns, row, strict=True):
            _put(record, column.name, _json_value(column, cell))
        records.append(record)
    if table.format is TableFormat.JSON_LINES:
        return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    return json.dumps(records, ensure_ascii=False)


def _put(record: dict[str, Any], name: str, value: object) -> None:
    """Puts a value where a dotted name leads, if nothing else stands on the way there."""
    *path, last = name.split(".")
    place = record
    for step in path:
        inner = place.setdefault(step, {})
        if not isinstance(inner, dict):
            record[name] = value
            return
        place = inner
    place[last] = value


def _json_value(column: Column, cell: str | None) -> object:
    if cell is not None and column.kind is ColumnKind.TEXT and cell[:1] in ("[", "{"):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return _parse_cell(column.kind, cell)


def _parse_cell(kind: ColumnKind, cell: str | None) -> bool | int | float | str | None:
    if cell is None:
        return None
    if kind is ColumnKind.BOOLEAN:
        return cell in _YES
    try:
        return int(cell) if kind is ColumnKind.INTEGER else float(cell) if kind is ColumnKind.NUMBER else storable(cell)
    except ValueError:
        return cell


def _parquet(table: Table, cells: Mapping[str, Cells]) -> bytes:
    # Imported by name, since pyarrow need not be installed and has no types.
    arrow, arrow_parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    stream = io.BytesIO()
    arrays = [arrow.array(_of_one_type(column, cells[column.name])) for column in table.columns]
    names = [storable(name) for name in table.column_names]
    arrow_parquet.write_table(arrow.Table.from_arrays(arrays, names=names), stream)
    return stream.getvalue()


def _of_one_type(column: Column, cells: Cells) -> Sequence[object]:
    texts = [None if cell is None else storable(cell) for cell in cells]
    if column.kind is ColumnKind.DATE:
        try:
            return [None if cell is None else datetime.fromisoformat(cell) for cell in cells]
        except ValueError:
            return texts
    values = [_parse_cell(column.kind, cell) for cell in cells]
    is_large = any(isinstance(value, int) and abs(value) >= _LARGEST_INTEGER for value in values)
    is_mixed = len({type(value) for value in values if value is not None}) > 1
    return texts if is_large or is_mixed else values
