"""Competitions of images whose files are scattered, or whose pixels stand in the cells of a table."""

import json
from pathlib import Path

from layout import layout
from layout_files import images, keys, some, table

SIDE = 12


def pixels(seed: int, *, low: int = 0, high: int = 255) -> list[int]:
    source = some(seed)
    return [source.randint(low, high) for _ in range(SIDE * SIDE)]


@layout(
    metric="Root Mean Squared Error",
    family="image_regression",
    id_column="RowId",
    targets=("left_eye_x", "left_eye_y", "nose_tip_x", "nose_tip_y"),
    target_kind="number",
    submission="numbers",
    train_table="training.csv",
    test_table="test.csv",
    details={
        "labels_from": "pixels",
        "pixel_lists": ["Image"],
        "pixel_low": 0.0,
        "pixel_high": 255.0,
        "image_size": SIDE,
        "channels": 1,
        "flip": False,
        "has_fixed_places": True,
        "lookup_table": "IdLookupTable.csv",
        "example_column": "ImageId",
        "part_column": "FeatureName",
        "image_encoding": None,
        "has_training_ids": False,
        "has_test_ids": False,
    },
)
def facial_keypoints(folder: Path) -> None:
    points = ["left_eye_x", "left_eye_y", "nose_tip_x", "nose_tip_y"]
    source = some()
    rows = [[*(round(source.uniform(0, SIDE), 4) for _ in points), " ".join(map(str, pixels(n)))] for n in range(30)]
    table(folder / "training.csv", [*points, "Image"], rows)
    table(folder / "test.csv", ["ImageId", "Image"], [[n, " ".join(map(str, pixels(90 + n)))] for n in range(1, 13)])
    asked = [[n, point] for n in range(1, 13) for point in (points if n < 5 else points[2:])]
    numbered = [[row, *pair, ""] for row, pair in enumerate(asked, 1)]
    table(folder / "IdLookupTable.csv", ["RowId", "ImageId", "FeatureName", "Location"], numbered)
    table(folder / "SampleSubmission.csv", ["RowId", "Location"], [[row[0], 0] for row in numbered])


@layout(
    metric="Categorization Accuracy",
    family="image_classification",
    id_column="id",
    targets=("emotion",),
    target_kind="class",
    submission="label",
    details={"labels_from": "pixels", "pixel_lists": ["pixels"], "image_size": SIDE, "channels": 1, "flip": True},
)
def facial_expressions_as_pixel_strings(folder: Path) -> None:
    faces = [" ".join(map(str, pixels(n))) for n in range(60)]
    table(folder / "train.csv", ["id", "emotion", "pixels"], [[n, n % 7, faces[n]] for n in range(40)])
    table(folder / "test.csv", ["id", "pixels"], [[n, faces[n]] for n in range(40, 60)])
    table(folder / "sample_submission.csv", ["id", "emotion"], [[n, 0] for n in range(40, 60)])


@layout(
    metric="Log Loss",
    family="image_classification",
    id_column="id",
    targets=("is_iceberg",),
    target_kind="class",
    submission="probability",
    train_table="train.json",
    test_table="test.json",
    details={
        "labels_from": "pixels",
        "pixel_lists": ["band_1", "band_2"],
        "pixel_low": -39.0,
        "pixel_high": -1.0,
        "channels": 3,
    },
)
def icebergs_as_bands_of_decibels(folder: Path) -> None:
    def radar(number: int) -> dict[str, object]:
        bands = {
            f"band_{band}": [value / 10 for value in pixels(9 * number + band, low=-390, high=-10)] for band in (1, 2)
        }
        return {"id": f"{number:08x}", **bands, "inc_angle": 34.5 + number / 9 if number % 7 else "na"}

    train = [{**radar(n), "is_iceberg": n % 2} for n in range(30)]
    (folder / "train.json").write_text(json.dumps(train))
    (folder / "test.json").write_text(json.dumps([radar(n) for n in range(30, 45)]))
    table(folder / "sample_submission.csv", ["id", "is_iceberg"], [[f"{n:08x}", 0.5] for n in range(30, 45)])


