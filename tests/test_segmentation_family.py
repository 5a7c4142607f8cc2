"""The family `segmentation`: masks as files and as run-length codes, moved with their images, and written as codes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from layout_files import table
from notebook_cells import executed_alone
from notebook_session import rendered_cells
from tasks import task_of

from generator.competition.facts import Task

pytest_plugins = ("notebook_session",)

SIDE = 32


def task(**said: Any) -> Task:
    usual = {"train_table": "", "train_folder": "train", "test_folder": "test", "image_size": SIDE, "channels": 1}
    return task_of("segmentation", "mask", "rle", **{**usual, "flip": True, "batch_size": 8, "epochs": 2, **said})


CODES = task(train_table="train.csv", image_column="id", image_suffix=".png", mask_column="rle")
FILES = task(labels_from="folders", image_suffix=".png", mask_folder="masks", mask_suffix="_mask.gif")
CLASSES = task(
    train_table="train.csv",
    image_column="image",
    image_suffix="",
    mask_column="rle",
    mask_rows="id",
    mask_classes=["bright", "dark"],
    class_column="kind",
)
COLUMN = replace(CLASSES, details={**CLASSES.details, "image_column": "id", "mask_rows": "column"})
OF_IDS = replace(CLASSES, details={**CLASSES.details, "image_column": "id", "class_column": ""})
PIECES = replace(CODES, details={**CODES.details, "mask_rows": "piece"})
TASKS = {"codes": CODES, "files": FILES, "classes": CLASSES, "column": COLUMN, "ids": OF_IDS, "pieces": PIECES}


def executed(masks: str, role: str, cells: Sequence[str], **names: Any) -> dict[str, Any]:
    """Executes some cells, which need no framework; returns what they define."""
    return vars(executed_alone(cells, TASKS[masks], role, **names))


@pytest.fixture
def decoded() -> Callable[..., Any]:
    return executed("codes", "train", ["decode-run-length"])["decoded_run_length"]


def inference(masks: str = "codes", *, empty: str = "1 1", **names: Any) -> dict[str, Any]:
    """The cells of inference that write codes and check them."""
    import pandas as pd

    known = {"answer_columns": ["rle"], "sample": pd.DataFrame({"rle": [empty]})} | names
    return executed(masks, "infer", ["decide", "masks-of-image", "check-codes", "answers-of"], **known)


# By hand: pixel 1 is at the top left, 2 is below it.
BY_HAND = [
    ("", [[0, 0, 0], [0, 0, 0]]),
    ("1 6", [[1, 1, 1], [1, 1, 1]]),
    ("1 1", [[1, 0, 0], [0, 0, 0]]),
    ("2 1", [[0, 0, 0], [1, 0, 0]]),
    ("2 2 6 1", [[0, 1, 0], [1, 0, 1]]),
]


@pytest.mark.parametrize(("code", "mask"), BY_HAND)
def test_codes_count_down_the_columns_from_one(decoded: Callable[..., Any], code: str, mask: list[list[int]]) -> None:
    import numpy as np

    cells = inference()

    assert decoded(code, 2, 3).astype(int).tolist() == mask
    assert cells["run_length_code"](np.array(mask, dtype="uint8")) == code
    assert cells["code_problem"](code, (3, 2)) is None


def test_the_sample_of_a_competition_can_ask_for_minus_one_where_a_mask_is_empty(decoded: Callable[..., Any]) -> None:
    import numpy as np

    cells = inference(empty="-1")

    assert cells["run_length_code"](np.zeros((2, 3), dtype="uint8")) == "-1"
    assert cells["code_problem"]("-1", (3, 2)) is None
    assert not decoded("-1", 2, 3).any()


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("1", "is no pairs"),
        ("1 x", "is no pairs"),
        ("0 2", "leaves the 3 x 2 pixels"),
        ("6 2", "leaves the 3 x 2 pixels"),
        ("2 0", "leaves the 3 x 2 pixels"),
        ("1 3 2 1", "overlaps itself"),
        ("5 1 1 1", "overlaps itself"),
    ],
)
def test_a_code_that_would_be_refused_is_found_before_it_is_submitted(code: str, problem: str) -> None:
    assert problem in inference()["code_problem"](code, (3, 2))


@pytest.mark.parametrize("code", ["1", "1 x", "0 2", "6 2", "1 99999999999999999999"])
def test_a_training_code_that_does_not_fit_its_image_stops(decoded: Callable[..., Any], code: str) -> None:
    with pytest.raises(ValueError, match=r"no pairs of whole numbers|goes beyond the 2 x 3 pixels"):
        decoded(code, 2, 3)


def examples_of(
    folder: Path, rows: Sequence[Sequence[str]], masks: str = "codes", columns: Sequence[str] = ("id", "rle")
) -> dict[str, tuple[str, list[str]]]:
    """File and codes of the examples of a training table, of which `a.png`, `b.png` and `c.png` are there."""
    (folder / "x" / "train").mkdir(parents=True)
    for name in ("a.png", "b.png", "c.png"):
        (folder / "x" / "train" / name).touch()
    table(folder / "x" / "train.csv", columns, rows)
    source = rendered_cells("keras", "train", TASKS[masks])
    wanted = ["read-table", "files-named", "list-images", "training-images"]
    names = {"INPUT_ROOT": str(folder), "COMPETITION": "x"}
    known = executed(masks, "train", [name for name in wanted if name in source], **names)
    codes = known["codes"].reindex(columns=known.get("MASK_CLASSES", ["rle"]), fill_value="")
    train = known["train"]
    return dict(zip(train["id"], zip(train["image file"], codes.to_numpy().tolist(), strict=True), strict=True))


@pytest.mark.slow
def test_an_image_in_several_rows_has_all_their_parts(tmp_path: Path) -> None:
    assert examples_of(tmp_path, [("a", "1 1"), ("b", ""), ("a", "3 1")]) == {
        "a": ("a.png", ["1 1 3 1"]),
        "b": ("b.png", [""]),
    }


@pytest.mark.slow
def test_ids_of_no_image_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no image of train\.csv, the first would be 'a_fish\.png'"):
        examples_of(tmp_path, [("a_fish", "1 1"), ("a_sugar", "")])


@pytest.mark.slow
def test_ids_of_an_image_and_a_class_give_an_image_a_code_for_each_class(tmp_path: Path) -> None:
    rows = [("a.png_dark", "1 1"), ("a.png_bright", ""), ("b.png_bright", "2 2"), ("b.png_dark", "")]

    assert examples_of(tmp_path, rows, "ids") == {
        "a.png": ("a.png", ["", "1 1"]),
        "b.png": ("b.png", ["2 2", ""]),
    }


@pytest.mark.slow
def test_where_only_masks_have_rows_an_image_without_one_has_none(tmp_path: Path) -> None:
    columns = ("image", "kind", "rle")

    assert examples_of(tmp_path, [("a.png", "dark", "1 1"), ("b.png", "bright", "2 2")], "classes", columns) == {
        "a.png": ("a.png", ["", "1 1"]),
        "b.png": ("b.png", ["2 2", ""]),
        "c.png": ("c.png", ["", ""]),
    }


@pytest.mark.slow
def test_where_empty_masks_have_rows_an_image_without_one_is_left_out(tmp_path: Path) -> None:
    columns = ("image", "kind", "rle")

    found = examples_of(tmp_path, [("a.png", "dark", "1 1"), ("b.png", "bright", "")], "classes", columns)

    assert list(found) == ["a.png", "b.png"]


def codes_of_an_image(masks: str, probabilities: Any, tmp_path: Path, **names: Any) -> dict[Any, str]:
    """The codes that inference writes for an image "a" of that size."""
    from PIL import Image

    height, width, classes = probabilities.shape
    Image.new("L", (width, height)).save(tmp_path / "a.png")
    known = {"handoff": {"decision": {"thresholds": [0.5] * classes, "min_areas": [0] * classes}}}
    known |= {"classes": ["bright", "dark"][:classes], "path_of": {"a": str(tmp_path / "a.png")}} | names
    answers = inference(masks, **known)["answers_of"](probabilities[None], ["a"])
    return {
        f"{key}#{place}" if masks == "pieces" else key: code for place, (key, code) in enumerate(answers["rle"].items())
    }


@pytest.mark.slow
def test_every_class_has_a_code_of_its_own(tmp_path: Path) -> None:
    import numpy as np

    probabilities = np.zeros((2, 3, 2), dtype="float16")
    probabilities[1, 0, 0] = probabilities[0, 2, 1] = 1

    assert codes_of_an_image("ids", probabilities, tmp_path) == {"a_bright": "2 1", "a_dark": "5 1"}
    assert codes_of_an_image("column", probabilities, tmp_path) == {("a", "bright"): "2 1", ("a", "dark"): "5 1"}


@pytest.mark.slow
def test_a_class_that_the_model_has_not_learned_stops_inference(tmp_path: Path) -> None:
    import numpy as np
    import pandas as pd

    asked = pd.DataFrame({"id": ["a_dark", "a_grey"], "rle": ["1 1", "1 1"]})
    (tmp_path / "a.png").touch()
    known = inference("ids", handoff={"decision": {"thresholds": [0.5] * 2, "min_areas": [0] * 2}})
    known |= {"classes": ["bright", "dark"], "path_of": {"a": "nowhere"}, "sample": asked}
    known |= {"predictions": np.zeros((1, 2, 3, 2), dtype="float16"), "ids": ["a"]}

    with pytest.raises(ValueError, match=r"The model knows \['bright', 'dark'\], and the sample asks .*a_grey"):
        exec(rendered_cells("keras", "infer", OF_IDS)["join-by-id"], known)  # noqa: S102 - the cells are what is tested


@pytest.mark.slow
def test_connected_pieces_of_a_mask_have_rows_of_their_own_and_specks_have_none(tmp_path: Path) -> None:
    import numpy as np

    probabilities = np.zeros((4, 6, 1), dtype="float16")
    probabilities[:2, :2] = probabilities[:3, 4:5] = probabilities[3, 0] = 1

    codes = codes_of_an_image("pieces", probabilities, tmp_path, LEAST_PIECE=2)

    assert codes == {"a#0": "1 2 5 2", "a#1": "17 3"}
    assert codes_of_an_image("pieces", 0 * probabilities, tmp_path, LEAST_PIECE=2) == {"a#0": ""}


def write_masks(folder: Path, mask: Any, mode: str, name: str = "1_mask.gif") -> None:
    from PIL import Image

    for part, file in (("train", "1.png"), ("train", "2.png"), ("masks", name)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(mask) if part == "masks" else Image.new("L", (6, 4))
        (picture.convert(mode) if part == "masks" and mode else picture).save(folder / part / file)


def masks_of_files(folder: Path, **names: Any) -> Any:
    known = {"INPUT_ROOT": str(folder.parent), "COMPETITION": folder.name, "image_size": 6, **names}
    cells = ["read-pixels", "list-images", "training-images", "read-mask"]
    known = executed("files", "train", cells, **known)
    files = [known["folder"] / file for file in known["train"]["image file"]]
    masks = [mask and known["mask_folder"] / mask for mask in known["train"]["mask file"]]
    return known["binary"](known["np"].stack(list(map(known["read_mask"], masks, files))))


@pytest.mark.parametrize(
    ("inside", "kind", "mode", "suffix"),
    [
        (255, "uint8", "L", ".gif"),
        (255, "uint8", "1", ".png"),
        (1, "uint8", "L", ".png"),
        (65535, "uint16", "", ".png"),
    ],
)
def test_masks_of_any_depth_are_binary_and_an_image_without_one_has_none(
    tmp_path: Path, inside: int, kind: str, mode: str, suffix: str
) -> None:
    import numpy as np

    mask = np.zeros((4, 6), dtype=kind)
    mask[:2, :3] = inside
    write_masks(tmp_path, mask, mode, f"1_mask{suffix}")

    masks = masks_of_files(tmp_path, MASK_SUFFIX=f"_mask{suffix}")

    expected = np.zeros((6, 6), dtype="uint8")
    expected[:3, :3] = 1
    assert masks[..., 0].tolist() == [expected.tolist(), np.zeros((6, 6)).tolist()]


def test_a_mask_of_another_size_than_its_image_stops(tmp_path: Path) -> None:
    import numpy as np

    write_masks(tmp_path, np.zeros((5, 6), dtype="uint8"), "L")

    with pytest.raises(ValueError, match=r"1_mask\.gif has 6 x 5 pixels and its image .*1\.png 6 x 4"):
        masks_of_files(tmp_path)


def test_masks_of_several_classes_stop(tmp_path: Path) -> None:
    import numpy as np

    write_masks(tmp_path, np.array([[0, 1, 2, 3, 4, 5]] * 4, dtype="uint8"), "L", "1_mask.png")

    with pytest.raises(ValueError, match="the values 0, 1, 2, 3, 4, 5, which look like several classes"):
        masks_of_files(tmp_path, MASK_SUFFIX="_mask.png")


@pytest.mark.slow
def test_unreadable_images_and_masks_stop_training_or_are_left_out_by_the_knob(tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    folder = tmp_path / "x"
    mask = np.zeros((SIDE, SIDE), dtype="uint8")
    mask[4:12, 4:12] = 255
    for part, ending in (("train", ".png"), ("masks", "_mask.gif")):
        (folder / part).mkdir(parents=True)
        for number in range(8):
            Image.fromarray(mask).save(folder / part / f"{number}{ending}")
    for name in ("train/2.png", "masks/5_mask.gif"):
        (folder / name).write_bytes((folder / name).read_bytes()[:30])
    cells = ["read-pixels", "read-images", "list-images", "training-images", "read-mask", "targets"]
    mounted = {"INPUT_ROOT": str(tmp_path), "COMPETITION": "x"}

    with pytest.raises(ValueError, match=r"2 of 8 images or masks in .*: 2\.png, 5\.png\. With SKIP_UNREADABLE = True"):
        executed("files", "train", cells, **mounted)
    known = executed("files", "train", cells, SKIP_UNREADABLE=True, **mounted)

    assert known["train"]["image file"].tolist() == [f"{number}.png" for number in (0, 1, 3, 4, 6, 7)]
    assert {len(known[name]) for name in ("images", "paths", "truth", "targets", "covered")} == {6}


def test_unreadable_test_images_stop_inference_or_get_empty_masks_by_the_knob(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import numpy as np
    from PIL import Image

    paths = [str(tmp_path / f"{number}.png") for number in range(4)]
    for path in paths:
        Image.new("L", (SIDE, SIDE)).save(path)
    Path(paths[2]).write_text("<html>404 Not Found</html>")
    known = {
        "handoff": {"folds": [{"arguments": {"image_size": 8, "channels": 1}}]},
        "paths": paths,
        "ids": paths,
        "ensemble": [None],
        "predict_fold": lambda member, features: np.ones((4, 8, 8, 1), dtype="float32"),
    }
    cells = ["read-pixels", "read-images", "predict-test"]
    sentence = r"1 of 4 test images are missing or damaged: 2\.png\."

    with pytest.raises(ValueError, match=f"{sentence} With SKIP_UNREADABLE = True they get empty masks"):
        executed("codes", "infer", cells, **known)
    names = executed("codes", "infer", cells, SKIP_UNREADABLE=True, **known)

    assert [mask.max() for mask in names["predictions"]] == [1, 1, 0, 1]
    assert re.search(sentence, capsys.readouterr().out)
