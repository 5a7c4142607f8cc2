"""Every kind of target is read, split and scaled back as it should; every kind of submission is what the sample asks.

The cells are those of rendered notebooks. Most run alone, on arrays made here; the last tests run whole pairs.
"""

import io
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from notebook_session import Mirror, Notebook, Sessions, read_table, rendered_cells, write_digits

from generator.competition import builtin
from generator.competition.facts import SubmissionKind, TargetKind, Task, Value

pytest_plugins = ("notebook_session",)

SUBMISSION_OF_KIND = {
    TargetKind.CLASS: (SubmissionKind.LABEL, "accuracy"),
    TargetKind.LABELS: (SubmissionKind.NUMBERS, "auc_mean_columns"),
    TargetKind.NUMBER: (SubmissionKind.NUMBERS, "rmse"),
}


def task_of(
    kind: TargetKind,
    targets: Sequence[str] = ("label",),
    *,
    submission: SubmissionKind | None = None,
    metric: str = "",
    **details: Value,
) -> Task:
    """The task of digits with another target, and with what is usual for it."""
    usual_submission, usual_metric = SUBMISSION_OF_KIND[kind]
    digits = builtin.require("digits").task
    return replace(
        digits,
        target_kind=kind,
        targets=tuple(targets),
        submission=submission or usual_submission,
        metric=metric or usual_metric,
        details={**digits.details, **details},
    )


def executed(task: Task, role: str, cells: Sequence[str], **names: Any) -> SimpleNamespace:
    """What these cells of a notebook define, executed behind its parameters and with these names."""
    sources = rendered_cells("tensorflow", role, task)
    namespace: dict[str, Any] = {"io": io, "np": np, "os": os, "pd": pd, "Path": Path}
    exec(sources["parameters"], namespace)  # noqa: S102 - the cells of the notebook are what is tested
    namespace.update(names)
    for name in cells:
        exec(sources[name], namespace)  # noqa: S102 - as above
    return SimpleNamespace(**namespace)


def table_of(text: str) -> pd.DataFrame:
    """A training table as the notebook reads it: ids and targets are text."""
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


@pytest.mark.parametrize("role", ["train", "infer"])
@pytest.mark.parametrize("other", [",", ";", "\t"])
def test_a_table_may_have_another_separator_than_the_training_rows(tmp_path: Path, role: str, other: str) -> None:
    read = executed(task_of(TargetKind.CLASS, separator="\t"), role, ["read-csv-as", "read-csv"]).read_csv
    (tmp_path / "sample.csv").write_text(f"id{other}label\n007{other}None\n")
    (tmp_path / "ids.csv").write_text("id\n007\n")

    assert read(tmp_path / "sample.csv", ["id", "label"]).to_dict("list") == {"id": ["007"], "label": ["None"]}
    assert read(tmp_path / "ids.csv", ["id"]).to_dict("list") == {"id": ["007"]}


@pytest.mark.parametrize(("told", "name"), [("cp1252", "utf-8"), ("utf-8", "cp1252"), ("cp1252", "utf-8-sig")])
def test_every_table_is_read_in_its_own_encoding(tmp_path: Path, told: str, name: str) -> None:
    read = executed(task_of(TargetKind.CLASS, encoding=told), "train", ["read-csv-as", "read-csv"]).read_csv
    (tmp_path / "one.csv").write_text("id,wine\n1,rosé\n", encoding=told)
    (tmp_path / "other.csv").write_text("id,wine\n1,Grüner\n", encoding=name)

    assert read(tmp_path / "one.csv", ["id"])["wine"].tolist() == ["rosé"]
    assert read(io.BytesIO((tmp_path / "other.csv").read_bytes()), ["id"]).to_dict("list") == {
        "id": ["1"],
        "wine": ["Grüner"],
    }


def labels_of(task: Task, text: str, **parameters: object) -> SimpleNamespace:
    return executed(task, "train", ["read-labels", "labels", "encode-targets"], table=table_of(text), **parameters)


def numbers_of(task: Task, text: str, **parameters: object) -> SimpleNamespace:
    cells = ["read-numbers", "numbers-read", "encode-targets", "activate"]
    return executed(task, "train", cells, table=table_of(text), **parameters)


