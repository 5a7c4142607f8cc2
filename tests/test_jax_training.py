"""Pairs in JAX: on one device, on eight and on two hosts alike, in bfloat16 too, and with weights that others read."""

import json
import os
import socket
from functools import partial
from pathlib import Path

import pytest
from notebook_competitions import write_digits, write_shops
from notebook_frameworks import Frameworks
from notebook_session import Mirror, Notebook, Sessions, of_shops, read_table, rendered_cells
from test_notebook_images import digits_task

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

WATCH_COMPILATIONS = """
import builtins, logging
import jax

class Kept(logging.Handler):
    def emit(self, record):
        builtins.told.append(record.getMessage())

builtins.told = []
logging.getLogger("jax").addHandler(Kept())
jax.config.update("jax_log_compiles", True)
"""
LOOK = """[
    [epoch["loss"] for epoch in run.histories[0]],
    sum(each.startswith("Compiling") and "train_step" in each for each in told),
    len(jax.devices()),
    int(steps_per_epoch),
]"""


def flags(devices: int, **others: str) -> dict[str, str]:
    return {"XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count={devices}", **others}


def test_one_device_eight_and_two_hosts_of_four_take_the_same_steps(
    sessions: Sessions, shops: Mirror, tmp_path: Path
) -> None:
    write_shops(shops.competition)
    train, on_hosts = of_shops("jax", "train"), of_shops("jax", "train", several_hosts=True)
    parameters = shops.parameters(train, EPOCHS=5)
    options = {"until": "train", "look": LOOK, "before": WATCH_COMPILATIONS}

    alone, compiled_alone, _, _ = sessions.finished(train, {**parameters, "BATCH_SIZE": 16}, **options).seen
    on_eight = {**parameters, "BATCH_SIZE": 2, "WORKING_ROOT": str(tmp_path / "eight")}
    spread, compiled, devices, steps = sessions.finished(train, on_eight, environment=flags(8), **options).seen
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    for name in ("host0", "host1"):
        (tmp_path / name).mkdir()
    hosts = [Frameworks("jax", tmp_path / name) for name in ("host0", "host1")]
    on_two = on_eight | {"WORKING_ROOT": str(tmp_path / "two")}
    started = []
    for number, host in enumerate(hosts):
        known = {"JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": str(number), "JAX_COORDINATOR_ADDRESS": address}
        started.append(host.start(on_hosts, on_two, environment=flags(4, **known), **options))
    ended = [session.ended() for session in started]
    for host in hosts:
        host.close()

    assert (compiled_alone, compiled, devices) == (1, 1, 8)
    assert 5 * steps >= 20
    assert spread == pytest.approx(alone, rel=1e-5)
    for host in ended:
        assert host.is_done, host
        assert host.seen[0] == pytest.approx(spread, rel=1e-5)
        assert host.seen[1:3] == [1, 8]


def test_images_learned_in_bfloat16_are_handed_over_as_float32_by_the_names_of_their_layers(
    sessions: Sessions, mirror: Mirror
) -> None:
    from safetensors.numpy import load_file

    written = write_digits(mirror.competition)
    train, infer = (Notebook("jax", role) for role in ("train", "infer"))

    sessions.finished(train, mirror.parameters(train, PRECISION="mixed_bfloat16", IMAGE_SIZE=8), environment=flags(2))

    weights = load_file(mirror.working / "fold0.safetensors")
    assert {str(array.dtype) for array in weights.values()} == {"float32"}
    assert {"head.kernel", "stages.0.0.kernel", "stages.0.1.var"} <= weights.keys()
    assert not [name for name in weights if "rngs" in name]
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert (handoff["framework"], handoff["check"]["tolerance"]) == ("jax", 0.05)
    mirror.working.rename(mirror.root / "train")
    sessions.finished(infer, mirror.parameters(infer), environment=flags(2))
    assert [row[0] for row in read_table(mirror.working / "submission.csv")[1:]] == [*map(str, written.answers)]


def test_a_network_starts_from_weights_that_have_the_names_and_axes_of_pytorch() -> None:
    import jax
    import numpy as np
    from flax import nnx

    cells = rendered_cells("jax", "train", digits_task(channels=3, image_size=96))
    names = {"nnx": nnx, "np": np, "jax": jax, "everywhere": jax.devices()[0], "source": "a.b", "BACKBONE": "resnet50"}
    for cell in ("bottleneck", "start-from"):
        exec(compile(cells[cell], "<cell>", "exec"), names)  # noqa: S102 - the cells are what is tested
    convolution = partial(nnx.Conv, use_bias=False, rngs=nnx.Rngs(0))
    block = names["Bottleneck"](4, 2, 1, convolution, partial(nnx.BatchNorm, rngs=nnx.Rngs(0)))
    block.head = nnx.Linear(8, 3, rngs=nnx.Rngs(0))
    random = np.random.default_rng(0)
    kernels = {"conv1": (2, 4, 1, 1), "conv2": (2, 2, 3, 3), "conv3": (8, 2, 1, 1), "downsample.0": (8, 4, 1, 1)}
    weights = {f"{name}.weight": random.random(shape, "float32") for name, shape in kernels.items()}
    for name, width in {"bn1": 2, "bn2": 2, "bn3": 8, "downsample.1": 8}.items():
        for kind in ("weight", "bias", "running_mean", "running_var"):
            weights[f"{name}.{kind}"] = random.random(width, "float32")

    names["start_from"](block, weights | {"fc.bias": random.random(5), "bn1.num_batches_tracked": np.array(9)})

    assert np.array_equal(block.conv2.kernel[...][1, 2, 0, 1], weights["conv2.weight"][1, 0, 1, 2])
    assert np.array_equal(block.downsample.layers[0].kernel[...][0, 0], weights["downsample.0.weight"][:, :, 0, 0].T)
    assert np.array_equal(block.bn3.scale[...], weights["bn3.weight"])
    assert np.array_equal(block.downsample.layers[1].var[...], weights["downsample.1.running_var"])
    lacking = {name: array for name, array in weights.items() if name != "bn3.bias"}
    for others, problem in (
        (lacking, "bn3 is another one"),
        (weights | {"conv2.weight": weights["conv1.weight"]}, "conv2 is another one"),
        (weights | {"conv4.weight": weights["conv3.weight"]}, "it has conv4.weight as well"),
    ):
        with pytest.raises(ValueError, match=f"a.b is no resnet50: {problem}"):
            names["start_from"](block, others)
