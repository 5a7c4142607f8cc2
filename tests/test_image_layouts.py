"""Images in every layout that competitions use: the right files with the right labels and ids, in both notebooks."""

from dataclasses import dataclass

import pytest
from image_layouts import Layout, task, write_images
from layout_files import table

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session", "image_layouts")


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
        Naming("id", "_0.png", "{0}", "{0}/{0}_0.png"),
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
            f"ValueError: 2 of 3 image files of {layout.folder}/train have no class in their names by "
            "LABEL_IN_NAME, the first is '0002.png'."
        ),
    )


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
    classes, truth, batch = layout.seen("train", asked, until="training-batches", look=look)

    assert (classes, truth) == (["a", "b", "c"], [list(row) for row in sets])
    assert sorted(batch) == sorted(truth)
