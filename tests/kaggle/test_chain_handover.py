"""What training hands over, what inference predicts, and submitting it once."""

import io
import sys

import pandas
import pytest
from chain_pair import training_output
from chain_table import LOST, Table

from generator.kaggle.api_types import DatasetState
from generator.kaggle.chain import errors
from generator.kaggle.chain.execution import Handoff
from generator.kaggle.chain.journal import ChainStep
from generator.pair.folder import read_pair_spec
from generator.pair.workspace import Role


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pair_id": "digits-keras-00000000"}, "of the pair"),
        ({"complete": False, "epochs_done": [3]}, "interrupted"),
        ({"specimen": True}, "specimen"),
        ({"settings": {"DEBUG": True}}, "smoke test"),
        ({"schema_version": 1}, "schema version"),
        ({"out_of_fold": {"metric": "accuracy", "score": float("nan")}}, "its score is NaN or infinite"),
        ({"check": {"file": "check.npz", "bytes": 3, "sha256": "0"}}, "check.npz is not in the output"),
    ],
)
def test_a_hand_over_that_inference_would_refuse_is_refused_before_it(
    table: Table, changes: dict[str, object], words: str
) -> None:
    table.kaggle.outputs["train"] = training_output(table.folder, **changes)
    table.stops(errors.HandOverUnfitError, match=words)
    assert table.counts == (1, 0)


def test_a_submission_that_the_competition_would_refuse_is_not_submitted(table: Table) -> None:
    table.kaggle.outputs["infer"]["submission.csv"] = b"id,label\n1,0\n"
    table.stops(errors.SubmissionUnfitError, match="ids are missing")
    assert table.counts == (2, 0)


def as_parquet(table: Table) -> bytes:
    """The submission at the table in the other format, for a pair that is to write that."""
    folder, stream = table.folder, io.BytesIO()
    was = read_pair_spec(folder).pair_id
    section = '[task]\nsubmission_file = "submission.parquet"'
    folder.settings_path.write_text(folder.settings_path.read_text().replace("[task]", section))
    for role in Role:
        notebook = folder.notebook(role)
        text = notebook.read_text().replace(was, read_pair_spec(folder).pair_id)
        notebook.write_text(text.replace("submission.csv", "submission.parquet"))
    table.kaggle.outputs["train"] = training_output(folder)
    pandas.read_csv(io.BytesIO(table.kaggle.outputs["infer"].pop("submission.csv"))).to_parquet(stream)
    return stream.getvalue()


def test_a_submission_of_parquet_is_checked_against_the_sample_of_csv(table: Table) -> None:
    table.kaggle.outputs["infer"]["submission.parquet"] = as_parquet(table)

    table.push()

    assert table.counts == (2, 1)
    assert "submission.parquet has 3 rows, and has the format of the competition" in [
        each.text for each in table.events
    ]


def test_a_submission_of_parquet_that_is_none_is_not_submitted(table: Table) -> None:
    table.kaggle.outputs["infer"]["submission.parquet"] = as_parquet(table)[:-20]

    table.stops(errors.SubmissionUnfitError, match=r"submission\.parquet: it is not a parquet file")
    assert table.counts == (2, 0)


def test_without_pyarrow_a_submission_of_parquet_goes_unchecked_and_that_is_said(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.kaggle.outputs["infer"]["submission.parquet"] = as_parquet(table)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    table.push()

    assert table.counts == (2, 1)
    assert any("its rows were not checked, since pyarrow is not installed" in each.text for each in table.events)


def test_nothing_is_submitted_on_a_day_without_submissions(table: Table) -> None:
    table.kaggle.allowed = 0
    table.stops(errors.ChainError, match="tandem submit digits")
    assert table.counts == (2, 0)

    table.kaggle.allowed = 1
    table.push()
    assert table.counts == (2, 1)


def test_a_dataset_carries_the_weights_where_that_is_asked_for(table: Table) -> None:
    table.kaggle.dataset_states = [DatasetState.PREPARING] * 3
    table.push(handoff=Handoff.DATASET)

    uploaded = table.kaggle.uploads["local/digits-keras-train-handover"][0]
    infer = table.kaggle.saved["local/digits-keras-infer"][0].push
    assert set(uploaded.files) == {"handoff.json", "fold0.weights.h5"}
    assert infer.dataset_sources == ("local/digits-keras-train-handover",)
    assert infer.kernel_sources == ()
    assert table.counts == (2, 1)


def test_a_model_carries_the_weights_and_the_notebook_is_told_where(table: Table) -> None:
    table.kaggle.wrong["upload-after"] = [LOST]
    table.push(handoff=Handoff.MODEL)

    infer = table.kaggle.saved["local/digits-keras-infer"][0].push
    assert infer.model_sources == ("local/digits-keras-train/keras/handover/1",)
    assert len(table.kaggle.uploads["local/digits-keras-train/keras/handover"]) == 1
    assert "models/local/digits-keras-train/keras/handover/1" in infer.text
    assert table.counts == (2, 1)


@pytest.mark.slow
def test_another_way_of_handing_over_takes_another_push_of_inference(table: Table) -> None:
    table.push()
    table.stops(errors.ChainError, match="--from infer", handoff=Handoff.DATASET)

    table.push(handoff=Handoff.DATASET, back_to=ChainStep.INFER)
    assert table.counts == (3, 2)
    assert len(table.kaggle.uploads) == 1
