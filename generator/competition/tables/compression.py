"""Compressed files: as streams, and their first bytes however large they claim to be."""

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from generator.competition.bounded_lzma import XzFile, require_no_lzma
from generator.competition.tables.errors import UnreadableTableError
from generator.files import open_file
from generator.untrusted import quoted

_OPENERS: dict[str, Callable[[IO[bytes]], object]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": XzFile}
_DAMAGE = (EOFError, KeyError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
# What the archives of some systems have beside what was packed.
_NO_TABLES = ("__MACOSX/",)
_ABSURD_RATIO = 200
_GZIP_MODULUS, _PLAUSIBLE_FACTOR = 1 << 32, 4


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """The bytes of a file, unpacked where it is compressed or in a zip archive, and the name that says their format.

    Args:
        path: A file, or `archive.zip/member`; of an archive alone the first file is meant.

    Raises:
        UnreadableTableError: It cannot be unpacked, now or by who reads on.
        OSError: It cannot be read.
    """
    archive = next((part for part in (path, *path.parents) if part.suffix.lower() == ".zip" and part.is_file()), None)
    try:
        with open_file(archive or path) as stored:
            if archive is not None:
                with zipfile.ZipFile(stored) as files:
                    name = path.relative_to(archive).as_posix() if archive != path else _first_file(files)
                    require_no_lzma(files.getinfo(name))
                    with files.open(name) as file:
                        yield file, name
            elif path.suffix.lower() in _OPENERS:
                with cast("IO[bytes]", _OPENERS[path.suffix.lower()](stored)) as unpacked:
                    yield unpacked, path.stem
            else:
                yield stored, path.name
    except (OSError, *_DAMAGE) as error:
        # Damaged gzip and bz2 files are errors of the system that have no number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UnreadableTableError(f"cannot be unpacked ({quoted(str(error))})") from error


def beginning(raw: BinaryIO, size: int, suffix: str, limit: int) -> tuple[bytes, int, tuple[str, ...]]:
    """Unpacks the first bytes of a file.

    Args:
        raw: A compressed file, at its beginning.
        size: How many bytes it has.
        suffix: That of its compression.
        limit: How many bytes to unpack at most.

    Returns:
        The bytes, an estimate of how many there are in all, and remarks.

    Raises:
        UnreadableTableError: It is damaged, or this Python cannot unpack it.
    """
    if suffix not in _OPENERS:
        raise UnreadableTableError("is compressed by zstd and was not read; unpack it with: zstd -d FILE")
    try:
        with cast("IO[bytes]", _OPENERS[suffix](raw)) as unpacked:
            content = unpacked.read(limit + 1)
    except (OSError, *_DAMAGE) as error:
        kind = {".gz": "gzip"}.get(suffix, suffix[1:])
        raise UnreadableTableError(f"cannot be unpacked: it is damaged, cut off, or not {kind}") from error
    if len(content) <= limit:
        return content, len(content), ()
    total = round(limit * max(1.0, size / max(1, raw.tell())))
    if suffix == ".gz":
        total = _said_size(raw, total)
    return content[:limit], total, ratio_remarks(total, size)


def ratio_remarks(unpacked_size: int, packed_size: int) -> tuple[str, ...]:
    """A remark if a file claims to become absurdly large, as those do that are made to fill up a disk."""
    if unpacked_size <= _ABSURD_RATIO * max(1, packed_size):
        return ()
    ratio = unpacked_size // max(1, packed_size)
    return (f"unpacks to {ratio:,} times its size; only its beginning was, so look at it before you unpack it",)


def _said_size(raw: BinaryIO, estimated: int) -> int:
    """The size that the end of a gzip file says, modulo 4 GB, unless it is that of the last of several parts."""
    raw.seek(-4, 2)
    said = int.from_bytes(raw.read(4), "little")
    said += max(0, round((estimated - said) / _GZIP_MODULUS)) * _GZIP_MODULUS
    return said if estimated / _PLAUSIBLE_FACTOR < said < estimated * _PLAUSIBLE_FACTOR else estimated


def _first_file(files: zipfile.ZipFile) -> str:
    for name in files.namelist():
        if not name.endswith("/") and not name.startswith(_NO_TABLES):
            return name
    raise EOFError("there is no file in it")
