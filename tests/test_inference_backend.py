"""What JAX trained is inferred with PyTorch, if the user says so: training stays, weights are converted."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from miniature import Outcome
from notebook_competitions import write_digits
from notebook_session import Mirror, Notebook, Sessions, needs_torch, rendered_cells
from test_notebook_images import digits_task
from unused_names import unused_names

from generator.competition import builtin
from generator.pair.notebook import SHARED_MARK, check_shared_cells, written_cells
from generator.pair.workspace import PairFolder, Role, Workspace

pytest_plugins = ("notebook_session",)

Generate = Callable[..., Outcome]


@pytest.fixture
def generate(tandem: Generate, workspace_with_data: Workspace, monkeypatch: pytest.MonkeyPatch) -> Generate:
    """Generates a pair of `digits` in JAX."""
    monkeypatch.chdir(workspace_with_data.root)
    return partial(tandem, "generate", "--competition", "digits", "--framework", "jax")


def code(pair: PairFolder, role: Role) -> dict[str, str]:
    path = pair.notebook(role)
    return {
        name: cell.source for name, cell in written_cells(path.read_bytes(), path=path).items() if cell.kind == "code"
    }


def test_inference_is_written_in_pytorch_and_training_says_no_more_that_both_have_the_network(
    generate: Generate, workspace_with_data: Workspace
) -> None:
    pair = workspace_with_data.pair("digits-jax")
    assert generate().code == 0
    before = code(pair, Role.TRAIN)

    assert generate("-P", "INFERENCE_BACKEND=torch").code == 0

    train, infer = code(pair, Role.TRAIN), code(pair, Role.INFER)
    assert "import torch\n" in infer["imports"]
    assert "flax" not in "".join(infer.values())
    assert unused_names(infer) == []
    check_shared_cells(pair)
    changed = {name for name, source in before.items() if train[name] != source}
    assert changed == {"define-model", "runtime"}
    assert "class Network" in train["define-model"]
    assert SHARED_MARK not in train["define-model"]
    of_both = {role: cells["runtime"].partition(SHARED_MARK)[2] for role, cells in (("train", train), ("infer", infer))}
    assert "def load_image" in of_both["train"] == of_both["infer"]


def test_a_network_of_ones_own_cannot_be_in_two_frameworks(generate: Generate, workspace_with_data: Workspace) -> None:
    pair = workspace_with_data.pair("digits-jax")
    assert generate().code == 0
    (pair.path / "build_model.py").write_text(code(pair, Role.TRAIN)["define-model"])

    outcome = generate("-P", "INFERENCE_BACKEND=torch")

    assert outcome.code == 1
    assert "build_model.py would be in both notebooks, but inference uses torch" in outcome.err


@pytest.mark.slow
@needs_torch
def test_pytorch_predicts_what_jax_does_with_the_weights_of_jax(sessions: Sessions, mirror: Mirror) -> None:
    task = builtin.require("digits").task
    in_torch = replace(task, details={**task.details, "inference_backend": "torch"})
    write_digits(mirror.competition)
    train, *both = Notebook("jax", "train"), Notebook("jax", "infer"), Notebook("jax", "infer", task=in_torch)

    sessions.finished(train, mirror.parameters(train, IMAGE_SIZE=8, EPOCHS=2))
    mirror.working.rename(mirror.root / "train")
    look = "[type(ensemble[0]['network']).__base__.__module__.partition('.')[0], predictions.tolist()]"
    (kind, expected), (other, found) = (
        sessions.finished(infer, mirror.parameters(infer), look=look, until="predict-test").seen for infer in both
    )

    assert (kind, other) == ("flax", "torch")
    for row, wanted in zip(found, expected, strict=True):
        assert row == pytest.approx(wanted, abs=1e-5)


@pytest.mark.slow
@needs_torch
def test_the_weights_of_a_resnet_of_jax_get_the_names_that_timm_has_for_them() -> None:
    import jax.numpy as jnp
    import torch
    from flax import nnx

    task = digits_task(channels=3, image_size=96)
    in_torch = replace(task, details={**task.details, "inference_backend": "torch"})
    train, infer = rendered_cells("jax", "train", task), rendered_cells("jax", "infer", in_torch)
    names: dict[str, Any] = {"nnx": nnx, "jnp": jnp, "partial": partial}
    for source in (train["bottleneck"], train["build-model"], infer["load-model"]):
        exec(compile(source, "<cell>", "exec"), names)  # noqa: S102 - the cells are what is tested
    arguments = {"backbone": "resnet50", "image_size": 96, "channels": 3, "outputs": 5, "dropout": 0.2}
    network = nnx.eval_shape(lambda: names["Network"](**arguments, rngs=nnx.Rngs(0)))
    state = nnx.to_flat_state(nnx.state(network, (nnx.Param, nnx.BatchStat)))
    arrays = {".".join(map(str, path)): torch.empty(variable.shape) for path, variable in state}

    weights = names["in_torch"](arrays)

    assert len(weights) == 53 * 5 + 2  # convolutions, each with its norm of four arrays, and the head
    assert weights["cnn.layer2.0.downsample.0.weight"].shape == (512, 256, 1, 1)
    assert weights["cnn.layer4.2.bn3.running_var"].shape == (2048,)
    assert {name.split(".")[-1] for name in weights} == {"weight", "bias", "running_mean", "running_var"}
    assert not [name for name in weights if "layers" in name]
