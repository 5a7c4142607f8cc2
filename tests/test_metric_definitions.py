"""Each metric is computed as its definition says, and has a value where its formula has none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from generator.competition.metrics import (
    METRICS,
    Wants,
    function_of,
    parse_metric,
)

ROWS = 400
RNG = np.random.default_rng(7)
EMPTY_AND_FULL = np.stack([np.zeros((4, 4), "uint8"), np.ones((4, 4), "uint8")])


def probabilities(*shape: int, ties: bool = False) -> np.ndarray:
    """Rows that add up to 1, as a softmax gives them."""
    raw = RNG.integers(1, 5, shape).astype("float64") if ties else RNG.gamma(1.0, size=shape)
    return np.asarray((raw / raw.sum(axis=1, keepdims=True)).astype("float32"))


BINARY = RNG.integers(0, 2, ROWS).astype("int32")
CLASS = RNG.integers(0, 5, ROWS).astype("int32")
GUESSED_BINARY = np.where(RNG.random(ROWS) < 0.7, BINARY, 1 - BINARY)
GUESSED = np.where(RNG.random(ROWS) < 0.6, CLASS, RNG.integers(0, 5, ROWS))
LABELS = (RNG.random((ROWS, 4)) < 0.4).astype("float32")
GUESSED_LABELS = np.where(RNG.random((ROWS, 4)) < 0.8, LABELS, 1 - LABELS).astype("int8")
LABEL_PROBABILITIES = (0.3 * LABELS + 0.7 * RNG.random((ROWS, 4))).round(2).astype("float32")
POSITIVE = RNG.gamma(2.0, size=(ROWS, 3)).astype("float32")
NUMBERS = RNG.normal(size=(ROWS, 3)).astype("float32")
NEAR = (NUMBERS + RNG.normal(size=(ROWS, 3))).astype("float32")
NEAR_POSITIVE = np.abs(POSITIVE + RNG.normal(size=(ROWS, 3), scale=0.3)).astype("float32")
MASKS = (RNG.random((20, 8, 8)) < 0.5).astype("uint8")
GUESSED_MASKS = np.where(RNG.random(MASKS.shape) < 0.7, MASKS, 1 - MASKS).astype("uint8")


def score(metric: str, truth: Any, predictions: Any) -> float:
    return function_of(metric)(np.asarray(truth), np.asarray(predictions))


def column_mean(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], float]:
    return lambda truth, predictions: float(
        np.mean([function(*pair) for pair in zip(truth.T, predictions.T, strict=True)])
    )


def average_precision(is_true: list[bool], k: int) -> float:
    """As in Kaggle's `average_precision.py`: the sum of the precisions at the hits, over what was possible."""
    precisions = [sum(is_true[: place + 1]) / (place + 1) for place in range(min(k, len(is_true))) if is_true[place]]
    return sum(precisions) / min(sum(is_true), k) if any(is_true) else 0.0


def by_ranking(function: Callable[[list[bool]], float]) -> Callable[[Any, Any], float]:
    def of(truth: Any, predictions: Any) -> float:
        sets = truth > 0 if truth.ndim == 2 else np.eye(predictions.shape[1], dtype=bool)[truth]
        ranked = [sorted(range(len(row)), key=lambda column, row=row: -row[column]) for row in predictions]
        return float(
            np.mean([function([bool(row[i]) for i in order]) for row, order in zip(sets, ranked, strict=True)])
        )

    return of


def gini(truth: Any, predictions: Any) -> float:
    """The sum over the examples, best first, of the share of the total found so far less the share of the examples."""
    order = sorted(range(len(truth)), key=lambda row: (-predictions[row], row))
    total, found, area = float(sum(truth)), 0.0, 0.0
    for count, row in enumerate(order, start=1):
        found += float(truth[row]) / total
        area += found - count / len(truth)
    return area / len(truth)


def crps(truth: Any, predictions: Any) -> float:
    rows, values = predictions.shape
    total = 0.0
    for row in range(rows):
        for value in range(values):
            total += (float(predictions[row, : value + 1].sum()) - (1.0 if value >= truth[row] else 0.0)) ** 2
    return total / (rows * values)


