"""Kernels and accounts as the database keeps them, and requests to save one, checked as Kaggle checks them."""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from generator.accelerators import Accelerator, AcceleratorKind, catalog
from generator.errors import LocalKaggleError
from generator.localkaggle.hosting import HostedCompetition
from generator.localkaggle.rpc import ApiCall, ApiError, Fields, Methods, as_wire
from generator.localkaggle.services.items import Datasets, Models
from generator.localkaggle.storage import Database, ServiceContext, as_record, insert
from generator.sessions.sandbox import SessionFolder
from generator.text import is_slug, printable, quote_text, slug_of

# The accounts of a local Kaggle: their tokens and keys, and the methods by which clients ask who they are.


INTROSPECT = "security.OAuthService/IntrospectToken"
GENERATE = "users.AccountService/GenerateAccessToken"
OPEN_METHODS = frozenset({INTROSPECT, GENERATE})
"""Methods whose request holds the credentials, so that they are called without any."""

_TOKEN_SECONDS = 12 * 60 * 60


@dataclass(frozen=True)
class _Account:
    name: str
    number: int
    token: str
    key: str


def require_account_name(name: str) -> None:
    """Check that an account can be called so.

    Raises:
        LocalKaggleError: It cannot.
    """
    if not is_slug(name):
        raise LocalKaggleError(
            f'"{printable(name)}" cannot be the name of an account. Use lower-case letters, digits and hyphens.'
        )


class Accounts:
    """The accounts that may use this server; one comes to be when its token is first asked for."""

    SCHEMA: ClassVar[str] = """
        CREATE TABLE IF NOT EXISTS accounts (
            number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, token TEXT NOT NULL, key TEXT NOT NULL
        );
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        # Found by hash, so that how long a look-up takes says nothing of the token.
        accounts = database.records(_Account, "SELECT * FROM accounts")
        self._by_token = {_digest(account.token): account for account in accounts}

    def token(self, name: str) -> str:
        """The access token of an account, the same as long as the server's folder is kept."""
        return self._account(name).token

    def key(self, name: str) -> str:
        """The legacy API key of an account."""
        return self._account(name).key

    def is_known(self, name: str) -> bool:
        """True if there is such an account."""
        return self._find(name) is not None

    def with_token(self, token: str) -> str | None:
        """The name of the account that a token belongs to."""
        account = self._by_token.get(_digest(token))
        return account.name if account else None

    def with_key(self, name: str, key: str) -> str | None:
        """The account's name, if this is its key or its token."""
        account = self._find(name)
        keys = (account.key, account.token) if account is not None else ()
        return name if any(hmac.compare_digest(key.encode(), candidate.encode()) for candidate in keys) else None

    def methods(self) -> Methods:
        """The methods by which clients ask about accounts."""
        return {
            INTROSPECT: self._introspect,
            GENERATE: self._generate,
            "api.v1.DiagnosticsService/Hello": lambda call: {"userName": call.caller},
        }

    def _find(self, name: str) -> _Account | None:
        return next((account for account in list(self._by_token.values()) if account.name == name), None)

    def _account(self, name: str) -> _Account:
        account = self._find(name)
        if account is None:
            token, key = f"local-{secrets.token_hex(20)}", secrets.token_hex(16)
            self._database.insert("accounts", name=name, token=token, key=key)
            # Another thread may have been first.
            account = self._database.records(_Account, "SELECT * FROM accounts WHERE name = ?", (name,))[0]
            self._by_token[_digest(account.token)] = account
        return account

    def _introspect(self, call: ApiCall) -> Fields:
        account = self._by_token.get(_digest(call.text("token")))
        if account is None:
            return {"active": False}
        return {
            "active": True,
            "username": account.name,
            "userId": account.number,
            "clientId": "",
            "scope": "resources.admin:*",
        }

    def _generate(self, call: ApiCall) -> Fields:
        token = call.text("refreshToken")
        if self.with_token(token) is None:
            raise ApiError(401, "The refresh token is not valid.")
        return {"token": token, "expiresIn": _TOKEN_SECONDS}


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


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


