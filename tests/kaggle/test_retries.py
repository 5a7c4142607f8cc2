"""How long the gateway waits before it asks again."""

from datetime import UTC, datetime, timedelta

from generator.kaggle.transport import RetryPolicy, retry_after


def test_the_time_to_wait_may_be_a_date() -> None:
    now = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)

    assert retry_after("Fri, 20 Nov 2026 12:00:30 GMT", now=now) == timedelta(seconds=30)
    assert retry_after("Fri, 20 Nov 2026 11:00:00 GMT", now=now) == timedelta(0)
    assert retry_after("soon") is None
    assert retry_after("-5") is None
    assert retry_after(None) is None


def test_pauses_grow_and_are_left_to_chance_in_part() -> None:
    policy = RetryPolicy(jitter=lambda: 0.0)

    assert [policy.pause(attempt) for attempt in range(3)] == [0.25, 0.5, 1.0]
    assert RetryPolicy(jitter=lambda: 1.0).pause(50) == 30
