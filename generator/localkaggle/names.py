"""Which names of files a local Kaggle accepts from a client, before they become paths."""

from pathlib import PurePosixPath

from generator.localkaggle.rpc import ApiError
from generator.untrusted import printable

DEEPEST = 32
"""How many parts a name has at most, the file itself included."""

_LONGEST_NAME = 1_000
_LONGEST_PART = 255
_SHOWN = 80


def checked_name(name: str) -> str:
    """A relative POSIX path that stays inside of whatever folder it is put in.

    Raises:
        ApiError: 400; it is empty, absolute, leads upwards, or has characters that some system takes for a separator.
    """
    parts = name.split("/")
    if (
        not name.isprintable()
        or len(name) > _LONGEST_NAME
        or len(parts) > DEEPEST
        or any(part in ("", ".", "..") or len(part.encode()) > _LONGEST_PART for part in parts)
        or "\\" in name
        or ":" in name
    ):
        raise ApiError(400, f"{printable(name[:_SHOWN]) or 'An empty text'} is no name for a file here.")
    return str(PurePosixPath(name))
