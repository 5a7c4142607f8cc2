"""Images as numbers in tables, as files for each channel, and several for an id: the right ones for each id."""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from image_layouts import COLOURS, SIDE, Layout, task, write_images
from layout_files import table

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session", "image_layouts")


def scan(number: int) -> list[int]:
    return [(number * 37 + place * 5) % 256 for place in range(16)]


PIXELS = ",".join(f"pixel{number}" for number in range(16))
OF_PIXELS = task(
    "label",
    labels_from="pixels",
    train_table="train.csv",
    test_table="test.csv",
    id_column="ImageId",
    channels=1,
    image_size=4,
    has_training_ids=False,
    has_test_ids=False,
)


def write_pixels(folder: Path, *, test_rows: int = 3) -> None:
    table(folder / "train.csv", f"label,{PIXELS}", [(number % 2, *scan(number)) for number in range(6)])
    table(folder / "test.csv", PIXELS, [scan(number) for number in range(10, 10 + test_rows)])
    table(folder / "sample_submission.csv", "ImageId,Label", [(1, 0), (2, 0), (3, 0)])


def test_pixels_in_columns_become_images_row_by_row(layout: Layout) -> None:
    write_pixels(layout.folder)

    look = "[train[ID_COLUMN].tolist(), truth.tolist(), decoded(np.arange(6)).reshape(6, 16).tolist()]"
    seen = layout.seen("train", OF_PIXELS, until="decode-images", look=look)

    assert seen == [list("012345"), [0, 1, 0, 1, 0, 1], [scan(number) for number in range(6)]]


def test_a_row_of_test_pixels_is_the_id_that_counts_it(layout: Layout) -> None:
    write_pixels(layout.folder)

    look = "dict(zip(ids, examples['pixels'].reshape(3, 16).tolist()))"
    seen = layout.seen("infer", OF_PIXELS, until="test-examples", look=look)

    assert seen == {"1": scan(10), "2": scan(11), "3": scan(12)}


def test_rows_of_pixels_that_are_not_those_of_the_sample_are_refused(layout: Layout) -> None:
    write_pixels(layout.folder, test_rows=5)

    ended = layout.run("infer", OF_PIXELS)

    assert ended.error == (
        "ValueError: test.csv has 5 rows and no ImageId, and sample_submission.csv has 3 rows: which is which cannot "
        "be known."
    )


def test_colour_pixels_are_resized_to_what_the_model_wants(layout: Layout) -> None:
    pixels = ",".join(f"p{number}" for number in range(48))
    rows = [(number, name, *(list(COLOURS[name]) * 16)) for number, name in enumerate(["red", "blue", "red", "blue"])]
    table(layout.folder / "train.csv", f"id,label,{pixels}", rows)
    asked = task(labels_from="pixels", train_table="train.csv", image_size=6)

    seen = layout.seen("train", asked, until="decode-images", look="decoded(np.arange(4))[:, 3, 2].tolist()")

    assert seen == [list(COLOURS[name]) for name in ("red", "blue", "red", "blue")]


def test_a_cell_of_numbers_is_a_channel_scaled_to_shades(layout: Layout) -> None:
    bands = [[-40.0, -30.0, -20.0, 0.0], [-20.0, -30.0, -20.0, -10.0]]
    named = [{"id": f"t{number}", "band_1": bands[0], "band_2": bands[1], "label": number % 2} for number in range(4)]
    (layout.folder / "train.json").write_text(json.dumps(named))
    asked = task(
        labels_from="pixels",
        train_table="train.json",
        image_size=2,
        pixel_lists=["band_1", "band_2"],
        pixel_low=-30.0,
        pixel_high=-10.0,
    )

    seen = layout.seen("train", asked, until="training-examples", look="images[3].reshape(4, 3).tolist()")

    # What is beyond the scale is cut off, and the third channel is the mean of two.
    assert seen == [[0, 128, 64], [0, 0, 0], [128, 128, 128], [255, 255, 255]]


def test_grey_files_of_one_image_are_its_channels(layout: Layout) -> None:
    from PIL import Image

    shades = {"red": 200, "green": 120, "blue": 40, "yellow": 90}
    for key in "abcd":
        for place, (colour, shade) in enumerate(shades.items()):
            path = layout.folder / f"train/{key}_{colour}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            # Of a 16-bit image those 8 bits are kept that its brightest pixel needs.
            mode, white = ("I;16", 255) if place == 1 else ("L", 1)
            Image.new(mode, (SIDE, SIDE), shade * white).save(path)
    (layout.folder / "train/b_blue.png").unlink()
    table(layout.folder / "train.csv", "id,label", [("a", 0), ("b", 1), ("c", 0), ("d", 1)])
    asked = task(
        train_table="train.csv",
        train_folder="train",
        image_column="id",
        image_suffix="_red.png",
        channel_suffixes=["_red.png", "_green.png", "_blue.png"],
    )

    ended = layout.run("train", asked, until="find-bad-images", look=CHANNELS_SEEN)
    stopped = layout.run("train", asked, until="decode-images")

    assert ended.is_done, ended
    assert ended.seen == [200, 120 * 255 >> 7, 40]
    assert "1 of the image files of " in stopped.error
    assert " cannot be read: b_blue.png is missing. " in stopped.error


