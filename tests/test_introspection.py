"""Readings of a task: evidence, warnings, the user's decisions, and errors where there is nothing to go by."""

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_files import images, keys, sentence, some, table
from layouts import ALL_LAYOUTS

from generator.competition import builtin
from generator.competition.facts import TargetKind
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import (
    Confidence,
    Findings,
    Hints,
    IntrospectionError,
    MissingColumnError,
    MissingFileError,
    Reading,
    TargetNotInSampleError,
    UnknownKeyError,
    UnusableValueError,
)
from generator.competition.introspection.files import labelled_records, training_records
from generator.competition.introspection.task_kind import batch_size, epochs, image_size, settle_budget
from generator.competition.metrics import UnknownMetricError
from generator.competition.survey import survey_folder
from generator.competition.survey.columns import MISSING, column_of
from generator.competition.survey.facts import Folder, ImageFormat, RecordFeature, Records, Survey, Table
from generator.competition.tables.formats import TableFormat


def read(folder: Path, *, called: str = "", evaluation: str = "", **overrides: str | list[str]) -> Reading:
    hints = Hints(slug="some", metric_text=called, evaluation_text=evaluation, overrides=overrides)
    return read_task(survey_folder(folder), hints)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """A plain table: the price of a house by its area, rooms and remarks, and the day of its sale in training only."""
    source = some()
    rows = [[n, source.randrange(40, 400), n % 5 + 1, sentence(source, 3)] for n in range(80)]
    header = ["key", "area", "rooms", "remark"]
    labelled = [[*row, f"2020-01-{n % 30 + 1:02d}", source.gauss(500, 90)] for n, row in enumerate(rows[:50])]
    table(tmp_path / "train.csv", [*header, "sold", "price"], labelled)
    table(tmp_path / "test.csv", header, rows[50:])
    table(tmp_path / "sample_submission.csv", ["key", "price"], [[row[0], 0.0] for row in rows[50:]])
    return tmp_path


# What is said


def test_every_value_of_the_task_has_its_evidence(prices: Path) -> None:
    reading = read(prices, called="RMSE")

    assert set(reading.task.evidence) == set(reading.findings)
    assert all(reading.task.evidence.values())
    assert reading.task.evidence["id_column"] == (
        "unique in sample_submission.csv, unique in test.csv and unique in train.csv"
    )
    assert list(reading.findings)[:3] == ["family", "metric", "target_kind"]


def test_all_candidates_are_kept_best_first_for_the_user_to_see(prices: Path) -> None:
    finding = read(prices, called="RMSE").findings["train_table"]

    assert [candidate.value for candidate in finding.candidates] == ["train.csv"]
    kinds = read(prices, called="RMSE").findings["target_kind"].candidates
    assert kinds[0].value == TargetKind.NUMBER
    assert [kind.weight for kind in kinds] == sorted((kind.weight for kind in kinds), reverse=True)


