"""A specimen is like a competition's data in everything but the data, and can never be taken for them."""

import json
import re
import zipfile
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from layout_files import images, keys, sentence, some, table
from layouts import LAYOUTS, WARNED, Layout, sampled

from generator.cli.specimen import specimen as verb
from generator.competition import specimen as writing
from generator.competition.facts import SubmissionKind, TargetKind, Task
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints
from generator.competition.specimen import SpecimenSummary, write_specimen
from generator.competition.specimen.writer import MARKER
from generator.competition.survey import (
    AudioFormat,
    Column,
    ColumnKind,
    Folder,
    ImageFormat,
    RecordFeature,
    Records,
    Survey,
    Table,
    survey_folder,
)
from generator.competition.tables import TableFormat, features_of, first_records
from generator.errors import CompetitionError, TandemError
from generator.files import FileWriteError

DECIDED = ("family", "metric", "target_kind", "submission", "id_column", "targets", "submission_file")
FILES = ("train_table", "labels_table", "test_table", "sample_submission")
BUDGET = {"batch_size", "epochs"}  # they follow from the number of rows


def task_of(survey: Survey, layout: Layout) -> Task:
    return read_task(survey, Hints(slug="any", metric_text=layout.metric)).task


def copy(layout: Layout, folder: Path, *, rows: int = 60, seed: int = 1, signal: bool = True) -> Path:
    """The specimen of a layout."""
    task = task_of(layout.survey, layout)
    write_specimen(layout.survey, task, folder / "specimen", rows=rows, seed=seed, signal=signal)
    return folder / "specimen"


def named(name: str) -> Layout:
    return next(layout for layout in (*LAYOUTS, *WARNED) if layout.name == name)


def shape(found: Table) -> tuple[object, ...]:
    kinds = [(column.name, column.kind) for column in found.columns]
    return found.path, found.format, found.separator, found.encoding, found.compression, kinds


def look(found: Folder) -> tuple[object, ...]:
    return found.path, set(found.suffixes), found.is_archive, found.images, found.audio


def features(found: Records) -> tuple[object, ...]:
    return found.path, [(each.name, each.kind, each.length, each.image) for each in found.features]


def cells(path: Path) -> list[dict[str, str]]:
    import csv

    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def made_up_task(**changed: object) -> Task:
    values: dict[str, object] = {
        "family": "image_classification",
        "metric": "accuracy",
        "target_kind": TargetKind.CLASS,
        "submission": SubmissionKind.LABEL,
        "id_column": "id",
        "targets": ("label",),
        "train_table": "train.csv",
        "labels_table": "",
        "test_table": "",
        "sample_submission": "sample.csv",
        "details": {
            "labels_from": "table",
            "image_column": "id",
            "train_folder": "train",
            "test_folder": "test",
            "image_suffix": ".png",
        },
    }
    return Task(**(values | changed))


def column(name: str, *values: str | None, kind: ColumnKind = ColumnKind.TEXT) -> Column:
    return Column(name, kind, values)


def written(survey: Survey, task: Task, folder: Path, *, rows: int = 24) -> SpecimenSummary:
    return write_specimen(survey, task, folder, rows=rows, seed=1, signal=True)


# What it is like


@pytest.mark.parametrize("layout", sampled(LAYOUTS))
def test_a_specimen_has_the_files_and_the_columns_and_is_read_as_the_same_task(layout: Layout, tmp_path: Path) -> None:
    again, real = survey_folder(copy(layout, tmp_path)), layout.survey
    task, same = task_of(real, layout), task_of(again, layout)

    assert [shape(found) for found in again.tables] == [shape(found) for found in real.tables]
    # The marker and other files beside the tables are no data; they have no format to compare.
    assert [look(found) for found in again.folders if found.path] == [look(f) for f in real.folders if f.path]
    assert [features(found) for found in again.records] == [features(found) for found in real.records]
    assert {key: getattr(same, key) for key in DECIDED + FILES} == {key: getattr(task, key) for key in DECIDED + FILES}
    details = {key: value for key, value in task.details.items() if key not in BUDGET}
    assert {key: value for key, value in same.details.items() if key not in BUDGET} == details


