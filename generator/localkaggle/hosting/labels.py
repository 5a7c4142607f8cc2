"""Classes and labels as indices and as columns."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from generator.competition.submission import SubmissionError

MOST_CELLS = 1 << 30
_YES = frozenset(("1", "true", "yes"))


@dataclass(frozen=True)
class Labels:
    """The classes of a competition, in the order of their indices: numbers by value, names by letter."""

    names: tuple[str, ...]
    are_numbers: bool

    @classmethod
    def of(cls, cells: Iterable[str]) -> "Labels":
        """The different labels among some cells."""
        found = set(cells)
        are_numbers = all(is_number(cell) for cell in found)
        names = {_plain(cell) for cell in found} if are_numbers else {cell.strip() for cell in found}
        return cls(tuple(sorted(names, key=float) if are_numbers else sorted(names)), are_numbers)

    def indices(self, rows: Mapping[str, tuple[str, ...]], ids: Sequence[str]) -> Any:
        """The index of each row's label; all that is no class has one more, which is never right."""
        import numpy

        places = {name: index for index, name in enumerate(self.names)}
        unknown = len(self.names)
        return numpy.array([places.get(self._name(rows[key][0]), unknown) for key in ids])

    def positives(self, cell: str, positive: str | None = None) -> bool:
        """True if a cell says the positive class, by default the second of two; a class alone has to say yes."""
        name = self._name(cell)
        return name == (positive or self.names[-1]) if len(self.names) > 1 else name.lower() in _YES

    def _name(self, cell: str) -> str:
        return _plain(cell) if self.are_numbers and is_number(cell) else cell.strip()


def is_number(cell: str) -> bool:
    """True if a cell is a finite number."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def sets(truth: Sequence[str], predictions: Sequence[str]) -> tuple[Any, Any]:
    """Cells of labels separated by spaces, as rows of 0 and 1 with a column for each label of either.

    Raises:
        SubmissionError: There are too many to compare.
    """
    import numpy

    split = [[set(cell.split()) for cell in cells] for cells in (truth, predictions)]
    columns = {name: index for index, name in enumerate(sorted(set().union(*split[0], *split[1])))}
    if len(columns) * len(truth) > MOST_CELLS:
        raise SubmissionError(
            f"The submission has {len(columns):,} different labels in {len(truth):,} rows, which is too many."
        )
    tables = [numpy.zeros((len(cells), max(len(columns), 1)), dtype="int8") for cells in split]
    for table, cells in zip(tables, split, strict=True):
        for row, names in enumerate(cells):
            table[row, [columns[name] for name in names]] = 1
    return tables[0], tables[1]


def ranked_scores(truth: Sequence[str], predictions: Sequence[str], *, k: int) -> tuple[Any, Any]:
    """Ranked labels as scores, the higher the earlier a label stands in its cell.

    Between the labels of a cell and those that are not in it stand `k` columns of no label: so what was not predicted
    is never among the best, however few were.

    Returns:
        Truth [rows] of indices where every cell has one label, else [rows, labels] of 0 and 1; scores [rows, labels].
    """
    import numpy

    lists = [list(dict.fromkeys(cell.split()))[:k] for cell in predictions]
    true = [cell.split() for cell in truth]
    columns = {name: k + index for index, name in enumerate(sorted({name for names in lists + true for name in names}))}
    scores = numpy.zeros((len(lists), k + len(columns)))
    scores[:, :k] = 0.5
    for row, names in enumerate(lists):
        for place, name in enumerate(names):
            scores[row, columns[name]] = k + 1 - place
    if all(len(names) == 1 for names in true):
        return numpy.array([columns[names[0]] for names in true]), scores
    table = numpy.zeros(scores.shape, dtype="int8")
    for row, names in enumerate(true):
        table[row, [columns[name] for name in names]] = 1
    return table, scores


def _plain(cell: str) -> str:
    return repr(float(cell))
