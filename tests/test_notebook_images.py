"""Bad images stop a notebook with a sentence before they cost anything, or are left out where that was asked for."""

from dataclasses import replace
from pathlib import Path

import pytest
from notebook_competitions import write_digits
from notebook_session import Mirror, Notebook, Sessions, Trained, names_below, read_table, rendered_cells

from generator.competition import builtin
from generator.competition.facts import Task

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

TRAIN, INFER = Notebook("tensorflow", "train"), Notebook("tensorflow", "infer")


def missing(image: Path) -> None:
    image.unlink()


def empty(image: Path) -> None:
    image.write_bytes(b"")


def cut_off(image: Path) -> None:
    image.write_bytes(image.read_bytes()[:-10])


def not_an_image(image: Path) -> None:
    image.write_text("<html>404 Not Found</html>")


BAD_IMAGES = [
    (missing, "is missing"),
    (empty, "is empty"),
    (cut_off, "is damaged or not an image"),
    (not_an_image, "is damaged or not an image"),
]


def test_bad_training_images_are_named_with_what_is_wrong(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition)
    for place, (damage, _) in enumerate(BAD_IMAGES):
        damage(mirror.competition / "train" / f"000{place}.png")

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN))

    assert ended.cell == "decode-images"
    named = ", ".join(f"000{place}.png {problem}" for place, (_, problem) in enumerate(BAD_IMAGES))
    assert ended.error.startswith(
        f"ValueError: 4 of the image files of {mirror.competition}/train cannot be read: {named}. "
    )
    assert names_below(mirror.working) == ["accelerator.json"]


def test_a_training_image_that_is_too_large_to_be_decoded_is_named_with_its_size(
    sessions: Sessions, mirror: Mirror
) -> None:
    from PIL import Image

    write_digits(mirror.competition)
    Image.new("1", (30_000, 30_000)).save(mirror.competition / "train" / "0003.png")

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN))

    assert ended.cell == "decode-images"
    assert "cannot be read: 0003.png is too large, 30,000 x 30,000 pixels. " in ended.error


def test_renamed_training_images_are_named(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition)
    for name in ("0003", "0004"):
        (mirror.competition / f"train/{name}.png").rename(mirror.competition / f"train/digit-{name}.png")

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN))

    assert "cannot be read: 0003.png is missing, 0004.png is missing. " in ended.error


def as_jpeg(folder: Path) -> None:
    from PIL import Image

    for path in folder.glob("*.png"):
        Image.open(path).save(path.with_suffix(".jpg"))
        path.unlink()


def test_a_jpeg_is_whole_with_text_behind_its_end_and_not_without_its_end(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition)
    as_jpeg(mirror.competition / "train")
    cut_off(mirror.competition / "train" / "0003.jpg")
    with (mirror.competition / "train" / "0004.jpg").open("ab") as file:
        file.write(b"written by a camera" * 10)

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN, IMAGE_SUFFIX=".jpg"))

    assert "1 of the image files" in ended.error
    assert "0003.jpg is damaged or not an image. " in ended.error


