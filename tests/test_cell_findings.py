"""What `tandem check` finds, beside the cells of a page."""

import json
import time
from typing import Any

import pytest

from generator.run import report as cell_findings
from generator.run.report import BackgroundChecks, CellFindings, findings_in_text

METADATA = {"language": "python", "kernel_type": "notebook", "enable_internet": False}
SPEC = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def notebook(*sources: str, ids: tuple[str, ...] = ()) -> str:
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": each}
        for each in sources
    ]
    for cell, name in zip(cells, ids, strict=False):
        cell["id"] = name
    return json.dumps({"cells": cells, "metadata": SPEC, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.slow
def test_a_finding_stands_beside_its_cell_whatever_that_is_called() -> None:
    waits = "x = 1\nname = input()"
    found = findings_in_text(notebook("x = 1", waits, waits, ids=("first", "0a1b2c3d", "asks")), METADATA)
    unnamed = findings_in_text(notebook("x = 1", waits), METADATA)

    assert [(each.rule, each.severity, each.cell, each.line) for each in found.findings] == [
        ("N009", "error", "0a1b2c3d", 2),
        ("N009", "error", "asks", 2),
    ]
    assert found.summary == "2 errors"
    assert [each.cell for each in unnamed.findings] == ["cell-2"]  # as the page calls a cell without an id
    assert found.beside(["asks"]) == found.of("0a1b2c3d")


def test_a_script_is_checked_by_its_lines() -> None:
    found = findings_in_text("x = 1\nname = input()\n", METADATA | {"kernel_type": "script"})

    assert [(each.rule, each.cell, each.line) for each in found.findings] == [("N009", "", 2)]


@pytest.mark.slow
def test_what_a_terminal_would_obey_is_no_part_of_a_finding() -> None:
    found = findings_in_text(notebook("x = open('/kaggle/input/a\u202e/x.csv')"), METADATA)

    assert found.findings
    assert "\u202e" not in "".join(each.message + each.remedy for each in found.findings)


def test_a_check_that_takes_too_long_is_stopped_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_findings, "SECONDS", 0.01)

    assert "did not finish" in findings_in_text(notebook("x = 1"), METADATA).problem


def test_a_page_does_not_wait_for_a_check_and_the_next_one_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    checks, asked = BackgroundChecks(), []

    def slow(text: str, metadata: object) -> CellFindings:
        asked.append(text)
        time.sleep(0.2)
        return CellFindings(problem="known")

    monkeypatch.setattr(cell_findings, "findings_in_text", slow)
    before = time.monotonic()

    assert "is checking this notebook" in checks.findings("a", METADATA, wait=0.01).problem
    assert time.monotonic() - before < 0.15
    assert checks.findings("a", METADATA, wait=10).problem == "known"
    assert checks.findings("a", METADATA, wait=0).problem == "known"
    assert asked == ["a"]
    monkeypatch.setattr(cell_findings, "_MOST_WAITING", 1)
    checks.findings("b", METADATA, wait=0)
    assert "Reload the page later" in checks.findings("c", METADATA, wait=0).problem
