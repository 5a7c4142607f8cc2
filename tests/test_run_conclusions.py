"""The conclusions of a run from its own figures, and silence about figures that are not there."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from generator.competition.baseline import CONSTANT, COPY, Baseline
from generator.pair.handover import HandOver, Score
from generator.pair.workspace import Role
from generator.run.execution import NotebookParameters
from generator.run.report import Conclusions, conclusions
from generator.run.result import RunResult
from generator.text import JsonObject

RISING = [0.5, 0.6, 0.7, 0.8, 0.85, 0.88, 0.9, 0.95]
EARLY = [0.5, 0.8, 0.9, 0.85, 0.8, 0.75, 0.7, 0.7]
FLUKE = [0.7, 0.92, 1.0, 0.98, 0.99, 0.99, 0.99, 0.99]
NEARLY = [0.5, 0.6, 0.7, 0.8, 0.85, 0.88, 0.95, 0.949]
LEVEL = [0.5, 0.8, 0.9, 0.93, 0.94, 0.94, 0.941, 0.942]


def result_of(*folds: Sequence[float], losses: Sequence[float] = (1.0, 0.4), **others: Any) -> RunResult:
    """A finished run whose folds had these scores after each epoch."""
    described = [
        {
            "score": scores[-1],
            "history": [
                {"score": score, "loss": losses[0] if epoch == 0 else losses[1]} for epoch, score in enumerate(scores)
            ],
        }
        for scores in folds
    ]
    mean = sum(scores[-1] for scores in folds) / len(folds)
    handover = {"complete": True, "folds": described, "out_of_fold": {"metric": "accuracy", "score": mean, "rows": 100}}
    knobs = {"EPOCHS": len(folds[0]), "N_FOLDS": len(folds), "DROPOUT": 0.1}
    run = RunResult(pair="tiny", title="Tiny", is_smoke=False, is_specimen=False, report=Path("report.html"))
    run.handover, run.parameters = HandOver(JsonObject(handover)), {Role.TRAIN: NotebookParameters(knobs)}
    return replace(run, **others)


def test_folds_have_a_spread_and_one_fold_asks_for_more() -> None:
    five = conclusions(result_of(*([score, score] for score in (0.90, 0.91, 0.92, 0.93, 0.94))))
    one = conclusions(result_of([0.9, 0.9]))

    assert "a standard deviation of 0.0158, and a standard error of 0.0071 of their mean" in five.findings[0]
    assert five.advice == ()
    assert one.findings == ()
    assert one.advice[0].startswith("One fold does not show how much the score varies. Try -P N_FOLDS=5")


@pytest.mark.parametrize(
    ("folds", "finding", "advice"),
    [
        (
            [EARLY, EARLY],
            "The best epoch is 3 of 8, in every fold.",
            "Try -P EPOCHS=3, so that the learning rate decays",
        ),
        ([RISING, RISING], "The best epoch is 8 of 8, in every fold.", "were still improving. Try -P EPOCHS=12."),
        ([RISING, NEARLY], "The best epochs are 7 to 8 of 8.", "were still improving. Try -P EPOCHS=12."),
        ([EARLY, RISING], "The best epochs are 3 to 8 of 8.", ""),
        ([FLUKE, FLUKE], "The best epoch is 3 of 8, in every fold.", ""),
        ([LEVEL, LEVEL], "The best epoch is 8 of 8, in every fold.", ""),
        ([[0.5, 0.9, 0.5]] * 2, "", ""),
    ],
    ids=["early", "rising", "nearly", "between", "a fluke", "level", "too few"],
)
def test_the_best_epochs_say_how_many_to_try(folds: list[list[float]], finding: str, advice: str) -> None:
    found = conclusions(result_of(*folds))

    assert (found.findings[-1:] == (finding,)) if finding else not any("epoch" in one for one in found.findings)
    assert (advice in found.advice[0]) if advice else found.advice == ()


def test_folds_that_say_nothing_of_their_epochs_have_no_sentence_on_them() -> None:
    run = result_of(LEVEL, LEVEL)
    assert run.handover is not None
    for fold in run.handover.fields["folds"]:
        fold["history"] = []

    assert conclusions(run) == Conclusions()


def test_a_loss_that_hardly_falls_asks_for_another_learning_rate() -> None:
    found = conclusions(result_of(EARLY, EARLY, losses=(1.0, 0.99)))

    assert found.advice[0].startswith("The training loss hardly decreases. Try a LEARNING_RATE ten times as high")


def test_the_score_is_set_beside_the_baselines() -> None:
    constant, plain = Baseline(CONSTANT, 0.5, 100), Baseline("a linear model on the pixels", 0.9, 60)

    better = conclusions(result_of(LEVEL, LEVEL, baselines=(constant, plain)))
    worse = conclusions(result_of(LEVEL, LEVEL, baselines=(constant, replace(plain, score=0.99))))
    useless = conclusions(result_of([0.5] * 8, [0.5] * 8, baselines=(constant,)))

    assert "Out-of-fold accuracy 0.9420 is 0.4420 better than the best constant, 0.5000." in better.findings
    assert better.findings[1].endswith(
        "0.0420 better than a linear model on the pixels, 0.9000, on 60 of the 100 held-out rows."
    )
    assert better.advice == ()
    assert worse.advice[0].startswith("A baseline scores better: ")
    assert useless.advice[0].startswith("The model is no better than a constant.")


def test_a_copy_of_a_column_that_scores_better_than_the_model_is_advised() -> None:
    constant, plain = Baseline(CONSTANT, 0.5, 100), Baseline("a linear model on the words", 0.6, 100)
    copy = Baseline(f"{COPY}before", 0.99, 100)

    told = conclusions(result_of(LEVEL, LEVEL, baselines=(constant, copy, plain)))

    assert any(finding.endswith("worse than a copy of the column before, 0.9900.") for finding in told.findings)
    assert told.advice[0].startswith("Submitting a copy of the column before scores better")


@pytest.mark.parametrize(
    ("scores", "losses"),
    [
        ([*(0.5 + 0.01 * epoch for epoch in range(11)), 0.602], (1.0, 0.4)),
        ([0.5, 0.6, 0.7, 0.75, 0.78, 0.8, 0.81, 0.815, 0.82, 0.825, 0.83, 0.835], (1.0, 0.4)),
        ([0.5, 0.7], (1.0, 0.4)),
    ],
    ids=["slowly", "less and less", "two epochs"],
)
def test_best_epochs_at_the_end_ask_for_more_of_them_before_the_model_is_blamed(
    scores: list[float], losses: tuple[float, float]
) -> None:
    found = conclusions(result_of(*[scores] * 5, losses=losses, baselines=(Baseline("a plain model", 0.99, 100),)))

    assert f"Try -P EPOCHS={-(-3 * len(scores) // 2)}." in found.advice[0]
    assert not any("plain model" in sentence for sentence in found.advice)


def test_a_loss_that_still_falls_asks_for_more_epochs_where_a_plain_model_does_better() -> None:
    run = result_of(LEVEL, LEVEL, baselines=(Baseline("a plain model", 0.99, 100),))
    assert run.handover is not None
    for fold in run.handover.fields["folds"]:
        for epoch, entry in enumerate(fold["history"]):
            entry["loss"] = 1.0 - 0.1 * epoch

    assert "were still improving. Try -P EPOCHS=12." in conclusions(run).advice[0]


def test_curves_that_get_worse_ask_for_fewer_epochs_before_the_model_is_blamed() -> None:
    found = conclusions(result_of(EARLY, EARLY, baselines=(Baseline("a plain model", 0.99, 100),)))

    assert len(found.advice) == 1
    assert "Try -P EPOCHS=3, so that the learning rate decays" in found.advice[0]


def test_no_advice_names_what_the_kit_cannot_do() -> None:
    found = conclusions(result_of(LEVEL, LEVEL, baselines=(Baseline("a plain model", 0.99, 100),)))

    assert "average" not in " ".join(found.advice)


def test_a_hidden_test_is_compared_with_the_spread() -> None:
    run = result_of(*([score, score] for score in (0.90, 0.91, 0.92)))

    near = conclusions(replace(run, hidden_test=Score("accuracy", 0.905))).findings
    far = conclusions(replace(run, hidden_test=Score("accuracy", 0.8))).findings

    assert near[-1] == "The hidden test scores 0.0050 worse than the out-of-fold estimate."
    assert far[-1].startswith("That is more than three standard errors")


@pytest.mark.parametrize("what", ["is_smoke", "is_specimen", "incomplete", "none", "metric", "damaged"])
def test_nothing_is_concluded_of_a_run_that_measured_nothing(what: str) -> None:
    run = result_of(EARLY, EARLY, baselines=(Baseline(CONSTANT, 0.5, 100),))
    fields = JsonObject(run.handover.fields if run.handover else {})
    changed: dict[str, dict[str, Any]] = {
        "incomplete": {"complete": False},
        "metric": {"out_of_fold": {"metric": "of their own", "score": 0.5}},
        "damaged": {"out_of_fold": {"score": float("nan")}, "folds": [3, {"score": "high", "history": 5}]},
    }
    if what == "none":
        run = replace(run, handover=None)
    elif what in changed:
        run = replace(run, handover=HandOver(JsonObject(fields | changed[what])))
    else:
        run = replace(run, **{what: True})

    found = conclusions(run)

    assert (found.findings, found.advice) == ((), ())
