"""The family `text`: any script, one text or two, numbers beside them; classes, labels and numbers to predict."""

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from notebook_session import Mirror, Notebook, Sessions, read_table, rendered_cells

from generator.competition.facts import SubmissionKind, TargetKind, Task

pytest_plugins = ("notebook_session",)

DETAILS = {"number_columns": [], "sequence_length": 128, "batch_size": 8, "epochs": 2}
CLASSES = Task(
    family="text",
    metric="accuracy",
    target_kind=TargetKind.CLASS,
    submission=SubmissionKind.LABEL,
    id_column="id",
    targets=("label",),
    train_table="train.csv",
    labels_table="",
    test_table="test.csv",
    sample_submission="sample_submission.csv",
    details=DETAILS | {"text_columns": ["text"]},
)
NUMBERS = Task(
    family="text",
    metric="rmse",
    target_kind=TargetKind.NUMBER,
    submission=SubmissionKind.NUMBERS,
    id_column="id",
    targets=("score",),
    train_table="train.csv",
    labels_table="",
    test_table="test.csv",
    sample_submission="sample_submission.csv",
    details=DETAILS | {"text_columns": ["question", "answer"], "number_columns": ["votes"]},
)
LABELS = Task(
    family="text",
    metric="auc_mean_columns",
    target_kind=TargetKind.LABELS,
    submission=SubmissionKind.NUMBERS,
    id_column="id",
    targets=("warm", "loud"),
    train_table="train.csv",
    labels_table="",
    test_table="test.csv",
    sample_submission="sample_submission.csv",
    details=DETAILS | {"text_columns": ["text"]},
)
TASKS = {"classes": CLASSES, "numbers": NUMBERS, "labels": LABELS}


@pytest.fixture
def cells() -> Callable[..., dict[str, Any]]:
    """Executes the cells that turn texts into numbers, which need no framework, and returns what they define."""
    import numpy as np
    import pandas as pd

    def run(texts: list[Any], task: str = "classes", votes: tuple[float | None, ...] = (), **parameters: Any) -> Any:
        names: dict[str, Any] = {"np": np, "pd": pd, "fit_target": lambda rows: {}}
        source = rendered_cells("keras", "train", TASKS[task])
        exec(source["parameters"], names)  # noqa: S102 - the cells are what is tested
        names |= parameters
        columns = names["TEXT_COLUMNS"]
        rows = [dict(zip(columns, [text] if isinstance(text, str) else text, strict=True)) for text in texts]
        names["table"] = pd.DataFrame(rows).assign(**({"votes": votes} if votes else {}))
        for name in (
            "items-of-table",
            "check-texts",
            "split-words",
            "split-word",
            "text-encoder",
            "pairs",
            "model-inputs",
        ):
            exec(source[name], names)  # noqa: S102 - the cells are what is tested
        names["items"] = names["items_of"](names["table"])
        names["all_rows"] = np.arange(len(texts))
        for name in ("fit-vocabulary", "fit-rarity", "fit-numbers", "fit-preprocessing"):
            exec(source[name], names)  # noqa: S102 - the cells are what is tested
        return names

    return run


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
def test_words_of_any_script_are_told_apart(cells: Callable[..., Any], text: str, words: list[str]) -> None:
    assert cells(["some text"])["split_words"](text, lowercase=True) == words


def test_a_word_that_was_never_seen_is_read_by_its_longest_pieces(cells: Callable[..., Any]) -> None:
    split_word = cells(["some text"])["split_word"]
    index = {"re": 3, "r": 4, "##read": 5, "##r": 6, "##e": 7, "##er": 8, "reader": 9}

    assert split_word("reader", index) == [9]
    assert split_word("rereader", index) == [3, 5, 8]
    assert split_word("r☃e", index) == [4, 1, 7]
    assert len(split_word("☃" * 10_000, index)) == 16


def test_of_several_texts_the_longest_are_cut_first_and_all_are_there(cells: Callable[..., Any]) -> None:
    names = cells([("b " * 300, "a " * 4), ("a b", "b " * 300)], task="numbers", votes=(1, 2))
    fitted = names["fit_preprocessing"](names["all_rows"])
    a, b = (fitted["vocabulary"].index(word) for word in "ab")

    tokens = names["text_encoder"](fitted)(names["items"]["text"]).tolist()

    assert tokens[0] == [b] * 123 + [2] + [a] * 4
    assert tokens[1] == [a, b, 2] + [b] * 125
    three = names["cut_longest"]([[3] * 300, [4] * 10, [5] * 200], 128)
    assert [len(text) for text in three] == [58, 10, 58]


def test_the_vocabulary_knows_nothing_of_the_rows_held_out(cells: Callable[..., Any]) -> None:
    names = cells(["seen words seen words"] * 3 + ["secret secret secret"] * 3)

    fitted = names["fit_preprocessing"](names["all_rows"][:3])

    assert {"seen", "words"} <= set(fitted["vocabulary"])
    assert not {"secret", "##ecret", "##cret", "c", "##c"} & set(fitted["vocabulary"])
    assert len(fitted["pairs"]) == 2  # "seen words", "words seen"


