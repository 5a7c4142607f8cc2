"""The limits of the kit are said in a sentence that names the files, before a pair is made that could only fail."""

from pathlib import Path

import pytest
from layout_files import images, keys, table

from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints, IntrospectionError
from generator.competition.survey import survey_folder


def write_files(folder: Path, names: list[str]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"\0" * 200)


def test_images_in_an_archive_that_is_not_unpacked_are_named(tmp_path: Path) -> None:
    write_files(tmp_path, ["train.7z", "test.7z"])
    table(tmp_path / "trainLabels.csv", ["id", "label"], [[n, "frog"[: 1 + n % 3]] for n in range(1, 41)])
    table(tmp_path / "sampleSubmission.csv", ["id", "label"], [[n, "f"] for n in range(1, 21)])

    with pytest.raises(IntrospectionError, match=r"test\.7z, train\.7z cannot be unpacked here\. Extract the files"):
        read_task(survey_folder(tmp_path), Hints(slug="cifar-10"))


def test_dicom_images_are_to_be_converted(tmp_path: Path) -> None:
    scans = keys(30)
    write_files(tmp_path, [f"train/{scan}.dcm" for scan in scans[:20]] + [f"test/{scan}.dcm" for scan in scans[20:]])
    table(tmp_path / "train.csv", ["id", "label"], [[scan, n % 2] for n, scan in enumerate(scans[:20])])
    table(tmp_path / "sample_submission.csv", ["id", "label"], [[scan, 0.5] for scan in scans[20:]])

    with pytest.raises(
        IntrospectionError, match=r"DICOM images cannot be read; there are 30 in test, train\. Remedy: convert"
    ):
        read_task(survey_folder(tmp_path), Hints(slug="scans"))


def test_jpeg_images_beside_dicom_ones_are_taken_without_a_word(tmp_path: Path) -> None:
    scans = keys(30)
    for part, named in (("train", scans[:20]), ("test", scans[20:])):
        write_files(tmp_path, [f"{part}/{scan}.dcm" for scan in named])
        images(tmp_path / "jpeg" / part, [f"{scan}.jpg" for scan in named])
    table(tmp_path / "train.csv", ["id", "label"], [[scan, n % 2] for n, scan in enumerate(scans[:20])])
    table(tmp_path / "sample_submission.csv", ["id", "label"], [[scan, 0.5] for scan in scans[20:]])

    reading = read_task(survey_folder(tmp_path), Hints(slug="melanoma", metric_text="AUC"))

    assert reading.task.details["train_folder"] == "jpeg/train"
    assert reading.warnings == ()


def test_test_images_that_are_nowhere_are_asked_for(tmp_path: Path) -> None:
    moles = [f"ISIC_{n:07d}" for n in range(30)]
    images(tmp_path / "train-image/image", [f"{mole}.jpg" for mole in moles])
    write_files(tmp_path, ["test-image.hdf5"])
    table(tmp_path / "train.csv", ["isic_id", "target", "age"], [[mole, n % 2, n] for n, mole in enumerate(moles)])
    table(tmp_path / "test.csv", ["isic_id", "age"], [["ISIC_9999998", 50], ["ISIC_9999999", 40]])
    table(tmp_path / "sample_submission.csv", ["isic_id", "target"], [["ISIC_9999998", 0.1], ["ISIC_9999999", 0.2]])

    warnings = read_task(survey_folder(tmp_path), Hints(slug="moles", metric_text="AUC")).warnings

    assert any(
        "test_folder is a guess: none, because there are no test files. Set it with --set test_folder" in said
        for said in warnings
    )
    assert any("HDF5 files cannot be read; there are 1 in the folder" in said for said in warnings)


