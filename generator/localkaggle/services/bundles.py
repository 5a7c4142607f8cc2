"""The files of versions of datasets and models: taken from uploads, laid out in folders, listed and packed."""

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from generator.localkaggle.rpc import ApiError, Call, Fields
from generator.localkaggle.services.archives import Budget, Member, Room, pack_tar_gz, pack_zip, stem_of_archive, unpack
from generator.localkaggle.services.bundle_names import BundleRefusedError, checked_name
from generator.localkaggle.site import Blob, Uploads

_MOST_AT_THE_TOP = 50
_MOST_LOOSE = 1_000
_DEEPEST = 20
_STAGING = ".staging-"
_ZIP, _TAR = _PACKED = (".zip", ".tar.gz")


@dataclass(frozen=True)
class BundleFile:
    """A file of a version: `name` is its relative POSIX path."""

    name: str
    size: int


@dataclass(frozen=True)
class Piece:
    """An upload, and the relative POSIX path that it is to have."""

    name: str
    blob: Blob


def pieces_of(call: Call, uploads: Uploads) -> tuple[Piece, ...]:
    """The uploads that `files` and the nested `directories` of a creation name.

    Raises:
        ApiError: 400, the request is not built as it should be, or an upload is not whole.
        BundleRefusedError: There are none, too many, or two of one name.
    """
    top = _objects(call.fields, "files")
    if len(top) > _MOST_AT_THE_TOP:
        why = f"is one of {len(top)} files at the top, of which a version has at most {_MOST_AT_THE_TOP}; zip them"
        raise BundleRefusedError(name=_taken(top[-1], call, uploads).name, why=why)
    pieces = tuple(_walked(call, uploads, fields=call.fields, prefix=""))
    if not pieces:
        raise BundleRefusedError(name=".", why="has no files; upload at least one")
    names = sorted(piece.name for piece in pieces)
    for name, following in pairwise(names):
        if name == following:
            raise BundleRefusedError(name=name, why="is there twice; give each file a name of its own")
    return pieces


def files_in(folder: Path) -> tuple[BundleFile, ...]:
    """Every file below a folder, by name."""
    found = (path for path in folder.rglob("*") if path.is_file())
    files = (BundleFile(path.relative_to(folder).as_posix(), path.stat().st_size) for path in found)
    return tuple(sorted(files, key=lambda file: file.name))


def file_in(folder: Path, name: str) -> Path:
    """One file below a folder.

    Raises:
        ApiError: 404, there is none of that name.
    """
    try:
        path = folder / checked_name(name)
    except BundleRefusedError as error:
        raise ApiError(404, f"There is no file {error}") from error
    if not path.is_file():
        raise ApiError(404, f"There is no file {name!r} in this version.")
    return path


class Shelf:
    """A folder of versions: `ITEM/VERSION/` holds the files of one, and archives of it are made beside it, once."""

    def __init__(self, root: Path, *, room: Room | None = None) -> None:
        self._root = root
        self._room = room or Room()
        self._packing = threading.Lock()

    def folder(self, item: int, version: int) -> Path:
        """The folder of a version; its name is the version."""
        return self._root / str(item) / str(version)

    @contextmanager
    def staged(self, pieces: Iterable[Piece]) -> Iterator[Path]:
        """Lays the files out where nobody looks, archives unpacked; what is not kept by the end is removed.

        An archive that comes alone is unpacked to the top, one among other files to a folder of its name: so do
        folders that the official client zips arrive as folders.

        Raises:
            BundleRefusedError: An archive holds what it should not, or a name is taken twice.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self._root))
        try:
            files = staging / "files"
            files.mkdir(mode=0o755)
            self._lay_out(tuple(pieces), files)
            yield files
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def keep(self, staged: Path, item: int, version: int) -> None:
        """Makes staged files those of a version, which nobody knows of yet."""
        folder = self.folder(item, version)
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
            item, version = folder.parent.name, folder.name
            if item.isdecimal() and version.isdecimal() and (int(item), int(version)) not in known:
                self._remove(folder)

    def zipped(self, item: int, version: int, *, moment: datetime) -> Path:
        """All files of a version as a zip."""
        return self._packed(item, version, _ZIP, pack_zip, moment)

    def tarred(self, item: int, version: int, *, moment: datetime) -> Path:
        """All files of a version as a compressed tar."""
        return self._packed(item, version, _TAR, pack_tar_gz, moment)

    def _packed(
        self, item: int, version: int, suffix: str, pack: Callable[[Iterable[Member], Path], None], moment: datetime
    ) -> Path:
        folder = self.folder(item, version)
        target = folder.with_name(f"{version}{suffix}")
        with self._packing:
            if not target.exists():
                pack((Member(file.name, folder / file.name, moment) for file in files_in(folder)), target)
        return target

    def _remove(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        for suffix in _PACKED:
            folder.with_name(folder.name + suffix).unlink(missing_ok=True)

    def _lay_out(self, pieces: tuple[Piece, ...], files: Path) -> None:
        for piece in pieces:
            stem = stem_of_archive(piece.name)
            if stem is not None and self._unpacked(piece, files, "" if len(pieces) == 1 else stem):
                continue
            target = files / piece.name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with piece.blob.path.open("rb") as source, target.open("xb") as sink:
                    Budget(piece.name, self._room, files).copy(source, sink)
            except (FileExistsError, NotADirectoryError) as error:
                raise BundleRefusedError(name=piece.name, why="has the name of a folder; rename it") from error

    def _unpacked(self, piece: Piece, files: Path, place: str) -> bool:
        aside = files.with_name("unpacked")
        if not unpack(piece.blob.path, piece.name, aside, self._room):
            return False
        target = files / place
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Puts a folder in the place of an empty one or of none.
            aside.rename(target)
        except OSError as error:
            raise BundleRefusedError(name=piece.name, why="unpacks to a name that is taken; rename it") from error
        return True


def _walked(call: Call, uploads: Uploads, *, fields: Mapping[str, Any], prefix: str) -> Iterator[Piece]:
    if prefix.count("/") > _DEEPEST:
        raise BundleRefusedError(name=prefix[:80], why=f"is more than {_DEEPEST} folders deep; zip it")
    for count, file in enumerate(_objects(fields, "files")):
        if count >= _MOST_LOOSE:
            raise BundleRefusedError(name=prefix, why=f"has more than {_MOST_LOOSE} loose files; zip them")
        blob = _taken(file, call, uploads)
        yield Piece(checked_name(prefix + blob.name), blob)
    for directory in _objects(fields, "directories"):
        name = directory.get("name")
        if not isinstance(name, str) or "/" in name:
            raise ApiError(400, "A directory has no name")
        yield from _walked(call, uploads, fields=directory, prefix=f"{checked_name(prefix + name)}/")


def _taken(file: Fields, call: Call, uploads: Uploads) -> Blob:
    token = file.get("token")
    if not isinstance(token, str):
        raise ApiError(400, "A file has no token")
    return uploads.take(token, owner=call.caller)


def _objects(fields: Mapping[str, Any], name: str) -> list[Fields]:
    value = fields.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ApiError(400, f"{name} is not a list of objects")
    return value
