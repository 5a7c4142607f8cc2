"""Pictures as a table has them: a pixel in each column, or all pixels of a channel in a cell."""

import math
from collections.abc import Callable, Iterator, Sequence

from generator.competition.introspection.pixels import WHITE, PixelLists, pixel_columns, pixel_lists
from generator.competition.specimen.column_cells import Cells
from generator.competition.survey.facts import Table

_BETWEEN_POINTS = 100

Pictures = Callable[[int], Iterator[Sequence[float]]]


def pixel_cells(table: Table, pictures: Pictures) -> dict[str, Cells]:
    """The cells of the columns with pixels; none if a table has no such columns.

    Args:
        table: The original.
        pictures: Gives the shades from 0 to 255 of a square picture for each row, by the length of its side.
    """
    if names := pixel_columns(table):
        rounded = [[str(round(shade)) for shade in picture] for picture in pictures(math.isqrt(len(names)))]
        return {name: [picture[at] for picture in rounded] for at, name in enumerate(names)}
    lists = pixel_lists(table, None)
    if lists is None:
        return {}
    known = {column.name: column.present[0] for column in table.columns if column.name in lists.columns}
    drawn = list(pictures(lists.side))
    return {name: [_in_cell(picture, lists, cell) for picture in drawn] for name, cell in known.items()}


def _in_cell(picture: Sequence[float], lists: PixelLists, known: str) -> str:
    """The pixels of a picture as the known cell has them: as a list, or between spaces; whole or not."""
    scale = (lists.high - lists.low) / WHITE
    # Some black and white points, so that the values have the range of the known ones.
    every = min(_BETWEEN_POINTS, len(picture) // 4)
    points = {at: WHITE * (at // every % 2) for at in range(0, len(picture), every)}
    numbers = [lists.low + points.get(at, shade) * scale for at, shade in enumerate(picture)]
    texts = [f"{number:.4f}" for number in numbers] if "." in known else [str(round(number)) for number in numbers]
    return f"[{', '.join(texts)}]" if known.startswith("[") else " ".join(texts)
