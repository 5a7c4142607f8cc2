"""The sources of files: a folder on the disk or at Kaggle, or a zip archive, which is read without being unpacked."""

import io
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from generator.competition.survey.bounds import MOST_FOLDERS
from generator.competition.survey.files import Files
from generator.competition.survey.listing import Directory, suffix_of
from generator.competition.tables.compression import beginning, ratio_remarks
from generator.competition.tables.errors import UnreadableTableError
from generator.competition.tables.formats import FORMATS, PACKED, STREAMS, TableFormat
from generator.competition.tables.sample import evenly_drawn
from generator.files import reason_not_read
from generator.untrusted import printable

# A file's header is in its first bytes, but photographs may begin with a preview of 64 KB and more.
_HEAD = 1 << 18
_MOST_ARCHIVES = 20
_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What the standard library stumbles over in damaged archives.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    ValueError,
    OverflowError,
    LookupError,
    struct.error,
)


@dataclass(frozen=True)
class TableFile:
    """A table that can be read.

    Attributes:
        file: Its uncompressed bytes, or the first of them, to read and to seek in.
        suffix: Of its name without that of the compression.
        total: How many uncompressed bytes there are; estimated where only the first are at hand.
        compression: "" or what pandas calls it.
        remarks: Predicates for the notes.
    """

    file: BinaryIO
    suffix: str
    total: int
    compression: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mounted:
    """The competition's folder, as it is mounted.

    Attributes:
        files: The competition's files.
        directories: Its folders; their paths are relative to the competition's folder.
    """

    files: Files
    directories: tuple[Directory, ...]

    def table_file(self, path: str, limit: int) -> TableFile:
        """Opens a table; of what is compressed, at most `limit` bytes are unpacked.

        Raises:
            UnreadableTableError: It is damaged.
            OSError: It cannot be read.
        """
        suffix, size, file = suffix_of(path), self.files.size(path), self.files.opened(path)
        if suffix not in PACKED:
            # A listing may lack the size, and of what Kaggle sends packed only the beginning is at hand.
            size = max(size, file.seek(0, io.SEEK_END))
            return TableFile(file, suffix, total=size)
        with file:
            content, total, remarks = beginning(file, size, suffix, limit)
        inner = suffix_of(path[: -len(suffix)])
        return TableFile(io.BytesIO(content), inner, total, STREAMS[suffix], remarks)

    def head(self, directory: Directory, name: str) -> Path | bytes | None:
        """The path of a file, or its first bytes where it has none; None if it cannot be read."""
        try:
            return self.files.head(directory.path_of(name), _HEAD)
        except OSError:
            return None


@dataclass(frozen=True)
class Archive:
    """A zip archive, which must stay open as long as it is read from."""

    path: str
    packed: zipfile.ZipFile
    directories: tuple[Directory, ...]

    def table_file(self, path: str, limit: int) -> TableFile:
        """Opens a table, of which at most `limit` bytes are unpacked.

        Raises:
            UnreadableTableError: It is damaged, encrypted, or packed in a way that is not read.
            OSError: It cannot be read.
        """
        suffix = suffix_of(path)
        if suffix in PACKED:
            raise UnreadableTableError("is compressed twice; unpack the archive first")
        if FORMATS.get(suffix) is TableFormat.PARQUET:
            raise UnreadableTableError("is a parquet file in an archive; unpack the archive first")
        member, content = self._beginning(path, limit)
        is_cut = len(content) == limit < member.file_size
        return TableFile(
            file=io.BytesIO(content),
            suffix=suffix,
            total=member.file_size if is_cut else len(content),
            compression="zip",
            remarks=ratio_remarks(member.file_size, member.compress_size) if is_cut else (),
        )

    def head(self, directory: Directory, name: str) -> bytes | None:
        """The first bytes of a file; None if it cannot be read."""
        try:
            return self._beginning(directory.path_of(name), _HEAD)[1]
        except (UnreadableTableError, OSError):
            return None

    def _beginning(self, path: str, limit: int) -> tuple[zipfile.ZipInfo, bytes]:
        member = self.packed.getinfo(path.removeprefix(f"{self.path}/"))
        if member.flag_bits & _ENCRYPTED:
            raise UnreadableTableError("is encrypted and was not read")
        if member.compress_type not in _METHODS:
            raise UnreadableTableError("is packed by a method that is not deflate; unpack the archive first")
        try:
            with self.packed.open(member) as file:
                return member, file.read(limit)
        except _DAMAGE as error:
            raise UnreadableTableError("cannot be unpacked: the archive is damaged") from error


FileSource = Mounted | Archive


def open_archives(stack: ExitStack, files: Files, paths: Sequence[str]) -> tuple[tuple[Archive, ...], tuple[str, ...]]:
    """Opens zip archives.

    Args:
        stack: Closes them.
        files: The competition's files.
        paths: The archives among them.

    Returns:
        Those that can be read, and notes.
    """
    archives, notes, left = [], [], files.limits.archive_listings
    if len(paths) > _MOST_ARCHIVES:
        notes.append(f"Of {len(paths):,} zip archives, {_MOST_ARCHIVES} were looked at; unpack them first.")
    for path in paths[:_MOST_ARCHIVES]:
        shown = printable(path)
        try:
            file = stack.enter_context(files.opened(path))
            size = _directory_size(file)
            if size > left:
                notes.append(f"{shown} has too many files in it to be looked at before it is unpacked.")
                continue
            packed = stack.enter_context(zipfile.ZipFile(file))
        except _DAMAGE:
            notes.append(f"{shown} is not a zip archive, or it is damaged or cut off.")
            continue
        except OSError as error:
            notes.append(f"{shown} cannot be read: {reason_not_read(error)}.")
            continue
        left -= size
        directories, remarks = _directories(path, packed)
        archives.append(Archive(path=path, packed=packed, directories=directories))
        notes += (f"{shown} {remark}." for remark in remarks)
    return tuple(archives), tuple(notes)


def _directory_size(file: BinaryIO) -> int:
    """The size of an archive's directory in bytes, as it says itself; `zipfile` makes an object of each member."""
    standard: Any = zipfile  # it has no public way to ask for that before it reads all of it
    end = standard._EndRecData(file)  # noqa: SLF001 - see above
    if end is None:
        raise zipfile.BadZipFile
    size: int = end[standard._ECD_SIZE]  # noqa: SLF001 - see above
    return size


def _directories(path: str, packed: zipfile.ZipFile) -> tuple[tuple[Directory, ...], list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    leads_out = False
    for member in packed.namelist():
        folder, _, name = member.rpartition("/")
        if ".." in folder.split("/") or member.startswith("/"):
            leads_out = True
        elif name and not name.startswith(".") and not folder.startswith("__MACOSX"):
            names[f"{path}/{folder}" if folder else path].append(name)
    drawn = evenly_drawn(sorted(names), MOST_FOLDERS)
    remarks = ["has members that would be unpacked outside of their folder"] if leads_out else []
    if len(drawn) < len(names):
        remarks.append(f"has {len(names):,} folders in it, of which {len(drawn):,} were looked at")
    return tuple(Directory(path=folder, names=tuple(sorted(names[folder]))) for folder in drawn), remarks