@pytest.mark.parametrize("name", ["dog_breeds", "petfinder_pawpularity", "blindness_grades"])
def test_every_training_and_test_id_has_its_picture_and_no_picture_is_left_over(name: str, tmp_path: Path) -> None:
    layout = named(name)
    folder = copy(layout, tmp_path)
    task = task_of(survey_folder(folder), layout)

    for path, key in ((task.train_table, "train_folder"), (task.sample_submission, "test_folder")):
        rows = cells(folder / path)
        asked = {row[task.id_column] + str(task.details["image_suffix"]) for row in rows}
        assert asked == {file.name for file in (folder / str(task.details[key])).iterdir()}


@pytest.mark.parametrize("name", ["titanic", "ventilator_pressure", "jigsaw_toxic_comments"])
def test_the_ids_of_the_sample_are_those_of_the_test_in_their_order(name: str, tmp_path: Path) -> None:
    layout = named(name)
    folder = copy(layout, tmp_path)
    task = task_of(survey_folder(folder), layout)

    asked = [row[task.id_column] for row in cells(folder / task.sample_submission)]
    assert asked == [row[task.id_column] for row in cells(folder / task.test_table)]
    assert not set(asked) & {row[task.id_column] for row in cells(folder / task.train_table)}


@pytest.mark.parametrize("name", ["ids_of_a_sentence_and_a_token", "ids_of_an_essay_and_a_sentence"])
def test_ids_that_are_put_together_name_each_a_row_of_the_test(name: str, tmp_path: Path) -> None:
    folder = copy(named(name), tmp_path)

    (one, other), separator = (named(name).record["choices"][key][0] for key in ("id_columns", "id_separator"))
    made = [f"{row[one]}{separator}{row[other]}" for row in cells(folder / "test.csv")]
    assert [row["id"] for row in cells(folder / "sample_submission.csv")] == made
    assert len(set(made)) == len(made)


def test_labels_in_a_table_of_their_own_are_those_of_the_training_rows(tmp_path: Path) -> None:
    folder = copy(named("one_prediction_for_each_series"), tmp_path)

    series = [row["series_id"] for row in cells(folder / "X_train.csv")]
    assert list(dict.fromkeys(series)) == [row["series_id"] for row in cells(folder / "y_train.csv")]
    assert len(series) > len(set(series)) * 3


def test_a_table_that_lists_the_files_of_class_folders_agrees_with_the_folders(tmp_path: Path) -> None:
    folder = copy(named("state_farm_drivers"), tmp_path)

    listed = {f"{row['classname']}/{row['img']}" for row in cells(folder / "driver_imgs_list.csv")}
    train = folder / "imgs" / "train"
    assert listed == {path.relative_to(train).as_posix() for path in train.rglob("*.jpg")}


def test_ids_that_are_dates_stay_dates(tmp_path: Path) -> None:
    folder = copy(named("ids_that_are_hours"), tmp_path)

    hours = [row["datetime"] for name in ("train", "test") for row in cells(folder / f"{name}.csv")]
    assert len(set(hours)) == len(hours)
    assert all(2011 <= datetime.strptime(hour, "%Y-%m-%d %H:%M:%S").year <= 2012 for hour in hours)


def test_rows_without_a_label_are_those_that_are_asked_for_where_one_table_has_both(tmp_path: Path) -> None:
    folder = copy(named("one_table_whose_rows_without_a_label_are_the_test"), tmp_path)

    asked = [row["shot_id"] for row in cells(folder / "sample_submission.csv")]
    assert asked
    assert [row["shot_id"] for row in cells(folder / "data.csv") if not row["shot_made_flag"]] == asked


def test_a_picture_is_in_the_folder_of_the_patient_that_the_table_says(tmp_path: Path) -> None:
    folder = copy(named("a_folder_for_each_patient"), tmp_path)

    for part in ("train", "test"):
        listed = {f"{row['patient_id']}/{row['image_id']}.png" for row in cells(folder / f"{part}.csv")}
        pictures = folder / f"{part}_images"
        assert listed == {path.relative_to(pictures).as_posix() for path in pictures.rglob("*.png")}


