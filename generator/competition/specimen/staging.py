"""Where the files of a specimen go: into a folder that appears as a whole or not at all, and never beside it."""

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from generator.errors import CompetitionError
from generator.files import PathOutsideError, WorkspaceFiles, resolve_inside, writing
from generator.text import printable

MARKER = "SPECIMEN.json"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # of a zip archive; so that the same specimen has the same bytes
_IN_ARCHIVE = re.compile(r"(.*?\.zip)/(.*)", re.IGNORECASE)
_LONGEST_NAME, _LONGEST_PATH = 255, 2_000  # bytes


@contextmanager
def stage_folder(folder: Path, files: WorkspaceFiles, *, replace: bool) -> Iterator[Path]:
    """Gives an empty folder to be filled, which becomes `folder` at the end if nothing went wrong.

    Args:
        folder: Where the specimen belongs.
        files: The way to write there.
        replace: Whether a specimen that is there is replaced; anything else never is.

    Raises:
        CompetitionError: There is a specimen, and it is not to be replaced; or something else.
        FileWriteError: The folder could not be written; what was there before is untouched.
        UnsafePlaceError: There is a link on the way to it.
    """
    with writing(folder):
        _check_free(folder, replace=replace)
        files.make_folder(folder.parent)
        with files.beside(folder) as stage:
            content = stage / "new"
            content.mkdir()
            yield content
            _swap(content, folder, stage / "old", files)


def _swap(content: Path, folder: Path, old: Path, files: WorkspaceFiles) -> None:
    """Puts the new folder where the old one is, which comes back if that fails."""
    if folder.exists():
        files.move(folder, old)
    try:
        files.move(content, folder)
    except OSError:
        if old.exists():
            files.move(old, folder)
        raise


def _check_free(folder: Path, *, replace: bool) -> None:
    is_empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if is_empty and not folder.is_symlink():
        return
    if folder.is_symlink() or not (folder / MARKER).is_file():
        raise CompetitionError(
            f"{printable(str(folder))} is not empty and no specimen, and was left alone; "
            "write the specimen elsewhere: --output DIR."
        )
    if not replace:
        raise CompetitionError(f"There is a specimen in {printable(str(folder))} already; write it again with --force.")


@dataclass
class Writer:
    """Writes files below a folder, by the paths of a survey, and skips those that cannot be files there.

    Attributes:
        root: The folder.
        notes: Sentences on what was skipped.
        files: How many files were written, by the folder of the survey that they are in.
    """

    root: Path
    notes: list[str] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    _archives: dict[str, zipfile.ZipFile] = field(default_factory=dict, init=False)
    _written_paths: set[str] = field(default_factory=set, init=False)

    def close(self) -> None:
        """Completes the archives."""
        for archive in self._archives.values():
            archive.close()

    def write(self, path: str, content: bytes, *, is_archived: bool = False) -> bool:
        """Writes one file, unless it is there or cannot be.

        Args:
            path: Relative, with `/`; a member of an archive is `archive.zip/member`.
            content: All of it.
            is_archived: Whether the first part of the path that ends in `.zip` is an archive.

        Returns:
            Whether it was written.
        """
        if not _is_usable(path) or path == MARKER:
            self.skip(path, "cannot be the name of a file here")
            return False
        if path in self._written_paths:
            return False
        archive_match = _IN_ARCHIVE.fullmatch(path) if is_archived else None
        try:
            if archive_match is not None:
                self._archive(archive_match[1]).writestr(_member(archive_match[2]), content)
            else:
                file = resolve_inside(self.root / path, root=self.root)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        except (PathOutsideError, NotADirectoryError, FileExistsError, IsADirectoryError, UnicodeError):
            self.skip(path, "cannot be the name of a file here")
            return False
        self._written_paths.add(path)
        self.files[path.rpartition("/")[0]] += 1
        return True

    def skip(self, path: str, reason: str) -> None:
        """Notes that a file was not written; `reason` is a predicate."""
        self.note(f"{printable(path[:200])} {reason} and was left out.")

    def note(self, sentence: str) -> None:
        """Notes something once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def _archive(self, path: str) -> zipfile.ZipFile:
        if path not in self._archives:
            file = resolve_inside(self.root / path, root=self.root)
            file.parent.mkdir(parents=True, exist_ok=True)
            self._archives[path] = zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED)
        return self._archives[path]


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _EARLIEST)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member


def _is_usable(path: str) -> bool:
    """True if a path is relative, stays inside, and has only names that file systems take."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return False
    parts = path.split("/")
    has_odd_name = any(
        part in ("", ".", "..") or len(part.encode()) > _LONGEST_NAME or part != part.strip() or "\\" in part
        for part in parts
    )
    return size <= _LONGEST_PATH and not has_odd_name and path.isprintable() and ":" not in parts[0]
