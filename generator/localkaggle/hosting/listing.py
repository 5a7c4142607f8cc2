"""The files of a competition."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from generator.localkaggle.clock import file_moment
from generator.localkaggle.file_names import ListedFile


def files_below(folder: Path) -> list[ListedFile]:
    """Every file below a folder by name; hidden ones, and links that lead out of it, are left out."""
    root = folder.resolve()
    found: list[ListedFile] = []
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
            found.append(ListedFile(place, path, facts.st_size, file_moment(facts.st_mtime)))
    return sorted(found, key=lambda file: file.name)


def fingerprint(files: Iterable[ListedFile]) -> str:
    """Letters that change when a file is added, removed or written to."""
    told = hashlib.sha256()
    for file in files:
        told.update(f"{file.name}\0{file.size}\0{file.written.timestamp()}\n".encode(errors="surrogateescape"))
    return told.hexdigest()[:16]
