"""Times, sizes and shares as people say them."""

import math

_MINUTE, _HOUR = 60, 3600
_LONGEST_IN_SECONDS, _LONGEST_IN_MINUTES = 100, 6000
_WHOLE_MILLISECONDS = 0.01
_TENTHS_BELOW = 10
_KILO = 1000
_LEAST_SHARE = 0.001
_WHOLE_SHARE = 0.1
_LEAST_DOLLARS = 0.01
_WHOLE_DOLLARS = 10
_UNITS = {6: "M", 9: "G", 12: "T", 15: "P"}


def duration(seconds: float) -> str:
    """Writes a time to be waited for: `42 s`, `12 min`, `3.4 h`."""
    if seconds < _TENTHS_BELOW:
        return f"{seconds:.1f} s"
    if seconds < _LONGEST_IN_SECONDS:
        return f"{seconds:.0f} s"
    if seconds < _LONGEST_IN_MINUTES:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < _LONGEST_IN_SECONDS * _HOUR else f"{seconds / _HOUR:,.0f} h"


def milliseconds(seconds: float) -> str:
    """Writes the time of a step: `0.35 ms`, `17 ms`, `2.1 s`."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= _WHOLE_MILLISECONDS else f"{seconds * 1e3:.2g} ms"


def size(count: float) -> str:
    """Writes bytes: `5.6 MB`, `12 GB`."""
    mega = count / _KILO**2
    return f"{mega:.2g} MB" if mega < _KILO / 10 else f"{mega / _KILO:.2g} GB"


def share(part: float) -> str:
    """Writes a part of a whole: `<0.1%`, `3.2%`."""
    if part < _LEAST_SHARE:
        return f"<{_LEAST_SHARE:.1%}"
    return f"{part:.1%}" if part < _WHOLE_SHARE else f"{part:.0%}"


def dollars(amount: float) -> str:
    """Writes money: `<$0.01`, `$0.38`."""
    if amount < _LEAST_DOLLARS:
        return f"<${_LEAST_DOLLARS:.2f}"
    return f"${amount:.2f}" if amount < _WHOLE_DOLLARS else f"${amount:,.0f}"


def operations(count: float) -> str:
    """Writes operations: `588 MFLOP`, `1.58 PFLOP`."""
    power = min(max(_UNITS), max(min(_UNITS), 3 * math.floor(math.log10(max(count, 1.0)) / 3)))
    return f"{count / 10.0**power:.3g} {_UNITS[power]}FLOP"
