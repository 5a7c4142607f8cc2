"""The rows of a submission as text, whatever its file is written in; files are read as streams."""

import csv
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from generator.competition.submission.errors import MissingReaderError, UnreadableSubmissionError
from generator.competition.submission.formats import FileFormat, format_of, opened
from generator.competition.submission.json_rows import NotRowsError, rows_of_json
from generator.files import reason
from generator.untrusted import quoted

# The run-length code of a large mask is longer than the 128 KiB that the csv module stops at.
csv.field_size_limit(64 * 1024 * 1024)
_SEPARATORS = (",", "\t", ";", "|")

Row = tuple[int, list[str]]


def unit_of(path: Path) -> str:
    """What the number of a row counts, for messages: lines of a text, else rows below the header."""
    return "row" if format_of(path.name).format in (FileFormat.PARQUET, FileFormat.JSON) else "line"


def read_table(path: Path, *, separator: str = "") -> Iterator[Row]:
    """Yields the header and then each row, as cells of text with the number of the line or row.

    Args:
        path: A file, possibly compressed, or the member of a zip archive.
        separator: What has to stand between the cells of a text whose name says nothing of it; by default what does.

    Raises:
        MissingReaderError: A package that reads the format is not installed.
        UnreadableSubmissionError: It cannot be read as what its name says.
    """
    try:
        with opened(path) as (file, name):
            promised = format_of(name)
            if promised.format is FileFormat.PARQUET:
                yield from _parquet(path, file)
            elif promised.format in (FileFormat.JSON, FileFormat.JSON_LINES):
                yield from rows_of_json(file, is_lines=promised.format is FileFormat.JSON_LINES)
            else:
                yield from _separated(file, promised.separator or separator)
    except OSError as error:
        raise UnreadableSubmissionError(path=path, why=_why(error)) from error
    except (zipfile.BadZipFile, EOFError, KeyError, zlib.error, lzma.LZMAError, RuntimeError) as error:
        raise UnreadableSubmissionError(path=path, why=f"it cannot be unpacked ({quoted(str(error))})") from error
    except UnicodeDecodeError as error:
        raise UnreadableSubmissionError(path=path, why="it is not UTF-8 text") from error
    except csv.Error as error:
        raise UnreadableSubmissionError(path=path, why=f"it is not CSV ({quoted(str(error))})") from error
    except NotRowsError as error:
        raise UnreadableSubmissionError(path=path, why=str(error)) from error


def separator_within(path: Path) -> str:
    """What stands between the cells of a text; "" where the name says it, for what is no text, or cannot be read."""
    try:
        with opened(path) as (file, name):
            promised = format_of(name)
            is_open = promised.format in (FileFormat.SEPARATED, None) and not promised.separator
            return _sniffed(_text(file))[0] if is_open else ""
    except (OSError, EOFError, KeyError, ValueError, csv.Error, zlib.error, lzma.LZMAError, zipfile.BadZipFile):
        return ""


def separator_in(header: str) -> str:
    """The first separator that divides a header; a comma where none does."""
    for separator in _SEPARATORS:
        if len(next(csv.reader([header], delimiter=separator), [])) > 1:
            return separator
    return ","


def _parquet(path: Path, file: IO[bytes]) -> Iterator[Row]:
    # Beside the looks at files of all kinds, whose modules nothing else here needs.
    from generator.competition.survey.parquet import ParquetError, PyarrowMissingError, rows_of_parquet

    try:
        yield from rows_of_parquet(file)
    except ParquetError as error:
        raise UnreadableSubmissionError(path=path, why=str(error)) from error
    except PyarrowMissingError as error:
        raise MissingReaderError(path=path, package="pyarrow") from error


def _why(error: OSError) -> str:
    """The system's reason; damaged gzip and bz2 files are errors of the system that have none."""
    return reason(error) if error.errno is not None else f"it cannot be unpacked ({quoted(str(error))})"


def _text(file: IO[bytes]) -> io.TextIOWrapper:
    return io.TextIOWrapper(file, encoding="utf-8-sig", newline="")


def _separated(file: IO[bytes], separator: str) -> Iterator[Row]:
    text = _text(file)
    found, first = (separator, "") if separator else _sniffed(text)
    reader = csv.reader(_resumed(first, text), strict=True, delimiter=found)
    for cells in reader:
        # Blank lines are skipped, as every reader of CSV does.
        if cells:
            yield reader.line_num, cells


def _resumed(first: str, rest: io.TextIOWrapper) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def _sniffed(text: io.TextIOWrapper) -> tuple[str, str]:
    first = text.readline()
    return separator_in(first), first
