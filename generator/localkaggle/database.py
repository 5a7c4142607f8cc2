"""The SQLite file behind a local Kaggle: one connection a thread, short transactions, nothing lost by a restart."""

import errno
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from generator.localkaggle.errors import LocalKaggleError
from generator.untrusted import printable

_BUSY_SECONDS = 30
_OF_THE_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


class DatabaseUnusableError(LocalKaggleError):
    """The file of the database is damaged, or something else."""

    def __init__(self, *, path: Path, cause: sqlite3.Error) -> None:
        super().__init__(
            f"{printable(str(path))} cannot be used as the database of a local Kaggle: {printable(str(cause))}. "
            "Put a copy of it back, or choose another folder with --root."
        )


class Database:
    """A SQLite database in WAL mode; any thread may use it, each through a connection of its own."""

    def __init__(self, path: Path, schemas: Iterable[str]) -> None:
        """Opens the database, and makes the tables that are not there yet.

        Raises:
            DatabaseUnusableError: The file is none.
        """
        self._path = path
        self._connections = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            for schema in schemas:
                self._connection().executescript(schema)
        except sqlite3.DatabaseError as error:
            raise DatabaseUnusableError(path=path, cause=error) from error

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
            if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_THE_DISK:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path)) from error
            raise

    def all(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Every row of a query."""
        return self._connection().execute(query, values).fetchall()

    def one(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Row | None:
        """The first row of a query, or None."""
        row: sqlite3.Row | None = self._connection().execute(query, values).fetchone()
        return row

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Executes one statement in a transaction of its own, and returns the id of the last row it inserted."""
        with self.transaction() as connection:
            return connection.execute(statement, values).lastrowid or 0

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
