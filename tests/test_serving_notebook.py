"""The notebook of a competition with an inference server: it answers a gateway as that wants to be answered."""

import importlib
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from gateway_package import write_gateway
from notebook_cells import executed_alone
from notebook_session import Mirror, Notebook, Sessions
from tasks import task_of
from test_serving import write_heights

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints
from generator.competition.specimen import write_specimen
from generator.competition.survey import survey_folder

pytest_plugins = ("notebook_session",)


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


@pytest.mark.slow
def test_context_of_the_sample_comes_back_in_every_batch(
    sessions: Sessions, heights: tuple[Mirror, dict[str, float]], tmp_path: Path
) -> None:
    trained, _ = heights
    context = ("kind", "note")  # one of the test table, and one of the sample alone
    mirror = Mirror(shutil.copytree(trained.root, tmp_path / "heights"))
    test = pd.read_csv(mirror.competition / "test.csv", dtype=str)
    sample = pd.DataFrame({"id": test["id"], "kind": test["kind"], "note": "seen " + test["age"], "height": 0})
    sample[["id", *context, "height"]].to_csv(mirror.competition / "sample_submission.csv", index=False)
    write_gateway(mirror.competition, "table", context=context)
    found = read_task(survey_folder(mirror.competition), Hints(slug="heights")).task
    assert found.details["context_columns"] == list(context)
    infer = Notebook(
        "tensorflow", "infer", task=replace(TASK, details=TASK.details | {"context_columns": list(context)})
    )

    sessions.finished(infer, mirror.parameters(infer, PAIR_ID=pair_id(trained)))

    table = pd.read_parquet(mirror.working / "submission.parquet").set_index("id").loc[test["id"]].reset_index()
    assert table.columns.tolist() == ["id", *context, "height"]
    assert table[[*context]].equals(sample[[*context]])
    assert table["height"].nunique() > 10


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
    assert any(line.startswith("Predictions of training reproduced within") for line in said[1:])


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


def test_the_rows_of_a_batch_get_ids_of_their_columns() -> None:
    task = replace(TASK, details={**TASK.details, "id_columns": ["shop", "day"], "id_separator": ":"})
    names = executed_alone(["batch-as-table"], task, "infer")

    rows, _ = names.table_of((pl.DataFrame({"shop": ["07", "7"], "day": [1, 1]}),))

    assert rows["id"].tolist() == ["07:1", "7:1"]


def test_a_batch_that_is_no_table_is_refused_in_words() -> None:
    names = executed_alone(["batch-as-table"], TASK, "infer")

    with pytest.raises(TypeError, match="sends int, NoneType, and table_of needs a table"):
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
