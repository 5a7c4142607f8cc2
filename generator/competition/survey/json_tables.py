"""Tables as JSON: an array of objects, an object of columns, or an object on every line."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from generator.competition.survey.bounds import MOST_COLUMNS, TableBounds, blocks, evenly_drawn
from generator.competition.survey.columns import column_of
from generator.competition.survey.encodings import decoded, encoding_of
from generator.competition.survey.facts import Column, TableFormat
from generator.competition.survey.sample import NotATableError, Sample, UnreadableTableError
from generator.competition.survey.sources import ByteSource
from generator.untrusted import printable, storable

SUFFIXES = frozenset((".json", ".jsonl", ".ndjson"))
_PIECES = 8
_DEEPEST_FIELD = 5
_PLACES_TO_RESYNCHRONISE = 200
_MEGABYTE = 1 << 20
_BETWEEN = re.compile(r"[\s,]*")
_NEXT_OBJECT = re.compile(r"\}\s*,\s*(?=\{)")
_NEXT_LINE = re.compile(r"\n[ \t]*(?=\{)")
_DECODER = json.JSONDecoder()

Record = dict[str, Any]


def sample_json(source: ByteSource, *, suffix: str, bounds: TableBounds) -> tuple[TableFormat, Sample]:
    """Reads some rows of a table.

    Args:
        source: The uncompressed bytes.
        suffix: Of the file's name; one of `SUFFIXES`.
        bounds: How much may be read.

    Raises:
        NotATableError: It is JSON of another shape, such as settings.
        UnreadableTableError: It is not JSON, or one object too large to be read as a whole.
        OSError: The file cannot be read.
    """
    is_whole = source.total <= bounds.size
    head = source.read(0, bounds.size if is_whole else bounds.size // 2)
    encoding = encoding_of(head)
    if encoding is None or not head.strip():
        raise UnreadableTableError("is empty" if not head.strip() else "is not text")
    text = decoded(head, encoding)
    start = text[_start(text) : _start(text) + 1]
    if start == "[":
        records, end = _records(text, _start(text) + 1)
        table_format, boundary = TableFormat.JSON, _NEXT_OBJECT
    elif start == "{" and (suffix != ".json" or _is_lines(text)):
        records, end = _records(text, 0)
        table_format, boundary = TableFormat.JSON_LINES, _NEXT_LINE
    elif start == "{" and is_whole:
        return TableFormat.JSON, _sample(_columnar(text), bounds, encoding=encoding)
    elif start == "{":
        raise UnreadableTableError(f"is one JSON object of {source.total // _MEGABYTE:,} MB and was not read")
    else:
        raise UnreadableTableError("is not JSON")
    if not records:
        if text[end:].lstrip()[:1] == "{":
            raise UnreadableTableError("is not JSON, or its first object is damaged or too large")
        raise NotATableError
    if is_whole:
        damage = () if _is_end(text[end:]) else ("is damaged or cut off; what comes before was read",)
        return table_format, _sample(records, bounds, encoding=encoding, remarks=damage)
    total = round(source.total * len(records) / max(1, len(text[:end].encode(encoding, "replace"))))
    known = frozenset(key for record in records for key in record)
    records = [records[row] for run in blocks(len(records), wanted=bounds.rows // 2, count=_PIECES) for row in run]
    for piece in _further_pieces(source, bounds, encoding, head):
        records += _resynchronised(piece, boundary, known)
    return table_format, _sample(records, bounds, encoding=encoding, total=total)


def _start(text: str) -> int:
    return len(text) - len(text.lstrip())


def _is_lines(text: str) -> bool:
    first, _, rest = text.lstrip().partition("\n")
    try:
        return isinstance(json.loads(first), dict) and rest.lstrip()[:1] == "{"
    except (ValueError, RecursionError):
        return False


def _is_end(text: str) -> bool:
    return not text.strip(" \t\r\n,]")


def _records(text: str, position: int) -> tuple[list[Record], int]:
    """The whole objects from a position on, and where the last one ends."""
    records: list[Record] = []
    end = position
    while True:
        start = _BETWEEN.match(text, end)
        try:
            record, next_end = _DECODER.raw_decode(text, start.end() if start else end)
        except (ValueError, RecursionError):
            return records, end
        if not isinstance(record, dict):
            raise NotATableError
        records.append(record)
        end = next_end


def _further_pieces(source: ByteSource, bounds: TableBounds, encoding: str, head: bytes) -> Iterator[str]:
    size = bounds.size // 2 // _PIECES
    first = min(len(head), max(source.available - size, 0))
    for offset in evenly_drawn(range(first, source.available - size + 1), _PIECES):
        yield decoded(source.read(offset - offset % 4, size), encoding, head=head)


def _resynchronised(text: str, boundary: re.Pattern[str], known: frozenset[str]) -> list[Record]:
    """The objects of a piece from the middle of a file: those after the first boundary that has the known names.

    A boundary may also stand in a nested array or in a text; what follows there has other names.
    """
    for _, match in zip(range(_PLACES_TO_RESYNCHRONISE), boundary.finditer(text), strict=False):
        try:
            first, _ = _DECODER.raw_decode(text, match.end())
            records, _ = _records(text, match.end()) if first and known.issuperset(first) else ([], 0)
        except (NotATableError, ValueError, RecursionError):
            continue
        if records and all(known.issuperset(record) for record in records):
            return records
    return []


def _columnar(text: str) -> list[Record]:
    """The rows of an object of arrays, or of an object of objects whose names are the numbers of the rows."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableTableError("is not JSON, or it is damaged or cut off") from error
    columns = list(content.values())
    if columns and all(isinstance(column, dict) for column in columns):
        rows = list(columns[0])
        if (
            not rows
            or not all(row.isdecimal() for row in rows)
            or any(column.keys() != set(rows) for column in columns)
        ):
            raise NotATableError
        return [{name: column[row] for name, column in content.items()} for row in rows]
    if not columns or not all(isinstance(column, list) for column in columns):
        raise NotATableError
    nested = [name for name, column in content.items() if column and isinstance(column[0], dict)]
    if nested:
        raise UnreadableTableError(f'holds tables in itself, such as "{printable(nested[0][:80])}", and was not read')
    if len({len(column) for column in columns}) > 1:
        raise NotATableError
    return [dict(zip(content, row, strict=True)) for row in zip(*columns, strict=True)]


