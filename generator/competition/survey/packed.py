"""The first bytes of compressed files, however large they claim to be."""

import bz2
import gzip
import lzma
import zlib
from typing import BinaryIO

from generator.competition.bounded_lzma import MOST_MEMORY
from generator.competition.survey.sample import UnreadableTableError
from generator.competition.survey.sources import Unpacked

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}  # as pandas calls them
_BLOCK = 1 << 16
_ABSURD_RATIO = 200
_GZIP_MODULUS, _PLAUSIBLE_FACTOR = 1 << 32, 4


def unpacked(raw: BinaryIO, size: int, compression: str, limit: int) -> tuple[Unpacked, tuple[str, ...]]:
    """Unpacks the beginning of a file.

    Args:
        raw: A compressed file, at its beginning.
        size: How many bytes it has.
        compression: One of the values of `COMPRESSIONS`.
        limit: How many bytes to unpack at most.

    Returns:
        The bytes, with an estimate of how many there are in all, and remarks.

    Raises:
        UnreadableTableError: It is damaged, or this Python cannot unpack it.
    """
    if compression == "zstd":
        raise UnreadableTableError("is compressed by zstd and was not read; unpack it with: zstd -d FILE")
    try:
        content = _read_gzip(raw, limit + 1) if compression == "gzip" else _read_stream(raw, compression, limit + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise UnreadableTableError(f"cannot be unpacked: it is damaged, cut off, or not {compression}") from error
    consumed = raw.tell()
    if len(content) <= limit:
        return Unpacked(content, total=len(content)), ()
    total = round(limit * max(1.0, size / max(1, consumed)))
    if compression == "gzip":
        total = _said_size(raw, total)
    return Unpacked(content[:limit], total=total), ratio_remarks(total, size)


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


def _read_gzip(raw: BinaryIO, limit: int) -> bytes:
    pieces, missing = [], limit
    with gzip.GzipFile(fileobj=raw) as stream:
        while missing > 0 and (piece := stream.read(min(missing, 1 << 20))):
            pieces.append(piece)
            missing -= len(piece)
    return b"".join(pieces)


def _read_stream(raw: BinaryIO, compression: str, limit: int) -> bytes:
    decoder: bz2.BZ2Decompressor | lzma.LZMADecompressor = (
        bz2.BZ2Decompressor() if compression == "bz2" else lzma.LZMADecompressor(memlimit=MOST_MEMORY)
    )
    content = bytearray()
    while len(content) < limit and not decoder.eof:
        block = raw.read(_BLOCK) if decoder.needs_input else b""
        if decoder.needs_input and not block:
            raise EOFError
        content += decoder.decompress(block, limit - len(content))
    return bytes(content)
