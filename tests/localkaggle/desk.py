"""A counter to ask services of a local Kaggle at, with no HTTP between: calls in, answers out, files as uploads."""

import io
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from generator.localkaggle.database import Database
from generator.localkaggle.faults import Faults, parse_rule
from generator.localkaggle.rpc import ApiError, Call, Fields, Redirect, Stored
from generator.localkaggle.service_context import Service, ServiceContext
from generator.localkaggle.services.blobs import Blob

ME = "tester"


@dataclass
class HandClock:
    """A clock that is moved by hand."""

    moment: datetime = datetime(2026, 11, 20, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def pass_by(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@dataclass
class Shelved:
    """Uploads that are files in a folder, and tickets that are remembered."""

    folder: Path
    blobs: dict[str, Blob] = field(default_factory=dict)
    tickets: dict[str, Stored] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def start(self, call: Call, *, name: str, size: int) -> Fields:
        raise NotImplementedError

    def add(self, name: str, content: bytes) -> str:
        token = f"blob-{next(self.numbers)}"  # several threads may submit at once
        path = self.folder / token
        path.write_bytes(content)
        self.blobs[token] = Blob(name, path, len(content))
        return token

    def take(self, token: str, *, owner: str) -> Blob:
        if token not in self.blobs:
            raise ApiError(400, "There is no upload of yours with this token.")
        return self.blobs[token]

    def download(self, call: Call, stored: Stored) -> str:
        url = f"{call.base}/__storage/{len(self.tickets)}/{stored.name}"
        self.tickets[url] = stored
        return url


class Desk:
    """One service on a folder; a second desk on the same folder is the service after a restart."""

    def __init__(self, root: Path, service: type[Service], *, faults: tuple[str, ...] = ()) -> None:
        root.mkdir(parents=True, exist_ok=True)
        (root / "uploads").mkdir(exist_ok=True)
        self.root = root
        self.clock = HandClock()
        self.uploads = Shelved(root / "uploads")
        self.faults = Faults([parse_rule(rule) for rule in faults])
        self._database = Database(root / "kaggle.sqlite", [service.SCHEMA])
        shelved = self.uploads
        self.service = service(ServiceContext(root, ME, self._database, self.clock, self.faults, shelved, shelved))

    def ask(self, method: str, *, caller: str = ME, **fields: Any) -> Any:
        """Calls a method by its last name."""
        handlers = {name.rpartition("/")[2]: handler for name, handler in self.service.methods().items()}
        return handlers[method](Call(method, caller, "http://localhost", fields))

    def refused(self, method: str, **fields: Any) -> tuple[int, str]:
        """The status and the sentence of a call that is refused."""
        try:
            answer = self.ask(method, **fields)
        except ApiError as error:
            return error.status, error.message
        raise AssertionError(f"{method} was answered: {answer}")

    def files(self, tree: dict[str, bytes]) -> dict[str, Any]:
        """Uploads of `{path: content}`, as the `files` and nested `directories` of a creation."""
        info: dict[str, Any] = {"files": [], "directories": []}
        for path, content in tree.items():
            *folders, name = path.split("/")
            place = info
            for folder in folders:
                known = [other for other in place["directories"] if other["name"] == folder]
                if not known:
                    known = [{"name": folder, "files": [], "directories": []}]
                    place["directories"] += known
                place = known[0]
            place["files"].append({"token": self.uploads.add(name, content)})
        return info

    def fetched(self, answer: Any) -> Stored:
        """The file that a redirect leads to."""
        assert isinstance(answer, Redirect)
        return self.uploads.tickets[answer.url]

    def close(self) -> None:
        """What a server does when it ends."""
        self._database.close()


def tree_of(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by relative path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def zipped(tree: dict[str, bytes]) -> bytes:
    """A zip of files, whatever their names."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in tree.items():
            packed.writestr(name, content)
    return whole.getvalue()


def tarred(*entries: tarfile.TarInfo | tuple[str, bytes], mode: str = "w:gz") -> bytes:
    """A tar of files, and of entries of any other kind."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode=mode) as packed:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                packed.addfile(entry)
            else:
                info = tarfile.TarInfo(entry[0])
                info.size = len(entry[1])
                packed.addfile(info, io.BytesIO(entry[1]))
    return whole.getvalue()