class KernelState(StrEnum):
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

    @property
    def time_limit(self) -> timedelta:
        """The longest time of a session of this version: that of its accelerator, or the shorter one of its push."""
        longest = timedelta(hours=self.accelerator.session_hours)
        return min(longest, timedelta(seconds=self.timeout_seconds)) if self.timeout_seconds else longest

    @property
    def is_on_tpu(self) -> bool:
        """True if sessions of this version run on a TPU."""
        return self.accelerator.kind is AcceleratorKind.TPU


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
    state: KernelState
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
        return self.state in (KernelState.COMPLETE, KernelState.ERROR)

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
        row = self._database.fetch_one("SELECT source FROM kernel_versions WHERE id = ?", (version.id,))
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

    def unfinished_sessions(self) -> list[SessionRecord]:
        """The sessions that wait or run, the oldest first."""
        query = f"{_SESSIONS} WHERE s.state IN (?, ?) ORDER BY s.id"
        return self._database.records(SessionRecord, query, (KernelState.QUEUED, KernelState.RUNNING))

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
            state=KernelState.QUEUED,
            accelerator=version.settings.accelerator.kind,
            created=as_wire(now),
        )

    def begin(self, session: int, *, now: datetime) -> None:
        """A session runs from now on."""
        self._database.run(
            "UPDATE kernel_sessions SET state = ?, started = ? WHERE id = ?",
            (KernelState.RUNNING, as_wire(now), session),
        )

    def end(self, session: int, *, failure: str, now: datetime) -> None:
        """A session is over."""
        state = KernelState.ERROR if failure else KernelState.COMPLETE
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


# The week of a quota, and how much of it sessions have used.


_SATURDAY = 5
_WEEK = timedelta(days=7)


def week_start(now: datetime) -> datetime:
    """The Saturday 00:00 UTC at or before this moment, when all quotas begin anew."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=(day.weekday() - _SATURDAY) % 7)


def next_week(now: datetime) -> datetime:
    """When the quotas begin anew."""
    return week_start(now) + _WEEK


def weekly_quota(kind: AcceleratorKind) -> timedelta | None:
    """The hours of a week for a kind of accelerator, or None where there is no limit."""
    hours = [accelerator.weekly_hours for accelerator in catalog().accelerators.values() if accelerator.kind is kind]
    return None if None in hours else timedelta(hours=max(hour for hour in hours if hour is not None))


def weekly_usage(sessions: Iterable[SessionRecord], kind: AcceleratorKind, *, now: datetime) -> timedelta:
    """The time that sessions of a kind have run in this week; reruns of submissions cost nothing."""
    since = week_start(now)
    total = timedelta()
    for session in sessions:
        if session.accelerator is kind and session.submission is None and session.started is not None:
            total += max(timedelta(), (session.ended or now) - max(session.started, since))
    return total


# The data sources that a kernel names: whether they are there, and where below /kaggle/input a session sees them.


# The number of parts that names have, by the kind of source: a version may be left out.
_PARTS = {"competitions": (1,), "datasets": (2, 3), "kernels": (2, 3), "models": (4, 5)}
_FOLDERS = {"competitions": "competitions", "datasets": "datasets", "kernels": "notebooks", "models": "models"}
# Nothing that leads out of a folder it is joined to.
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

MissingSources = Mapping[str, tuple[str, ...]]
"""The names of sources that are not there, by kind: `datasets`, `competitions`, `kernels`, `models`."""


@dataclass(frozen=True)
class Sources:
    """What knows the folders behind the names in a kernel's metadata."""

    competitions: Mapping[str, HostedCompetition]
    datasets: Datasets
    models: Models


