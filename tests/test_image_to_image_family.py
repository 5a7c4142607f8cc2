"""Images that are to become others: tiles that make whole images again, and pixels that go to their ids."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layout_files import table
from notebook_cells import known_after
from notebook_session import Mirror, Sessions, needs_torch, rendered_cells
from PIL import Image
from tasks import task_of

from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints, IntrospectionError
from generator.competition.survey import survey_folder

pytest_plugins = ("notebook_session",)

SCANS = task_of(
    *("image_to_image", "image", "value"),
    train_table="",
    train_folder="train",
    target_folder="clean",
    test_folder="test",
    white=1.0,
    image_size=24,
    channels=1,
    flip=True,
    batch_size=8,
    epochs=2,
)
SIZES = ((24, 40), (31, 57), (20, 30))


def write_scans(folder: Path, *, first: int = 1) -> dict[str, float]:
    """Writes dark scans of bright squares, of different sizes; returns the pixels of the test's clean images."""
    source = np.random.default_rng(5)
    right: dict[str, float] = {}
    for name in ("train", "clean", "test"):
        (folder / name).mkdir(parents=True)
    for number in range(1, 25):
        height, width = SIZES[number % len(SIZES)]
        clean = np.full((height, width), 255, dtype="uint8")
        for top, left in source.integers(0, (height - 6, width - 6), size=(6, 2)):
            clean[top : top + 6, left : left + 6] = 0
        dirty = np.clip(clean * 0.5 + source.normal(60, 10, clean.shape), 0, 255).astype("uint8")
        is_test = number > 18
        Image.fromarray(dirty).save(folder / ("test" if is_test else "train") / f"scan_{number}.png")
        if is_test:
            pixels = np.ndenumerate(clean / 255)
            right |= {f"scan_{number}_{row + first}_{column + first}": value for (row, column), value in pixels}
        else:
            Image.fromarray(clean).save(folder / "clean" / f"scan_{number}.png")
    table(folder / "sample_submission.csv", "id,value", [[name, 1] for name in right])
    return right


def known(mirror: Mirror, role: str, *, until: str) -> dict[str, Any]:
    """The names of a notebook once a cell is done."""
    return vars(known_after(until, SCANS, role, mirror.competition))


@pytest.mark.parametrize(("height", "width"), [(24, 24), (25, 100), (10, 50), (7, 7), (200, 31)])
def test_tiles_cover_every_pixel_and_are_put_together_again(mirror: Mirror, height: int, width: int) -> None:
    write_scans(mirror.competition)
    names = known(mirror, "train", until="tiles-of")
    image = np.random.default_rng(0).integers(0, 256, (height, width, 1), dtype="uint8")

    tiles = names["tiles_of"](image, 24)
    cells = rendered_cells("keras", "infer", SCANS)
    exec(compile(cells["whole-images"], "<cell>", "exec"), names)  # noqa: S102 - the cells are what is tested

    (again,) = names["whole_images"](tiles[..., 0], [(height, width)])
    assert (again == image[..., 0]).all()


def test_an_image_without_the_one_it_is_to_become_stops_the_notebook(mirror: Mirror) -> None:
    write_scans(mirror.competition)
    (mirror.competition / "clean" / "scan_7.png").unlink()

    with pytest.raises(ValueError, match=r"has no image for 1 of the 18 of .*, the first is scan_7\.png"):
        known(mirror, "train", until="training-images")


def test_an_unreadable_training_image_stops_or_is_left_out_by_the_knob(mirror: Mirror) -> None:
    write_scans(mirror.competition)
    for name in ("train/scan_3.png", "clean/scan_5.png"):
        (mirror.competition / name).write_bytes((mirror.competition / name).read_bytes()[:50])

    with pytest.raises(
        ValueError, match=r"2 of 18 images in .*: scan_3\.png, scan_5\.png\. With SKIP_UNREADABLE = True"
    ):
        known(mirror, "train", until="read-tiles")
    names = vars(known_after("read-tiles", SCANS, "train", mirror.competition, SKIP_UNREADABLE=True))

    whole = {f"scan_{number}.png" for number in range(1, 19)} - {"scan_3.png", "scan_5.png"}
    assert set(names["train"]["file"]) == whole
    assert len(names["train"]) == len(names["tiles"]) == len(names["target_tiles"])


