"""Competitions that are ambiguous on purpose, or in which something is missing."""

from pathlib import Path

from layout import layout
from layout_files import images, keys, sentence, some, table


@layout(
    family="image_classification",
    id_column="image",
    targets=("species",),
    sample_submission="",
    test_table="",
    metric="Accuracy",
    warns=("no sample submission", "test files", "--sample"),
    details={"train_folder": "train", "test_folder": "test", "image_suffix": ".png"},
)
def images_without_a_sample_submission(folder: Path) -> None:
    train, test = keys(30, seed=2), keys(10, seed=3)
    images(folder / "train", [f"{key}.png" for key in train])
    images(folder / "test", [f"{key}.png" for key in test])
    table(folder / "train.csv", ["image", "species"], [[key, ["elm", "oak"][n % 2]] for n, key in enumerate(train)])


@layout(
    family="image_regression",
    id_column="ID",
    metric="RMSE",
    warns=("several rows", "train.csv", "--train"),
    details={"image_column": "ID", "train_folder": "train", "test_folder": "test", "image_suffix": ".png"},
)
def several_rows_for_each_scan(folder: Path) -> None:
    source = some()
    findings = ["any", "epidural", "subdural"]
    for part, filled, seed in (("train", True, 2), ("test", False, 3)):
        scans = keys(20, seed=seed)
        images(folder / part, [f"{scan}.png" for scan in scans])
        rows = [[f"{scan}_{one}", source.randrange(4) if filled else 0.5] for scan in scans for one in findings]
        table(folder / ("train.csv" if filled else "sample_submission.csv"), ["ID", "Label"], rows)


@layout(
    family="text",
    target_kind="number",
    metric="AUC",
    warns=("metric", "rmse", "auc is not computed", "--metric"),
    settles={"metric": "mae"},
)
def a_metric_that_does_not_suit_the_target(folder: Path) -> None:
    source = some()
    rows = [[n, sentence(source, 20)] for n in range(90)]
    table(folder / "train.csv", ["id", "comment_text", "target"], [[*row, source.random()] for row in rows[:60]])
    table(folder / "test.csv", ["id", "comment_text"], rows[60:])
    table(folder / "sample_submission.csv", ["id", "prediction"], [[row[0], 0.5] for row in rows[60:]])


@layout(
    id_column="id",
    targets=("y",),
    warns=("id column", "code", "--id-column"),
    settles={"id_column": "id"},
    metric="RMSE",
)
def two_columns_that_could_be_the_id(folder: Path) -> None:
    source = some()
    rows = [[n, f"k{n:04d}", source.random()] for n in range(60)]
    table(folder / "train.csv", ["id", "code", "x", "y"], [[*row, source.gauss(0, 9)] for row in rows[:40]])
    table(folder / "test.csv", ["id", "code", "x"], rows[40:])
    table(folder / "sample_submission.csv", ["id", "code", "y"], [[*row[:2], 0.0] for row in rows[40:]])


@layout(
    family="tabular",
    submission="label",
    metric_is="accuracy",
    warns=("metric", "--metric"),
    settles={"metric": "accuracy"},
    target_kind="class",
)
def a_metric_that_nobody_names(folder: Path) -> None:
    source = some()
    rows = [[n, source.random(), source.random()] for n in range(60)]
    table(folder / "train.csv", ["id", "a", "b", "kind"], [[*row, source.choice(["p", "q", "r"])] for row in rows[:40]])
    table(folder / "test.csv", ["id", "a", "b"], rows[40:])
    table(folder / "sample_submission.csv", ["id", "kind"], [[row[0], "p"] for row in rows[40:]])


@layout(
    train_table="train_b.csv",
    warns=("training table", "train_a.csv", "--train"),
    settles={"train_table": "train_b.csv"},
    metric="RMSE",
)
def two_tables_to_train_on(folder: Path) -> None:
    source = some()
    rows = [[n, source.random(), source.random()] for n in range(99)]
    table(folder / "train_a.csv", ["id", "a", "b", "y"], [[*row, source.random()] for row in rows[:30]])
    table(folder / "train_b.csv", ["id", "a", "b", "y"], [[*row, source.random()] for row in rows[30:70]])
    table(folder / "test.csv", ["id", "a", "b"], rows[70:])
    table(folder / "sample_submission.csv", ["id", "y"], [[row[0], 0.0] for row in rows[70:]])


