"""What a training notebook guarantees, without a framework: it resumes, ends in time, and hands over."""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from runtime.inference import Inference
from runtime.training import Run, code_behind

PARAMETERS = """COMPETITION = "shops"
PAIR_ID = "shops-1"
METRIC = "auc"
INPUT_ROOT = "{root}/input"
WORKING_ROOT = "{root}/working"
DEBUG = False
ACCELERATOR = "cpu"
ALLOW_CPU = False
SESSION_HOURS = 9.0
RESERVE_MINUTES = 10.0
EPOCHS = 3
"""
SHARED = '# The same in both notebooks.\ndef build_model(width):\n    """Build."""\n    return width'
LOOP = "for fold in run.folds(2, train, truth):\n    model = build_model(WIDTH)"
TRAIN = pd.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})
TRUTH = np.array([0, 1])


def namespace(root: Path, cells: list[str] | None = None, **changed: object) -> dict[str, Any]:
    """The names of a notebook that has run these cells."""
    parameters = PARAMETERS.format(root=root)
    names: dict[str, Any] = {"In": ["", parameters, *(cells or [SHARED, LOOP])], "session_start": time.monotonic()}
    exec(parameters, names)  # noqa: S102 - the cell above
    competition = root / "input" / "competitions" / "shops"
    competition.mkdir(parents=True, exist_ok=True)
    (competition / "train.csv").write_text("id,x\n")
    return names | changed


def training(root: Path, cells: list[str] | None = None, **changed: object) -> Run:
    """A training that has looked at its accelerator and found its data."""
    run = Run(namespace(root, cells, **changed))
    run.check_accelerator("cpu", 1, "cpu")
    run.find("train.csv")
    return run


def trained(run: Run, *, epochs: int = 3, folds: int = 2, stop: Callable[[int, int], bool] = lambda *_: False) -> list:
    """Train a model that counts its epochs; return the epochs that were trained as (fold, epoch, count before)."""
    done = []
    for fold in run.folds(folds, TRAIN, TRUTH):
        model = {"count": 0}
        run.resume(lambda path, model=model: model.update(json.loads(path.with_suffix(".state").read_text())))
        for epoch in run.epochs(epochs):
            done.append((fold, epoch, model["count"]))
            model["count"] += 1
            state = json.dumps(model)
            run.save_epoch(
                lambda path, state=state: path.with_suffix(".state").write_text(state),
                np.full((1, 2), fold),
                {"width": 8},
                loss=1 / (epoch + 1),
                val_loss=2 / (epoch + 1),
                score=0.5,
            )
            if stop(fold, epoch):
                break
    return done


def handed_over(run: Run) -> dict[str, Any]:
    """What a finished training writes to handoff.json."""

    def save_weights(state: Path, arguments: dict[str, int], path: Path) -> Path:
        file = path.with_suffix(".weights.h5")
        file.write_text(f"{arguments}")
        return file

    oof = {"ids": np.array(["a", "b"]), "fold": np.arange(2), "rows": np.arange(2), "predictions": run.predictions()}
    run.hand_over(save_weights, TRAIN, oof, 0.5, check={"tolerance": 1e-3}, classes=["0", "1"])
    return dict(json.loads((run.output / "handoff.json").read_text()))


def test_settings_are_those_of_the_parameters_cell_with_the_values_of_the_session(tmp_path: Path) -> None:
    injected = "# Parameters\nEPOCHS = 5\nPAIR_ID = 'shops-2'\n"
    names = namespace(tmp_path, [injected, SHARED], EPOCHS=5, PAIR_ID="shops-2", HIGHER_IS_BETTER=True, REMEDY="later")
    run = Run(names)

    assert (run.settings["EPOCHS"], run.settings["PAIR_ID"]) == (5, "shops-2")
    assert not {"HIGHER_IS_BETTER", "REMEDY"} & run.settings.keys()


