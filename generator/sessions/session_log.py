"""A session's log: one JSON object a line, as the API and its live stream send them, bounded in size."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 64 * 2**20
LARGEST_EVENT = 8_192
_PIECE = 256 * 1024
_CUT = "\n[The log is full: what comes after this is not kept.]\n"


class SessionLog:
    """The log of a session that is being written; one thread writes, any process reads."""

    def __init__(self, path: Path, *, limit: int = LARGEST) -> None:
        """Begins a log.

        Args:
            path: Its file.
            limit: The most bytes of the file, apart from the line that says that it is full.
        """
        self._path = path
        self._started = time.monotonic()
        self._left = limit

    def write(self, text: str, *, stream: str = "stdout") -> None:
        """Adds a piece of text as one event or, where it is long, as several."""
        for start in range(0, len(text), LARGEST_EVENT):
            self._add(text[start : start + LARGEST_EVENT], stream)

    def _add(self, text: str, stream: str) -> None:
        if self._left <= 0:
            return
        line = self._line(text, stream)
        # What is around a text counts as well: a notebook can print single characters without end.
        self._left -= len(line)
        with self._path.open("ab") as file:
            file.write(line if self._left > 0 else self._line(_CUT, stream))

    def _line(self, text: str, stream: str) -> bytes:
        seconds = round(time.monotonic() - self._started, 3)
        return json.dumps({"stream_name": stream, "time": seconds, "data": text}).encode() + b"\n"


@dataclass(frozen=True)
class LogPiece:
    """Some events of a log; `position` is where the next piece begins."""

    events: tuple[dict[str, Any], ...]
    position: int


def read_piece(path: Path, *, position: int = 0) -> LogPiece:
    """Reads the whole lines from a position on, some hundred kilobytes at most; none if there is no log yet."""
    try:
        with path.open("rb") as file:
            # Whoever asks chooses the position, and not every system can seek to each.
            file.seek(min(position, os.fstat(file.fileno()).st_size))
            content = file.read(_PIECE)
    except FileNotFoundError:
        return LogPiece((), position)
    whole = content[: content.rfind(b"\n") + 1]
    return LogPiece(tuple(_events(whole)), position + len(whole))


def _events(lines: bytes) -> Iterator[dict[str, Any]]:
    for line in lines.splitlines():
        with suppress(ValueError):  # half a line, from when the disk was full
            yield json.loads(line)


def read_all(path: Path) -> Iterator[dict[str, Any]]:
    """Every event of a log."""
    piece = read_piece(path)
    while piece.events:
        yield from piece.events
        piece = read_piece(path, position=piece.position)
