"""The catalog of the metrics that the kit can compute, read from the file beside this module.

CompetitionError
├── UnknownMetricError       no metric of this name can be computed
└── MetricParameterError     a metric cannot have this parameter
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from generator.competition.facts import TargetKind
from generator.errors import CompetitionError, did_you_mean
from generator.untrusted import printable

_AT_K = "_at_k"
_LARGEST_K = 1_000


class Wants(StrEnum):
    """What a metric compares with the truth."""

    PROBABILITIES = "probabilities"
    LABELS = "labels"  # the class, the labels that apply, or a number that is one of a few
    NUMBERS = "numbers"
    RANKED = "ranked"  # the k best classes or labels, in their order
    MASKS = "masks"


@dataclass(frozen=True)
class MetricFacts:
    """What the kit knows of a metric.

    Attributes:
        name: Its key in `METRICS`, and the stem of its file in `templates/metrics`.
        title: What people call it.
        names: How Kaggle's API and evaluation pages word it; `{K}` and `{Beta}` stand for its parameter.
        higher_is_better: Which way is better.
        target_kinds: The targets for which it is defined.
        wants: What it compares with the truth.
        loss: What trains numbers or masks for it: "squared_error", "absolute_error", "squared_log_error", "pinball" or
            "dice". Classes and labels are trained on "cross_entropy" whatever the metric is.
        parameter_default: Its parameter where none is given, or None if it has no parameter.
    """

    name: str
    title: str
    names: tuple[str, ...]
    higher_is_better: bool
    target_kinds: frozenset[TargetKind]
    wants: Wants
    loss: str
    parameter_default: float | None = None

    def spelled(self, parameter: float | None = None) -> str:
        """The metric as a task names it: "rmse", "map@5", or just "map" where the parameter is not known."""
        return _short(self.name) if parameter is None else f"{_short(self.name)}@{parameter:g}"


class UnknownMetricError(CompetitionError):
    """No metric of this name can be computed."""

    def __init__(self, *, metric: str) -> None:
        known = [_short(name) for name in METRICS]
        super().__init__(
            f'There is no metric "{printable(metric)}"; choose one of {", ".join(known)}.{did_you_mean(metric, known)}'
        )


class MetricParameterError(CompetitionError):
    """A metric cannot have this parameter."""

    def __init__(self, *, metric: str, wanted: str) -> None:
        super().__init__(f'The metric "{printable(metric)}" cannot be computed: what follows the @ has to be {wanted}.')


def parsed(metric: str) -> tuple[MetricFacts, float | None]:
    """The facts and the parameter of a metric as a task names it.

    Args:
        metric: A key of `METRICS` or its short form, with or without a parameter: "rmse", "map@5", "f_beta@0.5".

    Returns:
        The facts, and the parameter: the one given, else the default, or None if the metric has none.

    Raises:
        UnknownMetricError: There is no such metric.
        MetricParameterError: The parameter is none that this metric can have.
    """
    name, at, parameter = metric.partition("@")
    facts = METRICS.get(name) or METRICS.get(name + _AT_K)
    if facts is None:
        raise UnknownMetricError(metric=metric)
    return facts, _parameter(metric, facts, parameter) if at else facts.parameter_default


def _parameter(metric: str, facts: MetricFacts, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if facts.parameter_default is None:
        fits, wanted = False, "left out, since it has no parameter"
    elif facts.name.endswith(_AT_K):
        fits, wanted = value in range(1, _LARGEST_K + 1), f"a whole number from 1 to {_LARGEST_K}"
    elif facts.name == "pinball":
        fits, wanted = 0 < value < 1, "a quantile between 0 and 1"
    else:
        fits, wanted = 0 < value < math.inf, "a number above 0"
    if not fits:
        raise MetricParameterError(metric=metric, wanted=wanted)
    return value


def _short(name: str) -> str:
    return name.removesuffix(_AT_K)


def _read_catalog() -> tuple[Mapping[str, MetricFacts], tuple[str, ...]]:
    data = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text(encoding="utf-8"))
    metrics = {
        name: MetricFacts(
            **{
                **entry,
                "name": name,
                "names": tuple(entry["names"]),
                "target_kinds": frozenset(TargetKind(kind) for kind in entry["target_kinds"]),
                "wants": Wants(entry["wants"]),
            }
        )
        for name, entry in data["metric"].items()
    }
    return MappingProxyType(metrics), tuple(data["others"])


METRICS, OTHER_METRICS = _read_catalog()
