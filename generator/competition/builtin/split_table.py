"""A competition made of one table: its rows are split into a training part and a test part with hidden answers."""

import csv
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.competition.builtin import BuiltIn
from generator.competition.facts import Competition, TargetKind, Task
from generator.competition.metrics import function_of
from generator.competition.submission import CellKind, SubmissionShape, read_rows

_SPLIT_SEED = 20_261_120


@dataclass(frozen=True)
class Source:
    """A table of numbers as its library carries it.

    Attributes:
        columns: The names of the features.
        features: The cells, row by row.
        answers: What is to be predicted for each row: a number, or for two classes 0 or 1.
    """

    columns: tuple[str, ...]
    features: list[list[float]]
    answers: list[float]


@dataclass(frozen=True)
class SplitTable:
    """How a source becomes a competition.

    Attributes:
        competition: What Kaggle would know of it.
        task: What the kit makes of it: one target, two classes or a number.
        load: Reads the source.
        training_rows: So many rows have their answers in `train.csv`.
        sample_answer: What stands in the sample submission for every id.
    """

    competition: Competition
    task: Task
    load: Callable[[], Source]
    training_rows: int
    sample_answer: str

    def built_in(self) -> BuiltIn:
        """The competition with its data and its secret."""
        return BuiltIn(
            competition=self.competition,
            task=self.task,
            write=self._write,
            answers=self._answers,
            score=self._score,
            warm_up=self._warm_up,
        )

    def _write(self, folder: Path) -> None:
        training, test = self._split()
        columns = self.load().columns
        key, target = self.task.id_column, self.task.targets[0]
        _write_table(folder / "train.csv", (key, *columns, target), ((*row.cells, row.answer) for row in training))
        _write_table(folder / "test.csv", (key, *columns), (row.cells for row in test))
        sample = ((row.key, self.sample_answer) for row in test)
        _write_table(folder / "sample_submission.csv", (key, target), sample)

    def _answers(self) -> Mapping[str, str]:
        return {row.key: row.answer for row in self._split()[1]}

    def _score(self, submission: Path) -> float:
        """The competition's metric on the hidden test set."""
        import numpy

        test = self._split()[1]
        columns = (self.task.id_column, *self.task.targets)
        kinds = (CellKind.TEXT, CellKind.NUMBER)
        shape = SubmissionShape(columns=columns, kinds=kinds, ids={row.key for row in test})
        submitted = {key: float(cell) for key, cell in read_rows(submission, shape)}
        predictions = numpy.array([[submitted[row.key]] for row in test])
        truth = numpy.array([[float(row.answer)] for row in test])
        if self.task.target_kind is TargetKind.CLASS:
            truth, predictions = truth[:, 0].astype(int), numpy.hstack([1 - predictions, predictions])
        return function_of(self.task.metric)(truth, predictions)

    def _warm_up(self) -> None:
        import scipy.stats  # type: ignore[import-untyped]  # noqa: F401 (no stubs; it is for the next import)
        import sklearn.datasets  # type: ignore[import-untyped]  # noqa: F401 (no stubs; it is for the next import)

    def _split(self) -> "tuple[list[_Row], list[_Row]]":
        """The training and the test rows, each by id; the same on every machine and with every version of numpy."""
        import numpy

        source = self.load()
        name = self.competition.slug
        rows = [
            _Row(_key(name, index), tuple(map(_text, features)), _text(answer))
            for index, (features, answer) in enumerate(zip(source.features, source.answers, strict=True))
        ]
        # The stream of RandomState, unlike that of Generator, is frozen for good (NEP 19).
        order: list[int] = numpy.random.RandomState(_SPLIT_SEED).permutation(len(rows)).tolist()
        training, test = order[: self.training_rows], order[self.training_rows :]
        return _by_key(rows[index] for index in training), _by_key(rows[index] for index in test)


@dataclass(frozen=True)
class _Row:
    key: str
    features: tuple[str, ...]
    answer: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (self.key, *self.features)


def _by_key(rows: Iterable[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: row.key)


def _key(name: str, index: int) -> str:
    """Eight hexadecimal digits that tell nothing of the answer or of where the row stood in its source."""
    return hashlib.blake2b(str(index).encode(), key=name.encode(), digest_size=4).hexdigest()


def _text(value: float) -> str:
    """A number without the digits that only its binary form adds."""
    return f"{value:.10g}"


def _write_table(path: Path, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
