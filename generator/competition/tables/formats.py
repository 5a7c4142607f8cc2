"""The formats of table files and of TFRecords: suffixes, compression, encodings, framing."""

import bz2
import codecs
import gzip
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

from generator.files import open_file
from generator.text import quote_text, storable

# The errors of files that cannot be read as tables.


class UnreadableTableError(Exception):
    """The file should be a table and cannot be read; its text is a predicate, such as "is empty"."""


class NotATableError(UnreadableTableError):
    """The file is something else; a survey counts it among the other files of its folder."""


class PyarrowMissingError(UnreadableTableError):
    """The package that reads parquet is not installed."""


STREAMS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz"}  # as pandas calls them
ARCHIVE_SUFFIXES = frozenset((*STREAMS, ".zst"))  # of which zstd is known and not unpacked


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


def table_format(name: str) -> NamedFormat:
    """Reads the format from a file name such as `submission.tsv.gz`; in a bare `.zip` there is text with separators."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes[-2:]]
    compression = suffixes.pop() if suffixes and suffixes[-1] in (*STREAMS, ".zip") else ""
    suffix = suffixes[-1] if suffixes else ""
    table_format = FORMATS.get(suffix, TableFormat.CSV if compression == ".zip" else None)
    return NamedFormat(table_format, _SEPARATORS.get(suffix, ""), compression)


# Text from pieces of files: which encoding they have, found by trying.


UTF_8 = "utf-8"
# The longer mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WITHOUT_MARK = {"utf-8-sig": UTF_8}
_LONGEST_CHARACTER = 4
_FOLLOWING_BYTES = bytes(range(0x80, 0xC0))


def encoding_of(head: bytes, further: Iterable[bytes] = ()) -> str | None:
    """Finds an encoding that all pieces of a file have in common.

    Args:
        head: The first bytes of the file.
        further: Pieces from further on, which may begin and end within a character.

    Returns:
        What Python calls it, or None if the bytes are no text.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    wide = _wide_without_mark(head)
    if wide is not None:
        return wide
    if b"\0" in head:
        return None
    fitting = [UTF_8, "cp1252"]
    for piece in chain([head], further):
        fitting = [encoding for encoding in fitting if _is_in(piece, encoding)]
    return next(iter(fitting), "latin-1")


def decode_piece(piece: bytes, encoding: str, *, head: bytes = b"", errors: str = "replace") -> str:
    """The text of a piece, less the parts of characters at its ends.

    Args:
        piece: Bytes from anywhere in the file; its position is a multiple of 4.
        encoding: As `encoding_of` found it.
        head: For a piece from further on, the first bytes of the file: a byte-order mark there says how to read it.
        errors: What to do with bytes that are not in this encoding, as for `bytes.decode`.
    """
    if head and encoding in ("utf-16", "utf-32"):
        is_little = head.startswith(codecs.BOM_UTF16_LE)
        encoding = f"{encoding}-{'le' if is_little else 'be'}"
    elif head:
        encoding = _WITHOUT_MARK.get(encoding, encoding)
    if encoding == UTF_8:
        start = piece[: _LONGEST_CHARACTER - 1]
        piece = piece[len(start) - len(start.lstrip(_FOLLOWING_BYTES)) :]
    return codecs.getincrementaldecoder(encoding)(errors).decode(piece, final=False)


