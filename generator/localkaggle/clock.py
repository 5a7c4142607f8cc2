"""What time it is at a local Kaggle, so that a test can let a week of quota pass."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The present moment, in UTC."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)


def as_wire(moment: datetime) -> str:
    """A moment as the API writes it: `2026-01-02T03:04:05.678Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
