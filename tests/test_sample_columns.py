"""A submission is the sample with its answers changed, wherever the sample has them and whatever it has beside them."""

import csv
import random
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layout_files import images
from notebook_cells import executed_alone, task_in
from notebook_session import rendered_cells
from written_submissions import submitted, table_task

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.submission import (
    SampleColumns,
    SubmissionError,
    Tolerance,
    sample_columns_of,
    tolerance_of,
    validate,
)

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
        "weight": "1.0",
        "year": str(2021 + row % 3 if row < FIRST else 2024),
        "tripId": f"2024-{row // 8}",
        "time": str(1000 + row % 8),
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
    values["set"] = lambda row: " ".join(label for at, label in enumerate(LABELS) if row >> at & 1) or "red"
    train = [[*(features(row)[name] for name in names), *(values[kind](row + at) for at in range(len(targets)))]
             for row in range(FIRST)]  # fmt: skip
    written(folder, "train.csv", [*names, *targets], train)
    rows = [features(FIRST + row) for row in range(ROWS)]
    written(folder, "test.csv", names, [[row[name] for name in names] for row in rows])
    cells = [
        [
            {"": str(place), "Unnamed: 0": str(place)}.get(name, row.get(name.removesuffix("2"), placeholder))
            for name in sample
        ]
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
    "a number of its own": ("id", "weight", "target"),
    "a number of its own behind": ("target", "weight", "id"),
    "a column that is the same in the whole test": ("id", "year", "target"),
    "the same and another name": ("id", "year", "prediction"),
}


@pytest.mark.parametrize(
    ("sample", "kind"), [*zip(SAMPLES.values(), cycle(["number", "class"]), strict=False)], ids=SAMPLES
)
def test_the_answers_stand_in_the_column_of_the_target_and_the_rest_of_the_sample_stays(
    tmp_path: Path, sample: tuple[str, ...], kind: str
) -> None:
    with_id = "id" in sample
    columns = "id a c price code colour day note gap year" if with_id else "a c price code colour day note gap"
    placeholder = "0.5" if kind == "class" else "0"
    test = layout(tmp_path, sample, columns=columns, kind=kind, placeholder=placeholder)
    task = task_in(tmp_path, "auc" if kind == "class" else "rmse")
    predictions = [[1 - (row + 1) / 64, (row + 1) / 64] if kind == "class" else [(row + 1) / 64] for row in range(ROWS)]

    path = submitted(
        tmp_path,
        task,
        test=test,
        ids=["-"],
        predictions=predictions,
        classes=["0", "1"] if kind == "class" else ["target"],
    )

    answer = "target" if "target" in sample else "prediction"
    found = only_answers_changed(tmp_path, path, [answer])
    assert [float(cell) for (cell,) in found] == pytest.approx([(row + 1) / 64 for row in range(ROWS)])
    assert task.targets == ("target",)
    original, columns_of = tmp_path / "sample_submission.csv", sample_columns_of(task)
    assert validate(path, original, columns=columns_of, tolerance=tolerance_of(task)).rows == ROWS


def test_two_targets_with_context_between_them_are_filled(tmp_path: Path) -> None:
    test = layout(tmp_path, ("id", "first", "c", "second"), targets=("first", "second"))
    task = task_in(tmp_path, "rmse")
    predictions = [[row / 8, -row / 8] for row in range(ROWS)]

    path = submitted(tmp_path, task, test=test, ids=["-"], predictions=predictions, classes=["first", "second"])

    found = only_answers_changed(tmp_path, path, ["first", "second"])
    assert [[float(cell) for cell in row] for row in found] == predictions


CLASSES = ["cat", "dog", "owl"]


@pytest.mark.parametrize(
    ("sample", "metric", "expected"),
    [
        (("id", "note", "target"), "accuracy", ["cat", "dog", "owl"]),
        (("", "target", "day", "id"), "accuracy", ["cat", "dog", "owl"]),
        (("code", "cat", "dog", "id", "owl"), "log_loss", None),
        (("", "id", "target_cat", "target_dog", "target_owl"), "log_loss", None),
        (("id", "note2", "cat", "dog", "owl"), "log_loss", None),
        (("id", "c", "target"), "map@2", ["cat owl", "dog cat", "owl dog"]),
    ],
)
def test_labels_ranked_labels_and_columns_of_classes_leave_the_context(
    tmp_path: Path, sample: tuple[str, ...], metric: str, expected: list[str] | None
) -> None:
    placeholder = {"accuracy": "cat", "log_loss": "0.333"}.get(metric, "cat dog")
    test = layout(tmp_path, sample, kind="name", placeholder=placeholder)
    task = task_in(tmp_path, metric)
    predictions = [[[0.7, 0.1, 0.2], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]][row % 3] for row in range(ROWS)]

    path = submitted(tmp_path, task, test=test, ids=["-"], predictions=predictions, classes=CLASSES)

    answers = ["target"] if expected else [name for name in sample if name.endswith(tuple(CLASSES))]
    found = only_answers_changed(tmp_path, path, answers)
    if expected:
        assert found[:3] == [[answer] for answer in expected]
    else:
        assert np.array(found, dtype="float32") == pytest.approx(np.array(predictions, dtype="float32"))


