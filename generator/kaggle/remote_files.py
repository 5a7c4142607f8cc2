"""The files of a competition at Kaggle as the survey reads them: piece by piece, by range requests, within a budget."""

import io
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from generator.competition.survey.files import Reach
from generator.competition.survey.sources import ByteSource, Unpacked
from generator.competition.survey.zip_directory import PackedMemberError, beginning_of_first
from generator.kaggle.errors import NotFoundError
from generator.kaggle.gateway import Kaggle
from generator.untrusted import printable

_BLOCK = 1 << 16
_MOST_AHEAD = 16  # blocks
_MEGABYTE = 1 << 20
_ZIP_MARK = b"PK\x03\x04"
_ARE_ZIPS = (".zip", ".npz", ".pt", ".pth", ".xlsx", ".docx", ".keras", ".jar", ".whl")
_UNPACKED = 4 * _MEGABYTE  # as much of a table as is read of one on the disk
_REACH = Reach(
    pieces=8,
    probes=24,
    probes_of_one=4,
    lone_folders=10,
    archive_listings=8 * _MEGABYTE,
    row_group=64 * _MEGABYTE,
)

Tell = Callable[[str], None]


class NetworkBudgetError(OSError):
    """So much was read already that the rest is left for `tandem data`."""

    def __init__(self) -> None:
        super().__init__("enough was read over the network; `tandem data` downloads all of it")


class NotServedError(OSError):
    """Kaggle lists a file that it does not hand out."""

    def __init__(self) -> None:
        super().__init__("Kaggle lists it, but does not hand it out")


@dataclass
class Budget:
    """What a survey may still read over the network."""

    size: int = 96 * _MEGABYTE
    requests: int = 400

    def spend(self, size: int) -> None:
        """Counts one request for so many bytes.

        Raises:
            NetworkBudgetError: It is not covered; nothing is counted.
        """
        if size > self.size or not self.requests:
            raise NetworkBudgetError
        self.size -= size
        self.requests -= 1


def _tell_nobody(_: str) -> None:
    pass


@dataclass
class RemoteFiles:
    """Files behind short-lived addresses; nothing is requested before it is read, and nothing twice.

    Attributes:
        kaggle: Who has them.
        slug: The competition.
        sizes: How many bytes each file has, by its path, as Kaggle lists them.
        tell: Is told the path of each file that is looked at.
        budget: What may be read.
        reach: How far the survey may reach into them.
    """

    kaggle: Kaggle
    slug: str
    sizes: Mapping[str, int]
    tell: Tell = _tell_nobody
    budget: Budget = field(default_factory=Budget)
    reach: Reach = _REACH
    _addresses: dict[str, str] = field(default_factory=dict)

    def size(self, path: str) -> int:
        """How many bytes a file has, as Kaggle lists it."""
        return self.sizes.get(path, 0)

    def opened(self, path: str) -> BinaryIO:
        """A file to read and to seek in."""
        ranges = self._ranges(path)
        packed = _unwrapped(path, ranges)
        if packed is not None:
            return io.BytesIO(packed.content)
        return cast("BinaryIO", io.BufferedReader(_Seekable(ranges), _BLOCK))

    def source(self, path: str) -> ByteSource:
        """A file to read pieces from."""
        ranges = self._ranges(path)
        return _unwrapped(path, ranges) or ranges

    def head(self, path: str, length: int) -> bytes:
        """The first bytes of a file."""
        return self.source(path).read(0, length)

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
            raise NotServedError from error

    def _ranges(self, path: str) -> "_Ranges":
        ranges = _Ranges(self, path, self.size(path))
        if not ranges.total:
            # A listing without sizes: what fits into the first piece is taken for all there is.
            ranges.total = len(self.fetch(path, 0, _MEGABYTE))
        return ranges


@dataclass
class _Ranges:
    """One file; the blocks that were fetched stay as long as it is used.

    Who reads on where the last request ended is likely to go on: each such request asks for twice as much.
    """

    files: RemoteFiles
    path: str
    total: int
    blocks: dict[int, bytes] = field(default_factory=dict)
    following: int = -1
    ahead: int = 1

    @property
    def available(self) -> int:
        """All of it."""
        return self.total

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset` on."""
        end = min(offset + length, self.total)
        if offset >= end:
            return b""
        numbers = range(offset // _BLOCK, (end - 1) // _BLOCK + 1)
        missing = [number for number in numbers if number not in self.blocks]
        if missing:
            self._fetch(missing[0], missing[-1])
        start = offset - numbers[0] * _BLOCK
        return b"".join(self.blocks.get(number, b"") for number in numbers)[start : start + end - offset]

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


class _Seekable(io.RawIOBase):
    """One file as Python's readers want it."""

    def __init__(self, ranges: _Ranges) -> None:
        super().__init__()
        self._ranges = ranges
        self._position = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read from any place."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to a place."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._ranges.total}[whence]
        self._position = max(0, start + offset)
        return self._position

    def tell(self) -> int:
        """Where it is."""
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # typeshed's WriteableBuffer is private
        """Fills a buffer, as far as there are bytes."""
        piece = self._ranges.read(self._position, len(buffer))
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)


def _unwrapped(path: str, ranges: _Ranges) -> Unpacked | None:
    """What is in the zip that Kaggle sends in place of a large table; None if it sends the file itself."""
    if path.lower().endswith(_ARE_ZIPS) or ranges.read(0, len(_ZIP_MARK)) != _ZIP_MARK:
        return None
    sent = _Ranges(ranges.files, path, sys.maxsize, ranges.blocks)
    try:
        with cast("BinaryIO", io.BufferedReader(_Seekable(sent), _BLOCK)) as file:
            content = beginning_of_first(file, _UNPACKED)
    except PackedMemberError as error:
        raise OSError(error.remark) from error
    is_cut = len(content) == _UNPACKED
    return Unpacked(content, total=max(len(content), ranges.total) if is_cut else len(content))