def test_the_files_of_a_class_are_named_like_those_of_the_class_and_not_like_those_of_others(tmp_path: Path) -> None:
    train = copy(named("words_beside_minutes_of_noise"), tmp_path) / "train" / "audio"

    words = [path for path in train.rglob("*.wav") if path.parent.name != "_background_noise_"]
    assert len(words) > 30
    assert all("_nohash_" in path.name for path in words)
    assert not any("_nohash_" in path.name for path in (train / "_background_noise_").iterdir())


def test_ids_of_test_files_that_are_not_there_are_not_like_the_names_of_training_files(tmp_path: Path) -> None:
    folder = copy(named("long_test_sounds_that_are_there_only_when_scored"), tmp_path)

    asked = [row["row_id"] for row in cells(folder / "sample_submission.csv")]
    assert all(re.fullmatch(r"soundscape_\d{7}_(5|10|15)", key) for key in asked)


def test_the_labels_of_an_example_that_have_rows_of_their_own_differ(tmp_path: Path) -> None:
    rows = cells(copy(named("a_training_row_for_each_label"), tmp_path) / "train_labels.csv")

    labels: dict[str, dict[str, str]] = {}
    for row in rows:
        example, _, label = row["ID"].rpartition("_")
        labels.setdefault(example, {})[label] = row["Label"]
    assert all(set(own) == {"any", "wheeze", "crackle"} for own in labels.values())
    assert any(len(set(own.values())) > 1 for own in labels.values())


def repeats(path: Path, name: str) -> tuple[float, float, int]:
    """The rows for each id, the share of rows that are exact copies, and how often the id changes from row to row."""
    rows = [tuple(row.values()) for row in cells(path)]
    ids = [row[name] for row in cells(path)]
    changes = sum(one != other for one, other in pairwise(ids))
    return len(set(rows)) / len(set(ids)), 1 - len(set(rows)) / len(rows), changes


@pytest.mark.parametrize("is_in_order", [True, False])
def test_training_ids_repeat_as_often_as_the_real_ones_and_as_scattered(tmp_path: Path, is_in_order: bool) -> None:
    source, data = some(), tmp_path / "data"
    rows = [
        [f"p{n}", n * 3 + visit, source.random(), source.randrange(2)] for n in range(60) for visit in range(n % 4 + 1)
    ]
    rows += rows[:15]
    rows.sort(key=lambda row: row[0] if is_in_order else row[2])
    table(data / "train.csv", ["patient", "pulse", "size", "ill"], rows)
    table(data / "test.csv", ["patient", "pulse", "size"], [[f"q{n}", n, source.random()] for n in range(30)])
    table(data / "sample_submission.csv", ["patient", "ill"], [[f"q{n}", 0] for n in range(30)])
    survey, folder = survey_folder(data), tmp_path / "specimen"

    written(survey, read_task(survey, Hints("visits", metric_text="AUC")).task, folder, rows=120)

    rows_of_id, copied, changes = repeats(folder / "train.csv", "patient")
    assert rows_of_id == pytest.approx(2.5, abs=0.4)
    assert copied == pytest.approx(15 / 165, abs=0.02)
    assert (changes < 60) is is_in_order
    again = read_task(survey_folder(folder), Hints("visits", metric_text="AUC")).task
    assert again.details["group_column"] == "patient"
    asked = [row["patient"] for row in cells(folder / "test.csv")]
    assert len(set(asked)) == len(asked)


