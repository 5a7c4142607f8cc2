"""Tables as they come: what the notebooks make of their columns, and that no answer leaks into what a model sees."""

import csv
import io
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from notebook_session import Mirror, Notebook, Sessions, known_after, read_table, rendered_cells

from generator.competition.builtin.tumours import TUMOURS
from generator.competition.facts import SubmissionKind, TargetKind, Task, Value

pytest_plugins = ("notebook_session",)

Rows = Sequence[Sequence[object]]


def shop_task(*, details: dict[str, Value] | None = None, **others: Any) -> Task:
    """Tables with the column `id` and the answers `sold`, 0 or 1."""
    kept: dict[str, Value] = {"drop_columns": [], "category_columns": [], "batch_size": 16, "epochs": 2}
    return replace(TUMOURS.task, **({"targets": ("sold",)} | others), details=kept | (details or {}))


def write_rows(path: Path, header: Sequence[str], rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def write_shop(mirror: Mirror, columns: dict[str, Sequence[object]], *, test_rows: int = 8) -> Path:
    """Writes a competition whose tables have these columns; the test table is their last rows."""
    folder = mirror.competition
    rows = list(zip(*columns.values(), strict=True))
    training, test = rows[:-test_rows], rows[-test_rows:]
    write_rows(
        folder / "train.csv",
        ["id", *columns, "sold"],
        [(f"{number:03d}", *row, number % 2) for number, row in enumerate(training)],
    )
    write_test(folder, list(columns), test)
    return folder


def write_test(folder: Path, columns: Sequence[str], rows: Rows) -> None:
    ids = [f"t{number}" for number in range(len(rows))]
    write_rows(folder / "test.csv", ["id", *columns], [(name, *row) for name, row in zip(ids, rows, strict=True)])
    write_rows(folder / "sample_submission.csv", ["id", "sold"], [(name, 0.5) for name in ids])


def prepared(mirror: Mirror, task: Task, **parameters: object) -> dict[str, Any]:
    """What the training notebook knows once its rows and the code that encodes them are there; no framework is needed.

    Returns:
        The notebook's names.
    """
    return known_after(mirror, rendered_cells("keras", "train", task), until="predict", **parameters)


def all_rows(names: dict[str, Any]) -> Any:
    return names["np"].arange(len(names["table"]))


def encoded(names: dict[str, Any], preprocessing: dict[str, Any], table: dict[str, Sequence[object]]) -> dict[str, Any]:
    """The inputs of a model for other rows, which went through a file as a test table does."""
    import pandas as pd

    text = pd.DataFrame(table).to_csv(index=False)
    return dict(names["encode"](names["as_items"](pd.read_csv(io.StringIO(text))), preprocessing))


MANY = 60


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (range(MANY), "number"),
        ([None if number % 3 else number / 7 for number in range(MANY)], "number"),
        ([f"{number},5" for number in range(MANY - 1)] + ["?"], "number"),
        ([["red", "green", ""][number % 3] for number in range(MANY)], "category"),
        ([number % 2 == 0 for number in range(MANY)], "category"),
        ([f"2024-0{1 + number % 9}-1{number % 10}T08:30:00Z" for number in range(MANY)], "date"),
        ([f"0{1 + number % 9}/2{number % 9}/2024" for number in range(MANY)], "date"),
        ([f"2{number % 9}/0{1 + number % 9}/2024" for number in range(MANY)], "date, day first"),
        ([f"0{1 + number % 9}.0{1 + number % 7}.2024" for number in range(MANY)], "date, day first"),
        ([f"customer no. {number}" for number in range(MANY)], None),
        ([7] * MANY, None),
        ([None] * MANY, None),
    ],
)
def test_a_column_is_read_for_what_it_holds(
    tmp_path: Path, mirror: Mirror, values: Sequence[object], kind: str | None
) -> None:
    folder = write_shop(mirror, {"x": values, "other": list(range(MANY))})
    for path in folder.glob("*.csv"):  # decimal commas are usual where semicolons separate
        rows = read_table(path)
        path.write_text("\n".join(";".join(row) for row in rows) + "\n")

    names = prepared(mirror, shop_task(details={"separator": ";"}))

    assert names["kinds"].get("x") == kind


