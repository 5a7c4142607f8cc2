"""Cells of one column that are like its sampled values: of their kind, range, frequency and missingness."""

import json
import math
import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise

from generator.competition.specimen.id_format import format_of
from generator.competition.specimen.randomness import even_quantiles
from generator.competition.specimen.text import is_prose, vocabulary_of
from generator.competition.survey.columns import kind_of, numbers_of
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind

Cells = list[str | None]

_ORDERED = NUMBERS | {ColumnKind.DATE}
_FEW, _FEW_SHARE = 20, 0.1
_LONGEST_INTEGER, _MOST_DECIMALS = 15, 17
_LONGEST_LIST = 200
_TRIES = 20


def cells_like(
    column: Column,
    quantiles: Sequence[float],
    source: random.Random,
    marks: Sequence[Sequence[int]] = (),
) -> Cells:
    """Makes up cells.

    Args:
        column: What they have to be like.
        quantiles: For each cell, where it stands among the sampled values, from 0, the smallest, to 1.
        source: For everything else that is left to chance.
        marks: For each cell, the classes that texts should tell of.

    Returns:
        As many cells as there are quantiles; None where one is missing.
    """
    if not column.present or not quantiles:
        return [None] * len(quantiles)
    made = _maker(column)(column, quantiles, source)
    is_text = column.kind is ColumnKind.TEXT and not is_categorical(column) and not _are_lists(column)
    if is_text and is_prose(column.present):
        made = _prose(column, len(quantiles), source, marks)
    if column.kind in _ORDERED and _grows(column):
        made = sorted(made, key=_order(column))
    cells: Cells = list(made)
    for row in _missing_rows(column, len(cells), source):
        cells[row] = None
    return _of_same_kind(cells, column, source)


def is_categorical(column: Column) -> bool:
    """True if the column holds a few values again and again: categories."""
    few = max(_FEW, _FEW_SHARE * len(column.present))
    return len(column.distinct) <= min(few, len(column.present) / 2)


def is_id_like(column: Column) -> bool:
    """True if each row has an own whole number or code, as ids are."""
    return (
        len(column.values) > 1
        and column.is_unique
        and _numbers_among_marks(column) is None
        and (
            column.kind is ColumnKind.INTEGER or (column.kind is ColumnKind.TEXT and not is_prose(column.present[:200]))
        )
    )


def _maker(column: Column) -> Callable[[Column, Sequence[float], random.Random], list[str]]:
    if is_categorical(column) or column.kind is ColumnKind.BOOLEAN:
        return _categories
    numbers = _numbers_among_marks(column)
    if numbers is not None:
        return lambda _, quantiles, source: _maker(numbers)(numbers, quantiles, source)
    if column.kind is ColumnKind.TEXT and len(column.distinct) <= len(column.present) / 2:
        return _categories  # such as keywords: several rows share each
    if column.kind in NUMBERS:
        return _integers if column.kind is ColumnKind.INTEGER else _numbers
    if column.kind is ColumnKind.DATE:
        return _dates
    return _lists if _are_lists(column) else _codes


def _numbers_among_marks(column: Column) -> Column | None:
    """The numbers of a column of which nearly all values are numbers, but for a mark such as `?`; None for others."""
    has_marks = column.kind is ColumnKind.TEXT and kind_of(column.distinct) is ColumnKind.TEXT
    return numbers_of(column) if has_marks else None


