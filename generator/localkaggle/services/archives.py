"""Archives of files: packed for downloads, and unpacked from uploads without trusting them."""

import bz2
import gzip
import lzma
import os
import shutil
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import IO, Any, cast

from generator.localkaggle.services.bundle_names import BundleRefusedError, checked_name

_CHUNK = 1 << 20
_Entries = Generator[tuple[str, IO[bytes]], None, None]
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".tar": FileIO,
    ".tar.gz": gzip.GzipFile,
    ".tgz": gzip.GzipFile,
    ".tar.bz2": bz2.BZ2File,
    ".tar.xz": lzma.LZMAFile,
}
_SUFFIXES = (".zip", *_OPENERS)
_NOT_AN_ARCHIVE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,  # a way of compressing that the standard library does not know
    RuntimeError,  # a password
    ValueError,
    gzip.BadGzipFile,
)


@dataclass(frozen=True)
class Room:
    """How much an archive may become: bytes and files, and how many bytes of the disk stay free."""

    size: int = 20 << 30
    files: int = 50_000
    spare: int = 1 << 30


def stem_of_archive(name: str) -> str | None:
    """The name without the suffix of an archive that Kaggle unpacks, or None if it has no such suffix."""
    last = name.rpartition("/")[2].lower()
    for suffix in _SUFFIXES:
        if last.endswith(suffix) and last != suffix:
            return name[: -len(suffix)]
    return None


def unpack(archive: Path, name: str, folder: Path, room: Room) -> bool:
    """Unpacks an archive into a folder of its own, which is not there yet.

    Args:
        archive: The file.
        name: What the client called it; its suffix says which kind of archive it is.
        folder: Where its files are to go.
        room: How much it may become.

    Returns:
        Whether it was an archive; if not, the folder is not there.

    Raises:
        BundleRefusedError: It holds names that lead elsewhere, links, devices, or more than there is room for.
    """
    entries = _zip_entries if name.lower().endswith(".zip") else _tar_entries
    try:
        folder.mkdir(parents=True)
        _write_entries(entries(archive, name, room), folder, _Budget(name, room, folder))
    except _NOT_AN_ARCHIVE:
        shutil.rmtree(folder)
        return False
    return True


@dataclass(frozen=True)
class Member:
    """A file to be packed: its name in the archive, where it is, and the date that it gets there."""

    name: str
    path: Path
    moment: datetime


def pack_zip(members: Iterable[Member], target: Path, *, compression: int = zipfile.ZIP_STORED) -> None:
    """Writes files into a zip; the name appears when it is whole."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", compression) as packed:
            for member in members:
                entry = zipfile.ZipInfo(member.name, date_time=member.moment.timetuple()[:6])
                entry.compress_type = compression
                entry.external_attr = 0o644 << 16
                entry.file_size = member.path.stat().st_size
                with member.path.open("rb") as source, packed.open(entry, "w") as sink:
                    shutil.copyfileobj(source, sink, _CHUNK)

    _whole(target, write)


def pack_tar_gz(members: Iterable[Member], target: Path) -> None:
    """Writes files into a tar, lightly compressed; the name appears when it is whole."""

    def write(path: Path) -> None:
        with (
            path.open("wb") as raw,
            gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as pressed,
            tarfile.open(fileobj=pressed, mode="w") as packed,
        ):
            for member in members:
                entry = tarfile.TarInfo(member.name)
                entry.size, entry.mtime = member.path.stat().st_size, int(member.moment.timestamp())
                with member.path.open("rb") as source:
                    packed.addfile(entry, source)

    _whole(target, write)


def _whole(target: Path, write: Callable[[Path], None]) -> None:
    part = target.with_name(f".{target.name}.{threading.get_ident()}.part")
    try:
        write(part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


class _Budget:
    """Counts what comes out of an archive, whatever its headers promise."""

    def __init__(self, name: str, room: Room, folder: Path) -> None:
        self._name = name
        self._files = room.files
        self._bytes = min(room.size, shutil.disk_usage(folder).free - room.spare)

    def take_file(self) -> None:
        self._files -= 1
        if self._files < 0:
            raise BundleRefusedError(name=self._name, why="holds more files than a version may have; use fewer")

    def take_bytes(self, count: int) -> None:
        self._bytes -= count
        if self._bytes < 0:
            raise BundleRefusedError(name=self._name, why="becomes larger than there is room for; make it smaller")


def _write_entries(entries: _Entries, folder: Path, budget: _Budget) -> None:
    with closing(entries):
        for name, stream in entries:
            budget.take_file()
            path = folder / checked_name(name)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                sink = path.open("xb")
            except (FileExistsError, NotADirectoryError) as error:
                raise BundleRefusedError(name=name, why="is in the archive twice; pack it again") from error
            with sink, stream:
                while chunk := stream.read(_CHUNK):
                    budget.take_bytes(len(chunk))
                    sink.write(chunk)


def _zip_entries(archive: Path, _name: str, _room: Room) -> _Entries:
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            if not entry.is_dir():
                yield entry.filename, packed.open(entry)


def _tar_entries(archive: Path, name: str, room: Room) -> _Entries:
    opener = next(_OPENERS[suffix] for suffix in _OPENERS if name.lower().endswith(suffix))
    with opener(archive) as stream:
        # It has all that tarfile asks of a file.
        bounded = cast("IO[bytes]", _Bounded(stream, name, room))
        with tarfile.open(fileobj=bounded, mode="r:") as packed:
            yield from _members(packed)


def _members(packed: tarfile.TarFile) -> _Entries:
    for member in packed:
        if member.isdir():
            continue
        content = packed.extractfile(member) if member.isreg() else None
        if content is None:
            raise BundleRefusedError(name=member.name, why="is a link or a device; pack plain files only")
        yield member.name.removeprefix("./"), content
        # Documented as the way to read a tar of many small files without keeping all their headers.
        packed.members = []  # type: ignore[attr-defined]  # typeshed does not know the attribute


class _Bounded:
    """A file of which nobody can ask for much at once, nor read on without end.

    `tarfile` reads long names and extended headers in one piece, however long a hostile header says they are.
    """

    def __init__(self, stream: IO[bytes], name: str, room: Room) -> None:
        self._stream = stream
        self._name = name
        self._end = room.size + room.files * 10_240  # the files, and what a tar puts around each

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _CHUNK:
            raise BundleRefusedError(name=self._name, why="has a header that is far too long; pack it again")
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if offset > self._end:
            raise BundleRefusedError(name=self._name, why="becomes larger than there is room for; make it smaller")
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()
