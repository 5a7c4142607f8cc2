"""Rows that are written in JSON: an array of objects, an object on every line, or one object of columns or of ids."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

from generator.untrusted import quoted

_CHUNK = 1 << 20
_LONGEST_ROW = 1 << 26
_LARGEST_OBJECT = 1 << 26
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()
# Where an object names each id and what is said of it, its columns have no names of their own.
_UNNAMED = ("id", "value")

Row = tuple[int, list[str]]


class NotRowsError(Exception):
    """The text is not JSON, or not rows; the message is a clause."""


def rows_of_json(file: IO[bytes], *, is_lines: bool) -> Iterator[Row]:
    """Yields the header and then each row with its number from 1, or that of its line.

    Args:
        file: The text, in UTF-8.
        is_lines: Whether every line is a row of its own, so that one object alone is a row as well.

    Raises:
        NotRowsError: It is not JSON, or not rows.
        UnicodeDecodeError: It is not UTF-8.
    """
    text = _Text(file)
    start = text.peek()
    if start == "[":
        text.skip(1)
        yield from _of_records(_records(text, end="]"))
    elif start == "{" and is_lines:
        yield from _of_records(_records(text, end=""))
    elif start == "{":
        yield from _of_object(text)
    elif start:
        raise NotRowsError("it is not JSON with a row for each id")


class _Text:
    """Text of which only what is not yet read is in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text, self._at, self._is_whole = "", 0, False

    def peek(self) -> str:
        """The next character that is no blank and no comma; "" at the end."""
        while True:
            found = _BETWEEN.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def skip(self, count: int) -> None:
        """Leaves characters out."""
        self._at += count

    def value(self) -> Any:
        """The next value of JSON."""
        wanted = 0
        while True:
            if len(self._text) - self._at >= wanted or self._is_whole:
                try:
                    found, self._at = _DECODER.raw_decode(self._text, self._at)
                except RecursionError as error:
                    raise NotRowsError("it is nested too deeply") from error
                except ValueError as error:
                    # It may be cut off; twice as much is tried next, so that a long row is not read again and again.
                    wanted = 2 * (len(self._text) - self._at) + 1
                    if self._is_whole or wanted > 2 * _LONGEST_ROW:
                        raise NotRowsError("it is not JSON, or it is damaged or cut off") from error
                else:
                    return found
            self._more()

    def whole(self) -> str:
        """All that is left."""
        while len(self._text) <= _LARGEST_OBJECT and self._more():
            pass
        if len(self._text) > _LARGEST_OBJECT:
            limit = _LARGEST_OBJECT >> 20
            raise NotRowsError(f"it is one JSON object of more than {limit} MB; write an array with an object a row")
        return self._text[self._at :]

    def _more(self) -> bool:
        chunk = self._file.read(_CHUNK)
        self._text = self._text[self._at :] + self._decode(chunk, final=not chunk)
        self._at, self._is_whole = 0, not chunk
        return bool(chunk)


def _records(text: _Text, *, end: str) -> Iterator[dict[str, Any]]:
    while (start := text.peek()) != end:
        if start != "{":
            raise NotRowsError("it is cut off" if not start else "its rows are no objects with a name for each value")
        yield text.value()
    text.skip(len(end))
    if text.peek():
        raise NotRowsError("something stands behind its last row")


def _of_records(records: Iterator[dict[str, Any]]) -> Iterator[Row]:
    names: list[str] = []
    for number, record in enumerate(records, start=1):
        if not names:
            names = list(record)
            yield 0, names
        if record.keys() != set(names):
            raise NotRowsError(f"row {number} has other names than the first: {_listed(record)}")
        yield number, [_cell(record[name]) for name in names]


def _of_object(text: _Text) -> Iterator[Row]:
    try:
        content: dict[str, Any] = json.loads(text.whole())
    except (ValueError, RecursionError) as error:
        raise NotRowsError("it is not JSON, or it is damaged or cut off") from error
    columns = _columns(content)
    if columns is not None:
        yield 0, list(columns)
        rows: Iterator[tuple[Any, ...]] = zip(*columns.values(), strict=True)
    else:
        yield 0, list(_UNNAMED)
        rows = iter(content.items())
    for number, row in enumerate(rows, start=1):
        yield number, [_cell(value) for value in row]


def _columns(content: dict[str, Any]) -> dict[str, list[Any]] | None:
    """The columns of an object of arrays, or of objects whose names are numbers of rows; None if its names are ids."""
    columns = list(content.values())
    if len(columns) > 1 and all(isinstance(column, dict) for column in columns):
        rows = list(columns[0])
        if rows and all(row.isdecimal() for row in rows) and all(column.keys() == set(rows) for column in columns):
            return {name: [column[row] for row in rows] for name, column in content.items()}
    if len(columns) > 1 and all(isinstance(column, list) for column in columns):
        is_flat = not any(isinstance(value, dict | list) for column in columns for value in column)
        if is_flat and len({len(column) for column in columns}) == 1:
            return content
    return None


def _listed(record: dict[str, Any]) -> str:
    return ", ".join(quoted(name) for name in list(record)[:5])


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value) if isinstance(value, dict | list) else str(value)
