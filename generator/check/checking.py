"""Checking kernels: every rule on each of them, and what is ignored left out."""

from collections.abc import Iterable

from generator.check.finding import Finding, Severity
from generator.check.guards import is_elsewhere_at
from generator.check.ignores import without_ignored
from generator.check.rule import Rule
from generator.check.rules import RULES
from generator.check.source import KernelSource
from generator.errors import CheckError, did_you_mean
from generator.untrusted import printable

_EVERYWHERE = {"N003", "N008", "N010"}
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def check(kernels: Iterable[KernelSource], rules: Iterable[Rule] = RULES) -> list[Finding]:
    """Find what is wrong with kernels, in their order; in each the metadata come first, and then cell by cell."""
    rules = tuple(rules)
    found: list[Finding] = []
    for kernel in kernels:
        position = {cell.name: number for number, cell in enumerate(kernel.code.cells)}
        of_kernel = dict.fromkeys(
            finding
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


def _is_elsewhere(finding: Finding, kernel: KernelSource) -> bool:
    """True for what no session on Kaggle comes to; a secret there is published all the same."""
    place = finding.place
    is_in_code = place.path == kernel.code.path and place.line > 0 and finding.rule not in _EVERYWHERE
    return is_in_code and is_elsewhere_at(kernel.code, place.cell, place.line)


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
