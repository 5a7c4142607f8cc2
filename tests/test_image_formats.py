"""Images in records, archives and rare formats, and pairs from images to a submission."""

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from image_layouts import COLOURS, SIDE, Layout, encoded, task, write_images
from layout_files import record, table
from notebook_session import Mirror, Sessions, needs_torch, read_table
from test_image_pixels import OF_PIXELS, write_pixels

from generator.competition.facts import Task

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session", "image_layouts")


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
    classes, keys, truth, colours = layout.seen("train", OF_RECORDS, until="decode-images", look=look)

    assert classes == ["3", "20", "100"]
    assert keys == [f"{file}{row}" for file in ("train0", "train1", "val2") for row in range(4)]
    assert colours == [list(list(COLOURS.values())[number]) for number in truth]


def test_test_records_are_found_by_the_ids_of_the_sample(layout: Layout) -> None:
    write_flowers(layout.folder)

    look = "[ids, [load_image(content, 8, 3)[0, 0].numpy().tolist() for content in examples['content']]]"
    ids, colours = layout.seen("infer", OF_RECORDS, until="load-image", look=look)

    assert sorted(ids) == ["tblue", "tgreen", "tred"]
    assert colours == [list(COLOURS[key[1:]]) for key in ids]


def test_records_of_another_size_are_three_parameters(layout: Layout) -> None:
    write_flowers(layout.folder)
    (layout.folder / "flowers").rename(layout.folder / "large")
    write_flowers(layout.folder)

    look = "[{file.relative_to(competition_folder).parts[0] for file in files} == {'large'}, decoded([0, 1]).shape]"
    parameters = {"TRAIN_FOLDER": "large", "IMAGE_SIZE": 16}
    trained_on = layout.seen("train", OF_RECORDS, until="decode-images", look=look, parameters=parameters)
    look = "[folder.relative_to(competition_folder).as_posix(), sorted(ids)]"
    asked = layout.seen("infer", OF_RECORDS, until="load-image", look=look, parameters={"TEST_FOLDER": "large/test"})

    assert trained_on == [True, [2, 16, 16, 3]]
    assert asked == ["large/test", ["tblue", "tgreen", "tred"]]


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def of_other_features(path: Path) -> None:
    write_records(path, [{"image_name": b"a", "picture": encoded(COLOURS["red"], "PNG"), "target": 1}])


def with_a_broken_image(path: Path) -> None:
    write_records(path, [{"id": b"a", "image": encoded(COLOURS["red"], "PNG")[:-30], "class": 3}])


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
        (
            with_a_broken_image,
            "train/00-*",
            "training-examples",
            "ValueError: 1 of 9 images cannot be decoded: a in 00-8x8-4.tfrec. With SKIP_UNREADABLE = True",
        ),
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


@pytest.mark.parametrize("framework", ["tensorflow", pytest.param("torch", marks=needs_torch)])
def test_odd_images_of_records_are_decoded_and_unreadable_ones_are_left_out_by_the_knob(
    layout: Layout, framework: str
) -> None:
    import numpy as np
    from PIL import Image

    grey = Image.fromarray(np.array(RAMP, dtype="uint8"))
    images = {f"{kind} {mode}": written(grey.convert(mode), kind, **options) for mode, kind, options in RARE[:6]}
    images |= {"broken": broken_inside(images["PNG P"]), "html": b"<html>404 Not Found</html>", "empty": b""}
    rows = [{"id": key.encode(), "image": image, "class": row % 2} for row, (key, image) in enumerate(images.items())]
    write_records(layout.folder / "flowers/train/00.tfrec", rows)
    unlabelled = [{name: row[name] for name in ("id", "image")} for row in rows]
    write_records(layout.folder / "flowers/test/00.tfrec", unlabelled)
    table(layout.folder / "sample_submission.csv", "id,label", [(key, 0) for key in images])
    details = {**OF_RECORDS.details, "channels": 1, "image_encoding": "any"}
    asked, layout = replace(OF_RECORDS, details=details), replace(layout, framework=framework)
    options = {"parameters": {"SKIP_UNREADABLE": True}}

    off = "np.abs(np.asarray(decoded(np.arange(len(train))))[..., 0] - np.array({RAMP})).mean(axis=(1, 2)).tolist()"
    look = f"[train[ID_COLUMN].tolist(), {off.replace('{RAMP}', str(RAMP))}]"
    keys, furthest = layout.seen("train", asked, until="decode-images", look=look, **options)
    look = "[ids, readable.tolist()]"
    ids, readable = layout.seen("infer", asked, until="test-examples", look=look, **options)

    assert keys == list(images)[:6]
    assert {key: far for key, far in zip(keys, furthest, strict=True) if far > 6} == {}
    assert dict(zip(ids, readable, strict=True)) == {key: row < 6 for row, key in enumerate(images)}


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
    shape, furthest = layout.seen(
        "train", asked, until="decode-images", look=f"[{look}.shape[1:], {look}.max(axis=(1, 2, 3)).tolist()]"
    )

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

    named = "4.tif is damaged or not an image. "
    assert f"1 of the image files of {layout.folder}/train cannot be read: {named}" in ended.error


RARE: Sequence[tuple[str, str, dict[str, Any]]] = [
    ("L", "JPEG", {"quality": 95}),
    ("CMYK", "JPEG", {"quality": 95}),
    ("RGB", "JPEG", {"quality": 95}),
    ("RGB", "WEBP", {"lossless": True}),
    ("P", "PNG", {}),
    ("LA", "PNG", {}),
    ("RGBA", "PNG", {}),
    ("I;16", "PNG", {}),
    ("L", "GIF", {"save_all": True}),
    ("P", "BMP", {}),
    ("RGB", "TIFF", {}),
]


