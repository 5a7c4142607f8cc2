"""A built-in competition, and what all of them share: ids that tell nothing, a split, tables, a score."""

import csv
import hashlib
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from generator.competition.facts import Competition, SubmissionKind, TargetKind, Task
from generator.competition.metrics import function_of
from generator.installation import PackageMissingError

Row = tuple[str, ...]
Parts = tuple[Sequence[str], Sequence[Row], Sequence[Row]]
"""The columns beside the id and the target, the training and the test rows; each an id, their cells and the answer."""

_SPLIT_SEED = 20_261_120


@dataclass(frozen=True)
class BuiltIn:
    """A competition whose data and answers the kit has itself.

    Attributes:
        competition: What Kaggle would know of it.
        description: One sentence on it.
        task: What the kit makes of it, with one target.
        write: Fills an empty folder with the competition's files, as Kaggle mounts them; no hidden label is among them.
        answers: The hidden answer of every test id, as a perfect submission would have it beside the id.
    """

    competition: Competition
    description: str
    task: Task
    write: Callable[[Path], None]
    answers: Callable[[], Mapping[str, str]]

    def score(self, submission: Path) -> float:
        """The competition's metric on the hidden test set.

        Raises:
            SubmissionError: The file is not what the competition asks for.
        """
        from generator.competition.submission import CellKind, SubmissionShape, read_rows
        from generator.competition.survey.columns import kind_of
        from generator.competition.survey.facts import NUMBERS

        answers = self.answers()
        kind = CellKind.NUMBER if kind_of(answers.values()) in NUMBERS else CellKind.TEXT
        columns = (self.task.id_column, *self.task.targets)
        shape = SubmissionShape(columns=columns, kinds=(CellKind.TEXT, kind), ids=answers.keys())
        value = float if kind is CellKind.NUMBER else str
        submitted = {key: value(cell) for key, cell in read_rows(submission, shape)}
        if self.task.submission is SubmissionKind.LABEL:
            return sum(submitted[key] == value(answer) for key, answer in answers.items()) / len(answers)
        import numpy

        predictions = numpy.array([[submitted[key]] for key in answers])
        truth = numpy.array([[float(answer)] for answer in answers.values()])
        if self.task.target_kind is TargetKind.CLASS:
            truth, predictions = truth[:, 0].astype(int), numpy.hstack([1 - predictions, predictions])
        return function_of(self.task.metric)(truth, predictions)

    def warm_up(self) -> None:
        """Imports what `score` needs, which can take a second."""
        self.answers()
        function_of(self.task.metric)


def of_rows(slug: str, parts: Callable[[], Parts], *, sample_answer: str) -> BuiltIn:
    """The competition that rows become: tables of those to learn from, of those to predict, and of a sample of answers.

    Args:
        slug: The name of the competition, and of the file beside this module that declares it, with one target.
        parts: Reads the rows.
        sample_answer: What stands in the sample submission for every id.
    """
    declaration = tomllib.loads(Path(__file__).with_name(f"{slug}.toml").read_text(encoding="utf-8"))
    types = {"target_kind": TargetKind, "submission": SubmissionKind, "targets": tuple}
    task = Task(**{key: types.get(key, lambda value: value)(value) for key, value in declaration["task"].items()})
    key, target = task.id_column, task.targets[0]

    def write(folder: Path) -> None:
        columns, training, test = parts()
        _write_table(folder / task.train_table, (key, *columns, target), training)
        if task.test_table:
            _write_table(folder / task.test_table, (key, *columns), (row[:-1] for row in test))
        _write_table(folder / task.sample_submission, (key, target), ((row[0], sample_answer) for row in test))

    def answers() -> Mapping[str, str]:
        return {row[0]: row[-1] for row in parts()[2]}

    return BuiltIn(Competition(**declaration["competition"]), declaration["description"], task, write, answers)


def dataset(name: str, **options: Any) -> Any:
    """A data set that scikit-learn carries.

    Raises:
        PackageMissingError: It is not installed.
    """
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError as error:
        raise PackageMissingError(what="The data of this competition come with", package="scikit-learn") from error
    return getattr(datasets, f"load_{name}")(**options)


def key_of(slug: str, name: str) -> str:
    """Eight hexadecimal digits that tell nothing of the answer, or of where an example stood in its source."""
    return hashlib.blake2b(name.encode(), key=slug.encode(), digest_size=4).hexdigest()


def split(slug: str, cells: Iterable[Sequence[str]], training_rows: int) -> tuple[list[Row], list[Row]]:
    """The training and the test rows, by the id that each gets; the same on every machine and with every numpy."""
    import numpy

    rows = [(key_of(slug, str(index)), *row) for index, row in enumerate(cells)]
    # The stream of RandomState, unlike that of Generator, is frozen for good (NEP 19).
    order: list[int] = numpy.random.RandomState(_SPLIT_SEED).permutation(len(rows)).tolist()
    drawn = [rows[index] for index in order]
    return sorted(drawn[:training_rows]), sorted(drawn[training_rows:])


def numbers(features: Iterable[Sequence[float]], answers: Iterable[float]) -> Iterable[list[str]]:
    """The cells of rows of numbers, the answer last, without the digits that only the binary form of a number adds."""
    return ([f"{value:.10g}" for value in (*row, answer)] for row, answer in zip(features, answers, strict=True))


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
