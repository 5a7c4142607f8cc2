"""Bad labels and images stop a notebook with a sentence before they cost anything; strange names are only names."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from notebook_session import Digits, Mirror, Notebook, Sessions, Trained, names_below, read_table, write_digits

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

TRAIN, INFER = Notebook("tensorflow", "train"), Notebook("tensorflow", "infer")

STRANGE_NAMES = (
    "it's",
    'say "hi", twice',
    "two\nlines",
    "{{ 7 * 7 }} {% raw %}",
    '# %% name="evil"',
    "back\\slash\\",
    "🚀",
    "None",
    "$x_{$ ^",
    "<b>bold</b> ",
)


def rows(digits: Digits) -> list[tuple[str, str]]:
    return list(digits.labels.items())


def without_labels(digits: Digits) -> None:
    digits.write_labels(rows(digits), header=("id", "lable"))


def with_gaps(digits: Digits) -> None:
    labelled = rows(digits)
    digits.write_labels([*labelled[:4], (labelled[4][0], ""), *labelled[5:], ("1797", "NaN")])


def with_one_class(digits: Digits) -> None:
    digits.write_labels([(name, "7") for name in digits.labels])


def with_a_class_of_one(digits: Digits) -> None:
    digits.write_labels([("0000", "zero"), *rows(digits)[1:]])


def with_an_id_twice(digits: Digits) -> None:
    digits.write_labels([*rows(digits), ("0003", "4"), ("0005", "5")])


def with_no_row(digits: Digits) -> None:
    digits.write_labels([])


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (without_labels, "ValueError: train.csv has no column 'label'; its columns are id, lable."),
        (
            with_gaps,
            "ValueError: train.csv has 2 rows without id or label, the first on line 6. Fill them in or drop them.",
        ),
        (
            with_one_class,
            "ValueError: All 80 rows have the label '7': there is nothing to tell apart. Check TRAIN_TABLE and TARGET.",
        ),
        (
            with_a_class_of_one,
            (
                "ValueError: 1 of 11 classes have a single example, the first is 'zero', and a class needs one to "
                "train on and one to hold out. Drop their rows or merge the classes."
            ),
        ),
        (
            with_an_id_twice,
            (
                "ValueError: train.csv has 2 rows with an id that came before, the first is '0003'. "
                "Keep one row for each image."
            ),
        ),
        (with_no_row, "ValueError: train.csv has no rows."),
    ],
)
def test_labels_that_would_train_a_wrong_model_are_refused(
    sessions: Sessions, mirror: Mirror, damage: Callable[[Digits], None], sentence: str
) -> None:
    damage(write_digits(mirror.competition))

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN))

    assert (ended.cell, ended.error) == ("labels", sentence)
    assert names_below(mirror.working) == ["accelerator.json"]


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
    (cut_off, "is cut off"),
    (not_an_image, "is no image"),
]


@pytest.mark.parametrize(("damage", "problem"), BAD_IMAGES)
def test_a_bad_training_image_is_named(
    sessions: Sessions, mirror: Mirror, damage: Callable[[Path], None], problem: str
) -> None:
    write_digits(mirror.competition)
    damage(mirror.competition / "train" / "0003.png")

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN))

    assert (ended.cell, ended.error) == (
        "check-images",
        (
            f"ValueError: 1 of the image files of {mirror.competition}/train cannot be read: 0003.png {problem}. "
            "Fetch the competition's files again, or drop these rows of train.csv."
        ),
    )
    assert names_below(mirror.working) == ["accelerator.json"]


def test_renamed_training_images_are_named_with_those_that_no_row_names(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition)
    for name in ("0003", "0004"):
        (mirror.competition / f"train/{name}.png").rename(mirror.competition / f"train/digit-{name}.png")

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN))

    assert ended.error == (
        f"ValueError: 2 of the image files of {mirror.competition}/train cannot be read: 0003.png is missing, "
        "0004.png is missing. No row names digit-0003.png, digit-0004.png. Fetch the competition's files again, or "
        "drop these rows of train.csv."
    )


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

    assert ended.cell == "check-images"
    assert "1 of the image files" in ended.error
    assert "0003.jpg is cut off. " in ended.error


@pytest.mark.parametrize(("damage", "problem"), BAD_IMAGES)
def test_a_bad_test_image_is_named_before_anything_is_predicted(
    sessions: Sessions, trained: Trained, tmp_path: Path, damage: Callable[[Path], None], problem: str
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    name = sorted(path.name for path in (mirror.competition / "test").iterdir())[3]
    damage(mirror.competition / "test" / name)

    ended = sessions.run(INFER, mirror.parameters(INFER))

    assert (ended.cell, ended.error) == (
        "check-test-images",
        (
            f"ValueError: 1 of the image files of test cannot be read: {name} {problem}. The ids of "
            "sample_submission.csv must be those of the test images. With SKIP_BAD_IMAGES = True such images get the "
            "average prediction."
        ),
    )
    assert names_below(mirror.working) == []


def test_bad_test_images_get_the_average_prediction_and_change_no_other(
    sessions: Sessions, trained: Trained, tmp_path: Path
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    look = "[float(row.sum()) for row in probabilities], probabilities.tolist(), paths"
    whole = sessions.run(INFER, mirror.parameters(INFER), look=look)
    images = sorted((mirror.competition / "test").iterdir())
    for image, damage in zip(images[2:5], (missing, empty, cut_off), strict=True):
        damage(image)

    skipping = sessions.run(INFER, mirror.parameters(INFER, SKIP_BAD_IMAGES=True), look=look)

    assert skipping.said("check-test-images") == "18 of 21 test images can be read."
    sums, probabilities, paths = skipping.seen
    assert sums == pytest.approx([1.0] * 21, abs=1e-5)
    readable = [row for row, path in enumerate(paths) if Path(path) not in images[2:5]]
    for row in range(21):
        expected = (
            whole.seen[1][row]
            if row in readable
            else [sum(whole.seen[1][other][index] for other in readable) / 18 for index in range(10)]
        )
        assert probabilities[row] == pytest.approx(expected, abs=1e-5)
    assert len(read_table(mirror.working / "submission.csv")) == 22


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        (
            ["a", "b"],
            r"2 of the image files of test cannot be read: a\.png is missing, b\.png is missing\. The ids of sample",
        ),
        (["0003", "0003"], r"sample_submission\.csv has the id '0003' more than once\."),
        ([], r"sample_submission\.csv has no rows\."),
    ],
)
def test_a_sample_whose_ids_are_not_the_tests_is_refused(
    sessions: Sessions, trained: Trained, tmp_path: Path, ids: list[str], sentence: str
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    Digits(mirror.competition, {}, {}).write_sample(ids)

    for skip in (False, True):
        ended = sessions.run(INFER, mirror.parameters(INFER, SKIP_BAD_IMAGES=skip))

        assert re.match(f"ValueError: {sentence}", ended.error)
        assert names_below(mirror.working) == []


def test_a_sample_without_its_columns_is_refused(sessions: Sessions, trained: Trained, tmp_path: Path) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    Digits(mirror.competition, {}, {}).write_sample(["0003"], header=("id", "digit"))

    ended = sessions.run(INFER, mirror.parameters(INFER))

    assert (ended.cell, ended.error) == (
        "test-images",
        "ValueError: sample_submission.csv has no column 'label'; its columns are id, digit.",
    )


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_strange_class_names_come_back_in_the_submission(sessions: Sessions, mirror: Mirror, framework: str) -> None:
    digits = write_digits(mirror.competition, per_class=20, test_rows=60, names=STRANGE_NAMES)
    train, infer = Notebook(framework, "train"), Notebook(framework, "infer")

    ended = sessions.run(train, mirror.parameters(train, EPOCHS=8, LEARNING_RATE=0.016))
    assert ended.is_done, ended
    mirror.working.rename(mirror.root / "train")
    ended = sessions.run(infer, mirror.parameters(infer))
    assert ended.is_done, ended

    header, *predicted = read_table(mirror.working / "submission.csv")
    assert header == ["id", "label"]
    assert [name for name, _ in predicted] == list(digits.answers)
    right = [name for name, label in predicted if digits.answers[name] == label]
    assert {digits.answers[name] for name in right} == set(STRANGE_NAMES)
