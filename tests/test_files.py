"""Paths stay inside of their folder, and files that cannot be read are one sentence."""

from pathlib import Path

import pytest

from generator.files import FileReadError, PathOutsideError, contained, read_text


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
