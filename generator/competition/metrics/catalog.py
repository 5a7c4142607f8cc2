"""The catalog of the metrics that the kit can compute, read from the file beside this module."""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from generator.competition.facts import TargetKind
from generator.errors import CompetitionError, did_you_mean
from generator.untrusted import printable

_AT_K = "_at_k"
_PARAMETERS: Mapping[str, Callable[[float], bool]] = {
    "a number above 0": lambda value: 0 < value < math.inf,
    "a quantile between 0 and 1": lambda value: 0 < value < 1,
    "a whole number from 1 to 1000": lambda value: value in range(1, 1_001),
    "left out, since it has no parameter": lambda _: False,
}


class Wants(StrEnum):
    """The things that metrics compare with the truth."""

    PROBABILITIES = "probabilities"
    LABELS = "labels"  # the class, the labels that apply, or a number that is one of a few
    NUMBERS = "numbers"
    RANKED = "ranked"  # the k best classes or labels, in their order
    MASKS = "masks"


@dataclass(frozen=True)
class MetricFacts:
    """The facts of a metric, as catalog.toml declares them.

    Attributes:
        name: Its key in `METRICS`, and that of its section in the file of `templates/metrics` for what it wants.
        title: What people call it.
        names: How Kaggle's API and evaluation pages word it; `{K}` and `{Beta}` stand for its parameter.
        higher_is_better: Which way is better.
        target_kinds: The targets for which it is defined.
        wants: What it compares with the truth.
        loss: What trains numbers or masks for it: "squared_error", "absolute_error", "squared_log_error", "pinball" or
            "dice". Classes and labels are trained on "cross_entropy" whatever the metric is.
        parameter_default: Its parameter where none is given, or None if it has no parameter.
        parameter: What a parameter has to be, one of `_PARAMETERS`.
        at_one: The metric that it is with the parameter 1, as F-beta is F1.
        for_more_classes: The metric that its name stands for where there are more than two classes.
        for_labels: The same where there is any number of labels at once.
        usual_for: The targets for which it is taken where a competition's own metric cannot be computed.
        takes_likeliest: Whether the likeliest class is the best answer: a share of right answers has no threshold.
        is_ordinal: Whether classes that are numbers count as numbers, since it matters how far apart two are. The best
            answer is the expected one then, by cuts, and not the likeliest.
        faint_name: That of its names which is often just a word in prose, so that any other name goes first.
    """

    name: str
    title: str
    names: tuple[str, ...]
    higher_is_better: bool
    target_kinds: frozenset[TargetKind]
    wants: Wants
    loss: str
    parameter_default: float | None = None
    parameter: str = "left out, since it has no parameter"
    at_one: str = ""
    for_more_classes: str = ""
    for_labels: str = ""
    usual_for: frozenset[TargetKind] = frozenset()
    takes_likeliest: bool = False
    is_ordinal: bool = False
    faint_name: str = ""

    def spelled(self, parameter: float | None = None) -> str:
        """The metric as a task names it: "rmse", "map@5", or just "map" where the parameter is not known."""
        return _short(self.name) if parameter is None else f"{_short(self.name)}@{parameter:g}"


class UnknownMetricError(CompetitionError):
    """No metric of this name can be computed."""

    def __init__(self, *, metric: str) -> None:
        known = [_short(name) for name in METRICS]
        near = did_you_mean(metric, known) or f" `tandem generate --list` shows all {len(known)}."
        own = " One of your own can be written in metric.py, beside pair.toml."
        super().__init__(f'There is no metric "{printable(metric)}".{near}{own}')


def parsed(metric: str) -> tuple[MetricFacts, float | None]:
    """The facts and the parameter of a metric as a task names it.

    Args:
        metric: A key of `METRICS` or its short form, with or without a parameter: "rmse", "map@5", "f_beta@0.5".

    Returns:
        The facts, and the parameter: the one given, else the default, or None if the metric has none.

    Raises:
        UnknownMetricError: There is no such metric.
        CompetitionError: The parameter is none that this metric can have.
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
    if not _PARAMETERS[facts.parameter](value):
        raise CompetitionError(
            f'The metric "{printable(metric)}" cannot be computed: what follows the @ has to be {facts.parameter}.'
        )
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
                "target_kinds": frozenset(map(TargetKind, entry["target_kinds"])),
                "usual_for": frozenset(map(TargetKind, entry.get("usual_for", ()))),
                "wants": Wants(entry["wants"]),
            }
        )
        for name, entry in data["metric"].items()
    }
    return MappingProxyType(metrics), tuple(data["others"])


METRICS, OTHER_METRICS = _read_catalog()
