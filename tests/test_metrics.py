"""The metrics: what they are called, and that each is computed as its definition says."""

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.metrics import (
    METRICS,
    MetricParameterError,
    UnknownMetricError,
    Wants,
    decision_of,
    find_metric,
    function_of,
    loss_of,
    nearest_metric,
    parsed,
    suited_metric,
)
from generator.installation import template_folder
from generator.pair.percent import CellKind, read_cells

ROWS = 400
RNG = np.random.default_rng(7)
EMPTY_AND_FULL = np.stack([np.zeros((4, 4), "uint8"), np.ones((4, 4), "uint8")])

WORDINGS: list[tuple[str, str | None]] = [
    ("Area Under Receiver Operating Characteristic Curve", "auc"),
    ("AUC", "auc"),
    ("Roc Auc Score", "auc"),
    (
        "Submissions are evaluated on area under the ROC curve between the predicted probability and the target.",
        "auc",
    ),
    ("Mean Columnwise Area Under Receiver Operating Characteristic Curve", "auc_mean_columns"),
    ("MCAUC", "auc_mean_columns"),
    (
        "Submissions are now evaluated on the mean column-wise ROC AUC: the average of the individual AUCs.",
        "auc_mean_columns",
    ),
    ("a version of macro-averaged ROC-AUC that skips classes which have no true positive labels", "auc_mean_columns"),
    ("ROC AUC (one-vs-rest)", "auc_one_vs_rest"),
    ("Log Loss", "log_loss"),
    ("LogLoss", "log_loss"),
    ("MultiClassLoss", "log_loss"),
    ("Multiclass Loss", "log_loss"),
    (
        "Submissions are evaluated using the multi-class logarithmic loss. Each image has one true class.",
        "log_loss",
    ),
    ("Mean Columnwise Log Loss", "log_loss_mean_columns"),
    ("MeanColumnwiseLogLoss", "log_loss_mean_columns"),
    ("Categorization Accuracy", "accuracy"),
    ("CategorizationAccuracy", "accuracy"),
    ("Your score is the percentage of passengers you correctly predict. This is known as accuracy.", "accuracy"),
    ("To improve the accuracy of diagnoses, submissions are scored by the Dice coefficient.", "dice"),
    ("F-Score (Macro)", "f1_macro"),
    ("MacroFScore", "f1_macro"),
    ("Submissions will be evaluated based on their macro F1 score.", "f1_macro"),
    ("F-Score Micro", "f1_micro"),
    ("micro averaged F1-score", "f1_micro"),
    ("MeanFScore", "f1_samples"),
    ("Mean F-Score", "f1_samples"),
    ("F1 Score", "f1"),
    ("F1", "f1"),
    ("FScore_1", "f1"),
    ("Submissions are evaluated using F1 between the predicted and expected answers.", "f1"),
    ("Submissions will be evaluated based on their mean F2 score.", "f_beta@2"),
    ("F-Score Beta", "f_beta"),
    ("evaluated on the modified $F_{0.5}$-Score", "f_beta@0.5"),
    ("F_{\\beta}-score", "f_beta"),
    ("F\N{SUBSCRIPT ONE} score", "f1"),
    ("MatthewsCorrelationCoefficient", "mcc"),
    ("Matthews correlation coefficient", "mcc"),
    ("QuadraticWeightedKappa", "quadratic_weighted_kappa"),
    (
        "Submissions are scored based on the quadratic weighted kappa, which measures the agreement.",
        "quadratic_weighted_kappa",
    ),
    ("MAP@{K}", "map"),
    ("MAP{K}", "map"),
    (
        "Submissions are evaluated according to the Mean Average Precision @ 5 (MAP@5), where U is",
        "map@5",
    ),
    ("MAP@12", "map@12"),
    ("Recall@20", "recall@20"),
    ("Top-3 accuracy", "recall@3"),
    ("Root Mean Squared Error", "rmse"),
    ("RMSE", "rmse"),
    ("root-mean-square error", "rmse"),
    (
        "Submissions are evaluated on Root-Mean-Squared-Error (RMSE) between the logarithm of the predicted value.",
        "rmsle",
    ),
    ("Root Mean Squared Logarithmic Error", "rmsle"),
    ("RMSLE", "rmsle"),
    ("MSE", "mse"),
    ("Mean Absolute Error", "mae"),
    ("MCRMSE", "mcrmse"),
    ("mean columnwise root mean squared error (MCRMSE)", "mcrmse"),
    ("MCRMSLE", "rmsle_mean_columns"),
    ("Mean Columnwise Root Mean Squared Logarithmic Error", "rmsle_mean_columns"),
    ("R\N{SUPERSCRIPT TWO} score", "r2"),
    ("R2Score", "r2"),
    ("MAPE", "mape"),
    ("SMAPE", "smape"),
    ("Symmetric mean absolute percentage error (SMAPE)", "smape"),
    ("Pearson correlation coefficient", "pearson"),
    ("MCSpearmanR", "spearman"),
    ("mean column-wise Spearman\N{RIGHT SINGLE QUOTATION MARK}s correlation coefficient", "spearman"),
    ("Dice", "dice"),
    ("Jaccard", "iou"),
    ("IntersectionOverUnionObjectSegmentation", "iou_thresholds"),
    (
        "It is evaluated on the mean average precision at different intersection over union (IoU) thresholds.",
        "iou_thresholds",
    ),
    ("Pinball loss", "pinball"),
    ("Normalized Gini Index", "gini"),
    ("NormalizedGini", "gini"),
    ("CRPS", "crps"),
    ("Continuous Ranked Probability Score (CRPS)", "crps"),
    (
        "The metric is Mean F1-Score. F1, common in retrieval, measures accuracy by precision p and recall r.",
        "f1_samples",
    ),
    (
        'In "macro" F1 a separate F1 score is computed for each class. Submissions are scored on macro F1 score.',
        "f1_macro",
    ),
    ("evaluated based on their classification accuracy, the percentage of predicted labels that are right", "accuracy"),
    ("Submissions are evaluated on the mean absolute error between predicted and actual pressures.", "mae"),
    # Not computed: a name in them is another metric's.
    ("Weighted Mean Absolute Error", None),
    ("WeightedAUC", None),
    ("WeightedPinballLoss", None),
    ("Weighted Categorization Accuracy", None),
    ("F-Score Beta (Micro)", None),
    ("Dice3DHausdorff", None),
    ("partial area under the ROC curve (pAUC) above 80% true positive rate", None),
    ("MeanBestErrorAtK", None),
    ("LevenshteinMean", None),
    ("Laplace Log Likelihood", None),
    ("Custom Metric", None),
    ("Submissions are evaluated using a weighted multi-label logarithmic loss.", None),
    ("The root mean square percentage error (RMSPE) is the metric.", "rmspe"),
    ("Root Mean Square Percentage Error", "rmspe"),
    ("Balanced Log Loss", "balanced_log_loss"),
    ("Submissions are evaluated using a balanced logarithmic loss.", "balanced_log_loss"),
    ("Weighted Root Mean Squared Scaled Error", None),
    ("The columns f_1 and f_2 are features; a map of the area is in the archive, r 2 of it.", None),
    ("", None),
]


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
    return float(np.mean([sklearn_metrics.jaccard_score(*row) for row in rows]))


