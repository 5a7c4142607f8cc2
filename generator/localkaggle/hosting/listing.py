"""The listing of a competition's files."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from generator.localkaggle.clock import file_moment


@dataclass(frozen=True)
class DataFile:
    """A file of a competition: `name` is its relative POSIX path."""

    name: str
    size: int
    modified: datetime


def files_below(folder: Path) -> tuple[DataFile, ...]:
    """Every file below a folder by name; hidden ones, and links that lead out of it, are left out."""
    root = folder.resolve()
    found: list[DataFile] = []
    for here, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(here, name)
            if name.startswith(".") or (path.is_symlink() and not path.resolve().is_relative_to(root)):
                continue
            try:
                facts = path.stat()
            except OSError:
                continue  # a link to nothing
            place = path.relative_to(root).as_posix()
            found.append(DataFile(place, facts.st_size, file_moment(facts.st_mtime)))
    return tuple(sorted(found, key=lambda file: file.name))


def fingerprint(files: Iterable[DataFile]) -> str:
    """Letters that change when a file is added, removed or written to."""
    told = hashlib.sha256()
    for file in files:
        told.update(f"{file.name}\0{file.size}\0{file.modified.timestamp()}\n".encode(errors="surrogateescape"))
    return told.hexdigest()[:16]
