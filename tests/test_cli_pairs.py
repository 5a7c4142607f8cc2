"""`tandem list`: the pairs of a workspace, and how far each has come."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from miniature import Outcome
from recorded_runs import record

from generator.kaggle.chain.journal import EntryKind, Journals
from generator.pair.workspace import Role, Workspace

Tandem = Callable[..., Outcome]


@pytest.fixture
def workspace(
    tandem: Tandem, workspace_with_data: Workspace, miniature_templates: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The current folder, a workspace with two pairs: one is edited, ran twice and was pushed, the other is new."""
    monkeypatch.chdir(workspace_with_data.root)
    for name in ("digits", "fresh"):
        assert tandem("generate", "digits", "--name", name, "--owner", "ada").code == 0
    notebook = Path("kernels/digits/train/train.ipynb")
    notebook.write_text(notebook.read_text().replace("print(COMPETITION, EPOCHS)", "print(EPOCHS)"))
    record(Path(), pair="digits", score=0.8)
    record(Path(), pair="digits", score=0.7, epochs=9)
    return Path()


def push(workspace: Workspace, pair: str, *lines: tuple[EntryKind, dict[str, object]]) -> None:
    """Write the journal of a chain that went to a local Kaggle."""
    names = ("pair", "pair_id", "address", "account", "competition", "title", "handoff", "submission_file")
    start = {**dict.fromkeys(names, "x"), "target": "local", "is_code_competition": True}
    journal = Journals(workspace.pair(pair)).next()
    for kind, fields in ((EntryKind.BEGUN, start), *lines):
        journal.append(kind, at=datetime(2026, 11, 2, tzinfo=UTC), **fields)


def test_pairs_are_listed_with_edits_the_runs_and_the_score(tandem: Tandem, workspace: Path) -> None:
    push(Workspace(workspace), "digits", (EntryKind.SCORED, {"public": 0.75, "private": None}))

    outcome = tandem("list")

    head, digits, fresh = outcome.out.splitlines()
    assert head.split("  ")[0] == "pair"
    assert "1 in train" in digits
    assert digits.index("@2 accuracy 0.70000") < digits.index("@1 accuracy 0.80000")
    assert "local: scored, public 0.75000" in digits
    assert fresh.split() == ["fresh", "digits", "image_classification", "keras"]
    assert outcome.code == 0


def test_code_that_was_edited_since_the_last_run_is_told_from_parameters_and_conflicts(
    tandem: Tandem, workspace: Path
) -> None:
    notebooks = {role: workspace / f"kernels/fresh/{role}/{role}.ipynb" for role in Role}
    record(workspace, pair="fresh", notebooks=notebooks)
    content = json.loads(notebooks[Role.TRAIN].read_text())
    text = '# The template\'s version of the cell "work", which you edited.\n#\n# print()'
    folded = {"cell_type": "code", "metadata": {"tags": ["hide-input"]}, "outputs": [], "execution_count": None}

    def state(*cells: object) -> tuple[bool, list[str], str]:
        notebooks[Role.TRAIN].write_text(json.dumps({**content, "cells": [*content["cells"], *cells]}))
        _, fresh = json.loads(tandem("list", "--json").out)["pairs"]
        return fresh["last_run"]["is_stale"], fresh["conflicts"], tandem("list").out.splitlines()[2]

    assert state()[:2] == (False, [])
    parameters = next(cell for cell in content["cells"] if "parameters" in cell["metadata"].get("tags", []))
    parameters["source"] = "".join(parameters["source"]) + "\nADDED = 1"
    is_stale, conflicts, line = state({**folded, "id": "work-template", "source": text})
    assert (is_stale, conflicts) == (False, ["train/train.ipynb: work-template"])
    assert "1 in train; 1 conflict" in line
    is_stale, conflicts, line = state({**folded, "id": "mine", "source": "print(1)"})
    assert (is_stale, conflicts) == (True, [])
    assert "@1 accuracy 0.75000 ± 0.0141, notebook edited since  @1" in line


def test_the_same_for_programs(tandem: Tandem, workspace: Path) -> None:
    digits, fresh = json.loads(tandem("list", "--json").out)["pairs"]

    assert digits["edits"] == ["train/train.ipynb: work"]
    assert (digits["last_run"]["number"], digits["best_run"]["number"]) == (2, 1)
    assert (fresh["edits"], fresh["last_run"], fresh["chain"], fresh["errors"]) == ([], None, None, [])


def test_a_pair_that_cannot_be_read_is_listed_with_its_error(tandem: Tandem, workspace: Path) -> None:
    Path("kernels/digits/pair.toml").write_text("[pair")
    Path("kernels/fresh/train/train.ipynb").write_text("no notebook \x1b[31m")

    outcome = tandem("list")
    digits, fresh = json.loads(tandem("list", "--json").out)["pairs"]

    assert outcome.code == 0
    assert outcome.err.count("Warning: digits: ") == 1
    assert digits["last_run"]["number"] == 2
    assert len(fresh["errors"]) == 1
    assert "\x1b" not in outcome.err + outcome.out


def test_an_empty_workspace_has_no_pairs(tandem: Tandem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert "There are no pairs yet" in tandem("list").out