def precision_over_thresholds(truth: Any, predictions: Any) -> float:
    passed = []
    for true, predicted in zip(truth.astype(bool), predictions.astype(bool), strict=True):
        overlap, union = int((true & predicted).sum()), int((true | predicted).sum())
        passed += [100 * overlap > percent * union for percent in range(50, 100, 5)]
    return float(np.mean(passed))


def mean_jaccard(truth: Any, predictions: Any) -> float:
    rows = zip(truth.reshape(len(truth), -1), predictions.reshape(len(truth), -1), strict=True)
    return float(np.mean([sklearn_of("jaccard_score")(*row) for row in rows]))


# Importing either takes longer than all these tests, and every process that collects them would do it.
def sklearn_of(name: str, **options: Any) -> Callable[[Any, Any], float]:
    def of(truth: Any, predictions: Any) -> float:
        from sklearn import metrics

        return float(getattr(metrics, name)(truth, predictions, **options))

    return of


def scipy_correlation(name: str) -> Callable[[Any, Any], float]:
    def of(truth: Any, predictions: Any) -> float:
        from scipy import stats

        return float(getattr(stats, name)(truth, predictions).statistic)

    return of


BINARY_PROBABILITIES = probabilities(ROWS, 2, ties=True)
PROBABILITIES = probabilities(ROWS, 5)
AUC = sklearn_of("roc_auc_score")
FLAT_MASKS = column_mean(sklearn_of("f1_score"))
F1_ROWS = sklearn_of("f1_score", average="samples", zero_division=1)
RMSE = sklearn_of("root_mean_squared_error")
RMSLE = sklearn_of("root_mean_squared_log_error")

