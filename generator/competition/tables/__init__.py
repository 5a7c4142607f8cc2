"""Read tables of any format: CSV, JSON and Parquet, from a disk, an archive or the network.

Input: bytes, and the format that a file name implies (`formats`). Output: a sample of rows for a survey, or
every row as text for checks and scoring. Each format has one reader. Every problem of a file is an
`UnreadableTableError`, whose text is a predicate such as "is empty".

It does not depend on competitions: `survey`, `submission` and `localkaggle.hosting` import it, and it imports none of
them.
"""

import csv
import io
import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, TypeVar

from generator.competition.tables.formats import (
    ARCHIVE_SUFFIXES,
    FORMATS,
    FRAME,
    LOOSE_SUFFIXES,
    STREAMS,
    TOO_LARGE,
    TOO_MANY,
    UTF_8,
    Feature,
    NotATableError,
    NotRecordsError,
    PyarrowMissingError,
    TableFormat,
    UnreadableTableError,
    Values,
    XzFile,
    beginning,
    begins_like_records,
    decode_piece,
    encoding_of,
    features_of,
    first_records,
    open_unpacked,
    ratio_remarks,
    record_file,
    require_no_lzma,
    table_format,
    tar_members,
    tf_example,
)
from generator.text import printable, quote_text, storable

__all__ = [
    "ARCHIVE_SUFFIXES",
    "FORMATS",
    "FRAME",
    "JSON_DAMAGE",
    "LOOSE_SUFFIXES",
    "MOST_COLUMNS",
    "SPACES",
    "STREAMS",
    "TOO_LARGE",
    "TOO_MANY",
    "UTF_8",
    "Feature",
    "Item",
    "JsonText",
    "NotATableError",
    "NotRecordsError",
    "PyarrowMissingError",
    "Record",
    "Row",
    "Rows",
    "Sample",
    "SampleBounds",
    "TableFormat",
    "UnreadableTableError",
    "Values",
    "XzFile",
    "beginning",
    "begins_like_records",
    "delimited_rows",
    "drawn_in_blocks",
    "evenly_drawn",
    "features_of",
    "first_records",
    "json_rows",
    "layout_within",
    "open_unpacked",
    "parquet_rows",
    "ratio_remarks",
    "record_file",
    "require_no_lzma",
    "sample_delimited",
    "sample_json",
    "sample_parquet",
    "separator_in",
    "table_format",
    "table_rows",
    "tar_members",
    "tf_example",
]

# JSON as a stream of values, of which only what is not yet read is in memory.


JSON_DAMAGE = "is not JSON, or it is damaged or cut off"
_CHUNK = 1 << 20
_LONGEST_ROW = 1 << 26
_LARGEST_OBJECT = 1 << 26
_JSON_SEPARATOR = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


