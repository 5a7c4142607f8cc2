"""A pair is replaced as a whole or not at all, whatever happens at whatever moment."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from miniature import names_in

from generator.errors import PairError
from generator.files import FileReadError, FileWriteError, UnsafePlaceError
from generator.pair.folder import base_of, commit, pair_files, pair_folder, recover, undo_write
from generator.pair.workspace import PairFolder, Workspace

OLD = {path: b"old " + path.name.encode() for path in pair_files()}
NEW = {path: b"new " + path.name.encode() for path in pair_files()}
FULL = OSError(errno.ENOSPC, "No space left on device")
NEW_WITH_BASES = NEW | {base_of(path): content for path, content in NEW.items()}


def tree(folder: Path) -> dict[Path, bytes]:
    """The files of a pair, apart from what is kept for `undo`."""
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {path: content for path, content in files.items() if "previous" not in path.parts}


@pytest.fixture
def old_pair(tmp_path: Path) -> PairFolder:
    """A pair that was written completely before."""
    folder = Workspace(tmp_path).pair("digits")
    commit(folder, OLD)
    return folder


@dataclass
class FailingAt:
    """A function that fails at one of its calls."""

    call: int
    function: Callable[..., object]
    error: BaseException
    calls: int = 0

    def __call__(self, *arguments: object, **options: object) -> object:
        self.calls += 1
        if self.calls == self.call:
            raise self.error
        return self.function(*arguments, **options)


def at_every_step(function: str, error: BaseException) -> Iterator[FailingAt]:
    """A function of `os` that fails at its first call, at its second … until it is not called that often."""
    for step in count(1):
        failing = FailingAt(step, getattr(os, function), error)
        yield failing
        if failing.calls < step:
            return


def test_all_files_are_replaced_and_no_stage_is_left(old_pair: PairFolder) -> None:
    commit(old_pair, NEW_WITH_BASES)

    assert tree(old_pair.path) == NEW_WITH_BASES


def test_undo_brings_back_what_was_there_and_undo_of_that_what_came_after(old_pair: PairFolder) -> None:
    commit(old_pair, NEW_WITH_BASES)

    for expected in (OLD, NEW_WITH_BASES, OLD):
        assert undo_write(old_pair) == pair_files()
        assert tree(old_pair.path) == expected


def test_a_new_pair_has_nothing_to_undo(old_pair: PairFolder) -> None:
    with pytest.raises(PairError, match="There is nothing to undo in"):
        undo_write(old_pair)


def test_undo_takes_nothing_from_behind_a_link(old_pair: PairFolder, tmp_path: Path) -> None:
    commit(old_pair, NEW)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    copy = old_pair.state / "previous/train/train.ipynb"
    copy.unlink()
    copy.symlink_to(secret)

    with pytest.raises(UnsafePlaceError):
        undo_write(old_pair)
    assert tree(old_pair.path) == NEW


@pytest.mark.parametrize("function", ["write", "fsync", pytest.param("open", marks=pytest.mark.slow)])
@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()])
def test_a_full_disk_or_an_interrupt_at_any_step_leaves_the_old_pair_or_the_new_one(
    old_pair: PairFolder, monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException
) -> None:
    outcomes = set()
    for failing in at_every_step(function, error):
        if tree(old_pair.path) != OLD:
            commit(old_pair, OLD)
        with monkeypatch.context() as patched:
            patched.setattr(os, function, failing)
            with suppress(FileReadError, FileWriteError, PairError, KeyboardInterrupt):
                commit(old_pair, NEW)
        recover(old_pair)
        found = tree(old_pair.path)
        assert found in (OLD, NEW), f"step {failing.call}"
        outcomes.add(found == NEW)

    assert outcomes == {False, True}


@pytest.mark.slow
@pytest.mark.parametrize("function", ["write", "fsync", "mkdir"])
def test_a_disk_that_is_full_at_any_step_of_a_new_pair_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    folder = Workspace(tmp_path / "workspace").pair("digits")
    for failing in at_every_step(function, FULL):
        with monkeypatch.context() as patched:
            patched.setattr(os, function, failing)
            with suppress(FileWriteError):
                try:
                    commit(folder, NEW_WITH_BASES)
                except PairError:  # The new files are complete: the next command finishes the work.
                    recover(folder)
                assert tree(folder.path) == NEW_WITH_BASES
                shutil.rmtree(tmp_path / "workspace")
        assert not (tmp_path / "workspace").exists(), f"step {failing.call}"


@pytest.mark.parametrize("function", ["write", "fsync", "mkdir"])
def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    monkeypatch.setattr(os, function, FailingAt(1, getattr(os, function), FULL))

    with pytest.raises(FileWriteError, match=r"^Cannot write .*digits: the disk is full; nothing was changed\.$"):
        commit(Workspace(tmp_path).pair("digits"), NEW)


@pytest.mark.slow
@pytest.mark.parametrize("renames", [0, 1, 3])
def test_a_process_killed_between_two_renames_is_rolled_forward_by_the_next_reader(
    old_pair: PairFolder, renames: int
) -> None:
    script = f"""
