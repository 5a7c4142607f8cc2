"""Pairs of the family `segmentation`, trained: masks that move with their images, and classes that are learned."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from layout_files import table
from notebook_frameworks import Ended
from notebook_session import Mirror, Notebook, Sessions, needs_torch, read_table
from test_segmentation_family import CLASSES, CODES, SIDE, TASKS, executed
from test_torch_training import WITHOUT_TORCHVISION

pytest_plugins = ("notebook_session",)


def write_discs(folder: Path, masks: str, *, training: int = 40, test: int = 6) -> None:
    """Writes bright discs on noise; some images have none, and the test images have another size."""
    import numpy as np
    from PIL import Image

    source = np.random.default_rng(7)
    codes = []
    for part in ("train", "test", "masks"):
        (folder / part).mkdir(parents=True)
    for number in range(training + test):
        part, name = ("train", f"k{number}") if number < training else ("test", f"t{number}")
        height, width = (SIDE, SIDE) if part == "train" else (40, 24)
        down, right = source.uniform(8, height - 8), source.uniform(8, width - 8)
        rows, columns = np.mgrid[:height, :width]
        mask = ((rows - down) ** 2 + (columns - right) ** 2 < 36) & (number % 5 > 0)
        pixels = source.normal(70, 25, (height, width)) + 110 * mask
        Image.fromarray(pixels.clip(0, 255).astype("uint8")).save(folder / part / f"{name}.png")
        if part == "train":
            Image.fromarray(mask.astype("uint8") * 255).save(folder / "masks" / f"{name}_mask.gif")
        flat = np.flatnonzero(np.diff(np.concatenate([[0], mask.T.ravel(), [0]]))) + 1
        runs = zip(flat[::2], flat[1::2] - flat[::2], strict=True)
        codes.append((name, " ".join(f"{start} {length}" for start, length in runs)))
    if masks == "codes":
        table(folder / "train.csv", ["id", "rle"], codes[:training][::-1])
    table(folder / "sample_submission.csv", ["id", "rle"], [(name, "1 1") for name, _ in reversed(codes[training:])])


@pytest.mark.slow
def test_a_mask_moves_with_its_image(mirror: Mirror, sessions: Sessions) -> None:
    """The bright disc of an augmented image is where its augmented mask is."""
    write_discs(mirror.competition, "codes")
    notebook = Notebook("tensorflow", "train", task=CODES)
    parameters = mirror.parameters(notebook, ROTATE_DEGREES=45.0, SHIFT=0.2, ZOOM=0.2)
    moved = """(lambda moved, masks: [
        (float(image[mask > 0].mean()), float(image[mask == 0].mean()), float(before.mean()), float(mask.mean()))
        for image, mask, before in zip(moved[..., 0], masks[..., 0], truth) if 0 < mask.mean()
    ])(*map(np.asarray, augment(tf.constant(images), tf.constant(truth), [3, 0])))"""

    ended = sessions.finished(notebook, parameters, until="augment", look=moved)

    assert len(ended.seen) > 20
    assert all(inside > outside + 60 for inside, outside, *_ in ended.seen)
    assert any(abs(before - after) > 0.01 for _, _, before, after in ended.seen)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("masks", "framework"),
    [
        ("codes", "tensorflow"),
        ("files", "keras"),
        ("codes", "jax"),
        pytest.param("codes", "torch", marks=needs_torch),
    ],
)
def test_a_smoke_run_writes_codes_for_every_test_image(
    mirror: Mirror, sessions: Sessions, masks: str, framework: str
) -> None:
    write_discs(mirror.competition, masks)
    train, infer = (Notebook(framework, role, task=TASKS[masks]) for role in ("train", "infer"))
    sessions.finished(train, mirror.parameters(train, DEBUG=True))
    mount = mirror.output_of_training(framework)
    mount.parent.mkdir(parents=True)
    mirror.working.rename(mount)

    sessions.finished(infer, mirror.parameters(infer, DEBUG=True))
    header, *rows = read_table(mirror.working / "submission.csv")
    assert header == ["id", "rle"]
    assert [name for name, _ in rows] == [f"t{number}" for number in range(45, 39, -1)]


def write_bright_and_dark_discs(folder: Path, *, training: int = 60, test: int = 8) -> dict[str, Any]:
    """Writes images that may have a bright disc and a dark one; returns the masks of the test images, by id."""
    import numpy as np
    from PIL import Image

    source = np.random.default_rng(3)
    known, asked = [], {}
    for number in range(training + test):
        part, name = ("train", f"k{number}.png") if number < training else ("test", f"t{number}.png")
        (folder / part).mkdir(parents=True, exist_ok=True)
        height, width = (SIDE, SIDE) if part == "train" else (40, 24)
        dark = disc(source, height, width)
        masks = {"bright": disc(source, height, width) & ~dark, "dark": dark}
        pixels = source.normal(120, 8, (height, width)) + 80 * masks["bright"] - 80 * dark
        Image.fromarray(pixels.clip(0, 255).astype("uint8")).save(folder / part / name)
        if part == "train":
            known += [(name, kind, code_of(mask)) for kind, mask in masks.items() if mask.any()]
        else:
            asked |= {f"{name}_{kind}": mask for kind, mask in masks.items()}
    table(folder / "train.csv", ["image", "kind", "rle"], known)
    table(folder / "sample_submission.csv", ["id", "rle"], [(key, "1 1") for key in asked])
    return asked


def disc(source: Any, height: int, width: int) -> Any:
    import numpy as np

    rows, columns = np.mgrid[:height, :width]
    down, right = source.uniform(6, height - 6), source.uniform(6, width - 6)
    return ((rows - down) ** 2 + (columns - right) ** 2 < 30) & (source.random() < 0.7)


def code_of(mask: Any) -> str:
    import numpy as np

    flat = np.flatnonzero(np.diff(np.concatenate([[0], mask.T.ravel(), [0]]))) + 1
    return " ".join(f"{start} {length}" for start, length in zip(flat[::2], flat[1::2] - flat[::2], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["keras"])
def test_masks_of_two_classes_are_learned_and_found_from_four_views(
    mirror: Mirror, sessions: Sessions, framework: str
) -> None:
    decoded = executed("codes", "train", ["decode-run-length"])["decoded_run_length"]
    truth = write_bright_and_dark_discs(mirror.competition)
    train, infer = (Notebook(framework, role, task=CLASSES) for role in ("train", "infer"))
    parameters = mirror.parameters(train, EPOCHS=12, WIDTH=8, LEARNING_RATE=0.1, ROTATE_DEGREES=0.0, BATCH_SIZE=16)
    ended = sessions.finished(train, parameters, look="[decision, len(train)]")

    assert len(ended.seen[0]["thresholds"]) == 2
    assert ended.seen[1] == 60  # those without a row among them
    mirror.working.rename(mirror.root / "train")

    ended = sessions.finished(infer, mirror.parameters(infer, TTA=4))

    _, *rows = read_table(mirror.working / "submission.csv")
    assert [key for key, _ in rows] == list(truth)
    found = {key: decoded(code, 40, 24) for key, code in rows}
    both = sum((found[key] & truth[key]).sum() for key in truth)
    assert 2 * both / sum(found[key].sum() + truth[key].sum() for key in truth) > 0.7


@pytest.mark.slow
@needs_torch
@pytest.mark.skipif(find_spec("timm") is None, reason="there is no timm; `make test` installs it")
def test_a_backbone_of_timm_takes_the_size_of_the_images_or_says_which_it_would_take(
    mirror: Mirror, sessions: Sessions
) -> None:
    write_discs(mirror.competition, "codes")
    train = Notebook("torch", "train", task=CODES)

    def run(backbone: str, size: int) -> Ended:
        parameters = mirror.parameters(train, BACKBONE=backbone, IMAGE_SIZE=size)
        offline = {"HF_HUB_OFFLINE": "1"}
        return sessions.run(train, parameters, until="model-summary", before=WITHOUT_TORCHVISION, environment=offline)

    refused, taken = run("test_convnext", 50), run("test_vit", 32)
    assert refused.cell == "use-backbone"
    assert refused.error.startswith("ValueError: BACKBONE 'test_convnext' cannot take 50 x 50 pixels: ")
    assert refused.error.endswith("Choose an IMAGE_SIZE that is a multiple of 32, or another BACKBONE.")
    assert taken.cell == "starting-weights"
    assert taken.error.startswith("RuntimeError: test_vit gets no weights of timm: LocalEntryNotFoundError(")
    assert taken.error.endswith("or train from scratch: WEIGHTS = False.")
