"""Rules, and the comments that ignore their findings."""

import inspect
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from generator.check.code import NotebookCode
from generator.check.findings import CheckFinding, CodeLocation, Fix, Severity
from generator.check.source import KernelSource

_EVIDENCE = re.compile(r"^Source \((?P<date>\d{4}-\d\d-\d\d)\): (?P<text>.+)\Z", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class RuleProblem:
    """What a rule's function yields: the place, a sentence, the remedy, and a fix that changes no meaning."""

    place: CodeLocation
    message: str
    remedy: str
    fix: Fix | None = field(default=None, compare=False)
    severity: Severity | None = None  # where it is another than the rule's


@dataclass(frozen=True)
class CheckRule:
    """A rule; called with a kernel it gives the findings there."""

    id: str
    name: str
    severity: Severity
    find: Callable[[KernelSource], Iterator[RuleProblem]]

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
        match = _EVIDENCE.search(self.explanation)
        return (match["date"], " ".join(match["text"].split())) if match else ("", "")

    def __call__(self, kernel: KernelSource) -> Iterator[CheckFinding]:
        """The findings of this rule in a kernel."""
        for problem in self.find(kernel):
            severity = problem.severity or self.severity
            yield CheckFinding(self.id, severity, problem.place, problem.message, problem.remedy, problem.fix)


def rule(
    id: str,  # noqa: A002 - what a rule has, in every linter
    name: str,
    severity: Severity = Severity.ERROR,
) -> Callable[[Callable[[KernelSource], Iterator[RuleProblem]]], CheckRule]:
    """Make a rule of a function; M… is for metadata, N… for notebooks on Kaggle, T… for TPUs."""
    return lambda find: CheckRule(id, name, severity, find)


# Ignored findings: `# tandem: ignore[T003] the reason` on the line of a finding or above it.


_IGNORE = re.compile(r"#\s*tandem:\s*ignore\[(?P<rules>[A-Z0-9,\s]*)\]\s*(?P<reason>.*)")


@dataclass(frozen=True)
class Ignore:
    """A comment that ignores rules; without a reason it does not count."""

    cell: str
    line: int
    rules: tuple[str, ...]
    reason: str


def ignores(code: NotebookCode) -> Iterator[Ignore]:
    """Every such comment in a notebook, those without a reason as well."""
    for cell in code.cells:
        if "tandem:" not in cell.source:
            continue
        for line, comment in _comments(cell.source):
            if match := _IGNORE.match(comment):
                rules = tuple(rule.strip() for rule in match["rules"].split(",") if rule.strip())
                yield Ignore(cell.name, line, rules, match["reason"].strip(" -:"))


def without_ignored(findings: Iterable[CheckFinding], code: NotebookCode) -> list[CheckFinding]:
    """Leave out findings that a comment with a reason ignores.

    It stands on the line of the finding or on the one above, for a finding of a whole cell anywhere in that, and for
    one of the whole notebook in any cell. Metadata have no comments: those findings stay.
    """
    places = {place for ignore in ignores(code) if ignore.reason for place in _expand_ignore(ignore)}
    located_findings = [(finding, finding.place) for finding in findings]
    return [
        finding
        for finding, at in located_findings
        if at.path != code.path or (finding.rule, at.cell, at.line) not in places
    ]


def _expand_ignore(ignore: Ignore) -> Iterator[tuple[str, str, int]]:
    """A rule with a cell and a line, for each that a comment covers; 0 is the whole cell, "" the whole notebook."""
    for rule in ignore.rules:
        yield rule, "", 0
        yield from ((rule, ignore.cell, line) for line in (0, ignore.line, ignore.line + 1))


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """The comments of a cell with their lines; in one that is no Python, whatever begins with the sign of one."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError):
        for number, line in enumerate(source.split("\n"), start=1):
            if "#" in line:
                yield number, line[line.index("#") :]
