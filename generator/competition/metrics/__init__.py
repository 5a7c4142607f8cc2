"""The metrics by which competitions are scored.

In: the words of a page or of Kaggle's API (`wording`). Out: a metric as catalog.toml declares it (`catalog`), what to
train on and to decide for it (`choice`), and the function that computes it (`functions`), which is the notebooks' cell.
A further metric is an entry of catalog.toml and a section in `templates/metrics`; anybody may import this package.
"""

from generator.competition.metrics.catalog import METRICS, MetricFacts, UnknownMetricError, Wants, parsed
from generator.competition.metrics.choice import decision_of, loss_of, nearest_metric, suited_metric
from generator.competition.metrics.functions import function_of
from generator.competition.metrics.wording import find_metric, metric_named

__all__ = [
    "METRICS",
    "MetricFacts",
    "UnknownMetricError",
    "Wants",
    "decision_of",
    "find_metric",
    "function_of",
    "loss_of",
    "metric_named",
    "nearest_metric",
    "parsed",
    "suited_metric",
]
