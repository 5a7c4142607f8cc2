"""Competitions of masks, of images that become images, and of sounds."""

from pathlib import Path

from layout import layout
from layout_files import images, keys, some, sounds, table


@layout(
    metric="Dice",
    family="segmentation",
    id_column="Image_Label",
    targets=("EncodedPixels",),
    target_kind="mask",
    submission="run_length",
    metric_is="dice",
    details={
        "image_column": "Image_Label",
        "train_folder": "train_images",
        "test_folder": "test_images",
        "image_suffix": "",
        "mask_folder": "",
        "mask_column": "EncodedPixels",
        "mask_rows": "id",
        "mask_classes": ["Fish", "Flower", "Gravel", "Sugar"],
        "class_column": "",
    },
)
def understanding_clouds(folder: Path) -> None:
    source = some()
    kinds = ["Fish", "Flower", "Gravel", "Sugar"]
    train, test = keys(12, seed=2), keys(6, seed=3)

    def code() -> str:
        start = source.randrange(1, 900)
        return "" if source.random() < 0.5 else f"{start} 20 {start + 40} 25 {start + 90} 3"

    table(
        folder / "train.csv",
        ["Image_Label", "EncodedPixels"],
        [[f"{k}.jpg_{kind}", code()] for k in train for kind in kinds],
    )
    sample = [[f"{key}.jpg_{kind}", "1 1"] for key in test for kind in kinds]
    table(folder / "sample_submission.csv", ["Image_Label", "EncodedPixels"], sample)
    images(folder / "train_images", [f"{key}.jpg" for key in train], size=(210, 140))
    images(folder / "test_images", [f"{key}.jpg" for key in test], size=(210, 140))


@layout(
    metric="Dice",
    family="segmentation",
    id_column="ImageId_ClassId",
    targets=("EncodedPixels",),
    train_table="train.csv",
    details={
        "image_column": "ImageId",
        "train_folder": "train_images",
        "test_folder": "test_images",
        "mask_column": "EncodedPixels",
        "mask_rows": "id",
        "mask_classes": ["1", "2", "3", "4"],
        "class_column": "ClassId",
    },
)
def severstal_steel_defects(folder: Path) -> None:
    train, test = [f"{key}.jpg" for key in keys(40, seed=2)], [f"{key}.jpg" for key in keys(15, seed=3)]
    rows = [[name, 3 if n % 4 else n % 3 + 1, f"{7 + n} 20 {100 + n} 9"] for n, name in enumerate(train[:26])]
    table(folder / "train.csv", ["ImageId", "ClassId", "EncodedPixels"], rows)
    asked = [[f"{name}_{kind}", "1 1"] for name in test for kind in range(1, 5)]
    table(folder / "sample_submission.csv", ["ImageId_ClassId", "EncodedPixels"], asked)
    images(folder / "train_images", train, size=(64, 16))
    images(folder / "test_images", test, size=(64, 16))


@layout(
    metric="Dice",
    family="segmentation",
    id_column="id",
    targets=("segmentation",),
    details={
        "image_column": "id",
        "mask_column": "segmentation",
        "mask_rows": "column",
        "mask_classes": ["large_bowel", "small_bowel", "stomach"],
        "class_column": "class",
        "image_encoding": "any",
    },
)
def organs_named_in_a_column(folder: Path) -> None:
    train, test = keys(20, seed=2), keys(8, seed=3)
    organs = ["large_bowel", "small_bowel", "stomach"]
    rows = [[key, organ, "" if n % 2 else f"{n + 1} 8 {n + 40} 9"] for n, key in enumerate(train) for organ in organs]
    table(folder / "train.csv", ["id", "class", "segmentation"], rows)
    asked = [[key, organ, "1 1"] for key in test for organ in organs]
    table(folder / "sample_submission.csv", ["id", "class", "predicted"], asked)
    images(folder / "train", [f"{key}.png" for key in train], size=(32, 32), mode="I;16")
    images(folder / "test", [f"{key}.png" for key in test], size=(32, 32), mode="I;16")


