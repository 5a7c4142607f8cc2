"""The inference server of a specimen: a stand-in for the competition's own, which is somebody's code."""

import json
from importlib.resources import files
from pathlib import PurePosixPath

from generator.competition.facts import ServedAnswer, SubmissionKind, TargetKind
from generator.competition.specimen.original import Original
from generator.competition.specimen.writing import Writer
from generator.competition.survey.facts import Table

_PACKAGE = PurePosixPath("kaggle_evaluation")


def write_server(original: Original, writer: Writer) -> None:
    """Writes a module of the name of the competition's own, which hands out the made-up test rows."""
    task = original.task
    module = task.details.get("inference_server")
    if not module:
        return
    server, gateway = original.survey.server, {}
    if server is not None and server.gateway_name:
        gateway = {server.gateway_name: _gateway(original)}
    stand_in = files("generator.competition.specimen").joinpath("stand_in_server.py").read_bytes()
    content = {"__init__.py": b"", f"{module}.py": stand_in, f"{module}.json": _facts(original), **gateway}
    for name, each in content.items():
        writer.write(str(_PACKAGE / name), each)
    writer.note("The inference server is a stand-in: it asks the notebook as the competition's own would.")


def _gateway(original: Original) -> bytes:
    """The text of a gateway, with no more than the names that are read from it, since the stand-in does its work."""
    task = original.task
    paths = [f"/kaggle/input/a-specimen/{path.removeprefix('.')}" for path in original.texts("gateway_files")]
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
    parts = list(original.texts("mask_classes")) if mask_rows == "id" else parts
    # The files that are handed out are those of training where only the real gateway has the test.
    test_folder = original.text("test_folder") or original.text("train_folder")
    asked = [name for name in original.sample.column_names if name != task.id_column] if original.sample else []
    facts = {
        "test_table": _table_facts(original.test),
        "sample": _table_facts(original.sample),
        "test_folder": "" if original.labels_from == "pixels" else test_folder,
        "file_column": original.file_column,
        "id_column": task.id_column,
        # Rows that are read together must not be torn apart.
        "batch_by": original.text("group_column") if original.text("prediction_per") == "row" else task.id_column,
        "parts_in_ids": parts,
        "has_pixels_in_ids": has_pixels,
        "has_parts": bool(parts) or has_pixels or mask_rows == "column",
        "any_rows": mask_rows == "piece",
        "columns": asked or list(task.targets),
        "answer": task.details.get("served_answer", ""),
        "submission_file": task.submission_file,
    }
    return (json.dumps(facts, indent=2) + "\n").encode()


def _table_facts(table: Table | None) -> dict[str, str] | None:
    """The way to read a table, None if there is none."""
    return {"path": table.path, "separator": table.separator, "encoding": table.encoding} if table else None
