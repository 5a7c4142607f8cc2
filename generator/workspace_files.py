"""Writing into a folder that somebody else may have filled: no link below it is followed.

A workspace is sent around, and what lies in it is as untrusted as any other input: a journal may be a link to
`~/.bashrc`, an output folder one to somebody's photographs. So every file is reached from a handle on the workspace's
root, folder by folder, none of them through a link. Links above the root, and the root itself, are the user's own.

UnsafePlaceError    a link or a device where the kit is to write or to remove
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from generator.errors import TandemError
from generator.files import PathOutsideError, write_and_sync, writing
from generator.untrusted import printable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Opening a pipe that nobody reads or writes must not block.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LONGEST_PREFIX = 100  # characters of a name that a temporary one repeats


class UnsafePlaceError(TandemError):
    """A file that is written or removed here would be somewhere else."""

    def __init__(self, *, path: Path, what: str) -> None:
        super().__init__(
            f"{printable(str(path))} is {what}, so that what is written or removed there would be somewhere else: put "
            "an ordinary file or folder in its place; nothing was written there."
        )


@dataclass(frozen=True)
class WorkspaceFiles:
    """The files below a folder that the user named.

    Paths have to lie below `root`; else there is a `PathOutsideError`. Where a link is in the way there is an
    `UnsafePlaceError`, before anything is changed; everything else is an `OSError`, as the operating system says it.
    """

    root: Path

    def write(self, path: Path, content: bytes, *, mode: int = 0o666) -> None:
        """Writes a file as a whole or not at all, whatever happens meanwhile; folders below the root are made.

        `mode` is what the file allows whom, less the umask.

        Raises:
            FileWriteError: No permission, no space; the previous file is untouched.
        """
        temporary = _temporary_name(path)
        with writing(path), self._folder(path.parent, make=True) as folder:
            _check(folder, path)
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
                write_and_sync(os.open(temporary, flags, mode, dir_fd=folder), content)
                os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                _remove_file(temporary, folder)
                raise
            _sync(folder)

    def append(self, path: Path, content: bytes, *, behind: int | None = None) -> None:
        """Adds to a file, which is made if there is none, and returns once that is on the disk.

        Args:
            path: The file; folders below the root are made.
            content: What is added.
            behind: How many bytes of the file stay; all by default.
        """
        with self._folder(path.parent, make=True) as folder:
            is_new = not _check(folder, path, in_place=True)
            handle = os.open(path.name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FILE, 0o666, dir_fd=folder)
            with os.fdopen(handle, "ab", buffering=0) as file:
                if behind is not None:
                    file.truncate(behind)
                write_and_sync(os.dup(file.fileno()), content)
            if is_new:
                _sync(folder)

    def open(self, path: Path, flags: int) -> int:
        """Opens a file and returns its handle, for the caller to close."""
        with self._folder(path.parent) as folder:
            _check(folder, path, in_place=bool(flags & (os.O_WRONLY | os.O_RDWR)))
            return os.open(path.name, flags | _FILE, 0o666, dir_fd=folder)

    def check(self, path: Path) -> None:
        """Makes sure that there is no link on the way to a file or folder, nor in its place."""
        with suppress(FileNotFoundError, NotADirectoryError), self._folder(path.parent) as folder:
            _check(folder, path)

    def make_folder(self, path: Path) -> list[Path]:
        """Makes a folder and those above it, the root too; returns the ones that were not there, outermost first."""
        made: list[Path] = []
        try:
            for folder in [folder for folder in (self.root, *self.root.parents) if not folder.exists()][::-1]:
                _make(folder, made)
            with self._folder(path, make=True, made=made):
                return made
        except BaseException:
            self.remove_empty(made)
            raise

    @contextmanager
    def handle_on(self, path: Path) -> Iterator[int]:
        """A handle on a folder, such as for a lock."""
        with self._folder(path) as handle:
            yield handle

    @contextmanager
    def beside(self, path: Path) -> Iterator[Path]:
        """A new folder next to `path`, for what is to take its place; removed at the end with what is left in it.

        Raises:
            FileWriteError: No permission, no space.
        """
        with self._folder(path.parent) as folder:
            name = _temporary_name(path)
            with writing(path):
                os.mkdir(name, 0o700, dir_fd=folder)
            try:
                yield path.parent / name
            finally:
                shutil.rmtree(name, ignore_errors=True, dir_fd=folder)

    @contextmanager
    def filled(self, path: Path) -> Iterator[Path]:
        """An empty folder to fill, which then takes the name; if another process was faster, what it made stays.

        Raises:
            FileWriteError: No permission, no space; nothing is left behind.
        """
        with writing(path):
            created = self.make_folder(path.parent)
            try:
                with self.beside(path) as stage:
                    content = stage / "new"
                    content.mkdir()
                    yield content
                    self._move_unless_filled(content, path)
            finally:
                self.remove_empty(created)

    def _move_unless_filled(self, source: Path, target: Path) -> None:
        try:
            self.move(source, target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise

    def move(self, source: Path, target: Path) -> None:
        """Renames a file or a folder; a file takes the place of one that is there, a folder that of an empty one."""
        with self._folder(source.parent) as before, self._folder(target.parent) as after:
            _check(before, source)
            _check(after, target)
            os.replace(source.name, target.name, src_dir_fd=before, dst_dir_fd=after)
            _sync(after)

    def link(self, path: Path, target: Path) -> None:
        """Makes a link to a folder, where nothing is yet."""
        self.make_folder(path.parent)
        with self._folder(path.parent) as folder:
            os.symlink(target, path.name, target_is_directory=True, dir_fd=folder)

    def remove(self, path: Path) -> None:
        """Removes a file, or a link rather than what it leads to; nothing if there is none."""
        with suppress(FileNotFoundError, NotADirectoryError), self._folder(path.parent) as folder:
            _remove_file(path.name, folder)

    def remove_tree(self, path: Path) -> None:
        """Removes a folder with all that is in it; nothing if there is none."""
        with suppress(FileNotFoundError, NotADirectoryError), self._folder(path.parent) as folder:
            _check(folder, path)
            _remove_tree(path.name, folder)

    def remove_empty(self, folders: Iterable[Path]) -> None:
        """Removes folders, the last one first, as far as they are empty."""
        for path in reversed(list(folders)):
            with suppress(OSError):
                path.rmdir()

    def empty(self, path: Path) -> None:
        """Removes everything that is in a folder; links in it go, and what they lead to stays."""
        with self._folder(path) as folder:
            with os.scandir(folder) as entries:
                found = list(entries)
            for entry in found:
                remove = _remove_tree if entry.is_dir(follow_symlinks=False) else _remove_file
                remove(entry.name, folder)

    @contextmanager
    def _folder(self, path: Path, *, make: bool = False, made: list[Path] | None = None) -> Iterator[int]:
        """A handle on a folder at or below the root."""
        with ExitStack() as stack:
            handle = _opened(self.root, stack)
            for at in self._parts(path):
                if make:
                    _make(at, made, parent=handle)
                _check(handle, at)
                handle = _opened(at, stack, parent=handle)
            yield handle

    def _parts(self, path: Path) -> list[Path]:
        """The folders from the root, which is left out, down to a path."""
        try:
            parts = path.absolute().relative_to(self.root.absolute()).parts
        except ValueError:
            raise PathOutsideError(path=path, root=self.root) from None
        if ".." in parts:
            raise PathOutsideError(path=path, root=self.root)
        return [self.root.joinpath(*parts[: count + 1]) for count in range(len(parts))]


def _opened(folder: Path, stack: ExitStack, *, parent: int | None = None) -> int:
    handle = os.open(folder, _FOLDER) if parent is None else os.open(folder.name, _FOLDER | _FILE, dir_fd=parent)
    stack.callback(os.close, handle)
    return handle


def _make(folder: Path, made: list[Path] | None, *, parent: int | None = None) -> None:
    with suppress(FileExistsError):
        os.mkdir(folder if parent is None else folder.name, dir_fd=parent)
        if made is not None:
            made.append(folder)


def _check(folder: int, path: Path, *, in_place: bool = False) -> bool:
    """Refuses what is neither a file nor a folder; a file that is changed in place may have no other name either.

    Returns:
        Whether there is anything.
    """
    try:
        found = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(found.st_mode):
        raise UnsafePlaceError(path=path, what="a link")
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise UnsafePlaceError(path=path, what="a pipe or a device")
    if in_place and stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        raise UnsafePlaceError(path=path, what="a hard link, another name of a file")
    return True


def _temporary_name(path: Path) -> str:
    return f".{path.name[:_LONGEST_PREFIX]}.{os.urandom(4).hex()}"


def _remove_file(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _remove_tree(name: str, folder: int) -> None:
    try:
        shutil.rmtree(name, dir_fd=folder)
    except RecursionError as error:
        raise OSError("its folders are nested too deeply") from error


def _sync(folder: int) -> None:
    """Makes renames in a folder survive a power cut, where the file system can do so."""
    with suppress(OSError):
        os.fsync(folder)
