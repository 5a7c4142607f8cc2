"""The decisions: that what is tuned out-of-fold is better than the obvious, survives JSON, and is quick enough."""

import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from generator.competition.metrics import METRICS, function_of, parse_metric
from generator.kit_files import template_folder
from generator.pair.notebook import CellKind, parse_percent_cells
from generator.pair.rendering import jinja_environment

DECISIONS = ["grades", "mask_threshold", "rounding", "threshold", "thresholds"]  # that are tuned
GRADES = ["1", "2", "3", "4", "5", "6"]


def rendered(name: str, part: str, classes: int = 0) -> str:
    """The cells of a part of a decision where the survey saw so many classes; 0 if it does not know."""
    template = jinja_environment(template_folder()).get_template(f"decisions/{name}.py.j2#{part}")
    return template.render(pair=SimpleNamespace(class_count=classes))


def decision(name: str, metric: str, classes: int = 0, names: Sequence[str] = GRADES) -> SimpleNamespace:
    """The functions of a decision as a training notebook has them, and `score` of a decision that went over JSON."""
    texts = [rendered(name, part, classes) for part in ("decide", "tune")]
    known: dict[str, Any] = {
        "np": np,
        "pd": pd,
        "classes": list(names),
        "competition_metric": function_of(metric),
        "HIGHER_IS_BETTER": parse_metric(metric)[0].higher_is_better,
    }
    for cell in (cell for text in texts for cell in parse_percent_cells(text) if cell.kind is CellKind.CODE):
        exec(cell.source, known)  # noqa: S102 - the cells of the notebook are what is tested

    def score(truth: Any, predictions: Any, chosen: dict[str, Any]) -> float:
        return float(known["competition_metric"](truth, known["decide"](predictions, json.loads(json.dumps(chosen)))))

    return SimpleNamespace(**known, tune=known["tune_decision"], score=score)


def binary(rows: int, share: float, seed: int = 0) -> tuple[Any, Any]:
    """Classes of which the positive one is rare, and calibrated probabilities [rows, 2] that tell them apart a bit."""
    random = np.random.default_rng(seed)
    positive = random.beta(0.3, 0.3 * (1 - share) / share, rows)
    truth = (random.random(rows) < positive).astype("int32")
    return truth, np.stack([1 - positive, positive], axis=1).astype("float32")


def labels(rows: int, shares: list[float], seed: int = 0) -> tuple[Any, Any]:
    columns = [binary(rows, share, seed + index) for index, share in enumerate(shares)]
    truth = np.stack([truth for truth, _ in columns], axis=1).astype("float32")
    return truth, np.stack([predictions[:, 1] for _, predictions in columns], axis=1)


def shrunken_grades(rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Grades from 0 to 4, the middle ones common, and predictions as a regression makes them: too near the mean."""
    random = np.random.default_rng(seed)
    truth = np.clip(random.normal(2.2, 1.2, (rows, 1)).round(), 0, 4)
    return truth.astype("float32"), (1.3 + 0.45 * truth + random.normal(0, 0.3, (rows, 1))).astype("float32")


def graded(rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Indices of six grades, the middle ones common, and calibrated probabilities [rows, 6]."""
    random = np.random.default_rng(seed)
    truth = np.clip(random.normal(2.5, 1.2, rows).round(), 0, 5).astype("int32")
    hints = truth + random.normal(0, 1.3, rows)
    likely = np.bincount(truth) * np.exp(-((hints[:, None] - np.arange(6)) ** 2) / (2 * 1.3**2))
    return truth, (likely / likely.sum(axis=1, keepdims=True)).astype("float32")


@pytest.mark.slow
@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize("metric", ["f1", "f1_macro", "f_beta@2", "mcc"])
def test_a_tuned_threshold_beats_one_half_where_positives_are_rare(metric: str, classes: int) -> None:
    cells = decision("threshold", metric, classes)
    tuned_on, judged_on = binary(20_000, share=0.02), binary(20_000, share=0.02, seed=1)

    chosen = cells.tune(*tuned_on)

    assert cells.score(*judged_on, chosen) > cells.score(*judged_on, {"threshold": 0.5}) + 0.02


def test_a_threshold_is_found_among_the_top_thousandth() -> None:
    truth = np.zeros(100_000, "int32")
    truth[:60] = 1
    positive = np.where(truth == 1, 0.03, np.linspace(0, 0.029, 100_000))
    predictions = np.stack([1 - positive, positive], axis=1)
    cells = decision("threshold", "f1")

    assert cells.score(truth, predictions, cells.tune(truth, predictions)) == 1.0


def test_of_equal_thresholds_the_one_nearest_to_one_half_is_taken() -> None:
    truth, positive = np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.8, 0.9])

    assert decision("threshold", "f1").tune(truth, np.stack([1 - positive, positive], axis=1)) == {"threshold": 0.5}


