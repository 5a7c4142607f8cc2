"""The server speaks the API that the installed kagglesdk knows, and the official command line is content with it."""

import json
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedRunner, writing
from serving import Exchange, notebook, run_kaggle, served
from wire_lint import complaints, methods

from generator.localkaggle.services import LocalKaggle

STATUS = "kernels.KernelsApiService/GetKernelSessionStatus"
QUOTA = "kernels.KernelsApiService/GetAcceleratorQuotaStatistics"
LIST = "competitions.CompetitionApiService/ListCompetitions"
SUBMISSIONS = "competitions.CompetitionApiService/ListSubmissions"
DOWNLOAD = "competitions.CompetitionApiService/DownloadDataFile"
DELETE = "kernels.KernelsApiService/DeleteKernel"

OFFERED = {
    "competitions.CompetitionApiService": (
        "ListCompetitions GetCompetition ListDataFiles ListDataTreeFiles GetCompetitionDataFilesSummary "
        "ListCompetitionPages DownloadDataFile DownloadDataFiles StartSubmissionUpload CreateSubmission "
        "CreateCodeSubmission ListSubmissions GetSubmission DownloadSubmission GetSubmissionLimits GetLeaderboard "
        "DownloadLeaderboard"
    ),
    "kernels.KernelsApiService": (
        "SaveKernel GetKernel GetKernelSessionStatus ListKernelSessionOutput ListKernelFiles ListKernels DeleteKernel "
        "DownloadKernelOutput DownloadKernelOutputZip GetAcceleratorQuotaStatistics"
    ),
    "datasets.DatasetApiService": (
        "CreateDataset CreateDatasetVersion GetDataset GetDatasetStatus GetDatasetMetadata ListDatasets "
        "ListDatasetFiles DownloadDataset DeleteDataset"
    ),
    "models.ModelApiService": (
        "CreateModel GetModel ListModels DeleteModel CreateModelInstance GetModelInstance ListModelInstances "
        "CreateModelInstanceVersion ListModelInstanceVersions ListModelInstanceVersionFiles "
        "DownloadModelInstanceVersion DeleteModelInstance DeleteModelInstanceVersion"
    ),
    "blobs.BlobApiService": "StartBlobUpload",
    "security.OAuthService": "IntrospectToken",
    "users.AccountService": "GenerateAccessToken",
}


def test_every_method_that_is_offered_is_one_that_clients_can_call(tmp_path: Path) -> None:
    local_kaggle = LocalKaggle(tmp_path, runner=ScriptedRunner())
    offered = set(local_kaggle.methods)
    local_kaggle.close()
    assert offered - set(methods()) == {"api.v1.DiagnosticsService/Hello"}


def test_every_method_that_the_journeys_need_is_offered(tmp_path: Path) -> None:
    needed = {f"{service}/{method}" for service, names in OFFERED.items() for method in names.split()}
    local_kaggle = LocalKaggle(tmp_path, runner=ScriptedRunner())
    offered = set(local_kaggle.methods)
    local_kaggle.close()
    assert needed - offered == set()


@pytest.mark.parametrize(
    ("method", "answer", "expected"),
    [
        (STATUS, {"status": "COMPLETE", "failureMessage": ""}, ""),
        (STATUS, {"status": "COMPLETE", "failiureMessage": ""}, "no field failiureMessage"),
        (STATUS, {"status": "complete"}, "KernelWorkerStatus"),
        (STATUS, {"status": 2}, "KernelWorkerStatus"),
        (STATUS, None, "JSON is expected"),
        (QUOTA, {"quotaRefreshTime": "2026-12-05T00:00:00Z"}, ""),
        (QUOTA, {"quotaRefreshTime": "2026-12-05 00:00:00"}, "datetime"),
        (QUOTA, {"quotaRefreshTime": "2026-12-05T00:00:00+00:00"}, "datetime"),
        (QUOTA, {"gpuQuota": {"timeUsed": "4500s"}}, ""),
        (QUOTA, {"gpuQuota": {"timeUsed": 4500}}, "timedelta"),
        (QUOTA, {"gpuQuota": {"timeUsedUp": "4500s"}}, "has no field timeUsedUp"),
        (LIST, {"competitions": [{"title": "T", "maxDailySubmissions": "5"}]}, "no int"),
        (LIST, {"competitions": {"title": "T"}}, "no list"),
        (LIST, {"competitions": [{"id": None}]}, "null"),
        (SUBMISSIONS, {"submissions": [{"status": "SubmissionStatus.PENDING"}]}, "SubmissionStatus"),
        (DOWNLOAD, None, ""),
        (DOWNLOAD, {}, "a file is expected"),
        ("kernels.KernelsApiService/Dance", {}, ""),
        ("kernels.KernelsApiService/Dance", {"step": 1}, "no method of the SDK"),
        (DELETE, {}, ""),
    ],
)
def test_the_lint_tells_what_the_client_would_stumble_over(
    method: str, answer: dict[str, Any] | None, expected: str
) -> None:
    found = complaints([Exchange(method, {}, 200, answer)])
    assert (len(found) == 1 and expected in found[0]) if expected else not found


def test_an_error_is_a_code_and_a_message(tmp_path: Path) -> None:
    assert complaints([Exchange(STATUS, {}, 404, {"code": 404, "message": "No."})]) == []
    assert len(complaints([Exchange(STATUS, {}, 404, {"error": "No."})])) == 1


@pytest.mark.slow
def test_the_official_command_line_is_content_with_what_it_hears(tmp_path: Path) -> None:
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "notebook.ipynb").write_text(notebook())
    metadata = {
        "id": "local/my-first-kernel",
        "title": "My first kernel",
        "code_file": "notebook.ipynb",
        "language": "python",
        "kernel_type": "notebook",
        "is_private": True,
        "enable_internet": False,
        "competition_sources": ["digits"],
    }
    (folder / "kernel-metadata.json").write_text(json.dumps(metadata))
    commands = [
        ["competitions", "list"],
        ["competitions", "files", "digits"],
        ["kernels", "push", "-p", str(folder)],
        ["kernels", "status", "local/my-first-kernel"],
        ["kernels", "logs", "local/my-first-kernel", "--follow"],
        ["kernels", "output", "local/my-first-kernel", "-p", str(tmp_path / "output")],
        ["quota"],
    ]
    with served(tmp_path / "site", runner=ScriptedRunner(writing({"a.csv": "1\n"}))) as running:
        for command in commands:
            done = run_kaggle(running, tmp_path / "home", *command)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            running.local_kaggle.kernels.sessions.queue.wait_until_idle(30)
        legacy = {
            "KAGGLE_API_TOKEN": "",
            "KAGGLE_USERNAME": "local",
            "KAGGLE_KEY": running.local_kaggle.accounts.key("local"),
        }
        done = run_kaggle(running, tmp_path / "home", "kernels", "list", "-m", environment=legacy)
        assert "my-first-kernel" in done.stdout, done.stderr
        assert complaints(running.local_kaggle.exchanges, requests=True) == []
    assert (tmp_path / "output" / "a.csv").read_text() == "1\n"


@pytest.mark.slow
def test_an_official_client_with_a_wrong_token_gets_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "site", runner=ScriptedRunner()) as running:
        wrong = {"KAGGLE_API_TOKEN": "somebody-elses"}
        done = run_kaggle(running, tmp_path / "home", "competitions", "list", environment=wrong)
    assert done.returncode == 1
    assert "digits" not in done.stdout
