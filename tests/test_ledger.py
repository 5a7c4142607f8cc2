"""Full runs are kept under numbers, and what is read of them is checked."""

import errno
import json
import multiprocessing
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recorded_runs import WEIGHTS, outputs_of, record

from generator.errors import TandemError
from generator.pair.workspace import Role, Workspace
from generator.run.ledger import (
    LedgerError,
    change_run,
    prunable_runs,
    read_runs,
    record_run,
    remove_runs,
    resolve_run,
    run_folder,
)

FILES = [
    *("fold0.weights.h5", "handoff.json", "infer.ipynb", "oof.npz", "predictions.npz", "report.html", "run.json"),
    *("submission.csv", "train.ipynb"),
]


def names_in(root: Path, number: int) -> list[str]:
    return sorted(path.name for path in run_folder(Workspace(root), "tiny", number).iterdir())


def test_a_run_is_kept_with_its_files_its_scores_and_what_it_was_told(tmp_path: Path) -> None:
    first = record(tmp_path).record
    assert names_in(tmp_path, 1) == FILES
    second = record(tmp_path, epochs=5, score=0.75, cell="print('other')", hidden_test=0.7).record

    assert read_runs(Workspace(tmp_path), "tiny") == (first, second)
    assert (second.name, second.parent, second.cv, second.metric) == ("tiny@2", 1, 0.75, "accuracy")
    assert (second.fold_scores, second.hidden_test, second.higher_is_better) == ((0.74, 0.76), 0.7, True)
    assert (first.parameters, second.parameters) == (
        {"train": {}, "infer": {}},
        {"train": {"EPOCHS": 5}, "infer": {"EPOCHS": 5}},
    )
    assert {name for name in first.code["train"] if first.code["train"][name] != second.code["train"][name]} == {
        "model"
    }
    assert (second.submission, second.rows, second.seconds) == ("submission.csv", 2, {"train": 60.0, "infer": 5.0})


def test_a_training_waits_for_its_inference_and_is_recorded_once(tmp_path: Path) -> None:
    training = record(tmp_path, inference=None)
    assert "submission.csv" not in names_in(tmp_path, 1)

    assert record(tmp_path, inference=None).record == training.record
    whole = record(tmp_path).record
    assert (whole.number, whole.rows, whole.keys["infer"]) == (1, 2, "first")
    assert names_in(tmp_path, 1) == FILES
    assert record(tmp_path).record == whole
    assert record(tmp_path, inference="second").record.number == 2


def test_a_training_is_completed_by_one_inference_alone(tmp_path: Path) -> None:
    record(tmp_path, inference=None)
    for name in ("predictions.npz", "infer.ipynb"):
        (run_folder(Workspace(tmp_path), "tiny", 1) / name).write_bytes(b"of an inference that was interrupted")
    outputs = outputs_of(tmp_path)
    (outputs.folders[Role.INFER] / "predictions.npz").unlink()

    assert record_run(outputs).record.number == 1
    assert names_in(tmp_path, 1) == sorted({*FILES} - {"predictions.npz"})


