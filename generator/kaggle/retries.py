"""When something is asked again: how long to wait before, and when to stop."""

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from generator.kaggle.errors import (
    KaggleError,
    NotKaggleError,
    RateLimitedError,
    ServerFailedError,
    UnreachableError,
)

TRANSIENT = (UnreachableError, NotKaggleError, ServerFailedError, RateLimitedError)
"""The errors that may be gone a moment later."""

WAITING = logging.getLogger("generator.kaggle.waiting")
"""Told, in sentences for the user, of each attempt that is made again and of answers that are long in coming."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class RetryPolicy:
    """The bounds of asking again: so many attempts, so many seconds spent waiting; `sleep` and `jitter` for tests."""

    attempts: int = 6
    longest_wait: float = 120
    first_pause: float = 0.5
    longest_pause: float = 30
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random

    def pause(self, attempt: int) -> float:
        """Seconds after the `attempt`-th failure, counted from 0: doubling, with half of it left to chance.

        Chance keeps many clients that failed together from coming back together.
        """
        full = min(self.first_pause * 2.0**attempt, self.longest_pause)
        return full * (0.5 + self.jitter() / 2)


class Retries:
    """The failures of one thing that is tried again and again."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._waited = 0.0
        self.failures = 0

    def wait(self, error: KaggleError, *, has_progressed: bool = False) -> None:
        """Waits before the next attempt, or raises the error once the attempts or the time are used up.

        Args:
            error: How the last attempt ended.
            has_progressed: Whether it brought something all the same; then the count begins anew.
        """
        policy = self._policy
        if has_progressed:
            self.failures, self._waited = 0, 0.0
        pause = policy.pause(self.failures)
        if error.retry_after is not None:
            pause = max(error.retry_after.total_seconds(), policy.first_pause)
        if not has_progressed:
            self.failures += 1
            self._waited += pause
            if self.failures >= policy.attempts or self._waited > policy.longest_wait:
                raise error
        # What to do next is for those who are no longer waiting.
        reason = error.message.partition("; ")[0].rstrip(".")
        number = f"try {self.failures + 1} of {policy.attempts}"
        WAITING.info("%s. Trying again in %.0f s (%s).", reason, max(pause, 1), number)
        policy.sleep(pause)


def retried(ask: Callable[[], _Answer], policy: RetryPolicy) -> _Answer:
    """The first answer that is not one of `TRANSIENT`; only for what changes nothing.

    Args:
        ask: Asks once.
        policy: When to stop.

    Raises:
        KaggleError: The last answer, once the attempts or the time are used up, or at once if waiting cannot help.
    """
    retries = Retries(policy)
    while True:
        try:
            return ask()
        except TRANSIENT as error:
            retries.wait(error)


def retry_after(value: str | None, *, now: datetime | None = None) -> timedelta | None:
    """Reads the header `Retry-After`: seconds or an HTTP date; None if it says nothing that can be understood."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), 30 * 86400))
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(aware - (now or datetime.now(UTC)), timedelta(0))
