"""The metrics: what they are called, and that each is computed as its definition says."""

import ast
import re
from typing import Any

import pytest

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.metrics import (
    METRICS,
    decision_of,
    find_metric,
    loss_of,
    nearest_metric,
    parse_metric,
    suited_metric,
)
from generator.errors import CompetitionError
from generator.kit_files import all_sections, template_folder
from generator.pair.notebook import CellKind, parse_percent_cells

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


@pytest.mark.parametrize(("text", "metric"), WORDINGS)
def test_a_metric_is_found_by_what_kaggle_calls_it(text: str, metric: str | None) -> None:
    assert find_metric(text) == metric


@pytest.mark.parametrize("facts", METRICS.values(), ids=METRICS)
def test_a_metric_is_found_by_each_of_its_own_names(facts: Any) -> None:
    for name in [facts.title, *facts.names]:
        assert find_metric(re.sub(r"\{\w+\}", "3", name)) in {facts.task_name(3), facts.task_name()}, name


def test_a_long_page_is_read_in_a_moment() -> None:
    assert find_metric("weighted mean mean mean f f f average precision of the area under " * 20_000) is None


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("rsme", r'There is no metric "rsme"\. Did you mean "rmse"\?'),
        ("\x1b[2J", r"There is no metric \"\\x1b\[2J\"\. `tandem generate --list` shows"),
        ("map@0", "a whole number from 1 to 1000"),
        ("map@2.5", "a whole number"),
        ("map@nan", "a whole number"),
        ("pinball@1", "a quantile between 0 and 1"),
        ("f_beta@inf", "a number above 0"),
        ("rmse@2", "left out"),
    ],
)
def test_a_metric_that_cannot_be_computed_is_said_in_a_sentence(metric: str, sentence: str) -> None:
    with pytest.raises(CompetitionError, match=sentence):
        parse_metric(metric)


def test_a_metric_is_spelled_as_it_is_parsed() -> None:
    for spelled, parameter in {"map@7": 7, "map": 5, "f_beta@0.5": 0.5, "rmse": None, "pinball@0.9": 0.9}.items():
        facts, found = parse_metric(spelled)
        assert found == parameter
        assert parse_metric(facts.task_name(found)) == (facts, found)


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
    facts, _ = parse_metric(nearest_metric("", kind, wants_labels=wants_labels))

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
        ("quadratic_weighted_kappa", TargetKind.CLASS, SubmissionKind.LABEL, "grades"),
        ("quadratic_weighted_kappa", TargetKind.CLASS, SubmissionKind.CLASS_COLUMNS, "argmax"),
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
    parts = {name for name in all_sections(template_folder()) if name.startswith("metrics/")}
    assert parts == {f"metrics/{facts.wants}.py.j2#{name}" for name, facts in METRICS.items()}


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_a_cell_that_says_what_it_measures_and_which_way_is_better(name: str) -> None:
    text = all_sections(template_folder())[f"metrics/{METRICS[name].wants}.py.j2#{name}"].partition("#}\n")[2]
    prose, code = parse_percent_cells(text)
    said = " ".join(prose.source.split())
    sentences = re.findall(r"[.!?](?=\s[A-Z0-9`]|$)", said)
    defined = {node.name for node in ast.parse(code.source).body if isinstance(node, ast.FunctionDef)}

    assert (prose.name, prose.kind, code.name) == ("metric-meaning", CellKind.MARKDOWN, "metric")
    assert 1 <= len(sentences) <= 3
    assert ("igher is better" in said) == METRICS[name].higher_is_better
    assert ("ower is better" in said) != METRICS[name].higher_is_better
    assert f"HIGHER_IS_BETTER = {METRICS[name].higher_is_better}\n" in code.source
    assert ("METRIC_PARAMETER" in code.source) == (METRICS[name].parameter_default is not None)
    assert "competition_metric" in defined
    assert len(code.source.split("\n")) <= 45
    assert "{" not in re.sub(r'f"[^"]*"', "", text)
