"""The edits that people make in a rendered pair, each in one or two cells: inference takes what comes of them.

Edits that go together are made together, two frameworks with images and three with tables.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from notebook_competitions import write_digits, write_shops
from notebook_session import Ended, Mirror, Notebook, Sessions, needs_torch, of_shops, read_table

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

Edits = Mapping[str, Callable[[str], str]]
EARLY_STOPPING = "        if epoch >= 1:\n            break\n"
"""One line, as the last one of an epoch."""

FOCAL_LOSS = {
    "tensorflow": "loss = keras.losses.CategoricalFocalCrossentropy(from_logits=True)",
    "torch": """
def loss(truth, logits):
    scores = functional.log_softmax(logits, dim=-1)
    return -(truth * (1 - scores.exp()) ** 2 * scores).sum(dim=-1)
""",
}
LOSS_OF_ONE_LOGIT = {
    "keras": """
def loss(truth, logits):
    return keras.losses.binary_crossentropy(truth[..., 1:], logits, from_logits=True)
""",
    "jax": """
def loss(truth, logits):
    return optax.sigmoid_binary_cross_entropy(logits, truth[..., 1:]).mean(axis=-1)
""",
    "torch": """
def loss(truth, logits):
    losses = functional.binary_cross_entropy_with_logits(logits, truth[..., 1:], reduction="none")
    return losses.mean(dim=-1)
""",
}
PROBABILITY_OF_ONE_LOGIT = """# The same in both notebooks.
def activate(logits):
    probability = 1 / (1 + np.exp(-logits.mean(axis=1)))
    return np.concatenate([1 - probability, probability], axis=-1)
"""
LOG_LOSS = """
HIGHER_IS_BETTER = False


def competition_metric(truth, predictions):
    from sklearn.metrics import log_loss

    return float(log_loss(truth, predictions, labels=range(predictions.shape[1])))
"""


def replaced(old: str, new: str) -> Callable[[str], str]:
    """An edit that replaces what stands once in a cell."""

    def edit(cell: str) -> str:
        assert cell.count(old) == 1, cell
        return cell.replace(old, new)

    return edit


def instead(new: str) -> Callable[[str], str]:
    """An edit that replaces a cell, or a part of one."""
    return lambda _: new


def trained_and_predicted(
    sessions: Sessions, mirror: Mirror, train: Notebook, infer: Notebook, **parameters: int
) -> tuple[Ended, list[list[str]], dict[str, Any]]:
    """Runs both notebooks: the training, the rows of `oof.csv`, and the hand-over."""
    ended = sessions.finished(train, mirror.parameters(train, **parameters))
    attached = mirror.output_of_training(train.framework)
    attached.parent.mkdir(parents=True)
    mirror.working.rename(attached)
    sessions.finished(infer, mirror.parameters(infer))
    assert len(read_table(mirror.working / "submission.csv")) == 1 + 21
    return ended, read_table(attached / "oof.csv")[1:], json.loads((attached / "handoff.json").read_text())


@pytest.mark.parametrize("framework", ["tensorflow", pytest.param("torch", marks=needs_torch)])
def test_loss_metric_splitter_image_size_and_early_stopping_are_edits_of_one_cell(
    sessions: Sessions, mirror: Mirror, framework: str
) -> None:
    write_digits(mirror.competition)
    splitter = "splits = list(GroupKFold(5).split(strata, groups=np.arange(len(train)) // 7))"
    edits: Edits = {
        "loss": instead(FOCAL_LOSS[framework]),
        "metric": instead(LOG_LOSS),
        "assign-folds": replaced(
            "splits = [[np.sort(order[part]) for part in split] for split in splitter.split(strata, strata)]",
            f"from sklearn.model_selection import GroupKFold\n{splitter}",
        ),
        "train": lambda cell: f"{cell}\n{EARLY_STOPPING}",
    }
    train, infer = Notebook(framework, "train", edits), Notebook(framework, "infer")

    ended, rows, handoff = trained_and_predicted(
        sessions, mirror, train, infer, EPOCHS=4, N_FOLDS=2, IMAGE_SIZE=16, BATCH_SIZE=8
    )

    assert handoff["complete"]
    assert handoff["epochs_done"] == [2, 2]
    assert len(ended.said("train").split(" epoch ")) - 1 == 4
    assert len(rows) == handoff["out_of_fold"]["rows"]
    assert {epoch.keys() >= {"loss", "val_loss", "score"} for fold in handoff["folds"] for epoch in fold["history"]}


@pytest.mark.parametrize("framework", ["keras", "jax", pytest.param("torch", marks=needs_torch)])
def test_a_feature_one_logit_and_a_time_split_are_edits_of_one_or_two_cells(
    sessions: Sessions, shops: Mirror, framework: str
) -> None:
    write_shops(shops.competition)
    feature: Edits = {
        "make-features": replaced(
            "return pd.concat([numbers, categories], axis=1)",
            'rent_of_size = (numbers["rent"] / numbers["size"]).rename("rent of size")\n'
            "    return pd.concat([numbers, rent_of_size, categories], axis=1)",
        )
    }
    model: Edits = {"activate": instead(PROBABILITY_OF_ONE_LOGIT)}
    optimization: Edits = {
        "model-summary": replaced('"outputs": len(classes)', '"outputs": 1'),
        "loss": instead(LOSS_OF_ONE_LOGIT[framework]),
    }
    splitter: Edits = {
        "assign-folds": replaced(
            "splits = [[np.sort(order[part]) for part in split] for split in splitter.split(strata, strata)]",
            "from sklearn.model_selection import TimeSeriesSplit\nsplits = list(TimeSeriesSplit(5).split(train))",
        )
    }
    train = of_shops(framework, "train", {**feature, **model, **optimization, **splitter})
    infer = of_shops(framework, "infer", {**feature, **model})

    ended, rows, handoff = trained_and_predicted(sessions, shops, train, infer, EPOCHS=2, N_FOLDS=5)

    assert handoff["complete"]
    assert len(rows) == handoff["out_of_fold"]["rows"] == 65, "rows in no validation set are left out"
    assert "4 features" in ended.said("model-summary")