@layout(
    metric="Area Under Receiver Operating Characteristic Curve",
    family="image_classification",
    id_column="image_id",
    targets=("cancer",),
    target_kind="class",
    submission="probability",
    details={
        "labels_from": "table",
        "image_column": "image_id",
        "group_column": "patient_id",
        "train_folder": "train_images",
        "test_folder": "test_images",
        "image_suffix": ".png",
    },
)
def a_folder_for_each_patient(folder: Path) -> None:
    def scans(part: str, patients: range) -> list[list[object]]:
        found = [[patient, f"{int(key, 16) % 10**9}"] for patient in patients for key in keys(3, seed=patient)]
        images(folder / f"{part}_images", [f"{patient}/{scan}.png" for patient, scan in found])
        return [[patient, scan] for patient, scan in found]

    train, test = scans("train", range(100, 115)), scans("test", range(200, 206))
    table(folder / "train.csv", ["patient_id", "image_id", "cancer"], [[*row, row[0] % 2] for row in train])
    table(folder / "test.csv", ["patient_id", "image_id"], test)
    table(folder / "sample_submission.csv", ["image_id", "cancer"], [[scan, 0.5] for _, scan in test])


@layout(
    metric="Categorization Accuracy",
    family="image_classification",
    id_column="image_id",
    targets=("label",),
    train_table="train.csv",
    details={
        "labels_from": "table",
        "train_folder": "train_images",
        "test_folder": "test_images",
        "image_suffix": "",
    },
)
def paddy_diseases_in_folders_and_in_a_table(folder: Path) -> None:
    diseases = ["bacterial_leaf_blight", "blast", "normal", "tungro"]
    rows = [[f"{100_001 + 3 * n}.jpg", diseases[n % 4], "ADT45", 45 + n % 9] for n in range(40)]
    images(folder / "train_images", [f"{row[1]}/{row[0]}" for row in rows])
    images(folder / "test_images", [f"{200_001 + n}.jpg" for n in range(15)])
    table(folder / "train.csv", ["image_id", "label", "variety", "age"], rows)
    table(folder / "sample_submission.csv", ["image_id", "label"], [[f"{200_001 + n}.jpg", ""] for n in range(15)])


@layout(
    metric="MAP@{K}",
    family="image_classification",
    id_column="image",
    targets=("hotel_id",),
    submission="top_k",
    metric_is="map@5",
    details={
        "train_folder": "train_images",
        "test_folder": "test_images",
        "image_suffix": "",
        "image_encoding": "jpeg",
    },
)
def hotels_in_the_folders_of_their_chains(folder: Path) -> None:
    train, test = keys(40, seed=2), keys(12, seed=3)
    hotels = [56363, 73, 914, 44, 12321, 628]
    rows = [[f"{key}.jpg", n % 3, hotels[n % 6], "2018-04-09 11:56:29"] for n, key in enumerate(train)]
    images(folder / "train_images", [f"{row[1]}/{row[0]}" for row in rows])
    images(folder / "test_images", [f"{key}.jpg" for key in test])
    table(folder / "train.csv", ["image", "chain", "hotel_id", "timestamp"], rows)
    guess = " ".join(map(str, hotels[:5]))
    table(folder / "sample_submission.csv", ["image", "hotel_id"], [[f"{key}.jpg", guess] for key in test])


@layout(
    metric="MAP@{K}",
    family="image_classification",
    id_column="image",
    targets=("individual_id",),
    submission="top_k",
    metric_is="map@5",
    details={"train_folder": "train_images", "image_suffix": ""},
)
def whales_known_by_the_names_in_the_sample(folder: Path) -> None:
    train, test, known = keys(40, seed=2), keys(12, seed=3), keys(8, seed=4)
    species = ["melon_headed_whale", "humpback_whale", "false_killer_whale"]
    images(folder / "train_images", [f"{key}.jpg" for key in train])
    images(folder / "test_images", [f"{key}.jpg" for key in test])
    rows = [[f"{key}.jpg", species[n % 3], known[n % 8]] for n, key in enumerate(train)]
    table(folder / "train.csv", ["image", "species", "individual_id"], rows)
    guess = " ".join([*known[:4], "new_individual"])
    table(folder / "sample_submission.csv", ["image", "predictions"], [[f"{key}.jpg", guess] for key in test])


@layout(
    metric="Mean Columnwise Area Under Receiver Operating Characteristic Curve",
    family="image_classification",
    id_column="StudyInstanceUID",
    targets=("ETT - Abnormal", "CVC - Normal"),
    target_kind="labels",
    submission="numbers",
    details={"group_column": "PatientID", "train_folder": "train", "test_folder": "test", "channels": 1},
)
def catheters_of_patients_without_a_test_table(folder: Path) -> None:
    source = some()
    train = [f"1.2.826.0.1.{int(key, 16)}" for key in keys(40, seed=2)]
    test = [f"1.2.826.0.1.{int(key, 16)}" for key in keys(12, seed=3)]
    for part, names in (("train", train), ("test", test)):
        images(folder / part, [f"{name}.jpg" for name in names], mode="L")
    findings = ["ETT - Abnormal", "CVC - Normal"]
    rows = [
        [name, *(source.randrange(2) for _ in findings), f"P{10_000 + 37 * (n // 4)}"] for n, name in enumerate(train)
    ]
    table(folder / "train.csv", ["StudyInstanceUID", *findings, "PatientID"], rows)
    table(folder / "sample_submission.csv", ["StudyInstanceUID", *findings], [[name, 0, 0] for name in test])


