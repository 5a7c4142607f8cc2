"""The out-of-fold score is what new rows will score: neither the choice of the epoch nor tuning flatters it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from notebook_cells import executed_alone
from written_submissions import table_task

from generator.competition.facts import TargetKind
from generator.competition.metrics import function_of


def halves_of(folds: int, train: pd.DataFrame, **details: str) -> tuple[Any, Any]:
    """The fold and the half of each row."""
    truth = np.arange(len(train)) % 3
    names = executed_alone(
        ["assign-folds"], table_task(TargetKind.CLASS, **details), "train", truth=truth, train=train, FOLDS=folds
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


@pytest.mark.parametrize("metric", ["accuracy", "rmse"])
def test_the_best_of_equally_good_epochs_scores_no_better_than_they_do(metric: str) -> None:
    kind = TargetKind.CLASS if metric == "accuracy" else TargetKind.NUMBER
    score_of, random, left = function_of(metric), np.random.default_rng(0), []
    names = {"HIGHER_IS_BETTER": metric == "accuracy", "np": np, "pd": pd}
    best_epoch = executed_alone(["checkpoint-files"], table_task(kind), "train", **names).best_epoch
    expected = 0.8 if metric == "accuracy" else 1.0
    for _ in range(300):
        history = []
        for _ in range(20):
            if metric == "accuracy":
                truth, predictions = np.zeros(80, int), (random.random(80) < 0.2).astype(int)
            else:
                truth, predictions = np.zeros((80, 1)), random.normal(size=(80, 1))
            scores = [score_of(truth[part], predictions[part]) for part in (slice(None), slice(0, 40), slice(40, 80))]
            history.append({"score": scores[0], "halves": scores[1:]})
        best = best_epoch(history)
        assert best["score"] == history[best["best_epoch"] - 1]["score"]
        left.append([best["score"] - expected, best["score"] - best["optimism"] - expected])

    flattered, honest = np.abs(np.mean(left, axis=0))
    assert flattered > 0.05, "as it would be without the correction"
    assert honest < 0.015


def test_of_equal_epochs_the_later_one_is_the_best_and_none_is_flattered() -> None:
    names = {"HIGHER_IS_BETTER": True, "np": np, "pd": pd}
    best_epoch = executed_alone(["checkpoint-files"], table_task(TargetKind.CLASS), "train", **names).best_epoch

    history = [{"score": score, "halves": [score, score]} for score in (0.5, 0.9, 0.9, float("nan"))]

    assert (best_epoch(history)["best_epoch"], best_epoch(history)["optimism"]) == (3, 0)


def test_a_fold_with_an_empty_half_is_not_corrected() -> None:
    names = {"HIGHER_IS_BETTER": False, "np": np, "pd": pd}
    best_epoch = executed_alone(["checkpoint-files"], table_task(TargetKind.NUMBER), "train", **names).best_epoch

    history = [{"score": score, "halves": [score, float("nan")]} for score in (0.9, 0.4, 0.5)]

    assert (best_epoch(history)["best_epoch"], best_epoch(history)["optimism"]) == (2, 0)


def test_what_is_tuned_is_judged_on_the_other_half() -> None:
    task = table_task(TargetKind.CLASS, metric="f1")
    cells = ["metric", "decide", "tune-decision"]
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
