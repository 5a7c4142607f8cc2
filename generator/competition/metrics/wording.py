"""Finding a metric in the words of Kaggle's API or of an evaluation page."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from generator.competition.metrics.catalog import METRICS, OTHER_METRICS, MetricFacts, parsed
from generator.errors import CompetitionError

_LONGEST_TEXT = 20_000
_CAMEL_CASE = re.compile(r"(?<=[a-z]{2})(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z]{2})")
_COMPOUND = re.compile(r"(?<=column)(?=wise)|(?<=row)(?=wise)|(?<=multi)(?=class|label)")
_POSSESSIVE = re.compile(r"['\N{RIGHT SINGLE QUOTATION MARK}]s?\b")
_WORD = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)?")
_SKIPPED = {"the", "of", "a", "an", "at", "is", "and"}
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
class _Found:
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
    best = max(_found(text), key=_rank, default=None)
    if best is None or best.metric is None or best.is_weighted:
        return None
    return _spelled(best.metric, best.parameter)


def metric_named(name: str) -> str:
    """The metric that a person means by a name, such as "AUC", "roc_auc_score", "MAP@3" or "qwk".

    Args:
        name: What stands where a task's metric belongs.

    Returns:
        The metric as a task names it; the name as it is where none is meant, for `parsed` to refuse.
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
    found = sorted(_found(text), key=_rank, reverse=True)
    return list(dict.fromkeys(_spelled(one.metric, one.parameter) for one in found if one.metric))


def _found(text: str) -> Iterator[_Found]:
    words = _words(text[:_LONGEST_TEXT])
    is_prose = words.count(" ") >= _SHORT_TEXT
    for wording in _wordings():
        if is_prose and wording.letters <= _SHORT_NAME:
            continue
        for match in wording.pattern.finditer(words):
            parameter = match.groupdict().get("parameter") or ""
            yield _Found(
                metric=wording.metric,
                parameter=parameter if parameter[:1].isdigit() else "",
                is_weighted=words.endswith("weighted ", 0, match.start()),
                weight=0 if wording.metric and match[0] == wording.metric.faint_name else wording.letters,
                position=match.start(),
            )


def _rank(found: _Found) -> tuple[int, bool, int]:
    return found.weight, bool(found.parameter), -found.position


def _spelled(metric: MetricFacts, parameter: str) -> str:
    if metric.at_one and parameter == "1":
        return metric.at_one
    try:
        return metric.spelled(parsed(f"{metric.name}@{parameter}")[1])
    except CompetitionError:
        return metric.spelled()


@cache
def _wordings() -> tuple[_Wording, ...]:
    known = [(metric, name) for metric in METRICS.values() for name in metric.names]
    return tuple(_wording(metric, name) for metric, name in [*known, *((None, name) for name in OTHER_METRICS)])


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
    return " ".join(word for word in _WORD.findall(split) if word not in _SKIPPED)
