"""Rows in an order: what a sequence is made of, and that a prediction goes back to the row or the group it is for."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from layout_files import some, table
from notebook_cells import executed_alone, known_after
from notebook_session import Mirror, Sessions, needs_torch
from tasks import task_of

from generator.competition.facts import TargetKind, Task
from generator.kit_files import template_folder
from generator.pair.rendering import jinja_environment

pytest_plugins = ("notebook_session",)

ROWS = task_of(
    *("sequence", "number", "pressure"),
    metric="mae",
    test_table="test.csv",
    group_column="breath",
    order_column="step",
    prediction_per="row",
    sequence_length=16,
    drop_columns=[],
    category_columns=[],
    batch_size=8,
    epochs=30,
)
GROUPS = task_of(
    *("sequence", "class", "surface"),
    id_column="series",
    labels_table="labels.csv",
    test_table="test.csv",
    **{**ROWS.details, "group_column": "series", "prediction_per": "group", "has_categories": False},
)

TOO_FEW = "At least two classes are needed, with more rows than classes."


def write_breaths(folder: Path, *, groups: int = 80, steps: int = 12) -> dict[str, float]:
    """Writes rows whose answer is the flow in them and the row before, in no order; returns the test's answers."""
    source = some(3)
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
    table(folder / "train.csv", [*header, "pressure"], train)
    table(folder / "test.csv", header, [row[:-1] for row in test])
    table(folder / "sample_submission.csv", ["id", "pressure"], [[row[0], 0] for row in reversed(test)])
    return {str(row[0]): float(row[-1]) for row in test}


def write_series(folder: Path, *, groups: int = 80) -> dict[str, str]:
    """Writes series of different lengths whose class is whether they rise; returns the test's answers."""
    source = some(4)
    rows: dict[str, list[list[object]]] = {"train": [], "test": []}
    labels: dict[str, dict[str, str]] = {"train": {}, "test": {}}
    for number in range(groups):
        part = "train" if number < groups * 3 // 4 else "test"
        name, rises, length = f"s{number:03d}", source.random() < 0.5, source.randrange(6, 24)
        labels[part][name] = "rising" if rises else "falling"
        start = source.uniform(-9, 9)
        rows[part] += [[name, step, round(start + (step if rises else -step), 3)] for step in range(length)]
    for part, found in rows.items():
        table(folder / f"{part}.csv", ["series", "step", "height"], found)
    table(folder / "labels.csv", ["series", "surface"], list(labels["train"].items()))
    table(folder / "sample_submission.csv", ["series", "surface"], [[name, "rising"] for name in labels["test"]])
    return labels["test"]


def prepared(folder: Path, task: Task, role: str = "train", until: str = "sequences", **parameters: object) -> Any:
    """The names of a notebook, by default once its sequences are encoded."""
    return known_after(until, task, role, folder, **parameters)


@pytest.mark.slow
def test_a_sequence_has_the_rows_of_one_group_in_their_order(folder: Path) -> None:
    write_breaths(folder)

    known = prepared(folder, ROWS)

    places = known.sequences["place"]
    assert places.shape == (60, 16)
    for sequence in places:
        rows = known.train.iloc[sequence[sequence >= 0]]
        assert rows["breath"].nunique() == 1
        assert rows["step"].tolist() == list(range(12))
    assert sorted(places[places >= 0]) == list(range(len(known.train)))


def test_a_longer_group_is_cut_so_that_every_row_is_in_one_sequence(folder: Path) -> None:
    write_breaths(folder)

    known = prepared(folder, ROWS, SEQUENCE_LENGTH=5)

    places = known.sequences["place"]
    assert places.shape == (60 * 3, 5)
    assert sorted(places[places >= 0]) == list(range(len(known.train)))
    assert known.train.iloc[places[1]]["step"].tolist() == [5, 6, 7, 8, 9]
    outputs = known.train["pressure"].to_numpy()[places]
    assert known.in_row_order(outputs, places).tolist() == known.train["pressure"].tolist()


