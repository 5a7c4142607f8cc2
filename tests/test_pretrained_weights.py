"""`tandem data` fetches what a training starts from into the cache that `tandem run` lets the notebook read."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from miniature import Outcome, write_tree
from notebook_session import needs_torch

from generator.run.input_mounts import PretrainedWeights, wanted_weights

Tandem = Callable[..., Outcome]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
KERAS = """
import os
from pathlib import Path
class applications:
    @staticmethod
    def MobileNetV2(include_top, weights, input_shape):
        print("Downloading data")
        folder = Path(os.environ["KERAS_HOME"]) / "models"
        folder.mkdir(parents=True)
        (folder / f"mobilenet_{input_shape[0]}_no_top.h5").write_text(weights)
"""
# timm imports torchvision, whose transforms no model needs: without CUDA there is none for this PyTorch.
TORCHVISION = """
import sys
from unittest.mock import MagicMock
import torch
for name in ("datasets", "models", "models.feature_extraction", "ops", "ops.misc", "transforms", "utils"):
    sys.modules[f"torchvision.{name}"] = MagicMock()
sys.modules["torchvision.transforms.functional"] = MagicMock()
sys.modules["torchvision.ops.misc"].FrozenBatchNorm2d = type("FrozenBatchNorm2d", (torch.nn.Module,), {})
"""
PHOTOGRAPHS = {
    "photographs/train.csv": "image,label\n" + "".join(f"{number}.jpg,{'ab'[number % 2]}\n" for number in range(20)),
    "photographs/sample_submission.csv": "image,label\n" + "".join(f"{number}.jpg,a\n" for number in range(20, 30)),
}


@pytest.mark.parametrize(
    ("framework", "parameters", "weights"),
    [
        ("keras", {"BACKBONE": "MobileNetV2", "WEIGHTS": "imagenet", "IMAGE_SIZE": 96}, ("keras", "imagenet", 96)),
        ("tensorflow", {"BACKBONE": "MobileNetV2", "WEIGHTS": True, "IMAGE_SIZE": 96}, ("keras", "", 0)),
        ("torch", {"BACKBONE": "resnet18.a1_in1k", "WEIGHTS": "timm"}, ("timm", "timm", 0)),
        ("jax", {"BACKBONE": "resnet50", "WEIGHTS": "a2_in1k"}, ("huggingface_hub", "a2_in1k", 0)),
        ("keras", {"BACKBONE": "cnn", "WEIGHTS": True}, None),
        ("keras", {"BACKBONE": "MobileNetV2", "WEIGHTS": ""}, None),
        ("keras", {"BACKBONE": "MobileNetV2", "WEIGHTS": False}, None),
        ("keras", {"BACKBONE": "MobileNetV2", "WEIGHTS": "/kaggle/input/w.h5"}, None),
        ("keras", {"BACKBONE": "__import__", "WEIGHTS": "imagenet"}, None),
        ("torch", {"BACKBONE": "hf-hub:somebody/pickles", "WEIGHTS": "timm"}, None),
        ("jax", {"BACKBONE": "resnet50", "WEIGHTS": "../../somebody/else"}, None),
        ("keras", {}, None),
    ],
)
def test_only_a_known_library_is_asked_for_weights_and_only_where_training_starts_from_some(
    framework: str, parameters: dict[str, object], weights: tuple[str, str, int] | None
) -> None:
    wanted = wanted_weights(framework, parameters)

    expected = weights and PretrainedWeights(weights[0], str(parameters["BACKBONE"]), *weights[1:])
    assert wanted == expected


@pytest.fixture
def photographs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tandem: Tandem) -> Path:
    """The current folder, with the pair `photographs` on a folder of the user's; nothing is known of a Kaggle."""
    from PIL import Image

    write_tree(tmp_path, PHOTOGRAPHS)
    for number in range(30):
        path = tmp_path / "photographs" / ("train" if number < 20 else "test") / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (96, 96), (8 * number, 0, 0)).save(path)
    (tmp_path / "workspace").mkdir()
    monkeypatch.chdir(tmp_path / "workspace")
    made = tandem("generate", "--competition", "photographs", "--data", "../photographs", "--metric", "accuracy")
    assert made.code == 0, made
    return tmp_path


