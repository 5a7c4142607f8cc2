"""Replacing several files of a pair as one: all of them, or none.

The new files are written to `.tandem/staged/`, then a marker that says that they are complete, and only then each is
renamed to its place. Whoever reads or writes the pair next calls `recover`, which finishes a marked stage and discards
an unmarked one. The reasons and the limits are in docs/adr/0002-staged-writes.md.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from generator.errors import PairError
from generator.files import FileWriteError, contained, reason, sync_folder, write_and_sync
from generator.pair.interrupts import deferred_interrupts
from generator.pair.workspace import PairFolder, Role
from generator.untrusted import printable

_MARKER = "complete"


class UnfinishedWriteError(PairError):
    """A pair was written completely, but its files could not be moved to their places."""

    def __init__(self, *, path: Path, cause: OSError) -> None:
        super().__init__(
            f"The new files of {printable(str(path))} are complete, but cannot be put in place: {reason(cause)}; "
            "the next command finishes the work once that is mended."
        )


def pair_files() -> list[Path]:
    """The files of a pair, by their paths inside of its folder."""
    relative = PairFolder(Path())
    return [relative.choices, *(make(role) for role in Role for make in (relative.notebook, relative.metadata))]


def base_of(path: Path) -> Path:
    """Where the kit keeps the text of a file as it was rendered; both paths are inside of the pair's folder."""
    return PairFolder(Path()).state / "rendered" / path


def recover(folder: PairFolder) -> None:
    """Ends what an earlier write left undone: a complete stage takes effect, an incomplete one is removed.

    Raises:
        UnfinishedWriteError: The files still cannot be put in place.
        PathOutsideError: A folder of the pair leads elsewhere.
    """
    if _stage(folder).is_dir():
        with _locked(folder):
            _recover(folder)


def commit(folder: PairFolder, files: Mapping[Path, bytes]) -> None:
    """Replaces files of a pair, all or none of them, and creates the pair if there is none.

    Args:
        folder: The pair.
        files: New contents by path inside of the folder; only files of a pair and their bases.

    Raises:
        FileWriteError: Nothing was changed, and no folder that was not there before is left.
        UnfinishedWriteError: Everything is written, but not in place.
        PathOutsideError: A folder of the pair leads elsewhere.
    """
    targets = {path: folder.path / path for path in files}
    created: list[Path] = []
    is_complete = False
    try:
        for parent in (folder.state, *(target.parent for target in targets.values())):
            _make_folder(parent, created)
        with _locked(folder):
            _recover(folder)
            _write_stage(folder, files)
            _check_targets(folder, targets)
            with deferred_interrupts():
                write_and_sync(_open(_stage(folder) / _MARKER), b"")
                sync_folder(_stage(folder))
                is_complete = True
                _put_in_place(folder)
    except BaseException as error:
        if not is_complete:
            _undo(folder, created)
        if isinstance(error, OSError):
            raise FileWriteError(path=folder.path, cause=error) from error
        raise


def _stage(folder: PairFolder) -> Path:
    return folder.state / "staged"


def _staged(folder: PairFolder, path: Path) -> Path:
    return _stage(folder) / path.as_posix().replace("/", "--")


def _recover(folder: PairFolder) -> None:
    if (_stage(folder) / _MARKER).is_file():
        with deferred_interrupts():
            _put_in_place(folder)
    else:
        shutil.rmtree(_stage(folder), ignore_errors=True)


def _put_in_place(folder: PairFolder) -> None:
    """Renames what is staged. A stage may come with somebody else's pair: only names of pair files are looked at."""
    try:
        for path in pair_files():
            for relative in (path, base_of(path)):
                staged = _staged(folder, relative)
                if staged.is_file() and not staged.is_symlink():
                    contained((folder.path / relative).parent, root=folder.path).mkdir(parents=True, exist_ok=True)
                    staged.replace(folder.path / relative)
                    sync_folder((folder.path / relative).parent)
        # What is left of a stage when this fails is a marker without files, which the next recovery removes.
        shutil.rmtree(_stage(folder), ignore_errors=True)
    except OSError as error:
        raise UnfinishedWriteError(path=folder.path, cause=error) from error


def _write_stage(folder: PairFolder, files: Mapping[Path, bytes]) -> None:
    _stage(folder).mkdir()
    for path, content in files.items():
        write_and_sync(_open(_staged(folder, path)), content)


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _check_targets(folder: PairFolder, targets: Mapping[Path, Path]) -> None:
    """Finds before the marker is set what would stop a rename after it."""
    for target in targets.values():
        parent = contained(target.parent, root=folder.path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not os.access(parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(parent))


def _make_folder(folder: Path, created: list[Path]) -> None:
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        created.append(parent)


def _undo(folder: PairFolder, created: list[Path]) -> None:
    shutil.rmtree(_stage(folder), ignore_errors=True)
    for path in reversed(created):
        try:
            path.rmdir()
        except OSError:
            continue


@contextmanager
def _locked(folder: PairFolder) -> Iterator[None]:
    """One process at a time: otherwise one would take the other's stage for an abandoned one."""
    handle = os.open(folder.state, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
