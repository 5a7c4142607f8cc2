"""Findings: candidates for a value are weighed, the heaviest is taken, and its lead says how far to trust it.

A weight of 1 is a hint, 2 speaks clearly, 4 would do alone; a negative one speaks against.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar, cast

from generator.competition.facts import Task, Value
from generator.competition.introspection.errors import UnusableValueError
from generator.competition.pages import Rule
from generator.competition.schema import TYPE_NAMES, option_of, value_from
from generator.untrusted import printable

_SURE_WEIGHT, _SURE_LEAD = 4.0, 1.5
_LIKELY_WEIGHT, _LIKELY_LEAD = 2.0, 1.0
_CLAUSES = 3

_V = TypeVar("_V", bound=Value)
_E = TypeVar("_E", bound=StrEnum)


class Confidence(StrEnum):
    """The degree to which a value can be trusted."""

    SURE = "sure"
    LIKELY = "likely"
    THIN = "thin"  # hardly better than a guess, or hardly better than the next best


_WEIGHTS = {Confidence.SURE: _SURE_WEIGHT, Confidence.LIKELY: _LIKELY_WEIGHT, Confidence.THIN: 1.0}


@dataclass(frozen=True)
class Reason:
    """Something that speaks for a candidate, or against it; with a weight of 0 it does not apply."""

    weight: float
    clause: str


@dataclass(frozen=True)
class Candidate:
    """One value that was weighed: `weight` is the sum of what speaks for and against it, `evidence` the former."""

    value: Value
    evidence: str
    weight: float


@dataclass(frozen=True)
class Finding:
    """One value that was settled.

    Attributes:
        key: A field of `Task`, or a key of its details.
        value: What was taken.
        evidence: A short clause in plain words.
        confidence: How far it can be trusted.
        candidates: Everything that was weighed, best first, the chosen one included.
    """

    key: str
    value: Value
    evidence: str
    confidence: Confidence
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Hints:
    """Facts on a competition that its files do not say.

    Attributes:
        slug: Its name in URLs.
        metric_text: The metric as Kaggle's API calls it.
        evaluation_text: The page that describes the evaluation.
        overrides: What the user decided, by the key of a task or of its details.
        models: Of Kaggle Models, those for what the notebooks can start from pretrained models of texts.
        file_name: What the submission has to be called, if a page demands it.
    """

    slug: str
    metric_text: str = ""
    evaluation_text: str = ""
    overrides: Mapping[str, str | list[str]] = field(default_factory=dict)
    models: Sequence[str] = ()
    file_name: Rule | None = None


@dataclass(frozen=True)
class Reading:
    """A survey as it was understood.

    Attributes:
        task: The task, ready to be rendered.
        findings: Every value of it with its evidence, in the order to show.
        warnings: Sentences for the user: what is hardly more than a guess, and the flag that settles it.
        unclear: The keys of values that are worth a question; each may rest on those before it.
    """

    task: Task
    findings: Mapping[str, Finding]
    warnings: tuple[str, ...]
    unclear: tuple[str, ...]


class Findings(dict[str, Finding]):
    """The findings so far, by key; the user's decisions stand in the place of what was inferred."""

    def __init__(self, hints: Hints) -> None:
        super().__init__()
        self.hints = hints

    def settle(self, key: str, value: _V, evidence: str, confidence: Confidence = Confidence.SURE) -> _V:
        """Takes a value that has no rivals; returns it, or what the user decided."""
        return cast("_V", self._take(certain(key, value, evidence, confidence)))

    def choose(self, key: str, candidates: Iterable[Candidate]) -> Value:
        """Takes the heaviest of some candidates, of which there is at least one; returns its value, or the user's."""
        ordered = best_first(candidates)
        best = ordered[0]
        lead = best.weight - max((rival.weight for rival in ordered[1:]), default=0.0)
        if best.weight >= _SURE_WEIGHT and lead >= _SURE_LEAD:
            confidence = Confidence.SURE
        elif best.weight >= _LIKELY_WEIGHT and lead >= _LIKELY_LEAD:
            confidence = Confidence.LIKELY
        else:
            confidence = Confidence.THIN
        return self._take(Finding(key, best.value, best.evidence or "nothing speaks for another", confidence, ordered))

    def member(self, key: str, kinds: type[_E]) -> _E:
        """The value that was taken, as a member of an enumeration.

        Raises:
            UnusableValueError: The user decided on something else.
        """
        value = str(self[key].value)
        try:
            return kinds(value)
        except ValueError as error:
            raise UnusableValueError(key=key, value=value, wanted=f"one of {', '.join(kinds)}") from error

    def text(self, key: str) -> str:
        """The text that was settled for a key; "" where nothing was."""
        return str(self[key].value) if key in self else ""

    def decided(self, key: str) -> str:
        """The text that the user decided on for a key; "" where there is none, or a list."""
        value = self.hints.overrides.get(key)
        return value if isinstance(value, str) else ""

    def decided_list(self, key: str) -> list[str]:
        """The texts that the user decided on for a key, of which one may stand alone; none where there is nothing."""
        value = self.hints.overrides.get(key, [])
        return [value] if isinstance(value, str) else value

    def _take(self, finding: Finding) -> Value:
        decided = self.hints.overrides.get(finding.key)
        if decided is not None:
            value = _as_kind_of(finding, decided)
            candidate = Candidate(value, option_of(finding.key), float("inf"))
            others = tuple(rival for rival in finding.candidates if rival.value != value)
            finding = Finding(finding.key, value, candidate.evidence, Confidence.SURE, (candidate, *others))
        self[finding.key] = finding
        return finding.value


def certain(key: str, value: Value, evidence: str, confidence: Confidence = Confidence.SURE) -> Finding:
    """The finding of a value that has no rivals."""
    candidate = Candidate(value, printable(evidence), _WEIGHTS[confidence])
    return Finding(key, value, candidate.evidence, confidence, (candidate,))


def weighed(value: Value, reasons: Iterable[Reason]) -> Candidate:
    """A candidate with the sum of its reasons, and the heaviest of them as its evidence."""
    applying = [reason for reason in reasons if reason.weight]
    speaking = sorted((reason for reason in applying if reason.weight > 0), key=lambda reason: -reason.weight)
    evidence = printable(joined([reason.clause for reason in speaking[:_CLAUSES]]))
    return Candidate(value, evidence, sum(reason.weight for reason in applying))


def best_first(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The candidates by weight; equal ones stay in their order."""
    return tuple(sorted(candidates, key=lambda candidate: -candidate.weight))


def joined(clauses: list[str]) -> str:
    """Clauses as one: `a, b and c`."""
    return " and ".join([", ".join(clauses[:-1]), clauses[-1]] if len(clauses) > 1 else clauses)


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
