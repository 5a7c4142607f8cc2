"""Datasets and models with their versions: records and files."""

import json
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from generator.localkaggle.rpc import ApiCall, ApiError, Fields, Redirect, StoredFile
from generator.localkaggle.services.files import (
    Blob,
    Blobs,
    ExtractionBudget,
    ExtractionLimits,
    ServiceContext,
    pack_tar_gz,
    pack_zip,
    stem_of_archive,
    unpack_upload,
)
from generator.localkaggle.storage import InvalidFileError, ListedFile, checked_name, insert
from generator.text import quote_text

# The files of versions of datasets and models: taken from uploads, laid out in folders, listed and packed.


_MOST_AT_THE_TOP = 50
_MOST_LOOSE = 1_000
_DEEPEST = 20
_STAGING = ".staging-"
_PACKERS = {".zip": pack_zip, ".tar.gz": pack_tar_gz}
_LIMITS = ExtractionLimits()


def uploaded_files(call: ApiCall, uploads: Blobs) -> tuple[Blob, ...]:
    """The uploads that `files` and the nested `directories` of a creation name, each by its relative POSIX path.

    Raises:
        ApiError: 400, the request is not built as it should be, or an upload is not whole.
        InvalidFileError: There are none, too many, or two of one name.
    """
    top = _objects(call.fields, "files")
    if len(top) > _MOST_AT_THE_TOP:
        reason = f"is one of {len(top)} files at the top, of which a version has at most {_MOST_AT_THE_TOP}; zip them"
        raise InvalidFileError(name=_upload(top[-1], call, uploads).name, reason=reason)
    files = tuple(_uploads_below(call, uploads, fields=call.fields, prefix=""))
    if not files:
        raise InvalidFileError(name=".", reason="has no files; upload at least one")
    for name, following in pairwise(sorted(file.name for file in files)):
        if name == following:
            raise InvalidFileError(name=name, reason="is there twice; give each file a name of its own")
    return files


def files_in(folder: Path, *, write_time: datetime) -> list[ListedFile]:
    """Every file below a folder by name, with the date of the version that it belongs to."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    files = (ListedFile(path.relative_to(folder).as_posix(), path, path.stat().st_size, write_time) for path in paths)
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
    def stage(self, files: Sequence[Blob]) -> Iterator[Path]:
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
                if stem is None or not _unpack(file, folder, stem if len(files) > 1 else ""):
                    _copy_upload(file, folder)
            yield folder
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def keep(self, source: Path, variation: int, number: int) -> None:
        """Makes staged files those of a version, which nobody knows of yet."""
        folder = self.folder(variation, number)
        folder.parent.mkdir(exist_ok=True)
        # Only a version that was never written down can have left files under this number.
        self._remove(folder)
        source.rename(folder)

    def sweep(self, versions: "set[tuple[int, int]]") -> None:
        """Removes the files of versions that are deleted, and what a killed server left half made.

        Deleted versions keep their files until then, because a session may still have them mounted. What is not named
        as things here are named is somebody else's and stays.
        """
        for staging in self._root.glob(f"{_STAGING}*"):
            shutil.rmtree(staging, ignore_errors=True)
        for folder in self._root.glob("*/*/"):
            variation, number = folder.parent.name, folder.name
            if variation.isdecimal() and number.isdecimal() and (int(variation), int(number)) not in versions:
                self._remove(folder)

    def archive(self, folder: Path, *, write_time: datetime) -> Path:
        """All files of a version's folder in one, packed when it is first asked for."""
        target = folder.with_name(folder.name + self._archive)
        with self._packing:
            if not target.exists():
                _PACKERS[self._archive](files_in(folder, write_time=write_time), target)
        return target

    def _remove(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_name(folder.name + self._archive).unlink(missing_ok=True)


def _copy_upload(file: Blob, folder: Path) -> None:
    target = folder / file.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with file.path.open("rb") as source, target.open("xb") as sink:
            ExtractionBudget(file.name, _LIMITS, folder).copy(source, sink)
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidFileError(name=file.name, reason="has the name of a folder; rename it") from error


def _unpack(file: Blob, folder: Path, place: str) -> bool:
    """Unpacks an upload to a place below the folder; False if it is no archive, whatever its name says."""
    aside = folder.with_name("unpacked")
    if not unpack_upload(file.path, file.name, aside, _LIMITS):
        return False
    target = folder / place
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Puts a folder in the place of an empty one or of none.
        aside.rename(target)
    except OSError as error:
        raise InvalidFileError(name=file.name, reason="unpacks to a name that is taken; rename it") from error
    return True


def _uploads_below(call: ApiCall, uploads: Blobs, *, fields: Mapping[str, Any], prefix: str) -> Iterator[Blob]:
    if prefix.count("/") > _DEEPEST:
        raise InvalidFileError(name=prefix[:80], reason=f"is more than {_DEEPEST} folders deep; zip it")
    for count, file in enumerate(_objects(fields, "files")):
        if count >= _MOST_LOOSE:
            raise InvalidFileError(name=prefix, reason=f"has more than {_MOST_LOOSE} loose files; zip them")
        blob = _upload(file, call, uploads)
        yield replace(blob, name=checked_name(prefix + blob.name))
    for directory in _objects(fields, "directories"):
        name = directory.get("name")
        if not isinstance(name, str) or "/" in name:
            raise ApiError(400, "A directory has no name")
        yield from _uploads_below(call, uploads, fields=directory, prefix=f"{checked_name(prefix + name)}/")


def _upload(file: Fields, call: ApiCall, uploads: Blobs) -> Blob:
    token = file.get("token")
    if not isinstance(token, str):
        raise ApiError(400, "A file has no token")
    return uploads.take(token, owner=call.caller)


def _objects(fields: Mapping[str, Any], name: str) -> list[Fields]:
    value = fields.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ApiError(400, f"{name} is not a list of objects")
    return value


# Datasets and models with their versions: what is said of them in the database, their files in `VersionFiles`.
#
# An item is a dataset or a model. A model has variations, and each of them versions; a dataset is an item with one
# variation that has no name.


SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, owner TEXT NOT NULL, slug TEXT NOT NULL,
    created TEXT NOT NULL, facts TEXT NOT NULL, UNIQUE (kind, owner, slug)
);
CREATE TABLE IF NOT EXISTS item_variations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    framework TEXT NOT NULL, slug TEXT NOT NULL, facts TEXT NOT NULL, versions_made INTEGER NOT NULL DEFAULT 0,
    UNIQUE (item, framework, slug)
);
CREATE TABLE IF NOT EXISTS item_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, variation INTEGER NOT NULL REFERENCES item_variations (id) ON DELETE CASCADE,
    number INTEGER NOT NULL, created TEXT NOT NULL, notes TEXT NOT NULL, size INTEGER NOT NULL,
    failed INTEGER NOT NULL, ready_at TEXT NOT NULL, polls_left INTEGER NOT NULL, UNIQUE (variation, number)
);
"""

Facts = Mapping[str, Any]
"""The checked description of an item or a variation by its owner, by the names of the API."""


class VersionState(StrEnum):
    """The state of a version, in the names of Kaggle's `DatabundleVersionStatus`."""

    PREPARING = "BLOBS_RECEIVED"
    READY = "READY"
    FAILED = "FAILED"


