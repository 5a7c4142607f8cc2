"""The metric: as the competition words it, else the one that is usual for such a submission."""

from dataclasses import dataclass

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection.errors import UnusableValueError
from generator.competition.introspection.findings import Confidence, Findings, Hints, certain
from generator.competition.metrics import (
    MetricFacts,
    UnknownMetricError,
    find_metric,
    nearest_metric,
    parsed,
    suited_metric,
)
from generator.competition.schema import option_of

_KEY = "metric"
_SHOWN = 60
_USUAL_K = 5
_LABEL_SUBMISSIONS = frozenset((SubmissionKind.LABEL, SubmissionKind.LABEL_SET))


@dataclass(frozen=True)
class KnownMetric:
    """The metric as far as the user, the API or the pages say it; `name` is "" where they do not."""

    name: str = ""
    evidence: str = ""

    @property
    def facts(self) -> MetricFacts | None:
        """The kit's own facts on it."""
        return parsed(self.name)[0] if self.name else None

    def fits(self, kind: TargetKind, *, classes: int) -> bool:
        """True if it, or the form of it that is meant for such targets, can be computed."""
        return bool(self.name) and kind in parsed(suited_metric(self.name, kind, classes=classes))[0].target_kinds


def known_metric(hints: Hints) -> KnownMetric:
    """The metric that the user decided on, else the one that the API or the evaluation page names.

    Raises:
        UnknownMetricError: The user named a metric that the kit does not have.
        CompetitionError: The user gave it a parameter that it cannot have.
    """
    decided = hints.overrides.get(_KEY)
    if isinstance(decided, str):
        return KnownMetric(_named(decided), option_of(_KEY))
    for text, source in ((hints.metric_text, "Kaggle calls it"), (hints.evaluation_text, "the evaluation page names")):
        name = find_metric(text) if text else None
        if name is not None:
            called = f' "{text[:_SHOWN]}"' if text is hints.metric_text else " it"
            return KnownMetric(name, f"{source}{called}")
    return KnownMetric()


def _named(decided: str) -> str:
    """The user's metric by the kit's name for it, which may also be one of Kaggle's names, such as "AUC"."""
    try:
        parsed(decided)
    except UnknownMetricError:
        found = find_metric(decided)
        if found is None:
            raise
        return found
    return decided


def settle_metric(
    known: KnownMetric, submission: SubmissionKind, kind: TargetKind, found: Findings, *, sizes: tuple[int, int]
) -> None:
    """Settles the metric.

    Args:
        known: What is said of it.
        submission: What a row of the submission says.
        kind: What is predicted.
        found: Takes the finding; knows the wording of a metric that the kit does not have.
        sizes: How many classes there are, and how many labels a cell of the sample submission has.

    Raises:
        UnusableValueError: The user decided on a metric that is not computed for such targets.
    """
    classes, best = sizes
    text = found.hints.metric_text
    usual = _usual(text, submission, kind, classes=classes, best=best)
    # The user's metric is known by now, in the form that suits the target.
    if known.name and known.fits(kind, classes=classes):
        suited = suited_metric(known.name, kind, classes=classes)
        found[_KEY] = certain(_KEY, _with_k(suited, best), known.evidence)
    elif _KEY in found.hints.overrides:
        wanted = f"a metric of {kind} targets, such as {usual}, unless {option_of('target_kind')} says otherwise"
        raise UnusableValueError(key=option_of(_KEY), value=known.name, wanted=wanted)
    else:
        if known.name:
            evidence = f"{known.name} is not computed for such targets; this is the usual one"
        elif text:
            evidence = f'the kit does not have "{text[:_SHOWN]}"; this is the nearest'
        else:
            evidence = "nothing says it; this is usual for such a submission"
        found.settle(_KEY, usual, evidence, Confidence.THIN)


def _with_k(metric: str, best: int) -> str:
    """The k that the sample submission shows, where the wording leaves it open."""
    facts, _ = parsed(metric)
    is_open = facts.name.endswith("_at_k") and "@" not in metric
    return facts.spelled(best) if is_open and best > 1 else metric


def _usual(text: str, submission: SubmissionKind, kind: TargetKind, *, classes: int, best: int) -> str:
    if submission is SubmissionKind.TOP_K:
        return f"map@{best if best > 1 else _USUAL_K}"
    if submission is SubmissionKind.PROBABILITY and not text:
        return "auc"
    if kind is TargetKind.LABELS and submission is not SubmissionKind.LABEL_SET and not text:
        return "auc_mean_columns"
    nearest = nearest_metric(text, kind, wants_labels=submission in _LABEL_SUBMISSIONS)
    return suited_metric(nearest, kind, classes=classes)
