"""Where files are: in a folder on the disk, or in a zip archive, which is read without being unpacked."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

from generator.competition.survey.bounds import MOST_FOLDERS, evenly_drawn
from generator.competition.survey.errors import why
from generator.competition.survey.files import Files
from generator.competition.survey.listing import Directory, suffix_of
from generator.competition.survey.packed import COMPRESSIONS, ratio_remarks, unpacked
from generator.competition.survey.sample import UnreadableTableError
from generator.competition.survey.sources import ByteSource, Unpacked
from generator.competition.survey.zip_directory import (
    DamagedArchiveError,
    PackedMemberError,
    ZipDirectory,
    read_directory,
)
from generator.untrusted import printable

# A file's header is in its first bytes, but photographs may begin with a preview of 64 KB and more.
_HEAD = 1 << 18
_MOST_ARCHIVES = 20


@dataclass(frozen=True)
class TableFile:
    """A table that can be read.

    Attributes:
        source: Its uncompressed bytes.
        suffix: Of its name without that of the compression.
        size: Bytes as stored.
        compression: "" or what pandas calls it.
        remarks: Predicates for the notes.
        opened: Opens it to read and to seek in, None for a member of an archive.
    """

    source: ByteSource
    suffix: str
    size: int
    compression: str = ""
    remarks: tuple[str, ...] = ()
    opened: Callable[[], BinaryIO] | None = None


class Place(Protocol):
    """Something with files in it."""

    @property
    def directories(self) -> tuple[Directory, ...]:
        """Its folders; their paths are relative to the competition's folder."""

    @property
    def is_archive(self) -> bool:
        """Whether it has to be unpacked before a notebook can read it."""

    def table_file(self, path: str, limit: int) -> TableFile:
        """Opens a table; of what is compressed, at most `limit` bytes are unpacked.

        Raises:
            UnreadableTableError: It is damaged or encrypted.
            OSError: It cannot be read.
        """

    def opened(self, directory: Directory, name: str) -> Path | bytes | None:
        """The path of a file, or its first bytes where it has none; None if it cannot be read."""


@dataclass(frozen=True)
class Mounted:
    """The competition's folder, as it is mounted."""

    files: Files
    directories: tuple[Directory, ...]
    is_archive: bool = False

    def table_file(self, path: str, limit: int) -> TableFile:
        """Opens a table, see `Place`."""
        suffix = suffix_of(path)
        if suffix not in COMPRESSIONS:
            stored = self.files.source(path)
            return TableFile(source=stored, suffix=suffix, size=stored.total, opened=partial(self.files.opened, path))
        size = self.files.size(path)
        with self.files.opened(path) as file:
            content, remarks = unpacked(file, size, COMPRESSIONS[suffix], limit)
        return TableFile(
            source=content,
            suffix=suffix_of(path[: -len(suffix)]),
            size=size,
            compression=COMPRESSIONS[suffix],
            remarks=remarks,
        )

    def opened(self, directory: Directory, name: str) -> Path | bytes | None:
        """The path of a file, or its first bytes."""
        try:
            return self.files.head(directory.path_of(name), _HEAD)
        except OSError:
            return None


@dataclass(frozen=True)
class Archive:
    """A zip archive, which must stay open as long as it is read from."""

    path: str
    listing: ZipDirectory
    directories: tuple[Directory, ...]
    is_archive: bool = True

    def table_file(self, path: str, limit: int) -> TableFile:
        """Opens a table, see `Place`."""
        name = path.removeprefix(f"{self.path}/")
        member, suffix = self.listing.member(name), suffix_of(name)
        if suffix in COMPRESSIONS:
            raise UnreadableTableError("is compressed twice; unpack the archive first")
        try:
            content = self.listing.beginning(name, limit)
        except PackedMemberError as error:
            raise UnreadableTableError(error.remark) from error
        is_cut = len(content) == limit < member.unpacked_size
        return TableFile(
            source=Unpacked(content, total=member.unpacked_size if is_cut else len(content)),
            suffix=suffix,
            size=member.packed_size,
            compression="zip",
            remarks=ratio_remarks(member.unpacked_size, member.packed_size) if is_cut else (),
        )

    def opened(self, directory: Directory, name: str) -> bytes | None:
        """The first bytes of a file."""
        try:
            return self.listing.beginning(directory.path_of(name).removeprefix(f"{self.path}/"), _HEAD)
        except (PackedMemberError, OSError):
            return None


def open_archives(stack: ExitStack, files: Files, paths: Sequence[str]) -> tuple[tuple[Archive, ...], tuple[str, ...]]:
    """Opens zip archives.

    Args:
        stack: Closes them.
        files: The competition's files.
        paths: The archives among them.

    Returns:
        Those that can be read, and notes.
    """
    archives, notes, left = [], [], files.reach.archive_listings
    if len(paths) > _MOST_ARCHIVES:
        notes.append(f"Of {len(paths):,} zip archives, {_MOST_ARCHIVES} were looked at; unpack them first.")
    for path in paths[:_MOST_ARCHIVES]:
        shown = printable(path)
        try:
            listing = read_directory(stack.enter_context(files.opened(path)), left)
        except DamagedArchiveError:
            notes.append(f"{shown} is not a zip archive, or it is damaged or cut off.")
            continue
        except OSError as error:
            notes.append(f"{shown} cannot be read: {why(error)}.")
            continue
        if listing is None:
            notes.append(f"{shown} has too many files in it to be looked at before it is unpacked.")
            continue
        left -= len(listing.content)
        directories, remarks = _directories(path, listing)
        archives.append(Archive(path=path, listing=listing, directories=directories))
        notes += (f"{shown} {remark}." for remark in remarks)
    return tuple(archives), tuple(notes)


def _directories(path: str, listing: ZipDirectory) -> tuple[tuple[Directory, ...], list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    leads_out = False
    for member in listing.positions:
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
