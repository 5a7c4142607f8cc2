"""Competitions of images."""

from pathlib import Path

from layout import layout
from layout_files import images, keys, picture, records, some, table, zipped


@layout(
    metric="Categorization Accuracy",
    family="image_classification",
    id_column="ImageId",
    targets=("label",),
    target_kind="class",
    submission="label",
    train_table="train.csv",
    test_table="test.csv",
    details={
        "labels_from": "pixels",
        "image_size": 28,
        "channels": 1,
        "flip": False,
        "train_folder": "",
        "has_training_ids": False,
        "has_test_ids": False,
    },
)
def digit_recognizer(folder: Path) -> None:
    source = some()
    pixels = [f"pixel{number}" for number in range(784)]

    def scan() -> list[int]:
        return [source.choice([0, 0, 0, 255, 128]) for _ in pixels]

    table(folder / "train.csv", ["label", *pixels], [[n % 10, *scan()] for n in range(40)])
    table(folder / "test.csv", pixels, [scan() for _ in range(20)])
    table(folder / "sample_submission.csv", ["ImageId", "Label"], [[n, 0] for n in range(1, 21)])


@layout(
    metric="Macro F1",
    family="image_classification",
    id_column="id",
    targets=("class",),
    target_kind="class",
    submission="label",
    metric_is="f1_macro",
    train_table="",
    test_table="",
    details={
        "labels_from": "records",
        "record_id": "id",
        "record_image": "image",
        "record_label": "class",
        "train_folder": "tfrecords-jpeg-64x64/train",
        "test_folder": "tfrecords-jpeg-64x64/test",
        "image_size": 64,
        "image_encoding": "jpeg",
    },
)
def tpu_getting_started(folder: Path) -> None:
    for size in (64, 512):
        place = folder / f"tfrecords-jpeg-{size}x{size}"
        for part, count in (("train", 12), ("val", 4), ("test", 6)):
            image = picture(size=(size, size), suffix="jpeg")
            flowers = [
                {"id": f"{part}{n}".encode(), "image": image, **({"class": n % 5} if part != "test" else {})}
                for n in range(count)
            ]
            records(place / part / f"00-{size}x{size}-{count}.tfrec", flowers)
    table(folder / "sample_submission.csv", ["id", "label"], [[f"test{n}", 0] for n in range(6)])


@layout(
    metric="Log Loss",
    family="image_classification",
    id_column="id",
    targets=("label",),
    target_kind="class",
    submission="probability",
    metric_is="log_loss",
    train_table="",
    details={
        "labels_from": "names",
        "train_folder": "train",
        "test_folder": "test",
        "image_suffix": ".jpg",
        "image_size": 32,
        "flip": True,
        "image_encoding": "jpeg",
    },
)
def dogs_vs_cats_redux(folder: Path) -> None:
    images(folder / "train", [f"{animal}.{n}.jpg" for animal in ("cat", "dog") for n in range(20)])
    images(folder / "test", [f"{n}.jpg" for n in range(1, 31)])
    table(folder / "sample_submission.csv", ["id", "label"], [[n, 0.5] for n in range(1, 31)])


@layout(
    metric="Mean Columnwise Area Under Receiver Operating Characteristic Curve",
    family="image_classification",
    id_column="image_id",
    targets=("healthy", "multiple_diseases", "rust", "scab"),
    target_kind="labels",
    submission="numbers",
    metric_is="auc_mean_columns",
    details={
        "labels_from": "table",
        "image_column": "image_id",
        "train_folder": "images",
        "test_folder": "images",
        "image_suffix": ".jpg",
        "image_size": 128,
    },
)
def plant_pathology(folder: Path) -> None:
    source = some()
    names = ["healthy", "multiple_diseases", "rust", "scab"]
    images(folder / "images", [f"{part}_{n}.jpg" for part in ("Train", "Test") for n in range(30)], size=(204, 136))
    rows = [[f"Train_{n}", *(int(name == source.choice(names)) for name in names)] for n in range(30)]
    leaves = [[row[0], *[int(at == n % 4) for at in range(4)]] for n, row in enumerate(rows)]
    table(folder / "train.csv", ["image_id", *names], leaves)
    table(folder / "test.csv", ["image_id"], [[f"Test_{n}"] for n in range(30)])
    table(folder / "sample_submission.csv", ["image_id", *names], [[f"Test_{n}", *[0.25] * 4] for n in range(30)])


