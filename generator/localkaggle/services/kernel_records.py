"""Kernels, their versions and their sessions, as the database keeps them."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from generator.accelerators.catalog import Accelerator, AcceleratorKind, catalog
from generator.localkaggle.clock import as_wire
from generator.localkaggle.database import Database, as_record, insert

SCHEMA = """
CREATE TABLE IF NOT EXISTS kernels (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, slug TEXT NOT NULL, title TEXT NOT NULL,
    is_private INTEGER NOT NULL, is_wedged INTEGER NOT NULL DEFAULT 0, created TEXT NOT NULL, UNIQUE (owner, slug)
);
CREATE TABLE IF NOT EXISTS kernel_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kernel INTEGER NOT NULL REFERENCES kernels (id) ON DELETE CASCADE,
    number INTEGER NOT NULL, created TEXT NOT NULL, settings TEXT NOT NULL, source TEXT NOT NULL,
    UNIQUE (kernel, number)
);
CREATE TABLE IF NOT EXISTS kernel_sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL REFERENCES kernel_versions (id) ON DELETE CASCADE,
    submission INTEGER, competition TEXT NOT NULL DEFAULT '', state TEXT NOT NULL, failure TEXT NOT NULL DEFAULT '',
    accelerator TEXT NOT NULL, created TEXT NOT NULL, started TEXT, ended TEXT, is_told INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS kernel_sessions_version ON kernel_sessions (version);
CREATE INDEX IF NOT EXISTS kernel_sessions_state ON kernel_sessions (state);
"""

_SESSIONS = """
SELECT s.*, v.number AS number, k.owner AS owner, k.slug AS slug
FROM kernel_sessions s JOIN kernel_versions v ON v.id = s.version JOIN kernels k ON k.id = v.kernel
"""
_KERNELS = "SELECT * FROM kernels"
_VERSIONS = "SELECT id, kernel, number, created, settings FROM kernel_versions"


class State(StrEnum):
    """The state of a session, in the words of the API."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    ERROR = "ERROR"


@dataclass(frozen=True)
class KernelSettings:
    """The settings of a version, beside its source; `machine_shape` is what it gets, not what was asked for."""

    language: str = "python"
    kernel_type: str = "notebook"
    machine_shape: str = ""
    internet: bool = True
    datasets: tuple[str, ...] = ()
    competitions: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    docker_image: str = ""
    timeout_seconds: int = 0

    @property
    def accelerator(self) -> Accelerator:
        """The accelerator that sessions of this version run on."""
        return catalog().accelerators[self.machine_shape]


@dataclass(frozen=True)
class KernelRecord:
    """A kernel; one that is wedged answers 403 to everything but its deletion."""

    id: int
    owner: str
    slug: str
    title: str
    is_private: bool
    is_wedged: bool
    created: datetime

    @property
    def ref(self) -> str:
        """The kernel's name: `owner/slug`."""
        return f"{self.owner}/{self.slug}"

    def is_visible_to(self, account: str) -> bool:
        """True if an account may know of it, and use what it wrote."""
        return self.owner == account or not self.is_private


@dataclass(frozen=True)
class VersionRecord:
    """A version of a kernel; its source is asked for by itself, as it may be large."""

    id: int
    kernel: int
    number: int
    created: datetime
    settings: KernelSettings


@dataclass(frozen=True)
class SessionRecord:
    """A session of a version; with a `submission` it is a rerun for it, on the hidden test of `competition`."""

    id: int
    version: int
    owner: str
    slug: str
    number: int
    state: State
    failure: str
    accelerator: AcceleratorKind
    created: datetime
    started: datetime | None
    ended: datetime | None
    submission: int | None
    competition: str

    @property
    def is_over(self) -> bool:
        """True if nothing more happens in it."""
        return self.state in (State.COMPLETE, State.ERROR)

    @property
    def ref(self) -> str:
        """The kernel's name: `owner/slug`."""
        return f"{self.owner}/{self.slug}"


