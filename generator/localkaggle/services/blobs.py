"""Blobs: files that clients send in pieces, resumed after a break, until something is made of them."""

import os
import secrets
import threading
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from generator.localkaggle.clock import Clock
from generator.localkaggle.database import Database
from generator.localkaggle.file_names import checked_name
from generator.localkaggle.rpc import ApiError, Call, Fields, Methods
from generator.localkaggle.services.free_space import has_room

UPLOAD = "__upload"
LARGEST = 20 * 2**30
"""The most bytes of one file, as much as Kaggle takes as output of a session."""

_KEPT = timedelta(days=2)
_UNDER_WAY = timedelta(hours=1)


@dataclass(frozen=True)
class Blob:
    """An upload: `name` is a relative POSIX path that was checked; `received` of `size` bytes are there, in `path`."""

    name: str
    path: Path
    size: int
    received: int


class Blobs:
    """Uploads, which are files in a folder and rows in a table; they outlive a restart, and go when they are old."""

    SCHEMA: ClassVar[str] = """
        CREATE TABLE IF NOT EXISTS blobs (
            token TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, begun REAL NOT NULL
        );
    """

    def __init__(self, folder: Path, database: Database, clock: Clock) -> None:
        self._folder = folder
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._remove_old()

    def methods(self) -> Methods:
        """The method by which the upload of a file for a dataset or a model begins."""
        return {"blobs.BlobApiService/StartBlobUpload": self._start}

    def start(self, call: Call, *, name: str, size: int) -> Fields:
        """Begins an upload by the caller, who sends the bytes to `createUrl` and later names the blob by its `token`.

        Raises:
            ApiError: 400; the name is no relative path, or the file is too large for this machine.
        """
        name = checked_name(name)
        if not 0 <= size <= LARGEST:
            raise ApiError(400, f"A file may have up to {LARGEST:,} bytes, and not {size:,}.")
        token = f"blob-{secrets.token_urlsafe(24)}"
        with self._lock:
            self._require_room(size + self._still_to_come())
            (self._folder / token).touch()
            self._database.run(
                "INSERT INTO blobs VALUES (?, ?, ?, ?, ?)",
                (token, call.caller, name, size, self._clock.now().timestamp()),
            )
        return {"token": token, "createUrl": f"{call.base}/{UPLOAD}/{token}"}

    def take(self, token: str, *, owner: str) -> Blob:
        """The whole blob behind a token; whoever takes it moves or copies the file.

        Raises:
            ApiError: 400; it is unknown, somebody else's, or not all there.
        """
        row = self._database.one("SELECT owner FROM blobs WHERE token = ?", (token,))
        upload = self.find(token) if row is not None and row["owner"] == owner else None
        if upload is None:
            raise ApiError(400, "There is no upload of yours with this token.")
        if upload.received != upload.size:
            raise ApiError(400, f"{upload.name} was not sent to its end: {upload.received:,} of {upload.size:,} bytes.")
        return upload

    def find(self, token: str) -> Blob | None:
        """The upload behind a token, however much of it is there."""
        row = self._database.one("SELECT name, size FROM blobs WHERE token = ?", (token,))
        path = self._folder / token
        if row is None or not path.is_file():
            return None
        return Blob(row["name"], path, row["size"], path.stat().st_size)

    def append(self, upload: Blob, offset: int, piece: bytes) -> int:
        """Writes a piece at an offset, and returns how much is there then.

        What is there already is not written again, so a piece that is sent twice does no harm.

        Raises:
            ApiError: 400; the piece leaves a gap, reaches beyond the end that was announced, or finds no room.
        """
        with self._lock:
            received = upload.path.stat().st_size
            if offset > received or offset + len(piece) > upload.size:
                raise ApiError(400, f"{upload.name} continues at {received:,} and ends at {upload.size:,}.")
            self._require_room(len(piece))
            with upload.path.open("r+b") as file:
                file.seek(0, os.SEEK_END)
                file.write(piece[received - offset :])
            return upload.path.stat().st_size

    def _start(self, call: Call) -> Fields:
        return self.start(call, name=call.text("name"), size=call.integer("contentLength"))

    def _require_room(self, count: int) -> None:
        if not has_room(self._folder, count):
            raise ApiError(400, "There is no room for this upload on the disk of the server, beside those under way.")

    def _still_to_come(self) -> int:
        """The bytes that the uploads of the last hour have yet to send: another one has to leave them their room."""
        since = (self._clock.now() - _UNDER_WAY).timestamp()
        rows = self._database.all("SELECT token, size FROM blobs WHERE begun > ?", (since,))
        paths = ((self._folder / row["token"], row["size"]) for row in rows)
        return sum(size - path.stat().st_size for path, size in paths if path.is_file())

    def _remove_old(self) -> None:
        before = (self._clock.now() - _KEPT).timestamp()
        for row in self._database.all("SELECT token FROM blobs WHERE begun < ?", (before,)):
            (self._folder / row["token"]).unlink(missing_ok=True)
        self._database.run("DELETE FROM blobs WHERE begun < ?", (before,))
