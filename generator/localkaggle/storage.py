"""What a local Kaggle keeps: its folder, its database, and addresses of files."""

import errno
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, ClassVar, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import quote

from generator.errors import LocalKaggleError
from generator.files import open_below, open_file, writing
from generator.localkaggle.rpc import ApiCall, ApiError, ServerClock, StoredFile
from generator.text import printable

# The folder of a local Kaggle, which belongs to one server at a time.


_LOCK = "server.lock"
_ONLY_MINE = 0o700


class RootFolder:
    """Makes the folder if need be, and keeps others out of it until `release`, or until this process ends."""

    def __init__(self, root: Path) -> None:
        """Takes the folder.

        Raises:
            LocalKaggleError: Another server has it.
            FileWriteError: It cannot be made, or not be written to.
        """
        self.path = root.resolve()
        with writing(root):
            # In it are the account's notebooks, and its token.
            self.path.mkdir(mode=_ONLY_MINE, parents=True, exist_ok=True)
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            # A folder that was there before may be open to others; the database, which holds the token, never is.
            os.close(os.open(self.database, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise LocalKaggleError(
                f"Another local Kaggle uses {printable(str(root))}.",
                remedy="Stop it, or choose another folder with --root.",
                code="local-kaggle-running",
            ) from error

    @property
    def database(self) -> Path:
        """The file of the database."""
        return self.path / "kaggle.sqlite"

    def release(self) -> None:
        """Lets others have it."""
        os.close(self._lock)


# Files by the names that clients know them by, and the names that a local Kaggle accepts before they become paths.


DEEPEST = 32
"""The most parts that a name may have, the file itself included."""

_LONGEST_NAME = 1_000
_LONGEST_PART = 255
_SHOWN = 80


@dataclass(frozen=True)
class ListedFile:
    """A file that can be listed, packed and given away: `name` is a relative POSIX path that leads nowhere else.

    `below` is set for what a notebook wrote: the folder of its session, from which the file is opened without links.
    """

    name: str
    path: Path
    size: int
    write_time: datetime
    below: Path | None = None

    def open(self) -> BinaryIO:
        """Opens the file to read, for the caller to close.

        Raises:
            OSError: It is gone, or no longer a file that may be given away.
        """
        return open_given(self.path, self.below)


def open_given(path: Path, below: Path | None) -> BinaryIO:
    """Opens a file that is given away; one that a notebook wrote by `open_below`.

    Raises:
        OSError: There is no such file, or it may not be given away.
    """
    return open_file(path) if below is None else open_below(below, path.relative_to(below))


class InvalidFileError(ApiError):
    """A file that cannot be taken; the sentence is what the client is told."""

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(400, f'"{printable(name[:_SHOWN])}" {reason}.')


def checked_name(name: str) -> str:
    """A relative POSIX path that stays inside of whatever folder it is put in.

    Raises:
        InvalidFileError: It is empty, absolute, leads upwards, or has characters that separate names somewhere.
    """
    parts = name.split("/")
    if (
        not name.isprintable()
        or len(name) > _LONGEST_NAME
        or len(parts) > DEEPEST
        or any(part in ("", ".", "..") or len(part.encode()) > _LONGEST_PART for part in parts)
        or "\\" in name
        or ":" in name
    ):
        reason = 'is no name for a file here; use a relative path without "..", backslashes and colons'
        raise InvalidFileError(name=name, reason=reason)
    return str(PurePosixPath(name))


# The SQLite file behind a local Kaggle: one connection a thread, short transactions, nothing lost by a restart.


_BUSY_SECONDS = 30
# Goes up with every change of a table; a file with other tables is not touched.
_TABLES_VERSION = 1
# Without room for one more file, the log beside the database cannot be opened.
_OF_THE_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)

Record = TypeVar("Record")


class Database:
    """A SQLite database in WAL mode; any thread may use it, each through a connection of its own."""

    def __init__(self, path: Path, schemas: Iterable[str]) -> None:
        """Opens the database, and makes the tables that are not there yet.

        Raises:
            LocalKaggleError: The file is none, or has other tables.
        """
        self._path = path
        self._connections = threading.local()
        self._open_connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            has_tables = self.fetch_one("SELECT 1 FROM sqlite_master") is not None
            version = self._connection().execute("PRAGMA user_version").fetchone()[0]
            if has_tables and version != _TABLES_VERSION:
                self.close()
                raise LocalKaggleError(
                    f"{printable(str(path))} was written by another version of Tandem, and was not changed. Choose "
                    "another folder with --root, or remove this one if nothing in it is needed."
                )
            # All of them or none: some, without the version, would be those of another version of the kit.
            script = ";\n".join(["BEGIN", *schemas, f"PRAGMA user_version = {_TABLES_VERSION}", "COMMIT"])
            self._connection().executescript(script)
        except sqlite3.DatabaseError as error:
            self.close()
            remedy = (
                "Make room on its disk, see that it may be written"
                if _is_of_the_disk(error)
                else "Put a copy of it back"
            )
            raise LocalKaggleError(
                f"{printable(str(path))} cannot be used as the database of a local Kaggle: {printable(str(error))}. "
                f"{remedy}, or choose another folder with --root."
            ) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: all of it or nothing; one at a time over all threads.

        Raises:
            OSError: The disk is full, or does not let the database be written; nothing was.
        """
        connection = self._connection()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except BaseException as error:
            # SQLite may have done that itself, when the disk was full.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if _is_of_the_disk(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path)) from error
            raise

    def fetch_all(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Every row of a query."""
        return self._connection().execute(query, values).fetchall()

    def fetch_one(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Row | None:
        """The first row of a query, or None."""
        row: sqlite3.Row | None = self._connection().execute(query, values).fetchone()
        return row

    def records(self, kind: type[Record], query: str, values: Sequence[Any] = ()) -> list[Record]:
        """Every row of a query as a dataclass; see `as_record`."""
        return [as_record(kind, row) for row in self.fetch_all(query, values)]

    def record(self, kind: type[Record], query: str, values: Sequence[Any] = ()) -> Record | None:
        """The first row of a query as a dataclass, or None."""
        row = self.fetch_one(query, values)
        return None if row is None else as_record(kind, row)

    def run(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Executes one statement in a transaction of its own."""
        with self.transaction() as connection:
            connection.execute(statement, values)

    def insert(self, table: str, **values: Any) -> int:
        """Adds a row in a transaction of its own; see the function `insert`."""
        with self.transaction() as connection:
            return insert(connection, table, **values)

    def close(self) -> None:
        """Closes the connections of all threads."""
        with self._lock:
            for connection in self._open_connections:
                connection.close()
            self._open_connections.clear()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._connections, "connection", None)
        if connection is None:
            # Closed by `close`, which may run in another thread.
            connection = sqlite3.connect(
                self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            self._connections.connection = connection
            with self._lock:
                self._open_connections.append(connection)
        return connection


def _is_of_the_disk(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_THE_DISK


def insert(connection: sqlite3.Connection, table: str, **values: Any) -> int:
    """Adds a row, and returns its id; 0 where the table has a row already from which it had to differ."""
    columns, marks = ", ".join(values), ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608 - names only
    cursor = connection.execute(statement, tuple(values.values()))
    return (cursor.lastrowid or 0) if cursor.rowcount else 0


def as_record(kind: type[Record], row: sqlite3.Row) -> Record:
    """A row as a dataclass whose fields are columns, read as their types say: moments, flags, enumerations, JSON."""
    hints: Mapping[str, Any] = _hints(kind)  # type: ignore[arg-type]  # a class is hashable
    return kind(**{name: _read(hint, row[name]) for name, hint in hints.items()})


@cache
def _hints(kind: type[Any]) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(hint) is Mapping:
        return json.loads(value)
    if is_dataclass(hint) and isinstance(hint, type):
        return hint(**{name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(value).items()})
    kind = (get_args(hint) or (hint,))[0]  # the first of `datetime | None`
    if kind is datetime:
        return datetime.fromtimestamp(value, UTC) if isinstance(value, float) else datetime.fromisoformat(value)
    return kind(value)


# Addresses that stand for one file for a while, and need no further credentials; they outlive a restart.


STORAGE = "__storage"
_LIFE = timedelta(hours=2)
_MOST_REMEMBERED = 10_000


class Tickets:
    """Tickets in the database; a file has the same ticket again as long as it is fresh."""

    SCHEMA: ClassVar[str] = """
        CREATE TABLE IF NOT EXISTS download_tickets (
            token TEXT PRIMARY KEY, path TEXT NOT NULL, below TEXT NOT NULL, name TEXT NOT NULL,
            media_type TEXT NOT NULL, expires REAL NOT NULL
        );
        CREATE TABLE IF NOT EXISTS ticket_secret (secret BLOB NOT NULL);
    """

    def __init__(self, database: Database, clock: ServerClock) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._fresh: dict[str, datetime] = {}
        with database.transaction() as connection:
            row = connection.execute("SELECT secret FROM ticket_secret").fetchone()
            self._secret: bytes = row["secret"] if row else secrets.token_bytes(32)
            if row is None:
                connection.execute("INSERT INTO ticket_secret VALUES (?)", (self._secret,))
            connection.execute("DELETE FROM download_tickets WHERE expires < ?", (clock.now().timestamp(),))

    def download(self, call: ApiCall, stored_file: StoredFile) -> str:
        """An absolute address at which the file can be fetched; its last segment is the file's name."""
        # Clients name what they save by the last segment, so folders of the name are dropped, as Kaggle does.
        name = checked_name(stored_file.name).rpartition("/")[2]
        # One file, one address: a listing that is asked for every few seconds writes nothing.
        parts = (call.caller, str(stored_file.path), str(stored_file.below or ""), name, stored_file.media_type)
        secret = "\0".join(parts).encode(errors="surrogateescape")
        token = hmac.new(self._secret, secret, hashlib.sha256).hexdigest()[:40]
        self._keep(token, stored_file, name)
        return f"{call.base}/{STORAGE}/{token}/{quote(name)}"

    def redeem(self, token: str) -> StoredFile | None:
        """The file behind a ticket; None if there is no such ticket any more."""
        row = self._database.fetch_one(
            "SELECT path, below, name, media_type FROM download_tickets WHERE token = ? AND expires >= ?",
            (token, self._clock.now().timestamp()),
        )
        if row is None:
            return None
        below = Path(row["below"]) if row["below"] else None
        return StoredFile(Path(row["path"]), row["name"], row["media_type"], below)

    def _keep(self, token: str, stored_file: StoredFile, name: str) -> None:
        now = self._clock.now()
        with self._lock:
            if self._fresh.get(token, now) > now + _LIFE / 2:
                return
            if len(self._fresh) >= _MOST_REMEMBERED:
                self._fresh.clear()
            self._fresh[token] = now + _LIFE
        self._database.run(
            "INSERT OR REPLACE INTO download_tickets VALUES (?, ?, ?, ?, ?, ?)",
            (
                token,
                str(stored_file.path),
                str(stored_file.below or ""),
                name,
                stored_file.media_type,
                (now + _LIFE).timestamp(),
            ),
        )
