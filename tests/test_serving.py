"""Competitions that hand out their test data through an inference server: what is made of them, and the notebook."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from gateway_package import write_gateway
from layout_files import some, table
from miniature import Outcome

from generator.competition.facts import Task
from generator.competition.introspection import read_task
from generator.competition.introspection.evidence import Hints, UnusableValueError
from generator.competition.survey import survey_folder
from generator.pair.proposal import gather_facts, infer_task

pytest_plugins = ("notebook_session",)


def write_heights(folder: Path, *, is_class: bool = False) -> dict[str, float]:
    """Writes a table whose answer is in its columns; returns the right answers of the test."""
    source = some(5)
    rows = []
    for number in range(260):
        age, kind = source.randrange(80), source.choice(["short", "tall"])
        height = 100 + age + (40 if kind == "tall" else 0)
        rows.append([f"p{number:03d}", age, kind, int(height > 150) if is_class else height])
    table(folder / "train.csv", "id,age,kind,height", rows[:200])
    table(folder / "test.csv", "id,age,kind", [row[:-1] for row in rows[200:]])
    table(folder / "sample_submission.csv", "id,height", [[row[0], 0] for row in rows[200:]])
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


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["table", "targets", "value"])
def test_generate_writes_down_what_a_gateway_wants(tandem: Callable[..., Outcome], tmp_path: Path, answer: str) -> None:
    write_heights(tmp_path / "data")
    write_gateway(tmp_path / "data", answer)

    made = ("--competition", "heights", "--data", tmp_path / "data", "--workspace", tmp_path, "--owner", "ada")
    outcome = tandem("generate", *made, "--name", "mine")

    assert outcome.code == 0, outcome.err
    written = (tmp_path / "kernels/mine/pair.toml").read_text()
    assert f'served_answer = {{ value = "{answer}"' in written


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
    with pytest.raises(UnusableValueError, match="targets or table, because an answer has 2 columns"):
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

    made = infer_task(gather_facts("heights", mount_path=tmp_path), decisions={})

    assert made.competition.is_code_competition is True
    assert not [warning for warning in made.warnings if "inference server" in warning]
