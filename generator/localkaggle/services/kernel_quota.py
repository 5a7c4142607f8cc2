"""The week of a quota, and how much of it sessions have used."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.localkaggle.services.kernel_records import SessionRecord

_SATURDAY = 5
_WEEK = timedelta(days=7)


def week_start(now: datetime) -> datetime:
    """The Saturday 00:00 UTC at or before this moment, when all quotas begin anew."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=(day.weekday() - _SATURDAY) % 7)


def next_week(now: datetime) -> datetime:
    """When the quotas begin anew."""
    return week_start(now) + _WEEK


def allowed(kind: AcceleratorKind) -> timedelta | None:
    """The hours of a week for a kind of accelerator, or None where there is no limit."""
    hours = [offered.weekly_hours for offered in catalog().accelerators.values() if offered.kind is kind]
    return None if None in hours else timedelta(hours=max(hour for hour in hours if hour is not None))


def used(sessions: Iterable[SessionRecord], kind: AcceleratorKind, *, now: datetime) -> timedelta:
    """The time that sessions of a kind have run in this week; reruns of submissions cost nothing."""
    since = week_start(now)
    total = timedelta()
    for session in sessions:
        if session.accelerator is kind and session.submission is None and session.started is not None:
            total += max(timedelta(), (session.ended or now) - max(session.started, since))
    return total