class JsonText:
    """Text of which only what is not yet read is in memory."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text, self._at, self._left, self._is_whole = "", 0, 0, False

    @property
    def position(self) -> int:
        """The number of characters that were read and are done with."""
        return self._left + self._at

    def peek(self) -> str:
        """The next character that is no blank and no comma; "" at the end."""
        while True:
            match = _JSON_SEPARATOR.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text) or not self._read_chunk():
                return self._text[self._at : self._at + 1]

    def skip(self, count: int) -> None:
        """Leaves characters out that were peeked at."""
        self.peek()
        self._at += count

    def value(self) -> Any:
        """The next value of JSON."""
        least_size = 0
        while True:
            if len(self._text) - self._at >= least_size or self._is_whole:
                try:
                    content, self._at = _DECODER.raw_decode(self._text, self._at)
                except RecursionError as error:
                    raise UnreadableTableError("is nested too deeply") from error
                except ValueError as error:
                    # It may be cut off; twice as much is tried next, so that a long row is not read again and again.
                    least_size = 2 * (len(self._text) - self._at) + 1
                    if self._is_whole or least_size > 2 * _LONGEST_ROW:
                        raise UnreadableTableError(JSON_DAMAGE) from error
                else:
                    return content
            self._read_chunk()

    def whole(self) -> str:
        """All that is left."""
        while len(self._text) <= _LARGEST_OBJECT and self._read_chunk():
            pass
        if len(self._text) > _LARGEST_OBJECT:
            limit = _LARGEST_OBJECT >> 20
            raise UnreadableTableError(
                f"is one JSON object of more than {limit} MB; write an array with an object a row"
            )
        return self._text[self._at :]

    def _read_chunk(self) -> bool:
        chunk = self._file.read(_CHUNK)
        self._left += self._at
        self._text = self._text[self._at :] + chunk
        self._at, self._is_whole = 0, not chunk
        return bool(chunk)


# A sample of a table's rows, drawn from all over it, within bounds on memory.


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


def drawn_in_blocks(items: Sequence[Item], *, size: int, count: int) -> list[Item]:
    """About `size` items in at most `count` runs of neighbours, the first and the last items among them.

    Neighbours stay together, so that rows in groups and in order of time can be seen as such.
    """
    if len(items) <= size:
        return list(items)
    length = max(1, size // count)
    starts = evenly_drawn(range(len(items) - length + 1), min(count, size))
    return [item for start in starts for item in items[start : start + length]]


# Tables as text with separators: csv, tsv, and whatever else is called so.
#
# A sample is read in a few pieces from all over the file, so that one that is sorted by class is not judged by one
# class.


SPACES = r"\s+"
_OF_CHECKED_FILES = (",", "\t", ";", "|")
_BLANKS = (" ", SPACES)
_HEAD = 1 << 20
_SNIFFED_ROWS = 50
_CHECKED_ROWS = 20
_LINES_TO_RESYNCHRONISE = 50
_ALIKE, _MOSTLY_ALIKE = 0.9, 0.5
_MARGIN = 4096
# Texts and run-length codes are often longer than the 131,072 characters that the csv module stops at.
csv.field_size_limit(64 << 20)

Rows = list[list[str]]


@dataclass(frozen=True)
class _Layout:
    """The layout of a table's text; `header_size` is in bytes."""

    encoding: str
    separator: str
    header: tuple[str, ...]
    header_size: int
    row_size: float


