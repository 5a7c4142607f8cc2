"""Zip archives that a test lies in: unpacked for the test to be read and changed, and packed again."""

import shutil
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from generator.competition.bounded_lzma import require_no_lzma
from generator.competition.facts import Task
from generator.files import PathOutsideError, contained
from generator.rehearsal.test_set import NoTestSetError, TestSet
from generator.rehearsal.writing import files_below, link
from generator.sessions.folder_trees import remove_tree
from generator.untrusted import quoted

_MOST_BYTES = 16 << 30
_MOST_MEMBERS = 300_000
_MOST_LEVELS = 32  # of folders
_COPIES = 20  # of the test: ten tests, one of which is ten times as large
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


def archives_of(task: Task) -> list[str]:
    """Returns the archives that have the test table, the sample submission or the files of the test."""
    paths = (task.test_table, task.sample_submission, str(task.details.get("test_folder", "")))
    parts = (f"{path}/".partition(".zip/") for path in paths)
    return list(dict.fromkeys(f"{stem}.zip" for stem, is_packed, _ in parts if is_packed))


def unpack_archives(data: Path, archives: Iterable[str], folder: Path) -> None:
    """Fills an empty folder with a competition's files, and with a folder in place of each of these archives.

    Raises:
        NoTestSetError: An archive is missing, damaged, hostile, or larger than there is room for.
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


def require_room(data: Path, archives: Sequence[str], test: TestSet) -> None:
    """Refuses archives that would fill the disk, packed anew for each hidden test.

    Args:
        data: The competition's files, the archives unpacked.
        archives: These archives.
        test: The test that is to be varied.

    Raises:
        NoTestSetError: They would.
    """
    chosen = {file.source for example in test.examples for file in example.files}
    inside = tuple(f"{archive}/" for archive in archives)
    paths = [path for path in files_below(data) if path.startswith(inside)]
    size = sum((data / path).stat().st_size for path in paths if path in chosen or path not in test.taken)
    if _COPIES * size > shutil.disk_usage(data).free // 2:
        much = f"{_COPIES * size / 2**30:,.1f} GB"
        raise NoTestSetError(why=f"its archives, packed anew for each, would take {much} of the disk.")


def pack_archives(folder: Path, archives: Iterable[str]) -> None:
    """Puts an archive in the place of each of these folders.

    Raises:
        OSError: They cannot be written.
    """
    whole = folder.with_name(f"{folder.name}.zip")  # where no file of the competition's is
    for path in archives:
        with zipfile.ZipFile(whole, "w", strict_timestamps=False) as archive:
            for member in sorted((folder / path).rglob("*")):
                archive.write(member, member.relative_to(folder / path))
        remove_tree(folder / path)
        whole.rename(folder / path)


def _check(path: str, members: list[zipfile.ZipInfo], free: int) -> None:
    """Refuses what a notebook refuses as well, and what no disk or stack would hold."""
    size = sum(member.file_size for member in members)
    if len(members) > _MOST_MEMBERS or size > min(_MOST_BYTES, free // 4):
        much = f"{len(members):,} files of {size / 2**30:,.1f} GB"
        raise NoTestSetError(why=f"{quoted(path)} has {much}, too much to unpack here.")
    for member in members:
        require_no_lzma(member)
        parts = PurePosixPath(member.filename.replace("\\", "/")).parts
        if ".." in parts or member.filename.startswith(("/", "\\")) or len(parts) > _MOST_LEVELS:
            raise NoTestSetError(why=f"{quoted(path)} would write outside of its folder, or too deep.")
