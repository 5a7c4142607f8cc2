"""A chain's run arrives in the ledger once, with its scores."""

import hashlib
import io

import numpy as np
from chain_pair import training_output
from chain_table import Table

from generator.cli.main import main
from generator.kaggle.chain.chain import submit_pair
from generator.kaggle.chain.execution import PushOptions
from generator.kaggle.chain.journal import ChainStep
from generator.pair.folder import read_pair_spec
from generator.pair.generation import GenerateOptions, draft, write
from generator.pair.handover import read_handover
from generator.pair.workspace import Role
from generator.run.ledger import (
    RunOrigin,
    RunOutputs,
    RunRecord,
    change_run,
    read_runs,
    record_run,
    remove_runs,
    run_folder,
    training_key,
)


def runs(table: Table) -> tuple[RunRecord, ...]:
    return read_runs(table.workspace, "digits")


def test_a_chain_is_recorded_once_however_often_it_goes_on(table: Table) -> None:
    predictions = io.BytesIO()
    np.savez(predictions, ids=np.array(["1"]), predictions=np.ones((1, 10), np.float32))
    table.kaggle.outputs["train"] |= {"oof.csv": b"id,fold\n", "oof.npz": b"npz"}
    table.kaggle.outputs["infer"]["predictions.npz"] = predictions.getvalue()
    table.push(submit=False)

    (record,) = runs(table)
    assert (record.origin, record.cv, record.rows, record.public_score) == ("kaggle", 0.97, 3, None)
    assert (record.weights, record.framework, record.parameters) == ("remote", "keras", {"train": {}, "infer": {}})
    folder = run_folder(table.workspace, "digits", 1)
    assert {path.name for path in folder.iterdir()} == {
        *("handoff.json", "infer.ipynb", "oof.csv", "oof.npz", "predictions.npz", "run.json", "submission.csv"),
        "train.ipynb",
    }
    assert (folder / "predictions.npz").read_bytes() == predictions.getvalue()

    submit_pair(table.kaggle, PushOptions(table.workspace, "digits"), table.around)
    table.push()
    (record,) = runs(table)
    assert (record.public_score, record.private_score) == (0.96, 0.95)

    change_run(table.workspace, record, public_score=None, private_score=None)
    for verb in ("status", "receipt"):
        assert main([verb, "digits", "--workspace", str(table.workspace.root)]) == 0
    assert runs(table) == (record,)
    table.push(back_to=ChainStep.INFER)
    assert [(entry.number, entry.public_score) for entry in runs(table)] == [(1, 0.96), (2, 0.96)]


def test_a_run_that_cannot_be_kept_stops_no_chain(table: Table) -> None:
    (table.workspace.root / "output").mkdir()
    (table.workspace.root / "output" / "digits").write_text("in the way")
    assert table.push().state.score is not None
    assert any("not kept in the ledger" in event.text for event in table.events)


def test_predictions_that_arrive_damaged_are_fetched_again_by_the_next_command(table: Table) -> None:
    promised = {"file": "oof.npz", "bytes": 3, "sha256": hashlib.sha256(b"npz").hexdigest()}
    folds = {"out_of_fold": {"metric": "accuracy", "score": 0.97, "rows": 3, "predictions": promised}}
    table.kaggle.outputs["train"] = training_output(table.folder, **folds) | {"oof.npz": b"np?"}
    table.push(submit=False)
    assert runs(table) == ()
    assert any("oof.npz arrived damaged" in event.text for event in table.events)

    (version,) = next(versions for ref, versions in table.kaggle.saved.items() if ref.endswith("-train"))
    version.files["oof.npz"] = b"npz"
    for damage in (b"{", training_output(table.folder)["handoff.json"]):
        (handover,) = table.workspace.root.rglob("handoff.json")
        handover.write_bytes(damage)
        table.push(submit=False)
        assert runs(table) == ()
        assert "handoff.json of the training cannot be used" in table.events[-1].text
        assert not handover.exists()
        table.push(submit=False)
        (record,) = runs(table)
        assert (run_folder(table.workspace, "digits", 1) / "oof.npz").read_bytes() == b"npz"
        remove_runs(table.workspace, [record])


def test_a_training_on_colab_is_completed_by_its_chain(table: Table) -> None:
    flags = {"owner": "local", "platform": "colab"}
    write(draft(table.workspace, GenerateOptions(competition="digits", values=flags)))
    folder = table.workspace.output("digits") / "train"
    folder.mkdir(parents=True)
    for name, content in table.kaggle.outputs.pop("train").items():
        (folder / name).write_bytes(content)
    (folder / "train.ipynb").write_bytes(table.folder.path.joinpath("train/train.ipynb").read_bytes())
    handover = read_handover(folder)
    training = RunOutputs(
        workspace=table.workspace,
        folder=table.folder,
        spec=read_pair_spec(table.folder),
        origin=RunOrigin.COLAB,
        handover=handover,
        keys={Role.TRAIN: training_key(handover)},
        folders={Role.TRAIN: folder},
        notebooks={Role.TRAIN: folder / "train.ipynb"},
    )
    assert not record_run(training).record.is_inferred

    table.push()
    table.push()

    (record,) = runs(table)
    assert (record.number, record.origin, record.weights, record.public_score) == (1, "colab", "kept", 0.96)
    assert record.is_inferred
    assert (run_folder(table.workspace, "digits", 1) / "submission.csv").is_file()
