"""Images in every layout that competitions use: the right pixels with the right labels and ids, in both notebooks."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from layout_files import record, table
from notebook_session import Ended, Mirror, Notebook, Sessions, read_table, rendered_cells
from tasks import task_of

from generator.competition.facts import Task

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

SIDE = 8
COLOURS = {"blue": (20, 30, 220), "green": (10, 200, 40), "red": (230, 20, 10)}
DETAILS = {
    "labels_from": "table",
    "image_column": "",
    "train_folder": "",
    "test_folder": "",
    "image_suffix": "",
    "image_size": SIDE,
    "channels": 3,
    "flip": False,
    "batch_size": 8,
    "epochs": 2,
}


def task(*targets: str, kind: str = "class", **said: Any) -> Task:
    """The task of a competition of images: by default one class for each."""
    family = "image_regression" if kind == "number" else "image_classification"
    return task_of(family, kind, *(targets or ("label",)), **{"train_table": "", **DETAILS, **said})


@dataclass(frozen=True)
class Layout:
    """A competition's folder, and both notebooks of its pair."""

    mirror: Mirror
    sessions: Sessions
    framework: str = "tensorflow"

    @property
    def folder(self) -> Path:
        return self.mirror.input / "competitions" / "colours"

    def run(self, role: str, asked: Task, *, until: str | None = None, look: str = "None", **options: Any) -> Ended:
        """Executes a notebook up to a cell, and looks at its names."""
        notebook = Notebook(self.framework, role, task=asked, slug="colours")
        parameters = self.mirror.parameters(notebook, **options.pop("parameters", {}))
        return self.sessions.run(notebook, parameters, until=until, look=look, **options)

    def cells(self, role: str, asked: Task) -> dict[str, str]:
        """The code of a notebook's cells, by their names."""
        return rendered_cells(self.framework, role, asked, slug="colours")

    def training(self, asked: Task, **options: Any) -> list[tuple[str, str, str]]:
        """The id, the file and the label of every training image, as the notebook reads them."""
        rows = "zip(train[ID_COLUMN], paths_of(train['image file'], folder)['path'], truth)"
        seen = f"[[a, os.path.relpath(b, folder), classes[c]] for a, b, c in {rows}]"
        ended = self.run("train", asked, until="decode-images", look=seen, **options)
        assert ended.is_done, ended
        return [tuple(row) for row in ended.seen]

    def test(self, asked: Task, **options: Any) -> dict[str, str]:
        """The file of every test id, as the notebook reads them."""
        seen = "dict(zip(ids, [os.path.relpath(path, folder) for path in examples['path']]))"
        ended = self.run("infer", asked, until="check-test-images", look=seen, **options)
        assert ended.is_done, ended
        return dict(ended.seen)


@pytest.fixture
def layout(mirror: Mirror, sessions: Sessions) -> Layout:
    """An empty competition."""
    made = Layout(mirror, sessions)
    made.folder.mkdir(parents=True)
    return made


def write_images(folder: Path, names: Sequence[str]) -> None:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(encoded(colour=list(COLOURS.values())[number % 3], kind="PNG"))


def encoded(colour: tuple[int, int, int], kind: str) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (SIDE, SIDE), colour).save(stream, kind)
    return stream.getvalue()


@dataclass(frozen=True)
class Naming:
    """A way to name images in a table: the column, the suffix in `pair.toml`, a name there and the file it means."""

    column: str
    suffix: str
    name: str
    file: str


