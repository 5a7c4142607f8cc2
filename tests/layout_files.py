"""Builders of the files that competitions are made of, and of made-up contents for them."""

import csv
import io
import random
import struct
import wave
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from PIL import Image

Row = Sequence[object]


def table(
    path: Path,
    header: str | Sequence[str],
    rows: Iterable[Row],
    *,
    separator: str = ",",
    encoding: str = "utf-8",
) -> None:
    """Writes a table; its columns can be given in one text, as they stand in the file."""
    columns = header.split(",") if isinstance(header, str) else header
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=separator, lineterminator="\n").writerows([columns, *rows])


def read_table(path: Path) -> list[list[str]]:
    """The rows of a CSV file, its header among them."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, their cells by the names of the columns."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def images(folder: Path, names: Iterable[str], *, size: tuple[int, int] = (48, 40), mode: str = "RGB") -> None:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture("{}x{}".format(*size), mode, path.suffix[1:], shade=number * 37 % 256))


def picture(size: str, mode: str, suffix: str, *, shade: int = 99) -> bytes:
    """An image of one colour; its size is written as in "48x40"."""
    stream = io.BytesIO()
    width, height = map(int, size.split("x"))
    image = Image.new(mode, (width, height), (shade,) * len(mode) if mode.startswith("RGB") else shade)
    image.save(stream, {"jpg": "jpeg", "tif": "tiff"}.get(suffix, suffix))
    return stream.getvalue()


def sound(*, seconds: float, rate: int = 8_000, channels: int = 1) -> bytes:
    """Silence."""
    return wav(bytes(2 * channels * int(rate * seconds)), rate=rate, channels=channels)


def wav(samples: bytes, *, rate: int = 8_000, channels: int = 1, width: int = 2) -> bytes:
    """A WAV file of samples with so many bytes each."""
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(samples)
    return stream.getvalue()


def record(example: Mapping[str, bytes | int]) -> bytes:
    """A record of a TFRecord file: its length, two checksums that nobody needs here, and a protocol buffer."""
    content = _message(1, b"".join(_feature(name, value) for name, value in example.items()))
    return _with_checksum(struct.pack("<Q", len(content))) + _with_checksum(content)


def _feature(name: str, value: bytes | int) -> bytes:
    kind = _message(1, _message(1, value)) if isinstance(value, bytes) else _message(3, _message(1, _varint(value)))
    return _message(1, _message(1, name.encode()) + _message(2, kind))


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes((low | 0x80,)) + _varint(rest) if rest else bytes((low,))


def _with_checksum(content: bytes) -> bytes:
    checksum = _crc32c(content)
    masked = ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return content + struct.pack("<I", masked)


def _crc32c(content: bytes) -> int:
    checksum = 0xFFFFFFFF
    for byte in content:
        checksum ^= byte
        for _ in range(8):
            checksum = checksum >> 1 ^ (0x82F63B78 if checksum & 1 else 0)
    return checksum ^ 0xFFFFFFFF


def some(seed: int = 1) -> random.Random:
    return random.Random(seed)  # noqa: S311 (made-up data)


def keys(count: int, *, seed: int = 1) -> list[str]:
    """Names as many competitions give them to their files."""
    source = some(seed)
    return [f"{source.getrandbits(48):012x}" for _ in range(count)]


def sentence(source: random.Random, words: int) -> str:
    known = ["the", "storm", "took", "all", "roofs", "of", "our", "small", "town", "while", "people", "slept", "well"]
    return " ".join(source.choice(known) for _ in range(words))
