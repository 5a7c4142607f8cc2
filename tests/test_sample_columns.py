"""A submission is the sample with its answers changed, wherever the sample has them and whatever it has beside them."""

import csv
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest
from notebook_cells import task_in
from written_submissions import submitted

from generator.competition.facts import SubmissionKind
from generator.competition.submission import SubmissionError, sample_columns_of, tolerance_of, validate

ROWS = 40
FIRST = 240
WORDS = ("red", "green", "blue", "grey")


def written(folder: Path, name: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with (folder / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def features(row: int, *, target: str = "number") -> dict[str, str]:
    """What the test table says of a row."""
    source = random.Random(row)  # noqa: S311 - nothing here is a secret
    return {
        "id": str(row),
        "key": f"k{row * 7919 % 100_003}",
        "a": f"{source.gauss(0, 1):.4f}",
        "c": str(source.randint(0, 9)),
        "price": f"{source.randint(1, 99)}.{row % 10}0",
        "code": f"{row % 17:03d}",
        "colour": source.choice(WORDS),
        "day": f"2024-{1 + row % 12:02d}-{1 + row % 28:02d}",
        "when": f"2024-03-{1 + row // 24 % 28:02d} {row % 24:02d}:00:00",
        "note": f"a {source.choice(WORDS)} thing seen {row} times beside {source.choice(WORDS)} ones",
        "gap": "" if row % 3 else "NA",
    }


def layout(
    folder: Path,
    sample: Sequence[str],
    *,
    columns: str = "id a c price code colour day note gap",
    kind: str = "number",
    targets: Sequence[str] = ("target",),
    order: Callable[[int], int] = lambda row: row,
    placeholder: str = "0",
) -> str:
    """Writes a competition whose sample has these columns; returns the text of its test table."""
    names = columns.split()
    values = {"number": lambda row: f"{row % 13}.{row % 7}5", "class": lambda row: str(row % 2)}
    values["name"] = lambda row: ("cat", "dog", "owl")[row % 3]
    train = [[*(features(row)[name] for name in names), *(values[kind](row + at) for at in range(len(targets)))]
             for row in range(FIRST)]  # fmt: skip
    written(folder, "train.csv", [*names, *targets], train)
    rows = [features(FIRST + row) for row in range(ROWS)]
    written(folder, "test.csv", names, [[row[name] for name in names] for row in rows])
    cells = [
        ["" if name in () else {"": str(place), "Unnamed: 0": str(place)}.get(name, row.get(name.removesuffix("2"), placeholder)) for name in sample]
        for place, row in enumerate(rows[order(row)] for row in range(ROWS))
    ]
    written(folder, "sample_submission.csv", sample, cells)
    return (folder / "test.csv").read_text()


def only_answers_changed(folder: Path, submission: Path, answers: Sequence[str]) -> list[list[str]]:
    """The answers of a submission, after a look at whether all the rest is the sample's, byte by byte."""
    with (folder / "sample_submission.csv").open(newline="") as one, submission.open(newline="") as other:
        (header, *asked), (found, *rows) = csv.reader(one), csv.reader(other)
    assert found == header
    places = [header.index(name) for name in answers]
    kept = [place for place in range(len(header)) if place not in places]
    assert [[row[place] for place in kept] for row in rows] == [[row[place] for place in kept] for row in asked]
    return [[row[place] for place in places] for row in rows]


SAMPLES = {
    "a column of the test table beside the id": ("id", "c", "target"),
    "an index without a name": ("", "id", "target"),
    "an index that pandas named": ("Unnamed: 0", "id", "target"),
    "the id last": ("target", "id"),
    "the answer first and context behind it": ("target", "id", "note", "gap"),
    "a date": ("id", "day", "target"),
    "numbers as they are written": ("price", "code", "id", "target"),
    "missing values": ("id", "gap", "target"),
    "the id twice": ("id", "id2", "target"),
    "an id of its own and an index": ("", "target", "id", "colour"),
    "the order of the rows": ("c", "target"),
    "a text in the order of the rows": ("note", "target"),
    "prices in the order of the rows": ("target", "price"),
    "the answer alone": ("target",),
    "another name": ("id", "c", "prediction"),
    "another name and the id last": ("prediction", "colour", "id"),
    "an index alone": ("", "target"),
}


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("kind", ["number", "class"])
def test_the_answers_stand_in_the_column_of_the_target_and_the_rest_of_the_sample_stays(
    tmp_path: Path, sample: tuple[str, ...], kind: str
) -> None:
    with_id = "id" in sample
    columns = "id a c price code colour day note gap" if with_id else "a c price code colour day note gap"
    placeholder = "0.5" if kind == "class" else "0"
    test = layout(tmp_path, sample, columns=columns, kind=kind, placeholder=placeholder)
    task = task_in(tmp_path, "auc" if kind == "class" else "rmse")
    predictions = [[1 - (row + 1) / 64, (row + 1) / 64] if kind == "class" else [(row + 1) / 64] for row in range(ROWS)]

    path = submitted(
        tmp_path, task, test=test, ids=["-"], predictions=predictions, classes=["0", "1"] if kind == "class" else ["target"]
    )

    answer = "target" if "target" in sample else "prediction"
    found = only_answers_changed(tmp_path, path, [answer])
    assert [float(cell) for (cell,) in found] == pytest.approx([(row + 1) / 64 for row in range(ROWS)])
    assert task.targets == ("target",)
    original, columns_of = tmp_path / "sample_submission.csv", sample_columns_of(task)
    assert validate(path, original, columns=columns_of, tolerance=tolerance_of(task)).rows == ROWS
