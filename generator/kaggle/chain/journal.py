"""The journal of a chain: one JSON object a line, on the disk before and after every effect.

A chain that was killed is continued from here and from the world, never from memory. So a line counts only when it is
whole: what a crash cut off is removed before the next line is written. Each line says the digest of the one before it
and of itself, since a chain that has forgotten what it did does it again; one that does not fit stops everything.
"""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from generator.files import FileReadError, writing
from generator.kaggle.chain.errors import ChainError, JournalDamagedError, JournalError
from generator.pair.workspace import PairFolder
from generator.untrusted import JsonObject, printable
from generator.workspace_files import WorkspaceFiles

_LARGEST = 64 * 1024 * 1024
_CHECKED = re.compile(rb'(\{.+), "check": "([0-9a-f]{16})"\}')
_BEGINNING = b'{"at": "'
_NUMBER = re.compile(r"[0-9]+")
_YEARS = range(2000, 9000)  # of a clock that may be wrong; moments are added to


class Kind(StrEnum):
    """The kinds of lines: something happened, or is about to."""

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
    REPAIRED = "repaired"


@dataclass(frozen=True)
class Entry:
    """One line; `fields` are the JSON values that this kind has."""

    kind: Kind
    at: datetime
    fields: JsonObject = field(default_factory=JsonObject)