@pytest.mark.parametrize(
    "naming",
    [
        Naming("id", ".png", "{0}", "{0}.png"),
        Naming("image", "", "{0}.png", "{0}.png"),
        Naming("image", "", "a/{0}.png", "a/{0}.png"),
        Naming("image", ".png", "{0}.png", "{0}.png"),
        Naming("image", "", "{0}", "b/{0}.png"),
        Naming("image", ".jpg", "{0}", "{0}.png"),
    ],
)
def test_a_column_names_the_images(layout: Layout, naming: Naming) -> None:
    keys = [f"k{number}" for number in range(6)]
    write_images(layout.folder / "train", [naming.file.format(key) for key in keys])
    write_images(layout.folder / "test", [naming.file.format(key) for key in ("t1", "t2")])
    header = "id,label" if naming.column == "id" else "id,label,image"
    named = [(key, "even" if number % 2 else "odd", naming.name.format(key)) for number, key in enumerate(keys)]
    table(layout.folder / "train.csv", header, [row[: header.count(",") + 1] for row in named])
    table(layout.folder / "test.csv", "id,image", [(key, naming.name.format(key)) for key in ("t1", "t2")])
    table(layout.folder / "sample_submission.csv", "id,label", [("t2", "odd"), ("t1", "odd")])
    asked = task(
        train_table="train.csv",
        test_table="test.csv",
        train_folder="train",
        test_folder="test",
        image_column=naming.column,
        image_suffix=naming.suffix,
    )

    assert layout.training(asked) == [(key, naming.file.format(key), label) for key, label, _ in named]
    assert layout.test(asked) == {key: naming.file.format(key) for key in ("t2", "t1")}


def test_a_missing_image_is_not_taken_for_one_of_the_same_name_elsewhere(layout: Layout) -> None:
    write_images(layout.folder / "train", ["1.png", "2.png", "3.jpg", "masks/4.png"])
    table(layout.folder / "train.csv", "id,label", [(1, "a"), (2, "a"), (3, "b"), (4, "b")])
    asked = task(train_table="train.csv", train_folder="train", image_column="id", image_suffix=".png")

    ended = layout.run("train", asked)

    assert f"1 of the image files of {layout.folder}/train cannot be read: 4.png is missing." in ended.error


def test_labels_in_another_table_are_joined_by_id(layout: Layout) -> None:
    write_images(layout.folder / "images", ["1.png", "2.png", "3.png"])
    table(layout.folder / "train.csv", "id,image", [(7, "1.png"), (8, "2.png"), (9, "3.png")])
    table(layout.folder / "labels.csv", "label,id", [("b", 9), ("a", 7), ("b", 8)])
    asked = task(train_table="train.csv", labels_table="labels.csv", train_folder="images", image_column="image")

    assert layout.training(asked) == [("7", "1.png", "a"), ("8", "2.png", "b"), ("9", "3.png", "b")]


def test_folders_are_classes_and_hidden_files_are_none(layout: Layout) -> None:
    write_images(layout.folder / "train/train", ["cat/1.png", "cat/2.png", "dog/1.png", "dog/more/2.png"])
    (layout.folder / "train/train/.ipynb_checkpoints").mkdir()
    for name in ("cat/.DS_Store", "cat/Thumbs.db", "dog/._1.png", ".ipynb_checkpoints/1.png"):
        (layout.folder / "train/train" / name).write_text("no image")
    asked = task(labels_from="folders", train_folder="train")

    assert [row[1:] for row in layout.training(asked)] == [
        ("train/cat/1.png", "cat"),
        ("train/cat/2.png", "cat"),
        ("train/dog/1.png", "dog"),
        ("train/dog/more/2.png", "dog"),
    ]


@pytest.mark.parametrize(("suffix", "ids"), [("", ["b.png", "a.png"]), ("", ["b", "a"]), (".png", ["b", "a.png"])])
def test_test_ids_lead_to_their_files_with_or_without_a_suffix(layout: Layout, suffix: str, ids: list[str]) -> None:
    write_images(layout.folder / "test", ["a.png", "b.png"])
    table(layout.folder / "sample_submission.csv", "id,label", [(name, "cat") for name in ids])
    asked = task(labels_from="folders", train_folder="train", test_folder="test", image_suffix=suffix)

    assert list(layout.test(asked).items()) == list(zip(ids, ["b.png", "a.png"], strict=True))


def test_without_a_sample_the_test_files_are_the_ids(layout: Layout) -> None:
    write_images(layout.folder / "test", ["a.png", "b.png"])
    asked = task(
        labels_from="folders", train_folder="train", test_folder="test", image_suffix=".png", sample_submission=""
    )

    assert layout.test(asked) == {"a": "a.png", "b": "b.png"}


def test_a_class_stands_before_the_number_in_a_name(layout: Layout) -> None:
    write_images(layout.folder / "train", ["cat.12.png", "horse-1.png", "red_fox_3.png", "cat (4).png", "dog2.png"])
    asked = task(labels_from="names", train_folder="train")

    assert {file: label for _, file, label in layout.training(asked)} == {
        "cat.12.png": "cat",
        "cat (4).png": "cat",
        "horse-1.png": "horse",
        "red_fox_3.png": "red_fox",
        "dog2.png": "dog",
    }


