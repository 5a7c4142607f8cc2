"""The limit that a push sends with its session, and the quota that has to be left for it."""

import json
from datetime import timedelta
from typing import Any

import pytest
from chain_table import FORBIDDEN, Table
from fake_kaggle import RUNNING, KernelPush, quota

from generator.errors import TandemError
from generator.kaggle.api_types import Quota, SessionState, SessionStatus
from generator.kaggle.chain import errors
from generator.kaggle.chain.budget import PlannedTime, write_planned_times
from generator.kaggle.chain.inputs import prepare
from generator.kaggle.chain.journal import ChainStep, Outcome
from generator.kaggle.receipt import receipt_of
from generator.pair.notebook import with_parameters
from generator.pair.workspace import Role

TRAIN, INFER = "local/digits-keras-train", "local/digits-keras-infer"
TOO_LONG = "Your notebook was stopped because it exceeded the max allowed execution duration."


def sent(table: Table, ref: str) -> KernelPush:
    return table.kaggle.saved[ref][-1].push


def change_parameters(table: Table, **values: Any) -> None:
    path = table.folder.notebook(Role.TRAIN)
    path.write_text(with_parameters(path.read_text(), values))


@pytest.fixture
def file_table(table: Table, monkeypatch: pytest.MonkeyPatch) -> Table:
    """The table with a competition that takes files, and sessions of 38 minutes."""
    settings = table.folder.settings_path
    settings.write_text(
        settings.read_text().replace("code_competition = { value = true", "code_competition = { value = false")
    )
    table.kaggle.is_code_competition, table.kaggle.log_seconds = False, 38 * 60.0
    return table


def test_a_push_sends_the_limit_that_the_last_session_suggests(file_table: Table) -> None:
    file_table.push()
    assert [
        (sent(file_table, ref).limit_seconds, "SESSION_HOURS = 9.0" in sent(file_table, ref).text)
        for ref in (TRAIN, INFER)
    ] == [(0, True), (0, False)]
    assert any("no earlier session predicts its time" in event.text for event in file_table.events)

    change_parameters(file_table, LEARNING_RATE=0.001)
    carried = file_table.push()

    for ref in (TRAIN, INFER):
        assert sent(file_table, ref).limit_seconds == 91 * 60
        assert "SESSION_HOURS = 1.5167  #" in sent(file_table, ref).text
    assert "SESSION_HOURS = 9.0" in file_table.folder.notebook(Role.TRAIN).read_text()
    assert any("2 times 38 min and 15 min, because chain 1 took 38 min" in event.text for event in file_table.events)
    assert [kernel.limit_minutes for kernel in receipt_of(carried.journal).kernels] == [91, 91]
    assert file_table.push().has_advanced is False


@pytest.mark.parametrize(
    ("parameters", "limit"),
    [
        ({"SEED": 7}, 91 * 60),
        ({"EPOCHS": 60}, None),
        ({"BATCH_SIZE": 256}, 0),
        ({"BATCH_SIZE": 256, "SESSION_HOURS": 2.0}, 7200),
        ({"SESSION_HOURS": 1.0}, 3600),
    ],
)
def test_a_limit_fits_the_parameters_of_the_training(
    file_table: Table, parameters: dict[str, Any], limit: int | None
) -> None:
    file_table.push()
    epochs = file_table.push().journal  # nothing changed: the same chain
    change_parameters(file_table, **parameters)
    file_table.push()

    assert epochs.number == 1
    push = sent(file_table, TRAIN)
    if limit is None:
        before = json.loads(epochs.path.read_text().splitlines()[0])["parameters"]["train"]["EPOCHS"]
        limit = 2 * 38 * 60 * 60 // before + 15 * 60
        assert abs(push.limit_seconds - limit) <= 60
    else:
        assert push.limit_seconds == limit


@pytest.mark.parametrize(("epochs", "limit"), [(20, 75 * 60), (40, 135 * 60), (None, 0)])
def test_a_first_push_takes_its_limit_from_a_plan_of_the_same_parameters(
    table: Table, epochs: int | None, limit: int
) -> None:
    change_parameters(table, EPOCHS=20)
    parameters = prepare(table.folder, Role.TRAIN, verify=False).parameters
    times = [PlannedTime("NvidiaTeslaT4", parameters, 60.0), PlannedTime("TpuV5E8", parameters, 1200.0)]
    write_planned_times(table.workspace, "digits", times)
    change_parameters(table, **({"EPOCHS": epochs} if epochs else {"BATCH_SIZE": 256}))
    table.push()

    assert (sent(table, TRAIN).limit_seconds, sent(table, INFER).limit_seconds) == (limit, 0)


def test_a_version_that_a_code_competition_runs_again_has_no_limit(table: Table) -> None:
    table.kaggle.log_seconds = 60
    table.push(hours=2)

    assert (sent(table, TRAIN).limit_seconds, sent(table, INFER).limit_seconds) == (7200, 0)
    assert "SESSION_HOURS = 2.0" in sent(table, TRAIN).text
    assert "SESSION_HOURS = 2.0" not in sent(table, INFER).text


