"""A plain baseline: what scikit-learn makes of a competition's own files, on the folds of a training."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layout_files import table, wav
from tasks import task_of

from generator.competition.baseline import CONSTANT, COPY, Baseline, baselines
from generator.competition.facts import Task
from generator.run import baseline_process as of_a_run


@pytest.fixture
def random() -> np.random.Generator:
    """Numbers that no other test has drawn from."""
    return np.random.default_rng(0)


def scored(
    task: Task, data: Path, truth: Any, *, folds: int = 2, ids: Sequence[str] = (), **more: Any
) -> dict[str, Baseline]:
    """The baselines of a training with so many folds, by their name; of one fold a fifth is held out."""
    fold = np.arange(len(truth)) % (folds if folds > 1 else 5)
    rows = np.flatnonzero(fold < folds)
    names = np.array(list(ids) or [f"r{row}" for row in range(len(truth))])
    held_out = {"ids": names, "fold": fold, "truth": truth, "rows": rows, **more}
    np.savez(data / "oof.npz", predictions=np.zeros(len(rows)), **held_out)
    return {one.name: one for one in baselines(task, data, data / "oof.npz")}


def write_rows(folder: Path, columns: dict[str, Sequence[object]]) -> None:
    """Writes `train.csv`, its rows in another order than the training's, with an id each."""
    rows = list(zip(*columns.values(), strict=True))
    numbered = [(f"r{number}", *row) for number, row in enumerate(rows)]
    table(folder / "train.csv", ("id", *columns), numbered[::-1])


def test_a_table_of_numbers_words_and_gaps_is_boosted(tmp_path: Path, random: np.random.Generator) -> None:
    size, town = random.normal(size=400), random.choice(["Ulm", "Bonn", ""], 400)
    truth = ((size > 0) ^ (town == "Ulm")).astype("int32")
    cells = ["" if number % 9 == 0 else f"{one:.3f}" for number, one in enumerate(size)]
    write_rows(tmp_path, {"size": cells, "town": town, "good": truth})

    found = scored(task_of("tabular", "class", "good", metric="auc", submission="probability"), tmp_path, truth)

    assert found[CONSTANT].score == 0.5
    assert found["gradient boosting on the raw columns"].score > 0.85
    assert found["gradient boosting on the raw columns"].rows == 400


def test_rows_of_a_repeated_id_are_told_apart_by_their_place(tmp_path: Path, random: np.random.Generator) -> None:
    size = random.normal(size=400)
    truth = (size > 0).astype("int32")
    ids = [f"r{number // 4}" for number in range(400)]
    table(tmp_path / "train.csv", ("id", "size", "good"), list(zip(ids, size.round(3), truth, strict=True)))
    task = task_of("tabular", "class", "good", metric="auc", submission="probability")

    found = scored(task, tmp_path, truth, ids=ids, table_rows=np.arange(400))

    assert found["gradient boosting on the raw columns"].score > 0.95
    assert found["gradient boosting on the raw columns"].rows == 400


def test_a_table_is_read_in_its_encoding(tmp_path: Path) -> None:
    size = np.linspace(-1, 1, 200)
    truth = (size > 0).astype("int32")
    rows = [(f"r{number}", f"Köln;{one:.3f}") for number, one in enumerate(size)]
    (tmp_path / "train.csv").write_text(
        "id;town;size\n" + "".join(f"{name};{cells}\n" for name, cells in rows), encoding="cp1252"
    )
    task = task_of("tabular", "class", "good", metric="auc", submission="probability", separator=";", encoding="cp1252")

    found = scored(task, tmp_path, truth)

    assert found["gradient boosting on the raw columns"].score > 0.9


@pytest.mark.parametrize("rare", [0, 1], ids=["two-classes", "and-one-that-is-there-once"])
def test_boosting_does_not_overfit_small_data(tmp_path: Path, rare: int) -> None:
    random = np.random.default_rng(1)
    columns = {name: random.normal(size=600) for name in "abcdef"}
    truth = (columns["a"] + random.normal(0, 1.2, 600) > 0).astype("int32")
    truth[:rare] = 2
    write_rows(tmp_path, {**columns, "answer": truth})

    found = scored(
        task_of("tabular", "class", "answer", metric="log_loss", submission="class_columns"), tmp_path, truth
    )

    assert found["gradient boosting on the raw columns"].score < found[CONSTANT].score


