"""Zip archives that a test lies in: unpacked for the test to be read and changed, and packed again."""

import shutil
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from generator.competition.bounded_lzma import require_no_lzma
from generator.competition.facts import Task
from generator.files import PathOutsideError, contained
from generator.rehearsal.errors import NoTestSetError
from generator.rehearsal.writing import files_below, link
from generator.sessions.trees import remove_tree
from generator.untrusted import quoted

_MOST_BYTES = 4 << 30  # that are packed again for each of ten tests
_MOST_MEMBERS = 300_000
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


def archives_of(task: Task) -> list[str]:
    """Returns the archives that have the test table, the sample submission or the files of the test."""
    paths = (task.test_table, task.sample_submission, str(task.details.get("test_folder", "")))
    parts = (f"{path}/".partition(".zip/") for path in paths)
    return list(dict.fromkeys(f"{stem}.zip" for stem, is_packed, _ in parts if is_packed))


def unpack_archives(data: Path, archives: Iterable[str], folder: Path) -> None:
    """Fills an empty folder with a competition's files, and with a folder in place of each of these archives.

    Raises:
        NoTestSetError: An archive is missing, damaged, or more than can be packed again and again.
        OSError: The folder cannot be written.
    """
    packed = set(archives)
    for path in files_below(data):
        if path not in packed:
            link(data, path, folder / path)
    for path in packed:
        try:
            with zipfile.ZipFile(contained(data / path, root=data)) as archive:
                _check(path, archive.infolist(), shutil.disk_usage(folder).free)
                archive.extractall(folder / path)
        except (*_UNREADABLE, PathOutsideError) as error:
            raise NoTestSetError(why=f"{quoted(path)} cannot be unpacked: {quoted(str(error))}.") from error


def pack_archives(folder: Path, archives: Iterable[str]) -> None:
    """Puts an archive in the place of each of these folders.

    Raises:
        OSError: They cannot be written.
    """
    for path in archives:
        unpacked = folder / path
        whole = unpacked.with_name(f"{unpacked.name}.whole")
        with zipfile.ZipFile(whole, "x", strict_timestamps=False) as archive:
            for member in sorted(unpacked.rglob("*")):
                archive.write(member, member.relative_to(unpacked))
        remove_tree(unpacked)
        whole.rename(unpacked)


def _check(path: str, members: list[zipfile.ZipInfo], free: int) -> None:
    size = sum(member.file_size for member in members)
    if len(members) > _MOST_MEMBERS or size > min(_MOST_BYTES, free // 4):
        much = f"{len(members):,} files of {size / 2**30:,.1f} GB"
        raise NoTestSetError(why=f"{quoted(path)} has {much}, too much to pack anew for each.")
    for member in members:
        require_no_lzma(member)
