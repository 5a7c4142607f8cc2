"""The log of a session as Kaggle writes it: events of a stream's name, a time and a text, whole or cut off."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from generator.kaggle.api_types import LogLine
from generator.kaggle.guards import clean_log

END = "END_OF_LOG"
_EVENT = re.compile(r'\{"stream_name"\s*:')


def log_text(log: str) -> str:
    """The text of a whole log, which is a JSON array of events; what is cut off is read as far as it goes."""
    return "".join(event.text for event in log_events(log))


def log_events(log: str) -> Iterator[LogLine]:
    """The events of a log: a JSON array, cut off anywhere or not; what is none is taken for text."""
    stripped = log.lstrip()
    # Of a log that lost its beginning, the first event that is whole is where it can be read from.
    cut = _EVENT.search(stripped)
    if not stripped.startswith("[") and cut is None:
        if stripped:
            yield LogLine(0.0, "stdout", clean_log(log))
        return
    decoder = json.JSONDecoder()
    position = 1 if stripped.startswith("[") or cut is None else cut.start()
    while position < len(stripped):
        while position < len(stripped) and stripped[position] in " \t\r\n,":
            position += 1
        try:
            value, position = decoder.raw_decode(stripped, position)
        except (ValueError, RecursionError):
            return
        if line := log_line(value):
            yield line


def log_line(value: Any) -> LogLine | None:
    """One event as a `LogLine`, or None if it is none."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), str):
        return None
    stream = value.get("stream_name")
    return LogLine(
        _seconds(value.get("time")),
        stream if isinstance(stream, str) and stream.isalnum() else "stdout",
        clean_log(value["data"]),
    )


def _seconds(time: Any) -> float:
    try:
        seconds = float(time)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0
