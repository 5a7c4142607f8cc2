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