@pytest.mark.parametrize(
    ("platform", "changed", "problem"),
    [
        ("tpu", {}, ""),
        ("cpu", {"ALLOW_CPU": True}, ""),
        ("cpu", {"DEBUG": True}, ""),
        ("cpu", {}, "This notebook needs a TPU, and the session has 1 x cpu .*ALLOW_CPU = True"),
        ("gpu", {"ALLOW_CPU": True}, 'This notebook needs a TPU.*ACCELERATOR = "gpu"'),
    ],
)
def test_another_accelerator_stops_a_training_unless_that_is_allowed(
    tmp_path: Path, platform: str, changed: dict[str, bool], problem: str
) -> None:
    run = Run(namespace(tmp_path, ACCELERATOR="tpu", **changed))

    if problem:
        with pytest.raises(RuntimeError, match=problem):
            run.check_accelerator(platform, 1, platform)
    else:
        run.check_accelerator(platform, 1, platform)
    assert json.loads((run.output / "accelerator.json").read_text())["platform"] == platform


def test_a_training_ends_with_all_that_inference_needs_and_without_checkpoints(tmp_path: Path) -> None:
    run = training(tmp_path)

    epochs = trained(run)
    handoff = handed_over(run)

    assert epochs == [(fold, epoch, epoch) for fold in range(2) for epoch in range(3)]
    assert (handoff["complete"], handoff["epochs_done"], len(handoff["folds"])) == (True, [3, 3], 2)
    assert list(handoff["code"]) == ["build_model"]
    assert sorted(path.name for path in run.output.iterdir()) == [
        *("accelerator.json", "checkpoints", "fold0.weights.h5", "fold1.weights.h5"),
        *("handoff.json", "oof.csv", "oof.npz"),
    ]
    assert list((run.output / "checkpoints").iterdir()) == []


def test_an_interrupted_training_is_resumed_in_its_folder_and_from_an_attached_output(tmp_path: Path) -> None:
    def interrupt(fold: int, epoch: int) -> bool:
        if (fold, epoch) == (1, 0):
            raise KeyboardInterrupt
        return False

    run = training(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        trained(run, stop=interrupt)
    run.saved.result()
    (tmp_path / "working").rename(tmp_path / "input" / "earlier")

    assert trained(training(tmp_path)) == [(1, 1, 1), (1, 2, 2)]


def test_a_cell_with_a_typing_error_that_somebody_ran_before_stops_nothing(tmp_path: Path) -> None:
    run = training(tmp_path, ["print('half", SHARED, LOOP])

    trained(run)

    assert list(handed_over(run)["code"]) == ["build_model"]


def test_a_break_ends_a_fold_as_early_stopping_does(tmp_path: Path) -> None:
    run = training(tmp_path)

    epochs = trained(run, stop=lambda fold, epoch: epoch == 1)

    assert [epoch for _, epoch, _ in epochs] == [0, 1, 0, 1]
    assert handed_over(run)["complete"] is True


def test_a_session_without_time_ends_after_an_epoch_and_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = training(tmp_path, SESSION_HOURS=0.0)

    epochs = trained(run)
    handoff = handed_over(run)

    assert epochs == [(0, 0, 0)]
    assert (handoff["complete"], handoff["epochs_done"]) == (False, [1, 0])
    assert "Interrupted: attach this output to this notebook and run it again" in capsys.readouterr().out
    assert trained(training(tmp_path))[0] == (0, 1, 1)


def test_a_loss_that_is_no_number_ends_the_training(tmp_path: Path) -> None:
    run = training(tmp_path)

    assert next(run.folds(1, TRAIN, TRUTH)) == next(run.epochs(1)) == 0
    with pytest.raises(FloatingPointError, match=r"The loss is nan\. Try a lower LEARNING_RATE\."):
        run.save_epoch(lambda _: None, TRUTH, {}, loss=float("nan"), val_loss=0.0, score=0.0)


CELLS = [
    "SCALE = 4",
    "def helper(x):\n    return x * SCALE",
    "def loss(x):\n    return helper(x)",
    "unrelated = 3",
    "def draw():\n    print(unrelated)",
    "for fold in run.folds(2):\n    mean = loss(fold)",
]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return helper(x)", "# A comment.\n    return (helper( x ))", set()),
        ("def loss(x):", 'def loss(x):\n    """Say what it is."""\n    print(x)', set()),
        ("unrelated = 3", "unrelated = 4", set()),
        ("return helper(x)", "return helper(x) + 1", {"loss"}),
        ("x * SCALE", "x + SCALE", {"helper"}),
        ("SCALE = 4", "SCALE = 5", {"SCALE"}),
        ("mean = loss", "mean = -loss", {"the training loop"}),
        ("unrelated = 3", "unrelated = 3\nSCALE += 1", {"SCALE"}),
        ("unrelated = 3", "%%time\nunrelated = 3", set()),
    ],
)
def test_code_is_another_if_what_the_loop_computes_changes(old: str, new: str, changed: set[str]) -> None:
    edited = [
        cell.replace(old, new).replace("%%time\n", "")
        if "%%time" not in new or old not in cell
        else f"get_ipython().run_cell_magic('time', '', {cell!r})"
        for cell in CELLS
    ]

    before, after = code_behind(CELLS), code_behind(edited)

    assert before.keys() == after.keys() == {"SCALE", "helper", "loss", "the training loop"}
    assert {name for name in before if before[name] != after[name]} == changed


