"""Tables as JSON: an array of objects, an object on every line, or one object of columns or of ids.

All of it is read by one decoder of records: as a stream where every row is checked, in pieces where a few are sampled.
"""

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import IO, Any, BinaryIO

from generator.competition.tables.encodings import decoded, encoding_of
from generator.competition.tables.errors import NotATableError, UnreadableTableError
from generator.competition.tables.formats import TableFormat
from generator.competition.tables.json_text import DAMAGED, JsonText
from generator.competition.tables.sample import MOST_COLUMNS, Sample, SampleBounds, drawn_in_blocks, evenly_drawn
from generator.untrusted import printable, quoted, storable

_PIECES = 8
_DEEPEST_FIELD = 5
_PLACES_TO_RESYNCHRONISE = 200
_MEGABYTE = 1 << 20
_BOUNDARIES = {TableFormat.JSON: re.compile(r"\}\s*,\s*(?=\{)"), TableFormat.JSON_LINES: re.compile(r"\n[ \t]*(?=\{)")}
# Where an object names each id and what is said of it, its columns have no names of their own.
_UNNAMED = ("id", "value")

Record = dict[str, Any]


def json_rows(file: IO[bytes], *, is_lines: bool) -> Iterator[tuple[int, list[str]]]:
    """Yields the header and then each row with its number from 1, every cell as text; "" where there is nothing.

    Args:
        file: The text, in UTF-8.
        is_lines: Whether every line is a row of its own, so that one object alone is a row as well.

    Raises:
        UnreadableTableError: It is not UTF-8, not JSON, or not rows.
    """
    text = JsonText(io.TextIOWrapper(file, encoding="utf-8-sig"))
    try:
        start = text.peek()
        if start == "[":
            text.skip(1)
            yield from _rows_of_records(_records(text, end="]"))
        elif start == "{" and is_lines:
            yield from _rows_of_records(_records(text, end=""))
        elif start == "{":
            yield from _rows_of_object(_loaded(text.whole()))
        elif start:
            raise UnreadableTableError("is not JSON with a row for each id")
    except UnicodeDecodeError as error:
        raise UnreadableTableError("is not UTF-8 text") from error


