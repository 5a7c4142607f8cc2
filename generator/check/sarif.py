"""Findings as SARIF 2.1.0, which code hosts and editors show beside the code.

Where a finding is in a notebook stands in its logical location and in its text, by cell and line. The region is the
line of the file, of its JSON, without which code hosts show nothing.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from generator.check.baseline import fingerprint, relative
from generator.check.finding import Finding, where
from generator.check.fixing import Replacement, file_lines, replacements
from generator.check.rule import Rule
from generator.check.source import KernelSource
from generator.untrusted import printable

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(
    findings: Sequence[Finding],
    rules: Iterable[Rule],
    *,
    root: Path,
    version: str,
    kernels: Iterable[KernelSource] = (),
) -> dict[str, Any]:
    """Return a SARIF log of one run.

    Args:
        findings: What was found.
        rules: Every rule that looked.
        root: The folder from which paths are seen.
        version: The kit's.
        kernels: What was checked, from whose files the fixes are known.
    """
    known = list(rules)
    index = {rule.id: number for number, rule in enumerate(known)}
    driver = {"name": "tandem check", "version": version, "rules": [_rule(rule) for rule in known]}
    kernels = tuple(kernels)
    fixes, lines = replacements(kernels, findings), file_lines(kernels, findings)
    results = [
        _result(finding, root, index, line=line) | _fixes(finding, pieces, root)
        for finding, pieces, line in zip(findings, fixes, lines, strict=True)
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.explanation.partition("\n")[0]},
        "fullDescription": {"text": rule.explanation},
        "defaultConfiguration": {"level": str(rule.severity)},
    }


def _result(finding: Finding, root: Path, index: dict[str, int], *, line: int) -> dict[str, Any]:
    place = finding.place
    inside = where(place)
    physical = {"artifactLocation": {"uri": _uri(place.path, root)}, "region": {"startLine": line}}
    location: dict[str, Any] = {"physicalLocation": physical}
    if place.cell:
        location["logicalLocations"] = [{"name": printable(place.cell), "fullyQualifiedName": inside}]
    text = printable(f"{finding.message} {finding.remedy}")
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": str(finding.severity),
        "message": {"text": f"{inside[:1].upper()}{inside[1:]}: {text}" if place.cell else text},
        "locations": [location],
        "partialFingerprints": {"tandemFinding/v1": fingerprint(finding, root)},
    }
    return result | ({"ruleIndex": index[finding.rule]} if finding.rule in index else {})


def _fixes(finding: Finding, pieces: Sequence[tuple[Path, Replacement]], root: Path) -> dict[str, Any]:
    """The fix of a finding as pieces of its file, whose places are counted in characters."""
    changes = [
        {
            "artifactLocation": {"uri": _uri(path, root)},
            "replacements": [
                {
                    "deletedRegion": {"charOffset": piece.start, "charLength": piece.end - piece.start},
                    "insertedContent": {"text": piece.new},
                }
            ],
        }
        for path, piece in pieces
    ]
    return (
        {"fixes": [{"description": {"text": printable(finding.remedy)}, "artifactChanges": changes}]} if changes else {}
    )


def _uri(path: Path, root: Path) -> str:
    return quote(relative(path, root), errors="surrogateescape")
