"""Rows of a table: those that are learnt from, held out, joined by id, and left for the test."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from layout_files import some, table
from notebook_cells import known_after, task_in
from notebook_session import read_table
from test_tabular_family import MANY, features_of, trained_on, write_shop
from written_submissions import table_task

from generator.competition.facts import SubmissionKind, TargetKind, Task

pytest_plugins = ("notebook_session",)


def fold_of(names: SimpleNamespace, task: Task) -> dict[str, Any]:
    """The training and validation inputs of a fold, by the template of the loop of training."""
    from notebook_session import rendered_cells

    lines = rendered_cells("keras", "train", task)["train"].split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip().startswith("preprocessor ="))
    last = next(number for number, line in enumerate(lines) if line.strip().startswith("arguments ="))
    code = "\n".join(line[4:] for line in lines[first:last])
    known = vars(names) | {"train_idx": np.arange(30), "val_idx": np.arange(30, MANY)}
    exec(code, known)  # noqa: S102 - the cells are what is tested
    return {"train": known["inputs"]["row"], "val": known["val_inputs"]["row"], "targets": known["fold_targets"]}


@pytest.mark.slow
def test_what_is_fitted_knows_nothing_of_the_rows_held_out(folder: Path) -> None:
    columns = {"colour": [["red", "green"][number % 2] for number in range(MANY)], "price": list(range(MANY))}
    write_shop(folder, columns)
    task = task_in(folder, "auc")
    names = trained_on(folder, task)
    before = fold_of(names, task)

    names.features.loc[31:, "price"] = 1e9
    names.features.loc[31:, "colour"] = "ochre"
    names.truth[30:] = 1
    after = fold_of(names, task)

    assert before["train"].tolist() == after["train"].tolist()
    assert before["val"][0].tolist() == after["val"][0].tolist()
    assert before["val"][1].tolist() != after["val"][1].tolist()


@pytest.mark.slow
def test_folds_whose_categories_differ_have_equally_many_inputs(folder: Path) -> None:
    write_shop(folder, {"colour": ["red", "green"] * (MANY // 2), "price": range(MANY)})
    names = trained_on(folder, task_in(folder, "auc"))

    few = names.make_preprocessor(len(names.features)).fit_transform(names.features, names.truth.squeeze())
    names.features.loc[:11, "colour"] = [colour for colour in ("ochre", "blue", "grey") for _ in range(4)]
    many = names.make_preprocessor(len(names.features)).fit_transform(names.features, names.truth.squeeze())

    assert few.shape == many.shape
    assert few.shape[1] % 16 == 0


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["auc", "rmse"])
def test_a_training_rows_average_target_says_nothing_of_its_own_target(folder: Path, metric: str) -> None:
    generator = some(7)
    shops = [f"shop {number % 100}" for number in range(400)]
    generator.shuffle(shops)  # so that answers have nothing to do with shops
    write_shop(folder, {"shop": shops, "price": range(400)})
    kind = "class" if metric == "auc" else "number"
    names = trained_on(folder, task_in(folder, metric, target_kind=kind))

    def correlation(inputs: Any) -> float:
        return float(abs(np.corrcoef(inputs[:, -1], names.truth.ravel())[0, 1]))

    assert names.preprocessor.get_feature_names_out()[-1].startswith("target__")
    assert correlation(names.preprocessor.transform(names.features)) > 0.4  # each row among its own
    assert correlation(names.shown) < 0.15


def test_the_class_that_the_submission_asks_for_is_the_last(folder: Path) -> None:
    write_shop(folder, {"price": range(MANY)}, answers=["sold", "kept"] * (MANY // 2))
    asked = [row[0] for row in read_table(folder / "sample_submission.csv")[1:]]
    table(folder / "sample_submission.csv", ["id", "is_kept"], [[name, 0.5] for name in asked])

    assert trained_on(folder).classes == ["sold", "kept"]


def test_groups_of_the_folds_are_neither_learnt_from_nor_averaged(folder: Path) -> None:
    columns = {
        "patient": [number // 4 for number in range(MANY)],
        "colour": [["red", "green"][number % 3 == 0] for number in range(MANY)],
        "price": range(MANY),
    }
    write_shop(folder, columns)

    names = trained_on(folder, task_in(folder, "auc", group_column="patient"))

    assert names.columns == {"numbers": ["price"], "categories": ["colour"]}
    assert not any(name.startswith("target__") for name in names.preprocessor.get_feature_names_out())


def test_labels_of_another_table_are_joined_by_id(folder: Path) -> None:
    write_shop(folder, {"price": range(MANY)})
    rows = [row[:2] for row in read_table(folder / "train.csv")[1:]]
    table(folder / "train.csv", ["id", "price"], rows)
    labels = [[key, int(price) * 10, -int(price)] for key, price in rows]
    table(folder / "labels.csv", ["id", "sales", "returns"], labels[::-1])
    asked = [[row[0], 0, 0] for row in read_table(folder / "test.csv")[1:]]
    table(folder / "sample_submission.csv", ["id", "sales", "returns"], asked)
    task = task_in(folder, "mcrmse")

    names = trained_on(folder, task)

    assert task.labels_table == "labels.csv"
    assert names.truth.tolist() == [[price * 10, -price] for price in names.train["price"]]
    assert names.columns == {"numbers": ["price"], "categories": []}


def test_ids_that_are_dates_are_learnt_from(folder: Path) -> None:
    write_shop(folder, {"price": range(MANY)})
    for name in ("train.csv", "test.csv", "sample_submission.csv"):
        header, *rows = read_table(folder / name)
        hours = [f"2011-{n % 9 + 1:02d}-{n % 28 + 1:02d} {n // 9:02d}:00:00" for n in range(len(rows))]
        table(folder / name, header, [[hour, *row[1:]] for hour, row in zip(hours, rows, strict=True)])

    parts = features_of(folder)[[f"id {part}" for part in ("year", "month", "day", "day_of_week", "hour")]]
    assert parts[:3].to_numpy().tolist() == [[2011, 1, 1, 5, 0], [2011, 2, 2, 2, 0], [2011, 3, 3, 3, 0]]


def test_ids_that_are_no_dates_say_nothing(folder: Path) -> None:
    write_shop(folder, {"price": range(MANY)})

    assert trained_on(folder).columns == {"numbers": ["price"], "categories": []}


def test_rows_without_a_label_are_left_for_the_test_where_one_table_has_both(folder: Path) -> None:
    write_shop(
        folder, {"price": range(MANY)}, answers=["" if number % 5 == 0 else number % 2 for number in range(MANY)]
    )
    asked = [[row[0], 0.5] for row in read_table(folder / "train.csv")[1:] if row[2] == ""]
    table(folder / "sample_submission.csv", ["id", "sold"], asked)
    task = table_task(TargetKind.CLASS, ["sold"], sample="sample_submission.csv")
    task = replace(task, test_table="train.csv", submission=SubmissionKind.PROBABILITY, metric="auc")

    names = trained_on(folder, task)
    assert names.train["price"].tolist() == [price for price in range(MANY) if price % 5]
    assert names.columns == {"numbers": ["price"], "categories": []}

    later = known_after("test-rows", task, "infer", folder)
    assert later.test["price"].tolist() == [price for price in range(MANY) if price % 5 == 0]
