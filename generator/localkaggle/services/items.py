"""The API of datasets and of models."""

import json
import re
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

from generator.localkaggle import storage as file_listing
from generator.localkaggle.rpc import Answer, ApiCall, ApiError, Fields, Methods, Redirect, StoredFile, as_wire, page
from generator.localkaggle.storage import (
    Blob,
    Blobs,
    ExtractionBudget,
    ExtractionLimits,
    InvalidFileError,
    ListedFile,
    ServiceContext,
    checked_name,
    insert,
    pack_tar_gz,
    pack_zip,
    stem_of_archive,
    unpack_upload,
)
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


# The API of datasets: created, versioned, listed, downloaded, deleted; and mounted into sessions.


_DATASET_SERVICE = "datasets.DatasetApiService"
_SHORTEST, _LONGEST_DATASET_TITLE = 6, 50  # characters of a slug and of a title, as the official client checks them
_SLOW = Processing(polls=3, wait=timedelta(seconds=60))


class Datasets(Library):
    """The datasets of one local Kaggle."""

    KIND, ARCHIVE, ARCHIVE_TYPE = "dataset", "archive.zip", "application/zip"

    def methods(self) -> Methods:
        """The methods of Kaggle's service of datasets."""
        table: Methods = {
            "CreateDataset": self._create,
            "CreateDatasetVersion": lambda call: self._add_version(call, self._require_item(call)),
            "CreateDatasetVersionById": self._create_version_by_id,
            "DeleteDataset": self._delete,
            "DownloadDataset": self._download,
            "DownloadDatasetRaw": self._download,
            "GetDataset": self._get,
            "GetDatasetFilesSummary": lambda call: file_listing.listing_summary(self._version(call).files),
            "GetDatasetMetadata": self._metadata,
            "GetDatasetStatus": self._status,
            "ListDatasetFiles": self._files,
            "ListDatasets": self._list,
            "ListTreeDatasetFiles": self._tree,
            "UpdateDatasetMetadata": self._update,
        }
        return {f"{_DATASET_SERVICE}/{name}": handler for name, handler in table.items()}

    def dataset_folder(self, ref: str, *, account: str = "") -> Path | None:
        """The folder of `owner/slug` (its newest ready version) or `owner/slug/version`; None if there is none.

        With an account, None as well if it is private and somebody else's.
        """
        owner, slug, number = (*ref.replace("/versions/", "/").split("/", 2), "", "")[:3]
        return self._folder(self._find(owner, slug), ("", ""), number, account=account)

    def _find(self, owner: str, slug: str) -> Item | None:
        return super()._find(owner, slug.lower())

    def _create(self, call: ApiCall) -> Answer:
        owner = call.text("ownerSlug") or call.caller
        title = call.text("title")
        slug = (call.text("slug") or re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")).lower()
        self._require_owner(call, owner, doing="create datasets for")
        wrong = _wrong_name("slug", slug) or _wrong_name("title", title)
        if not wrong and not re.fullmatch(r"[a-z0-9]+(?:-+[a-z0-9]+)*", slug):
            wrong = "The dataset slug may have lower-case letters, digits, and hyphens between them"
        if not wrong and self._find(owner, slug) is not None:
            wrong = f'The requested title "{title}" is already in use by a dataset. Please choose another title.'
        if wrong:
            return _dataset_refusal(wrong)
        facts = {
            **{name: call.text(name) for name in ("title", "subtitle", "description")},
            "licenseName": call.text("licenseName") or "unknown",
            "isPrivate": call.flag("isPrivate"),
            "keywords": call.texts("categoryIds"),
        }
        dataset = self._store.new_item(owner, slug, facts)
        try:
            files = uploaded_files(call, self._site.uploads)
            new_version = self._store.add(
                ModelVariation(0, dataset), files, notes="Initial release", processing=self._processing(call)
            )
        except InvalidFileError as error:
            return _dataset_refusal(error.message)
        return (
            _dataset_reference(dataset.ref)
            if new_version
            else _dataset_refusal(f'The slug "{slug}" is already in use by a dataset.')
        )

    def _create_version_by_id(self, call: ApiCall) -> Answer:
        dataset = self._store.find(id=call.integer("id"))
        if dataset is None:
            raise ApiError(404, "There is no dataset of this number.")
        return self._add_version(call, self._visible(call, dataset))

    def _add_version(self, call: ApiCall, dataset: Item) -> Answer:
        self._require_owner(call, dataset.owner, doing="add versions to datasets of")
        body = call.part("body")
        changes: dict[str, Any] = {name: body.text(name) for name in ("subtitle", "description") if body.text(name)}
        try:
            files, notes = uploaded_files(body, self._site.uploads), body.text("versionNotes")
            new_version = self._store.add(
                self._contents(dataset), files, notes=notes, processing=self._processing(call)
            )
        except InvalidFileError as error:
            return _dataset_refusal(error.message)
        if body.texts("categoryIds"):
            changes["keywords"] = body.texts("categoryIds")
        self._store.change(dataset, changes)
        if new_version is not None and body.flag("deleteOldVersions"):
            for version in self._versions(dataset):
                if version.number < new_version.number:
                    self._store.delete(version)
        return _dataset_reference(dataset.ref)

    def _delete(self, call: ApiCall) -> Answer:
        dataset = self._require_item(call)
        self._require_owner(call, dataset.owner, doing="delete datasets of")
        self._store.delete(dataset)
        return {}

    def _status(self, call: ApiCall) -> Answer:
        contents = self._contents(self._require_item(call))
        state = self._store.versions(contents)[0].state
        self._store.count_poll(contents)
        return {"status": state.value}

    def _get(self, call: ApiCall) -> Answer:
        dataset = self._require_item(call)
        versions = [
            {
                "versionNumber": version.number,
                "creationDate": as_wire(version.created),
                "creatorName": dataset.owner,
                "creatorRef": dataset.owner,
                "versionNotes": version.notes,
                "status": version.state.name.capitalize(),
            }
            for version in self._versions(dataset)
        ]
        return {**self._describe(dataset), "versions": versions}

    def _metadata(self, call: ApiCall) -> Answer:
        dataset = self._require_item(call)
        info = {
            **{name: value for name, value in dataset.facts.items() if name != "licenseName"},
            "datasetId": dataset.id,
            "datasetSlug": dataset.slug,
            "ownerUser": dataset.owner,
            "licenses": [{"name": dataset.facts["licenseName"]}],
            "collaborators": [],
            "data": [],
            "totalViews": 0,
            "totalVotes": 0,
            "totalDownloads": 0,
        }
        return {"info": info}

    def _update(self, call: ApiCall) -> Answer:
        dataset = self._require_item(call)
        self._require_owner(call, dataset.owner, doing="change datasets of")
        settings = call.part("settings")
        changes: dict[str, Any] = {name: settings.text(name) for name in ("subtitle", "description")}
        changes["title"] = settings.text("title") or dataset.facts["title"]
        if wrong := _wrong_name("title", changes["title"]):
            return {"errors": [wrong]}
        if "isPrivate" in settings.fields:
            changes["isPrivate"] = settings.flag("isPrivate")
        if settings.texts("keywords"):
            changes["keywords"] = settings.texts("keywords")
        licenses = settings.fields.get("licenses") or []
        if isinstance(licenses, list) and licenses and isinstance(licenses[0], dict):
            changes["licenseName"] = replace(settings, fields=licenses[0]).text("name")
        self._store.change(dataset, changes)
        return {"errors": []}

    def _list(self, call: ApiCall) -> Answer:
        group = call.text("group")
        datasets = [
            self._describe(dataset)
            for dataset in self._search(call, owner=call.text("user"))
            if not (group.endswith("_MY_PUBLIC") and dataset.facts["isPrivate"])
            and not (group.endswith("_MY_PRIVATE") and not dataset.facts["isPrivate"])
        ]
        return page(datasets, call, key="datasets")

    def _files(self, call: ApiCall) -> Answer:
        version = self._version(call)
        creation_date = as_wire(version.created)
        rows: list[Fields] = [
            {
                "ref": file.name,
                "name": file.name,
                "totalBytes": file.size,
                "creationDate": creation_date,
                "fileType": "",
            }
            for file in version.files
        ]
        return page(rows, call, key="datasetFiles")

    def _tree(self, call: ApiCall) -> Answer:
        version = self._version(call)
        return file_listing.tree(version.files, call, creation_date=as_wire(version.created))

    def _download(self, call: ApiCall) -> Answer:
        return self._download_of(call, self._version(call), call.text("fileName"))

    def _contents(self, dataset: Item) -> ModelVariation:
        """The one variation of a dataset, which has its versions."""
        return self._store.variations(dataset)[0]

    def _versions(self, dataset: Item) -> list[Version]:
        return self._store.versions(self._contents(dataset))

    def _version(self, call: ApiCall) -> Version:
        dataset, number = self._require_item(call), call.integer("datasetVersionNumber")
        version = self._ready(self._contents(dataset), str(number or ""))
        if version is None:
            label = f"version {number}" if number else "version"
            raise ApiError(404, f"Dataset {dataset.ref} has no {label} that is ready.")
        return version

    def _describe(self, dataset: Item) -> Fields:
        contents = self._contents(dataset)
        current = self._ready(contents) or self._store.versions(contents)[0]
        return {
            **{name: value for name, value in dataset.facts.items() if name != "keywords"},
            "id": dataset.id,
            "ref": dataset.ref,
            "creatorName": dataset.owner,
            "ownerName": dataset.owner,
            "ownerRef": dataset.owner,
            "totalBytes": current.size,
            "lastUpdated": as_wire(current.created),
            "currentVersionNumber": current.number,
            "url": _dataset_address(dataset.ref),
            "downloadCount": 0,
            "voteCount": 0,
            "usabilityRating": 0.5,
            "versions": [],
            "files": [],
            "tags": [],
        }

    def _processing(self, call: ApiCall) -> Processing:
        is_slow = self._site.faults.strikes("dataset-slow", at=call.method)
        fails = self._site.faults.strikes("dataset-fails", at=call.method)
        return replace(_SLOW if is_slow else Processing(), fails=fails)


def _wrong_name(kind: str, text: str) -> str:
    if _SHORTEST <= len(text) <= _LONGEST_DATASET_TITLE:
        return ""
    return f"The dataset {kind} must be between {_SHORTEST} and {_LONGEST_DATASET_TITLE} characters"


def _dataset_reference(ref: str) -> Fields:
    return {"ref": f"/{ref}", "url": _dataset_address(ref), "status": "Ok", "error": "", "invalidTags": []}


def _dataset_refusal(sentence: str) -> Fields:
    # Kaggle answers 200 here; the clients look at `error`.
    return {"ref": "", "url": "", "status": "error", "error": sentence, "invalidTags": []}


def _dataset_address(ref: str) -> str:
    return f"https://www.kaggle.com/datasets/{ref}"


# The frameworks of models: one name on the wire, another in handles, and both read without regard to case.


_WIRE = "MODEL_FRAMEWORK_"
_WIRE_NAMES = (
    *("TENSOR_FLOW_1", "TENSOR_FLOW_2", "TF_LITE", "TF_JS", "PY_TORCH", "JAX", "FLAX", "PAX", "MAX_TEXT", "GEMMA_CPP"),
    *("GGML", "GGUF", "CORAL", "SCIKIT_LEARN", "MXNET", "ONNX", "KERAS", "TRANSFORMERS", "API", "OTHER"),
    *("TENSOR_RT_LLM", "TRITON", "VLLM"),
)


def _handle(wire_name: str) -> str:
    first, *words = wire_name.lower().split("_")
    return first + "".join(map(str.capitalize, words))


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


_WIRE_NAME_OF = {_handle(name): name for name in _WIRE_NAMES}
_BY_FOLDED = {_fold(name): name for name in _WIRE_NAME_OF}


def framework_named(text: str) -> str | None:
    """The name in handles (`pyTorch`) of what a handle, a metadata file or the wire calls so; None if there is none."""
    return _BY_FOLDED.get(_fold(text.removeprefix(_WIRE)))


def wire_name(framework: str) -> str:
    """The name on the wire (`MODEL_FRAMEWORK_PY_TORCH`) of a framework in a handle (`pyTorch`)."""
    return _WIRE + _WIRE_NAME_OF[framework]


# The API of models: models, their variations and versions, created, listed, downloaded, deleted; and mounted.


_MODEL_SERVICE = "models.ModelApiService"
_LONGEST_SLUG = 50  # characters of a slug
_LONGEST_TITLE = 80
_MODEL_SLUG = re.compile(r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*")
_VARIATION_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CONFLICT, _BAD = 409, 400
_DOING = "change models of"
_MODEL_FACTS = {"title": "", "subtitle": "", "description": "", "provenanceSources": "", "isPrivate": True}
_VARIATION_FACTS = {
    "overview": "",
    "usage": "",
    "licenseName": "Unknown",
    "fineTunable": False,
    "trainingData": [],
    "modelInstanceType": "MODEL_INSTANCE_TYPE_UNSPECIFIED",
    "externalBaseModelUrl": "",
}
_VERSION_FIELDS = ("id", "slug", "framework", "versionNumber", "totalUncompressedBytes")
_TYPES = tuple(
    f"MODEL_INSTANCE_TYPE_{name}" for name in ("UNSPECIFIED", "BASE_MODEL", "KAGGLE_VARIANT", "EXTERNAL_VARIANT")
)


class Models(Library):
    """The models of one local Kaggle."""

    KIND, ARCHIVE, ARCHIVE_TYPE = "model", "model.tar.gz", "application/gzip"

    def methods(self) -> Methods:
        """The methods of Kaggle's service of models."""
        table: Methods = {
            "CreateModel": self._create,
            "CreateModelInstance": self._create_variation,
            "CreateModelInstanceVersion": self._create_version,
            "DeleteModel": self._delete,
            "DeleteModelInstance": self._delete_variation,
            "DeleteModelInstanceVersion": self._delete_version,
            "DownloadModelInstanceVersion": self._download,
            "GetModel": lambda call: self._describe(self._require_item(call)),
            "GetModelInstance": lambda call: self._variation_described(self._variation(call)),
            "ListModelInstanceVersionFiles": self._files,
            "ListModelInstanceVersions": self._list_versions,
            "ListModelInstances": self._list_variations,
            "ListModels": self._list,
            "UpdateModel": self._update,
            "UpdateModelInstance": self._update_variation,
        }
        return {f"{_MODEL_SERVICE}/{name}": handler for name, handler in table.items()}

    def model_folder(self, handle: str, *, account: str = "") -> Path | None:
        """The folder of `owner/model/framework/variation[/version]`, its name the version; None if there is none.

        With an account, None as well if it is private and somebody else's.
        """
        owner, slug, framework, name, number = (*handle.split("/", 4), "", "", "", "", "")[:5]
        variation = framework_named(framework) or "", name
        return self._folder(self._find(owner, slug), variation, number, account=account)

    def _create(self, call: ApiCall) -> Answer:
        owner, slug, title = call.text("ownerSlug") or call.caller, call.text("slug"), call.text("title")
        self._require_owner(call, owner, doing=_DOING)
        if not _MODEL_SLUG.fullmatch(slug) or len(slug) > _LONGEST_SLUG:
            return _model_refusal(
                f"The model slug needs 1 to {_LONGEST_SLUG} letters, digits, and hyphens between them."
            )
        if not 0 < len(title) <= _LONGEST_TITLE:
            return _model_refusal(f"The model title needs 1 to {_LONGEST_TITLE} characters.")
        number = self._store.create(owner, slug, _facts(call, _MODEL_FACTS))
        if not number:
            return _model_refusal(f'The slug "{slug}" is already in use by a model.', code=_CONFLICT)
        return _model_reference(number, f"{owner}/{slug}")

    def _create_variation(self, call: ApiCall) -> Answer:
        model, body = self._require_own(call, self._require_item(call)), call.part("body")
        framework, slug = framework_named(body.text("framework")), body.text("instanceSlug")
        if framework is None:
            return _model_refusal("The framework of the model instance is not known.")
        if not _VARIATION_SLUG.fullmatch(slug) or len(slug) > _LONGEST_SLUG:
            return _model_refusal("The slug of the model instance needs letters, digits, dots, hyphens or underscores.")
        existing = self._store.variation(model, framework, slug)
        if existing is not None:
            return _conflict_refusal(existing)
        return self._add_version(ModelVariation(0, model, framework, slug, _facts(body, _VARIATION_FACTS)), body)

    def _create_version(self, call: ApiCall) -> Answer:
        variation, body = self._variation(call), call.part("body")
        self._require_own(call, variation.item)
        return self._add_version(variation, body)

    def _add_version(self, variation: ModelVariation, body: ApiCall) -> Answer:
        try:
            files, notes = uploaded_files(body, self._site.uploads), body.text("versionNotes")
            new_version = self._store.add(variation, files, notes=notes)
        except InvalidFileError as error:
            return _model_refusal(error.message)
        if new_version is None:
            return _conflict_refusal(variation)
        ref = f"{variation.ref}/{new_version.number}"
        return (
            _model_reference(new_version.id, ref)
            if variation.id
            else _model_reference(new_version.variation, variation.ref, ref)
        )

    def _delete(self, call: ApiCall) -> Answer:
        self._store.delete(self._require_own(call, self._require_item(call)))
        return {"error": ""}

    def _delete_variation(self, call: ApiCall) -> Answer:
        variation = self._variation(call)
        self._require_own(call, variation.item)
        self._store.delete(variation)
        return {"error": ""}

    def _delete_version(self, call: ApiCall) -> Answer:
        variation, version = self._version(call)
        self._require_own(call, variation.item)
        self._store.delete(version)
        return {"error": ""}

    def _update(self, call: ApiCall) -> Answer:
        model = self._require_own(call, self._require_item(call))
        self._store.change(model, _select_facts(call, _MODEL_FACTS))
        return _model_reference(model.id, model.ref)

    def _update_variation(self, call: ApiCall) -> Answer:
        variation = self._variation(call)
        self._require_own(call, variation.item)
        self._store.change(variation, _select_facts(call, _VARIATION_FACTS))
        return _model_reference(variation.id, variation.ref)

    def _list(self, call: ApiCall) -> Answer:
        models = [self._describe(model) for model in self._search(call, owner=call.text("owner"))]
        return {**page(models, call, key="models"), "totalResults": len(models)}

    def _list_variations(self, call: ApiCall) -> Answer:
        variations: list[Fields] = []
        for variation in self._store.variations(self._require_item(call)):
            variation_facts, version = self._variation_described(variation), self._ready(variation)
            fields = {name: variation_facts[name] for name in _VERSION_FIELDS}
            variations.append({**fields, "versionNotes": version.notes if version else ""})
        return page(variations, call, key="instances")

    def _list_versions(self, call: ApiCall) -> Answer:
        variation = self._variation(call)
        versions: list[Fields] = [
            {
                "id": version.id,
                "versionNumber": version.number,
                "variationSlug": variation.slug,
                "modelTitle": variation.item.facts["title"],
                "isPrivate": variation.item.facts["isPrivate"],
            }
            for version in self._store.versions(variation)
        ]
        listing = page(versions, call, key="versions")
        return {"versionList": {"versions": listing["versions"]}, "nextPageToken": listing["nextPageToken"]}

    def _files(self, call: ApiCall) -> Answer:
        _, version = self._version(call)
        creation_date = as_wire(version.created)
        rows: list[Fields] = [
            {"name": file.name, "size": file.size, "creationDate": creation_date} for file in version.files
        ]
        return page(rows, call, key="files")

    def _download(self, call: ApiCall) -> Answer:
        return self._download_of(call, self._version(call)[1], call.text("path"))

    def _require_own(self, call: ApiCall, model: Item) -> Item:
        self._require_owner(call, model.owner, doing=_DOING)
        return model

    def _variation(self, call: ApiCall) -> ModelVariation:
        model, slug = self._require_item(call), call.text("instanceSlug")
        framework = framework_named(call.text("framework")) or ""
        variation = self._store.variation(model, framework, slug)
        if variation is None:
            raise ApiError(404, f"There is no model instance {model.ref}/{framework}/{quote_text(slug)}.")
        return variation

    def _version(self, call: ApiCall) -> tuple[ModelVariation, Version]:
        variation, number = self._variation(call), call.integer("versionNumber")
        version = self._ready(variation, str(number or ""))
        if version is None:
            raise ApiError(404, f"Model instance {variation.ref} has no version {number}.")
        return variation, version

    def _describe(self, model: Item) -> Fields:
        variations = [self._variation_described(variation) for variation in self._store.variations(model)]
        return {
            **model.facts,
            "id": model.id,
            "ref": model.ref,
            "author": model.owner,
            "slug": model.slug,
            "url": _model_address(model.ref),
            "updateTime": as_wire(model.created),
            "instances": variations,
            "tags": [],
        }

    def _variation_described(self, variation: ModelVariation) -> Fields:
        version = self._ready(variation)
        number = version.number if version else 0
        return {
            **variation.facts,
            "id": variation.id,
            "slug": variation.slug,
            "framework": wire_name(variation.framework),
            "versionId": version.id if version else 0,
            "versionNumber": number,
            "url": _model_address(f"{variation.ref}/{number}"),
            "downloadUrl": "",
            "totalUncompressedBytes": version.size if version else 0,
        }


def _facts(call: ApiCall, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a request, each of the kind that its default is."""
    return {name: _fact(call, name, default) for name, default in defaults.items()}


def _fact(call: ApiCall, name: str, default: Any) -> Any:
    if isinstance(default, bool):
        return call.flag(name, default=default)
    if name == "modelInstanceType" and call.text(name, default) not in _TYPES:
        # Sent back as it came, it would crash the clients.
        raise ApiError(_BAD, "modelInstanceType is not known")
    return list(call.texts(name)) if isinstance(default, list) else call.text(name, default)


def _select_facts(call: ApiCall, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that `updateMask` names; without a mask, those that are in the request."""
    mask = call.text("updateMask")
    names = mask.split(",") if mask else call.fields
    return {name: _fact(call, name, default) for name, default in defaults.items() if name in names}


def _model_reference(number: int, ref: str, address: str = "") -> Fields:
    return {"id": number, "ref": ref, "url": _model_address(address or ref), "error": ""}


def _conflict_refusal(variation: ModelVariation) -> Fields:
    return _model_refusal(
        f'The model instance "{variation.framework}/{variation.slug}" already exists.', code=_CONFLICT
    )


def _model_refusal(sentence: str, *, code: int = _BAD) -> Fields:
    # Kaggle answers 200 here; the clients look at `error`, and kagglehub at its code.
    return {"id": 0, "ref": "", "url": "", "error": sentence, "errorCode": code}


def _model_address(ref: str) -> str:
    return f"https://www.kaggle.com/models/{ref}"
