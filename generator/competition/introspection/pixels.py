"""Images whose pixels are in a table: a column for each pixel, or all of them in a cell."""

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from generator.competition.introspection.column_statistics import is_whole
from generator.competition.survey.facts import Column, Table
from generator.competition.tables.sample import evenly_drawn

_PIXEL = re.compile(r"(?:pixel|pix|px|p|x)?[_.]?\d+(?:x\d+)?")
_LISTED = re.compile(r"\[?\s*-?\d[-+.,eE\s\d]*\]?")
WHITE = 255
_FEWEST_PIXELS = 64
_COLUMNS_COMPARED, _CELLS_COMPARED = 60, 20
_CHANNELS = 3
_DIGITS, _PERCENTILES = 3, 1_000


@dataclass(frozen=True)
class PixelLists:
    """Columns whose cells hold all pixels of an image, such as `70 80 82 ...`.

    Attributes:
        columns: One for each channel, at most three.
        side: The height and the width of an image.
        low: The value that is black.
        high: The value that is white.
    """

    columns: tuple[str, ...]
    side: int
    low: float
    high: float


def pixel_columns(table: Table) -> tuple[str, ...]:
    """The columns that are the pixels of a square: numbered names, whole values from 0 to 255; none of other shapes."""
    numbered = (column for column in table.columns if _PIXEL.fullmatch(column.name.lower()) and is_whole(column))
    names = tuple(each.name for each in numbered if all(0 <= float(value) <= WHITE for value in each.distinct))
    return names if len(names) >= _FEWEST_PIXELS and math.isqrt(len(names)) ** 2 == len(names) else ()


def pixel_lists(train: Table, test: Table | None) -> PixelLists | None:
    """The columns with lists of pixels that training and test examples have; None if there are none.

    All of them have as many numbers, the square of a whole number. Where these are no shades, such as decibels, the
    lightest and the darkest thousandth of the sampled ones are left out.
    """
    known = set(test.column_names) if test is not None else set(train.column_names)
    found: dict[str, list[list[float]]] = {}
    for column in train.columns[:_COLUMNS_COMPARED]:
        images = _images(column) if column.name in known else []
        first = next(iter(found.values()), images)
        if images and len(images[0]) == len(first[0]) and len(found) < _CHANNELS:
            found[column.name] = images
    if not found:
        return None
    images = [image for images in found.values() for image in images]
    low, high = _range([value for image in images for value in image])
    return PixelLists(tuple(found), math.isqrt(len(images[0])), low, high)


def _images(column: Column) -> list[list[float]]:
    """The numbers in some cells of a column; nothing if they are no square images of one size."""
    cells = evenly_drawn(column.present, _CELLS_COMPARED)
    if not cells or not all(len(cell) >= 2 * _FEWEST_PIXELS - 1 and _LISTED.fullmatch(cell) for cell in cells):
        return []
    try:
        images = [[float(number) for number in cell.strip("[] ").replace(",", " ").split()] for cell in cells]
    except ValueError:
        return []
    counts = {len(image) for image in images}
    count = counts.pop()
    return images if not counts and count >= _FEWEST_PIXELS and math.isqrt(count) ** 2 == count else []


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    if low >= 0 and high <= WHITE:
        return 0.0, float(WHITE)
    cuts = statistics.quantiles(values, n=_PERCENTILES)
    low, high = (float(f"{cut:.{_DIGITS}g}") for cut in (cuts[0], cuts[-1]))
    return (low, high) if low < high else (low, low + 1)