def test_a_picture_that_several_training_rows_are_of_is_there_once(tmp_path: Path) -> None:
    source, data = some(), tmp_path / "data"
    images(data / "train", [f"im{n}.png" for n in range(40)])
    images(data / "test", [f"im{n}.png" for n in range(90, 110)])
    rated = [[f"im{n}", source.random(), source.choice("yn")] for n in range(40) for _ in range(n % 3 + 1)]
    table(data / "train.csv", ["image", "weight", "label"], rated)
    table(data / "sample_submission.csv", ["image", "label"], [[f"im{n}", "y"] for n in range(90, 110)])
    survey, folder = survey_folder(data), tmp_path / "specimen"

    written(survey, read_task(survey, Hints("rated", metric_text="accuracy")).task, folder, rows=60)

    listed = [f"{row['image']}.png" for row in cells(folder / "train.csv")]
    assert len(listed) == pytest.approx(2 * len(set(listed)), rel=0.25)
    assert {path.name for path in (folder / "train").iterdir()} == set(listed)


def test_several_labels_of_one_training_row_stay_in_the_table_of_labels(tmp_path: Path) -> None:
    source, data = some(), tmp_path / "data"
    table(data / "train.csv", ["patient", "pulse"], [[f"p{n}", n] for n in range(60)])
    table(data / "train_labels.csv", ["patient", "ill"], [[f"p{n % 60}", source.randrange(9)] for n in range(150)])
    table(data / "test.csv", ["patient", "pulse"], [[f"q{n}", n] for n in range(30)])
    table(data / "sample_submission.csv", ["patient", "ill"], [[f"q{n}", 0] for n in range(30)])
    survey, folder = survey_folder(data), tmp_path / "specimen"

    written(survey, read_task(survey, Hints("visits", metric_text="rmse")).task, folder, rows=60)

    patients = [row["patient"] for row in cells(folder / "train.csv")]
    labelled = [row["patient"] for row in cells(folder / "train_labels.csv")]
    assert len(set(patients)) == len(patients) < len(labelled)
    assert set(labelled) == set(patients)


def test_labels_in_rows_of_their_own_stand_beside_a_table_of_texts(tmp_path: Path) -> None:
    data, source, names = tmp_path / "data", some(), ("any", "left", "right")
    reports = [[f"ID_{key}", f"{n} {sentence(source, 12)}"] for n, key in enumerate(keys(90))]
    labelled = [[f"{report[0]}_{name}", source.randrange(2)] for report in reports[:60] for name in names]
    table(data / "train.csv", ["ID", "report"], reports[:60])
    table(data / "train_labels.csv", ["ID", "Label"], labelled)
    table(data / "test.csv", ["ID", "report"], reports[60:])
    asked = [[f"{report[0]}_{name}", 0.5] for report in reports[60:] for name in names]
    table(data / "sample_submission.csv", ["ID", "Label"], asked)
    survey, folder = survey_folder(data), tmp_path / "specimen"

    written(survey, read_task(survey, Hints("reports", metric_text="Log Loss")).task, folder)

    known = [row["ID"] for row in cells(folder / "train.csv")]
    assert [row["ID"] for row in cells(folder / "train_labels.csv")] == [
        f"{key}_{name}" for key in known for name in names
    ]


def test_the_table_that_explains_the_submission_asks_for_every_part_of_every_test_picture(tmp_path: Path) -> None:
    folder = copy(named("facial_keypoints"), tmp_path)

    points = ("left_eye_x", "left_eye_y", "nose_tip_x", "nose_tip_y")
    pictures, explained = ([*cells(folder / name)] for name in ("test.csv", "IdLookupTable.csv"))
    asked = [(row["ImageId"], row["FeatureName"]) for row in explained]
    assert asked == [(row["ImageId"], point) for row in pictures for point in points]
    assert [row["RowId"] for row in cells(folder / "SampleSubmission.csv")] == [row["RowId"] for row in explained]


@pytest.mark.parametrize("suffix", [".wav", ".aif"])
def test_a_sound_has_the_rate_the_length_and_the_channels_of_the_real_ones(suffix: str, tmp_path: Path) -> None:
    audio = AudioFormat(sample_rate=2_000, seconds=1.5, channels=2, is_plain_wav=suffix == ".wav")
    survey = Survey((), (Folder("noise", {suffix: 2}, (f"a1{suffix}", f"a2{suffix}"), audio=audio),))

    written(survey, made_up_task(train_table="", sample_submission=""), tmp_path / "specimen")

    found = survey_folder(tmp_path / "specimen").folder("noise")
    assert found is not None
    assert found.audio == audio


