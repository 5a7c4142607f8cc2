"""Tasks, of which a test says only what matters to it."""

from dataclasses import fields

from generator.competition.facts import SubmissionKind, TargetKind, Task

_NAMES = {field.name for field in fields(Task)}
# By what is predicted, the metric and what a row of the submission says.
_USUAL = {
    TargetKind.CLASS: ("accuracy", SubmissionKind.LABEL),
    TargetKind.LABELS: ("auc_mean_columns", SubmissionKind.NUMBERS),
    TargetKind.NUMBER: ("rmse", SubmissionKind.NUMBERS),
    TargetKind.MASK: ("dice", SubmissionKind.RUN_LENGTH),
    TargetKind.IMAGE: ("rmse", SubmissionKind.KEYED_ROWS),
}


def task_of(family: str, kind: str, *targets: str, **said: object) -> Task:
    """A task that reads `train.csv`; what is said beside the fields of a task are details of it."""
    metric, submission = _USUAL[TargetKind(kind)]
    usual = {
        "metric": metric,
        "submission": submission,
        "id_column": "id",
        "train_table": "train.csv",
        "labels_table": "",
        "test_table": "",
        "sample_submission": "sample_submission.csv",
    }
    known = {name: said.pop(name) for name in _NAMES & said.keys()}
    values = usual | known | {"submission": SubmissionKind(known.get("submission", submission))}
    return Task(family=family, target_kind=TargetKind(kind), targets=targets, details=said, **values)
