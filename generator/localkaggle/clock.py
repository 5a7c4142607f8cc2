"""The time of a local Kaggle, so that a test can let a week of quota pass."""

import time
from datetime import UTC, datetime

_EARLIEST, _LATEST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2107, 12, 31, 23, 59, 58, tzinfo=UTC)


class Clock:
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