def sklearn_of(name: str, **options: Any) -> Callable[[Any, Any], float]:
    return lambda truth, predictions: float(getattr(sklearn_metrics, name)(truth, predictions, **options))


BINARY_PROBABILITIES = probabilities(ROWS, 2, ties=True)
PROBABILITIES = probabilities(ROWS, 5)
FLAT_MASKS = column_mean(sklearn_of("f1_score"))
F1_ROWS = sklearn_of("f1_score", average="samples", zero_division=1)
RMSE = sklearn_of("root_mean_squared_error")
RMSLE = sklearn_of("root_mean_squared_log_error")

# The metric, truth, predictions, and a definition that owes nothing to the cell's way of computing it.
DEFINITIONS: list[tuple[str, Any, Any, Callable[[Any, Any], float]]] = [
    ("auc", BINARY, BINARY_PROBABILITIES, lambda t, p: float(sklearn_metrics.roc_auc_score(t, p[:, 1]))),
    ("auc_mean_columns", LABELS, LABEL_PROBABILITIES, sklearn_of("roc_auc_score", average="macro")),
    ("auc_one_vs_rest", CLASS, PROBABILITIES, lambda t, p: float(
        np.mean([sklearn_metrics.roc_auc_score(t == index, p[:, index]) for index in range(5)]))),
    ("log_loss", BINARY, BINARY_PROBABILITIES, sklearn_of("log_loss")),
    ("log_loss", CLASS, PROBABILITIES.astype("float64") * 3, lambda t, p: float(
        sklearn_metrics.log_loss(t, p / p.sum(axis=1, keepdims=True)))),
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
    ("recall@2", CLASS, PROBABILITIES, lambda t, p: float(sklearn_metrics.top_k_accuracy_score(t, p, k=2))),
    ("rmse", NUMBERS, NEAR, lambda t, p: float(sklearn_metrics.mean_squared_error(t.ravel(), p.ravel()) ** 0.5)),
    ("mse", NUMBERS, NEAR, sklearn_of("mean_squared_error")),
    ("mae", NUMBERS, NEAR, sklearn_of("mean_absolute_error")),
    ("rmsle", POSITIVE[:, :1], NEAR_POSITIVE[:, :1], RMSLE),
    ("r2", NUMBERS, NEAR, sklearn_of("r2_score")),
    ("mcrmse", NUMBERS, NEAR, RMSE),
    ("rmsle_mean_columns", POSITIVE, NEAR_POSITIVE, RMSLE),
    ("mape", POSITIVE, NEAR_POSITIVE, sklearn_of("mean_absolute_percentage_error")),
    ("rmspe", POSITIVE, NEAR_POSITIVE, lambda t, p: float(np.mean(((t - p) / t) ** 2) ** 0.5)),
    ("smape", POSITIVE, NEAR_POSITIVE, lambda t, p: float(np.mean(100 * abs(t - p) / ((abs(t) + abs(p)) / 2)))),
    ("pearson", NUMBERS, NEAR, column_mean(lambda t, p: stats.pearsonr(t, p).statistic)),
    ("spearman", NUMBERS.round(1), NEAR.round(1), column_mean(lambda t, p: stats.spearmanr(t, p).statistic)),
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
    assert {parsed(metric)[0].name for metric, *_ in DEFINITIONS} == set(METRICS)


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
    metric = facts.spelled(1) if facts.wants is Wants.RANKED else name
    truth: Any = examples[kind]
    perfect = np.eye(2)[truth] if kind == "class" and facts.wants is not Wants.LABELS else truth

    assert (score(metric, truth, perfect) > score(metric, truth, 1 - perfect)) == facts.higher_is_better
    assert score(metric, truth, perfect) == pytest.approx(1.0 if facts.higher_is_better else 0.0, abs=1e-6)


@pytest.mark.parametrize(("text", "metric"), WORDINGS)
def test_a_metric_is_found_by_what_kaggle_calls_it(text: str, metric: str | None) -> None:
    assert find_metric(text) == metric


@pytest.mark.parametrize("facts", METRICS.values(), ids=METRICS)
def test_a_metric_is_found_by_each_of_its_own_names(facts: Any) -> None:
    for name in [facts.title, *facts.names]:
        assert find_metric(re.sub(r"\{\w+\}", "3", name)) in {facts.spelled(3), facts.spelled()}, name


def test_a_long_page_is_read_in_a_moment() -> None:
    assert find_metric("weighted mean mean mean f f f average precision of the area under " * 20_000) is None


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("rsme", r'There is no metric "rsme"; choose one of auc, .*\. Did you mean "rmse"\?'),
        ("\x1b[2J", r"There is no metric \"\\x1b\[2J\"; "),
        ("map@0", "a whole number from 1 to 1000"),
        ("map@2.5", "a whole number"),
        ("map@nan", "a whole number"),
        ("pinball@1", "a quantile between 0 and 1"),
        ("f_beta@inf", "a number above 0"),
        ("rmse@2", "left out"),
    ],
)
def test_a_metric_that_cannot_be_computed_is_said_in_a_sentence(metric: str, sentence: str) -> None:
    with pytest.raises((UnknownMetricError, MetricParameterError), match=sentence):
        parsed(metric)