@dataclass(frozen=True)
class Processing:
    """The processing of a new version: it fails, or takes until it is asked about `polls` times or `wait` is over.

    Counting polls as well as seconds lets a patient client see a slow version at once, and no faster than that.
    """

    fails: bool = False
    polls: int = 0
    wait: timedelta = timedelta(0)


@dataclass(frozen=True)
class Item:
    """A dataset or a model; `id` is its own for ever, also where another one gets its name later."""

    id: int
    owner: str
    slug: str
    created: datetime
    facts: Facts

    @property
    def ref(self) -> str:
        """The name in sources and addresses: `owner/slug`."""
        return f"{self.owner}/{self.slug}"

    def is_visible_to(self, account: str) -> bool:
        """True if an account may see it."""
        return self.owner == account or not self.facts["isPrivate"]


@dataclass(frozen=True)
class ModelVariation:
    """A variation of a model for one framework, which is named as in handles (`pyTorch`)."""

    id: int
    item: Item
    framework: str = ""
    slug: str = ""
    facts: Facts = field(default_factory=dict)

    @property
    def ref(self) -> str:
        """`owner/model/framework/variation`."""
        return f"{self.item.ref}/{self.framework}/{self.slug}"


@dataclass(frozen=True)
class Version:
    """A version of the variation with this id; `folder` is named by its number, `size` that of all files in it."""

    id: int
    variation: int
    number: int
    created: datetime
    notes: str
    size: int
    state: VersionState
    folder: Path

    @property
    def files(self) -> list[ListedFile]:
        """Its files by name."""
        return files_in(self.folder, write_time=self.created)


_TABLES = {Item: "items", ModelVariation: "item_variations", Version: "item_versions"}


