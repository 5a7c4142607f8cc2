"""The chain on a Kaggle in memory: its story, going on, going back, and what it refuses."""

import json
import os
from pathlib import Path

import pytest
from chain_pair import edit_notebook
from chain_table import FORBIDDEN, MISSING, Table
from fake_kaggle import ERROR, RUNNING, SAMPLE

from generator.kaggle.chain import errors
from generator.kaggle.chain.chain import submit_pair
from generator.kaggle.chain.execution import PushOptions
from generator.kaggle.chain.journal import ChainStep, Journals, Outcome


def test_a_pair_is_carried_from_training_to_its_score(table: Table) -> None:
    carried = table.push()

    assert carried.state.outcome is Outcome.SCORED
    assert carried.state.score is not None
    assert carried.state.score.public == 0.96
    assert table.counts == (2, 1)
    what, message = table.kaggle.made_submissions[0]
    assert what == "local/digits-keras-infer version 1: submission.csv"
    assert "tandem digits 0001" in message


def test_inference_is_pushed_with_the_output_of_training_attached(table: Table) -> None:
    table.push()

    infer = table.kaggle.saved["local/digits-keras-infer"][0].push
    assert infer.kernel_sources == ("local/digits-keras-train",)
    assert infer.competition_sources == ("digits",)
    assert not infer.enable_internet


def test_a_chain_that_is_done_pushes_nothing_when_it_is_asked_again(table: Table) -> None:
    table.push()
    table.push()

    assert table.counts == (2, 1)


@pytest.mark.slow
def test_without_submit_it_ends_with_a_checked_submission_and_submit_goes_on(table: Table) -> None:
    carried = table.push(submit=False)
    assert carried.state.outcome is Outcome.READY
    assert table.counts == (2, 0)

    submit_pair(table.kaggle, PushOptions(table.workspace, "digits"), table.around)
    assert table.counts == (2, 1)


def test_submit_needs_a_chain(table: Table) -> None:
    with pytest.raises(errors.NoChainError, match="tandem push digits --to local"):
        submit_pair(table.kaggle, PushOptions(table.workspace, "digits"), table.around)


@pytest.mark.slow
def test_submit_trains_nothing_anew(table: Table) -> None:
    table.push(submit=False)
    edit_notebook(table.folder, "train")

    with pytest.raises(errors.ChainError, match="To train again: `tandem push digits --to local --submit`"):
        submit_pair(table.kaggle, PushOptions(table.workspace, "digits"), table.around)
    assert table.counts == (2, 0)


def test_other_competitions_get_the_file(tmp_path: Path) -> None:
    table = Table(tmp_path, is_code_competition=False)
    table.push()

    assert table.kaggle.made_submissions[0][0] == SAMPLE


def test_a_submission_file_that_was_removed_is_fetched_again(tmp_path: Path) -> None:
    table = Table(tmp_path, is_code_competition=False)
    carried = table.push(submit=False)
    (carried.journal.folder / "infer" / "submission.csv").write_text("something else")
    table.push()

    assert table.kaggle.made_submissions[0][0] == SAMPLE


def test_restart_begins_a_new_chain(table: Table) -> None:
    table.push()
    carried = table.push(restart=True)

    assert carried.journal.number == 2
    assert table.counts == (4, 2)


@pytest.mark.parametrize(
    ("step", "counts"), [(ChainStep.TRAIN, (4, 2)), (ChainStep.INFER, (3, 2)), (ChainStep.SUBMIT, (2, 2))]
)
def test_going_back_takes_a_step_again_and_all_behind_it(
    table: Table, step: ChainStep, counts: tuple[int, int]
) -> None:
    table.push()
    carried = table.push(back_to=step)

    assert table.counts == counts
    assert carried.journal.number == 1
    assert carried.state.outcome is Outcome.SCORED


def test_going_back_to_what_was_never_reached_is_refused(table: Table) -> None:
    table.kaggle.states["train"] = [ERROR]
    table.stops(errors.SessionFailedError)

    table.stops(errors.ChainError, match="a completed training", back_to=ChainStep.INFER)
    assert table.counts == (1, 0)


def test_a_training_notebook_that_was_changed_under_way_is_asked_about(table: Table) -> None:
    table.kaggle.allowed = 0
    table.kaggle.wrong["submissions_left"] = [FORBIDDEN]
    table.kaggle.states["infer"] = [RUNNING]
    table.kaggle.wrong["session_status"] = [None, None, *[MISSING] * 600]
    table.stops(errors.WaitedInVainError)

    edit_notebook(table.folder, "train")
    table.stops(errors.ChainError, match="--from infer")
    assert table.counts == (2, 0)


def test_a_pair_that_is_rendered_anew_after_its_score_begins_a_new_chain(table: Table) -> None:
    table.push()
    edit_notebook(table.folder, "train")
    carried = table.push()

    assert carried.journal.number == 2
    assert table.counts == (4, 2)


def test_an_inference_notebook_that_was_changed_after_its_score_is_asked_about(table: Table) -> None:
    table.push()
    edit_notebook(table.folder, "infer")
    table.stops(errors.ChainError, match="--from infer")

    table.push(back_to=ChainStep.INFER)
    assert table.counts == (3, 2)


def test_two_chains_of_one_pair_at_once_are_refused(table: Table) -> None:
    with (
        Journals(table.folder).lock(),
        pytest.raises(errors.ChainError, match=rf"is running \(process {os.getpid()}\)"),
    ):
        table.push()
    assert table.counts == (0, 0)


def test_a_line_that_a_crash_cut_off_is_left_out_and_written_over(table: Table) -> None:
    carried = table.push()
    whole = carried.journal.path.read_bytes()
    carried.journal.path.write_bytes(whole + b'{"at": "2026-11-21T12:0')
    table.push(back_to=ChainStep.SUBMIT)

    lines = carried.journal.path.read_bytes().splitlines()
    assert all(json.loads(line) for line in lines)
    assert table.counts == (2, 2)


def test_a_built_in_competition_is_refused_on_the_real_kaggle(table: Table) -> None:
    table.kaggle.is_local = False
    table.stops(errors.ChainError, match="tandem serve")
    assert table.kaggle.calls == []


def test_kernels_of_somebody_else_are_refused_on_the_real_kaggle(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.as_of_a_real_competition(monkeypatch)
    table.kaggle.account = "somebody"
    table.stops(errors.ChainError, match="--owner somebody")
    assert table.kaggle.pushes == 0


def test_a_local_kaggle_takes_the_kernels_of_anybody(table: Table) -> None:
    table.kaggle.account = "guest"
    table.push()

    assert set(table.kaggle.saved) == {"guest/digits-keras-train", "guest/digits-keras-infer"}
    infer = table.kaggle.saved["guest/digits-keras-infer"][0].push
    assert infer.kernel_sources == ("guest/digits-keras-train",)
    assert 'TRAIN_KERNEL = \\"guest/digits-keras-train\\"' in infer.text


def test_the_log_is_shown_where_that_is_asked_for(table: Table) -> None:
    table.push(show_log=True)

    assert any(event.text == "epoch 1" for event in table.events)
