"""The format of sound files, from their headers; no sample is decoded."""

import statistics
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from generator.competition.survey.facts import AudioFormat
from generator.files import open_file

SUFFIXES = frozenset((".wav", ".aif", ".aiff", ".aifc", ".flac", ".ogg", ".oga", ".opus"))
_HEAD, _TAIL = 1 << 16, 1 << 16
_OPUS_RATE = 48_000
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE  # codes of formats in WAV files
_SUBFORMAT = 24  # where an extensible format has its code
_PLAUSIBLE_RATES = range(1_000, 1_000_000)


@dataclass(frozen=True)
class _Bytes:
    """The ends of a file; `tail` is empty where only the head is known."""

    head: bytes
    tail: bytes
    size: int


def audio_format(files: Iterable[Path | bytes]) -> AudioFormat | None:
    """Finds what sound files have in common.

    Args:
        files: Paths, or the first bytes of files.

    Returns:
        The most frequent rate and number of channels, the median of the known lengths in seconds, 0 where none is
        known, and whether all are plain WAV files; None if no file can be read.
    """
    formats = [found for file in files if (found := _format(file)) is not None]
    if not formats:
        return None
    lengths = [found.seconds for found in formats if found.seconds > 0]
    return AudioFormat(
        sample_rate=Counter(found.sample_rate for found in formats).most_common(1)[0][0],
        seconds=statistics.median_low(lengths) if lengths else 0.0,
        channels=Counter(found.channels for found in formats).most_common(1)[0][0],
        is_plain_wav=all(found.is_plain_wav for found in formats),
    )


def _format(file: Path | bytes) -> AudioFormat | None:
    try:
        content = _Bytes(file, b"", len(file)) if isinstance(file, bytes) else _ends(file)
        found = _READERS[content.head[:4]](content)
    except (OSError, struct.error, ValueError, LookupError, OverflowError, ZeroDivisionError):
        return None
    return found if found.sample_rate in _PLAUSIBLE_RATES and found.channels else None


def _ends(path: Path) -> _Bytes:
    with open_file(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(_HEAD)
        file.seek(max(0, size - _TAIL))
        return _Bytes(head, file.read(_TAIL), size)


def _chunk(head: bytes, name: bytes, order: str) -> tuple[int, int]:
    """The position of the content of a chunk of a RIFF or IFF file, and the length that is said of it."""
    position = 12
    while position + 8 <= len(head):
        length = int(struct.unpack_from(f"{order}I", head, position + 4)[0])
        if head[position : position + 4] == name:
            return position + 8, length
        position += 8 + length + length % 2
    raise ValueError


def _wave(content: _Bytes) -> AudioFormat:
    start, _ = _chunk(content.head, b"fmt ", "<")
    code, channels, rate, bytes_a_second = struct.unpack_from("<HHII", content.head, start)
    if code == _EXTENSIBLE:
        (code,) = struct.unpack_from("<H", content.head, start + _SUBFORMAT)
    data, length = _chunk(content.head, b"data", "<")
    # A recorder that was interrupted leaves a length of 0 or of 4 GB.
    is_said = 0 < length <= content.size - data or not content.tail
    seconds = (length if is_said else content.size - data) / bytes_a_second
    return AudioFormat(rate, seconds, channels, is_plain_wav=code in (_PCM, _FLOAT))


def _aiff(content: _Bytes) -> AudioFormat:
    start, _ = _chunk(content.head, b"COMM", ">")
    channels, frames, _, exponent, mantissa = struct.unpack_from(">hIhHQ", content.head, start)
    # An 80-bit number: 15 bits of exponent, 64 of mantissa, whose highest one is the 1 before the point.
    rate = round(mantissa * 2.0 ** (exponent - 16383 - 63))
    return AudioFormat(rate, frames / rate, channels)


def _flac(content: _Bytes) -> AudioFormat:
    # RFC 9639, section 8.2: 20 bits of rate, 3 of channels less one, 5 of depth less one, 36 of samples.
    packed = int.from_bytes(content.head[18:26], "big")
    rate, channels, samples = packed >> 44, (packed >> 41 & 7) + 1, packed & (1 << 36) - 1
    return AudioFormat(rate, samples / rate, channels)


def _ogg(content: _Bytes) -> AudioFormat:
    # RFC 3533: a page has 27 bytes and a table of segments before its content.
    packet = content.head[27 + content.head[26] :]
    if packet.startswith(b"\x01vorbis"):
        channels, rate = struct.unpack_from("<BI", packet, 11)
        skipped = 0
    elif packet.startswith(b"OpusHead"):
        channels, skipped = struct.unpack_from("<BH", packet, 9)
        rate = _OPUS_RATE
    else:
        raise ValueError
    page = content.tail.rfind(b"OggS")
    last = struct.unpack_from("<q", content.tail, page + 6)[0] if page >= 0 else 0
    return AudioFormat(rate, max(0, last - skipped) / rate, channels)


_READERS = {b"RIFF": _wave, b"FORM": _aiff, b"fLaC": _flac, b"OggS": _ogg}  # by the first bytes of a file
