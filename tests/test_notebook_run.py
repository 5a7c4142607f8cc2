"""The pair from the command line to a scored submission, with the defaults and with nothing stubbed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from notebook_session import names_below

pytestmark = pytest.mark.slow

TRAINING_OUTPUT = ["accelerator.json", "check.npz", "fold0.weights.h5", "handoff.json", "oof.csv", "oof.npz"]


def tandem(workspace: Path, *arguments: str, **environment: str) -> str:
    """Runs the command line in a process of its own, with a temporary folder that it must leave empty."""
    temporary = workspace.parent / "t"
    temporary.mkdir(exist_ok=True)
    # As on most machines, Python may keep what it compiled.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-m", "generator", *arguments],
        cwd=workspace,
        env={**inherited, "TMPDIR": str(temporary), **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    assert list(temporary.iterdir()) == []
    return done.stdout


def generated(tmp_path: Path, framework: str, *options: str) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    tandem(workspace, "generate", "--competition", "digits", "--framework", framework, "--owner", "ada", *options)
    return workspace


def ran(workspace: Path, *options: str, **environment: str) -> dict[str, Any]:
    return dict(json.loads(tandem(workspace, "run", "digits", "--json", *options, **environment)))


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """The size and time of every file below a folder."""
    states = {name: (folder / name).stat() for name in names_below(folder)}
    return {name: (state.st_size, state.st_mtime_ns) for name, state in states.items()}


def assert_only_caches(home: Path) -> None:
    left = [name for name in names_below(home) if not name.startswith(".cache/")]
    assert left in ([], [".keras/keras.json"])


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_the_defaults_reach_their_score_twice_with_the_same_bytes(
    tmp_path: Path, isolated_home: Path, framework: str
) -> None:
    workspace = generated(tmp_path, framework)
    before = contents(workspace)

    first = ran(workspace)
    again = ran(workspace, "--output", "again")

    assert first["hidden_test"]["score"] >= 0.98
    assert first["submission"]["rows"] == 540
    assert first["out_of_fold"]["score"] >= 0.97
    for path in ("infer/submission.csv", "train/oof.csv"):
        assert (workspace / "output/digits" / path).read_bytes() == (workspace / "again" / path).read_bytes()
    assert again["hidden_test"] == first["hidden_test"]

    written = {name for name in names_below(workspace / "output/digits") if not name.startswith(".")}
    training = {f"train/{name}" for name in [*TRAINING_OUTPUT, "train.ipynb"]}
    assert written == training | {"infer/infer.ipynb", "infer/submission.csv", "report.html"}
    after = contents(workspace)
    others = {name: after[name] for name in after if not name.startswith(("output/", "again/"))}
    assert others == before
    assert_only_caches(isolated_home)


def test_a_smoke_run_with_a_backbone_fetches_nothing(tmp_path: Path, isolated_home: Path) -> None:
    workspace = generated(tmp_path, "keras", "--set", "channels=3", "--set", "image_size=96")
    nowhere = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https")}
    backbone = ("-P", "BACKBONE=MobileNetV3Small", "-P", "IMAGE_SIZE=32", "-P", "EPOCHS=1")

    report = ran(workspace, "--smoke", *backbone, **nowhere)

    assert (report["smoke"], report["submission"]["rows"]) == (True, 540)
    training = workspace / "output/digits/smoke/train"
    handoff = json.loads((training / "handoff.json").read_text())
    assert handoff["folds"][0]["arguments"]["backbone"] == "MobileNetV3Small"
    assert handoff["reading"] == {"image_size": 32, "channels": 3}
    assert_only_caches(isolated_home)
