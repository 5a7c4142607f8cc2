"""How long a chain waits, for what, and by which clock.

Two clocks, because a laptop sleeps: the monotonic one stands still meanwhile and measures what was waited for in vain;
the wall clock goes on and dates what is written down.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

_ASLEEP_SECONDS = 30.0


class Time(Protocol):
    """The clocks of a machine."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""

    def monotonic(self) -> float:
        """Seconds since some moment, not counting those in which the machine was suspended."""

    def sleep(self, seconds: float) -> None:
        """Waits."""


class SystemTime:
    """This machine's clocks."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment, not counting those in which the machine was suspended."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)


@dataclass(frozen=True)
class Patience:
    """Seconds, and numbers of tries.

    Attributes:
        first: The pause before the second look at something.
        growth: How much longer each pause is than the one before.
        longest: The longest pause.
        missing: How long a kernel that was pushed may be answered with 404.
        forbidden: How long it may be answered with 401 or 403.
        silent: How long Kaggle may be out of reach, or answer nonsense.
        commit: How long a push or a submission whose answer was lost may take to appear.
        settle: How long a session may be over before its files are listed.
        confirm: How often a state that is final at the first look has to be seen; it may be that of an older version.
        attempts: How often something is tried whose answer says that it was not done.
        crowded: How long to wait while as many sessions run as the account may have.
        ready: How long a dataset may take to be ready.
        queue: How long a session may take from its push to its end; Kaggle's queue for a TPU can take many hours.
    """

    first: float = 3.0
    growth: float = 1.4
    longest: float = 60.0
    missing: float = 300.0
    forbidden: float = 600.0
    silent: float = 6 * 3600.0
    commit: float = 45.0
    settle: float = 300.0
    confirm: int = 3
    attempts: int = 3
    crowded: float = 12 * 3600.0
    ready: float = 3600.0
    queue: float = 72 * 3600.0


FOR_LOCAL = Patience(
    first=0.1,
    longest=1.0,
    missing=20.0,
    forbidden=20.0,
    silent=60.0,
    commit=2.0,
    settle=15.0,
    crowded=600.0,
    ready=120.0,
)
"""A local Kaggle answers at once, and whoever waits for it sits in front of it."""


class Pace:
    """The pauses between looks at one thing, each a little longer; back to the first after something happened."""

    def __init__(self, patience: Patience, clock: Time) -> None:
        self._patience = patience
        self._clock = clock
        self._next = patience.first

    def pause(self) -> bool:
        """Waits, and says whether the machine was suspended meanwhile."""
        wall, monotonic = self._clock.now(), self._clock.monotonic()
        self._clock.sleep(self._next)
        self._next = min(self._next * self._patience.growth, self._patience.longest)
        gap = (self._clock.now() - wall).total_seconds() - (self._clock.monotonic() - monotonic)
        if gap > _ASLEEP_SECONDS:
            self.reset()
        return gap > _ASLEEP_SECONDS

    def reset(self) -> None:
        """Something changed, so something more may change soon."""
        self._next = self._patience.first


class Troubles:
    """What has gone wrong without a break since when, so that each kind of trouble has a patience of its own."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._since: dict[str, float] = {}

    def lasts(self, kind: str) -> float:
        """Counts one more sign of this trouble, and returns the seconds since the first."""
        self._since = {known: since for known, since in self._since.items() if known == kind}
        return self._monotonic() - self._since.setdefault(kind, self._monotonic())

    def clear(self) -> None:
        """Things go well."""
        self._since.clear()
