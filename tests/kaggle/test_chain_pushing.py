"""Pushing once, whatever happens to the answer."""

import pytest
from chain_pair import edited
from chain_table import FAILED, LIMITED, LOST, MISSING, Table
from fake_kaggle import Hook

from generator.kaggle.chain import errors
from generator.kaggle.chain.journal import ChainStep
from generator.kaggle.errors import RefusedError, SessionLimitError, SourcesRefusedError
from generator.pair.workspace import Role


@pytest.mark.parametrize(
    ("method", "hooks"),
    [
        pytest.param("push-after", [LOST, FAILED], id="the answer to a push is lost, and the first look fails"),
        pytest.param("push", [LOST], id="a push never arrives"),
        pytest.param("push", [LIMITED] * 5, id="a push meets a rate limit"),
        pytest.param("session_status", [MISSING] * 4, id="a kernel is missing for a while after its push"),
        pytest.param("submit-after", [LOST], id="the answer to a submission is lost"),
        pytest.param("submit", [FAILED], id="a submission never arrives"),
    ],
)
def test_what_goes_wrong_for_a_while_is_outlived_and_nothing_is_done_twice(
    table: Table, method: str, hooks: list[Hook]
) -> None:
    table.kaggle.wrong[method] = list(hooks)
    table.push()

    assert table.counts == (2, 1)


def test_a_push_that_shows_late_is_still_found(table: Table) -> None:
    """Kaggle answers with the old version for a while after a push that it took."""
    hidden = table.kaggle.kernels.find
    looks: list[str] = []

    def lagging(ref: str) -> object:
        looks.append(ref)
        return None if len(looks) in (2, 3, 4) else hidden(ref)

    table.kaggle.kernels.find = lagging
    table.kaggle.wrong["push-after"] = [LOST]
    table.push()

    assert table.counts == (2, 1)


def test_a_kernel_that_somebody_else_pushed_meanwhile_is_not_taken_for_ours(table: Table) -> None:
    def pushed_by_hand() -> None:
        versions = table.kaggle.saved["local/digits-keras-train"]
        other = versions[-1].push.__class__(**{**vars(versions[-1].push), "text": "{}"})
        versions.append(type(versions[-1])(other, versions[-1].states, {}))
        raise LOST

    table.kaggle.wrong["push-after"] = [pushed_by_hand]
    table.stops(errors.ChainError, match="tandem push digits --to local --from train")
    assert table.kaggle.pushes == 2


def test_a_version_of_an_earlier_chain_is_not_taken_for_ours_when_kaggle_forgets_it_for_a_moment(table: Table) -> None:
    """The new chain sends the same cells, so that only the number of the version tells the two apart."""
    table.push()
    looked = table.kaggle.kernels.find
    looks: list[str] = []

    def forgetful(ref: str) -> object:
        looks.append(ref)
        return None if len(looks) == 1 else looked(ref)

    table.kaggle.kernels.find = forgetful
    table.kaggle.wrong["push"] = [LOST]
    carried = table.push(restart=True)

    assert [push.version for push in carried.state.pushes.values()] == [2, 2]
    assert table.counts == (4, 2)


def test_a_push_that_is_never_taken_gives_up_with_the_last_answer(table: Table) -> None:
    table.kaggle.wrong["push"] = [FAILED] * 3
    table.stops(errors.NotAcceptedError, match="503")

    table.push()
    assert table.counts == (2, 1)


@pytest.mark.slow
def test_other_sessions_of_the_account_are_waited_for(table: Table) -> None:
    crowded = SessionLimitError(doing="push", words="Maximum batch TPU session count of 1 reached.", page="")
    table.kaggle.wrong["push"] = [crowded] * 40
    table.push()

    assert table.counts == (2, 1)
    assert max(table.time.slept) == 60


@pytest.mark.slow
def test_without_quota_it_stops_and_goes_on_later(table: Table) -> None:
    table.kaggle.wrong["push"] = [RefusedError(doing="push", words="no quota")]
    table.stops(RefusedError, match="no quota")
    assert table.kaggle.pushes == 0

    table.push()
    assert table.counts == (2, 1)


@pytest.mark.slow
def test_a_push_that_lost_its_inputs_fails_its_step(table: Table) -> None:
    refused = SourcesRefusedError(ref="local/x", version=1, sources={"kernel": ("local/digits-keras-train",)})
    table.kaggle.wrong["push-after"] = [None, refused]
    table.stops(SourcesRefusedError)
    table.stops(errors.StepFailedError, match="--from infer")

    table.push(back_to=ChainStep.INFER)
    assert table.counts == (3, 1)


@pytest.mark.slow
def test_a_code_competition_that_pair_toml_does_not_know_of_gets_nothing_with_the_internet_on(table: Table) -> None:
    known, unknown = (f"code_competition = {{ value = {value}" for value in ("true", "false"))
    table.folder.settings_path.write_text(table.folder.settings_path.read_text().replace(known, unknown))
    with edited(table.folder.metadata(Role.INFER)) as fields:
        fields["enable_internet"] = True

    table.stops(errors.KernelUnfitError, match=r"its internet is on \(M025\)", verify=True)
    assert table.counts == (0, 0)
