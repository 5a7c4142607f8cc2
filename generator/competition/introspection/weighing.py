"""Weighing candidates: reasons add up, the heaviest candidate wins, and its lead says how far to trust it.

A weight of 1 is a hint, 2 speaks clearly, 4 would do alone; a negative one speaks against.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from generator.competition.facts import Value
from generator.competition.introspection.errors import UnusableValueError
from generator.competition.introspection.facts import Candidate, Confidence, Finding, Hints
from generator.competition.schema import TYPE_NAMES, option_of, value_from
from generator.untrusted import printable

_SURE_WEIGHT, _SURE_LEAD = 4.0, 1.5
_LIKELY_WEIGHT, _LIKELY_LEAD = 2.0, 1.0
_CLAUSES = 3


@dataclass(frozen=True)
class Reason:
    """Something that speaks for a candidate, or against it; with a weight of 0 it does not apply."""

    weight: float
    clause: str


def weighed(value: Value, reasons: Iterable[Reason]) -> Candidate:
    """A candidate with the sum of its reasons, and the heaviest of them as its evidence."""
    applying = [reason for reason in reasons if reason.weight]
    speaking = sorted((reason for reason in applying if reason.weight > 0), key=lambda reason: -reason.weight)
    evidence = printable(joined([reason.clause for reason in speaking[:_CLAUSES]]))
    return Candidate(value, evidence, sum(reason.weight for reason in applying))


def best_first(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The candidates by weight; equal ones stay in their order."""
    return tuple(sorted(candidates, key=lambda candidate: -candidate.weight))


def chosen(key: str, candidates: Iterable[Candidate], hints: Hints) -> Finding:
    """The finding of the heaviest candidate, unless the user decided otherwise.

    Args:
        key: What is looked for.
        candidates: At least one.
        hints: With the user's decisions.

    Returns:
        The finding, with all candidates.
    """
    ordered = best_first(candidates)
    best = ordered[0]
    lead = best.weight - max((rival.weight for rival in ordered[1:]), default=0.0)
    if best.weight >= _SURE_WEIGHT and lead >= _SURE_LEAD:
        confidence = Confidence.SURE
    elif best.weight >= _LIKELY_WEIGHT and lead >= _LIKELY_LEAD:
        confidence = Confidence.LIKELY
    else:
        confidence = Confidence.THIN
    evidence = best.evidence or "nothing speaks for another"
    return _unless_decided(Finding(key, best.value, evidence, confidence, ordered), hints)


def settled(
    key: str, value: Value, evidence: str, hints: Hints, *, confidence: Confidence = Confidence.SURE
) -> Finding:
    """The finding of a value that has no rivals, unless the user decided otherwise."""
    weights = {Confidence.SURE: _SURE_WEIGHT, Confidence.LIKELY: _LIKELY_WEIGHT, Confidence.THIN: 1.0}
    candidate = Candidate(value, printable(evidence), weights[confidence])
    return _unless_decided(Finding(key, value, candidate.evidence, confidence, (candidate,)), hints)


def joined(clauses: list[str]) -> str:
    """Clauses as one: `a, b and c`."""
    return " and ".join([", ".join(clauses[:-1]), clauses[-1]] if len(clauses) > 1 else clauses)


def _unless_decided(finding: Finding, hints: Hints) -> Finding:
    decided = hints.overrides.get(finding.key)
    if decided is None:
        return finding
    value = _as_kind_of(finding, decided)
    candidate = Candidate(value, option_of(finding.key), float("inf"))
    others = tuple(rival for rival in finding.candidates if rival.value != value)
    return Finding(finding.key, value, candidate.evidence, Confidence.SURE, (candidate, *others))


def _as_kind_of(finding: Finding, decided: str | list[str]) -> Value:
    """The user's text as the kind of value that was inferred."""
    if isinstance(finding.value, list):
        return [decided] if isinstance(decided, str) else list(decided)
    if not isinstance(decided, str):
        raise UnusableValueError(key=finding.key, value=", ".join(decided), wanted="one value")
    if isinstance(finding.value, str):
        return decided
    kind = type(finding.value)
    try:
        return value_from(decided, kind)
    except ValueError as error:
        raise UnusableValueError(key=finding.key, value=decided, wanted=TYPE_NAMES[kind]) from error
