"""Which commit a chain notes for its pair, and that a repository somebody sent has no say in how it is found."""

import shutil
import subprocess
from pathlib import Path

import pytest

from generator.pair.workspace import git_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="this machine has no git")


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    done = subprocess.run(["git", "-C", str(root), *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """The folder of a pair in a repository of one commit."""
    folder = tmp_path / "workspace" / "kernels" / "digits"
    folder.mkdir(parents=True)
    (folder / "pair.toml").write_text("[pair]\n")
    git(folder, "init", "--quiet", str(tmp_path / "workspace"))
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "begin")
    return folder


def test_the_commit_says_whether_anything_was_changed_since(pair: Path) -> None:
    commit = git(pair, "rev-parse", "--short=12", "HEAD")
    assert git_commit(pair) == commit

    (pair / "pair.toml").write_text("[pair] # edited\n")
    assert git_commit(pair) == f"{commit}+"


def test_a_folder_without_a_repository_has_no_commit(tmp_path: Path) -> None:
    assert git_commit(tmp_path) == ""


def test_the_settings_of_a_repository_that_somebody_sent_execute_nothing(pair: Path, tmp_path: Path) -> None:
    executed, root = tmp_path / "executed", pair.parents[1]
    git(pair, "config", "core.fsmonitor", f"touch {executed}; false")
    git(pair, "config", "filter.theirs.clean", f"touch {executed}; cat")
    (root / ".gitattributes").write_text("* filter=theirs\n")
    (pair / "pair.toml").write_text("[pair]\n")

    assert git_commit(pair) == git(pair, "rev-parse", "--short=12", "HEAD")
    assert not executed.exists()
