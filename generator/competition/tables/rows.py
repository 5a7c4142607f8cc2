"""Every row of a table as text, whatever its file is written in; files are read as streams."""

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from generator.competition.tables.compression import opened
from generator.competition.tables.delimited import delimited_rows, separator_in
from generator.competition.tables.encodings import UTF_8, encoding_of
from generator.competition.tables.errors import UnreadableTableError
from generator.competition.tables.formats import TableFormat, format_of
from generator.competition.tables.json_records import json_rows
from generator.competition.tables.parquet import parquet_rows

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
    with opened(path) as (file, name):
        promised = format_of(name)
        if promised.format is TableFormat.PARQUET:
            yield from parquet_rows(file)
        elif promised.format in (TableFormat.JSON, TableFormat.JSON_LINES):
            yield from json_rows(file, is_lines=promised.format is TableFormat.JSON_LINES)
        else:
            yield from delimited_rows(file, promised.separator or separator, encoding=encoding)


def layout_within(path: Path) -> tuple[str, str]:
    """The encoding of a text, as a survey finds it, and the separator between its cells.

    Returns:
        UTF-8 for what is no text, or cannot be read; and "" for that, or where the name says the separator.
    """
    encoding, separator = UTF_8, ""
    with suppress(OSError, UnreadableTableError, ValueError, csv.Error):
        with opened(path) as (file, name):
            promised = format_of(name)
            pieces = iter(partial(file.read, _PIECE), b"")
            if promised.format not in (TableFormat.CSV, None):
                return encoding, separator
            encoding = encoding_of(next(pieces, b""), pieces) or UTF_8
        if not promised.separator:
            with opened(path) as (file, _):
                text = io.TextIOWrapper(file, encoding=encoding, newline="")
                separator = separator_in(text.readline().removeprefix("\ufeff"))
    return encoding, separator
