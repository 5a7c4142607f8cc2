"""Trees of files that a notebook made: looked through and removed, however deep they are, and wherever links lead."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import BinaryIO

from generator.run import private_folder

DEEPEST = 100
"""Folders below one another that a session may make, and that anybody looks into."""

_LONGEST_PATH = os.pathconf("/", "PC_PATH_MAX") - 256  # of a folder that files can be in
_LOG = logging.getLogger(__name__)


def walk(folder: Path) -> Iterator[tuple[int, os.DirEntry[str]]]:
    """Every entry below a folder with its depth, which is 1 for what is directly in it.

    Links are not followed. Folders that are too deep are not looked into, and those that cannot be read are taken for
    empty.
    """
    waiting = [(os.fspath(folder), 1)]
    while waiting:
        path, depth = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    yield depth, entry
                    if entry.is_dir(follow_symlinks=False) and not is_too_deep(depth, entry):
                        waiting.append((entry.path, depth + 1))
        except OSError:  # gone meanwhile, or not readable
            continue


def is_too_deep(depth: int, folder: os.DirEntry[str]) -> bool:
    """True if a folder has so many above it, or such long names, that nobody looks into it."""
    return depth > DEEPEST or len(os.fsencode(folder.path)) > _LONGEST_PATH


def size_of(path: Path) -> int:
    """The bytes that a file, or a folder with all that is in it, takes of the disk."""
    return blocks_of(path) + sum(blocks_of(entry) for _, entry in walk(path))


def blocks_of(path: "Path | os.DirEntry[str]") -> int:
    """The bytes that one entry of a folder takes of the disk; none if it is gone."""
    try:
        status = path.lstat() if isinstance(path, Path) else path.stat(follow_symlinks=False)
    except OSError:
        return 0
    return status.st_blocks * 512


@contextmanager
def path_of(file: BinaryIO, name: str) -> Iterator[Path]:
    """A path that ends in `name` and leads to an open file, for readers that go by the name of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, PurePath(name).name)
        path.symlink_to(f"/dev/fd/{file.fileno()}")
        yield path


def remove_tree(folder: Path) -> None:
    """Removes a folder with all that is in it; if that fails, only the server's log says so."""
    private_folder.remove_tree(folder)
    if os.path.lexists(folder):
        _LOG.warning("%s could not be removed", folder)
