"""The SQLite file behind a local Kaggle: one connection a thread, short transactions, nothing lost by a restart."""

import errno
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from generator.errors import LocalKaggleError
from generator.untrusted import printable

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
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            has_tables = self.one("SELECT 1 FROM sqlite_master") is not None
            version = self._connection().execute("PRAGMA user_version").fetchone()[0]
            if has_tables and version != _TABLES_VERSION:
                self.close()
                raise LocalKaggleError(
                    f"{printable(str(path))} was written by another version of Tandem, and is left as it is. Choose "
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

    def all(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Every row of a query."""
        return self._connection().execute(query, values).fetchall()

    def one(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Row | None:
        """The first row of a query, or None."""
        row: sqlite3.Row | None = self._connection().execute(query, values).fetchone()
        return row

    def records(self, kind: type[Record], query: str, values: Sequence[Any] = ()) -> list[Record]:
        """Every row of a query as a dataclass; see `as_record`."""
        return [as_record(kind, row) for row in self.all(query, values)]

    def record(self, kind: type[Record], query: str, values: Sequence[Any] = ()) -> Record | None:
        """The first row of a query as a dataclass, or None."""
        row = self.one(query, values)
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
            for connection in self._opened:
                connection.close()
            self._opened.clear()

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
                self._opened.append(connection)
        return connection


def _is_of_the_disk(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_THE_DISK


def insert(connection: sqlite3.Connection, table: str, **values: Any) -> int:
    """Adds a row, and returns its id; 0 where the table has a row already from which it had to differ."""
    columns, marks = ", ".join(values), ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608 - names only
    made = connection.execute(statement, tuple(values.values()))
    return (made.lastrowid or 0) if made.rowcount else 0


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
