"""Pairs of boosted trees: every kind of target in every library, resumed folds, and sessions without an accelerator."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layout_files import table
from miniature import Outcome
from notebook_cells import task_in, without_frameworks
from notebook_session import Mirror, Notebook, Sessions, rendered_cells

from generator.competition.schema import frameworks

pytest_plugins = ("notebook_session",)

Tandem = Callable[..., Outcome]

TREES = [name for name, framework in frameworks().items() if framework.learner == "trees"]
ROWS, HIDDEN, CODES = 480, 60, 40
WORDS = ("plain", "heavy", "old", "worn", "bright", "small", "round", "flat", "rough", "smooth", "light", "new")
TARGETS: dict[str, tuple[str, Callable[[float, bool], dict[str, object]]]] = {
    "two classes": ("auc", lambda size, is_red: {"sold": int(size + 9 * is_red > 42)}),
    "three classes": ("log_loss", lambda size, is_red: {"kind": "abc"[(size > 42) + is_red]}),
    "classes of equal weight": ("balanced_log_loss", lambda size, is_red: {"kind": "abc"[(size > 42) + is_red]}),
    "a quantile": ("pinball@0.9", lambda size, is_red: {"price": size + 20 * is_red}),
    "labels": ("auc_mean_columns", lambda size, is_red: {"large": int(size > 42), "red, or so": int(is_red)}),
    "numbers": ("rmsle_mean_columns", lambda size, is_red: {"price": size + 20 * is_red, "weight": size**2}),
}


def write_things(folder: Path, kind: str) -> tuple[list[str], np.ndarray]:
    """Writes the tables of a competition; returns the columns of its submission, and its hidden answers.

    Their columns are a number, a category of few values, a code of many, and a text.
    """
    draw, (_, answer), rows, answers = np.random.default_rng(0), TARGETS[kind], [], []
    for number in range(ROWS + HIDDEN):
        size, colour = round(float(draw.normal(42, 9)), 2), str(draw.choice(["red", "blue", "green"]))
        unseen = "mauve" if number > ROWS and number % 9 == 0 else colour
        code, note = f"k{number % CODES:02d}", " ".join(draw.choice(WORDS, int(draw.integers(6, 12))))
        rows.append([f"r{number:03d}", "" if number % 7 == 0 else size, unseen, code, f"It is {note}."])
        answers.append(answer(size, colour == "red"))
    header, (names, *_) = ["id", "size, [cm]", "colour", "code", "note"], [list(one) for one in answers]
    has_classes = names == ["kind"]
    columns = ["a", "b", "c"] if has_classes else names
    table(
        folder / "train.csv",
        [*header, *names],
        [[*row, *one.values()] for row, one in zip(rows[:ROWS], answers[:ROWS], strict=True)],
    )
    table(folder / "test.csv", header, rows[ROWS:])
    table(folder / "sample_submission.csv", ["id", *columns], [[row[0], *[0.3] * len(columns)] for row in rows[ROWS:]])
    hidden = [list(one.values()) for one in answers[ROWS:]]
    truth = [[label == column for column in columns] for (label,) in hidden] if has_classes else hidden
    return columns, np.array(truth, dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("framework", TREES)
def test_every_library_predicts_every_kind_of_target(
    sessions: Sessions, mirror: Mirror, framework: str, kind: str
) -> None:
    columns, truth = write_things(mirror.competition, kind)
    task = task_in(mirror.competition, TARGETS[kind][0], family="tabular")

    header, *rows = sessions.predicted(mirror, framework, task, N_FOLDS=2, ROUNDS=150, EARLY_STOPPING=20)

    assert header == ["id", *columns]
    submission = np.array([row[1:] for row in rows], dtype=float)
    for predictions, answers in zip(submission.T, truth.T, strict=True):
        assert np.corrcoef(predictions, answers)[0, 1] > 0.5
    handoff = json.loads((mirror.root / "train" / "handoff.json").read_text())
    assert {framework, "sklearn"} <= set(handoff["versions"])
    rounds = [fold["arguments"]["rounds"] for fold in handoff["folds"]]
    assert all(of_fold[0] > 1 for of_fold in rounds)


@pytest.mark.slow
@pytest.mark.parametrize("framework", TREES)
def test_a_session_that_is_over_stops_a_booster_and_the_next_one_trains_the_folds_that_are_left(
    sessions: Sessions, mirror: Mirror, framework: str
) -> None:
    write_things(mirror.competition, "numbers")
    train = Notebook(framework, "train", task=task_in(mirror.competition, "rmsle_mean_columns", family="tabular"))
    parameters = mirror.parameters(train, N_FOLDS=2, ROUNDS=3_000)

    over = sessions.finished(train, {**parameters, "SESSION_HOURS": 0.01})
    resumed = sessions.finished(train, parameters)

    assert "fold 1: skipped, out of time (0 epochs)" in over.said("train")
    assert "fold 0: skipped, finished (1 epochs)" in resumed.said("train")
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert handoff["complete"]
    first, second = (fold["arguments"]["rounds"][0] for fold in handoff["folds"])
    assert first < 5 < second


@pytest.mark.parametrize("most_rounds", [400, 12], ids=["in time", "stopped by the time limit"])
@pytest.mark.parametrize("framework", TREES)
def test_a_booster_keeps_the_round_with_the_lowest_validation_loss(
    framework: str, most_rounds: int, tmp_path: Path
) -> None:
    write_things(tmp_path, "a quantile")
    cells = rendered_cells(framework, "train", task_in(tmp_path, "mae", family="tabular"))
    seconds_left = iter([*[60.0] * most_rounds, *[-1.0] * 400])
    names: dict[str, Any] = {"run": SimpleNamespace(seconds_left=lambda: next(seconds_left)), "platform": "cpu"}
    for name in ("parameters", "imports", "load-boosters", "predict", "objective", "booster-parameters"):
        exec(cells[name], names)  # noqa: S102 - the notebook's own code is what is tested
    names["parameters"] |= {"learning_rate": 0.5}
    exec(cells["train-booster"], names)  # noqa: S102
    draw = np.random.default_rng(0)
    inputs = pd.DataFrame({"size": draw.normal(size=200), "noise": draw.normal(size=200)})
    answers = (inputs["size"] + draw.normal(size=200)).to_numpy()

    booster, best, curves = names["train_booster"](inputs[:120], answers[:120], inputs[120:], answers[120:], 0)

    losses = curves["val_loss"].to_numpy()
    assert best == losses.argmin() + 1 < len(losses)
    assert (len(losses) < 20) == (most_rounds == 12)
    predictions = names["predict"]([booster], inputs[120:])[:, 0]
    assert np.abs(predictions - answers[120:]).mean() == pytest.approx(losses.min(), rel=1e-3)


@pytest.mark.parametrize("framework", TREES)
def test_a_category_that_comes_as_text_is_no_part_of_the_texts(framework: str, tmp_path: Path) -> None:
    write_things(tmp_path, "two classes")
    cells = rendered_cells(framework, "train", task_in(tmp_path, "auc", family="tabular"))
    names: dict[str, Any] = {}
    exec(without_frameworks(cells["imports"]), names)  # noqa: S102 - the notebook's own code is what is tested
    exec(cells["preprocessor"], names)  # noqa: S102
    features = pd.read_csv(tmp_path / "train.csv").drop(columns="id")
    answers = features.pop("sold").to_numpy()
    features = features.astype({"colour": "category", "code": "category"})

    preprocessor = names["Preprocessor"]().fit(features, answers)
    inputs = preprocessor.transform(features)
    shuffled = preprocessor.transform(features.astype({"colour": object}))

    assert sum(name.startswith("text") for name in inputs) == 64
    assert any(name.startswith("encoding") for name in inputs) == (framework != "catboost")
    pd.testing.assert_frame_equal(inputs, shuffled)


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


def test_settings_of_networks_are_neither_shown_nor_taken(tandem: Tandem, tmp_path: Path) -> None:
    arguments = ("generate", "--competition", "tumours", "--framework", "lgb", "--workspace", tmp_path)

    shown = tandem(*arguments, "--explain")
    refused = [tandem(*arguments, *more) for more in (["-P", "EPOCHS=3"], ["--set", "ema=0.9"], ["--epochs", "3"])]

    text = shown.out + (tmp_path / "kernels" / "tumours-lightgbm" / "pair.toml").read_text()
    assert not {"epochs", "batch_size", "ema"} & set(text.split())
    assert [outcome.code for outcome in refused] == [1, 1, 2]
    no_epochs = "LightGBM has no epochs. Limit training with ROUNDS and EARLY_STOPPING."
    no_ema = "LightGBM does not use ema: only notebooks that train a network do."
    for outcome, sentence in zip(refused, (no_epochs, no_ema, no_epochs), strict=True):
        assert sentence in outcome.err
    assert "Parameters for -P: N_FOLDS, ROUNDS, LEARNING_RATE, NUM_LEAVES." in refused[1].err


def test_a_pair_that_changes_from_a_network_to_trees_no_longer_has_its_epochs(tandem: Tandem, tmp_path: Path) -> None:
    arguments = ("generate", "--competition", "tumours", "--name", "mine", "--workspace", tmp_path)
    assert tandem(*arguments, "-P", "EPOCHS=3").code == 0

    changed = tandem(*arguments, "--framework", "xgboost", "--force")

    assert (changed.code, "epochs" in changed.out) == (0, False), changed.err
    assert tandem("update", "mine", "--workspace", tmp_path).code == 0


def test_other_families_have_no_boosted_trees(tandem: Tandem, tmp_path: Path) -> None:
    refused = tandem("generate", "--competition", "digits", "--framework", "catboost", "--workspace", tmp_path)

    assert refused.code == 1
    assert 'has no templates for the framework "catboost"' in refused.err