def test_preprocessing_means_the_same_after_it_has_travelled_as_json(cells: Callable[..., Any]) -> None:
    texts = [(f"word{number} is here", "東京 ☃") for number in range(20)]
    names = cells(texts, task="numbers", votes=tuple(range(20)))
    fitted = names["fit_preprocessing"](names["all_rows"])

    here = names["input_maker"](fitted)(names["items"])
    there = names["input_maker"](json.loads(json.dumps(fitted)))(names["items"])

    assert {name: array.dtype.name for name, array in here.items()} == {
        "tokens": "int32",
        "pairs": "int32",
        "weights": "float32",
        "numbers": "float32",
    }
    assert all((here[name] == there[name]).all() for name in here)


def test_rare_words_weigh_more_and_an_empty_text_weighs_nothing(cells: Callable[..., Any]) -> None:
    names = cells(["common rare", "common", "common", "rare", "common", ""])
    fitted = names["fit_preprocessing"](names["all_rows"])

    inputs = names["input_maker"](fitted)(names["items"])

    common, rare = inputs["weights"][0, :2]
    assert rare > common > 0
    assert (inputs["weights"][0, 2:128] == 0).all()
    assert (inputs["weights"][0] ** 2).sum() == pytest.approx(1)
    assert inputs["pairs"][0, 0] > 0
    assert not inputs["weights"][5].any()
    assert not inputs["tokens"][5].any()


def test_numbers_beside_a_text_are_standardised_and_missing_ones_are_average(cells: Callable[..., Any]) -> None:
    names = cells([("a", "b")] * 4, task="numbers", votes=(1.0, 3.0, None, 1e9))
    fitted = names["fit_preprocessing"](names["all_rows"][:3])

    assert names["input_maker"](fitted)(names["items"])["numbers"].ravel().tolist() == [-1, 1, 0, 8]


def test_missing_texts_are_counted_and_nothing_but_missing_ones_is_an_error(
    cells: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    names = cells(["a text", "", "  "])
    names["check_texts"](names["items"]["text"])
    assert "2 of 3 texts are missing or empty." in capsys.readouterr().out

    names = cells(["", ""])
    with pytest.raises(ValueError, match=r"^All texts are empty\. Check TEXT_COLUMNS, which are \['text'\]\.$"):
        names["check_texts"](names["items"]["text"])


def write_table(path: Path, header: list[str], rows: list[list[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def write_competition(folder: Path, task: str) -> dict[str, list[float]]:
    """Writes a competition in which a few words decide; returns what is right for the test, by id."""
    draw = random.Random(7)  # noqa: S311
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
    write_table(folder / "train.csv", ["id", *header, *targets], rows[:120])
    write_table(folder / "test.csv", ["id", *header], [row[: 1 + len(header)] for row in reversed(test)])
    blank = ["cold"] if task == "classes" else [0.5] * len(targets)
    write_table(folder / "sample_submission.csv", ["id", *targets], [[row[0], *blank] for row in test])
    return {str(row[0]): row[1 + len(header) :] for row in test}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "framework"),
    [("classes", "tensorflow"), ("numbers", "keras"), ("labels", "tensorflow")],
)
def test_a_pair_learns_what_decides_and_gives_every_id_its_prediction(
    sessions: Sessions, mirror: Mirror, task: str, framework: str
) -> None:
    right = write_competition(mirror.competition, task)
    train, infer = (Notebook(framework, role, task=TASKS[task]) for role in ("train", "infer"))
    small = {"WIDTH": 64, "LAYERS": 1, "EPOCHS": 12, "LEARNING_RATE": 0.02, "LINEAR_STEP": 20.0}

    ended = sessions.run(train, mirror.parameters(train, **small))
    assert ended.is_done, ended
    mirror.working.rename(mirror.root / "train")
    ended = sessions.run(infer, mirror.parameters(infer, TTA=2))
    assert ended.is_done, ended

    _, *rows = read_table(mirror.working / "submission.csv")
    assert [row[0] for row in rows] == list(right)
    if task == "classes":
        hits = sum([row[1]] == right[row[0]] for row in rows)
    else:
        middle = 2.5 if task == "numbers" else 0.5
        hits = sum((float(row[1]) > middle) == bool(right[row[0]][0]) for row in rows)
    assert hits >= 0.9 * len(rows)


@pytest.mark.slow
def test_a_view_lacks_words_of_its_own_choice_and_is_the_same_every_time(sessions: Sessions, mirror: Mirror) -> None:
    write_competition(mirror.competition, "classes")
    train = Notebook("tensorflow", "train", task=CLASSES)
    views = (
        "[[batch['tokens'].numpy().tolist() for batch in batches_in_order("
        "select(items, np.arange(20)), some_preprocessing, 8, view, {'share': 0.5})] for view in (0, 1, 1, 2)]"
    )

    ended = sessions.run(train, mirror.parameters(train), until="items", look=views)

    assert ended.is_done, ended
    plain, first, again, second = ended.seen
    assert first == again
    assert first != second
    assert [len(batch) for batch in plain] == [8, 8, 8]
    assert plain[2][4:] == plain[0][:4]
    hidden = sum(
        a != b
        for rows in zip(plain, first, strict=True)
        for row in zip(*rows, strict=True)
        for a, b in zip(*row, strict=True)
    )
    words = sum(token > 2 for batch in plain for row in batch for token in row)
    assert hidden / words == pytest.approx(0.5, abs=0.15)