def test_labels_in_columns_are_read_as_they_stand() -> None:
    read = labels_of(task_of(TargetKind.LABELS, ["b", "a"]), "id,a,b\n1,1,0\n2,0,0\n3,1.0,1\n")

    assert read.classes == ["b", "a"]
    assert read.truth.tolist() == [[0, 1], [0, 0], [1, 1]]
    assert read.encode_targets(read.truth, {}).tolist() == read.truth.tolist()


@pytest.mark.parametrize("cell", ["", "2", "-1", "yes"])
def test_a_label_that_is_neither_0_nor_1_is_named(cell: str) -> None:
    with pytest.raises(ValueError, match=rf"1 labels are neither 0 nor 1, the first is b of '2': '{cell}'\. Fill"):
        labels_of(task_of(TargetKind.LABELS, ["a", "b"]), f"id,a,b\n1,1,0\n2,0,{cell}\n")


@pytest.mark.parametrize(
    ("separator", "cells"), [(" ", ["b a", "", "a  c"]), ("|", ["b|a", "", "a|c|"]), (", ", ["b, a", "", "a, c"])]
)
def test_labels_listed_in_one_column_are_told_apart(separator: str, cells: list[str]) -> None:
    rows = "".join(f'{index},"{cell}"\n' for index, cell in enumerate(cells))

    read = labels_of(task_of(TargetKind.LABELS, label_separator=separator), "id,label\n" + rows)

    assert read.classes == ["a", "b", "c"]
    assert read.truth.tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 1]]


def test_a_smoke_test_has_an_example_of_the_rarest_label() -> None:
    rows = "".join(f"{row},{int(row == 900)},1\n" for row in range(1_000))

    read = labels_of(task_of(TargetKind.LABELS, ["rare", "common"]), "id,rare,common\n" + rows, SMOKE_TEST=True)

    assert len(read.table) == len(read.truth) == 256
    assert read.truth.sum(axis=0).tolist() == [1, 256]
    assert read.table["id"][read.truth[:, 0] == 1].tolist() == ["900"]


