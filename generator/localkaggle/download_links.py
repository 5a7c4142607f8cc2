"""Addresses that stand for one file for a while, and need no further credentials; they outlive a restart."""

import hashlib
import hmac
import secrets
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from generator.localkaggle.clock import Clock
from generator.localkaggle.database import Database
from generator.localkaggle.file_names import checked_name
from generator.localkaggle.rpc import Call, Stored

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

    def __init__(self, database: Database, clock: Clock) -> None:
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

    def download(self, call: Call, stored: Stored) -> str:
        """An absolute address at which the file can be fetched; its last segment is the file's name."""
        # Clients name what they save by the last segment, so folders of the name are dropped, as Kaggle does.
        name = checked_name(stored.name).rpartition("/")[2]
        # One file, one address: a listing that is asked for every few seconds writes nothing.
        parts = (call.caller, str(stored.path), str(stored.below or ""), name, stored.media_type)
        secret = "\0".join(parts).encode(errors="surrogateescape")
        token = hmac.new(self._secret, secret, hashlib.sha256).hexdigest()[:40]
        self._keep(token, stored, name)
        return f"{call.base}/{STORAGE}/{token}/{quote(name)}"

    def redeem(self, token: str) -> Stored | None:
        """The file behind a ticket; None if there is no such ticket any more."""
        row = self._database.one(
            "SELECT path, below, name, media_type FROM download_tickets WHERE token = ? AND expires >= ?",
            (token, self._clock.now().timestamp()),
        )
        if row is None:
            return None
        below = Path(row["below"]) if row["below"] else None
        return Stored(Path(row["path"]), row["name"], row["media_type"], below)

    def _keep(self, token: str, stored: Stored, name: str) -> None:
        now = self._clock.now()
        with self._lock:
            if self._fresh.get(token, now) > now + _LIFE / 2:
                return
            if len(self._fresh) >= _MOST_REMEMBERED:
                self._fresh.clear()
            self._fresh[token] = now + _LIFE
        self._database.run(
            "INSERT OR REPLACE INTO download_tickets VALUES (?, ?, ?, ?, ?, ?)",
            (token, str(stored.path), str(stored.below or ""), name, stored.media_type, (now + _LIFE).timestamp()),
        )