def test_what_a_host_typed_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", ["id", "a\x1b[31m", "y"], [[n, n % 7, n / 3] for n in range(40)])
    table(tmp_path / "test.csv", ["id", "a\x1b[31m"], [[n, n % 7] for n in range(40, 60)])

    reading = read(tmp_path, called="RM\x1b[2JSE")

    assert all(text.isprintable() for text in (*reading.task.evidence.values(), *reading.warnings))


def test_a_metric_the_kit_does_not_have_is_said_and_the_nearest_is_taken(prices: Path) -> None:
    reading = read(prices, called="Weighted Mean Absolute Error")

    assert reading.task.metric == "mae"
    assert any('does not have "Weighted Mean Absolute Error"' in warning for warning in reading.warnings)


@pytest.mark.parametrize(
    ("columns", "labels", "answer", "metric"),
    [
        (["won"], ["0", "1"], ["0.5"], "auc"),
        (["kind"], ["p", "q", "r"], ["p"], "accuracy"),
        (["kind"], ["p", "q", "r", "s"], ["p q s"], "map@3"),
        (["wet", "cold"], ["0", "1"], ["0.5", "0.5"], "auc_mean_columns"),
        (["size"], [f"{n}.5" for n in range(30)], ["1.0"], "rmse"),
    ],
)
def test_the_usual_metric_is_taken_and_told_where_nobody_names_one(
    tmp_path: Path, columns: list[str], labels: list[str], answer: list[str], metric: str
) -> None:
    source = some(5)
    rows = [[n, source.random(), *(source.choice(labels) for _ in columns)] for n in range(80)]
    table(tmp_path / "train.csv", ["id", "x", *columns], rows[:60])
    table(tmp_path / "test.csv", ["id", "x"], [row[:2] for row in rows[60:]])
    table(tmp_path / "sample_submission.csv", ["id", *columns], [[row[0], *answer] for row in rows[60:]])

    reading = read(tmp_path)

    assert reading.task.metric == metric
    assert any("metric is a guess" in warning and "--metric" in warning for warning in reading.warnings)


def test_the_evaluation_page_names_metric_and_file(prices: Path) -> None:
    page = "Submissions are scored by the mean absolute error. The file must be named `result.csv`."
    reading = read(prices, evaluation=page)

    assert (reading.task.metric, reading.task.submission_file) == ("mae", "result.csv")
    assert reading.findings["metric"].confidence is Confidence.SURE


@pytest.mark.parametrize(
    "slug",
    [
        pytest.param(slug, marks=[pytest.mark.slow] if slug == "docstrings" else [])
        for slug in builtin.competition_slugs()
    ],
)
def test_the_built_in_competitions_are_read_as_they_are_described(slug: str, tmp_path: Path) -> None:
    described = builtin.require(slug)
    described.write(tmp_path)

    reading = read(tmp_path, called=described.task.metric)

    of_taste = {"batch_size", "epochs", "sequence_length"}
    expected = {key: value for key, value in described.task.details.items() if key not in of_taste}
    assert {key: reading.task.details[key] for key in expected} == expected
    assert replace(reading.task, details={}, evidence={}) == replace(described.task, details={}, evidence={})
    assert reading.warnings == ()


# What the user decides


def test_a_decision_is_taken_as_it_is_and_the_rest_is_inferred_from_it(prices: Path) -> None:
    reading = read(prices, called="RMSE", targets=["area"], drop_columns=["sold", "remark"], epochs="7")

    assert reading.task.targets == ("area",)
    assert reading.findings["targets"].evidence == "--target"
    assert reading.task.details["drop_columns"] == ["sold", "remark"]
    assert reading.task.details["epochs"] == 7


def test_a_decided_metric_may_have_kaggles_name_and_gets_the_form_for_the_target(tmp_path: Path) -> None:
    source = some()
    rows = [[n, source.random(), source.randrange(2), source.randrange(2)] for n in range(60)]
    table(tmp_path / "train.csv", ["id", "x", "wet", "cold"], rows[:40])
    table(tmp_path / "test.csv", ["id", "x"], [row[:2] for row in rows[40:]])
    table(tmp_path / "sample_submission.csv", ["id", "wet", "cold"], [[row[0], 0.5, 0.5] for row in rows[40:]])

    finding = read(tmp_path, metric="AUC").findings["metric"]

    assert (finding.value, finding.evidence) == ("auc_mean_columns", "--metric")


def test_a_metric_decides_between_classes_and_numbers(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", ["id", "x", "grade"], [[n, n % 11, n % 5] for n in range(60)])
    table(tmp_path / "test.csv", ["id", "x"], [[n, n % 11] for n in range(60, 80)])
    table(tmp_path / "sample_submission.csv", ["id", "grade"], [[n, 0] for n in range(60, 80)])

    kinds = {metric: read(tmp_path, called=metric).task.target_kind for metric in ("accuracy", "MAE")}

    assert kinds == {"accuracy": TargetKind.CLASS, "MAE": TargetKind.NUMBER}


def test_a_family_can_be_overruled_where_the_files_allow_it(prices: Path) -> None:
    text = read(prices, called="RMSE", family="text").task
    assert (text.family, text.details["text_columns"]) == ("text", ["remark"])

    with pytest.raises(UnusableValueError, match="tabular for these files"):
        read(prices, called="RMSE", family="audio")


@pytest.mark.parametrize(
    ("mode", "training", "test", "decoded"),
    [
        ("RGB", ["jpg", "jpeg"], ["jpg"], "jpeg"),
        ("L", ["png"], ["png"], "png"),
        ("RGB", ["jpg"], ["png"], "tensorflow"),
        ("RGB", ["jpg", "png", "bmp"], ["jpg"], "tensorflow"),
        ("L", ["jpg", "png"], ["jpg"], "tensorflow"),
        ("L", ["jpg", "bmp"], ["jpg"], "any"),  # TensorFlow makes no grey of it
        ("RGB", ["jpg"], ["webp"], "any"),
        ("RGB", ["jpg"], [], "any"),
    ],
)
def test_what_decodes_the_images_is_what_all_sampled_ones_need(
    tmp_path: Path, mode: str, training: Sequence[str], test: Sequence[str], decoded: str
) -> None:
    for part, suffixes, seed in (("train", training, 2), ("test", test, 3)):
        (tmp_path / part).mkdir()
        (tmp_path / part / "LICENSE").touch()
        files = [f"{key}.{suffixes[n % len(suffixes)]}" for n, key in enumerate(keys(24, seed=seed)) if suffixes]
        images(tmp_path / part, files, mode=mode)
        if part == "train":
            table(tmp_path / "train.csv", ["file", "kind"], [[file, "pq"[n % 2]] for n, file in enumerate(files)])
    table(tmp_path / "sample_submission.csv", ["file", "kind"], [[f"{key}.jpg", "p"] for key in keys(24, seed=3)])

    assert read(tmp_path, called="Accuracy").task.details["image_encoding"] == decoded


def test_files_are_left_aside_when_the_user_wants_the_table(tmp_path: Path) -> None:
    train, test = keys(30, seed=2), keys(20, seed=3)
    images(tmp_path / "train", [f"{key}.png" for key in train])
    images(tmp_path / "test", [f"{key}.png" for key in test])
    table(tmp_path / "train.csv", ["id", "width", "age"], [[key, n % 7, n % 9 / 2] for n, key in enumerate(train)])
    table(tmp_path / "test.csv", ["id", "width"], [[key, n % 7] for n, key in enumerate(test)])

    assert read(tmp_path, called="RMSE").task.family == "image_regression"
    task = read(tmp_path, called="RMSE", family="tabular").task
    assert (task.family, task.train_table, task.targets) == ("tabular", "train.csv", ("age",))


def test_pictures_that_belong_to_no_example_are_left_aside(prices: Path) -> None:
    for room in ("kitchen", "garden"):
        images(prices / "illustrations" / room, [f"{n}.png" for n in range(9)])

    task = read(prices, called="RMSE").task

    assert (task.family, task.targets) == ("tabular", ("price",))


def test_pictures_that_only_look_like_those_of_the_rows_do_not_outweigh_many_numbers() -> None:
    numbers = {f"n{n}": [str(row * n % 97) for row in range(500)] for n in range(2, 22)}
    train = _table("train.csv", 500, id=keys(500, seed=2), **numbers, y=[f"{n % 9}.5" for n in range(500)])
    test = _table("test.csv", 500, id=keys(500, seed=3), **numbers)
    names = tuple(f"{key}.png" for key in sorted(keys(500, seed=4)))
    form = ImageFormat(mode="RGB", width=64, height=64, is_uniform=True)
    folder = Folder("maps", {".png": 90_000}, names, images=form)

    task = read_task(Survey((test, train), (folder,)), Hints("some", metric_text="RMSE")).task

    assert (task.family, "drop_columns" in task.details, "image_size" in task.details) == ("tabular", True, False)


def test_a_table_can_get_another_role(prices: Path) -> None:
    (prices / "train.csv").rename(prices / "sample_of_sales.csv")
    (prices / "sample_submission.csv").unlink()

    task = read(prices, called="RMSE", train_table="sample_of_sales.csv").task

    assert (task.train_table, task.sample_submission, task.targets) == ("sample_of_sales.csv", "", ("price",))


def test_rows_become_sequences_when_the_user_names_their_columns(prices: Path) -> None:
    reading = read(prices, family="sequence", called="RMSE", group_column="rooms", order_column="area")

    assert reading.task.family == "sequence"
    assert reading.task.details["prediction_per"] == "row"


@pytest.mark.parametrize(
    ("key", "value", "error", "says"),
    [
        ("id_column", "keys", MissingColumnError, r'--id-column: sample_submission\.csv .*Did you mean "key"\?'),
        ("targets", ["prise"], MissingColumnError, r'--target: train\.csv .*Did you mean "price"\?'),
        ("train_table", "trian.csv", MissingFileError, r'--train: .*Did you mean "train\.csv"\?'),
        ("group_column", "room", MissingColumnError, r'--set group_column: .*Did you mean "rooms"\?'),
        ("targets", ["area", "rooms"], TargetNotInSampleError, r"asks for price, but .* target columns: area, rooms"),
        ("metric", "rsme", UnknownMetricError, r'Did you mean "rmse"\?'),
        ("image_size", "64", UnknownKeyError, r"tabular"),
        ("epochs", "many", UnusableValueError, r'epochs cannot be "many": it must be a whole number'),
        (
            "metric",
            "accuracy",
            UnusableValueError,
            r"--metric .* a metric of number targets, such as rmse; or set --target-kind",
        ),
        ("target_kind", "klass", UnusableValueError, r"one of class, labels, number"),
        ("targets", ["key"], UnusableValueError, r'^--target cannot be "key": it must be another column than the id'),
        ("drop_columns", ["rooms", "price"], UnusableValueError, r'"price": .* neither the id nor a target'),
        ("drop_columns", ["key"], UnusableValueError, r'"key": .* neither the id nor a target'),
    ],
)
def test_a_decision_that_cannot_be_followed_is_told(
    prices: Path, key: str, value: str | list[str], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        read(prices, **{key: value})


def test_a_decision_that_the_labels_contradict_is_told(prices: Path) -> None:
    with pytest.raises(UnusableValueError, match=r'target_kind cannot be "number": .* values such as ".*" in remark'):
        read(prices, targets=["remark"], target_kind="number")

    assert read(prices, targets=["rooms"], target_kind="class", class_count="5").task.details["class_count"] == 5
    for count in ("4", "99"):
        with pytest.raises(UnusableValueError, match=rf'class_count cannot be "{count}": it must be 5, the number'):
            read(prices, targets=["rooms"], target_kind="class", class_count=count)


@pytest.mark.parametrize(
    ("asked", "classes", "positive", "why"),
    [
        ("Attrited", ("Attrited", "Existing"), "Attrited", "the sample submission has the column Attrited"),
        ("prob_bad", ("good", "bad"), "bad", "the sample submission has the column prob_bad"),
        ("left", ("Existing Customer", "Former Customer"), "Former Customer", "it is the last in sorted order"),
        ("target", ("Positive", "Zero"), "Positive", "Positive means yes, or Zero means no"),
        ("target", ("No", "Yes"), None, ""),
        ("target", ("0", "1"), None, ""),
    ],
)
def test_the_positive_class_is_told_where_it_is_not_clearly_the_last(
    prices: Path, asked: str, classes: tuple[str, str], positive: str | None, why: str
) -> None:
    rows = [[n, 40 + n, classes[n % 2]] for n in range(50)]
    table(prices / "train.csv", ["key", "area", asked], rows)
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", asked], [[row[0], 0.5] for row in rows])

    reading = read(prices, called="AUC")

    assert reading.task.details.get("positive_class") == positive
    assert reading.task.evidence.get("positive_class", "") == why
    assert read(prices, called="AUC", positive_class=classes[0]).task.details["positive_class"] == classes[0]
    with pytest.raises(UnusableValueError, match=f"must be one of the classes, .*{classes[0]}"):
        read(prices, called="AUC", positive_class="neither")


@pytest.mark.parametrize("word", sorted(MISSING - {""}))
@pytest.mark.parametrize("asked", ["0.5", "0"])
def test_a_class_that_pandas_reads_as_missing_is_a_class(prices: Path, word: str, asked: str) -> None:
    rows = [[n, 40 + n, ("Apnea", word)[n % 2]] for n in range(50)]
    table(prices / "train.csv", ["key", "area", "kind"], [*rows, [50, 90, ""]])
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", "kind"], [[row[0], asked] for row in rows])

    reading = read(prices, called="AUC" if asked == "0.5" else "Accuracy")

    details = reading.task.details
    assert (details["class_count"], details["keep_null_words"]) == (2, True)
    assert details.get("positive_class", max("Apnea", word)) == "Apnea"
    assert details.get("answers_are_flags", False) == (asked == "0")
    assert reading.warnings == ("1 of 51 sampled rows of train.csv have no kind. Training skips these rows.",)


@pytest.mark.parametrize(
    ("asked", "decided", "classes", "says"),
    [
        ("0.5", None, 2, "read as a missing label. To read such words as classes, set --set keep_null_words=true"),
        ("0.5", "true", 3, "read as a class. To read such words as missing labels, set --set keep_null_words=false"),
        ("Yes", None, 3, "read as a class. To read such words as missing labels, set --set keep_null_words=false"),
        ("Yes", "false", 2, "read as a missing label. To read such words as classes, set --set keep_null_words=true"),
        ("NA", None, 3, ""),
    ],
)
def test_na_beside_yes_and_no_is_a_class_or_missing_and_told(
    prices: Path, asked: str, decided: str | None, classes: int, says: str
) -> None:
    rows = [[n, 40 + n, ("Yes", "No", "NA")[n % 3]] for n in range(60)]
    table(prices / "train.csv", ["key", "area", "kind"], rows)
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", "kind"], [[row[0], asked] for row in rows])
    overrides = {} if decided is None else {"keep_null_words": decided}

    reading = read(prices, called="" if decided and asked == "0.5" else "AUC" * (asked == "0.5"), **overrides)

    assert reading.task.details["class_count"] == classes
    assert reading.task.details["keep_null_words"] == (classes == 3)
    told = [sentence for sentence in reading.warnings if '"NA" as kind in 20 of 60' in sentence]
    assert len(told) == bool(says)
    assert says in "".join(told)


def test_na_among_numbers_is_missing_whatever_is_predicted(prices: Path) -> None:
    for values in (("1", "0", "NA"), ("1.5", "2.25", "NA"), ("True", "False", "NA")):
        rows = [[n, 40 + n, values[n % 3]] for n in range(60)]
        table(prices / "train.csv", ["key", "area", "kind"], rows)
        table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
        table(prices / "sample_submission.csv", ["key", "kind"], [[row[0], 0.5] for row in rows])

        reading = read(prices)

        assert not reading.task.details["keep_null_words"]
        assert "20 of 60 sampled rows of train.csv have no kind" in " ".join(reading.warnings)


def test_na_among_the_numbers_of_texts_is_missing_although_texts_keep_the_word(prices: Path) -> None:
    source = some()
    rows = [[n, f"{sentence(source, 12)} NA", "NA" if n % 3 else n / 7] for n in range(60)]
    table(prices / "train.csv", ["key", "text", "score"], rows)
    table(prices / "test.csv", ["key", "text"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", "score"], [[row[0], 0.5] for row in rows])

    reading = read(prices)

    assert (reading.task.family, reading.task.target_kind) == ("text", "number")
    assert reading.task.details["missing_words"] == ["NA"]
    assert "40 of 60 sampled rows of train.csv have no score" in " ".join(reading.warnings)


def test_a_column_of_the_sample_may_be_for_the_class_na(prices: Path) -> None:
    rows = [[n, 40 + n, ("AS", "EU", "NA")[n % 3 if n < 3 else n % 2]] for n in range(60)]
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", "AS", "EU", "NA"], [[row[0], 0.3, 0.3, 0.4] for row in rows])
    for labelled in (rows, [row for row in rows if row[2] != "NA"]):  # a sample of a long table may miss a rare one
        table(prices / "train.csv", ["key", "area", "region"], labelled)

        reading = read(prices)

        assert reading.task.submission == "class_columns"
        assert reading.task.details["class_count"] == 3
        assert reading.task.details["keep_null_words"]


@pytest.mark.parametrize(
    ("asked", "unseen"),
    [
        (("cat", "dog", "wolf"), ["wolf"]),
        (("wildcat", "cat", "dog"), ["wildcat"]),
        (("p_cat", "p_dog", "p_wolf"), ["p_wolf"]),
        (("cat", "dog"), []),
    ],
)
def test_a_column_of_a_class_without_training_examples_is_told(
    prices: Path, asked: tuple[str, ...], unseen: list[str]
) -> None:
    rows = [[n, 40 + n, ("cat", "dog")[n % 2]] for n in range(60)]
    table(prices / "train.csv", ["key", "area", "kind"], rows)
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", *asked], [[row[0], *([0.5] * len(asked))] for row in rows])

    reading = read(prices, called="Log Loss")

    assert reading.task.submission == "class_columns"
    assert reading.task.details.get("unseen_columns", []) == unseen
    told = f"{''.join(unseen)}, but no training example has the class {''.join(unseen)}. The submission has the small"
    assert any(told in sentence for sentence in reading.warnings) == bool(unseen)


def test_columns_of_classes_may_have_one_that_is_never_1(prices: Path) -> None:
    rows = [[n, 40 + n, n % 2, 1 - n % 2, 0] for n in range(60)]
    table(prices / "train.csv", ["key", "area", "a", "b", "c"], rows)
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", "a", "b", "c"], [[row[0], 0.3, 0.3, 0.3] for row in rows])

    assert read(prices, called="Log Loss").task.details["unseen_columns"] == ["c"]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (5, "after is the same as before in 80% of the sampled rows. This does not look like classification"),
        (1, "after has 200 different values in 200 sampled rows. This does not look like classification"),
    ],
)
def test_a_target_that_is_mostly_a_copy_or_always_new_is_told(prices: Path, changed: int, says: str) -> None:
    words = [f"w{n}" for n in range(200)]
    rows = [[n, n % 7, word, f"x{word}" if n % changed == 0 else word] for n, word in enumerate(words)]
    table(prices / "train.csv", ["key", "area", "before", "after"], rows)
    table(prices / "test.csv", ["key", "area", "before"], [row[:3] for row in rows])
    table(prices / "sample_submission.csv", ["key", "after"], [[row[0], "w1"] for row in rows])

    assert says in " ".join(read(prices, called="Accuracy").warnings)


def test_a_label_of_the_sample_without_training_examples_is_told(prices: Path) -> None:
    rows = [[n, 40 + n, ("cat", "dog")[n % 2]] for n in range(60)]
    table(prices / "train.csv", ["key", "area", "kind"], rows)
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    samples = [[row[0], ("cat", "wolf")[row[0] % 2]] for row in rows]
    table(prices / "sample_submission.csv", ["key", "kind"], samples)

    told = " ".join(read(prices, called="Accuracy").warnings)

    assert "sample_submission.csv has the labels wolf, which no sampled training example has" in told


def test_a_sample_filled_with_the_word_none_asks_for_labels(prices: Path) -> None:
    rows = [[n, 40 + n, ("None", "Apnea", "Other")[n % 3]] for n in range(60)]
    table(prices / "train.csv", ["key", "area", "kind"], rows)
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", "kind"], [[row[0], "None"] for row in rows])

    reading = read(prices)

    assert (reading.task.submission, reading.task.details["class_count"]) == ("label", 3)
    assert reading.task.evidence["submission"] == 'the cells of kind in the sample submission are like "None"'


def test_lists_of_labels_may_have_the_label_na(prices: Path) -> None:
    rows = [[n, 40 + n, ("NA", "EU AS", "AS NA", "EU NA", "AS", "")[n % 6]] for n in range(60)]
    table(prices / "train.csv", ["key", "area", "regions"], rows)
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", "regions"], [[row[0], "EU AS"] for row in rows])

    reading = read(prices)

    assert (reading.task.target_kind, reading.task.details["label_separator"]) == ("labels", " ")
    assert reading.task.details["keep_null_words"]


@pytest.mark.parametrize(
    ("classes", "sample", "positive", "says"),
    [
        (("No", "Yes"), "0", None, ""),
        (("0", "1"), "False", None, ""),
        (("no", "churned"), "0", "churned", ""),
        (("cat", "dog"), "1", "dog", "The positive class is a guess: dog, because it is the last in sorted order"),
        (("a", "b", "c"), "0", None, 'classes such as "a", .* such as "0".*--labels'),
        (("1", "2", "3"), "none", None, 'classes such as "1", .* such as "none".*--labels'),
    ],
)
def test_classes_that_the_sample_calls_otherwise_are_flags_or_told(
    prices: Path, classes: tuple[str, ...], sample: str, positive: str | None, says: str
) -> None:
    rows = [[n, 40 + n, classes[n % len(classes)]] for n in range(60)]
    table(prices / "train.csv", ["key", "area", "kind"], rows)
    table(prices / "test.csv", ["key", "area"], [row[:2] for row in rows])
    table(prices / "sample_submission.csv", ["key", "kind"], [[row[0], sample] for row in rows])

    reading = read(prices, called="Accuracy", target_kind="class")

    details = reading.task.details
    assert (details.get("answers_are_flags", False), details.get("positive_class")) == (len(classes) == 2, positive)
    assert re.search(says, " ".join(reading.warnings)) if says else reading.warnings == ()


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    images(tmp_path / "train", [f"cat.{n}.png" for n in range(6)] + [f"dog.{n}.png" for n in range(6)])
    images(tmp_path / "test", [f"{n}.png" for n in range(6)])

    with pytest.raises(
        MissingFileError, match=r'--set test_folder: no readable file "tests"\. .*Did you mean "test"\?'
    ):
        read(tmp_path, test_folder="tests")


# Where there is nothing to go by


def test_a_folder_without_test_data_is_told_with_what_was_seen(prices: Path) -> None:
    (prices / "test.csv").unlink()

    with pytest.raises(IntrospectionError, match=r"it has sample_submission\.csv\. .*--test"):
        read(prices)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (bytes(range(256)) * 50, "train.csv is not text."),
        (b",".join(b"c%d" % number for number in range(30_000)), "columns and was not read"),
        (None, "train.csv is a link out of the folder and was not followed."),
    ],
    ids=["bytes", "columns", "link"],
)
def test_why_the_table_to_train_on_was_not_read_is_told(tmp_path: Path, content: bytes | None, why: str) -> None:
    folder, train = tmp_path / "data", tmp_path / "data" / "train.csv"
    table(folder / "test.csv", ["id", "a"], [[number, number % 7] for number in range(30)])
    if content is None:
        (tmp_path / "outside.csv").write_text("id,a,y\n1,2,3\n")
        train.symlink_to(tmp_path / "outside.csv")
    else:
        train.write_bytes(content)

    with pytest.raises(IntrospectionError) as caught:
        read_task(survey_folder(folder), Hints(slug="x"))

    assert why in str(caught.value)


def test_a_folder_without_anything_to_train_on_is_told(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("Good luck.")
    with pytest.raises(IntrospectionError, match=r"no table, no images and no sounds\. .*--train"):
        read(tmp_path)

    table(tmp_path / "test.csv", ["id", "x"], [[1, 2], [2, 3]])
    with pytest.raises(IntrospectionError, match=r"only test\.csv\."):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "flag"), [("train.csv", "--train"), ("test.csv", "--test"), ("sample_submission.csv", "--sample")]
)
def test_a_table_with_a_header_alone_is_told(prices: Path, name: str, flag: str) -> None:
    header, *_ = (prices / name).read_text().splitlines(keepends=True)
    (prices / name).write_text(header)

    with pytest.raises(IntrospectionError, match=f"{name} has a header but no rows\\. .* another table with {flag}"):
        read(prices)


