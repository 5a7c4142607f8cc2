"""Fault injection: the faults that strike calls on demand, by rule and by random seed.

Faults of the transport strike before or after a call is handled (`generator.localkaggle.http`); faults of the platform
are asked for by the service that misbehaves (`faults.strikes("wrong-image", at=...)`).
"""

import random
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from generator.errors import LocalKaggleError
from generator.untrusted import quoted

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
    "wrong-image": "run a TPU session on a CPU, and say nothing of it",
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
    "slug-moved": "save a push under another slug than asked for",
    "session-fails": "end a session with an error that the notebook has no part in",
    "session-killed": "kill a session in its middle, as a time limit does",
    "output-missing": "end a session well, its files not listed",
    "output-truncated": "serve half of an output file",
    "output-hostile": "name an output file so that it leads out of its folder",
    "submit-403": "answer a submission with 403",
    "submit-limit": "answer a submission with: none left today",
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
    found = _RULE.fullmatch(text)
    if found is None or found["name"] not in NAMES or int(found["percent"] or 0) > 100:  # noqa: PLR2004 - of a hundred
        raise LocalKaggleError(
            f'"{quoted(text)}" is no fault: write NAME[@METHOD][+SKIP][xTIMES][%PERCENT], such as '
            f"429@SaveKernel+1x2; the names are {', '.join(NAMES)}."
        )
    return FaultRule(
        name=found["name"],
        at=found["at"] or "",
        skip=int(found["skip"] or 0),
        times=int(found["times"]) if found["times"] else None,
        percent=int(found["percent"] or 100),
    )


class Faults:
    """The rules in force; every question counts, so two runs with one seed and one order of calls are alike."""

    def __init__(self, rules: Iterable[FaultRule] = (), *, seed: int = 0) -> None:
        self._lock = threading.Lock()
        self._random = random.Random(seed)  # noqa: S311 - a repeatable sequence is the point
        self._rules = list(rules)
        self._struck: list[tuple[str, str]] = []

    def replace(self, rules: Iterable[FaultRule]) -> None:
        """Puts other rules in force."""
        with self._lock:
            self._rules = list(rules)
            self._struck.clear()

    def strikes(self, name: str, *, at: str, also: str = "") -> bool:
        """True if this fault strikes now, at this method or file; `also` is another name of it."""
        return self.first([name], at=at, also=also) is not None

    def first(self, names: Sequence[str], *, at: str, also: str = "") -> str | None:
        """The first of these faults that strikes now, at this method or file (by either name), or None."""
        with self._lock:
            for rule in self._rules:
                here = at.endswith(rule.at) or also.endswith(rule.at)
                if rule.name in names and here and self._counts(rule):
                    self._struck.append((rule.name, at))
                    return rule.name
        return None

    @property
    def struck(self) -> tuple[tuple[str, str], ...]:
        """Every fault that struck, with the method or file, in order."""
        with self._lock:
            return tuple(self._struck)

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
