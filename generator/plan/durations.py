"""Times as people say them."""

_MINUTE, _HOUR = 60, 3600
_LONGEST_IN_SECONDS, _LONGEST_IN_MINUTES = 100, 6000
_WHOLE_MILLISECONDS = 0.01


def duration(seconds: float) -> str:
    """Writes a time to be waited for: `42 s`, `12 min`, `3.4 h`."""
    if seconds < _LONGEST_IN_SECONDS:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < _LONGEST_IN_MINUTES else f"{seconds / _HOUR:.1f} h"


def milliseconds(seconds: float) -> str:
    """Writes the time of a step: `0.35 ms`, `17 ms`, `2.1 s`."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= _WHOLE_MILLISECONDS else f"{seconds * 1e3:.2g} ms"
