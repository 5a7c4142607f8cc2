"""The scores of a constant and of a plain model, on the rows that a training held out."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.competition.baseline import file_features, table_features
from generator.competition.baseline.answers import best_constant, decided
from generator.competition.baseline.copies import copied_answers
from generator.competition.baseline.estimators import predicted
from generator.competition.baseline.features import Features
from generator.competition.baseline.held_out import HeldOut, read_held_out
from generator.competition.facts import Medium, TargetKind, Task
from generator.competition.metrics import function_of, parsed
from generator.competition.schema import families

CONSTANT = "the best constant"
COPY = "a copy of the column "
_READERS = {
    Medium.IMAGE: file_features.read_images,
    Medium.AUDIO: file_features.read_sounds,
    Medium.ROW: table_features.read_columns,
    Medium.SEQUENCE: table_features.read_columns,
    Medium.TEXT: table_features.read_texts,
}


@dataclass(frozen=True)
class Baseline:
    """The score of a plain way to predict; `rows` is how many it was judged by."""

    name: str
    score: float
    rows: int


def baselines(task: Task, data: Path, predictions: Path) -> Iterator[Baseline]:
    """Yields the score of the best constant, of the best input column to copy, and of a plain model where there is one.

    A copy counts where it is better than the constant.

    Args:
        task: What is predicted.
        data: The competition's files, as Kaggle mounts them.
        predictions: The `oof.npz` of a training.

    Raises:
        OSError, ValueError, KeyError: The files are not what a training read and wrote.
    """
    import numpy as np

    held_out = read_held_out(predictions, task)
    truth, score = held_out.truth[held_out.rows], function_of(task.metric)
    constant = np.repeat(best_constant(truth, held_out), len(truth), axis=0)
    yield Baseline(CONSTANT, float(score(truth, constant)), len(truth))
    copy = _best_copy(held_out, data, constant)
    if copy is not None:
        yield copy
    if task.target_kind in (TargetKind.MASK, TargetKind.IMAGE):
        return  # no plain model makes sense of them
    features = _READERS[families()[task.family].medium](held_out, data)
    if features is None:
        return
    answers = _answers(features, held_out)
    rows = sorted(answers)
    if rows:
        found = float(score(held_out.truth[rows], np.stack([answers[row] for row in rows])))
        yield Baseline(f"{features.model} on {features.name}", found, len(rows))


def _best_copy(held_out: HeldOut, data: Path, constant: Any) -> Baseline | None:
    """The best score of copying an input column, if one is better than the constant on the same rows."""
    import numpy as np

    score, higher = function_of(held_out.task.metric), parsed(held_out.task.metric)[0].higher_is_better
    found: list[tuple[float, Baseline]] = []
    for name, rows, answers in copied_answers(held_out, data):
        truth = held_out.truth[rows]
        copied, usual = (float(score(truth, each)) for each in (answers, constant[: len(rows)]))
        gain = copied - usual if higher else usual - copied
        if np.isfinite(gain) and gain > 0:
            found.append((gain, Baseline(f"{COPY}{name}", copied, len(rows))))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _answers(features: Features, held_out: HeldOut) -> dict[int, Any]:
    """The answer to each held-out example, by its position, of models that have not seen its fold."""
    import numpy as np

    rows, answers = features.rows, dict[int, Any]()
    is_judged = np.isin(rows, held_out.rows)
    for fold in np.unique(held_out.fold[held_out.rows]):
        is_of_fold = held_out.fold[rows] == fold
        judged, inside = np.flatnonzero(is_judged & is_of_fold), np.flatnonzero(~is_of_fold)
        if len(judged) and len(inside):
            found = decided(predicted(features, inside, judged, held_out), held_out.truth[rows[inside]], held_out)
            answers |= dict(zip(rows[judged].tolist(), found, strict=True))
    return answers
