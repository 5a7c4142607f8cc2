"""Files: reading ordinary ones, and writing below a folder that somebody else may have filled."""

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePath
from typing import BinaryIO

from generator.errors import TandemError
from generator.text import JsonObject, printable

_REASONS = {
    errno.EACCES: "there is no permission to write there",
    errno.EPERM: "there is no permission to write there",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.ENOTDIR: "part of the path is a file, not a folder",
    errno.EISDIR: "a folder has this name",
    errno.ENOENT: "the folder does not exist",
    errno.ENAMETOOLONG: "the name is too long",
}

_LARGEST = 256 * 2**20
_DEEPEST = 100  # folders below one another
_NO_NAME = "no file can have this name"
# Opening a pipe that nobody writes to must not block.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class FileWriteError(TandemError):
    """A file or folder could not be written; what was there before is untouched."""

    def __init__(self, *, path: Path, cause: OSError) -> None:
        is_denied = cause.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
        super().__init__(
            f"Cannot write {printable(str(path))}: {reason(cause)}; nothing was changed.",
            remedy="Make the folder writable, or use another one." if is_denied else "",
        )


class FileReadError(TandemError):
    """A file that is needed could not be read."""

    def __init__(self, *, path: Path, cause: OSError | UnicodeDecodeError, remedy: str = "") -> None:
        if isinstance(cause, UnicodeDecodeError):
            problem = "it is not UTF-8 text"
        elif isinstance(cause, FileNotFoundError):
            problem = "it does not exist"
        else:
            problem = reason_not_read(cause)
        super().__init__(f"Cannot read {printable(str(path))}: {problem}.", remedy=remedy)


class PathOutsideError(TandemError):
    """A path leads out of the folder that it has to stay in."""

    def __init__(self, *, path: Path, root: Path) -> None:
        super().__init__(
            f"{printable(str(path))} is outside of {printable(str(root))}.", remedy="Use a path inside of that folder."
        )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Says in a sentence which file or folder could not be written in the block, and why.

    Raises:
        FileWriteError: The operating system refused.
    """
    try:
        yield
    except OSError as error:
        raise FileWriteError(path=path, cause=error) from error


def reason(cause: OSError) -> str:
    """Why the operating system refused, in words that fit behind a colon."""
    return _REASONS.get(cause.errno or 0) or printable(cause.strerror or str(cause))


def reason_not_read(cause: OSError) -> str:
    """The same of a file or folder that was to be read."""
    return reason(cause).replace("to write there", "to read it")


def write_and_sync(handle: int, content: bytes) -> None:
    """Writes all of `content` to an open file, waits until it is on the disk, and closes the file.

    Raises:
        OSError: As the operating system says it.
    """
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def resolve_inside(path: Path, *, root: Path) -> Path:
    """Resolves a path and makes sure that it stays inside of a folder, symbolic links included.

    Args:
        path: The path to check; it need not exist.
        root: The folder that it must not leave.

    Returns:
        The resolved path.

    Raises:
        PathOutsideError: The path leads elsewhere.
    """
    try:
        # Path.resolve raises where a link leads to itself.
        real_path = Path(os.path.realpath(path))
    except ValueError as error:  # a NUL in it
        raise PathOutsideError(path=path, root=root) from error
    if not real_path.is_relative_to(os.path.realpath(root)):
        raise PathOutsideError(path=path, root=root)
    return real_path


def open_file(path: Path) -> BinaryIO:
    """Opens a file to read, for the caller to close; a pipe in its place would block, and a device never end.

    Raises:
        OSError: There is none, it is none, or it may not be read.
    """
    try:
        handle = os.open(path, _READ)
    except ValueError as error:  # a NUL in its name
        raise OSError(errno.EINVAL, _NO_NAME) from error
    return _ordinary(handle)


def open_below(root: Path, name: PurePath | str) -> BufferedReader:
    """Opens a file to read that an untrusted program wrote below a folder, for the caller to close.

    The way to it goes from a handle on `root` from folder to folder, and neither they nor the file may be links; links
    above `root` are followed. Whoever reads from what this returns reads the file that was checked, whatever takes its
    place later.

    Raises:
        OSError: There is none; a link is in the way; it is a pipe or a device; it has another owner than `root`; or it
            has a second name (a hard link) outside of `root`.
    """
    parts = PurePath(name).parts
    if not parts or PurePath(name).is_absolute() or ".." in parts or "\0" in str(name):
        raise OSError(errno.EINVAL, _NO_NAME)
    with ExitStack() as stack:
        top = folder = _opened_folder(root, stack)
        for part in parts[:-1]:
            folder = _opened_folder(part, stack, parent=folder)
        file = stack.enter_context(_ordinary(os.open(parts[-1], _READ | os.O_NOFOLLOW, dir_fd=folder)))
        status = os.fstat(file.fileno())
        if status.st_uid != os.fstat(top).st_uid:
            raise PermissionError(errno.EPERM, "it belongs to another user")
        if status.st_nlink > 1 and not _has_all_names_below(top, status):
            raise PermissionError(errno.EPERM, "it has a second name (a hard link) elsewhere")
        return open(os.dup(file.fileno()), "rb")  # noqa: PTH123 - a descriptor has no path


def _opened_folder(folder: PurePath | str, stack: ExitStack, *, parent: int | None = None) -> int:
    flags = _READ | os.O_DIRECTORY | (0 if parent is None else os.O_NOFOLLOW)
    handle = os.open(folder, flags, dir_fd=parent)
    stack.callback(os.close, handle)
    return handle


def _has_all_names_below(folder: int, status: os.stat_result) -> bool:
    """True if no hard link of a file leads out of a folder."""
    left = status.st_nlink
    for at, folders, names, handle in os.fwalk(".", dir_fd=folder):
        if len(PurePath(at).parts) > _DEEPEST:
            folders.clear()  # each level takes a descriptor
        for name in names:
            with suppress(OSError):
                left -= os.path.samestat(os.stat(name, dir_fd=handle, follow_symlinks=False), status)
    return left <= 0


def _ordinary(handle: int) -> BufferedReader:
    try:
        kind = os.fstat(handle).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is a pipe or a device, not an ordinary file")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_bytes(path: Path) -> bytes:
    """Reads a file.

    Raises:
        OSError: As for `open_file`, or it is larger than anything that is read as a whole.
    """
    with open_file(path) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(errno.EFBIG, f"it is larger than {_LARGEST >> 20} MB")
    return content


def read_text(path: Path, *, remedy: str = "") -> str:
    """Reads a UTF-8 file, keeping its line ends; the mark that some editors put in front is left out.

    Args:
        path: The file.
        remedy: What the user does where it cannot be read.

    Raises:
        FileReadError: It is missing, not readable, or not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileReadError(path=path, cause=error, remedy=remedy) from error


