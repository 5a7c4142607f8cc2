"""Whether the disk has room, asked before each piece that is written: what others write meanwhile counts as well."""

import shutil
from pathlib import Path

_SPARE = 256 * 2**20


def has_room(folder: Path, count: int, *, spare: int = _SPARE) -> bool:
    """Whether so many bytes more on the disk of a folder leave the spare ones free."""
    return count <= shutil.disk_usage(folder).free - spare
