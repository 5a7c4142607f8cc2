"""Reading and locating files: ordinary ones only, with errors that a user understands; see `workspace_files`."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path, PurePath
from typing import BinaryIO

from generator.errors import TandemError
from generator.untrusted import JsonObject, printable

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
        super().__init__(f"Cannot write {printable(str(path))}: {reason(cause)}; nothing was changed.")


class FileReadError(TandemError):
    """A file that is needed could not be read."""

    def __init__(self, *, path: Path, cause: OSError | UnicodeDecodeError) -> None:
        if isinstance(cause, UnicodeDecodeError):
            why = "it is not UTF-8 text"
        elif isinstance(cause, FileNotFoundError):
            why = "it does not exist"
        else:
            why = reason_not_read(cause)
        super().__init__(f"Cannot read {printable(str(path))}: {why}.")


class PathOutsideError(TandemError):
    """A path leads out of the folder that it has to stay in."""

    def __init__(self, *, path: Path, root: Path) -> None:
        super().__init__(
            f"{printable(str(path))} leads out of {printable(str(root))}; use a path inside of that folder."
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


def contained(path: Path, *, root: Path) -> Path:
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
        resolved = Path(os.path.realpath(path))
    except ValueError as error:  # a NUL in it
        raise PathOutsideError(path=path, root=root) from error
    if not resolved.is_relative_to(os.path.realpath(root)):
        raise PathOutsideError(path=path, root=root)
    return resolved


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


def read_text(path: Path) -> str:
    """Reads a UTF-8 file, keeping its line ends; the mark that some editors put in front is left out.

    Raises:
        FileReadError: It is missing, not readable, or not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileReadError(path=path, cause=error) from error


def read_json(path: Path, *, most: int = _LARGEST) -> JsonObject:
    """Reads an object out of a file of JSON, which has so many bytes at most; an empty one where there is none."""
    try:
        with open_file(path) as file:
            return JsonObject.parsed(file.read(most))
    except OSError:
        return JsonObject()
