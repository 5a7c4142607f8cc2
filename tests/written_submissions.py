"""The submissions that an inference notebook for a table writes of made-up predictions, without a framework."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from notebook_cells import executed_alone
from notebook_session import rendered_cells

from generator.competition.builtin import TUMOURS
from generator.competition.facts import SubmissionKind, TargetKind, Task
from generator.text import Value

USUAL = {
    TargetKind.CLASS: (SubmissionKind.LABEL, "accuracy"),
    TargetKind.LABELS: (SubmissionKind.NUMBERS, "auc_mean_columns"),
    TargetKind.NUMBER: (SubmissionKind.NUMBERS, "rmse"),
}


def table_task(
    kind: TargetKind,
    targets: Sequence[str] = ("label",),
    *,
    submission: SubmissionKind | None = None,
    metric: str = "",
    file_name: str = "submission.csv",
    sample: str = "sample.csv",
    **details: Value,
) -> Task:
    """The task of a table, with the submission and the metric that are usual for this kind of target."""
    usual_submission, usual_metric = USUAL[kind]
    return replace(
        TUMOURS.task,
        target_kind=kind,
        targets=tuple(targets),
        submission=submission or usual_submission,
        metric=metric or usual_metric,
        submission_file=file_name,
        sample_submission=sample,
        details={**TUMOURS.task.details, **details},
    )


def submitted(
    folder: Path,
    task: Task,
    *,
    classes: Sequence[str],
    predictions: Any,
    ids: Sequence[str] = (),
    decision: dict[str, object] | None = None,
    separator: str = ",",
    test: str = "",
    **parameters: object,
) -> Path:
    """The submission that inference writes for the sample in the folder.

    Args:
        folder: Where the sample is.
        task: Of a table; see `table_task`.
        classes: What training handed over as classes.
        predictions: Of the examples that the sample asks for, in their order.
        ids: The examples of the test table; by default the ids of a sample in csv.
        decision: What training handed over.
        separator: That of the test table.
        test: The test table; by default it has these ids and a column.
        parameters: Others than those of the notebook.
    """
    if not ids:
        ids = pd.read_csv(folder / task.sample_submission, dtype=str, sep=None, engine="python")["id"].tolist()
    rows = [("id", "a"), *((name, "1") for name in reversed(ids))]
    (folder / task.test_table).write_text(test or "\n".join(separator.join(row) for row in rows))
    cells = list(rendered_cells("keras", "infer", task))
    first = next(cells.index(name) for name in ("class-of-column", "answers-of") if name in cells)
    reading = [name for name in ("opened", "read-table", "test-rows", "decide") if name in cells]
    known = executed_alone(
        [*reading, *cells[first:]],
        task,
        "infer",
        competition_folder=folder,
        WORKING_ROOT=str(folder),
        train=pd.DataFrame(),
        text_columns=[],
        classes=list(classes),
        predictions=np.array(predictions, dtype="float32"),
        handoff={"decision": decision or {}},
        **parameters,
    )
    (folder / task.test_table).unlink()
    return Path(known.run.output, task.submission_file)
