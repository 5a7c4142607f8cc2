"""Competitions whose inference server hands out files: images, sounds and masks."""

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from gateway_package import write_gateway
from layouts import LAYOUTS
from notebook_session import Ended, Mirror, Notebook, Sessions, rendered_cells
from PIL import Image
from scipy.io import wavfile
from tasks import task_of

from generator.competition.facts import SubmissionKind, TargetKind, Task
from generator.competition.introspection import Hints, read_task
from generator.competition.specimen.specimen import write_specimen
from generator.competition.survey import survey_folder

pytest_plugins = ("notebook_session",)

SIDE = 24
RATE = 2_000


def served_task(family: str, kind: str, target: str, **details: object) -> Task:
    """A task whose examples are files, in the folders `train` and `test`, that a table names by id."""
    usual = {
        "submission_file": "submission.parquet",
        "train_folder": "train",
        "test_folder": "test",
        "batch_size": 8,
        "epochs": 8,
        "inference_server": "heights_inference_server",
        "gateway_files": [],
        "served_answer": "targets",
    }
    return task_of(family, kind, target, **{**usual, **details})


def of_pictures(*, answer: str = "table", **details: object) -> Task:
    of_images = {"labels_from": "table", "image_column": "id", "image_suffix": ".png", "image_size": SIDE}
    usual = {**of_images, "channels": 1, "flip": True, "served_answer": answer}
    return served_task("image_classification", "class", "light", **{**usual, **details})


SOUNDS = served_task(
    *("audio", "class", "tone"),
    labels_from="table",
    audio_column="id",
    audio_suffix=".wav",
    are_wav=True,
    sample_rate=RATE,
    seconds=0.5,
    served_answer="value",
)


def of_masks(**details: object) -> Task:
    of_codes = {"mask_rows": "image", "mask_classes": [], "class_column": "", "mask_column": "rle"}
    of_images = {"image_column": "id", "image_suffix": ".png", "image_size": 32, "channels": 1, "flip": True}
    return served_task("segmentation", "mask", "rle", **{**of_codes, **of_images, **details})


def write_table(path: Path, rows: dict[str, list[Any]]) -> None:
    pd.DataFrame(rows).to_csv(path, index=False)


