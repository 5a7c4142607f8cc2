"""Rules: a function that finds, with its id, its name and how grave a finding is.

The function's docstring is what `tandem check --explain RULE` prints.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from generator.check.finding import Finding, Place, Severity
from generator.check.fix import Fix
from generator.check.source import KernelSource


@dataclass(frozen=True)
class Problem:
    """What a rule's function yields: the place, a sentence, the remedy, and a fix that changes no meaning."""

    place: Place
    message: str
    remedy: str
    fix: Fix | None = field(default=None, compare=False)


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

    def __call__(self, kernel: KernelSource) -> Iterator[Finding]:
        """The findings of this rule in a kernel."""
        for problem in self.find(kernel):
            yield Finding(self.id, self.severity, problem.place, problem.message, problem.remedy, problem.fix)


def rule(
    id: str,  # noqa: A002 - what a rule has, in every linter
    name: str,
    severity: Severity = Severity.ERROR,
) -> Callable[[Callable[[KernelSource], Iterator[Problem]]], Rule]:
    """Make a rule of a function; M… is for metadata, N… for notebooks on Kaggle, T… for TPUs."""
    return lambda find: Rule(id, name, severity, find)
