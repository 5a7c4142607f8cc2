"""Archives of files: packed for downloads, and unpacked from uploads without trusting them."""

import bz2
import errno
import gzip
import lzma
import os
import shutil
import stat
import struct
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import IO, Any

from generator.competition.bounded_lzma import XzFile, require_no_lzma
from generator.competition.bounded_tar import TOO_MANY, tar_members
from generator.localkaggle.file_names import InvalidFileError, ListedFile, checked_name
from generator.localkaggle.rpc import ApiError
from generator.localkaggle.services.free_space import has_room

_CHUNK = 1 << 20
_DIRECTORY_ENTRY = 300  # what a zip says of one file, with a name of usual length
_LINK = "is a link or a device; pack plain files only"
_Entries = Generator[tuple[str, IO[bytes]], None, None]
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".tar": FileIO,
    ".tar.gz": gzip.GzipFile,
    ".tgz": gzip.GzipFile,
    ".tar.bz2": bz2.BZ2File,
    ".tar.xz": XzFile,
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
    LookupError,  # what the standard library stumbles over in damaged headers
    OverflowError,
    struct.error,
)


@dataclass(frozen=True)
class ExtractionLimits:
    """The most bytes and files that an archive may become, and the bytes of the disk that stay free."""

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


def unpack(archive: Path, name: str, folder: Path, limits: ExtractionLimits) -> bool:
    """Unpacks an archive into a folder of its own, which is not there yet.

    Args:
        archive: The file.
        name: What the client called it; its suffix says which kind of archive it is.
        folder: Where its files are to go.
        limits: How much it may become.

    Returns:
        Whether it was an archive; if not, the folder is not there.

    Raises:
        InvalidFileError: It holds names that lead elsewhere, links, devices, sparse files, or more than there is
            room for.
    """
    entries = _zip_entries if name.lower().endswith(".zip") else _tar_entries
    try:
        folder.mkdir(parents=True)
        _write_entries(entries(archive, name, limits), folder, Budget(name, limits, folder))
    except (*_NOT_AN_ARCHIVE, OSError) as error:
        # Damaged streams, and offsets that lead nowhere, are errors of the system too; a full disk is another one.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        shutil.rmtree(folder)
        return False
    return True


def pack_zip(files: Iterable[ListedFile], target: Path, *, compression: int = zipfile.ZIP_STORED) -> None:
    """Writes files into a zip; the name appears when it is whole."""
    with _whole(target) as part, zipfile.ZipFile(part, "w", compression) as packed:
        for file in files:
            entry = zipfile.ZipInfo(file.name, date_time=file.written.timetuple()[:6])
            entry.compress_type = compression
            entry.external_attr = 0o644 << 16
            with file.open() as source:
                entry.file_size = os.fstat(source.fileno()).st_size
                _require_room(target.parent, entry.file_size)
                with packed.open(entry, "w") as sink:
                    shutil.copyfileobj(source, sink, _CHUNK)


def pack_tar_gz(files: Iterable[ListedFile], target: Path) -> None:
    """Writes files into a tar, lightly compressed; the name appears when it is whole."""
    with (
        _whole(target) as part,
        part.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as pressed,
        tarfile.open(fileobj=pressed, mode="w") as packed,
    ):
        for file in files:
            entry = tarfile.TarInfo(file.name)
            with file.open() as source:
                entry.size, entry.mtime = os.fstat(source.fileno()).st_size, int(file.written.timestamp())
                _require_room(target.parent, entry.size)
                packed.addfile(entry, source)


def _require_room(folder: Path, size: int) -> None:
    if not has_room(folder, size):
        raise ApiError(507, "There is no room for this archive on the disk of the server; fetch its files one by one.")


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    part = target.with_name(f".{target.name}.{threading.get_ident()}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


class Budget:
    """Counts what becomes of an upload, whatever its headers promise, and leaves the disk of its folder some room."""

    def __init__(self, name: str, limits: ExtractionLimits, folder: Path) -> None:
        self._name = name
        self._limits = limits
        self._folder = folder
        self._files = limits.files
        self._bytes = limits.size

    def take_file(self) -> None:
        """One file more; `InvalidFileError` if that is one too many."""
        self._files -= 1
        if self._files < 0:
            raise InvalidFileError(name=self._name, why=TOO_MANY)

    def copy(self, source: IO[bytes], sink: IO[bytes]) -> None:
        """Copies a file piece by piece; `InvalidFileError` where it becomes larger than there is room for."""
        while chunk := source.read(_CHUNK):
            self._bytes -= len(chunk)
            if self._bytes < 0 or not has_room(self._folder, len(chunk), spare=self._limits.spare):
                raise InvalidFileError(name=self._name, why="becomes larger than there is room for; make it smaller")
            sink.write(chunk)


def _write_entries(entries: _Entries, folder: Path, budget: Budget) -> None:
    with closing(entries):
        for name, stream in entries:
            budget.take_file()
            path = folder / checked_name(name)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                sink = path.open("xb")
            except (FileExistsError, NotADirectoryError) as error:
                raise InvalidFileError(name=name, why="is in the archive twice; pack it again") from error
            with sink, stream:
                budget.copy(stream, sink)


def _zip_entries(archive: Path, name: str, limits: ExtractionLimits) -> _Entries:
    with _ZipFile(archive, name, limits) as stream, zipfile.ZipFile(stream) as packed:
        for entry in packed.infolist():
            if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise InvalidFileError(name=entry.filename, why=_LINK)
            if not entry.is_dir():
                require_no_lzma(entry)
                yield entry.filename, packed.open(entry)


class _ZipFile(FileIO):
    """A zip whose directory, which `zipfile` reads in one piece, names no more files than there is room for."""

    def __init__(self, archive: Path, name: str, limits: ExtractionLimits) -> None:
        super().__init__(archive)
        self._archive_name = name
        self._most = max(_CHUNK, limits.files * _DIRECTORY_ENTRY)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self._most:
            raise InvalidFileError(name=self._archive_name, why=TOO_MANY)
        return super().read(-1 if size is None else size)


def _tar_entries(archive: Path, name: str, limits: ExtractionLimits) -> _Entries:
    opener = next(_OPENERS[suffix] for suffix in _OPENERS if name.lower().endswith(suffix))
    with opener(archive) as stream:
        members = tar_members(
            stream,
            most_files=limits.files,
            most_bytes=limits.size,
            refusal=lambda why: InvalidFileError(name=name, why=why),
        )
        for member, content in members:
            if not member.isdir():
                yield member.name.removeprefix("./"), _content(member, content)


def _content(member: tarfile.TarInfo, content: IO[bytes] | None) -> IO[bytes]:
    if content is None:
        raise InvalidFileError(name=member.name, why=_LINK)
    if member.issparse():
        # A header of a few bytes could stand for gigabytes of nothing.
        raise InvalidFileError(name=member.name, why="is a sparse file; pack it without --sparse")
    return content