@layout(
    metric="Dice",
    family="segmentation",
    details={"mask_rows": "image"},
    warns=("2 parts behind the name of an image", "--set mask_rows"),
    settles={"mask_rows": "image"},
)
def classes_of_masks_with_an_underscore(folder: Path) -> None:
    train, test = keys(20, seed=2), keys(8, seed=3)
    organs = ["large_bowel", "small_bowel"]
    rows = [[f"{key}_{organ}", f"{n + 1} 8 {n + 40} 9"] for n, key in enumerate(train) for organ in organs]
    table(folder / "train.csv", ["id", "rle"], rows)
    table(folder / "sample_submission.csv", ["id", "rle"], [[f"{key}_{organ}", ""] for key in test for organ in organs])
    images(folder / "train", [f"{key}.png" for key in train], size=(32, 32))
    images(folder / "test", [f"{key}.png" for key in test], size=(32, 32))


@layout(
    metric="F2 Score at different intersection over union (IoU) thresholds",
    family="segmentation",
    id_column="ImageId",
    targets=("EncodedPixels",),
    metric_is="iou_thresholds",
    details={"image_column": "ImageId", "train_folder": "train_v2", "mask_rows": "piece", "mask_classes": []},
)
def airbus_ships_one_in_a_row(folder: Path) -> None:
    train, test = [f"{key}.jpg" for key in keys(40, seed=2)], [f"{key}.jpg" for key in keys(15, seed=3)]
    ships = [[name, f"{9 + 50 * ship} 6"] for n, name in enumerate(train) for ship in range(n % 4)]
    none = [[name, ""] for n, name in enumerate(train) if n % 4 == 0]
    table(folder / "train_ship_segmentations_v2.csv", ["ImageId", "EncodedPixels"], sorted(ships + none))
    table(folder / "sample_submission_v2.csv", ["ImageId", "EncodedPixels"], [[name, "1 2"] for name in test])
    images(folder / "train_v2", train)
    images(folder / "test_v2", test)


@layout(
    metric="IntersectionOverUnionObjectSegmentation",
    family="segmentation",
    id_column="ImageId",
    targets=("EncodedPixels",),
    details={
        "labels_from": "table",
        "image_column": "ImageId",
        "train_folder": "stage1_train",
        "test_folder": "stage1_test",
        "mask_rows": "piece",
    },
)
def nuclei_in_folders_of_their_own(folder: Path) -> None:
    train, test = keys(20, seed=2), keys(8, seed=3)
    for key in train:
        images(folder / "stage1_train" / key / "images", [f"{key}.png"])
        images(folder / "stage1_train" / key / "masks", [f"{key[:6]}{n}.png" for n in range(6)], mode="L")
    for key in test:
        images(folder / "stage1_test" / key / "images", [f"{key}.png"])
    cells = [[key, f"{9 + 50 * n} 6"] for key in train for n in range(6)]
    table(folder / "stage1_train_labels.csv", ["ImageId", "EncodedPixels"], cells)
    table(folder / "stage1_sample_submission.csv", ["ImageId", "EncodedPixels"], [[key, ""] for key in test])


@layout(
    metric="Intersection over Union",
    family="segmentation",
    id_column="id",
    targets=("rle_mask",),
    target_kind="mask",
    submission="run_length",
    train_table="train.csv",
    details={
        "train_folder": "train/images",
        "test_folder": "test/images",
        "image_suffix": ".png",
        "mask_folder": "train/masks",
        "mask_suffix": ".png",
        "image_size": 96,
        "channels": 1,
        "image_encoding": "png",
    },
)
def salt_identification(folder: Path) -> None:
    train, test = keys(20, seed=2), keys(10, seed=3)
    for place in ("images", "masks"):
        images(folder / "train" / place, [f"{key}.png" for key in train], size=(101, 101), mode="L")
    images(folder / "test/images", [f"{key}.png" for key in test], size=(101, 101), mode="L")
    codes = [[key, "" if n % 3 else "1 30 102 30"] for n, key in enumerate(train)]
    table(folder / "train.csv", ["id", "rle_mask"], codes)
    table(folder / "depths.csv", ["id", "z"], [[key, n] for n, key in enumerate(train + test)])
    table(folder / "sample_submission.csv", ["id", "rle_mask"], [[key, "1 1"] for key in test])


