"""A backbone has its name checked first, and its weights at once or not at all; augmentation that suits photographs."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from notebook_competitions import write_digits
from notebook_frameworks import Ended
from notebook_session import Mirror, Notebook, Sessions, names_below
from safetensors.numpy import save_file
from test_notebook_images import digits_task
from test_torch_training import WITHOUT_TORCHVISION

from generator.competition.schema import frameworks

needs_timm = pytest.mark.skipif(find_spec("timm") is None, reason="timm is not installed")
pytestmark = pytest.mark.slow
pytest_plugins = ("notebook_session",)

HANDLE = "me/flowers/keras/small/1"
TRAIN = Notebook("tensorflow", "train", task=digits_task(channels=3, image_size=96))
ON_A_TPU = replace(TRAIN, edits={"find-devices": lambda cell: cell + '\nplatform = "tpu"'})
NOWHERE = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https")}
MAKE = """
import keras
keras.utils.set_random_seed(7)
keras.made = made = keras.applications.{name}(include_top=False, weights=None, input_shape=(96, 96, 3))
made.{save}({path!r})
"""
PUT_IN_THE_CACHE = """
name = "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_96_no_top.h5"
keras.utils.get_file(name, origin="file://{path}", cache_subdir="models")
"""
IS_STARTED_FROM = """
[np.array_equal(one, other) for one, other in zip(keras.made.get_weights(), [
    weight for layer in build_model(**model_arguments, weights=starting_weights).layers
    if layer.name == keras.made.name for weight in layer.get_weights()
], strict=True)]
"""


def test_a_misspelt_backbone_stops_before_anything_is_read(sessions: Sessions, mirror: Mirror) -> None:
    ended = sessions.run(TRAIN, mirror.parameters(TRAIN, BACKBONE="EfficientNetV2b0"))

    assert ended.cell == "use-weights"
    known = {name: list(each.backbones) for name, each in frameworks().items()}
    assert known["keras"] == known["tensorflow"]
    assert f"did you mean 'EfficientNetV2B0'? It can be {known['keras']}." in ended.error
    assert names_below(mirror.root) == ["working/accelerator.json"]


@pytest.mark.parametrize(
    ("framework", "small", "large"),
    [
        ("keras", "EfficientNetV2B0", "EfficientNetV2S"),
        pytest.param("torch", "tf_efficientnetv2_b0", "tf_efficientnetv2_s.in21k_ft_in1k", marks=needs_timm),
    ],
)
def test_large_photographs_have_a_larger_backbone_and_their_smoke_run_a_small_one(
    sessions: Sessions, mirror: Mirror, framework: str, small: str, large: str
) -> None:
    train = Notebook(framework, "train", task=digits_task(channels=3, image_size=512))

    def backbone(**parameters: object) -> str:
        ended = sessions.finished(
            train,
            mirror.parameters(train, **parameters),
            before=WITHOUT_TORCHVISION if framework == "torch" else "",
            look="backbone",
            until="use-weights",
        )
        return str(ended.seen)

    assert backbone(DEBUG=True) == small
    assert backbone(DEBUG=False, WEIGHTS="") == large


def test_an_untested_backbone_is_built_and_the_notebook_says_what_is_not_known(
    sessions: Sessions, mirror: Mirror
) -> None:
    write_digits(mirror.competition)

    ended = sessions.finished(
        TRAIN, mirror.parameters(TRAIN, DEBUG=True, IMAGE_SIZE=32, BACKBONE="EfficientNetB0"), until="model-summary"
    )

    assert "EfficientNetB0 is not tested here: its memory" in ended.said("use-weights")
    assert "efficientnetb0" in ended.said("model-summary")


@pytest.mark.parametrize(("pretrained", "name"), [(HANDLE, "EfficientNetV2B0"), ("", "MobileNetV2")])
def test_weights_are_those_of_the_attached_model_or_of_the_download(
    sessions: Sessions, mirror: Mirror, pretrained: str, name: str
) -> None:
    write_digits(mirror.competition)
    folder = mirror.input / "models" / HANDLE
    folder.mkdir(parents=True)
    path = str(folder / "any.weights.h5") if pretrained else str(folder / "any.h5")
    make = MAKE.format(name=name, save="save_weights" if pretrained else "save", path=path)
    if not pretrained:
        make += PUT_IN_THE_CACHE.format(path=path)
    train = replace(ON_A_TPU, task=digits_task(channels=3, image_size=96, pretrained=pretrained))
    look = f"[starting_weights, {IS_STARTED_FROM}]"

    ended = sessions.finished(
        train,
        mirror.parameters(train, BACKBONE=name),
        before=make,
        look=look,
        until="model-summary",
        environment=NOWHERE,
    )

    assert ended.seen[0] == (path if pretrained else "imagenet")
    assert set(ended.seen[1]) == {True}


@pytest.mark.parametrize(
    ("framework", "source", "default"),
    [
        ("keras", "imagenet", "imagenet"),
        ("jax", "timm/resnet50.a1_in1k", "a1_in1k"),
        pytest.param("torch", "timm", "timm", marks=needs_timm),
    ],
)
def test_weights_that_cannot_be_fetched_stop_a_cpu_within_seconds_and_not_a_smoke_run(
    sessions: Sessions, mirror: Mirror, framework: str, source: str, default: str
) -> None:
    train = replace(TRAIN, framework=framework)
    caches = dict.fromkeys(("HOME", "KERAS_HOME", "HF_HOME", "TORCH_HOME"), str(mirror.root))

    def ended(**parameters: object) -> Ended:
        return sessions.run(
            train,
            mirror.parameters(train, WEIGHTS=default, **parameters),
            environment={**NOWHERE, **caches},
            before=WITHOUT_TORCHVISION if framework == "torch" else "",
            until="use-weights",
        )

    stopped, smoke = ended(DEBUG=False), ended(DEBUG=True)

    assert stopped.cell == "use-weights"
    assert stopped.error.startswith("RuntimeError: ")
    assert f" gets no weights of {source}: " in stopped.error
    assert stopped.error.endswith('. Attach a file, run `tandem data digits`, or WEIGHTS = "".')
    assert smoke.is_done, smoke
    assert smoke.said("use-weights").endswith(" starts from scratch")


def test_weights_that_were_downloaded_once_are_found_without_the_internet(sessions: Sessions, mirror: Mirror) -> None:
    train = replace(TRAIN, framework="jax")
    cache = mirror.root / "hub" / "models--timm--resnet50.a1_in1k"
    commit = "0123456789abcdef0123456789abcdef01234567"
    (cache / "snapshots" / commit).mkdir(parents=True)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text(commit)
    save_file({"fc.bias": np.zeros(3, "float32")}, cache / "snapshots" / commit / "model.safetensors")

    ended = sessions.finished(
        train,
        mirror.parameters(train, WEIGHTS="a1_in1k", DEBUG=False),
        environment={**NOWHERE, "HF_HOME": str(mirror.root)},
        look="[*starting_weights]",
        until="use-weights",
    )

    assert ended.seen == ["fc.bias"]
    assert ended.said("use-weights") == "resnet50 starts from timm/resnet50.a1_in1k"


@pytest.mark.parametrize(("framework", "suffix"), [("tensorflow", "h5"), ("jax", "safetensors")])
def test_weights_that_the_user_named_stop_a_cpu_as_well_with_the_file_and_what_is_wrong(
    sessions: Sessions, mirror: Mirror, framework: str, suffix: str
) -> None:
    missing, damaged = (mirror.root / f"{name}.{suffix}" for name in ("missing", "damaged"))
    damaged.write_bytes(b"no weights at all")
    train = replace(TRAIN, framework=framework)

    for path in (missing, damaged):
        parameters = mirror.parameters(train, WEIGHTS=str(path), DEBUG=True)
        ended = sessions.run(train, parameters, until="use-weights")
        assert ended.cell == "use-weights"
        assert str(path) in ended.error
        assert len(ended.error.splitlines()) == 1


def test_all_augmentation_comes_from_the_seed_and_mixes_targets_as_it_mixes_images(
    sessions: Sessions, mirror: Mirror
) -> None:
    write_digits(mirror.competition)
    train = replace(TRAIN, task=digits_task(channels=3, image_size=96, augmentation="all"))
    batches = "training_batches(examples, targets, 24, 1, [seed, 1])"  # traced, as in training
    look = f"[[part.numpy().tolist() for part in next(iter({batches}))] for seed in (1, 1, 2)]"
    parameters = mirror.parameters(train, DEBUG=True, IMAGE_SIZE=32, ROTATE_DEGREES=10.0)

    first, again, other = sessions.finished(train, parameters, look=look, until="training-batches").seen

    assert first == again
    assert first != other
    assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in first[1])
    assert any(0 < share < 1 for row in first[1] for share in row)


@pytest.mark.parametrize("framework", ["keras", pytest.param("torch", marks=needs_timm)])
def test_photographs_are_mixed_only_where_a_parameter_says_so(
    sessions: Sessions, mirror: Mirror, framework: str
) -> None:
    write_digits(mirror.competition)
    train = replace(TRAIN, framework=framework)
    before = WITHOUT_TORCHVISION if framework == "torch" else ""

    def augmented(**parameters: float) -> list[list[float]]:
        look = "[[float(share) for share in row] for row in augment(decoded(np.arange(8)), targets[:8], [1, 2])[1]]"
        values = mirror.parameters(train, DEBUG=True, IMAGE_SIZE=32, **parameters)
        shares: list[list[float]] = sessions.finished(
            train, values, before=before, look=look, until="augmentation"
        ).seen
        return shares

    unmixed, mixed = augmented(), augmented(MIXUP=0.2, CUTMIX=1.0)

    assert {share for row in unmixed for share in row} == {0, 1}
    assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in mixed)
    assert any(0 < share < 1 for row in mixed for share in row)


@pytest.mark.parametrize("framework", ["keras", "jax"])
def test_the_cores_share_a_large_batch_which_has_every_example_with_its_target(
    sessions: Sessions, mirror: Mirror, framework: str
) -> None:
    write_digits(mirror.competition)
    traced = "\nshares, really = [], augment\ndef augment(images, *others):"
    traced += "\n    shares.append(images.shape[0])\n    return really(images, *others)\n"
    edits = {"augmentation": lambda cell: cell + traced}
    train = Notebook(framework, "train", task=digits_task(), edits=edits)
    # The pixels of an image are its number, and so is its target; a hundred of them fill two batches of 300.
    images = '{"image": np.tile(np.arange(100, dtype="uint8")[:, None, None, None], (1, 8, 8, 1))}'
    pairs = "[[images[:, 4, 4, 0].numpy().tolist(), numbers.numpy().tolist()] for images, numbers in batches]"
    look = f"[(batches := [*training_batches({images}, np.arange(100), 300, 2, 0)]) and {pairs}, shares]"
    parameters = mirror.parameters(train, DEBUG=True, ROTATE_DEGREES=0.0, ZOOM=0.0, SHIFT=0.0)

    batches, shares = sessions.finished(train, parameters, look=look, until="training-batches").seen

    assert set(shares) == {64}
    assert [(len(pixels), pixels == numbers, len(set(pixels))) for pixels, numbers in batches] == [(300, True, 100)] * 2
