"""Tables as text with separators: csv, tsv, and whatever else is called so.

A table is read in a few pieces from all over the file, so that one that is sorted by class is not judged by one class.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from generator.competition.survey.bounds import MOST_COLUMNS, TableBounds, blocks, evenly_drawn
from generator.competition.survey.columns import columns_of, header_names, kind_of, with_points
from generator.competition.survey.encodings import UTF_8, decoded, encoding_of
from generator.competition.survey.facts import ColumnKind
from generator.competition.survey.sample import NotATableError, Sample, UnreadableTableError
from generator.competition.survey.sources import ByteSource

SURE_SUFFIXES = frozenset((".csv", ".tsv", ".tab", ".psv"))
POSSIBLE_SUFFIXES = frozenset((".txt", ".data", ".dat"))
_SPACES = r"\s+"
_SEPARATORS = (",", "\t", ";", "|", " ", _SPACES)
_BLANKS = (" ", _SPACES)
_HEAD = 1 << 20
_SNIFFED_ROWS = 50
_CHECKED_ROWS = 20
_LINES_TO_RESYNCHRONISE = 50
_ALIKE, _MOSTLY_ALIKE = 0.9, 0.5
_MARGIN = 4096

Rows = list[list[str]]


@dataclass(frozen=True)
class _Layout:
    """How the text of a table is laid out; `header_size` is in bytes."""

    encoding: str
    separator: str
    header: tuple[str, ...]
    header_size: int
    row_size: float

    @property
    def width(self) -> int:
        return len(self.header)


def sample_separated(source: ByteSource, *, suffix: str, bounds: TableBounds) -> Sample:
    """Reads some rows of a table.

    Args:
        source: The uncompressed bytes.
        suffix: Of the file's name, lower case; one of `SURE_SUFFIXES`, or the text has to look like a table.
        bounds: How much may be read.

    Raises:
        NotATableError: It is text or data of another kind.
        UnreadableTableError: It is a table that cannot be read, such as one with a million columns.
        OSError: The file cannot be read.
    """
    head = source.read(0, _HEAD)
    if not head.strip(b"\0 \t\r\n"):
        raise UnreadableTableError("is empty") if suffix in SURE_SUFFIXES else NotATableError
    with _long_fields():
        layout = _layout(head, suffix, is_cut=source.available > len(head))
        if source.available <= max(bounds.size, _HEAD):
            return _sample_whole(source, layout, bounds)
        return _sample_pieces(source, layout, bounds)


@contextmanager
def _long_fields() -> Iterator[None]:
    # Texts and run-length codes are often longer than the 131,072 characters that the csv module allows by itself.
    limit = csv.field_size_limit(_HEAD * 8)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _layout(head: bytes, suffix: str, *, is_cut: bool) -> _Layout:
    encoding = encoding_of(head)
    if encoding is None:
        raise UnreadableTableError("is not text") if suffix in SURE_SUFFIXES else NotATableError
    text = decoded(head, encoding)
    separator = _separator_of(text, suffix, is_cut=is_cut)
    if separator is None:
        raise NotATableError
    rows, consumed = _rows(text, separator, limit=_SNIFFED_ROWS, is_cut=is_cut)
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
        row_size=_size(text[header_end:consumed], encoding) / max(1, len(rows) - 1),
    )


def _separator_of(text: str, suffix: str, *, is_cut: bool) -> str | None:
    is_sure = suffix in SURE_SUFFIXES
    shares: dict[str, float] = {}
    for separator in sorted(_SEPARATORS, key=lambda mark: mark != "\t") if suffix in (".tsv", ".tab") else _SEPARATORS:
        if text.count(separator) > MOST_COLUMNS and "\n" not in text and "\r" not in text and is_cut:
            raise UnreadableTableError(_too_wide(text.count(separator)))
        rows, _ = _rows(text, separator, limit=_SNIFFED_ROWS, is_cut=is_cut)
        if not rows or len(rows[0]) == 1:
            continue
        if not is_sure and len(rows) < (3 if separator in _BLANKS else 2):
            continue
        shares[separator] = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        if shares[separator] >= _ALIKE:
            return separator
    if not is_sure:
        return None
    best = max(shares, key=lambda separator: shares[separator], default=",")
    return best if shares.get(best, 0) > _MOSTLY_ALIKE else ","


def _too_wide(columns: int) -> str:
    return f"has at least {columns:,} columns and was not read; {MOST_COLUMNS:,} are the most that are"


def _sample_whole(source: ByteSource, layout: _Layout, bounds: TableBounds) -> Sample:
    content = source.read(0, source.available)
    layout = _with_encoding(layout, encoding_of(content))
    text, is_cut = decoded(content, layout.encoding), source.total > source.available
    total = sum(1 for row in _reader(io.StringIO(text, newline=""), layout.separator) if row) - 1 - is_cut
    wanted = {row for run in blocks(total, wanted=bounds.rows_of(layout.width), count=bounds.pieces) for row in run}
    reader = (row for row in _reader(io.StringIO(text, newline=""), layout.separator) if row)
    next(reader)
    rows = [row for position, row in enumerate(reader) if position in wanted]
    if is_cut:
        total = round(total * source.total / source.available)
    return _sample(layout, rows, total=max(total, 0), is_complete=not is_cut and len(rows) == total)


def _sample_pieces(source: ByteSource, layout: _Layout, bounds: TableBounds) -> Sample:
    wanted = max(1, bounds.rows_of(layout.width) // bounds.pieces)
    size = int(min(wanted * layout.row_size * 1.3 + 2 * layout.row_size + _MARGIN, bounds.size / bounds.pieces))
    last = max(source.available - size, 0)
    offsets = [offset - offset % 4 for offset in evenly_drawn(range(last + 1), bounds.pieces)]
    raw = [source.read(offset, size + layout.header_size * (not offset)) for offset in offsets]
    head = raw[0]
    is_wide = "16" in layout.encoding or "32" in layout.encoding
    sound = [piece for piece in raw if is_wide or b"\0" not in piece]
    layout = _with_encoding(layout, encoding_of(head, sound[1:]))
    rows, consumed = _rows(decoded(head, layout.encoding), layout.separator, limit=wanted + 1, is_cut=True)
    read = _size(decoded(head, layout.encoding)[:consumed], layout.encoding) - layout.header_size
    rows = rows[1:]
    for piece in sound[1:]:
        found, length = _resynchronised(decoded(piece, layout.encoding, head=head), layout, wanted)
        rows += found
        read += length
    if not rows or not read:
        raise UnreadableTableError("has rows that are too long for a sample")
    total = round((source.total - layout.header_size) * len(rows) / read)
    sample = _sample(layout, rows, total=total, is_complete=False)
    return sample if len(sound) == len(raw) else sample.remarking("has stretches of NUL bytes, which were left out")


def _with_encoding(layout: _Layout, encoding: str | None) -> _Layout:
    """The head alone may be plain ASCII; the header reads the same in all encodings that are tried."""
    if encoding is None or encoding == layout.encoding:
        return layout
    return _Layout(encoding, layout.separator, layout.header, layout.header_size, layout.row_size)


def _resynchronised(text: str, layout: _Layout, wanted: int) -> tuple[Rows, int]:
    """The rows of a piece from the middle of a table, and how many bytes they have.

    A line end may stand between quotes; the rows begin at the first one after which they have the header's width.
    """
    starts = (match.end() for match in re.finditer(r"[\r\n]+", text))
    for _, start in zip(range(_LINES_TO_RESYNCHRONISE), starts, strict=False):
        checked, _ = _rows(text[start:], layout.separator, limit=_CHECKED_ROWS, is_cut=True)
        if checked and all(len(row) == layout.width for row in checked):
            rows, consumed = _rows(text[start:], layout.separator, limit=wanted, is_cut=True)
            return rows, _size(text[start : start + consumed], layout.encoding)
    return [], 0


def _rows(text: str, separator: str, *, limit: int, is_cut: bool) -> tuple[Rows, int]:
    """At most `limit` rows of a text, and how many characters they have; of a cut text the last row is left out."""
    consumed = 0

    def lines() -> Iterator[str]:
        nonlocal consumed
        for line in io.StringIO(text, newline=""):
            consumed += len(line)
            yield line

    rows: Rows = []
    end = 0
    for row in _reader(lines(), separator):
        if is_cut and consumed == len(text):
            break
        end = consumed
        if row:
            rows.append(row)
        if len(rows) == limit:
            break
    return rows, end


def _reader(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    reader = csv.reader(
        lines, delimiter=" " if separator in _BLANKS else separator, skipinitialspace=separator == _SPACES
    )
    try:
        yield from reader
    except csv.Error:
        # What comes before is whole; a field beyond all bounds ends the sample.
        return


def _size(text: str, encoding: str) -> int:
    return len(text.encode(encoding, errors="replace"))


def _sample(layout: _Layout, rows: Rows, *, total: int, is_complete: bool) -> Sample:
    names, remarks = header_names(layout.header)
    found = list(remarks)
    if layout.encoding in ("cp1252", "latin-1"):
        found.append(f"is not {UTF_8.upper()}; it was read as {layout.encoding}")
    uneven = sum(len(row) != layout.width for row in rows)
    if uneven:
        found.append(f"has {uneven:,} rows, of {len(rows):,} sampled, with another number of fields than the header")
    if all(kind_of([name]) in (ColumnKind.INTEGER, ColumnKind.NUMBER) for name in layout.header) and rows:
        found.append("has only numbers in its first line, which was taken for the header")
    columns = columns_of(names, rows)
    # Where commas separate cells, or may stand between thousands, a comma is no decimal point.
    pointed = with_points(columns) if layout.separator == ";" else None
    return Sample(
        columns=pointed or columns,
        rows=total,
        is_complete=is_complete,
        separator=layout.separator,
        decimal="," if pointed else ".",
        encoding=layout.encoding,
        remarks=tuple(found),
    )
