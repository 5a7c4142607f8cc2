"""PyTorch/XLA computes the same on one device and on eight, compiles a step once, and leaves nothing to the host.

It needs an environment of its own, `.venv-torch-xla`, which `make test-torch-xla` sets up and runs these tests with:
9 GB, as the last PyTorch that PyTorch/XLA is made for comes with CUDA alone. Devices are parts of this CPU.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from miniature import Outcome
from notebook_frameworks import Frameworks
from notebook_session import Mirror, Written
from small_competitions import SMALL_COMPETITIONS
from test_notebook_resume import KILL_AT
from test_torch_training import written_pair

pytest_plugins = ("notebook_session",)

CLONE = Path(__file__).resolve().parents[1]
PYTHON = CLONE / ".venv-torch-xla" / "bin" / "python"
HAS_LIBTPU = any(PYTHON.parents[1].glob("lib/python3.*/site-packages/libtpu"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="there is no .venv-torch-xla; `make test-torch-xla` sets it up"),
]

# At the usual rate the last bits of a float32 grow until they can be seen in the loss.
LEARNING_RATE = 1e-5
EIGHT = {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": "8"}
COUNTED = """

compiled, computed, held = [], train_epoch, []


def train_epoch(model, batches):
    mean = computed(model, batches)
    compiled.append(torch_xla.debug.metrics.metric_data("CompileTime")[0])
    weight = next(model["network"].parameters())
    held.append(len(xs.wrap_if_sharded(weight).local_shards) if mesh else 1)
    return mean
"""


@pytest.fixture(scope="module")
def xla(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frameworks]:
    started = Frameworks("none", tmp_path_factory.mktemp("xla"), python=PYTHON)
    yield started
    started.close()


def append(notebook: Written, cell: str, code: str) -> None:
    """Adds code to a cell of a notebook."""
    content = json.loads(notebook.path.read_text())
    (found,) = (each for each in content["cells"] if each["id"] == cell)
    found["source"] = "".join(found["source"]) + code
    notebook.path.write_text(json.dumps(content))


def parameters(mirror: Mirror, devices: int) -> dict[str, Any]:
    """Those of a training on eight examples a step."""
    roots = {"INPUT_ROOT": str(mirror.input), "WORKING_ROOT": str(mirror.working), "ALLOW_CPU": True}
    chosen = {"DEVICES": devices % 8, "BATCH_SIZE": 8 // devices, "LEARNING_RATE": LEARNING_RATE}
    return {**roots, **chosen, "N_FOLDS": 1, "EPOCHS": 3}


def trained(xla: Frameworks, mirror: Mirror, train: Written, devices: int) -> tuple[Any, Any]:
    """The fold of a training that is handed over, and what was compiled, held, and left to the host."""
    look = "global_batch, compiled, held, torch_xla.debug.metrics.executed_fallback_ops()"
    ended = xla.run(train, parameters(mirror, devices), environment=EIGHT, look=look)
    assert ended.is_done, ended
    (fold,) = json.loads((mirror.working / "handoff.json").read_text())["folds"]
    shutil.rmtree(mirror.working)
    return fold, ended.seen


def losses(fold: Any) -> list[float]:
    """The losses of a fold's epochs."""
    return [epoch["loss"] for epoch in fold["history"]]


@pytest.mark.parametrize("family", SMALL_COMPETITIONS)
def test_one_device_and_eight_learn_the_same_and_compile_once(
    xla: Frameworks, mirror: Mirror, tandem: Callable[..., Outcome], family: str
) -> None:
    train = written_pair(tandem, mirror, family).train
    append(train, "training-steps", COUNTED)

    on_eight, (batch, compiled, held, on_host) = trained(xla, mirror, train, 8)
    on_one, (_, compiled_for_one, *_) = trained(xla, mirror, train, 1)

    assert losses(on_eight) == pytest.approx(losses(on_one), rel=1e-5)
    assert (batch, held) == (8, [8, 8, 8]), "each device has the weights, and its share of a batch"
    # Behind the first epoch predictions are made for the first time, which is a program of its own.
    assert compiled[1] == compiled[2]
    assert compiled_for_one[1] == compiled_for_one[2]
    assert on_host == ["aten::_local_scalar_dense"], "the loss of an epoch is read, and nothing else"


def test_a_killed_training_on_eight_devices_ends_as_one_that_was_not(
    xla: Frameworks, mirror: Mirror, tandem: Callable[..., Outcome]
) -> None:
    train = written_pair(tandem, mirror, "tabular", ema=0.9).train
    append(train, "training-steps", COUNTED)
    as_written = train.path.read_text()
    expected, _ = trained(xla, mirror, train, 8)

    append(train, "runtime", KILL_AT.format(fold=0, epoch=1, next=2))
    assert xla.run(train, parameters(mirror, 8), environment=EIGHT).status < 0
    train.path.write_text(as_written)
    resumed, (_, compiled, *_) = trained(xla, mirror, train, 8)

    assert len(compiled) == 2, "an epoch was done before"
    assert losses(resumed) == losses(expected)
    assert resumed["sha256"] == expected["sha256"]


STRANGERS = """!pip install nothing
import os
os.environ["PJRT_DEVICE"] = "TPU"
import numpy as np, torch, torch_xla, torch_xla.core.xla_model as xm
import torch_xla.runtime as xr, torch_xla.distributed.spmd as xs
xr.use_spmd()
mesh = xs.Mesh(np.arange(8), (8,), ("data",))
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 128)).to(xm.xla_device())
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(torch.rand(1100, 256), batch_size=512)
for x in loader:
    x = x.to(xm.xla_device())
    xs.mark_sharding(x, mesh, ("data", None))
    with torch.autocast("xla", dtype=torch.bfloat16):
        out = model(x)
    kept = out[x[:, 0] > 2]
    loss = (out.float() ** 2).mean() + kept.sum() * 0
    loss.backward()
    xm.optimizer_step(optimizer, barrier=True)
    optimizer.zero_grad()
    assert loss.item() == 0, "it was not run"
"""