def test_names_without_a_class_are_one_sentence(layout: Layout) -> None:
    write_images(layout.folder / "train", ["cat.1.png", "0002.png", "0003.png"])

    ended = layout.run("train", task(labels_from="names", train_folder="train"))

    assert (ended.cell, ended.error) == (
        "training-examples",
        (
            f"ValueError: 2 of 3 image files of {layout.folder}/train have no class in their names, the first is "
            "'0002.png'. If the labels are somewhere else, generate the pair again with another labels_from in its "
            "pair.toml."
        ),
    )


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
    ended = layout.run("train", OF_PIXELS, until="decode-images", look=look)

    assert ended.is_done, ended
    assert ended.seen == [list("012345"), [0, 1, 0, 1, 0, 1], [scan(number) for number in range(6)]]


def test_a_row_of_test_pixels_is_the_id_that_counts_it(layout: Layout) -> None:
    write_pixels(layout.folder)

    look = "dict(zip(ids, examples['pixels'].reshape(3, 16).tolist()))"
    ended = layout.run("infer", OF_PIXELS, until="test-examples", look=look)

    assert ended.is_done, ended
    assert ended.seen == {"1": scan(10), "2": scan(11), "3": scan(12)}


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

    ended = layout.run("train", asked, until="decode-images", look="decoded(np.arange(4))[:, 3, 2].tolist()")

    assert ended.is_done, ended
    assert ended.seen == [list(COLOURS[name]) for name in ("red", "blue", "red", "blue")]


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

    ended = layout.run("train", asked, until="training-examples", look="images[3].reshape(4, 3).tolist()")

    assert ended.is_done, ended
    # What is beyond the scale is cut off, and the third channel is the mean of two.
    assert ended.seen == [[0, 128, 64], [0, 0, 0], [128, 128, 128], [255, 255, 255]]


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

    assert ended.is_done, ended
    assert ended.seen == [[200, 120 * 255 >> 7, 40], {"1": "b_blue.png is missing"}]


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
    ended = layout.run("infer", asked, until="check-test-images", look=look)

    assert ended.is_done, ended
    assert ended.seen == [["a", "b", "a"], ["a1.png", "b1.png", "a2.png"]]
    assert averages(ended.seen[0], layout.cells("infer", asked)) == {"a": [0.5, 0.5], "b": [1.0, 0.0]}


def averages(ids: list[str], cells: Mapping[str, str]) -> dict[str, list[float]]:
    """The answers that the notebook's cell gives for predictions for three images."""
    import numpy as np
    import pandas as pd

    predictions = np.array([[0.75, 0.25], [1.0, 0.0], [0.25, 0.75]])
    names: dict[str, Any] = {"pd": pd, "ids": ids, "predictions": predictions, "ID_COLUMN": "patient"}
    exec(cells["average-per-id"], names)  # noqa: S102 - the notebook's own cell
    return dict(zip(names["ids"], names["predictions"].tolist(), strict=True))


CHANNELS_SEEN = """[
    load_image(paths_of(train["image file"], folder)["path"][0], 8, 3).numpy()[0, 0].tolist(),
    {str(row): problem for row, problem in find_bad_images(paths_of(train["image file"], folder)).items()},
]"""
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
    ended = layout.run("infer", OF_PLACES, until="test-examples", look=look)

    assert ended.is_done, ended
    assert ended.seen == [["3", "1"], [3, 1]]
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


def write_records(path: Path, examples: Sequence[Mapping[str, bytes | int]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(record, examples)))


def flower(key: str, colour: str, **features: int) -> dict[str, bytes | int]:
    return {"id": key.encode(), "image": encoded(COLOURS[colour], "PNG"), **features}


OF_RECORDS = task(labels_from="records", train_folder="flowers", test_folder="flowers/test", id_column="id")


