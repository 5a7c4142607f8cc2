"""Ignored findings: `# tandem: ignore[T003] the reason` on the line of a finding or above it."""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from generator.check.code import NotebookCode
from generator.check.finding import Finding

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
            if found := _IGNORE.match(comment):
                rules = tuple(rule.strip() for rule in found["rules"].split(",") if rule.strip())
                yield Ignore(cell.name, line, rules, found["reason"].strip(" -:"))


def without_ignored(findings: Iterable[Finding], code: NotebookCode) -> list[Finding]:
    """Leave out findings that a comment with a reason ignores.

    It stands on the line of the finding or on the one above, for a finding of a whole cell anywhere in that, and for
    one of the whole notebook in any cell. Metadata have no comments: those findings stay.
    """
    places = {place for each in ignores(code) if each.reason for place in _covered(each)}
    told = [(each, each.place) for each in findings]
    return [each for each, at in told if at.path != code.path or (each.rule, at.cell, at.line) not in places]


def _covered(ignore: Ignore) -> Iterator[tuple[str, str, int]]:
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
