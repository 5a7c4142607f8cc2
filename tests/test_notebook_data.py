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


def with_classes_of_one(digits: Digits) -> None:
    digits.write_labels([(name, f"class {name}") for name in digits.labels])


def with_a_gap_among_the_ids(digits: Digits) -> None:
    digits.write_labels([*rows(digits)[:4], ("", "4"), *rows(digits)[5:]])


def with_an_id_twice(digits: Digits) -> None:
    digits.write_labels([*rows(digits), ("0003", "4"), ("0005", "5")])


def with_no_row(digits: Digits) -> None:
    digits.write_labels([])


@pytest.mark.parametrize(
    ("damage", "cell", "sentence"),
    [
        (
            without_labels,
            "training-examples",
            "ValueError: train.csv has no column 'label'; its columns are id, lable.",
        ),
        (
            with_gaps,
            "labels",
            "ValueError: 2 training examples have no label, the first is '0004'. Fill them in or drop them.",
        ),
        (
            with_one_class,
            "labels",
            "ValueError: All 80 examples have the class '7': there is nothing to tell apart. Check TARGETS.",
        ),
        (
            with_classes_of_one,
            "labels",
            (
                "ValueError: All 80 examples have a class of their own, the first is 'class 0000': there is nothing to "
                "hold out. Check TARGETS."
            ),
        ),
        (
            with_a_gap_among_the_ids,
            "training-examples",
            "ValueError: train.csv has 1 rows without id, the first on line 6. Fill them in or drop them.",
        ),
        (
            with_an_id_twice,
            "training-examples",
            (
                "ValueError: train.csv has 2 rows with an id that came before, the first is '0003'. "
                "Keep one row for each example."
            ),
        ),
        (with_no_row, "training-examples", "ValueError: train.csv has no rows."),
    ],
)
def test_labels_that_would_train_a_wrong_model_are_refused(
    sessions: Sessions, mirror: Mirror, damage: Callable[[Digits], None], cell: str, sentence: str
) -> None:
    damage(write_digits(mirror.competition))

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN))

    assert (ended.cell, ended.error) == (cell, sentence)
    assert names_below(mirror.working) == ["accelerator.json"]


def test_a_class_of_one_is_always_trained_on_and_never_held_out(sessions: Sessions, mirror: Mirror) -> None:
    digits = write_digits(mirror.competition)
    digits.write_labels([("0000", "zero"), *rows(digits)[1:]])
    ended = sessions.run(
        TRAIN,
        mirror.parameters(TRAIN, FOLDS=3),
        look="classes[-1], [int(fold) for fold in fold_of_row], handoff['classes'], int(out_of_fold.shape[1])",
    )

    assert ended.is_done, ended
    last_class, fold_of_row, handed_over, outputs = ended.seen
    assert fold_of_row[0] == -1
    assert set(fold_of_row[1:]) == {0, 1, 2}
    assert last_class == handed_over[-1] == "zero"
    assert outputs == 11
    judged = [row[0] for row in read_table(mirror.working / "oof.csv")[1:]]
    assert sorted(judged) == sorted(digits.labels)[1:]


def test_a_training_table_may_have_no_ids(sessions: Sessions, mirror: Mirror) -> None:
    digits = write_digits(mirror.competition)
    digits.write_labels(rows(digits), header=("scan", "label"))

    ended = sessions.run(TRAIN, mirror.parameters(TRAIN, IMAGE_COLUMN="scan"))

    assert ended.is_done, ended
    header, *judged = read_table(mirror.working / "oof.csv")
    assert header[0] == "id"
    labels = list(digits.labels.values())
    assert [row[header.index("label")] for row in judged] == [labels[int(row[0])] for row in judged]


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
            "sample_submission.csv must be those of the test images. With SKIP_UNREADABLE = True such images get the "
            "average prediction."
        ),
    )
    assert names_below(mirror.working) == []


def test_bad_test_images_get_the_average_prediction_and_change_no_other(
    sessions: Sessions, trained: Trained, tmp_path: Path
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    look = "[float(row.sum()) for row in predictions], predictions.tolist(), items['path'].tolist()"
    whole = sessions.run(INFER, mirror.parameters(INFER), look=look)
    images = sorted((mirror.competition / "test").iterdir())
    for image, damage in zip(images[2:5], (missing, empty, cut_off), strict=True):
        damage(image)

    skipping = sessions.run(INFER, mirror.parameters(INFER, SKIP_UNREADABLE=True), look=look)

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
        (["0003", "0003"], r"sample_submission\.csv has 1 rows with an id that came before, the first is '0003'\."),
        ([], r"sample_submission\.csv has no rows\."),
    ],
)
def test_a_sample_whose_ids_are_not_the_tests_is_refused(
    sessions: Sessions, trained: Trained, tmp_path: Path, ids: list[str], sentence: str
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    Digits(mirror.competition, {}, {}).write_sample(ids)

    for skip in (False, True):
        ended = sessions.run(INFER, mirror.parameters(INFER, SKIP_UNREADABLE=skip))

        assert re.match(f"ValueError: {sentence}", ended.error)
        assert names_below(mirror.working) == []


def test_a_sample_without_its_columns_is_refused(sessions: Sessions, trained: Trained, tmp_path: Path) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    sample = mirror.competition / "sample_submission.csv"
    ids = [name for name, _ in read_table(sample)[1:]]

    sample.write_text("\n".join(["name", *ids]))
    ended = sessions.run(INFER, mirror.parameters(INFER))
    assert (ended.cell, ended.error) == (
        "test-images",
        "ValueError: sample_submission.csv has no column 'id'; its columns are name.",
    )

    sample.write_text("\n".join(["id", *ids]))
    ended = sessions.run(INFER, mirror.parameters(INFER))
    assert (ended.cell, ended.error) == (
        "test-images",
        (
            "ValueError: sample_submission.csv has no column beside id, and nothing to be filled in. Check "
            "SAMPLE_SUBMISSION and ID_COLUMN."
        ),
    )


def test_the_samples_own_name_for_the_answer_is_kept(sessions: Sessions, trained: Trained, tmp_path: Path) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    ids = [name for name, _ in read_table(mirror.competition / "sample_submission.csv")[1:]]
    Digits(mirror.competition, {}, {}).write_sample(ids, header=("id", "digit"))

    ended = sessions.run(INFER, mirror.parameters(INFER))

    assert ended.is_done, ended
    header, *written = read_table(mirror.working / "submission.csv")
    assert header == ["id", "digit"]
    assert [name for name, _ in written] == ids


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
