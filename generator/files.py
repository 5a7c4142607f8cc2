"""Reading and locating files: ordinary ones only, with errors that a user understands; see `workspace_files`."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except ValueError as error:  # a NUL in its name
        raise OSError(errno.EINVAL, "no file can have this name") from error
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
