"""Models of texts and sequences in JAX and PyTorch are twins: with the same weights they compute the same."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from notebook_session import needs_torch, rendered_cells
from test_sequence_family import ROWS
from test_text_family import NUMBERS

from generator.competition.facts import Task

LENGTH = 16
UNITS = {"mean": [5.0], "deviation": [2.0]}
ENCODER = {"words": 50, "width": 64, "layers": 2, "dropout": 0.1, "word_dropout": 0.2}
TEXT = {"length": LENGTH, "terms": 40, "numbers": 1, "step": 10.0, "encoder": ENCODER, **UNITS}
SEQUENCE = {"length": LENGTH, "numbers": 3, "sizes": [5, 7], "width": 64, "layers": 2, "dropout": 0.1, **UNITS}


def model_cells(framework: str, task: Task) -> dict[str, Any]:
    """The names that the cells of a notebook's model define."""
    cells, names = rendered_cells(framework, "train", task), {"BACKEND": "none"}
    for cell in ("imports", "layers", "encoder-block", "look-around", "build-model"):
        exec(cells.get(cell, ""), names)  # noqa: S102 - the cells are what is tested
    return names


def inputs_of(family: str) -> Mapping[str, Any]:
    """Examples of which some are shorter than others."""
    import numpy as np

    random = np.random.default_rng(0)
    is_there = np.arange(LENGTH) < np.array([[LENGTH], [7], [1]])
    if family == "text":
        tokens = np.where(np.arange(LENGTH) % 5, random.integers(3, 50, (3, LENGTH)), 2)
        return {
            "tokens": (tokens * is_there).astype("int32"),
            "terms": random.integers(0, 41, (3, 2 * LENGTH)).astype("int32"),
            "weights": random.random((3, 2 * LENGTH), "float32"),
            "numbers": random.random((3, 1), "float32"),
        }
    return {
        "numbers": random.random((3, LENGTH, 3), "float32"),
        "categories": random.integers(0, 5, (3, LENGTH, 2)).astype("int32"),
        "place": np.where(is_there, np.arange(3 * LENGTH).reshape(3, LENGTH), -1).astype("int32"),
    }


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize(("task", "arguments"), [(NUMBERS, TEXT), (ROWS, SEQUENCE)], ids=["text", "sequence"])
def test_the_weights_of_one_are_those_of_the_other_with_kernels_transposed(
    task: Task, arguments: Mapping[str, Any]
) -> None:
    import jax
    import numpy as np
    import torch
    from flax import nnx

    random, inputs = np.random.default_rng(1), inputs_of(task.family)
    model = model_cells("jax", task)["Network"](**arguments, rngs=nnx.Rngs(0))
    model.eval()
    weights = jax.tree.map(lambda one: random.normal(0, 0.1, one.shape).astype("float32"), nnx.state(model, nnx.Param))
    nnx.update(model, weights)
    expected = np.asarray(nnx.jit(lambda model, inputs: model(inputs))(model, inputs))

    twin = model_cells("torch", task)["Network"](**arguments).eval()
    arrays = {".".join(map(str, path)): one[...] for path, one in nnx.to_flat_state(weights)}
    turned = {name: array.T if name.endswith("kernel") else array for name, array in arrays.items()}
    renamed = {re.sub(r"(kernel|scale|embedding)$", "weight", name): array for name, array in turned.items()}
    twin.load_state_dict({name: torch.tensor(np.ascontiguousarray(array)) for name, array in renamed.items()})
    with torch.no_grad():
        found = twin({name: torch.tensor(values) for name, values in inputs.items()}).numpy()

    assert np.abs(found - expected).max() < 1e-5 * np.ptp(expected)
