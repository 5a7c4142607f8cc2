"""The free space of the disk, asked for before each piece that is written: others write meanwhile as well."""

import errno
import shutil
from pathlib import Path

_SPARE = 256 * 2**20


def has_room(folder: Path, count: int, *, spare: int = _SPARE) -> bool:
    """True if so many bytes more on the disk of a folder leave the spare ones free."""
    return count <= shutil.disk_usage(folder).free - spare


def is_disk_full(error: BaseException) -> bool:
    """True if something could not be written for want of room, of bytes or of files."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
