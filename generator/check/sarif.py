"""Findings as SARIF 2.1.0, which code hosts and editors show beside the code.

The lines of a cell are not those of its file: where a finding is in a notebook stands in its logical location, and in
its text.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from generator.check.baseline import fingerprint, relative
from generator.check.finding import Finding, where
from generator.check.rule import Rule
from generator.untrusted import printable

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(findings: Iterable[Finding], rules: Iterable[Rule], *, root: Path, version: str) -> dict[str, Any]:
    """Return a SARIF log of one run.

    Args:
        findings: What was found.
        rules: Every rule that looked.
        root: The folder from which paths are seen.
        version: The kit's.
    """
    known = list(rules)
    index = {rule.id: number for number, rule in enumerate(known)}
    driver = {"name": "tandem check", "version": version, "rules": [_rule(rule) for rule in known]}
    results = [_result(finding, root, index) for finding in findings]
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


def _result(finding: Finding, root: Path, index: dict[str, int]) -> dict[str, Any]:
    place = finding.place
    inside = where(place)
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": quote(relative(place.path, root), errors="surrogateescape")}}
    }
    if place.cell:
        location["logicalLocations"] = [{"name": printable(place.cell), "fullyQualifiedName": inside}]
    elif place.line:
        location["physicalLocation"]["region"] = {"startLine": place.line}
    text = printable(f"{finding.message} {finding.remedy}")
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": str(finding.severity),
        "message": {"text": f"{inside[:1].upper()}{inside[1:]}: {text}" if place.cell else text},
        "locations": [location],
        "partialFingerprints": {"tandemFinding/v1": fingerprint(finding, root)},
    }
    return result | ({"ruleIndex": index[finding.rule]} if finding.rule in index else {})
