"""Masks: ellipses inside of a picture, as pixels, as an image and as a run-length code."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from PIL import Image

_SMALLEST, _LARGEST = 0.1, 0.3


@dataclass(frozen=True)
class Shape:
    """An ellipse, or nothing: its centre and its radii as shares of the width and the height."""

    x: float
    y: float
    across: float
    down: float

    def pixels(self, size: tuple[int, int]) -> "numpy.ndarray":
        """Which pixels of a picture of a size (width, height) are inside, bool [height, width]."""
        import numpy

        width, height = size
        rows = (numpy.arange(height, dtype="float32")[:, None] + 0.5) / height
        columns = (numpy.arange(width, dtype="float32")[None, :] + 0.5) / width
        if not self.across:
            return numpy.zeros((height, width), dtype=bool)
        inside: numpy.ndarray = ((columns - self.x) / self.across) ** 2 + ((rows - self.y) / self.down) ** 2 <= 1
        return inside


EMPTY = Shape(0.5, 0.5, 0.0, 0.0)


def any_shape(source: random.Random) -> Shape:
    """An ellipse that lies inside of the picture."""
    across, down = source.uniform(_SMALLEST, _LARGEST), source.uniform(_SMALLEST, _LARGEST)
    return Shape(source.uniform(across, 1 - across), source.uniform(down, 1 - down), across, down)


def run_length_code(pixels: "numpy.ndarray") -> str:
    """Pairs of a start and a length, counted from 1 down the columns from left to right, as Kaggle does.

    Args:
        pixels: Which are inside, bool [height, width].

    Returns:
        The numbers, separated by spaces; "" for an empty mask.
    """
    import numpy

    flat = numpy.concatenate([[False], pixels.T.ravel(), [False]])
    changes = numpy.flatnonzero(flat[1:] != flat[:-1]) + 1
    starts, ends = changes[::2], changes[1::2]
    return " ".join(f"{start} {end - start}" for start, end in zip(starts, ends, strict=True))


def mask_image(shapes: Sequence[Shape], size: tuple[int, int], mode: str) -> "Image.Image":
    """All shapes of a picture of a size (width, height) as an image: white inside, black outside."""
    from PIL import Image

    inside = EMPTY.pixels(size)
    for shape in shapes:
        inside |= shape.pixels(size)
    image = Image.fromarray(inside.astype("uint8") * 255)
    try:
        return image.convert(mode)
    except ValueError:
        return image
