"""The metrics by which competitions are scored: their catalog, their functions, and how they are chosen."""

import math
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from generator.competition.facts import SubmissionKind, TargetKind, Wants
from generator.errors import CompetitionError, did_you_mean
from generator.kit_files import SUFFIX, sections, template_folder
from generator.text import printable

# The catalog of the metrics that the kit can compute, read from the file beside this module.


_AT_K = "_at_k"
_PARAMETERS: Mapping[str, Callable[[float], bool]] = {
    "a number above 0": lambda value: 0 < value < math.inf,
    "a quantile between 0 and 1": lambda value: 0 < value < 1,
    "a whole number from 1 to 1000": lambda value: value in range(1, 1_001),
    "left out, since it has no parameter": lambda _: False,
}


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

    def task_name(self, parameter: float | None = None) -> str:
        """The metric as a task names it: "rmse", "map@5", or just "map" where the parameter is not known."""
        return _short(self.name) if parameter is None else f"{_short(self.name)}@{parameter:g}"


class UnknownMetricError(CompetitionError):
    """No metric of this name can be computed."""

    def __init__(self, *, metric: str) -> None:
        names = [_short(name) for name in METRICS]
        near = did_you_mean(metric, names) or f" `tandem generate --list` shows all {len(names)}."
        advice = " One of your own can be written in metric.py, beside pair.toml."
        super().__init__(f'There is no metric "{printable(metric)}".{near}{advice}')


def parse_metric(metric: str) -> tuple[MetricFacts, float | None]:
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
    data = tomllib.loads(Path(__file__).with_name("data").joinpath("metrics.toml").read_text(encoding="utf-8"))
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


# The metrics as functions: the very cells that the notebooks have.


_CELL = '# %% name="metric" cell="scoring"\n'


def function_of(metric: str) -> Callable[[Any, Any], float]:
    """The function that computes a metric.

    Args:
        metric: A metric as a task names it, such as "rmse" or "map@5".

    Returns:
        `competition_metric(truth, predictions)` of `templates/metrics`, for arrays of these shapes:

        * classes: truth [rows] of class indices; predictions [rows, classes] of probabilities, or [rows] of class
          indices if the metric wants labels;
        * labels: both [rows, labels], the truth 0 or 1, the predictions too if the metric wants labels, else
          probabilities;
        * numbers: both [rows, targets];
        * masks: both [rows, height, width] of 0 and 1; [rows, height, width, classes] where there are several.

    Raises:
        UnknownMetricError: There is no such metric.
        CompetitionError: Its parameter is none that it can have.
    """
    import numpy as np

    facts, parameter = parse_metric(metric)
    file = template_folder() / "metrics" / f"{facts.wants}{SUFFIX}"
    _, _, cell = sections(file.read_text(encoding="utf-8"))[facts.name].partition(_CELL)
    names: dict[str, Any] = {"np": np, "METRIC_PARAMETER": parameter}
    exec(compile(cell, str(file), "exec"), names)  # noqa: S102 - the kit's own file, and one text for both uses
    function: Callable[[Any, Any], float] = names["competition_metric"]
    return function


# Finding a metric in the words of Kaggle's API or of an evaluation page.


_LONGEST_TEXT = 20_000
_CAMEL_CASE = re.compile(r"(?<=[a-z]{2})(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z]{2})")
_COMPOUND = re.compile(r"(?<=column)(?=wise)|(?<=row)(?=wise)|(?<=multi)(?=class|label)")
_POSSESSIVE = re.compile(r"['\N{RIGHT SINGLE QUOTATION MARK}]s?\b")
_WORD = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)?")
_STOP_WORDS = {"the", "of", "a", "an", "at", "is", "and"}
_PLACEHOLDER = re.compile(r"\{(K|Beta)\}")
_PLACES = {"K": r"(?P<parameter>\d+|k)", "Beta": r"(?P<parameter>\d+(?:\.\d+)?|beta)"}
# What is as short as "F1" may be a column's name, so that it counts only where the text is hardly more.
_SHORT_NAME, _SHORT_TEXT = 2, 6


@dataclass(frozen=True)
class _Wording:
    """One name of a metric, or of something that the kit does not compute, and what it looks like in a text."""

    metric: MetricFacts | None
    pattern: re.Pattern[str]
    letters: int


@dataclass(frozen=True)
class _MetricMatch:
    """A name of a metric in a text."""

    metric: MetricFacts | None
    parameter: str
    is_weighted: bool
    weight: int
    position: int


def find_metric(text: str) -> str | None:
    """The metric that Kaggle's API or an evaluation page names.

    Args:
        text: A name such as "AUC", "MulticlassLoss" or "MAP@{K}", or whole paragraphs, of which the longest name of a
            metric counts, and of several the first. Only the beginning of a very long text is read.

    Returns:
        The metric as a task names it, with its parameter if the text has that ("map@5", else "map"), or None if no
        metric is named, or one that the kit does not compute, such as a weighted one.
    """
    best = max(_find_mentions(text), key=_rank, default=None)
    if best is None or best.metric is None or best.is_weighted:
        return None
    return _task_name(best.metric, best.parameter)