class SourceLookup:
    """Looks up the sources of kernels; `flat` mounts them as before 2026, all in one folder."""

    def __init__(self, site: ServiceContext, records: KernelRecords, sources: Sources, *, flat: bool) -> None:
        self._site = site
        self._records = records
        self._sources = sources
        self._flat = flat

    def without_missing(self, settings: KernelSettings, account: str) -> tuple[KernelSettings, MissingSources]:
        """The settings without the sources that are not there or that the account may not see, and those."""
        present_sources: dict[str, Any] = {}
        missing: dict[str, tuple[str, ...]] = {}
        for kind in _PARTS:
            names = getattr(settings, kind)
            present_sources[kind] = tuple(name for name in names if self._exists(kind, name, account))
            missing[kind] = tuple(name for name in names if name not in present_sources[kind])
        return replace(settings, **present_sources), missing

    def mounts(self, settings: KernelSettings, *, hidden: str = "") -> Mapping[PurePosixPath, Path]:
        """The folders of this machine by their place below /kaggle/input.

        A source that is gone, or has no output yet, is not mounted, as on Kaggle.

        Args:
            settings: What the version was saved with.
            hidden: The competition whose hidden test is mounted in place of the public one.
        """
        mounts: dict[PurePosixPath, Path] = {}
        for kind in _PARTS:
            for name in getattr(settings, kind):
                folder = self._folder(kind, name, hidden=name == hidden)
                if folder is not None:
                    mounts[self._mount_point(kind, name, folder)] = folder.resolve()
        return mounts

    def has_gateway(self, competition: str) -> bool:
        """True if a competition hands out its test by an inference server, whose gateway is not in this Kaggle."""
        folder = self._folder("competitions", competition, hidden=True)
        return folder is not None and (folder / "kaggle_evaluation").is_dir()

    def _exists(self, kind: str, name: str, account: str) -> bool:
        parts = name.split("/")
        if len(parts) not in _PARTS[kind] or not all(map(_PART.fullmatch, parts)):
            return False
        if kind == "competitions":
            return name in self._sources.competitions
        if kind == "kernels":
            return self._is_kernel(account, *parts)
        return self._folder(kind, name, account=account) is not None

    def _is_kernel(self, account: str, owner: str, slug: str, number: str = "") -> bool:
        kernel = self._records.kernel(owner, slug)
        if kernel is None or not kernel.is_visible_to(account):
            return False
        return not number or (number.isdecimal() and self._records.version(kernel, int(number)) is not None)

    def _folder(self, kind: str, name: str, *, account: str = "", hidden: bool = False) -> Path | None:
        """The folder of a source; with an account, of one that it may see."""
        if kind == "competitions":
            competition = self._sources.competitions.get(name)
            if competition is None:
                return None
            return competition.hidden() if hidden else competition.data()
        if kind == "datasets":
            return self._sources.datasets.dataset_folder(name, account=account)
        if kind == "models":
            return self._sources.models.model_folder(name, account=account)
        return self._output(*name.split("/"))

    def _output(self, owner: str, slug: str, number: str = "") -> Path | None:
        """The output of the newest version of a kernel that ended well, or of this version if it did."""
        kernel = self._records.kernel(owner, slug)
        session = kernel and self._records.newest_success(kernel, int(number) if number else None)
        return SessionFolder(self._site.root, session.id).working if session else None

    def _mount_point(self, kind: str, name: str, folder: Path) -> PurePosixPath:
        parts = name.split("/")
        # The folder of a model's version bears its number, which the name may leave out.
        parts = [*parts[:4], folder.name] if kind == "models" else parts[:2]
        if not self._flat:
            return PurePosixPath(_FOLDERS[kind], *parts)
        return PurePosixPath(*(parts[1:] if kind == "models" else parts[-1:]))


# Requests to save a kernel, read and checked as Kaggle checks them.


TITLE_LENGTHS = range(5, 51)
LANGUAGES = ("python", "r", "rmarkdown")
KERNEL_TYPES = ("notebook", "script")
LARGEST_SOURCE = 8 * 2**20

# Kaggle takes these words for an accelerator as well, and chooses one of the kind itself.
_CATEGORIES = {"none": AcceleratorKind.CPU, **{str(kind): kind for kind in AcceleratorKind}}


