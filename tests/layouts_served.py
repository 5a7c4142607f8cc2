"""Layouts of competitions that hand out their test data through an inference server."""

from pathlib import Path

from gateway_package import write_gateway
from layout import layout
from layout_files import images, table

from generator.competition.facts import SubmissionKind


@layout(
    family="tabular",
    metric_is="rmse",
    metric="Root Mean Squared Error",
    id_column="row_id",
    targets=("strength",),
    submission=SubmissionKind.NUMBERS,
    submission_file="submission.parquet",
    details={
        "inference_server": "heights_inference_server",
        "gateway_files": ["test.csv", "sample_submission.csv"],
        "served_answer": "table",
    },
)
def rows_that_a_gateway_asks_for(folder: Path) -> None:
    rows = [[number, number * 7 % 50, f"k{number % 9}", number * 7 % 50 / 3] for number in range(300)]
    table(folder / "train.csv", ["row_id", "games", "rules", "strength"], rows[:280])
    table(folder / "test.csv", ["row_id", "games", "rules"], [row[:3] for row in rows[280:]])
    table(folder / "sample_submission.csv", ["row_id", "strength"], [[row[0], 0.5] for row in rows[280:]])
    write_gateway(folder, "table")


@layout(
    family="sequence",
    metric_is="accuracy",
    metric="Accuracy",
    id_column="sequence_id",
    targets=("gesture",),
    submission_file="submission.parquet",
    sample_submission="",
    details={"prediction_per": "group", "gateway_files": [], "served_answer": "value"},
    warns=("no sample submission",),
)
def one_answer_for_each_sequence_of_a_gateway(folder: Path) -> None:
    rows = [
        [f"r{row:04d}", f"s{row // 9:03d}", row % 9, row * 7 % 31, ["wave", "pinch"][row // 9 % 2]]
        for row in range(540)
    ]
    header = ["row_id", "sequence_id", "sequence_counter", "force", "gesture"]
    table(folder / "train.csv", header, rows[:360])
    table(folder / "test.csv", header[:-1], [row[:-1] for row in rows[360:]])
    write_gateway(folder, "value", target="gesture", asks_for="sequence_id")


@layout(
    family="tabular",
    metric_is="r2",
    metric="R2",
    id_column="row_id",
    targets=("responder",),
    warns=("train.csv has 3 tables with the columns of", "that one alone", "--train"),
)
def a_training_table_in_parts(folder: Path) -> None:
    header = ["row_id", "feature", "responder"]
    for part in range(3):
        rows = [[number + 100 * part, number * 7 % 31 / 4, number * 7 % 31 / 9] for number in range(100)]
        table(folder / "train.csv" / f"partition_id={part}" / "part-0.csv", header, rows)
    test = [[1000 + number, number * 5 % 29 / 4] for number in range(20)]
    table(folder / "test.csv" / "part-0.csv", header[:2], test)
    table(folder / "sample_submission.csv", ["row_id", "responder"], [[row[0], 0.0] for row in test])


@layout(
    family="image_regression",
    metric_is="rmse",
    metric="Root Mean Squared Error",
    id_column="scan_id",
    targets=("age",),
    submission=SubmissionKind.NUMBERS,
    submission_file="submission.parquet",
    details={
        "inference_server": "heights_inference_server",
        "gateway_files": ["test.csv", "test"],
        "served_answer": "targets",
        "test_folder": "test",
    },
)
def scans_whose_paths_a_gateway_shares(folder: Path) -> None:
    rows = [[f"scan{number:03d}", number * 7 % 40 + 20.5] for number in range(60)]
    images(folder / "train", [f"{row[0]}.png" for row in rows[:54]], size=(32, 32))
    images(folder / "test", [f"{row[0]}.png" for row in rows[54:]], size=(32, 32))
    table(folder / "train.csv", ["scan_id", "age"], rows[:54])
    table(folder / "test.csv", ["scan_id"], [row[:1] for row in rows[54:]])
    table(folder / "sample_submission.csv", ["scan_id", "age"], [[row[0], 0.5] for row in rows[54:]])
    write_gateway(folder, "files")


@layout(
    family="image_classification",
    metric_is="auc",
    metric="AUC",
    id_column="scan_id",
    targets=("is_ill",),
    sample_submission="",
    test_table="",
    submission_file="submission.parquet",
    details={"served_answer": "targets", "test_folder": "", "train_folder": "train", "image_encoding": "any"},
    warns=("no sample submission",),
)
def scans_that_only_a_gateway_has(folder: Path) -> None:
    names = [f"scan{number:03d}" for number in range(60)]
    images(folder / "train", [f"{name}.png" for name in names], size=(32, 32))
    table(folder / "train.csv", ["scan_id", "is_ill"], [[name, place * 7 % 3 % 2] for place, name in enumerate(names)])
    write_gateway(folder, "files")
