"""The executed notebooks of a run say in their first cell what it came to."""

import json
from pathlib import Path
from typing import Any

import pytest

from generator.pair.handover import HandOver, Score
from generator.pair.workspace import Role
from generator.run.execution import ExecutedNotebook
from generator.run.report import NOT_RUN, write_last_run
from generator.run.result import RunResult
from generator.text import JsonObject


def ran(folder: Path, **changed: Any) -> tuple[RunResult, Path]:
    """A run of both notebooks, and the first one."""
    notebooks = {}
    for role in Role:
        path = folder / f"{role}.ipynb"
        path.write_text(json.dumps({"cells": [{"source": [f"| metric | auc |\n{NOT_RUN}\n"]}]}))
        notebooks[role] = ExecutedNotebook(path, 90.0, {}, None)
    accelerator = {"platform": "cpu", "device_count": 1, "device_kind": "cpu"}
    folds = [{"score": score, "history": []} for score in (0.8, 0.9)]
    fields = {"out_of_fold": {"metric": "my|auc", "score": 0.85}, "folds": folds, "accelerator": accelerator}
    facts = {"is_smoke": False, "is_specimen": False, "handover": HandOver(JsonObject(fields)), "failure": None}
    result = RunResult(pair="shops", title="Shops", report=folder / "report.html", **{**facts, **changed})
    result.notebooks = notebooks
    return result, notebooks[Role.TRAIN].path


def test_the_title_cells_have_the_scores_the_minutes_and_the_accelerator(tmp_path: Path) -> None:
    result, notebook = ran(tmp_path, hidden_test=Score("auc", 0.8))

    write_last_run(result)

    (cell,) = json.loads(notebook.read_text())["cells"]
    expected = "out-of-fold my\\|auc 0.8500 (folds ± 0.0707), hidden test auc 0.8000, 3.0 min, 1 × cpu"  # noqa: RUF001 - as the report has it
    assert cell["source"][0].splitlines()[1] == f"| last run | {expected} |"


@pytest.mark.parametrize("changed", [{"is_smoke": True}, {"is_specimen": True}, {"handover": None}])
def test_runs_that_measure_nothing_leave_the_notebooks_as_they_are(tmp_path: Path, changed: dict[str, Any]) -> None:
    result, notebook = ran(tmp_path, **changed)
    before = notebook.read_bytes()

    write_last_run(result)

    assert notebook.read_bytes() == before
