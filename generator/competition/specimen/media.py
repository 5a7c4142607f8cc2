"""Made-up images, sounds and masks, which tell of the label."""

import io
import math
import random
import struct
import wave
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from generator.competition.facts import TargetKind
from generator.competition.introspection.evidence import is_below
from generator.competition.introspection.files import WHITE, PixelLists, pixel_columns, pixel_lists
from generator.competition.specimen.examples import Examples, Original, Shape, mask_image
from generator.competition.specimen.values import Cells
from generator.competition.survey import IMAGE_SUFFIXES, SOUND_SUFFIXES, AudioFormat, Folder, ImageFormat, Survey, Table
from generator.text import printable

MEDIA_SUFFIXES = IMAGE_SUFFIXES | SOUND_SUFFIXES

if TYPE_CHECKING:
    import numpy
    from PIL import Image


# Pictures that look like nothing, whose brightness and pattern tell of the label.


_COARSE = 8
_GRID = 4
_DARK, _RANGE, _PIXEL_NOISE, _CONTRAST = 60.0, 90.0, 24.0, 50.0
_GREY_TO_16_BIT = 257


@dataclass(frozen=True)
class Appearance:
    """The things that a picture shows.

    Attributes:
        marks: The numbers of its classes.
        level: How bright it is, from 0 to 1.
        shapes: What stands on it.
        grain: By how many shades its pixels are disturbed.
    """

    marks: tuple[int, ...]
    level: float
    shapes: tuple[Shape, ...] = ()
    grain: float = 0.0


def picture_size(image: ImageFormat, most: int, source: random.Random) -> tuple[int, int]:
    """Width and height of one picture, around the usual size where that varies.

    Args:
        image: What the real ones are like.
        most: How many pixels it may have.
        source: How far it is from the usual size.
    """
    width, height = max(1, image.width), max(1, image.height)
    if not image.is_uniform:
        factor = source.choice((0.8, 1.0, 1.0, 1.25))
        width, height = max(1, round(width * factor)), max(1, round(height * factor))
    if width * height > most:
        factor = (most / width / height) ** 0.5
        width, height = max(1, int(width * factor)), max(1, int(height * factor))
    return min(width, most), min(height, most)