@layout(warns=("target", "--target"), settles={"targets": ["casual"]}, metric="RMSE", id_column="id")
def two_columns_that_could_be_the_target(folder: Path) -> None:
    source = some()
    rows = [[n, source.random()] for n in range(60)]
    table(
        folder / "train.csv",
        ["id", "a", "casual", "registered"],
        [[*row, source.random(), source.random()] for row in rows[:40]],
    )
    table(folder / "test.csv", ["id", "a"], rows[40:])
    table(folder / "sample_submission.csv", ["id", "count"], [[row[0], 0.0] for row in rows[40:]])


@layout(warns=("What is predicted", "number", "--target-kind"), settles={"metric": "rmse"})
def grades_that_could_be_numbers(folder: Path) -> None:
    source = some()
    rows = [[n, source.random()] for n in range(90)]
    table(folder / "train.csv", ["id", "a", "grade"], [[*row, source.randrange(6)] for row in rows[:60]])
    table(folder / "test.csv", ["id", "a"], rows[60:])
    table(folder / "sample_submission.csv", ["id", "grade"], [[row[0], 2.5] for row in rows[60:]])


@layout(
    sample_submission="",
    id_column="id",
    targets=("y",),
    warns=("no sample submission", "test.csv", "--sample"),
    metric="RMSE",
)
def no_sample_submission(folder: Path) -> None:
    source = some()
    rows = [[n, source.random(), source.random()] for n in range(60)]
    table(folder / "train.csv", ["id", "a", "b", "y"], [[*row, source.gauss(0, 9)] for row in rows[:40]])
    table(folder / "test.csv", ["id", "a", "b"], rows[40:])


@layout(
    family="tabular",
    targets=("y",),
    warns=("family", "text", "--family"),
    settles={"family": "text"},
    metric="RMSE",
)
def text_among_many_numbers(folder: Path) -> None:
    source = some()
    names = [f"n{n}" for n in range(4)]
    rows = [[n, sentence(source, 9), *(source.random() for _ in names)] for n in range(60)]
    table(folder / "train.csv", ["id", "note", *names, "y"], [[*row, source.gauss(0, 9)] for row in rows[:40]])
    table(folder / "test.csv", ["id", "note", *names], rows[40:])
    table(folder / "sample_submission.csv", ["id", "y"], [[row[0], 0.0] for row in rows[40:]])


@layout(
    family="tabular",
    id_column="VisitNumber",
    targets=("TripType",),
    metric="Multiclass Loss",
    warns=("VisitNumber repeats in train.csv", "one row for each id", "--train", "order_column"),
)
def visits_of_several_rows_in_no_order(folder: Path) -> None:
    source = some()
    trips = ["TripType_3", "TripType_5", "TripType_999"]

    def bought(visit: int) -> list[list[object]]:
        return [[visit, source.choice("MTF"), source.choice(["SHOES", "DAIRY"])] for _ in range(source.randrange(1, 5))]

    header = ["VisitNumber", "Weekday", "Department"]
    labelled = [[source.choice([3, 5, 999]), *row] for visit in range(60) for row in bought(visit)]
    table(folder / "train.csv", ["TripType", *header], labelled)
    table(folder / "test.csv", header, [row for visit in range(60, 90) for row in bought(visit)])
    table(folder / "sample_submission.csv", ["VisitNumber", *trips], [[visit, 1, 0, 0] for visit in range(60, 90)])


@layout(
    family="tabular",
    targets=("hourly_wage",),
    metric="Mean Absolute Error",
    warns=("asks for zzz, which no training table has", "hourly_wage is taken for it", "--target"),
    settles={"targets": ["hourly_wage"]},
)
def an_answer_that_is_called_as_no_column_is(folder: Path) -> None:
    rows = [[f"p{number:02d}", number % 13, number % 7, number * 3 % 40 + 0.25] for number in range(80)]
    table(folder / "train.csv", ["id", "years", "grade", "hourly_wage"], rows[:60])
    table(folder / "test.csv", ["id", "years", "grade"], [row[:3] for row in rows[60:]])
    table(folder / "sample_submission.csv", ["id", "zzz"], [[row[0], 0] for row in rows[60:]])