def split_folders(folder: Path, ids: list[str], tests: int) -> list[Path]:
    """The folder of each example: the last ones are of the test."""
    for name in ("train", "test"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return [folder / ("test" if place >= len(ids) - tests else "train") for place in range(len(ids))]


def write_pictures(folder: Path) -> dict[str, str]:
    """Writes noise that is light or dark; returns the right answers of the test."""
    source, ids = np.random.default_rng(3), [f"im{number:03d}" for number in range(120)]
    labels = ["dark" if number % 2 else "light" for number in range(120)]
    for name, label, into in zip(ids, labels, split_folders(folder, ids, 20), strict=True):
        pixels = source.integers(0, 120, (SIDE, SIDE)) + (130 if label == "light" else 0)
        Image.fromarray(pixels.astype("uint8")).save(into / f"{name}.png")
    write_table(folder / "train.csv", {"id": ids[:100], "light": labels[:100]})
    write_table(folder / "sample_submission.csv", {"id": ids[100:], "light": ["light"] * 20})
    return dict(zip(ids[100:], labels[100:], strict=True))


def write_sounds(folder: Path) -> dict[str, str]:
    """Writes sounds that are high or low; returns the right answers of the test."""
    source, ids = np.random.default_rng(3), [f"s{number:03d}" for number in range(90)]
    labels = ["high" if number % 2 else "low" for number in range(90)]
    moments = np.arange(RATE // 2) / RATE
    for name, label, into in zip(ids, labels, split_folders(folder, ids, 10), strict=True):
        wave = np.sin(2 * np.pi * (700 if label == "high" else 150) * moments) + source.normal(0, 0.1, len(moments))
        wavfile.write(into / f"{name}.wav", RATE, (wave * 8_000).astype("int16"))
    write_table(folder / "train.csv", {"id": ids[:80], "tone": labels[:80]})
    write_table(folder / "sample_submission.csv", {"id": ids[80:], "tone": ["low"] * 10})
    return dict(zip(ids[80:], labels[80:], strict=True))


def write_masks(folder: Path) -> dict[str, np.ndarray]:
    """Writes dark images with a light box each, whose mask it is; returns the right masks of the test."""
    source, ids = np.random.default_rng(3), [f"m{number:03d}" for number in range(76)]
    codes, masks = [], {}
    for name, into in zip(ids, split_folders(folder, ids, 12), strict=True):
        mask = np.zeros((36, 40), dtype=bool)
        top, left = source.integers(0, 16, 2)
        mask[top : top + 16, left : left + 20] = True
        Image.fromarray((mask * 160 + source.integers(0, 60, mask.shape)).astype("uint8")).save(into / f"{name}.png")
        starts = np.flatnonzero(np.diff(np.concatenate([[0], mask.T.ravel().astype(int), [0]])))
        codes.append(
            " ".join(f"{start + 1} {end - start}" for start, end in zip(starts[::2], starts[1::2], strict=True))
        )
        masks[name] = mask
    write_table(folder / "train.csv", {"id": ids[:64], "rle": codes[:64]})
    write_table(folder / "sample_submission.csv", {"id": ids[64:], "rle": [""] * 12})
    return {name: masks[name] for name in ids[64:]}


def trained(folder: Path, task: Task, write: Any, sessions: Sessions) -> tuple[Mirror, Any]:
    """A pair that is trained, in a mirror whose competition has no gateway yet; and the right answers."""
    mirror = Mirror(folder)
    right = write(mirror.competition)
    train = Notebook("tensorflow", "train", task=task)
    sessions.finished(train, mirror.parameters(train, EPOCHS=8, LEARNING_RATE=0.01))
    mirror.working.rename(mirror.root / "train")
    return mirror, right


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> tuple[Mirror, dict[str, str]]:
    return trained(tmp_path_factory.mktemp("pictures"), of_pictures(), write_pictures, sessions)


def served(sessions: Sessions, mirror: Mirror, task: Task, **parameters: Any) -> Ended:
    infer = Notebook("tensorflow", "infer", task=task)
    return sessions.run(infer, mirror.parameters(infer, **parameters))


def submitted(mirror: Mirror) -> dict[str, Any]:
    table = pd.read_parquet(mirror.working / "submission.parquet")
    return dict(zip(table.iloc[:, 0], table.iloc[:, 1], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ("path", "targets"),
        ("path", "value"),
        ("path", "table"),
        ("list", "table"),
        ("column", "targets"),
        ("folder", "table"),
        ("ids", "targets"),
    ],
)
def test_images_are_served_however_a_gateway_hands_them_over(
    sessions: Sessions, pictures: tuple[Mirror, dict[str, str]], files: str, answer: str
) -> None:
    mirror, right = pictures
    write_gateway(mirror.competition, answer, target="light", files=files)

    ended = served(sessions, mirror, of_pictures(answer=answer))

    assert ended.is_done, ended
    found = submitted(mirror)
    assert found.keys() == right.keys()
    assert sum(found[name] == label for name, label in right.items()) >= 18


@pytest.mark.slow
def test_an_image_that_cannot_be_read_is_named_or_gets_the_average(
    sessions: Sessions, pictures: tuple[Mirror, dict[str, str]]
) -> None:
    mirror, right = pictures
    write_gateway(mirror.competition, "targets", target="light", files="path")
    broken = mirror.competition / "test" / "im110.png"
    whole = broken.read_bytes()
    broken.write_bytes(whole[:100])

    stopped = served(sessions, mirror, of_pictures(answer="targets"))
    ended = served(sessions, mirror, of_pictures(answer="targets"), SKIP_UNREADABLE=True)

    broken.write_bytes(whole)
    assert stopped.cell == "serve"
    assert "1 of the image files of a batch cannot be read: im110.png is cut off" in stopped.error
    assert ended.is_done, ended
    assert submitted(mirror).keys() == right.keys()


@pytest.mark.slow
def test_sounds_are_served(tmp_path: Path, sessions: Sessions) -> None:
    mirror, right = trained(tmp_path, SOUNDS, write_sounds, sessions)
    write_gateway(mirror.competition, "value", target="tone", files="path")

    ended = served(sessions, mirror, SOUNDS)

    assert ended.is_done, ended
    assert submitted(mirror) == right


@pytest.mark.slow
def test_masks_are_served_at_the_size_of_their_images(tmp_path: Path, sessions: Sessions) -> None:
    mirror, right = trained(tmp_path, of_masks(), write_masks, sessions)
    write_gateway(mirror.competition, "table", target="rle", files="column")

    ended = served(sessions, mirror, of_masks(served_answer="table"))

    assert ended.is_done, ended
    found = submitted(mirror)
    assert found.keys() == right.keys()
    assert np.mean([overlap(found[name], mask) for name, mask in right.items()]) > 0.8


def overlap(code: str, mask: np.ndarray) -> float:
    """The share of two masks that overlaps, 0 to 1, one of them as a run-length code."""
    decoded = np.zeros(mask.size, dtype=bool)
    numbers = list(map(int, code.split()))
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        decoded[start - 1 : start - 1 + length] = True
    shape = decoded.reshape(mask.shape[::-1]).T
    return float(2 * (shape & mask).sum() / (shape.sum() + mask.sum()))


OF_FILES = ("words-of-batch", "rows-of-batch", "read-batch", "by-name", "files-of-batch")
KNOWN: dict[str, Any] = {"pd": pd, "np": np, "os": os, "contextlib": contextlib, "Path": Path, "cache": cache}
KNOWN |= {"ID_COLUMN": "id", "TEST_FOLDER": "test", "sample": pd.DataFrame({"id": ["a"]}), "re": re}


def execute(cells: Mapping[str, str], wanted: Iterable[str], names: dict[str, Any]) -> None:
    """Executes some cells of a notebook one after another, in `names`."""
    for cell in wanted:
        exec(cells[cell], names)  # noqa: S102 - a rendered notebook's own code is what is tested here


def cells_of(task: Task, **parameters: object) -> dict[str, Any]:
    """Executes the cells between a batch of images and its answer, without a framework; returns all names."""
    cells = rendered_cells("keras", "infer", task)
    names = {**KNOWN, "IMAGE_SUFFIX": ".png", **parameters}
    execute(cells, ("list-images", "image-files", *OF_FILES, "clear-shared"), names)
    return names


def write_files(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"a picture")
    return [str(folder / name) for name in names]


def test_a_folder_is_one_example_where_an_id_has_several_images(tmp_path: Path) -> None:
    write_files(tmp_path, "p1/2.png", "p1/1.png", "p2/3.png", "p1/notes.txt")
    several = of_pictures(has_several_images=True)
    folders = [str(tmp_path / "p1"), str(tmp_path / "p2")]

    ids, files, library = cells_of(several)["files_of"]((folders,))
    each, _, _ = cells_of(of_pictures())["files_of"]((folders,))

    assert ids == ["p1", "p1", "p2"]
    assert [Path(file).name for file in files] == ["1.png", "2.png", "3.png"]
    assert library is pd.DataFrame
    assert each == ["1", "2", "3"]


def test_numbers_of_examples_stay_numbers_beside_their_paths(tmp_path: Path) -> None:
    paths = write_files(tmp_path, "b.png", "a.png")

    ids, files, library = cells_of(of_pictures())["files_of"]((pl.Series([7, 3]), pl.Series(paths)))

    assert (ids, files, library) == ([7, 3], paths, pl.DataFrame)


def test_files_are_found_by_the_names_in_a_table_and_in_its_order(tmp_path: Path) -> None:
    write_files(tmp_path, "deep/x1.png", "deep/x2.png", "deep/x3.png")
    batch = (pl.DataFrame({"id": ["b", "a"], "picture": ["x3", "x1"]}), str(tmp_path))

    files_of = cells_of(of_pictures(image_column="picture"), FILE_COLUMN="picture")["files_of"]
    ids, files, library = files_of(batch)
    _, only_file, _ = files_of((batch[0][1:], batch[1]))

    assert (ids, library) == (["b", "a"], pl.DataFrame)
    assert [Path(file).name for file in files] == ["x3.png", "x1.png"]
    assert [Path(file).name for file in only_file] == ["x1.png"]


@pytest.mark.parametrize("beside", ["what the scans are of", 224])
def test_what_stands_beside_several_paths_is_no_id_of_theirs(tmp_path: Path, beside: str | int) -> None:
    paths = write_files(tmp_path, "b.png", "a.png")

    ids, files, _ = cells_of(of_pictures())["files_of"]((paths, beside))

    assert (ids, files) == (["b", "a"], paths)


def test_all_files_are_one_example_where_one_value_is_wanted(tmp_path: Path) -> None:
    paths = write_files(tmp_path, "s1/2.png", "s1/1.png")

    files_of = cells_of(of_pictures(answer="value"))["files_of"]

    assert files_of((str(tmp_path / "s1"),))[0] == ["s1", "s1"]
    assert files_of(("scan", paths))[0] == ["scan", "scan"]


def test_a_batch_without_paths_or_ids_is_refused_in_words() -> None:
    with pytest.raises(TypeError, match="hands over NoneType, float, and the notebook needs paths"):
        cells_of(of_pictures())["files_of"]((None, 1.5))


def answered(task: Task, files: list[tuple[str, str]], predictions: list[list[float]], **known: Any) -> pd.DataFrame:
    """The answers of a notebook, before they are formed for the gateway, to these predictions for readable files."""
    stubs = {
        "ready_ensemble": lambda: ["model"],
        "files_of": lambda _: ([name for name, _ in files], [file for _, file in files], pd.DataFrame),
        "paths_of": lambda names, _: {"path": np.array(names)},
        "are_readable": lambda examples: np.array(["broken" not in path for path in examples["path"]]),
        "oof": {"predictions": np.array([[0.5, 0.5], [0.7, 0.3]])},
        "predict_fold": lambda *_: np.array(predictions),
        "answers_of": pd.DataFrame,
        "clear_shared": lambda paths: None,
        "as_wanted": lambda answers, _: answers,
    }
    names = {**KNOWN, "TTA": 1, **stubs, **known}
    execute(rendered_cells("keras", "infer", task), ["answer"], names)
    return pd.DataFrame(names["answer"]())


PROBABILITIES = replace(of_pictures(), metric="log_loss", submission=SubmissionKind.CLASS_COLUMNS)


def test_what_is_predicted_for_the_files_of_an_id_is_averaged() -> None:
    files = [("b", "/1.png"), ("a", "/2.png"), ("b", "/3.png")]

    answers = answered(PROBABILITIES, files, [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])

    assert answers.index.tolist() == ["b", "a"]
    assert answers.to_numpy().tolist() == [[0.25, 0.75], [1.0, 0.0]]


def test_an_image_that_cannot_be_read_gets_what_training_predicted_on_average() -> None:
    answers = answered(PROBABILITIES, [("b", "/1.png"), ("a", "/broken.png")], [[0.0, 1.0]])

    assert answers.to_numpy().round(3).tolist() == [[0.0, 1.0], [0.6, 0.4]]


@pytest.mark.parametrize("shape", ["paths", "folder", "list"])
def test_a_file_is_the_example_that_it_is_called_as_in_whatever_order(tmp_path: Path, shape: str) -> None:
    paths = write_files(tmp_path, "a.png", "b.png")
    table = pl.DataFrame({"id": ["b", "a"]})
    batch = {"paths": (table, *paths), "folder": (str(tmp_path), table), "list": (["b", "a"], paths)}[shape]

    ids, files, _ = cells_of(of_pictures())["files_of"](batch)

    assert (ids, files) == (["b", "a"], paths[::-1])


def test_files_with_names_of_their_own_are_taken_in_their_order(tmp_path: Path) -> None:
    paths = write_files(tmp_path, "0001.png", "0002.png")

    ids, files, _ = cells_of(of_pictures())["files_of"]((pl.DataFrame({"id": [8, 7]}), paths))

    assert (ids, files) == ([8, 7], paths)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    (path,) = write_files(tmp_path, "b.png")
    files_of = cells_of(of_pictures())["files_of"]

    for batch in (([path, f"{tmp_path}/gone.png"],), (pl.DataFrame({"id": ["b", "c"], "at": [path, "/gone.png"]}),)):
        with pytest.raises(FileNotFoundError, match="and there is no such file"):
            files_of(batch)


def test_arrays_of_pixels_are_not_taken_for_anything_else() -> None:
    files_of = cells_of(of_pictures())["files_of"]

    for batch in ((np.zeros((2, 8, 8, 3), dtype="uint8"),), (["a", "b"], np.zeros((2, 8, 8)))):
        with pytest.raises(TypeError, match="ndarray, and the notebook needs paths"):
            files_of(batch)


def test_a_number_is_an_id_only_where_the_ids_are_numbers(tmp_path: Path) -> None:
    (path,) = write_files(tmp_path, "139.png")
    numbers = cells_of(of_pictures(), sample=pd.DataFrame({"id": ["4", "139"]}))["files_of"]

    assert numbers((path, 7))[0] == [7]
    assert numbers((path,))[0] == [139]
    assert cells_of(of_pictures())["files_of"]((path, 7))[0] == ["139"]


def test_the_table_with_paths_is_read_and_so_is_a_dict(tmp_path: Path) -> None:
    paths = write_files(tmp_path, "p.png", "q.png")
    files_of = cells_of(of_pictures())["files_of"]
    two = (pl.DataFrame({"id": ["x"], "rle": [""]}), pl.DataFrame({"id": ["b", "a"], "at": paths}))

    assert files_of(two)[:2] == (["b", "a"], paths)
    assert files_of(({"id": "b", "width": 8, "at": paths[1]},))[:2] == (["b"], paths[1:])


def test_a_table_of_one_row_beside_all_files_is_one_example(tmp_path: Path) -> None:
    paths = write_files(tmp_path, "a.png", "b.png")

    assert cells_of(of_pictures())["files_of"]((pl.DataFrame({"id": ["b"]}), paths))[:2] == (["b"], paths[1:])


def test_folders_whose_names_begin_alike_are_told_apart(tmp_path: Path) -> None:
    write_files(tmp_path, "1.2/a.png", "1.2.3/b.png", "1.2.4/c.png")
    several = of_pictures(has_several_images=True)
    batch = (pl.DataFrame({"id": ["1.2.4", "1.2", "1.2.3"]}), str(tmp_path))

    ids, files, _ = cells_of(several)["files_of"](batch)

    assert ids == ["1.2.4", "1.2", "1.2.3"]
    assert [Path(file).name for file in files] == ["c.png", "a.png", "b.png"]


def test_a_folder_may_end_in_a_slash(tmp_path: Path) -> None:
    write_files(tmp_path, "p1/1.png")

    assert cells_of(of_pictures(answer="value"))["files_of"]((f"{tmp_path}/p1/",))[0] == ["p1"]


def test_an_id_without_a_file_is_named(tmp_path: Path) -> None:
    (path,) = write_files(tmp_path, "a.png")

    with pytest.raises(ValueError, match="There is no file of 'c', shared or in the test folder"):
        cells_of(of_pictures(), TEST_FOLDER="test")["files_of"]((["a", "c", "d"], [path]))


def test_of_columns_of_channels_the_one_that_stands_for_all_is_read(tmp_path: Path) -> None:
    red, blue = write_files(tmp_path, "x_red.png", "x_blue.png")
    task = of_pictures(channel_suffixes=["_red.png", "_green.png", "_blue.png"])

    batch = (pl.DataFrame({"id": ["x"], "red": [red], "blue": [blue]}),)
    names = cells_of(task, IMAGE_SUFFIX="_blue.png", CHANNEL_SUFFIXES=["_red.png", "_blue.png"])
    ids, files, _ = names["files_of"](batch)

    assert (ids, files) == (["x"], [blue])


@pytest.mark.parametrize("suffix", ["", ".ogg"])
@pytest.mark.parametrize("shape", ["column", "beside"])
def test_parts_of_one_recording_keep_their_seconds(tmp_path: Path, suffix: str, shape: str) -> None:
    (path,) = write_files(tmp_path, "forest_1.ogg")
    rows = ["forest_1_5", "forest_1_10", "forest_1_15"]
    task = replace(SOUNDS, details={**SOUNDS.details, "part_seconds": 5.0})
    names = {**KNOWN, "AUDIO_SUFFIX": suffix, "PART_SECONDS": 5.0}
    names |= {"sample": pd.DataFrame({"id": ["lake_3_5", "lake_3_10"]})}
    execute(rendered_cells("keras", "infer", task), ("list-sounds", "sound-files", *OF_FILES, "middles-of"), names)
    table = pl.DataFrame({"id": rows, "where": [path] * 3})

    ids, files, _ = names["files_of"]((table,) if shape == "column" else (table.select("id"), path))

    assert ids == rows
    assert files == [path] * 3
    assert names["middles_of"](ids).tolist() == [2.5, 7.5, 12.5]
    assert names["middles_of"](ids[2:]).tolist() == [12.5]


def test_rows_of_labels_come_in_the_order_of_the_sample_or_as_they_were_asked_for() -> None:
    task = replace(
        of_pictures(),
        targets=("ill", "old"),
        target_kind=TargetKind.LABELS,
        metric="log_loss_mean_columns",
        submission=SubmissionKind.KEYED_ROWS,
    )
    names = {**KNOWN, "classes": ["ill", "old"], "answer_columns": ["value"], "SAMPLE_SUBMISSION": "sample.csv"}
    names |= {"sample": pd.DataFrame({"id": ["s1_old", "s1_ill"]})}
    execute(rendered_cells("keras", "infer", task), ["answers-of"], names)
    predictions = np.array([[0.1, 0.9], [0.2, 0.8]])

    examples = names["answers_of"](predictions, [7, 3])
    rows = names["answers_of"](predictions, ["7_ill", "3_old"])

    assert examples["value"].to_dict() == {"7_old": 0.9, "7_ill": 0.1, "3_old": 0.8, "3_ill": 0.2}
    assert examples.index.tolist() == ["7_old", "7_ill", "3_old", "3_ill"]
    assert rows["value"].to_dict() == {"7_ill": 0.1, "3_old": 0.8}


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        (["1_1_1", "1_2_1"], ["9_1_1", "9_2_1", "9_1_2", "9_2_2", "9_1_3", "9_2_3"]),
        (["1_0_0", "1_0_1"], ["9_0_0", "9_0_1", "9_0_2", "9_1_0", "9_1_1", "9_1_2"]),
    ],
)
def test_pixels_come_in_the_order_of_the_sample(asked: list[str], ids: list[str]) -> None:
    of_images = {"target_folder": "clean", "image_size": 8, "channels": 1, "flip": True, "epochs": 1}
    task = served_task("image_to_image", "image", "value", **of_images)
    pixels = pd.DataFrame({"id": asked})["id"].str.extract(r"_(?P<row>\d+)_(?P<column>\d+)$").astype(int)
    names = {**KNOWN, "answer_columns": ["value"], "first": pixels.min().clip(upper=1).to_list()}
    names |= {"is_by_columns": pixels["row"].nunique() == 2, "corners_of": lambda *_: [(0, 0)]}
    execute(rendered_cells("keras", "infer", task), ("whole-images", "answers-of"), names)
    names["sizes"][9] = (2, 3)

    values = names["answers_of"](np.arange(64).reshape(1, 8, 8), [9])["value"]

    first = 0 if "9_0_0" in ids else 1
    assert values.index.tolist() == ids
    assert values[f"9_{first + 1}_{first}"] == 8
    assert values[f"9_{first}_{first + 2}"] == 2


