"""The directory of a zip archive, and the beginnings of its members.

The standard library makes an object of every member, which takes seconds where there are hundreds of thousands. Here
the directory stays the bytes that it is, and only the few members that are looked at are parsed.
The layout is that of PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3.
"""

import os
import struct
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

# Signature, flags, method, packed and unpacked size, lengths of name, extra field and comment, place of the member.
_ENTRY = struct.Struct("<4s4xHH8xIIHHH8xI")
_ENTRY_MARK, _MEMBER_MARK = b"PK\1\2", b"PK\3\4"
_END = struct.Struct("<4s8xIIH")
_END_MARK, _LARGE_END_MARK = b"PK\5\6", b"PK\6\6"
_LONGEST_COMMENT = 1 << 16
_MEMBER_SIZE = 30
_ENCRYPTED, _UTF_8 = 1 << 0, 1 << 11
_STORED, _DEFLATED = 0, 8
_IS_IN_EXTRA_FIELD, _LARGE_SIZES = 0xFFFFFFFF, 1
_BLOCK = 1 << 16


class DamagedArchiveError(Exception):
    """The bytes are not those of a zip archive."""


class PackedMemberError(Exception):
    """A member cannot be unpacked; `remark` is a predicate for the notes."""

    def __init__(self, remark: str) -> None:
        super().__init__(remark)
        self.remark = remark


@dataclass(frozen=True)
class Member:
    """One entry of the directory; sizes are in bytes and as the archive says them."""

    packed_size: int
    unpacked_size: int
    method: int
    is_encrypted: bool
    offset: int


@dataclass(frozen=True)
class ZipDirectory:
    """The directory of an archive that stays open.

    Attributes:
        file: The archive.
        content: The bytes of the directory.
        shift: Where the archive begins in the file.
        positions: Where in the directory the entry of each name begins.
    """

    file: BinaryIO
    content: bytes
    shift: int
    positions: Mapping[str, int]

    def member(self, name: str) -> Member:
        """The entry of this name."""
        start = self.positions[name]
        _, flags, method, packed, unpacked, name_size, extra_size, _, offset = _ENTRY.unpack_from(self.content, start)
        extra = start + _ENTRY.size + name_size
        sizes = iter(_large_sizes(self.content[extra : extra + extra_size]))
        unpacked, packed, offset = (
            next(sizes, said) if said == _IS_IN_EXTRA_FIELD else said for said in (unpacked, packed, offset)
        )
        return Member(packed, unpacked, method, bool(flags & _ENCRYPTED), self.shift + offset)

    def beginning(self, name: str, limit: int) -> bytes:
        """The first bytes of a member, at most `limit`.

        Raises:
            PackedMemberError: It is damaged, encrypted, or packed by an unusual method.
            OSError: The archive cannot be read.
        """
        member = self.member(name)
        if member.is_encrypted:
            raise PackedMemberError("is encrypted and was not read")
        if member.method not in (_STORED, _DEFLATED):
            raise PackedMemberError("is packed by a method that is not deflate; unpack the archive first")
        self.file.seek(member.offset)
        header = self.file.read(_MEMBER_SIZE)
        if len(header) < _MEMBER_SIZE or not header.startswith(_MEMBER_MARK):
            raise PackedMemberError("cannot be unpacked: the archive is damaged")
        self.file.seek(sum(struct.unpack_from("<HH", header, 26)), os.SEEK_CUR)
        if member.method == _STORED:
            return self.file.read(min(limit, member.packed_size))
        try:
            return _inflated(self.file, member.packed_size, limit)
        except zlib.error as error:
            raise PackedMemberError("cannot be unpacked: the archive is damaged") from error


def read_directory(file: BinaryIO, most: int) -> ZipDirectory | None:
    """Reads the directory of an archive.

    Args:
        file: The archive; it is read from as long as the directory is used.
        most: How many bytes the directory may have.

    Returns:
        The directory, or None if it is larger.

    Raises:
        DamagedArchiveError: It is not a zip archive, or it is cut off.
        OSError: It cannot be read.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END.size - _LONGEST_COMMENT))
    tail = file.read(_END.size + _LONGEST_COMMENT)
    end = tail.rfind(_END_MARK)
    if end < 0 or len(tail) < end + _END.size:
        raise DamagedArchiveError
    _, length, offset, _ = _END.unpack_from(tail, end)
    # An archive of more than 4 GB or 65,535 files has a longer record of the same right before this one.
    large_end = tail.rfind(_LARGE_END_MARK, 0, end)
    if large_end >= 0:
        length, offset = struct.unpack_from("<QQ", tail, large_end + 40)
        end = large_end
    if length > most:
        return None
    start = size - len(tail) + end - length
    if start < offset:
        raise DamagedArchiveError
    file.seek(start)
    content = file.read(length)
    return ZipDirectory(file=file, content=content, shift=start - offset, positions=_positions(content))


def _positions(content: bytes) -> dict[str, int]:
    positions: dict[str, int] = {}
    start = 0
    while start + _ENTRY.size <= len(content):
        mark, flags, _, _, _, name_size, extra_size, comment_size, _ = _ENTRY.unpack_from(content, start)
        if mark != _ENTRY_MARK:
            raise DamagedArchiveError
        name = content[start + _ENTRY.size : start + _ENTRY.size + name_size]
        positions[name.decode("utf-8" if flags & _UTF_8 else "cp437", "replace")] = start
        start += _ENTRY.size + name_size + extra_size + comment_size
    return positions


def _large_sizes(extra: bytes) -> tuple[int, ...]:
    """The numbers that did not fit into the entry itself, in its order."""
    start = 0
    while start + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, start)
        if kind == _LARGE_SIZES:
            numbers = min(size, len(extra) - start - 4) // 8
            return struct.unpack_from(f"<{numbers}Q", extra, start + 4)
        start += 4 + size
    return ()


def _inflated(file: BinaryIO, packed_size: int, limit: int) -> bytes:
    decoder = zlib.decompressobj(-zlib.MAX_WBITS)
    content = bytearray()
    left = packed_size
    while len(content) < limit and not decoder.eof:
        block = decoder.unconsumed_tail or file.read(min(_BLOCK, left))
        left -= 0 if decoder.unconsumed_tail else len(block)
        if not block:
            break
        content += decoder.decompress(block, limit - len(content))
    return bytes(content)


def beginning_of_first(file: BinaryIO, limit: int) -> bytes:
    """The first bytes of an archive's first member, without its directory, which stands at the other end.

    Args:
        file: The archive, at its beginning.
        limit: How many bytes to unpack at most.

    Raises:
        PackedMemberError: It is damaged, encrypted, or packed by an unusual method.
        OSError: The archive cannot be read.
    """
    header = file.read(_MEMBER_SIZE)
    if len(header) < _MEMBER_SIZE or not header.startswith(_MEMBER_MARK):
        raise PackedMemberError("cannot be unpacked: the archive is damaged")
    flags, method, packed, name_size, extra_size = struct.unpack_from("<HH8xI4xHH", header, 6)
    if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED):
        raise PackedMemberError("is encrypted, or packed by a method that is not deflate; download it first")
    file.read(name_size + extra_size)
    if method == _STORED:
        return file.read(min(limit, packed))
    try:
        # A size that is written behind the member is 0 here; the packed bytes say themselves where they end.
        return _inflated(file, packed or sys.maxsize, limit)
    except zlib.error as error:
        raise PackedMemberError("cannot be unpacked: the archive is damaged") from error
