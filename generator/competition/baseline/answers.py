"""Predictions as a metric wants them, without anything tuned on the rows that are judged; the best constant."""

from collections.abc import Iterator
from typing import Any

from generator.competition.baseline.held_out import HeldOut
from generator.competition.facts import TargetKind
from generator.competition.metrics import function_of, parsed

_TWO_CLASSES = 2
_MOST_CANDIDATES = 20
_MOST_JUDGED = 5_000  # rows by which a constant is chosen
_MOST_PIXELS = 20_000_000


def decided(predictions: Any, truth: Any, held_out: HeldOut) -> Any:
    """Predictions as the metric wants them.

    Args:
        predictions: Probabilities [rows, classes] or [rows, labels], or numbers [rows, targets].
        truth: The true answers of the training rows: as often as these have a class, it is predicted.
        held_out: What is predicted, and by which decision.
    """
    import numpy as np

    decision = held_out.decision
    if decision == "thresholds" or (decision == "threshold" and held_out.class_count <= _TWO_CLASSES):
        positive = predictions if decision == "thresholds" else predictions[:, 1:]
        counts = np.round((truth > 0).reshape(len(truth), -1).mean(axis=0) * len(positive))
        likeliest_first = np.argsort(np.argsort(-positive, axis=0, kind="stable"), axis=0)
        is_positive = (likeliest_first < counts).astype("int32")
        return is_positive if decision == "thresholds" else is_positive[:, 0]
    if decision == "grades":
        expected = predictions @ np.arange(predictions.shape[1])
        shares = np.bincount(truth, minlength=predictions.shape[1]).cumsum()[:-1] / len(truth)
        place = np.argsort(np.argsort(expected, kind="stable"))
        return np.searchsorted(np.round(shares * len(expected)), place, "right")
    if decision in ("argmax", "threshold"):
        return predictions.argmax(axis=1)
    if decision == "rounding":
        columns = zip(predictions.T, truth.T, strict=True)
        return np.stack([_nearest(column, np.unique(true)) for column, true in columns], axis=1)
    return predictions


def best_constant(truth: Any, held_out: HeldOut) -> Any:
    """The answer [1, …], as the metric wants it, that is best for the training rows whatever the example."""
    import numpy as np

    most = max(50, min(_MOST_JUDGED, _MOST_PIXELS // max(1, truth[0].size)))
    judged = truth[:: 1 + len(truth) // most]
    score, sign = function_of(held_out.task.metric), 1 if parsed(held_out.task.metric)[0].higher_is_better else -1

    def goodness(candidate: Any) -> float:
        return sign * score(judged, np.repeat(candidate, len(judged), axis=0))

    return max(_constants(truth, held_out), key=goodness)


def _constants(truth: Any, held_out: HeldOut) -> Iterator[Any]:
    import numpy as np

    kind, takes_labels = held_out.task.target_kind, held_out.decision != "none"
    if kind is TargetKind.CLASS:
        counts = np.bincount(truth, minlength=held_out.class_count)
        if takes_labels:
            yield from ([one] * np.ones(1, dtype=int) for one in np.argsort(-counts, kind="stable")[:_MOST_CANDIDATES])
        else:
            yield counts[None] / counts.sum()
            yield np.full((1, len(counts)), 1 / len(counts))
    elif kind is TargetKind.LABELS:
        shares = truth.mean(axis=0, keepdims=True)
        if takes_labels:
            levels = np.quantile(shares, np.linspace(0, 1, _MOST_CANDIDATES))
            yield from ((shares >= level).astype("int32") for level in [*levels, 2.0])
        else:
            yield shares
    elif kind is TargetKind.MASK:
        yield from (np.full_like(truth[:1], value) for value in (0, 1))
    else:
        axis = None if kind is TargetKind.IMAGE else 0
        levels = [truth.mean(axis=axis, dtype="float64"), np.median(truth, axis=axis)]
        if truth.min() >= 0:
            levels.append(np.expm1(np.log1p(truth.astype("float64")).mean(axis=axis)))
        for level in levels:
            one = np.broadcast_to(level, truth[:1].shape)
            yield decided(one, truth, held_out) if takes_labels else one


def _nearest(numbers: Any, values: Any) -> Any:
    import numpy as np

    return values[np.searchsorted((values[:-1] + values[1:]) / 2, numbers, "right")]
