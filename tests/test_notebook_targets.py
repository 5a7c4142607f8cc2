"""Every kind of target is read, split and scaled back as it should, in notebooks for tables."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layout_files import table
from notebook_cells import executed_alone, known_after
from notebook_session import Mirror, Sessions
from written_submissions import table_task

from generator.competition.facts import SubmissionKind, TargetKind, Task

pytest_plugins = ("notebook_session",)

KINDS = [TargetKind.CLASS, TargetKind.LABELS, TargetKind.NUMBER]


def read(folder: Path, task: Task, text: str, *more: str, **parameters: object) -> SimpleNamespace:
    """The names of the training notebook once it has read this table."""
    (folder / "some").mkdir(exist_ok=True)
    (folder / "some" / "train.csv").write_text(text)
    return known_after("targets", task, "train", folder / "some", more=more, **parameters)


def names_of_classes(names: SimpleNamespace) -> list[str]:
    return [names.classes[index] for index in names.truth]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [(["10", "9", "10"], ["9", "10"]), (["b", "a", "b"], ["a", "b"]), (["007", "7", "7"], ["007", "7"])],
)
def test_classes_are_in_the_order_of_their_numbers_or_names(
    tmp_path: Path, labels: list[str], classes: list[str]
) -> None:
    rows = "".join(f"{row},{label}\n" for row, label in enumerate(labels))

    names = read(tmp_path, table_task(TargetKind.CLASS), "id,label\n" + rows)

    assert names.classes == classes
    assert names_of_classes(names) == labels
    assert names.targets.argmax(axis=1).tolist() == names.truth.tolist()


def test_pictures_have_the_names_of_numbered_classes_and_labels_stay_numbers(tmp_path: Path) -> None:
    task = table_task(TargetKind.CLASS, class_names=["ant", "bee", ""])

    names = read(tmp_path, task, "id,label\n1,1\n2,0\n3,2\n4,10\n5,1\n")

    assert names.class_names == ["ant", "bee", "2", "10"]
    assert names_of_classes(names) == ["1", "0", "2", "10", "1"]


def test_the_class_is_the_column_that_is_set(tmp_path: Path) -> None:
    task = table_task(TargetKind.CLASS, ["rust", "scab", "healthy"])

    names = read(tmp_path, task, "id,rust,scab,healthy\n1,1,0,0\n2,0,0,1\n3,0,1,0\n4,0,0,1\n")

    assert names_of_classes(names) == ["rust", "healthy", "scab", "healthy"]


def test_labels_in_columns_are_read_as_they_stand(tmp_path: Path) -> None:
    names = read(tmp_path, table_task(TargetKind.LABELS, ["b", "a"]), "id,a,b\n1,1,0\n2,0,0\n3,1.0,1\n")

    assert names.classes == ["b", "a"]
    assert names.truth.tolist() == names.targets.tolist() == [[0, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize("cell", ["2", "-1", "yes"])
def test_labels_that_are_neither_0_nor_1_are_counted(tmp_path: Path, cell: str) -> None:
    with pytest.raises(ValueError, match=r"1 labels in a, b are neither 0 nor 1\."):
        read(tmp_path, table_task(TargetKind.LABELS, ["a", "b"]), f"id,a,b\n1,1,0\n2,0,{cell}\n")


def test_rows_that_lack_a_class_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = read(tmp_path, table_task(TargetKind.CLASS), "id,label\n1,\n2,b\n3,\n4,a\n5,b\n", DEBUG=True)

    assert names.train["id"].tolist() == ["2", "4", "5"]
    assert (names.classes, names_of_classes(names)) == (["a", "b"], ["b", "a", "b"])
    assert "3 of 5 examples have label, others are dropped." in capsys.readouterr().out


def test_rows_none_of_whose_classes_is_set_are_left_out_where_nothing_stands(tmp_path: Path) -> None:
    names = read(tmp_path, table_task(TargetKind.CLASS, ["rust", "scab"]), "id,rust,scab\n1,,\n2,,1\n3,1,\n4,0,1\n")

    assert names.train["id"].tolist() == ["2", "3", "4"]
    assert names_of_classes(names) == ["scab", "rust", "scab"]


def test_rows_that_lack_one_of_several_labels_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = read(tmp_path, table_task(TargetKind.LABELS, ["a", "b"]), "id,a,b\n1,1,\n2,0,1\n3,,0\n4,1,0\n")

    assert names.train["id"].tolist() == ["2", "4"]
    assert names.truth.tolist() == names.targets.tolist() == [[0, 1], [1, 0]]
    assert "2 of 4 rows lack one of the labels and are left out." in capsys.readouterr().out


def test_a_table_all_of_whose_rows_lack_one_of_several_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^No row has all of a, b: there is nothing to learn from\.$"):
        read(tmp_path, table_task(TargetKind.LABELS, ["a", "b"]), "id,a,b\n1,1,\n2,,1\n")


@pytest.mark.parametrize(
    ("separator", "cells"),
    [
        *((" ", ["b a", "", "a  c"]), ("|", ["b|a", "", "a|c|"]), (", ", ["b, a", "", "a, c"])),
        ("", ["b a", "", "a  c"]),
    ],
)
def test_labels_listed_in_one_column_are_told_apart(tmp_path: Path, separator: str, cells: list[str]) -> None:
    rows = "".join(f'{index},"{cell}"\n' for index, cell in enumerate(cells))

    names = read(tmp_path, table_task(TargetKind.LABELS, label_separator=separator), "id,label\n" + rows)

    assert names.classes == ["a", "b", "c"]
    assert names.truth.tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 1]]


def test_a_list_of_one_label_only_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"fewer than two labels in label: check TARGETS"):
        read(tmp_path, table_task(TargetKind.LABELS, label_separator=" "), "id,label\n1,a\n2,\n3,a\n")


def test_a_smoke_test_has_an_example_of_the_rarest_label(tmp_path: Path) -> None:
    rows = "".join(f"{row},{int(row == 900)},1\n" for row in range(1_000))
    task = table_task(TargetKind.LABELS, ["rare", "common"])

    names = read(tmp_path, task, "id,rare,common\n" + rows, DEBUG=True)

    assert len(names.train) == len(names.truth) == 256
    assert names.truth.sum(axis=0).tolist() == [1, 256]
    assert names.train["id"][names.truth[:, 0] == 1].tolist() == ["900"]


def test_a_smoke_test_has_rows_of_every_class(tmp_path: Path) -> None:
    rows = "".join(f"{row},{'rare' if row > 996 else 'common'}\n" for row in range(1_000))

    names = read(tmp_path, table_task(TargetKind.CLASS), "id,label\n" + rows, DEBUG=True)

    assert len(names.train) == len(names.truth) <= 256
    assert names.train["label"].tolist() == names_of_classes(names)
    assert names.train["id"].tolist()[-3:] == ["997", "998", "999"]


@pytest.mark.parametrize(("metric", "is_log"), [("rmse", False), ("rmsle", True)])
def test_numbers_come_back_in_their_own_scale(tmp_path: Path, metric: str, is_log: bool) -> None:
    text = "id,price,age\n" + "".join(f"{row},{10 ** (row / 9)},{row % 7}\n" for row in range(40))
    names = read(tmp_path, table_task(TargetKind.NUMBER, ["price", "age"], metric=metric), text, "activate")

    np.testing.assert_allclose(names.targets, np.log1p(names.truth) if is_log else names.truth, rtol=1e-6)
    np.testing.assert_allclose(names.target_mean, names.targets.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(names.target_deviation, names.targets.std(axis=0), rtol=1e-5)
    members = np.stack([names.targets - 1, names.targets + 1], axis=1)
    np.testing.assert_allclose(names.activate(members), names.truth, rtol=1e-4, atol=1e-4)
    assert (names.activate(members - 99).min() < 0) is not is_log


@pytest.mark.parametrize(("metric", "expected"), [("rmse", [[50.5, 3.0]]), ("rmsle", [[13.2127, 2.4641]])])
def test_models_are_averaged_on_the_scale_that_the_metric_compares(
    tmp_path: Path, metric: str, expected: list[list[float]]
) -> None:
    models = [np.array([[1.0, 5.0]]), np.array([[100.0, 1.0]])]
    told = {"columns": {}, "test": pd.DataFrame(), "make_features": lambda rows, columns: rows, "ensemble": models}
    told |= {"ids": ["a17"], "WORKING_ROOT": str(tmp_path)}

    names = executed_alone(
        *(["predict-test"], table_task(TargetKind.NUMBER, ["price", "age"], metric=metric), "infer"),
        **{**told, "predict_fold": lambda member, features: member},
    )

    np.testing.assert_allclose(names.predictions, expected, atol=1e-3)
    with np.load(tmp_path / "predictions.npz") as saved:
        assert saved["ids"].tolist() == ["a17"]
        np.testing.assert_allclose(saved["predictions"], expected, atol=1e-3)


@pytest.mark.parametrize("cell", ["cheap", "inf"])
def test_values_that_are_no_numbers_are_counted(tmp_path: Path, cell: str) -> None:
    with pytest.raises(ValueError, match=r"^Of 3 values of label 1 are no numbers, the others are 2 different ones\. "):
        read(tmp_path, table_task(TargetKind.NUMBER), f"id,label\n1,1.5\n2,{cell}\n3,4\n")


def test_a_number_that_is_always_the_same_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^Of 3 values of label 0 are no numbers, the others are 1 different ones\. "):
        read(tmp_path, table_task(TargetKind.NUMBER), "id,label\n1,4.5\n2,4.5\n3,4.5\n")


def test_rows_that_lack_the_number_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = read(tmp_path, table_task(TargetKind.NUMBER), "id,label\n1,1.5\n2,\n3,4\n", DEBUG=True)

    assert sorted(zip(names.train["id"], names.truth.tolist(), strict=True)) == [("1", [1.5]), ("3", [4.0])]
    assert "1 of 3 rows lack one of the targets and are left out." in capsys.readouterr().out


def test_rows_that_lack_one_of_several_numbers_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = table_task(TargetKind.NUMBER, ["a", "b"])

    names = read(tmp_path, task, "id,a,b\n1,1,2\n2,,3\n3,5,\n4,7,8\n")

    assert names.truth.tolist() == [[1, 2], [7, 8]]
    assert names.train["id"].tolist() == ["1", "4"]
    assert "2 of 4 rows lack one of the targets and are left out." in capsys.readouterr().out


def test_a_table_all_of_whose_rows_lack_one_of_several_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^Of 0 values of a, b 0 are no numbers, the others are 0 different ones\. "):
        read(tmp_path, table_task(TargetKind.NUMBER, ["a", "b"]), "id,a,b\n1,1,\n2,,3\n")


@pytest.mark.parametrize("kind", [TargetKind.CLASS, TargetKind.LABELS])
def test_members_of_a_model_are_averaged_as_probabilities(kind: TargetKind) -> None:
    activate = executed_alone(["activate"], table_task(kind), "infer").activate
    outputs = np.random.default_rng(0).normal(size=(5, 4, 3))

    averaged = activate(outputs)

    assert averaged.shape == (5, 3)
    odds = np.exp(outputs)
    each = odds / (odds.sum(axis=2, keepdims=True) if kind is TargetKind.CLASS else 1 + odds)
    np.testing.assert_allclose(averaged, each.mean(axis=1))


def truth_of(kind: TargetKind, rows: int) -> Any:
    random = np.random.default_rng(1)
    return {
        TargetKind.CLASS: random.integers(0, 3, rows).astype("int32"),
        TargetKind.LABELS: (random.random((rows, 6)) < 0.3).astype("float32"),
        TargetKind.NUMBER: random.lognormal(size=(rows, 2)).astype("float32"),
    }[kind]


def folds_of(kind: TargetKind, truth: Any, train: pd.DataFrame, folds: int, **details: str) -> Any:
    """The fold of each row, and the folds that are trained."""
    task = table_task(kind, **details)
    train = train if "id" in train else train.assign(id=[f"row {row}" for row in range(len(train))])
    names = executed_alone(["assign-folds"], task, "train", truth=truth, train=train, N_FOLDS=folds)
    return names.fold_of_row, list(names.folds)


@pytest.mark.parametrize("folds", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_held_out_once_and_the_folds_are_alike(kind: TargetKind, folds: int) -> None:
    truth = truth_of(kind, 300)

    fold_of_row, trained = folds_of(kind, truth, pd.DataFrame({"id": range(300)}), folds)

    splits = folds if folds > 1 else 5
    assert trained == list(range(folds))
    sizes = np.bincount(fold_of_row)
    assert len(sizes) == splits
    assert sizes.max() - sizes.min() <= 4
    if kind is TargetKind.CLASS:
        shares = [np.bincount(truth[fold_of_row == fold]) / sizes[fold] for fold in range(splits)]
        np.testing.assert_allclose(shares, np.broadcast_to(np.bincount(truth) / 300, (splits, 3)), atol=0.03)
    if kind is TargetKind.NUMBER:
        medians = [np.median(truth[fold_of_row == fold, 0]) for fold in range(splits)]
        np.testing.assert_allclose(medians, np.median(truth[:, 0]), rtol=0.2)


@pytest.mark.parametrize("details", [{}, {"group_column": "patient"}])
@pytest.mark.parametrize("kind", KINDS)
def test_folds_depend_on_ids_and_not_on_the_order_of_the_rows(kind: TargetKind, details: dict[str, str]) -> None:
    truth, shuffled = truth_of(kind, 300).round(1), np.random.default_rng(3).permutation(300)
    train = pd.DataFrame({"id": np.arange(300) * 7, "patient": [f"patient {row // 3}" for row in range(300)]})

    fold_of_row, _ = folds_of(kind, truth, train, 4, **details)
    others, _ = folds_of(kind, truth[shuffled], train.iloc[shuffled].reset_index(drop=True), 4, **details)

    assert others.tolist() == fold_of_row[shuffled].tolist()


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("kind", KINDS)
def test_a_group_is_never_split(kind: TargetKind) -> None:
    groups = [None if group == "patient 7" else group for group in (f"patient {row * 7 % 37}" for row in range(300))]
    truth = truth_of(kind, 300)
    if kind is TargetKind.CLASS:
        truth[0] = 3  # the only example of its class

    fold_of_row, _ = folds_of(kind, truth, pd.DataFrame({"patient": groups}), 4, group_column="patient")

    folds_of_group = pd.Series(fold_of_row).groupby(pd.Series(groups).fillna("none")).unique()
    assert [list(folds) for folds in folds_of_group if len(folds) > 1] == []
    assert np.bincount(fold_of_row).min() >= 50


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_text", [False, True])
def test_folds_in_time_hold_out_the_latest_span_first(kind: TargetKind, as_text: bool) -> None:
    days = np.random.default_rng(2).permutation(100)
    moments = pd.Series(days).map(lambda day: f"{day % 28 + 1}/{day // 28 + 1}/2026") if as_text else pd.Series(days)
    times = pd.to_datetime(moments, format="%d/%m/%Y").dt.strftime("%B %d, %Y") if as_text else moments

    for folds, splits in ((1, 5), (4, 4)):
        table_in_time = pd.DataFrame({"day": times})
        fold_of_row, _ = folds_of(kind, truth_of(kind, 100), table_in_time, folds, time_column="day")

        assert fold_of_row.tolist() == (splits - 1 - days * splits // 100).tolist()


@pytest.mark.parametrize(
    ("times", "details"),
    [
        (["2024-10-27 02:30:00+02:00", "2024-10-27 02:15:00+01:00", "2024-10-27 04:00:00+01:00"], {}),
        (["2024-01-11 12:00:00", "2024-01-11 12:00:00.250", "2024-01-11 12:00:01"], {}),
        (["2024-01-11", "2024-01-11 12:00:00", "2024-01-12"], {}),
        (["unknown", "2024-01-11 12:00:00", "2024-01-12"], {}),
        (["11.02.2024", "03.12.2024 08:00", "01.01.2025"], {"day_first": True}),
        (["2024-02-11", "2024-03-10 08:00", "01/04/2024"], {"day_first": True}),
    ],
)
def test_times_that_are_not_written_alike_make_folds_in_time(times: list[str], details: dict[str, bool]) -> None:
    train = pd.DataFrame({"day": [times[row] for row in (1, 0, 2)]})

    fold_of_row, _ = folds_of(TargetKind.CLASS, np.array([0, 1, 0]), train, 3, time_column="day", **details)

    assert fold_of_row.tolist() == [1, 2, 0]


def test_folds_in_time_need_times() -> None:
    train = pd.DataFrame({"day": ["one", "two", "three"]})

    with pytest.raises(ValueError, match="No value of day is a time, such as 'one'"):
        folds_of(TargetKind.CLASS, np.array([0, 1, 0]), train, 3, time_column="day")


def test_an_unknown_time_counts_as_the_earliest() -> None:
    times = pd.DataFrame({"day": [3.0, None, 5.0, 4.0, 2.0]})

    fold_of_row, _ = folds_of(TargetKind.CLASS, np.array([0, 1, 0, 1, 0]), times, 5, time_column="day")

    assert fold_of_row.tolist() == [2, 4, 0, 1, 3]


def test_few_rows_of_the_largest_class_make_fewer_folds() -> None:
    fold_of_row, trained = folds_of(TargetKind.CLASS, np.array([0, 1, 0, 1, 0]), pd.DataFrame({"id": range(5)}), 5)

    assert sorted(set(fold_of_row.tolist())) == trained == [0, 1, 2]


def answers_of_a_pair(sessions: Sessions, mirror: Mirror, task: Task, answers: Sequence[str]) -> list[tuple[str, str]]:
    """Trains and infers with the real frameworks on rows of two numbers, `left` and `right`, which repeat after 8 rows.

    Returns:
        What is predicted for 24 other such rows, and what the answer is.
    """
    folder, target = mirror.competition, task.targets[0]
    rows = [
        [f"r{number}", number % 8 % 4 + number % 5 / 10, number % 8 // 4, answers[number % 8]] for number in range(120)
    ]
    table(folder / "train.csv", ["id", "left", "right", target], rows[:96])
    table(folder / "test.csv", ["id", "left", "right"], [row[:3] for row in rows[96:]])
    table(folder / "sample_submission.csv", ["id", target], [[row[0], answers[0]] for row in rows[:95:-1]])
    small = {"EPOCHS": 20, "N_FOLDS": 1, "K": 4, "LEARNING_RATE": 0.03}
    header, *written = sessions.predicted(mirror, "keras", task, **small)
    assert header == ["id", target]
    assert [row[0] for row in written] == [row[0] for row in rows[:95:-1]]
    truth = {str(row[0]): str(row[3]) for row in rows}
    return [(said, truth[name]) for name, said in written]


@pytest.mark.slow
def test_a_pair_for_labels_in_a_list_learns_and_lists_them(sessions: Sessions, mirror: Mirror) -> None:
    task = table_task(
        *(TargetKind.LABELS, ["kinds"]),
        submission=SubmissionKind.LABEL_SET,
        metric="f1_samples",
        sample="sample_submission.csv",
        label_separator=" ",
    )
    kinds = ["low", "low", "high", "high", "low far", "low far", "high far", "far high"]

    answers = answers_of_a_pair(sessions, mirror, task, kinds)

    assert sum(set(said.split()) == set(true.split()) for said, true in answers) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TargetKind.CLASS, TargetKind.NUMBER])
def test_a_pair_for_grades_learns_and_cuts_them(sessions: Sessions, mirror: Mirror, kind: TargetKind) -> None:
    task = table_task(
        *(kind, ["grade"]),
        submission=SubmissionKind.LABEL,
        metric="quadratic_weighted_kappa",
        sample="sample_submission.csv",
    )

    answers = answers_of_a_pair(sessions, mirror, task, ["0", "0", "1", "1", "3", "3", "3", "3"])

    assert {said for said, _ in answers} <= {"0", "1", "3"}
    assert sum(said == true for said, true in answers) >= 20
