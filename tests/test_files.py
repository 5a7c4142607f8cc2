"""Paths stay inside of their folder, and files that cannot be read are one sentence."""

import os
from pathlib import Path

import pytest

from generator.files import FileReadError, PathOutsideError, open_below, read_text, resolve_inside


def test_a_link_out_of_the_folder_is_found(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)

    assert resolve_inside(root / "a" / ".." / "b", root=root) == (root / "b").resolve()
    with pytest.raises(PathOutsideError):
        resolve_inside(root / "link" / "x", root=root)
    with pytest.raises(PathOutsideError):
        resolve_inside(root / ".." / "rootless", root=root)


def test_text_that_is_not_utf_8_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "pair.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(FileReadError, match=r"pair\.toml: it is not UTF-8 text"):
        read_text(tmp_path / "pair.toml")


@pytest.mark.parametrize(
    "name",
    [
        "link.txt",
        "up/secret.txt",
        "in/up/secret.txt",
        "pipe",
        "folder",
        "hard.txt",
        "../secret.txt",
        "none",
        "a\0b",
        "",
    ],
)
def test_what_a_program_put_in_the_place_of_a_file_is_not_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.txt").write_text("a secret")
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (root / "folder").mkdir()
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "in" / "up").symlink_to(tmp_path)
    os.link(tmp_path / "secret.txt", root / "hard.txt")
    os.mkfifo(root / "pipe")

    with pytest.raises(OSError, match=r"^\[Errno "):
        open_below(root, name)


def test_a_file_below_a_folder_is_read_by_each_of_its_names_and_after_it_was_replaced(tmp_path: Path) -> None:
    root = tmp_path / "linked"
    (tmp_path / "root" / "in").mkdir(parents=True)
    root.symlink_to(tmp_path / "root")  # links above the folder, and the folder itself, are the user's
    (root / "in" / "a.txt").write_text("a")
    os.link(root / "in" / "a.txt", root / "b.txt")

    for name in ("in/a.txt", "b.txt"):
        with open_below(root, name) as file:
            (root / name).unlink()
            (root / name).symlink_to("/etc/passwd")
            assert file.read() == b"a"
        (root / name).unlink()
        (root / name).write_text("a")
