"""The temporary folder of a run, and those that killed runs left."""

import fcntl
import os
import shutil
import stat
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
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        handle = os.open(Path(folder, _LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(folder).resolve()
        finally:
            os.close(handle)


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
                shutil.rmtree(folder)
            finally:
                os.close(handle)