def test_run_length_codes_are_the_mask_images(tmp_path: Path) -> None:
    import numpy
    from PIL import Image

    folder = copy(named("salt_identification"), tmp_path)

    for row in cells(folder / "train.csv")[:12]:
        mask = numpy.asarray(Image.open(folder / "train" / "masks" / f"{row['id']}.png")) > 0
        drawn = numpy.zeros(mask.size, dtype=bool)
        numbers = [int(number) for number in row["rle_mask"].split()]
        for start, length in zip(numbers[::2], numbers[1::2], strict=True):
            assert 1 <= start <= start + length - 1 <= mask.size
            drawn[start - 1 : start - 1 + length] = True
        assert (mask == drawn.reshape(mask.shape[::-1]).T).all()


def test_the_sample_asks_for_every_pixel_of_pictures_whose_sizes_differ(tmp_path: Path) -> None:
    from PIL import Image

    data, sizes = tmp_path / "data", [(40, 32), (40, 24), (40, 24)]
    for number, size in enumerate(sizes):
        for place, name in (("train", f"{number}b"), ("train_cleaned", f"{number}b"), ("test", f"{number}a")):
            images(data / place, [f"{name}.png"], size=size, mode="L")
    # More rows than are read of a table: what is known of an image are some of its pixels.
    asked = [
        [f"{n}a_{row}_{column}", 1]
        for n, (width, height) in enumerate(sizes)
        for column in range(1, width + 1)
        for row in range(1, height + 1)
    ]
    table(data / "sampleSubmission.csv", ["id", "value"], asked)
    survey, folder = survey_folder(data), tmp_path / "specimen"
    written(survey, read_task(survey, Hints("scans", metric_text="RMSE")).task, folder)

    asked_for = [row["id"] for row in cells(folder / "sampleSubmission.csv")]
    there = {path.stem: Image.open(path).size for path in (folder / "test").glob("*.png")}
    assert len(set(there.values())) > 1
    assert sorted(asked_for) == sorted(
        f"{name}_{row}_{column}"
        for name, (width, height) in there.items()
        for row in range(1, height + 1)
        for column in range(1, width + 1)
    )
    assert asked_for[1].endswith("_2_1")


def test_at_least_a_few_rows_of_every_class(tmp_path: Path) -> None:
    from collections import Counter

    data = tmp_path / "data"
    breeds = [f"breed{n}" for n in range(30)]
    train, test = keys(120, seed=2), keys(20, seed=3)
    table(data / "labels.csv", ["id", "breed"], [[key, breeds[n % 30]] for n, key in enumerate(train)])
    images(data / "train", [f"{key}.png" for key in train], size=(8, 8))
    images(data / "test", [f"{key}.png" for key in test], size=(8, 8))
    table(data / "sample_submission.csv", ["id", *breeds], [[key, *[0.03] * 30] for key in test])
    survey = survey_folder(data)
    task = read_task(survey, Hints(slug="any")).task

    written(survey, task, tmp_path / "specimen", rows=30)

    counts = Counter(row["breed"] for row in cells(tmp_path / "specimen" / "labels.csv"))
    assert set(counts) == set(breeds)
    assert min(counts.values()) >= 3


# What it is not


def test_no_id_and_no_text_of_the_real_data_is_in_a_specimen(tmp_path: Path) -> None:
    folder = copy(named("jigsaw_toxic_comments"), tmp_path)
    named("jigsaw_toxic_comments").write(tmp_path / "data")
    real, made = cells(tmp_path / "data" / "train.csv"), cells(folder / "train.csv")

    for name in ("id", "comment_text"):
        assert not {row[name] for row in real} & {row[name] for row in made}


def test_a_marker_says_what_the_specimen_was_made_from(tmp_path: Path) -> None:
    folder = copy(named("titanic"), tmp_path, seed=7)

    marker = json.loads((folder / MARKER).read_text())
    assert (marker["seed"], marker["rows"]) == (7, 60)
    assert marker["made_from"]["tables"] == ["gender_submission.csv", "test.csv", "train.csv"]