class KernelRecords:
    """Reads and writes kernels, versions and sessions in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def kernels(self) -> list[KernelRecord]:
        """All kernels, the last saved first."""
        newest = "(SELECT MAX(v.id) FROM kernel_versions v WHERE v.kernel = k.id)"
        query = f"SELECT * FROM kernels k ORDER BY {newest} DESC"  # noqa: S608 - no value in it
        return self._database.records(KernelRecord, query)

    def kernel(self, owner: str, slug: str) -> KernelRecord | None:
        """A kernel by its name."""
        return self._database.record(KernelRecord, f"{_KERNELS} WHERE owner = ? AND slug = ?", (owner, slug))

    def kernel_by_id(self, number: int) -> KernelRecord | None:
        """A kernel by its number."""
        return self._database.record(KernelRecord, f"{_KERNELS} WHERE id = ?", (number,))

    def versions(self, kernel: KernelRecord) -> list[VersionRecord]:
        """The versions of a kernel, the newest first."""
        query = f"{_VERSIONS} WHERE kernel = ? ORDER BY number DESC"
        return self._database.records(VersionRecord, query, (kernel.id,))

    def version(self, kernel: KernelRecord, number: int | None = None) -> VersionRecord | None:
        """A version of a kernel by its number, or the newest."""
        query = f"{_VERSIONS} WHERE kernel = ? AND (? IS NULL OR number = ?) ORDER BY number DESC LIMIT 1"
        return self._database.record(VersionRecord, query, (kernel.id, number, number))

    def find_version(self, owner: str, slug: str, number: int) -> VersionRecord | None:
        """A version by its kernel's name and its number."""
        kernel = self.kernel(owner, slug)
        return self.version(kernel, number) if kernel is not None else None

    def source(self, version: VersionRecord) -> str:
        """The text of a version."""
        row = self._database.one("SELECT source FROM kernel_versions WHERE id = ?", (version.id,))
        return str(row["source"]) if row is not None else ""

    def session(self, number: int) -> SessionRecord | None:
        """A session by its number."""
        return self._database.record(SessionRecord, f"{_SESSIONS} WHERE s.id = ?", (number,))

    def session_of(self, version: VersionRecord) -> SessionRecord | None:
        """The session that saving a version began; None if it was saved only. Reruns are not meant."""
        query = f"{_SESSIONS} WHERE s.version = ? AND s.submission IS NULL"
        return self._database.record(SessionRecord, query, (version.id,))

    def sessions(self) -> list[SessionRecord]:
        """All sessions, the newest first, reruns included."""
        return self._database.records(SessionRecord, f"{_SESSIONS} ORDER BY s.id DESC")

    def unfinished(self) -> list[SessionRecord]:
        """The sessions that wait or run, the oldest first."""
        query = f"{_SESSIONS} WHERE s.state IN (?, ?) ORDER BY s.id"
        return self._database.records(SessionRecord, query, (State.QUEUED, State.RUNNING))

    def unreported_reruns(self) -> list[SessionRecord]:
        """The reruns that are over and whose end nobody has heard of yet."""
        condition = "s.submission IS NOT NULL AND s.is_told = 0 AND s.ended IS NOT NULL"
        return self._database.records(SessionRecord, f"{_SESSIONS} WHERE {condition} ORDER BY s.id")

    def newest_success(self, kernel: KernelRecord, number: int | None = None) -> SessionRecord | None:
        """The session of the newest version that ended well, or of this version if it did."""
        condition = "k.id = ? AND s.submission IS NULL AND s.state = 'COMPLETE' AND (? IS NULL OR v.number = ?)"
        query = f"{_SESSIONS} WHERE {condition} ORDER BY v.number DESC LIMIT 1"
        return self._database.record(SessionRecord, query, (kernel.id, number, number))

    def add_kernel(self, owner: str, slug: str, *, title: str, is_private: bool, now: datetime) -> KernelRecord:
        """Makes a kernel without a version, or changes the title and privacy of the one that has this name."""
        save = (
            "INSERT INTO kernels (owner, slug, title, is_private, created) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (owner, slug) DO UPDATE SET title = excluded.title, is_private = excluded.is_private"
        )
        with self._database.transaction() as connection:
            connection.execute(save, (owner, slug, title, is_private, as_wire(now)))
            row = connection.execute(f"{_KERNELS} WHERE owner = ? AND slug = ?", (owner, slug)).fetchone()
        return as_record(KernelRecord, row)

    def add_version(
        self, kernel: KernelRecord, settings: KernelSettings, *, source: str, now: datetime
    ) -> VersionRecord:
        """Adds the next version."""
        newest = f"{_VERSIONS} WHERE kernel = ? ORDER BY number DESC LIMIT 1"
        values = {"created": as_wire(now), "settings": json.dumps(asdict(settings)), "source": source}
        with self._database.transaction() as connection:
            row = connection.execute(newest, (kernel.id,)).fetchone()
            insert(connection, "kernel_versions", kernel=kernel.id, number=row["number"] + 1 if row else 1, **values)
            row = connection.execute(newest, (kernel.id,)).fetchone()
        return as_record(VersionRecord, row)

    def add_session(
        self, version: VersionRecord, *, now: datetime, submission: int | None = None, competition: str = ""
    ) -> int:
        """Adds a session that waits, and returns its number."""
        return self._database.insert(
            "kernel_sessions",
            version=version.id,
            submission=submission,
            competition=competition,
            state=State.QUEUED,
            accelerator=version.settings.accelerator.kind,
            created=as_wire(now),
        )

    def begin(self, session: int, *, now: datetime) -> None:
        """A session runs from now on."""
        self._database.run(
            "UPDATE kernel_sessions SET state = ?, started = ? WHERE id = ?", (State.RUNNING, as_wire(now), session)
        )

    def end(self, session: int, *, failure: str, now: datetime) -> None:
        """A session is over."""
        state = State.ERROR if failure else State.COMPLETE
        self._database.run(
            "UPDATE kernel_sessions SET state = ?, failure = ?, ended = ? WHERE id = ?",
            (state, failure, as_wire(now), session),
        )

    def mark_reported(self, session: int) -> None:
        """Those who asked have heard of the end of a rerun."""
        self._database.run("UPDATE kernel_sessions SET is_told = 1 WHERE id = ?", (session,))

    def wedge(self, kernel: KernelRecord) -> None:
        """From now on the kernel answers 403."""
        self._database.run("UPDATE kernels SET is_wedged = 1 WHERE id = ?", (kernel.id,))

    def delete(self, kernel: KernelRecord) -> None:
        """Forgets a kernel with its versions and sessions."""
        self._database.run("DELETE FROM kernels WHERE id = ?", (kernel.id,))