LABELS = ("red", "green", "blue")


@pytest.mark.parametrize("sample", [("id", "note", "tags"), ("", "tags", "c", "id"), ("tags", "colour", "id")])
def test_sets_of_labels_leave_the_context(tmp_path: Path, sample: tuple[str, ...]) -> None:
    test = layout(tmp_path, sample, kind="set", targets=("tags",), placeholder="red green")
    task = task_in(tmp_path, "f1 samples")
    assert task.submission is SubmissionKind.LABEL_SET
    predictions = [[0.9, 0.1, 0.7 * (row % 2)] for row in range(ROWS)]

    path = submitted(
        tmp_path,
        task,
        test=test,
        ids=["-"],
        predictions=predictions,
        classes=LABELS,
        decision={"thresholds": [0.5, 0.5, 0.5]},
    )

    found = only_answers_changed(tmp_path, path, ["tags"])
    assert found[:2] == [["red"], ["red blue"]]
    columns, tolerance = sample_columns_of(task), tolerance_of(task)
    assert validate(path, tmp_path / "sample_submission.csv", columns=columns, tolerance=tolerance).rows == ROWS


@pytest.mark.parametrize("sample", [("id", "note", "p"), ("", "p", "gap", "id"), ("colour", "id", "p", "price")])
def test_rows_for_an_example_and_a_label_leave_the_context(tmp_path: Path, sample: tuple[str, ...]) -> None:
    test = layout(tmp_path, sample, kind="class", targets=LABELS, placeholder="0.5")
    original = tmp_path / "sample_submission.csv"
    with original.open(newline="") as file:
        header, *rows = csv.reader(file)
    place = header.index("id")
    keyed = [[*row[:place], f"{row[place]}_{label}", *row[place + 1 :]] for row in rows for label in LABELS]
    written(tmp_path, original.name, header, random.Random(3).sample(keyed, len(keyed)))  # noqa: S311 - no secret
    task = task_in(tmp_path, "log loss")
    assert task.submission is SubmissionKind.KEYED_ROWS
    ids = list(dict.fromkeys(row[place].rpartition("_")[0] for row in read_rows(original)))
    predictions = [[int(name) / 1024 + shift for shift in (0, 0.25, 0.5)] for name in ids]

    path = submitted(tmp_path, task, test=test, ids=["-"], predictions=predictions, classes=LABELS)

    found = only_answers_changed(tmp_path, path, ["p"])
    keys = [row[place].rpartition("_") for row in read_rows(original)]
    expected = [int(name) / 1024 + 0.25 * LABELS.index(label) for name, _, label in keys]
    assert [float(cell) for (cell,) in found] == pytest.approx(expected)
    assert validate(path, original, columns=sample_columns_of(task), tolerance=tolerance_of(task)).rows == len(keyed)


KINDS = ("cat", "dog")


def masks(folder: Path, rows: str, sample: Sequence[str]) -> None:
    """Writes a competition of masks of 12 test images of 6 by 4 pixels; `rows` says what a row of the sample is for."""
    for side, first, count in (("train", "a", 20), ("test", "b", 12)):
        images(folder / side, [f"{first}{number}.png" for number in range(count)], size=(6, 4))
    kinds = KINDS if rows in ("id", "column") else [""]

    def row_of(header: Sequence[str], image: str, number: int, kind: str, code: str) -> list[str]:
        context = {"width": "6", "site": f"s{number % 3}", "gap": "" if number % 2 else "NA", "note": f"seen {number}"}
        key = f"{image}_{kind}" if rows == "id" else image
        return [{"id": key, "kind": kind, "rle": code, "": f"{number}{kind}", **context}[name] for name in header]

    known = ["id", "kind", "rle"] if rows == "column" else ["id", "rle"]
    trained = [
        row_of(known, f"a{number}", number, kind, "" if number % 3 == 0 and rows != "piece" else f"{place + 1} 2")
        for number in range(20)
        for place, kind in enumerate(kinds * (number % 3 + 1 if rows == "piece" else 1))
    ]
    written(folder, "train.csv", known, trained)
    asked = [row_of(sample, f"b{number}", number, kind, "1 1") for number in range(12) for kind in kinds]
    written(folder, "sample_submission.csv", sample, asked)


