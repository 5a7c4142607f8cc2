"""A folder that anybody may have filled is written to as a whole or not at all, and never through a link."""

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import names_in

from generator.files import FileWriteError, PathOutsideError, UnsafePlaceError, WorkspaceFiles

CHANGES: dict[str, Callable[[WorkspaceFiles, Path], object]] = {
    "write": lambda files, path: files.write(path, b"new"),
    "append": lambda files, path: files.append(path, b"more"),
    "open": lambda files, path: os.close(files.open(path, os.O_RDWR | os.O_CREAT)),
    "make": lambda files, path: files.make_folder(path),
    "move to": lambda files, path: files.move(files.root / "own", path),
    "move from": lambda files, path: files.move(path, files.root / "elsewhere"),
    "remove a tree": lambda files, path: files.remove_tree(path),
    "empty": lambda files, path: files.empty(path),
}


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(b"old")

    WorkspaceFiles(tmp_path).write(path, b"new")

    assert path.read_bytes() == b"new"
    assert names_in(tmp_path) == ["report.html"]


def test_a_new_file_has_the_permissions_that_the_user_gives_to_files(tmp_path: Path) -> None:
    previous = os.umask(0o027)
    try:
        WorkspaceFiles(tmp_path).write(tmp_path / "file", b"x")
    finally:
        os.umask(previous)

    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("function", ["write", "fsync"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, function, full)
    with pytest.raises(FileWriteError, match=r"Cannot write .*file: the disk is full; nothing was changed\."):
        WorkspaceFiles(tmp_path).write(path, b"new")
    monkeypatch.undo()

    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data)[:3]))

    WorkspaceFiles(tmp_path).write(tmp_path / "file", b"more than three bytes")

    assert (tmp_path / "file").read_bytes() == b"more than three bytes"


def test_a_path_below_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(FileWriteError, match="part of the path is a file"):
        WorkspaceFiles(tmp_path).write(tmp_path / "file" / "below", b"x")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of the user's, outside of the workspace, with a file in it."""
    folder = tmp_path / "precious"
    (folder / "below").mkdir(parents=True)
    (folder / "file").write_bytes(b"of the user")
    return folder


@pytest.fixture
def workspace(tmp_path: Path, precious: Path) -> WorkspaceFiles:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "own").write_bytes(b"own")
    (root / "folder").symlink_to(precious)
    (root / "file").symlink_to(precious / "file")
    (root / "new").symlink_to(precious / "new")
    return WorkspaceFiles(root)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("path", ["folder", "file", "new", "folder/file", "folder/below", "folder/new", "folder/a/b"])
def test_nothing_is_changed_through_a_link(workspace: WorkspaceFiles, precious: Path, change: str, path: str) -> None:
    before = content(precious), names_in(workspace.root)

    with pytest.raises(UnsafePlaceError, match=r"(folder|file|new) is a link\. .*nothing was written\. .*\.$"):
        CHANGES[change](workspace, workspace.root / path)

    assert (content(precious), names_in(workspace.root)) == before


def test_a_link_is_removed_rather_than_what_it_leads_to(workspace: WorkspaceFiles, precious: Path) -> None:
    workspace.remove(workspace.root / "file")
    (workspace.root / "output").mkdir()
    (workspace.root / "output" / "link").symlink_to(precious)
    workspace.empty(workspace.root / "output")

    assert names_in(workspace.root) == ["folder", "new", "output", "own"]
    assert names_in(workspace.root / "output") == []
    assert (precious / "file").read_bytes() == b"of the user"


def test_a_workspace_may_itself_be_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk" / "work").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "disk")

    for root in (tmp_path / "home" / "work", tmp_path / "home" / "new"):
        WorkspaceFiles(root).make_folder(root / "kernels")
        WorkspaceFiles(root).write(root / "kernels" / "file", b"x")
        assert (root / "kernels" / "file").read_bytes() == b"x"


def test_a_second_name_of_a_file_is_not_added_to(workspace: WorkspaceFiles, precious: Path) -> None:
    (workspace.root / "hard").hardlink_to(precious / "file")

    with pytest.raises(UnsafePlaceError, match="hard is a hard link"):
        workspace.append(workspace.root / "hard", b"more")
    workspace.write(workspace.root / "hard", b"replaced")

    assert (precious / "file").read_bytes() == b"of the user"


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT])
def test_a_pipe_blocks_nobody(workspace: WorkspaceFiles, flags: int) -> None:
    os.mkfifo(workspace.root / "pipe")

    with pytest.raises(UnsafePlaceError, match="pipe is a pipe or a device"):
        workspace.open(workspace.root / "pipe", flags)


@pytest.mark.parametrize("path", ["../precious/file", "own/../../precious/file", "/etc/hostname"])
def test_a_path_out_of_the_workspace_is_refused(workspace: WorkspaceFiles, path: str) -> None:
    with pytest.raises(PathOutsideError):
        workspace.remove(workspace.root / path)


def test_folders_that_were_made_are_named_for_whoever_takes_them_back(workspace: WorkspaceFiles) -> None:
    made = workspace.make_folder(workspace.root / "a" / "b")
    assert [path.name for path in made] == ["a", "b"]
    assert workspace.make_folder(workspace.root / "a" / "b") == []

    workspace.remove_empty(made)
    assert not (workspace.root / "a").exists()


@pytest.mark.slow
def test_folders_that_are_nested_too_deeply_to_be_removed_are_one_sentence(workspace: WorkspaceFiles) -> None:
    handle = os.open(workspace.root, os.O_RDONLY)
    for name in ["deep", *["d"] * 1_500]:
        os.mkdir(name, dir_fd=handle)
        below = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)

    with pytest.raises(OSError, match=r"nested too deeply|Too many open files"):
        workspace.remove_tree(workspace.root / "deep")
    subprocess.run(["rm", "-r", workspace.root / "deep"], check=True)


def test_a_folder_that_cannot_be_made_beside_another_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.mkdir", refuse)

    with (
        pytest.raises(FileWriteError, match="there is no permission to write there"),
        WorkspaceFiles(tmp_path).beside(tmp_path / "output"),
    ):
        pass
