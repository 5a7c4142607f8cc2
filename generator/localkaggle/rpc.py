"""A call of Kaggle's API and its possible answers, apart from HTTP; faults on demand, and the clock."""

import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from generator.errors import LocalKaggleError
from generator.text import quote_text

# The time of a local Kaggle, so that a test can let a week of quota pass.


_EARLIEST, _LATEST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2107, 12, 31, 23, 59, 58, tzinfo=UTC)


class ServerClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds of a clock that nobody sets."""
        return time.monotonic()


def as_wire(moment: datetime) -> str:
    """A moment as the API writes it: `2026-01-02T03:04:05.678Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def file_moment(seconds: float) -> datetime:
    """When a file was written, by its `st_mtime`, within the years that a zip can say.

    Whoever wrote the file may have set its date to anything that the file system holds.
    """
    return datetime.fromtimestamp(min(max(seconds, _EARLIEST.timestamp()), _LATEST.timestamp()), UTC)


Fields = Mapping[str, Any]
"""A JSON object in the API's camelCase."""

_WHOLE_NUMBERS = range(-(2**63), 2**63)  # what the database can hold
_USUAL_PAGE, _LARGEST_PAGE = 20, 200  # items


@dataclass(frozen=True)
class ApiCall:
    """One request; `caller` is the account it is made by, `base` the origin that the client reached us at.

    `base` is what addresses in answers begin with, without a final slash: a client behind a proxy setting knows this
    server as `http://localhost`, another one as `http://127.0.0.1:PORT`.
    """

    method: str
    caller: str
    base: str
    fields: Fields

    def text(self, name: str, default: str = "") -> str:
        """A field that is a text; `ApiError` 400 if it is something else."""
        return str(self._field(name, default, _is_text, "is not a text"))

    def integer(self, name: str, default: int = 0) -> int:
        """A field that is a whole number; `ApiError` 400 if it is something else."""
        return int(self._field(name, default, _is_whole, "is not a whole number"))

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A field that is true or false; `ApiError` 400 if it is something else."""
        return bool(self._field(name, default, lambda value: isinstance(value, bool), "is neither true nor false"))

    def texts(self, name: str) -> tuple[str, ...]:
        """A field that is a list of texts; `ApiError` 400 if it is something else."""
        value = self.fields.get(name) or []
        if not isinstance(value, list) or not all(map(_is_text, value)):
            raise ApiError(400, f"{name} is not a list of texts")
        return tuple(value)

    def part(self, name: str) -> "ApiCall":
        """The same call with the object in a field as its fields, such as the `body` of a creation."""
        value = self.fields.get(name) or {}
        if not isinstance(value, dict):
            raise ApiError(400, f"{name} is not an object")
        return ApiCall(self.method, self.caller, self.base, value)

    def _field(self, name: str, default: Any, is_right: Callable[[Any], bool], wrong: str) -> Any:
        value = self.fields.get(name)
        if value is None:
            return default
        if not is_right(value):
            raise ApiError(400, f"{name} {wrong}")
        return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _WHOLE_NUMBERS


def _is_text(value: Any) -> bool:
    """True if a value is a text that can be stored: JSON can spell halves of characters, which no encoding has."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


class ApiError(Exception):
    """An answer of Kaggle that is a refusal: an HTTP status of 400 or more, and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Redirect:
    """The client finds what it asked for at this address (302)."""

    url: str


@dataclass(frozen=True)
class Content:
    """A body that is no JSON."""

    body: bytes
    media_type: str


@dataclass(frozen=True)
class StoredFile:
    """A file of this machine, to be sent with ranges; `name` is what the client would call it.

    `below` is set for what a notebook wrote: the folder of its session, from which the file is opened without links.
    """

    path: Path
    name: str
    media_type: str = "application/octet-stream"
    below: Path | None = None


Answer = Fields | Redirect | Content
Handler = Callable[[ApiCall], Answer]
Methods = Mapping[str, Handler]


def page(items: "list[Fields]", call: ApiCall, *, key: str) -> Fields:
    """One page of a listing, as Kaggle cuts it: `pageSize`, `pageToken` (an opaque offset), `nextPageToken`.

    Args:
        items: All items, in their order.
        call: The request with `pageSize`, `pageToken` and, from older callers, `page`.
        key: The field of the answer that holds the items.

    Raises:
        ApiError: The token is none that this server gave.
    """
    size = min(max(call.integer("pageSize") or _USUAL_PAGE, 1), _LARGEST_PAGE)
    token = call.text("pageToken")
    if token and not token.isdecimal():
        raise ApiError(400, "The page token is not valid.")
    start = int(token[:12]) if token else (max(call.integer("page", 1), 1) - 1) * size
    rest = start + size
    return {key: items[start:rest], "nextPageToken": str(rest) if rest < len(items) else ""}


# Fault injection: the faults that strike calls on demand, by rule and by random seed.
#
# Faults of the transport strike before or after a call is handled (`generator.localkaggle.endpoints`); faults of the
# platform are asked for by the service that misbehaves (`faults.strikes("wrong-image", at=...)`).