def write_flowers(folder: Path) -> None:
    number = {"blue": 3, "green": 20, "red": 100}
    names = list(number)
    for part, files in (("train", (0, 1)), ("val", (2,))):
        for file in files:
            flowers = [(f"{part}{file}{row}", names[(file + row) % 3]) for row in range(4)]
            written = [flower(key, name, **{"class": number[name]}) for key, name in flowers]
            write_records(folder / f"flowers/{part}/{file:02d}-8x8-4.tfrec", written)
    write_records(folder / "flowers/test/00-8x8-3.tfrec", [flower(f"t{name}", name) for name in names])
    table(folder / "sample_submission.csv", "id,label", [("tred", 0), ("tblue", 0), ("tgreen", 0)])


def test_records_of_several_folders_give_ids_classes_and_images(layout: Layout) -> None:
    write_flowers(layout.folder)

    look = "[classes, train[ID_COLUMN].tolist(), truth.tolist(), decoded(np.arange(12))[:, 0, 0].tolist()]"
    ended = layout.run("train", OF_RECORDS, until="decode-images", look=look)

    assert ended.is_done, ended
    classes, keys, truth, colours = ended.seen
    assert classes == ["3", "20", "100"]
    assert keys == [f"{file}{row}" for file in ("train0", "train1", "val2") for row in range(4)]
    assert colours == [list(list(COLOURS.values())[number]) for number in truth]


def test_test_records_are_found_by_the_ids_of_the_sample(layout: Layout) -> None:
    write_flowers(layout.folder)

    look = "[ids, [load_image(content, 8, 3)[0, 0].numpy().tolist() for content in examples['content']]]"
    ended = layout.run("infer", OF_RECORDS, until="load-image", look=look)

    assert ended.is_done, ended
    ids, colours = ended.seen
    assert sorted(ids) == ["tblue", "tgreen", "tred"]
    assert colours == [list(COLOURS[key[1:]]) for key in ids]


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def of_other_features(path: Path) -> None:
    write_records(path, [{"image_name": b"a", "picture": encoded(COLOURS["red"], "PNG"), "target": 1}])


def with_a_broken_image(path: Path) -> None:
    write_records(path, [{"id": b"a", "image": encoded(COLOURS["red"], "PNG")[:-20], "class": 3}])


@pytest.mark.parametrize(
    ("damage", "files", "cell", "sentence"),
    [
        (cut_off, "train/00-*", "training-examples", "DataLossError: "),
        (
            of_other_features,
            "**/*.tfrec",
            "training-examples",
            "ValueError: {folder} has no records with id, class, image",
        ),
        (with_a_broken_image, "train/00-*", "decode-images", "InvalidArgumentError: "),
    ],
)
def test_bad_records_end_the_notebook_before_anything_is_trained(
    layout: Layout, damage: Callable[[Path], None], files: str, cell: str, sentence: str
) -> None:
    write_flowers(layout.folder)
    for path in (layout.folder / "flowers").glob(files):
        damage(path)

    ended = layout.run("train", OF_RECORDS)

    assert ended.cell == cell
    assert ended.error.startswith(sentence.format(folder=layout.folder / "flowers"))


RAMP = [[(row * SIDE + column) * 4 for column in range(SIDE)] for row in range(SIDE)]


def ramp(mode: str, factor: float = 1) -> Any:
    """An image that brightens evenly from 0 to 252 times a factor."""
    import numpy as np
    from PIL import Image

    kinds = {"L": "uint8", "I;16": "uint16", "F": "float32"}
    if mode in kinds:
        return Image.fromarray((np.array(RAMP) * factor).astype(kinds[mode]))
    return ramp("L").convert(mode)


FORMATS: dict[str, tuple[str, float]] = {
    "grey.png": ("L", 1),
    "colour.png": ("RGB", 1),
    "alpha.png": ("RGBA", 1),
    "palette.png": ("P", 1),
    "16-bit.png": ("I;16", 257),
    "12-bit.png": ("I;16", 16),
    "colour.bmp": ("RGB", 1),
    "grey.gif": ("L", 1),
    "colour.webp": ("RGB", 1),
    "grey.tif": ("L", 1),
    "alpha.tiff": ("RGBA", 1),
    "16-bit.TIF": ("I;16", 257),
    "12-bit.tif": ("I;16", 16),
    "float.tif": ("F", 1 / 252),
}


