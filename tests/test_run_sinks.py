"""Runs exported by the libraries of MLflow and of Weights & Biases, where those are installed."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from miniature import Outcome
from recorded_runs import record

from generator.pair.workspace import Workspace
from generator.run.ledger import change_run

Tandem = Callable[..., Outcome]
NOTE = "x' OR 1=1 --\x1b[31m"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    record(tmp_path)
    change_run(Workspace(tmp_path), record(tmp_path, epochs=5).record, public_score=0.8, note=NOTE)
    return tmp_path


@pytest.mark.parametrize(
    ("library", "options"), [("mlflow", ["--mlflow", "http://127.0.0.1:9"]), ("wandb", ["--wandb", "."])]
)
def test_without_the_library_the_command_that_installs_it_is_named(
    tandem: Tandem, workspace: Path, monkeypatch: pytest.MonkeyPatch, library: str, options: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    refused = tandem("runs", "export", "tiny", *options)
    assert (refused.code, f"{library} is not installed. Install it: " in refused.err) == (1, True)
    assert f"[{library}]" in refused.err
    assert tandem("runs", "export", "tiny").code == 2


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of MLflow's own server."""
    pytest.importorskip("mlflow")
    if importlib.util.find_spec("flask") is None:
        pytest.skip("mlflow-skinny has no server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "1"]
    command += [
        "--backend-store-uri",
        f"sqlite:///{tmp_path}/mlflow.db",
        "--artifacts-destination",
        str(tmp_path / "art"),
    ]
    with subprocess.Popen(command, start_new_session=True, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(240):
                try:
                    urllib.request.urlopen(f"{address}/health", timeout=5).close()  # noqa: S310 - loopback
                    break
                except OSError:
                    time.sleep(0.5)
            else:
                pytest.fail("The server of MLflow did not start.")
            yield address
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_server_of_mlflow_gets_each_run_once(tandem: Tandem, workspace: Path, server: str) -> None:
    from mlflow.tracking import MlflowClient

    for count in (2, 0):
        done = tandem("runs", "export", "tiny", "--mlflow", server)
        assert (done.code, done.out) == (0, f"MLflow: {count} new runs of 2.\n"), done.err

    client = MlflowClient(tracking_uri=server)
    experiment = client.get_experiment_by_name("tiny")
    newest, _ = client.search_runs(
        [experiment.experiment_id], order_by=["attributes.start_time DESC", "params.EPOCHS DESC"]
    )
    assert (newest.info.run_name, newest.info.status) == ("tiny@2", "FINISHED")
    assert (newest.data.params["EPOCHS"], newest.data.metrics["cv"], newest.data.metrics["public_score"]) == (
        "5",
        0.75,
        0.8,
    )
    assert newest.data.tags["note"] == "x' OR 1=1 --\\x1b[31m"
    assert [entry.value for entry in client.get_metric_history(newest.info.run_id, "fold_score")] == [0.74, 0.76]
    assert [file.path for file in client.list_artifacts(newest.info.run_id)] == ["report.html", "run.json"]


@pytest.mark.slow
def test_weights_and_biases_gets_each_run_once_and_nothing_is_sent(tandem: Tandem, workspace: Path) -> None:
    pytest.importorskip("wandb")
    for count in (2, 0):
        done = tandem("runs", "export", "tiny", "--wandb", "sink")
        assert (done.code, done.out) == (0, f"Weights & Biases: {count} new runs of 2, in sink/wandb.\n"), done.err
    folders = sorted((workspace / "sink/wandb").glob("offline-run-*"))
    assert len(folders) == 2
    assert all(list(folder.glob("*.wandb")) for folder in folders)
