"""Small files compressed by LZMA that want their readers to set 3 GB of memory aside."""

import io
import lzma
import struct
import zipfile
import zlib

_BLOCK = 12  # where the header of the first block of an .xz begins
_THREE_GB = 39


def greedy_xz(content: bytes) -> bytes:
    """An .xz of this content."""
    made = bytearray(lzma.compress(content, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}]))
    end = _BLOCK + made[_BLOCK] * 4
    made[made.index(b"\x21\x01", _BLOCK) + 2] = _THREE_GB  # behind the number of the filter and the length of this
    made[end : end + 4] = struct.pack("<L", zlib.crc32(made[_BLOCK:end]))
    return bytes(made)


def greedy_zip(name: str, content: bytes) -> bytes:
    """A zip with a file of this content."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_LZMA) as packed:
        packed.writestr(name, content)
    properties = 30 + len(name) + 4  # behind the header of the file and the version of LZMA
    return made.getvalue()[: properties + 1] + struct.pack("<L", 3 << 30) + made.getvalue()[properties + 5 :]
