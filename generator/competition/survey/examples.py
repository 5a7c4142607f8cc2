"""TFRecord files without TensorFlow: the framing of their records, and the tf.train.Example in each.

https://www.tensorflow.org/tutorials/load_data/tfrecord describes both; a record is its length (8 bytes), a checksum of
the length, its bytes, and a checksum of these.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_FRAME = 12 + 4
_LARGEST_RECORD = 16 << 20
_POLYNOMIAL, _MASK = 0x82F63B78, 0xA282EAD8
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_KINDS = {1: "bytes", 2: "float", 3: "int64"}


class NotRecordsError(Exception):
    """The bytes are no TFRecord file, or its records are no examples."""


@dataclass(frozen=True)
class Feature:
    """The values of one feature of one example; `kind` is "bytes", "float" or "int64"."""

    kind: str
    values: tuple[bytes | float | int, ...]


def begins_like_records(head: bytes) -> bool:
    """True if the first 12 bytes are a length and its checksum."""
    return len(head) >= 12 and struct.unpack_from("<I", head, 8)[0] == _checksum(head[:8])  # noqa: PLR2004


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


def stored_size(record: bytes) -> int:
    """The number of bytes of a file that a record takes."""
    return len(record) + _FRAME


def features_of(record: bytes) -> dict[str, Feature]:
    """Parses a tf.train.Example.

    Raises:
        NotRecordsError: The record is something else.
    """
    features: dict[str, Feature] = {}
    try:
        for number, example in _fields(record):
            if number != 1 or not isinstance(example, bytes):
                continue
            for _, entry in _fields(example):
                name, feature = _entry(entry)
                features[name] = feature
    except (struct.error, IndexError, UnicodeDecodeError, TypeError) as error:
        raise NotRecordsError from error
    if not features:
        raise NotRecordsError
    return features


def _entry(entry: bytes | int) -> tuple[str, Feature]:
    """One entry of the map from names to features: field 1 is the name, field 2 the feature."""
    if isinstance(entry, int):
        raise NotRecordsError
    parts = dict(_fields(entry))
    name, content = parts.get(1, b""), parts.get(2, b"")
    if isinstance(name, int) or isinstance(content, int):
        raise NotRecordsError
    for number, values in _fields(content):
        if number in _KINDS and isinstance(values, bytes):
            return name.decode("utf-8"), Feature(_KINDS[number], tuple(_values(_KINDS[number], values)))
    return name.decode("utf-8"), Feature("bytes", ())


def _values(kind: str, content: bytes) -> Iterator[bytes | float | int]:
    for number, value in _fields(content):
        if number != 1:
            continue
        if kind == "bytes" and isinstance(value, bytes):
            yield value
        elif kind == "float" and isinstance(value, bytes):
            yield from struct.unpack(f"<{len(value) // 4}f", value)
        elif kind == "int64" and isinstance(value, int):
            yield _signed(value)
        elif kind == "int64" and isinstance(value, bytes):
            position = 0
            while position < len(value):
                packed, position = _varint(value, position)
                yield _signed(packed)


def _fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a protocol buffer message: their numbers, with a varint or the bytes of anything else."""
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        wire = key & 7
        if wire == _VARINT:
            number, position = _varint(message, position)
            yield key >> 3, number
            continue
        if wire == _BYTES:
            length, position = _varint(message, position)
        elif wire in (_FIXED_32, _FIXED_64):
            length = 4 if wire == _FIXED_32 else 8
        else:
            raise NotRecordsError
        if position + length > len(message):
            raise NotRecordsError
        yield key >> 3, message[position : position + length]
        position += length


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the highest bit says that another byte follows
            return value, position
    raise NotRecordsError


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _checksum(content: bytes) -> int:
    """CRC-32C, rotated and shifted as TFRecord files have it."""
    remainder = 0xFFFFFFFF
    for byte in content:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (_POLYNOMIAL if remainder & 1 else 0)
    remainder ^= 0xFFFFFFFF
    return ((remainder >> 15 | remainder << 17) + _MASK) & 0xFFFFFFFF