# What lies between its layers fills a core with a batch that is small on the host.
HUNGRY = """import torch, torch_xla, torch_xla.core.xla_model as xm
BATCH = 65536
device = torch_xla.device()
model = torch.nn.Sequential(torch.nn.Linear(8, 60000), torch.nn.Dropout(0.1), torch.nn.Linear(60000, 5)).to(device)
loss_of = torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]).to(device))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    x, y = torch.rand(BATCH, 8), torch.randint(0, 5, (BATCH,))
    x, y = x.to(device), y.to(device)
    loss_of(model(x), y).backward()
    xm.optimizer_step(optimizer, barrier=True)
    optimizer.zero_grad()
"""

HUNGRY_ON_ALL_CORES = """import os, threading, time
import numpy as np, torch_xla.runtime as xr, torch_xla.distributed.spmd as xs
os.makedirs("elsewhere")
os.chdir("elsewhere")
threading.Thread(target=time.sleep, args=(600,)).start()
xr.use_spmd()
mesh = xs.Mesh(np.arange(8), (8,), ("data",))
""" + HUNGRY.replace("BATCH = 65536", "BATCH = 8 * 65536").replace(
    "    loss_of(",
    """    xs.mark_sharding(x, mesh, ("data", None))
    xs.mark_sharding(y, mesh, ("data",))
    loss_of(""",
)


@pytest.fixture
def checked(tmp_path: Path) -> Callable[[str], Any]:
    """Has `tandem check --compile` read a notebook of one cell, and returns what it says to programs."""

    def check(source: str) -> Any:
        cell = {"cell_type": "code", "id": "0" * 8, "metadata": {}, "outputs": [], "execution_count": None}
        notebook = {"cells": [cell | {"source": source}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (tmp_path / "notebook.ipynb").write_text(json.dumps(notebook))
        done = subprocess.run(
            [str(PYTHON), "-m", "generator", "check", "notebook.ipynb", "--compile", "--json"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(CLONE), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return json.loads(done.stdout)

    return check


@pytest.mark.skipif(not HAS_LIBTPU, reason="the TPU's compiler is not in .venv-torch-xla")
def test_the_tpus_compiler_takes_the_step_of_a_strangers_notebook(checked: Callable[[str], Any]) -> None:
    told = checked(STRANGERS)

    (step,) = told["compiled"][0]["steps"]
    assert (step["what"], step["framework"], step["topology"], step["cores"]) == ("train", "torch", "v5e:2x4", 8)
    assert (step["batch_per_core"], step["parameters"]) == (64, 256 * 512 + 512 + 512 * 128 + 128)
    assert 0.9 < step["flops"] / (64 * 2 * (2 * 256 * 512 + 3 * 512 * 128)) < 1.3
    assert step["collectives"]["all-reduce"] >= 1
    found = {finding["rule"]: finding["line"] for finding in told["findings"] if finding["rule"].startswith("C")}
    assert found == {"C004": 18, "C008": 16}, "a ragged last batch, and a mask that the host takes"


@pytest.mark.skipif(not HAS_LIBTPU, reason="the TPU's compiler is not in .venv-torch-xla")
def test_a_batch_that_does_not_fit_is_told_with_the_largest_that_does(checked: Callable[[str], Any]) -> None:
    told = checked(HUNGRY)

    found = told["compiled"][0]["largest_batch"]
    assert 0.9 < found["peak_memory"] / (15.75 * 2**30) < 1
    (finding,) = (each for each in told["findings"] if each["rule"] == "C003")
    assert finding["message"].startswith("A batch of 65,536 a core does not fit")
    assert finding["remedy"] == f"Use at most {found['batch_per_core']} examples per core and step."

    told = checked(HUNGRY.replace("BATCH = 65536", f"BATCH = {found['batch_per_core']}"))

    (step,) = told["compiled"][0]["steps"]
    assert step["peak_memory"] == pytest.approx(found["peak_memory"], rel=1e-3), "as the notebook itself has it"


@pytest.mark.skipif(not HAS_LIBTPU, reason="the TPU's compiler is not in .venv-torch-xla")
def test_the_largest_batch_is_found_of_a_notebook_on_all_cores_that_moves_and_leaves_a_thread(
    checked: Callable[[str], Any],
) -> None:
    told = checked(HUNGRY_ON_ALL_CORES)

    found = told["compiled"][0]["largest_batch"]
    # 7,656 a core take 14.1 GiB, 7,664 take 15.4: the compiler lays them out otherwise.
    assert 0.85 < found["peak_memory"] / (15.75 * 2**30) < 1
    assert 0 < found["batch_per_core"] < 65536
    assert found["batch_per_core"] % 8 == 0


@pytest.mark.skipif(not HAS_LIBTPU, reason="the TPU's compiler is not in .venv-torch-xla")
def test_a_step_that_takes_no_other_batch_says_why(checked: Callable[[str], Any]) -> None:
    told = checked(HUNGRY.replace("model(x)", "model(x.view(BATCH, 8))"))

    assert told["compiled"][0]["largest_batch"] is None
    (unknown,) = told["compiled"][0]["unknown"]
    assert unknown.startswith(
        "The step train was compiled for no other batch than 65,536 a core: "
        "cell 1, line 10: RuntimeError: shape '[65536, 8]'"
    )