@layout(
    metric="Area Under Receiver Operating Characteristic Curve",
    family="image_classification",
    id_column="image_name",
    targets=("target",),
    target_kind="class",
    submission="probability",
    metric_is="auc",
    details={
        "labels_from": "table",
        "image_column": "image_name",
        "group_column": "patient_id",
        "train_folder": "jpeg/train",
        "test_folder": "jpeg/test",
        "image_suffix": ".jpg",
    },
)
def isic_melanoma(folder: Path) -> None:
    source = some()
    header = ["image_name", "patient_id", "sex", "age_approx"]
    moles = [
        [f"ISIC_{n:07d}", f"IP_{n // 4}", source.choice(["male", "female"]), source.randrange(20, 90)]
        for n in range(60)
    ]
    labelled = [[*mole, "nevus", "benign", int(source.random() < 0.2)] for mole in moles[:40]]
    table(folder / "train.csv", [*header, "diagnosis", "benign_malignant", "target"], labelled)
    table(folder / "test.csv", header, moles[40:])
    table(folder / "sample_submission.csv", ["image_name", "target"], [[mole[0], 0] for mole in moles[40:]])
    images(folder / "jpeg/train", [f"{mole[0]}.jpg" for mole in moles[:40]])
    images(folder / "jpeg/test", [f"{mole[0]}.jpg" for mole in moles[40:]])


@layout(
    metric="MAP@{K}",
    family="image_classification",
    id_column="Image",
    targets=("Id",),
    target_kind="class",
    submission="top_k",
    metric_is="map@5",
    details={"image_column": "Image", "train_folder": "train", "test_folder": "test", "image_suffix": ""},
)
def humpback_whales(folder: Path) -> None:
    source = some()
    train, test = keys(50, seed=2), keys(20, seed=3)
    images(folder / "train", [f"{key}.jpg" for key in train])
    images(folder / "test", [f"{key}.jpg" for key in test])
    whales = ["new_whale", *(f"w_{key[:7]}" for key in keys(12, seed=4))]
    table(folder / "train.csv", ["Image", "Id"], [[f"{key}.jpg", source.choice(whales)] for key in train])
    guess = " ".join(whales[:5])
    table(folder / "sample_submission.csv", ["Image", "Id"], [[f"{key}.jpg", guess] for key in test])


@layout(
    metric="Multiclass Loss",
    family="image_classification",
    id_column="id",
    targets=("breed",),
    target_kind="class",
    submission="class_columns",
    train_table="labels.csv",
    test_table="",
    details={"train_folder": "train", "test_folder": "test", "image_suffix": ".jpg", "flip": True},
)
def dog_breeds(folder: Path) -> None:
    train, test = keys(40, seed=2), keys(20, seed=3)
    breeds = ["affenpinscher", "beagle", "boxer", "collie", "pug"]
    images(folder / "train", [f"{key}.jpg" for key in train])
    images(folder / "test", [f"{key}.jpg" for key in test])
    table(folder / "labels.csv", ["id", "breed"], [[key, breeds[n % 5]] for n, key in enumerate(train)])
    table(folder / "sample_submission.csv", ["id", *breeds], [[key, *[0.2] * 5] for key in test])


@layout(
    metric="F_{Beta}",
    family="image_classification",
    id_column="image_name",
    targets=("tags",),
    target_kind="labels",
    submission="label_set",
    train_table="train_v2.csv",
    sample_submission="sample_submission_v2.csv",
    details={
        "train_folder": "train-tif",
        "test_folder": "test-tif",
        "image_suffix": ".tif",
        "label_separator": " ",
        "image_encoding": "any",
    },
)
def planet_amazon(folder: Path) -> None:
    source = some()
    tags = ["primary", "clear", "haze", "road", "water", "agriculture"]
    images(folder / "train-tif", [f"train_{n}.tif" for n in range(40)], mode="RGBA")
    images(folder / "test-tif", [f"test_{n}.tif" for n in range(20)], mode="RGBA")
    rows = [[f"train_{n}", " ".join(source.sample(tags, source.randrange(1, 4)))] for n in range(40)]
    table(folder / "train_v2.csv", ["image_name", "tags"], rows)
    sample = [[f"test_{n}", "primary clear agriculture road water"] for n in range(20)]
    table(folder / "sample_submission_v2.csv", ["image_name", "tags"], sample)


@layout(
    metric="Micro F1",
    family="image_classification",
    id_column="file",
    targets=("species",),
    target_kind="class",
    submission="label",
    metric_is="f1_micro",
    train_table="",
    details={
        "labels_from": "folders",
        "train_folder": "train",
        "test_folder": "test",
        "image_suffix": "",
        "image_encoding": "png",
    },
)
def class_names_of_several_words_as_folders(folder: Path) -> None:
    for species in ("Black-grass", "Common wheat", "Fat Hen", "Sugar beet"):
        images(folder / "train" / species, [f"{key}.png" for key in keys(8, seed=len(species))])
    test = [f"{key}.png" for key in keys(15, seed=77)]
    images(folder / "test", test)
    table(folder / "sample_submission.csv", ["file", "species"], [[name, "Sugar beet"] for name in test])