def test_a_metric_is_spelled_as_it_is_parsed() -> None:
    for spelled, parameter in {"map@7": 7, "map": 5, "f_beta@0.5": 0.5, "rmse": None, "pinball@0.9": 0.9}.items():
        facts, found = parsed(spelled)
        assert found == parameter
        assert parsed(facts.spelled(found)) == (facts, found)


@pytest.mark.parametrize(
    ("text", "kind", "wants_labels", "metric"),
    [
        ("Weighted Mean Absolute Error", TargetKind.NUMBER, False, "mae"),
        ("WeightedAUC", TargetKind.CLASS, False, "auc"),
        ("WeightedAUC", TargetKind.CLASS, True, "accuracy"),
        ("Mean Angular Error", TargetKind.NUMBER, False, "rmse"),
        ("Weighted Mean Absolute Error", TargetKind.LABELS, False, "log_loss_mean_columns"),
        ("Dice3DHausdorff", TargetKind.MASK, False, "dice"),
        ("", TargetKind.IMAGE, False, "rmse"),
    ],
)
def test_an_unknown_metric_has_a_nearest_one(text: str, kind: TargetKind, wants_labels: bool, metric: str) -> None:
    assert nearest_metric(text, kind, wants_labels=wants_labels) == metric


@pytest.mark.parametrize("kind", TargetKind)
@pytest.mark.parametrize("wants_labels", [True, False])
def test_every_target_has_a_usual_metric_that_fits_it(kind: TargetKind, wants_labels: bool) -> None:
    facts, _ = parsed(nearest_metric("", kind, wants_labels=wants_labels))

    assert kind in facts.target_kinds