@layout(
    metric="Mean Absolute Error",
    family="image_regression",
    id_column="Case ID",
    targets=("boneage",),
    target_kind="number",
    train_table="boneage-training-dataset.csv",
    test_table="boneage-test-dataset.csv",
    sample_submission="",
    details={
        "image_column": "id",
        "train_folder": "boneage-training-dataset/boneage-training-dataset",
        "test_folder": "boneage-test-dataset/boneage-test-dataset",
        "image_suffix": ".png",
    },
    warns=("no sample submission", "--sample"),
)
def rsna_boneage(folder: Path) -> None:
    for part, first, count in (("training", 1377, 40), ("test", 4360, 12)):
        inner = folder / f"boneage-{part}-dataset" / f"boneage-{part}-dataset"
        images(inner, [f"{first + n}.png" for n in range(count)], mode="L")
    rows = [[1377 + n, 12 + 5 * n, ["False", "True"][n % 2]] for n in range(40)]
    table(folder / "boneage-training-dataset.csv", ["id", "boneage", "male"], rows)
    table(folder / "boneage-test-dataset.csv", ["Case ID", "Sex"], [[4360 + n, "MF"[n % 2]] for n in range(12)])


@layout(
    family="image_classification",
    target_kind="class",
    sample_submission="",
    details={
        "labels_from": "folders",
        "train_folder": "fruits-360/Training",
        "test_folder": "fruits-360/Test",
        "image_suffix": ".jpg",
    },
    warns=("no sample submission",),
)
def fruits_whose_test_images_are_in_folders_too(folder: Path) -> None:
    for fruit in ("Apple Braeburn", "Apple Crimson Snow 1", "Banana"):
        images(folder / "fruits-360/Training" / fruit, [f"{n}_100.jpg" for n in range(12)])
        images(folder / "fruits-360/Test" / fruit, [f"r_{n}_100.jpg" for n in range(4)])


@layout(
    metric="Macro F1",
    family="image_classification",
    id_column="Id",
    targets=("Target",),
    target_kind="labels",
    submission="label_set",
    details={
        "train_folder": "train",
        "test_folder": "test",
        "channel_suffixes": ["_red.png", "_green.png", "_blue.png"],
        "channels": 3,
        "label_separator": " ",
        "image_encoding": "png",
    },
)
def cells_in_four_grey_files(folder: Path) -> None:
    source = some()
    train, test = keys(40, seed=2), keys(12, seed=3)
    for part, names in (("train", train), ("test", test)):
        colours = ("blue", "green", "red", "yellow")
        images(folder / part, [f"{key}_{colour}.png" for key in names for colour in colours], mode="L")
    rows = [[key, " ".join(map(str, source.sample(range(8), source.randrange(1, 4))))] for key in train]
    table(folder / "train.csv", ["Id", "Target"], rows)
    table(folder / "sample_submission.csv", ["Id", "Predicted"], [[key, 0] for key in test])


@layout(
    metric="Multiclass Loss",
    family="image_classification",
    id_column="patient_id",
    targets=("label",),
    submission="class_columns",
    details={
        "image_column": "image_id",
        "has_several_images": True,
        "group_column": "patient_id",
        "train_folder": "train",
        "test_folder": "test",
        "image_suffix": ".tif",
    },
)
def several_slides_of_a_patient(folder: Path) -> None:
    def slides(part: str, patients: range) -> list[list[object]]:
        rows = [[f"{patient:06x}_{n}", patient % 5, f"{patient:06x}", n] for patient in patients for n in (0, 1)]
        images(folder / part, [f"{row[0]}.tif" for row in rows])
        return rows

    header = ["image_id", "center_id", "patient_id", "image_num"]
    train, test = slides("train", range(20)), slides("test", range(20, 28))
    labelled = [[*row, ["CE", "LAA"][int(str(row[2]), 16) % 2]] for row in train]
    table(folder / "train.csv", [*header, "label"], labelled)
    table(folder / "test.csv", header, test)
    table(folder / "sample_submission.csv", ["patient_id", "CE", "LAA"], [[row[2], 0.5, 0.5] for row in test[::2]])