@pytest.mark.parametrize(("metric", "is_log"), [("rmse", False), ("rmsle", True)])
def test_numbers_come_back_in_their_own_scale(metric: str, is_log: bool) -> None:
    text = "id,price,age\n" + "".join(f"{row},{10 ** (row / 9)},{row % 7}\n" for row in range(40))
    read = numbers_of(task_of(TargetKind.NUMBER, ["price", "age"], metric=metric), text)
    preprocessing = {"target": read.fit_target(np.arange(30))}

    outputs = read.encode_targets(read.truth, preprocessing)

    assert preprocessing["target"]["is_log"] is is_log
    np.testing.assert_allclose(outputs[:30].mean(axis=0), [0, 0], atol=1e-5)
    np.testing.assert_allclose(outputs[:30].std(axis=0), [1, 1], atol=1e-5)
    np.testing.assert_allclose(read.activate(outputs, preprocessing), read.truth, rtol=1e-4, atol=1e-4)
    members = np.stack([outputs - 1, outputs + 1], axis=1)
    np.testing.assert_allclose(read.activate(members, preprocessing), read.truth, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("cell", ["", "cheap", "inf"])
def test_a_value_that_is_no_number_is_named(cell: str) -> None:
    with pytest.raises(ValueError, match=rf"1 values to predict are no numbers, the first is label of '2': '{cell}'"):
        numbers_of(task_of(TargetKind.NUMBER), f"id,label\n1,1.5\n2,{cell}\n")


def test_a_number_that_is_always_the_same_is_refused() -> None:
    with pytest.raises(ValueError, match=r"All 3 examples have the label 4\.5: there is nothing to predict\."):
        numbers_of(task_of(TargetKind.NUMBER), "id,label\n1,4.5\n2,4.5\n3,4.5\n")


@pytest.mark.parametrize("kind", [TargetKind.CLASS, TargetKind.LABELS])
def test_members_of_a_model_are_averaged_as_probabilities(kind: TargetKind) -> None:
    activate = executed(task_of(kind), "infer", ["activate"]).activate
    outputs = np.random.default_rng(0).normal(size=(5, 4, 3))

    averaged = activate(outputs, {})

    assert averaged.shape == (5, 3)
    np.testing.assert_allclose(averaged, np.mean([activate(outputs[:, i], {}) for i in range(4)], axis=0))
    if kind is TargetKind.CLASS:
        np.testing.assert_allclose(averaged.sum(axis=1), 1)


def test_the_class_is_the_column_that_is_set() -> None:
    task = task_of(TargetKind.CLASS, ["rust", "scab", "healthy"])
    table = table_of("id,rust,scab,healthy\n1,1,0,0\n2,0,0,1\n3,0,1,0\n4,0,0,1\n")

    read = executed(task, "train", ["read-classes", "labels"], table=table)

    assert [read.classes[index] for index in read.truth] == ["rust", "healthy", "scab", "healthy"]


def truth_of(kind: TargetKind, rows: int) -> Any:
    random = np.random.default_rng(1)
    return {
        TargetKind.CLASS: random.integers(0, 3, rows).astype("int32"),
        TargetKind.LABELS: (random.random((rows, 6)) < 0.3).astype("float32"),
        TargetKind.NUMBER: random.lognormal(size=(rows, 2)).astype("float32"),
    }[kind]


def folds_of(kind: TargetKind, truth: Any, table: pd.DataFrame, folds: int, **details: str) -> Any:
    cells = ["assign-folds", "folds-in-time", "fold-sizes"]
    return executed(task_of(kind, **details), "train", cells, truth=truth, table=table, FOLDS=folds).fold_of_row


@pytest.mark.parametrize("folds", [1, 4])
@pytest.mark.parametrize("kind", SUBMISSION_OF_KIND)
def test_every_row_is_held_out_once_and_the_folds_are_alike(kind: TargetKind, folds: int) -> None:
    truth = truth_of(kind, 300)

    fold_of_row = folds_of(kind, truth, pd.DataFrame({"id": range(300)}), folds)

    splits = folds if folds > 1 else 5
    sizes = np.bincount(fold_of_row)
    assert len(sizes) == splits
    assert sizes.max() - sizes.min() <= 4
    if kind is TargetKind.CLASS:
        shares = [np.bincount(truth[fold_of_row == fold]) / sizes[fold] for fold in range(splits)]
        np.testing.assert_allclose(shares, np.broadcast_to(np.bincount(truth) / 300, (splits, 3)), atol=0.03)
    if kind is TargetKind.NUMBER:
        medians = [np.median(truth[fold_of_row == fold, 0]) for fold in range(splits)]
        np.testing.assert_allclose(medians, np.median(truth[:, 0]), rtol=0.2)


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("kind", SUBMISSION_OF_KIND)
def test_a_group_is_never_split(kind: TargetKind) -> None:
    groups = [None if group == "patient 7" else group for group in (f"patient {row * 7 % 37}" for row in range(300))]
    truth = truth_of(kind, 300)
    if kind is TargetKind.CLASS:
        truth[0] = 3  # the only example of its class

    fold_of_row = folds_of(kind, truth, pd.DataFrame({"patient": groups}), 4, group_column="patient")

    folds_of_group = pd.Series(fold_of_row).groupby(pd.Series(groups).fillna("none")).unique()
    assert [list(folds) for folds in folds_of_group if len(folds) > 1] == []
    assert np.bincount(fold_of_row).min() >= 50


@pytest.mark.parametrize("kind", SUBMISSION_OF_KIND)
@pytest.mark.parametrize("as_text", [False, True])
def test_folds_in_time_hold_out_the_latest_span_first(kind: TargetKind, as_text: bool) -> None:
    days = np.random.default_rng(2).permutation(100)
    moments = pd.Series(days).map(lambda day: f"{day % 28 + 1}/{day // 28 + 1}/2026") if as_text else pd.Series(days)
    times = pd.to_datetime(moments, format="%d/%m/%Y").dt.strftime("%B %d, %Y") if as_text else moments

    for folds, splits in ((1, 5), (4, 4)):
        fold_of_row = folds_of(kind, truth_of(kind, 100), pd.DataFrame({"day": times}), folds, time_column="day")

        assert fold_of_row.tolist() == (splits - 1 - days * splits // 100).tolist()


def test_an_unknown_time_counts_as_the_earliest() -> None:
    times = pd.DataFrame({"day": [3.0, None, 5.0, 4.0, 2.0]})

    fold_of_row = folds_of(TargetKind.CLASS, np.array([0, 1, 0, 1, 0]), times, 5, time_column="day")

    assert fold_of_row.tolist() == [2, 4, 0, 1, 3]


def submitted(
    folder: Path,
    task: Task,
    sample: str,
    *,
    classes: list[str],
    predictions: Sequence[Sequence[float]],
    decision: dict[str, object] | None = None,
) -> str:
    """The submission that inference writes for a sample and these predictions."""
    path = folder / "sample_submission.csv"
    path.write_text(sample)
    names = list(rendered_cells("tensorflow", "infer", task))
    reading = ["read-objects", "read-csv-as", "read-csv", "read-table", "check-columns", "read-sample"]
    reading += ["example-of-row"] * ("example-of-row" in names)
    read = executed(task, "infer", reading).read_sample(path)
    executed(
        task,
        "infer",
        [*reading, "decide", *names[names.index("answer-columns") :]],
        competition_folder=folder,
        sample=read,
        ids=read["id"].tolist(),
        classes=classes,
        predictions=np.array(predictions, dtype="float32").round(6),
        handoff={"decision": decision or {}},
        working_root=folder,
    )
    return (folder / "submission.csv").read_text()


def rounded(text: str) -> list[list[str]]:
    return [
        [cell if not cell.startswith("0.") else f"{float(cell):.3g}" for cell in row.split(",")]
        for row in text.split("\n")[:-1]
    ]


def test_numbers_go_to_the_columns_of_their_names(tmp_path: Path) -> None:
    task = task_of(TargetKind.NUMBER, ["a", "b"])

    written = submitted(
        tmp_path, task, "id,b,a\n007,0,0\n3,0,0\n", classes=["a", "b"], predictions=[[0.1, 0.2], [0.3, 0.4]]
    )

    assert rounded(written) == [["id", "b", "a"], ["007", "0.2", "0.1"], ["3", "0.4", "0.3"]]


def test_numbers_go_to_columns_of_other_names_in_their_order(tmp_path: Path) -> None:
    task = task_of(TargetKind.NUMBER, ["a", "b"])

    written = submitted(
        tmp_path, task, "id,y1,y2\n7,0.5,0.5\n3,0.5,0.5\n", classes=["a", "b"], predictions=[[0.1, 0.2], [0.3, 0.4]]
    )

    assert rounded(written) == [["id", "y1", "y2"], ["7", "0.1", "0.2"], ["3", "0.3", "0.4"]]


def test_a_sample_with_more_columns_than_there_are_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="The sample has 2 columns to be filled in, x, y, and the model predicts 1: a"):
        submitted(tmp_path, task_of(TargetKind.NUMBER, ["a"]), "id,x,y\n1,0,0\n", classes=["a"], predictions=[[0.1]])


def test_labels_are_decided_where_the_metric_compares_labels(tmp_path: Path) -> None:
    task = task_of(TargetKind.LABELS, ["a", "b"], metric="f1_macro")
    predictions = [[0.3, 0.6], [0.1, 0.7]]

    written = submitted(
        tmp_path,
        task,
        "id,b,a\n1,0,0\n2,0,0\n",
        classes=["a", "b"],
        predictions=predictions,
        decision={"thresholds": [0.2, 0.65]},
    )

    assert written == "id,b,a\n1,0,1\n2,1,0\n"


def test_a_number_is_rounded_where_the_metric_compares_grades(tmp_path: Path) -> None:
    task = task_of(TargetKind.NUMBER, ["grade"], submission=SubmissionKind.LABEL, metric="quadratic_weighted_kappa")
    decision = {"values": [[0, 1, 4]], "cuts": [[0.4, 2.0]]}

    written = submitted(
        tmp_path,
        task,
        "id,grade\n1,0\n2,0\n3,0\n",
        classes=["grade"],
        predictions=[[2.1], [0.5], [-3]],
        decision=decision,
    )

    assert written == "id,grade\n1,4\n2,1\n3,0\n"


@pytest.mark.parametrize("blank", ["", "0", "unknown"])
def test_a_label_is_written_as_it_stands_where_the_sample_has_no_fractions(tmp_path: Path, blank: str) -> None:
    sample = f"id,label\n1,{blank}\n2,{blank}\n"

    written = submitted(
        tmp_path, task_of(TargetKind.CLASS), sample, classes=["3", "12"], predictions=[[0.2, 0.8], [0.9, 0.1]]
    )

    assert written == "id,label\n1,12\n2,3\n"


def test_the_probability_is_that_of_the_last_class(tmp_path: Path) -> None:
    task = task_of(TargetKind.CLASS, ["survived"], submission=SubmissionKind.PROBABILITY, metric="auc")

    written = submitted(
        tmp_path, task, "id,chance\nb,0\na,0\n", classes=["0", "1"], predictions=[[0.2, 0.8], [0.9, 0.1]]
    )

    assert rounded(written) == [["id", "chance"], ["b", "0.8"], ["a", "0.1"]]


@pytest.mark.parametrize("bad", [np.nan, 1.5])
def test_a_probability_that_is_none_is_refused(tmp_path: Path, bad: float) -> None:
    task = task_of(TargetKind.CLASS, submission=SubmissionKind.PROBABILITY, metric="auc")

    with pytest.raises(ValueError, match=r"could not be scored: label has values that are no numbers from \(0, 1\)"):
        submitted(tmp_path, task, "id,label\n1,0\n2,0\n", classes=["0", "1"], predictions=[[0.5, 0.5], [0.5, bad]])

    assert not (tmp_path / "submission.csv").exists()


@pytest.mark.parametrize("columns", ["CL,D,C", "Status_CL,Status_D,Status_C"])
def test_a_class_goes_to_the_column_of_its_name_or_that_ends_in_it(tmp_path: Path, columns: str) -> None:
    task = task_of(TargetKind.CLASS, ["Status"], submission=SubmissionKind.CLASS_COLUMNS, metric="log_loss")

    written = submitted(
        tmp_path, task, f"id,{columns}\n1,0,0,0\n", classes=["C", "CL", "D"], predictions=[[0.1, 0.2, 0.7]]
    )

    assert rounded(written) == [["id", *columns.split(",")], ["1", "0.2", "0.7", "0.1"]]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [("C,D,X", "The sample's column 'X' is none of the classes C, D, E"), ("C,nC,D", "are about one class")],
)
def test_columns_that_are_not_one_for_each_class_are_refused(tmp_path: Path, columns: str, sentence: str) -> None:
    task = task_of(TargetKind.CLASS, ["Status"], submission=SubmissionKind.CLASS_COLUMNS, metric="log_loss")

    with pytest.raises(ValueError, match=sentence):
        submitted(tmp_path, task, f"id,{columns}\n1,0,0,0\n", classes=["C", "D", "E"], predictions=[[0.1, 0.2, 0.7]])


