"""TFRecord files without TensorFlow: the framing of their records, and the tf.train.Example in each.

https://www.tensorflow.org/tutorials/load_data/tfrecord describes both; a record is its length (8 bytes), a checksum of
the length, its bytes, and a checksum of these.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO

from generator.untrusted import storable

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
    framed = []
    for example in examples:
        length = struct.pack("<Q", len(example))
        framed += [length, _checksum(length), example, _checksum(example)]
    return b"".join(framed)


def example_of(features: Mapping[str, tuple[str, Values]]) -> bytes:
    """One tf.train.Example.

    Args:
        features: By name, "bytes", "float" or "int64" with the values.
    """
    message, _ = _example()
    example = message()
    for name, (kind, values) in features.items():
        entry = example.features.feature.add(key=storable(name))
        listed = getattr(entry.value, f"{kind}_list")
        listed.SetInParent()
        # A number of more bits loses the upper ones.
        is_whole = kind == "int64"
        listed.value.extend([(int(each) + _HALF) % (2 * _HALF) - _HALF for each in values] if is_whole else values)
    return bytes(example.SerializeToString())


def _feature(value: Any) -> Feature:
    which = value.WhichOneof("kind")
    return Feature(_KINDS.get(which, "bytes"), tuple(getattr(value, which).value) if which else ())


@cache
def _example() -> tuple[Any, type[Exception]]:
    """The class of the message, and what it raises; protobuf has no types, and is imported only where it is needed."""
    descriptors, pool, factory, text_format, message = (
        import_module(f"google.protobuf.{name}")
        for name in ("descriptor_pb2", "descriptor_pool", "message_factory", "text_format", "message")
    )
    file = text_format.Parse(_SCHEMA, descriptors.FileDescriptorProto())
    own = pool.DescriptorPool()
    own.Add(file)
    decode_error: type[Exception] = message.DecodeError
    return factory.GetMessageClass(own.FindMessageTypeByName("tandem.Example")), decode_error


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
