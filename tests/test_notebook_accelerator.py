"""A notebook asserts what it runs on, and uses all of it."""

import json
import shutil

import pytest
from notebook_session import Mirror, Notebook, Sessions, names_below, read_table, write_digits

pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

KAGGLE_CAUSES = (
    "a docker_image pinned in kernel-metadata.json",
    "identity",
    "choose TPU v5e-8",
    "Save & Run All",
    "ALLOW_CPU = True",
)

EIGHT_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}

TWO_GPUS = """
import tensorflow as tf
one = tf.config.LogicalDeviceConfiguration()
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [one, one])
listed = tf.config.list_logical_devices
tf.config.list_logical_devices = lambda kind=None: listed("CPU") if kind == "GPU" else listed(kind)
"""
"""Two logical CPUs that pass for GPUs, so that MirroredStrategy copies a model to both."""

REMEMBER_PRECISION = """

computed_in, compiled = [], compiled_model


def compiled_model(*arguments, **options):
    model = compiled(*arguments, **options)
    computed_in.extend(layer.compute_dtype for layer in model.layers if layer.name.startswith("global_average"))
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
    sessions: Sessions, mirror: Mirror, framework: str
) -> None:
    train = Notebook(framework, "train")

    ended = sessions.run(train, mirror.parameters(train, ALLOW_CPU=False))

    assert ended.cell == "accelerator-found"
    assert ended.error.startswith("RuntimeError: This notebook wants a TPU, and the session has 1 x cpu (cpu). ")
    remedies = [*KAGGLE_CAUSES, "`generate --framework keras`"] if framework == "tensorflow" else KAGGLE_CAUSES
    assert [remedy for remedy in remedies if remedy not in ended.error] == []
    assert names_below(mirror.working) == ["accelerator.json"]
    marker = json.loads((mirror.working / "accelerator.json").read_text())
    assert marker["pair_id"].startswith(f"digits-{framework}-")
    found = {name: marker[name] for name in ("wanted", "platform", "device_count", "device_kind", "emulated")}
    assert found == {"wanted": "tpu", "platform": "cpu", "device_count": 1, "device_kind": "cpu", "emulated": True}


def test_permission_to_use_a_cpu_is_none_to_use_a_gpu(sessions: Sessions, mirror: Mirror) -> None:
    train = Notebook("tensorflow", "train")

    ended = sessions.run(train, mirror.parameters(train), before=TWO_GPUS)

    assert ended.cell == "accelerator-found"
    assert "the session has 2 x gpu (gpu)" in ended.error
    assert ended.error.endswith('To train on it all the same: ACCELERATOR = "gpu".')


def test_a_smoke_test_runs_on_anything(sessions: Sessions, mirror: Mirror) -> None:
    train = Notebook("tensorflow", "train")

    ended = sessions.run(train, mirror.parameters(train, ALLOW_CPU=False, SMOKE_TEST=True), until="accelerator-found")

    assert ended.is_done


def test_eight_devices_share_a_batch_in_training_and_in_inference(sessions: Sessions, mirror: Mirror) -> None:
    digits = write_digits(mirror.competition, per_class=20)
    train, infer = Notebook("keras", "train"), Notebook("keras", "infer")
    devices = "len(build_model(**handoff['folds'][0]['arguments']).weights[0].value.devices())"

    ended = sessions.run(
        train,
        mirror.parameters(train, FOLDS=2, BATCH_SIZE=4),
        environment=EIGHT_DEVICES,
        look=f"global_batch, steps_per_epoch, peak_learning_rate / LEARNING_RATE, {devices}",
    )

    assert ended.is_done, ended
    assert ended.said("distribute") == "8 replicas x 4 = 32 examples a step"
    assert ended.seen == [32, 3, 32 / 128, 8]
    assert json.loads((mirror.working / "accelerator.json").read_text())["device_count"] == 8
    assert json.loads((mirror.working / "handoff.json").read_text())["accelerator"]["device_count"] == 8

    mirror.working.rename(mirror.root / "train")
    submissions = []
    for parameters, environment in (({"BACKEND": "jax", "BATCH_SIZE": 2}, EIGHT_DEVICES), ({}, {})):
        ended = sessions.run(infer, mirror.parameters(infer, **parameters), environment=environment)
        assert ended.is_done, ended
        submissions.append(read_table(mirror.working / "submission.csv"))
    assert submissions[0] == submissions[1]
    assert [row[0] for row in submissions[0]] == ["id", *digits.answers]


def test_on_one_device_a_step_is_compiled_once_for_all_epochs(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition, per_class=4)
    train = Notebook("keras", "train")

    ended = sessions.run(
        train,
        mirror.parameters(train, EPOCHS=3),
        before=REMEMBER_COMPILATIONS,
        look="[name for name in jax.compiled if '_step' in name]",
    )

    assert ended.is_done, ended
    assert sorted(ended.seen) == ["jit(predict_step)", "jit(train_step)"]


def test_mirrored_strategy_trains_and_predicts_on_two_devices(sessions: Sessions, mirror: Mirror) -> None:
    write_digits(mirror.competition)
    train, infer = Notebook("tensorflow", "train"), Notebook("tensorflow", "infer")
    strategy = "type(strategy).__name__, strategy.num_replicas_in_sync, global_batch"

    ended = sessions.run(
        train,
        mirror.parameters(train, ACCELERATOR="gpu", PRECISION="float32", EPOCHS=2, FOLDS=2),
        before=TWO_GPUS,
        look=strategy,
    )
    assert ended.is_done, ended
    assert ended.seen == ["MirroredStrategy", 2, 32]

    mirror.working.rename(mirror.root / "train")
    ended = sessions.run(infer, mirror.parameters(infer, BATCH_SIZE=4), before=TWO_GPUS, look=strategy)
    assert ended.is_done, ended
    assert ended.seen == ["MirroredStrategy", 2, 8]
    on_two = read_table(mirror.working / "submission.csv")
    shutil.rmtree(mirror.working)
    assert sessions.run(infer, mirror.parameters(infer)).is_done
    assert read_table(mirror.working / "submission.csv") == on_two


@pytest.mark.parametrize("framework", ["keras", "tensorflow"])
def test_every_fold_computes_in_the_wanted_precision_and_hands_over_float32(
    sessions: Sessions, mirror: Mirror, framework: str
) -> None:
    write_digits(mirror.competition, per_class=4)
    train, infer = Notebook(framework, "train"), Notebook(framework, "infer")
    watched = Notebook(framework, "train", {"compiled-model": lambda cell: cell + REMEMBER_PRECISION})

    ended = sessions.run(
        watched,
        mirror.parameters(train, PRECISION="mixed_bfloat16", FOLDS=2),
        look="computed_in, [str(weight.dtype) for weight in build_model(**handoff['folds'][0]['arguments']).weights]",
    )

    assert ended.is_done, ended
    computed_in, weights = ended.seen
    assert computed_in == ["bfloat16", "bfloat16"]
    assert set(weights) == {"float32"}
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    assert (handoff["precision"], handoff["check"]["tolerance"]) == ("mixed_bfloat16", 0.05)
    mirror.working.rename(mirror.root / "train")
    ended = sessions.run(infer, mirror.parameters(infer))
    assert ended.is_done, ended
