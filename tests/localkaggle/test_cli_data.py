"""The unmodified `kaggle` command line with datasets and models of a local Kaggle."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import tree_of, write_tree
from scripted import ScriptedRunner
from serving import Served, notebook, run_kaggle, served

from generator.localkaggle.rpc import FaultRule, Faults

pytestmark = pytest.mark.slow

Kaggle = Callable[..., str]


def client(running: Served, tmp_path: Path) -> Kaggle:
    """Runs `kaggle`, and returns what it prints; a failure fails the test unless its text is `expected`."""

    def kaggle(*arguments: str | Path, expected: str = "") -> str:
        result = run_kaggle(running, tmp_path / "home", *map(str, arguments), folder=tmp_path)
        text = result.stdout + result.stderr
        assert expected in text if expected else result.returncode == 0, text
        assert "Traceback" not in text, text
        assert running.token not in text
        return text

    return kaggle


def test_a_dataset_is_created_versioned_listed_downloaded_and_deleted(local_kaggle: Served, tmp_path: Path) -> None:
    kaggle = client(local_kaggle, tmp_path)
    me, folder = local_kaggle.account, tmp_path / "data"
    metadata = {"id": f"{me}/some-data", "title": "Some Data", "licenses": [{"name": "CC0-1.0"}]}
    files = {"data.csv": "a,b\n1,2\n", "empty.txt": "", "weights/fold-0.bin": "w0", "weights/deep/fold-1.bin": "w1"}
    write_tree(folder, {**files, "dataset-metadata.json": json.dumps(metadata)})
    sent = {name: content.encode() for name, content in files.items()}

    assert "being created" in kaggle("datasets", "create", "-p", folder, "--dir-mode", "tar")
    assert kaggle("datasets", "status", f"{me}/some-data").strip().endswith("ready")
    (folder / "data.csv").write_text("newer\n")
    assert "being created" in kaggle("datasets", "version", "-p", folder, "-m", "newer", "--dir-mode", "zip")
    assert "already in use" in kaggle("datasets", "create", "-p", folder, expected="already in use")
    status = kaggle("datasets", "status", f"{me}/some-data", "--format", "json")
    assert json.loads(status) == {"status": "ready", "current_version_number": 2}
    assert "weights/deep/fold-1.bin" in kaggle("datasets", "files", f"{me}/some-data", "--csv")

    kaggle("datasets", "download", f"{me}/some-data", "-p", tmp_path / "new", "--unzip")
    kaggle("datasets", "download", f"{me}/some-data/1", "-p", tmp_path / "old", "--unzip")
    kaggle("datasets", "download", f"{me}/some-data", "-f", "weights/deep/fold-1.bin", "-p", tmp_path / "one")
    assert tree_of(tmp_path / "new") == {**sent, "data.csv": b"newer\n"}
    assert tree_of(tmp_path / "old") == sent
    assert tree_of(tmp_path / "one") == {"weights/deep/fold-1.bin": b"w1"}

    assert f"{me}/some-data" in kaggle("datasets", "list", "--mine", "--csv")
    kaggle("datasets", "metadata", f"{me}/some-data", "-p", tmp_path / "new")
    assert '"Some Data"' in (tmp_path / "new" / "dataset-metadata.json").read_text()
    kaggle("datasets", "delete", f"{me}/some-data", "--yes")
    kaggle("datasets", "status", f"{me}/some-data", expected="There is no dataset")


def test_a_model_is_created_versioned_listed_downloaded_and_deleted(local_kaggle: Served, tmp_path: Path) -> None:
    kaggle = client(local_kaggle, tmp_path)
    me, folder = local_kaggle.account, tmp_path / "model"
    names = {"ownerSlug": me, "title": "Some Model", "slug": "some-model", "isPrivate": True, "description": "# About"}
    variation = {"ownerSlug": me, "modelSlug": "some-model", "instanceSlug": "folds", "framework": "keras"}
    handle = f"{me}/some-model/keras/folds"
    write_tree(
        folder,
        {
            "model-metadata.json": json.dumps(names),
            "model-instance-metadata.json": json.dumps({**variation, "licenseName": "Apache 2.0"}),
            "fold-0.weights.h5": "one",
            "extra/notes.txt": "n",
        },
    )

    assert "Your model was created" in kaggle("models", "create", "-p", folder)
    assert "already in use" in kaggle("models", "create", "-p", folder, expected="already in use")
    assert "was created" in kaggle("models", "variations", "create", "-p", folder, "--dir-mode", "zip")
    (folder / "fold-0.weights.h5").write_text("two")
    assert "was created" in kaggle("models", "variations", "versions", "create", handle, "-p", folder, "-n", "newer")
    assert "extra/notes.txt" in kaggle("models", "variations", "versions", "files", f"{handle}/1", "--csv")
    assert "2" in kaggle("models", "variations", "versions", "list", handle, "--csv")

    kaggle("models", "variations", "versions", "download", f"{handle}/1", "-p", tmp_path / "old", "--untar")
    kaggle("models", "variations", "versions", "download", f"{handle}/2", "-p", tmp_path / "new", "--untar")
    assert tree_of(tmp_path / "old") == {"fold-0.weights.h5": b"one", "extra/notes.txt": b"n"}
    assert tree_of(tmp_path / "new") == {"fold-0.weights.h5": b"two"}

    assert f"{me}/some-model" in kaggle("models", "list", "--owner", me, "--csv")
    kaggle("models", "get", f"{me}/some-model", "-p", tmp_path / "new")
    assert json.loads((tmp_path / "new" / "model-metadata.json").read_text())["title"] == "Some Model"
    kaggle("models", "variations", "get", handle, "-p", tmp_path / "new")
    assert json.loads((tmp_path / "new" / "model-instance-metadata.json").read_text())["versionNumber"] == 2
    kaggle("models", "update", "-p", folder)
    kaggle("models", "variations", "versions", "delete", f"{handle}/2", "--yes")
    kaggle("models", "variations", "delete", handle, "--yes")
    kaggle("models", "delete", f"{me}/some-model", "--yes")
    kaggle("models", "get", f"{me}/some-model", expected="There is no model")


def test_datasets_and_models_are_mounted_where_kaggle_mounts_them(tmp_path: Path) -> None:
    runner = ScriptedRunner()
    with served(tmp_path / "site", runner=runner) as running:
        kaggle, me = client(running, tmp_path), running.account
        variation = {"ownerSlug": me, "modelSlug": "some-model", "instanceSlug": "folds", "framework": "pyTorch"}
        kernel = {
            "id": f"{me}/some-inference",
            "title": "Some inference",
            "code_file": "infer.ipynb",
            "language": "python",
            "kernel_type": "notebook",
            "enable_internet": False,
            "dataset_sources": [f"{me}/some-wheels", f"{me}/not-there"],
            "model_sources": [f"{me}/some-model/pyTorch/folds/1"],
        }
        write_tree(
            tmp_path,
            {
                "wheels/dataset-metadata.json": json.dumps(
                    {"id": f"{me}/some-wheels", "title": "Some wheels", "licenses": [{"name": "other"}]}
                ),
                "wheels/some-1.0-py3-none-any.whl": "wheel",
                "model/model-metadata.json": json.dumps(
                    {**variation, "slug": "some-model", "title": "Some", "isPrivate": True, "description": ""}
                ),
                "model/model-instance-metadata.json": json.dumps({**variation, "licenseName": "Apache 2.0"}),
                "model/fold-0.safetensors": "weights",
                "kernel/kernel-metadata.json": json.dumps(kernel),
                "kernel/infer.ipynb": notebook(),
            },
        )

        kaggle("datasets", "create", "-p", tmp_path / "wheels")
        kaggle("models", "create", "-p", tmp_path / "model")
        kaggle("models", "variations", "create", "-p", tmp_path / "model")
        pushed = kaggle("kernels", "push", "-p", tmp_path / "kernel")
        assert running.local_kaggle.kernels.sessions.queue.wait_until_idle(60)
        mounts = {str(place): tree_of(folder) for place, folder in runner.orders[0].mounts.items()}

    assert f"{me}/not-there" in pushed
    assert mounts == {
        f"datasets/{me}/some-wheels": {"some-1.0-py3-none-any.whl": b"wheel"},
        f"models/{me}/some-model/pyTorch/folds/1": {"fold-0.safetensors": b"weights"},
    }


def test_uploads_and_downloads_that_break_are_resumed(tmp_path: Path) -> None:
    faults = Faults(
        [
            FaultRule("drop-after", at="large.bin/upload", times=1),
            FaultRule("truncate", at="archive.zip/download", times=1),
        ]
    )
    content = "0123456789" * 300_000

    with served(tmp_path / "site", runner=ScriptedRunner(), faults=faults) as running:
        kaggle = client(running, tmp_path)
        metadata = {"id": f"{running.account}/some-data", "title": "Some Data", "licenses": [{"name": "CC0-1.0"}]}
        write_tree(tmp_path / "data", {"large.bin": content, "dataset-metadata.json": json.dumps(metadata)})
        kaggle("datasets", "create", "-p", tmp_path / "data")
        kaggle("datasets", "download", f"{running.account}/some-data", "-p", tmp_path / "back", "--unzip")

    assert [name for name, _ in faults.history] == ["drop-after", "truncate"]
    assert tree_of(tmp_path / "back") == {"large.bin": content.encode()}