def test_weights_are_kept_of_the_best_the_newest_and_members_of_a_blend(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for score in (0.7, 0.9):
        assert record(tmp_path, score=score).notes == (
            ()
            if score == 0.7
            else ("The weights of run 1 were removed; those of the best and the newest run are kept.",)
        )
    blend = tmp_path / "kernels/joined"
    blend.mkdir()
    (blend / "pair.toml").write_text('[pair]\nframework = "blend"\nmembers = ["tiny@3", "other@4"]\n')
    for score in (0.6, 0.5):
        assert record(tmp_path, score=score).notes == ()
    assert "run 4 " in record(tmp_path, score=0.4).notes[0]

    kept = [entry.number for entry in read_runs(workspace, "tiny") if entry.weights == "kept"]
    assert kept == [2, 3, 5]
    assert [number for number in range(1, 6) if "fold0.weights.h5" in names_in(tmp_path, number)] == kept
    assert [entry.number for entry in prunable_runs(workspace, read_runs(workspace, "tiny"), keep=4)] == [4]
    remove_runs(workspace, prunable_runs(workspace, read_runs(workspace, "tiny"), keep=0))
    assert [entry.number for entry in read_runs(workspace, "tiny")] == [2, 3, 5]
    assert record(tmp_path, score=0.3).record.number == 6


@pytest.mark.parametrize("obstacle", ["a folder", "a link", "a large file"])
def test_no_weights_and_no_run_are_removed_while_it_is_not_known_what_blends_name(
    tmp_path: Path, obstacle: str
) -> None:
    record(tmp_path, score=0.7)
    settings = tmp_path / "kernels/joined/pair.toml"
    settings.parent.mkdir()
    if obstacle == "a folder":
        settings.mkdir()
    elif obstacle == "a link":
        (tmp_path / "elsewhere.toml").write_text('members = ["tiny@1"]')
        settings.symlink_to(tmp_path / "elsewhere.toml")
    else:
        settings.write_text(" " * 2**20 + 'members = ["tiny@1"]')

    for score in (0.9, 0.8):
        (note,) = record(tmp_path, score=score).notes
        assert f"The pair.toml in {settings.parent} cannot be read" in note
        assert "nothing was removed" in note
    records = read_runs(Workspace(tmp_path), "tiny")
    assert [entry.weights for entry in records] == ["kept"] * 3
    with pytest.raises(LedgerError, match="cannot be read"):
        prunable_runs(Workspace(tmp_path), records, keep=1)


def test_runs_by_the_metric_of_fewer_runs_are_removed_before_others(tmp_path: Path) -> None:
    for metric, score in (("a", 0.7), ("a", 0.8), ("a", 0.9), ("b", 30.0), ("b", 20.0), ("a", 0.6)):
        score_fields = {"out_of_fold": {"metric": metric, "score": score}, "higher_is_better": True}
        record(tmp_path, score=score, fields=score_fields)
    workspace = Workspace(tmp_path)

    removable = prunable_runs(workspace, read_runs(workspace, "tiny"), keep=1)
    assert [entry.number for entry in removable] == [5, 1, 2]


def test_a_lower_score_is_better_where_training_says_so(tmp_path: Path) -> None:
    fields = {"out_of_fold": {"metric": "mine.py", "score": 0.1}, "higher_is_better": False}
    record(tmp_path, fields=fields)
    for score in (0.2, 0.3):
        record(tmp_path, score=score, fields={**fields, "out_of_fold": {"metric": "mine.py", "score": score}})

    assert [entry.weights for entry in read_runs(Workspace(tmp_path), "tiny")] == ["kept", "removed", "kept"]


def test_a_full_disk_leaves_nothing_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = outputs_of(tmp_path)

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(shutil, "copyfileobj", fail)
    with pytest.raises(TandemError, match="the disk is full"):
        record_run(outputs)
    assert [path.name for path in (tmp_path / "output/tiny/runs").iterdir()] == [".lock"]


def test_a_record_that_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    versions = {f"{number:0300}": "1" * 300 for number in range(1_900)}
    with pytest.raises(LedgerError, match=r"The record of tiny@1 would be larger than 1 MB"):
        record(tmp_path, fields={"versions": versions})
    assert [path.name for path in (tmp_path / "output/tiny/runs").iterdir()] == [".lock"]


def _record_three(root: Path, elsewhere: Path) -> None:
    for epochs in range(3):
        outputs = outputs_of(elsewhere, epochs=epochs, cell=elsewhere.name)
        record_run(replace(outputs, workspace=Workspace(root)))


def test_runs_that_end_at_once_have_numbers_of_their_own(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    roots = (tmp_path / "a", tmp_path / "b")
    processes = [context.Process(target=_record_three, args=(tmp_path, root)) for root in roots]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    records = read_runs(Workspace(tmp_path), "tiny")
    assert [(entry.number, entry.parent) for entry in records] == list(
        zip(range(1, 7), (None, *range(1, 6)), strict=True)
    )


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two runs."""
    root = tmp_path_factory.mktemp("ledger")
    record(root)
    record(root, epochs=4)
    return root


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", 7),
        ("pair", "../tiny"),
        ("cv", "0.9"),
        ("cv", float("inf")),
        ("fold_scores", [0.1, None]),
        ("submission", "../../pair.toml"),
        ("submission", "run.json"),
        ("code", {"train": {"model": "not a hash"}}),
        ("code", {"prepare": {}}),
        ("parameters", {"train": {"EPOCHS; import os": 3}}),
        ("parameters", {"train": {"EPOCHS": {"a": 1}}}),
        ("created", "2026-01-01T00:00:00"),
        ("note", "long " * 1000),
        ("versions", {"keras": ["3"]}),
        ("weights", "sold"),
        ("schema_version", 2),
        ("seconds", {"train": "1"}),
        ("seconds", {"train": True}),
        ("seconds", {"train": -1.0}),
        ("seconds", {"train": float("nan")}),
        ("cv", 1e200),
        ("fold_scores", [1.7e308, -1.7e308]),
    ],
)
def test_a_damaged_record_is_named_and_left_out(ledger: Path, tmp_path: Path, name: str, value: object) -> None:
    shutil.copytree(ledger, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "output/tiny/runs/0001/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    warnings: list[str] = []

    assert [entry.number for entry in read_runs(Workspace(tmp_path), "tiny", warn=warnings.append)] == [2]
    assert len(warnings) == 1
    assert f"{path} is damaged (" in warnings[0]
    assert warnings[0].endswith("): restore it, or remove the folder 0001.")
    with pytest.raises(LedgerError, match=r"0001/run\.json is damaged"):
        resolve_run(Workspace(tmp_path), "tiny@1")


def test_a_run_is_found_by_its_name(ledger: Path) -> None:
    workspace = Workspace(ledger)

    assert resolve_run(workspace, "tiny") == resolve_run(workspace, "tiny@0002") == read_runs(workspace, "tiny")[1]
    for reference in ("other", "tiny@3", "../tiny", "tiny@", "tiny@1@2"):
        with pytest.raises(LedgerError):
            resolve_run(workspace, reference)


def test_links_in_a_workspace_that_somebody_sent_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    outputs = outputs_of(tmp_path / "workspace")
    (outputs.workspace.output("tiny") / "runs").symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(TandemError, match="a link"):
        record_run(outputs)
    (outputs.workspace.output("tiny") / "runs").unlink()
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (outputs.folders[Role.TRAIN] / "oof.csv").symlink_to(secret)
    with pytest.raises(LedgerError, match=r"oof\.csv cannot be recorded"):
        record_run(outputs)
    assert list(elsewhere.iterdir()) == []


def test_weights_are_files_of_the_run_whatever_a_hand_over_calls_them(tmp_path: Path) -> None:
    outside = tmp_path / "output/tiny/keep.h5"
    names = ("../keep.h5", "run.json", "/etc/passwd", "a/b", "submission.csv")
    folds = [{"file": name, "sha256": "", "score": 0.5} for name in names]
    record(tmp_path, score=0.5, fields={"folds": folds})
    outside.write_bytes(WEIGHTS)
    record(tmp_path, score=0.9)

    assert read_runs(Workspace(tmp_path), "tiny")[0].weights == "removed"
    assert outside.read_bytes() == WEIGHTS
    assert names_in(tmp_path, 1) == sorted({*FILES} - {"fold0.weights.h5"})


def test_a_run_with_other_folds_than_the_first_of_its_competition_says_so(tmp_path: Path) -> None:
    folds = [{"folds_sha256": digest * 16} for digest in ("ab", "cd")]
    assert record(tmp_path, fields=folds[0]).warnings == ()
    assert record(tmp_path, epochs=4, fields=folds[0]).warnings == ()
    (warning,) = record(tmp_path, pair="tiny-trees", fields=folds[1]).warnings
    assert "Run 1 of tiny-trees has other folds than run 1 of tiny, although both have 2" in warning
    fewer = {**folds[1], "folds": [{"score": 0.5}]}
    assert record(tmp_path, epochs=5, fields=fewer).warnings == ()


def test_the_folds_of_a_competition_are_noted_by_one_run_at_a_time(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    record(tmp_path, fields={"folds_sha256": "ab" * 16})
    other = outputs_of(tmp_path, epochs=4, fields={"folds_sha256": "cd" * 16, "folds": [{"score": 0.5}]})
    notes = tmp_path / "output/.folds/tiny.json"
    thread = threading.Thread(target=record_run, args=(other,))
    with notes.with_name(".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread.start()
        while len(read_runs(Workspace(tmp_path), "tiny")) == 1:
            time.sleep(0.01)
        thread.join(0.1)
        assert set(json.loads(notes.read_text())["folds"]) == {"2"}
    thread.join()
    assert set(json.loads(notes.read_text())["folds"]) == {"1", "2"}


def test_a_record_is_changed_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    first, workspace = record(tmp_path).record, Workspace(tmp_path)
    assert change_run(workspace, first, note="smaller model", public_score=0.81).note == "smaller model"
    assert read_runs(workspace, "tiny")[0].public_score == 0.81
    with pytest.raises(LedgerError, match="note"):
        change_run(workspace, first, note="x" * 2000)
    assert read_runs(workspace, "tiny")[0].note == "smaller model"