def test_a_sequence_has_one_fold_and_what_fills_it_up_does_not_count(folder: Path) -> None:
    write_breaths(folder)
    fold = prepared(folder, ROWS)
    train_idx, val_idx = fold.splits[0]

    names = vars(fold) | {"train_idx": train_idx, "val_idx": val_idx, "model_arguments": {}}
    template = jinja_environment(template_folder()).get_template("families/sequence/train.py.j2#fold")
    exec(template.render(task=SimpleNamespace(prediction_per="row")), names)  # noqa: S102 - the cell is what is tested

    targets, weights = names["fold_targets"]
    places = names["inputs"]["place"]
    assert set(places[places >= 0]) == set(train_idx)
    assert weights.tolist() == (places >= 0).tolist()
    assert (targets[weights == 1][:, 0] == fold.targets[places[weights == 1], 0]).all()
    held_out = names["val_inputs"]["place"]
    assert sorted(held_out[held_out >= 0]) == val_idx.tolist()


def test_the_last_rows_of_a_long_group_are_read(folder: Path) -> None:
    write_series(folder)

    known = prepared(folder, GROUPS, SEQUENCE_LENGTH=8)

    for places, series in zip(known.sequences["place"], known.train["series"], strict=True):
        heights = known.steps.loc[known.steps["series"] == series, "height"].tolist()[-8:]
        assert known.steps["height"].iloc[places[-len(heights) :]].tolist() == heights
        assert (places >= 0).sum() == len(heights)


def test_what_fills_up_a_sequence_is_zero_and_no_gap(folder: Path) -> None:
    write_series(folder)

    known = prepared(folder, GROUPS, SEQUENCE_LENGTH=64)

    numbers, places = known.sequences["numbers"], known.sequences["place"]
    assert numbers.shape[2] == 2  # step and height, and no indicator of a gap
    assert not numbers[places < 0].any()
    assert numbers[places >= 0].any(axis=1).all()


def test_gaps_and_strange_categories_have_codes_of_their_own(folder: Path) -> None:
    write_breaths(folder)
    known = prepared(folder, ROWS)
    with_gap = known.train.assign(flow=[None, *known.train["flow"][1:]])
    encoders = known.fit_encoders(known.make_features(with_gap, known.columns))

    rows = known.train[:3].assign(valve=["on", "ajar", None], flow=[None, 1, 2])
    encoded = known.encode_rows(known.make_features(rows, known.columns), encoders)

    codes = encoded["categories"][:, 0].tolist()
    assert codes[0] > 0
    assert codes[1:] == [0, 0]
    assert encoded["numbers"][:, -1].tolist() == [1, 0, 0]
    assert encoded["numbers"][0, known.columns["numbers"].index("flow")] == 0


@pytest.mark.slow
def test_inference_fits_the_same_on_the_same_rows(folder: Path) -> None:
    write_series(folder)
    known = prepared(folder, GROUPS, SEQUENCE_LENGTH=8)
    np = known.np

    later = prepared(folder, GROUPS, "infer", "test-rows")
    test = prepared(folder, GROUPS, "infer", "sequences-of")
    rows = later.train[later.train["series"].isin(known.train["series"])].reset_index(drop=True)
    features = test.make_features(rows, known.columns)
    encoded = test.encode_rows(features, test.fit_encoders(features))
    found = test.sequences_of(encoded, test.places_of(rows, known.train["series"].to_numpy(), 8))

    assert {name: np.array_equal(values, found[name]) for name, values in known.sequences.items()} == dict.fromkeys(
        known.sequences, True
    )