@pytest.mark.parametrize("truth", [0, 1])
def test_one_class_only_has_a_threshold_all_the_same(truth: int) -> None:
    predictions = binary(50, share=0.3)[1]
    chosen = decision("threshold", "f1").tune(np.full(50, truth), predictions)

    assert 0 <= chosen["threshold"] <= 1


def test_more_than_two_classes_have_no_threshold_but_the_likeliest() -> None:
    cells = decision("threshold", "f1_macro")
    predictions = np.array([[0.2, 0.5, 0.3], [0.4, 0.3, 0.3]])

    assert cells.tune(np.array([1, 0]), predictions) == {}
    assert cells.decide(predictions, {}).tolist() == [1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["f1_macro", "f1_samples", "f1_micro"])
def test_thresholds_of_labels_beat_one_half_and_one_for_all(metric: str) -> None:
    cells = decision("thresholds", metric)
    shares = [0.5, 0.3, 0.04, 0.01]
    tuned_on, judged_on = labels(10_000, shares), labels(10_000, shares, seed=10)

    chosen = cells.tune(*tuned_on)
    plain = cells.score(*judged_on, {"thresholds": [0.5] * 4})
    shared = cells.score(*judged_on, {"thresholds": [cells.shared_threshold(*tuned_on)] * 4})

    assert len(chosen["thresholds"]) == 4
    assert cells.score(*judged_on, chosen) > max(plain, shared - 0.005)
    assert metric != "f1_macro" or cells.score(*judged_on, chosen) > max(plain + 0.1, shared + 0.01)


@pytest.mark.slow
def test_a_label_without_examples_takes_the_shared_threshold() -> None:
    truth, predictions = labels(2_000, [0.4, 0.1, 0.1])
    truth[:, 2] = 0
    cells = decision("thresholds", "f1_macro")

    thresholds = cells.tune(truth, predictions)["thresholds"]

    assert thresholds[0] != thresholds[2] == cells.shared_threshold(truth, predictions)
    assert len(set(cells.tune(np.zeros_like(truth), predictions)["thresholds"])) == 1


def test_many_labels_share_one_threshold() -> None:
    truth, predictions = labels(500, [0.1] * 60)

    assert len(set(decision("thresholds", "f1_micro").tune(truth, predictions)["thresholds"])) == 1


def test_an_expected_grade_with_tuned_cuts_beats_the_likeliest() -> None:
    cells = decision("grades", "quadratic_weighted_kappa")
    tuned_on, judged_on = graded(5_000), graded(5_000, seed=1)

    chosen = cells.tune(*tuned_on)

    assert chosen == {"cuts": sorted(chosen["cuts"])}
    assert cells.score(*judged_on, chosen) > cells.score(*judged_on, {}) + 0.03


@pytest.mark.slow
def test_few_grades_are_cut_no_worse_than_the_likeliest_is() -> None:
    cells = decision("grades", "quadratic_weighted_kappa")
    gains = []
    for seed in range(20):
        tuned_on, judged_on = graded(100, seed=seed), graded(2_000, seed=100 + seed)
        gains += [cells.score(*judged_on, cells.tune(*tuned_on)) - cells.score(*judged_on, {})]

    assert np.mean(gains) > 0.02


@pytest.mark.parametrize("names", ["ABCDEF", ["low", "mid", "high", "x", "y", "z"], ["6", "5", "4", "3", "2", "1"]])
def test_classes_that_are_no_rising_numbers_stay_the_likeliest(names: Sequence[str]) -> None:
    cells = decision("grades", "quadratic_weighted_kappa", names=names)
    truth, predictions = graded(200)

    assert cells.tune(truth, predictions) == {}
    assert cells.decide(predictions, {}).tolist() == predictions.argmax(axis=1).tolist()


def test_a_grade_that_half_of_the_examples_lack_is_decided_all_the_same() -> None:
    truth, predictions = graded(300)
    cells = decision("grades", "quadratic_weighted_kappa")
    is_there = truth < 5

    chosen = cells.tune(truth[is_there], predictions[is_there])

    assert len(chosen["cuts"]) == 5
    assert cells.score(truth, predictions, chosen) > 0.4


def test_tuned_cuts_beat_plain_rounding() -> None:
    cells = decision("rounding", "quadratic_weighted_kappa")
    plain = {"values": [[0, 1, 2, 3, 4]], "cuts": [[0.5, 1.5, 2.5, 3.5]]}
    tuned_on, judged_on = shrunken_grades(5_000), shrunken_grades(5_000, seed=1)

    chosen = cells.tune(*tuned_on)

    assert chosen["values"] == plain["values"]
    assert chosen["cuts"] == [sorted(chosen["cuts"][0])]
    assert cells.score(*judged_on, chosen) > cells.score(*judged_on, plain) + 0.03