class Journal:
    """One chain's file; `files` is the way to write it."""

    def __init__(self, path: Path, files: WorkspaceFiles) -> None:
        self.path = path
        self.files = files

    @property
    def number(self) -> int:
        """The number of the chain, which is the name of its file."""
        return int(self.path.stem)

    @property
    def folder(self) -> Path:
        """Where the files of this chain are kept: what was fetched, and what was sent."""
        return self.path.with_suffix("")

    @property
    def has_begun(self) -> bool:
        """True if it has a line, damaged or not.

        Raises:
            FileReadError: The file cannot be read.
            UnsafePlaceError: It is a link.
        """
        lines, rest = self._content()
        return bool(lines) or not _is_torn(rest)

    def entries(self) -> tuple[Entry, ...]:
        """Every line, in order; a last line that a crash cut off is left out.

        Raises:
            FileReadError: The file cannot be read.
            JournalDamagedError: A line is not what was written.
            JournalError: A line is of a newer version of the kit.
            UnsafePlaceError: The file is a link.
        """
        lines, rest = self._content()
        entries = tuple(self._entry(lines, index) for index in range(len(lines)))
        if not _is_torn(rest):
            raise self.damaged(len(lines) + 1, "it is not what was written")
        return entries

    def append(self, event: Kind, /, *, at: datetime, **fields: object) -> Entry:
        """Adds a line, and returns once it is on the disk.

        Raises:
            FileWriteError: No permission or no space; nothing that the line announces may be done then.
            UnsafePlaceError: The file is a link, or below one.
        """
        whole, _ = self._content()
        said = {"at": at.astimezone(UTC).isoformat(), "event": str(event), **fields}
        if whole:
            said["before"] = _link(whole, len(whole))
        with writing(self.path):
            # What a crash cut off goes.
            kept = sum(len(line) + 1 for line in whole)
            self.files.append(self.path, _checked(json.dumps(said, ensure_ascii=False).encode("utf-8")), behind=kept)
        return Entry(event, at, JsonObject(fields))

    def cut(self, line: int) -> None:
        """Forgets a line and those behind it, and keeps the file as it was beside it.

        Raises:
            FileWriteError: No permission or no space; nothing was changed.
            UnsafePlaceError: The file is a link, or below one.
        """
        lines, rest = self._content()
        number = 1 + sum(1 for _ in self.path.parent.glob(f"{self.path.stem}.damaged-*"))
        self.files.write(self.path.with_name(f"{self.path.stem}.damaged-{number}"), b"\n".join([*lines, rest]))
        self.files.write(self.path, b"".join(kept + b"\n" for kept in lines[: line - 1]))

    def damaged(self, line: int, problem: str) -> JournalDamagedError:
        """The error for a line that cannot be gone by."""
        return JournalDamagedError(path=self.path, pair=self.path.parents[2].name, line=line, problem=problem)

    def _entry(self, lines: list[bytes], index: int) -> Entry:
        """Reads a line, if it is what was written behind the ones before it."""
        line = lines[index]
        checked = _CHECKED.fullmatch(line)
        if checked is not None and _digest(checked[1]) != checked[2]:
            raise self.damaged(index + 1, "it is not what was written")
        # Journals of before there were checks are gone on with; behind a line with one there is none without.
        if checked is None and index and _CHECKED.fullmatch(lines[index - 1]):
            raise self.damaged(index + 1, "it has no checksum")
        try:
            fields = json.loads(line)
            fields.pop("check", None)
            said = fields.pop("before", None)
            at = datetime.fromisoformat(fields.pop("at"))
            event = str(fields.pop("event"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self.damaged(index + 1, "it is no line of a journal") from error
        if checked is not None and said != (_link(lines, index) if index else None):
            raise self.damaged(index + 1, "it does not follow the line before it")
        if at.tzinfo is None or at.year not in _YEARS:
            raise self.damaged(index + 1, "it is of a time that cannot be")
        if event in set(Kind):
            return Entry(Kind(event), at, JsonObject(fields))
        if checked is not None:
            raise JournalError(
                f"Line {index + 1} of {printable(str(self.path))} was written by a newer version of the kit, which is "
                "needed to go on with this chain; --restart begins a new one."
            )
        raise self.damaged(index + 1, "it says what no version of the kit writes")

    def _content(self) -> tuple[list[bytes], bytes]:
        """The whole lines, and what is behind the last of them."""
        try:
            with os.fdopen(self.files.open(self.path, os.O_RDONLY), "rb") as file:
                *lines, rest = file.read(_LARGEST).split(b"\n")
        except FileNotFoundError:
            return [], b""
        except OSError as error:
            raise FileReadError(path=self.path, cause=error) from error
        return lines, rest


class Journals:
    """All chains of a pair, in `.tandem/chains`."""

    def __init__(self, pair: PairFolder) -> None:
        self._pair = pair
        self.folder = pair.state / "chains"

    def all(self) -> list[Journal]:
        """The journals that have begun, the oldest first."""
        paths = [path for path in self.folder.glob("*.jsonl") if _NUMBER.fullmatch(path.stem)]
        found = [Journal(path, self._pair.files) for path in sorted(paths, key=lambda path: int(path.stem))]
        return [journal for journal in found if journal.has_begun]

    def next(self) -> Journal:
        """The journal of a chain that is to begin."""
        last = max((journal.number for journal in self.all()), default=0)
        return Journal(self.folder / f"{last + 1:04}.jsonl", self._pair.files)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other chains of the pair away; the lock ends with the process, however that ends.

        Raises:
            ChainError: Another process has the lock.
            FileWriteError: The lock cannot be made.
            UnsafePlaceError: It is a link, or below one.
        """
        path = self.folder / "lock"
        with writing(path):
            self._pair.files.make_folder(self.folder)
            handle = self._pair.files.open(path, os.O_RDWR | os.O_CREAT)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                name, process = printable(self._pair.name), os.read(handle, 32).decode("ascii", "replace")
                holder = f" (process {printable(process)})" if process.strip() else ""
                raise ChainError(
                    f"Another chain of {name} is running{holder}; wait for it or stop it. `tandem status {name}` shows "
                    "where it is."
                ) from error
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(handle)


def _checked(said: bytes) -> bytes:
    """A line with its own digest."""
    return said[:-1] + b', "check": "' + _digest(said[:-1]) + b'"}\n'


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode()


def _link(lines: list[bytes], count: int) -> str:
    """A line's word on those before it: the digest of the last one, which has theirs; of all, where it has not."""
    last = lines[count - 1]
    return _digest(last if _CHECKED.fullmatch(last) else b"\n".join(lines[:count])).decode()


def _is_torn(rest: bytes) -> bool:
    """True if what is behind the last line can be one that a crash cut off, and not one that was whole."""
    is_beginning = rest.startswith(_BEGINNING) or _BEGINNING.startswith(rest)
    return is_beginning and b"\0" not in rest and len(rest) < _LARGEST
