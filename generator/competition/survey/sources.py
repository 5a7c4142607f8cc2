"""Files and unpacked pieces of files as bytes that can be read from any place."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from generator.files import open_file


class ByteSource(Protocol):
    """Something to read pieces from."""

    @property
    def available(self) -> int:
        """How many bytes can be read, from the first on."""

    @property
    def total(self) -> int:
        """How many bytes there are; estimated where only a piece is available."""

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset` on.

        Raises:
            OSError: The file cannot be read.
        """


@dataclass(frozen=True)
class FileSource:
    """A file on the disk."""

    path: Path
    total: int

    @classmethod
    def of(cls, path: Path) -> "FileSource":
        """The file of this path.

        Raises:
            OSError: It cannot be looked at.
        """
        return cls(path=path, total=path.stat().st_size)

    @property
    def available(self) -> int:
        """All of it."""
        return self.total

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset` on."""
        with open_file(self.path) as file:
            file.seek(offset)
            return file.read(length)


@dataclass(frozen=True)
class Unpacked:
    """The first bytes of something that was compressed."""

    content: bytes
    total: int

    @property
    def available(self) -> int:
        """How many bytes were unpacked."""
        return len(self.content)

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset` on."""
        return self.content[offset : offset + length]
