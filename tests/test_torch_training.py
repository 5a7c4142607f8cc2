"""PyTorch trains on images, hands over safetensors, and infers without anything but PyTorch."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from miniature import Outcome
from notebook_session import Mirror, Sessions, Written, needs_torch, read_table
from small_competitions import SMALL_COMPETITIONS

pytestmark = [pytest.mark.slow, needs_torch]
pytest_plugins = ("notebook_session",)

SLUG = "small"
LOADED = "sorted({'jax', 'keras', 'tensorflow', 'torch_xla'} & set(__import__('sys').modules))"


@pytest.mark.parametrize("family", ["image_classification", "image_regression"])
def test_images_are_learned_and_handed_over(
    sessions: Sessions, mirror: Mirror, tandem: Callable[..., Outcome], family: str
) -> None:
    small = SMALL_COMPETITIONS[family]
    small.write(mirror.input / "competitions" / SLUG)
    settings = [argument for key, value in small.settings.items() for argument in ("--set", f"{key}={value}")]
    choices = ("--metric", small.metric, "--framework", "torch", "--owner", "ada", "--name", SLUG)
    tandem("generate", "--competition", SLUG, *choices, "--workspace", mirror.root, *settings)
    train, infer = (
        Written(mirror.root / "kernels" / SLUG / role / f"{role}.ipynb", backend="none") for role in ("train", "infer")
    )
    roots = {"INPUT_ROOT": str(mirror.input), "WORKING_ROOT": str(mirror.working)}

    sessions.finished(train, {**roots, "ALLOW_CPU": True, "EPOCHS": 3, "PRECISION": "mixed_bfloat16"})
    handoff = json.loads((mirror.working / "handoff.json").read_text())
    losses = [epoch["loss"] for epoch in handoff["folds"][0]["history"]]
    assert losses[-1] < losses[0]
    mirror.working.rename(mirror.root / "train")
    ended = sessions.finished(infer, roots, look=LOADED)

    assert ended.seen == []
    assert "Training's predictions are repeated within" in "".join(ended.printed.values())
    sample = next(path for path in (mirror.input / "competitions" / SLUG).iterdir() if "sample" in path.name)
    submission = read_table(mirror.working / "submission.csv")
    assert [row[0] for row in submission] == [row[0] for row in read_table(Path(sample))]
    assert len({tuple(row[1:]) for row in submission[1:]}) > len(submission) / 2
