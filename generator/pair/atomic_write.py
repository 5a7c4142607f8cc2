"""Replacing several files of a pair as one: all of them, or none.

The new files are written to `.tandem/staged/`, then a marker that says that they are complete, and only then each is
renamed to its place. Whoever reads or writes the pair next calls `recover`, which finishes a marked stage and discards
an unmarked one. The reasons and the limits are in docs/adr/0002-staged-writes.md.
"""

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from generator.errors import PairError
from generator.files import FileWriteError, reason
from generator.pair.interrupts import deferred_interrupts
from generator.pair.workspace import PairFolder, Role
from generator.untrusted import printable
from generator.workspace_files import UnsafePlaceError

_MARKER = "complete"


def pair_files() -> list[Path]:
    """The files of a pair, by their paths inside of its folder."""
    relative = PairFolder(Path())
    return [relative.choices, *(make(role) for role in Role for make in (relative.notebook, relative.metadata))]


def base_of(path: Path) -> Path:
    """The path of the kit's copy of a file as it was rendered; both paths are inside of the pair's folder."""
    return PairFolder(Path()).state / "rendered" / path


def recover(folder: PairFolder) -> None:
    """Ends what an earlier write left undone: a complete stage takes effect, an incomplete one is removed.

    Raises:
        PairError: The files still cannot be put in place.
        UnsafePlaceError: A folder of the pair, or a file, is a link.
    """
    folder.files.check(_stage(folder))
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
        PairError: Everything is written, but not in place.
        UnsafePlaceError: A folder of the pair, or a file, is a link.
    """
    targets = [folder.path / path for path in files]
    created: list[Path] = []
    is_complete = False
    try:
        for parent in (folder.state, *(target.parent for target in targets)):
            created += folder.files.make_folder(parent)
        with _locked(folder):
            _recover(folder)
            for path, content in files.items():
                folder.files.append(_staged(folder, path), content, behind=0)
            _check_targets(folder, targets)
            with deferred_interrupts():
                folder.files.append(_stage(folder) / _MARKER, b"")
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
        _discard_stage(folder)


def _put_in_place(folder: PairFolder) -> None:
    """Renames what is staged. A stage may come with somebody else's pair: only names of pair files are looked at."""
    try:
        for path in pair_files():
            for relative in (path, base_of(path)):
                staged = _staged(folder, relative)
                if staged.is_file():
                    folder.files.make_folder((folder.path / relative).parent)
                    folder.files.move(staged, folder.path / relative)
        # What is left of a stage when this fails is a marker without files, which the next recovery removes.
        _discard_stage(folder)
    except OSError as error:
        raise PairError(
            f"The new files of {printable(str(folder.path))} are complete, but cannot be put in place: "
            f"{reason(error)}; the next command finishes the work once that is mended."
        ) from error


def _discard_stage(folder: PairFolder) -> None:
    with suppress(OSError):
        folder.files.remove_tree(_stage(folder))


def _check_targets(folder: PairFolder, targets: Iterable[Path]) -> None:
    """Finds before the marker is set what would stop a rename after it."""
    for target in targets:
        folder.files.check(target)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target.parent))


def _undo(folder: PairFolder, created: list[Path]) -> None:
    with suppress(UnsafePlaceError):  # what is not the kit's is left alone
        _discard_stage(folder)
    folder.files.remove_empty(created)


@contextmanager
def _locked(folder: PairFolder) -> Iterator[None]:
    """One process at a time: otherwise one would take the other's stage for an abandoned one."""
    with folder.files.handle_on(folder.state) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