def test_ids_that_name_no_pixel_stop_the_notebook(mirror: Mirror) -> None:
    write_scans(mirror.competition)
    sample = mirror.competition / "sample_submission.csv"
    sample.write_text(re.sub("scan_19_1_1,", "scan-19,", sample.read_text()))

    with pytest.raises(ValueError, match=r"ids that name no pixel .* the first is 'scan-19'"):
        known(mirror, "infer", until="test-images")


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        (
            [f"scan_{n}_1_1_{channel}" for n in range(19, 25) for channel in range(3)],
            "one channel of a color pixel",
        ),
        ([f"scan_{n}.png" for n in range(19, 25)], "a row is not a pixel"),
    ],
)
def test_a_submission_of_colours_or_of_files_is_refused_before_anything_is_rendered(
    mirror: Mirror, ids: list[str], problem: str
) -> None:
    write_scans(mirror.competition)
    (mirror.competition / "clean").rename(mirror.competition / "train_cleaned")
    table(mirror.competition / "sample_submission.csv", "id,value", [[name, 1] for name in ids])

    with pytest.raises(IntrospectionError, match=rf"has ids like \"{ids[0]}\": .*{problem}.*--family"):
        read_task(survey_folder(mirror.competition), Hints("scans", metric_text="RMSE"))


def test_large_images_are_cut_into_tiles_of_which_batches_are(tmp_path: Path) -> None:
    for folder in ("train", "train_cleaned", "test"):
        (tmp_path / folder).mkdir()
        for number in range(12):
            Image.new("L", (540, 420)).save(tmp_path / folder / f"{folder == 'test':d}{number}.png")
    (tmp_path / "sampleSubmission.csv").write_text("id,value\n" + "".join(f"1{n}_1_1,1\n" for n in range(12)))

    reading = read_task(survey_folder(tmp_path), Hints("scans", metric_text="RMSE"))

    assert {key: reading.findings[key].value for key in ("image_size", "batch_size")} == {
        "image_size": 64,
        "batch_size": 8,
    }
    assert reading.findings["batch_size"].evidence == "with 8 replicas, 12 examples of 80 tiles are 12 steps per epoch"


def test_a_view_is_put_back_by_the_same_flip(mirror: Mirror) -> None:
    write_scans(mirror.competition)
    names: dict[str, Any] = {}
    exec(rendered_cells("keras", "infer", SCANS)["predict-fold"], names)  # noqa: S102 - the cells are what is tested
    images = np.random.default_rng(0).random((2, 3, 4, 1))

    views = [names["flipped"](images, view) for view in range(4)]

    assert all((names["flipped"](seen, view) == images).all() for view, seen in enumerate(views))
    assert views[1][0, 0, 0] == images[0, 0, -1]
    assert views[2][0, 0, 0] == images[0, -1, 0]
    assert views[3][0, 0, 0] == images[0, -1, -1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "first"), [("keras", 1), ("tensorflow", 0), ("jax", 0), pytest.param("torch", 0, marks=needs_torch)]
)
def test_every_pixel_gets_what_the_model_makes_of_it(
    sessions: Sessions, mirror: Mirror, framework: str, first: int
) -> None:
    """Of its four views too, of which training has seen two."""
    right = write_scans(mirror.competition, first=first)
    small = {"WIDTH": 8, "EPOCHS": 8, "BATCH_SIZE": 4, "LEARNING_RATE": 0.05}

    _, *rows = sessions.predicted(mirror, framework, SCANS, inference={"TTA": 4 if first else 1}, **small)

    assert [row[0] for row in rows] == list(right)
    answers = np.array([float(row[1]) for row in rows])
    error = np.sqrt(np.mean((answers - np.array(list(right.values()))) ** 2))
    assert error < 0.13  # half of what the scans themselves are off
