"""The metric that suits a task, the loss to train on for it, and the decision that turns predictions into answers."""

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.metrics.catalog import METRICS, MetricFacts, Wants, parsed
from generator.competition.metrics.wording import mentioned_metrics

_TWO_CLASSES = 2


def suited_metric(metric: str, target_kind: TargetKind, *, classes: int) -> str:
    """The form of a metric for a target, where one name stands for several: AUC, log loss and F1.

    Args:
        metric: A metric as a task names it.
        target_kind: What is predicted for one example.
        classes: How many classes there are; of no account for other targets.

    Returns:
        The form for this target, or the metric as it is where it has one form only or is not for such targets at all.
    """
    facts, _ = parsed(metric)
    if target_kind not in {TargetKind.CLASS, TargetKind.LABELS}:
        return metric
    is_of_more = target_kind is TargetKind.CLASS and classes > _TWO_CLASSES
    for base in (facts for facts in METRICS.values() if facts.for_labels):
        more, labels = base.for_more_classes or base.name, base.for_labels
        needs_two_classes = facts.name == base.name and is_of_more
        if facts.name in {base.name, more, labels} and (needs_two_classes or target_kind not in facts.target_kinds):
            if target_kind is TargetKind.LABELS:
                return labels
            return more if is_of_more else base.name
    return metric


def nearest_metric(text: str, target_kind: TargetKind, *, wants_labels: bool) -> str:
    """The metric to take where the competition's own cannot be computed.

    Args:
        text: How the competition words its metric, or nothing if it does not say.
        target_kind: What is predicted for one example.
        wants_labels: Whether a submission has labels rather than numbers or probabilities.

    Returns:
        A metric whose name is part of that wording and that fits the target ("Weighted Mean Absolute Error": "mae"),
        else the usual one for such targets.
    """
    for metric in mentioned_metrics(text):
        facts, _ = parsed(metric)
        if target_kind in facts.target_kinds and (facts.wants is Wants.LABELS) == wants_labels:
            return metric
    return _usual(target_kind, wants_labels=wants_labels).name


def loss_of(metric: str, target_kind: TargetKind) -> str:
    """The loss to train on for a metric.

    Args:
        metric: A metric as a task names it.
        target_kind: What is predicted for one example.

    Returns:
        "cross_entropy" for classes and labels; "squared_error", "absolute_error", "squared_log_error" or "pinball" for
        numbers and images; "dice" for masks.
    """
    if target_kind in {TargetKind.CLASS, TargetKind.LABELS}:
        return "cross_entropy"
    facts, _ = parsed(metric)
    return facts.loss if target_kind in facts.target_kinds else _usual(target_kind, wants_labels=False).loss


def decision_of(metric: str, target_kind: TargetKind, submission: SubmissionKind) -> str:
    """The decision that turns a task's predictions into what its metric wants.

    Args:
        metric: A metric as a task names it.
        target_kind: What is predicted for one example.
        submission: What a row of the submission says.

    Returns:
        The stem of a file in `templates/decisions`: "none", "argmax", "threshold" (which is argmax where there are more
        than two classes), "grades" (which is argmax where classes are no numbers), "thresholds", "rounding" or
        "mask_threshold".
    """
    facts, _ = parsed(metric)
    if target_kind is TargetKind.MASK:
        return "mask_threshold"
    if facts.wants is not Wants.LABELS:
        return "none"
    if target_kind is TargetKind.LABELS:
        return "thresholds"
    if target_kind is TargetKind.NUMBER:
        return "rounding"
    # Where a column for each class is submitted, it is Kaggle that takes the largest.
    if facts.takes_likeliest or submission is SubmissionKind.CLASS_COLUMNS:
        return "argmax"
    return "grades" if facts.is_ordinal else "threshold"


def _usual(target_kind: TargetKind, *, wants_labels: bool) -> MetricFacts:
    usual = [facts for facts in METRICS.values() if target_kind in facts.usual_for]
    return next((facts for facts in usual if (facts.wants is Wants.LABELS) == wants_labels), usual[0])