def _categories(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    """Values by their frequencies; each occurs at least once where there are rows enough."""
    values = sorted(column.present, key=_order(column))
    made = [_at(values, quantile) for quantile in quantiles]
    absent = sorted(column.distinct - set(made))
    if 2 * len(absent) <= len(made):
        for row, value in zip(sorted(source.sample(range(len(made)), len(absent))), absent, strict=True):
            if made.count(made[row]) > 1:
                made[row] = value
    return made


def _numbers(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:  # noqa: ARG001 - as the others
    values = sorted(column.present, key=_order(column))
    return [_between(values, quantile) for quantile in quantiles]


def _between(values: Sequence[str], quantile: float) -> str:
    """A number between two neighbours, with as many decimals as one of them."""
    at = quantile * (len(values) - 1)
    lower, upper = values[int(at)], values[min(int(at) + 1, len(values) - 1)]
    low, high = float(lower), float(upper)
    if not math.isfinite(low) or not math.isfinite(high) or lower == upper:
        return lower
    number = low + (high - low) * (at - int(at))
    if "e" in lower.lower() or "e" in upper.lower() or not math.isfinite(number):
        return repr(number)
    decimals = max(len(text.strip().partition(".")[2]) for text in (lower, upper))
    return f"{number:.{min(decimals, _MOST_DECIMALS)}f}"


def _integers(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    if max(map(len, column.distinct)) > _LONGEST_INTEGER:
        return _codes(column, quantiles, source)
    values = sorted(int(value) for value in column.present)
    padded = {len(value.strip()) for value in column.distinct}
    is_padded = len(padded) == 1 and any(value.startswith("0") and len(value) > 1 for value in column.distinct)
    width = max(padded) if is_padded else 0
    made = []
    for quantile in quantiles:
        at = quantile * (len(values) - 1)
        low, high = values[int(at)], values[min(int(at) + 1, len(values) - 1)]
        made.append(str(round(low + (high - low) * (at - int(at)))).zfill(width))
    return made


def _dates(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    """The day of one value with the time of another, in whatever notation they are."""
    values = sorted(column.present)
    made = [_at(values, quantile) for quantile in quantiles]
    for mark in ("T", " "):
        if all(value.count(mark) == 1 for value in column.distinct):
            times = [value.partition(mark)[2] for value in values]
            return [value.partition(mark)[0] + mark + source.choice(times) for value in made]
    return made


def _codes(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    """New codes of the same format, which repeat as often as the sampled ones."""
    share = len(column.distinct) / len(column.present)
    different = format_of(column.present).fresh(max(1, math.ceil(share * len(quantiles))), source)
    return [_at(different, quantile) for quantile in quantiles]


def _lists(column: Column, quantiles: Sequence[float], source: random.Random) -> list[str]:
    """Lists of the sampled lengths with elements of any of them."""
    lists = sorted((json.loads(value) for value in column.present), key=len)
    elements = [element for one in lists for element in one] or [None]
    made = []
    for quantile in quantiles:
        length = min(len(lists[min(int(quantile * len(lists)), len(lists) - 1)]), _LONGEST_LIST)
        drawn = source.sample(elements, length) if length <= len(elements) else []
        made.append(json.dumps(drawn, ensure_ascii=False))
    return made


def _are_lists(column: Column) -> bool:
    if not all(value.startswith("[") and value.endswith("]") for value in column.present):
        return False
    try:
        return all(isinstance(json.loads(value), list) for value in column.present)
    except (ValueError, RecursionError):
        return False


def _prose(column: Column, count: int, source: random.Random, marks: Sequence[Sequence[int]]) -> list[str]:
    vocabulary = vocabulary_of(column.present)
    # The lengths are drawn anew: they would tell of the class too, and more plainly than words do.
    lengths = even_quantiles(count, source)
    made: set[str] = set()
    texts = []
    for row, length in enumerate(lengths):
        text = vocabulary.write(length, marks[row] if marks else (), source)
        for _ in range(_TRIES * column.is_unique):
            if text not in made:
                break
            text = vocabulary.write(source.random(), marks[row] if marks else (), source)
        made.add(text)
        texts.append(text)
    return texts


def _order(column: Column) -> Callable[[str], tuple[float, str]]:
    if column.kind in NUMBERS:
        return lambda value: (float(value), value)
    return lambda value: (0.0, value)


def _grows(column: Column) -> bool:
    """True if the rows are in the order of this column."""
    keys = list(map(_order(column), column.present))
    return len(set(keys)) > 2 and all(one <= other for one, other in pairwise(keys))  # noqa: PLR2004 - a switch is no order


def _at(values: Sequence[str], quantile: float) -> str:
    return values[min(int(quantile * len(values)), len(values) - 1)]


def _missing_rows(column: Column, count: int, source: random.Random) -> list[int]:
    if not column.missing:
        return []
    missing = round(count * column.missing / len(column.values))
    return source.sample(range(count), min(max(missing, 1), count - 1))


def _of_same_kind(cells: Cells, column: Column, source: random.Random) -> Cells:
    """Puts one sampled value in, where chance has left out those that make the column what it is."""
    if kind_of(value for value in cells if value is not None) is column.kind:
        return cells
    telling = sorted(value for value in column.distinct if kind_of([value]) is column.kind)
    rows = [row for row, cell in enumerate(cells) if cell is not None]
    if telling and rows:
        values = sorted(column.present, key=_order(column)) if column.kind in _ORDERED else sorted(column.present)
        row = min(rows, key=lambda row: abs(_rank(values, cells[row]) - _rank(values, telling[0])))
        cells[row] = source.choice(telling)
    return cells


def _rank(values: Sequence[str], value: str | None) -> int:
    return bisect_left(values, value or "")