@pytest.mark.parametrize(("hours", "code"), [(9.5, "hours-too-many"), (0.1, "hours-too-few")])
def test_hours_that_cannot_be_are_refused_before_anything_is_asked(table: Table, hours: float, code: str) -> None:
    assert table.stops(errors.ChainError, hours=hours).code == code
    assert table.kaggle.calls == []


@pytest.mark.parametrize(
    ("failure", "words", "code"),
    [
        (TOO_LONG, "reached its limit of 1 h: .*--hours N", "session-timeout"),
        ("exit code 1", r"Its limit was 1 h\.", "session-failed"),
    ],
)
def test_a_session_that_its_limit_ended_is_told_from_one_that_failed(
    table: Table, failure: str, words: str, code: str
) -> None:
    table.kaggle.states["train"] = [RUNNING, SessionStatus(SessionState.ERROR, failure)]

    assert table.stops(errors.SessionFailedError, match=words, hours=1).code == code


def test_a_push_whose_line_is_lost_is_found_again_whatever_its_limit_was(table: Table) -> None:
    path = table.push(hours=2, submit=False).journal.path
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:2]) + b"\0\n")

    assert table.push(repair=True).state.outcome is Outcome.SCORED
    assert table.counts == (2, 1)


PAYS = {"is_pay_to_scale": True}


@pytest.mark.parametrize(
    ("week", "before", "options", "code"),
    [
        pytest.param(quota(tpu=(20, 0, 20)), 0, {}, "quota-too-small", id="nothing left"),
        pytest.param(quota(tpu=(12, 8, 20)), 0, {}, "quota-too-small", id="the rest is reserved"),
        pytest.param(quota(tpu=(19.9, 0, 20)), 0, {}, "", id="a little left, nothing predicted"),
        pytest.param(quota(tpu=(19, 0.5, 20)), 38 * 60, {}, "quota-too-small", id="less left than predicted"),
        pytest.param(quota(tpu=(19, 0, 20)), 38 * 60, {}, "", id="more left than predicted"),
        pytest.param(quota(tpu=(12, 0, 20), **PAYS), 0, {}, "costs-money", id="pays, and 9 h are more than is left"),
        pytest.param(quota(tpu=(12, 0, 20), **PAYS), 0, {"anyway": True}, "costs-money", id="anyway is not for money"),
        pytest.param(quota(tpu=(12, 0, 20), **PAYS), 0, {"hours": 7}, "", id="pays, with a limit below what is left"),
        pytest.param(quota(tpu=(0, 0, 20), **PAYS), 0, {}, "", id="pays, and has a whole week"),
        pytest.param(Quota(quota().gpu, None), 0, {}, "quota-unknown", id="nothing said of TPUs"),
        pytest.param(None, 0, {}, "quota-unknown", id="forbidden"),
    ],
)
def test_a_push_that_cannot_end_within_the_week_is_refused_and_the_chain_goes_on_when_told(
    table: Table, week: Quota | None, before: float, options: dict[str, Any], code: str
) -> None:
    if before:
        table.kaggle.log_seconds = before
        table.push()
        change_parameters(table, SEED=7)
    pushes = table.kaggle.pushes
    if week is None:
        table.kaggle.wrong["quota"] = [FORBIDDEN] * 2
    else:
        table.kaggle.week = week

    if code:
        refused = table.stops(TandemError, **options)
        assert refused.code == code
        assert ("--anyway" if code == "quota-too-small" else "--may-cost-money") in refused.message
        assert table.kaggle.pushes == pushes
        options = {"anyway": True} if code == "quota-too-small" else {"may_cost_money": True}
    carried = table.push(**options)
    assert carried.state.outcome is Outcome.SCORED
    assert carried.journal.number == (2 if before else 1)
    assert table.kaggle.pushes == pushes + 2


def test_the_numbers_of_a_refusal_count_what_is_reserved(table: Table) -> None:
    table.kaggle.week = quota(tpu=(15.5, 4.5, 20))
    refused = table.stops(errors.ChainError)

    assert (
        "0.0 h of TPU are left this week (15.5 h used and 4.5 h reserved by other sessions, of 20.0 h)"
        in refused.summary
    )
    assert "Saturday at 00:00 UTC" in refused.remedy
    assert any(event.text == "0.0 hours of TPU are left this week" for event in table.events)


def test_the_quota_is_looked_at_again_before_inference(table: Table) -> None:
    week = table.kaggle.week
    assert week.gpu is not None
    used_up = Quota(type(week.gpu)(timedelta(hours=30), timedelta(), timedelta(hours=30)), week.tpu)
    table.kaggle.wrong["quota"] = [None, lambda: setattr(table.kaggle, "week", used_up)]
    assert table.stops(errors.ChainError, match="only 0.0 h of GPU are left").code == "quota-too-small"
    assert table.counts == (1, 0)

    table.kaggle.week = week
    table.push()
    assert table.counts == (2, 1)
    assert table.push(back_to=ChainStep.SUBMIT).state.outcome is Outcome.SCORED
