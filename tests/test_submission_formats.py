"""A submission is written in the format that its name promises, and is the same to the kit in every format."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from greedy_lzma import greedy_xz, greedy_zip
from miniature import write_tree
from notebook_session import Notebook, Sessions, Trained, names_below, rendered_cells
from written_submissions import submitted, table_task

from generator.competition import builtin
from generator.competition.facts import TargetKind, Task
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints
from generator.competition.submission import MissingReaderError, SubmissionError, submission_table, validate
from generator.competition.survey import survey_folder

pytest_plugins = ("notebook_session",)

NUMBERS = pd.DataFrame({"id": [11, 12, 13], "height": [0.5, 1.25, 2.0]})
WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    ".csv": lambda table, path: table.to_csv(path, index=False),
    ".csv.gz": lambda table, path: table.to_csv(path, index=False),
    ".csv.bz2": lambda table, path: table.to_csv(path, index=False),
    ".csv.xz": lambda table, path: table.to_csv(path, index=False),
    ".csv.zip": lambda table, path: table.to_csv(path, index=False),
    ".zip": lambda table, path: table.to_csv(path, index=False),
    ".tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
    ".json": lambda table, path: table.to_json(path, orient="records"),
    ".columns.json": lambda table, path: table.to_json(path),
    ".jsonl": lambda table, path: table.to_json(path, orient="records", lines=True),
    ".jsonl.gz": lambda table, path: table.to_json(path, orient="records", lines=True),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_rows_are_the_same_in_every_format(tmp_path: Path, suffix: str) -> None:
    WRITERS[suffix](NUMBERS, tmp_path / f"submission{suffix}")
    (tmp_path / "sample.csv").write_text("id,height\n13,0\n12,0\n11,0\n")

    assert validate(tmp_path / f"submission{suffix}", tmp_path / "sample.csv").rows == 3
    _, *rows = [cells for _, cells in submission_table(tmp_path / f"submission{suffix}")]
    assert [(cells[0], float(cells[1])) for cells in rows] == [("11", 0.5), ("12", 1.25), ("13", 2.0)]


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_sample_may_be_in_any_format_and_have_its_ids_as_text(tmp_path: Path, suffix: str) -> None:
    WRITERS[suffix](NUMBERS.astype({"id": str}), tmp_path / f"sample{suffix}")
    NUMBERS.to_parquet(tmp_path / "submission.parquet")

    assert validate(tmp_path / "submission.parquet", tmp_path / f"sample{suffix}").rows == 3


def test_a_text_needs_the_separator_of_the_sample_unless_its_suffix_says_another(tmp_path: Path) -> None:
    rows = {"sample.csv": "id;a\n1;0\n", "right.csv": "id;a\n1;2\n", "right.tsv": "id\ta\n1\t2\n"}
    write_tree(tmp_path, {**rows, "wrong.csv": "id,a\n1,2\n", "wrong.tsv": "id;a\n1;2\n"})

    for right in ("right.csv", "right.tsv"):
        assert validate(tmp_path / right, tmp_path / "sample.csv").rows == 1
    with pytest.raises(SubmissionError, match=r"wrong\.csv has the columns id,a; the competition asks for id, a"):
        validate(tmp_path / "wrong.csv", tmp_path / "sample.csv")
    with pytest.raises(SubmissionError, match=r"wrong\.tsv has the columns id;a"):
        validate(tmp_path / "wrong.tsv", tmp_path / "sample.csv")


def test_an_object_may_say_the_value_of_every_id(tmp_path: Path) -> None:
    (tmp_path / "sample.json").write_text('{"a": 0, "b": 0}')
    (tmp_path / "submission.json").write_text('{"b": 0.5, "a": 0.25}')
    (tmp_path / "short.json").write_text('{"b": 0.5}')

    assert validate(tmp_path / "submission.json", tmp_path / "sample.json").rows == 2
    with pytest.raises(SubmissionError, match='1 of 2 ids are missing, the first of them, "a"'):
        validate(tmp_path / "short.json", tmp_path / "sample.json")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.parquet", b"id,a\n1,2\n", "it is not a parquet file, or it is damaged or cut off"),
        ("s.json", b"id,a\n1,2\n", "it is not JSON with a row for each id"),
        ("s.json", b'[{"id": 1, "a": 2}', "it is cut off"),
        ("s.json", b'[{"id": 1, "a": 2', "it is not JSON, or it is damaged or cut off"),
        ("s.json", b'[{"id": 1, "a": 2}, {"id": 2}]', "row 2 has other names than the first: id"),
        ("s.json", b'[{"id": 1, "a": 2}, 3]', "its rows are no objects with a name for each value"),
        ("s.json", b"[" * 100_000, "its rows are no objects with a name for each value"),
        ("s.json", b'[{"a":' + b"[" * 200_000, "it is"),
        ("s.json", b'[{"id": "\xff"}]', "it is not UTF-8 text"),
        ("s.json", b"[]", "it is empty"),
        ("s.json", b'[{"id": 1, "a": null}]', 'row 1: column "a" of id "1" is empty or NaN'),
        ("s.csv.gz", b"id,a\n1,2\n", "it cannot be unpacked"),
        ("s.csv.gz", gzip.compress(b"id,a\n1,2\n", mtime=0)[:-9], "it cannot be unpacked"),
        ("s.csv.bz2", b"id,a\n1,2\n", "it cannot be unpacked"),
        ("s.csv.xz", b"id,a\n1,2\n", "it cannot be unpacked"),
        ("s.csv.zip", b"id,a\n1,2\n", "it cannot be unpacked"),
        pytest.param("s.csv.xz", greedy_xz(b"id,a\n1,2\n"), "it cannot be unpacked (Memory", id="greedy xz"),
        pytest.param("s.zip", greedy_zip("s.csv", b"id,a\n1,2\n"), "it is compressed by LZMA", id="greedy zip"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_one_sentence(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / "sample.csv").write_text("id,a\n1,0\n")
    (tmp_path / name).write_bytes(content)

    with pytest.raises(SubmissionError) as caught:
        validate(tmp_path / name, tmp_path / "sample.csv")

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_that_are_cut_by_the_end_of_a_piece_are_read_whole(tmp_path: Path) -> None:
    long = "ä" * 700_001
    records = [{"id": str(number), "code": long} for number in range(4)]
    (tmp_path / "submission.json").write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")

    _, *rows = [cells for _, cells in submission_table(tmp_path / "submission.json")]

    assert [(cells[0], cells[1] == long) for cells in rows] == [(str(number), True) for number in range(4)]


def test_a_parquet_whose_cells_could_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generator.competition.tables._LARGEST_ROW_GROUP", 2**20)
    path = tmp_path / "submission.parquet"
    NUMBERS.assign(text=["y" * 2**20] * len(NUMBERS)).to_parquet(path)

    with pytest.raises(SubmissionError, match="row groups of more than 1 MB"):
        list(submission_table(path))


def test_without_pyarrow_the_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    NUMBERS.to_parquet(tmp_path / "submission.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)

    with pytest.raises(MissingReaderError, match="pyarrow is missing; install it with: pip install pyarrow"):
        list(submission_table(tmp_path / "submission.parquet"))


TRAIN = "id,a,b,height\n" + "".join(f"{row},{row % 7},{row % 3}.5,{row / 3:.2f}\n" for row in range(60))
TEST = "id,a,b\n" + "".join(f"{row},{row % 5},{row % 3}.5\n" for row in range(60, 90))
SAMPLE = "id,height\n" + "".join(f"{row},0.5\n" for row in range(60, 90))


@pytest.mark.parametrize(
    ("sample", "page", "name", "separator"),
    [
        ("sample_submission.csv", "", "submission.csv", None),
        ("sample_submission.csv", "The file must be named submission.parquet.", "submission.parquet", None),
        ("sample_submission.csv", "The file must be named `submission.csv.gz`.", "submission.csv.gz", None),
        ("sample_submission.tsv", "", "submission.tsv", None),
        ("sample_submission.tsv", "The file must be named submission.csv.", "submission.csv", None),
        ("semicolons/sample_submission.csv", "", "submission.csv", ";"),
        ("sample_submission.parquet", "", "submission.parquet", None),
        ("sample_submission.jsonl", "", "submission.jsonl", None),
    ],
)
def test_the_name_of_the_file_follows_the_page_and_else_the_sample(
    tmp_path: Path, sample: str, page: str, name: str, separator: str | None
) -> None:
    write_tree(tmp_path, {"train.csv": TRAIN, "test.csv": TEST})
    (tmp_path / sample).parent.mkdir(exist_ok=True)
    table = pd.read_csv(io.StringIO(SAMPLE))
    if "semicolons" in sample:
        table.to_csv(tmp_path / sample, index=False, sep=";")
    else:
        WRITERS[Path(sample).suffix](table, tmp_path / sample)

    task = read_task(survey_folder(tmp_path), Hints(slug="heights", evaluation_text=page)).task

    assert (task.submission_file, task.details.get("submission_separator")) == (name, separator)
    assert task.sample_submission == sample


def task_of(
    file_name: str, sample: str = "sample.csv", *, separator: str = ",", decimal: str = ".", is_label: bool = False
) -> Task:
    kind = TargetKind.CLASS if is_label else TargetKind.NUMBER
    files = {"file_name": file_name, "sample": sample}
    return table_task(kind, ["height"], submission_separator=separator, submission_decimal=decimal, **files)


def written(task: Task, folder: Path, answers: pd.DataFrame) -> Path:
    """The file that the last cells of an inference notebook write where these numbers are predicted, by id."""
    sample = folder / task.sample_submission
    _, *rows = [cells for _, cells in submission_table(sample)]
    ids = [cells[0] for cells in rows]
    return submitted(folder, task, classes=["height"], predictions=answers.loc[ids].to_numpy(), ids=ids)


ANSWERS = pd.DataFrame({"height": [0.125, 1 / 3, -2e-9]}, index=["13", "12", "11"])


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITERS if suffix != ".columns.json"])
def test_a_notebook_writes_what_the_name_of_its_file_promises(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "sample.csv").write_text("id,height\n12,0\n11,0\n13,0\n")

    path = written(task_of(f"submission{suffix}"), tmp_path, ANSWERS)

    assert validate(path, tmp_path / "sample.csv").rows == 3
    _, *rows = [cells for _, cells in submission_table(path)]
    assert [cells[0] for cells in rows] == ["12", "11", "13"]
    assert [float(cells[1]) for cells in rows] == pytest.approx([1 / 3, -2e-9, 0.125], rel=1e-6)
    assert names_below(tmp_path) == ["sample.csv", f"submission{suffix}"]


def test_a_zip_has_a_csv_in_it(tmp_path: Path) -> None:
    (tmp_path / "sample.csv").write_text("id,height\n11,0\n12,0\n13,0\n")

    path = written(task_of("submission.zip"), tmp_path, ANSWERS)

    assert zipfile.ZipFile(path).namelist() == ["submission.csv"]


@pytest.mark.parametrize("name", ["submission.csv", "submission.csv.gz", "submission.zip"])
def test_numbers_have_the_decimal_comma_of_the_sample(tmp_path: Path, name: str) -> None:
    sample = tmp_path / "sample_submission.csv"
    for file, text in (("train.csv", TRAIN), ("test.csv", TEST), (sample.name, SAMPLE)):
        pd.read_csv(io.StringIO(text)).to_csv(tmp_path / file, index=False, sep=";", decimal=",")
    hints = Hints(slug="heights", evaluation_text=f"The file must be named {name}.")
    task = read_task(survey_folder(tmp_path), hints).task
    assert task.details["submission_decimal"] == ","
    ids = [str(row) for row in range(60, 90)]
    answers = pd.DataFrame({"height": [row / 8 for row in range(30)]}, index=ids)
    alone = task_of(name, sample.name, separator=";", decimal=",")

    path = written(alone, tmp_path, answers)

    *_, (_, last) = submission_table(path, separator=";")
    assert last == ["89", "3,625"]
    assert validate(path, sample).rows == 30
    answers.to_csv(tmp_path / "points.csv", sep=";", index_label="id")
    with pytest.raises(SubmissionError, match=r'"0\.0" where the sample has a number with a decimal comma'):
        validate(tmp_path / "points.csv", sample)


def test_a_csv_has_the_separator_of_the_sample(tmp_path: Path) -> None:
    (tmp_path / "sample.csv").write_text("id;height\n11;0\n12;0\n13;0\n")

    path = written(task_of("submission.csv", separator=";"), tmp_path, ANSWERS)

    assert path.read_text().splitlines()[:2] == ["id;height", "11;-2e-09"]
    assert validate(path, tmp_path / "sample.csv").rows == 3


@pytest.mark.parametrize("ids", [["011", "012", "013"], ["a", "b", "c"], ["11", "12", "13"]])
def test_ids_of_a_csv_sample_become_numbers_only_where_that_loses_nothing(tmp_path: Path, ids: list[str]) -> None:
    (tmp_path / "sample.csv").write_text("id,height\n" + "".join(f"{name},0\n" for name in ids))

    path = written(task_of("submission.parquet"), tmp_path, ANSWERS.set_axis(ids))

    expected = [11, 12, 13] if ids == ["11", "12", "13"] else ids
    assert pd.read_parquet(path)["id"].tolist() == expected


@pytest.mark.parametrize(
    ("types", "placeholder", "answers", "expected"),
    [
        (("int64", "float32"), 0.5, [0.25, 0.75, 0.5], [0.25, 0.75, 0.5]),
        (("int32", "int16"), 0, [0.25, 0.75, 0.5], [0.25, 0.75, 0.5]),
        ((str, "int16"), 0, [3.5, 1, 2], [3.5, 1.0, 2.0]),
        (("int64", "int64"), 0, ["3", "1", "2"], [3, 1, 2]),
        (("int64", "int64"), 0, ["007", "1", "2"], ["007", "1", "2"]),
        (("int64", "float64"), 0.0, ["3", "1", "2"], [3.0, 1.0, 2.0]),
        ((str, "bool"), False, ["True", "False", "True"], [True, False, True]),
        (("int64", str), "x", ["3", "1", "2"], ["3", "1", "2"]),
        ((str, str), "x", ["one", "two", "two"], ["one", "two", "two"]),
    ],
)
def test_columns_of_a_parquet_have_the_types_of_the_sample(
    tmp_path: Path, types: tuple[Any, Any], placeholder: object, answers: list[Any], expected: list[Any]
) -> None:
    sample = pd.DataFrame({"id": [11, 12, 13], "height": [placeholder] * 3})
    sample = sample.astype(dict(zip(sample.columns, types, strict=True)))
    sample.to_parquet(tmp_path / "sample.parquet")
    task = task_of("submission.parquet", "sample.parquet", is_label=isinstance(answers[0], str))
    classes = sorted(set(answers)) if isinstance(answers[0], str) else ["height"]
    predictions = [[answer == name for name in classes] if answer in classes else [answer] for answer in answers]

    path = submitted(tmp_path, task, classes=classes, predictions=predictions, ids=["11", "12", "13"])

    found = pd.read_parquet(path)
    assert found["id"].dtype == sample["id"].dtype
    assert found["height"].tolist() == expected
    assert [type(value) for value in found["height"].tolist()] == [type(value) for value in expected]
    assert types[1] != "float32" or found["height"].dtype == "float32"


@pytest.mark.parametrize("file_name", ["submission.parquet", "submission.json", "submission.csv.gz"])
def test_what_could_not_be_scored_never_gets_its_name_in_any_format(tmp_path: Path, file_name: str) -> None:
    (tmp_path / "sample.csv").write_text("id,height\n11,0\n12,0\n13,0\n")
    answers = ANSWERS.assign(height=[0.5, float("nan"), 0.5])

    with pytest.raises(ValueError, match="height has values that are not numbers"):
        written(task_of(file_name), tmp_path, answers)

    assert file_name not in names_below(tmp_path)


def test_a_pair_that_writes_plain_csv_has_nothing_of_other_formats() -> None:
    cells = rendered_cells("keras", "infer", task_of("submission.csv"))

    assert "SUBMISSION_SEPARATOR" not in cells["parameters"]
    assert "typed-columns" not in cells
    assert {"typed-columns"} <= set(rendered_cells("keras", "infer", task_of("submission.parquet")))


@pytest.mark.slow
def test_a_whole_inference_notebook_writes_parquet(sessions: Sessions, trained: Trained, tmp_path: Path) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    task = replace(builtin.require("digits").task, submission_file="submission.parquet")
    infer = Notebook("tensorflow", "infer", task=task)
    trained_by = json.loads((mirror.output_of_training("tensorflow") / "handoff.json").read_text())

    sessions.finished(infer, mirror.parameters(infer, PAIR_ID=trained_by["pair_id"]))

    assert validate(mirror.working / "submission.parquet", mirror.competition / "sample_submission.csv").rows == 21
