"""Readings of a task: evidence, warnings, the user's decisions, and errors where there is nothing to go by."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_files import keys, sentence, some, table

from generator.competition import builtin
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import (
    Findings,
    Hints,
    IntrospectionError,
    Reading,
    UnusableValueError,
)
from generator.competition.introspection.files import labelled_records, training_records
from generator.competition.introspection.task_kind import batch_size, epochs, image_size, settle_budget
from generator.competition.survey import (
    MISSING,
    Folder,
    ImageFormat,
    RecordFeature,
    Records,
    Survey,
    Table,
    column_of,
    survey_folder,
)
from generator.competition.tables import TableFormat


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


def test_what_a_host_typed_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", ["id", "a\x1b[31m", "y"], [[n, n % 7, n / 3] for n in range(40)])
    table(tmp_path / "test.csv", ["id", "a\x1b[31m"], [[n, n % 7] for n in range(40, 60)])

    reading = read(tmp_path, called="RM\x1b[2JSE")

    assert all(text.isprintable() for text in (*reading.task.evidence.values(), *reading.warnings))


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


def test_a_decided_metric_may_have_kaggles_name_and_gets_the_form_for_the_target(tmp_path: Path) -> None:
    source = some()
    rows = [[n, source.random(), source.randrange(2), source.randrange(2)] for n in range(60)]
    table(tmp_path / "train.csv", ["id", "x", "wet", "cold"], rows[:40])
    table(tmp_path / "test.csv", ["id", "x"], [row[:2] for row in rows[40:]])
    table(tmp_path / "sample_submission.csv", ["id", "wet", "cold"], [[row[0], 0.5, 0.5] for row in rows[40:]])

    finding = read(tmp_path, metric="AUC").findings["metric"]

    assert (finding.value, finding.evidence) == ("auc_mean_columns", "--metric")


def test_pictures_that_only_look_like_those_of_the_rows_do_not_outweigh_many_numbers() -> None:
    numbers = {f"n{n}": [str(row * n % 97) for row in range(500)] for n in range(2, 22)}
    train = _table("train.csv", 500, id=keys(500, seed=2), **numbers, y=[f"{n % 9}.5" for n in range(500)])
    test = _table("test.csv", 500, id=keys(500, seed=3), **numbers)
    names = tuple(f"{key}.png" for key in sorted(keys(500, seed=4)))
    form = ImageFormat(mode="RGB", width=64, height=64, is_uniform=True)
    folder = Folder("maps", {".png": 90_000}, names, images=form)

    task = read_task(Survey((test, train), (folder,)), Hints("some", metric_text="RMSE")).task

    assert (task.family, "drop_columns" in task.details, "image_size" in task.details) == ("tabular", True, False)


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


def test_a_decided_number_that_is_none_is_told(prices: Path) -> None:
    with pytest.raises(UnusableValueError, match=r'epochs cannot be "many": it must be a whole number'):
        read(prices, epochs="many")


# Where there is nothing to go by


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


# Single rules


@pytest.mark.slow
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


@pytest.mark.slow
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
