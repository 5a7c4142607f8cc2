"""What a local Kaggle keeps: its folder, its database, and addresses of files."""

import bz2
import errno
import fcntl
import gzip
import hashlib
import hmac
import json
import lzma
import os
import secrets
import shutil
import sqlite3
import stat
import struct
import tarfile
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, ClassVar, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import quote

from generator.competition.tables import TOO_MANY, XzFile, require_no_lzma, tar_members
from generator.errors import LocalKaggleError
from generator.files import open_below, open_file, writing
from generator.localkaggle.rpc import ApiCall, ApiError, Faults, Fields, Methods, ServerClock, StoredFile, page
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
                f"Another local Kaggle uses {printable(str(root))}. Stop it, or choose another folder with --root."
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


# The free space of the disk, asked for before each piece that is written: others write meanwhile as well.


_SPARE = 256 * 2**20


def has_room(folder: Path, count: int, *, spare: int = _SPARE) -> bool:
    """True if so many bytes more on the disk of a folder leave the spare ones free."""
    return count <= shutil.disk_usage(folder).free - spare


def is_disk_full(error: BaseException) -> bool:
    """True if something could not be written for want of room, of bytes or of files."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


# Blobs: files that clients send in pieces, resumed after a break, until something is made of them.


UPLOAD = "__upload"
LARGEST = 20 * 2**30
"""The most bytes of one file, as much as Kaggle takes as output of a session."""

_RETENTION = timedelta(days=2)
_UNDER_WAY = timedelta(hours=1)


@dataclass(frozen=True)
class Blob:
    """An upload: `name` is a checked, relative POSIX path; `received_size` of `size` bytes are in `path`."""

    name: str
    path: Path
    size: int
    received_size: int


class Blobs:
    """Uploads, which are files in a folder and rows in a table; they outlive a restart, and go when they are old."""

    SCHEMA: ClassVar[str] = """
        CREATE TABLE IF NOT EXISTS blobs (
            token TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, begun REAL NOT NULL
        );
    """

    def __init__(self, folder: Path, database: Database, clock: ServerClock) -> None:
        self._folder = folder
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._remove_old()

    def methods(self) -> Methods:
        """The method by which the upload of a file for a dataset or a model begins."""
        return {"blobs.BlobApiService/StartBlobUpload": self._start}

    def start(self, call: ApiCall, *, name: str, size: int) -> Fields:
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
        row = self._database.fetch_one("SELECT owner FROM blobs WHERE token = ?", (token,))
        upload = self.find(token) if row is not None and row["owner"] == owner else None
        if upload is None:
            raise ApiError(400, "There is no upload of yours with this token.")
        if upload.received_size != upload.size:
            raise ApiError(
                400, f"{upload.name} was not sent to its end: {upload.received_size:,} of {upload.size:,} bytes."
            )
        return upload

    def find(self, token: str) -> Blob | None:
        """The upload behind a token, however much of it is there."""
        row = self._database.fetch_one("SELECT name, size FROM blobs WHERE token = ?", (token,))
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
            received_size = upload.path.stat().st_size
            if offset > received_size or offset + len(piece) > upload.size:
                raise ApiError(400, f"{upload.name} continues at {received_size:,} and ends at {upload.size:,}.")
            self._require_room(len(piece))
            with upload.path.open("r+b") as file:
                file.seek(0, os.SEEK_END)
                file.write(piece[received_size - offset :])
            return upload.path.stat().st_size

    def _start(self, call: ApiCall) -> Fields:
        return self.start(call, name=call.text("name"), size=call.integer("contentLength"))

    def _require_room(self, count: int) -> None:
        if not has_room(self._folder, count):
            raise ApiError(400, "There is no room for this upload on the disk of the server, beside those under way.")

    def _still_to_come(self) -> int:
        """The bytes that the uploads of the last hour have yet to send: another one has to leave them their room."""
        since = (self._clock.now() - _UNDER_WAY).timestamp()
        rows = self._database.fetch_all("SELECT token, size FROM blobs WHERE begun > ?", (since,))
        paths = ((self._folder / row["token"], row["size"]) for row in rows)
        return sum(size - path.stat().st_size for path, size in paths if path.is_file())

    def _remove_old(self) -> None:
        before = (self._clock.now() - _RETENTION).timestamp()
        for row in self._database.fetch_all("SELECT token FROM blobs WHERE begun < ?", (before,)):
            (self._folder / row["token"]).unlink(missing_ok=True)
        self._database.run("DELETE FROM blobs WHERE begun < ?", (before,))


# Archives of files: packed for downloads, and unpacked from uploads without trusting them.


_CHUNK = 1 << 20
_DIRECTORY_ENTRY = 300  # what a zip says of one file, with a name of usual length
_LINK = "is a link or a device; pack plain files only"
_Entries = Generator[tuple[str, IO[bytes]], None, None]
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".tar": FileIO,
    ".tar.gz": gzip.GzipFile,
    ".tgz": gzip.GzipFile,
    ".tar.bz2": bz2.BZ2File,
    ".tar.xz": XzFile,
}
_SUFFIXES = (".zip", *_OPENERS)
_NOT_AN_ARCHIVE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,  # a way of compressing that the standard library does not know
    RuntimeError,  # a password
    ValueError,
    LookupError,  # what the standard library stumbles over in damaged headers
    OverflowError,
    struct.error,
)


@dataclass(frozen=True)
class ExtractionLimits:
    """The most bytes and files that an archive may become, and the bytes of the disk that stay free."""

    size: int = 20 << 30
    files: int = 50_000
    spare: int = 1 << 30


def stem_of_archive(name: str) -> str | None:
    """The name without the suffix of an archive that Kaggle unpacks, or None if it has no such suffix."""
    last = name.rpartition("/")[2].lower()
    for suffix in _SUFFIXES:
        if last.endswith(suffix) and last != suffix:
            return name[: -len(suffix)]
    return None


def unpack_upload(archive: Path, name: str, folder: Path, limits: ExtractionLimits) -> bool:
    """Unpacks an archive into a folder of its own, which is not there yet.

    Args:
        archive: The file.
        name: What the client called it; its suffix says which kind of archive it is.
        folder: Where its files are to go.
        limits: How much it may become.

    Returns:
        Whether it was an archive; if not, the folder is not there.

    Raises:
        InvalidFileError: It holds names that lead elsewhere, links, devices, sparse files, or more than there is
            room for.
    """
    entries = _zip_entries if name.lower().endswith(".zip") else _tar_entries
    try:
        folder.mkdir(parents=True)
        _write_entries(entries(archive, name, limits), folder, ExtractionBudget(name, limits, folder))
    except (*_NOT_AN_ARCHIVE, OSError) as error:
        # Damaged streams, and offsets that lead nowhere, are errors of the system too; a full disk is another one.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        shutil.rmtree(folder)
        return False
    return True


def pack_zip(files: Iterable[ListedFile], target: Path, *, compression: int = zipfile.ZIP_STORED) -> None:
    """Writes files into a zip; the name appears when it is whole."""
    with _whole(target) as part, zipfile.ZipFile(part, "w", compression) as zip_file:
        for file in files:
            entry = zipfile.ZipInfo(file.name, date_time=file.write_time.timetuple()[:6])
            entry.compress_type = compression
            entry.external_attr = 0o644 << 16
            with file.open() as source:
                entry.file_size = os.fstat(source.fileno()).st_size
                _require_room(target.parent, entry.file_size)
                with zip_file.open(entry, "w") as sink:
                    shutil.copyfileobj(source, sink, _CHUNK)


def pack_tar_gz(files: Iterable[ListedFile], target: Path) -> None:
    """Writes files into a tar, lightly compressed; the name appears when it is whole."""
    with (
        _whole(target) as part,
        part.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as gzip_file,
        tarfile.open(fileobj=gzip_file, mode="w") as tar_file,
    ):
        for file in files:
            entry = tarfile.TarInfo(file.name)
            with file.open() as source:
                entry.size, entry.mtime = os.fstat(source.fileno()).st_size, int(file.write_time.timestamp())
                _require_room(target.parent, entry.size)
                tar_file.addfile(entry, source)


def _require_room(folder: Path, size: int) -> None:
    if not has_room(folder, size):
        raise ApiError(507, "There is no room for this archive on the disk of the server; fetch its files one by one.")


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    part = target.with_name(f".{target.name}.{threading.get_ident()}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


class ExtractionBudget:
    """Counts what becomes of an upload, whatever its headers promise, and leaves the disk of its folder some room."""

    def __init__(self, name: str, limits: ExtractionLimits, folder: Path) -> None:
        self._name = name
        self._limits = limits
        self._folder = folder
        self._files = limits.files
        self._bytes = limits.size

    def take_file(self) -> None:
        """One file more; `InvalidFileError` if that is one too many."""
        self._files -= 1
        if self._files < 0:
            raise InvalidFileError(name=self._name, reason=TOO_MANY)

    def copy(self, source: IO[bytes], sink: IO[bytes]) -> None:
        """Copies a file piece by piece; `InvalidFileError` where it becomes larger than there is room for."""
        while chunk := source.read(_CHUNK):
            self._bytes -= len(chunk)
            if self._bytes < 0 or not has_room(self._folder, len(chunk), spare=self._limits.spare):
                raise InvalidFileError(name=self._name, reason="becomes larger than there is room for; make it smaller")
            sink.write(chunk)


def _write_entries(entries: _Entries, folder: Path, budget: ExtractionBudget) -> None:
    with closing(entries):
        for name, stream in entries:
            budget.take_file()
            path = folder / checked_name(name)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                sink = path.open("xb")
            except (FileExistsError, NotADirectoryError) as error:
                raise InvalidFileError(name=name, reason="is in the archive twice; pack it again") from error
            with sink, stream:
                budget.copy(stream, sink)


def _zip_entries(archive: Path, name: str, limits: ExtractionLimits) -> _Entries:
    with _ZipFile(archive, name, limits) as stream, zipfile.ZipFile(stream) as zip_file:
        for entry in zip_file.infolist():
            if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise InvalidFileError(name=entry.filename, reason=_LINK)
            if not entry.is_dir():
                require_no_lzma(entry)
                yield entry.filename, zip_file.open(entry)


class _ZipFile(FileIO):
    """A zip whose directory, which `zipfile` reads in one piece, names no more files than there is room for."""

    def __init__(self, archive: Path, name: str, limits: ExtractionLimits) -> None:
        super().__init__(archive)
        self._archive_name = name
        self._most = max(_CHUNK, limits.files * _DIRECTORY_ENTRY)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self._most:
            raise InvalidFileError(name=self._archive_name, reason=TOO_MANY)
        return super().read(-1 if size is None else size)


def _tar_entries(archive: Path, name: str, limits: ExtractionLimits) -> _Entries:
    opener = next(_OPENERS[suffix] for suffix in _OPENERS if name.lower().endswith(suffix))
    with opener(archive) as stream:
        members = tar_members(
            stream,
            most_files=limits.files,
            most_bytes=limits.size,
            refusal=lambda reason: InvalidFileError(name=name, reason=reason),
        )
        for member, content in members:
            if not member.isdir():
                yield member.name.removeprefix("./"), _content(member, content)


def _content(member: tarfile.TarInfo, content: IO[bytes] | None) -> IO[bytes]:
    if content is None:
        raise InvalidFileError(name=member.name, reason=_LINK)
    if member.issparse():
        # A header of a few bytes could stand for gigabytes of nothing.
        raise InvalidFileError(name=member.name, reason="is a sparse file; pack it without --sparse")
    return content


# Listings of files as Kaggle shows them: as a tree, one folder at a time, and as a summary by kind.


def tree(files: Sequence[ListedFile], call: ApiCall, *, creation_date: str) -> Fields:
    """One page of what is directly in the folder `path` of the request: its folders, then its files."""
    path = call.text("path").strip("/")
    prefix = f"{path}/" if path else ""
    inside = [file for file in files if file.name.startswith(prefix)]
    rest = [file.name.removeprefix(prefix) for file in inside]
    names = sorted({name.split("/")[0] for name in rest if "/" in name})
    directories = [_directory(name, rest, prefix) for name in names]
    plain = [
        {"name": name, "creationDate": creation_date, "totalBytes": file.size, "relativeUrl": file.name}
        for name, file in zip(rest, inside, strict=True)
        if "/" not in name
    ]
    listing = page([*directories, *plain], call, key="items")
    return {
        "directories": [item for item in listing["items"] if "totalChildren" in item],
        "files": [item for item in listing["items"] if "totalChildren" not in item],
        "totalChildren": len(directories) + len(plain),
        "totalDirectories": len(directories),
        "totalFiles": len(plain),
        "nextPageToken": listing["nextPageToken"],
    }


def listing_summary(files: Sequence[ListedFile]) -> Fields:
    """The number and the size of files by extension; nothing is said of the columns of tables."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for file in files:
        extension = PurePosixPath(file.name).suffix.lower()
        counts[extension] += 1
        sizes[extension] += file.size
    kinds = [{"extension": kind, "fileCount": counts[kind], "totalSize": sizes[kind]} for kind in sorted(counts)]
    return {
        "fileSummaryInfo": {"totalFileCount": len(files), "fileTypes": kinds},
        "columnSummaryInfo": {"totalColumnCount": 0, "columnTypes": []},
    }


def _directory(name: str, rest: Sequence[str], prefix: str) -> Fields:
    below = [path.removeprefix(f"{name}/") for path in rest if path.startswith(f"{name}/")]
    folders = {path.split("/")[0] for path in below if "/" in path}
    plain = sum("/" not in path for path in below)
    return {
        "name": name,
        "relativeUrl": prefix + name,
        "totalDirectories": len(folders),
        "totalFiles": plain,
        "totalChildren": len(folders) + plain,
    }


# Everything that the services of a local Kaggle share: folder, database, clock, faults, download links and uploads.


@dataclass(frozen=True)
class ServiceContext:
    """One local Kaggle; `account` is the user name that its tokens belong to."""

    root: Path
    account: str
    database: Database
    clock: ServerClock
    faults: Faults
    tickets: Tickets
    uploads: Blobs
