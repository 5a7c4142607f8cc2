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
    details={
        "group_column": "breath_id",
        "order_column": "time_step",
        "prediction_per": "row",
        "drop_columns": [],
        "date_columns": [],
    },
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
    details={
        "group_column": "series_id",
        "order_column": "measurement_number",
        "prediction_per": "group",
        "drop_columns": ["row_id"],
    },
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
    details={
        "text_columns": ["question1", "question2"],
        "number_columns": [],
        "has_training_ids": False,
        "has_test_ids": True,
    },
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


@layout(
    metric="Categorization Accuracy",
    family="text",
    id_column="PhraseId",
    targets=("Sentiment",),
    target_kind="class",
    submission="label",
    details={"text_columns": ["Phrase"], "number_columns": [], "separator": "\t", "group_column": "SentenceId"},
)
def phrases_of_the_same_sentences(folder: Path) -> None:
    source = some()
    phrases = [[n, n // 4, f"{n} {sentence(source, source.randrange(1, 9))}"] for n in range(1, 161)]
    labelled = [[*phrase, source.randrange(5)] for phrase in phrases[:111]]
    table(folder / "train.tsv", ["PhraseId", "SentenceId", "Phrase", "Sentiment"], labelled, separator="\t")
    table(folder / "test.tsv", ["PhraseId", "SentenceId", "Phrase"], phrases[111:], separator="\t")
    table(folder / "sampleSubmission.csv", ["PhraseId", "Sentiment"], [[phrase[0], 2] for phrase in phrases[111:]])


@layout(
    metric="Root Mean Squared Error",
    family="text",
    id_column="id",
    targets=("relevance",),
    target_kind="number",
    details={
        "text_columns": ["product_title", "search_term"],
        "number_columns": [],
        "group_column": "product_uid",
        "encoding": "cp1252",
        "has_training_ids": True,
    },
)
def a_search_beside_what_was_found(folder: Path) -> None:
    source = some()
    asked = [f"{sentence(source, 2)} {n}" for n in range(25)]
    rows = [[n, 100_001 + n // 3, f"{n}° {sentence(source, 9)}", source.choice(asked)] for n in range(160)]
    scored = [[*row, source.randrange(4, 13) / 4] for row in rows[:108]]
    header = ["id", "product_uid", "product_title", "search_term"]
    table(folder / "train.csv", [*header, "relevance"], scored, encoding="latin-1")
    table(folder / "test.csv", header, rows[108:], encoding="latin-1")
    table(folder / "sample_submission.csv", ["id", "relevance"], [[row[0], 1] for row in rows[108:]])


@layout(
    metric="AUC",
    family="text",
    id_column="id",
    targets=("generated",),
    target_kind="class",
    submission="probability",
    train_table="train_essays.csv",
    details={"text_columns": ["text"], "number_columns": [], "group_column": ""},
)
def essays_on_two_prompts_and_the_test_on_others(folder: Path) -> None:
    source = some()
    essays = [[key, n % 2, f"{n} {sentence(source, 60)}", n % 3 // 2] for n, key in enumerate(keys(60))]
    table(folder / "train_essays.csv", ["id", "prompt_id", "text", "generated"], essays)
    prompts = [[n, sentence(source, 3), sentence(source, 40)] for n in range(2)]
    table(folder / "train_prompts.csv", ["prompt_id", "prompt_name", "instructions"], prompts)
    table(folder / "test_essays.csv", ["id", "prompt_id", "text"], [["0000aaaa", 2, "Aaa."], ["1111bbbb", 3, "Bbb."]])
    table(folder / "sample_submission.csv", ["id", "generated"], [["0000aaaa", 0.1], ["1111bbbb", 0.1]])


@layout(
    metric="Log Loss",
    family="text",
    id_column="ID",
    targets=("any", "left_ear", "right_ear"),
    target_kind="labels",
    submission="keyed_rows",
    metric_is="log_loss_mean_columns",
    details={"text_columns": ["report"], "label_rows": False},
)
def a_row_of_the_submission_for_each_label(folder: Path) -> None:
    source, names = some(), ["any", "left_ear", "right_ear"]
    reports = [[f"ID_{key}", f"{n} {sentence(source, 12)}"] for n, key in enumerate(keys(90))]
    labelled = [[*report, *(source.randrange(2) for _ in names)] for report in reports[:60]]
    table(folder / "train.csv", ["ID", "report", *names], labelled)
    table(folder / "test.csv", ["ID", "report"], reports[60:])
    rows = [[f"{report[0]}_{name}", 0.5] for report in reports[60:] for name in names]
    table(folder / "sample_submission.csv", ["ID", "Label"], rows)


@layout(
    metric="AUC",
    family="sequence",
    id_column="customer_ID",
    targets=("target",),
    target_kind="class",
    submission="probability",
    train_table="train_data.csv",
    labels_table="train_labels.csv",
    details={"group_column": "customer_ID", "order_column": "S_2", "prediction_per": "group", "date_columns": ["S_2"]},
)
def statements_of_other_customers_in_a_later_year(folder: Path) -> None:
    source = some()
    for part, year, count in (("train", 2017, 16), ("test", 2018, 8)):
        customers = keys(count, seed=year)
        rows = [
            [customer, f"{year}-{month:02d}-{source.randrange(1, 28):02d}", source.gauss(0, 1), source.gauss(0, 1)]
            for customer in customers
            for month in range(1, 13)
        ]
        table(folder / f"{part}_data.csv", ["customer_ID", "S_2", "P_2", "B_1"], rows)
        labels = [[customer, n % 2 if part == "train" else 0] for n, customer in enumerate(customers)]
        name, target = ("train_labels", "target") if part == "train" else ("sample_submission", "prediction")
        table(folder / f"{name}.csv", ["customer_ID", target], labels)


@layout(
    metric="MAP@3",
    family="text",
    id_column="id",
    targets=("answer",),
    target_kind="class",
    submission="top_k",
    metric_is="map@3",
    details={"text_columns": ["prompt", "A", "B", "C", "D"]},
)
def questions_with_answers_to_choose_from(folder: Path) -> None:
    source = some()
    questions = [[n, *(f"{n} {sentence(source, 12)}" for _ in range(5))] for n in range(80)]
    header = ["id", "prompt", "A", "B", "C", "D"]
    table(folder / "train.csv", [*header, "answer"], [[*row, source.choice("ABCD")] for row in questions[:50]])
    table(folder / "test.csv", header, questions[50:])
    table(folder / "sample_submission.csv", ["id", "prediction"], [[row[0], "A B C"] for row in questions[50:]])
