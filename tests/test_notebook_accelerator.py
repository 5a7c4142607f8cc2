"""A notebook asserts what it runs on, and uses all of it."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from notebook_competitions import shop_task, write_shops
from notebook_session import Mirror, Sessions, names_below, needs_torch, of_shops, read_table, rendered_cells

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

KAGGLE_CAUSES = (
    "a docker_image pinned in kernel-metadata.json",
    "identity",
    "choose TPU v5e-8",
    "Save & Run All",
    "ALLOW_CPU = True",
)

EIGHT_DEVICES = {"XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8"}

TWO_GPUS = """
import tensorflow as tf
one = tf.config.LogicalDeviceConfiguration()
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [one, one])
listed = tf.config.list_logical_devices
tf.config.list_logical_devices = lambda kind=None: listed("CPU") if kind == "GPU" else listed(kind)
"""
"""Two logical CPUs that pass for GPUs, so that MirroredStrategy copies a model to both."""

REMEMBER_PRECISION = """
computed_in, created = [], create


def create(*arguments):
    model = created(*arguments)
    computed_in.extend(layer.compute_dtype for layer in model.layers if layer.name == "dense")
    return model
"""

REMEMBER_COMPILATIONS = """
import logging
import jax
jax.config.update("jax_log_compiles", True)
jax.compiled = []
class Remember(logging.Handler):
    def emit(self, record):
        said = record.getMessage()
        if said.startswith("Compiling"):
            jax.compiled.append(said.split()[1])
