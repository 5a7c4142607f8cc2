"""The temporary folder of a run, and those that killed runs left."""

import fcntl
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX, _LOCK = "tandem-", ".tandem-private"
_ABANDONED_SECONDS = 24 * 3600


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that only this user reads and that vanishes with the run, its name short enough for sockets.

    What runs left that were killed more than a day ago is removed.
    """
    _remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield folder
        finally:
            os.close(handle)
    finally:
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Removes a folder with all that is in it, as far as that can be done, however deep it is.

    `shutil.rmtree` calls itself for every level, and keeps a file open for each: a notebook can make more of them.
    """
    remove = ["rm", "-rf", "--", str(folder)]
    # A folder that its owner may not write to is made so again: a notebook can forbid that, except to root.
    for command in (remove, ["chmod", "-R", "u+rwX", "--", str(folder)], remove):
        if not os.path.lexists(folder):
            return
        with suppress(OSError):  # no memory, or no process, is left for it
            subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - a folder that the kit named


def _remove_abandoned() -> None:
    """Removes this user's folders whose lock nobody holds: the system drops it with the process, however that ends."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, RecursionError):
            found = folder.lstat()
            # One that is being made has no lock yet.
            is_old = time.time() - found.st_mtime > _ABANDONED_SECONDS
            if not (stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and is_old):
                continue
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(folder)
            finally:
                os.close(handle)
