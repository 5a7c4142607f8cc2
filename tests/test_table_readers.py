"""Tables are read as they are written, by code for that and for nothing else; text stays as it stands there."""

import gzip
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from miniature import write_tree
from notebook_cells import executed_alone
from written_submissions import submitted, table_task

from generator.competition.facts import TargetKind
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints
from generator.competition.survey import survey_folder

pytest_plugins = ("notebook_session",)

ROWS = [{"id": "007", "label": "1", "x": 0.5}, {"id": "012", "label": "2", "x": 2.0}]
CSV = "id,label,x\n007,1,0.5\n012,2,2.0\n"


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path.parent, "w") as archive:
        archive.writestr("readme.txt", "there is more than one member")
        archive.writestr(path.name, CSV)


WRITERS: dict[str, Callable[[Path], object]] = {
    "train.csv": lambda path: path.write_text(CSV),
    "train.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "train.zip/train.csv": zipped,
    "train.json": lambda path: path.write_text(json.dumps(ROWS)),
    "columns/train.json": lambda path: pd.DataFrame(ROWS).to_json(path),
    "lines/train.json": lambda path: path.write_text("\n".join(map(json.dumps, ROWS))),
    "train.jsonl": lambda path: path.write_text("\n".join(map(json.dumps, ROWS))),
    "train.jsonl.gz": lambda path: path.write_bytes(gzip.compress("\n".join(map(json.dumps, ROWS)).encode())),
    "train.parquet": lambda path: pd.DataFrame(ROWS).to_parquet(path),
}


@pytest.mark.parametrize("labels", ["", "labels.csv"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_table_is_the_same_in_every_format(tmp_path: Path, name: str, labels: str) -> None:
    path = tmp_path / name
    if ".zip" not in name:
        path.parent.mkdir(exist_ok=True)
    WRITERS[name](path)
    task = replace(table_task(TargetKind.CLASS), train_table=name, test_table="", labels_table=labels)

    read = executed_alone(["opened", "read-table"] if ".zip" in name else ["read-table"], task, "train").read_table

    assert read(path, ["id", "label", "elsewhere"]).to_dict("records") == ROWS
    if labels:
        (tmp_path / labels).write_text(CSV)
        assert read(tmp_path / labels, ["id", "label"]).to_dict("records") == ROWS


def test_nested_fields_are_columns_and_numbers_become_text_where_that_is_asked(tmp_path: Path) -> None:
    rows = [{"id": 7, "meta": {"day": "2024-01-02", "ok": True}}, {"id": 8, "meta": {"day": None, "ok": False}}]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    task = replace(table_task(TargetKind.CLASS), train_table="train.jsonl", test_table="")

    table = executed_alone(["read-table"], task, "train").read_table(tmp_path / "train.jsonl", ["id", "meta.ok"])

    assert table["id"].tolist() == ["7", "8"]
    assert table["meta.ok"].tolist() == ["True", "False"]
    assert table["meta.day"].tolist()[0] == "2024-01-02"
    assert table["meta.day"].isna().tolist() == [False, True]


@pytest.mark.parametrize("role", ["train", "infer"])
def test_a_csv_is_read_with_its_separator_encoding_and_decimal_sign(tmp_path: Path, role: str) -> None:
    (tmp_path / "train.csv").write_text("id;wine;x\n007;rosé;1,5\n", encoding="cp1252")
    task = table_task(TargetKind.CLASS, separator=";", encoding="cp1252", decimal=",")

    read = executed_alone(["read-table"], task, role).read_table(tmp_path / "train.csv", ["id"])

    assert read.to_dict("records") == [{"id": "007", "wine": "rosé", "x": 1.5}]


@pytest.mark.parametrize("other", [",", ";", "\t"])
def test_the_sample_may_have_another_separator_than_the_tables(tmp_path: Path, other: str) -> None:
    (tmp_path / "sample.csv").write_text(f"id{other}label\n007{other}3\n")
    (tmp_path / "train.csv").write_text("id\tx\n")
    task = table_task(TargetKind.NUMBER, separator="\t", submission_separator=other)
    task = replace(task, test_table="test.tsv")

    path = submitted(tmp_path, task, classes=["label"], predictions=[[0.5]], ids=["007"], separator="\t")

    assert path.read_text() == f"id{other}label\n007{other}0.5\n"


def test_a_class_named_none_and_an_id_na_are_text(tmp_path: Path) -> None:
    ids = ["NA", *(f"x{number}" for number in range(1, 60))]
    train = [f"{name},{number % 7},{['None', 'a', 'b'][number % 3]}" for number, name in enumerate(ids)]
    files = {
        "train.csv": ["id,x,label", *train, "last,,"],
        "test.csv": ["id,x", *(f"y{number},{number % 7}" for number in range(30))],
        "sample_submission.csv": ["id,label", *(f"y{number},a" for number in range(30))],
    }
    write_tree(tmp_path, {name: "\n".join(lines) + "\n" for name, lines in files.items()})

    task = read_task(survey_folder(tmp_path), Hints(slug="names")).task
    table = executed_alone(["read-table"], task, "train").read_table(tmp_path / "train.csv", ["id", "label"])

    assert task.details["keep_null_words"] is True
    assert table["id"].tolist()[:2] == ["NA", "x1"]
    assert table["label"].tolist()[:4] == ["None", "a", "b", "None"]
    assert table["label"].isna().tolist() == [False] * 60 + [True]
    assert table["x"].dtype.kind == "f"
