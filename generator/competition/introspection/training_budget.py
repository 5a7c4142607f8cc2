"""The training budget: epochs, and examples at once."""

import math

from generator.competition.facts import TargetKind, are_photographs
from generator.competition.introspection.findings import Findings

_REPLICAS, _STEPS, _MULTIPLE, _LARGEST_BATCH = 8, 8, 8, 128
_SHARE_TRAINED_ON = 0.8
_FEWEST_EPOCHS, _MOST_EPOCHS, _ROWS_FOR_MOST = 3, 40, 1_000


def batch_size(examples: int) -> int:
    """Examples per replica: a multiple of 8, with which 8 replicas still make 8 steps an epoch, from 8 to 128."""
    fitting = int(examples * _SHARE_TRAINED_ON) // (_REPLICAS * _STEPS)
    return max(_MULTIPLE, min(_LARGEST_BATCH, fitting // _MULTIPLE * _MULTIPLE))


def epochs(examples: int) -> int:
    """From 40 for a thousand examples down to 3: an epoch of many examples teaches more."""
    return max(_FEWEST_EPOCHS, min(_MOST_EPOCHS, round(_MOST_EPOCHS * math.sqrt(_ROWS_FOR_MOST / max(1, examples)))))


def settle_budget(examples: int, found: Findings) -> None:
    """Settles both; a backbone that has learned from ImageNet needs half of the epochs."""
    size, times, usual = batch_size(examples), epochs(examples), "usual for"
    channels, pixels = (found[key].value if key in found else None for key in ("channels", "image_size"))
    if are_photographs(channels, pixels, found.member("target_kind", TargetKind)):
        times, usual = max(_FEWEST_EPOCHS, times // 2), "usual for fine-tuning with"
    steps = max(1, int(examples * _SHARE_TRAINED_ON) // (_REPLICAS * size))
    unit = "step" if steps == 1 else "steps"
    found.settle("batch_size", size, f"with 8 replicas, {examples:,} examples are {steps:,} {unit} an epoch")
    found.settle("epochs", times, f"{usual} {examples:,} examples")