logging.getLogger("jax").addHandler(Remember())
"""


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_the_wrong_accelerator_stops_training_before_anything_is_read(
    sessions: Sessions, shops: Mirror, framework: str
) -> None:
    train = of_shops(framework, "train")

    ended = sessions.run(train, shops.parameters(train, ALLOW_CPU=False))

    assert ended.cell == "find-devices"
    assert re.match(
        r"RuntimeError: This notebook needs a TPU, and the session has 1 x \S+ \(cpu\), \d+ cores\. ", ended.error
    )
    remedies = [*KAGGLE_CAUSES, "`generate --framework keras`"] if framework == "tensorflow" else KAGGLE_CAUSES
    assert [remedy for remedy in remedies if remedy not in ended.error] == []
    assert names_below(shops.working) == ["accelerator.json"]
    marker = json.loads((shops.working / "accelerator.json").read_text())
    assert marker["pair_id"].startswith(f"shops-{framework}-")
    found = {name: marker[name] for name in ("platform", "device_count", "emulated", "cores")}
    assert found == {"platform": "cpu", "device_count": 1, "emulated": True, "cores": os.cpu_count()}
    assert "cpu" in marker["device_kind"].lower()


def test_permission_to_use_a_cpu_is_none_to_use_a_gpu(sessions: Sessions, shops: Mirror) -> None:
    train = of_shops("tensorflow", "train")

    ended = sessions.run(train, shops.parameters(train), before=TWO_GPUS)

    assert ended.cell == "find-devices"
    assert re.search(r"the session has 2 x \S+ \(gpu\)", ended.error)
    assert ended.error.endswith('To train on it anyway, set ACCELERATOR = "gpu".')


@needs_torch
@pytest.mark.parametrize(("precision", "is_rounded"), [("float32", False), ("mixed_bfloat16", True)])
def test_float32_is_not_rounded_on_newer_gpus(
    sessions: Sessions, shops: Mirror, precision: str, is_rounded: bool
) -> None:
    train = of_shops("torch", "train")
    parameters = shops.parameters(train, PRECISION=precision)

    ended = sessions.finished(train, parameters, until="find-devices", look="torch.backends.cudnn.allow_tf32")

    assert ended.seen == is_rounded


def test_keras_on_jax_infers_in_float32_on_newer_gpus() -> None:
    imports = rendered_cells("keras", "infer", shop_task())["imports"]
    look = "import jax; print(keras.backend.backend(), jax.config.jax_default_matmul_precision)"

    # In a new process, as JAX reads the variable when it is imported.
    command = [sys.executable, "-c", f"BACKEND = 'jax'\n{imports}\n{look}"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert printed.split()[-2:] == ["jax", "highest"]


def test_a_smoke_test_runs_on_anything(sessions: Sessions, shops: Mirror) -> None:
    train = of_shops("tensorflow", "train")

    sessions.finished(train, shops.parameters(train, ALLOW_CPU=False, DEBUG=True), until="find-devices")


def test_eight_devices_share_a_batch_in_training_and_in_inference(sessions: Sessions, shops: Mirror) -> None:
    asked = write_shops(shops.competition).asked
    train, infer = of_shops("keras", "train"), of_shops("keras", "infer")
    arguments = "json.loads((run.output / 'handoff.json').read_text())['folds'][0]['arguments']"
    devices = f"len(build_model(**{arguments}).weights[0].value.devices())"
    steps = "[name for name in jax.compiled if '_step' in name]"

    ended = sessions.finished(
        train,
        shops.parameters(train, N_FOLDS=2, EPOCHS=3, BATCH_SIZE=4, WARMUP_EPOCHS=0),
        environment=EIGHT_DEVICES,
        before=REMEMBER_COMPILATIONS,
        until="save-artifacts",
        look=f"global_batch, steps_per_epoch, float(learning_rates[1] / LEARNING_RATE), {devices}, {steps}",
    )
    host = f"8 x cpu (cpu), {os.cpu_count()} cores"
    assert ended.said("find-devices") == f"{host}: global batch 32 (8 x 4), float32"
    *found, compiled = ended.seen
    assert found == [32, 1, 32 / 128, 8]
    in_training = [name for name in compiled if name == "jit(train_step)"]
    assert len(in_training) == 2, "a step is compiled once for all epochs of a fold"
    assert json.loads((shops.working / "accelerator.json").read_text())["device_count"] == 8
    assert json.loads((shops.working / "handoff.json").read_text())["accelerator"]["device_count"] == 8

    shops.working.rename(shops.root / "train")
    submissions, shares = [], []
    for parameters, environment in (({"BACKEND": "jax", "BATCH_SIZE": 2}, EIGHT_DEVICES), ({}, {})):
        look = "len(ensemble[0][1].weights[0].value.devices())" if environment else "1"
        ended = sessions.finished(infer, shops.parameters(infer, **parameters), environment=environment, look=look)

        assert ended.seen == (8 if environment else 1), "models of inference are on all devices"
        submissions.append(dict(read_table(shops.working / "submission.csv")[1:]))
        shares.append(ended.said("find-devices").split(": ")[1])
    assert shares == ["batches of 8 x 2", "batches of 1 x 1024"]
    assert list(submissions[0]) == list(submissions[1]) == asked
    for name, value in submissions[0].items():
        assert float(value) == pytest.approx(float(submissions[1][name]), abs=1e-5)


def test_on_one_device_a_step_is_compiled_once_for_all_epochs_of_a_fold(sessions: Sessions, shops: Mirror) -> None:
    write_shops(shops.competition)
    train = of_shops("keras", "train")

    ended = sessions.finished(
        train,
        shops.parameters(train, EPOCHS=3, N_FOLDS=2),
        before=REMEMBER_COMPILATIONS,
        until="train",
        look="[name for name in jax.compiled if '_step' in name]",
    )
    assert sorted(ended.seen) == ["jit(predict_step)"] * 2 + ["jit(train_step)"] * 2


def test_mirrored_strategy_trains_and_predicts_on_two_devices(sessions: Sessions, shops: Mirror) -> None:
    write_shops(shops.competition)
    train, infer = of_shops("tensorflow", "train"), of_shops("tensorflow", "infer")
    strategy = "type(strategy).__name__, strategy.num_replicas_in_sync, global_batch"

    ended = sessions.finished(
        train,
        shops.parameters(train, ACCELERATOR="gpu", PRECISION="float32", EPOCHS=2, N_FOLDS=2),
        before=TWO_GPUS,
        look=strategy,
    )
    assert ended.seen == ["MirroredStrategy", 2, 32]

    shops.working.rename(shops.root / "train")
    ended = sessions.finished(infer, shops.parameters(infer, BATCH_SIZE=4), before=TWO_GPUS, look=strategy)

    assert ended.seen == ["MirroredStrategy", 2, 8]
    on_two = dict(read_table(shops.working / "submission.csv")[1:])
    shutil.rmtree(shops.working)
    assert sessions.run(infer, shops.parameters(infer)).is_done
    for name, value in read_table(shops.working / "submission.csv")[1:]:
        assert float(value) == pytest.approx(float(on_two[name]), abs=1e-5)


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_every_fold_computes_in_the_wanted_precision_and_hands_over_float32(
    sessions: Sessions, shops: Mirror, framework: str
) -> None:
    write_shops(shops.competition)
    train, infer = of_shops(framework, "train"), of_shops(framework, "infer")
    watched = of_shops(framework, "train", {"training-steps": lambda cell: cell + REMEMBER_PRECISION})
    arguments = "json.loads((run.output / 'handoff.json').read_text())['folds'][0]['arguments']"
    weights_there = f"{{str(weight.dtype) for weight in build_model(**{arguments}).weights}}"

    ended = sessions.finished(
        watched,
        shops.parameters(train, PRECISION="mixed_bfloat16", N_FOLDS=2),
        look=f"computed_in, sorted({weights_there})",
    )
    computed_in, weights = ended.seen
    assert set(computed_in) == {"bfloat16"}
    assert len(computed_in) >= 2
    assert weights == ["float32"]
    handoff = json.loads((shops.working / "handoff.json").read_text())
    assert handoff["check"]["tolerance"] == 0.05
    shops.working.rename(shops.root / "train")
    ended = sessions.finished(infer, shops.parameters(infer))