@pytest.mark.parametrize("channels", [1, 3])
def test_every_format_becomes_the_same_pixels(layout: Layout, channels: int) -> None:
    (layout.folder / "train").mkdir()
    for name, (mode, factor) in FORMATS.items():
        options = {"lossless": True} if name.endswith("webp") else {}
        ramp(mode, factor).save(layout.folder / "train" / name, **options)
    table(layout.folder / "train.csv", "id,label", [(name, row % 2) for row, name in enumerate(FORMATS)])
    asked = task(train_table="train.csv", train_folder="train", image_column="id", channels=channels)

    look = f"np.abs(decoded(np.arange({len(FORMATS)})) - np.array({RAMP})[..., None])"
    ended = layout.run(
        "train", asked, until="decode-images", look=f"[{look}.shape[1:], {look}.max(axis=(1, 2, 3)).tolist()]"
    )

    assert ended.is_done, ended
    shape, furthest = ended.seen
    assert shape == [SIDE, SIDE, channels]
    assert {name: far for name, far in zip(FORMATS, furthest, strict=True) if far > 3} == {}


def test_a_broken_image_of_a_rare_format_is_named(layout: Layout) -> None:
    (layout.folder / "train").mkdir()
    for number in range(6):
        ramp("I;16", 16).save(layout.folder / "train" / f"{number}.tif")
    broken = layout.folder / "train" / "4.tif"
    broken.write_bytes(broken.read_bytes()[:60])
    table(layout.folder / "train.csv", "id,label", [(f"{number}.tif", number % 2) for number in range(6)])

    ended = layout.run("train", task(train_table="train.csv", train_folder="train", image_column="id"))

    assert ended.error.startswith(f"ValueError: 1 of the image files of {layout.folder}/train cannot be read: 4.tif is")


def write_archives(folder: Path, *names: str) -> None:
    with zipfile.ZipFile(folder / "train.zip", "w") as archive:
        for number, name in enumerate(names):
            archive.writestr(name, encoded(list(COLOURS.values())[number % 3], "PNG"))


@pytest.mark.parametrize("train_folder", ["train.zip", "train.zip/train"])
def test_a_packed_folder_is_unpacked_once(layout: Layout, tmp_path: Path, train_folder: str) -> None:
    write_archives(layout.folder, "train/cat/1.png", "train/cat/2.png", "train/dog/1.png", "train/dog/2.png")
    (tmp_path / "scratch").mkdir()
    before = f"import tempfile; tempfile.tempdir = {str(tmp_path / 'scratch')!r}"
    asked = task(labels_from="folders", train_folder=train_folder)
    expected = ["cat", "cat", "dog", "dog"]

    assert [row[2] for row in layout.training(asked, before=before)] == expected
    (unpacked,) = filter(Path.is_dir, (tmp_path / "scratch").iterdir())  # TensorFlow leaves files there
    inode = unpacked.stat().st_ino
    assert [row[2] for row in layout.training(asked, before=before)] == expected
    assert [path.stat().st_ino for path in (tmp_path / "scratch").iterdir() if path.is_dir()] == [inode]


def test_an_archive_that_kaggle_unpacked_is_not_needed(layout: Layout) -> None:
    write_images(layout.folder / "train", ["a.png", "b.png", "c.png"])
    table(layout.folder / "train.csv", "id,label", [("a", 0), ("b", 1), ("c", 1)])
    asked = task(train_table="train.csv", train_folder="train.zip/train", image_column="id", image_suffix=".png")

    assert [row[1] for row in layout.training(asked)] == ["a.png", "b.png", "c.png"]


def test_class_folders_that_kaggle_unpacked_lead_to_the_competition(layout: Layout) -> None:
    write_images(layout.folder / "train", ["train/cat/1.png", "train/cat/2.png", "train/dog/1.png"])

    seen = layout.training(task(labels_from="folders", train_folder="train.zip/train"))

    assert [label for _, _, label in seen] == ["cat", "cat", "dog"]