def written(image: Any, kind: str, **options: Any) -> bytes:
    """The content of an image's file."""
    content = io.BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def broken_inside(content: bytes) -> bytes:
    """A file with some bytes of its middle overwritten: its head and its end are right."""
    return content[: len(content) // 2] + bytes(8) + content[len(content) // 2 + 8 :]


def broken_jpeg(image: Any) -> bytes:
    """A JPEG with a second beginning in the middle of its pixels, which no decoder passes."""
    content = written(image, "JPEG", quality=95)
    scan = content.index(b"\xff\xda") + 20
    return content[:scan] + b"\xff\xd8\xff\xd8" + content[scan + 4 :]


@pytest.mark.parametrize("framework", ["tensorflow", "jax", pytest.param("torch", marks=needs_torch)])
def test_one_image_unlike_the_others_is_decoded(layout: Layout, framework: str) -> None:
    import numpy as np
    from PIL import Image

    (layout.folder / "train").mkdir()
    grey = Image.fromarray(np.array(RAMP, dtype="uint8"))
    for number, (mode, kind, options) in enumerate(RARE):
        image = ramp(mode, 257) if mode == "I;16" else grey.convert(mode)
        image.save(layout.folder / "train" / f"{number}.jpg", kind, **options)
    names = [(f"{number}.jpg", number % 2) for number in range(len(RARE))]
    table(layout.folder / "train.csv", "id,label", names)
    details = {"train_table": "train.csv", "train_folder": "train", "image_column": "id", "channels": 1}

    look = f"np.abs(np.asarray(decoded(np.arange({len(RARE)})))[..., 0] - np.array({RAMP})).mean(axis=(1, 2)).tolist()"
    for encoding in ("jpeg", "png", "any"):
        asked = task(**details, image_encoding=encoding)
        off = replace(layout, framework=framework).seen("train", asked, until="decode-images", look=look)
        assert {RARE[row][:2]: far for row, far in enumerate(off) if far > 6} == {}


DAMAGED: Mapping[str, Callable[[Any], bytes]] = {
    "cut off": lambda image: written(image, "JPEG")[:-60],
    "JPEG broken inside": broken_jpeg,
    "PNG broken inside": lambda image: broken_inside(written(image, "PNG")),
}


@pytest.mark.parametrize("framework", ["tensorflow", pytest.param("torch", marks=needs_torch)])
@pytest.mark.parametrize("damage", DAMAGED)
def test_an_unreadable_training_image_stops_or_is_left_out_by_the_knob(
    layout: Layout, damage: str, framework: str
) -> None:
    layout = replace(layout, framework=framework)
    (layout.folder / "train").mkdir()
    for number in range(8):
        ramp("L").save(layout.folder / "train" / f"{number}.jpg")
    (layout.folder / "train" / "4.jpg").write_bytes(DAMAGED[damage](ramp("L")))
    table(layout.folder / "train.csv", "id,label", [(f"{number}.jpg", number % 2) for number in range(8)])
    asked = task(train_table="train.csv", train_folder="train", image_column="id", image_encoding="jpeg")

    stopped = layout.run("train", asked)
    look = "[train[ID_COLUMN].tolist(), len(truth), len(targets), len(examples['image'])]"
    went_on = layout.run("train", asked, until="decode-images", look=look, parameters={"SKIP_UNREADABLE": True})

    assert stopped.cell == "decode-images"
    assert "4.jpg is damaged or not an image. With SKIP_UNREADABLE = True training leaves" in stopped.error
    assert went_on.seen == [[f"{number}.jpg" for number in range(8) if number != 4], 7, 7, 7]
    assert "1 of the image files" in went_on.said("decode-images")


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
    unpacked = {path.stat().st_ino for path in (tmp_path / "scratch").glob("*/") if path.name != "__pycache__"}
    assert len(unpacked) == 1
    assert [row[2] for row in layout.training(asked, before=before)] == expected
    again = {path.stat().st_ino for path in (tmp_path / "scratch").glob("*/") if path.name != "__pycache__"}
    assert again == unpacked


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


def write_flowers_and_no_image(folder: Path) -> None:
    write_flowers(folder)
    write_records(folder / "flowers/test/01-8x8-1.tfrec", [{"id": b"tnone", "image": b"<html>404 Not Found</html>"}])
    table(folder / "sample_submission.csv", "id,label", [(f"t{name}", 0) for name in ("none", *COLOURS)])


PAIRS: list[tuple[str, Callable[[Path], None], Task]] = [
    ("keras", write_flowers_and_no_image, OF_RECORDS),
    ("tensorflow", write_pixels, OF_PIXELS),
    ("keras", write_brightness, OF_BRIGHTNESS),
]


@pytest.mark.parametrize(("framework", "write", "asked"), PAIRS)
def test_a_pair_goes_from_images_to_a_submission(
    mirror: Mirror, sessions: Sessions, framework: str, write: Callable[[Path], None], asked: Task
) -> None:
    layout = Layout(mirror, sessions, framework)
    layout.folder.mkdir(parents=True)
    write(layout.folder)

    trained = layout.run("train", asked, parameters={"DEBUG": True})
    assert trained.is_done, trained
    mount = mirror.input / "notebooks" / "ada" / f"colours-{framework}-train"
    mount.parent.mkdir(parents=True)
    mirror.working.rename(mount)
    inferred = layout.run("infer", asked, parameters={"DEBUG": True, "SKIP_UNREADABLE": True})

    assert inferred.is_done, inferred
    sample = read_table(layout.folder / "sample_submission.csv")
    submission = read_table(mirror.working / "submission.csv")
    assert submission[0] == sample[0]
    assert [row[0] for row in submission] == [row[0] for row in sample]
    assert submission != sample
