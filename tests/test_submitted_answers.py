"""Every kind of submission is what the sample asks for: what the cells behind the predictions write."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from notebook_cells import executed_alone
from written_submissions import submitted, table_task

from generator.competition.facts import SubmissionKind, TargetKind, Task
from generator.competition.schema import keys_of, values_of
from generator.competition.tables import table_rows
from generator.kit_files import template_folder
from generator.pair.rendering import jinja_environment
from generator.text import Value

pytest_plugins = ("notebook_session",)


def text_of(folder: Path, task: Task, sample: str, **known: Any) -> str:
    """The submission that is written for a sample of this text."""
    (folder / task.sample_submission).write_text(sample)
    return submitted(folder, task, **known).read_text()


def rounded(text: str) -> list[list[str]]:
    return [
        [cell if not cell.startswith("0.") else f"{float(cell):.3g}" for cell in row.split(",")]
        for row in text.split("\n")[:-1]
    ]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("id,b,a\n007,0,0\n3,0,0\n", [["id", "b", "a"], ["007", "0.2", "0.1"], ["3", "0.4", "0.3"]]),
        ("id,y1,y2\n7,0.5,0.5\n3,0.5,0.5\n", [["id", "y1", "y2"], ["7", "0.1", "0.2"], ["3", "0.3", "0.4"]]),
        ("b,id,a\n0,7,0\n0,3,0\n", [["b", "id", "a"], ["0.2", "7", "0.1"], ["0.4", "3", "0.3"]]),
    ],
)
def test_numbers_go_to_columns_by_name_or_else_in_order(tmp_path: Path, sample: str, expected: list[list[str]]) -> None:
    task = table_task(TargetKind.NUMBER, ["a", "b"])

    written = text_of(tmp_path, task, sample, classes=["a", "b"], predictions=[[0.1, 0.2], [0.3, 0.4]])

    assert rounded(written) == expected


@pytest.mark.parametrize(
    ("details", "sample", "test"),
    [
        (
            {"id_columns": ["shop", "day"], "id_separator": "_"},
            "id,y\n7_2020-01-02,0\n07_2020-01-02,0\n",
            "shop,day,a\n07,2020-01-02,1\n7,2020-01-02,1\n",
        ),
        ({"id_columns": ["ID"], "id_separator": ""}, "id,y\n2,0\n1,0\n", "ID,a\n1,1\n2,1\n"),
        ({"first_id": 5}, "id,y\n6,0\n5,0\n", "a\n1\n1\n"),
    ],
)
def test_ids_are_made_of_the_columns_of_the_test_table_or_count_its_rows(
    tmp_path: Path, details: dict[str, Value], sample: str, test: str
) -> None:
    task = table_task(TargetKind.NUMBER, ["y"], has_test_ids=False, **details)

    written = text_of(tmp_path, task, sample, classes=["y"], predictions=[[0.1], [0.3]], test=test)

    assert [row[1] for row in rounded(written)] == ["y", "0.1", "0.3"]


def test_test_rows_that_make_the_same_id_are_refused(tmp_path: Path) -> None:
    task = table_task(TargetKind.NUMBER, ["y"], has_test_ids=False, id_columns=["shop"], id_separator="")

    with pytest.raises(ValueError, match=r"test\.csv does not have one row for each id"):
        text_of(tmp_path, task, "id,y\n1,0\n", classes=["y"], predictions=[[0.1]], test="shop,a\n1,1\n1,2\n")


def test_a_sample_with_more_columns_than_there_are_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Expected axis has 1 elements, new values have 2"):
        text_of(tmp_path, table_task(TargetKind.NUMBER, ["a"]), "id,x,y\n1,0,0\n", classes=["a"], predictions=[[0.1]])


def test_labels_are_decided_where_the_metric_compares_labels(tmp_path: Path) -> None:
    task = table_task(TargetKind.LABELS, ["a", "b"], metric="f1_macro")

    written = text_of(
        tmp_path,
        task,
        "id,b,a\n1,0,0\n2,0,0\n",
        classes=["a", "b"],
        predictions=[[0.3, 0.6], [0.1, 0.7]],
        decision={"thresholds": [0.2, 0.65]},
    )

    assert written == "id,b,a\n1,0,1\n2,1,0\n"


@pytest.mark.parametrize(
    ("decision", "classes", "expected"),
    [
        ({"cuts": [0.9, 1.1]}, ["1", "2", "3"], ["3", "1", "2"]),
        ({"cuts": [0.2, 1.9]}, ["1", "2", "3"], ["2", "2", "2"]),
        ({}, ["A", "B", "C"], ["C", "A", "A"]),  # the likeliest
    ],
)
def test_a_grade_is_cut_where_training_said(
    tmp_path: Path, decision: dict[str, object], classes: list[str], expected: list[str]
) -> None:
    task = table_task(TargetKind.CLASS, ["grade"], metric="quadratic_weighted_kappa", class_count=3)
    sample = f"id,grade\n1,{classes[0]}\n2,{classes[0]}\n3,{classes[0]}\n"
    predictions = [[0.3, 0.1, 0.6], [0.6, 0.3, 0.1], [0.5, 0, 0.5]]

    written = text_of(tmp_path, task, sample, classes=classes, predictions=predictions, decision=decision)

    assert [row[1] for row in rounded(written)] == ["grade", *expected]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["10.0", "-1", "2.0", "0"], ["-1", "0", "2.0", "10.0"]),
        (["B", "A", "10"], ["10", "A", "B"]),
    ],
)
def test_grades_are_in_the_order_of_their_numbers(labels: list[str], classes: list[str]) -> None:
    task = table_task(TargetKind.CLASS, ["grade"], metric="quadratic_weighted_kappa", class_count=len(classes))
    train = pd.DataFrame({"grade": labels * 3})

    assert executed_alone(["targets"], task, "train", train=train).classes == classes


@pytest.mark.parametrize("kind", [SubmissionKind.LABEL, SubmissionKind.NUMBERS])
@pytest.mark.parametrize("is_smoke_test", [False, True])
def test_a_number_is_rounded_where_the_metric_compares_grades(
    tmp_path: Path, kind: SubmissionKind, is_smoke_test: bool
) -> None:
    task = table_task(TargetKind.NUMBER, ["grade"], submission=kind, metric="quadratic_weighted_kappa")

    written = text_of(
        tmp_path,
        task,
        "id,grade\n1,0\n2,0\n3,0\n",
        classes=["grade"],
        predictions=[[2.1], [0.5], [-3]],
        decision={"values": [[0, 1, 4]], "cuts": [[0.4, 2.0]]},
        DEBUG=is_smoke_test,
    )

    assert written == "id,grade\n1,4\n2,1\n3,0\n"


@pytest.mark.parametrize(
    ("placeholder", "classes", "expected"),
    [
        ("", ["3", "12"], ["12", "3"]),
        ("0", ["3", "12"], ["12", "3"]),
        ("0", ["0.0", "1.0"], ["1", "0"]),
        ("0.5", ["3", "12"], ["12.0", "3.0"]),
        ("0", ["003", "012"], ["012", "003"]),
        ("False", ["False", "True"], ["True", "False"]),
        ("unknown", ["3", "12"], ["12", "3"]),
        ("a", ["None", "a"], ["a", "None"]),
    ],
)
def test_a_label_is_written_as_the_sample_has_labels(
    tmp_path: Path, placeholder: str, classes: list[str], expected: list[str]
) -> None:
    sample = f"id,label\n1,{placeholder}\n2,{placeholder}\n"

    written = text_of(
        tmp_path, table_task(TargetKind.CLASS), sample, classes=classes, predictions=[[0.2, 0.8], [0.9, 0.1]]
    )

    assert written == f"id,label\n1,{expected[0]}\n2,{expected[1]}\n"


@pytest.mark.parametrize(("placeholder", "expected"), [("0", ["1", "0"]), ("False", ["True", "False"])])
def test_the_positive_class_is_1_where_the_sample_has_flags_for_it(
    tmp_path: Path, placeholder: str, expected: list[str]
) -> None:
    written = text_of(
        tmp_path,
        table_task(TargetKind.CLASS, answers_are_flags=True),
        f"id,label\n1,{placeholder}\n2,{placeholder}\n",
        classes=["No", "Yes"],
        predictions=[[0.2, 0.8], [0.9, 0.1]],
    )

    assert written == f"id,label\n1,{expected[0]}\n2,{expected[1]}\n"


@pytest.mark.parametrize("placeholder", ["", "1", "7"])
def test_a_smoke_test_leaves_what_it_does_not_predict_as_it_is_in_the_sample(tmp_path: Path, placeholder: str) -> None:
    rows = "".join(f"{number},{placeholder}\n" for number in range(70))
    predictions = [[0.9, 0.1]] * 63 + [[0.2, 0.8]]

    written = text_of(
        tmp_path,
        table_task(TargetKind.CLASS),
        "id,label\n" + rows,
        classes=["0", "1"],
        predictions=predictions,
        DEBUG=True,
    )

    labels = [row.split(",")[1] for row in written.split("\n")[1:-1]]
    assert labels == ["0"] * 63 + ["1"] + [placeholder or "0"] * 6


def test_the_probability_is_that_of_the_last_class(tmp_path: Path) -> None:
    task = table_task(TargetKind.CLASS, ["survived"], submission=SubmissionKind.PROBABILITY, metric="auc")

    written = text_of(tmp_path, task, "id,chance\nb,0\na,0\n", classes=["0", "1"], predictions=[[0.2, 0.8], [0.9, 0.1]])

    assert rounded(written) == [["id", "chance"], ["b", "0.8"], ["a", "0.1"]]


def test_a_probability_stays_one_where_the_metric_compares_labels(tmp_path: Path) -> None:
    task = table_task(TargetKind.CLASS, ["survived"], submission=SubmissionKind.PROBABILITY, metric="f1")

    written = text_of(tmp_path, task, "id,chance\na,0\n", classes=["0", "1"], predictions=[[0.2, 0.8]])

    assert rounded(written) == [["id", "chance"], ["a", "0.8"]]


@pytest.mark.parametrize("bad", [np.nan, 1.5])
def test_a_probability_that_is_none_is_refused(tmp_path: Path, bad: float) -> None:
    task = table_task(TargetKind.CLASS, submission=SubmissionKind.PROBABILITY, metric="auc")

    with pytest.raises(ValueError, match="label has values that are not probabilities"):
        text_of(tmp_path, task, "id,label\n1,0\n2,0\n", classes=["0", "1"], predictions=[[0.5, 0.5], [0.5, bad]])

    assert not (tmp_path / "submission.csv").exists()


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("submission.iloc[:-1]", "columns or ids differ from the sample submission"),
        ("submission.iloc[::-1]", "columns or ids differ from the sample submission"),
        ("submission.assign(label='')", "label has values that are not classes"),
        ("submission.assign(label=11)", "label has values that are not classes"),
        ("submission[['label', 'id']]", "columns or ids differ from the sample submission"),
    ],
)
def test_a_submission_that_could_not_be_scored_never_gets_its_name(tmp_path: Path, wrong: str, problem: str) -> None:
    task = table_task(TargetKind.CLASS)
    (tmp_path / "sample.csv").write_text("id,label\n1,0\n2,0\n")
    known = {
        "sample": pd.DataFrame({"id": ["1", "2"], "label": [0, 0]}),
        "labels": ["0", "1"],
        "answer_columns": ["label"],
        "WORKING_ROOT": str(tmp_path),
        "answers": pd.DataFrame({"label": [0, 0]}),
    }
    known["submission"] = eval(wrong, {"submission": known["sample"]})  # noqa: S307 - of this test

    with pytest.raises(ValueError, match=problem):
        executed_alone(["write-submission"], task, "infer", **known)

    assert not (tmp_path / "submission.csv").exists()


@pytest.mark.parametrize("columns", ["CL,D,C", "Status_CL,Status_D,Status_C"])
@pytest.mark.parametrize("metric", ["log_loss", "f1_macro"])
def test_a_class_goes_to_the_column_of_its_name_or_that_ends_in_it(tmp_path: Path, columns: str, metric: str) -> None:
    task = table_task(TargetKind.CLASS, ["Status"], submission=SubmissionKind.CLASS_COLUMNS, metric=metric)

    written = text_of(
        tmp_path, task, f"id,{columns}\n1,0,0,0\n", classes=["C", "CL", "D"], predictions=[[0.1, 0.2, 0.7]]
    )

    assert rounded(written) == [["id", *columns.split(",")], ["1", "0.2", "0.7", "0.1"]]


@pytest.mark.parametrize("columns", ["C,D,X", "C,nC,D"])
def test_columns_that_are_not_one_for_each_class_are_refused(tmp_path: Path, columns: str) -> None:
    task = table_task(TargetKind.CLASS, ["Status"], submission=SubmissionKind.CLASS_COLUMNS, metric="log_loss")

    with pytest.raises(ValueError, match="are not for one of"):
        text_of(tmp_path, task, f"id,{columns}\n1,0,0,0\n", classes=["C", "D", "E"], predictions=[[0.1, 0.2, 0.7]])


@pytest.mark.parametrize(
    ("columns", "unseen", "expected"),
    [
        ("X,D,C", ["X"], [0.0001, 0.7, 0.3]),
        ("Status_C,Status_X,Status_D", ["Status_X"], [0.3, 0.0001, 0.7]),
        ("D,nC,C", ["nC"], [0.7, 0.0001, 0.3]),  # whose name ends in that of another class
        ("D,C", ["D"], [0.7, 0.3]),  # a rare one that was not among the sampled rows
    ],
)
def test_a_class_without_training_examples_has_a_small_probability(
    tmp_path: Path, columns: str, unseen: list[str], expected: list[float]
) -> None:
    kind = SubmissionKind.CLASS_COLUMNS
    task = table_task(TargetKind.CLASS, ["Status"], submission=kind, metric="log_loss", unseen_columns=unseen)

    cells = "1," + ",".join("0" for _ in expected)
    written = text_of(tmp_path, task, f"id,{columns}\n{cells}\n", classes=["C", "D"], predictions=[[0.3, 0.7]])

    row = list(map(float, written.splitlines()[1].split(",")[1:]))
    assert row == pytest.approx(expected, rel=1e-3)
    assert sum(row) == pytest.approx(1, abs=1e-6)


@pytest.mark.slow
def test_a_label_without_training_examples_has_a_small_probability(tmp_path: Path) -> None:
    task = table_task(TargetKind.LABELS, ["tags"], metric="auc_mean_columns", unseen_columns=["x"])
    written = text_of(tmp_path, task, "id,x,b\n1,0,0\n", classes=["a", "b"], predictions=[[0.3, 0.7]])
    assert rounded(written) == [["id", "x", "b"], ["1", "0.0001", "0.7"]]

    keyed = table_task(
        TargetKind.LABELS,
        ["tags"],
        submission=SubmissionKind.KEYED_ROWS,
        metric="auc_mean_columns",
        unseen_columns=["x"],
    )
    cells = executed_alone(
        ["answers-of"],
        keyed,
        "infer",
        classes=["a", "b"],
        answer_columns=["y"],
        UNSEEN_COLUMNS=["x"],
        UNSEEN_PROBABILITY=0.0001,
        pd=pd,
    )
    answers = cells.answers_of(np.array([[0.3, 0.7]]), ["1"])
    assert answers["y"].to_dict() == {"1_a": 0.3, "1_b": 0.7, "1_x": 0.0001}


@pytest.mark.slow
def test_the_best_classes_are_listed_best_first_and_as_many_as_the_metric_counts(tmp_path: Path) -> None:
    task = table_task(TargetKind.CLASS, ["breed"], submission=SubmissionKind.TOP_K, metric="map@3")
    predictions = [[0.1, 0.4, 0.2, 0.3], [0.7, 0.0, 0.2, 0.1]]

    written = text_of(
        tmp_path, task, "id,breed\n1,a b c\n2,a b c\n", classes=["a", "b", "c", "d"], predictions=predictions
    )

    assert written == "id,breed\n1,b d c\n2,a c d\n"


@pytest.mark.parametrize("metric", ["f1_samples", "auc_mean_columns"])
def test_a_set_of_labels_has_all_that_apply_and_never_none(tmp_path: Path, metric: str) -> None:
    task = table_task(TargetKind.LABELS, submission=SubmissionKind.LABEL_SET, metric=metric, label_separator=" ")

    written = text_of(
        tmp_path,
        task,
        "id,label\n1,\n2,\n3,\n",
        classes=["a", "b", "c"],
        predictions=[[0.6, 0.1, 0.7], [0.2, 0.4, 0.3], [0.1, 0.9, 0.2]],
        decision={"thresholds": [0.5, 0.5, 0.5]},
    )

    assert written == "id,label\n1,a c\n2,b\n3,b\n"


def test_a_row_for_each_label_gets_the_label_that_its_id_ends_in(tmp_path: Path) -> None:
    task = table_task(TargetKind.LABELS, ["any", "left_ear"], submission=SubmissionKind.KEYED_ROWS)

    written = text_of(
        tmp_path,
        task,
        "id,Label\nx_1_left_ear,0.5\nx_1_any,0.5\ny_any,0.5\ny_left_ear,0.5\n",
        classes=["any", "left_ear", "never_asked_for"],
        predictions=[[0.1, 0.2, 0.9], [0.3, 0.4, 0.9]],
        ids=["x_1", "y"],
    )

    assert rounded(written)[1:] == [
        ["x_1_left_ear", "0.2"],
        ["x_1_any", "0.1"],
        ["y_any", "0.3"],
        ["y_left_ear", "0.4"],
    ]


def test_a_row_for_a_label_that_nobody_learnt_is_refused(tmp_path: Path) -> None:
    task = table_task(TargetKind.LABELS, ["Label"], submission=SubmissionKind.KEYED_ROWS, label_separator=",")

    with pytest.raises(ValueError, match="1 ids of the sample have no prediction, such as 'x_nose'"):
        text_of(
            tmp_path,
            task,
            "id,Label\nx_any,0\nx_nose,0\n",
            classes=["any", "ear"],
            predictions=[[0.1, 0.2]],
            ids=["x"],
        )


def test_training_rows_for_a_label_each_become_a_row_for_each_example(tmp_path: Path) -> None:
    task = table_task(
        TargetKind.LABELS, ["Label"], submission=SubmissionKind.KEYED_ROWS, label_rows=True, label_separator=","
    )
    (tmp_path / "train.csv").write_text("id,Label\nx_any,1\nx_ear,1\ny_1_any,0\ny_1_ear,0\nz_any,1\nz_ear,0\n")

    template = jinja_environment(template_folder()).get_template("shared/data.py.j2#training_table")
    known = vars(executed_alone(["read-table"], task, "train"))
    files = SimpleNamespace(has_packed_tables=False, may_have_lists=False)
    pair = SimpleNamespace(family="tabular", reads_training_table_alone=False, has_table_rows=False, files=files)
    source = template.render(task=SimpleNamespace(**values_of(task, keys_of("tabular"))), pair=pair)
    known["run"].find = lambda _: tmp_path
    exec(source, known)  # noqa: S102 - the cell is what is tested

    assert known["train"].to_dict("list") == {"id": ["x", "y_1", "z"], "Label": ["any,ear", "", "any"]}


@pytest.mark.filterwarnings("error")
def test_who_stops_reading_a_table_leaves_its_file_to_be_closed_in_order(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("id,label\n1,2\n3,4\n")

    assert next(table_rows(tmp_path / "train.csv")) == (1, ["id", "label"])
