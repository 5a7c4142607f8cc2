"""Rules: a function that finds, with its id, its name and how grave a finding is.

The function's docstring is what `tandem check --explain RULE` prints. Its first paragraph is a sentence, its
last one the evidence: `Source (2026-11-23): …`, with the day on which that was last looked at.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from generator.check.finding import Finding, Place, Severity
from generator.check.fix import Fix
from generator.check.source import KernelSource

_EVIDENCE = re.compile(r"^Source \((?P<date>\d{4}-\d\d-\d\d)\): (?P<text>.+)\Z", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Problem:
    """What a rule's function yields: the place, a sentence, the remedy, and a fix that changes no meaning."""

    place: Place
    message: str
    remedy: str
    fix: Fix | None = field(default=None, compare=False)
    severity: Severity | None = None  # where it is another than the rule's


@dataclass(frozen=True)
class Rule:
    """A rule; called with a kernel it gives the findings there."""

    id: str
    name: str
    severity: Severity
    find: Callable[[KernelSource], Iterator[Problem]]

    @property
    def explanation(self) -> str:
        """The docstring of its function: what is wrong, why it matters, what to do."""
        return inspect.getdoc(self.find) or ""

    @property
    def summary(self) -> str:
        """The first paragraph of the explanation."""
        return " ".join(self.explanation.partition("\n\n")[0].split())

    @property
    def evidence(self) -> tuple[str, str]:
        """The day of the evidence, and the evidence; both are empty for a rule that states none."""
        found = _EVIDENCE.search(self.explanation)
        return (found["date"], " ".join(found["text"].split())) if found else ("", "")

    def __call__(self, kernel: KernelSource) -> Iterator[Finding]:
        """The findings of this rule in a kernel."""
        for problem in self.find(kernel):
            severity = problem.severity or self.severity
            yield Finding(self.id, severity, problem.place, problem.message, problem.remedy, problem.fix)


def rule(
    id: str,  # noqa: A002 - what a rule has, in every linter
    name: str,
    severity: Severity = Severity.ERROR,
) -> Callable[[Callable[[KernelSource], Iterator[Problem]]], Rule]:
    """Make a rule of a function; M… is for metadata, N… for notebooks on Kaggle, T… for TPUs."""
    return lambda find: Rule(id, name, severity, find)