def test_data_fetches_the_weights_that_the_pair_starts_from_without_a_kaggle(
    photographs: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(photographs / "library", {"keras/__init__.py": KERAS})
    monkeypatch.setenv("PYTHONPATH", str(photographs / "library"))
    monkeypatch.setenv("KERAS_HOME", str(photographs / "cache"))
    arguments = ("data", "photographs", "-P", "BACKBONE=MobileNetV2", "-P", "IMAGE_SIZE=96", "--json")

    planned = json.loads(tandem(*arguments, "--dry-run").out)
    assert not (photographs / "cache").exists()
    outcome = tandem(*arguments)

    weights = {"name": "MobileNetV2.imagenet", "library": "keras", "folder": ""}
    assert planned["weights"] == [weights]
    assert outcome.code == 0, outcome
    assert json.loads(outcome.out)["weights"] == [{**weights, "folder": str(photographs / "cache" / "models")}]
    assert (photographs / "cache" / "models" / "mobilenet_96_no_top.h5").read_text() == "imagenet"


def test_weights_that_cannot_be_fetched_are_one_sentence_with_what_can_be_done(
    photographs: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(
        photographs / "library", {"keras/__init__.py": "class applications: pass\nraise OSError('no \\x1b way')"}
    )
    monkeypatch.setenv("PYTHONPATH", str(photographs / "library"))

    outcome = tandem("data", "photographs")

    assert outcome.code == 1
    assert "The weights of EfficientNetV2B0.imagenet cannot be downloaded: OSError: no \\x1b way." in outcome.err
    assert '-P WEIGHTS=""' in outcome.err


def test_a_library_that_is_not_installed_is_named_with_its_command(
    photographs: Path, tandem: Tandem, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(photographs / "library", {"keras/__init__.py": "import no_such_backend"})
    monkeypatch.setenv("PYTHONPATH", str(photographs / "library"))

    outcome = tandem("data", "photographs")

    assert "no_such_backend, which is not installed" in outcome.err
    assert "pip install" in outcome.err


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A stand-in of the Hugging Face Hub with one file, its cache in a folder of the test; what is asked is listed."""
    file, asked = tmp_path / "model.safetensors", list[str]()
    file.write_bytes(b"some weights")

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            content = file.read_bytes()
            asked.append(f"{self.command} {self.path}")
            self.send_response(200 if self.path.endswith("/model.safetensors") else 404)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()
            self.wfile.write(file.read_bytes())

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hugging-face"))
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    yield asked
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_weights_on_the_hub_come_into_its_cache_once(photographs: Path, tandem: Tandem, hub: list[str]) -> None:
    generate = ("generate", "--competition", "photographs", "--framework", "jax", "--name", "photographs-jax")
    assert tandem(*generate, "--metric", "accuracy", "--force").code == 0
    (photographs / "workspace" / "kernels" / "photographs" / "pair.toml").unlink()

    first, again = tandem("data", "photographs", "--json"), tandem("data", "photographs", "--json")

    assert first.code == again.code == 0, (first, again)
    folder = Path(json.loads(first.out)["weights"][0]["folder"])
    snapshot = folder / "models--timm--resnet50.a1_in1k" / "snapshots" / COMMIT / "model.safetensors"
    assert snapshot.read_bytes() == b"some weights"
    assert len([line for line in hub if line.startswith("GET /timm")]) == 1


@needs_torch
@pytest.mark.slow
def test_timm_fetches_the_weights_that_it_loads_later(
    photographs: Path, tandem: Tandem, hub: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(photographs / "library", {"torchvision/__init__.py": TORCHVISION})
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(photographs / "library"), os.environ.get("PYTHONPATH", "")]))
    save = "import sys, timm, safetensors.torch as files\n"
    save += "files.save_file(timm.create_model('test_resnet').state_dict(), sys.argv[1])"
    subprocess.run([sys.executable, "-c", save, str(photographs / "model.safetensors")], check=True)
    generate = ("generate", "--competition", "photographs", "--framework", "torch", "--name", "photographs-torch")
    assert tandem(*generate, "--metric", "accuracy", "-P", "BACKBONE=test_resnet.r160_in1k").code == 0
    shutil.rmtree(photographs / "workspace" / "kernels" / "photographs")

    outcome = tandem("data", "photographs", "--json")

    assert outcome.code == 0, outcome
    (weights,) = json.loads(outcome.out)["weights"]
    assert (weights["library"], weights["name"]) == ("timm", "test_resnet.r160_in1k.timm")
    fetched = Path(weights["folder"]) / "models--timm--test_resnet.r160_in1k" / "snapshots" / COMMIT
    assert (fetched / "model.safetensors").read_bytes() == (photographs / "model.safetensors").read_bytes()
    assert any(line.startswith("GET /timm/test_resnet.r160_in1k/") for line in hub)