@layout(
    metric="Multiclass Loss",
    family="image_classification",
    id_column="img",
    targets=("classname",),
    target_kind="class",
    submission="class_columns",
    train_table="driver_imgs_list.csv",
    details={
        "labels_from": "table",
        "image_column": "img",
        "group_column": "subject",
        "train_folder": "imgs/train",
        "test_folder": "imgs/test",
        "image_suffix": "",
    },
)
def state_farm_drivers(folder: Path) -> None:
    classes = [f"c{n}" for n in range(4)]
    drivers = []
    for name in classes:
        files = [f"img_{int(key, 16) % 99999}.jpg" for key in keys(8, seed=int(name[1]))]
        images(folder / "imgs/train" / name, files)
        drivers += [[f"p00{n % 5}", name, file] for n, file in enumerate(files)]
    test = [f"img_{n}.jpg" for n in range(1, 16)]
    images(folder / "imgs/test", test)
    table(folder / "driver_imgs_list.csv", ["subject", "classname", "img"], drivers)
    table(folder / "sample_submission.csv", ["img", *classes], [[name, *[0.25] * 4] for name in test])


@layout(
    metric="Accuracy",
    family="image_classification",
    id_column="id",
    targets=("animal",),
    target_kind="class",
    details={
        "labels_from": "names",
        "train_folder": "train",
        "test_folder": "test",
        "image_suffix": ".png",
        "channels": 1,
        "image_encoding": "png",
    },
)
def labels_before_a_hyphen_and_grey_images(folder: Path) -> None:
    images(
        folder / "train", [f"{animal}-{n}.png" for animal in ("horse", "cow", "goat") for n in range(1, 9)], mode="L"
    )
    images(folder / "test", [f"{n}.png" for n in range(1, 10)], mode="L")
    table(folder / "sample_submission.csv", ["id", "animal"], [[n, "cow"] for n in range(1, 10)])


@layout(
    metric="Root Mean Squared Error",
    family="image_regression",
    id_column="Id",
    targets=("Pawpularity",),
    target_kind="number",
    submission="numbers",
    details={"image_column": "Id", "train_folder": "train", "test_folder": "test", "image_suffix": ".jpg"},
)
def petfinder_pawpularity(folder: Path) -> None:
    source = some()
    traits = ["Focus", "Eyes", "Face", "Near", "Action", "Accessory", "Group", "Collage", "Human", "Blur"]
    train, test = keys(60, seed=2), keys(20, seed=3)
    rows = [[key, *(source.randrange(2) for _ in traits), source.randrange(1, 101)] for key in train]
    table(folder / "train.csv", ["Id", *traits, "Pawpularity"], rows)
    table(folder / "test.csv", ["Id", *traits], [[key, *(source.randrange(2) for _ in traits)] for key in test])
    sample = [[key, round(source.uniform(1, 99), 2)] for key in test]
    table(folder / "sample_submission.csv", ["Id", "Pawpularity"], sample)
    images(folder / "train", [f"{key}.jpg" for key in train])
    images(folder / "test", [f"{key}.jpg" for key in test])


@layout(
    metric="Mean Absolute Error",
    family="image_regression",
    id_column="scan",
    targets=("depth", "width"),
    target_kind="number",
    submission="numbers",
    details={
        "train_folder": "scans",
        "test_folder": "scans",
        "image_suffix": ".tiff",
        "channels": 1,
        "image_size": 64,
        "image_encoding": "any",
    },
)
def two_numbers_for_each_16_bit_scan(folder: Path) -> None:
    source = some()
    scans = keys(50)
    images(folder / "scans", [f"{scan}.tiff" for scan in scans], size=(64, 64), mode="I;16")
    rows = [[scan, source.uniform(0, 9), source.uniform(0, 9)] for scan in scans[:35]]
    table(folder / "train.csv", ["scan", "depth", "width"], rows)
    table(folder / "sample_submission.csv", ["scan", "depth", "width"], [[scan, 0.0, 0.0] for scan in scans[35:]])


@layout(
    metric="Categorization Accuracy",
    family="image_classification",
    id_column="path",
    targets=("label",),
    details={"image_column": "path", "train_folder": "", "test_folder": "", "image_suffix": ""},
)
def paths_with_folders_in_a_column(folder: Path) -> None:
    train = [f"photos/{'abc'[n % 3]}/{key}.png" for n, key in enumerate(keys(30, seed=2))]
    test = [f"photos/unseen/{key}.png" for key in keys(12, seed=3)]
    images(folder, [*train, *test])
    table(folder / "train.csv", ["path", "label"], [[path, ["owl", "fox"][n % 2]] for n, path in enumerate(train)])
    table(folder / "test.csv", ["path"], [[path] for path in test])
    table(folder / "sample_submission.csv", ["path", "label"], [[path, "owl"] for path in test])