def test_each_column_is_rounded_to_its_own_values() -> None:
    truth = np.array([[1, 10], [2, 30], [1, 10], [2, 30]], "float32")
    predictions = truth + np.array([[0.1, -4], [-0.1, 5], [0.2, 3], [0.2, -2]], "float32")
    cells = decision("rounding", "quadratic_weighted_kappa")

    assert cells.decide(predictions, cells.tune(truth, predictions)).tolist() == truth.tolist()


def test_a_column_with_one_value_is_rounded_to_it() -> None:
    truth, predictions = np.full((5, 1), 3, "float32"), np.linspace(1, 5, 5, dtype="float32")[:, None]
    cells = decision("rounding", "quadratic_weighted_kappa")

    assert cells.decide(predictions, cells.tune(truth, predictions)).tolist() == truth.tolist()


@pytest.mark.parametrize("metric", ["dice", "iou", "iou_thresholds"])
def test_masks_get_the_threshold_that_recovers_them(metric: str) -> None:
    random = np.random.default_rng(0)
    truth = (random.random((10, 16, 16, 1)) < 0.2).astype("uint8")
    cells = decision("mask_threshold", metric)

    predictions = np.where(truth, random.uniform(0.21, 0.4, truth.shape), random.uniform(0, 0.19, truth.shape))

    assert cells.tune(truth, predictions) == {"thresholds": [0.2], "min_areas": [0]}
    assert cells.score(truth, predictions, {"thresholds": [0.2], "min_areas": [0]}) == 1.0


@pytest.mark.parametrize("metric", ["dice", "iou", "iou_thresholds"])
def test_masks_of_every_class_get_a_threshold_and_a_least_area_of_their_own(metric: str) -> None:
    truth = np.zeros((10, 32, 32, 2), "uint8")
    truth[:5, 4:20, 4:20] = 1
    likely = np.where(truth, (0.32, 0.78), (0.02, 0.68)).astype("float16")
    likely[5:, :2, :4, 0] = 0.9  # eight pixels by mistake where there is nothing, of the first class only
    cells = decision("mask_threshold", metric)

    chosen = cells.tune(truth, likely)

    assert chosen == {"thresholds": [0.3, 0.7], "min_areas": [0.01, 0]}
    assert cells.score(truth, likely, chosen) == 1.0


def test_a_lower_score_is_sought_where_lower_is_better() -> None:
    truth, predictions = binary(2_000, share=0.1)
    cells = decision("threshold", "mae")

    others = [cells.score(truth, predictions, {"threshold": share}) for share in (0.0, 0.1, 0.5, 1.0)]
    assert cells.score(truth, predictions, cells.tune(truth, predictions)) <= min(others)


@pytest.mark.parametrize(
    ("name", "metric", "example"),
    [
        ("threshold", "f1", lambda: binary(500, share=0.1)),
        ("thresholds", "f1_samples", lambda: labels(500, [0.3, 0.1])),
        ("rounding", "quadratic_weighted_kappa", lambda: shrunken_grades(500)),
        ("grades", "quadratic_weighted_kappa", lambda: graded(500)),
        (
            "mask_threshold",
            "dice",
            lambda: (np.eye(4, dtype="uint8")[None, ..., None], np.full((1, 4, 4, 1), 0.3, "float32")),
        ),
    ],
)
def test_inference_decides_as_training_did(name: str, metric: str, example: Callable[[], tuple[Any, Any]]) -> None:
    cells = decision(name, metric)
    truth, predictions = example()
    chosen = cells.tune(truth, predictions)
    over_json = json.loads(json.dumps(chosen))

    assert over_json == chosen == cells.tune(truth, predictions)
    assert np.array_equal(cells.decide(predictions, over_json), cells.decide(predictions, chosen))


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_is_short_cells_of_which_inference_needs_one(name: str) -> None:
    both, training = (parse_percent_cells(rendered(name, part)) for part in ("decide", "tune"))

    assert [cell.name for cell in both] == ["decide"]
    assert both[-1].source.startswith("# The same in both notebooks.\n")
    assert training[-1].name == "tune-decision"
    assert all(len(cell.source.split("\n")) <= 25 for cell in [*both, *training])


def test_decisions_are_all_there_is() -> None:
    files = {path.name for path in (template_folder() / "decisions").iterdir()}

    assert files == {f"{name}.py.j2" for name in DECISIONS}
    assert not {facts.name for facts in METRICS.values()} & set(DECISIONS)
