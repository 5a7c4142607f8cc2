"""Tables as they come: what is made of their columns, and that no answer leaks into what a model sees."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from layout_files import table
from notebook_cells import known_after, task_in
from notebook_session import read_table, rendered_cells

from generator.competition.facts import TargetKind, Task

pytest_plugins = ("notebook_session",)

MANY = 60
Columns = Mapping[str, Sequence[object]]


def write_shop(folder: Path, columns: Columns, *, test: Columns | None = None, answers: Sequence[object] = ()) -> Path:
    """Writes a competition whose training table has these columns and the answers `sold`, 0 and 1 in turns.

    Args:
        folder: The competition's folder.
        columns: Values by the name of the column.
        test: Those of the test table, by default the last 8 rows of the same.
        answers: Others than 0 and 1.

    Returns:
        The folder.
    """
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    later = columns if test is None else test
    asked = [[f"t{number}", *row] for number, row in enumerate(zip(*later.values(), strict=True))]
    asked = asked[-8:] if test is None else asked
    given = [[f"{number:03d}", *row, (answers or [0, 1] * len(rows))[number]] for number, row in enumerate(rows)]
    table(folder / "train.csv", ["id", *columns, "sold"], given)
    table(folder / "test.csv", ["id", *later], asked)
    table(folder / "sample_submission.csv", ["id", "sold"], [[row[0], 0.5] for row in asked])
    return folder


def shop_columns() -> dict[str, Sequence[object]]:
    """Columns from which the answers can be told: odd rows have low prices."""
    return {
        "price": [(10 if number % 2 else 20) + number % 3 for number in range(108)],
        "colour": [["red", "green", "blue"][number % 3] for number in range(108)],
        "day": [f"2024-01-{1 + number % 28:02d}" for number in range(108)],
    }


def trained_on(folder: Path, task: Task | None = None, *, until: str = "", **parameters: object) -> Any:
    """The names of the training notebook, by default with its rows encoded."""
    task = task or task_in(folder, "auc")
    if until:
        return known_after(until, task, "train", folder, **parameters)
    last = "gains" if "gains" in rendered_cells("keras", "train", task) else "make-preprocessor"
    names = known_after(last, task, "train", folder, **parameters)
    names.features = names.make_features(names.train, names.columns)
    names.preprocessor = names.make_preprocessor(len(names.features))[:-1]
    names.shown = names.preprocessor.fit_transform(names.features, names.truth.squeeze())
    return names


def predicted_from(folder: Path, task: Task | None = None) -> SimpleNamespace:
    """The names of the inference notebook whose rows are encoded as in training."""
    task = task or task_in(folder, "auc")
    names = known_after("make-preprocessor", task, "infer", folder)
    columns = trained_on(folder, task, until="columns").columns
    training, test = names.make_features(names.train, columns), names.make_features(names.test, columns)
    preprocessor = names.make_preprocessor(len(training))[:-1]  # without what rounds their number up
    wanted = [np.arange(len(training)) % 2] if names_target_encoding(preprocessor) else []
    preprocessor.fit(training, *wanted)
    names.training, names.features, names.inputs = training, test, preprocessor.transform(test)
    names.names = preprocessor.get_feature_names_out().tolist()
    return names


def features_of(folder: Path, task: Task | None = None) -> Any:
    """What training makes of the columns of its rows, before it is settled which of it stays."""
    names = trained_on(folder, task, until="make-features")
    return names.make_features(names.train, names.columns)


def names_target_encoding(preprocessor: Any) -> bool:
    return any(name == "target" for name, *_ in getattr(preprocessor[0], "transformers", []))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (range(MANY), "number"),
        ([None if number % 3 else number / 7 for number in range(MANY)], "number"),
        ([f"{number},5" for number in range(MANY - 1)] + ["?"], "number"),
        ([["red", "green", ""][number % 3] for number in range(MANY)], "category"),
        ([number % 2 == 0 for number in range(MANY)], "category"),
        ([f"2024-0{1 + number % 9}-1{number % 10}T08:30:00Z" for number in range(MANY)], "date"),
        ([f"0{1 + number % 9}/2{number % 9}/2024" for number in range(MANY)], "date"),
        ([f"2{number % 9}/0{1 + number % 9}/2024" for number in range(MANY)], "date, day first"),
        ([f"0{1 + number % 9}.0{1 + number % 7}.2024" for number in range(MANY)], "date, day first"),
        ([f"customer {number}" for number in range(MANY)], None),
        ([7] * MANY, None),
        ([None] * MANY, None),
    ],
)
def test_a_column_is_read_for_what_it_holds(folder: Path, values: Sequence[object], kind: str | None) -> None:
    write_shop(folder, {"x": values, "other": list(range(MANY))})
    for path in folder.glob("*.csv"):  # decimal commas are usual where semicolons separate
        path.write_text("\n".join(";".join(row) for row in read_table(path)) + "\n")

    features = features_of(folder)

    made = features.columns.tolist()
    numbers = [name for name in made if name.startswith("x") and features[name].dtype.kind in "fi"]
    found = {0: None if "x" not in made else "category", 1: "number", 6: "date"}[len(numbers)]
    if kind == "date, day first":
        assert features["x day"].tolist() == [int(str(value)[:2]) for value in values]
        found = "date, day first"
    assert found == kind
    if kind == "number":
        expected = [float(str(value).replace(",", ".")) if value not in (None, "?") else np.nan for value in values]
        np.testing.assert_allclose(features["x"], expected)


def test_distances_between_the_places_of_a_row_are_kilometers(folder: Path) -> None:
    london, paris, tokyo = (51.5074, -0.1278), (48.8566, 2.3522), (35.6762, 139.6503)
    trips = [(london, paris), (paris, london), (london, tokyo), (london, ("", "?"))] * (MANY // 4)
    places = {
        f"{end}_{axis}": [trip[number][part] for trip in trips]
        for number, end in enumerate(("from", "to"))
        for part, axis in enumerate(("latitude", "longitude"))
    }
    write_shop(folder, places)
    ends = ["from_latitude", "from_longitude", "to_latitude", "to_longitude"]

    features = features_of(folder, task_in(folder, "auc", coordinate_columns=ends, number_columns=ends[2:]))

    parts = features[["km 1-2", "km north 1-2", "km east 1-2"]][:4].to_numpy()
    assert parts[:2] == pytest.approx(np.array([[343.6, -294.8, 176.5], [343.6, 294.8, -176.5]]), rel=0.002)
    assert parts[2, 0] == pytest.approx(9559, rel=0.002)
    assert np.isnan(parts[3]).all()


@pytest.mark.slow
def test_dates_distances_and_texts_stay_if_the_folds_gain_by_them(folder: Path) -> None:
    draw = np.random.default_rng(7)  # beyond two standard errors is, by chance, also what says nothing
    answers = draw.integers(0, 2, 200)
    ends = {name: draw.uniform(40, 50, 200).round(4) for name in ("a_lat", "a_lon", "b_lat", "b_lon")}
    days = {"day": [f"2024-01-{1 + day:02d}" for day in draw.integers(0, 28, 200)]}
    opinions = [["wonderful", "terrible"], ["fine", "bad"], ["bread", "cake", "tea"]]
    said = [[*opinions[0], *opinions[1]][2 * draw.integers(0, 2) + answer] for answer in answers]
    note = [f"the {draw.choice(opinions[2])} was {word} today" + " so" * draw.integers(0, 9) for word in said]
    noise = [" ".join(draw.choice(list("abcdefgh"), 6)) for _ in range(200)]
    write_shop(folder, {**ends, **days, "note": note}, answers=answers.tolist())
    task = task_in(folder, "auc", text_columns=["note"])
    names = trained_on(folder, task)
    assert {kind: bool(names.columns[kind]) for kind in ("dates", "coordinates", "texts")} == {
        "dates": False,
        "coordinates": False,
        "texts": True,
    }
    assert not any(name.startswith(("km", "day ")) for name in names.features)

    near = {"b_lat": ends["a_lat"] + 0.1 * answers + 0.02, "b_lon": ends["a_lon"]}
    weekend = [f"2024-01-{(6 if answer else 1) + 7 * draw.integers(0, 3):02d}" for answer in answers]
    write_shop(folder, {**ends, **near, "day": weekend, "note": noise}, answers=answers.tolist())
    names = trained_on(folder, task)
    assert {kind: bool(names.columns[kind]) for kind in ("dates", "coordinates", "texts")} == {
        "dates": True,
        "coordinates": True,
        "texts": False,
    }


@pytest.mark.slow
@pytest.mark.parametrize(("titles", "are_kept"), [(["Mr", "Dr"], True), (["Mr", "Dr", "Ms", "Sir", "Dame"], False)])
def test_names_and_codes_stay_if_the_folds_gain_by_them(folder: Path, titles: list[str], are_kept: bool) -> None:
    people = [f"O'Neil{n}, {titles[n % len(titles)]}. Al" for n in range(120)]  # odd rows are Drs, or anything
    write_shop(folder, {"person": people, "price": np.random.default_rng(0).normal(size=120).round(3)})

    names = trained_on(folder, task_in(folder, "auc", short_text_columns=["person"], family="tabular"))

    assert names.columns["short_texts"] == ["person"] * are_kept


def test_the_users_word_on_columns_prevails(folder: Path) -> None:
    write_shop(folder, {"shelf": [number % 5 for number in range(MANY)], "price": range(MANY), "noise": range(MANY)})

    names = trained_on(folder, task_in(folder, "auc", category_columns=["shelf"], drop_columns=["noise"]))

    assert names.columns == {"numbers": ["price"], "categories": ["shelf"]}


def test_what_the_test_table_lacks_is_not_learnt_from(folder: Path) -> None:
    write_shop(folder, {"price": range(MANY), "refunded": range(MANY)}, test={"price": [1, 2]})

    assert trained_on(folder).columns == {"numbers": ["price"], "categories": []}


def test_text_where_the_kit_saw_none_is_a_sentence(folder: Path) -> None:
    write_shop(folder, {"price": range(MANY), "noise": range(MANY)})
    task = task_in(folder, "auc")
    write_shop(folder, {"price": range(MANY), "noise": ["loud"] * MANY})

    with pytest.raises(ValueError, match=r"\['noise'\] are not numeric; this notebook supports only numeric features"):
        trained_on(folder, task)


def test_a_test_table_without_a_column_that_was_learnt_from_is_a_sentence(folder: Path) -> None:
    write_shop(folder, {"price": range(MANY), "noise": range(MANY)})
    task = task_in(folder, "auc")
    write_shop(folder, {"price": range(MANY), "noise": range(MANY)}, test={"price": [1, 2]})
    names = known_after("test-rows", task, "infer", folder)

    with pytest.raises(ValueError, match=r"The test rows have no column noise\."):
        known_after("test-rows", task, "infer", folder, more=["predict-test"], columns=trained_columns())
    assert len(names.test) == 2


def trained_columns() -> dict[str, list[str]]:
    return {"numbers": ["price", "noise"], "categories": []}


@pytest.mark.parametrize(("yes", "no"), [("True", "False"), ("true", "false"), ("TRUE", "FALSE"), ("yes", "no")])
@pytest.mark.parametrize("gap_in", ["train", "test", "neither"])
def test_a_test_table_with_other_types_is_read_alike(folder: Path, yes: str, no: str, gap_in: str) -> None:
    columns = {
        "shelf_code": [number % 5 for number in range(MANY)],
        "price": list(range(MANY)),
        "ok": [[yes, no][number % 2] for number in range(MANY)],
    }
    test = {"shelf_code": ["3", "1", "1"], "price": ["10", "20.0", "sold out"], "ok": [yes, no, no]}
    if gap_in == "train":
        columns |= {"shelf_code": ["", *(f"{number % 5}.0" for number in range(1, MANY))]}
        columns |= {"ok": ["", *columns["ok"][1:]]}
    if gap_in == "test":
        test = {"shelf_code": ["3.0", "1.0", ""], "price": ["10", "20.0", ""], "ok": [yes, no, ""]}
    write_shop(folder, columns, test=test)

    names = predicted_from(folder, task_in(folder, "auc", category_columns=["shelf_code"]))

    for row, like in ((0, 3), (1, 1)):
        categories = names.features[["shelf_code", "ok"]].iloc[row].tolist()
        expected = names.training["shelf_code"].iloc[like + 5], names.training["ok"].iloc[row + 6]
        assert categories == list(expected)
    assert names.features["price"].tolist() == pytest.approx([10, 20, np.nan], nan_ok=True)


def test_gaps_and_unknown_categories_are_inputs_like_others(folder: Path) -> None:
    columns = {"colour": [["red", "green", ""][number % 3] for number in range(MANY)], "price": range(MANY)}
    columns["price"] = [None, *range(1, MANY)]
    write_shop(folder, columns, test={"colour": ["green", "", "mauve"], "price": [1, "", 1e9]})

    names = predicted_from(folder)

    inputs = {name: names.inputs[:, place].tolist() for place, name in enumerate(names.names)}
    assert inputs["one_hot__colour_green"] == [1, 0, 0]
    assert inputs["one_hot__colour_red"] == [0, 0, 0]
    assert inputs["one_hot__colour_"] == [0, 1, 0]
    assert inputs["number__missingindicator_price"] == [0, 1, 0]
    assert inputs["number__price"] == pytest.approx([0.0, 0.5, 1.0], abs=0.02)
    assert names.inputs.min() >= 0
    assert names.inputs.max() <= 1


def test_rare_categories_are_one(folder: Path) -> None:
    colours = ["red"] * 30 + ["green"] * 26 + ["mauve", "ochre", "red", "green"]
    write_shop(folder, {"colour": colours, "price": range(MANY)})

    names = trained_on(folder)

    made = [name for name in names.preprocessor.get_feature_names_out() if name.startswith("one_hot__")]
    assert made == ["one_hot__colour_green", "one_hot__colour_red", "one_hot__colour_infrequent_sklearn"]


def test_a_table_of_categories_alone_is_encoded(folder: Path) -> None:
    colours = [f"c{number % 12}" for number in range(128)]
    write_shop(folder, {"colour": colours}, answers=[f"class {colour}" for colour in colours])
    classes = sorted({f"class {colour}" for colour in colours})
    asked = [[row[0], *[1 / 12] * 12] for row in read_table(folder / "test.csv")[1:]]
    table(folder / "sample_submission.csv", ["id", *classes], asked)

    names = trained_on(folder, task_in(folder, "log_loss"))

    assert names.classes == classes
    assert names.columns == {"numbers": [], "categories": ["colour"]}
    assert names.shown.shape == (128, 12 + 12)  # a target encoding for each class


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["class", "number", "labels"])
@pytest.mark.parametrize(
    "columns",
    [
        {"price": [None] * 399 + [1, *range(200)]},
        {"colour": ["red", "green", ""] * 200},
        {"day": [f"2024-01-{1 + number % 28:02d}" for number in range(600)]},
        {name: range(600) for name in "abcdefghi"} | {name: ["red", "green"] * 300 for name in "pqrstuvw"},
    ],
    ids=["gaps", "categories", "dates", "many"],
)
def test_features_of_any_kind_are_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, columns: Columns
) -> None:
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    write_shop(folder, columns)
    metric = {"class": "auc", "number": "rmse", "labels": "auc_mean_columns"}[kind]
    task = task_in(folder, metric, target_kind="class" if kind == "class" else "number")
    if kind == "labels":
        header, *rows = read_table(folder / "train.csv")
        table(folder / "train.csv", [*header, "is_dear"], [[*row, row[-1]] for row in rows])
        task = replace(task, target_kind=TargetKind.LABELS, targets=("sold", "is_dear"))
    drawn: list[list[str]] = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append([axis.get_title() for axis in plt.gcf().axes]))

    kept = trained_on(folder, task, until="plot-columns", draws=True, DEBUG=True).columns

    assert {title.split()[0] for title in drawn[-1]} <= columns.keys()
    assert len(drawn[-1]) == (6 * bool(kept["dates"]) if "day" in columns else min(len(columns), 6))
    plt.close("all")


@pytest.mark.slow
def test_the_features_that_say_most_of_the_target_are_drawn_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    source = np.random.default_rng(0)
    noise = {name: source.normal(size=MANY).round(3) for name in "abcdefgh"}
    write_shop(folder, {**noise, "kind": ["new", "old"] * (MANY // 2), "price": [n % 2 + n / 99 for n in range(MANY)]})
    drawn: list[list[str]] = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append([axis.get_title() for axis in plt.gcf().axes]))

    trained_on(folder, task_in(folder, "auc"), until="plot-columns", draws=True)

    assert set(drawn[-1][:2]) == {"kind", "price"}
    assert len(drawn[-1]) == 6
    plt.close("all")


def test_parts_of_names_and_codes_are_categories(folder: Path) -> None:
    people = [f"O'Neil{n}, {('Mr', 'the Countess')[n % 2]}. Al (Bo)" for n in range(MANY)]
    cabins = [None if n % 3 else f"{'ABC'[n % 4 % 3]}{n} {'ABC'[n % 4 % 3]}{n + 2}" for n in range(MANY)]
    tickets = [f"A/5 {n // 2}" for n in range(MANY)]
    write_shop(folder, {"person": people, "cabin": cabins, "ticket": tickets, "price": range(MANY)})

    features = features_of(folder, task_in(folder, "auc", short_text_columns=["person", "cabin", "ticket"]))

    assert features.loc[[0, 1], "person inside"].tolist() == ["Mr", "the Countess"]
    assert features.loc[0, "person start"] == "O'Neil"
    assert features.loc[[0, 1, 3, 6], "cabin start"].tolist() == ["A", "", "A", "C"]
    assert features.loc[[0, 1], "ticket start"].tolist() == ["A", "A"]
    assert features.loc[[2, 3], "ticket"].tolist() == ["A/5 1", "A/5 1"]


@pytest.mark.slow
def test_every_class_is_drawn_and_no_label_lies_on_another_picture(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    source = np.random.default_rng(0)
    words = {name: source.choice(["unknown one", "penicillin", "antibiotics", "no"], 90) for name in ("drug", "sign")}
    columns = {"days": source.integers(10_000, 90_000, 90), "mass": source.normal(size=90), **words}
    write_shop(folder, columns, answers=[["none", "some", "all"][row % 3] for row in range(90)])
    figures: list[Any] = []
    monkeypatch.setattr(plt, "show", lambda: figures.append(plt.gcf()))

    task = task_in(folder, "accuracy", target_kind="class")
    trained_on(folder, task, until="plot-columns", draws=True, DEBUG=True)

    figure = figures[-1]
    figure.canvas.draw()
    legends = [axis.get_legend() for axis in figure.axes]
    shown = [sorted(text.get_text() for text in legend.get_texts()) for legend in legends if legend is not None]
    assert shown == [["all", "none", "some"]] * 2
    labels = [
        [label.get_window_extent() for label in (*axis.get_xticklabels(), *axis.get_yticklabels())]
        for axis in figure.axes
    ]
    boxes = [axis.get_tightbbox() for axis in figure.axes]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any(one.overlaps(other) for of_axis in labels for one, other in combinations(of_axis, 2))
    plt.close("all")


def test_ids_of_the_sample_that_the_test_table_lacks_stop_inference(folder: Path) -> None:
    write_shop(folder, shop_columns())
    table(folder / "sample_submission.csv", ["id", "sold"], [["t100", 0.5], ["t999", 0.5]])

    with pytest.raises(ValueError, match=r"test.csv lacks 1 ids of the sample, such as 't999'\."):
        known_after("test-rows", task_in(folder, "auc"), "infer", folder)


@pytest.mark.filterwarnings("error")
def test_encoding_rows_warns_of_nothing_and_is_the_same_again(tmp_path: Path) -> None:
    cells = trained_on(write_shop(tmp_path, shop_columns()), until="make-preprocessor")
    rows = cells.pd.DataFrame({"city": [*"abcd"] * 20, "size": range(80)})

    encoded = []
    for _ in range(2):
        np.random.random(7)  # whatever was drawn before
        encoded.append(cells.make_preprocessor(80).fit_transform(rows, np.arange(80) % 2))

    assert (encoded[0] == encoded[1]).all()