def read_json(path: Path, *, most: int = _LARGEST) -> JsonObject:
    """Reads an object out of a file of JSON, which has so many bytes at most; an empty one where there is none."""
    try:
        with open_file(path) as file:
            return JsonObject.parse(file.read(most))
    except OSError:
        return JsonObject()


# Writing into a folder that somebody else may have filled: no link below it is followed.
#
# A workspace is sent around, and what lies in it is as untrusted as any other input: a journal may be a link to
# `~/.bashrc`, an output folder one to somebody's photographs. So every file is reached from a handle on the
# workspace's root, folder by folder, none of them through a link. Links above the root, and the root itself, are
# the user's own.


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Opening a pipe that nobody reads or writes must not block.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LONGEST_PREFIX = 100  # characters of a name that a temporary one repeats


class UnsafePlaceError(TandemError):
    """A file that is written or removed here would be somewhere else."""

    def __init__(self, *, path: Path, obstacle: str) -> None:
        super().__init__(
            f"{printable(str(path))} is {obstacle}. Writing there would change a file elsewhere, so nothing was "
            "written.",
            remedy="Replace it with an ordinary file or folder.",
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
        new_folders: list[Path] = []
        try:
            for folder in [folder for folder in (self.root, *self.root.parents) if not folder.exists()][::-1]:
                _make(folder, new_folders)
            with self._folder(path, make=True, new_folders=new_folders):
                return new_folders
        except BaseException:
            self.remove_empty(new_folders)
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
    def fill_folder(self, path: Path) -> Iterator[Path]:
        """An empty folder to fill, which then takes the name; if another process was faster, what it made stays.

        Raises:
            FileWriteError: No permission, no space; nothing is left behind.
        """
        with writing(path):
            new_folders = self.make_folder(path.parent)
            try:
                with self.beside(path) as stage:
                    content = stage / "new"
                    content.mkdir()
                    yield content
                    self._move_unless_filled(content, path)
            finally:
                self.remove_empty(new_folders)

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
                members = list(entries)
            for entry in members:
                remove = _remove_tree if entry.is_dir(follow_symlinks=False) else _remove_file
                remove(entry.name, folder)

    @contextmanager
    def _folder(self, path: Path, *, make: bool = False, new_folders: list[Path] | None = None) -> Iterator[int]:
        """A handle on a folder at or below the root."""
        with ExitStack() as stack:
            handle = _open_folder(self.root, stack)
            for at in self._parts(path):
                if make:
                    _make(at, new_folders, parent=handle)
                _check(handle, at)
                handle = _open_folder(at, stack, parent=handle)
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


def _open_folder(folder: Path, stack: ExitStack, *, parent: int | None = None) -> int:
    handle = os.open(folder, _FOLDER) if parent is None else os.open(folder.name, _FOLDER | _FILE, dir_fd=parent)
    stack.callback(os.close, handle)
    return handle


def _make(folder: Path, new_folders: list[Path] | None, *, parent: int | None = None) -> None:
    with suppress(FileExistsError):
        os.mkdir(folder if parent is None else folder.name, dir_fd=parent)
        if new_folders is not None:
            new_folders.append(folder)


def _check(folder: int, path: Path, *, in_place: bool = False) -> bool:
    """Refuses what is neither a file nor a folder; a file that is changed in place may have no other name either.

    Returns:
        Whether there is anything.
    """
    try:
        status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(status.st_mode):
        raise UnsafePlaceError(path=path, obstacle="a link")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise UnsafePlaceError(path=path, obstacle="a pipe or a device")
    if in_place and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise UnsafePlaceError(path=path, obstacle="a hard link, another name of a file")
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
