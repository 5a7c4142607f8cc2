"""Checking kernels: every rule on each of them, and what is ignored left out."""

from collections.abc import Iterable
from dataclasses import replace

from generator.check.finding import Finding, Severity
from generator.check.guards import is_elsewhere_at, may_be_passed_by_at
from generator.check.ignores import without_ignored
from generator.check.rule import Rule
from generator.check.rules import RULES
from generator.check.source import KernelSource
from generator.check.syntax import collector_paused
from generator.errors import CheckError, did_you_mean
from generator.untrusted import printable

_EVERYWHERE = {"N003", "N008", "N010"}
_OF_THE_COMPILER = "C"  # which ran the code
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def check(kernels: Iterable[KernelSource], rules: Iterable[Rule] = RULES) -> list[Finding]:
    """Find what is wrong with kernels, in their order; in each the metadata come first, and then cell by cell."""
    rules = tuple(rules)
    found: list[Finding] = []
    for kernel in kernels:
        position = {cell.name: number for number, cell in enumerate(kernel.code.cells)}
        with collector_paused():
            of_kernel = dict.fromkeys(
                _graded(finding, part)
                for part in (kernel, *kernel.scripts)
                for rule in rules
                for finding in rule(part)
                if not _is_elsewhere(finding, part)
            )
        found += sorted(
            without_ignored(of_kernel, kernel.code),
            key=lambda each: (
                each.place.path == kernel.code.path,
                position.get(each.place.cell, -1),
                each.place.line,
                _ORDER[each.severity],
                each.rule,
            ),
        )
    return found


def _is_in_code(finding: Finding, kernel: KernelSource) -> bool:
    """True for what depends on whether a line is run."""
    place = finding.place
    return place.path == kernel.code.path and place.line > 0 and finding.rule not in _EVERYWHERE


def _is_elsewhere(finding: Finding, kernel: KernelSource) -> bool:
    """True for what no session on Kaggle comes to; a secret there is published all the same."""
    return _is_in_code(finding, kernel) and is_elsewhere_at(kernel.code, finding.place.cell, finding.place.line)


def _graded(finding: Finding, kernel: KernelSource) -> Finding:
    """An error in code that a session may pass by is a warning: it fails only where that code is run."""
    place = finding.place
    is_error = finding.severity is Severity.ERROR and not finding.rule.startswith(_OF_THE_COMPILER)
    if is_error and _is_in_code(finding, kernel) and may_be_passed_by_at(kernel.code, place.cell, place.line):
        return replace(finding, severity=Severity.WARNING)
    return finding


def rule_named(name: str) -> Rule:
    """Return the rule with an id or a name, such as `N042` or `unbounded-search`.

    Raises:
        CheckError: There is none.
    """
    found = next((rule for rule in RULES if name.casefold() in (rule.id.casefold(), rule.name)), None)
    if found is None:
        nearest = did_you_mean(name, [rule.id for rule in RULES])
        raise CheckError(f'There is no rule "{printable(name)}".{nearest} `tandem check --explain all` lists them.')
    return found


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that make a check fail."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]
