"""Pushing once, whatever happens to the answer."""

import pytest
from chain_pair import edited
from chain_table import LIMITED, LOST, Table

from generator.kaggle.chain import errors
from generator.kaggle.errors import SessionLimitError
from generator.pair.workspace import Role


@pytest.mark.parametrize("method", ["push", "submit"])
def test_a_rate_limit_for_a_while_is_outlived_and_nothing_is_done_twice(table: Table, method: str) -> None:
    table.kaggle.wrong[method] = [LIMITED] * 5
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


@pytest.mark.slow
def test_other_sessions_of_the_account_are_waited_for(table: Table) -> None:
    crowded = SessionLimitError(doing="push", words="Maximum batch TPU session count of 1 reached.", page="")
    table.kaggle.wrong["push"] = [crowded] * 40
    table.push()

    assert table.counts == (2, 1)
    assert max(table.time.slept) == 60


@pytest.mark.slow
def test_a_code_competition_that_pair_toml_does_not_know_of_gets_nothing_with_the_internet_on(table: Table) -> None:
    known, unknown = (f"code_competition = {{ value = {value}" for value in ("true", "false"))
    table.folder.settings_path.write_text(table.folder.settings_path.read_text().replace(known, unknown))
    with edited(table.folder.metadata(Role.INFER)) as fields:
        fields["enable_internet"] = True

    table.stops(errors.KernelUnfitError, match=r"its internet is on \(M025\)", verify=True)
    assert table.counts == (0, 0)
