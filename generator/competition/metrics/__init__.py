"""The metrics by which competitions are scored: their names, what they want, and how they are computed."""

from generator.competition.metrics.catalog import (
    METRICS,
    MetricFacts,
    MetricParameterError,
    UnknownMetricError,
    Wants,
    parsed,
)
from generator.competition.metrics.cells import function_of
from generator.competition.metrics.choice import decision_of, loss_of, nearest_metric, suited_metric
from generator.competition.metrics.wording import find_metric, mentioned_metrics

__all__ = [
    "METRICS",
    "MetricFacts",
    "MetricParameterError",
    "UnknownMetricError",
    "Wants",
    "decision_of",
    "find_metric",
    "function_of",
    "loss_of",
    "mentioned_metrics",
    "nearest_metric",
    "parsed",
    "suited_metric",
]