import os, sys
from pathlib import Path
from generator.pair.folder import commit, pair_files
from generator.pair.workspace import PairFolder

rename, calls = os.replace, []

def killed(source, target, **handles):
    if len(calls) == {renames}:
        os.kill(os.getpid(), 9)
    calls.append(target)
    return rename(source, target, **handles)

os.replace = killed
commit(PairFolder(Path(sys.argv[1])), {{path: b"new " + path.name.encode() for path in pair_files()}})
"""
    killed = subprocess.run([sys.executable, "-c", script, str(old_pair.path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [old_pair.settings_path.read_bytes() == NEW[Path("pair.toml")]] == [renames > 0]

    pair_folder(Workspace(old_pair.path.parents[1]), "digits")

    assert tree(old_pair.path) == NEW


def test_a_process_killed_while_staging_is_undone_by_the_next_reader(old_pair: PairFolder) -> None:
    (old_pair.state / "staged").mkdir()
    (old_pair.state / "staged" / "pair.toml").write_bytes(b"half")

    pair_folder(Workspace(old_pair.path.parents[1]), "digits")

    assert tree(old_pair.path) == OLD


def test_ctrl_c_during_the_renames_takes_effect_after_them(
    old_pair: PairFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def interrupted(source: str, target: str, **handles: int) -> None:
        signal.raise_signal(signal.SIGINT)
        replace(source, target, **handles)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        commit(old_pair, NEW)

    assert tree(old_pair.path) == NEW
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_renames_that_fail_are_reported_and_finished_later(
    old_pair: PairFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", FailingAt(2, os.replace, PermissionError(errno.EACCES, "denied")))
        with pytest.raises(PairError, match="are complete, but cannot be moved into place: there is no permission"):
            commit(old_pair, NEW)

    recover(old_pair)

    assert tree(old_pair.path) == NEW


def test_no_permission_is_one_sentence_and_changes_nothing(
    old_pair: PairFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write everywhere, so the answer of the system is put in its place.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "infer")
    with pytest.raises(FileWriteError, match=r"Cannot write .*digits: there is no permission to write there; nothing"):
        commit(old_pair, NEW)

    assert tree(old_pair.path) == OLD


def test_a_workspace_below_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(FileWriteError, match="part of the path is a file, not a folder"):
        commit(Workspace(tmp_path / "file").pair("digits"), NEW)


def test_a_folder_in_place_of_a_notebook_is_one_sentence_and_changes_nothing(tmp_path: Path) -> None:
    folder = Workspace(tmp_path).pair("digits")
    (folder.path / "train" / "train.ipynb").mkdir(parents=True)

    with pytest.raises(FileWriteError, match="a folder has this name"):
        commit(folder, NEW)

    assert tree(folder.path) == {}


@pytest.mark.parametrize("kept_copy", ["", "train", "train/train.ipynb/folder"])
def test_a_copy_for_undo_that_cannot_be_written_changes_nothing(old_pair: PairFolder, kept_copy: str) -> None:
    place = old_pair.state / "previous" / kept_copy
    if place.name == "folder":  # a folder in place of the copy
        place.mkdir(parents=True)
    else:  # a file in place of a folder
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("")

    with pytest.raises(FileWriteError):
        commit(old_pair, NEW)

    assert not (old_pair.state / "staged").exists()
    assert {path: (old_pair.path / path).read_bytes() for path in OLD} == OLD


def test_a_link_in_the_pair_does_not_lead_writes_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = Workspace(tmp_path).pair("digits")
    folder.path.mkdir(parents=True)
    (folder.path / "train").symlink_to(elsewhere)

    with pytest.raises(UnsafePlaceError, match="train is a link"):
        commit(folder, NEW)

    assert names_in(elsewhere) == []


def test_a_stage_that_comes_with_somebody_elses_pair_writes_only_files_of_the_pair(old_pair: PairFolder) -> None:
    stage = old_pair.state / "staged"
    stage.mkdir()
    for name in ("complete", "..--..--evil", "evil.py", "pair.toml"):
        (stage / name).write_bytes(b"new pair.toml" if name == "pair.toml" else b"")

    recover(old_pair)

    assert tree(old_pair.path) == OLD | {Path("pair.toml"): b"new pair.toml"}
