"""Bad tables stop a notebook with a sentence before they cost anything; strange names are only names.

Nearly all of it is read in this process: a sentence that comes before the first framework is used comes in seconds.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from layout_files import table
from notebook_cells import known_after, task_in
from notebook_competitions import Shops, shop_task, write_shops
from notebook_session import Mirror, Notebook, Sessions, names_below, read_table

pytest_plugins = ("notebook_session",)

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

TOO_FEW = "At least two classes are needed, with more rows than classes."


def without_labels(shops: Shops) -> None:
    header, *rows = read_table(shops.folder / "train.csv")
    table(shops.folder / "train.csv", [*header[:-1], "thrive"], rows)


def without_ids(shops: Shops) -> None:
    header, *rows = read_table(shops.folder / "train.csv")
    table(shops.folder / "train.csv", ["shop", *header[1:]], rows)


def with_gaps(shops: Shops) -> None:
    rows = shops.training
    shops.write_training([*rows[:4], (*rows[4][:-1], ""), (*rows[5][:-1], "NaN"), *rows[6:]])


def with_gaps_alone(shops: Shops) -> None:
    shops.write_training([(*row[:-1], "") for row in shops.training])


def with_one_class(shops: Shops) -> None:
    shops.write_training([(*row[:-1], "7") for row in shops.training])


def with_classes_of_one(shops: Shops) -> None:
    shops.write_training([(*row[:-1], f"class {row[0]}") for row in shops.training])


def with_a_gap_among_the_ids(shops: Shops) -> None:
    shops.write_training([*shops.training[:4], ("", *shops.training[4][1:]), *shops.training[5:]])


def with_an_id_twice(shops: Shops) -> None:
    first, second = shops.training[:2]
    shops.write_training([*shops.training, (first[0], *second[1:]), (second[0], *first[1:])])


def with_no_row(shops: Shops) -> None:
    shops.write_training([])


NO_ID = "rows have no id, {} repeat one. Drop repeated rows, or generate with --set group_column=id."


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (without_labels, "train.csv has no column thrives."),
        (without_ids, "train.csv has no column id."),
        (with_one_class, f"80 of 80 examples have thrives, 1 classes. {TOO_FEW}"),
        (with_classes_of_one, f"80 of 80 examples have thrives, 80 classes. {TOO_FEW}"),
        (with_gaps_alone, f"0 of 80 examples have thrives, 0 classes. {TOO_FEW}"),
        (with_a_gap_among_the_ids, f"1 of 80 {NO_ID.format(0)}"),
        (with_an_id_twice, f"0 of 82 {NO_ID.format(2)}"),
        (with_no_row, f"0 of 0 {NO_ID.format(0)}"),
    ],
)
def test_labels_that_would_train_a_wrong_model_are_refused(
    tmp_path: Path, damage: Callable[[Shops], None], sentence: str
) -> None:
    shops = write_shops(tmp_path / "shops")
    damage(shops)

    with pytest.raises(ValueError, match=r"\.$") as refused:
        known_after("targets", shop_task(), "train", shops.folder)

    assert str(refused.value) == sentence
    assert names_below(tmp_path / "working") == []


def test_rows_without_a_class_are_left_out(tmp_path: Path) -> None:
    shops = write_shops(tmp_path / "shops")
    with_gaps(shops)

    names = known_after("targets", shop_task(), "train", shops.folder)

    left = [row for index, row in enumerate(shops.training) if index not in (4, 5)]
    assert names.train["id"].tolist() == [row[0] for row in left]
    assert [names.classes[index] for index in names.truth] == [row[-1] for row in left]


def test_a_class_of_one_is_a_class_and_its_row_is_held_out_like_others(tmp_path: Path) -> None:
    shops = write_shops(tmp_path / "shops")
    shops.write_training([(*shops.training[0][:-1], "2"), *shops.training[1:]])

    with pytest.warns(UserWarning, match="The least populated class"):
        names = known_after("assign-folds", shop_task(), "train", shops.folder, N_FOLDS=3)

    assert names.classes == ["0", "1", "2"]
    assert names.targets.shape == (80, 3)
    assert set(names.fold_of_row) == {0, 1, 2}


@pytest.mark.slow
def test_tables_may_have_no_ids(sessions: Sessions, mirror: Mirror) -> None:
    shops = write_shops(mirror.competition)
    for name in ("train.csv", "test.csv"):
        header, *rows = read_table(shops.folder / name)
        table(shops.folder / name, header[1:], [row[1:] for row in rows])
    table(shops.folder / "sample_submission.csv", ["id", "thrives"], [[number, 0.5] for number in range(20, -1, -1)])
    task = task_in(shops.folder, "auc")
    train, infer = (Notebook("keras", role, task=task) for role in ("train", "infer"))

    ended = sessions.finished(train, mirror.parameters(train, N_FOLDS=1))
    header, *judged = read_table(mirror.working / "oof.csv")
    assert header[0] == "id"
    assert [row[header.index("rent")] for row in judged] == [shops.training[int(row[0])][2] for row in judged]

    mirror.working.rename(mirror.root / "train")
    ended = sessions.finished(
        infer, mirror.parameters(infer), look="[float(row['rent']) for _, row in test.iterrows()]"
    )

    assert ended.seen == [float(row[1]) for row in read_table(shops.folder / "test.csv")[:0:-1]]
    assert [row[0] for row in read_table(mirror.working / "submission.csv")[1:]] == [str(n) for n in range(20, -1, -1)]


SAMPLE = "sample_submission.csv"


@pytest.mark.parametrize(
    ("header", "ids", "sentence"),
    [
        (("id", "thrives"), ["a", "b"], "test.csv lacks 2 ids of the sample, such as 'a'."),
        (("id", "thrives"), ["s083", "s083"], f"{SAMPLE} needs unique id and answers: ['id', 'thrives']."),
        (("name", "thrives"), ["s083"], f"{SAMPLE} needs unique id and answers: ['name', 'thrives']."),
        (("id",), ["s083"], f"{SAMPLE} needs unique id and answers: ['id']."),
        (("id", "thrives"), [], f"{SAMPLE} needs unique id and answers: ['id', 'thrives']."),
    ],
)
def test_a_sample_that_does_not_ask_for_the_test_rows_is_refused(
    tmp_path: Path, header: tuple[str, ...], ids: list[str], sentence: str
) -> None:
    shops = write_shops(tmp_path / "shops")
    table(shops.folder / SAMPLE, list(header), [[name, 0.5][: len(header)] for name in ids])

    with pytest.raises(ValueError, match=r"\.$") as refused:
        known_after("test-rows", shop_task(), "infer", shops.folder)

    assert str(refused.value) == sentence
    assert names_below(tmp_path / "working") == []


def test_an_id_twice_in_the_test_table_is_refused(tmp_path: Path) -> None:
    shops = write_shops(tmp_path / "shops")
    header, *rows = read_table(shops.folder / "test.csv")
    table(shops.folder / "test.csv", header, [*rows, rows[0]])

    with pytest.raises(ValueError, match=r"^test.csv does not have one row for each id\.$"):
        known_after("test-rows", shop_task(), "infer", shops.folder)


def test_the_rows_to_predict_are_in_the_order_of_the_sample(tmp_path: Path) -> None:
    shops = write_shops(tmp_path / "shops")
    shops.write_sample(shops.asked[::-1])

    names = known_after("test-rows", shop_task(), "infer", shops.folder)

    assert names.ids == names.test["id"].tolist() == shops.asked[::-1]


@pytest.mark.slow
def test_strange_class_names_come_back_in_the_submission(sessions: Sessions, mirror: Mirror) -> None:
    folder = mirror.competition
    rows = [[f"{number:03d}", number % 10 + (number % 7) / 20, STRANGE_NAMES[number % 10]] for number in range(260)]
    folder.mkdir(parents=True)
    table(folder / "train.csv", ["id", "it's {{ a }} \\number", "label"], rows[:200])
    table(folder / "test.csv", ["id", "it's {{ a }} \\number"], [row[:2] for row in rows[200:]])
    table(folder / SAMPLE, ["id", "label"], [[row[0], "it's"] for row in rows[200:]])
    small = {"EPOCHS": 20, "N_FOLDS": 1, "K": 4, "LEARNING_RATE": 0.03}

    header, *predicted = sessions.predicted(mirror, "keras", task_in(folder, "accuracy"), **small)

    assert header == ["id", "label"]
    assert [name for name, _ in predicted] == [row[0] for row in rows[200:]]
    answers = {str(row[0]): row[2] for row in rows}
    right = [name for name, label in predicted if answers[name] == label]
    assert {answers[name] for name in right} == set(STRANGE_NAMES)


@pytest.mark.slow
def test_a_smoke_test_runs_every_cell_on_few_rows_and_leaves_the_others_as_they_are(
    sessions: Sessions, mirror: Mirror
) -> None:
    shops = write_shops(mirror.competition, training_rows=800, test_rows=90)
    task = task_in(shops.folder, "auc")
    train, infer = (Notebook("keras", role, task=task) for role in ("train", "infer"))

    ended = sessions.finished(train, mirror.parameters(train, DEBUG=True, EPOCHS=9), look="[len(train), epochs]")

    assert ended.seen == [256, 2]
    assert len(json.loads((mirror.working / "handoff.json").read_text())["folds"]) == 2

    mirror.working.rename(mirror.root / "train")
    ended = sessions.finished(infer, mirror.parameters(infer, DEBUG=True), look="len(predictions)")

    assert ended.seen == 64
    _, *written = read_table(mirror.working / "submission.csv")
    assert [name for name, _ in written] == shops.asked
    assert {value for _, value in written[64:]} == {"0.5"}
    assert "0.5" not in {value for _, value in written[:64]}
