"""Tables as text with separators: csv, tsv, and whatever else is called so.

A sample is read in a few pieces from all over the file, so that one that is sorted by class is not judged by one class.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import IO, BinaryIO

from generator.competition.tables.encodings import UTF_8, decoded, encoding_of
from generator.competition.tables.errors import NotATableError, UnreadableTableError
from generator.competition.tables.formats import LOOSE_SUFFIXES, TableFormat
from generator.competition.tables.sample import MOST_COLUMNS, Sample, SampleBounds, drawn_in_blocks, evenly_drawn
from generator.untrusted import quoted

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


def delimited_rows(file: IO[bytes], separator: str = "", *, encoding: str = UTF_8) -> Iterator[tuple[int, list[str]]]:
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
        raise UnreadableTableError(f"is not CSV ({quoted(str(error))})") from error
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
    rows = [row for row in _reader(io.StringIO(decoded(content, layout.encoding), newline=""), layout.separator) if row]
    rows = rows[1 : len(rows) - is_cut]
    kept = drawn_in_blocks(rows, wanted=bounds.rows_of(len(layout.header)), count=bounds.pieces)
    counted = round(len(rows) * total / len(content)) if is_cut else len(rows)
    return _sample(layout, kept, total=counted, is_complete=len(kept) == counted and not is_cut)


def _sample_pieces(file: BinaryIO, layout: _Layout, total: int, bounds: SampleBounds, available: int) -> Sample:
    wanted = max(1, bounds.rows_of(len(layout.header)) // bounds.pieces)
    size = int(min(wanted * layout.row_size * 1.3 + 2 * layout.row_size + _MARGIN, bounds.size / bounds.pieces))
    offsets = [offset - offset % 4 for offset in evenly_drawn(range(max(available - size, 0) + 1), bounds.pieces)]
    raw = [_piece(file, offset, size + layout.header_size * (not offset)) for offset in offsets]
    is_wide = "16" in layout.encoding or "32" in layout.encoding
    sound = [piece for piece in raw if is_wide or b"\0" not in piece]
    layout = _with_encoding(layout, encoding_of(raw[0], sound[1:]))
    text = decoded(raw[0], layout.encoding)
    rows, consumed = _rows(text, layout.separator, limit=wanted + 1, is_cut=True)
    read = _size(text[:consumed], layout.encoding) - layout.header_size
    rows = rows[1:]
    for piece in sound[1:]:
        found, length = _resynchronised(decoded(piece, layout.encoding, head=raw[0]), layout, wanted)
        rows += found
        read += length
    if not rows or not read:
        raise UnreadableTableError("has rows that are too long for a sample")
    remarks = () if len(sound) == len(raw) else ("has stretches of NUL bytes, which were left out",)
    counted = round((total - layout.header_size) * len(rows) / read)
    return _sample(layout, rows, total=counted, is_complete=False, remarks=remarks)


def _with_encoding(layout: _Layout, encoding: str | None) -> _Layout:
    """The head alone may be plain ASCII; the header reads the same in all encodings that are tried."""
    return layout if encoding is None else replace(layout, encoding=encoding)


def _resynchronised(text: str, layout: _Layout, wanted: int) -> tuple[Rows, int]:
    """The rows of a piece from the middle of a table, and how many bytes they have.

    A line end may stand between quotes; the rows begin at the first one after which they have the header's width.
    """
    starts = (match.end() for match in re.finditer(r"[\r\n]+", text))
    for _, start in zip(range(_LINES_TO_RESYNCHRONISE), starts, strict=False):
        checked, _ = _rows(text[start:], layout.separator, limit=_CHECKED_ROWS, is_cut=True)
        if checked and all(_fits(row, len(layout.header)) for row in checked):
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


def _sample(layout: _Layout, rows: Rows, *, total: int, is_complete: bool, remarks: tuple[str, ...] = ()) -> Sample:
    if layout.encoding in ("cp1252", "latin-1"):
        remarks = (f"is not {UTF_8.upper()}; it was read as {layout.encoding}", *remarks)
    width = len(layout.header)
    longer = [row for row in rows if len(row) > width]
    has_trailing_separator = bool(longer) and all(_fits(row, width) for row in longer)
    if has_trailing_separator:
        rows = [row[:width] for row in rows]
        remarks = ("has a separator at the end of its rows, which was left out", *remarks)
    uneven = sum(len(row) != width for row in rows)
    if uneven:
        said = f"has {uneven:,} rows, of {len(rows):,} sampled, with another number of fields than the header"
        remarks = (*remarks, said)
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