def metric_named(name: str) -> str:
    """The metric that a person means by a name, such as "AUC", "roc_auc_score", "MAP@3" or "qwk".

    Args:
        name: What stands where a task's metric belongs.

    Returns:
        The metric as a task names it; the name as it is where none is meant, for `parse_metric` to refuse.
    """
    lower = name.strip().lower()
    short = lower.partition("@")[0]
    if short in METRICS or f"{short}_at_k" in METRICS:
        return lower
    # "f1_weighted" of scikit-learn is another metric than F1, as "weighted F1" is.
    is_weighted = _words(name).endswith(" weighted")
    return (None if is_weighted else find_metric(name)) or name


def mentioned_metrics(text: str) -> list[str]:
    """All metrics whose names a text has in it, parts of other names included, the longest name first.

    Args:
        text: As for `find_metric`.

    Returns:
        Metrics as tasks name them, none of them twice.
    """
    mentions = sorted(_find_mentions(text), key=_rank, reverse=True)
    return list(dict.fromkeys(_task_name(mention.metric, mention.parameter) for mention in mentions if mention.metric))


def _find_mentions(text: str) -> Iterator[_MetricMatch]:
    words = _words(text[:_LONGEST_TEXT])
    is_prose = words.count(" ") >= _SHORT_TEXT
    for wording in _wordings():
        if is_prose and wording.letters <= _SHORT_NAME:
            continue
        for match in wording.pattern.finditer(words):
            parameter = match.groupdict().get("parameter") or ""
            yield _MetricMatch(
                metric=wording.metric,
                parameter=parameter if parameter[:1].isdigit() else "",
                is_weighted=words.endswith("weighted ", 0, match.start()),
                weight=0 if wording.metric and match[0] == wording.metric.faint_name else wording.letters,
                position=match.start(),
            )


def _rank(mention: _MetricMatch) -> tuple[int, bool, int]:
    return mention.weight, bool(mention.parameter), -mention.position


def _task_name(metric: MetricFacts, parameter: str) -> str:
    if metric.at_one and parameter == "1":
        return metric.at_one
    try:
        return metric.task_name(parse_metric(f"{metric.name}@{parameter}")[1])
    except CompetitionError:
        return metric.task_name()


@cache
def _wordings() -> tuple[_Wording, ...]:
    pairs = [(metric, name) for metric in METRICS.values() for name in metric.names]
    return tuple(_wording(metric, name) for metric, name in [*pairs, *((None, name) for name in OTHER_METRICS)])


def _wording(metric: MetricFacts | None, name: str) -> _Wording:
    # At odd places of the parts stands the name of a parameter.
    parts = [
        [_PLACES[part]] if index % 2 else _words(part).split() for index, part in enumerate(_PLACEHOLDER.split(name))
    ]
    letters = sum(len(word) for words in parts[::2] for word in words)
    # "log loss" is written "logloss" as well, and "F2 score" is "F2Score" in the API.
    pattern = " ?".join(word for words in parts for word in words)
    return _Wording(metric, re.compile(rf"(?<![0-9a-z.]){pattern}(?![0-9a-z]|\.\d)"), letters)


def _words(text: str) -> str:
    r"""The words of a text in small letters, as names are compared: "F_{\beta}-Score" is "f beta score"."""
    plain = unicodedata.normalize("NFKC", text).replace("\N{GREEK SMALL LETTER BETA}", " beta ")
    split = _COMPOUND.sub(" ", _CAMEL_CASE.sub(" ", _POSSESSIVE.sub("", plain)).lower())
    return " ".join(word for word in _WORD.findall(split) if word not in _STOP_WORDS)


# The metric that suits a task, the loss to train on for it, and the decision that turns predictions into answers.


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
    facts, _ = parse_metric(metric)
    if target_kind not in {TargetKind.CLASS, TargetKind.LABELS}:
        return metric
    is_of_more = target_kind is TargetKind.CLASS and classes > _TWO_CLASSES
    for base in (facts for facts in METRICS.values() if facts.for_labels):
        multiclass_name, labels = base.for_more_classes or base.name, base.for_labels
        needs_two_classes = facts.name == base.name and is_of_more
        if facts.name in {base.name, multiclass_name, labels} and (
            needs_two_classes or target_kind not in facts.target_kinds
        ):
            if target_kind is TargetKind.LABELS:
                return labels
            return multiclass_name if is_of_more else base.name
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
        facts, _ = parse_metric(metric)
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
    facts, _ = parse_metric(metric)
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
    facts, _ = parse_metric(metric)
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


__all__ = [
    "METRICS",
    "MetricFacts",
    "UnknownMetricError",
    "decision_of",
    "find_metric",
    "function_of",
    "loss_of",
    "metric_named",
    "nearest_metric",
    "parse_metric",
    "suited_metric",
]