@pytest.mark.parametrize(
    ("rows", "sample"),
    [
        ("image", ("id", "rle", "width")),
        ("image", ("", "rle", "site", "id")),
        ("piece", ("id", "gap", "rle")),
        ("id", ("width", "id", "rle", "note")),
        ("id", ("", "rle", "id")),
        ("column", ("id", "kind", "note", "rle")),
        ("column", ("rle", "", "kind", "width", "id")),
    ],
)
def test_masks_leave_the_context(tmp_path: Path, rows: str, sample: tuple[str, ...]) -> None:
    masks(tmp_path / "masks", rows, sample)
    task = task_in(tmp_path / "masks", "dice")
    cells = list(rendered_cells("keras", "infer", task))
    before = ["read-table", "files-named", "test-images", "decide"]
    each = len(KINDS) if rows in ("id", "column") else 1
    predictions = np.zeros((12, 4, 6, each), dtype="float32")
    predictions[:, 1, :, 0] = predictions[:, :, 5, -1] = 1  # the second row, the last column

    known = executed_alone(
        [*before, *cells[cells.index("masks-of-image") :]],
        task,
        "infer",
        INPUT_ROOT=str(tmp_path),
        COMPETITION="masks",
        WORKING_ROOT=str(tmp_path / "working"),
        classes=list(KINDS[:each]),
        predictions=predictions,
        handoff={"decision": {"thresholds": [0.5] * each, "min_areas": [0.0] * each}},
    )

    assert (task.details["mask_rows"], task.targets, task.id_column) == (rows, ("rle",), "id")
    path, original = known.run.output / task.submission_file, tmp_path / "masks" / "sample_submission.csv"
    found = only_answers_changed(tmp_path / "masks", path, ["rle"])
    alone = {"cat": "2 1 6 1 10 1 14 1 18 1 22 1", "dog": "21 4"}
    joined = "2 1 6 1 10 1 14 1 18 1 21 4"
    assert [code for (code,) in found] == [*alone.values()] * 12 if each > 1 else [joined] * 12
    assert validate(path, original, columns=sample_columns_of(task), tolerance=tolerance_of(task)).rows == 12 * each


def test_rows_in_another_order_are_told_apart_by_the_columns_that_both_tables_have(tmp_path: Path) -> None:
    sample = ("when", "colour", "target")
    test = layout(tmp_path, sample, columns="a when colour price", order=lambda row: (row * 7) % ROWS)
    task = task_in(tmp_path, "rmse")
    predictions = [[(row * 7) % ROWS / 8] for row in range(ROWS)]  # in the order of the sample

    path = submitted(tmp_path, task, test=test, ids=["-"], predictions=predictions, classes=["target"])

    found = only_answers_changed(tmp_path, path, ["target"])
    assert [float(cell) for (cell,) in found] == [row for (row,) in predictions]


@pytest.mark.parametrize("step", [1, 7])
def test_rows_are_told_apart_by_two_columns_together(tmp_path: Path, step: int) -> None:
    def place(row: int) -> int:
        return row * step % ROWS

    test = layout(tmp_path, ("tripId", "time", "target"), columns="a tripId time price", order=place)
    task = task_in(tmp_path, "rmse")
    predictions = [[(place(row) if step > 1 else row) / 8] for row in range(ROWS)]  # in the order of the sample

    path = submitted(tmp_path, task, test=test, ids=["-"], predictions=predictions, classes=["target"])

    found = only_answers_changed(tmp_path, path, ["target"])
    assert [float(cell) for (cell,) in found] == [row for (row,) in predictions]


def test_a_sample_may_end_its_rows_in_a_separator(tmp_path: Path) -> None:
    test = layout(tmp_path, ("id", "c", "target"))
    sample = tmp_path / "sample_submission.csv"
    header, *rows = sample.read_text().splitlines()
    sample.write_text("\n".join([header, *(row + "," for row in rows), ""]))
    task = task_in(tmp_path, "rmse")
    predictions = [[row / 8] for row in range(ROWS)]

    path = submitted(tmp_path, task, test=test, ids=["-"], predictions=predictions, classes=["target"])

    assert path.read_text().splitlines()[:2] == [header, f"{rows[0].removesuffix('0')}0.0"]
    checks = {"columns": sample_columns_of(task), "tolerance": tolerance_of(task)}
    assert validate(path, sample, **checks).rows == ROWS