MASKS = np.zeros((1, 2, 3, 2))
MASKS[0, 0, :, 0] = MASKS[0, :, 2, 1] = 1  # the first row, and the last column


@pytest.mark.parametrize(
    ("rows", "asked", "ids", "expected"),
    [
        ("id", {"id": ["x_b", "x_a"]}, [7], {"7_b": "5 2", "7_a": "1 1 3 1 5 1"}),
        ("id", {"id": ["x_b", "x_a"]}, ["7_a"], {"7_a": "1 1 3 1 5 1"}),
        ("column", {"id": ["x", "x"], "kind": ["b", "a"]}, [7], {(7, "b"): "5 2", (7, "a"): "1 1 3 1 5 1"}),
    ],
)
def test_masks_come_in_the_order_of_the_sample_or_as_they_were_asked_for(
    rows: str, asked: dict[str, list[str]], ids: list[object], expected: dict[object, str]
) -> None:
    task = of_masks(mask_rows=rows, mask_classes=["a", "b"], class_column="kind", served_answer="table")
    sample = pd.DataFrame({**asked, "rle": [""] * 2})
    known = {"sample": sample, "answer_columns": ["rle"], "classes": ["a", "b"], "CLASS_COLUMN": "kind"}
    names = {**KNOWN, **known, "SAMPLE_SUBMISSION": "sample.csv", "TTA": 1, "SKIP_UNREADABLE": False}
    names |= {
        "handoff": {"folds": [{"arguments": {"image_size": 8, "channels": 1}}], "decision": {}},
        "ready_ensemble": lambda: ["model"],
        "files_of": lambda _: (ids, ["/7.png"], pd.DataFrame),
        "read_images": lambda *_: (None, np.array([True])),
        "predict_fold": lambda *_: MASKS.copy(),
        "decide": lambda predictions, _: predictions.round().astype("uint8"),
        "clear_shared": lambda _: None,
        "Image": Image,
        "ThreadPoolExecutor": ThreadPoolExecutor,
    }
    cells = rendered_cells("keras", "infer", task)
    execute(cells, ("masks-of-image", "answers-of", "as-wanted", "kinds-asked", "answer"), names)
    names["size_of"] = lambda _: (3, 2)

    answers = names["answer"]()

    assert answers.columns.tolist() == sample.columns.tolist()
    found = dict(zip(answers.iloc[:, :-1].itertuples(index=False, name=None), answers["rle"], strict=True))
    assert found == {key if isinstance(key, tuple) else (key,): code for key, code in expected.items()}


