"""The competitions as clients meet them: every method over HTTP, and the unmodified command line of Kaggle."""

import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from scripted import ScriptedRunner
from serving import Served, notebook, run_kaggle, served
from toy import HEIGHTS, submission_text, toy_competition

from generator.sessions.sandbox import SessionOrder

TOY = "toy-heights"


@pytest.fixture
def kaggle(tmp_path: Path) -> Iterator[Served]:
    """A local Kaggle that hosts a competition for files; at its end every answer was one that Kaggle's SDK knows."""
    toy = toy_competition(tmp_path / "toy", is_code=False)
    with served(tmp_path / "kaggle", runner=ScriptedRunner(), competitions=[toy]) as running:
        yield running


def ask(kaggle: Served, method: str, **fields: Any) -> bytes:
    """The answer to a method, which for those of competitions may be named by its last name, and what it leads to."""
    name = method if "/" in method else f"competitions.CompetitionApiService/{method}"
    answer = kaggle.request("POST", f"/api/v1/{name}", json=fields, allow_redirects=True)
    assert answer.status_code == 200, answer.text
    return answer.content


def scored(kaggle: Served, ref: int) -> dict[str, Any]:
    """A submission after it was scored."""
    until = time.monotonic() + 20
    while (found := json.loads(ask(kaggle, "GetSubmission", ref=ref)))["status"] == "PENDING":
        assert time.monotonic() < until, "still pending"
        time.sleep(0.01)
    return found


def test_every_method_answers_in_fields_that_kaggles_sdk_knows(kaggle: Served) -> None:
    named = {"competitionName": TOY, "contentLength": 130, "fileName": "submission.csv"}
    begun = json.loads(ask(kaggle, "StartSubmissionUpload", **named))
    address = begun["createUrl"].removeprefix(kaggle.address)
    assert kaggle.request("PUT", address, data=submission_text(off_by=1.5)).status_code == 200
    ref = json.loads(ask(kaggle, "CreateSubmission", competitionName=TOY, blobFileTokens=begun["token"]))["ref"]
    scored(kaggle, ref)
    answers = {
        method: ask(kaggle, method, competitionName=TOY)
        for method in (
            "GetCompetition",
            "ListDataFiles",
            "ListDataTreeFiles",
            "GetCompetitionDataFilesSummary",
            "ListCompetitionPages",
            "ListSubmissions",
            "GetSubmissionLimits",
            "GetLeaderboard",
            "DownloadLeaderboard",
            "DownloadDataFiles",
        )
    }
    ask(kaggle, "ListCompetitions")

    assert json.loads(answers["GetLeaderboard"])["submissions"][0]["score"] == "1.50000"
    assert ask(kaggle, "DownloadSubmission", submissionId=ref).decode() == submission_text(off_by=1.5)
    assert ask(kaggle, "DownloadDataFile", competitionName=TOY, fileName="test.csv").startswith(b"id,age\n")
    assert len(kaggle.local_kaggle.exchanges) > len(answers)


def predict_what_is_mounted(order: SessionOrder) -> None:
    """The script of a notebook: half a unit too much for every person of the test that it sees."""
    data = order.mounts[PurePosixPath(f"competitions/{TOY}")]
    people = (data / "sample_submission.csv").read_text().split()[1:]
    rows = [f"{key},{HEIGHTS[key] + 0.5}" for key in (line.partition(",")[0] for line in people)]
    (order.files.working / "submission.csv").write_text("\n".join(["id,height", *rows, ""]))


def test_a_pushed_notebook_is_scored_on_the_hidden_test(tmp_path: Path) -> None:
    runner = ScriptedRunner(predict_what_is_mounted)
    with served(tmp_path / "kaggle", runner=runner, competitions=[toy_competition(tmp_path / "toy")]) as kaggle:
        kaggle.save_kernel("Heights infer", notebook(), competitionDataSources=[TOY], enableInternet=False)
        assert kaggle.local_kaggle.kernels.sessions.queue.wait_until_idle(60)
        kernel = {"kernelOwner": kaggle.account, "kernelSlug": "heights-infer", "kernelVersion": 1}
        found = scored(kaggle, json.loads(ask(kaggle, "CreateCodeSubmission", competitionName=TOY, **kernel))["ref"])

    assert (found["status"], found["publicScore"], found["errorDescription"]) == ("COMPLETE", "0.50000", "")
    # The rerun chose the size of what was scored, and nobody is told of it.
    (kept,) = (path for path in (tmp_path / "kaggle").rglob("submission.csv") if "sessions" not in path.parts)
    assert kept.stat().st_size > 12 * len("p00,150.5\n")
    assert found["totalBytes"] == 0
    assert [order.environment.get("KAGGLE_IS_COMPETITION_RERUN") for order in runner.orders] == [None, "1"]


@pytest.mark.slow
def test_the_command_line_of_kaggle_downloads_submits_and_sees_its_score(tmp_path: Path, kaggle: Served) -> None:
    home = tmp_path / "home"
    (tmp_path / "submission.csv").write_text(submission_text(off_by=0.5))

    def kaggle_says(*arguments: str) -> str:
        ended = run_kaggle(kaggle, home, "competitions", *arguments)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    assert TOY in kaggle_says("list", "-s", "toy")
    assert "sample_submission.csv" in kaggle_says("files", TOY)
    kaggle_says("download", TOY)
    kaggle_says("download", TOY, "-f", "train.csv")
    said = kaggle_says("submit", TOY, "-f", str(tmp_path / "submission.csv"), "-m", "by the command line")
    while "PENDING" in (submissions := kaggle_says("submissions", TOY)):
        time.sleep(0.05)

    assert "4 submissions remaining today.\nSuccessfully submitted to Toy heights" in said
    assert "0.50000" in submissions
    assert "by the command line" in submissions
    assert "0.50000" in kaggle_says("leaderboard", TOY, "--show")
    assert (home / "train.csv").read_text() == (tmp_path / "toy" / "data" / "train.csv").read_text()
    assert "train.csv" in zipfile.ZipFile(home / f"{TOY}.zip").namelist()
