"""What a training says of its examples: their ids, folds and true answers, and which of them were predicted."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.competition.facts import Task
from generator.competition.metrics import decision_of


@dataclass(frozen=True)
class HeldOut:
    """The examples of a training.

    Attributes:
        task: What is predicted.
        ids: The id of each example [examples].
        fold: The fold of each example [examples].
        truth: The true answers [examples, …], as `function_of` describes them.
        rows: The positions of those that a model which had not seen them predicted.
        table_rows: The positions of the examples in the training table [examples]; None where training keeps none.
    """

    task: Task
    ids: Any
    fold: Any
    truth: Any
    rows: Any
    table_rows: Any = None

    def places_in(self, ids: Any) -> Any:
        """The place of each example in a column of ids, -1 where it is not there: of an id that repeats, its row."""
        import numpy as np
        import pandas as pd  # type: ignore[import-untyped]  # pandas brings no types

        known = pd.Index(ids)
        if self.table_rows is not None and known.has_duplicates:
            is_there = self.table_rows < len(known)
            places = np.where(is_there, self.table_rows, 0)
            return np.where(is_there & (known.to_numpy()[places].astype(str) == self.ids), places, -1)
        first = pd.Series(range(len(known)), known)[~known.duplicated()]
        return first.reindex(self.ids, fill_value=-1).to_numpy()

    @property
    def decision(self) -> str:
        """How predictions become what the metric wants."""
        return decision_of(self.task.metric, self.task.target_kind, self.task.submission)

    @property
    def class_count(self) -> int:
        """How many classes there are."""
        return int(self.truth.max()) + 1


def read_held_out(path: Path, task: Task) -> HeldOut:
    """Reads the `oof.npz` of a training.

    Raises:
        OSError, ValueError, KeyError: It is not what a training writes.
    """
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        ids, fold, truth, rows = (arrays[name] for name in ("ids", "fold", "truth", "rows"))
        table_rows = arrays.get("table_rows")
    if not len(ids) == len(fold) == len(truth) or not len(rows) or rows.max() >= len(ids):
        raise ValueError(f"{path.name} has arrays that do not fit together")
    return HeldOut(task, ids, fold, truth, rows, table_rows)
