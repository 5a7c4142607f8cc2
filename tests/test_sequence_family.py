"""Rows in an order: what a sequence is made of, and that a prediction goes back to the row or the group it is for."""

import csv
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from notebook_session import Mirror, Notebook, Sessions, known_after, read_table, rendered_cells

from generator.competition.facts import SubmissionKind, TargetKind, Task

pytest_plugins = ("notebook_session",)

ROWS = Task(
    *("sequence", "mae", TargetKind.NUMBER, SubmissionKind.NUMBERS, "id", ("pressure",), "train.csv", ""),
    *("test.csv", "sample_submission.csv"),
    details={
        "group_column": "breath",
        "order_column": "step",
        "prediction_per": "row",
        "sequence_length": 16,
        "drop_columns": [],
        "category_columns": [],
        "batch_size": 8,
        "epochs": 30,
    },
)
GROUPS = Task(
    *("sequence", "accuracy", TargetKind.CLASS, SubmissionKind.LABEL, "series", ("surface",), "train.csv"),
    *("labels.csv", "test.csv", "sample_submission.csv"),
    details={**ROWS.details, "group_column": "series", "prediction_per": "group"},
)
Rows = Sequence[Sequence[object]]


def write(path: Path, header: Sequence[str], rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def write_breaths(folder: Path, *, groups: int = 80, steps: int = 12) -> dict[str, float]:
    """Writes rows whose answer is the flow in them and the row before, in no order; returns the test's answers."""
    source = random.Random(3)  # noqa: S311 - numbers that are the same in every run
    breaths = []
    for breath in range(groups):
        before = 0
        for step in range(steps):
            flow = source.randrange(4)
            breaths.append([f"{breath}-{step}", f"b{breath}", step, flow, source.choice(["on", "off"]), flow + before])
            before = flow
    cut = groups * 3 // 4 * steps
    train, test = breaths[:cut], breaths[cut:]
    source.shuffle(train)
    source.shuffle(test)
    header = ["id", "breath", "step", "flow", "valve"]
    write(folder / "train.csv", [*header, "pressure"], train)
    write(folder / "test.csv", header, [row[:-1] for row in test])
    write(folder / "sample_submission.csv", ["id", "pressure"], [[row[0], 0] for row in reversed(test)])
    return {str(row[0]): float(row[-1]) for row in test}


def write_series(folder: Path, *, groups: int = 80) -> dict[str, str]:
    """Writes series of different lengths whose class is whether they rise; returns the test's answers."""
    source = random.Random(4)  # noqa: S311 - numbers that are the same in every run
    rows: dict[str, list[list[object]]] = {"train": [], "test": []}
    labels: dict[str, dict[str, str]] = {"train": {}, "test": {}}
    for number in range(groups):
        part = "train" if number < groups * 3 // 4 else "test"
        name, rises, length = f"s{number:03d}", source.random() < 0.5, source.randrange(6, 24)
        labels[part][name] = "rising" if rises else "falling"
        start = source.uniform(-9, 9)
        rows[part] += [[name, step, round(start + (step if rises else -step), 3)] for step in range(length)]
    for part, found in rows.items():
        write(folder / f"{part}.csv", ["series", "step", "height"], found)
    write(folder / "labels.csv", ["series", "surface"], list(labels["train"].items()))
    write(folder / "sample_submission.csv", ["series", "surface"], [[name, "rising"] for name in labels["test"]])
    return labels["test"]


def prepared(mirror: Mirror, task: Task, **parameters: object) -> dict[str, Any]:
    """What the training notebook knows once its sequences can be encoded."""
    return known_after(mirror, rendered_cells("keras", "train", task), until="items", **parameters)


def test_a_sequence_has_the_rows_of_one_group_in_their_order(mirror: Mirror) -> None:
    write_breaths(mirror.competition)

    names = prepared(mirror, ROWS)

    places = names["places_of"](names["items"], 16)
    assert places.shape == (60, 16)
    table = names["table"]
    for sequence in places:
        rows = table.iloc[sequence[sequence >= 0]]
        assert rows["breath"].nunique() == 1
        assert rows["step"].tolist() == list(range(12))
    assert sorted(places[places >= 0]) == list(range(len(table)))


def test_a_longer_group_is_cut_so_that_every_row_is_in_one_sequence(mirror: Mirror) -> None:
    write_breaths(mirror.competition)

    names = prepared(mirror, ROWS, SEQUENCE_LENGTH=5)

    places = names["places_of"](names["items"], 5)
    assert places.shape == (60 * 3, 5)
    assert sorted(places[places >= 0]) == list(range(len(names["table"])))
    assert names["table"].iloc[places[1]]["step"].tolist() == [5, 6, 7, 8, 9]


def test_the_last_rows_of_a_long_group_are_read(mirror: Mirror) -> None:
    write_series(mirror.competition)

    names = prepared(mirror, GROUPS, SEQUENCE_LENGTH=8)

    steps, items = names["steps"], names["items"]
    for number, series in enumerate(names["table"]["series"]):
        heights = steps.loc[steps["series"] == series, "height"].tolist()[-8:]
        assert items["height"][number, -len(heights) :].tolist() == heights
        assert (items[""][number] != "").sum() == len(heights)


def test_what_fills_up_a_sequence_is_no_gap_and_no_training_row(mirror: Mirror) -> None:
    write_series(mirror.competition)

    names = prepared(mirror, GROUPS, SEQUENCE_LENGTH=64)

    rows = names["np"].arange(len(names["table"]))
    assert names["fit_preprocessing"](rows)["with_gaps"] == []


def test_a_group_with_two_labels_stops_the_notebook(mirror: Mirror) -> None:
    write_series(mirror.competition)
    with (mirror.competition / "labels.csv").open("a") as file:
        file.write("s000,sideways\n")

    with pytest.raises(ValueError, match=r"labels\.csv has 1 rows with an series that came before"):
        prepared(mirror, GROUPS)


@pytest.mark.slow
def test_every_row_gets_the_prediction_made_for_it(sessions: Sessions, mirror: Mirror) -> None:
    right = write_breaths(mirror.competition)
    train, infer = (Notebook("tensorflow", role, task=ROWS) for role in ("train", "infer"))

    small = {"WIDTH": 64, "LAYERS": 1, "LEARNING_RATE": 0.03, "SEQUENCE_LENGTH": 9, "EPOCHS": 12}

    ended = sessions.run(train, mirror.parameters(train, **small))
    assert ended.is_done, ended
    mirror.working.rename(mirror.root / "train")
    ended = sessions.run(infer, mirror.parameters(infer))
    assert ended.is_done, ended

    _, *rows = read_table(mirror.working / "submission.csv")
    assert {row[0] for row in rows} == set(right)
    mean = sum(right.values()) / len(right)
    error = sum(abs(float(row[1]) - right[row[0]]) for row in rows) / len(rows)
    assert error < 0.5 * sum(abs(value - mean) for value in right.values()) / len(right)


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_every_group_gets_one_prediction(sessions: Sessions, mirror: Mirror, framework: str) -> None:
    right = write_series(mirror.competition)
    task = replace(GROUPS, metric="accuracy")
    train, infer = (Notebook(framework, role, task=task) for role in ("train", "infer"))

    ended = sessions.run(train, mirror.parameters(train, WIDTH=64, LAYERS=1, LEARNING_RATE=0.03, EPOCHS=12))
    assert ended.is_done, ended
    mirror.working.rename(mirror.root / "train")
    ended = sessions.run(infer, mirror.parameters(infer))
    assert ended.is_done, ended

    _, *rows = read_table(mirror.working / "submission.csv")
    assert [row[0] for row in rows] == list(right)
    assert sum(row[1] == right[row[0]] for row in rows) >= 0.9 * len(rows)
