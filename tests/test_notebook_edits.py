"""The edits that people make in a rendered pair: each in one cell, and inference takes what comes of it."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from notebook_competitions import write_shops
from notebook_session import Ended, Mirror, Sessions, of_shops, read_table

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

SPLITTERS = {
    "TimeSeriesSplit": "TimeSeriesSplit(5).split(train)",
    "GroupKFold": "GroupKFold(5).split(train, groups=np.arange(len(train)) // 7)",
}
# One line, as the last one of an epoch.
EARLY_STOPPING = "        if epoch >= 1:\n            break\n"


def trained_and_predicted(
    sessions: Sessions, shops: Mirror, edits: Mapping[str, Callable[[str], str]], **parameters: int
) -> tuple[Ended, list[list[str]], dict[str, Any]]:
    """Runs both notebooks: the training, the rows of `oof.csv`, and the hand-over."""
    write_shops(shops.competition)
    train, infer = of_shops("tensorflow", "train", edits), of_shops("tensorflow", "infer")
    ended = sessions.finished(train, shops.parameters(train, EPOCHS=4, **parameters))
    attached = shops.output_of_training("tensorflow")
    attached.parent.mkdir(parents=True)
    shops.working.rename(attached)
    sessions.finished(infer, shops.parameters(infer))
    assert len(read_table(shops.working / "submission.csv")) == 1 + 21
    return ended, read_table(attached / "oof.csv")[1:], json.loads((attached / "handoff.json").read_text())


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_another_splitter_is_one_cell(sessions: Sessions, shops: Mirror, splitter: str) -> None:
    def with_splitter(cell: str) -> str:
        code = f"from sklearn.model_selection import {splitter}\nsplits = list({SPLITTERS[splitter]})"
        changed, count = re.subn(r"splits = list\(.*", code, cell)
        assert count == 1
        return changed

    _, rows, handoff = trained_and_predicted(sessions, shops, {"assign-folds": with_splitter}, N_FOLDS=5)

    validated = {"TimeSeriesSplit": 65, "GroupKFold": 80}[splitter]
    assert handoff["complete"]
    assert len(rows) == handoff["out_of_fold"]["rows"] == validated, "rows in no validation set are left out"


def test_early_stopping_is_one_line_and_its_folds_are_finished(sessions: Sessions, shops: Mirror) -> None:
    ended, rows, handoff = trained_and_predicted(
        sessions, shops, {"train": lambda cell: f"{cell}\n{EARLY_STOPPING}"}, N_FOLDS=2
    )

    assert handoff["complete"]
    assert handoff["epochs_done"] == [2, 2]
    assert len(ended.said("train").split(" epoch ")) - 1 == 4
    assert len(rows) == 80