class VersionStore:
    """The items of one kind, `dataset` or `model`, with their variations and versions."""

    def __init__(self, site: ServiceContext, kind: str, *, archive: str) -> None:
        """Opens the store, and removes the files of versions that are deleted.

        Args:
            site: The local Kaggle.
            kind: The kind of the items.
            archive: The suffix of the archives in which versions are downloaded.
        """
        self._database = site.database
        self._clock = site.clock
        self._kind = kind
        self._files = VersionFiles(site.root / f"{kind}-versions", archive=archive)
        rows = self._database.fetch_all(
            "SELECT r.variation, r.number FROM item_versions r JOIN item_variations v ON v.id = r.variation "
            "JOIN items i ON i.id = v.item WHERE i.kind = ?",
            (kind,),
        )
        self._files.sweep({(row["variation"], row["number"]) for row in rows})

    def items(self, **columns: object) -> list[Item]:
        """The items that have these values in these columns, the newest first."""
        condition = " AND ".join(f"{name} = ?" for name in ("kind", *columns))
        query = f"SELECT * FROM items WHERE {condition} ORDER BY id DESC"  # noqa: S608 - names of columns only
        return self._database.records(Item, query, (self._kind, *columns.values()))

    def find(self, **columns: object) -> Item | None:
        """The item that has these values, such as its `id` or its `owner` and `slug`."""
        return next(iter(self.items(**columns)), None)

    def variations(self, item: Item) -> list[ModelVariation]:
        """Every variation of an item, in the order of making."""
        rows = self._database.fetch_all("SELECT * FROM item_variations WHERE item = ? ORDER BY id", (item.id,))
        return [
            ModelVariation(row["id"], item, row["framework"], row["slug"], json.loads(row["facts"])) for row in rows
        ]

    def variation(self, item: Item, framework: str = "", slug: str = "") -> ModelVariation | None:
        """A variation by its name, if there is one."""
        matches = (
            candidate
            for candidate in self.variations(item)
            if (candidate.framework, candidate.slug) == (framework, slug)
        )
        return next(matches, None)

    def versions(self, variation: ModelVariation) -> list[Version]:
        """Every version of a variation, the newest first; a variation may have lost all of them."""
        query = "SELECT * FROM item_versions WHERE variation = ? ORDER BY number DESC"
        return [self._version(row) for row in self._database.fetch_all(query, (variation.id,))]

    def archive(self, version: Version) -> Path:
        """All files of a version in one."""
        return self._files.archive(version.folder, write_time=version.created)

    def create(self, owner: str, slug: str, facts: Facts) -> int:
        """Makes an item without variations and returns its id; 0 if the name is taken."""
        with self._database.transaction() as connection:
            return self._insert_item(connection, self.new_item(owner, slug, facts))

    def new_item(self, owner: str, slug: str, facts: Facts) -> Item:
        """An item that is not in the database yet."""
        return Item(0, owner, slug, self._clock.now(), facts)

    def add(
        self, variation: ModelVariation, files: Sequence[Blob], *, notes: str = "", processing: Processing | None = None
    ) -> Version | None:
        """Makes the next version of a variation out of uploads: all of it or nothing.

        A variation without an id is made first, and so is its item; None if there is one of that name already.

        Raises:
            InvalidFileError: The files cannot become a version.
        """
        with self._files.stage(files) as folder, self._database.transaction() as connection:
            item = variation.item.id or self._insert_item(connection, variation.item)
            number = item and (variation.id or _insert_variation(connection, item, variation))
            if not number:
                return None
            return self._insert(connection, number, folder, notes=notes, processing=processing or Processing())

    def change(self, record: Item | ModelVariation, changes: Facts) -> None:
        """Replaces some of what is said of an item or a variation."""
        statement = f"UPDATE {_TABLES[type(record)]} SET facts = ? WHERE id = ?"  # noqa: S608 - a table's name
        self._database.run(statement, (json.dumps({**record.facts, **changes}), record.id))

    def delete(self, record: Item | ModelVariation | Version) -> None:
        """Deletes something with all that belongs to it; its name is free again, the number of a version is not."""
        statement = f"DELETE FROM {_TABLES[type(record)]} WHERE id = ?"  # noqa: S608 - a table's name
        self._database.run(statement, (record.id,))

    def count_poll(self, variation: ModelVariation) -> None:
        """Notes that somebody asked whether the newest version is ready."""
        self._database.run(
            "UPDATE item_versions SET polls_left = polls_left - 1 WHERE variation = ? AND polls_left > 0",
            (variation.id,),
        )

    def _insert_item(self, connection: Any, item: Item) -> int:
        values = {"owner": item.owner, "slug": item.slug, "created": item.created.isoformat()}
        return insert(connection, "items", kind=self._kind, facts=json.dumps(dict(item.facts)), **values)

    def _insert(self, connection: Any, variation: int, folder: Path, *, notes: str, processing: Processing) -> Version:
        now = self._clock.now()
        connection.execute("UPDATE item_variations SET versions_made = versions_made + 1 WHERE id = ?", (variation,))
        query = "SELECT versions_made FROM item_variations WHERE id = ?"
        number = int(connection.execute(query, (variation,)).fetchone()[0])
        row_id = insert(
            connection,
            "item_versions",
            variation=variation,
            number=number,
            created=now.isoformat(),
            notes=notes,
            size=sum(file.size for file in files_in(folder, write_time=now)),
            failed=processing.fails,
            ready_at=(now + processing.wait).isoformat(),
            polls_left=processing.polls,
        )
        self._files.keep(folder, variation, number)
        return self._version(connection.execute("SELECT * FROM item_versions WHERE id = ?", (row_id,)).fetchone())

    def _version(self, row: Any) -> Version:
        is_slow = row["polls_left"] > 0 and datetime.fromisoformat(row["ready_at"]) > self._clock.now()
        return Version(
            id=row["id"],
            variation=row["variation"],
            number=row["number"],
            created=datetime.fromisoformat(row["created"]),
            notes=row["notes"],
            size=row["size"],
            state=VersionState.PREPARING if is_slow else VersionState.FAILED if row["failed"] else VersionState.READY,
            folder=self._files.folder(row["variation"], row["number"]),
        )


