"""Masks: ellipses inside of a picture, as pixels, as an image and as a run-length code."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from PIL import Image

_SMALLEST, _LARGEST = 0.1, 0.3
_OFTEN = 2 / 3
_DIRECTIONS, _WAVES, _MORE_WAVES = 3, 60.0, 40.0


@dataclass(frozen=True)
class Shape:
    """An ellipse, or nothing.

    Attributes:
        x: Its centre, as a share of the width.
        y: The same, of the height.
        across: Its radius across, as a share of the width; 0 if there is nothing.
        down: The same down, of the height.
        kind: The number of its class, by which it is filled: the first evenly, the others with stripes of their own.
    """

    x: float
    y: float
    across: float
    down: float
    kind: int = 0

    def pixels(self, size: tuple[int, int]) -> "numpy.ndarray":
        """The pixels of a picture of a size (width, height) that are inside, bool [height, width]."""
        rows, columns = _grid(size)
        if not self.across:
            return (rows < 0) & (columns < 0)
        inside: numpy.ndarray = ((columns - self.x) / self.across) ** 2 + ((rows - self.y) / self.down) ** 2 <= 1
        return inside

    def filling(self, size: tuple[int, int]) -> "numpy.ndarray":
        """The brightness of its pixels, from -1 to 1, were it as large as the picture, float32 [height, width]."""
        import numpy

        rows, columns = _grid(size)
        if not self.kind:
            return numpy.ones((size[1], size[0]), dtype="float32")
        along = (rows + 0 * columns, columns + 0 * rows, rows + columns)[self.kind % _DIRECTIONS]
        filling: numpy.ndarray = numpy.sin(along * (_WAVES + _MORE_WAVES * (self.kind // _DIRECTIONS)))
        return filling


def _grid(size: tuple[int, int]) -> "tuple[numpy.ndarray, numpy.ndarray]":
    """The middles of the pixels of a picture, from 0 to 1: float32 [height, 1] and [1, width]."""
    import numpy

    width, height = size
    rows, columns = numpy.arange(height, dtype="float32")[:, None], numpy.arange(width, dtype="float32")[None, :]
    return (rows + 0.5) / height, (columns + 0.5) / width


PIECES = ("0", "1", "2")  # the most that a mask is made of, where each has a row of its own
EMPTY = Shape(0.5, 0.5, 0.0, 0.0)


def any_shape(source: random.Random, kind: int = 0) -> Shape:
    """An ellipse that lies inside of the picture."""
    across, down = source.uniform(_SMALLEST, _LARGEST), source.uniform(_SMALLEST, _LARGEST)
    return Shape(source.uniform(across, 1 - across), source.uniform(down, 1 - down), across, down, kind)


def shapes_of(examples: int, kinds: Sequence[int], source: random.Random) -> tuple[tuple[Shape, ...], ...]:
    """For each example a shape of each kind, or nothing, as masks have to be empty now and then.

    The first example has all of them.
    """
    return tuple(
        tuple(any_shape(source, kind) if not row or source.random() < _OFTEN else EMPTY for kind in kinds)
        for row in range(examples)
    )


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


def mask_image(shapes: Sequence[Shape], size: tuple[int, int]) -> "Image.Image":
    """All shapes of a picture of a size (width, height) as an image: white inside, black outside."""
    from PIL import Image

    inside = EMPTY.pixels(size)
    for shape in shapes:
        inside |= shape.pixels(size)
    return Image.fromarray(inside.astype("uint8") * 255)
