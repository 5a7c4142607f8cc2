"""Folds and predictions: every row once, every prediction with its id, the best epoch by the metric."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from notebook_session import (
    Mirror,
    Notebook,
    Sessions,
    Shops,
    Trained,
    names_below,
    of_shops,
    read_table,
    shop_task,
    write_shops,
)

from generator.competition.facts import SubmissionKind

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)


def test_every_row_is_judged_once_by_a_model_that_has_not_seen_it(sessions: Sessions, shops: Mirror) -> None:
    folds = 5
    written = write_shops(shops.competition)
    train, infer = of_shops("tensorflow", "train"), of_shops("tensorflow", "infer")

    ended = sessions.run(
        train, shops.parameters(train, FOLDS=folds), look="[[int(row) for row in fold_of_row], histories]"
    )

    assert ended.is_done, ended
    fold_of_row, histories = ended.seen
    assert len({json.dumps([epoch["loss"] for epoch in history]) for history in histories}) == folds
    weights = [f"fold{fold}.weights.h5" for fold in range(folds)]
    assert [name for name in names_below(shops.working) if name.endswith(".h5")] == weights
    header, *lines = read_table(shops.working / "oof.csv")
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    ids, labels = [row[0] for row in written.training], {row[0]: row[-1] for row in written.training}
    assert set(header) == {"id", "size", "rent", "town", "thrives", "fold", "predicted", "probability"}
    assert Counter(row["id"] for row in rows) == dict.fromkeys(ids, 1)
    assert {row["id"]: row["thrives"] for row in rows} == labels
    assert {row["id"]: int(row["fold"]) for row in rows} == dict(zip(ids, fold_of_row, strict=True))
    chances = {
        row["id"]: float(row["probability"]) if row["predicted"] == "1" else 1 - float(row["probability"])
        for row in rows
    }
    handoff = json.loads((shops.working / "handoff.json").read_text())
    assert handoff["out_of_fold"]["score"] == pytest.approx(area_under_curve(chances, labels), abs=1e-3)
    assert handoff["out_of_fold"]["rows"] == 80

    shops.working.rename(shops.root / "train")
    look = "[predictions.tolist(), [predict_fold(member, features).tolist() for member in passes]]"
    ended = sessions.run(infer, shops.parameters(infer), look=look)
    assert ended.is_done, ended
    averaged, single = ended.seen
    assert len(single) == folds
    for row in range(21):
        expected = [sum(model[row][index] for model in single) / folds for index in range(2)]
        assert averaged[row] == pytest.approx(expected, abs=1e-5)


def area_under_curve(chances: dict[str, float], labels: dict[str, str]) -> float:
    """The share of pairs of one row of each class that are in order."""
    goods, bads = ([chance for name, chance in chances.items() if labels[name] == kind] for kind in "10")
    return sum((good > bad) + (good == bad) / 2 for good in goods for bad in bads) / len(goods) / len(bads)


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_a_prediction_belongs_to_its_id_and_not_to_its_place_or_batch(
    sessions: Sessions, trained: Trained, tmp_path: Path, framework: str
) -> None:
    mirror = trained.mirror(framework, tmp_path / "mirror", slug="shops")
    infer = of_shops(framework, "infer")
    first = sessions.run(infer, mirror.parameters(infer))
    assert first.is_done, first
    _, *in_order = read_table(mirror.working / "submission.csv")
    reversed_ids = [name for name, _ in reversed(in_order)]
    Shops(mirror.competition, [], []).write_sample(reversed_ids)

    second = sessions.run(infer, mirror.parameters(infer, BATCH_SIZE=8, SUBMISSION_FILE="other.csv"))

    assert second.is_done, second
    _, *turned = read_table(mirror.working / "other.csv")
    assert [name for name, _ in turned] == reversed_ids
    chances = {name: float(chance) for name, chance in in_order}
    assert len(set(chances.values())) == 21
    assert {name: float(chance) for name, chance in turned} == pytest.approx(chances, abs=1e-5)


def test_no_further_pass_begins_that_would_end_too_late(sessions: Sessions, trained: Trained, tmp_path: Path) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror", slug="shops")
    infer = of_shops("tensorflow", "infer")
    hurried = mirror.parameters(infer, SESSION_HOURS=1.0, RESERVE_MINUTES=59.99)

    ended = sessions.run(infer, hurried, look="[len(passes), len(seconds), len(predictions)]")

    assert ended.is_done, ended
    assert ended.seen == [2, 1, 21]
    assert "There is no time for 1 of 2 passes." in ended.said("predict-test")
    assert len(read_table(mirror.working / "submission.csv")) == 22


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("submission.iloc[:-1]", "The submission is (20, 2), the sample (21, 2)."),
        ("submission.iloc[::-1]", "The submission does not have the ids of the sample, row by row."),
        ("submission.assign(thrives=float('nan'))", "thrives has values that are no probabilities."),
        ("submission.assign(thrives=1.5)", "thrives has values that are no probabilities."),
        ("submission[['thrives', 'id']]", "The submission is (21, 2), the sample (21, 2)."),
    ],
)
def test_a_submission_that_could_not_be_scored_never_gets_its_name(
    sessions: Sessions, trained: Trained, tmp_path: Path, wrong: str, problem: str
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror", slug="shops")
    edit = {"join-by-id": lambda cell: cell.replace("submission.head()", f"submission = {wrong}")}
    infer = of_shops("tensorflow", "infer", edit)

    ended = sessions.run(infer, mirror.parameters(infer))

    assert (ended.cell, ended.error) == ("write-submission", f"ValueError: {problem}")
    assert "submission.csv" not in names_below(mirror.working)


@pytest.mark.parametrize(
    ("metric", "submission", "best"),
    [("accuracy", SubmissionKind.LABEL, max), ("log_loss", SubmissionKind.PROBABILITY, min)],
)
def test_the_epoch_handed_over_is_the_best_by_the_competitions_metric(
    sessions: Sessions,
    mirror: Mirror,
    metric: str,
    submission: SubmissionKind,
    best: Callable[[list[float]], float],
) -> None:
    write_shops(mirror.competition)
    task = replace(shop_task(), metric=metric, submission=submission)
    train = Notebook("tensorflow", "train", task=task)
    parameters = mirror.parameters(train, EPOCHS=6, FOLDS=1, MEMBERS=2, LEARNING_RATE=0.3)

    ended = sessions.run(train, parameters, look="[histories[0], int(best_epoch(histories[0]))]")

    assert ended.is_done, ended
    history, best_epoch = ended.seen
    scores = [epoch["score"] for epoch in history]
    printed = re.findall(rf"{metric} held out (\S+),", ended.said("train"))
    assert printed == [f"{score:.4f}" for score in scores]
    assert scores[best_epoch - 1] == best(scores)
    assert scores[-1] != best(scores) or scores[0] != best(scores)
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert handoff["folds"][0]["score"] == best(scores)
    assert handoff["folds"][0]["best_epoch"] == best_epoch
    assert handoff["out_of_fold"]["score"] == pytest.approx(best(scores), rel=1e-4)


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_a_loss_that_is_no_number_stops_training_with_what_to_change(
    sessions: Sessions, shops: Mirror, framework: str
) -> None:
    write_shops(shops.competition)
    train = of_shops(framework, "train")

    ended = sessions.run(train, shops.parameters(train, LEARNING_RATE=1e30, EPOCHS=3))

    assert ended.cell == "train"
    assert ended.error == (
        "FloatingPointError: The loss is nan. Lower LEARNING_RATE, raise WARMUP_EPOCHS, or set PRECISION to float32."
    )
    assert "handoff.json" not in names_below(shops.working)
