"""Models in JAX and in PyTorch: the weights of one load into the other."""

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from notebook_competitions import shop_task
from notebook_session import needs_torch, rendered_cells
from test_audio_family import RATE, TONES
from test_image_to_image_family import SCANS
from test_segmentation_family import CODES

from generator.competition import builtin
from generator.competition.facts import Task

if TYPE_CHECKING:
    import numpy as np

CELLS = (
    "layers",
    "in-units",
    "fixed-matrices",
    "log-mel",
    "hide-spans",
    "small-cnn",
    "encoder",
    "u-net",
    "build-model",
)
IN_TORCH = {"kernel": "weight", "scale": "weight", "mean": "running_mean", "var": "running_var"}
NETWORKS = {"inputs": 5, "members": 4, "width": 8, "depth": 2, "dropout": 0.1, "bins": 6, "embedding": 3}
IMAGES = {"channels": 3, "outputs": 10, "dropout": 0.1}
OF_IMAGES = {"backbone": "cnn", "image_size": 18, "channels": 1, "width": 4, "dropout": 0.1}
OF_SOUNDS = {
    "backbone": "cnn",
    "samples": 18 * 64,
    "spectrum": {"sample_rate": RATE, "hop": 64, "mels": 17, "lowest_hertz": 50.0},
    "masks": {"count": 1, "share": 0.1},
    "dropout": 0.1,
    "outputs": 2,
}


def rows(random: "np.random.Generator") -> Any:
    return {"row": random.uniform(size=(7, 5)).astype("float32")}


def sounds(random: "np.random.Generator") -> Any:
    return {"sound": random.integers(-9_000, 9_000, (2, 18 * 64), dtype="int16")}


def images(size: int, channels: int = 3) -> Callable[["np.random.Generator"], Any]:
    return lambda random: random.integers(0, 256, (3, size, size, channels), dtype="uint8")


NUMBERS, DIGITS = builtin.require("diabetes").task, builtin.require("digits").task
CASES: dict[str, tuple[Task, dict[str, Any], Callable[["np.random.Generator"], Any]]] = {
    "classes": (shop_task(), {**NETWORKS, "outputs": 3}, rows),
    "numbers": (NUMBERS, {**NETWORKS, "mean": [3.0, 1e5], "deviation": [2.0, 1e4]}, rows),
    "small images": (DIGITS, {**IMAGES, "image_size": 12}, images(12)),
    "images of even sides": (DIGITS, {**IMAGES, "image_size": 64}, images(64)),
    "images of odd sides": (DIGITS, {**IMAGES, "image_size": 65}, images(65)),
    "segmentation": (CODES, {**OF_IMAGES, "outputs": 2}, images(18, channels=1)),
    "image to image": (SCANS, OF_IMAGES, images(18, channels=1)),
    "audio": (TONES, OF_SOUNDS, sounds),
}


def built(framework: str, task: Task, arguments: dict[str, Any]) -> Any:
    """The model of a notebook, from the cells that define it."""
    cells = rendered_cells(framework, "train", task)
    statements = [*ast.parse(cells["imports"]).body, *ast.parse(cells["runtime"]).body]
    imports = [ast.unparse(one) for one in statements if isinstance(one, ast.Import | ast.ImportFrom)]
    names: dict[str, Any] = {}
    for source in (*imports, *(cells[name] for name in CELLS if name in cells)):
        exec(compile(source, "<cell>", "exec"), names)  # noqa: S102 - the cells are what is tested
    return names["Network"](**arguments)


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("case", CASES)
def test_pytorch_computes_with_the_weights_of_jax_what_jax_does(case: str) -> None:
    import jax
    import numpy as np
    import torch
    from flax import nnx

    random = np.random.default_rng(0)
    task, arguments, draw = CASES[case]
    inputs = draw(random)
    network = built("jax", task, arguments | {"rngs": nnx.Rngs(0)})
    drawn, weights = [], {}
    for path, variable in nnx.to_flat_state(nnx.state(network, (nnx.Param, nnx.BatchStat))):
        *place, kind = map(str, path)
        array = np.asarray(variable[...])
        if kind in ("scale", "bias", "mean", "var"):  # they start as 0 or 1
            array = random.uniform(0.5, 1, array.shape).astype("float32")
        drawn.append((path, variable.replace(jax.numpy.asarray(array))))
        if kind == "kernel":
            array = array.transpose(3, 2, 0, 1) if array.ndim == 4 else array.T
        weights[".".join([*place, IN_TORCH.get(kind, kind)])] = torch.tensor(np.ascontiguousarray(array))
    nnx.update(network, nnx.from_flat_state(drawn))
    network.eval()
    expected = np.asarray(nnx.jit(lambda network, inputs: network(inputs))(network, inputs))

    model = built("torch", task, arguments)
    counters = {name for name in model.state_dict() if name.endswith(".num_batches_tracked")}
    assert set(model.state_dict()) - counters == set(weights)
    model.load_state_dict(weights, strict=False)
    found = model.eval()(jax.tree.map(torch.tensor, inputs)).detach().numpy()
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()
