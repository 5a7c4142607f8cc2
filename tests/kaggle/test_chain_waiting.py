"""Waiting for a session, and what it ran on."""

import json
from datetime import timedelta

import pytest
from chain_pair import edit_notebook, marker, real_marker
from chain_table import MISSING, Table
from fake_kaggle import COMPLETE, ERROR, QUEUED, RUNNING

from generator.kaggle.api_types import SessionState, SessionStatus
from generator.kaggle.chain import errors
from generator.kaggle.chain.journal import ChainStep, Outcome
from generator.kaggle.errors import UnreachableError
from generator.kaggle.receipt import receipt_of


def test_a_queue_of_a_day_is_waited_for_politely(table: Table) -> None:
    queued = [QUEUED] * 1440
    table.kaggle.states["train"] = [*queued, RUNNING, COMPLETE]
    carried = table.push()

    queued_for = next(iter(carried.state.pushes.values())).queue_time
    assert queued_for is not None
    assert queued_for > timedelta(hours=23)
    assert len(table.time.slept) < 1460


def test_a_session_that_fails_is_told_with_its_log_and_not_pushed_again(table: Table) -> None:
    table.kaggle.states["train"] = [RUNNING, SessionStatus(SessionState.ERROR, "exit code 1")]
    error = table.stops(errors.SessionFailedError, match="exit code 1")
    assert "the last line" in error.message

    table.stops(errors.StepFailedError, match="--from train")
    assert table.counts == (1, 0)


def test_a_step_that_failed_is_taken_again_once_its_notebook_was_changed(table: Table) -> None:
    table.kaggle.states["train"] = [ERROR]
    table.stops(errors.SessionFailedError)

    table.kaggle.states.clear()
    edit_notebook(table.folder, "train")
    carried = table.push()
    assert carried.state.outcome is Outcome.SCORED
    assert table.counts == (3, 1)


def test_a_session_that_is_cancelled_fails_its_step(table: Table) -> None:
    table.kaggle.states["infer"] = [SessionStatus(SessionState.CANCELLING), SessionStatus(SessionState.CANCELLED)]
    table.stops(errors.SessionFailedError, match="cancelled")


@pytest.mark.parametrize(
    ("states", "words"),
    [
        pytest.param([RUNNING, COMPLETE], "identity", id="though the session ended well"),
        pytest.param([SessionStatus(SessionState.ERROR, "RuntimeError")], "docker_image", id="as the session says"),
    ],
)
def test_a_tpu_that_was_not_there_is_noticed(table: Table, states: list[SessionStatus], words: str) -> None:
    table.kaggle.states["train"] = states
    table.kaggle.outputs["train"]["accelerator.json"] = json.dumps(marker(device_count=1)).encode()
    table.stops(errors.WrongAcceleratorError, match=words)
    assert table.counts == (1, 0)


def test_an_emulated_tpu_counts_on_a_local_kaggle_only(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.as_of_a_real_competition(monkeypatch)
    table.stops(errors.WrongAcceleratorError, match="emulated")

    table.kaggle.outputs["train"]["accelerator.json"] = json.dumps(real_marker()).encode()
    table.push(back_to=ChainStep.TRAIN)
    assert table.counts == (3, 1)


def test_a_suspended_laptop_loses_no_patience(table: Table) -> None:
    table.kaggle.wrong["session_status"] = [MISSING] * 6
    table.time.suspensions = {3: timedelta(hours=10)}
    table.push()

    assert table.counts == (2, 1)
    assert any("asleep" in event.text for event in table.events)


def test_a_clock_that_is_set_back_while_a_lost_push_is_looked_for_ends_the_look_in_time(table: Table) -> None:
    table.kaggle.wrong["push"] = [UnreachableError(doing="push", host="kaggle", reason="hung up", was_sent=True)]
    table.time.suspensions = {0: timedelta(days=-1)}
    table.push()

    assert table.counts == (2, 1)
    assert table.time.elapsed < 600


def test_a_clock_that_is_set_forward_while_a_lost_push_is_looked_for_pushes_nothing_twice(table: Table) -> None:
    def lose() -> None:
        hidden = dict(table.kaggle.saved)
        table.kaggle.saved.clear()
        table.kaggle.wrong["kernel"] = [None, None, lambda: table.kaggle.saved.update(hidden)]
        raise UnreachableError(doing="push", host="kaggle", reason="hung up", was_sent=True)

    table.kaggle.wrong["push-after"] = [lose]
    table.time.suspensions = {0: timedelta(days=1)}
    table.push()

    assert table.counts == (2, 1)


def test_a_receipt_knows_no_negative_times(table: Table) -> None:
    table.kaggle.states["train"] = [QUEUED, RUNNING, COMPLETE]
    table.time.suspensions = dict.fromkeys(range(3), timedelta(days=-1))
    receipt = receipt_of(table.push().journal)

    kernels = [kernel for kernel in receipt.kernels if kernel.ran_minutes is not None]
    times = [
        receipt.minutes,
        *(kernel.ran_minutes for kernel in kernels),
        *(kernel.queued_minutes for kernel in kernels),
    ]
    assert len(times) > 1
    assert min(times) >= 0