@pytest.mark.parametrize(
    ("metric", "kind", "classes", "suited"),
    [
        ("auc", TargetKind.CLASS, 2, "auc"),
        ("auc", TargetKind.CLASS, 3, "auc_one_vs_rest"),
        ("auc", TargetKind.LABELS, 3, "auc_mean_columns"),
        ("auc_mean_columns", TargetKind.CLASS, 4, "auc_one_vs_rest"),
        ("auc_one_vs_rest", TargetKind.CLASS, 2, "auc_one_vs_rest"),
        ("log_loss", TargetKind.LABELS, 3, "log_loss_mean_columns"),
        ("log_loss", TargetKind.CLASS, 9, "log_loss"),
        ("f1", TargetKind.CLASS, 3, "f1_macro"),
        ("f1_samples", TargetKind.CLASS, 2, "f1"),
        ("f1_micro", TargetKind.LABELS, 3, "f1_micro"),
        ("map@5", TargetKind.CLASS, 3, "map@5"),
        ("auc", TargetKind.NUMBER, 0, "auc"),
    ],
)
def test_a_name_for_several_metrics_means_the_one_for_the_target(
    metric: str, kind: TargetKind, classes: int, suited: str
) -> None:
    assert suited_metric(metric, kind, classes=classes) == suited


@pytest.mark.parametrize(
    ("metric", "kind", "submission", "decision"),
    [
        ("accuracy", TargetKind.CLASS, SubmissionKind.LABEL, "argmax"),
        ("f1", TargetKind.CLASS, SubmissionKind.LABEL, "threshold"),
        ("mcc", TargetKind.CLASS, SubmissionKind.CLASS_COLUMNS, "argmax"),
        ("quadratic_weighted_kappa", TargetKind.CLASS, SubmissionKind.LABEL, "argmax"),
        ("quadratic_weighted_kappa", TargetKind.NUMBER, SubmissionKind.LABEL, "rounding"),
        ("f1_samples", TargetKind.LABELS, SubmissionKind.LABEL_SET, "thresholds"),
        ("dice", TargetKind.MASK, SubmissionKind.RUN_LENGTH, "mask_threshold"),
        ("map@5", TargetKind.CLASS, SubmissionKind.TOP_K, "none"),
        ("rmse", TargetKind.NUMBER, SubmissionKind.NUMBERS, "none"),
    ],
)
def test_a_decision_is_made_where_the_metric_wants_one(
    metric: str, kind: TargetKind, submission: SubmissionKind, decision: str
) -> None:
    assert decision_of(metric, kind, submission) == decision


def test_numbers_train_on_a_loss_for_their_metric_and_classes_on_cross_entropy() -> None:
    assert loss_of("mae", TargetKind.NUMBER) == "absolute_error"
    assert loss_of("pinball@0.9", TargetKind.NUMBER) == "pinball"
    assert loss_of("quadratic_weighted_kappa", TargetKind.NUMBER) == "squared_error"
    assert loss_of("quadratic_weighted_kappa", TargetKind.CLASS) == "cross_entropy"
    assert loss_of("rmse", TargetKind.MASK) == "dice"


def test_every_metric_has_a_cell_and_every_cell_a_metric() -> None:
    assert {path.name for path in (template_folder() / "metrics").iterdir()} == {f"{name}.py.j2" for name in METRICS}


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_a_cell_that_says_what_it_measures_and_which_way_is_better(name: str) -> None:
    text = (template_folder() / "metrics" / f"{name}.py.j2").read_text()
    prose, code = read_cells(text)
    said = " ".join(prose.source.split())
    sentences = re.findall(r"[.!?](?=\s[A-Z0-9`]|$)", said)
    defined = {node.name for node in ast.parse(code.source).body if isinstance(node, ast.FunctionDef)}

    assert (prose.name, prose.kind, code.name) == ("metric", CellKind.MARKDOWN, "competition-metric")
    assert 1 <= len(sentences) <= 3
    assert ("igher is better" in said) == METRICS[name].higher_is_better
    assert ("ower is better" in said) != METRICS[name].higher_is_better
    assert f"HIGHER_IS_BETTER = {METRICS[name].higher_is_better}\n" in code.source
    assert ("METRIC_PARAMETER" in code.source) == (METRICS[name].parameter_default is not None)
    assert "competition_metric" in defined
    assert len(code.source.split("\n")) <= 45
    assert "{" not in re.sub(r'f"[^"]*"', "", text)
