"""PyTorch/XLA computes the same on one device and on eight, compiles a step once, and leaves nothing to the host.

It needs an environment of its own, `.venv-torch-xla`, which `make test-torch-xla` sets up and runs these tests with:
7 GB, as the last PyTorch that PyTorch/XLA is made for comes with CUDA alone. Devices are parts of this CPU.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from notebook_competitions import write_digits, write_shops
from notebook_frameworks import Frameworks
from notebook_session import Mirror, Notebook
from test_audio_family import TONES
from test_audio_training import write_competition
from test_image_to_image_family import SCANS, write_scans
from test_segmentation_family import CODES
from test_segmentation_training import write_discs

from generator.competition.facts import Task

pytest_plugins = ("notebook_session",)

PYTHON = Path(__file__).resolve().parents[1] / ".venv-torch-xla" / "bin" / "python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="there is no .venv-torch-xla; `make test-torch-xla` sets it up"),
]

# For 24 steps; at the usual rate the last bits of a float32 grow until they can be seen in the loss.
LEARNING_RATE = 0.0004
EIGHT = {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": "8"}
COUNTED = """
compiled, computed, held = [], train_epoch, []


def train_epoch(model, batches):
    mean = computed(model, batches)
    compiled.append(xla_metrics.metric_data("CompileTime")[0])
    weight = next(model.parameters())
    held.append(len(xs.wrap_if_sharded(weight).local_shards) if mesh else 1)
    return mean
"""


@pytest.fixture(scope="module")
def xla(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frameworks]:
    started = Frameworks("none", tmp_path_factory.mktemp("xla"), python=PYTHON)
    yield started
    started.close()


def trained(xla: Frameworks, mirror: Mirror, devices: int, **parameters: Any) -> tuple[list[float], Any]:
    """The losses of a training, and what was compiled, held, and left to the host."""
    train = Notebook("torch", "train", {"train-epoch": lambda cell: cell + COUNTED}, slug=mirror.slug)
    chosen = {"DEVICES": devices % 8, "LEARNING_RATE": LEARNING_RATE, "EPOCHS": 3, **parameters}
    look = "global_batch, compiled, held, xla_metrics.executed_fallback_ops()"
    ended = xla.run(train, mirror.parameters(train, **chosen), environment=EIGHT, look=look)
    assert ended.is_done, ended
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    mirror.working.rename(mirror.root / f"of-{devices}")
    return [epoch["loss"] for epoch in handoff["folds"][0]["history"]], ended.seen


@pytest.mark.parametrize("slug", ["shops", "digits"])
def test_one_device_and_eight_learn_the_same_and_compile_once(xla: Frameworks, mirror: Mirror, slug: str) -> None:
    mirror = Mirror(mirror.root, slug)
    (write_shops if slug == "shops" else write_digits)(mirror.competition)

    losses, (batch, compiled, held, on_host) = trained(xla, mirror, 8, BATCH_SIZE=1)
    on_one, (_, compiled_for_one, *_) = trained(xla, mirror, 1, BATCH_SIZE=8)

    assert losses == pytest.approx(on_one, rel=1e-5)
    assert (batch, held) == (8, [8, 8, 8]), "each device has the weights, and its share of a batch"
    # Behind the first epoch predictions are made for the first time, which is a program of its own.
    assert compiled[1] == compiled[2]
    assert compiled_for_one[1] == compiled_for_one[2]
    assert on_host == ["aten::_local_scalar_dense"], "the loss of an epoch is read, and nothing else"


@pytest.mark.parametrize(
    ("task", "write"),
    [(CODES, lambda folder: write_discs(folder, "codes")), (SCANS, write_scans), (TONES, write_competition)],
    ids=["segmentation", "image_to_image", "audio"],
)
def test_a_smoke_run_of_eight_devices_leaves_nothing_to_the_host(
    xla: Frameworks, mirror: Mirror, task: Task, write: Callable[[Path], object]
) -> None:
    """Or it stops with the name of the operation."""
    write(mirror.competition)
    train = Notebook("torch", "train", task=task)
    parameters = mirror.parameters(train, SMOKE_TEST=True, BATCH_SIZE=1, EPOCHS=1)

    ended = xla.run(train, parameters, environment=EIGHT, look="len(mesh.device_ids)")

    assert ended.is_done, ended
    assert ended.seen == 8