def _sample(
    records: list[Record],
    bounds: TableBounds,
    *,
    encoding: str,
    total: int | None = None,
    remarks: tuple[str, ...] = (),
) -> Sample:
    names: dict[str, None] = {}
    for record in records[: bounds.rows]:
        names.update(dict.fromkeys(_flat(record)))
        if len(names) > MOST_COLUMNS:
            raise UnreadableTableError(f"has more than {MOST_COLUMNS:,} fields in its objects and was not read")
    runs = blocks(len(records), wanted=bounds.rows_of(len(names)), count=_PIECES)
    rows = [_flat(records[position]) for run in runs for position in run]
    for row in rows:
        names.update(dict.fromkeys(row))
    return Sample(
        columns=tuple(_column(name, [row.get(name) for row in rows]) for name in names),
        rows=len(records) if total is None else total,
        is_complete=total is None and len(rows) == len(records),
        encoding=encoding,
        remarks=remarks,
    )


def _column(name: str, values: Sequence[object]) -> Column:
    is_quoted = any(isinstance(value, str) for value in values)
    return replace(column_of(name, map(_text, values)), is_quoted=is_quoted)


def _flat(record: Mapping[str, Any], prefix: str = "", depth: int = 1) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in record.items():
        if isinstance(value, dict) and value and depth < _DEEPEST_FIELD:
            fields |= _flat(value, f"{prefix}{key}.", depth + 1)
        else:
            fields[storable(prefix + key)] = value
    return fields


def _text(value: object) -> str | None:
    if value is None or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN is missing
        return None
    if isinstance(value, list | dict):
        return storable(json.dumps(value, ensure_ascii=False))
    return storable(str(value))
