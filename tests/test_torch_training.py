"""PyTorch trains on images, hands over safetensors, and infers without anything but PyTorch."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from miniature import Outcome
from notebook_session import Mirror, Sessions, Written, needs_torch, read_table, rendered_cells
from small_competitions import SMALL_COMPETITIONS
from test_notebook_images import digits_task

pytestmark = [pytest.mark.slow, needs_torch]
pytest_plugins = ("notebook_session",)

SLUG = "small"
LOADED = "sorted({'jax', 'keras', 'tensorflow', 'torch_xla'} & set(__import__('sys').modules))"

# timm imports torchvision, whose transforms no model needs: without CUDA there is none for this PyTorch.
WITHOUT_TORCHVISION = """
import sys
from unittest.mock import MagicMock
import torch
for name in ("", ".datasets", ".models.feature_extraction", ".ops.misc", ".transforms.functional", ".utils"):
    parts = ("torchvision" + name).split(".")
    for end in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:end]), MagicMock())
sys.modules["torchvision.ops.misc"].FrozenBatchNorm2d = type("FrozenBatchNorm2d", (torch.nn.Module,), {})
"""
BACKBONE = "mobilenetv3_small_050"
SAVED = f"""
import timm
from safetensors.torch import save_file
save_file(timm.create_model({BACKBONE!r}).state_dict(), {{path!r}})
"""


@dataclass(frozen=True)
class Pair:
    """Both notebooks of a small competition, and where its files are."""

    train: Written
    infer: Written
    sample: Path


def written_pair(tandem: Callable[..., Outcome], mirror: Mirror, family: str, **others: str | int) -> Pair:
    """Writes a small competition into a mirror, and its pair in PyTorch."""
    small = SMALL_COMPETITIONS[family]
    folder = mirror.input / "competitions" / SLUG
    small.write(folder)
    wanted = {**small.settings, **others}.items()
    settings = [argument for key, value in wanted for argument in ("--set", f"{key}={value}")]
    choices = ("--metric", small.metric, "--framework", "torch", "--owner", "ada", "--name", SLUG)
    tandem("generate", "--competition", SLUG, *choices, "--workspace", mirror.root, *settings)
    paths = (mirror.root / "kernels" / SLUG / role / f"{role}.ipynb" for role in ("train", "infer"))
    train, infer = (Written(path, backend="none") for path in paths)
    return Pair(train, infer, next(path for path in folder.iterdir() if "sample" in path.name))


def test_images_are_learned_and_handed_over(sessions: Sessions, mirror: Mirror, tandem: Callable[..., Outcome]) -> None:
    pair = written_pair(tandem, mirror, "image_regression")
    roots = {"INPUT_ROOT": str(mirror.input), "WORKING_ROOT": str(mirror.working)}

    sessions.finished(pair.train, {**roots, "ALLOW_CPU": True, "EPOCHS": 3, "PRECISION": "mixed_bfloat16"})
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    losses = [epoch["loss"] for epoch in handoff["folds"][0]["history"]]
    assert losses[-1] < losses[0]
    mirror.working.rename(mirror.root / "train")
    ended = sessions.finished(pair.infer, roots, look=LOADED)

    assert ended.seen == [], "nothing but PyTorch is needed"
    assert "Predictions of training reproduced within" in "".join(ended.printed.values())
    submission = read_table(mirror.working / "submission.csv")
    assert [row[0] for row in submission] == [row[0] for row in read_table(pair.sample)]
    assert len({tuple(row[1:]) for row in submission[1:]}) > len(submission) / 2


def test_a_large_batch_is_made_in_parts_by_more_workers_than_there_are_steps() -> None:
    import os

    import numpy as np
    import torch
    from torch.nn import functional
    from torch.utils._pytree import tree_map
    from torch.utils.data import DataLoader

    cells = rendered_cells("torch", "train", digits_task())
    asked: list[int] = []

    def loader(parts: list[object], **options: object) -> DataLoader[object]:
        asked.append(len(parts))
        return DataLoader(parts, **options)  # type: ignore[arg-type] # a list is data enough

    names: dict[str, Any] = {"os": os, "np": np, "torch": torch, "functional": functional, "tree_map": tree_map}
    names |= {"DataLoader": loader, "FLIP": 0, "ROTATE_DEGREES": 0, "ZOOM": 0, "SHIFT": 0}
    for cell in ("image-batches", "augment", "training-batches"):
        exec(compile(cells[cell], "<cell>", "exec"), names)  # noqa: S102 - the cells are what is tested
    images = np.tile(np.arange(100, dtype="uint8")[:, None, None, None], (1, 8, 8, 1))

    batches = [*names["training_batches"]({"image": images}, np.arange(100), 300, 2, seed=0)]

    assert asked == [38]
    assert [(len(pixels), len(targets)) for pixels, targets in batches] == [(300, 300), (300, 300)]
    for pixels, targets in batches:
        assert torch.equal(pixels[:, 4, 4, 0].long(), targets.long())
        assert targets.unique().tolist() == list(range(100))


def test_a_mirrored_image_is_the_image_from_right_to_left() -> None:
    import numpy as np
    import torch
    from torch.nn import functional

    names: dict[str, Any] = {"np": np, "torch": torch, "functional": functional}
    names |= {"FLIP": 2, "ROTATE_DEGREES": 0, "ZOOM": 0, "SHIFT": 0}  # every image, and not half of them
    exec(compile(rendered_cells("torch", "train", digits_task())["augment"], "<cell>", "exec"), names)  # noqa: S102
    images = np.random.default_rng(0).integers(256, size=(20, 8, 8, 1), dtype="uint8")

    pixels, _ = names["augment"](images, np.zeros(20), 0)

    assert np.array_equal(pixels, images[:, :, ::-1])


def test_inference_decodes_in_its_own_process_one_batch_ahead() -> None:
    import os
    import time
    from concurrent.futures import ThreadPoolExecutor
    from itertools import pairwise

    import numpy as np
    import torch

    decoded: list[tuple[int, int]] = []

    def load_image(path: str, size: int) -> "np.ndarray[Any, np.dtype[np.uint8]]":
        decoded.append((os.getpid(), int(path)))
        return np.full((size, size, 1), int(path), dtype="uint8")

    cells = rendered_cells("torch", "infer", digits_task())
    names: dict[str, Any] = {"os": os, "np": np, "torch": torch, "ThreadPoolExecutor": ThreadPoolExecutor}
    names |= {"load_image": load_image, "reading": {"size": 2}, "pairwise": pairwise}
    exec(compile(cells["image-batches"], "<cell>", "exec"), names)  # noqa: S102 - the cell is what is tested
    paths = np.array([str(index) for index in range(70)], dtype=object)

    batches = names["batches_in_order"]({"path": paths}, 16)
    first = next(batches)
    time.sleep(1)  # what was asked for is decoded meanwhile
    seen_ahead = max(path for _, path in decoded)
    rest = [*batches]

    assert seen_ahead == 2 * 16 - 1
    assert {process for process, _ in decoded} == {os.getpid()}
    assert [batch.shape for batch in (first, *rest)] == 5 * [(16, 2, 2, 1)]
    assert torch.cat([first, *rest])[:, 0, 0, 0].tolist() == [*range(70), *range(10)]
    some = [batch.shape for batch in names["batches_in_order"]({"path": paths[:1]}, 1)]
    assert some == [(1, 2, 2, 1)]


@pytest.mark.skipif(find_spec("timm") is None, reason="there is no timm; `make test` installs it")
def test_a_backbone_starts_from_weights_that_are_attached(
    sessions: Sessions, mirror: Mirror, tandem: Callable[..., Outcome]
) -> None:
    handle = "timm/mobilenet/pyTorch/small/1"
    pair = written_pair(tandem, mirror, "image_classification", channels=3, image_size=96, pretrained=handle)
    weights = mirror.input / "models" / handle.lower() / "model.safetensors"
    weights.parent.mkdir(parents=True)
    smoke = {"INPUT_ROOT": str(mirror.input), "WORKING_ROOT": str(mirror.working), "DEBUG": True}

    before = WITHOUT_TORCHVISION + SAVED.format(path=str(weights))
    ended = sessions.finished(pair.train, {**smoke, "BACKBONE": BACKBONE}, before=before, look="starting_weights")
    assert ended.seen == str(weights)
    for name, what in {"missing.pth": "No such file", "model.safetensors": "Missing key(s) in state_dict"}.items():
        file = weights.with_name(name)
        named = {**smoke, "BACKBONE": "resnet18", "WEIGHTS": str(file)}
        stopped = sessions.run(pair.train, named, before=WITHOUT_TORCHVISION)
        assert stopped.error.startswith(f"RuntimeError: resnet18 gets no weights of {file}: ")
        assert what in stopped.error
    mirror.working.rename(mirror.root / "train")
    weights.unlink()  # inference has the weights that were handed over
    sessions.finished(pair.infer, smoke, before=WITHOUT_TORCHVISION)