def test_the_best_classes_are_listed_best_first_and_as_many_as_the_metric_counts(tmp_path: Path) -> None:
    task = task_of(TargetKind.CLASS, ["breed"], submission=SubmissionKind.TOP_K, metric="map@3")
    predictions = [[0.1, 0.4, 0.2, 0.3], [0.7, 0.0, 0.2, 0.1]]

    written = submitted(
        tmp_path, task, "id,breed\n1,a b c\n2,a b c\n", classes=["a", "b", "c", "d"], predictions=predictions
    )

    assert written == "id,breed\n1,b d c\n2,a c d\n"


def test_a_set_of_labels_has_all_that_apply_and_never_none(tmp_path: Path) -> None:
    task = task_of(TargetKind.LABELS, submission=SubmissionKind.LABEL_SET, metric="f1_samples", label_separator=" ")

    written = submitted(
        tmp_path,
        task,
        "id,label\n1,\n2,\n3,\n",
        classes=["a", "b", "c"],
        predictions=[[0.6, 0.1, 0.7], [0.2, 0.4, 0.3], [0.1, 0.9, 0.2]],
        decision={"thresholds": [0.5, 0.5, 0.5]},
    )

    assert written == "id,label\n1,a c\n2,b\n3,b\n"


def written_by_a_pair(sessions: Sessions, mirror: Mirror, task: Task, **parameters: int) -> list[list[str]]:
    """Trains and infers with the real frameworks; returns the rows of the submission."""
    train, infer = (Notebook("tensorflow", role, task=task) for role in ("train", "infer"))
    ended = sessions.run(train, mirror.parameters(train, **parameters))
    assert ended.is_done, ended
    mirror.working.rename(mirror.root / "train")
    ended = sessions.run(infer, mirror.parameters(infer))
    assert ended.is_done, ended
    return read_table(mirror.working / "submission.csv")


