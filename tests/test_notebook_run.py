"""The pair from the command line to a scored submission, with the defaults and with nothing stubbed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from notebook_session import arrays_in, assert_only_caches, names_below

pytestmark = pytest.mark.slow

TRAINING_OUTPUT = ["accelerator.json", "check.npz", "fold0.weights.h5", "handoff.json", "oof.csv", "oof.npz"]


def tandem(workspace: Path, *arguments: str) -> str:
    """Runs the command line in a process of its own, with a temporary folder that it must leave empty."""
    temporary = workspace.parent / "t"
    temporary.mkdir(exist_ok=True)
    # As on most machines, Python may keep what it compiled.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
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


def ran(workspace: Path, *options: str) -> dict[str, Any]:
    return dict(json.loads(tandem(workspace, "run", "digits", "--json", *options)))


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """The size and time of every file below a folder."""
    states = {name: (folder / name).stat() for name in names_below(folder)}
    return {name: (state.st_size, state.st_mtime_ns) for name, state in states.items()}


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_the_defaults_reach_their_score_twice_with_the_same_bytes(
    tmp_path: Path, isolated_home: Path, framework: str
) -> None:
    workspace = generated(tmp_path, framework)
    before = contents(workspace)

    first = ran(workspace)
    # Both infer with TensorFlow: that it repeats itself is seen once.
    does_both = framework == "tensorflow"
    again = ran(workspace, "--output", "again", *([] if does_both else ["--only", "train"]))

    assert first["hidden_test"]["score"] >= 0.98
    assert first["submission"]["rows"] == 540
    assert first["out_of_fold"]["score"] >= 0.97
    outputs = workspace / "output/digits", workspace / "again"
    for path in ("train/oof.csv", "train/check.npz", *(["infer/submission.csv"] if does_both else [])):
        assert (outputs[0] / path).read_bytes() == (outputs[1] / path).read_bytes()
    assert arrays_in(outputs[0] / "train/fold0.weights.h5") == arrays_in(outputs[1] / "train/fold0.weights.h5")
    if does_both:
        assert again["hidden_test"] == first["hidden_test"]

    written = {name for name in names_below(workspace / "output/digits") if not name.startswith(".")}
    training = {f"train/{name}" for name in [*TRAINING_OUTPUT, "train.ipynb"]}
    assert written == training | {"infer/infer.ipynb", "infer/submission.csv", "report.html"}
    after = contents(workspace)
    others = {name: after[name] for name in after if not name.startswith(("output/", "again/"))}
    assert others == before
    assert_only_caches(isolated_home)