TRANSPORT = {
    "429": "answer 429 without Retry-After, the call not handled",
    "429-retry-after": "answer 429 with Retry-After: 1, the call not handled",
    "500": "answer 500 with JSON, the call not handled",
    "503-html": "answer 503 with a page of HTML, the call not handled",
    "200-html": "answer 200 with a page of HTML, the call not handled",
    "drop": "close the connection, the call not handled",
    "500-after": "handle the call, then answer 500",
    "drop-after": "handle the call, then close the connection",
    "stall": "say nothing until the client gives up, the call not handled",
    "truncate": "handle the call, then send half of the answer",
    "401": "answer 401, the call not handled",
}
PLATFORM = {
    "wrong-image": "run a TPU session on a CPU without a message",
    "stale-status": "answer a status with that of the version before",
    "transient-404": "answer 404 for a kernel that is there",
    "unknown-status": "answer a status whose name no client knows",
    "empty-mount": "mount empty inputs in the first session after a push",
    "truncated-log": "keep only the end of a log",
    "empty-log": "lose a log",
    "log-stream-breaks": "break the stream of a log in its middle",
    "wedged": "answer 403 for everything about a kernel once it was pushed",
    "invalid-sources": "save a push without its kernel sources, and name them as invalid",
    "push-error": "answer a push with 200 and an error: as many sessions run as may",
    "no-quota": "answer a push with 200 and an error: no accelerator quota",
    "pay-to-scale": "answer the quota of an account that pays for time beyond it",
    "slug-moved": "save a push under another slug than asked for",
    "session-fails": "end a session with an error of the machine, not of the notebook",
    "session-killed": "kill a session in its middle, as a time limit does",
    "output-missing": "end a session successfully, but do not list its files",
    "output-truncated": "serve half of an output file",
    "output-hostile": "name an output file so that it leads out of its folder",
    "submit-403": "answer a submission with 403",
    "submit-limit": "answer a submission with an error: no submissions left today",
    "score-fails": "end a submission with a scoring error",
    "dataset-slow": "keep a dataset version unready for a while",
    "dataset-fails": "fail to process a dataset version",
    "rules-not-accepted": "answer 403 for a competition's data: accept the rules first",
}
NAMES = {**TRANSPORT, **PLATFORM}

_RULE = re.compile(
    r"(?P<name>[a-z0-9-]+?)(?:@(?P<at>[A-Za-z0-9_./*-]+?))?(?:\+(?P<skip>\d{1,6}))?(?:x(?P<times>\d{1,6}))?"
    r"(?:%(?P<percent>\d{1,3}))?"
)


@dataclass
class FaultRule:
    """One rule: a fault at calls whose method or file ends in `at`, after `skip` of them, `times` times.

    Without `at` it strikes everywhere, without `times` without end; `percent` is how often of those it strikes.
    """

    name: str
    at: str = ""
    skip: int = 0
    times: int | None = None
    percent: int = 100


def parse_rule(text: str) -> FaultRule:
    """Reads `NAME[@METHOD][+SKIP][xTIMES][%PERCENT]`.

    Raises:
        LocalKaggleError: It is none.
    """
    match = _RULE.fullmatch(text)
    if match is None or match["name"] not in NAMES or int(match["percent"] or 0) > 100:  # noqa: PLR2004 - of a hundred
        raise LocalKaggleError(
            f'"{quote_text(text)}" is not a fault rule.',
            remedy=f"Write NAME[@METHOD][+SKIP][xTIMES][%PERCENT], such as "
            f"429@SaveKernel+1x2. The names are {', '.join(NAMES)}.",
            code="fault-invalid",
        )
    return FaultRule(
        name=match["name"],
        at=match["at"] or "",
        skip=int(match["skip"] or 0),
        times=int(match["times"]) if match["times"] else None,
        percent=int(match["percent"] or 100),
    )


class Faults:
    """The rules in force; every question counts, so two runs with one seed and one order of calls are alike."""

    def __init__(self, rules: Iterable[FaultRule] = (), *, seed: int = 0) -> None:
        self._lock = threading.Lock()
        self._random = random.Random(seed)  # noqa: S311 - a repeatable sequence is the point
        self._rules = list(rules)
        self._history: list[tuple[str, str]] = []

    def replace(self, rules: Iterable[FaultRule]) -> None:
        """Puts other rules in force."""
        with self._lock:
            self._rules = list(rules)
            self._history.clear()

    def strikes(self, name: str, *, at: str, also: str = "") -> bool:
        """True if this fault strikes now, at this method or file; `also` is another name of it."""
        return self.first([name], at=at, also=also) is not None

    def first(self, names: Sequence[str], *, at: str, also: str = "") -> str | None:
        """The first of these faults that strikes now, at this method or file (by either name), or None."""
        with self._lock:
            for rule in self._rules:
                is_match = at.endswith(rule.at) or also.endswith(rule.at)
                if rule.name in names and is_match and self._counts(rule):
                    self._history.append((rule.name, at))
                    return rule.name
        return None

    @property
    def history(self) -> tuple[tuple[str, str], ...]:
        """Every fault that struck, with the method or file, in order."""
        with self._lock:
            return tuple(self._history)

    def _counts(self, rule: FaultRule) -> bool:
        if rule.skip:
            rule.skip -= 1
            return False
        if rule.times == 0:
            return False
        if rule.percent < 100 and self._random.randrange(100) >= rule.percent:  # noqa: PLR2004 - of a hundred
            return False
        if rule.times is not None:
            rule.times -= 1
        return True
