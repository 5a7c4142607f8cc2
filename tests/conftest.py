"""Fixtures, each named for what it guarantees."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import MINIATURE, Outcome, write_tree

from generator.cli.main import main
from generator.pair.workspace import Workspace

# Under `nohup … &` both are ignored, here and in every program that a test starts and means to interrupt. A program
# starts with the default for a signal that has a handler; one that does nothing leaves the tests themselves deaf to it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the Kaggle user, the tokens or the configuration of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("KAGGLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def miniature_templates(tmp_path: Path) -> Path:
    """A folder of templates that is small enough to be read in one glance."""
    return write_tree(tmp_path / "miniature", MINIATURE)


@pytest.fixture
def workspace_with_data(tmp_path: Path) -> Workspace:
    """A workspace in which the data of `digits` stand already, so that nothing has to be written for it."""
    workspace = Workspace(tmp_path / "workspace")
    write_tree(workspace.competition_data("digits"), {"train.csv": "id,label\n", "sample_submission.csv": "id,label\n"})
    return workspace


@pytest.fixture
def tandem(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs the command line in this process."""

    def run(*arguments: str | Path, program: str = "tandem") -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments], program=program)
        return Outcome(code, *capsys.readouterr())

    return run
