"""Sounds whose pitch and loudness tell of the label."""

import io
import math
import random
import struct
import wave
from typing import TYPE_CHECKING

from generator.competition.survey.facts import AudioFormat

if TYPE_CHECKING:
    import numpy

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
    import numpy

    rate = min(max(audio.sample_rate, _LOWEST_RATE), _HIGHEST_RATE)
    channels = min(max(audio.channels, 1), _MOST_CHANNELS)
    frames = max(1, round((audio.seconds or _USUAL_LENGTH) * rate))
    # A short piece again and again; it has all tones that tell of the classes.
    piece = _piece(min(frames, rate // 10), rate, marks, level, source)
    samples = numpy.repeat(numpy.resize(piece, frames), channels)
    if suffix in (".aif", ".aiff"):
        return _aiff(samples.astype(">i2").tobytes(), rate, channels)
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return stream.getvalue()


def _piece(frames: int, rate: int, marks: tuple[int, ...], level: float, source: random.Random) -> "numpy.ndarray":
    import numpy

    pitches = [_LOWEST_PITCH * 2 ** (mark % _PITCHES / 6) for mark in marks or (0,)]
    loud = _LOUDEST * (0.3 + 0.7 * level) / len(pitches)
    noise = numpy.frombuffer(source.randbytes(2 * frames), dtype="<i2").astype(int) * _NOISE // 32_768
    at = numpy.arange(frames)
    tones = sum((numpy.sin(2 * math.pi * pitch * at / rate) for pitch in pitches), numpy.zeros(frames))
    piece: numpy.ndarray = (loud * tones).round().astype(int) + noise
    return piece


def _aiff(content: bytes, rate: int, channels: int) -> bytes:
    # The rate is an 80-bit number: 16 bits of exponent, 64 of mantissa, whose highest one is the 1 before the point.
    shift = rate.bit_length() - 1
    rate_bytes = struct.pack(">HQ", _EXPONENT_OF_1 + shift, rate << (_MANTISSA_BITS - shift))
    common = struct.pack(">hIh", channels, len(content) // (2 * channels), 16) + rate_bytes
    content = struct.pack(">II", 0, 0) + content
    chunks = b"COMM" + struct.pack(">I", len(common)) + common + b"SSND" + struct.pack(">I", len(content)) + content
    return b"FORM" + struct.pack(">I", 4 + len(chunks)) + b"AIFF" + chunks