@pytest.mark.slow
def test_a_pair_for_labels_in_columns_writes_their_probabilities(sessions: Sessions, mirror: Mirror) -> None:
    digits = write_digits(mirror.competition)
    rows = [f"{name},{int(label) % 2},{int(int(label) > 4)}" for name, label in digits.labels.items()]
    (mirror.competition / "train.csv").write_text("\n".join(["id,odd,big", *rows]))
    (mirror.competition / "sample_submission.csv").write_text(
        "\n".join(["id,big,odd", *(f"{name},0.5,0.5" for name in digits.answers)])
    )

    header, *written = written_by_a_pair(sessions, mirror, task_of(TargetKind.LABELS, ["odd", "big"]), FOLDS=2)

    assert header == ["id", "big", "odd"]
    assert [row[0] for row in written] == list(digits.answers)
    assert all(0 <= float(cell) <= 1 for row in written for cell in row[1:])


@pytest.mark.slow
def test_a_pair_for_labels_in_a_list_learns_and_lists_them(sessions: Sessions, mirror: Mirror) -> None:
    digits = write_digits(mirror.competition, per_class=20)

    def listed(label: str) -> str:
        return " ".join(["odd" if int(label) % 2 else "even", *(["big"] if int(label) > 4 else [])])

    rows = [(name, listed(label)) for name, label in digits.labels.items()]
    digits.write_labels(rows, header=("id", "kinds"))
    digits.write_sample(list(digits.answers), header=("id", "kinds"), label="")
    task = task_of(
        TargetKind.LABELS, ["kinds"], submission=SubmissionKind.LABEL_SET, metric="f1_samples", label_separator=" "
    )

    header, *written = written_by_a_pair(sessions, mirror, task, EPOCHS=8)

    assert header == ["id", "kinds"]
    right = [set(kinds.split()) == set(listed(digits.answers[name]).split()) for name, kinds in written]
    assert len(right) == 21
    assert sum(right) >= 11  # of the six sets that there can be, one in four is guessed


