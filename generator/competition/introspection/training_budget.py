"""The training budget: epochs, and examples at once."""

import math

from generator.competition.facts import TargetKind, are_photographs
from generator.competition.introspection.findings import Findings
from generator.competition.presets import preset_of

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


def settle_budget(family: str, examples: int, found: Findings, *, squares: int = 1) -> None:
    """Settles both: what is fine-tuned needs fewer epochs, a backbone of ImageNet half of them.

    Batches are of the squares that examples are cut into.
    """
    size, times, usual = batch_size(examples * squares), epochs(examples), f"usual for {examples:,} examples"
    channels, pixels = (found[key].value if key in found else None for key in ("channels", "image_size"))
    if are_photographs(channels, pixels, found.member("target_kind", TargetKind)):
        times, usual = max(_FEWEST_EPOCHS, times // 2), f"usual for fine-tuning with {examples:,} examples"
    elif preset := preset_of(family, found.decided("pretrained")):
        size, times = preset.batch_size(size, int(str(found["sequence_length"].value))), preset.epochs(times)
        usual = f"usual for {examples:,} examples and a pretrained model"
    steps = max(1, int(examples * squares * _SHARE_TRAINED_ON) // (_REPLICAS * size))
    unit, cut = "step" if steps == 1 else "steps", f" of {squares} squares" if squares > 1 else ""
    found.settle("batch_size", size, f"with 8 replicas, {examples:,} examples{cut} are {steps:,} {unit} an epoch")
    found.settle("epochs", times, usual)
