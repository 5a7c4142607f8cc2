"""The labels of made-up examples, and what inputs show of them."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from generator.competition.facts import TargetKind
from generator.competition.specimen.column_cells import Cells, cells_like
from generator.competition.specimen.randomness import correlated_quantiles, even_quantiles, random_for
from generator.competition.survey.columns import kind_of
from generator.competition.survey.facts import NUMBERS, Column

FEWEST_OF_A_CLASS = 3
_MOST_CLASSES = 1_000
_BANDS = 4
_STRENGTH = 0.8
_YES = ("1", "1.0", "True", "true", "TRUE")


@dataclass(frozen=True)
class Labels:
    """The labels of some examples, and what an input shows of them.

    Attributes:
        cells: By target column, one for each example.
        classes: The class of each example, where files say it; else empty.
        marks: For each example, the numbers of the classes that its input shows.
        levels: For each example, how bright, large or high its input is, from 0 to 1.
    """

    cells: Mapping[str, Cells]
    classes: tuple[str, ...]
    marks: tuple[tuple[int, ...], ...]
    levels: tuple[float, ...]

    def without_signal(self, source: random.Random) -> "Labels":
        """The same labels with inputs that say nothing of them."""
        order = list(range(len(self.levels)))
        source.shuffle(order)
        return replace(
            self,
            marks=tuple(self.marks[row] for row in order),
            levels=tuple(self.levels[row] for row in order),
        )


@dataclass(frozen=True)
class LabelSampler:
    """A source that labels can be drawn from.

    Attributes:
        kind: What is predicted.
        columns: The sampled training labels, where a table has them.
        classes: Otherwise the classes that files say.
        separator: What separates several labels in one cell.
    """

    kind: TargetKind
    columns: tuple[Column, ...] = ()
    classes: tuple[str, ...] = ()
    separator: str = ""

    @property
    def different(self) -> int:
        """The number of classes; 0 where there are none to be covered."""
        if self.columns and self.kind is TargetKind.CLASS:
            return len(set(self._rows()))
        return len(self.classes) if not self.columns else 0

    def draw(self, count: int, source: random.Random) -> Labels:
        """Makes up the labels of so many examples, at least a few of each class."""
        if not self.columns or not self._rows():
            return self._of_classes(count, source)
        if self.kind is TargetKind.NUMBER and all(column.kind in NUMBERS for column in self.columns):
            return self._of_numbers(count, source)
        rows = _covering(self._rows(), count, source)
        cells = {column.name: [row[at] for row in rows] for at, column in enumerate(self.columns)}
        marks = [self._marks(row) for row in rows]
        most = max(1, max((mark for row in marks for mark in row), default=1))
        levels = [sum(row) / len(row) / most if row else 0.0 for row in marks]
        return Labels(cells, (), tuple(marks), tuple(levels))

    def _rows(self) -> list[tuple[str | None, ...]]:
        rows = list(zip(*(column.values for column in self.columns), strict=True))
        return [row for row in rows if any(cell is not None for cell in row)] or rows

    def _of_classes(self, count: int, source: random.Random) -> Labels:
        if not self.classes:
            levels = tuple(even_quantiles(count, source))
            return Labels({}, (), tuple(_band(level) for level in levels), levels)
        classes = self.classes[:_MOST_CLASSES]
        drawn = [position % len(classes) for position in range(count)]
        source.shuffle(drawn)
        most = max(1, len(classes) - 1)
        levels = tuple(position / most for position in drawn)
        names = tuple(classes[position] for position in drawn)
        return Labels({}, names, tuple((position,) for position in drawn), levels)

    def _of_numbers(self, count: int, source: random.Random) -> Labels:
        levels, cells = tuple(even_quantiles(count, source)), {}
        for column in self.columns:
            # Labels have no order of rows and no gaps.
            shuffled = random_for(0, "unsorted").sample(column.present, len(column.present))
            unsorted = replace(column, values=tuple(shuffled))
            cells[column.name] = cells_like(unsorted, correlated_quantiles(levels, source, strength=_STRENGTH), source)
        return Labels(cells, (), tuple(_band(level) for level in levels), levels)

    def _marks(self, row: Sequence[str | None]) -> tuple[int, ...]:
        if len(row) > 1 and self.kind in (TargetKind.CLASS, TargetKind.LABELS):
            return tuple(position for position, cell in enumerate(row) if cell in _YES)
        cell = row[0] or ""
        labels = cell.split(self.separator) if self.separator else [cell]
        return tuple(sorted(self._numbers[label] for label in labels if label))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        cells = self.columns[0].distinct
        labels = {label for cell in cells for label in (cell.split(self.separator) if self.separator else [cell])}
        is_number = kind_of(labels) in NUMBERS
        ordered = sorted(labels, key=lambda label: (float(label) if is_number else 0.0, label))
        return {label: position for position, label in enumerate(ordered)}


def _band(level: float) -> tuple[int, ...]:
    """The class that texts and pictures of a number show: low, middling, high."""
    return (min(int(level * _BANDS), _BANDS - 1),)


def _covering(
    known: Sequence[tuple[str | None, ...]], count: int, source: random.Random
) -> list[tuple[str | None, ...]]:
    """Rows by their frequencies, a few of each that occurs, as far as there is room."""
    by_row = Counter(known)
    frequent = sorted(by_row, key=lambda row: (-by_row[row], str(row)))
    each = max(1, min(FEWEST_OF_A_CLASS, count // len(frequent)))
    drawn = [row for row in frequent for _ in range(each)][:count]
    drawn += source.choices(frequent, weights=[by_row[row] for row in frequent], k=count - len(drawn))
    source.shuffle(drawn)
    return drawn
