"""Pictures that look like nothing, whose brightness and pattern tell of the label."""

import io
import random
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from generator.competition.specimen.masks import Shape
from generator.competition.survey.facts import ImageFormat

if TYPE_CHECKING:
    import numpy
    from PIL import Image

_COARSE = 8
_GRID = 4
_DARK, _RANGE, _NOISE, _CONTRAST = 60.0, 90.0, 24.0, 50.0
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


def size_of(image: ImageFormat, most: int, source: random.Random) -> tuple[int, int]:
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
    drawn = Image.fromarray(grey.round().astype("uint8"))
    if mode in ("RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "P", "PA"):
        # The classes have colours too: the share of red, green and blue is moved in turn.
        tint = [1.0 if mark % 3 == channel else 0.8 for mark in appearance.marks[:1] or (3,) for channel in range(3)]
        drawn = Image.merge("RGB", [drawn.point([round(shade * part) for shade in range(256)]) for part in tint])
    return in_mode(drawn, mode)


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
    grey = numpy.asarray(ground, dtype="float32") * numpy.float32(_NOISE / 255)
    grey += numpy.float32(_DARK + _RANGE * appearance.level - _NOISE / 2)
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


def encoded(image: "Image.Image", suffix: str) -> bytes:
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
