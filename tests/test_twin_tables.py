"""Models of tables and images in JAX and in PyTorch: the weights of one load into the other."""

import ast
from typing import Any

import pytest
from notebook_competitions import shop_task
from notebook_session import needs_torch, rendered_cells

from generator.competition import builtin
from generator.competition.facts import Task

NETWORKS = {"inputs": 5, "members": 4, "width": 8, "depth": 2, "dropout": 0.1, "bins": 6, "embedding": 3}
IMAGES = {"channels": 3, "outputs": 10, "dropout": 0.1}
CASES: dict[str, tuple[Task, dict[str, Any]]] = {
    "classes": (shop_task(), {**NETWORKS, "outputs": 3}),
    "numbers": (builtin.require("diabetes").task, {**NETWORKS, "mean": [3.0, 1e5], "deviation": [2.0, 1e4]}),
    "small images": (builtin.require("digits").task, {**IMAGES, "image_size": 12}),
    "images of even sides": (builtin.require("digits").task, {**IMAGES, "image_size": 64}),
    "images of odd sides": (builtin.require("digits").task, {**IMAGES, "image_size": 65}),
}
CELLS = ("in-units", "build-model")
IN_TORCH = {"kernel": "weight", "scale": "weight", "mean": "running_mean", "var": "running_var"}


def built(framework: str, task: Task, arguments: dict[str, Any]) -> Any:
    """The model of a notebook, from the cells that define it."""
    cells = rendered_cells(framework, "train", task)
    statements = ast.parse(cells["imports"]).body
    imports = [ast.unparse(one) for one in statements if isinstance(one, ast.Import | ast.ImportFrom)]
    names: dict[str, Any] = {}
    for source in (*imports, *(cells[name] for name in CELLS if name in cells)):
        exec(compile(source, "<cell>", "exec"), names)  # noqa: S102 - the cells are what is tested
    return names["Network"](**arguments)


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("case", CASES)
def test_pytorch_computes_with_the_weights_of_jax_what_jax_does(case: str) -> None:
    import numpy as np
    import torch
    from flax import nnx

    task, arguments = CASES[case]
    random, size = np.random.default_rng(0), arguments.get("image_size")
    inputs: Any = {"row": random.uniform(size=(7, 5)).astype("float32")}
    if size:
        inputs = random.integers(0, 256, (3, size, size, 3), dtype="uint8")
    network = built("jax", task, arguments | {"rngs": nnx.Rngs(0)})
    variables, weights = [], {}
    for path, variable in nnx.to_flat_state(nnx.state(network, (nnx.Param, nnx.BatchStat))):
        *place, kind = map(str, path)
        array = np.asarray(variable[...])
        if kind in ("scale", "bias", "mean", "var"):  # they start as 0 or 1
            array = random.uniform(0.5, 1, array.shape).astype("float32")
        variables.append((path, variable.replace(array)))
        if kind == "kernel":
            array = array.transpose(3, 2, 0, 1) if array.ndim == 4 else array.T
        weights[".".join([*place, IN_TORCH.get(kind, kind)])] = torch.tensor(np.ascontiguousarray(array))
    nnx.update(network, nnx.from_flat_state(variables))
    network.eval()
    expected = np.asarray(nnx.jit(lambda network, inputs: network(inputs))(network, inputs))

    model = built("torch", task, arguments)
    counters = {name for name in model.state_dict() if name.endswith(".num_batches_tracked")}
    assert set(model.state_dict()) - counters == set(weights)
    model.load_state_dict(weights, strict=False)
    tensors = {name: torch.tensor(one) for name, one in inputs.items()} if size is None else torch.tensor(inputs)
    found = model.eval()(tensors).detach().numpy()
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()
