"""Competitions of texts, and of rows in sequences."""

from pathlib import Path

from layout import layout
from layout_files import keys, sentence, some, table


@layout(
    metric="Mean Absolute Error",
    family="sequence",
    id_column="id",
    targets=("pressure",),
    target_kind="number",
    submission="numbers",
    metric_is="mae",
    details={"group_column": "breath_id", "order_column": "time_step", "prediction_per": "row"},
)
def ventilator_pressure(folder: Path) -> None:
    source = some()
    breaths = [
        [
            breath,
            source.choice([5, 20, 50]),
            round(step * 0.0336 + source.random() / 999, 6),
            round(source.random() * 9, 4),
        ]
        for breath in sorted(source.sample(range(1, 500), 14))
        for step in range(20)
    ]
    rows = [[number, *row] for number, row in enumerate(breaths, start=1)]
    header = ["id", "breath_id", "R", "time_step", "u_in"]
    table(folder / "train.csv", [*header, "pressure"], [[*row, round(source.uniform(4, 30), 4)] for row in rows[:200]])
    table(folder / "test.csv", header, rows[200:])
    table(folder / "sample_submission.csv", ["id", "pressure"], [[row[0], 0] for row in rows[200:]])


@layout(
    metric="Categorization Accuracy",
    family="sequence",
    id_column="series_id",
    targets=("surface",),
    target_kind="class",
    submission="label",
    train_table="X_train.csv",
    labels_table="y_train.csv",
    test_table="X_test.csv",
    details={"group_column": "series_id", "order_column": "measurement_number", "prediction_per": "group"},
)
def one_prediction_for_each_series(folder: Path) -> None:
    source = some()
    header = ["row_id", "series_id", "measurement_number", "velocity", "acceleration"]
    for part, series in (("train", 16), ("test", 8)):
        rows = [
            [f"{one}_{step}", one, step, source.gauss(0, 1), source.gauss(0, 1)]
            for one in range(series)
            for step in range(12)
        ]
        table(folder / f"X_{part}.csv", header, rows)
    surfaces = [[one, one // 2, source.choice(["carpet", "tiled", "wood"])] for one in range(16)]
    table(folder / "y_train.csv", ["series_id", "group_id", "surface"], surfaces)
    table(folder / "sample_submission.csv", ["series_id", "surface"], [[one, "concrete"] for one in range(8)])


@layout(
    metric="F1 score",
    family="text",
    id_column="id",
    targets=("target",),
    target_kind="class",
    submission="label",
    metric_is="f1",
    details={"text_columns": ["text"], "number_columns": [], "sequence_length": 128},
)
def nlp_getting_started(folder: Path) -> None:
    source = some()
    tweets = [
        [
            n,
            source.choice(["", "ablaze", "flood"]),
            source.choice(["", "Berlin", "New York"]),
            f"{n} {sentence(source, 15)}",
        ]
        for n in range(90)
    ]
    header = ["id", "keyword", "location", "text"]
    table(folder / "train.csv", [*header, "target"], [[*tweet, source.randrange(2)] for tweet in tweets[:60]])
    table(folder / "test.csv", header, tweets[60:])
    table(folder / "sample_submission.csv", ["id", "target"], [[tweet[0], 0] for tweet in tweets[60:]])


@layout(
    metric="Categorization Accuracy",
    family="text",
    id_column="id",
    targets=("label",),
    target_kind="class",
    submission="label",
    details={"text_columns": ["premise", "hypothesis"], "sequence_length": 128},
)
def contradictory_my_dear_watson(folder: Path) -> None:
    source = some()
    header = ["id", "premise", "hypothesis", "lang_abv", "language"]
    pairs = [[key, sentence(source, 19), sentence(source, 10), "en", "English"] for key in keys(80)]
    pairs[7][1:] = [
        "これは小さな町の屋根についての長い文章であり誰も聞いていなかった",
        "誰もその嵐が来るのを聞かなかったと言われている",
        "ja",
        "Japanese",
    ]
    table(folder / "train.csv", [*header, "label"], [[*pair, source.randrange(3)] for pair in pairs[:50]])
    table(folder / "test.csv", header, pairs[50:])
    table(folder / "sample_submission.csv", ["id", "prediction"], [[pair[0], 7] for pair in pairs[50:]])


_TOXIC = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]


@layout(
    metric="Mean Columnwise Area Under Receiver Operating Characteristic Curve",
    family="text",
    id_column="id",
    targets=tuple(_TOXIC),
    target_kind="labels",
    submission="numbers",
    metric_is="auc_mean_columns",
    details={"text_columns": ["comment_text"], "sequence_length": 512},
)
def jigsaw_toxic_comments(folder: Path) -> None:
    source = some()
    comments = [[key, sentence(source, source.randrange(60, 400))] for key in keys(80)]
    labelled = [[*comment, *(int(source.random() < 0.3) for _ in _TOXIC)] for comment in comments[:50]]
    table(folder / "train.csv", ["id", "comment_text", *_TOXIC], labelled)
    table(folder / "test.csv", ["id", "comment_text"], comments[50:])
    table(folder / "test_labels.csv", ["id", *_TOXIC], [[comment[0], *[-1] * 6] for comment in comments[50:]])
    table(folder / "sample_submission.csv", ["id", *_TOXIC], [[comment[0], *[0.5] * 6] for comment in comments[50:]])


@layout(
    metric="Log Loss",
    family="text",
    id_column="test_id",
    targets=("is_duplicate",),
    target_kind="class",
    submission="probability",
    details={"text_columns": ["question1", "question2"], "number_columns": []},
)
def pairs_of_questions_whose_ids_have_other_names(folder: Path) -> None:
    source = some()
    pairs = [[n, sentence(source, 11), sentence(source, 12)] for n in range(90)]
    train = [[pair[0], 2 * pair[0], 2 * pair[0] + 1, *pair[1:], source.randrange(2)] for pair in pairs[:60]]
    table(folder / "train.csv", ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"], train)
    table(folder / "test.csv", ["test_id", "question1", "question2"], pairs[60:])
    table(folder / "sample_submission.csv", ["test_id", "is_duplicate"], [[pair[0], 1] for pair in pairs[60:]])


@layout(
    metric="Pearson",
    family="text",
    id_column="id",
    targets=("score",),
    target_kind="number",
    details={"text_columns": ["anchor", "target"]},
)
def pairs_of_short_phrases(folder: Path) -> None:
    source = some()
    phrases = [[key, sentence(source, 2), sentence(source, 3), source.choice(["A47", "B60"])] for key in keys(90)]
    header = ["id", "anchor", "target", "context"]
    table(folder / "train.csv", [*header, "score"], [[*row, source.randrange(5) / 4] for row in phrases[:60]])
    table(folder / "test.csv", header, phrases[60:])
    table(folder / "sample_submission.csv", ["id", "score"], [[row[0], 0] for row in phrases[60:]])


@layout(
    metric="MCRMSE",
    family="text",
    id_column="text_id",
    targets=("cohesion", "syntax"),
    target_kind="number",
    submission="numbers",
    metric_is="mcrmse",
    details={"text_columns": ["full_text"]},
)
def essays_with_several_scores(folder: Path) -> None:
    source = some()
    essays = [[key, sentence(source, 100)] for key in keys(60)]
    scores = [[*essay, source.randrange(2, 11) / 2, source.randrange(2, 11) / 2] for essay in essays[:50]]
    table(folder / "train.csv", ["text_id", "full_text", "cohesion", "syntax"], scores)
    table(folder / "test.csv", ["text_id", "full_text"], essays[50:])
    table(folder / "sample_submission.csv", ["text_id", "cohesion", "syntax"], [[e[0], 3.0, 3.0] for e in essays[50:]])


@layout(
    metric="Root Mean Squared Error",
    family="text",
    id_column="review_id",
    targets=("rating",),
    target_kind="number",
    details={"text_columns": ["review"], "number_columns": ["helpful", "price"]},
)
def text_beside_numbers(folder: Path) -> None:
    source = some()
    reviews = [[n, sentence(source, 30), source.randrange(50), round(source.uniform(1, 99), 2)] for n in range(90)]
    header = ["review_id", "review", "helpful", "price"]
    table(folder / "train.csv", [*header, "rating"], [[*row, round(source.uniform(1, 5), 2)] for row in reviews[:60]])
    table(folder / "test.csv", header, reviews[60:])
    table(folder / "sample_submission.csv", ["review_id", "rating"], [[row[0], 3.1] for row in reviews[60:]])