def picture(appearance: Appearance, size: tuple[int, int], mode: str, source: random.Random) -> "Image.Image":
    """Draws a picture of a size (width, height) in a mode of Pillow."""
    from PIL import Image

    grey = grey_values(appearance, size, source)
    if mode.startswith("I;16"):
        return Image.fromarray((grey * _GREY_TO_16_BIT).astype("uint16"))
    image = Image.fromarray(grey.round().astype("uint8"))
    if mode in ("RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "P", "PA"):
        # The classes have colours too: the share of red, green and blue is moved in turn.
        tint = [1.0 if mark % 3 == channel else 0.8 for mark in appearance.marks[:1] or (3,) for channel in range(3)]
        image = Image.merge("RGB", [image.point([round(shade * part) for shade in range(256)]) for part in tint])
    return in_mode(image, mode)


def in_mode(image: "Image.Image", mode: str) -> "Image.Image":
    """The image in a mode, or as it is where it cannot be converted."""
    try:
        return image.convert(mode)
    except ValueError:
        return image


def grey_values(appearance: Appearance, size: tuple[int, int], source: random.Random) -> "numpy.ndarray":
    """The shades from 0 to 255 of a grey picture of a size (width, height), float32 [height, width]."""
    import numpy
    from PIL import Image

    width, height = size
    noise = numpy.frombuffer(source.randbytes(_COARSE * _COARSE), dtype="uint8").reshape(_COARSE, _COARSE)
    ground = Image.fromarray(noise).resize(size, Image.Resampling.BILINEAR)
    grey = numpy.asarray(ground, dtype="float32") * numpy.float32(_PIXEL_NOISE / 255)
    grey += numpy.float32(_DARK + _RANGE * appearance.level - _PIXEL_NOISE / 2)
    for mark in appearance.marks:
        # Each class has a field of its own, filled or with stripes of its own.
        place, kind = mark % (_GRID * _GRID), mark // (_GRID * _GRID)
        down, across = place // _GRID, place % _GRID
        field = grey[
            height * down // _GRID : height * (down + 1) // _GRID,
            width * across // _GRID : width * (across + 1) // _GRID,
        ]
        rows = numpy.arange(field.shape[0], dtype="float32")[:, None] / height
        columns = numpy.arange(field.shape[1], dtype="float32")[None, :] / width
        field += _CONTRAST * (numpy.sin((columns + kind % 3 * rows) * (24 + 12 * (kind % 4))) if kind else 1)
    for shape in appearance.shapes:
        inside = shape.pixels(size)
        grey[inside] += _CONTRAST * shape.filling(size)[inside]
    if appearance.grain:
        grain = numpy.frombuffer(source.randbytes(width * height), dtype="uint8").reshape(height, width)
        grey += numpy.float32(appearance.grain) * (grain / numpy.float32(255) - numpy.float32(0.5))
    return grey.clip(0, 255, out=grey)


def encode_image(image: "Image.Image", suffix: str) -> bytes:
    """The bytes of an image file of this suffix; in a mode that the format has, if it does not have the image's.

    Raises:
        OSError: This Pillow cannot write such files.
    """
    from PIL import Image

    name = Image.registered_extensions().get(suffix, "PNG")
    for mode in (image.mode, "RGB", "L"):
        stream = io.BytesIO()
        with suppress(OSError, ValueError, KeyError):
            image.convert(mode).save(stream, name)
            return stream.getvalue()
    raise OSError(f"Pillow cannot write {name}")


# Sounds whose pitch and loudness tell of the label.


WRITABLE_SUFFIXES = frozenset((".wav", ".aif", ".aiff"))
_USUAL_LENGTH = 1.0  # seconds
_LOWEST_RATE, _HIGHEST_RATE = 1_000, 192_000
_MOST_CHANNELS = 8
_LOWEST_PITCH, _PITCHES = 200.0, 24
_LOUDEST, _SOUND_NOISE = 12_000, 800
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
    noise = numpy.frombuffer(source.randbytes(2 * frames), dtype="<i2").astype(int) * _SOUND_NOISE // 32_768
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


# Pictures as a table has them: a pixel in each column, or all pixels of a channel in a cell.


_BETWEEN_POINTS = 100

Pictures = Callable[[int], Iterator[Sequence[float]]]


def pixel_cells(table: Table, pictures: Pictures) -> dict[str, Cells]:
    """The cells of the columns with pixels; none if a table has no such columns.

    Args:
        table: The original.
        pictures: Gives the shades from 0 to 255 of a square picture for each row, by the length of its side.
    """
    if names := pixel_columns(table):
        pixel_rows = [[str(round(shade)) for shade in picture] for picture in pictures(math.isqrt(len(names)))]
        return {name: [picture[at] for picture in pixel_rows] for at, name in enumerate(names)}
    lists = pixel_lists(table, None)
    if lists is None:
        return {}
    sample_cells = {column.name: column.present[0] for column in table.columns if column.name in lists.columns}
    all_pictures = list(pictures(lists.side))
    return {name: [_in_cell(picture, lists, cell) for picture in all_pictures] for name, cell in sample_cells.items()}


def _in_cell(picture: Sequence[float], lists: PixelLists, cell: str) -> str:
    """The pixels of a picture as the known cell has them: as a list, or between spaces; whole or not."""
    scale = (lists.high - lists.low) / WHITE
    # Some black and white points, so that the values have the range of the known ones.
    every = min(_BETWEEN_POINTS, len(picture) // 4)
    points = {at: WHITE * (at // every % 2) for at in range(0, len(picture), every)}
    numbers = [lists.low + points.get(at, shade) * scale for at, shade in enumerate(picture)]
    texts = [f"{number:.4f}" for number in numbers] if "." in cell else [str(round(number)) for number in numbers]
    return f"[{', '.join(texts)}]" if cell.startswith("[") else " ".join(texts)


# The content of one picture or sound, of an example or of nobody in particular.


_GRAIN = 60.0
_PIXELS, _LARGEST_PICTURE = 200_000_000, 2_000_000
_LARGEST_TARGET = 400_000  # each pixel of a picture that is predicted is a row of the sample submission
_SAMPLES, _LONGEST_SOUND = 40_000_000, 60.0  # of one side's sounds together, in 16 bits; of one sound, in seconds
_STRANGER_CLASSES = 4
_USUAL_PICTURE = ImageFormat("RGB", 256, 256, is_uniform=False)
_UNSEEN_PICTURE = ImageFormat("RGB", 64, 64, is_uniform=True)
_USUAL_SOUND = AudioFormat(sample_rate=16_000, seconds=5.0, channels=1)


def with_usual_formats(survey: Survey, note: Callable[[str], None]) -> Survey:
    """The survey with a usual format where the names alone say that files are pictures or sounds."""
    folders = []
    for folder in survey.folders:
        suffix = max(folder.suffixes, key=folder.suffixes.__getitem__, default="")
        medium = "pictures" if suffix in IMAGE_SUFFIXES else "sounds" if suffix in SOUND_SUFFIXES else ""
        if folder.images is not None or folder.audio is not None or not medium:
            folders.append(folder)
            continue
        note(f"Nothing is known of the {medium} in {printable(folder.path) or 'the folder'} but their names.")
        image, audio = (_USUAL_PICTURE, None) if medium == "pictures" else (None, _USUAL_SOUND)
        folders.append(replace(folder, images=image, audio=audio))
    return replace(survey, folders=tuple(folders))


@dataclass(frozen=True)
class MediaFiles:
    """Makes the files of a specimen.

    Attributes:
        original: What is copied.
        files: How many examples have files, who have to share what a small specimen can hold.
        note: Takes sentences on what is not like the original.
    """

    original: Original
    files: int
    note: Callable[[str], None]

    @property
    def most_pixels(self) -> int:
        """The number of pixels that a picture may have."""
        largest = _LARGEST_TARGET if self.original.task.target_kind is TargetKind.IMAGE else _LARGEST_PICTURE
        return min(largest, _PIXELS // max(1, self.files))

    def example_file(self, folder: Folder, suffix: str, side: Examples, example: int) -> bytes | None:
        """The file of an example in a folder; None if such files cannot be written."""
        is_mask = folder.path and folder.path == self.original.text("mask_folder")
        if is_mask and side.shapes and folder.images is not None:
            size = self.size_of(folder.images, side.role, example)
            return self._encode(in_mode(mask_image(side.shapes[example], size), folder.images.mode), suffix)
        # What is to be segmented is all that stands on a picture; without a signal not even that does.
        marks = () if side.shapes else side.shown_labels.marks[example]
        shapes = side.shapes[example] if side.shapes and self.original.signal else ()
        appearance = Appearance(marks, side.shown_labels.levels[example], shapes)
        return self._content(self._shorten_sounds(folder, len(side)), suffix, appearance, (side.role, example))

    def unrelated_file(self, folder: Folder, suffix: str, name: str) -> bytes | None:
        """A file that belongs to no example."""
        source = self.original.random("stranger", folder.path, name)
        appearance = Appearance((source.randrange(_STRANGER_CLASSES),), source.random())
        return self._content(self._shorten_sounds(folder, self.files), suffix, appearance, (folder.path, name))

    def size_of_example(self, side: Examples, example: int) -> tuple[int, int]:
        """Width and height of the picture of an example."""
        start = self.original.folder_of(side.role)
        inside = (folder.images for folder in self.original.survey.folders if is_below(folder.path, start))
        return self.size_of(next(filter(None, inside), _UNSEEN_PICTURE), side.role, example)

    def size_of(self, image: ImageFormat, *seed_key: object) -> tuple[int, int]:
        """Width and height of the picture of an example, the same in all folders of that size."""
        return picture_size(image, self.most_pixels, self.original.random("size", *seed_key))

    def image(
        self, image: ImageFormat, suffix: str, appearance: Appearance, seed_key: tuple[object, ...]
    ) -> bytes | None:
        """The bytes of a picture, None if this Pillow cannot write such files."""
        if image.width * image.height > self.most_pixels:
            sizes = f"{image.width:,} x {image.height:,} to {self.most_pixels / 1_000_000:.1f} million pixels"
            self.note(f"Pictures were made smaller, from {sizes}.")
        drawing = picture(
            appearance, self.size_of(image, *seed_key), image.mode, self.original.random("picture", *seed_key)
        )
        return self._encode(drawing, suffix)

    def _shorten_sounds(self, folder: Folder, files: int) -> Folder:
        """The folder with sounds that are short enough for so many of them."""
        audio = folder.audio
        if audio is None:
            return folder
        most = min(_LONGEST_SOUND, _SAMPLES / (max(1, audio.sample_rate) * max(1, audio.channels) * max(1, files)))
        if audio.seconds <= most:
            return folder
        self.note(f"Sounds were made shorter, from {audio.seconds:.1f} to {most:.1f} seconds.")
        return replace(folder, audio=replace(audio, seconds=most))

    def _content(
        self, folder: Folder, suffix: str, appearance: Appearance, seed_key: tuple[object, ...]
    ) -> bytes | None:
        if suffix in IMAGE_SUFFIXES and folder.images is not None:
            is_target = folder.path and folder.path == self.original.text("target_folder")
            is_disturbed = self.original.task.target_kind is TargetKind.IMAGE and not is_target
            return self.image(
                folder.images, suffix, replace(appearance, grain=_GRAIN) if is_disturbed else appearance, seed_key
            )
        if suffix in SOUND_SUFFIXES and folder.audio is not None:
            if suffix not in WRITABLE_SUFFIXES:
                self.note(
                    f"Files that end in {suffix} hold WAV sound, since {suffix[1:]} needs a library to be written."
                )
            return sound(
                folder.audio, suffix, appearance.marks, appearance.level, self.original.random("sound", *seed_key)
            )
        self.note(f"Files that end in {printable(suffix) or 'nothing'} beside pictures or sounds were left out.")
        return None

    def _encode(self, image: "Image.Image", suffix: str) -> bytes | None:
        try:
            return encode_image(image, suffix)
        except OSError:
            self.note(f"Pictures that end in {suffix} cannot be written by this Pillow and were left out.")
            return None
