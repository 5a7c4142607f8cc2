"""Tables as the bytes of a file: of the format, separator, encoding and compression of the original."""

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from generator.competition.specimen.column_cells import Cells
from generator.competition.survey.columns import kind_of, numbers_of
from generator.competition.survey.facts import Column, ColumnKind, Table, TableFormat

_SPACES = r"\s+"
_LARGEST_INTEGER = 1 << 63
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
    text = _separated(table, cells) if table.format is TableFormat.CSV else _json(table, cells)
    # What the encoding does not have cannot come from the original; it can from a cell that was put together.
    return _compressed(text.encode(table.encoding or "utf-8", errors="replace"), table.compression)


def _compressed(content: bytes, compression: str) -> bytes:
    if compression == "gzip":
        return gzip.compress(content, mtime=0)
    if compression == "bz2":
        return bz2.compress(content)
    return lzma.compress(content) if compression == "xz" else content


def _separated(table: Table, cells: Mapping[str, Cells]) -> str:
    stream = io.StringIO(newline="")
    separator = " " if table.separator == _SPACES else table.separator[:1] or ","
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    writer.writerow(_given_name(name) for name in table.column_names)
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
    numbers = [column.name for column in table.columns if numbers_of(column) is not None]
    return {**cells, **{name: [_with_sign(cell, table.decimal) for cell in cells[name]] for name in numbers}}


def _with_sign(cell: str | None, decimal: str) -> str | None:
    is_number = cell is not None and kind_of([cell]) is ColumnKind.NUMBER
    return cell.replace(".", decimal) if cell is not None and is_number else cell


def _given_name(name: str) -> str:
    """A column without a name has one only in the survey, as pandas gives it."""
    return "" if name.startswith("Unnamed: ") else name


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
    if cell is None:
        return None
    if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.BOOLEAN):
        return _typed(column.kind, cell)
    if column.kind is ColumnKind.TEXT and cell[:1] in ("[", "{"):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def _typed(kind: ColumnKind, cell: str | None) -> bool | int | float | str | None:
    if cell is None:
        return None
    if kind is ColumnKind.BOOLEAN:
        return cell in _YES
    try:
        return int(cell) if kind is ColumnKind.INTEGER else float(cell) if kind is ColumnKind.NUMBER else _unicode(cell)
    except ValueError:
        return cell


def _parquet(table: Table, cells: Mapping[str, Cells]) -> bytes:
    # Imported by name, since pyarrow need not be installed and has no types.
    arrow, arrow_parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    stream = io.BytesIO()
    arrays = [arrow.array(_of_one_type(column, cells[column.name])) for column in table.columns]
    names = [_unicode(name) for name in table.column_names]
    arrow_parquet.write_table(arrow.Table.from_arrays(arrays, names=names), stream)
    return stream.getvalue()


def _of_one_type(column: Column, cells: Cells) -> Sequence[object]:
    typed = [_typed(column.kind, cell) for cell in cells]
    if column.kind is ColumnKind.DATE:
        return _times(cells)
    is_large = any(isinstance(value, int) and abs(value) >= _LARGEST_INTEGER for value in typed)
    is_mixed = len({type(value) for value in typed if value is not None}) > 1
    return _texts(cells) if is_large or is_mixed else typed


def _texts(cells: Cells) -> Sequence[object]:
    return [None if cell is None else _unicode(cell) for cell in cells]


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _times(cells: Cells) -> Sequence[object]:
    from datetime import datetime

    try:
        return [None if cell is None else datetime.fromisoformat(cell) for cell in cells]
    except ValueError:
        return _texts(cells)