# The metric, truth, predictions, and a definition that owes nothing to the cell's way of computing it.
DEFINITIONS: list[tuple[str, Any, Any, Callable[[Any, Any], float]]] = [
    ("auc", BINARY, BINARY_PROBABILITIES, lambda t, p: AUC(t, p[:, 1])),
    ("auc_mean_columns", LABELS, LABEL_PROBABILITIES, sklearn_of("roc_auc_score", average="macro")),
    ("auc_one_vs_rest", CLASS, PROBABILITIES, lambda t, p: float(
        np.mean([AUC(t == index, p[:, index]) for index in range(5)]))),
    ("log_loss", BINARY, BINARY_PROBABILITIES, sklearn_of("log_loss")),
    ("log_loss", CLASS, PROBABILITIES.astype("float64") * 3, lambda t, p: sklearn_of("log_loss")(
        t, p / p.sum(axis=1, keepdims=True))),
    ("balanced_log_loss", CLASS, PROBABILITIES, lambda t, p: float(
        np.mean([-np.log(p[t == index, index].astype("float64")).mean() for index in range(5)]))),
    ("log_loss_mean_columns", LABELS, LABEL_PROBABILITIES.clip(0.01, 0.99), column_mean(sklearn_of("log_loss"))),
    ("accuracy", CLASS, GUESSED, sklearn_of("accuracy_score")),
    ("f1", BINARY, GUESSED_BINARY, sklearn_of("f1_score")),
    ("f1_micro", CLASS, GUESSED, sklearn_of("f1_score", average="micro")),
    ("f1_micro", LABELS, GUESSED_LABELS, sklearn_of("f1_score", average="micro")),
    ("f1_macro", CLASS, GUESSED, sklearn_of("f1_score", average="macro")),
    ("f1_macro", CLASS * 3, GUESSED * 3, sklearn_of("f1_score", average="macro")),
    ("f1_macro", LABELS, GUESSED_LABELS, sklearn_of("f1_score", average="macro")),
    ("f1_samples", LABELS, GUESSED_LABELS, F1_ROWS),
    ("f_beta@0.5", BINARY, GUESSED_BINARY, sklearn_of("fbeta_score", beta=0.5)),
    ("f_beta@2", LABELS, GUESSED_LABELS, sklearn_of("fbeta_score", beta=2, average="samples", zero_division=1)),
    ("f_beta@2", CLASS, GUESSED, sklearn_of("fbeta_score", beta=2, average="macro")),
    ("mcc", BINARY, GUESSED_BINARY, sklearn_of("matthews_corrcoef")),
    ("mcc", CLASS, GUESSED, sklearn_of("matthews_corrcoef")),
    ("quadratic_weighted_kappa", CLASS, GUESSED, sklearn_of("cohen_kappa_score", weights="quadratic")),
    ("quadratic_weighted_kappa", CLASS[:, None].astype("float32"), GUESSED[:, None].astype("float32"),
     sklearn_of("cohen_kappa_score", weights="quadratic")),
    ("map@3", CLASS, PROBABILITIES, by_ranking(lambda hits: average_precision(hits, 3))),
    ("map@3", CLASS, probabilities(ROWS, 5, ties=True), by_ranking(lambda hits: average_precision(hits, 3))),
    ("map@2", LABELS, LABEL_PROBABILITIES, by_ranking(lambda hits: average_precision(hits, 2))),
    ("map@9", LABELS, LABEL_PROBABILITIES, by_ranking(lambda hits: average_precision(hits, 9))),
    ("recall@2", CLASS, PROBABILITIES, sklearn_of("top_k_accuracy_score", k=2)),
    ("rmse", NUMBERS, NEAR, lambda t, p: sklearn_of("mean_squared_error")(t.ravel(), p.ravel()) ** 0.5),
    ("mse", NUMBERS, NEAR, sklearn_of("mean_squared_error")),
    ("mae", NUMBERS, NEAR, sklearn_of("mean_absolute_error")),
    ("rmsle", POSITIVE[:, :1], NEAR_POSITIVE[:, :1], RMSLE),
    ("r2", NUMBERS, NEAR, sklearn_of("r2_score")),
    ("mcrmse", NUMBERS, NEAR, RMSE),
    ("rmsle_mean_columns", POSITIVE, NEAR_POSITIVE, RMSLE),
    ("mape", POSITIVE, NEAR_POSITIVE, sklearn_of("mean_absolute_percentage_error")),
    ("rmspe", POSITIVE, NEAR_POSITIVE, lambda t, p: float(np.mean(((t - p) / t) ** 2) ** 0.5)),
    ("smape", POSITIVE, NEAR_POSITIVE, lambda t, p: float(np.mean(100 * abs(t - p) / ((abs(t) + abs(p)) / 2)))),
    ("pearson", NUMBERS, NEAR, column_mean(scipy_correlation("pearsonr"))),
    ("spearman", NUMBERS.round(1), NEAR.round(1), column_mean(scipy_correlation("spearmanr"))),
    ("dice", MASKS, GUESSED_MASKS, lambda t, p: FLAT_MASKS(t.reshape(len(t), -1).T, p.reshape(len(p), -1).T)),
    ("iou", MASKS, GUESSED_MASKS, mean_jaccard),
    ("iou_thresholds", MASKS, np.where(RNG.random(MASKS.shape) < 0.9, MASKS, 0), precision_over_thresholds),
    ("pinball@0.9", NUMBERS, NEAR, sklearn_of("mean_pinball_loss", alpha=0.9)),
    ("gini", BINARY, BINARY_PROBABILITIES, lambda t, p: gini(t, p[:, 1]) / gini(t, t)),
    ("gini", POSITIVE, NEAR_POSITIVE.round(1), column_mean(lambda t, p: gini(t, p) / gini(t, t))),
    ("crps", CLASS, PROBABILITIES, crps),
    ("crps", NUMBERS, NEAR, sklearn_of("mean_absolute_error")),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "truth", "predictions", "definition"), DEFINITIONS)
