"""The format that a file name promises, by the suffix of a table and by that of its compression."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

STREAMS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz"}  # as pandas calls them
PACKED = frozenset((*STREAMS, ".zst"))  # of which zstd is known and not unpacked


class TableFormat(StrEnum):
    """The ways of writing a table."""

    CSV = "csv"  # any separator
    JSON = "json"  # one array of objects, or one object of arrays
    JSON_LINES = "jsonl"
    PARQUET = "parquet"


_SEPARATORS = {".csv": "", ".txt": "", ".tsv": "\t", ".tab": "\t", ".psv": "|"}
FORMATS = {
    **dict.fromkeys(_SEPARATORS, TableFormat.CSV),
    ".json": TableFormat.JSON,
    ".jsonl": TableFormat.JSON_LINES,
    ".ndjson": TableFormat.JSON_LINES,
    ".parquet": TableFormat.PARQUET,
    ".pq": TableFormat.PARQUET,
}
# Any text may be called so; whether it is a table only its rows say.
LOOSE_SUFFIXES = frozenset((".txt", ".data", ".dat"))


@dataclass(frozen=True)
class NamedFormat:
    """The format that the name of a file promises.

    Attributes:
        format: What its rows are written in; None where the name says nothing of it.
        separator: What has to stand between the cells, as in a `.tsv`; "" where the name does not say.
        compression: Such as ".gz"; "" for none.
    """

    format: TableFormat | None
    separator: str = ""
    compression: str = ""


def format_of(name: str) -> NamedFormat:
    """Reads the format from a file name such as `submission.tsv.gz`; in a bare `.zip` there is text with separators."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes[-2:]]
    compression = suffixes.pop() if suffixes and suffixes[-1] in (*STREAMS, ".zip") else ""
    suffix = suffixes[-1] if suffixes else ""
    found = FORMATS.get(suffix, TableFormat.CSV if compression == ".zip" else None)
    return NamedFormat(found, _SEPARATORS.get(suffix, ""), compression)
