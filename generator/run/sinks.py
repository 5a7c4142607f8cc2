"""Other ledgers that runs are exported to by their own libraries: MLflow, and Weights & Biases offline.

Each run is exported once: it is recognised there by its name and its time. Whatever a workspace says reaches a sink
as plain numbers and strings.
"""

import importlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from generator.errors import RunError
from generator.files import open_below
from generator.kit_files import install_command
from generator.pair.workspace import Role, Workspace
from generator.run.ledger import RECORD, REPORT, RunRecord, run_folder
from generator.text import printable, quote_text

_LONGEST_VALUE = 500
_LARGEST_FILE = 64 * 2**20
_TAG = "tandem.run"
_BATCH = 100  # parameters in a request, which MLflow takes at most


class SinkError(RunError):
    """Runs cannot be exported."""


def export_to_mlflow(workspace: Workspace, records: Sequence[RunRecord], *, address: str) -> list[RunRecord]:
    """Log runs to an MLflow tracking server or store, in an experiment named after the competition.

    Args:
        workspace: Where the runs are.
        records: The runs.
        address: The tracking URI, such as `http://127.0.0.1:5000` or `sqlite:///mlflow.db`.

    Returns:
        The runs that were not there yet.

    Raises:
        SinkError: The library is not installed, or the server refuses.
    """
    # Its address of each run is printed to standard output otherwise, and it tries a dead server for minutes.
    for name, value in {
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    }.items():
        os.environ.setdefault(name, value)
    library, tracking = _import("mlflow", "mlflow"), _import("mlflow.tracking", "mlflow")
    try:
        client = tracking.MlflowClient(tracking_uri=address)
        return [record for record in records if _log_to_mlflow(client, workspace, record)]
    except (library.exceptions.MlflowException, OSError) as error:
        raise SinkError(
            f"MLflow at {printable(address)} cannot take the runs: {_first_line(error)}.", code="export-refused"
        ) from error


def _log_to_mlflow(client: Any, workspace: Workspace, record: RunRecord) -> bool:
    """Log a run; false if it is there."""
    entities = importlib.import_module("mlflow.entities")
    name = record.competition or record.pair
    experiment = client.get_experiment_by_name(name)
    identifier = client.create_experiment(name) if experiment is None else experiment.experiment_id
    key = _key(record)
    if client.search_runs([identifier], filter_string=f"tags.`{_TAG}` = '{key}'", max_results=1):
        return False
    time = int(record.created.timestamp() * 1000)
    entry = client.create_run(identifier, run_name=record.name, start_time=time, tags=_tags(record)).info.run_id
    parameters = [entities.Param(parameter, value) for parameter, value in _parameters(record)]
    metrics = [entities.Metric(metric, score, time, 0) for metric, score in _metrics(record)]
    metrics += [entities.Metric("fold_score", score, time, fold) for fold, score in enumerate(record.fold_scores)]
    for start in range(0, max(len(parameters), len(metrics)), _BATCH):
        end = start + _BATCH
        client.log_batch(entry, params=parameters[start:end], metrics=metrics[start:end])
    for file_name in (RECORD, REPORT):
        if text := _text_of(workspace, record, file_name):
            client.log_text(entry, text, file_name)
    # Last, so that a run of which only a part arrived is exported again.
    client.set_tag(entry, _TAG, key)
    client.set_terminated(entry)
    return True


def export_to_wandb(records: Sequence[RunRecord], *, folder: Path) -> list[RunRecord]:
    """Write runs as offline runs of Weights & Biases, which `wandb sync` sends; nothing is sent here.

    Args:
        records: The runs.
        folder: Where the folder `wandb` is made.

    Returns:
        The runs that were not there yet.

    Raises:
        SinkError: The library is not installed, or cannot write there.
    """
    library = _import("wandb", "wandb")
    names = {path.name for path in (folder / "wandb").glob("offline-run-*")}
    new_records = []
    for record in records:
        identifier = _key(record).replace("@", "-").replace(":", "-")
        if any(name.endswith(f"-{identifier}") for name in names):
            continue
        try:
            entry = library.init(
                mode="offline",
                dir=str(folder),
                project=record.competition or record.pair,
                group=record.pair,
                name=record.name,
                id=identifier,
                notes=record.note or None,
                config={**dict(_parameters(record)), **_tags(record)},
                settings=library.Settings(console="off", silent=True, x_disable_stats=True, disable_git=True),
            )
            for score in record.fold_scores:
                entry.log({"fold_score": score})
            entry.summary.update(dict(_metrics(record)))
            entry.finish()
        except (library.Error, OSError) as error:
            raise SinkError(
                f"Weights & Biases cannot write to {printable(str(folder))}: {_first_line(error)}.",
                code="export-refused",
            ) from error
        new_records.append(record)
    return new_records


def _import(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SinkError(
            f"{extra} is not installed.", remedy=f"Install it: {install_command(extra)}", code="package-missing"
        ) from error


def _key(record: RunRecord) -> str:
    """The name of a run with its time, since a removed run's workspace may be made anew."""
    return f"{record.name}:{record.created:%Y%m%d%H%M%S}"


def _tags(record: RunRecord) -> dict[str, str]:
    texts = {
        "pair": record.pair,
        "competition": record.competition,
        "family": record.family,
        "framework": record.framework,
        "origin": str(record.origin),
        "metric": record.metric,
        "accelerator": record.accelerator,
        "git_commit": record.git_commit,
        "code_sha256": record.code_sha256,
        "data_sha256": record.data_sha256 or "",
        "folds_sha256": record.folds_sha256 or "",
        "note": record.note,
        "parent": "" if record.parent is None else str(record.parent),
    }
    return {name: printable(text)[:_LONGEST_VALUE] for name, text in texts.items()}


def _parameters(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Every parameter of training, and those of inference that differ, as strings."""
    training = record.values(Role.TRAIN)
    for name, value in training.items():
        yield name, printable(str(value))[:_LONGEST_VALUE]
    for name, value in record.values(Role.INFER).items():
        if training.get(name) != value:
            yield f"infer.{name}", printable(str(value))[:_LONGEST_VALUE]


def _metrics(record: RunRecord) -> Iterator[tuple[str, float]]:
    scores = {
        "cv": record.cv,
        "cv_spread": record.spread,
        "hidden_test": record.hidden_test,
        "public_score": record.public_score,
        "private_score": record.private_score,
        **{f"{role}_seconds": seconds for role, seconds in record.seconds.items()},
    }
    for name, value in scores.items():
        if value is not None:
            yield name, value


def _text_of(workspace: Workspace, record: RunRecord, name: str) -> str:
    try:
        with open_below(run_folder(workspace, record.pair, record.number), name) as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError:
        return ""
    return content.decode("utf-8", "replace") if len(content) <= _LARGEST_FILE else ""


def _first_line(error: Exception) -> str:
    return quote_text(str(error).partition("\n")[0]).removesuffix(".")
