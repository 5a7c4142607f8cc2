"""Pairs of the family `tabular`, trained: on columns of any kind, and on labels in rows of their own."""

from typing import Any

import pytest
from layout_files import table
from notebook_cells import task_in
from notebook_session import Mirror, Notebook, Sessions, read_table
from test_tabular_family import shop_columns, write_shop
from written_submissions import table_task

from generator.competition.facts import SubmissionKind, TargetKind, Task

pytest_plugins = ("notebook_session",)


def run(sessions: Sessions, mirror: Mirror, notebook: Notebook, **others: Any) -> None:
    training: dict[str, Any] = {"ALLOW_CPU": True, "N_FOLDS": 1, "K": 4} if notebook.role == "train" else {}
    roots = {"INPUT_ROOT": str(mirror.input), "WORKING_ROOT": str(mirror.working / notebook.role)}
    sessions.finished(notebook, roots | training | others)


def trained_shop(sessions: Sessions, mirror: Mirror, task: Task, framework: str) -> None:
    run(sessions, mirror, Notebook(framework, "train", task=task), EPOCHS=12)
    mount = mirror.output_of_training(framework)
    mount.parent.mkdir(parents=True)
    (mirror.working / "train").rename(mount)


@pytest.mark.slow
def test_a_pair_learns_and_predicts_a_test_table_that_training_has_not_seen(sessions: Sessions, mirror: Mirror) -> None:
    remarks = [f"{['dear', 'cheap'][number % 2]} thing, number {number}" for number in range(108)]
    places = {f"{end}_{axis}": [number % 5 for number in range(108)] for end in "ab" for axis in ("lat", "lon")}
    columns = shop_columns() | {"remark": remarks} | places
    write_shop(mirror.competition, columns)
    task = task_in(mirror.competition, "auc")
    assert (task.details["text_columns"], task.details["coordinate_columns"]) == (["remark"], [*places])
    trained_shop(sessions, mirror, task, "tensorflow")
    hidden = {
        "price": ["", "11.0", "21.0"],
        "colour": ["mauve", "", "red"],
        "day": ["no date", "2024-01-31", ""],
        "remark": ["", "cheap thing, number 7", "a dear one"],
        **{place: ["", 3.5, "?"] for place in places},
    }
    write_shop(mirror.competition, columns, test=hidden)

    run(sessions, mirror, Notebook("tensorflow", "infer", task=task))

    header, *rows = read_table(mirror.working / "infer" / "submission.csv")
    assert header == ["id", "sold"]
    assert [row[0] for row in rows] == ["t0", "t1", "t2"]
    assert float(rows[2][1]) < float(rows[1][1])


@pytest.mark.slow
def test_a_pair_answers_each_row_with_the_probability_of_the_label_that_its_id_ends_in(
    sessions: Sessions, mirror: Mirror
) -> None:
    task = table_task(
        *(TargetKind.LABELS, ["sold", "is_red"]),
        submission=SubmissionKind.KEYED_ROWS,
        metric="log_loss_mean_columns",
        sample="sample_submission.csv",
        has_categories=True,
        date_columns=["day"],
    )
    hidden = {"price": ["11.0", "21.0"], "colour": ["blue", "red"], "day": ["2024-01-02", "2024-01-03"]}
    folder = write_shop(mirror.competition, shop_columns(), test=hidden)
    header, *rows = read_table(folder / "train.csv")
    table(folder / "train.csv", [*header, "is_red"], [[*row, int(row[2] == "red")] for row in rows])
    asked = ["t1_is_red", "t1_sold", "t0_sold", "t0_is_red"]
    table(folder / "sample_submission.csv", ["id", "Label"], [[key, 0.5] for key in asked])
    trained_shop(sessions, mirror, task, "tensorflow")

    run(sessions, mirror, Notebook("tensorflow", "infer", task=task))

    header, *answers = read_table(mirror.working / "infer" / "submission.csv")
    assert header == ["id", "Label"]
    assert [(key, float(value) > 0.5) for key, value in answers] == list(zip(asked, [True, False] * 2, strict=True))
