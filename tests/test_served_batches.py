"""The files of a batch, and what is answered for them: the cells of the notebook without a framework."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from notebook_session import rendered_cells
from served_files import KNOWN, OF_FILES, SOUNDS, cells_of, execute, of_pictures, write_files

from generator.competition.facts import SubmissionKind, Task

pytest_plugins = ("notebook_session",)


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
    with pytest.raises(TypeError, match="sends NoneType, float, and the notebook needs paths"):
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