def test_boxes_around_objects_are_refused(tmp_path: Path) -> None:
    fields = keys(30)
    images(tmp_path / "train", [f"{field}.jpg" for field in fields[:20]])
    images(tmp_path / "test", [f"{field}.jpg" for field in fields[20:]])
    boxes = [[field, f"[{n}.0, 226.0, {n + 9}.0, 72.0]"] for field in fields[:20] for n in range(2)]
    table(tmp_path / "train.csv", ["image_id", "bbox"], boxes)
    table(
        tmp_path / "sample_submission.csv", ["image_id", "PredictionString"], [[f, "1.0 0 0 5 5"] for f in fields[20:]]
    )

    with pytest.raises(IntrospectionError, match="object detection: the cells of bbox are boxes"):
        read_task(survey_folder(tmp_path), Hints(slug="wheat"))


@pytest.mark.parametrize(
    ("answer", "is_rated"), [("b 0.5", True), ("b 0.5 a 1.0", True), ("b a", False), ("b 2.5", False), ("b 0.7", False)]
)
def test_a_label_with_its_confidence_is_no_list_of_labels(tmp_path: Path, answer: str, is_rated: bool) -> None:
    names = keys(60)
    table(
        tmp_path / "train.csv",
        ["id", "x", "y"],
        [[n, i % 7 / 3, ["a", "b", "0.7"][i % 3]] for i, n in enumerate(names)],
    )
    table(tmp_path / "test.csv", ["id", "x"], [[name, 0.4] for name in names])
    table(tmp_path / "sample_submission.csv", ["id", "y"], [[name, answer] for name in names])
    survey = survey_folder(tmp_path)

    if is_rated:
        with pytest.raises(
            IntrospectionError, match=f'such as "{answer}", are pairs of a label and a confidence.*--submission'
        ):
            read_task(survey, Hints(slug="some"))
    read_task(survey, Hints(slug="some", overrides={"submission": "top_k"} if is_rated else {}))


def test_training_files_that_are_missing_are_not_blamed_on_those_of_the_test(tmp_path: Path) -> None:
    names = [f"scan_{number:03}" for number in range(90)]
    images(tmp_path / "train", [f"{name}.png" for name in names[:3]])
    images(tmp_path / "test", [f"{name}.png" for name in names[60:]])
    table(tmp_path / "train.csv", ["scan", "ill"], [[name, n % 2] for n, name in enumerate(names[:60])])
    table(tmp_path / "sample_submission.csv", ["scan", "ill"], [[name, 0.5] for name in names[60:]])

    with pytest.raises(IntrospectionError, match=r"most training examples of train\.csv have no file\. .*--train"):
        read_task(survey_folder(tmp_path), Hints(slug="some"))


@pytest.mark.parametrize(("there", "says"), [(60, False), (30, True)])
def test_training_rows_without_a_file_are_told(tmp_path: Path, there: int, says: bool) -> None:
    names = [f"scan_{number:03}" for number in range(90)]
    images(tmp_path / "train", [f"{name}.png" for name in names[:there]])
    images(tmp_path / "test", [f"{name}.png" for name in names[60:]])
    table(tmp_path / "train.csv", ["scan", "ill"], [[name, n % 2] for n, name in enumerate(names[:60])])
    table(tmp_path / "sample_submission.csv", ["scan", "ill"], [[name, 0.5] for name in names[60:]])

    reading = read_task(survey_folder(tmp_path), Hints(slug="some", metric_text="AUC"))

    told = "50% of the sampled training examples have no file in train, and training stops at such a row"
    assert any(warning.startswith(told) for warning in reading.warnings) == says
    assert says or reading.warnings == ()


@pytest.mark.parametrize("suffix", ["jpg", "wav"])
def test_files_of_nothing_are_told(tmp_path: Path, suffix: str) -> None:
    names = keys(60)
    write_files(tmp_path / "train", [f"{name}.{suffix}" for name in names[:40]])
    write_files(tmp_path / "test", [f"{name}.{suffix}" for name in names[40:]])
    table(tmp_path / "train.csv", ["id", "label"], [[name, n % 2] for n, name in enumerate(names[:40])])
    table(tmp_path / "sample_submission.csv", ["id", "label"], [[name, 0] for name in names[40:]])

    with pytest.raises(
        IntrospectionError,
        match=r"it has .*test, train\. No sampled image or sound in test, train can be read\. Check",
    ):
        read_task(survey_folder(tmp_path), Hints(slug="some"))
