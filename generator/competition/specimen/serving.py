"""The inference server of a specimen: a stand-in for the competition's own, which is somebody's code."""

import json
from importlib.resources import files
from pathlib import PurePosixPath

from generator.competition.facts import ServedAnswer, SubmissionKind, TargetKind, Task
from generator.competition.specimen.facts import Original
from generator.competition.specimen.writing import Writer

_PACKAGE = PurePosixPath("kaggle_evaluation")


def write_server(original: Original, writer: Writer) -> None:
    """Writes a module of the name of the competition's own, which hands out the made-up test rows."""
    task = original.task
    module = task.details.get("inference_server")
    if not module:
        return
    server, gateway = original.survey.server, {}
    if server is not None and server.gateway_name:
        gateway = {server.gateway_name: _gateway(task)}
    stand_in = files("generator.competition.specimen").joinpath("stand_in_server.py").read_bytes()
    content = {"__init__.py": b"", f"{module}.py": stand_in, f"{module}.json": _facts(original), **gateway}
    for name, each in content.items():
        writer.write(str(_PACKAGE / name), each)
    writer.note("The inference server is a stand-in: it asks the notebook as the competition's own would.")


def _gateway(task: Task) -> bytes:
    """What is read from a gateway, said again: no more than names, since the stand-in does its work."""
    named = task.details.get("gateway_files")
    paths = [f"/kaggle/input/a-specimen/{path.removeprefix('.')}" for path in named] if isinstance(named, list) else []
    brought = {ServedAnswer.TARGETS: "row_id_column_name", ServedAnswer.VALUE: "target_column_name"}
    lines = [
        f"FILES = {paths!r}",
        f"IDS = {task.id_column!r}",
        *(f"{name} = 'its own'" for answer, name in brought.items() if answer == task.details.get("served_answer")),
    ]
    return ("\n".join(lines) + "\n").encode()


def _facts(original: Original) -> bytes:
    task, mask_rows = original.task, original.text("mask_rows")
    has_pixels = task.target_kind is TargetKind.IMAGE
    parts = list(task.targets) if task.submission is SubmissionKind.KEYED_ROWS and not has_pixels else []
    parts = list(original.mask_classes) if mask_rows == "id" else parts
    facts = {
        "test_table": _table_facts(original, task.test_table),
        "sample": _table_facts(original, task.sample_submission),
        "test_folder": "" if original.labels_from == "pixels" else _folder_of_tests(original),
        "file_column": original.file_column,
        "id_column": task.id_column,
        "batch_by": _batch_column(task),
        "parts_in_ids": parts,
        "has_pixels_in_ids": has_pixels,
        "has_parts": bool(parts) or has_pixels or mask_rows == "column",
        "any_rows": mask_rows == "piece",
        "columns": _answer_columns(original),
        "answer": task.details.get("served_answer", ""),
        "submission_file": task.submission_file,
    }
    return (json.dumps(facts, indent=2) + "\n").encode()


def _folder_of_tests(original: Original) -> str:
    """The folder whose files are handed out: that of the training files where only the real gateway has the test."""
    return original.text("test_folder") or original.text("train_folder")


def _table_facts(original: Original, path: str) -> dict[str, str] | None:
    """How a table is read, None if there is none."""
    table = original.survey.table(path)
    return {"path": path, "separator": table.separator, "encoding": table.encoding} if table else None


def _batch_column(task: Task) -> str:
    """What the rows of a batch have in common: rows that are read together must not be torn apart."""
    return (
        str(task.details.get("group_column") or "") if task.details.get("prediction_per") == "row" else task.id_column
    )


def _answer_columns(original: Original) -> list[str]:
    sample = original.survey.table(original.task.sample_submission)
    asked = [name for name in sample.column_names if name != original.task.id_column] if sample else []
    return asked or list(original.task.targets)
