"""Competitions that hand out their test data through an inference server: what is made of them, and the notebook."""

import importlib
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from gateway_package import write_gateway
from layout_files import table
from notebook_cells import executed_alone
from notebook_session import Mirror, Notebook, Sessions
from tasks import task_of

from generator.competition.facts import SubmissionKind, TargetKind, Task
from generator.competition.introspection import Hints, read_task
from generator.competition.introspection.errors import UnusableValueError
from generator.competition.specimen.specimen import write_specimen
from generator.competition.survey import survey_folder
from generator.pair.proposal import Sources, propose

pytest_plugins = ("notebook_session",)


def write_heights(folder: Path, *, is_class: bool = False) -> dict[str, float]:
    """Writes a table whose answer is in its columns; returns the right answers of the test."""
    source = random.Random(5)  # noqa: S311 - numbers that are the same in every run
    rows = []
    for number in range(260):
        age, kind = source.randrange(80), source.choice(["short", "tall"])
        height = 100 + age + (40 if kind == "tall" else 0)
        rows.append([f"p{number:03d}", age, kind, int(height > 150) if is_class else height])
    folder.mkdir(parents=True, exist_ok=True)
    sample = [[row[0], 0] for row in rows[200:]]
    for name, header, body in (
        ("train.csv", ["id", "age", "kind", "height"], rows[:200]),
        ("test.csv", ["id", "age", "kind"], [row[:-1] for row in rows[200:]]),
        ("sample_submission.csv", ["id", "height"], sample),
    ):
        table(folder / name, header, body)
    return {str(row[0]): float(row[3]) for row in rows[200:]}


def read(folder: Path, **overrides: str) -> Task:
    return read_task(survey_folder(folder), Hints(slug="heights", overrides=overrides)).task


@pytest.mark.parametrize(
    ("answer", "files"),
    [("table", ["test.csv", "sample_submission.csv"]), ("targets", ["."]), ("value", [])],
)
def test_what_a_gateway_wants_is_read_from_its_text(tmp_path: Path, answer: str, files: list[str]) -> None:
    write_heights(tmp_path)
    write_gateway(tmp_path, answer)

    task = read(tmp_path)

    assert task.details["inference_server"] == "heights_inference_server"
    assert (task.details["served_answer"], task.details["gateway_files"]) == (answer, files)
    assert task.submission_file == "submission.parquet"
    assert "heights_gateway.py" in task.evidence["served_answer"]


def test_the_target_that_a_gateway_names_is_the_one_to_learn(tmp_path: Path) -> None:
    write_heights(tmp_path)
    write_gateway(tmp_path, "value")
    (tmp_path / "sample_submission.csv").unlink()
    train = pd.read_csv(tmp_path / "train.csv")
    train.assign(price=range(len(train))).to_csv(tmp_path / "train.csv", index=False)
    gateway = tmp_path / "kaggle_evaluation/heights_gateway.py"
    gateway.write_text(gateway.read_text().replace("its name", "height"))

    task = read(tmp_path)

    assert task.targets == ("height",)
    assert task.evidence["targets"].startswith("named in heights_gateway.py")


def test_without_a_sample_all_numbers_of_a_table_of_labels_are_asked_for(tmp_path: Path) -> None:
    write_heights(tmp_path)
    write_gateway(tmp_path, "targets")
    (tmp_path / "sample_submission.csv").unlink()
    train = pd.read_csv(tmp_path / "train.csv")
    train[["id"]].assign(lag_1=train["height"], lag_2=train["age"]).to_csv(tmp_path / "train_labels.csv", index=False)
    train.drop(columns="height").to_csv(tmp_path / "train.csv", index=False)

    assert read(tmp_path).targets == ("lag_1", "lag_2")


def test_every_fact_of_a_server_can_be_overruled(tmp_path: Path) -> None:
    write_heights(tmp_path)
    write_gateway(tmp_path, "table")

    task = read(tmp_path, served_answer="value", inference_server="", submission_file="mine.csv")

    assert (task.details["served_answer"], task.details["inference_server"]) == ("value", "")
    assert task.submission_file == "mine.csv"


@pytest.mark.parametrize(
    "text",
    [
        'os.path.join("/kaggle/input/heights", "test.csv")',
        "Path('/kaggle/input/heights') / 'test.csv'",
        'a, b = "/kaggle/input/competitions/heights/test.csv", "no-file"',
    ],
)
def test_the_path_of_a_file_is_found_however_it_is_put_together(tmp_path: Path, text: str) -> None:
    write_heights(tmp_path)
    write_gateway(tmp_path, "table")
    (tmp_path / "kaggle_evaluation/heights_gateway.py").write_text(f"{text}\n")

    assert read(tmp_path).details["gateway_files"] == ["test.csv"]


def test_one_value_is_no_answer_where_there_are_two_columns(tmp_path: Path) -> None:
    rows = [[number, number % 9, number % 7, number % 5 / 2] for number in range(90)]
    table(tmp_path / "train.csv", ["id", "age", "height", "weight"], rows[:60])
    table(tmp_path / "test.csv", ["id", "age"], [row[:2] for row in rows[60:]])
    table(tmp_path / "sample_submission.csv", ["id", "height", "weight"], [[row[0], 0, 0] for row in rows[60:]])
    write_gateway(tmp_path, "value")

    assert read(tmp_path).details["served_answer"] == "targets"
    with pytest.raises(UnusableValueError, match="targets or table, for an answer has 2 columns"):
        read(tmp_path, served_answer="value")