def test_a_file_of_the_competition_cannot_take_the_place_of_the_marker(tmp_path: Path) -> None:
    real = Table(MARKER, TableFormat.JSON, (column("id", "a", "b"),), 2, True)

    summary = written(Survey((real,), ()), made_up_task(train_table="", sample_submission=""), tmp_path / "specimen")

    assert "made_from" in json.loads((tmp_path / "specimen" / MARKER).read_text())
    assert MARKER in summary.notes[0]


@pytest.mark.parametrize(
    "path",
    [
        "../evil.csv",
        "/etc/evil.csv",
        "a/../../evil.csv",
        "evil\n.csv",
        "evil\0.csv",
        "\udcff.csv",
        "x" * 300,
        "a//b.csv",
    ],
)
def test_a_hostile_name_is_skipped_and_said(path: str, tmp_path: Path) -> None:
    place = tmp_path / "inside" / "deep"
    place.mkdir(parents=True)
    image = ImageFormat("L", 8, 8, is_uniform=True)
    survey = Survey(
        (Table(path, TableFormat.CSV, (column("id", "a1", "b2"),), 2, True, ","),),
        (Folder(path, {".png": 3}, ("a.png", "../b.png"), images=image),),
    )

    summary = written(survey, made_up_task(train_table=path, sample_submission=path), place / "specimen")

    assert {found.name for found in tmp_path.rglob("*") if found.is_file()} == {MARKER}
    assert any("cannot be the name of a file" in note for note in summary.notes)
    assert all(note.isprintable() for note in summary.notes)


def test_a_hostile_member_of_an_archive_is_skipped(tmp_path: Path) -> None:
    image = ImageFormat("L", 8, 8, is_uniform=True)
    folders = [
        Folder(path, {".png": 3}, ("a1.png", "a2.png"), is_archive=True, images=image)
        for path in ("train.zip/good", "train.zip/../..")
    ]

    written(Survey((), tuple(folders)), made_up_task(train_table="", sample_submission=""), tmp_path / "specimen")

    with zipfile.ZipFile(tmp_path / "specimen" / "train.zip") as archive:
        assert {name.rpartition("/")[0] for name in archive.namelist()} == {"good"}


# How large it is, and from how little it can be made


@pytest.mark.slow
def test_a_huge_competition_has_a_small_specimen(tmp_path: Path) -> None:
    ids = [f"{number * 7919 + 10**9:032x}" for number in range(300)]
    image = ImageFormat("RGB", 100_000, 80_000, is_uniform=False)
    labels = column("label", *(str(n % 9) for n in range(300)), kind=ColumnKind.INTEGER)
    survey = Survey(
        (
            Table("sample.csv", TableFormat.CSV, (column("id", *ids), labels), 10**8, False, ","),
            Table("train.csv", TableFormat.CSV, (column("id", *ids), labels), 10**9, False, ","),
        ),
        (
            Folder("test", {".jpg": 10**6}, ("x.jpg",), images=image),
            Folder("train", {".jpg": 10**7}, ("y.jpg",), images=ImageFormat("RGB", 40, 30, is_uniform=True)),
            *(Folder(f"more/{n}", {".jpg": 10**6}, ("1.jpg", "2.jpg"), images=image) for n in range(3)),
            Folder("sounds", {".ogg": 10**6}, ("1.ogg",), audio=AudioFormat(48_000, 36_000.0, 2)),
        ),
    )

    summary = written(survey, made_up_task(), tmp_path / "specimen", rows=12)

    assert sum(map(len, content(tmp_path / "specimen").values())) < 100_000_000
    assert summary.rows["train.csv"] <= 30
    assert any("smaller" in note for note in summary.notes)
    assert any("shorter" in note for note in summary.notes)
    assert any("WAV" in note for note in summary.notes)