def sample_json(file: BinaryIO, *, suffix: str, total: int, bounds: SampleBounds) -> Sample:
    """Reads some rows of a table; nested objects become columns such as `meta.day`.

    Args:
        file: The uncompressed bytes, or the first of them.
        suffix: Of the file's name: `.json`, or one that promises an object on every line.
        total: How many bytes there are in all.
        bounds: How much may be read.

    Raises:
        NotATableError: It is JSON of another shape, such as settings.
        UnreadableTableError: It is not JSON, or one object too large to be read as a whole.
        OSError: The file cannot be read.
    """
    is_whole = total <= bounds.size
    file.seek(0)
    head = file.read(bounds.size if is_whole else bounds.size // 2)
    encoding = encoding_of(head)
    if encoding is None or not head.strip():
        raise UnreadableTableError("is empty" if not head.strip() else "is not text")
    content = decoded(head, encoding).lstrip()
    is_array, is_object = content.startswith("["), content.startswith("{")
    if is_object and suffix == ".json" and not _is_lines(content):
        if not is_whole:
            raise UnreadableTableError(f"is one JSON object of {total // _MEGABYTE:,} MB and was not read")
        columns = _sampled_columns(_loaded(content))
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return _sample(TableFormat.JSON, rows, bounds, encoding=encoding)
    if not is_array and not is_object:
        raise UnreadableTableError("is not JSON")
    table_format = TableFormat.JSON if is_array else TableFormat.JSON_LINES
    text = JsonText(io.StringIO(content))
    text.skip(is_array)
    records, is_damaged = _taken(text, end="]" if is_array else "")
    if not records and not is_damaged:
        raise NotATableError
    if not records:
        raise UnreadableTableError("is not JSON, or its first object is damaged or too large")
    if is_whole:
        damage = ("is damaged or cut off; what comes before was read",) if is_damaged else ()
        return replace(_sample(table_format, records, bounds, encoding=encoding), remarks=damage)
    counted = round(total * len(records) / len(content[: text.consumed].encode(encoding, "replace")))
    known = frozenset(key for record in records for key in record)
    records = drawn_in_blocks(records, wanted=bounds.rows // 2, count=_PIECES)
    for piece in _further_pieces(file, bounds, encoding, head):
        records += _resynchronised(piece, _BOUNDARIES[table_format], known)
    return _sample(table_format, records, bounds, encoding=encoding, total=counted)


def _records(text: JsonText, *, end: str) -> Iterator[Record]:
    while (start := text.peek()) != end:
        if not start:
            raise UnreadableTableError("is cut off")
        if start != "{":
            raise NotATableError("is no table: its rows are no objects with a name for each value")
        yield text.value()
    text.skip(len(end))
    if text.peek():
        raise UnreadableTableError("is damaged: something stands behind its last row")


def _taken(text: JsonText, *, end: str) -> tuple[list[Record], bool]:
    """The objects up to the end, or up to what is damaged, and whether something is."""
    records: list[Record] = []
    try:
        for record in _records(text, end=end):
            records.append(record)  # noqa: PERF402 - those before an error are kept
    except NotATableError:
        if not records:
            raise
        return records, True
    except UnreadableTableError:
        return records, True
    return records, False


def _loaded(text: str) -> Record:
    try:
        content: Record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableTableError(DAMAGED) from error
    return content


def _columns(content: Record) -> dict[str, list[Any]] | None:
    """The columns of an object of arrays, or of objects whose names are numbers of rows; None of another."""
    columns = list(content.values())
    if columns and all(isinstance(column, dict) for column in columns):
        rows = list(columns[0])
        if rows and all(row.isdecimal() for row in rows) and all(column.keys() == set(rows) for column in columns):
            return {name: [column[row] for row in rows] for name, column in content.items()}
    elif columns and all(isinstance(column, list) for column in columns) and len(set(map(len, columns))) == 1:
        return content
    return None


def _rows_of_records(records: Iterator[Record]) -> Iterator[tuple[int, list[str]]]:
    names: list[str] = []
    for number, record in enumerate(records, start=1):
        if not names:
            names = list(record)
            yield 0, names
        if record.keys() != set(names):
            listed = ", ".join(quoted(name) for name in list(record)[:5])
            raise UnreadableTableError(f"is uneven: row {number} has other names than the first: {listed}")
        yield number, [_cell(record[name]) for name in names]


def _rows_of_object(content: Record) -> Iterator[tuple[int, list[str]]]:
    columns = _columns(content) if len(content) > 1 else None
    # Lists that are no columns are what is said of an id, such as the corners of a box.
    is_nested = columns is content and any(
        isinstance(cell, dict | list) for column in columns.values() for cell in column
    )
    if columns is None or is_nested:
        yield 0, list(_UNNAMED)
        rows: Iterator[tuple[Any, ...]] = iter(content.items())
    else:
        yield 0, list(columns)
        rows = zip(*columns.values(), strict=True)
    for number, row in enumerate(rows, start=1):
        yield number, [_cell(value) for value in row]


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value) if isinstance(value, dict | list) else str(value)


def _is_lines(text: str) -> bool:
    first, _, rest = text.partition("\n")
    try:
        return isinstance(json.loads(first), dict) and rest.lstrip()[:1] == "{"
    except (ValueError, RecursionError):
        return False


def _sampled_columns(content: Record) -> dict[str, list[Any]]:
    lists = {name: column for name, column in content.items() if isinstance(column, list)}
    nested = [name for name, column in lists.items() if column and isinstance(column[0], dict)]
    if nested and len(lists) == len(content):
        raise UnreadableTableError(f'holds tables in itself, such as "{printable(nested[0][:80])}", and was not read')
    columns = _columns(content)
    if columns is None:
        raise NotATableError
    return columns


def _further_pieces(file: BinaryIO, bounds: SampleBounds, encoding: str, head: bytes) -> Iterator[str]:
    available = file.seek(0, io.SEEK_END)
    size = bounds.size // 2 // _PIECES
    first = min(len(head), max(available - size, 0))
    for offset in evenly_drawn(range(first, available - size + 1), _PIECES):
        file.seek(offset - offset % 4)
        yield decoded(file.read(size), encoding, head=head)


def _resynchronised(text: str, boundary: re.Pattern[str], known: frozenset[str]) -> list[Record]:
    """The objects of a piece from the middle of a file: those after the first boundary that has the known names.

    A boundary may also stand in a nested array or in a text; what follows there has other names.
    """
    for _, match in zip(range(_PLACES_TO_RESYNCHRONISE), boundary.finditer(text), strict=False):
        records, _ = _taken(JsonText(io.StringIO(text[match.end() :])), end="")
        if records and records[0] and all(known.issuperset(record) for record in records):
            return records
    return []


def _sample(
    table_format: TableFormat,
    records: list[Record],
    bounds: SampleBounds,
    *,
    encoding: str,
    total: int | None = None,
) -> Sample:
    names: dict[str, None] = {}
    for record in records[: bounds.rows]:
        names.update(dict.fromkeys(_flat(record)))
        if len(names) > MOST_COLUMNS:
            raise UnreadableTableError(f"has more than {MOST_COLUMNS:,} fields in its objects and was not read")
    kept = drawn_in_blocks(records, wanted=bounds.rows_of(len(names)), count=_PIECES)
    rows = [_flat(record) for record in kept]
    for row in rows:
        names.update(dict.fromkeys(row))
    return Sample(
        format=table_format,
        header=tuple(names),
        rows=[[row.get(name) for name in names] for row in rows],
        total=len(records) if total is None else total,
        is_complete=total is None and len(rows) == len(records),
        encoding=encoding,
    )


def _flat(record: Mapping[str, Any], prefix: str = "", depth: int = 1) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in record.items():
        if isinstance(value, dict) and value and depth < _DEEPEST_FIELD:
            fields |= _flat(value, f"{prefix}{key}.", depth + 1)
        else:
            fields[storable(prefix + key)] = value
    return fields