def test_a_path_out_of_the_data_is_not_taken_from_a_gateway(tmp_path: Path) -> None:
    write_heights(tmp_path)
    write_gateway(tmp_path, "table")
    (tmp_path / "kaggle_evaluation/heights_gateway.py").write_text('x = "/kaggle/input/heights/../../etc/passwd"')

    assert read(tmp_path).details["gateway_files"] == []


def test_without_a_server_nothing_is_said_of_one(tmp_path: Path) -> None:
    write_heights(tmp_path)
    (tmp_path / "kaggle_evaluation").mkdir()
    (tmp_path / "kaggle_evaluation" / "readme.md").write_text("coming soon")

    task = read(tmp_path)

    assert "inference_server" not in task.details
    assert task.submission_file == "submission.csv"


def test_a_competition_with_a_server_takes_notebooks_only(tmp_path: Path) -> None:
    write_heights(tmp_path)
    write_gateway(tmp_path, "table")

    made = propose("heights", Sources(mounted=tmp_path), decisions={})

    assert made.competition.is_code_competition is True
    assert not [warning for warning in made.warnings if "inference server" in warning]


TASK = task_of(
    *("tabular", "number", "height"),
    metric="mae",
    test_table="test.csv",
    submission_file="submission.parquet",
    drop_columns=[],
    category_columns=[],
    batch_size=8,
    epochs=20,
    inference_server="heights_inference_server",
    gateway_files=["test.csv"],
    served_answer="table",
)


@pytest.fixture(scope="module")
def heights(tmp_path_factory: pytest.TempPathFactory, sessions: Sessions) -> tuple[Mirror, dict[str, float]]:
    """A trained pair whose competition has no gateway yet."""
    mirror = Mirror(tmp_path_factory.mktemp("heights"))
    right = write_heights(mirror.competition)
    train = Notebook("tensorflow", "train", task=TASK)
    sessions.finished(train, mirror.parameters(train, EPOCHS=20, LEARNING_RATE=0.01))
    mirror.working.rename(mirror.root / "train")
    return mirror, right


def written(mirror: Mirror) -> dict[str, float]:
    table = pd.read_parquet(mirror.working / "submission.parquet")
    assert table.columns.tolist() == ["id", "height"]
    return dict(zip(table["id"], table["height"], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "as_columns", "files"),
    [("table", False, ["test.csv"]), ("targets", False, ["."]), ("value", False, []), ("table", True, [])],
)
def test_the_notebook_answers_a_gateway_as_it_wants_to_be_answered(
    sessions: Sessions,
    heights: tuple[Mirror, dict[str, float]],
    answer: str,
    files: list[str],
    *,
    as_columns: bool,
) -> None:
    mirror, right = heights
    write_gateway(mirror.competition, answer, as_columns=as_columns)
    details = {**TASK.details, "served_answer": answer, "gateway_files": files}
    infer = Notebook("keras" if as_columns else "tensorflow", "infer", task=replace(TASK, details=details))

    framework = {"FRAMEWORK": "tensorflow", "PAIR_ID": pair_id(mirror)}
    ended = sessions.finished(infer, mirror.parameters(infer, **framework))
    found = written(mirror)
    mean = sum(right.values()) / len(right)
    assert found.keys() == right.keys()
    error = sum(abs(found[name] - value) for name, value in right.items())
    assert error < 0.4 * sum(abs(mean - value) for value in right.values())
    assert f"told of {[name if name != '.' else 'digits' for name in files]}" in ended.said("serve")


def pair_id(mirror: Mirror) -> str:
    return str(json.loads((mirror.root / "train" / "handoff.json").read_text())["pair_id"])


@pytest.mark.slow
def test_in_a_rerun_the_server_listens_before_a_model_is_loaded(
    sessions: Sessions, heights: tuple[Mirror, dict[str, float]]
) -> None:
    mirror, _ = heights
    write_gateway(mirror.competition, "table")
    infer = Notebook(
        "tensorflow",
        "infer",
        task=TASK,
        edits={"parameters": lambda source: f'import os\nos.environ["KAGGLE_IS_COMPETITION_RERUN"] = "1"\n{source}'},
    )

    ended = sessions.finished(infer, mirror.parameters(infer))
    said = ended.said("serve").splitlines()
    assert said[0] == "listening"
    assert any(line.startswith("Training's predictions are repeated within") for line in said[1:])


@pytest.mark.slow
def test_an_answer_that_the_gateway_would_refuse_is_explained(
    sessions: Sessions, heights: tuple[Mirror, dict[str, float]]
) -> None:
    mirror, _ = heights
    write_gateway(mirror.competition, "table")
    details = {**TASK.details, "served_answer": "value"}
    infer = Notebook("tensorflow", "infer", task=replace(TASK, details=details))

    ended = sessions.run(infer, mirror.parameters(infer, PAIR_ID=pair_id(mirror)))

    assert ended.cell == "serve"
    assert "A batch has 7 answers, and the gateway takes one value." in ended.error