def test_an_archive_that_writes_elsewhere_or_fills_the_disk_is_refused(layout: Layout, tmp_path: Path) -> None:
    asked = task(labels_from="folders", train_folder="train.zip")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    here = f"import tempfile; tempfile.tempdir = {str(scratch)!r}"
    tiny_disk = "import shutil; shutil.disk_usage = lambda path: type('Disk', (), {'free': 100})"

    write_archives(layout.folder, "cat/1.png", "../../evil.png")
    assert layout.run("train", asked, before=here).error == (
        f"ValueError: {layout.folder}/train.zip would write outside of its folder: '../../evil.png'. Fetch it again."
    )
    write_archives(layout.folder, "cat/1.png", "dog/1.png")
    assert layout.run("train", asked, before=f"{here}\n{tiny_disk}").error == (
        f"ValueError: {layout.folder}/train.zip would unpack to 0.0 GB, more than half of the 0.0 GB that are free. "
        "Unpack what is needed of it elsewhere."
    )
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("is_list", [True, False])
def test_an_image_can_have_several_labels(layout: Layout, is_list: bool) -> None:
    names = [f"{number}.png" for number in range(8)]
    sets = [(number & 1, number >> 1 & 1, number >> 2 & 1) for number in range(8)]
    write_images(layout.folder / "train", names)
    listed = [" ".join(name for name, one in zip("abc", row, strict=True) if one) for row in sets]
    rows = (
        list(zip(names, listed, strict=True))
        if is_list
        else [(name, *row) for name, row in zip(names, sets, strict=True)]
    )
    table(layout.folder / "train.csv", "id,labels" if is_list else "id,a,b,c", rows)
    asked = task(
        *(("labels",) if is_list else ("a", "b", "c")),
        kind="labels",
        train_table="train.csv",
        train_folder="train",
        image_column="id",
        label_separator=" " if is_list else "",
    )

    batches = "training_batches(examples, targets, 8, 1, 0)"
    look = f"[classes, truth.astype(int).tolist(), next(iter({batches}))[1].numpy().astype(int).tolist()]"
    ended = layout.run("train", asked, until="training-batches", look=look)

    assert ended.is_done, ended
    classes, truth, batch = ended.seen
    assert (classes, truth) == (["a", "b", "c"], [list(row) for row in sets])
    assert sorted(batch) == sorted(truth)


def write_brightness(folder: Path) -> None:
    """Grey 16-bit images as tiff, and how bright they are."""
    from PIL import Image

    values = [(number * 37) % 200 + 20 for number in range(60)]
    for part, chosen in (("train", values[:48]), ("test", values[48:])):
        (folder / part).mkdir()
        for number, value in enumerate(chosen):
            image = Image.new("I;16", (SIDE, SIDE), value * 256)
            image.putpixel((0, 0), 65_535)
            image.save(folder / part / f"{number}.tif")
    table(folder / "train.csv", "name,brightness,area", [(n, v / 10, v) for n, v in enumerate(values[:48])])
    table(folder / "sample_submission.csv", "name,brightness,area", [(n, 0.5, 0.5) for n in range(12)])


OF_BRIGHTNESS = task(
    "brightness",
    "area",
    kind="number",
    id_column="name",
    train_table="train.csv",
    train_folder="train",
    test_folder="test",
    image_column="name",
    image_suffix=".tif",
    channels=1,
)
PAIRS: list[tuple[str, Callable[[Path], None], Task]] = [
    ("keras", write_flowers, OF_RECORDS),
    ("tensorflow", write_pixels, OF_PIXELS),
    ("keras", write_brightness, OF_BRIGHTNESS),
    ("tensorflow", write_brightness, OF_BRIGHTNESS),
]


@pytest.mark.parametrize(("framework", "write", "asked"), PAIRS)
def test_a_pair_goes_from_images_to_a_submission(
    mirror: Mirror, sessions: Sessions, framework: str, write: Callable[[Path], None], asked: Task
) -> None:
    layout = Layout(mirror, sessions, framework)
    layout.folder.mkdir(parents=True)
    write(layout.folder)

    trained = layout.run("train", asked, parameters={"SMOKE_TEST": True})
    assert trained.is_done, trained
    mount = mirror.input / "notebooks" / "ada" / f"colours-{framework}-train"
    mount.parent.mkdir(parents=True)
    mirror.working.rename(mount)
    inferred = layout.run("infer", asked, parameters={"SMOKE_TEST": True})

    assert inferred.is_done, inferred
    sample = read_table(layout.folder / "sample_submission.csv")
    submission = read_table(mirror.working / "submission.csv")
    assert submission[0] == sample[0]
    assert [row[0] for row in submission] == [row[0] for row in sample]
    assert submission != sample
