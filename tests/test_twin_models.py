"""Models of masks, images and sounds in JAX and in PyTorch: the weights of one load into the other."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from notebook_session import needs_torch, rendered_cells
from test_audio_family import RATE, TONES
from test_image_to_image_family import SCANS
from test_segmentation_family import CODES

from generator.competition.facts import Task

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
OF_IMAGES = {"backbone": "cnn", "image_size": 18, "channels": 1, "width": 4, "dropout": 0.1}
OF_SOUNDS = {
    "backbone": "cnn",
    "samples": 18 * 64,
    "spectrum": {"sample_rate": RATE, "hop": 64, "mels": 17, "lowest_hertz": 50.0},
    "masks": {"count": 1, "share": 0.1},
    "dropout": 0.1,
    "outputs": 2,
}
IN_TORCH = {"kernel": "weight", "scale": "weight", "mean": "running_mean", "var": "running_var"}


def built(framework: str, task: Task, arguments: Mapping[str, Any]) -> Any:
    """The model of a notebook, from the cells that define it."""
    import jax
    import numpy as np
    import torch
    from flax import nnx

    cells = rendered_cells(framework, "train", task)
    names = {"np": np, "jax": jax, "jnp": jax.numpy, "nnx": nnx, "torch": torch, "nn": torch.nn}
    names |= {"pairwise": pairwise}
    for cell in (cells[name] for name in CELLS if name in cells):
        exec(compile(cell, "<cell>", "exec"), names)  # noqa: S102 - the cells are what is tested
    return names["Network"](**arguments)


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize(
    ("task", "arguments"),
    [(CODES, OF_IMAGES | {"outputs": 2}), (SCANS, OF_IMAGES), (TONES, OF_SOUNDS)],
    ids=["segmentation", "image_to_image", "audio"],
)
def test_pytorch_computes_with_the_weights_of_jax_what_jax_does(task: Task, arguments: dict[str, Any]) -> None:
    import jax
    import numpy as np
    import torch
    from flax import nnx

    random = np.random.default_rng(0)
    inputs: Any = random.integers(0, 256, (2, 18, 18, 1), dtype="uint8")
    if task is TONES:
        inputs = {"sound": random.integers(-9_000, 9_000, (2, 18 * 64), dtype="int16")}
    network = built("jax", task, arguments | {"rngs": nnx.Rngs(0)})
    drawn, weights = [], {}
    for path, variable in nnx.to_flat_state(nnx.state(network, (nnx.Param, nnx.BatchStat))):
        *place, kind = map(str, path)
        array = np.asarray(variable[...])
        if kind != "kernel":  # the others start as 0 or 1
            array = random.uniform(0.5, 1, array.shape).astype("float32")
        drawn.append((path, variable.replace(jax.numpy.asarray(array))))
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
