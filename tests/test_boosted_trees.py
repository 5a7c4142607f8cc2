"""Pairs of boosted trees: every kind of target in every library, resumed folds, and sessions without an accelerator."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from layout_files import table
from miniature import Outcome
from notebook_cells import task_in
from notebook_session import Mirror, Notebook, Sessions

from generator.competition.schema import frameworks

pytest_plugins = ("notebook_session",)

Tandem = Callable[..., Outcome]

TREES = [name for name, framework in frameworks().items() if framework.learner == "trees"]
ROWS, HIDDEN = 240, 60
TARGETS: dict[str, tuple[str, Callable[[float, bool], dict[str, object]]]] = {
    "two classes": ("auc", lambda size, is_red: {"sold": int(size + 9 * is_red > 42)}),
    "three classes": ("log_loss", lambda size, is_red: {"kind": "abc"[(size > 42) + is_red]}),
    "labels": ("auc_mean_columns", lambda size, is_red: {"large": int(size > 42), "red, or so": int(is_red)}),
    "numbers": ("rmsle_mean_columns", lambda size, is_red: {"price": size + 20 * is_red, "weight": size**2}),
}


def write_things(folder: Path, kind: str) -> tuple[list[str], np.ndarray]:
    """Writes the tables of a competition; returns the columns of its submission, and its hidden answers."""
    draw, (_, answer), rows, answers = np.random.default_rng(0), TARGETS[kind], [], []
    for number in range(ROWS + HIDDEN):
        size, colour = round(float(draw.normal(42, 9)), 2), str(draw.choice(["red", "blue", "green"]))
        unseen = "mauve" if number > ROWS and number % 9 == 0 else colour
        rows.append([f"r{number:03d}", "" if number % 7 == 0 else size, unseen])
        answers.append(answer(size, colour == "red"))
    header, (names, *_) = ["id", "size, [cm]", "colour"], [list(one) for one in answers]
    columns = ["a", "b", "c"] if kind == "three classes" else names
    table(
        folder / "train.csv",
        [*header, *names],
        [[*row, *one.values()] for row, one in zip(rows[:ROWS], answers[:ROWS], strict=True)],
    )
    table(folder / "test.csv", header, rows[ROWS:])
    table(folder / "sample_submission.csv", ["id", *columns], [[row[0], *[0.3] * len(columns)] for row in rows[ROWS:]])
    hidden = [list(one.values()) for one in answers[ROWS:]]
    truth = [[label == column for column in columns] for (label,) in hidden] if kind == "three classes" else hidden
    return columns, np.array(truth, dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("framework", TREES)
def test_every_library_predicts_every_kind_of_target(
    sessions: Sessions, mirror: Mirror, framework: str, kind: str
) -> None:
    columns, truth = write_things(mirror.competition, kind)
    task = task_in(mirror.competition, TARGETS[kind][0])

    header, *rows = sessions.predicted(mirror, framework, task, N_FOLDS=2, ROUNDS=150, EARLY_STOPPING=20)

    assert header == ["id", *columns]
    found = np.array([row[1:] for row in rows], dtype=float)
    for predictions, answers in zip(found.T, truth.T, strict=True):
        assert np.corrcoef(predictions, answers)[0, 1] > 0.5
    handoff = json.loads((mirror.root / "train" / "handoff.json").read_text())
    assert framework in handoff["versions"]
    assert all(fold["arguments"]["rounds"][0] > 1 for fold in handoff["folds"])


@pytest.mark.slow
@pytest.mark.parametrize("framework", TREES)
def test_a_session_that_is_over_stops_a_booster_and_the_next_one_trains_the_folds_that_are_left(
    sessions: Sessions, mirror: Mirror, framework: str
) -> None:
    write_things(mirror.competition, "numbers")
    train = Notebook(framework, "train", task=task_in(mirror.competition, "rmsle_mean_columns"))
    parameters = mirror.parameters(train, N_FOLDS=2, ROUNDS=3_000)

    over = sessions.finished(train, {**parameters, "SESSION_HOURS": 0.01})
    resumed = sessions.finished(train, parameters)

    assert "fold 1: skipped, out of time (0 epochs)" in over.said("train")
    assert "fold 0: skipped, finished (1 epochs)" in resumed.said("train")
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert handoff["complete"]
    first, second = (fold["arguments"]["rounds"][0] for fold in handoff["folds"])
    assert first < 5 < second


def test_boosted_trees_train_and_infer_in_sessions_without_an_accelerator(tandem: Tandem, tmp_path: Path) -> None:
    arguments = ("generate", "--competition", "tumours", "--framework", "xgb", "--workspace", tmp_path)

    done = tandem(*arguments)
    on_gpu = tandem(*arguments, "--name", "on-gpu", "-P", "ACCELERATOR=gpu")
    on_tpu = tandem(*arguments, "--name", "on-tpu", "-P", "ACCELERATOR=tpu")
    plan = tandem("plan", "tumours-xgboost", "--workspace", tmp_path)

    def shapes(pair: str) -> list[str]:
        kernels = [tmp_path / "kernels" / pair / role / "kernel-metadata.json" for role in ("train", "infer")]
        return [json.loads(kernel.read_text())["machine_shape"] for kernel in kernels]

    assert (done.code, on_gpu.code) == (0, 0), done.err
    assert shapes("tumours-xgboost") == ["", ""]
    assert shapes("on-gpu") == ["NvidiaTeslaT4", ""]
    assert on_tpu.code == plan.code == 1
    assert "xgboost does not train on a TPU, only on a CPU or a GPU." in on_tpu.err
    assert "XGBoost does not train on a TPU, so there is nothing to compare for tumours-xgboost." in plan.err


def test_other_families_have_no_boosted_trees(tandem: Tandem, tmp_path: Path) -> None:
    refused = tandem("generate", "--competition", "digits", "--framework", "catboost", "--workspace", tmp_path)

    assert refused.code == 1
    assert 'has no templates for the framework "catboost"' in refused.err