def test_what_later_cells_call_by_the_same_name_is_not_behind_the_loop() -> None:
    cells = [
        "rows = 3",
        "data = rows + 1",
        "for row in data:\n    total = row",
        "for fold in run.folds(2):\n    print(data)",
    ]
    later = ["rows = None", "total = None"]

    first = code_behind(cells)

    assert first.keys() == {"rows", "data", "the training loop"}
    assert code_behind([*cells, *later, cells[-1]]) == code_behind([*cells, cells[-1]]) == first
    assert code_behind([*cells, "data = rows + 2", cells[-1]]) != first


def test_what_a_function_reads_is_what_the_name_is_now() -> None:
    cells = ["scale = 1", "def loss(x):\n    return scale * x", "print(loss(1))"]

    assert code_behind([*cells[:2], "scale = 2", cells[2]]) != code_behind(cells)


def test_results_can_be_looked_at_and_handed_over_again_after_the_checkpoints_are_gone(tmp_path: Path) -> None:
    run = training(tmp_path)
    trained(run)
    before, first = run.predictions(), handed_over(run)

    assert run.trained() == [0, 1]
    np.testing.assert_array_equal(run.predictions(), before)
    assert handed_over(run) == first


def test_a_training_without_a_finished_epoch_says_so(tmp_path: Path) -> None:
    run = training(tmp_path)
    next(run.folds(2, TRAIN, TRUTH))

    with pytest.raises(RuntimeError, match="No epoch was finished in time"):
        run.trained()


def test_another_attached_output_of_training_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inference, _ = promised(tmp_path)
    other = inference.input / "notebooks" / "bob" / "shops-train"
    other.mkdir(parents=True)
    (other / "handoff.json").write_text("{}")

    inference.read_handoff()

    assert f"Not used: {other}/handoff.json." in capsys.readouterr().out


def test_inference_reads_what_training_handed_over(tmp_path: Path) -> None:
    inference, handoff = promised(tmp_path)

    assert inference.read_handoff() == {name: value for name, value in handoff.items() if name != "sha256"}
    assert inference.file(handoff["folds"][0]).name == "fold0.weights.h5"


@pytest.mark.parametrize(
    ("names", "cells", "problem"),
    [
        ({"PAIR_ID": "other"}, None, "handoff.json has pair_id shops-1, expected other"),
        (
            {},
            [SHARED.replace("return width", "return 2 * width")],
            r"build_model differs from the training notebook\. Copy its cell",
        ),
    ],
)
def test_inference_stops_at_what_differs_from_training(
    tmp_path: Path, names: dict[str, str], cells: list[str] | None, problem: str
) -> None:
    inference, _ = promised(tmp_path, cells, **names)

    with pytest.raises(ValueError, match=problem):
        inference.read_handoff()


@pytest.mark.parametrize("name", ["fold0.weights.h5", "fold1.weights.h5", "oof.csv", "oof.npz"])
def test_inference_stops_at_a_file_that_is_not_that_of_training(tmp_path: Path, name: str) -> None:
    inference, _ = promised(tmp_path)
    path = next(tmp_path.rglob(name))
    path.write_text("other")

    with pytest.raises(ValueError, match=rf"{name} has SHA-256 .*, expected .* Run ada/shops again"):
        inference.read_handoff()
    path.unlink()
    with pytest.raises(ValueError, match=rf"{name} is missing\. Run ada/shops again"):
        inference.read_handoff()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '"x"', "", "null", '{"sha256": null', '{"complete": true}'])