@pytest.mark.slow
def test_a_gateway_may_have_names_of_its_own_where_there_is_no_sample(
    sessions: Sessions, heights: tuple[Mirror, dict[str, float]]
) -> None:
    mirror, right = heights
    write_gateway(mirror.competition, "value", target="prediction")
    details = {**TASK.details, "served_answer": "value", "gateway_files": []}
    infer = Notebook("tensorflow", "infer", task=replace(TASK, sample_submission="", details=details))

    sessions.finished(infer, mirror.parameters(infer, PAIR_ID=pair_id(mirror)))
    found = pd.read_parquet(mirror.working / "submission.parquet")
    assert found.columns.tolist() == ["id", "prediction"]
    assert set(found["id"]) == set(right)


@pytest.mark.parametrize(
    ("in_sample", "classes", "decided", "expected"),
    [
        (0, ["1", "2"], [1, 0], [2, 1]),
        (0, ["1", "other"], [0, 0], ["1", "1"]),
        (0.5, ["1", "2"], [0, 0], [1.0, 1.0]),
        (0, ["007", "1"], [1, 1], ["1", "1"]),
        (True, ["False", "True"], [1, 1], [True, True]),
        ("a", ["1", "2"], [0, 0], ["1", "1"]),
    ],
)
def test_answers_have_one_type_in_every_batch(
    in_sample: object, classes: list[str], decided: list[int], expected: list[object]
) -> None:
    task = replace(TASK, metric="accuracy", target_kind=TargetKind.CLASS, submission=SubmissionKind.LABEL)
    sample = pd.DataFrame({"id": [1], "height": [in_sample]})
    known = {"sample": sample, "classes": classes, "answer_columns": ["height"]}
    names = executed_alone(["answers-of", "as-wanted"], task, "infer", **known)

    wanted = names.as_wanted(names.answers_of(np.array(decided), [7, 8]), pl.DataFrame)

    assert wanted.columns == ["id", "height"]
    assert wanted["id"].to_list() == [7, 8]
    assert wanted["height"].to_list() == expected
    assert [type(value) for value in wanted["height"]] == [type(value) for value in expected]


def test_a_batch_becomes_what_a_file_with_its_rows_would_be() -> None:
    names = executed_alone(["read-table", "batch-as-table", "as-read"], TASK, "infer")
    batch = pl.DataFrame(
        {
            "id": ["NA", "b"],
            "age": [7, None],
            "kind": ["NA", "tall"],
            "when": pl.Series(["2020-01-02", None]).str.to_date(),
            "nothing": pl.Series([None, None], dtype=pl.Null),
        }
    )

    rows, library = names.table_of((batch, None))
    read = names.as_read(rows, ["kind", "when"])

    assert (rows["id"].tolist(), library) == (["NA", "b"], pl.DataFrame)
    assert read["age"].fillna(-1).tolist() == [7, -1]
    assert read["kind"].fillna("").tolist() == ["", "tall"]
    assert read["when"].fillna("").tolist() == ["2020-01-02", ""]
    assert read["nothing"].isna().all()


def test_a_batch_that_is_no_table_is_refused_in_words() -> None:
    names = executed_alone(["batch-as-table"], TASK, "infer")

    with pytest.raises(TypeError, match="hands over int, NoneType, and table_of needs a table"):
        names.table_of((3, None))


def test_batches_have_few_sizes() -> None:
    of_two_gpus = executed_alone(["batch-size-for"], TASK, "infer", BATCH_SIZE=64, global_batch=128).batch_size_for

    assert [of_two_gpus(examples) for examples in (1, 2, 3, 9, 100, 1000)] == [2, 2, 4, 16, 128, 128]


def test_a_specimen_brings_a_server_that_asks_as_the_real_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_heights(tmp_path / "data")
    write_gateway(tmp_path / "data", "targets")
    survey = survey_folder(tmp_path / "data")
    task = read_task(survey, Hints(slug="heights")).task
    made = tmp_path / "specimen"
    write_specimen(survey, task, made, rows=60, seed=1, signal=True)
    asked: list[list[str]] = []

    def predict(batch: pd.DataFrame) -> pd.DataFrame:
        asked.append(batch["id"].tolist())
        return pd.DataFrame({"height": [1.5] * len(batch)})

    monkeypatch.syspath_prepend(made)
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module("kaggle_evaluation.heights_inference_server")
    module.SpecimenInferenceServer(predict).run_local_gateway(("anything",))
    for name in [name for name in sys.modules if name.startswith("kaggle_evaluation")]:
        monkeypatch.delitem(sys.modules, name)

    submission = pd.read_parquet(tmp_path / "submission.parquet")
    test = pd.read_csv(made / "test.csv")
    assert sorted(submission["id"]) == sorted(test["id"])
    assert submission["height"].eq(1.5).all()
    assert len(asked) > 1
    assert [name for batch in asked for name in batch] != test["id"].tolist()
