"""Which format a submission's name promises, and its bytes without the compression that the name promises as well."""

import bz2
import gzip
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import IO, cast

from generator.competition.bounded_lzma import XzFile, require_no_lzma
from generator.files import open_file

_SEPARATOR_OF = {".csv": "", ".txt": "", ".tsv": "\t", ".tab": "\t", ".psv": "|"}
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zip")
_OPENERS: dict[str, Callable[[IO[bytes]], object]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": XzFile}
# What the archives of some systems have beside what was packed.
_NO_TABLES = ("__MACOSX/",)


class FileFormat(StrEnum):
    """What a file of rows is written in."""

    SEPARATED = "separated"
    JSON = "json"
    JSON_LINES = "json lines"
    PARQUET = "parquet"


_FORMATS = {
    **dict.fromkeys(_SEPARATOR_OF, FileFormat.SEPARATED),
    ".json": FileFormat.JSON,
    ".jsonl": FileFormat.JSON_LINES,
    ".ndjson": FileFormat.JSON_LINES,
    ".parquet": FileFormat.PARQUET,
    ".pq": FileFormat.PARQUET,
}


@dataclass(frozen=True)
class NamedFormat:
    """What the name of a file promises.

    Attributes:
        format: What its rows are written in; None where the name says nothing of it.
        separator: What has to stand between the cells, as in a `.tsv`; "" where the name does not say.
        compression: Such as ".gz"; "" for none.
    """

    format: FileFormat | None
    separator: str = ""
    compression: str = ""


def format_of(name: str) -> NamedFormat:
    """What a file name such as `submission.tsv.gz` promises; in a bare `.zip` there is text with separators."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes[-2:]]
    compression = suffixes.pop() if suffixes and suffixes[-1] in _COMPRESSIONS else ""
    suffix = suffixes[-1] if suffixes else ""
    found = _FORMATS.get(suffix, FileFormat.SEPARATED if compression == ".zip" else None)
    return NamedFormat(found, _SEPARATOR_OF.get(suffix, ""), compression)


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """The bytes of a file, unpacked where it is compressed or in a zip archive, and the name that says their format.

    Args:
        path: A file, or `archive.zip/member`; of an archive alone the first file is meant.

    Raises:
        OSError: It cannot be read.
        EOFError: It is a cut-off stream, or an archive without a file.
        KeyError: The archive has no such member.
        zipfile.BadZipFile: It is no archive.
        RuntimeError: The member is encrypted, or compressed in a way that is not read.
    """
    archive = next(
        (place for place in (path, *path.parents) if place.suffix.lower() == ".zip" and place.is_file()), None
    )
    with open_file(archive or path) as stored:
        if archive is not None:
            with zipfile.ZipFile(stored) as files:
                name = path.relative_to(archive).as_posix() if archive != path else _first_file(files)
                require_no_lzma(files.getinfo(name))
                with files.open(name) as file:
                    yield file, name
        elif path.suffix.lower() in _OPENERS:
            with cast("IO[bytes]", _OPENERS[path.suffix.lower()](stored)) as unpacked:
                yield unpacked, path.stem
        else:
            yield stored, path.name


def _first_file(files: zipfile.ZipFile) -> str:
    for name in files.namelist():
        if not name.endswith("/") and not name.startswith(_NO_TABLES):
            return name
    raise EOFError("there is no file in it")
