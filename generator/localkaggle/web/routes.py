"""Which function answers which path."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from generator.localkaggle.web.visit import Answering

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_PLACES = {
    "framework": _NAME,
    "variation": _NAME,
    "slug": _NAME,
    "owner": _NAME,
    "kernel": _NAME,
    "file": r".{1,1000}",
    "stamp": r"[0-9a-f]{12}",
}
_PLACE = re.compile(r"<(\w+)>")


@dataclass(frozen=True)
class Route:
    """What answers a method at a path; what `<slug>` and the like stand for is handed over by keyword."""

    method: str
    path: str
    answering: Answering

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What the whole path has to look like."""
        parts = _PLACE.split(self.path)
        return re.compile(
            "".join(
                f"(?P<{part}>{_PLACES[part]})" if place % 2 else re.escape(part) for place, part in enumerate(parts)
            ),
            re.DOTALL,
        )


@dataclass(frozen=True)
class Found:
    """The route for a path, and what its places stand for."""

    answering: Answering
    places: Mapping[str, str]


def find(routes: Sequence[Route], method: str, path: str) -> Found | None:
    """The first route for a method and a path."""
    for route in routes:
        matched = route.pattern.fullmatch(path) if route.method == method else None
        if matched is not None:
            return Found(route.answering, matched.groupdict())
    return None


def methods_of(routes: Sequence[Route], path: str) -> list[str]:
    """The methods that a path can be asked for by."""
    return sorted({route.method for route in routes if route.pattern.fullmatch(path)})
