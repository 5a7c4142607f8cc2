"""The files of a competition at Kaggle as the survey reads them: piece by piece, by range requests, within a budget."""

import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from generator.competition.survey.files import SurveyLimits
from generator.competition.tables.sample import SampleBounds
from generator.kaggle.errors import NotFoundError
from generator.kaggle.gateway import Kaggle
from generator.untrusted import printable

_BLOCK = 1 << 16
_MOST_AHEAD = 16  # blocks
_MEGABYTE = 1 << 20
_ZIP_MARK = b"PK\x03\x04"
# What stands before a member of a zip: signature, flags, method, packed size, lengths of its name and extra field.
_MEMBER = struct.Struct("<4s2xHH8xI4xHH")
_ENCRYPTED = 1
_ARE_ZIPS = (".zip", ".npz", ".pt", ".pth", ".xlsx", ".docx", ".keras", ".jar", ".whl")
_UNPACKED = 4 * _MEGABYTE  # as much of a table as is read of one on the disk
_LIMITS = SurveyLimits(
    table=SampleBounds(pieces=8, row_group=64 * _MEGABYTE),
    probes=24,
    probes_of_one=4,
    lone_folders=10,
    archive_listings=8 * _MEGABYTE,
)


@dataclass
class Budget:
    """The rest of what a survey may read over the network."""

    size: int = 96 * _MEGABYTE
    requests: int = 400

    def spend(self, size: int) -> None:
        """Counts one request for so many bytes.

        Raises:
            OSError: It is not covered; nothing is counted.
        """
        if size > self.size or not self.requests:
            raise OSError("enough was read over the network; `tandem data` downloads all of it")
        self.size -= size
        self.requests -= 1


@dataclass
class RemoteFiles:
    """Files behind short-lived addresses; nothing is requested before it is read, and nothing twice.

    Attributes:
        kaggle: Who has them.
        slug: The competition.
        sizes: How many bytes each file has, by its path, as Kaggle lists them.
        tell: Is told the path of each file that is looked at.
        budget: What may be read.
        limits: The limits of the survey's looks into them.
    """

    kaggle: Kaggle
    slug: str
    sizes: Mapping[str, int]
    tell: Callable[[str], None] = lambda _: None
    budget: Budget = field(default_factory=Budget)
    limits: SurveyLimits = _LIMITS
    _addresses: dict[str, str] = field(default_factory=dict)

    def size(self, path: str) -> int:
        """The bytes that a file has, as Kaggle lists it."""
        return self.sizes.get(path, 0)

    def opened(self, path: str) -> BinaryIO:
        """A file to read and to seek in; of one that Kaggle sends packed, the beginning of what is in it."""
        ranges = self._ranges(path)
        if not path.lower().endswith(_ARE_ZIPS) and ranges.read(len(_ZIP_MARK)) == _ZIP_MARK:
            ranges.seek(0)
            return io.BytesIO(_unwrapped(ranges))
        ranges.seek(0)
        return cast("BinaryIO", ranges)

    def head(self, path: str, length: int) -> bytes:
        """The first bytes of a file."""
        with self.opened(path) as file:
            return file.read(length)

    def fetch(self, path: str, start: int, length: int) -> bytes:
        """A piece of a file, by one request.

        Raises:
            OSError: It is not handed out, or the budget is spent.
            KaggleError: Kaggle cannot be asked.
        """
        self.budget.spend(length)
        try:
            if path not in self._addresses:
                self.tell(printable(path))
                self._addresses[path] = self.kaggle.competition_file_url(self.slug, path)
            return self.kaggle.read_range(self._addresses[path], start, length)
        except NotFoundError as error:
            raise OSError("Kaggle lists it, but does not hand it out") from error

    def _ranges(self, path: str) -> "_Ranges":
        ranges = _Ranges(self, path, self.size(path))
        if not ranges.total:
            # A listing without sizes: what fits into the first piece is taken for all there is.
            ranges.total = len(self.fetch(path, 0, _MEGABYTE))
        return ranges


@dataclass
class _Ranges(io.RawIOBase):
    """One file, to read and to seek in; the blocks that were fetched stay as long as it is used.

    Who reads on where the last request ended is likely to go on: each such request asks for twice as much.
    """

    files: RemoteFiles
    path: str
    total: int
    blocks: dict[int, bytes] = field(default_factory=dict)
    following: int = -1
    ahead: int = 1
    position: int = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read from any place."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to a place."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.total}[whence]
        self.position = max(0, start + offset)
        return self.position

    def tell(self) -> int:
        """Where it is."""
        return self.position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # typeshed's WriteableBuffer is private
        """Fills a buffer, as far as there are bytes."""
        end = min(self.position + len(buffer), self.total)
        if self.position >= end:
            return 0
        numbers = range(self.position // _BLOCK, (end - 1) // _BLOCK + 1)
        missing = [number for number in numbers if number not in self.blocks]
        if missing:
            self._fetch(missing[0], missing[-1])
        start = self.position - numbers[0] * _BLOCK
        content = b"".join(self.blocks.get(number, b"") for number in numbers)
        piece = content[start : start + end - self.position]
        buffer[: len(piece)] = piece
        self.position += len(piece)
        return len(piece)

    def _fetch(self, first: int, last: int) -> None:
        """Blocks that are at hand but stand between missing ones are fetched again: one request costs more."""
        self.ahead = min(2 * self.ahead, _MOST_AHEAD) if first == self.following else 1
        last = max(last, min(first + self.ahead - 1, (self.total - 1) // _BLOCK))
        self.following = last + 1
        # Whole blocks, whatever size is listed: that of an archive which is sent in its place is another.
        content = self.files.fetch(self.path, first * _BLOCK, (last + 1 - first) * _BLOCK)
        for number in range(first, last + 1):
            at = (number - first) * _BLOCK
            self.blocks[number] = content[at : at + _BLOCK]


def _unwrapped(ranges: _Ranges) -> bytes:
    """The beginning of what is in the zip that Kaggle sends in place of a large table.

    The archive's directory stands at its other end, and where that is nobody says; the member's own header says enough.

    Raises:
        OSError: It is damaged, encrypted, or packed by an unusual method.
    """
    ranges.total = sys.maxsize
    with cast("BinaryIO", io.BufferedReader(ranges, _BLOCK)) as file:
        header = file.read(_MEMBER.size)
        _, flags, method, packed, name_size, extra_size = _MEMBER.unpack(header.ljust(_MEMBER.size, b"\0"))
        if flags & _ENCRYPTED or method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise OSError("is encrypted, or packed by a method that is not deflate; download it first")
        file.read(name_size + extra_size)
        if method == zipfile.ZIP_STORED:
            return file.read(min(_UNPACKED, packed))
        decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        content = bytearray()
        try:
            # A size that is written behind the member is 0 here; the packed bytes say themselves where they end.
            while (
                len(content) < _UNPACKED and not decoder.eof and (block := decoder.unconsumed_tail or file.read(_BLOCK))
            ):
                content += decoder.decompress(block, _UNPACKED - len(content))
        except zlib.error as error:
            raise OSError("cannot be unpacked: the archive is damaged") from error
    return bytes(content)