def test_bad_test_images_stop_inference_or_get_the_average_prediction_and_change_no_other(
    sessions: Sessions, trained: Trained, tmp_path: Path
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    look = "[predictions.tolist(), examples['path'].ravel().tolist()]"
    whole = sessions.finished(INFER, mirror.parameters(INFER), look=look)
    for name in ("submission.csv", "predictions.npz"):
        (mirror.working / name).unlink()
    images = sorted((mirror.competition / "test").iterdir())
    for image, (damage, _) in zip(images[2:6], BAD_IMAGES, strict=True):
        damage(image)

    stopped = sessions.run(INFER, mirror.parameters(INFER))
    assert stopped.cell == "check-test-images"
    named = ", ".join(f"{image.name} {problem}" for image, (_, problem) in zip(images[2:6], BAD_IMAGES, strict=True))
    assert f"4 of the image files of {mirror.competition}/test cannot be read: {named}. " in stopped.error
    assert "With SKIP_UNREADABLE = True they get the average prediction." in stopped.error
    assert names_below(mirror.working) == []

    skipping = sessions.finished(INFER, mirror.parameters(INFER, SKIP_UNREADABLE=True), look=look)

    assert skipping.said("check-test-images") == f"17 of 21 test images can be read; {named.replace(', ', '; ')}"
    probabilities, paths = skipping.seen
    readable = [row for row, path in enumerate(paths) if Path(path) not in images[2:6]]
    average = [sum(whole.seen[0][row][index] for row in readable) / 17 for index in range(10)]
    for row in range(21):
        expected = whole.seen[0][row] if row in readable else average
        assert probabilities[row] == pytest.approx(expected, abs=1e-5)
    assert len(read_table(mirror.working / "submission.csv")) == 22


def test_ids_of_the_sample_without_an_image_are_refused_even_where_bad_images_are_skipped(
    sessions: Sessions, trained: Trained, tmp_path: Path
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    (mirror.competition / "sample_submission.csv").write_text("id,label\na,0\nb,0\n")

    for skip in (False, True):
        ended = sessions.run(INFER, mirror.parameters(INFER, SKIP_UNREADABLE=skip))

        assert "2 of the image files of " in ended.error
        assert "a.png is missing, b.png is missing. " in ended.error
        assert names_below(mirror.working) == []


def digits_task(**details: object) -> Task:
    """The task of digits, with other details."""
    task = builtin.require("digits").task
    return replace(task, details={**task.details, **details})


def test_a_training_table_is_read_in_its_own_format_where_the_sample_is_csv() -> None:
    cells = rendered_cells("keras", "train", replace(digits_task(), train_table="train.parquet", test_table="test.csv"))

    assert "pd.read_parquet" in cells["read-table"]
    assert "pd.read_csv(competition_folder" not in cells["read-training-table"]


def test_the_mirrored_view_differs_repeats_and_is_averaged(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition)
    flipped = digits_task(flip=True)
    train, infer = replace(TRAIN, task=flipped), replace(INFER, task=flipped)
    assert sessions.run(train, mirror.parameters(train)).is_done
    mirror.working.rename(mirror.root / "train")
    look = "[predictions.tolist(), *(predict_fold((ensemble[0], view), features).tolist() for view in (False, True))]"

    runs = [sessions.run(infer, mirror.parameters(infer, TTA=2), look=look) for _ in range(2)]

    assert runs[0].is_done, runs[0]
    assert runs[0].seen == runs[1].seen
    averaged, plain, mirrored = runs[0].seen
    assert plain != mirrored
    for row in range(21):
        expected = [(one + other) / 2 for one, other in zip(plain[row], mirrored[row], strict=True)]
        assert averaged[row] == pytest.approx(expected, abs=1e-5)


def test_a_smoke_test_with_a_backbone_predicts_a_few_rows_and_keeps_the_others(
    sessions: Sessions, mirror: Mirror
) -> None:
    digits = write_digits(mirror.competition, test_rows=70)
    digits.write_sample(list(digits.answers), label="7")
    photographs = digits_task(channels=3, image_size=96)
    train, infer = replace(TRAIN, task=photographs), replace(INFER, task=photographs)
    ended = sessions.finished(train, mirror.parameters(train, DEBUG=True, IMAGE_SIZE=32, BACKBONE="MobileNet"))
    mirror.working.rename(mirror.root / "train")

    ended = sessions.finished(infer, mirror.parameters(infer, DEBUG=True), look="len(predictions)")

    assert ended.seen == 64
    _, *rows = read_table(mirror.working / "submission.csv")
    assert [name for name, _ in rows] == list(digits.answers)
    assert {label for _, label in rows[64:]} == {"7"}
    assert {label for _, label in rows[:64]} <= set("0123456789")