def test_a_specimen_can_be_made_of_headers_and_two_rows_alone(tmp_path: Path) -> None:
    labels = column("label", "0", "1", kind=ColumnKind.INTEGER)
    empty = column("note", kind=ColumnKind.EMPTY)
    survey = Survey(
        (
            Table("sample.csv", TableFormat.CSV, (column("id", "7f3a", "8b2c"), labels), 2, False, ","),
            Table("train.csv", TableFormat.CSV, (column("id", "1f3a", "2b2c"), labels, empty), 9, False, ","),
        ),
        (Folder("test", {".png": 9}, ()), Folder("train", {".png": 9}, ())),
        (Records("records", ("a.tfrec",), (RecordFeature("x", "float", 4, ()),), 9),),
    )

    summary = written(survey, made_up_task(), tmp_path / "specimen")

    assert summary.rows == {"sample.csv": 8, "train.csv": 24}
    ids = {row["id"] for row in cells(tmp_path / "specimen" / "train.csv")}
    assert {f"{key}.png" for key in ids} == {path.name for path in (tmp_path / "specimen" / "train").iterdir()}
    assert any("Nothing is known of the pictures in train" in note for note in summary.notes)


def test_the_sample_asks_for_the_ids_in_the_feature_that_the_task_calls_so(tmp_path: Path) -> None:
    def records(role: str) -> Records:
        values = {name: tuple(f"{name}{number:04}" for number in range(9)) for name in ("grid_id", "key")}
        texts = [RecordFeature(name, "bytes", 1, known) for name, known in values.items()]
        image = RecordFeature("image", "bytes", 1, (), is_image=True, image=ImageFormat("RGB", 8, 8, is_uniform=True))
        return Records(role, (f"{role}.tfrec",), (*texts, image), 9)

    label = column("label", "0", "1", kind=ColumnKind.INTEGER)
    ids = column("id", *records("test").features[1].values[:2])
    survey = Survey(
        (Table("sample.csv", TableFormat.CSV, (ids, label), 2, True, ","),), (), (records("train"), records("test"))
    )
    details = {"labels_from": "records", "train_folder": "train", "test_folder": "test", "record_id": "key"}

    written(survey, made_up_task(train_table="", details=details), tmp_path / "specimen")

    with (tmp_path / "specimen" / "test" / "test.tfrec").open("rb") as file:
        found = [features_of(record)["key"].values[0].decode() for record in first_records(file, 100)]
    assert sorted(found) == sorted(row["id"] for row in cells(tmp_path / "specimen" / "sample.csv"))


ODD_COLUMNS = (
    column("", "1", "x"),
    column("none", None, None, kind=ColumnKind.EMPTY),
    column("surrogate\udcff", "\udcff", "a"),
    column("infinite", "inf", "1e400", kind=ColumnKind.NUMBER),
    column("long", "9" * 60, "8" * 60, kind=ColumnKind.INTEGER),
    column("lists", "[1, [2]]", "[]"),
    column("quotes", 'a "b", c', "d\r\ne"),
    column("dotted.name", "1", "2", kind=ColumnKind.INTEGER),
    column("dotted", "1", "2", kind=ColumnKind.INTEGER),
)


@pytest.mark.parametrize("table_format", TableFormat)
def test_odd_columns_and_values_do_not_stop_it(table_format: TableFormat, tmp_path: Path) -> None:
    odd = Table("train.csv", table_format, ODD_COLUMNS, 2, True, ",")

    summary = written(Survey((odd,), ()), made_up_task(targets=("quotes",), details={}), tmp_path / "specimen")

    assert summary.rows["train.csv"] == 24


# Writing


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    layout = named("zipped_folders")
    folders = []
    for position, seed in enumerate((1, 1, 2)):
        place = tmp_path / str(position)
        place.mkdir()
        folders.append(content(copy(layout, place, rows=12, seed=seed)))

    assert folders[0] == folders[1]
    assert folders[0] != folders[2]


