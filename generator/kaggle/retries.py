"""How long to wait before something is asked again, and when to stop asking."""

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
"""What may be gone a moment later."""

_logger = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Patience:
    """The bounds of asking again: so many attempts, so many seconds spent waiting; `sleep` and `chance` for tests."""

    attempts: int = 6
    longest_wait: float = 120
    first_pause: float = 0.5
    longest_pause: float = 30
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def pause(self, attempt: int) -> float:
        """Seconds after the `attempt`-th failure, counted from 0: doubling, with half of it left to chance.

        Chance keeps many clients that failed together from coming back together.
        """
        full = min(self.first_pause * 2.0**attempt, self.longest_pause)
        return full * (0.5 + self.chance() / 2)


def repeated(ask: Callable[[], _Answer], patience: Patience) -> _Answer:
    """Asks until an answer comes that is not one of `TRANSIENT`; only for what changes nothing.

    Args:
        ask: Asks once.
        patience: When to stop.

    Raises:
        KaggleError: The last answer, once the attempts or the time are used up, or at once if waiting cannot help.
    """
    waited = 0.0
    for attempt in range(patience.attempts):
        try:
            return ask()
        except TRANSIENT as error:
            pause = _pause(error, attempt, patience)
            if attempt + 1 == patience.attempts or waited + pause > patience.longest_wait:
                raise
            _logger.info("asking again in %.1f s: %s", pause, error)
            patience.sleep(pause)
            waited += pause
    raise AssertionError("unreachable: the last attempt answers or raises")


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


def _pause(error: KaggleError, attempt: int, patience: Patience) -> float:
    if error.retry_after is not None:
        return max(error.retry_after.total_seconds(), patience.first_pause)
    return patience.pause(attempt)