def delimited_rows(
    file: IO[bytes], separator: str = "", *, encoding: str = UTF_8
) -> Generator[tuple[int, list[str]], None, None]:
    """Yields the header and then each row with the number of its last line, strictly as csv.

    Args:
        file: The uncompressed bytes.
        separator: What stands between the cells; by default the first that divides the header.
        encoding: What the text is in; a byte-order mark of UTF-8 is left out.

    Raises:
        UnreadableTableError: It is not in this encoding, or not csv.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig" if encoding == UTF_8 else encoding, newline="")
    try:
        first = "" if separator else text.readline()
        reader = csv.reader(
            chain([first] if first else [], text), strict=True, delimiter=separator or separator_in(first)
        )
        for cells in reader:
            # Blank lines are skipped, as every reader of CSV does.
            if cells:
                yield reader.line_num, cells
    except UnicodeDecodeError as error:
        raise UnreadableTableError(f"is not {encoding.upper()} text") from error
    except csv.Error as error:
        raise UnreadableTableError(f"is not CSV ({quote_text(str(error))})") from error
    finally:
        text.detach()  # the caller closes the file


def separator_in(header: str) -> str:
    """The first separator that divides a header; a comma where none does."""
    for separator in _OF_CHECKED_FILES:
        if len(next(csv.reader([header], delimiter=separator), [])) > 1:
            return separator
    return ","


def sample_delimited(file: BinaryIO, *, suffix: str, total: int, bounds: SampleBounds) -> Sample:
    """Reads some rows of a table.

    Args:
        file: The uncompressed bytes, or the first of them.
        suffix: Of the file's name, lower case; where it is one of `LOOSE_SUFFIXES`, the text has to look like a table.
        total: How many bytes there are in all.
        bounds: How much may be read.

    Raises:
        NotATableError: It is text or data of another kind.
        UnreadableTableError: It is a table that cannot be read, such as one with a million columns.
        OSError: The file cannot be read.
    """
    available = file.seek(0, io.SEEK_END)
    head = _piece(file, 0, _HEAD)
    is_loose = suffix in LOOSE_SUFFIXES
    encoding = encoding_of(head)
    problem = "" if head.strip(b"\0 \t\r\n") else "is empty"
    if problem or encoding is None:
        raise NotATableError if is_loose else UnreadableTableError(problem or "is not text")
    layout = _layout(head, encoding, suffix, is_cut=available > len(head))
    if available <= max(bounds.size, _HEAD):
        return _sample_whole(_piece(file, 0, available), layout, total, bounds)
    return _sample_pieces(file, layout, total, bounds, available)


def _layout(head: bytes, encoding: str, suffix: str, *, is_cut: bool) -> _Layout:
    text = decode_piece(head, encoding)
    separator = _separator_of(text, suffix, is_cut=is_cut)
    if separator is None:
        raise NotATableError
    rows, sample_end = _rows(text, separator, limit=_SNIFFED_ROWS, is_cut=is_cut)
    if not rows:
        raise UnreadableTableError("has a first line that is too long to be a header")
    if len(rows[0]) > MOST_COLUMNS:
        raise UnreadableTableError(_too_wide(len(rows[0])))
    _, header_end = _rows(text, separator, limit=1, is_cut=False)
    return _Layout(
        encoding=encoding,
        separator=separator,
        header=tuple(rows[0]),
        header_size=_size(text[:header_end], encoding),
        row_size=_size(text[header_end:sample_end], encoding) / max(1, len(rows) - 1),
    )


def _separator_of(text: str, suffix: str, *, is_cut: bool) -> str | None:
    is_loose = suffix in LOOSE_SUFFIXES
    shares: dict[str, float] = {}
    separators = (*_OF_CHECKED_FILES, *_BLANKS)
    for separator in sorted(separators, key=lambda mark: mark != "\t") if suffix in (".tsv", ".tab") else separators:
        if text.count(separator) > MOST_COLUMNS and "\n" not in text and "\r" not in text and is_cut:
            raise UnreadableTableError(_too_wide(text.count(separator)))
        rows, _ = _rows(text, separator, limit=_SNIFFED_ROWS, is_cut=is_cut)
        if not rows or len(rows[0]) == 1 or (is_loose and len(rows) < (3 if separator in _BLANKS else 2)):
            continue
        shares[separator] = sum(_fits(row, len(rows[0])) for row in rows) / len(rows)
        if shares[separator] >= _ALIKE:
            return separator
    if is_loose:
        return None
    best = max(shares, key=lambda separator: shares[separator], default=",")
    return best if shares.get(best, 0) > _MOSTLY_ALIKE else ","


def _fits(row: Sequence[str], width: int) -> bool:
    """True if a row has a cell for each column, and perhaps a separator at its end."""
    return len(row) == width or (len(row) == width + 1 and not row[-1])


def _too_wide(columns: int) -> str:
    return f"has at least {columns:,} columns and was not read; {MOST_COLUMNS:,} are the most that are"


def _sample_whole(content: bytes, layout: _Layout, total: int, bounds: SampleBounds) -> Sample:
    layout = _with_encoding(layout, encoding_of(content))
    # The last row of what is cut may be a part of one.
    is_cut = total > len(content)
    rows = [
        row for row in _reader(io.StringIO(decode_piece(content, layout.encoding), newline=""), layout.separator) if row
    ]
    rows = rows[1 : len(rows) - is_cut]
    sampled_rows = drawn_in_blocks(rows, size=bounds.rows_of(len(layout.header)), count=bounds.pieces)
    row_count = round(len(rows) * total / len(content)) if is_cut else len(rows)
    return _sample_of_rows(
        layout, sampled_rows, total=row_count, is_complete=len(sampled_rows) == row_count and not is_cut
    )


def _sample_pieces(file: BinaryIO, layout: _Layout, total: int, bounds: SampleBounds, available: int) -> Sample:
    row_limit = max(1, bounds.rows_of(len(layout.header)) // bounds.pieces)
    size = int(min(row_limit * layout.row_size * 1.3 + 2 * layout.row_size + _MARGIN, bounds.size / bounds.pieces))
    offsets = [offset - offset % 4 for offset in evenly_drawn(range(max(available - size, 0) + 1), bounds.pieces)]
    raw = [_piece(file, offset, size + layout.header_size * (not offset)) for offset in offsets]
    is_wide = "16" in layout.encoding or "32" in layout.encoding
    sound = [piece for piece in raw if is_wide or b"\0" not in piece]
    layout = _with_encoding(layout, encoding_of(raw[0], sound[1:]))
    text = decode_piece(raw[0], layout.encoding)
    rows, sample_end = _rows(text, layout.separator, limit=row_limit + 1, is_cut=True)
    byte_count = _size(text[:sample_end], layout.encoding) - layout.header_size
    rows = rows[1:]
    for piece in sound[1:]:
        piece_rows, length = _resynchronised_rows(decode_piece(piece, layout.encoding, head=raw[0]), layout, row_limit)
        rows += piece_rows
        byte_count += length
    if not rows or not byte_count:
        raise UnreadableTableError("has rows that are too long for a sample")
    remarks = () if len(sound) == len(raw) else ("has stretches of NUL bytes, which were left out",)
    row_count = round((total - layout.header_size) * len(rows) / byte_count)
    return _sample_of_rows(layout, rows, total=row_count, is_complete=False, remarks=remarks)


def _with_encoding(layout: _Layout, encoding: str | None) -> _Layout:
    """The head alone may be plain ASCII; the header reads the same in all encodings that are tried."""
    return layout if encoding is None else replace(layout, encoding=encoding)


def _resynchronised_rows(text: str, layout: _Layout, limit: int) -> tuple[Rows, int]:
    """The rows of a piece from the middle of a table, and how many bytes they have.

    A line end may stand between quotes; the rows begin at the first one after which they have the header's width.
    """
    starts = (match.end() for match in re.finditer(r"[\r\n]+", text))
    for _, start in zip(range(_LINES_TO_RESYNCHRONISE), starts, strict=False):
        first_rows, _ = _rows(text[start:], layout.separator, limit=_CHECKED_ROWS, is_cut=True)
        if first_rows and all(_fits(row, len(layout.header)) for row in first_rows):
            rows, length = _rows(text[start:], layout.separator, limit=limit, is_cut=True)
            return rows, _size(text[start : start + length], layout.encoding)
    return [], 0


def _rows(text: str, separator: str, *, limit: int, is_cut: bool) -> tuple[Rows, int]:
    """At most `limit` rows of a text, and how many characters they have; of a cut text the last row is left out."""
    position = 0

    def lines() -> Iterator[str]:
        nonlocal position
        for line in io.StringIO(text, newline=""):
            position += len(line)
            yield line

    rows: Rows = []
    end = 0
    for row in _reader(lines(), separator):
        if is_cut and position == len(text):
            break
        end = position
        if row:
            rows.append(row)
        if len(rows) == limit:
            break
    return rows, end


def _reader(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    reader = csv.reader(
        lines, delimiter=" " if separator in _BLANKS else separator, skipinitialspace=separator == SPACES
    )
    try:
        yield from reader
    except csv.Error:
        # What comes before is whole; a field beyond all bounds ends the sample.
        return


def _piece(file: BinaryIO, offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


def _size(text: str, encoding: str) -> int:
    return len(text.encode(encoding, errors="replace"))


def _sample_of_rows(
    layout: _Layout, rows: Rows, *, total: int, is_complete: bool, remarks: tuple[str, ...] = ()
) -> Sample:
    if layout.encoding in ("cp1252", "latin-1"):
        remarks = (f"is not {UTF_8.upper()}; it was read as {layout.encoding}", *remarks)
    width = len(layout.header)
    longer = [row for row in rows if len(row) > width]
    has_trailing_separator = bool(longer) and all(_fits(row, width) for row in longer)
    if has_trailing_separator:
        rows = [row[:width] for row in rows]
        remarks = ("has a separator at the end of its rows, which was left out", *remarks)
    uneven_count = sum(len(row) != width for row in rows)
    if uneven_count:
        remark = f"has {uneven_count:,} rows, of {len(rows):,} sampled, with another number of fields than the header"
        remarks = (*remarks, remark)
    return Sample(
        format=TableFormat.CSV,
        header=layout.header,
        rows=rows,
        total=total,
        is_complete=is_complete,
        separator=layout.separator,
        encoding=layout.encoding,
        remarks=remarks,
        has_trailing_separator=has_trailing_separator,
    )


# Tables as JSON: an array of objects, an object on every line, or one object of columns or of ids.
#
# All of it is read by one decoder of records: as a stream where every row is checked, in pieces where a few are
# sampled.


_PIECES = 8
_DEEPEST_FIELD = 5
_PLACES_TO_RESYNCHRONISE = 200
_MEGABYTE = 1 << 20
_BOUNDARIES = {TableFormat.JSON: re.compile(r"\}\s*,\s*(?=\{)"), TableFormat.JSON_LINES: re.compile(r"\n[ \t]*(?=\{)")}
# Where an object names each id and what is said of it, its columns have no names of their own.
_PAIR_COLUMNS = ("id", "value")

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
            yield from _rows_of_object(_parse_object(text.whole()))
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
    content = decode_piece(head, encoding).lstrip()
    is_array, is_object = content.startswith("["), content.startswith("{")
    if is_object and suffix == ".json" and not _is_lines(content):
        if not is_whole:
            raise UnreadableTableError(f"is one JSON object of {total // _MEGABYTE:,} MB and was not read")
        columns = _sampled_columns(_parse_object(content))
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return _sample_of_records(TableFormat.JSON, rows, bounds, encoding=encoding)
    if not is_array and not is_object:
        raise UnreadableTableError("is not JSON")
    table_format = TableFormat.JSON if is_array else TableFormat.JSON_LINES
    text = JsonText(io.StringIO(content))
    text.skip(is_array)
    records, is_damaged = _parse_records(text, end="]" if is_array else "")
    if not records and not is_damaged:
        raise NotATableError
    if not records:
        raise UnreadableTableError("is not JSON, or its first object is damaged or too large")
    if is_whole:
        damage = ("is damaged or cut off; what comes before was read",) if is_damaged else ()
        return replace(_sample_of_records(table_format, records, bounds, encoding=encoding), remarks=damage)
    row_count = round(total * len(records) / len(content[: text.position].encode(encoding, "replace")))
    names = frozenset(key for record in records for key in record)
    records = drawn_in_blocks(records, size=bounds.rows // 2, count=_PIECES)
    for piece in _further_pieces(file, bounds, encoding, head):
        records += _resynchronised_records(piece, _BOUNDARIES[table_format], names)
    return _sample_of_records(table_format, records, bounds, encoding=encoding, total=row_count)


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


def _parse_records(text: JsonText, *, end: str) -> tuple[list[Record], bool]:
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


def _parse_object(text: str) -> Record:
    try:
        content: Record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableTableError(JSON_DAMAGE) from error
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
            row_names = ", ".join(quote_text(name) for name in list(record)[:5])
            raise UnreadableTableError(f"is uneven: row {number} has other names than the first: {row_names}")
        yield number, [_cell(record[name]) for name in names]


def _rows_of_object(content: Record) -> Iterator[tuple[int, list[str]]]:
    columns = _columns(content) if len(content) > 1 else None
    # Lists that are no columns are what is said of an id, such as the corners of a box.
    is_nested = columns is content and any(
        isinstance(cell, dict | list) for column in columns.values() for cell in column
    )
    if columns is None or is_nested:
        yield 0, list(_PAIR_COLUMNS)
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
    table_names = [name for name, column in lists.items() if column and isinstance(column[0], dict)]
    if table_names and len(lists) == len(content):
        raise UnreadableTableError(
            f'holds tables in itself, such as "{printable(table_names[0][:80])}", and was not read'
        )
    columns = _columns(content)
    are_numbered = bool(content) and all(map(str.isdecimal, content))
    if columns is None and are_numbered and all(isinstance(text, str) for text in content.values()):
        columns = dict(zip(_PAIR_COLUMNS, ([*content], [*content.values()]), strict=True))  # the names of classes
    if columns is None:
        raise NotATableError
    return columns


def _further_pieces(file: BinaryIO, bounds: SampleBounds, encoding: str, head: bytes) -> Iterator[str]:
    available = file.seek(0, io.SEEK_END)
    size = bounds.size // 2 // _PIECES
    first = min(len(head), max(available - size, 0))
    for offset in evenly_drawn(range(first, available - size + 1), _PIECES):
        file.seek(offset - offset % 4)
        yield decode_piece(file.read(size), encoding, head=head)


def _resynchronised_records(text: str, boundary: re.Pattern[str], names: frozenset[str]) -> list[Record]:
    """The objects of a piece from the middle of a file: those after the first boundary that has the known names.

    A boundary may also stand in a nested array or in a text; what follows there has other names.
    """
    for _, match in zip(range(_PLACES_TO_RESYNCHRONISE), boundary.finditer(text), strict=False):
        records, _ = _parse_records(JsonText(io.StringIO(text[match.end() :])), end="")
        if records and records[0] and all(names.issuperset(record) for record in records):
            return records
    return []


def _sample_of_records(
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
    sampled_records = drawn_in_blocks(records, size=bounds.rows_of(len(names)), count=_PIECES)
    rows = [_flat(record) for record in sampled_records]
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


# Tables in parquet files, by pyarrow, where it is installed.


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
    with _open_parquet(file, has_dictionaries=True) as parquet_file:
        groups = map(parquet_file.metadata.row_group, range(parquet_file.metadata.num_row_groups))
        # One cell is read as a whole, and some KB of a file can hold one of a gigabyte.
        if any(group.total_byte_size > _LARGEST_ROW_GROUP for group in groups):
            raise UnreadableTableError(
                f"has row groups of more than {_LARGEST_ROW_GROUP >> 20} MB; write it with a row_group_size"
            )
        yield 0, list(parquet_file.schema_arrow.names)
        number = 0
        for batch in parquet_file.iter_batches(batch_size=_BATCH):
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
    with _open_parquet(file) as parquet_file:
        schema, total, count = (
            parquet_file.schema_arrow,
            parquet_file.metadata.num_rows,
            parquet_file.metadata.num_row_groups,
        )
        if len(schema.names) > MOST_COLUMNS:
            problem = f"has {len(schema.names):,} columns and was not read; {MOST_COLUMNS:,} are the most"
            raise UnreadableTableError(problem)
        row_limit = min(bounds.rows_of(len(schema.names)), total)
        groups: list[int] = [
            group
            for group in evenly_drawn(range(count), _ROW_GROUPS)
            if parquet_file.metadata.row_group(group).total_byte_size <= bounds.row_group
        ]
        remarks: tuple[str, ...] = ()
        if total and not groups:
            remarks = (f"has row groups of more than {bounds.row_group >> 20} MB; only its schema was read",)
        if groups and total <= row_limit:
            groups = list(range(count))
        group_limit = row_limit if total <= row_limit else -(-row_limit // max(1, len(groups)))
        rows = [row for group in groups for row in _first_rows(parquet_file, group, group_limit)]
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
def _open_parquet(file: IO[bytes], *, has_dictionaries: bool = False) -> Iterator[Any]:
    """Opens a file; what pyarrow raises then, or when it is read, is one kind of error."""
    try:
        # Imported by name, since pyarrow need not be installed and has no types.
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        problem = "was not read, since pyarrow is missing; install it with: pip install pyarrow"
        raise PyarrowMissingError(problem) from error
    try:
        texts = _text_columns(parquet, file) if has_dictionaries else None
        with parquet.ParquetFile(file, buffer_size=1 << 16, read_dictionary=texts) as parquet_file:
            yield parquet_file
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
        texts = ["" if value is None else str(value) for value in column.dictionary.to_pylist()]
        return ["" if place is None else texts[place] for place in column.indices.to_pylist()]
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _first_rows(parquet_file: Any, group: int, count: int) -> list[tuple[object, ...]]:
    for batch in parquet_file.iter_batches(batch_size=count, row_groups=[group]):
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


# Every row of a table as text, whatever its file is written in; files are read as streams.


Row = tuple[int, list[str]]

_PIECE = 1 << 22  # a multiple of 4, as `encodings` wants it


def table_rows(path: Path, *, separator: str = "", encoding: str = UTF_8) -> Iterator[Row]:
    """Yields the header and then each row, as cells of text with the number of the line or row.

    Args:
        path: A file, possibly compressed, or the member of a zip archive.
        separator: What has to stand between the cells of a text whose name says nothing of it; by default what does.
        encoding: What a text is in.

    Raises:
        UnreadableTableError: It cannot be read as what its name says.
        OSError: It cannot be read at all.
    """
    with open_unpacked(path) as (file, name):
        named_format = table_format(name)
        if named_format.format is TableFormat.PARQUET:
            yield from parquet_rows(file)
        elif named_format.format in (TableFormat.JSON, TableFormat.JSON_LINES):
            yield from json_rows(file, is_lines=named_format.format is TableFormat.JSON_LINES)
        else:
            yield from delimited_rows(file, named_format.separator or separator, encoding=encoding)


def layout_within(path: Path) -> tuple[str, str]:
    """The encoding of a text, as a survey finds it, and the separator between its cells.

    Returns:
        UTF-8 for what is no text, or cannot be read; and "" for that, or where the name says the separator.
    """
    encoding, separator = UTF_8, ""
    with suppress(OSError, UnreadableTableError, ValueError, csv.Error):
        with open_unpacked(path) as (file, name):
            named_format = table_format(name)
            pieces = iter(partial(file.read, _PIECE), b"")
            if named_format.format not in (TableFormat.CSV, None):
                return encoding, separator
            encoding = encoding_of(next(pieces, b""), pieces) or UTF_8
        if not named_format.separator:
            with open_unpacked(path) as (file, _):
                text = io.TextIOWrapper(file, encoding=encoding, newline="")
                separator = separator_in(text.readline().removeprefix("\ufeff"))
    return encoding, separator