def test_a_handoff_that_is_none_or_was_changed_is_one_sentence(tmp_path: Path, text: str) -> None:
    inference, _ = promised(tmp_path)
    next(tmp_path.rglob("handoff.json")).write_text(text)

    with pytest.raises(ValueError, match=r"handoff\.json has SHA-256 \w{64}, expected None\. Run ada/shops again"):
        inference.read_handoff()


def test_a_handoff_with_an_edit_and_its_old_hash_is_refused(tmp_path: Path) -> None:
    inference, _ = promised(tmp_path)
    path = next(tmp_path.rglob("handoff.json"))
    text = path.read_text()
    assert text.count('"complete": true') == 1
    path.write_text(text.replace('"complete": true', '"complete": false'))

    with pytest.raises(ValueError, match=r"handoff\.json has SHA-256 \w{64}, expected \w{64}\. Run ada/shops again"):
        inference.read_handoff()


@pytest.mark.parametrize(
    ("changes", "allowed_by", "problem"),
    [
        ({"schema_version": 1}, None, r"handoff\.json has schema_version 1, expected 2\."),
        ({"complete": False}, "ACCEPT_INCOMPLETE", r"Training was interrupted\. .*ACCEPT_INCOMPLETE = True\."),
        ({"specimen": True}, "SPECIMEN.json", r"The model was trained on a specimen, synthetic data\."),
        ({"settings": {"DEBUG": True}}, "DEBUG", r"The model was trained with DEBUG = True\."),
    ],
)
def test_a_training_that_is_not_meant_for_this_inference_is_refused(
    tmp_path: Path, changes: dict[str, Any], allowed_by: str | None, problem: str
) -> None:
    def promise_otherwise(root: Path, **settings: bool) -> Inference:
        """As if training had promised something else: the hash of the hand-over is right."""
        inference, handoff = promised(root, **settings)
        changed = {**handoff, **changes}
        del changed["sha256"]
        sha256 = hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()
        next(root.rglob("handoff.json")).write_text(json.dumps({**changed, "sha256": sha256}))
        return inference

    with pytest.raises(ValueError, match=problem):
        promise_otherwise(tmp_path / "refused").read_handoff()
    if allowed_by == "SPECIMEN.json":
        inference = promise_otherwise(tmp_path / "accepted")
        (inference.competition / allowed_by).write_text("{}")
        inference.read_handoff()
    elif allowed_by:
        promise_otherwise(tmp_path / "accepted", **{allowed_by: True}).read_handoff()


def test_a_prediction_that_differs_from_training_stops_inference(tmp_path: Path) -> None:
    inference, _ = promised(tmp_path)
    inference.read_handoff()
    same, other = np.array([0.5, 0.6]), np.array([0.5, 0.7])

    inference.check_predictions([(same, same)])
    with pytest.raises(ValueError, match=r"weights load, but predictions differ from training by up to 0\.1 "):
        inference.check_predictions([(same, same), (other, same)])


def test_passes_that_would_end_too_late_are_left_out(tmp_path: Path) -> None:
    inference, _ = promised(tmp_path, SESSION_HOURS=0.0)

    assert list(inference.in_time([1, 2, 3])) == [1]
    assert len(inference.seconds) == 1


def promised(root: Path, cells: list[str] | None = None, **changed: object) -> tuple[Inference, dict[str, Any]]:
    """An inference notebook beside the output of a training, and what that wrote to handoff.json."""
    run = training(root)
    trained(run)
    handoff = handed_over(run)
    (root / "working").rename(root / "train")
    more = {"TRAIN_KERNEL": "ada/shops", "HANDOFF_MOUNTS": [], "ACCEPT_INCOMPLETE": False}
    names = namespace(root, cells or [SHARED], **{**more, **changed})
    lines = "".join(f"{name} = {value!r}\n" for name, value in more.items())
    names["In"][1] += lines
    inference = Inference(names)
    inference.find("train.csv")
    return inference, handoff
