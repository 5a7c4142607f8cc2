"""What was made of a survey, and what it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from generator.competition.facts import Task, Value


class Confidence(StrEnum):
    """How far a value can be trusted."""

    SURE = "sure"
    LIKELY = "likely"
    THIN = "thin"  # hardly better than a guess, or hardly better than the next best


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
    """What is known of a competition beside its files.

    Attributes:
        slug: Its name in URLs.
        metric_text: The metric as Kaggle's API calls it.
        evaluation_text: The page that describes the evaluation.
        overrides: What the user decided, by the key of a task or of its details.
        file_name: What the submission has to be called, if a page demands it.
        file_name_evidence: The words that demand it.
    """

    slug: str
    metric_text: str = ""
    evaluation_text: str = ""
    overrides: Mapping[str, str | list[str]] = field(default_factory=dict)
    file_name: str = ""
    file_name_evidence: str = ""


@dataclass(frozen=True)
class Reading:
    """A survey as it was understood.

    Attributes:
        task: The task, ready to be rendered.
        findings: Every value of it with its evidence, in the order to show.
        warnings: Sentences for the user: what is hardly more than a guess, and the flag that settles it.
    """

    task: Task
    findings: Mapping[str, Finding]
    warnings: tuple[str, ...]
