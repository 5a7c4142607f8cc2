"""Datasets and models with their versions: what is said of them in the database, their files in `VersionFiles`.

An item is a dataset or a model. A model has variations, and each of them versions; a dataset is an item with one
variation that has no name.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.localkaggle.database import insert
from generator.localkaggle.file_names import ListedFile
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.blobs import Blob
from generator.localkaggle.services.version_files import VersionFiles, files_in

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
class Variation:
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
        return files_in(self.folder, written=self.created)


_TABLES = {Item: "items", Variation: "item_variations", Version: "item_versions"}


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
        known = self._database.all(
            "SELECT r.variation, r.number FROM item_versions r JOIN item_variations v ON v.id = r.variation "
            "JOIN items i ON i.id = v.item WHERE i.kind = ?",
            (kind,),
        )
        self._files.sweep({(row["variation"], row["number"]) for row in known})

    def items(self, **columns: object) -> list[Item]:
        """The items that have these values in these columns, the newest first."""
        where = " AND ".join(f"{name} = ?" for name in ("kind", *columns))
        query = f"SELECT * FROM items WHERE {where} ORDER BY id DESC"  # noqa: S608 - names of columns only
        return self._database.records(Item, query, (self._kind, *columns.values()))

    def find(self, **columns: object) -> Item | None:
        """The item that has these values, such as its `id` or its `owner` and `slug`."""
        return next(iter(self.items(**columns)), None)

    def variations(self, item: Item) -> list[Variation]:
        """Every variation of an item, in the order of making."""
        rows = self._database.all("SELECT * FROM item_variations WHERE item = ? ORDER BY id", (item.id,))
        return [Variation(row["id"], item, row["framework"], row["slug"], json.loads(row["facts"])) for row in rows]

    def variation(self, item: Item, framework: str = "", slug: str = "") -> Variation | None:
        """A variation by its name, if there is one."""
        found = (each for each in self.variations(item) if (each.framework, each.slug) == (framework, slug))
        return next(found, None)

    def versions(self, variation: Variation) -> list[Version]:
        """Every version of a variation, the newest first; a variation may have lost all of them."""
        query = "SELECT * FROM item_versions WHERE variation = ? ORDER BY number DESC"
        return [self._version(row) for row in self._database.all(query, (variation.id,))]

    def archive(self, version: Version) -> Path:
        """All files of a version in one."""
        return self._files.archive(version.folder, written=version.created)

    def create(self, owner: str, slug: str, facts: Facts) -> int:
        """Makes an item without variations and returns its id; 0 if the name is taken."""
        with self._database.transaction() as connection:
            return self._insert_item(connection, self.new_item(owner, slug, facts))

    def new_item(self, owner: str, slug: str, facts: Facts) -> Item:
        """An item that is not in the database yet."""
        return Item(0, owner, slug, self._clock.now(), facts)

    def add(
        self, variation: Variation, files: Sequence[Blob], *, notes: str = "", processing: Processing | None = None
    ) -> Version | None:
        """Makes the next version of a variation out of uploads: all of it or nothing.

        A variation without an id is made first, and so is its item; None if there is one of that name already.

        Raises:
            InvalidFileError: The files cannot become a version.
        """
        with self._files.staged(files) as staged, self._database.transaction() as connection:
            item = variation.item.id or self._insert_item(connection, variation.item)
            number = item and (variation.id or _insert_variation(connection, item, variation))
            if not number:
                return None
            return self._insert(connection, number, staged, notes=notes, processing=processing or Processing())

    def change(self, changed: Item | Variation, changes: Facts) -> None:
        """Replaces some of what is said of an item or a variation."""
        statement = f"UPDATE {_TABLES[type(changed)]} SET facts = ? WHERE id = ?"  # noqa: S608 - a table's name
        self._database.run(statement, (json.dumps({**changed.facts, **changes}), changed.id))

    def delete(self, deleted: Item | Variation | Version) -> None:
        """Deletes something with all that belongs to it; its name is free again, the number of a version is not."""
        statement = f"DELETE FROM {_TABLES[type(deleted)]} WHERE id = ?"  # noqa: S608 - a table's name
        self._database.run(statement, (deleted.id,))

    def count_poll(self, variation: Variation) -> None:
        """Notes that somebody asked whether the newest version is ready."""
        self._database.run(
            "UPDATE item_versions SET polls_left = polls_left - 1 WHERE variation = ? AND polls_left > 0",
            (variation.id,),
        )

    def _insert_item(self, connection: Any, item: Item) -> int:
        values = {"owner": item.owner, "slug": item.slug, "created": item.created.isoformat()}
        return insert(connection, "items", kind=self._kind, facts=json.dumps(dict(item.facts)), **values)

    def _insert(self, connection: Any, variation: int, staged: Path, *, notes: str, processing: Processing) -> Version:
        now = self._clock.now()
        connection.execute("UPDATE item_variations SET versions_made = versions_made + 1 WHERE id = ?", (variation,))
        query = "SELECT versions_made FROM item_variations WHERE id = ?"
        number = int(connection.execute(query, (variation,)).fetchone()[0])
        added = insert(
            connection,
            "item_versions",
            variation=variation,
            number=number,
            created=now.isoformat(),
            notes=notes,
            size=sum(file.size for file in files_in(staged, written=now)),
            failed=processing.fails,
            ready_at=(now + processing.wait).isoformat(),
            polls_left=processing.polls,
        )
        self._files.keep(staged, variation, number)
        return self._version(connection.execute("SELECT * FROM item_versions WHERE id = ?", (added,)).fetchone())

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


def _insert_variation(connection: Any, item: int, variation: Variation) -> int:
    values = {"framework": variation.framework, "slug": variation.slug, "facts": json.dumps(dict(variation.facts))}
    return insert(connection, "item_variations", item=item, **values)