@pytest.mark.parametrize(
    ("kind", "metric", "submission", "better_than"),
    [
        ("number", "rmse", "numbers", None),
        ("number", "rmsle", "numbers", None),
        ("number", "quadratic_weighted_kappa", "label", 0.8),
        ("class", "log_loss", "class_columns", None),
        ("class", "f1", "label", 0.8),
        ("class", "quadratic_weighted_kappa", "label", 0.8),
        ("labels", "f1_macro", "label_set", 0.8),
    ],
)
def test_any_target_is_predicted_better_than_by_a_constant(
    tmp_path: Path, kind: str, metric: str, submission: str, better_than: float | None
) -> None:
    size = np.random.default_rng(0).uniform(0, 4, 200)
    truths = {
        "number": size[:, None].round().astype("float32"),
        "class": (size > 3).astype("int32"),
        "labels": np.stack([size > 3, size < 1], axis=1).astype("float32"),
    }
    write_rows(tmp_path, {"size": size})
    targets = ["high", "low"] if kind == "labels" else ["answer"]

    found = scored(task_of("tabular", kind, *targets, metric=metric, submission=submission), tmp_path, truths[kind])

    constant, model = found[CONSTANT].score, found["gradient boosting on the raw columns"].score
    assert model < constant if better_than is None and metric != "f1" else model > max(constant, better_than or 0)


def test_words_decide_of_the_rows_of_one_fold(tmp_path: Path, random: np.random.Generator) -> None:
    words = ["good", "bad"]
    truth = random.integers(0, 2, 200).astype("int32")
    write_rows(tmp_path, {"text": [f"a {words[one]} day, number {row}" for row, one in enumerate(truth)]})

    found = scored(task_of("text", "class", "label", text_columns=["text"]), tmp_path, truth, folds=1)

    assert found["a linear model on the words (TF-IDF)"] == Baseline("a linear model on the words (TF-IDF)", 1.0, 40)


