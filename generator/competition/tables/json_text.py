"""JSON as a stream of values, of which only what is not yet read is in memory."""

import json
import re
from typing import Any, TextIO

from generator.competition.tables.errors import UnreadableTableError

DAMAGED = "is not JSON, or it is damaged or cut off"
_CHUNK = 1 << 20
_LONGEST_ROW = 1 << 26
_LARGEST_OBJECT = 1 << 26
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


class JsonText:
    """Text of which only what is not yet read is in memory."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text, self._at, self._left, self._is_whole = "", 0, 0, False

    @property
    def consumed(self) -> int:
        """The number of characters that were read and are done with."""
        return self._left + self._at

    def peek(self) -> str:
        """The next character that is no blank and no comma; "" at the end."""
        while True:
            found = _BETWEEN.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def skip(self, count: int) -> None:
        """Leaves characters out that were peeked at."""
        self.peek()
        self._at += count

    def value(self) -> Any:
        """The next value of JSON."""
        wanted = 0
        while True:
            if len(self._text) - self._at >= wanted or self._is_whole:
                try:
                    found, self._at = _DECODER.raw_decode(self._text, self._at)
                except RecursionError as error:
                    raise UnreadableTableError("is nested too deeply") from error
                except ValueError as error:
                    # It may be cut off; twice as much is tried next, so that a long row is not read again and again.
                    wanted = 2 * (len(self._text) - self._at) + 1
                    if self._is_whole or wanted > 2 * _LONGEST_ROW:
                        raise UnreadableTableError(DAMAGED) from error
                else:
                    return found
            self._more()

    def whole(self) -> str:
        """All that is left."""
        while len(self._text) <= _LARGEST_OBJECT and self._more():
            pass
        if len(self._text) > _LARGEST_OBJECT:
            limit = _LARGEST_OBJECT >> 20
            raise UnreadableTableError(
                f"is one JSON object of more than {limit} MB; write an array with an object a row"
            )
        return self._text[self._at :]

    def _more(self) -> bool:
        chunk = self._file.read(_CHUNK)
        self._left += self._at
        self._text = self._text[self._at :] + chunk
        self._at, self._is_whole = 0, not chunk
        return bool(chunk)
