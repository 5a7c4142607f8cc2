"""The unmodified kagglehub, in a process of its own, against a local Kaggle."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from miniature import tree_of, write_tree
from scripted import ScriptedRunner, writing
from serving import Served, client_environment, notebook, served

from generator.localkaggle.rpc import FaultRule, Faults

pytestmark = pytest.mark.slow

_OPENING = "import json, kagglehub, sys\nsays = {}\n"
_CLOSING = "\njson.dump(says, open('says.json', 'w'))\n"


def run(served: Served, folder: Path, script: str) -> Any:
    """Runs a script that fills `says`, and returns what it said; relative paths are below `folder`."""
    folder.mkdir(exist_ok=True)
    result = subprocess.run(
        [sys.executable, "-I", "-c", _OPENING + script + _CLOSING],
        env=client_environment(served, folder / "home"),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert served.token not in result.stdout + result.stderr
    return json.loads((folder / "says.json").read_text())


def test_datasets_and_models_come_back_as_they_were_uploaded(local_kaggle: Served, tmp_path: Path) -> None:
    tree = {"data.csv": "a,b\n1,2\n", "empty.txt": "", "fold 0/deep/weights.bin": "w" * 70_000}
    client = tmp_path / "client"
    write_tree(client / "first", tree)
    write_tree(client / "second", {"data.csv": "newer\n"})

    said = run(
        local_kaggle,
        client,
        """
me = says["me"] = kagglehub.whoami()["username"]
data, model = f"{me}/some-data", f"{me}/some-model/keras/fold-weights"
for handle, upload, download in (
    (data, kagglehub.dataset_upload, kagglehub.dataset_download),
    (model, kagglehub.model_upload, kagglehub.model_download),
):
    versioned = handle + ("/versions/1" if handle == data else "/1")
    upload(handle, "first", version_notes="the first")
    says[handle] = [download(handle)]
    upload(handle, "second", version_notes="the second")
    says[handle] += [download(handle), download(versioned, force_download=True)]
    says[handle] += [download(versioned, path="fold 0/deep/weights.bin", force_download=True)]
    for wrong in (
        lambda: download(versioned, path="no.csv"),
        lambda: download(handle.replace("/some-", "/nothing-")),
    ):
        try:
            says["answered"] = wrong()
        except kagglehub.exceptions.KaggleApiHTTPError as error:
            assert error.response.status_code == 404, error
""",
    )

    assert said["me"] == local_kaggle.account
    assert "answered" not in said
    sent = {name: content.encode() for name, content in tree.items()}
    for handle in (f"{said['me']}/some-data", f"{said['me']}/some-model/keras/fold-weights"):
        first, second, first_again, one = map(Path, said[handle])
        assert tree_of(second) == {"data.csv": b"newer\n"}
        assert tree_of(first_again) == sent
        assert first.parent == second.parent
        assert one.read_bytes() == sent["fold 0/deep/weights.bin"]
    datasets = local_kaggle.local_kaggle.datasets
    assert tree_of(datasets.dataset_folder(f"{said['me']}/some-data/1")) == sent


@pytest.mark.skipif(not hasattr(tarfile, "data_filter"), reason="kagglehub unpacks models with Python 3.11.4 and later")
def test_a_folder_of_many_files_is_archived_by_the_client_and_unpacked_here(
    local_kaggle: Served, tmp_path: Path
) -> None:
    tree = {f"part-{number // 10}/{number}.txt": str(number) for number in range(60)}
    client = tmp_path / "client"
    write_tree(client / "many", tree)

    said = run(
        local_kaggle,
        client,
        """
me = kagglehub.whoami()["username"]
kagglehub.dataset_upload(f"{me}/many-files", "many")
kagglehub.model_upload(f"{me}/many-files/jax/all", "many")
says["data"] = kagglehub.dataset_download(f"{me}/many-files")
says["model"] = kagglehub.model_download(f"{me}/many-files/jax/all")
""",
    )

    sent = {name: content.encode() for name, content in tree.items()}
    assert tree_of(Path(said["data"])) == sent
    assert tree_of(Path(said["model"])) == sent
    # More than 25 files of a model travel as one archive.
    asked = [exchange.method.rpartition("/")[2] for exchange in local_kaggle.local_kaggle.exchanges]
    assert asked.count("DownloadModelInstanceVersion") == 1


@pytest.mark.parametrize("name", ["drop", "drop-after"])
def test_an_upload_that_breaks_is_resumed_and_is_whole(tmp_path: Path, name: str) -> None:
    faults = Faults([FaultRule(name, at="large.bin/upload", times=1)])
    client = tmp_path / "client"
    write_tree(client / "data", {"large.bin": "0123456789" * 300_000})

    with served(tmp_path / "site", runner=ScriptedRunner(), faults=faults) as running:
        said = run(
            running,
            client,
            """
me = kagglehub.whoami()["username"]
kagglehub.dataset_upload(f"{me}/large-data", "data")
says["data"] = kagglehub.dataset_download(f"{me}/large-data")
""",
        )

    assert faults.history == ((name, "large.bin/upload"),)
    assert tree_of(Path(said["data"])) == {"large.bin": b"0123456789" * 300_000}


def test_competitions_and_the_output_of_notebooks_are_downloaded(tmp_path: Path) -> None:
    written = {"handoff.json": "{}", "fold 0/weights.bin": "w" * 5_000}
    with served(tmp_path / "site", runner=ScriptedRunner(writing(written))) as running:
        running.save_kernel("Some Training", notebook())
        assert running.local_kaggle.kernels.sessions.queue.wait_until_idle(60)
        said = run(
            running,
            tmp_path / "client",
            """
me = kagglehub.whoami()["username"]
says["competition"] = kagglehub.competition_download("digits")
says["one"] = kagglehub.competition_download("digits", path="sample_submission.csv")
says["output"] = kagglehub.notebook_output_download(f"{me}/some-training")
says["file"] = kagglehub.notebook_output_download(f"{me}/some-training/versions/1", path="fold 0/weights.bin")
""",
        )
        hosted = running.local_kaggle.hosted_competitions["digits"].data()
        data = tree_of(hosted)

    assert tree_of(Path(said["competition"])) == data
    assert Path(said["one"]).read_bytes() == data["sample_submission.csv"]
    assert tree_of(Path(said["output"])) == {name: content.encode() for name, content in written.items()}
    assert Path(said["file"]).read_text() == written["fold 0/weights.bin"]
