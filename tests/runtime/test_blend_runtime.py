"""The weights of a blend: what good, equal, shuffled and random members get, and that its own CV is honest."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runtime.blend import blend_predictions, choose_method, correlations, cross_fit, fit_blend, fold_scores, gains_of
from scipy.special import expit, softmax
from scipy.stats import rankdata

METHODS = ["mean", "best", "hill-climbing", "stacking"]
FOLDS = np.arange(600) % 5
Example = tuple[Any, Any, Callable[[Any, Any], float]]


def log_loss(truth: Any, predictions: Any) -> float:
    return float(np.log(np.clip(predictions[np.arange(len(truth)), truth], 1e-7, 1)).mean())


def area(truth: Any, predictions: Any) -> float:
    is_positive = truth == 1
    ranks = rankdata(predictions[:, 1])[is_positive].sum() - is_positive.sum() * (is_positive.sum() + 1) / 2
    return float(ranks / (is_positive.sum() * (~is_positive).sum()))


def example(space: str) -> Example:
    """Two good members with errors of their own, one of them shuffled and a random one; the last two are useless."""
    random = np.random.default_rng(4)
    if space in ("number", "log"):
        truth = random.normal(3, 1, (600, 1))
        good = [truth + random.normal(0, 0.5, truth.shape) for _ in range(2)]
        members = np.stack([*good, random.permutation(good[0]), random.normal(3, 1, truth.shape)])
        if space == "log":
            truth, members = np.expm1(truth), np.expm1(members)
            return (
                members,
                truth,
                lambda t, p: -float(np.sqrt(np.mean((np.log1p(t) - np.log1p(np.maximum(p, 0))) ** 2))),
            )
        return members, truth, lambda t, p: -float(np.sqrt(np.mean((t - p) ** 2)))
    logits = random.normal(0, 2, (600, 3))
    noise = [logits + random.normal(0, 1.5, logits.shape) for _ in range(2)]
    activate = expit if space == "labels" else softmax
    arguments: dict[str, Any] = {} if space == "labels" else {"axis": 1}
    good = [activate(one, **arguments) for one in noise]
    random_member = activate(random.normal(0, 2, logits.shape), **arguments)
    members = np.stack([*good, random.permutation(good[0]), random_member])
    chances = activate(logits, **arguments)
    if space == "labels":
        labels = (random.random(chances.shape) < chances).astype("float32")
        return members, labels, lambda t, p: float(np.where(t > 0.5, np.log(p + 1e-7), np.log1p(1e-7 - p)).mean())
    return members, (random.random((600, 1)) > chances.cumsum(axis=1)[:, :2]).sum(axis=1), log_loss


@pytest.mark.parametrize("space", ["number", "log", "classes", "labels"])
@pytest.mark.parametrize("method", ["hill-climbing", "stacking"])
def test_two_good_members_beat_the_best_and_useless_ones_weigh_nothing(method: str, space: str) -> None:
    members, truth, fit_score = example(space)

    weights = np.array(fit_blend(method, members, truth, space, fit_score)["weights"]).reshape(4, -1).mean(axis=1)

    assert weights[:2].min() > 0.25
    assert np.abs(weights[2:]).max() < 0.08
    best = max(fit_score(truth, one) for one in members)
    assert fold_scores(method, members, truth, FOLDS, space, fit_score).mean() > best


@pytest.mark.parametrize("space", ["number", "log", "classes", "labels"])
def test_the_method_is_chosen_by_folds_and_the_gain_of_a_useless_member_is_none(space: str) -> None:
    members, truth, fit_score = example(space)

    method, scores = choose_method(METHODS, members, truth, FOLDS, space, fit_score)
    gains = gains_of(method, members, truth, FOLDS, space, fit_score)

    assert method in ("hill-climbing", "stacking")
    assert set(scores) == set(METHODS)
    assert gains[:2].min() > 5 * np.abs(gains[2:]).max()
    assert correlations(members)[0, 1] > 0.5 > np.abs(correlations(members)[0, 2:]).max()


def test_the_cv_of_a_blend_is_no_better_than_new_rows_show() -> None:
    random = np.random.default_rng(0)
    truth = random.normal(size=(4_000, 1))
    members = random.normal(size=(30, 4_000, 1))  # there is nothing to find
    few, fit_score = slice(0, 200), lambda t, p: -float(np.sqrt(np.mean((t - p) ** 2)))

    blend = fit_blend("stacking", members[:, few], truth[few], "number", fit_score)
    cv = fold_scores("stacking", members[:, few], truth[few], np.arange(200) % 5, "number", fit_score).mean()

    on_its_rows = fit_score(truth[few], blend_predictions(blend, members[:, few]))
    on_new_rows = fit_score(truth[200:], blend_predictions(blend, members[:, 200:]))
    assert abs(cv - on_new_rows) < abs(on_its_rows - on_new_rows) / 2


def test_ranks_come_from_the_out_of_fold_predictions_so_that_a_row_alone_gets_the_same() -> None:
    random = np.random.default_rng(1)
    truth = (random.random(600) < 0.4).astype(int)
    scores = truth + random.normal(0, 1, (2, 600))
    positive = np.stack([expit(scores[0]), expit(scores[1]) / 50])  # members on scales of their own
    members = np.stack([1 - positive, positive], axis=2)

    blend = fit_blend("rank", members, truth, "classes", area)
    together, alone = blend_predictions(blend, members), blend_predictions(blend, members[:, 17:18])

    np.testing.assert_allclose(alone, together[17:18])
    assert 0 <= together.min() <= together.max() <= 1
    mean = cross_fit("mean", members, truth, FOLDS, "classes", area)
    ranks = cross_fit("rank", members, truth, FOLDS, "classes", area)
    assert area(truth, ranks) > max(area(truth, mean), *(area(truth, one) for one in members))


def test_the_blend_of_one_member_is_that_member() -> None:
    members, truth, fit_score = example("log")

    for method in ("mean", "best", "hill-climbing"):
        blend = fit_blend(method, members[:1], truth, "log", fit_score)
        np.testing.assert_allclose(blend_predictions(blend, members[:1]), np.maximum(members[0], 0), rtol=1e-6)
