"""Training keeps the best epoch by the competition's own metric, and its score."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

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

    optimism = sum(optimism_of(entry["history"], max) for entry in handoff["folds"]) / len(handoff["folds"])
    assert handoff["out_of_fold"]["score"] == pytest.approx(area_under_curve(chances, labels) - optimism, abs=1e-3)


def optimism_of(history: list[dict[str, Any]], best: Callable[[Any], Any]) -> float:
    """What the choice of an epoch by half of the rows gains there over that of the other half, by the root of 2."""
    first, second = (best(reversed(history), key=lambda epoch: epoch["halves"][half])["halves"] for half in (0, 1))
    return float(first[0] - second[0] + second[1] - first[1]) / 2 / 2**0.5


def area_under_curve(chances: dict[str, float], labels: dict[str, str]) -> float:
    """The share of pairs of one row of each class that are in order."""
    goods, bads = ([chance for name, chance in chances.items() if labels[name] == kind] for kind in "10")
    return sum((good > bad) + (good == bad) / 2 for good in goods for bad in bads) / len(goods) / len(bads)


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

    ended = sessions.finished(train, parameters, look="[histories[0], best_epoch(histories[0])['best_epoch']]")
    history, best_epoch = ended.seen
    scores = [epoch["score"] for epoch in history]
    printed = re.findall(rf"{metric} held out (\S+),", ended.said("train"))
    assert printed == [f"{score:.4f}" for score in scores]
    assert scores[best_epoch - 1] == best(scores)
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    honest = best(scores) - optimism_of(history, best)
    assert handoff["folds"][0]["history"] == history
    assert handoff["folds"][0]["score"] == pytest.approx(honest)
    assert handoff["folds"][0]["best_epoch"] == best_epoch
    assert handoff["out_of_fold"]["score"] == pytest.approx(honest, rel=1e-4)


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_a_loss_that_is_no_number_stops_training_with_what_to_change(
    sessions: Sessions, shops: Mirror, framework: str
) -> None:
    write_shops(shops.competition)
    train = of_shops(framework, "train")

    ended = sessions.run(train, shops.parameters(train, LEARNING_RATE=1e30, EPOCHS=3))

    assert ended.cell == "train"
    assert ended.error == "FloatingPointError: The loss is nan. Lower LEARNING_RATE (1e+30)."
    assert "handoff.json" not in names_below(shops.working)
