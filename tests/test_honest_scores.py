"""The out-of-fold score is what new rows will score: tuning on the same rows does not flatter it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from notebook_cells import executed_alone
from written_submissions import table_task

from generator.competition.facts import TargetKind


def halves_of(folds: int, train: pd.DataFrame, **details: str) -> tuple[Any, Any]:
    """The fold and the half of each row."""
    truth = np.arange(len(train)) % 3
    names = executed_alone(
        ["assign-folds"],
        table_task(TargetKind.CLASS, metric="f1", **details),
        "train",
        truth=truth,
        train=train.assign(id=range(len(train))),
        N_FOLDS=folds,
    )
    return names.fold_of_row, names.half_of_row


@pytest.mark.parametrize("details", [{}, {"time_column": "day"}, {"group_column": "patient"}])
def test_each_fold_has_two_halves_which_no_group_is_in_both_of(details: dict[str, str]) -> None:
    train = pd.DataFrame({"day": np.arange(300) * 7 % 300, "patient": [f"p{row % 37}" for row in range(300)]})

    folds, halves = halves_of(5, train, **details)

    sizes = np.array([np.bincount(halves[folds == fold]) for fold in range(5)])
    assert sizes.min() >= 20
    if "group_column" in details:
        assert pd.Series(halves).groupby(train["patient"]).nunique().max() == 1
    if "time_column" in details:
        days = train["day"].groupby([folds, halves]).agg(["min", "max"]).sort_values("min")
        assert (days["max"].to_numpy()[:-1] < days["min"].to_numpy()[1:]).all(), "spans that do not overlap"


@pytest.mark.parametrize("rows_of_a_day", [7, 60])
def test_equal_times_are_in_one_fold(rows_of_a_day: int) -> None:
    train = pd.DataFrame({"day": np.random.default_rng(0).permutation(300) // rows_of_a_day})

    folds, halves = halves_of(5, train, time_column="day")

    assert pd.Series(folds).groupby(train["day"]).nunique().max() == 1
    assert train["day"].groupby(folds).max().is_monotonic_decreasing, "fold 0 is the latest"
    assert min(np.bincount(halves[folds == fold]).min() for fold in range(5)) >= 20


def test_fewer_times_than_folds_are_cut() -> None:
    folds, _ = halves_of(5, pd.DataFrame({"day": np.arange(300) // 150}), time_column="day")

    assert np.bincount(folds).tolist() == [60] * 5


def test_the_only_group_of_a_fold_is_cut() -> None:
    train = pd.DataFrame({"patient": [f"p{row % 5}" for row in range(60)]})

    folds, halves = halves_of(5, train, group_column="patient")

    assert {tuple(np.bincount(halves[folds == fold])) for fold in range(5)} == {(6, 6)}


@pytest.mark.slow
def test_what_is_tuned_is_judged_on_the_other_half() -> None:
    task = table_task(TargetKind.CLASS, metric="f1")
    cells = ["metric", "decide", "tune-decision", "cross-decided"]
    names = executed_alone(cells, task, "train")
    random, tuned, crossed = np.random.default_rng(0), [], []
    for _ in range(200):  # what is predicted has nothing to do with the truth
        truth, positive = (random.random(60) < 0.1).astype("int32"), random.random(60)
        predictions = np.stack([1 - positive, positive], axis=1)
        half = np.arange(60) % 2 == 0
        decided = names.decide(predictions, names.tune_decision(truth, predictions))
        tuned.append(names.competition_metric(truth, decided))
        crossed.append(names.competition_metric(truth, names.cross_decided(truth, predictions, half)))

    everything_positive = 2 * 0.1 / (1 + 0.1)
    assert np.mean(tuned) > everything_positive + 0.07
    assert np.mean(crossed) < everything_positive + 0.03
