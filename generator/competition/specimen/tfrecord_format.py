"""TFRecord files without TensorFlow: tf.train.Examples as bytes, framed by lengths and checksums.

https://www.tensorflow.org/tutorials/load_data/tfrecord describes the layout.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

Values = Sequence[bytes] | Sequence[int] | Sequence[float]
_POLYNOMIAL, _MASK = 0x82F63B78, 0xA282EAD8
_FIELD_OF_KIND = {"bytes": 1, "float": 2, "int64": 3}
_BYTES_WIRE = 2


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
    entries = b"".join(
        _field(1, _field(1, name.encode("utf-8", "replace")) + _field(2, _feature(kind, values)))
        for name, (kind, values) in features.items()
    )
    return _field(1, entries)


def _feature(kind: str, values: Values) -> bytes:
    if kind == "bytes":
        content = b"".join(_field(1, value) for value in values if isinstance(value, bytes))
    elif kind == "float":
        content = _field(1, struct.pack(f"<{len(values)}f", *values))
    else:
        content = _field(1, b"".join(_varint(int(value) & (1 << 64) - 1) for value in values))
    return _field(_FIELD_OF_KIND[kind], content)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES_WIRE) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    content = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)


def _checksum(content: bytes) -> bytes:
    """CRC-32C, rotated and shifted as TFRecord files have it; TensorFlow checks it."""
    table = _table()
    remainder = 0xFFFFFFFF
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
