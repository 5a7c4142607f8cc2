"""The result of a run in the first cell of its executed notebooks, where a template says that there is none yet."""

import json
from statistics import stdev

from generator.files import read_text
from generator.pair.handover import Score
from generator.run.result import RunResult
from generator.untrusted import markdown
from generator.workspace_files import WorkspaceFiles

NOT_RUN = "| last run | not run yet |"
"""The row of the table in the title cell; both templates have it."""


def write_last_run(result: RunResult) -> None:
    """Write what a run came to into the title cells of its notebooks, unless its scores say nothing."""
    if not result.is_measure:
        return
    row = f"| last run | {last_run(result)} |"
    for notebook in result.notebooks.values():
        text = read_text(notebook.path)
        text = text.replace(_in_json(NOT_RUN), _in_json(row), 1)
        WorkspaceFiles(result.report.parent).write(notebook.path, text.encode())


def last_run(result: RunResult) -> str:
    """Return a run's scores, time and accelerator, as a cell of a Markdown table."""
    parts = []
    if result.out_of_fold is not None:
        folds = [fold.score for fold in result.handover.folds] if result.handover else []
        spread = f" (folds ± {stdev(folds):.4f})" if len(folds) > 1 else ""
        parts.append(f"out-of-fold {_in_words(result.out_of_fold)}{spread}")
    if result.hidden_test is not None:
        parts.append(f"hidden test {_in_words(result.hidden_test)}")
    minutes = sum(notebook.seconds for notebook in result.notebooks.values()) / 60
    parts.append(f"{minutes:.1f} min")
    if result.handover is not None and result.handover.accelerator:
        parts.append(result.handover.accelerator)
    return markdown(", ".join(parts))


def _in_words(score: Score) -> str:
    return f"{score.metric} {score.value:.4f}"


def _in_json(text: str) -> str:
    """Return a text as it stands inside of a string of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