def test_images_are_scaled_down_and_broken_ones_left_out(tmp_path: Path, random: np.random.Generator) -> None:
    from PIL import Image

    (tmp_path / "train").mkdir()
    truth = (np.arange(60) // 2 % 2).astype("int32")
    for row, bright in enumerate(truth):
        pixels = random.integers(0, 60, (20, 30, 3)) + 120 * bright
        Image.fromarray(pixels.astype("uint8")).save(tmp_path / f"train/r{row}.png")
    (tmp_path / "train/r0.png").write_bytes(b"no image")
    table(tmp_path / "train.csv", ("id", "label"), [(f"r{row}", one) for row, one in enumerate(truth)])
    details = {"train_folder": "train", "labels_from": "table", "image_column": "id", "channels": 3}

    found = scored(task_of("image_classification", "class", "label", **details), tmp_path, truth)

    (model,) = (one for name, one in found.items() if name != CONSTANT)
    assert (model.name, model.score, model.rows) == (
        "a linear model on images of 12 \N{MULTIPLICATION SIGN} 12 pixels",
        1.0,
        59,
    )


def test_sounds_are_told_apart_by_their_pitch(tmp_path: Path, random: np.random.Generator) -> None:
    (tmp_path / "train").mkdir()
    truth = (np.arange(40) // 2 % 2).astype("int32")
    for row, is_high in enumerate(truth):
        wiggle = np.sin(np.arange(4_000) * (0.9 if is_high else 0.1)) + random.normal(size=4_000)
        (tmp_path / f"train/r{row}.wav").write_bytes(wav((wiggle * 3_000).astype("<i2").tobytes()))

    details = {"train_folder": "train", "audio_column": "id"}
    found = scored(task_of("audio", "class", "label", train_table="", **details), tmp_path, truth)

    assert found["a linear model on the loudness by pitch"].score == 1.0


def test_a_sequence_that_is_one_example_has_statistics(tmp_path: Path, random: np.random.Generator) -> None:
    truth = (np.arange(120) // 2 % 2).astype("int32")
    rows = [
        (f"r{series}", step, random.normal(scale=1 + 9 * one)) for series, one in enumerate(truth) for step in range(9)
    ]
    table(tmp_path / "train.csv", ("series", "step", "force"), rows)
    details = {"prediction_per": "group", "group_column": "series", "order_column": "step"}

    found = scored(task_of("sequence", "class", "label", id_column="series", **details), tmp_path, truth)

    assert found["gradient boosting on the statistics of each sequence"].score > 0.9


def test_masks_have_a_constant_alone(tmp_path: Path) -> None:
    truth = np.zeros((10, 4, 4, 1), "uint8")
    truth[:4, 1:3] = 1

    found = scored(task_of("segmentation", "mask", "mask"), tmp_path, truth)

    assert {name: one.score for name, one in found.items()} == {CONSTANT: 0.6}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"id,size\n", b"other,size\nr1,2\n", b'"unclosed'])
def test_a_table_that_cannot_be_used_leaves_the_constant(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "train.csv").write_bytes(content)

    found = scored(task_of("tabular", "class", "label"), tmp_path, np.array([0, 1, 1, 1]))

    assert {name: one.score for name, one in found.items()} == {CONSTANT: 0.75}


@pytest.mark.slow
def test_a_process_of_its_own_has_time_and_what_it_wrote_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = json.dumps({"name": "a\x1b[31m model", "score": 0.5, "rows": 3})
    code = f"import time; print({said!r}, flush=True); print('{{', flush=True); print('[]', flush=True); time.sleep(60)"
    (tmp_path / "generator").mkdir()
    started = of_a_run.subprocess.Popen
    monkeypatch.setattr(of_a_run, "SECONDS", 1.5)
    monkeypatch.setattr(
        of_a_run.subprocess, "Popen", lambda command, **options: started([command[0], "-c", code], **options)
    )
    heard: list[object] = []
    asked = dict.fromkeys(("workspace", "data", "predictions"), tmp_path)

    with of_a_run.baseline_process(pair="tiny", scores_file=tmp_path / "scores", **asked) as process:
        found = process.scores(heard.append)

    assert found == (Baseline("a\\x1b[31m model", 0.5, 3),)
    assert process.process.poll() is not None
    assert len(heard) == 1


def tested(folder: Path, *columns: str) -> None:
    """Writes the header of a test table."""
    table(folder / "test.csv", ("id", *columns), [["t0", *columns]])


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
@pytest.mark.parametrize("family", ["text", "tabular"])
def test_copying_a_column_is_scored_where_most_answers_are_that(tmp_path: Path, metric: str, family: str) -> None:
    before = [f"word{number // 8}" for number in range(200)]
    after = [word if number % 5 else "sil" for number, word in enumerate(before)]
    names = sorted(set(after))
    truth = np.array([names.index(word) for word in after], dtype="int32")
    write_rows(tmp_path, {"before": before, "kind": ["x"] * 200, "after": after, "leak": after})
    tested(tmp_path, "before", "kind")
    details = {"text_columns": ["before"]} if family == "text" else {}
    task = task_of(family, "class", "after", metric=metric, submission="label", test_table="test.csv", **details)

    found = scored(task, tmp_path, truth)

    copy = found[f"{COPY}before"]
    assert copy.rows == 200
    assert copy.score == pytest.approx(0.8) if metric == "accuracy" else copy.score > found[CONSTANT].score
    assert f"{COPY}leak" not in found  # test examples do not have it


def test_copying_a_number_is_scored_where_it_beats_a_constant(tmp_path: Path, random: np.random.Generator) -> None:
    last, other = random.normal(50, 10, 300), random.normal(0, 1, 300)
    now = last + random.normal(0, 1, 300)
    write_rows(tmp_path, {"last": last, "other": other, "now": now})
    tested(tmp_path, "last", "other")
    task = task_of("tabular", "number", "now", metric="rmse", test_table="test.csv")

    found = scored(task, tmp_path, now[:, None].astype("float32"))

    assert found[f"{COPY}last"].score == pytest.approx(np.sqrt(np.mean((last - now) ** 2)), rel=1e-3)
    assert [name for name in found if name.startswith(COPY)] == [f"{COPY}last"]


def test_a_copy_that_is_no_better_than_a_constant_is_left_out(tmp_path: Path, random: np.random.Generator) -> None:
    size = random.choice(["0", "1"], 300)
    truth = (random.random(300) < 0.7).astype("int32")
    write_rows(tmp_path, {"size": size, "good": truth})
    tested(tmp_path, "size")

    task = task_of("tabular", "class", "good", metric="accuracy", submission="label", test_table="test.csv")

    found = scored(task, tmp_path, truth)

    assert not [name for name in found if name.startswith(COPY)]
