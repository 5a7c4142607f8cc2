"""A built-in competition, and what all of them share: ids that tell nothing, a split, tables, a score."""

import csv
import hashlib
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from generator.competition.facts import Competition, SubmissionKind, TargetKind, Task
from generator.competition.metrics import function_of
from generator.installation import PackageMissingError

Item = TypeVar("Item")

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

        answers = self.answers()
        kind = CellKind.NUMBER if all(map(_is_number, answers.values())) else CellKind.TEXT
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


def declared(slug: str) -> tuple[Competition, str, Task]:
    """The competition, its description and its task, as the file beside this module declares them."""
    declaration = tomllib.loads(Path(__file__).with_name(f"{slug}.toml").read_text(encoding="utf-8"))
    task = declaration["task"]
    types = {"target_kind": TargetKind, "submission": SubmissionKind, "targets": tuple}
    values = {key: types.get(key, lambda value: value)(value) for key, value in task.items()}
    return Competition(**declaration["competition"]), declaration["description"], Task(**values)


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


def split(rows: Sequence[Item], training_rows: int, key: Callable[[Item], str]) -> tuple[list[Item], list[Item]]:
    """The training and the test rows, each by id; the same on every machine and with every version of numpy."""
    import numpy

    # The stream of RandomState, unlike that of Generator, is frozen for good (NEP 19).
    order: list[int] = numpy.random.RandomState(_SPLIT_SEED).permutation(len(rows)).tolist()
    drawn = [rows[index] for index in order]
    return sorted(drawn[:training_rows], key=key), sorted(drawn[training_rows:], key=key)


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Writes a csv in UTF-8."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _is_number(answer: str) -> bool:
    try:
        float(answer)
    except ValueError:
        return False
    return True
