"""From a generated pair to a score on the leaderboard, with the unmodified `kaggle` command line as the only client."""

import csv
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from layout_files import read_table
from scripted import ScriptedRunner
from serving import Served, run_kaggle, served

from generator.cli.main import main
from generator.competition.builtin import require
from generator.sessions.sandbox import SessionOrder

pytestmark = pytest.mark.slow

TRAIN, INFER = "digits-keras-train", "digits-keras-infer"
SUBMIT = ("-f", "submission.csv", "-m", "by hand")


class Shell:
    """A person at a shell, who looks again until things are done."""

    def __init__(self, running: Served, folder: Path, *, patience: float) -> None:
        self._running = running
        self._folder = folder
        self._patience = patience
        self._pause = patience / 150

    def kaggle(self, *arguments: str | Path) -> str:
        """What a command prints; it has to go well."""
        result = run_kaggle(self._running, self._folder / "home", *map(str, arguments), folder=self._folder)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "Traceback" not in result.stderr
        assert "error" not in result.stdout.lower(), result.stdout
        return result.stdout

    def rows(self, *arguments: str) -> list[dict[str, str]]:
        """The table that a command prints."""
        printed = self.kaggle(*arguments, "--csv").splitlines()
        return list(csv.DictReader(line for line in printed if not line.startswith("Next Page Token")))

    def until(self, look: Callable[[], str], *, pending: tuple[str, ...]) -> str:
        """Looks until it is something else than pending."""
        deadline = time.monotonic() + self._patience
        while (seen := look()) in pending or not seen:
            assert time.monotonic() < deadline, f"still {seen}"
            time.sleep(self._pause)
        return seen

    def session_of(self, kernel: str) -> str:
        """How a kernel's session ended."""

        def look() -> str:
            return self.kaggle("kernels", "status", kernel).strip().rpartition(".")[2].rstrip('"')

        return self.until(look, pending=("QUEUED", "RUNNING"))


def generated(folder: Path, owner: str) -> Path:
    """A pair for `digits`, as a user generates it."""
    assert main(["generate", "--competition", "digits", "--owner", owner, "--workspace", str(folder)]) == 0
    return folder / "kernels" / "digits"


def notebook_script(order: SessionOrder) -> None:
    """What the two notebooks do, in short: weights with a manifest, and with them the right answers."""
    mounts = {str(place): path for place, path in order.mounts.items()}
    trained = next((path for place, path in mounts.items() if place.startswith("notebooks/")), None)
    if trained is None:
        (order.files.working / "fold-0.weights.h5").write_bytes(b"weights")
        (order.files.working / "handoff.json").write_text('{"complete": true}')
        return
    assert (trained / "fold-0.weights.h5").read_bytes() == b"weights"
    assert not order.internet
    answers = require("digits").answers()
    head, *rows = read_table(mounts["competitions/digits"] / "sample_submission.csv")
    lines = [",".join(head), *(f"{row[0]},{answers[row[0]]}" for row in rows)]
    (order.files.working / "submission.csv").write_text("\n".join(lines) + "\n")


def test_a_pair_reaches_the_leaderboard_by_the_official_command_line(tmp_path: Path) -> None:
    runner = ScriptedRunner(notebook_script)
    with served(tmp_path / "site", runner=runner) as running:
        me = running.account
        shell = Shell(running, tmp_path, patience=30)
        pair = generated(tmp_path / "workspace", me)

        assert any(row["ref"].endswith("/digits") for row in shell.rows("competitions", "list", "-s", "digits"))
        assert shell.rows("competitions", "files", "digits")[0]["name"] == "sample_submission.csv"
        shell.kaggle("competitions", "download", "digits", "-f", "sample_submission.csv", "-p", tmp_path / "data")
        shown = (tmp_path / "data" / "sample_submission.csv").read_text().count("\n") - 1

        assert "successfully pushed" in shell.kaggle("kernels", "push", "-p", pair / "train")
        assert shell.session_of(f"{me}/{TRAIN}") == "COMPLETE"
        shell.kaggle("kernels", "output", f"{me}/{TRAIN}", "-p", tmp_path / "trained")
        assert json.loads((tmp_path / "trained" / "handoff.json").read_text()) == {"complete": True}
        assert (tmp_path / "trained" / f"{TRAIN}.log").is_file()

        assert "successfully pushed" in shell.kaggle("kernels", "push", "-p", pair / "infer")
        assert shell.session_of(f"{me}/{INFER}") == "COMPLETE"
        assert [row["name"] for row in shell.rows("kernels", "files", f"{me}/{INFER}")] == ["submission.csv"]

        said = shell.kaggle("competitions", "submit", "digits", "-k", f"{me}/{INFER}", "-v", "1", *SUBMIT)
        assert "Successfully submitted" in said
        scored = shell.until(
            lambda: shell.rows("competitions", "submissions", "digits")[0]["publicScore"], pending=("", "None")
        )
        [entry] = shell.rows("competitions", "leaderboard", "digits", "--show")
        quota = shell.kaggle("quota")
        mine = {row["ref"] for row in shell.rows("kernels", "list", "--mine")}
        shell.kaggle("kernels", "pull", f"{me}/{INFER}", "-p", tmp_path / "pulled", "-m")

        asked = [exchange.method.rpartition("/")[2] for exchange in running.local_kaggle.exchanges]

    assert float(scored) == float(entry["score"]) == 1.0
    assert entry["teamName"] == me
    assert "GPU" in quota
    assert "TPU" in quota
    assert mine == {f"{me}/{TRAIN}", f"{me}/{INFER}"}
    pulled = json.loads((tmp_path / "pulled" / "kernel-metadata.json").read_text())
    assert pulled["kernel_sources"] == [f"{me}/{TRAIN}"]
    assert pulled["enable_internet"] is False
    assert (asked.count("SaveKernel"), asked.count("CreateCodeSubmission")) == (2, 1)
    # Training, inference, and inference again on the hidden test, of which the public one is a part.
    assert len(runner.orders) == 3
    hidden = next(iter(path for place, path in runner.orders[2].mounts.items() if "competitions" in str(place)))
    assert (hidden / "sample_submission.csv").read_text().count("\n") - 1 > shown


def test_the_lines_for_the_official_client_in_the_docs_work_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = Path(__file__).parents[2] / "docs" / "local-kaggle.md"
    opening, *lines = docs.read_text().partition("## The official clients")[2].split("```")[1].split("\n")[1:-1]
    assert opening == 'eval "$(tandem serve --env)"'  # `Shell` sets the same variables
    monkeypatch.chdir(tmp_path)
    with served(tmp_path / "site", runner=ScriptedRunner(notebook_script)) as running:
        shell = Shell(running, tmp_path, patience=30)
        said = []
        for line in lines:
            program, *arguments = line.split()
            if program == "tandem":
                assert main(arguments) == 0
            else:
                said.append(shell.kaggle(*arguments))

    assert "digits" in said[0]
    assert "successfully pushed" in said[1]
    assert "local/mine-keras-train" in said[2]
