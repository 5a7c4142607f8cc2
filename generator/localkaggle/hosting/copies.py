"""Copies of files that nobody changes, which take no room where that can be."""

import os
import shutil
from pathlib import Path


def copy(source: Path, destination: Path) -> None:
    """Copies a file or folder that nobody changes: by a second name, which takes no room, where that can be."""
    if source.is_dir():
        shutil.copytree(source, destination, copy_function=_linked)
    else:
        _linked(str(source), str(destination))


def _linked(source: str, destination: str) -> str:
    try:
        os.link(source, destination, follow_symlinks=True)
    except OSError:
        shutil.copy2(source, destination)
    return destination