def test_records_are_answered_in_the_order_of_their_ids(tmp_path: Path) -> None:
    (path,) = write_files(tmp_path, "a.tfrec")
    task = of_pictures(labels_from="records")
    names = {**KNOWN, "RECORD_ID": "key", "RECORD_IMAGE": "image"}
    names["read_records"] = lambda *_: pd.DataFrame({"key": ["1", "2"], "image": [*"ab"]})
    cells = rendered_cells("keras", "infer", task)
    execute(cells, ("words-of-batch", "rows-of-batch", "read-batch", "records-of"), names)

    for batch in ((pl.Series([2, 1]), path), (pl.DataFrame({"id": [2, 1], "where": [path, path]}),)):
        ids, examples, paths, library = names["records_of"](batch)

        assert (ids, paths, library) == ([2, 1], [path], pl.DataFrame)
        assert examples["content"].tolist() == ["b", "a"]


def test_only_what_was_shared_is_removed(tmp_path: Path) -> None:
    shared, kept, linked = write_files(tmp_path, "shared/a/1.png", "input/a/1.png", "input/b/1.png")
    (tmp_path / "shared" / "b").symlink_to(tmp_path / "input" / "b")
    names = cells_of(of_pictures())
    names["SHARED_FOLDER"] = tmp_path / "shared"

    names["clear_shared"](
        [shared, kept, shared, str(tmp_path / "shared/b/1.png"), f"{tmp_path}/shared/../input/a/1.png"]
    )

    assert not Path(shared).exists()
    assert Path(kept).exists()
    assert Path(linked).exists()