def test_the_users_word_on_columns_prevails(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> None:
    write_shop(mirror, {"shelf": [number % 5 for number in range(MANY)], "price": range(MANY), "noise": range(MANY)})

    names = prepared(mirror, shop_task(details={"category_columns": ["shelf"], "drop_columns": ["noise"]}))

    assert names["kinds"] == {"shelf": "category", "price": "number"}
    assert "Left out: noise (named in DROP_COLUMNS)" in capsys.readouterr().out


def test_what_the_test_table_lacks_is_not_learnt_from(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_shop(mirror, {"price": range(MANY), "refunded": range(MANY)})
    write_test(folder, ["price"], [[1], [2]])

    assert set(prepared(mirror, shop_task())["kinds"]) == {"price"}
    assert "Left out: refunded (not in test.csv)" in capsys.readouterr().out


def test_no_column_to_learn_from_is_a_sentence(mirror: Mirror) -> None:
    write_shop(mirror, {"name": [f"customer no. {number}" for number in range(MANY)]})

    with pytest.raises(ValueError, match=r"No column of train.csv is left to learn from; it has id, name\. Check"):
        prepared(mirror, shop_task())


def test_a_test_table_with_other_types_is_read_alike(mirror: Mirror) -> None:
    columns = {"shelf": [number % 5 for number in range(MANY)], "price": range(MANY), "ok": [True, False] * (MANY // 2)}
    write_shop(mirror, columns)
    names = prepared(mirror, shop_task(details={"category_columns": ["shelf"]}))
    preprocessing = names["fit_preprocessing"](names["np"].arange(40))

    whole = encoded(names, preprocessing, {"shelf": [3, 1], "price": [10, 20], "ok": [True, False]})
    with_gaps = encoded(
        names, preprocessing, {"shelf": [3, 1, None], "price": ["10", "20.0", "sold out"], "ok": [True, False, None]}
    )

    assert {name: values[:2].tolist() for name, values in with_gaps.items()} == {
        name: values.tolist() for name, values in whole.items()
    }


def test_gaps_and_unknown_categories_have_codes_of_their_own(mirror: Mirror) -> None:
    write_shop(mirror, {"colour": [["red", "green", ""][number % 3] for number in range(MANY)], "price": range(MANY)})
    names = prepared(mirror, shop_task())
    preprocessing = names["fit_preprocessing"](names["np"].arange(52))

    inputs = encoded(names, preprocessing, {"colour": ["green", "red", None, "mauve"], "price": [1, 2, None, 4]})
    without = encoded(names, preprocessing, {"price": [1]})

    assert inputs["categories"].ravel().tolist() == [2, 3, 0, 1]
    assert inputs["numbers"][2, 0] == 0  # the median
    assert without["categories"].ravel().tolist() == [0]
    assert names["np"].isfinite(inputs["numbers"]).all()


def test_rare_categories_are_one(mirror: Mirror) -> None:
    colours = ["red"] * 30 + ["green"] * 26 + ["mauve", "ochre", "red", "green"]
    write_shop(mirror, {"colour": colours}, test_rows=2)
    names = prepared(mirror, shop_task())

    assert names["fit_preprocessing"](names["np"].arange(58))["vocabularies"] == {"colour": ["green", "red"]}


def test_what_is_fitted_knows_nothing_of_the_rows_held_out(mirror: Mirror) -> None:
    columns = {"colour": [["red", "green"][number % 2] for number in range(MANY)], "price": list(range(MANY))}
    write_shop(mirror, columns)
    names = prepared(mirror, shop_task())
    before = names["fit_preprocessing"](names["np"].arange(30))

    names["items"]["price"][30:] = 1e9
    names["items"]["colour"][30:] = "ochre"
    names["truth"][30:] = 1

    assert names["fit_preprocessing"](names["np"].arange(30)) == before


def test_a_training_rows_average_target_says_nothing_of_its_own_target(mirror: Mirror) -> None:
    generator = random.Random(7)  # noqa: S311 - no secret
    shops = [f"shop {number % 100}" for number in range(400)]
    generator.shuffle(shops)  # so that answers have nothing to do with shops
    write_shop(mirror, {"shop": shops})
    names = prepared(mirror, shop_task(), RARE=1, SMOOTHING=1.0)
    np, rows = names["np"], all_rows(names)
    preprocessing = names["fit_preprocessing"](rows)

    def correlation(numbers: Any) -> float:
        return float(np.corrcoef(numbers[:, -1], names["truth"])[0, 1])

    assert correlation(names["encode"](names["items"], preprocessing)["numbers"]) > 0.4  # each row among its own
    assert abs(correlation(names["training_inputs"](rows, preprocessing)["numbers"])) < 0.15


def test_the_rows_of_the_check_survive_the_hand_over(mirror: Mirror, tmp_path: Path) -> None:
    columns = {
        "colour": [["réd", "7", ""][number % 3] for number in range(MANY)],
        "file": [number / 7 if number % 4 else None for number in range(MANY)],
        "a/b": [f"2024-01-{1 + number % 28:02d}" for number in range(MANY)],
    }
    write_shop(mirror, columns)
    names = prepared(mirror, shop_task())
    np, preprocessing = names["np"], names["fit_preprocessing"](all_rows(names))

    np.savez(tmp_path / "check.npz", predictions=np.zeros(4), **names["check_content"](np.array([0, 1, 2, 40])))
    exec(rendered_cells("keras", "infer", shop_task())["check-items"], names)  # noqa: S102 - the cells are what is tested
    with np.load(tmp_path / "check.npz") as content:  # an array of objects would not load
        handed_over = names["encode"](names["check_items"](content), preprocessing)

    original = names["encode"](names["select"](names["items"], np.array([0, 1, 2, 40])), preprocessing)
    assert {name: values.tolist() for name, values in handed_over.items()} == {
        name: values.tolist() for name, values in original.items()
    }


def test_labels_of_another_table_are_joined_by_id(mirror: Mirror) -> None:
    folder = write_shop(mirror, {"price": range(MANY)})
    labels = [(row[0], int(row[1]) * 10, -int(row[1])) for row in read_table(folder / "train.csv")[1:]]
    write_rows(folder / "labels.csv", ["id", "sales", "returns"], labels[::-1])

    names = prepared(
        mirror,
        shop_task(
            metric="mcrmse",
            target_kind=TargetKind.NUMBER,
            submission=SubmissionKind.NUMBERS,
            targets=("sales", "returns"),
            labels_table="labels.csv",
        ),
    )

    prices = names["items"]["price"]
    assert names["truth"].tolist() == [[price * 10, -price] for price in prices]
    assert set(names["items"]) == {"price"}


def test_ids_that_are_dates_are_learnt_from(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_shop(mirror, {"price": range(MANY)})
    for name in ("train.csv", "test.csv", "sample_submission.csv"):
        header, *rows = read_table(folder / name)
        hours = [f"2011-{n % 9 + 1:02d}-{n % 28 + 1:02d} {n // 9:02d}:00:00" for n in range(len(rows))]
        write_rows(folder / name, header, [(hour, *row[1:]) for hour, row in zip(hours, rows, strict=True)])

    names = prepared(mirror, shop_task())

    assert names["kinds"] == {"id": "date", "price": "number"}
    numbers = names["raw_numbers"](names["items"], names["kinds"])
    assert numbers[:3, :5].tolist() == [[2011, 1, 1, 5, 0], [2011, 2, 2, 2, 0], [2011, 3, 3, 3, 0]]


def test_ids_that_are_no_dates_say_nothing(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> None:
    write_shop(mirror, {"price": range(MANY)})

    names = prepared(mirror, shop_task())

    assert names["kinds"] == {"price": "number"}
    assert "Left out: id" in capsys.readouterr().out


def test_rows_without_a_label_are_left_for_the_test_where_one_table_has_both(mirror: Mirror) -> None:
    folder = write_shop(mirror, {"price": range(MANY)})
    header, *rows = read_table(folder / "train.csv")
    kept = [(*row[:2], "" if int(row[1]) % 5 == 0 else row[2]) for row in rows]
    write_rows(folder / "train.csv", header, kept)

    names = prepared(mirror, shop_task(test_table="train.csv"))

    assert names["items"]["price"].tolist() == [price for price in range(len(rows)) if price % 5]
    assert set(names["items"]) == {"price"}


def test_many_classes_and_only_categories_are_encoded(mirror: Mirror) -> None:
    folder = write_shop(mirror, {"colour": [f"c{number % 12}" for number in range(128)]})
    rows = read_table(folder / "train.csv")[1:]
    write_rows(folder / "train.csv", ["id", "colour", "sold"], [(*row[:2], f"class {row[1]}") for row in rows])
    task = shop_task(metric="log_loss", submission=SubmissionKind.CLASS_COLUMNS)

    names = prepared(mirror, task)
    preprocessing = names["fit_preprocessing"](all_rows(names))

    assert list(names["training_inputs"](all_rows(names), preprocessing)) == ["categories"]
    assert names["model_arguments"](preprocessing)["number_count"] == 0


def run(sessions: Sessions, mirror: Mirror, notebook: Notebook, **others: Any) -> Any:
    training: dict[str, Any] = {"ALLOW_CPU": True, "FOLDS": 1, "MEMBERS": 4} if notebook.role == "train" else {}
    roots = {"INPUT_ROOT": str(mirror.input), "WORKING_ROOT": str(mirror.working / notebook.role)}
    return sessions.run(notebook, roots | training | others)


def trained_shop(sessions: Sessions, mirror: Mirror, task: Task, framework: str) -> None:
    ended = run(sessions, mirror, Notebook(framework, "train", task=task))
    assert ended.is_done, ended
    mount = mirror.output_of_training(framework)
    mount.parent.mkdir(parents=True)
    (mirror.working / "train").rename(mount)


def shop_columns() -> dict[str, Sequence[object]]:
    """Columns from which the answers can be told: odd rows have low prices."""
    return {
        "price": [(10 if number % 2 else 20) + number % 3 for number in range(108)],
        "colour": [["red", "green", "blue"][number % 3] for number in range(108)],
        "day": [f"2024-01-{1 + number % 28:02d}" for number in range(108)],
    }


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_a_pair_learns_and_predicts_a_test_table_that_training_has_not_seen(
    sessions: Sessions, mirror: Mirror, framework: str
) -> None:
    task = shop_task(details={"epochs": 12})
    folder = write_shop(mirror, shop_columns())
    trained_shop(sessions, mirror, task, framework)
    hidden = [[None, "mauve", "no date"], ["11.0", None, "2024-01-31"], ["21.0", "red", None]]
    write_test(folder, ["price", "colour", "day"], hidden)

    ended = run(sessions, mirror, Notebook(framework, "infer", task=task))

    assert ended.is_done, ended
    header, *rows = read_table(mirror.working / "infer" / "submission.csv")
    assert header == ["id", "sold"]
    assert [row[0] for row in rows] == ["t0", "t1", "t2"]
    assert float(rows[2][1]) < 0.5 < float(rows[1][1])


@pytest.mark.slow
def test_a_pair_answers_each_row_with_the_probability_of_the_label_that_its_id_ends_in(
    sessions: Sessions, mirror: Mirror
) -> None:
    task = shop_task(
        metric="log_loss_mean_columns",
        target_kind=TargetKind.LABELS,
        submission=SubmissionKind.KEYED_ROWS,
        targets=("sold", "is_red"),
        details={"epochs": 12},
    )
    folder = write_shop(mirror, shop_columns())
    header, *rows = read_table(folder / "train.csv")
    write_rows(folder / "train.csv", [*header, "is_red"], [(*row, int(row[2] == "red")) for row in rows])
    write_test(folder, ["price", "colour", "day"], [["11.0", "blue", "2024-01-02"], ["21.0", "red", "2024-01-03"]])
    asked = ["t1_is_red", "t1_sold", "t0_sold", "t0_is_red"]
    write_rows(folder / "sample_submission.csv", ["id", "Label"], [(key, 0.5) for key in asked])
    trained_shop(sessions, mirror, task, "tensorflow")

    ended = run(sessions, mirror, Notebook("tensorflow", "infer", task=task))

    assert ended.is_done, ended
    header, *answers = read_table(mirror.working / "infer" / "submission.csv")
    assert header == ["id", "Label"]
    assert [(key, float(value) > 0.5) for key, value in answers] == list(zip(asked, [True, False] * 2, strict=True))


@pytest.mark.slow
def test_ids_of_the_sample_that_the_test_table_lacks_stop_inference(sessions: Sessions, mirror: Mirror) -> None:
    folder = write_shop(mirror, shop_columns())
    write_rows(folder / "sample_submission.csv", ["id", "sold"], [("t0", 0.5), ("t99", 0.5)])

    ended = run(sessions, mirror, Notebook("tensorflow", "infer", task=shop_task()))

    assert ended.cell == "test-rows"
    assert re.search(
        r"test.csv has no row for 1 of the 2 ids of sample_submission.csv, the first is 't99'", ended.error
    )
