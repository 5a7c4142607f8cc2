"""The files of a folder, on all levels: bounded in files, in folders and in levels.

Only what a directory itself says is used: no file is opened, and none but links is asked for its status.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from generator.competition.survey.bounds import MOST_FOLDERS
from generator.competition.tables.sample import evenly_drawn
from generator.files import reason_not_read
from generator.untrusted import printable, storable

_MOST_FILES, _MOST_FILES_OF_ONE = 600_000, 400_000
_MOST_OF_A_LEVEL = 4_000
_DEEPEST_LEVEL = 8
_MOST_LINKS = 1_000
_LONGEST_SUFFIX = 10
_NOT_DATA = frozenset(("__MACOSX", "__pycache__"))


@dataclass(frozen=True)
class Directory:
    """One folder on the disk or in an archive.

    Attributes:
        path: Relative to the competition's folder, with `/`; "" for itself.
        names: The names of its files, in order.
        total: How many files it has, where that is known and these are not all.
    """

    path: str
    names: tuple[str, ...]
    total: int = 0

    def path_of(self, name: str) -> str:
        """The relative path of one of its files."""
        return f"{self.path}/{name}" if self.path else name


@dataclass
class _Walk:
    """The state of a walk: what was found, and what is left of the bounds."""

    root: Path
    directories: list[Directory] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files_left: int = _MOST_FILES
    links_left: int = _MOST_LINKS


def list_directories(root: Path) -> tuple[tuple[Directory, ...], tuple[str, ...]]:
    """Lists a folder and the folders in it.

    Hidden files and folders are left out, and so are pipes, sockets and devices. Links to folders are not followed.

    Args:
        root: A folder; resolved, so that it is no link itself.

    Returns:
        The folders in order of path, and notes on what was left out.

    Raises:
        OSError: `root` cannot be read.
    """
    walk = _Walk(root)
    level: Sequence[str] = _list_one(walk, "")
    for _ in range(_DEEPEST_LEVEL):
        level = _drawn(walk, level, most=_MOST_OF_A_LEVEL, what="folders on one level")
        further: list[str] = []
        for path in level:
            try:
                further += _list_one(walk, path)
            except OSError as error:
                walk.notes.append(f"{printable(path)} cannot be read: {reason_not_read(error)}.")
        level = further
    if level:
        walk.notes.append(f"Folders more than {_DEEPEST_LEVEL} levels deep were not looked at.")
    return tuple(sorted(walk.directories, key=lambda directory: directory.path)), tuple(walk.notes)


def suffix_of(name: str) -> str:
    """The suffix of a file name, lower case with the dot; "" where there is none or where it is a number."""
    stem, dot, suffix = name.rpartition(".")
    is_suffix = dot and stem and suffix.isalnum() and len(suffix) <= _LONGEST_SUFFIX and not suffix.isdecimal()
    return f".{suffix.lower()}" if is_suffix else ""


def _list_one(walk: _Walk, path: str) -> list[str]:
    """Adds one folder to the walk and returns the paths of those in it."""
    if walk.files_left <= 0:
        return []
    names: list[str] = []
    folders: list[str] = []
    unnamed = 0
    most = min(_MOST_FILES_OF_ONE, walk.files_left)
    with os.scandir(walk.root / path) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _NOT_DATA:
                continue
            if storable(entry.name) != entry.name:
                unnamed += 1
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{path}/{entry.name}" if path else entry.name)
            elif entry.is_file(follow_symlinks=False) or (entry.is_symlink() and _leads_to_file_inside(walk, entry)):
                names.append(entry.name)
            if len(names) + len(folders) >= most:
                break
    is_complete = len(names) + len(folders) < most
    if unnamed:
        where = printable(path) or "The folder"
        odd = f"{unnamed:,} entries whose names are not UTF-8" if unnamed > 1 else "an entry whose name is not UTF-8"
        walk.notes.append(f"{where} has {odd}, left out here; rename what is needed of it.")
    walk.files_left -= len(names)
    if not is_complete:
        walk.notes.append(
            f"{printable(path) or 'The folder'} has more than {most:,} files; the rest was not looked at."
        )
    walk.directories.append(Directory(path=path, names=tuple(sorted(names))))
    return list(_drawn(walk, sorted(folders), most=MOST_FOLDERS, what=f"folders in {printable(path) or 'the folder'}"))


def _drawn(walk: _Walk, paths: Sequence[str], *, most: int, what: str) -> Sequence[str]:
    if len(paths) > most:
        walk.notes.append(f"Of {len(paths):,} {what}, {most:,} were looked at.")
    return evenly_drawn(paths, most)


def _leads_to_file_inside(walk: _Walk, link: os.DirEntry[str]) -> bool:
    walk.links_left -= 1
    path = Path(link.path)
    shown = printable(path.relative_to(walk.root).as_posix())
    if walk.links_left < 0:
        if walk.links_left == -1:
            walk.notes.append(f"There are more than {_MOST_LINKS:,} links; from {shown} on they were not followed.")
        return False
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        walk.notes.append(f"{shown} is a link that leads nowhere.")
        return False
    if not target.is_relative_to(walk.root):
        walk.notes.append(f"{shown} is a link out of the folder and was not followed.")
        return False
    if target.is_dir():
        walk.notes.append(f"{shown} is a link to another folder of the competition and was not followed.")
        return False
    return target.is_file()