@layout(
    metric="Area Under Receiver Operating Characteristic Curve",
    family="image_classification",
    id_column="id",
    targets=("label",),
    train_table="train_labels.csv",
    details={
        "train_folder": "train.zip/train",
        "test_folder": "test.zip/test",
        "image_suffix": ".tif",
        "image_size": 32,
        "image_encoding": "any",
    },
)
def zipped_folders(folder: Path) -> None:
    train, test = keys(30, seed=2), keys(12, seed=3)
    image = picture(size=(36, 36), suffix="tiff")
    zipped(folder / "train.zip", {f"train/{key}.tif": image for key in train})
    zipped(folder / "test.zip", {f"test/{key}.tif": image for key in test})
    table(folder / "train_labels.csv", ["id", "label"], [[key, n % 2] for n, key in enumerate(train)])
    table(folder / "sample_submission.csv", ["id", "label"], [[key, 0] for key in test])


@layout(
    metric="Quadratic Weighted Kappa",
    family="image_classification",
    id_column="id_code",
    targets=("diagnosis",),
    target_kind="class",
    submission="label",
    test_table="test.csv",
    details={"train_folder": "train_images", "test_folder": "test_images", "image_suffix": ".png", "flip": True},
)
def blindness_grades(folder: Path) -> None:
    train, test = keys(40, seed=2), keys(12, seed=3)
    images(folder / "train_images", [f"{key}.png" for key in train], size=(300, 240))
    images(folder / "test_images", [f"{key}.png" for key in test], size=(300, 240))
    table(folder / "train.csv", ["id_code", "diagnosis"], [[key, n % 5] for n, key in enumerate(train)])
    table(folder / "test.csv", ["id_code"], [[key] for key in test])
    table(folder / "sample_submission.csv", ["id_code", "diagnosis"], [[key, 0] for key in test])


@layout(
    metric="Categorization Accuracy",
    family="image_classification",
    id_column="image_id",
    targets=("label",),
    target_kind="class",
    submission="label",
    test_table="",
    details={"train_folder": "train_images", "test_folder": "test_images", "image_suffix": ""},
)
def a_code_competition_that_shows_one_test_image(folder: Path) -> None:
    train = [f"{1_000_015_157 + 7 * n}.jpg" for n in range(40)]
    images(folder / "train_images", train)
    images(folder / "test_images", ["2216849948.jpg"])
    table(folder / "train.csv", ["image_id", "label"], [[name, n % 5] for n, name in enumerate(train)])
    table(folder / "sample_submission.csv", ["image_id", "label"], [["2216849948.jpg", 4]])
    (folder / "label_num_to_disease_map.json").write_text('{"0": "Cassava Bacterial Blight", "4": "Healthy"}')


@layout(
    metric="Macro F1",
    family="image_classification",
    id_column="Id",
    targets=("Target",),
    target_kind="labels",
    submission="label_set",
    details={"train_folder": "train", "test_folder": "test", "label_separator": " ", "channels": 1},
)
def protein_atlas_with_numbers_as_labels(folder: Path) -> None:
    source = some()
    train, test = keys(40, seed=2), keys(12, seed=3)
    for part, names in (("train", train), ("test", test)):
        images(folder / part, [f"{key}_{colour}.png" for key in names for colour in ("blue", "green")], mode="L")
    rows = [[key, " ".join(map(str, source.sample(range(8), source.randrange(1, 4))))] for key in train]
    table(folder / "train.csv", ["Id", "Target"], rows)
    table(folder / "sample_submission.csv", ["Id", "Predicted"], [[key, 0] for key in test])


@layout(
    metric="Mean Columnwise Log Loss",
    family="image_classification",
    id_column="ID",
    targets=("any", "epidural", "subdural"),
    target_kind="labels",
    submission="keyed_rows",
    details={"image_column": "image", "train_folder": "train", "test_folder": "test", "image_suffix": ".png"},
)
def a_row_for_each_scan_and_finding(folder: Path) -> None:
    source = some()
    findings = ["any", "epidural", "subdural"]
    train, test = keys(40, seed=2), keys(12, seed=3)
    images(folder / "train", [f"{key}.png" for key in train])
    images(folder / "test", [f"{key}.png" for key in test])
    rows = [[key, *(source.randrange(2) for _ in findings)] for key in train]
    table(folder / "train.csv", ["image", *findings], rows)
    sample = [[f"{key}_{finding}", 0.5] for key in test for finding in findings]
    table(folder / "sample_submission.csv", ["ID", "Label"], sample)
