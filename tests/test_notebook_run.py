"""The pair from the command line to a scored submission, with the defaults and with nothing stubbed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from notebook_competitions import write_digits
from notebook_session import Mirror, Notebook, Sessions, arrays_in, assert_only_caches, names_below

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

TRAINING_OUTPUT = ["accelerator.json", "check.npz", "fold0.weights.h5", "handoff.json", "oof.csv", "oof.npz"]


def tandem(workspace: Path, *arguments: str) -> str:
    """Runs the command line in a process of its own, with a temporary folder that it must leave empty."""
    temporary = workspace.parent / "t"
    temporary.mkdir(exist_ok=True)
    # As on most machines, Python may keep what it compiled, and XLA compiles as well as it can.
    unlike = ("PYTHONDONTWRITEBYTECODE", "XLA_FLAGS")
    inherited = {name: value for name, value in os.environ.items() if name not in unlike}
    done = subprocess.run(
        [sys.executable, "-m", "generator", *arguments],
        cwd=workspace,
        env={**inherited, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    assert list(temporary.iterdir()) == []
    return done.stdout


def generated(tmp_path: Path, framework: str) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    tandem(
        workspace, "generate", "--competition", "digits", "--framework", framework, "--owner", "ada", "--name", "digits"
    )
    return workspace


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """The size and time of every file below a folder."""
    states = {name: (folder / name).stat() for name in names_below(folder)}
    return {name: (state.st_size, state.st_mtime_ns) for name, state in states.items()}


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_the_defaults_reach_their_score_and_leave_only_outputs(
    tmp_path: Path, isolated_home: Path, framework: str
) -> None:
    workspace = generated(tmp_path, framework)
    before = contents(workspace)

    report = json.loads(tandem(workspace, "run", "digits", "--json"))

    assert report["hidden_test"]["score"] >= 0.98
    assert report["submission"]["rows"] == 540
    assert report["out_of_fold"]["score"] >= 0.97
    written = {name for name in names_below(workspace / "output/digits") if not name.startswith(".")}
    training = {f"train/{name}" for name in [*TRAINING_OUTPUT, "train.ipynb"]}
    inference = {"infer/infer.ipynb", "infer/predictions.npz", "infer/submission.csv"}
    ledger = {name for name in written if name.startswith("runs/")}
    assert written - ledger == training | inference | {"report.html", "report.json"}
    assert {"runs/0001/run.json", "runs/0001/oof.npz", "runs/0001/submission.csv"} <= ledger
    after = contents(workspace)
    assert {name: after[name] for name in after if not name.startswith("output/")} == before
    assert_only_caches(isolated_home)


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_the_same_notebooks_write_the_same_bytes_again(sessions: Sessions, tmp_path: Path, framework: str) -> None:
    train, infer = Notebook(framework, "train"), Notebook(framework, "infer")
    first, again = Mirror(tmp_path / "first"), Mirror(tmp_path / "again")
    for mirror in (first, again):
        write_digits(mirror.competition, per_class=125, test_rows=500)
        sessions.finished(train, mirror.parameters(train))
        mirror.working.rename(mirror.root / "train")
    for name in ("oof.csv", "check.npz"):
        assert (again.root / "train" / name).read_bytes() == (first.root / "train" / name).read_bytes()
    weights = [arrays_in(mirror.root / "train/fold0.weights.h5") for mirror in (first, again)]
    assert weights[0] == weights[1]

    for mirror in (first, again):
        mount = mirror.output_of_training(framework)
        mount.parent.mkdir(parents=True)
        (mirror.root / "train").rename(mount)
        sessions.finished(infer, mirror.parameters(infer))
    assert (again.working / "submission.csv").read_bytes() == (first.working / "submission.csv").read_bytes()