@pytest.mark.parametrize("suffix", ["parquet", "json", "jsonl", "tsv"])
def test_context_stays_in_every_format_of_the_sample(tmp_path: Path, suffix: str) -> None:
    test = layout(tmp_path, ("id", "c", "price", "target"))
    table = pd.read_csv(tmp_path / "sample_submission.csv")
    (tmp_path / "sample_submission.csv").unlink()
    sample = tmp_path / f"sample_submission.{suffix}"
    if suffix == "parquet":
        table.to_parquet(sample, index=False)
    elif suffix == "tsv":
        table.to_csv(sample, index=False, sep="\t")
    else:
        table.to_json(sample, orient="records", lines=suffix == "jsonl")
    task = task_in(tmp_path, "rmse")
    predictions = [[row / 8] for row in range(ROWS)]

    path = submitted(tmp_path, task, test=test, ids=["-"], predictions=predictions, classes=["target"])

    shape = sample_columns_of(task)
    assert validate(path, sample, columns=shape, tolerance=tolerance_of(task)).rows == ROWS


def read_rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))[1:]


def submission_of(folder: Path, change: Callable[[list[list[str]]], object]) -> Path:
    with (folder / "sample_submission.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    change(rows)
    written(folder, "submission.csv", rows[0], rows[1:])
    return folder / "submission.csv"


def filled(place: int) -> Callable[[list[list[str]]], object]:
    """Puts a number into a column of a submission."""
    return lambda rows: [row.__setitem__(place, f"0.{number}1") for number, row in enumerate(rows[1:])]


def test_answers_in_a_column_of_context_are_no_valid_submission(tmp_path: Path) -> None:
    layout(tmp_path, ("id", "c", "target"))
    task, sample = task_in(tmp_path, "rmse"), tmp_path / "sample_submission.csv"
    checks = {"columns": sample_columns_of(task), "tolerance": tolerance_of(task)}

    with pytest.raises(SubmissionError, match=r'line 2: column "c" of id "240" is not as in the sample'):
        validate(submission_of(tmp_path, filled(1)), sample, **checks)
    with pytest.raises(SubmissionError, match="the sample's own answers in all 40 rows of target"):
        validate(submission_of(tmp_path, lambda rows: None), sample, **checks)
    assert validate(submission_of(tmp_path, filled(2)), sample, **checks).rows == ROWS


def test_a_target_that_keeps_the_placeholder_is_noticed_whatever_else_is_filled(tmp_path: Path) -> None:
    layout(tmp_path, ("id", "weight", "target"))
    sample, columns = tmp_path / "sample_submission.csv", SampleColumns("id", targets=("target",))
    checks = {"columns": columns, "tolerance": Tolerance(sample_answers=False)}

    with pytest.raises(SubmissionError, match="the sample's own answers in all 40 rows of target"):
        validate(submission_of(tmp_path, filled(1)), sample, **checks)
    assert validate(submission_of(tmp_path, filled(2)), sample, **checks).rows == ROWS


def test_one_label_for_all_rows_is_a_valid_submission_although_the_sample_has_it(tmp_path: Path) -> None:
    layout(tmp_path, ("id", "c", "target"), kind="class")
    task, sample = task_in(tmp_path, "accuracy"), tmp_path / "sample_submission.csv"
    assert task.submission is SubmissionKind.LABEL

    found = validate(sample, sample, columns=sample_columns_of(task), tolerance=tolerance_of(task))

    assert found.rows == ROWS


def test_the_id_is_found_by_its_name_wherever_it_stands(tmp_path: Path) -> None:
    layout(tmp_path, ("", "target", "id"))
    task, sample = task_in(tmp_path, "rmse"), tmp_path / "sample_submission.csv"
    checks = {"columns": sample_columns_of(task), "tolerance": tolerance_of(task)}

    def with_a_strange_id(rows: list[list[str]]) -> None:
        filled(1)(rows)
        rows[3][2] = "999"

    assert validate(submission_of(tmp_path, filled(1)), sample, **checks).rows == ROWS
    with pytest.raises(SubmissionError, match=r'line 4: an id that the competition does not have.*"999"'):
        validate(submission_of(tmp_path, with_a_strange_id), sample, **checks)


@pytest.mark.parametrize(("rows", "context"), [("column", ("kind",)), ("id", ()), ("image", ())])
def test_the_class_of_a_mask_is_context_only_where_the_sample_has_a_column_for_it(
    rows: str, context: tuple[str, ...]
) -> None:
    task = table_task(TargetKind.CLASS, mask_rows=rows, class_column="kind")

    assert sample_columns_of(task).context == context