@pytest.mark.slow
def test_a_pair_for_a_number_learns_it_and_rounds_it(sessions: Sessions, mirror: Mirror) -> None:
    digits = write_digits(mirror.competition, per_class=20)
    grades = {name: str(int(label) // 3) for name, label in digits.labels.items()}
    digits.write_labels(list(grades.items()), header=("id", "grade"))
    digits.write_sample(list(digits.answers), header=("id", "grade"))
    task = task_of(TargetKind.NUMBER, ["grade"], submission=SubmissionKind.LABEL, metric="quadratic_weighted_kappa")

    header, *written = written_by_a_pair(sessions, mirror, task, EPOCHS=8)

    assert header == ["id", "grade"]
    assert {grade for _, grade in written} <= {"0", "1", "2", "3"}
    errors = [abs(int(grade) - int(digits.answers[name]) // 3) for name, grade in written]
    assert sum(errors) / 21 <= 0.8


KEYED = {"submission": SubmissionKind.KEYED_ROWS}


def test_a_row_for_each_label_gets_the_label_that_its_id_ends_in(tmp_path: Path) -> None:
    task = replace(task_of(TargetKind.LABELS, ["any", "left_ear"]), **KEYED)

    written = submitted(
        tmp_path,
        task,
        "id,Label\nx_1_left_ear,0.5\nx_1_any,0.5\ny_any,0.5\ny_left_ear,0.5\n",
        classes=["any", "left_ear"],
        predictions=[[0.1, 0.2], [0.3, 0.4]],
    )

    assert rounded(written)[1:] == [
        ["x_1_left_ear", "0.2"],
        ["x_1_any", "0.1"],
        ["y_any", "0.3"],
        ["y_left_ear", "0.4"],
    ]


def test_a_row_for_a_label_that_nobody_learnt_is_refused(tmp_path: Path) -> None:
    task = replace(task_of(TargetKind.LABELS, ["any", "ear"]), **KEYED)

    with pytest.raises(ValueError, match="asks for 'x_nose', and the model knows any, ear only"):
        submitted(tmp_path, task, "id,Label\nx_any,0\nx_nose,0\n", classes=["any", "ear"], predictions=[[0.1, 0.2]])


def test_training_rows_for_a_label_each_become_a_row_for_each_example(tmp_path: Path) -> None:
    task = replace(task_of(TargetKind.LABELS, ["Label"], label_rows=True, label_separator=","), **KEYED)
    (tmp_path / "train.csv").write_text("id,Label\nx_any,1\nx_ear,1\ny_1_any,0\ny_1_ear,0\nz_any,1\nz_ear,0\n")
    reading = ["read-csv-as", "read-csv", "read-table", "check-columns", "one-row-each", "read-training-table"]

    read = executed(task, "train", reading, TRAIN_TABLE="train.csv").read_training_table(tmp_path)

    assert read.to_dict("list") == {"id": ["x", "y_1", "z"], "Label": ["any,ear", "", "any"]}