@pytest.mark.parametrize(("task", "key"), [(ROWS, "id"), (GROUPS, "series")])
def test_a_batch_of_a_gateway_is_encoded_as_a_test_table_is(folder: Path, task: Task, key: str) -> None:
    write_rows = write_breaths if task is ROWS else write_series
    write_rows(folder)
    served = replace(task, details={**task.details, "inference_server": "some_server"})
    trained = prepared(folder, task)
    known = known_after("sequences-of", served, "infer", folder, more=["batch-as-table", "as-read"])
    batch = known.pd.read_csv(folder / "test.csv")[:30]

    names = vars(known) | {"batch": (batch,), "columns": trained.columns, "length": 64, "ensemble": []}
    names["encoders"] = known.fit_encoders(trained.features)
    environ = jinja_environment(template_folder())
    facts = SimpleNamespace(prediction_per=task.details["prediction_per"], inference_server="some_server")
    for part in ("batch", "passes"):
        source = environ.get_template(f"families/sequence/infer.py.j2#{part}").render(task=facts)
        exec(source, names)  # noqa: S102 - the cells are what is tested

    places = names["features"]["place"]
    assert names["ids"] == batch[key].unique().tolist()
    assert sorted(places[places >= 0]) == list(range(30))
    assert set(names["features"]) == set(trained.sequences)


def test_a_group_with_two_labels_stops_the_notebook(folder: Path) -> None:
    write_series(folder)
    with (folder / "labels.csv").open("a") as file:
        file.write("s000,sideways\n")

    with pytest.raises(ValueError, match="0 have no series and 1 one that came before"):
        prepared(folder, GROUPS)


def test_a_test_table_without_an_id_of_the_sample_stops_the_notebook(folder: Path) -> None:
    write_series(folder)
    with (folder / "sample_submission.csv").open("a") as file:
        file.write("s999,rising\n")

    with pytest.raises(ValueError, match=r"test\.csv lacks 1 ids of the sample, such as 's999'"):
        prepared(folder, GROUPS, "infer", "test-rows")


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["tensorflow", pytest.param("torch", marks=needs_torch)])
def test_every_row_gets_the_prediction_made_for_it(sessions: Sessions, mirror: Mirror, framework: str) -> None:
    right = write_breaths(mirror.competition)
    small = {"WIDTH": 64, "LAYERS": 1, "LEARNING_RATE": 0.03, "SEQUENCE_LENGTH": 9, "EPOCHS": 12}

    _, *rows = sessions.predicted(mirror, framework, ROWS, **small)

    assert {row[0] for row in rows} == set(right)
    mean = sum(right.values()) / len(right)
    error = sum(abs(float(row[1]) - right[row[0]]) for row in rows) / len(rows)
    assert error < 0.5 * sum(abs(value - mean) for value in right.values()) / len(right)


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["keras", "jax"])
def test_every_group_gets_one_prediction(sessions: Sessions, mirror: Mirror, framework: str) -> None:
    right = write_series(mirror.competition)
    task = replace(GROUPS, metric="accuracy")

    _, *rows = sessions.predicted(mirror, framework, task, WIDTH=64, LAYERS=1, LEARNING_RATE=0.03, EPOCHS=12)

    assert [row[0] for row in rows] == list(right)
    assert sum(row[1] == right[row[0]] for row in rows) >= 0.9 * len(rows)


@pytest.mark.parametrize(
    ("kind", "targets", "sentence"),
    [
        ("class", ["a"], f"2 of 3 examples have a, 2 classes. {TOO_FEW}"),
        ("labels", ["a", "b"], "2 labels in a, b are neither 0 nor 1; 1 of them are missing."),
    ],
)
def test_a_step_of_a_sequence_that_lacks_a_label_is_not_left_out(kind: str, targets: list[str], sentence: str) -> None:
    task = replace(ROWS, target_kind=TargetKind(kind), targets=tuple(targets))
    train = pd.DataFrame({"id": ["1", "2", "3"], "a": ["0", "1", None], "b": ["0", "2", "1"]})

    with pytest.raises(ValueError, match=r"\.$") as refused:
        executed_alone(["targets"], task, "train", train=train)

    assert str(refused.value) == sentence


@pytest.mark.filterwarnings("error")
def test_encoding_few_rows_warns_of_nothing(folder: Path) -> None:
    write_breaths(folder)
    known = prepared(folder, ROWS)
    few = known.make_features(known.train[:30], known.columns)

    known.encode_rows(few, known.fit_encoders(few))