@layout(
    metric="Dice",
    family="segmentation",
    id_column="img",
    target_kind="mask",
    submission="run_length",
    details={
        "train_folder": "train",
        "test_folder": "test",
        "image_suffix": "",
        "mask_folder": "train_masks",
        "mask_suffix": "_mask.gif",
        "image_encoding": "jpeg",
    },
)
def carvana_masks_as_images(folder: Path) -> None:
    cars = [f"{key}_{n:02d}" for key in keys(4, seed=2) for n in range(1, 9)]
    test = [f"{key}_{n:02d}" for key in keys(2, seed=3) for n in range(1, 9)]
    images(folder / "train", [f"{car}.jpg" for car in cars])
    images(folder / "train_masks", [f"{car}_mask.gif" for car in cars], mode="L")
    images(folder / "test", [f"{car}.jpg" for car in test])
    table(folder / "train_masks.csv", ["img", "rle_mask"], [[f"{car}.jpg", "879386 40 881253 141"] for car in cars])
    table(folder / "metadata.csv", ["id", "year", "make"], [[car[:12], 2014, "Acura"] for car in cars[::8]])
    table(folder / "sample_submission.csv", ["img", "rle_mask"], [[f"{car}.jpg", "1 1"] for car in test])


@layout(
    metric="Root Mean Squared Error",
    family="image_to_image",
    id_column="id",
    targets=("value",),
    target_kind="image",
    submission="keyed_rows",
    train_table="",
    test_table="",
    details={
        "train_folder": "train",
        "test_folder": "test",
        "target_folder": "train_cleaned",
        "image_suffix": ".png",
        "channels": 1,
        "image_encoding": "png",
    },
)
def denoising_dirty_documents(folder: Path) -> None:
    for place in ("train", "train_cleaned"):
        images(folder / place, [f"{n}.png" for n in range(2, 30, 3)], size=(20, 12), mode="L")
    images(folder / "test", [f"{n}.png" for n in range(1, 10, 3)], size=(20, 12), mode="L")
    pixels = [[f"{n}_{row}_{column}", 1] for n in range(1, 10, 3) for row in range(1, 13) for column in range(1, 21)]
    table(folder / "sampleSubmission.csv", ["id", "value"], pixels)


@layout(
    metric="Macro F1",
    family="audio",
    id_column="row_id",
    targets=("primary_label",),
    target_kind="class",
    submission="class_columns",
    train_table="train_metadata.csv",
    details={
        "labels_from": "table",
        "audio_column": "filename",
        "train_folder": "train_audio",
        "test_folder": "test_soundscapes",
        "audio_suffix": "",
        "sample_rate": 8_000,
        "seconds": 5.0,
    },
)
def birdclef(folder: Path) -> None:
    birds = ["abethr1", "barswa", "eubeat1"]
    files = [f"{bird}/XC{number}.wav" for bird in birds for number in range(100, 110)]
    sounds(folder / "train_audio", files)
    sounds(folder / "test_soundscapes", ["soundscape_29201.wav", "soundscape_29202.wav"])
    rows = [[file.split("/")[0], "[]", 4.5, file] for file in files]
    table(folder / "train_metadata.csv", ["primary_label", "secondary_labels", "rating", "filename"], rows)
    ends = [f"soundscape_2920{n}_{end}" for n in (1, 2) for end in range(5, 65, 5)]
    table(folder / "sample_submission.csv", ["row_id", *birds], [[end, *[1 / 3] * 3] for end in ends])


@layout(
    metric="Accuracy",
    family="audio",
    id_column="fname",
    target_kind="class",
    submission="label",
    train_table="",
    details={"labels_from": "folders", "train_folder": "train/audio", "test_folder": "test/audio", "audio_suffix": ""},
)
def speech_commands(folder: Path) -> None:
    for word in ("yes", "no", "up"):
        sounds(folder / "train/audio" / word, [f"{key}_nohash_0.wav" for key in keys(6, seed=len(word))])
    test = [f"clip_{key}.wav" for key in keys(9, seed=9)]
    sounds(folder / "test/audio", test)
    table(folder / "sample_submission.csv", ["fname", "label"], [[name, "yes"] for name in test])


@layout(
    metric="MAP@{K}",
    family="audio",
    id_column="fname",
    targets=("label",),
    submission="top_k",
    metric_is="map@3",
    details={"labels_from": "table", "audio_column": "fname", "train_folder": "audio_train", "seconds": 1.0},
)
def sounds_named_in_a_table(folder: Path) -> None:
    train, test = [f"{key}.wav" for key in keys(24, seed=2)], [f"{key}.wav" for key in keys(9, seed=3)]
    sounds(folder / "audio_train", train)
    sounds(folder / "audio_test", test)
    rows = [[name, ["Saxophone", "Bark", "Cough", "Oboe"][n % 4], n % 2] for n, name in enumerate(train)]
    table(folder / "train.csv", ["fname", "label", "manually_verified"], rows)
    table(folder / "sample_submission.csv", ["fname", "label"], [[name, "Oboe Bark Cough"] for name in test])
