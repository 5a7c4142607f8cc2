"""What is kept about models: models, their variations and versions in the database, the files on a shelf."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from generator.localkaggle.services.bundles import Piece, Shelf, files_in
from generator.localkaggle.site import Site

SCHEMA = """
CREATE TABLE IF NOT EXISTS models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    slug TEXT NOT NULL,
    created TEXT NOT NULL,
    facts TEXT NOT NULL,
    UNIQUE (owner, slug)
);
CREATE TABLE IF NOT EXISTS model_variations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
    framework TEXT NOT NULL,
    slug TEXT NOT NULL,
    facts TEXT NOT NULL,
    versions_made INTEGER NOT NULL DEFAULT 0,
    UNIQUE (model, framework, slug)
);
CREATE TABLE IF NOT EXISTS model_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    variation INTEGER NOT NULL REFERENCES model_variations (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    created TEXT NOT NULL,
    notes TEXT NOT NULL,
    size INTEGER NOT NULL,
    UNIQUE (variation, number)
);
"""

Facts = Mapping[str, Any]
"""What an owner says of a model or a variation, by the names of the API, as it was checked."""


@dataclass(frozen=True)
class Model:
    """A model: a name for variations."""

    id: int
    owner: str
    slug: str
    created: datetime
    facts: Facts

    @property
    def ref(self) -> str:
        """`owner/model`."""
        return f"{self.owner}/{self.slug}"

    def is_visible_to(self, account: str) -> bool:
        """Whether an account may see it."""
        return self.owner == account or not self.facts["isPrivate"]


@dataclass(frozen=True)
class Variation:
    """A variation of a model for one framework, which is named as in handles (`pyTorch`)."""

    id: int
    model: Model
    framework: str
    slug: str
    facts: Facts

    @property
    def ref(self) -> str:
        """`owner/model/framework/variation`."""
        return f"{self.model.ref}/{self.framework}/{self.slug}"


@dataclass(frozen=True)
class ModelVersion:
    """A version of a variation; `size` is that of all its files, unpacked."""

    id: int
    number: int
    created: datetime
    notes: str
    size: int


class ModelStore:
    """Models, variations and versions."""

    def __init__(self, site: Site) -> None:
        self._database = site.database
        self._clock = site.clock
        self.shelf = Shelf(site.root / "model-versions")
        rows = self._database.all("SELECT variation, number FROM model_versions")
        self.shelf.sweep({(row["variation"], row["number"]) for row in rows})

    def find(self, owner: str, slug: str) -> Model | None:
        """The model of a name, if there is one."""
        row = self._database.one("SELECT * FROM models WHERE owner = ? AND slug = ?", (owner, slug))
        return None if row is None else _model(row)

    def all(self) -> list[Model]:
        """Every model, the newest first."""
        return [_model(row) for row in self._database.all("SELECT * FROM models ORDER BY id DESC")]

    def variation(self, model: Model, framework: str, slug: str) -> Variation | None:
        """A variation by its name, if there is one."""
        found = (item for item in self.variations(model) if (item.framework, item.slug) == (framework, slug))
        return next(found, None)

    def variations(self, model: Model) -> list[Variation]:
        """Every variation of a model, in the order of making."""
        rows = self._database.all("SELECT * FROM model_variations WHERE model = ? ORDER BY id", (model.id,))
        return [Variation(row["id"], model, row["framework"], row["slug"], json.loads(row["facts"])) for row in rows]

    def versions(self, variation: Variation) -> list[ModelVersion]:
        """Every version of a variation, the newest first; a variation may have lost all of them."""
        rows = self._database.all(
            "SELECT * FROM model_versions WHERE variation = ? ORDER BY number DESC", (variation.id,)
        )
        return [
            ModelVersion(row["id"], row["number"], datetime.fromisoformat(row["created"]), row["notes"], row["size"])
            for row in rows
        ]

    def create(self, owner: str, slug: str, facts: Facts) -> int:
        """Makes a model and returns its number; 0 if the name is taken."""
        with self._database.transaction() as connection:
            values = (owner, slug, self._clock.now().isoformat(), json.dumps(dict(facts)))
            insert = "INSERT OR IGNORE INTO models (owner, slug, created, facts) VALUES (?, ?, ?, ?)"
            made = connection.execute(insert, values)
            return (made.lastrowid or 0) if made.rowcount else 0

    def create_variation(self, variation: Variation, pieces: tuple[Piece, ...]) -> int:
        """Makes a variation, whose `id` is yet to come, with its first version; returns the id, 0 if it exists.

        Raises:
            BundleRefusedError: The files cannot become a version.
        """
        with self.shelf.staged(pieces) as staged, self._database.transaction() as connection:
            values = (variation.model.id, variation.framework, variation.slug, json.dumps(dict(variation.facts)))
            insert = "INSERT OR IGNORE INTO model_variations (model, framework, slug, facts) VALUES (?, ?, ?, ?)"
            made = connection.execute(insert, values)
            if not made.rowcount:
                return 0
            self._insert(connection, made.lastrowid or 0, staged, notes="")
            return made.lastrowid or 0

    def add_version(self, variation: Variation, pieces: tuple[Piece, ...], *, notes: str) -> ModelVersion:
        """Makes the next version out of uploads: all of it or nothing.

        Raises:
            BundleRefusedError: The files cannot become a version.
        """
        with self.shelf.staged(pieces) as staged, self._database.transaction() as connection:
            self._insert(connection, variation.id, staged, notes=notes)
        return self.versions(variation)[0]

    def change(self, model: Model, changes: Facts) -> None:
        """Replaces some of what is said of a model."""
        facts = json.dumps({**model.facts, **changes})
        self._database.run("UPDATE models SET facts = ? WHERE id = ?", (facts, model.id))

    def change_variation(self, variation: Variation, changes: Facts) -> None:
        """Replaces some of what is said of a variation."""
        facts = json.dumps({**variation.facts, **changes})
        self._database.run("UPDATE model_variations SET facts = ? WHERE id = ?", (facts, variation.id))

    def delete(self, model: Model) -> None:
        """Deletes a model with all that belongs to it."""
        self._database.run("DELETE FROM models WHERE id = ?", (model.id,))

    def delete_variation(self, variation: Variation) -> None:
        """Deletes a variation with all its versions."""
        self._database.run("DELETE FROM model_variations WHERE id = ?", (variation.id,))

    def delete_version(self, version: ModelVersion) -> None:
        """Deletes one version; its number is not given again."""
        self._database.run("DELETE FROM model_versions WHERE id = ?", (version.id,))

    def folder(self, variation: Variation, number: int) -> Path:
        """Where the files of a version are."""
        return self.shelf.folder(variation.id, number)

    def _insert(self, connection: Any, variation: int, staged: Path, *, notes: str) -> None:
        connection.execute("UPDATE model_variations SET versions_made = versions_made + 1 WHERE id = ?", (variation,))
        query = "SELECT versions_made FROM model_variations WHERE id = ?"
        number = int(connection.execute(query, (variation,)).fetchone()[0])
        size = sum(file.size for file in files_in(staged))
        connection.execute(
            "INSERT INTO model_versions (variation, number, created, notes, size) VALUES (?, ?, ?, ?, ?)",
            (variation, number, self._clock.now().isoformat(), notes, size),
        )
        self.shelf.keep(staged, variation, number)


def _model(row: Any) -> Model:
    created = datetime.fromisoformat(row["created"])
    return Model(row["id"], row["owner"], row["slug"], created, json.loads(row["facts"]))
