"""The family `text`: any script, one text or two, numbers beside them; classes, labels and numbers to predict."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from layout_files import some, table
from miniature import Outcome
from notebook_cells import executed_alone, known_after
from notebook_session import Mirror, Sessions, needs_torch
from tasks import task_of

from generator.competition.facts import Task
from generator.competition.introspection.task_kind import text_budget, train_text_seconds

pytest_plugins = ("notebook_session",)

DETAILS = {"number_columns": [], "sequence_length": 128, "batch_size": 8, "epochs": 2}
CLASSES = task_of("text", "class", "label", test_table="test.csv", text_columns=["text"], **DETAILS)
NUMBERS = task_of(
    *("text", "number", "score"),
    test_table="test.csv",
    **DETAILS | {"text_columns": ["question", "answer"], "number_columns": ["votes"]},
)
LABELS = task_of("text", "labels", "warm", "loud", test_table="test.csv", text_columns=["text"], **DETAILS)
TASKS = {"classes": CLASSES, "numbers": NUMBERS, "labels": LABELS}


def with_linear_model(task: str) -> Task:
    return replace(TASKS[task], details={**TASKS[task].details, "linear_member": True})


def fitted(texts: Sequence[str | tuple[str, ...]], task: str = "classes", **columns: object) -> SimpleNamespace:
    """The names of the training notebook once preprocessing is fitted to these texts; that needs no framework."""
    import pandas as pd

    rows = [(text,) if isinstance(text, str) else text for text in texts]
    train = pd.DataFrame(rows, columns=TASKS[task].details["text_columns"]).assign(**columns)
    joined = pd.Series(["\n".join(row) for row in rows])
    return executed_alone(
        ["make-tokens", "weighted-terms", "make-inputs", "fit-preprocessing"],
        TASKS[task],
        "train",
        train=train,
        texts=joined,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's \uff26\uff35LL: utf8!", ["it", "'", "s", "full", ":", "utf8", "!"]),
        ("东京和 Kyoto。", ["东", "京", "和", "kyoto", "。"]),
        ("ひらがなカナ", ["ひ", "ら", "が", "な", "カ", "ナ"]),
        ("हिन्दी में।", ["हिन्दी", "में", "।"]),
        ("Straße, año\u00a0\u0401\u043b\u043a\u0430", ["straße", ",", "año", "\u0451\u043b\u043a\u0430"]),
        (" \t\n", []),
    ],
)
def test_words_of_any_script_are_told_apart(text: str, words: list[str]) -> None:
    assert executed_alone(["make-tokens"], CLASSES, "train").split_words(text) == words


def test_a_word_that_was_never_seen_is_read_by_the_longest_known_words_in_it() -> None:
    cells = executed_alone(["make-tokens"], CLASSES, "train")
    words = ["re", "r", "read", "e", "er", "reader"]

    def tokens(text: str) -> list[int]:
        return [token for token in cells.make_tokens([(text,)], words, 128)[0].tolist() if token]

    assert tokens("reader") == [2, 8]
    assert tokens("rereader") == [2, 3, 8]
    assert tokens("r☃e") == [2, 4, 1, 6]
    assert len(tokens("☃" * 10_000)) == 1 + 64


def test_of_several_texts_the_longest_are_cut_first_and_all_are_there() -> None:
    cells = executed_alone(["make-tokens"], NUMBERS, "train")

    long_first, long_last = cells.make_tokens([("b " * 300, "a " * 4), ("a b", "b " * 300)], ["a", "b"], 128).tolist()

    assert long_first == [2] + [4] * 122 + [2] + [3] * 4
    assert long_last == [2, 3, 4, 2] + [4] * 124


def test_preprocessing_means_the_same_after_it_has_travelled_as_json() -> None:
    cells = fitted([(f"word{number} is here", "東京 ☃") for number in range(20)], task="numbers", votes=range(20))

    here = cells.make_inputs(cells.train, cells.preprocessing)
    there = cells.make_inputs(cells.train, json.loads(json.dumps(cells.preprocessing)))

    assert {name: array.dtype.name for name, array in here.items()} == {
        "tokens": "int32",
        "terms": "int32",
        "weights": "float32",
        "numbers": "float32",
    }
    assert all((here[name] == there[name]).all() for name in here)


def test_rare_words_weigh_more_and_an_empty_text_weighs_nothing() -> None:
    cells = fitted(["common rare", "common", "common", "rare", "common", ""])
    of_first = dict(zip(cells.examples["terms"][0], cells.examples["weights"][0], strict=True))
    common, rare = (of_first[1 + cells.terms.index(word)] for word in ("common", "rare"))

    assert rare > common > 0
    assert (cells.examples["weights"][0] ** 2).sum() == pytest.approx(1)
    assert not cells.examples["weights"][5].any()
    assert not cells.examples["terms"][5].any()
    assert cells.examples["tokens"][5].tolist() == [2] + [0] * 127


def test_of_a_long_text_the_weightiest_terms_are_kept() -> None:
    cells = fitted([" ".join(f"w{number}" for number in range(400)), *(f"w{number} x" for number in range(399))])

    weights = cells.examples["weights"][0]
    last = 1 + cells.terms.index("w399")  # in no other text

    assert (weights > 0).all()
    assert (weights[:-1] >= weights[1:]).all()
    assert last in cells.examples["terms"][0]


def test_numbers_beside_a_text_are_standardised_and_missing_ones_are_average() -> None:
    cells = fitted([("a", "b")] * 4, task="numbers", votes=["1.0", "3.0", "", "2.0"])
    other = cells.train.assign(votes=["1e9", "?", "2.0", "2.0"])

    deviation = (2 / 3) ** 0.5
    assert cells.examples["numbers"].ravel().tolist() == pytest.approx([-1 / deviation, 1 / deviation, 0, 0])
    assert cells.make_inputs(other, cells.preprocessing)["numbers"].ravel().tolist() == [8, 0, 0, 0]


def test_words_for_nothing_are_texts_and_missing_texts_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "digits"
    table(folder / "train.csv", ["id", "text", "label"], [[1, "None", "a"], [2, "", "b"], [3, "  ", "a"]])

    train = known_after("training-table", CLASSES, "train", folder).train

    assert train["text"].tolist() == ["None", "", "  "]
    assert "2 of 3 texts are missing or empty" in capsys.readouterr().out


def test_nothing_but_empty_texts_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "digits"
    table(folder / "train.csv", ["id", "text", "label"], [[1, "", "a"], [2, " ", "b"]])

    with pytest.raises(ValueError, match=r"^All texts are empty\. Check TEXT_COLUMNS, which are \['text'\]\.$"):
        known_after("training-table", CLASSES, "train", folder)


def write_competition(folder: Path, task: str) -> dict[str, list[float]]:
    """Writes a competition in which a few words decide; returns what is right for the test, by id."""
    draw = some(7)
    words = {"warm": ["sun", "fire"], "cold": ["ice", "snow"], "loud": ["horn", "drum"]}
    filler = ["the", "of", "and", "日本", "one, two", 'a "quote"', "new\nline"]
    header = {"classes": ["text"], "numbers": ["question", "answer", "votes"], "labels": ["text"]}[task]
    targets = list(TASKS[task].targets)
    rows: list[list[object]] = []
    for number in range(160):
        kind = draw.choice(["warm", "cold", "loud"])
        text = " ".join(draw.sample([*draw.choices(filler, k=5), draw.choice(words[kind])], 6))
        votes = draw.randint(0, 9)
        inputs = {"classes": [text], "labels": [text], "numbers": ["", text, "" if number % 9 == 0 else votes]}[task]
        warm = 5.0 * (kind == "warm")
        truth = {"classes": [kind], "labels": [int(kind == "warm"), int(kind == "loud")], "numbers": [warm]}[task]
        rows.append([f"t{number:03d}", *inputs, *truth])
    test = rows[120:]
    table(folder / "train.csv", ["id", *header, *targets], rows[:120])
    table(folder / "test.csv", ["id", *header], [row[: 1 + len(header)] for row in reversed(test)])
    blank = ["cold"] if task == "classes" else [0.5] * len(targets)
    table(folder / "sample_submission.csv", ["id", *targets], [[row[0], *blank] for row in test])
    return {str(row[0]): row[1 + len(header) :] for row in test}


@pytest.mark.slow
def test_few_texts_get_a_linear_model_beside_the_network_unless_the_user_wants_none(
    tandem: Callable[..., Outcome], tmp_path: Path
) -> None:
    def has_linear_model(rows: int, *options: str) -> bool:
        folder, name = tmp_path / f"texts{rows}", f"rows{rows}-{len(options)}"
        texts = [[n, f"the words of text number {n} are here", "ab"[n % 2]] for n in range(rows + 10)]
        table(folder / "train.csv", ["id", "text", "label"], texts[:rows])
        table(folder / "test.csv", ["id", "text"], [row[:2] for row in texts[rows:]])
        table(folder / "sample_submission.csv", ["id", "label"], [[row[0], "a"] for row in texts[rows:]])
        generate = ("generate", "--workspace", tmp_path, "--competition", name, "--data", folder)
        done = tandem(*generate, "--metric", "accuracy", "--set", "pretrained=", *options)
        assert done.code == 0, done.err
        written = [(tmp_path / "kernels" / name / role / f"{role}.ipynb").read_text() for role in ("train", "infer")]
        assert len({"fit_linear" in notebook for notebook in written}) == 1
        return "fit_linear" in written[0]

    assert has_linear_model(1_000)
    assert not has_linear_model(1_001)
    assert not has_linear_model(1_000, "--set", "linear_member=false")


@pytest.mark.parametrize("task", TASKS)
def test_a_linear_model_learns_what_decides(tmp_path: Path, task: str) -> None:
    folder = tmp_path / "digits"
    write_competition(folder, task)
    cells = known_after("targets", with_linear_model(task), "train", folder)
    alone = executed_alone(["fit-linear"], with_linear_model(task), "train")
    inputs = [{"numbers": np.arange(len(cells.train))[:, None] % 10}] if task == "numbers" else []
    examples = alone.linear_inputs(cells.train, *inputs)
    classes = [3] if task == "classes" else []

    model = alone.fit_linear(examples[:100], cells.truth[:100])
    predicted = alone.predict_linear(model, examples[100:], *classes)

    if task == "classes":
        assert (predicted.argmax(axis=1) == cells.truth[100:]).mean() > 0.9
    else:
        middle = 2.5 if task == "numbers" else 0.5
        assert ((predicted > middle) == (cells.truth[100:] > middle)).mean() > 0.9


def test_a_class_that_no_training_row_of_a_fold_has_gets_no_probability() -> None:
    cells = executed_alone(["fit-linear"], with_linear_model("classes"), "train")
    rows = cells.pd.DataFrame({"text": ["sun and fire", "ice and snow", "fire", "snow"]})

    model = cells.fit_linear(cells.linear_inputs(rows), np.array([0, 3, 0, 3]))

    assert cells.predict_linear(model, cells.linear_inputs(rows), 4).round(1)[:, 1:3].tolist() == [[0, 0]] * 4


def test_how_much_the_linear_model_counts_in_a_fold_is_chosen_on_the_others() -> None:
    known = {"METRIC": "accuracy", "HIGHER_IS_BETTER": True}
    cells = executed_alone(["mix"], with_linear_model("classes"), "train", **known)
    cells.competition_metric = lambda truth, predicted: (truth == predicted).mean()
    truth, fold_of = np.array([0, 1] * 8), np.arange(16) // 8
    right, wrong = np.eye(2)[truth], np.eye(2)[1 - truth]
    is_first = (fold_of == 0)[:, None]
    network, linear = np.where(is_first, right, wrong), np.where(is_first, wrong, right)

    shares, predictions = cells.mixed(truth, network, linear, fold_of)
    alone, of_one = cells.mixed(truth[:8], network[:8], linear[:8], fold_of[:8])

    assert shares == {0: 0.6, 1: 0.4}  # the nearest to a half with which the other fold is right
    assert (predictions.argmax(axis=1) != truth).all()
    assert alone == {0: 0.5}
    assert (of_one == 0.5).all()


def test_both_models_are_averaged_on_the_scale_that_the_metric_compares() -> None:
    task = replace(with_linear_model("numbers"), metric="rmsle")
    cells = executed_alone(["mix"], task, "train", METRIC="rmsle", HIGHER_IS_BETTER=False)
    cells.competition_metric = lambda truth, predicted: 0.0
    network, linear = np.array([[1.0], [7.0]]), np.array([[7.0], [7.0]])

    shares, predictions = cells.mixed(np.ones((2, 1)), network, linear, np.zeros(2, int))

    assert shares == {0: 0.5}
    np.testing.assert_allclose(predictions, [[3.0], [7.0]], rtol=1e-6)  # log(4) is between log(2) and log(8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "framework"),
    [
        *(("numbers", "keras"), ("labels", "tensorflow"), ("classes", "jax")),
        pytest.param("numbers", "torch", marks=needs_torch),
    ],
)
def test_a_pair_learns_what_decides_and_gives_every_id_its_prediction(
    sessions: Sessions, mirror: Mirror, task: str, framework: str
) -> None:
    right = write_competition(mirror.competition, task)
    of_few = TASKS[task] if task == "classes" else with_linear_model(task)
    small = {"WIDTH": 64, "LAYERS": 1, "EPOCHS": 12, "LEARNING_RATE": 0.02, "LINEAR_LR_SCALE": 20.0}
    small |= {} if task == "classes" else {"N_FOLDS": 2, "EPOCHS": 6}

    _, *rows = sessions.predicted(mirror, framework, of_few, **small)

    assert [row[0] for row in rows] == list(right)
    if task == "classes":
        hits = sum([row[1]] == right[row[0]] for row in rows)
    else:
        middle = 2.5 if task == "numbers" else 0.5
        hits = sum((float(row[1]) > middle) == bool(right[row[0]][0]) for row in rows)
    assert hits >= 0.9 * len(rows)


def counted(texts: Sequence[tuple[str, str]]) -> Any:
    """The counts of pairs of texts, by name, with every word of the texts known."""
    import pandas as pd

    task = replace(NUMBERS, details={**NUMBERS.details, "text_counts": True})
    cells = executed_alone(["count-texts"], task, "train")
    return cells.count_texts(pd.DataFrame(texts, columns=["question", "answer"]), {"the": 0.1, "cat": 2.0, "sat": 2.0})


def test_counts_tell_how_long_how_careful_and_how_alike_texts_are() -> None:
    counts = counted([("The cat sat.", "the cat sat"), ("The CAT!", "a dgo"), ("", "")])

    assert np.expm1(counts["question: words"]).round().tolist() == [3, 2, 0]
    assert counts["answer: rare words"].tolist() == [0, 1, 0]
    assert counts["question: capitals"].tolist() == pytest.approx([1 / 3, 2, 0])
    assert counts["question, answer: words"].tolist() == [1, 0, 0]
    assert counts["question, answer: rarity"].tolist() == [1, 0, 0]
    assert not counts.isna().to_numpy().any()


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["keras", "tensorflow", "jax", "torch"])
def test_pairs_of_texts_get_counts_and_single_ones_for_classes_do_not(
    tandem: Callable[..., Outcome], tmp_path: Path, framework: str
) -> None:
    def has_counts(task: str, metric: str) -> bool:
        folder, name = tmp_path / task, f"{task}-{framework}"
        write_competition(folder, task)
        generate = ("generate", "--workspace", tmp_path, "--competition", name, "--data", folder, "--metric", metric)
        done = tandem(*generate, "--framework", framework, "--name", name)
        assert done.code == 0, done.err
        written = [(tmp_path / "kernels" / name / role / f"{role}.ipynb").read_text() for role in ("train", "infer")]
        assert len({"def count_texts" in notebook for notebook in written}) == 1
        return "def count_texts" in written[0]

    assert has_counts("numbers", "rmse")
    assert not has_counts("classes", "accuracy")


@pytest.mark.parametrize("rows", [200, 600, 1_000, 1_500, 2_000])
@pytest.mark.parametrize("tokens", [128, 256, 384])
@pytest.mark.parametrize("has_linear_member", [True, False])
def test_few_texts_train_in_ten_minutes(rows: int, tokens: int, *, has_linear_member: bool) -> None:
    folds, epochs = text_budget(rows, tokens, has_linear_member=has_linear_member)

    passes = epochs * (folds - 1 if folds > 1 else 0.8)
    assert rows * passes * train_text_seconds(tokens) <= 8 * 60
    assert epochs >= 2
    assert folds > 1 or not has_linear_member


def test_a_second_text_column_is_one_more_name_in_the_parameters() -> None:
    import pandas as pd

    train = pd.DataFrame({"title": ["sun", "snow"] * 9, "text": ["it is warm", "it is cold"] * 9})
    names = {"train": train, "texts": train.agg("\n".join, axis=1), "TEXT_COLUMNS": ["title", "text"]}

    cells = executed_alone(
        ["make-tokens", "weighted-terms", "make-inputs", "fit-preprocessing"], CLASSES, "train", **names
    )

    words = {word: token for token, word in enumerate(cells.words, start=3)}
    sun = [2, words["sun"], 2, *(words[word] for word in ("it", "is", "warm"))]
    assert cells.examples["tokens"][0, :7].tolist() == [*sun, 0]


def folds_of(rows: Sequence[tuple[str, str]], labels: Sequence[int], **parameters: object) -> Any:
    """The fold of each row of texts with a keyword beside them, from the cell of the training notebook."""
    import pandas as pd

    task = replace(CLASSES, details={**CLASSES.details, "text_columns": ["keyword", "text"]})
    train = pd.DataFrame(rows, columns=["keyword", "text"]).assign(id=range(len(rows)))
    names = {"train": train, "truth": np.array(labels), "TEXT_COLUMNS": ["keyword", "text"], **parameters}
    cells = executed_alone(["assign-folds"], task, "train", **names)
    assert all(set(train_idx).isdisjoint(val_idx) for train_idx, val_idx in cells.splits)
    assert sorted(row for _, val_idx in cells.splits for row in val_idx) == list(range(len(rows)))
    return cells.fold_of_row


def test_rows_with_one_text_stay_in_one_fold_whatever_their_keywords_and_labels() -> None:
    texts = [f"text number {number // 3} of those that are here" for number in range(300)]
    rows = [(f"key{number}", text.upper() if number % 3 else f" {text} ") for number, text in enumerate(texts)]

    fold_of = folds_of(rows, [number % 2 for number in range(300)], N_FOLDS=5)

    assert (fold_of.reshape(100, 3) == fold_of.reshape(100, 3)[:, :1]).all()
    assert np.bincount(fold_of).tolist() == [60] * 5


def test_pairs_that_share_one_text_are_different_pairs() -> None:
    rows = [("the question that all of them share", f"answer {number} to the question") for number in range(100)]

    assert np.bincount(folds_of(rows, [0, 1] * 50, N_FOLDS=5)).tolist() == [20] * 5