def _is_in(piece: bytes, encoding: str) -> bool:
    try:
        decode_piece(piece, encoding, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def _wide_without_mark(head: bytes) -> str | None:
    start = head[:512]
    even_bytes, odd = start[::2], start[1::2]
    if len(odd) < _LONGEST_CHARACTER:
        return None
    if not even_bytes.count(0) and odd.count(0) > len(odd) // 2:
        return "utf-16-le"
    if not odd.count(0) and even_bytes.count(0) > len(even_bytes) // 2:
        return "utf-16-be"
    return None


# LZMA with bounded memory: what it compressed says itself how much its readers have to set aside, up to 4 GB.


MOST_MEMORY = 128 << 20
"""The bytes that a reader sets aside at most: twice as many as for `xz -9`."""


class XzFile(lzma.LZMAFile):
    """A file that xz compressed; reading it raises `lzma.LZMAError` where that takes more memory."""

    def __init__(self, file: Path | IO[bytes]) -> None:
        super().__init__(file)
        # It makes a decompressor for each part of a file; tests hold that the limit reaches all of them.
        parts: Any = self._buffer.raw  # type: ignore[attr-defined] # typeshed does not know what it is made of
        parts._decomp_args["memlimit"] = MOST_MEMORY  # noqa: SLF001 - LZMAFile has no argument for the limit
        parts._decompressor = parts._decomp_factory(**parts._decomp_args)  # noqa: SLF001 - the first was made without it


def require_no_lzma(member: zipfile.ZipInfo) -> None:
    """Refuses a member of a zip that `zipfile` would read in any memory.

    Raises:
        NotImplementedError: It is compressed by LZMA, which is as rare as what `zipfile` does not know.
    """
    if member.compress_type == zipfile.ZIP_LZMA:
        raise NotImplementedError("it is compressed by LZMA; pack it again, by deflate")


# Compressed files: as streams, and their first bytes however large they claim to be.


_OPENERS: dict[str, Callable[[IO[bytes]], object]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": XzFile}
_DAMAGE = (EOFError, KeyError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
# What the archives of some systems have beside what was packed.
_NO_TABLES = ("__MACOSX/",)
_ABSURD_RATIO = 200
_GZIP_MODULUS, _PLAUSIBLE_FACTOR = 1 << 32, 4


@contextmanager
def open_unpacked(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """The bytes of a file, unpacked where it is compressed or in a zip archive, and the name that says their format.

    Args:
        path: A file, or `archive.zip/member`; of an archive alone the first file is meant.

    Raises:
        UnreadableTableError: It cannot be unpacked, now or by who reads on.
        OSError: It cannot be read.
    """
    archive = next((part for part in (path, *path.parents) if part.suffix.lower() == ".zip" and part.is_file()), None)
    try:
        with open_file(archive or path) as raw_file:
            if archive is not None:
                with zipfile.ZipFile(raw_file) as files:
                    name = path.relative_to(archive).as_posix() if archive != path else _first_file(files)
                    require_no_lzma(files.getinfo(name))
                    with files.open(name) as file:
                        yield file, name
            elif path.suffix.lower() in _OPENERS:
                with cast("IO[bytes]", _OPENERS[path.suffix.lower()](raw_file)) as unpacked_file:
                    yield unpacked_file, path.stem
            else:
                yield raw_file, path.name
    except (OSError, *_DAMAGE) as error:
        # Damaged gzip and bz2 files are errors of the system that have no number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UnreadableTableError(f"cannot be unpacked ({quote_text(str(error))})") from error


def beginning(raw: BinaryIO, size: int, suffix: str, limit: int) -> tuple[bytes, int, tuple[str, ...]]:
    """Unpacks the first bytes of a file.

    Args:
        raw: A compressed file, at its beginning.
        size: How many bytes it has.
        suffix: That of its compression.
        limit: How many bytes to unpack at most.

    Returns:
        The bytes, an estimate of how many there are in all, and remarks.

    Raises:
        UnreadableTableError: It is damaged, or this Python cannot unpack it.
    """
    if suffix not in _OPENERS:
        raise UnreadableTableError("is compressed by zstd and was not read; unpack it with: zstd -d FILE")
    try:
        with cast("IO[bytes]", _OPENERS[suffix](raw)) as stream:
            content = stream.read(limit + 1)
    except (OSError, *_DAMAGE) as error:
        kind = {".gz": "gzip"}.get(suffix, suffix[1:])
        raise UnreadableTableError(f"cannot be unpacked: it is damaged, cut off, or not {kind}") from error
    if len(content) <= limit:
        return content, len(content), ()
    total = round(limit * max(1.0, size / max(1, raw.tell())))
    if suffix == ".gz":
        total = _said_size(raw, total)
    return content[:limit], total, ratio_remarks(total, size)


def ratio_remarks(unpacked_size: int, packed_size: int) -> tuple[str, ...]:
    """A remark if a file claims to become absurdly large, as those do that are made to fill up a disk."""
    if unpacked_size <= _ABSURD_RATIO * max(1, packed_size):
        return ()
    ratio = unpacked_size // max(1, packed_size)
    return (f"unpacks to {ratio:,} times its size; only its beginning was, so look at it before you unpack it",)


def _said_size(raw: BinaryIO, estimate: int) -> int:
    """The size that the end of a gzip file says, modulo 4 GB, unless it is that of the last of several parts."""
    raw.seek(-4, 2)
    size = int.from_bytes(raw.read(4), "little")
    size += max(0, round((estimate - size) / _GZIP_MODULUS)) * _GZIP_MODULUS
    return size if estimate / _PLAUSIBLE_FACTOR < size < estimate * _PLAUSIBLE_FACTOR else estimate


def _first_file(files: zipfile.ZipFile) -> str:
    for name in files.namelist():
        if not name.endswith("/") and not name.startswith(_NO_TABLES):
            return name
    raise EOFError("there is no file in it")


# Tar archives with bounded headers: what packed them says itself how much their readers have to read in one piece.


_LONGEST_HEADER = 1 << 20  # of all that a tar says of one file
_CHUNK = 1 << 20

HEADER_TOO_LONG = "has a header that is far too long; pack it again"
TOO_LARGE = "becomes larger than there is room for; make it smaller"
TOO_MANY = "holds more files than a version may have; use fewer"


class _BoundedTar:
    """A tar of whose headers nobody can read much, nor read on without end.

    `tarfile` reads long names and extended headers in one piece, however long a hostile header says they are, and maps
    of sparse files to an end that may never come. While `header_left` is None, what is read is no header.
    """

    def __init__(self, stream: IO[bytes], end: int, refusal: Callable[[str], Exception]) -> None:
        self._stream, self._end, self._refusal = stream, end, refusal
        self.header_left: int | None = _LONGEST_HEADER

    def read(self, size: int = -1) -> bytes:
        if self.header_left is not None:
            self.header_left -= size
        if not 0 <= size <= _CHUNK or (self.header_left is not None and self.header_left < 0):
            raise self._refusal(HEADER_TOO_LONG)
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if offset > self._end:
            raise self._refusal(TOO_LARGE)
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


def tar_members(
    stream: IO[bytes], *, most_files: int, most_bytes: int, refusal: Callable[[str], Exception]
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Yields the members of a tar with their content, where they are ordinary files; folders as well.

    Args:
        stream: The tar, unpacked if it was compressed.
        most_files: How many files it may have; it may have as many folders.
        most_bytes: How many bytes they may have together.
        refusal: Makes the error of the words for what is wrong.

    Raises:
        tarfile.TarError: It is damaged.
    """
    # The files, and what a tar puts around each.
    bounded_stream = _BoundedTar(stream, most_bytes + most_files * 10_240, refusal)
    # It has all that tarfile asks of a file.
    with tarfile.open(fileobj=cast("IO[bytes]", bounded_stream), mode="r:") as archive:
        for count, member in enumerate(archive):
            # Folders alone could come without end: a million of them fit in 13 KB.
            if count >= 2 * most_files:
                raise refusal(TOO_MANY)
            # Older versions of Python go back by it, to read the same header for ever.
            if member.size < 0:
                raise tarfile.ReadError("a member has less than no bytes")
            bounded_stream.header_left = None
            yield member, archive.extractfile(member) if member.isreg() else None
            bounded_stream.header_left = _LONGEST_HEADER
            # Nothing of a header is needed later, and a tar may have any number of them.
            archive.members = []  # type: ignore[attr-defined]  # typeshed does not know the attribute
            archive.pax_headers = {}


# TFRecord files without TensorFlow: the framing of their records, and the tf.train.Example in each.
#
# https://www.tensorflow.org/tutorials/load_data/tfrecord describes both; a record is its length (8 bytes), a
# checksum of the length, its bytes, and a checksum of these.


Values = Sequence[bytes] | Sequence[int] | Sequence[float]
FRAME = 12 + 4  # bytes of a file that a record takes beside its own
_LARGEST_RECORD = 16 << 20
_POLYNOMIAL, _MASK = 0x82F63B78, 0xA282EAD8
_KINDS = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64"}
_HALF = 1 << 63  # of the whole numbers that an int64 can be
# As tensorflow/core/example/{example,feature}.proto have it; a map is a list of entries, whose names may be repeated.
_SCHEMA = """
name: "tandem/example.proto" package: "tandem" syntax: "proto3"
message_type { name: "Bytes" field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_BYTES } }
message_type { name: "Floats" field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_FLOAT } }
message_type { name: "Integers" field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_INT64 } }
message_type {
  name: "Feature" oneof_decl { name: "kind" }
  field { name: "bytes_list" number: 1 type: TYPE_MESSAGE type_name: ".tandem.Bytes" oneof_index: 0 }
  field { name: "float_list" number: 2 type: TYPE_MESSAGE type_name: ".tandem.Floats" oneof_index: 0 }
  field { name: "int64_list" number: 3 type: TYPE_MESSAGE type_name: ".tandem.Integers" oneof_index: 0 }
}
message_type {
  name: "Entry" field { name: "key" number: 1 type: TYPE_STRING }
  field { name: "value" number: 2 type: TYPE_MESSAGE type_name: ".tandem.Feature" }
}
message_type {
  name: "Features"
  field { name: "feature" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".tandem.Entry" }
}
message_type { name: "Example" field { name: "features" number: 1 type: TYPE_MESSAGE type_name: ".tandem.Features" } }
"""


class NotRecordsError(Exception):
    """The bytes are no TFRecord file, or its records are no examples."""


@dataclass(frozen=True)
class Feature:
    """The values of one feature of one example; `kind` is "bytes", "float" or "int64"."""

    kind: str
    values: tuple[bytes | float | int, ...]


def begins_like_records(head: bytes) -> bool:
    """True if the first 12 bytes are a length and its checksum."""
    return len(head) >= 12 and head[8:12] == _checksum(head[:8])  # noqa: PLR2004 - length and checksum


def first_records(stream: BinaryIO, count: int) -> list[bytes]:
    """The first records of a file.

    Args:
        stream: A TFRecord file that is not compressed, at its beginning.
        count: How many to read at most.

    Raises:
        NotRecordsError: It is something else, or a record is larger than 16 MB.
        OSError: It cannot be read.
    """
    records: list[bytes] = []
    while len(records) < count and (head := stream.read(12)):
        length = struct.unpack_from("<Q", head)[0] if begins_like_records(head) else _LARGEST_RECORD + 1
        if length > _LARGEST_RECORD:
            raise NotRecordsError
        record = stream.read(length)
        if len(record) < length:
            break
        records.append(record)
        stream.seek(4, 1)
    return records


def features_of(record: bytes) -> dict[str, Feature]:
    """Parses a tf.train.Example.

    Raises:
        NotRecordsError: The record is something else.
    """
    message, decode_error = _example()
    try:
        entries = message.FromString(record).features.feature
    except decode_error as error:
        raise NotRecordsError from error
    if not entries:
        raise NotRecordsError
    return {entry.key: _feature(entry.value) for entry in entries}


def record_file(examples: Iterable[bytes]) -> bytes:
    """The bytes of a TFRecord file with these records."""
    chunks = []
    for example in examples:
        length = struct.pack("<Q", len(example))
        chunks += [length, _checksum(length), example, _checksum(example)]
    return b"".join(chunks)


def tf_example(features: Mapping[str, tuple[str, Values]]) -> bytes:
    """One tf.train.Example.

    Args:
        features: By name, "bytes", "float" or "int64" with the values.
    """
    message, _ = _example()
    example = message()
    for name, (kind, values) in features.items():
        entry = example.features.feature.add(key=storable(name))
        value_list = getattr(entry.value, f"{kind}_list")
        value_list.SetInParent()
        # A number of more bits loses the upper ones.
        is_whole = kind == "int64"
        value_list.value.extend(
            [(int(number) + _HALF) % (2 * _HALF) - _HALF for number in values] if is_whole else values
        )
    return bytes(example.SerializeToString())


def _feature(value: Any) -> Feature:
    kind = value.WhichOneof("kind")
    return Feature(_KINDS.get(kind, "bytes"), tuple(getattr(value, kind).value) if kind else ())


@cache
def _example() -> tuple[Any, type[Exception]]:
    """The class of the message, and what it raises; protobuf has no types, and is imported only where it is needed."""
    descriptors, pool, factory, text_format, message = (
        import_module(f"google.protobuf.{name}")
        for name in ("descriptor_pb2", "descriptor_pool", "message_factory", "text_format", "message")
    )
    file = text_format.Parse(_SCHEMA, descriptors.FileDescriptorProto())
    schema_pool = pool.DescriptorPool()
    schema_pool.Add(file)
    decode_error: type[Exception] = message.DecodeError
    return factory.GetMessageClass(schema_pool.FindMessageTypeByName("tandem.Example")), decode_error


def _checksum(content: bytes) -> bytes:
    """CRC-32C, rotated and shifted as TFRecord files have it; TensorFlow checks it."""
    remainder, table = 0xFFFFFFFF, _table()
    for byte in content:
        remainder = remainder >> 8 ^ table[(remainder ^ byte) & 0xFF]
    remainder ^= 0xFFFFFFFF
    return struct.pack("<I", ((remainder >> 15 | remainder << 17) + _MASK) & 0xFFFFFFFF)


@cache
def _table() -> tuple[int, ...]:
    entries = []
    for byte in range(256):
        entry = byte
        for _ in range(8):
            entry = entry >> 1 ^ (_POLYNOMIAL if entry & 1 else 0)
        entries.append(entry)
    return tuple(entries)