def test_without_a_sample_the_submission_is_built_from_the_test_ids(prices: Path) -> None:
    (prices / "sample_submission.csv").unlink()

    reading = read(prices, called="RMSE")

    assert (reading.task.id_column, reading.task.targets) == ("key", ("price",))
    assert reading.task.sample_submission == ""
    assert any("built from the ids of test.csv" in warning for warning in reading.warnings)


def test_rows_without_the_number_to_learn_are_counted(prices: Path) -> None:
    train = prices / "train.csv"
    lines = train.read_text().splitlines()
    assert not any("have no price" in warning for warning in read(prices).warnings)

    train.write_text("\n".join([*lines[:41], *(line.rpartition(",")[0] + "," for line in lines[41:])]))

    (warning,) = (warning for warning in read(prices).warnings if "have no price" in warning)
    assert warning == "10 of 50 sampled rows of train.csv have no price. Training skips these rows."


LACKING = {
    "class": (["kind"], lambda n: ["" if n % 3 == 0 else "ab"[n % 2]], "have no kind"),
    "one-hot": (["ripe", "raw"], lambda n: ["", ""] if n % 3 == 0 else [n % 2, 1 - n % 2], "have none of ripe, raw"),
    "labels": (["ripe", "big"], lambda n: ["" if n % 3 == 0 else n % 2, n // 2 % 2], "lack at least one of ripe, big"),
    "numbers": (["ripe", "big"], lambda n: ["" if n % 3 == 0 else n / 7, n / 9], "lack at least one of ripe, big"),
}


@pytest.mark.parametrize("targets", LACKING)
def test_rows_that_lack_what_is_to_be_learned_are_counted(tmp_path: Path, targets: str) -> None:
    names, values, lack = LACKING[targets]
    table(tmp_path / "train.csv", ["id", "area", *names], [[n, n * n % 83, *values(n)] for n in range(60)])
    table(tmp_path / "test.csv", ["id", "area"], [[n, n * n % 83] for n in range(60, 90)])
    table(tmp_path / "sample_submission.csv", ["id", *names], [[n, *values(1)] for n in range(60, 90)])

    told = [warning for warning in read(tmp_path).warnings if "sampled rows" in warning]

    assert told == [f"20 of 60 sampled rows of train.csv {lack}. Training skips these rows."]


def test_rows_of_sequences_that_lack_a_label_are_told_to_be_needed(prices: Path) -> None:
    lines = (prices / "train.csv").read_text().splitlines()
    (prices / "train.csv").write_text("\n".join([*lines[:41], *(line.rpartition(",")[0] + "," for line in lines[41:])]))

    reading = read(prices, family="sequence", called="RMSE", group_column="rooms", order_column="area")

    told = [warning for warning in reading.warnings if "sampled rows" in warning]
    assert told == ["10 of 50 sampled rows of train.csv have no price. The notebooks need a table without these rows."]


def test_a_table_hardly_any_of_whose_rows_have_every_target_is_refused(tmp_path: Path) -> None:
    names = ["melting", "density", "radius"]
    rows = [[n, n * n % 83, *(n / 7 if n % 3 == index or n < 4 else "" for index in range(3))] for n in range(60)]
    table(tmp_path / "train.csv", ["id", "area", *names], rows)
    table(tmp_path / "test.csv", ["id", "area"], [row[:2] for row in rows])
    table(tmp_path / "sample_submission.csv", ["id", *names], [[row[0], 0.5, 0.5, 0.5] for row in rows])

    with pytest.raises(IntrospectionError) as caught:
        read(tmp_path)

    assert str(caught.value) == (
        "56 of 60 sampled rows of train.csv lack at least one of melting, density, radius, but training needs "
        "rows with all targets. Fill in the missing values in a copy of the table, and name the copy with --train."
    )


def test_a_sample_that_asks_for_other_columns_is_told(prices: Path) -> None:
    table(prices / "sample_submission.csv", ["key", "height", "depth"], [[n, 0, 0] for n in range(50, 80)])

    with pytest.raises(
        TargetNotInSampleError, match=r"asks for height, depth, but .* target columns: sold, price\. .*--target"
    ):
        read(prices)


def test_a_table_without_a_target_is_told(prices: Path) -> None:
    table(prices / "train.csv", ["key", "area", "rooms", "remark"], [[n, n, n, "fine"] for n in range(50)])

    with pytest.raises(IntrospectionError, match=r"No column of train\.csv looks like a target: .*--target"):
        read(prices)


def test_rows_without_anything_to_predict_from_are_told(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", ["image", "species"], [[f"{n}.jpg", "ab"[n % 2]] for n in range(40)])
    table(tmp_path / "test.csv", ["image"], [[f"{n}.jpg"] for n in range(40, 60)])
    table(tmp_path / "sample_submission.csv", ["image", "species"], [[f"{n}.jpg", "a"] for n in range(40, 60)])

    with pytest.raises(IntrospectionError, match=r"train\.csv and test\.csv share no column except the id"):
        read(tmp_path)


@pytest.mark.parametrize("decided", [{}, {"id_column": "shop"}, {"id_column": "item"}])
def test_ids_that_need_two_columns_are_refused_whichever_is_named(tmp_path: Path, decided: dict[str, str]) -> None:
    rows = [[shop, item, shop * item / 7] for shop in range(6) for item in range(9)]
    table(tmp_path / "train.csv", ["shop", "item", "sales"], rows)
    table(tmp_path / "test.csv", ["shop", "item"], [row[:2] for row in rows])
    table(tmp_path / "sample_submission.csv", ["shop", "item", "sales"], [[*row[:2], 0] for row in rows[1:]])

    with pytest.raises(
        IntrospectionError, match=r"sample_submission\.csv .*only shop and item together.*--sample"
    ) as told:
        read(tmp_path, **decided)
    assert "--id-column" not in str(told.value)


# Single rules


def test_files_are_recognised_where_samples_of_them_hardly_overlap() -> None:
    train, test = keys(200_000, seed=2), keys(50_000, seed=3)
    names = tuple(sorted(f"{key}.jpg" for key in train + test)[::125])
    form = ImageFormat(mode="RGB", width=640, height=480, is_uniform=False)
    folder = Folder("photos", {".jpg": 250_000}, names, images=form)
    labels = _table("labels.csv", 200_000, id=train[:2_000], breed=["abc"[n % 3] for n in range(2_000)])
    sample = _table("sample_submission.csv", 50_000, id=test[:2_000], breed=["a"] * 2_000)

    task = read_task(Survey((labels, sample), (folder,)), Hints("dogs", metric_text="accuracy")).task

    assert (task.family, task.details["image_suffix"]) == ("image_classification", ".jpg")
    assert (task.details["train_folder"], task.details["test_folder"]) == ("photos", "photos")


def test_files_are_recognised_by_their_likeness_where_no_name_was_seen_twice() -> None:
    names = tuple(f"{key}.png" for key in sorted(keys(2_000, seed=2)))
    form = ImageFormat(mode="RGB", width=640, height=480, is_uniform=False)
    folder = Folder("train", {".png": 3_000_000}, names, images=form)
    test = Folder("test", {".png": 3_000_000}, names, images=form)
    labels = _table("train.csv", 3_000_000, key=keys(2_000, seed=3), breed=["abc"[n % 3] for n in range(2_000)])
    sample = _table("sample_submission.csv", 3_000_000, key=keys(2_000, seed=4), breed=["a"] * 2_000)

    reading = read_task(Survey((labels, sample), (folder, test)), Hints("dogs", metric_text="accuracy"))

    assert reading.task.family == "image_classification"
    assert (reading.task.details["image_column"], reading.task.details["image_suffix"]) == ("key", ".png")
    assert "looks like the file names" in reading.task.evidence["train_folder"]


def _table(path: str, rows: int, **columns: Sequence[str]) -> Table:
    sampled = tuple(column_of(name, values) for name, values in columns.items())
    return Table(path, TableFormat.CSV, sampled, rows, is_complete=False, separator=",")


def test_a_column_of_small_numbers_is_no_list_of_numbered_files(tmp_path: Path) -> None:
    images(tmp_path / "plots", [f"{n}.png" for n in range(3)])
    table(tmp_path / "train.csv", ["id", "age", "y"], [[n, 3 * n % 80, n % 2] for n in range(100, 200)])
    table(tmp_path / "test.csv", ["id", "age"], [[n, n % 80] for n in range(200, 260)])
    table(tmp_path / "sample_submission.csv", ["id", "y"], [[n, 0] for n in range(200, 260)])

    assert read(tmp_path, called="accuracy").task.family == "tabular"


def test_patients_of_whom_the_test_has_others_make_the_folds(tmp_path: Path) -> None:
    source = some()
    visits = [[n, f"P{n // 4:03d}", source.randrange(40, 180)] for n in range(120)]
    table(tmp_path / "train.csv", ["id", "patient_id", "pulse", "ill"], [[*row, row[0] % 2] for row in visits[:80]])
    table(tmp_path / "test.csv", ["id", "patient_id", "pulse"], visits[80:])
    table(tmp_path / "sample_submission.csv", ["id", "ill"], [[row[0], 0.5] for row in visits[80:]])

    details = read(tmp_path, called="AUC").task.details

    assert details["group_column"] == "patient_id"


@pytest.mark.parametrize(
    ("width", "height", "size"),
    [(8, 8, 16), (28, 28, 28), (36, 40, 32), (101, 101, 96), (640, 480, 224), (1_400, 130, 128)],
)
def test_images_are_brought_to_a_size_that_suits_them(width: int, height: int, size: int) -> None:
    assert image_size(width, height) == size


@pytest.mark.parametrize(
    ("examples", "pixels", "budget", "why"),
    [
        (16_465, 512, (5, 15, 16), "5 models train about 14 min on a TPU v5e-8"),  # tpu-getting-started
        (16_465, 224, (5, 15, 128), "about 38 s"),
        (300, 512, (5, 20, 8), "about 20 s"),
        (1_000_000, 512, (1, 3, 16), "about 2.8 h"),
    ],
)
def test_photographs_have_five_folds_unless_they_take_hours_of_a_tpu(
    examples: int, pixels: int, budget: tuple[int, int, int], why: str
) -> None:
    found = Findings(Hints("flowers"))
    for key, value in (("target_kind", "class"), ("channels", 3), ("image_size", pixels)):
        found.settle(key, value, "")

    settle_budget("image_classification", examples, found)

    assert tuple(found[key].value for key in ("fold_count", "epochs", "batch_size")) == budget
    assert why in found["fold_count"].evidence


def records_at(path: str, *, names: Sequence[str] = ("0.tfrec",), label: str = "class", side: int = 64) -> Records:
    image = ImageFormat(mode="RGB", width=side, height=side, is_uniform=True)
    features = [RecordFeature("id", "bytes", 1, ("a", "b")), RecordFeature("image", "bytes", 1, (), True, image)]
    features += [RecordFeature(label, "int64", 1, ("0", "1"))] if label else []
    return Records(path, tuple(names), tuple(features), 10)


@pytest.mark.parametrize(
    ("groups", "folder", "examples"),
    [
        ([records_at("b/train"), records_at("b/val"), records_at("b/test", label="")], "b", 20),
        ([records_at("train"), records_at("validation"), records_at("test", label="")], "", 20),
        ([records_at("b", names=("train0.tfrec", "val0.tfrec")), records_at("b", label="")], "b", 10),
        ([records_at("b/train"), records_at("b/test", label="")], "b/train", 10),
        ([records_at("b/train"), records_at("b/val", label=""), records_at("b/test", label="")], "b/train", 10),
        ([records_at("b/train"), records_at("b/val"), records_at("b/test")], "b/train", 10),
        ([records_at("b/train"), records_at("b/val", side=32), records_at("b/test", label="")], "b/train", 10),
        ([records_at("b/train"), records_at("b/val", label="class_id")], "b/train", 10),
    ],
    ids=["beside", "at the top", "in one folder", "none", "unlabelled", "test has labels", "other size", "other label"],
)
def test_training_has_the_labelled_validation_records_too(
    groups: Sequence[Records], folder: str, examples: int
) -> None:
    survey = Survey((), (), tuple(groups))
    train = training_records(survey)
    assert train is not None

    whole = labelled_records(train, survey)

    assert (whole.path, whole.examples) == (folder, examples)


@pytest.mark.parametrize("examples", [1, 100, 1_300, 12_000, 5_000_000])
def test_eight_replicas_have_enough_steps_and_few_examples_enough_epochs(examples: int) -> None:
    size = batch_size(examples)

    assert size % 8 == 0
    assert 8 <= size <= 128
    assert size == 8 or examples * 0.8 / (8 * size) >= 8
    assert 3 <= epochs(examples) <= 40


@pytest.mark.parametrize(("letters", "flip"), [("ABCDEFG", False), (["cat", "dog", "cow"], True)])
def test_letters_are_not_mirrored(tmp_path: Path, letters: Sequence[str], flip: bool) -> None:
    for letter in letters:
        images(tmp_path / "train" / letter, [f"{letter}{n}x.png" for n in range(4)])
    images(tmp_path / "test", [f"{n}.png" for n in range(6)])
    table(tmp_path / "sample_submission.csv", ["id", "name"], [[f"{n}.png", letters[0]] for n in range(6)])

    assert read(tmp_path, called="accuracy").task.details["flip"] is flip


# Any names and kinds

_ANY = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12)
_NAME = st.one_of(
    _ANY, st.sampled_from(("id", "target", "label", "time", "text", "image", "class", "1", "row_id", "y"))
)
_VALUES = st.sampled_from(("whole", "measured", "category", "code", "flag", "words"))
_IDS = st.sampled_from(("{0}", "row{0}", "{0:08x}", "ID_{0:05d}", "a/{0}", "{0}.jpg"))


def _values(kind: str, count: int, names: Sequence[str]) -> list[object]:
    source = some(count)
    choices = {
        "whole": lambda: source.randrange(100_000),
        "measured": lambda: source.gauss(0, 5),
        "category": lambda: source.choice(names),
        "code": lambda: source.randrange(6),
        "flag": lambda: source.choice(["True", "False"]),
        "words": lambda: sentence(source, 12),
    }
    return [choices[kind]() for _ in range(count)]


@settings(max_examples=60, deadline=None, database=None)
@given(
    names=st.lists(_NAME, min_size=3, max_size=7, unique_by=str.lower),
    classes=st.lists(_NAME, min_size=2, max_size=5, unique=True),
    kinds=st.lists(_VALUES, min_size=7, max_size=7),
    form=_IDS,
)
def test_any_names_and_kinds_of_columns_are_told_apart(
    names: list[str], classes: list[str], kinds: list[str], form: str
) -> None:
    (key, target), features = names[:2], names[2:]
    rows, held_out = 60, 20
    target_kind = kinds[0] if kinds[0] != "words" else "category"
    columns = {name: _values(kind, rows, classes) for name, kind in zip(features, kinds[1:], strict=False)}
    labels = _values(target_kind, rows, classes)
    ids = [form.format(n * 7 + 3) for n in range(rows)]
    data = list(zip(ids, *columns.values(), labels, strict=True))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table(folder / "train.csv", [key, *features, target], data[:-held_out])
        table(folder / "test.csv", [key, *features], [row[:-1] for row in data[-held_out:]])
        sample = [[row[0], labels[0]] for row in data[-held_out:]]
        table(folder / "sample_submission.csv", [key, target], sample)

        task = read(folder).task

    assert (task.id_column, task.targets) == (key, (target,))
    assert (task.train_table, task.test_table) == ("train.csv", "test.csv")


def test_a_table_for_each_test_example_is_refused(tmp_path: Path) -> None:
    for part, names in (("train", "abcd"), ("test", "efgh")):
        for name in names:
            table(tmp_path / part / f"seg_{name}.csv", ["sensor_1", "sensor_2"], [[n, n % 3] for n in range(30)])
    table(tmp_path / "train.csv", ["segment_id", "time_to_eruption"], [[f"seg_{name}", 9] for name in "abcd"])
    table(
        tmp_path / "sample_submission.csv", ["segment_id", "time_to_eruption"], [[f"seg_{name}", 0] for name in "efgh"]
    )

    with pytest.raises(IntrospectionError, match=r"has a separate table, such as test/seg_e\.csv\. .*--test"):
        read(tmp_path, called="MAE")


def test_a_target_that_would_have_to_be_written_is_refused(tmp_path: Path) -> None:
    source = some()
    tweets = [[n, sentence(source, 12)] for n in range(60)]
    rows = [[*tweet, " ".join(tweet[1].split()[n % 4 : n % 4 + 3])] for n, tweet in enumerate(tweets)]
    table(tmp_path / "train.csv", ["id", "text", "selected"], rows)
    table(tmp_path / "test.csv", ["id", "text"], tweets[:20])
    table(tmp_path / "sample_submission.csv", ["id", "selected"], [[n, ""] for n in range(20)])

    with pytest.raises(IntrospectionError, match=r"selected is a passage of another column .*--target"):
        read(tmp_path, called="Jaccard")


def test_a_target_with_a_list_of_numbers_in_each_cell_is_refused(tmp_path: Path) -> None:
    strands = [{"id": f"id_{n}", "bases": "GGAAC"[n % 5 :] * 3} for n in range(40)]
    lines = [{**strand, "decay": [n / 7, n / 3, 0.5]} for n, strand in enumerate(strands[:30])]
    (tmp_path / "train.json").write_text("\n".join(json.dumps(line) for line in lines))
    (tmp_path / "test.json").write_text("\n".join(json.dumps(line) for line in strands[30:]))
    asked = [[f"{strand['id']}_{place}", 0.0] for strand in strands[30:] for place in range(3)]
    table(tmp_path / "sample_submission.csv", ["id_seqpos", "decay"], asked)

    with pytest.raises(IntrospectionError, match=r"decay is a list of numbers in each cell"):
        read(tmp_path, called="MCRMSE")


@pytest.mark.slow
def test_groups_that_the_sample_of_a_long_table_cuts_are_counted_as_whole_ones(tmp_path: Path) -> None:
    def rows(part: int) -> list[list[object]]:
        return [[part * 10**6 + n, part * 1_000 + n // 80, n % 80, n % 7] for n in range(80 * (1_000 - 500 * part))]

    header = ["id", "breath_id", "step", "flow", "padding"]
    table(tmp_path / "train.csv", [*header, "pressure"], [[*row, "-" * 40, row[0] % 11 + 0.5] for row in rows(0)])
    table(tmp_path / "test.csv", header, [[*row, "-" * 40] for row in rows(1)])
    table(tmp_path / "sample_submission.csv", ["id", "pressure"], [[row[0], 0] for row in rows(1)])

    reading = read(tmp_path, called="MAE")

    assert reading.task.family == "sequence"
    assert reading.task.details["sequence_length"] == 80
    assert reading.task.evidence["batch_size"].startswith("with 8 replicas, 1,0")


def test_an_image_counts_once_however_many_rows_its_masks_have() -> None:
    clouds = next(layout for layout in ALL_LAYOUTS if layout.name == "understanding_clouds")

    assert clouds.read().task.evidence["batch_size"].startswith("with 8 replicas, 12 examples")
