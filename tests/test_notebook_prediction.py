"""Training keeps the last epoch, and its score is what anybody computes from `oof.csv`."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from notebook_competitions import shop_task, write_shops
from notebook_session import Mirror, Notebook, Sessions, Trained, names_below, of_shops, read_table

from generator.competition.facts import SubmissionKind

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)


def test_the_score_is_that_of_the_predictions_in_the_table_and_each_row_has_its_own(
    trained: Trained, tmp_path: Path
) -> None:
    mirror = trained.mirror("tensorflow", tmp_path / "mirror", slug="shops")
    output = mirror.output_of_training("tensorflow")
    header, *lines = read_table(output / "oof.csv")
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    sure = {row["id"]: float(row["probability"]) for row in rows}
    chances = {row["id"]: sure[row["id"]] if row["predicted"] == "1" else 1 - sure[row["id"]] for row in rows}
    labels = {row[0]: row[-1] for row in read_table(mirror.competition / "train.csv")[1:]}

    handoff = json.loads((output / "handoff.json").read_text())

    assert handoff["out_of_fold"]["score"] == pytest.approx(area_under_curve(chances, labels), abs=1e-4)


def area_under_curve(chances: dict[str, float], labels: dict[str, str]) -> float:
    """The share of pairs of one row of each class that are in order."""
    goods, bads = ([chance for name, chance in chances.items() if labels[name] == kind] for kind in "10")
    return sum((good > bad) + (good == bad) / 2 for good in goods for bad in bads) / len(goods) / len(bads)


def test_the_last_epoch_is_handed_over_although_an_earlier_one_scored_better(
    sessions: Sessions, mirror: Mirror
) -> None:
    write_shops(mirror.competition)
    task = replace(shop_task(), metric="log_loss", submission=SubmissionKind.PROBABILITY)
    spoil = {"schedule": lambda cell: cell.replace("title =", "learning_rates[-steps_per_epoch:] = 9.0\ntitle =")}
    train = Notebook("tensorflow", "train", spoil, task=task)
    parameters = mirror.parameters(train, EPOCHS=4, N_FOLDS=1)

    ended = sessions.finished(train, parameters, look="run.histories[0]")

    scores = [epoch["score"] for epoch in ended.seen]
    assert re.findall(r"val_log_loss (\S+),", ended.said("train")) == [f"{score:.4f}" for score in scores]
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert min(scores) < scores[-1]
    assert handoff["folds"][0]["history"] == ended.seen
    assert handoff["folds"][0]["score"] == scores[-1]
    assert handoff["out_of_fold"]["score"] == pytest.approx(scores[-1], rel=1e-4)


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_a_loss_that_is_no_number_stops_training_with_what_to_change(
    sessions: Sessions, shops: Mirror, framework: str
) -> None:
    write_shops(shops.competition)
    train = of_shops(framework, "train")

    ended = sessions.run(train, shops.parameters(train, LEARNING_RATE=1e30, EPOCHS=3))

    assert ended.cell == "train"
    assert ended.error == "FloatingPointError: The loss is nan. Try a lower LEARNING_RATE."
    assert "handoff.json" not in names_below(shops.working)
