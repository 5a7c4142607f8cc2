"""What training hands over, what inference predicts, and submitting it once."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from chain_pair import marker, training_output
from chain_table import LOST, Table

from generator.kaggle.api_types import DatasetState
from generator.kaggle.chain import errors
from generator.kaggle.chain.execution import Handoff
from generator.kaggle.chain.journal import ChainStep
from generator.pair.folder import complete_settings, read_pair_spec
from generator.pair.notebook import has_parameters, read_parameters
from generator.pair.rendering import kernel_files, rendered_cells
from generator.pair.settings import Origin, SettingValue, settings_toml
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


def as_blend(table: Table) -> list[Path]:
    """Make the pair at the table a blend with a member that is files, and return those."""
    member = "one kernel=local/one-train family=image_classification framework=keras"
    values = {"framework": "blend", "members": [member, "mine dataset=somebody/digits-members"]}
    settings = complete_settings(table.folder)
    settings = replace(
        settings, pair=settings.pair | {name: SettingValue(value, Origin.FLAG) for name, value in values.items()}
    )
    table.folder.settings_path.write_text(settings_toml(settings))
    for path, content in kernel_files(settings, rendered_cells(settings)).items():
        (table.folder.path / path).write_bytes(content)
    cpu = json.dumps(marker(emulated=False)).encode()
    table.kaggle.outputs["train"] = training_output(table.folder) | {"accelerator.json": cpu}
    files = [table.workspace.input / f"datasets/somebody/digits-members/mine.{part}.csv" for part in ("oof", "test")]
    files[0].parent.mkdir(parents=True)
    for path in files:
        path.write_text("id,0\n1,1\n")
    return files


def test_the_files_of_a_blends_members_become_a_dataset_before_its_first_kernel(table: Table) -> None:
    files = as_blend(table)

    table.push()

    assert table.kaggle.calls.index("upload") < table.kaggle.calls.index("push")
    ((dataset, (upload,)),) = table.kaggle.uploads.items()
    assert (dataset, upload.files) == ("local/digits-members", {path.name: path for path in files})
    for (version,) in table.kaggle.saved.values():
        assert version.push.dataset_sources == (dataset,)
        (cell,) = [cell for cell in json.loads(version.push.text)["cells"] if has_parameters(cell)]
        assert read_parameters(cell["source"])["MEMBER_DATASETS"] == [dataset]


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_of_a_blends_member_that_is_missing_or_a_link_stops_the_push_before_anything_is_sent(
    table: Table, is_link: bool
) -> None:
    file, _ = as_blend(table)
    file.unlink()
    if is_link:
        file.symlink_to(table.folder.settings_path)

    error = table.stops(errors.ChainError, match=r"mine\.oof\.csv, a file of the member mine of the blend")

    assert error.remedy == "Write the blend again with `tandem blend`."
    assert (table.counts, table.kaggle.uploads) == ((0, 0), {})
