"""The files of versions of datasets and models: taken from uploads, laid out in folders, listed and packed."""

import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from generator.localkaggle.file_names import InvalidFileError, ListedFile, checked_name
from generator.localkaggle.rpc import ApiError, Call, Fields
from generator.localkaggle.services.archives import (
    Budget,
    ExtractionLimits,
    pack_tar_gz,
    pack_zip,
    stem_of_archive,
    unpack,
)
from generator.localkaggle.services.blobs import Blob, Blobs

_MOST_AT_THE_TOP = 50
_MOST_LOOSE = 1_000
_DEEPEST = 20
_STAGING = ".staging-"
_PACKED = {".zip": pack_zip, ".tar.gz": pack_tar_gz}
_LIMITS = ExtractionLimits()


def uploaded_files(call: Call, uploads: Blobs) -> tuple[Blob, ...]:
    """The uploads that `files` and the nested `directories` of a creation name, each by its relative POSIX path.

    Raises:
        ApiError: 400, the request is not built as it should be, or an upload is not whole.
        InvalidFileError: There are none, too many, or two of one name.
    """
    top = _objects(call.fields, "files")
    if len(top) > _MOST_AT_THE_TOP:
        why = f"is one of {len(top)} files at the top, of which a version has at most {_MOST_AT_THE_TOP}; zip them"
        raise InvalidFileError(name=_upload(top[-1], call, uploads).name, why=why)
    files = tuple(_uploads_below(call, uploads, fields=call.fields, prefix=""))
    if not files:
        raise InvalidFileError(name=".", why="has no files; upload at least one")
    for name, following in pairwise(sorted(file.name for file in files)):
        if name == following:
            raise InvalidFileError(name=name, why="is there twice; give each file a name of its own")
    return files


def files_in(folder: Path, *, written: datetime) -> list[ListedFile]:
    """Every file below a folder by name, with the date of the version that it belongs to."""
    found = (path for path in folder.rglob("*") if path.is_file())
    files = (ListedFile(path.relative_to(folder).as_posix(), path, path.stat().st_size, written) for path in found)
    return sorted(files, key=lambda file: file.name)


def file_in(folder: Path, name: str) -> Path:
    """One file below a folder.

    Raises:
        ApiError: 404, there is none of that name.
    """
    try:
        path = folder / checked_name(name)
    except InvalidFileError as error:
        raise ApiError(404, f"There is no file {error}") from error
    if not path.is_file():
        raise ApiError(404, f"There is no file {name!r} in this version.")
    return path


class VersionFiles:
    """A folder of versions: `VARIATION/NUMBER/` has the files of one, and an archive of it is made beside it, once."""

    def __init__(self, root: Path, *, archive: str) -> None:
        """Makes nothing yet.

        Args:
            root: The folder.
            archive: The suffix of archives: `.zip` or `.tar.gz`.
        """
        self._root = root
        self._archive = archive
        self._packing = threading.Lock()

    def folder(self, variation: int, number: int) -> Path:
        """The folder of a version; its name is the version's number."""
        return self._root / str(variation) / str(number)

    @contextmanager
    def staged(self, files: Sequence[Blob]) -> Iterator[Path]:
        """Lays the files out where nobody looks, archives unpacked; what is not kept by the end is removed.

        An archive that comes alone is unpacked to the top, one among other files to a folder of its name: so do
        folders that the official client zips arrive as folders.

        Raises:
            InvalidFileError: An archive holds what it should not, or a name is taken twice.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self._root))
        try:
            folder = staging / "files"
            folder.mkdir(mode=0o755)
            for file in files:
                stem = stem_of_archive(file.name)
                if stem is None or not _unpacked(file, folder, stem if len(files) > 1 else ""):
                    _copied(file, folder)
            yield folder
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def keep(self, staged: Path, variation: int, number: int) -> None:
        """Makes staged files those of a version, which nobody knows of yet."""
        folder = self.folder(variation, number)
        folder.parent.mkdir(exist_ok=True)
        # Only a version that was never written down can have left files under this number.
        self._remove(folder)
        staged.rename(folder)

    def sweep(self, known: "set[tuple[int, int]]") -> None:
        """Removes the files of versions that are deleted, and what a killed server left half made.

        Deleted versions keep their files until then, because a session may still have them mounted. What is not named
        as things here are named is somebody else's and stays.
        """
        for staging in self._root.glob(f"{_STAGING}*"):
            shutil.rmtree(staging, ignore_errors=True)
        for folder in self._root.glob("*/*/"):
            variation, number = folder.parent.name, folder.name
            if variation.isdecimal() and number.isdecimal() and (int(variation), int(number)) not in known:
                self._remove(folder)

    def archive(self, folder: Path, *, written: datetime) -> Path:
        """All files of a version's folder in one, packed when it is first asked for."""
        target = folder.with_name(folder.name + self._archive)
        with self._packing:
            if not target.exists():
                _PACKED[self._archive](files_in(folder, written=written), target)
        return target

    def _remove(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_name(folder.name + self._archive).unlink(missing_ok=True)


def _copied(file: Blob, folder: Path) -> None:
    target = folder / file.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with file.path.open("rb") as source, target.open("xb") as sink:
            Budget(file.name, _LIMITS, folder).copy(source, sink)
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidFileError(name=file.name, why="has the name of a folder; rename it") from error


def _unpacked(file: Blob, folder: Path, place: str) -> bool:
    """Unpacks an upload to a place below the folder; False if it is no archive, whatever its name says."""
    aside = folder.with_name("unpacked")
    if not unpack(file.path, file.name, aside, _LIMITS):
        return False
    target = folder / place
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Puts a folder in the place of an empty one or of none.
        aside.rename(target)
    except OSError as error:
        raise InvalidFileError(name=file.name, why="unpacks to a name that is taken; rename it") from error
    return True


def _uploads_below(call: Call, uploads: Blobs, *, fields: Mapping[str, Any], prefix: str) -> Iterator[Blob]:
    if prefix.count("/") > _DEEPEST:
        raise InvalidFileError(name=prefix[:80], why=f"is more than {_DEEPEST} folders deep; zip it")
    for count, file in enumerate(_objects(fields, "files")):
        if count >= _MOST_LOOSE:
            raise InvalidFileError(name=prefix, why=f"has more than {_MOST_LOOSE} loose files; zip them")
        blob = _upload(file, call, uploads)
        yield replace(blob, name=checked_name(prefix + blob.name))
    for directory in _objects(fields, "directories"):
        name = directory.get("name")
        if not isinstance(name, str) or "/" in name:
            raise ApiError(400, "A directory has no name")
        yield from _uploads_below(call, uploads, fields=directory, prefix=f"{checked_name(prefix + name)}/")


def _upload(file: Fields, call: Call, uploads: Blobs) -> Blob:
    token = file.get("token")
    if not isinstance(token, str):
        raise ApiError(400, "A file has no token")
    return uploads.take(token, owner=call.caller)


def _objects(fields: Mapping[str, Any], name: str) -> list[Fields]:
    value = fields.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ApiError(400, f"{name} is not a list of objects")
    return value
