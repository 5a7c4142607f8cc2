"""Asking Kaggle again and again: how long the pauses are, what is tolerated for how long, and by which clocks.

Two clocks, because a laptop sleeps: the monotonic one stands still meanwhile and measures what was waited for in vain;
the wall clock goes on and dates what is written down.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from generator.errors import TandemError
from generator.kaggle.chain.errors import WaitedInVainError
from generator.kaggle.errors import (
    CredentialsError,
    ForbiddenError,
    NotFoundError,
    NotKaggleError,
    RateLimitedError,
    ServerFailedError,
    SessionLimitError,
    UnreachableError,
)

_ASLEEP_SECONDS = 30.0
_SILENCE = (UnreachableError, ServerFailedError, NotKaggleError, RateLimitedError)
"""Trouble that passes by itself: no answer, or none of Kaggle's API."""

T = TypeVar("T")


class Clock:
    """This machine's clocks."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)


@dataclass(frozen=True)
class PollingPolicy:
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


LOCAL_POLLING = PollingPolicy(
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


@dataclass
class Poll:
    """One thing that is asked about until it is as hoped: pauses that grow, and a limit for each sort of trouble.

    Attributes:
        policy: How long to wait.
        clock: By which clocks.
        tell: Told of trouble, once for each sort.
        what: What is asked about, for messages.
        url: The page where somebody can look at it.
        is_new: Whether Kaggle may not know of it yet.
    """

    policy: PollingPolicy
    clock: Clock
    tell: Callable[[str], None]
    what: str
    url: str
    is_new: bool = False

    def __post_init__(self) -> None:
        self._started = self.clock.monotonic()
        self._pause = self.policy.first
        self._told = ""
        # The sort of trouble that there is at the moment, and since when.
        self._trouble: tuple[str, float] | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the beginning, without those in which the machine was suspended."""
        return self.clock.monotonic() - self._started

    def ask(self, question: Callable[[], T]) -> T:
        """Asks until there is an answer.

        Raises:
            WaitedInVainError: There was none for longer than is tolerated.
            TandemError: The answer is an error that does not pass.
        """
        while True:
            try:
                answer = question()
            except TandemError as error:
                self.tolerate(error)
            else:
                self._trouble, self._told = None, ""
                return answer

    def tolerate(self, error: TandemError) -> None:
        """Pauses after an error that may pass.

        Raises:
            TandemError: This one does not pass.
            WaitedInVainError: It should have passed by now.
        """
        trouble, limit, remedy = self._tolerance(error)
        now = self.clock.monotonic()
        if self._trouble is None or self._trouble[0] != trouble:
            self._trouble = trouble, now
        if now - self._trouble[1] >= limit:
            raise self._in_vain(error.message.rstrip("."), remedy) from error
        if self._told != trouble:
            self.tell(error.message)
            self._told = trouble
        self.pause()

    def pause(self) -> None:
        """Pauses; a machine that was suspended meanwhile looks again at once, and has waited for nothing in vain."""
        wall, monotonic = self.clock.now(), self.clock.monotonic()
        self.clock.sleep(self._pause)
        self._pause = min(self._pause * self.policy.growth, self.policy.longest)
        asleep = (self.clock.now() - wall).total_seconds() - (self.clock.monotonic() - monotonic)
        if asleep > _ASLEEP_SECONDS:
            self.hurry()
            self.tell("This machine was asleep; looking again.")
            self._trouble = None

    def hurry(self) -> None:
        """Goes back to short pauses: something changed, so something more may change soon."""
        self._pause = self.policy.first

    def give_up_after(self, seconds: float, *, trouble: str, remedy: str = "") -> None:
        """Makes sure that this has not taken too long.

        Raises:
            WaitedInVainError: It has.
        """
        if self.seconds >= seconds:
            raise self._in_vain(trouble, remedy)

    def _in_vain(self, trouble: str, remedy: str) -> WaitedInVainError:
        return WaitedInVainError(what=self.what, trouble=trouble, url=self.url, remedy=remedy)

    def _tolerance(self, error: TandemError) -> tuple[str, float, str]:
        """The sort of trouble, how long it may last, and what helps behind that."""
        if isinstance(error, _SILENCE):
            return "silent", self.policy.silent, "Check the connection."
        if isinstance(error, SessionLimitError):
            return "crowded", self.policy.crowded, "Sessions of this account have to end first."
        if self.is_new and isinstance(error, NotFoundError):
            return "missing", self.policy.missing, "If it is not there, push it again with --from."
        if self.is_new and isinstance(error, ForbiddenError | CredentialsError):
            remedy = "If that page does not open either, the kernel is wedged: delete it there, and use --restart."
            return "forbidden", self.policy.forbidden, remedy
        raise error