def _insert_variation(connection: Any, item: int, variation: ModelVariation) -> int:
    values = {"framework": variation.framework, "slug": variation.slug, "facts": json.dumps(dict(variation.facts))}
    return insert(connection, "item_variations", item=item, **values)


# The part of the API in which datasets and models are alike: found, checked, searched, downloaded, mounted.


class Library:
    """The items of one kind of one local Kaggle; `ARCHIVE` is the file that all of a version is downloaded as."""

    SCHEMA: ClassVar[str] = SCHEMA
    KIND: ClassVar[str]
    ARCHIVE: ClassVar[str]
    ARCHIVE_TYPE: ClassVar[str]

    def __init__(self, site: ServiceContext) -> None:
        self._site = site
        self._store = VersionStore(site, self.KIND, archive=f".{self.ARCHIVE.partition('.')[2]}")

    def _find(self, owner: str, slug: str) -> Item | None:
        return self._store.find(owner=owner, slug=slug)

    def _require_item(self, call: ApiCall) -> Item:
        """The item that a call names.

        Raises:
            ApiError: 404 if there is none, 403 if it is private and somebody else's.
        """
        owner, slug = call.text("ownerSlug"), call.text(f"{self.KIND}Slug")
        item = self._find(owner, slug)
        if item is None:
            raise ApiError(404, f"There is no {self.KIND} {quote_text(f'{owner}/{slug}')}.")
        return self._visible(call, item)

    def _visible(self, call: ApiCall, item: Item) -> Item:
        if not item.is_visible_to(call.caller):
            raise ApiError(403, f"Permission '{self.KIND}s.get' was denied")
        return item

    def _require_owner(self, call: ApiCall, owner: str, *, doing: str) -> None:
        if owner != call.caller:
            raise ApiError(403, f"You ({call.caller}) may not {doing} {quote_text(owner)}.")

    def _search(self, call: ApiCall, *, owner: str) -> list[Item]:
        """The items that a call searches for: those of an owner, or of all if none is named."""
        search = call.text("search").lower()
        return [
            item
            for item in self._store.items()
            if item.is_visible_to(call.caller)
            and search in f"{item.slug} {item.facts['title']}".lower()
            and owner in ("", item.owner)
        ]

    def _ready(self, variation: ModelVariation | None, number: str = "") -> Version | None:
        """The version of this number, or the newest; None if there is none that is ready."""
        versions = self._store.versions(variation) if variation is not None else []
        ready = (version for version in versions if version.state is VersionState.READY)
        return next((version for version in ready if number in ("", str(version.number))), None)

    def _folder(self, item: Item | None, variation: tuple[str, str], number: str, *, account: str) -> Path | None:
        """The folder of a version; None if there is none, or the account, if one is given, may not see it."""
        if item is None or (account and not item.is_visible_to(account)):
            return None
        version = self._ready(self._store.variation(item, *variation), number)
        return version.folder if version is not None else None

    def _download_of(self, call: ApiCall, version: Version, name: str) -> Redirect:
        """The way to one file of a version, or to an archive of all."""
        if name:
            path = file_in(version.folder, name)
            stored_file = StoredFile(path, path.name)
        else:
            stored_file = StoredFile(self._store.archive(version), self.ARCHIVE, self.ARCHIVE_TYPE)
        return Redirect(self._site.tickets.download(call, stored_file))
