"""Files are written as a whole or not at all."""

import errno
import os
from pathlib import Path

import pytest
from miniature import names_in

from generator.files import FileReadError, FileWriteError, PathOutsideError, contained, read_text, write_atomically


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(b"old")

    write_atomically(path, b"new")

    assert path.read_bytes() == b"new"
    assert names_in(tmp_path) == ["report.html"]


def test_a_new_file_has_the_permissions_that_the_user_gives_to_files(tmp_path: Path) -> None:
    previous = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", b"x")
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
        write_atomically(path, b"new")
    monkeypatch.undo()

    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data)[:3]))

    write_atomically(tmp_path / "file", b"more than three bytes")

    assert (tmp_path / "file").read_bytes() == b"more than three bytes"


def test_a_path_below_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(FileWriteError, match="part of the path is a file"):
        write_atomically(tmp_path / "file" / "below", b"x")


def test_a_link_out_of_the_folder_is_found(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)

    assert contained(root / "a" / ".." / "b", root=root) == (root / "b").resolve()
    with pytest.raises(PathOutsideError):
        contained(root / "link" / "x", root=root)
    with pytest.raises(PathOutsideError):
        contained(root / ".." / "rootless", root=root)


def test_text_that_is_not_utf_8_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "pair.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(FileReadError, match=r"pair\.toml: it is not UTF-8 text"):
        read_text(tmp_path / "pair.toml")
