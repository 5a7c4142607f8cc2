"""Tar archives with bounded headers: what packed them says itself how much their readers have to read in one piece."""

import os
import tarfile
from collections.abc import Callable, Iterator
from typing import IO, cast

_LONGEST_HEADER = 1 << 20  # of all that a tar says of one file
_CHUNK = 1 << 20

HEADER_TOO_LONG = "has a header that is far too long; pack it again"
TOO_LARGE = "becomes larger than there is room for; make it smaller"
TOO_MANY = "holds more files than a version may have; use fewer"


class _Bounded:
    """A tar of whose headers nobody can read much, nor read on without end.

    `tarfile` reads long names and extended headers in one piece, however long a hostile header says they are, and maps
    of sparse files to an end that may never come. While `header_left` is None, what is read is no header.
    """

    def __init__(self, stream: IO[bytes], end: int, refusal: Callable[[str], Exception]) -> None:
        self._stream, self._end, self._refusal = stream, end, refusal
        self.header_left: int | None = _LONGEST_HEADER

    def read(self, size: int = -1) -> bytes:
        if self.header_left is not None:
            self.header_left -= size
        if not 0 <= size <= _CHUNK or (self.header_left is not None and self.header_left < 0):
            raise self._refusal(HEADER_TOO_LONG)
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if offset > self._end:
            raise self._refusal(TOO_LARGE)
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


def tar_members(
    stream: IO[bytes], *, most_files: int, most_bytes: int, refusal: Callable[[str], Exception]
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Yields the members of a tar with their content, where they are ordinary files; folders as well.

    Args:
        stream: The tar, unpacked if it was compressed.
        most_files: How many files it may have; it may have as many folders.
        most_bytes: How many bytes they may have together.
        refusal: Makes the error of the words for what is wrong.

    Raises:
        tarfile.TarError: It is damaged.
    """
    # The files, and what a tar puts around each.
    bounded = _Bounded(stream, most_bytes + most_files * 10_240, refusal)
    # It has all that tarfile asks of a file.
    with tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r:") as packed:
        for count, member in enumerate(packed):
            # Folders alone could come without end: a million of them fit in 13 KB.
            if count >= 2 * most_files:
                raise refusal(TOO_MANY)
            # Older versions of Python go back by it, to read the same header for ever.
            if member.size < 0:
                raise tarfile.ReadError("a member has less than no bytes")
            bounded.header_left = None
            yield member, packed.extractfile(member) if member.isreg() else None
            bounded.header_left = _LONGEST_HEADER
            # Nothing of a header is needed later, and a tar may have any number of them.
            packed.members = []  # type: ignore[attr-defined]  # typeshed does not know the attribute
            packed.pax_headers = {}
