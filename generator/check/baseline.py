"""Baselines: findings that were there before, so that a check fails for new ones only.

A finding is told by its rule, file, cell and sentence, and not by its line: it stays the same one when lines are added
above it. Where the same one is found more often than the baseline has it, the rest are new.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from generator.check.finding import Finding
from generator.errors import CheckError
from generator.files import read_text
from generator.untrusted import JsonObject, printable

_VERSION = 1


def check_replaceable(path: Path) -> None:
    """Make sure that a baseline written there would take the place of nothing, or of a baseline.

    Raises:
        CheckError: Something else is there.
    """
    if path.exists():
        _entries(path)


def relative(path: Path, root: Path) -> str:
    """A path as it is seen from a folder, with slashes."""
    return Path(os.path.relpath(path, root)).as_posix()


def fingerprint(finding: Finding, root: Path) -> str:
    """What tells a finding from others, whatever is written above it."""
    parts = (finding.rule, relative(finding.place.path, root), finding.place.cell, finding.message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def baseline_text(findings: Iterable[Finding], root: Path) -> str:
    """Write findings as a baseline, whose paths are seen from a folder: JSON with a final newline."""
    entries = [
        {
            "rule": finding.rule,
            "path": relative(finding.place.path, root),
            "cell": finding.place.cell,
            "message": finding.message,
            "fingerprint": fingerprint(finding, root),
        }
        for finding in findings
    ]
    return json.dumps({"version": _VERSION, "findings": entries}, indent=2, ensure_ascii=False) + "\n"


def new_findings(findings: Iterable[Finding], baseline: Path) -> list[Finding]:
    """Leave out the findings that a baseline has.

    Raises:
        FileReadError: There is none.
        CheckError: The file is none.
    """
    left, new = Counter(_entries(baseline)), []
    for finding in findings:
        key = fingerprint(finding, baseline.parent)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    return new


def _entries(baseline: Path) -> list[str]:
    try:
        known = JsonObject.of(json.loads(read_text(baseline)))
        if known.get("version") != _VERSION:
            raise ValueError(known.get("version"))
        return [JsonObject.of(each).text("fingerprint") for each in known["findings"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CheckError(
            f"{printable(str(baseline))} is no baseline of `tandem check`, and is left as it is; write one with "
            "`--write-baseline` under another name."
        ) from error