def test_a_specimen_is_replaced_only_when_asked_and_real_data_never_are(tmp_path: Path) -> None:
    layout, folder = named("titanic"), copy(named("titanic"), tmp_path)
    layout.write(tmp_path / "data")
    survey, task = layout.survey, task_of(layout.survey, layout)

    with pytest.raises(CompetitionError, match="--force"):
        write_specimen(survey, task, folder, rows=12, seed=1, signal=True)
    write_specimen(survey, task, folder, rows=12, seed=1, signal=True, replace=True)
    assert len(cells(folder / "train.csv")) == 12

    before = content(tmp_path / "data")
    with pytest.raises(CompetitionError, match="left alone"):
        write_specimen(survey, task, tmp_path / "data", rows=12, seed=1, signal=True, replace=True)
    assert content(tmp_path / "data") == before


def test_what_fails_half_way_leaves_the_old_specimen_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy(named("titanic"), tmp_path)
    survey, before = named("titanic").survey, content(folder)

    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "table_file", full)
    with pytest.raises(FileWriteError, match="disk is full"):
        write_specimen(survey, task_of(survey, named("titanic")), folder, rows=12, seed=1, signal=True, replace=True)

    assert content(folder) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["specimen"]


# What can be learned from it


@pytest.fixture
def passengers() -> tuple[Survey, Task]:
    survey = named("titanic").survey
    return survey, task_of(survey, named("titanic"))


def accuracy(folder: Path) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    rows = cells(folder / "train.csv")
    inputs = [[float(row["Age"] or 30) / 80, float(row["Pclass"]), float(row["SibSp"])] for row in rows]
    return float(cross_val_score(LogisticRegression(), inputs, [row["Survived"] for row in rows], cv=5).mean())


def test_a_simple_model_learns_a_table_with_a_signal_and_not_one_without(
    passengers: tuple[Survey, Task], tmp_path: Path
) -> None:
    survey, task = passengers
    for signal in (True, False):
        write_specimen(survey, task, tmp_path / str(signal), rows=200, seed=1, signal=signal)

    assert accuracy(tmp_path / "True") > 0.75
    assert accuracy(tmp_path / "False") < 0.65


def test_a_simple_model_learns_texts(tmp_path: Path) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    rows = cells(copy(named("nlp_getting_started"), tmp_path, rows=120) / "train.csv")
    texts, labels = [row["text"] for row in rows], [row["target"] for row in rows]

    assert cross_val_score(make_pipeline(CountVectorizer(), LogisticRegression()), texts, labels, cv=4).mean() > 0.75


def test_a_simple_model_learns_pictures(tmp_path: Path) -> None:
    from PIL import Image
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    folder = copy(named("dog_breeds"), tmp_path)
    rows = cells(folder / "labels.csv")
    pictures = [
        list(Image.open(folder / "train" / f"{row['id']}.jpg").convert("L").resize((8, 8)).tobytes()) for row in rows
    ]
    labels = [row["breed"] for row in rows]

    assert cross_val_score(KNeighborsClassifier(3), pictures, labels, cv=3).mean() > 0.8


# The command line


def test_the_verb_writes_below_input_and_says_what(tmp_path: Path) -> None:
    data = tmp_path / "input" / "competitions" / "some-ships"
    data.mkdir(parents=True)
    named("titanic").write(data)

    outcome = CliRunner().invoke(verb, ["some-ships", "--workspace", str(tmp_path), "--rows", "30"])

    assert outcome.exit_code == 0
    folder = tmp_path / "input" / "specimens" / "some-ships"
    assert len(cells(folder / "train.csv")) == 30
    assert "train.csv" in outcome.output
    assert "30 rows" in outcome.output
    assert str(folder) in outcome.output


@pytest.mark.slow
def test_the_verb_makes_a_specimen_of_a_built_in_competition_without_writing_its_data(tmp_path: Path) -> None:
    command = ["digits", "--workspace", str(tmp_path), "--rows", "20", "--json"]

    report = json.loads(CliRunner().invoke(verb, command).stdout)

    assert report["tables"]["train.csv"] == 30
    assert not (tmp_path / "input" / "competitions").exists()


def test_the_verb_names_what_is_missing(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(verb, ["nothing-here", "--workspace", str(tmp_path)])

    assert isinstance(outcome.exception, TandemError)
    assert "--data DIR" in outcome.exception.message
