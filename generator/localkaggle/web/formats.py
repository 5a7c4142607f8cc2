"""Formats of times, sizes and addresses."""

from datetime import datetime, timedelta
from urllib.parse import quote

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_RECENT_DAYS = 7
_KILO = 1_000
_NO_BREAK = "\N{NO-BREAK SPACE}"


def duration(time: timedelta | float) -> str:
    """Writes a time the way people say it: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`; no line breaks within it."""
    from generator.run.report import duration as said

    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    return said(max(seconds, 0.0)).replace(" ", _NO_BREAK)


def hours(time: timedelta) -> str:
    """Writes a budget of hours: `30 h`, `1.3 h`, `4 min`."""
    if time < timedelta(hours=1):
        return f"{round(time.total_seconds() / _MINUTE)} min"
    return f"{time.total_seconds() / _HOUR:.1f}".removesuffix(".0") + " h"


def size(count: int) -> str:
    """Writes a number of bytes: `13 B`, `4.2 kB`, `1.3 GB`."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < _KILO:
            return f"{value:.0f} {unit}" if unit == "B" or value >= _KILO / 10 else f"{value:.1f} {unit}"
        value /= _KILO
    return f"{value:.1f} TB"


def ago(moment: datetime, *, now: datetime) -> str:
    """Writes how long ago something was; after a week, its day."""
    seconds = (now - moment).total_seconds()
    if seconds < _MINUTE:
        return "just now"
    for unit, length, limit in (("min", _MINUTE, _HOUR), ("h", _HOUR, _DAY), ("d", _DAY, _RECENT_DAYS * _DAY)):
        if seconds < limit:
            return f"{int(seconds // length)} {unit} ago"
    return f"{moment:%Y-%m-%d}"


def path(*parts: object) -> str:
    """An address below ours, each part of it escaped: what is in a name cannot end its segment."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)