@pytest.mark.slow
def test_shared_files_are_gone_once_they_are_answered(
    sessions: Sessions, pictures: tuple[Mirror, dict[str, str]], tmp_path: Path
) -> None:
    mirror, right = pictures
    write_gateway(mirror.competition, "targets", target="light", files="path")
    edits = {
        "clear-shared": lambda source: source.replace('"/kaggle/shared"', repr(str(tmp_path))),
        "serve": lambda source: source.replace(
            "tempfile.TemporaryDirectory()", f"contextlib.nullcontext({str(tmp_path)!r})"
        ),
    }
    infer = Notebook("tensorflow", "infer", task=of_pictures(answer="targets"), edits=edits)

    sessions.finished(infer, mirror.parameters(infer))

    assert submitted(mirror).keys() == right.keys()
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []
    assert len(list((mirror.competition / "test").iterdir())) == len(right)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("denoising_dirty_documents", "table"),
        ("tpu_getting_started", "targets"),
        ("understanding_clouds", "table"),
        ("organs_named_in_a_column", "table"),
        ("nuclei_in_folders_of_their_own", "targets"),
        ("birdclef", "targets"),
        ("a_row_for_each_scan_and_finding", "table"),
    ],
)
def test_what_the_stand_in_of_a_specimen_asks_for_is_answered(
    tmp_path: Path, sessions: Sessions, name: str, answer: str
) -> None:
    next(layout for layout in LAYOUTS if layout.name == name).write(tmp_path / "data")
    write_gateway(tmp_path / "data", answer)
    survey = survey_folder(tmp_path / "data")
    task = read_task(survey, Hints(slug="digits")).task
    mirror = Mirror(tmp_path)
    write_specimen(survey, task, mirror.competition, rows=40, seed=1, signal=True)
    train, infer = (Notebook("tensorflow", role, task=task) for role in ("train", "infer"))

    sessions.finished(train, mirror.parameters(train, SMOKE_TEST=True))
    mirror.working.rename(mirror.root / "train")
    sessions.finished(infer, mirror.parameters(infer, SMOKE_TEST=True))
    sample = pd.read_csv(mirror.competition / task.sample_submission)
    written = pd.read_parquet(mirror.working / "submission.parquet")
    assert written.columns.tolist() == sample.columns.tolist()
    assert set(written[task.id_column]) == set(sample[task.id_column])
