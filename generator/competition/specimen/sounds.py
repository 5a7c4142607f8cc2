"""Sounds whose pitch and loudness tell of the label."""

import io
import math
import random
import struct
import wave
from array import array

from generator.competition.survey.facts import AudioFormat

WRITTEN = frozenset((".wav", ".aif", ".aiff"))
_USUAL_LENGTH = 1.0  # seconds
_LOWEST_RATE, _HIGHEST_RATE = 1_000, 192_000
_MOST_CHANNELS = 8
_LOWEST_PITCH, _PITCHES = 200.0, 24
_LOUDEST, _NOISE = 12_000, 800
_EXPONENT_OF_1 = 16_383
_MANTISSA_BITS = 63


def sound(audio: AudioFormat, suffix: str, marks: tuple[int, ...], level: float, source: random.Random) -> bytes:
    """The bytes of a sound file of 16 bits: AIFF where the suffix says so, else WAV whatever the suffix is.

    Args:
        audio: Its rate, channels and length; 1 second where no length is known.
        suffix: Of the file.
        marks: The numbers of its classes, each of which is a tone.
        level: How loud it is, from 0 to 1.
        source: For the noise.
    """
    rate = min(max(audio.sample_rate, _LOWEST_RATE), _HIGHEST_RATE)
    channels = min(max(audio.channels, 1), _MOST_CHANNELS)
    frames = max(1, round((audio.seconds or _USUAL_LENGTH) * rate))
    samples = _samples(frames, rate, marks, level, source)
    if channels > 1:
        samples = array("h", (sample for sample in samples for _ in range(channels)))
    if suffix in (".aif", ".aiff"):
        return _aiff(samples, rate, channels)
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(_bytes(samples, is_big_endian=False))
    return stream.getvalue()


def _samples(frames: int, rate: int, marks: tuple[int, ...], level: float, source: random.Random) -> "array[int]":
    """A short piece again and again, for a piece of Python a second would be slow."""
    piece = min(frames, rate // 10)
    pitches = [_LOWEST_PITCH * 2 ** (mark % _PITCHES / 6) for mark in marks or (0,)]
    loud = _LOUDEST * (0.3 + 0.7 * level) / len(pitches)
    noise = array("h", source.randbytes(2 * piece))
    heard = array("h")
    for position in range(piece):
        tone = sum(math.sin(2 * math.pi * pitch * position / rate) for pitch in pitches)
        heard.append(round(loud * tone) + noise[position] * _NOISE // 32_768)
    repeated = heard * -(-frames // piece)
    return repeated[:frames]


def _bytes(samples: "array[int]", *, is_big_endian: bool) -> bytes:
    import sys

    if is_big_endian != (sys.byteorder == "big"):
        samples = array("h", samples)
        samples.byteswap()
    return samples.tobytes()


def _aiff(samples: "array[int]", rate: int, channels: int) -> bytes:
    # The rate is an 80-bit number: 16 bits of exponent, 64 of mantissa, whose highest one is the 1 before the point.
    shift = rate.bit_length() - 1
    rate_bytes = struct.pack(">HQ", _EXPONENT_OF_1 + shift, rate << (_MANTISSA_BITS - shift))
    common = struct.pack(">hIh", channels, len(samples) // channels, 16) + rate_bytes
    content = struct.pack(">II", 0, 0) + _bytes(samples, is_big_endian=True)
    chunks = b"COMM" + struct.pack(">I", len(common)) + common + b"SSND" + struct.pack(">I", len(content)) + content
    return b"FORM" + struct.pack(">I", 4 + len(chunks)) + b"AIFF" + chunks