def test_a_metric_is_what_its_definition_says(
    metric: str, truth: Any, predictions: Any, definition: Callable[[Any, Any], float]
) -> None:
    assert score(metric, truth, predictions) == pytest.approx(definition(truth, predictions), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("metric", ["dice", "iou", "iou_thresholds"])
def test_masks_of_several_classes_count_like_as_many_images(metric: str) -> None:
    of_two_classes = [np.stack([masks[:10], masks[10:]], axis=-1) for masks in (MASKS, GUESSED_MASKS)]

    assert score(metric, *of_two_classes) == pytest.approx(score(metric, MASKS, GUESSED_MASKS))
    empty = np.zeros((2, 4, 4, 3), "uint8")
    assert score(metric, empty, empty) == 1.0


def test_every_metric_is_compared_with_a_definition() -> None:
    assert {parse_metric(metric)[0].name for metric, *_ in DEFINITIONS} == set(METRICS)


ONES = np.ones(3, "int32")
THREE = [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]
ZEROS, LEVEL = np.zeros((3, 2), "float32"), np.full((3, 2), 0.3, "float32")


@pytest.mark.parametrize(
    ("metric", "truth", "predictions", "expected"),
    [
        ("auc", ONES, THREE, 0.5),
        ("auc_mean_columns", [[1, 0], [0, 0], [1, 0]], THREE, 0.5),
        ("auc_mean_columns", ZEROS, THREE, 0.5),
        ("auc_one_vs_rest", ONES, THREE, 0.5),
        ("log_loss", [0], [[0.0, 1.0]], -np.log(1e-15)),
        ("log_loss", [1], [[0.0, 1.0]], 0.0),
        ("log_loss", [1], [[2.0, 2.0]], np.log(2)),
        ("log_loss", [1], [[0.0, 0.0]], -np.log(1e-15)),
        ("log_loss_mean_columns", [[1, 0]], [[0.0, 0.0]], -np.log(1e-15) / 2),
        ("f1", [0, 0], [0, 0], 0.0),
        ("f1_micro", ZEROS, ZEROS, 0.0),
        ("f1_macro", ONES, ONES, 1.0),
        ("f1_macro", ZEROS, ZEROS, 0.0),
        ("f1_samples", ZEROS, ZEROS, 1.0),
        ("f_beta@2", ONES, ONES, 1.0),
        ("f_beta@2", [0, 0], [0, 0], 1.0),
        ("mcc", ONES, [1, 0, 1], 0.0),
        ("quadratic_weighted_kappa", ONES, ONES, 0.0),
        ("map@5", ZEROS, THREE, 0.0),
        ("recall@5", ZEROS, THREE, 0.0),
        ("rmsle", ZEROS, -LEVEL, 0.0),
        ("r2", ZEROS, LEVEL, 0.0),
        ("r2", np.full((7, 1), 0.1), np.ones((7, 1)), 0.0),
        ("pearson", np.full((7, 1), 0.1), np.arange(7.0)[:, None], 0.0),
        ("gini", np.full((7, 1), 0.1), np.arange(7.0)[:, None], 0.0),
        ("mape", ZEROS, LEVEL, 0.0),
        ("mape", [[0.0], [2.0]], [[5.0], [1.0]], 0.5),
        ("rmspe", ZEROS, LEVEL, 0.0),
        ("rmspe", [[0.0], [2.0]], [[5.0], [1.0]], 0.5),
        ("balanced_log_loss", [1, 1], [[0.5, 0.5], [0.5, 0.5]], np.log(2)),
        ("smape", ZEROS, ZEROS, 0.0),
        ("smape", ZEROS, LEVEL, 200.0),
        ("pearson", THREE, LEVEL, 0.0),
        ("spearman", THREE, LEVEL, 0.0),
        ("dice", EMPTY_AND_FULL, EMPTY_AND_FULL, 1.0),
        ("dice", EMPTY_AND_FULL, EMPTY_AND_FULL[::-1], 0.0),
        ("iou", EMPTY_AND_FULL, EMPTY_AND_FULL, 1.0),
        ("iou_thresholds", EMPTY_AND_FULL, EMPTY_AND_FULL, 1.0),
        ("iou_thresholds", EMPTY_AND_FULL, EMPTY_AND_FULL[::-1], 0.0),
        ("gini", ONES, THREE, 0.0),
        ("gini", ZEROS, THREE, 0.0),
    ],
)
def test_a_metric_has_a_value_where_its_formula_has_none(
    metric: str, truth: Any, predictions: Any, expected: float
) -> None:
    with np.errstate(all="raise"):
        assert score(metric, truth, predictions) == pytest.approx(expected)


@pytest.mark.parametrize("name", METRICS)
def test_the_better_prediction_gets_the_better_score(name: str) -> None:
    facts = METRICS[name]
    examples = {"class": BINARY, "labels": LABELS, "mask": MASKS, "number": POSITIVE}
    kind = next(kind for kind in examples if kind in facts.target_kinds)
    metric = facts.task_name(1) if facts.wants is Wants.RANKED else name
    truth: Any = examples[kind]
    perfect = np.eye(2)[truth] if kind == "class" and facts.wants is not Wants.LABELS else truth

    assert (score(metric, truth, perfect) > score(metric, truth, 1 - perfect)) == facts.higher_is_better
    assert score(metric, truth, perfect) == pytest.approx(1.0 if facts.higher_is_better else 0.0, abs=1e-6)
