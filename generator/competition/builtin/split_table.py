"""A competition made of one table: its rows are split into a training part and a test part with hidden answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.competition.builtin.built_in import BuiltIn, declared, key_of, split, write_table


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


def split_table(slug: str, load: Callable[[], Source], *, training_rows: int, sample_answer: str) -> BuiltIn:
    """The competition that a source becomes.

    Args:
        slug: The name of the competition, and of the file that declares it: one target, two classes or a number.
        load: Reads the source.
        training_rows: So many rows have their answers in `train.csv`.
        sample_answer: What stands in the sample submission for every id.
    """
    competition, description, task = declared(slug)
    key, target = task.id_column, task.targets[0]

    def parts() -> tuple[tuple[str, ...], list[list[str]], list[list[str]]]:
        """The names of the features, and the training and the test rows, each an id, the features and the answer."""
        source = load()
        rows = [
            [key_of(slug, str(index)), *map(_text, (*features, answer))]
            for index, (features, answer) in enumerate(zip(source.features, source.answers, strict=True))
        ]
        return source.columns, *split(rows, training_rows, lambda row: row[0])

    def write(folder: Path) -> None:
        columns, training, test = parts()
        write_table(folder / "train.csv", (key, *columns, target), training)
        write_table(folder / "test.csv", (key, *columns), (row[:-1] for row in test))
        write_table(folder / "sample_submission.csv", (key, target), ((row[0], sample_answer) for row in test))

    def answers() -> Mapping[str, str]:
        return {row[0]: row[-1] for row in parts()[2]}

    return BuiltIn(competition, description, task, write, answers)


def _text(value: float) -> str:
    """A number without the digits that only its binary form adds."""
    return f"{value:.10g}"
