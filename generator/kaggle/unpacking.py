"""Unpacking a competition's archive: only what Kaggle lists, no byte more than it lists, nothing out of the folder."""

import gzip
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from generator.competition.bounded_lzma import require_no_lzma
from generator.competition.bounded_tar import tar_members
from generator.files import PathOutsideError, contained
from generator.kaggle.errors import KaggleError
from generator.kaggle.guards import checked_names
from generator.untrusted import printable, quoted

_CHUNK = 1 << 20
_SPARE = 1 << 28  # bytes of the disk that stay free
_MOST_MEMBERS = 100_000
_MOST_BYTES = 1 << 40  # of a tar; the disk is looked at as it is unpacked
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError)


class ArchiveError(KaggleError):
    """An archive is not what Kaggle lists; nothing of it was kept."""

    def __init__(self, *, slug: str, problem: str) -> None:
        super().__init__(
            f"The archive of {printable(slug)} is not what Kaggle lists: {problem}; nothing of it was kept, so run "
            f"`tandem data {printable(slug)}` again, and if it stays so, download the files in a browser."
        )


def unpack(slug: str, archive: Path, folder: Path, *, sizes: Mapping[str, int], tell: Callable[[int], None]) -> None:
    """Unpacks the listed files of a zip archive into a folder, and checks that each is there with the listed size.

    Members that are not listed are left out: what is mounted on Kaggle is the listing. Links, devices and permissions
    of an archive mean nothing here, since only bytes are copied.

    Args:
        slug: The competition, for messages.
        archive: The archive.
        folder: An empty folder.
        sizes: How many bytes each file has, by its relative path, which passed the guards.
        tell: Is told the bytes that were unpacked so far.

    Raises:
        ArchiveError: A file is missing, of another size, damaged, encrypted, or leads elsewhere.
        OSError: The folder cannot be written.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = {member.filename: member for member in opened.infolist() if not member.is_dir()}
            _check(slug, members, sizes)
            done = 0
            for name, size in sizes.items():
                require_no_lzma(members[name])
                path = _place(slug, folder, name)
                with opened.open(members[name]) as source, path.open("xb") as target:
                    done += _copied(slug, name, source, target, size)
                tell(done)
    except _DAMAGE as error:
        raise ArchiveError(slug=slug, problem=f"it cannot be unpacked ({printable(str(error))[:100]})") from error


def unpack_all(name: str, archive: Path, folder: Path) -> None:
    """Unpacks an archive (zip or tar) of a dataset or model, of which there is no listing, into a folder.

    Only ordinary files are unpacked, and no more of them than the disk has room for.

    Args:
        name: The dataset or model, for messages.
        archive: The archive.
        folder: An empty folder.

    Raises:
        ArchiveError: It is damaged, encrypted, leads elsewhere, has links, or more files than there is room for.
        OSError: The folder cannot be written.
    """
    try:
        with archive.open("rb") as file:
            members = _zip_members(file) if zipfile.is_zipfile(file) else _tar_members(name, file)
            for count, (member, source) in enumerate(members):
                if count >= _MOST_MEMBERS:
                    raise ArchiveError(slug=name, problem=f"it has more than {_MOST_MEMBERS:,} files")
                checked_names([member], doing=f"unpack {name}")
                path = _place(name, folder, member)
                with source, path.open("xb") as target:
                    while chunk := source.read(_CHUNK):
                        if shutil.disk_usage(folder).free < len(chunk) + _SPARE:
                            raise ArchiveError(slug=name, problem="it unpacks to more than there is room for")
                        target.write(chunk)
    except (FileExistsError, NotADirectoryError) as error:
        raise ArchiveError(slug=name, problem="a file is in it twice, or is a folder at once") from error
    except (*_DAMAGE, tarfile.TarError) as error:
        raise ArchiveError(slug=name, problem=f"it cannot be unpacked ({printable(str(error))[:100]})") from error


def _zip_members(file: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(file) as opened:
        for member in opened.infolist():
            if not member.is_dir() and not stat.S_ISLNK(member.external_attr >> 16):
                require_no_lzma(member)
                yield member.filename, opened.open(member)


def _tar_members(name: str, file: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    file.seek(0)
    is_pressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    stream: Any = gzip.GzipFile(fileobj=file) if is_pressed else file

    def refusal(why: str) -> ArchiveError:
        return ArchiveError(slug=name, problem=f"it {why.partition(';')[0]}")

    for member, source in tar_members(stream, most_files=_MOST_MEMBERS, most_bytes=_MOST_BYTES, refusal=refusal):
        if member.isdir():
            continue
        if source is None or member.issparse():
            raise ArchiveError(slug=name, problem=f"{quoted(member.name)} is no ordinary file")
        yield member.name.removeprefix("./"), source


def _check(slug: str, members: Mapping[str, zipfile.ZipInfo], sizes: Mapping[str, int]) -> None:
    """Compares an archive's own directory with the listing, before a byte is unpacked."""
    missing = [name for name in sizes if name not in members]
    if missing:
        raise ArchiveError(slug=slug, problem=f"{len(missing):,} files are missing, such as {printable(missing[0])}")
    for name, size in sizes.items():
        member = members[name]
        if member.file_size != size:
            problem = f"{printable(name)} has {member.file_size:,} bytes where {size:,} are listed"
            raise ArchiveError(slug=slug, problem=problem)
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ArchiveError(slug=slug, problem=f"{printable(name)} is a link")


def _place(slug: str, folder: Path, name: str) -> Path:
    try:
        path = contained(folder / name, root=folder)
    except PathOutsideError as error:
        raise ArchiveError(slug=slug, problem=f"{printable(name)} leads out of the folder") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _copied(slug: str, name: str, source: IO[bytes], target: IO[bytes], size: int) -> int:
    """Copies a member and counts: a directory that says a small size may lie."""
    copied = 0
    while chunk := source.read(_CHUNK):
        copied += len(chunk)
        if copied > size:
            raise ArchiveError(slug=slug, problem=f"{printable(name)} unpacks to more than the {size:,} bytes listed")
        target.write(chunk)
    if copied < size:
        raise ArchiveError(slug=slug, problem=f"{printable(name)} has {copied:,} bytes where {size:,} are listed")
    return copied
