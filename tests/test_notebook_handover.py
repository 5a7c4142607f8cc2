"""Inference takes what training promised and nothing else, and names both sides of a disagreement."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from notebook_session import Mirror, Notebook, Sessions, Trained, names_below

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

TRAIN, INFER = Notebook("tensorflow", "train"), Notebook("tensorflow", "infer")
KERNEL = "ada/digits-tensorflow-train"
HANDED_OVER = ["fold0.weights.h5", "fold0.preprocessing.json", "oof.csv", "oof.npz", "check.npz"]


@pytest.fixture
def handed_over(trained: Trained, tmp_path: Path) -> Mirror:
    """A mirror with a finished training of the tensorflow pair."""
    return trained.mirror("tensorflow", tmp_path / "mirror")


def refused(
    sessions: Sessions, mirror: Mirror, notebook: Notebook = INFER, **parameters: str | bool | list[str]
) -> tuple[str, str]:
    """The cell and the error that ended inference, which wrote nothing."""
    ended = sessions.run(notebook, mirror.parameters(notebook, **parameters))
    assert not ended.is_done
    assert names_below(mirror.working) == []
    return str(ended.cell), ended.error


def change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", HANDED_OVER)
def test_a_changed_byte_is_noticed_in_every_file(sessions: Sessions, handed_over: Mirror, name: str) -> None:
    path = handed_over.output_of_training("tensorflow") / name
    promised = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    change_a_byte(path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()[:12]

    assert refused(sessions, handed_over) == (
        "files-verified",
        (
            f"ValueError: {path} has changed since training wrote it: its SHA-256 is {found} and should be {promised}. "
            f"Run {KERNEL} again, or attach its output afresh."
        ),
    )


@pytest.mark.parametrize("name", HANDED_OVER)
def test_a_missing_file_is_named(sessions: Sessions, handed_over: Mirror, name: str) -> None:
    path = handed_over.output_of_training("tensorflow") / name
    path.unlink()

    assert refused(sessions, handed_over) == (
        "files-verified",
        f"FileNotFoundError: {path} is missing. Run {KERNEL} again.",
    )


def test_a_changed_handoff_is_noticed(sessions: Sessions, handed_over: Mirror) -> None:
    path = handed_over.output_of_training("tensorflow") / "handoff.json"
    text = path.read_text()
    path.write_text(text.replace('"label"', '"lable"', 1))

    cell, error = refused(sessions, handed_over)

    assert cell == "handoff-found"
    assert re.fullmatch(
        rf"ValueError: {path} has changed since training wrote it: its SHA-256 is [0-9a-f]{{12}} and should be "
        rf"[0-9a-f]{{12}}\. Run {KERNEL} again, or attach its output afresh\.",
        error,
    )


@pytest.mark.parametrize("text", ["{", "[]", "{}", '"x"', "", '{"sha256": null'])
def test_a_handoff_that_is_none_is_one_sentence(sessions: Sessions, handed_over: Mirror, text: str) -> None:
    path = handed_over.output_of_training("tensorflow") / "handoff.json"
    path.write_text(text)

    cell, error = refused(sessions, handed_over)

    assert cell == "handoff-found"
    assert re.fullmatch(rf"ValueError: {path} is not a hand-over: .*\. Run {KERNEL} again\.", error)


def test_the_model_of_a_smoke_test_is_not_taken_for_a_real_one(sessions: Sessions, handed_over: Mirror) -> None:
    path = handed_over.output_of_training("tensorflow") / "handoff.json"
    handoff = json.loads(path.read_text())
    del handoff["sha256"]
    handoff["settings"]["SMOKE_TEST"] = True
    handoff["sha256"] = hashlib.sha256(json.dumps(handoff, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(handoff))

    cell, error = refused(sessions, handed_over)

    assert cell == "handoff-found"
    assert error.startswith("ValueError: Training was a smoke test, on a few rows.")
    assert sessions.run(INFER, handed_over.parameters(INFER, SMOKE_TEST=True)).is_done


@pytest.mark.parametrize(
    ("parameter", "name"),
    [("PAIR_ID", "pair_id"), ("FRAMEWORK", "framework"), ("TARGETS", "task")],
)
def test_the_output_of_another_pair_is_refused_with_both_values(
    sessions: Sessions, handed_over: Mirror, parameter: str, name: str
) -> None:
    path = handed_over.output_of_training("tensorflow") / "handoff.json"
    theirs = json.loads(path.read_text())[name]
    other = ["id"] if parameter == "TARGETS" else "something-else"

    cell, error = refused(sessions, handed_over, **{parameter: other})

    assert cell == "handoff-found"
    assert error.startswith(f"ValueError: The hand-over has the {name} {theirs!r}, and this notebook needs ")
    assert f"{other!r}" in error.removeprefix(f"ValueError: The hand-over has the {name} {theirs!r}")


def test_the_output_of_the_other_framework_is_refused(sessions: Sessions, trained: Trained, tmp_path: Path) -> None:
    mirror = trained.mirror("keras", tmp_path / "mirror")
    mirror.output_of_training("keras").rename(mirror.output_of_training("tensorflow"))

    cell, error = refused(sessions, mirror)

    assert cell == "handoff-found"
    assert re.search("has the pair_id 'digits-keras-.*, and this notebook needs 'digits-tensorflow-", error)


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_an_edit_of_how_images_are_prepared_is_noticed(
    sessions: Sessions, trained: Trained, tmp_path: Path, framework: str
) -> None:
    mirror = trained.mirror(framework, tmp_path / "mirror")
    promised = json.loads((mirror.output_of_training(framework) / "handoff.json").read_text())["preprocessing"][
        "sha256"
    ]
    edit = {"resize": lambda cell: cell.replace("antialias=True", "antialias=False")}

    cell, error = refused(sessions, mirror, Notebook(framework, "infer", edit))

    assert cell == "preprocessing-verified"
    assert "Training prepared its data in another way" in error
    assert f"{promised[:12]} there" in error


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_a_model_that_loads_but_computes_something_else_is_noticed(
    sessions: Sessions, trained: Trained, tmp_path: Path, framework: str
) -> None:
    mirror = trained.mirror(framework, tmp_path / "mirror")
    edit = {"small-cnn": lambda cell: cell.replace('Activation("relu")', 'Activation("elu")')}

    cell, error = refused(sessions, mirror, Notebook(framework, "infer", edit))

    assert cell == "check-repeated"
    assert re.match(
        r"ValueError: The model loads but computes something else: its predictions are up to 0\.\d+ from those of "
        r"training, and 0\.001 is allowed\. Compare build_model in the two notebooks",
        error,
    )


def test_training_images_that_are_not_mounted_for_inference_are_not_needed(
    sessions: Sessions, handed_over: Mirror
) -> None:
    shutil.rmtree(handed_over.competition / "train")

    ended = sessions.run(INFER, handed_over.parameters(INFER))

    assert ended.is_done, ended
    assert names_below(handed_over.working) == ["submission.csv"]


def test_training_that_stopped_itself_is_refused_accepted_on_request_and_finished_by_a_next_session(
    sessions: Sessions, trained: Trained, tmp_path: Path
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    mount = mirror.output_of_training("tensorflow")
    shutil.rmtree(mount)
    settings = {"EPOCHS": 3, "FOLDS": 2, "RESERVE_MINUTES": 10.0}

    stopped = sessions.run(TRAIN, mirror.parameters(TRAIN, **settings, SESSION_HOURS=10 / 60))
    assert stopped.is_done, stopped
    mirror.working.rename(mount)
    handoff = json.loads((mount / "handoff.json").read_text())
    assert (handoff["complete"], handoff["epochs_done"]) == (False, [1, 0])
    assert handoff["resume_from"] == "checkpoints"
    assert stopped.said("train").endswith("\nfold 1: left for a next session")
    assert "Interrupted: attach this output to this notebook" in stopped.said("write-handoff")

    cell, error = refused(sessions, mirror)
    assert cell == "handoff-found"
    assert error == (
        f"ValueError: Training was interrupted: of 3 epochs, its folds have done [1, 0]. Attach the output of "
        f"{KERNEL} to {KERNEL} itself and run that again, or set ACCEPT_INCOMPLETE = True here."
    )
    assert sessions.run(INFER, mirror.parameters(INFER, ACCEPT_INCOMPLETE=True)).is_done
    shutil.rmtree(mirror.working)

    finished = sessions.run(TRAIN, mirror.parameters(TRAIN, **settings))
    assert finished.is_done, finished
    assert finished.said("checkpoints-found") == f"Goes on from {mount}/checkpoints, epochs done: {{0: 1, 1: 0}}"
    assert re.findall(r"fold (\d), epoch +(\d)/3", finished.said("train")) == [
        *(("0", "2"), ("0", "3")),
        *(("1", "1"), ("1", "2"), ("1", "3")),
    ]
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert (handoff["complete"], handoff["epochs_done"], handoff["resume_from"]) == (True, [3, 3], None)
    assert not (mirror.working / "checkpoints").exists()
    shutil.rmtree(mount)
    mirror.working.rename(mount)
    assert sessions.run(INFER, mirror.parameters(INFER)).is_done
