"""Folders that appear under their name only when they are complete."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from generator.files import FileWriteError


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which then takes the name; if another process was faster, what it made stays.

    Raises:
        FileWriteError: The disk is full, or the place cannot be written to; nothing is left behind.
    """
    made: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        yield made
        made.chmod(0o755)
        try:
            made.rename(folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            shutil.rmtree(made)
    except BaseException as error:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError):
            raise FileWriteError(path=folder, cause=error) from error
        raise


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