def test_an_id_with_several_images_gets_the_average_of_their_predictions(layout: Layout) -> None:
    write_images(layout.folder / "test", [f"{name}.png" for name in ("a1", "a2", "b1", "c1")])
    named = [("a1", "a"), ("b1", "b"), ("a2", "a"), ("c1", "c")]
    table(layout.folder / "test.csv", "image,patient", named)
    table(layout.folder / "sample_submission.csv", "patient,label", [("b", 0), ("a", 0)])
    asked = task(
        id_column="patient",
        test_table="test.csv",
        test_folder="test",
        image_column="image",
        image_suffix=".png",
        has_several_images=True,
    )

    look = "[ids, [os.path.basename(path) for path in examples['path']]]"
    seen = layout.seen("infer", asked, until="check-test-images", look=look)

    assert seen == [["a", "b", "a"], ["a1.png", "b1.png", "a2.png"]]
    assert averages(seen[0], layout.cells("infer", asked)) == {"a": [0.5, 0.5], "b": [1.0, 0.0]}


def averages(ids: list[str], cells: Mapping[str, str]) -> dict[str, list[float]]:
    """The answers that the notebook's cell gives for predictions for three images."""
    import numpy as np
    import pandas as pd

    predictions = np.array([[0.75, 0.25], [1.0, 0.0], [0.25, 0.75]])
    names: dict[str, Any] = {"np": np, "pd": pd, "ids": ids, "predictions": predictions, "ID_COLUMN": "patient"}
    with TemporaryDirectory() as folder:
        names["run"] = SimpleNamespace(output=Path(folder))
        exec(cells["average-per-id"], names)  # noqa: S102 - the notebook's own cell
    return dict(zip(names["ids"], names["predictions"].tolist(), strict=True))


CHANNELS_SEEN = """load_image(paths_of(train["image file"], folder)["path"][0], 8, 3).numpy()[0, 0].tolist()"""
OF_PLACES = task(
    "eye_x",
    "eye_y",
    id_column="RowId",
    kind="number",
    labels_from="pixels",
    train_table="train.csv",
    test_table="test.csv",
    channels=1,
    image_size=2,
    has_training_ids=False,
    pixel_lists=["Image"],
    pixel_low=0.0,
    pixel_high=255.0,
    has_fixed_places=True,
    lookup_table="lookup.csv",
    example_column="ImageId",
    part_column="FeatureName",
)


def test_images_that_lack_a_place_are_left_out_and_none_is_moved(layout: Layout) -> None:
    rows = [(number, "" if number % 3 == 0 else 7 * number, "10 20 30 40") for number in range(1, 10)]
    table(layout.folder / "train.csv", "eye_x,eye_y,Image", rows)

    look = "[truth[:, 0].tolist(), *sorted({'FLIP', 'ROTATE_DEGREES', 'SHIFT', 'ZOOM'} & set(globals()))]"
    ended = layout.run("train", OF_PLACES, until="targets", look=look)

    assert ended.is_done, ended
    assert ended.seen == [[1, 2, 4, 5, 7, 8]]
    assert "3 of 9 rows lack one of the targets and are left out." in ended.said("targets")


def test_a_table_says_which_target_of_which_image_a_row_asks_for(layout: Layout) -> None:
    table(layout.folder / "test.csv", "ImageId,Image", [(n, " ".join([str(n)] * 4)) for n in (1, 2, 3)])
    asked = [(1, 3, "eye_y", ""), (2, 1, "eye_x", ""), (3, 1, "eye_y", ""), (4, 3, "eye_x", "")]
    table(layout.folder / "lookup.csv", "RowId,ImageId,FeatureName,Location", asked)
    table(layout.folder / "sample_submission.csv", "RowId,Location", [(row[0], 0) for row in asked])

    look = "[ids, examples['pixels'][:, 0, 0, 0].tolist()]"
    seen = layout.seen("infer", OF_PLACES, until="test-examples", look=look)

    assert seen == [["3", "1"], [3, 1]]
    answers = answers_of([[30, 31], [10, 11]], layout.cells("infer", OF_PLACES), lookup_rows=asked)
    assert answers == {"1": 31, "2": 10, "3": 11, "4": 30}


def answers_of(
    predictions: list[list[float]], cells: Mapping[str, str], *, lookup_rows: list[tuple[Any, ...]]
) -> dict[str, float]:
    """The answers that the notebook's cell gives for predictions for the images 3 and 1."""
    import numpy as np
    import pandas as pd

    columns = ["RowId", "ImageId", "FeatureName", "Location"]
    names: dict[str, Any] = {
        "np": np,
        "pd": pd,
        "classes": ["eye_x", "eye_y"],
        "lookup": pd.DataFrame(lookup_rows, columns=columns).astype(str).set_index("RowId"),
        "EXAMPLE_COLUMN": "ImageId",
        "PART_COLUMN": "FeatureName",
        "answer_columns": ["Location"],
    }
    exec(cells["answers-of"], names)  # noqa: S102 - the notebook's own cell
    return dict(names["answers_of"](np.array(predictions), ["3", "1"])["Location"])
