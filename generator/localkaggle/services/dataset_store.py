"""What is kept about datasets: their facts and versions in the database, their files on a shelf."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.localkaggle.services.bundles import Piece, Shelf, files_in
from generator.localkaggle.site import Site

SCHEMA = """
CREATE TABLE IF NOT EXISTS datasets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    slug TEXT NOT NULL,
    facts TEXT NOT NULL,
    versions_made INTEGER NOT NULL DEFAULT 0,
    UNIQUE (owner, slug)
);
CREATE TABLE IF NOT EXISTS dataset_versions (
    dataset INTEGER NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    created TEXT NOT NULL,
    notes TEXT NOT NULL,
    size INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    ready_at TEXT NOT NULL,
    questions_left INTEGER NOT NULL,
    PRIMARY KEY (dataset, number)
);
"""


class VersionState(StrEnum):
    """How far a version is, in the names of Kaggle's `DatabundleVersionStatus`."""

    PREPARING = "BLOBS_RECEIVED"
    READY = "READY"
    FAILED = "FAILED"


@dataclass(frozen=True)
class Fate:
    """What becomes of a new version: it fails, or is kept unready until asked about `questions` times or `wait` over.

    Counting questions as well as seconds lets a patient client see a slow version at once, and no faster than that.
    """

    fails: bool = False
    questions: int = 0
    wait: timedelta = timedelta(0)


@dataclass(frozen=True)
class DatasetFacts:
    """What its owner says of a dataset."""

    title: str
    subtitle: str = ""
    description: str = ""
    license: str = ""
    is_private: bool = True
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """A dataset; `id` is its own for ever, also where another one gets its name later."""

    id: int
    owner: str
    slug: str
    facts: DatasetFacts

    @property
    def ref(self) -> str:
        """The name in sources and addresses: `owner/slug`."""
        return f"{self.owner}/{self.slug}"

    def is_visible_to(self, account: str) -> bool:
        """Whether an account may see it."""
        return self.owner == account or not self.facts.is_private


@dataclass(frozen=True)
class DatasetVersion:
    """A version of a dataset; `size` is that of all its files, unpacked."""

    number: int
    created: datetime
    notes: str
    size: int
    state: VersionState


class DatasetStore:
    """Datasets and their versions."""

    def __init__(self, site: Site) -> None:
        self._database = site.database
        self._clock = site.clock
        self.shelf = Shelf(site.root / "dataset-versions")
        rows = self._database.all("SELECT dataset, number FROM dataset_versions")
        self.shelf.sweep({(row["dataset"], row["number"]) for row in rows})

    def find(self, owner: str, slug: str) -> Dataset | None:
        """The dataset of a name, if there is one."""
        row = self._database.one("SELECT * FROM datasets WHERE owner = ? AND slug = ?", (owner, slug.lower()))
        return None if row is None else _dataset(row)

    def find_by_id(self, number: int) -> Dataset | None:
        """The dataset of a number, if there is one."""
        row = self._database.one("SELECT * FROM datasets WHERE id = ?", (number,))
        return None if row is None else _dataset(row)

    def all(self) -> list[Dataset]:
        """Every dataset, the newest first."""
        return [_dataset(row) for row in self._database.all("SELECT * FROM datasets ORDER BY id DESC")]

    def versions(self, dataset: Dataset) -> list[DatasetVersion]:
        """Every version of a dataset, the newest first."""
        query = "SELECT * FROM dataset_versions WHERE dataset = ? ORDER BY number DESC"
        return [self._version(row) for row in self._database.all(query, (dataset.id,))]

    def current(self, dataset: Dataset) -> DatasetVersion:
        """The newest version that is ready; while none is, the newest."""
        versions = self.versions(dataset)
        return next((version for version in versions if version.state is VersionState.READY), versions[0])

    def create(self, ref: tuple[str, str], facts: DatasetFacts, pieces: tuple[Piece, ...], fate: Fate) -> bool:
        """Makes a dataset of an owner and a slug with its first version; False if the name is taken.

        Raises:
            BundleRefusedError: The files cannot become a version.
        """
        with self.shelf.staged(pieces) as staged, self._database.transaction() as connection:
            insert = "INSERT OR IGNORE INTO datasets (owner, slug, facts) VALUES (?, ?, ?)"
            made = connection.execute(insert, (*ref, _as_json(facts)))
            if made.rowcount:
                self._insert(connection, made.lastrowid or 0, staged, notes="Initial release", fate=fate)
            return bool(made.rowcount)

    def change(self, dataset: Dataset, changes: Mapping[str, Any]) -> None:
        """Replaces some of the facts."""
        facts = _as_json(replace(dataset.facts, **changes))
        self._database.run("UPDATE datasets SET facts = ? WHERE id = ?", (facts, dataset.id))

    def add_version(self, dataset: Dataset, pieces: tuple[Piece, ...], *, notes: str, fate: Fate) -> int:
        """Makes the next version out of uploads: all of it or nothing.

        Raises:
            BundleRefusedError: The files cannot become a version.
        """
        with self.shelf.staged(pieces) as staged, self._database.transaction() as connection:
            return self._insert(connection, dataset.id, staged, notes=notes, fate=fate)

    def delete_older(self, dataset: Dataset, number: int) -> None:
        """Deletes the versions before one."""
        self._database.run("DELETE FROM dataset_versions WHERE dataset = ? AND number < ?", (dataset.id, number))

    def delete(self, dataset: Dataset) -> None:
        """Deletes a dataset with all its versions; its name is free again."""
        self._database.run("DELETE FROM datasets WHERE id = ?", (dataset.id,))

    def count_question(self, dataset: Dataset) -> None:
        """Notes that somebody asked whether the newest version is ready."""
        self._database.run(
            "UPDATE dataset_versions SET questions_left = questions_left - 1 WHERE dataset = ? AND questions_left > 0",
            (dataset.id,),
        )

    def folder(self, dataset: Dataset, number: int) -> Path:
        """Where the files of a version are."""
        return self.shelf.folder(dataset.id, number)

    def _insert(self, connection: Any, dataset: int, staged: Path, *, notes: str, fate: Fate) -> int:
        now = self._clock.now()
        connection.execute("UPDATE datasets SET versions_made = versions_made + 1 WHERE id = ?", (dataset,))
        query = "SELECT versions_made FROM datasets WHERE id = ?"
        number = int(connection.execute(query, (dataset,)).fetchone()[0])
        size = sum(file.size for file in files_in(staged))
        times = (fate.fails, (now + fate.wait).isoformat(), fate.questions)
        values = (dataset, number, now.isoformat(), notes, size, *times)
        connection.execute("INSERT INTO dataset_versions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.shelf.keep(staged, dataset, number)
        return number

    def _version(self, row: Any) -> DatasetVersion:
        is_slow = row["questions_left"] > 0 and datetime.fromisoformat(row["ready_at"]) > self._clock.now()
        state = VersionState.PREPARING if is_slow else VersionState.FAILED if row["failed"] else VersionState.READY
        created = datetime.fromisoformat(row["created"])
        return DatasetVersion(row["number"], created, row["notes"], row["size"], state)


def _dataset(row: Any) -> Dataset:
    facts = json.loads(row["facts"])
    facts["keywords"] = tuple(facts["keywords"])
    return Dataset(row["id"], row["owner"], row["slug"], DatasetFacts(**facts))


def _as_json(facts: DatasetFacts) -> str:
    return json.dumps(vars(facts))
