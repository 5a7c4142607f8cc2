"""The journal of a chain: one JSON object a line, on the disk before and after every effect.

A chain that was killed is continued from here and from the world, never from memory. So a line counts only when it is
whole: what a crash cut off is removed before the next line is written.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from generator.files import FileReadError, FileWriteError, open_file, sync_folder, write_and_sync
from generator.kaggle.chain.errors import AlreadyRunningError

_LARGEST = 64 * 1024 * 1024


class Kind(StrEnum):
    """What a line of the journal says happened, or is about to."""

    BEGUN = "begun"
    PUSHING = "pushing"
    PUSHED = "pushed"
    NOT_PUSHED = "not-pushed"
    SESSION = "session"
    TRAINED = "trained"
    UPLOADING = "uploading"
    UPLOADED = "uploaded"
    NOT_UPLOADED = "not-uploaded"
    PREDICTED = "predicted"
    SUBMITTING = "submitting"
    SUBMITTED = "submitted"
    NOT_SUBMITTED = "not-submitted"
    BY_HAND = "by-hand"
    SCORED = "scored"
    FAILED = "failed"
    BACK = "back"
    QUOTA = "quota"
    FINISHED = "finished"


@dataclass(frozen=True)
class Entry:
    """One line; `fields` are the JSON values that this kind has."""

    kind: Kind
    at: datetime
    fields: Mapping[str, Any] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A field that is a text, or nothing."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        """A field that is a whole number, or 0."""
        value = self.fields.get(name)
        return value if isinstance(value, int) else 0

    def flag(self, name: str) -> bool:
        """A field that is true, or not."""
        return self.fields.get(name) is True

    def section(self, name: str) -> Mapping[str, Any]:
        """A field that is an object, or an empty one."""
        value = self.fields.get(name)
        return value if isinstance(value, dict) else {}


class Journal:
    """One chain's file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def number(self) -> int:
        """The number of the chain, which is the name of its file."""
        return int(self.path.stem)

    @property
    def folder(self) -> Path:
        """Where the files of this chain are kept: what was fetched, and what was sent."""
        return self.path.with_suffix("")

    def entries(self) -> tuple[Entry, ...]:
        """Every whole line, in order; a last line that a crash cut off is left out.

        Raises:
            FileReadError: The file cannot be read.
        """
        return tuple(entry for line in self._whole() if (entry := _entry(line)) is not None)

    def append(self, event: Kind, /, *, at: datetime, **fields: object) -> Entry:
        """Adds a line, and returns once it is on the disk.

        Raises:
            FileWriteError: No permission or no space; nothing that the line announces may be done then.
        """
        entry = Entry(event, at, fields)
        line = json.dumps({"at": at.astimezone(UTC).isoformat(), "event": str(event), **fields}, ensure_ascii=False)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            self._remove_torn_line()
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            write_and_sync(handle, line.encode("utf-8") + b"\n")
        except OSError as error:
            raise FileWriteError(path=self.path, cause=error) from error
        if is_new:
            sync_folder(self.path.parent)
        return entry

    def _whole(self) -> list[bytes]:
        try:
            with open_file(self.path) as file:
                content = file.read(_LARGEST)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise FileReadError(path=self.path, cause=error) from error
        return content.split(b"\n")[:-1]

    def _remove_torn_line(self) -> None:
        if not self.path.exists():
            return
        whole = sum(len(line) + 1 for line in self._whole())
        if whole != self.path.stat().st_size:
            os.truncate(self.path, whole)


class Journals:
    """All chains of a pair, in `.tandem/chains`."""

    def __init__(self, state: Path) -> None:
        self.folder = state / "chains"

    def all(self) -> list[Journal]:
        """The journals that have begun, the oldest first."""
        paths = sorted(path for path in self.folder.glob("*.jsonl") if path.stem.isdecimal())
        return [journal for journal in map(Journal, paths) if journal.entries()]

    def next(self) -> Journal:
        """The journal of a chain that is to begin."""
        last = max((journal.number for journal in self.all()), default=0)
        return Journal(self.folder / f"{last + 1:04}.jsonl")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other chains of the pair away; the lock ends with the process, however that ends.

        Raises:
            AlreadyRunningError: Another process has the lock.
            FileWriteError: The lock cannot be made.
        """
        path = self.folder / "lock"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise FileWriteError(path=path, cause=error) from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                holder = os.read(handle, 32).decode("ascii", "replace")
                raise AlreadyRunningError(pair=self.folder.parent.parent.name, process=holder) from error
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(handle)


def _entry(line: bytes) -> Entry | None:
    """What a line says; None for one that a newer kit wrote, or that is damaged."""
    try:
        fields = json.loads(line)
        at = datetime.fromisoformat(fields.pop("at"))
        return Entry(Kind(fields.pop("event")), at, fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
