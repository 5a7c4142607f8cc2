"""Folds, views and the submission: every row once, every prediction with its id, every file with its bytes."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from notebook_session import Digits, Mirror, Notebook, Sessions, Trained, names_below, read_table, write_digits

from generator.competition import builtin
from generator.competition.facts import SubmissionKind

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)


def test_every_row_is_judged_once_by_a_model_that_has_not_seen_it(sessions: Sessions, mirror: Mirror) -> None:
    folds = 5
    digits = write_digits(mirror.competition)
    train, infer = Notebook("tensorflow", "train"), Notebook("tensorflow", "infer")

    ended = sessions.run(
        train,
        mirror.parameters(train, FOLDS=folds),
        look="[[int(row) for row in fold_of_row], {fold: history['history'] for fold, history in progress.items()}]",
    )

    assert ended.is_done, ended
    fold_of_row, histories = ended.seen
    assert len({json.dumps(history) for history in histories.values()}) == folds
    weights = [f"fold{fold}.weights.h5" for fold in range(folds)]
    assert [name for name in names_below(mirror.working) if name.endswith(".h5")] == weights
    header, *lines = read_table(mirror.working / "oof.csv")
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    assert set(header) == {"id", "file", "label", "fold", "predicted", "probability"}
    assert Counter(row["id"] for row in rows) == dict.fromkeys(digits.labels, 1)
    assert {row["id"]: row["file"] for row in rows} == {name: f"{name}.png" for name in digits.labels}
    assert {row["id"]: row["label"] for row in rows} == digits.labels
    assert {row["id"]: int(row["fold"]) for row in rows} == dict(zip(digits.labels, fold_of_row, strict=True))
    right = sum(row["label"] == row["predicted"] for row in rows) / len(rows)
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert handoff["out_of_fold"]["score"] == pytest.approx(right)
    assert handoff["out_of_fold"]["rows"] == 80

    mirror.working.rename(mirror.root / "train")
    each = "[predict(model, items, prepared, global_batch).tolist() for model, prepared in models]"
    look = f"[predictions.tolist(), {each}]"
    ended = sessions.run(infer, mirror.parameters(infer), look=look)
    assert ended.is_done, ended
    averaged, single = ended.seen
    assert len(single) == folds
    expected = [sum(model[0][index] for model in single) / folds for index in range(10)]
    assert averaged[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_a_prediction_belongs_to_its_id_and_not_to_its_place_or_batch(
    sessions: Sessions, trained: Trained, tmp_path: Path, framework: str
) -> None:
    mirror = trained.mirror(framework, tmp_path / "mirror")
    infer = Notebook(framework, "infer")
    look = "dict(zip(ids, predictions.tolist()))"
    first = sessions.run(infer, mirror.parameters(infer), look=look)
    assert first.is_done, first
    _, *in_order = read_table(mirror.working / "submission.csv")
    reversed_ids = [name for name, _ in reversed(in_order)]
    Digits(mirror.competition, {}, {}).write_sample(reversed_ids)

    second = sessions.run(infer, mirror.parameters(infer, BATCH_SIZE=8, SUBMISSION_FILE="other.csv"), look=look)

    assert second.is_done, second
    _, *turned = read_table(mirror.working / "other.csv")
    assert [name for name, _ in turned] == reversed_ids
    assert dict(turned) == dict(in_order)
    for name, probabilities in first.seen.items():
        assert second.seen[name] == pytest.approx(probabilities, abs=1e-5)


def test_test_time_augmentation_averages_views_that_differ_and_repeat(
    sessions: Sessions, trained: Trained, tmp_path: Path
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    infer = Notebook("tensorflow", "infer")
    one = "predict(models[0][0], items, models[0][1], global_batch, view, handoff['augmentation'])"
    views = f"[{one}.tolist() for view in (0, 1)]"
    runs = [
        sessions.run(infer, mirror.parameters(infer, TTA=2), look=f"[predictions.tolist(), *{views}]") for _ in range(2)
    ]

    assert runs[0].is_done, runs[0]
    assert runs[0].seen == runs[1].seen
    averaged, plain, augmented = runs[0].seen
    assert plain != augmented
    for row in range(21):
        expected = [(one + other) / 2 for one, other in zip(plain[row], augmented[row], strict=True)]
        assert averaged[row] == pytest.approx(expected, abs=1e-5)


def test_no_further_pass_begins_that_would_end_too_late(sessions: Sessions, trained: Trained, tmp_path: Path) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    infer = Notebook("tensorflow", "infer")
    hurried = mirror.parameters(infer, TTA=3, SESSION_HOURS=1.0, RESERVE_MINUTES=59.99)

    ended = sessions.run(infer, hurried, look="[passes, len(predictions)]")

    assert ended.is_done, ended
    assert ended.seen == [1, 21]


@pytest.mark.parametrize(
    ("label", "names"),
    [("0.5", tuple("0123456789")), ("7", tuple(f"00{digit}" for digit in range(10))), ("3", tuple("abcdefghij"))],
)
def test_labels_are_written_in_the_kind_of_the_sample(
    sessions: Sessions, mirror: Mirror, label: str, names: tuple[str, ...]
) -> None:
    digits = write_digits(mirror.competition, per_class=3, names=names)
    digits.write_sample(list(digits.answers), label=label)
    train, infer = Notebook("tensorflow", "train"), Notebook("tensorflow", "infer")
    assert sessions.run(train, mirror.parameters(train)).is_done
    mirror.working.rename(mirror.root / "train")

    ended = sessions.run(infer, mirror.parameters(infer))

    assert ended.is_done, ended
    written = {label for _, label in read_table(mirror.working / "submission.csv")[1:]}
    assert written <= {f"{name}.0" if label == "0.5" else name for name in names}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("submission.iloc[:-1]", "it has 20 rows, the sample 21"),
        ("submission.iloc[::-1]", "its ids are not the sample's, row by row"),
        ("submission.assign(label='')", "some rows have no label"),
        ("submission.assign(label=11)", "label has a value that is no class of the training examples"),
        ("submission.assign(label=0.5)", "label has a value that is no class of the training examples"),
        ("submission[['label', 'id']]", "its columns are ['label', 'id'], the sample's ['id', 'label']"),
    ],
)
def test_a_submission_that_could_not_be_scored_never_gets_its_name(
    sessions: Sessions, trained: Trained, tmp_path: Path, wrong: str, problem: str
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror")
    edit = {"answers-joined": lambda cell: cell.replace("submission.head()", f"submission = {wrong}")}
    infer = Notebook("tensorflow", "infer", edit)

    ended = sessions.run(infer, mirror.parameters(infer))

    assert (ended.cell, ended.error) == (
        "write-submission",
        f"ValueError: The submission could not be scored: {problem}.",
    )
    assert "submission.csv" not in names_below(mirror.working)


def test_a_smoke_test_with_a_backbone_predicts_a_few_rows_and_keeps_the_others(
    sessions: Sessions, mirror: Mirror
) -> None:
    digits = write_digits(mirror.competition, test_rows=70)
    digits.write_sample(list(digits.answers), label="7")
    train, infer = Notebook("tensorflow", "train"), Notebook("tensorflow", "infer")
    backbone = {"BACKBONE": "mobilenetv3-small", "IMAGE_SIZE": 32}
    ended = sessions.run(train, mirror.parameters(train, SMOKE_TEST=True, **backbone))
    assert ended.is_done, ended
    mirror.working.rename(mirror.root / "train")

    ended = sessions.run(infer, mirror.parameters(infer, SMOKE_TEST=True), look="len(items['path'])")

    assert ended.is_done, ended
    assert ended.seen == 64
    _, *rows = read_table(mirror.working / "submission.csv")
    assert [name for name, _ in rows] == list(digits.answers)
    assert {label for _, label in rows[64:]} == {"7"}
    assert {label for _, label in rows[:64]} <= set("0123456789")


@pytest.mark.parametrize(
    ("metric", "submission", "best"),
    [("accuracy", SubmissionKind.LABEL, max), ("log_loss", SubmissionKind.CLASS_COLUMNS, min)],
)
def test_the_epoch_handed_over_is_the_best_by_the_competitions_metric(
    sessions: Sessions,
    mirror: Mirror,
    metric: str,
    submission: SubmissionKind,
    best: Callable[[list[float]], float],
) -> None:
    write_digits(mirror.competition)
    task = replace(builtin.require("digits").task, metric=metric, submission=submission)
    train = Notebook("tensorflow", "train", task=task)

    ended = sessions.run(train, mirror.parameters(train, EPOCHS=5, LEARNING_RATE=0.03), look="progress[0]")

    assert ended.is_done, ended
    scores = ended.seen["history"]["score"]
    printed = re.findall(rf"{metric} held out (\S+),", ended.said("train"))
    assert printed == [f"{score:.4f}" for score in scores]
    assert scores[ended.seen["best_epoch"] - 1] == best(scores)
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert handoff["folds"][0]["score"] == best(scores)
    assert handoff["out_of_fold"]["score"] == pytest.approx(best(scores), rel=1e-4)


def test_a_loss_that_is_no_number_stops_training_with_its_fold_and_epoch(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition, per_class=3)
    train = Notebook("tensorflow", "train")

    ended = sessions.run(train, mirror.parameters(train, LEARNING_RATE=1e30, EPOCHS=3))

    assert ended.cell == "train"
    assert ended.error.startswith("FloatingPointError: Fold 0, epoch ")
    assert "Lower LEARNING_RATE (1e+30)" in ended.error
    assert "handoff.json" not in names_below(mirror.working)