class PushError(Exception):
    """A push that Kaggle answers with 200 and this sentence in the field `error`; nothing was saved."""


@dataclass(frozen=True)
class SaveRequest:
    """A kernel to be saved; `runs` says whether a session begins, `slug` where the client thinks that it will be."""

    number: int
    owner: str
    slug: str
    title: str
    source: str
    settings: KernelSettings
    is_private: bool
    runs: bool


def read_request(call: ApiCall) -> SaveRequest:
    """Reads a request.

    Raises:
        ApiError: The request is none that Kaggle would understand.
        PushError: It is one that Kaggle refuses with 200 and a sentence.
    """
    owner, _, slug = call.text("slug").strip("/").rpartition("/")
    title = call.text("newTitle").strip()
    if title and (len(title) not in TITLE_LENGTHS or len(slug_of(title)) not in TITLE_LENGTHS):
        raise PushError(f"Title must be between {TITLE_LENGTHS.start} and {TITLE_LENGTHS.stop - 1} characters long.")
    execution = call.text("kernelExecutionType", "SAVE_AND_RUN_ALL")
    settings = _settings(call)
    return SaveRequest(
        number=call.integer("id"),
        owner=owner or call.caller,
        slug=slug,
        title=title,
        source=_checked_source(call.text("text"), settings),
        settings=settings,
        is_private=call.flag("isPrivate", default=True),
        runs=execution.replace("_", "").upper() != "QUICKSAVE",
    )


def _settings(call: ApiCall) -> KernelSettings:
    language, kernel_type = call.text("language", "python"), call.text("kernelType", "notebook")
    if language not in LANGUAGES:
        raise ApiError(400, f"A valid language must be specified; it is one of {', '.join(LANGUAGES)}.")
    if kernel_type not in KERNEL_TYPES:
        raise ApiError(400, f"A valid kernel type must be specified; it is one of {', '.join(KERNEL_TYPES)}.")
    return KernelSettings(
        language=language,
        kernel_type=kernel_type,
        machine_shape=_machine_shape(call),
        internet=call.flag("enableInternet", default=True),
        datasets=call.texts("datasetDataSources"),
        competitions=call.texts("competitionDataSources"),
        kernels=call.texts("kernelDataSources"),
        models=call.texts("modelDataSources"),
        keywords=call.texts("categoryIds"),
        docker_image=call.text("dockerImage"),
        timeout_seconds=max(0, call.integer("sessionTimeoutSeconds")),
    )


def _machine_shape(call: ApiCall) -> str:
    """The shape that the sessions get: a retired one is replaced without a word."""
    machine_shape = call.text("machineShape")
    machines = catalog()
    if not machine_shape:
        kind = AcceleratorKind.TPU if call.flag("enableTpu") else AcceleratorKind.GPU
        machine_shape = kind if call.flag("enableTpu") or call.flag("enableGpu") else "none"
    if machine_shape.lower() in _CATEGORIES:
        category = _CATEGORIES[machine_shape.lower()]
        return next(shape for shape, accelerator in machines.accelerators.items() if accelerator.kind is category)
    if machine_shape in machines.replacements:
        return machines.replacements[machine_shape].machine_shape
    if machine_shape not in machines.accelerators:
        raise PushError(f"Accelerator {quote_text(machine_shape)} is not available to you.")
    return machine_shape


def _checked_source(text: str, settings: KernelSettings) -> str:
    if len(text) > LARGEST_SOURCE:
        raise ApiError(413, "The source of the notebook is too large.")
    if settings.kernel_type == "script":
        return text
    try:
        cells = json.loads(text)["cells"]
        sources = [cell["source"] for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ApiError(400, "The text is not a notebook.") from None
    # Kaggle/kaggle-cli#574: a list, which the format allows, is an error inside of the server.
    if not all(isinstance(source, str) for source in sources):
        raise ApiError(500, "The source of a cell is a list; join it to one text.")
    return text
