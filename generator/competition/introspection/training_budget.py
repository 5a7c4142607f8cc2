"""The training budget: epochs, and examples at once."""

import math

from generator.competition.facts import Medium, TargetKind, are_large_photographs, are_photographs
from generator.competition.introspection.findings import Findings
from generator.competition.presets import preset_of
from generator.competition.schema import families
from generator.wording import duration

_REPLICAS, _STEPS, _MULTIPLE, _LARGEST_BATCH = 8, 8, 8, 128
_SHARE_TRAINED_ON = 0.8
_FEWEST_EPOCHS, _MOST_EPOCHS, _ROWS_FOR_MOST = 3, 40, 1_000
# Up to so many texts train within so many CPU seconds: with inference, ten minutes on two idle cores.
_FEW_TEXTS, _SECONDS, _FEWEST_EPOCHS_OF_TEXTS = 2_000, 450, 2
_FOLDS = {5: 8, 3: 6, 2: 1}  # so many where each can have so many epochs
# Five folds of a model of 85 million parameters that reads so many tokens take half an hour of a TPU v5e-8.
_USUAL_FOLDS, _MOST_TOKENS = 5, 2e9
# EfficientNetV2-S takes few photographs at once: a large batch leaves fine-tuning few steps. docs/adr/0021.
_BATCH_OF_LARGE, _MOST_EPOCHS_OF_PHOTOGRAPHS, _FOLDS_OF_PHOTOGRAPHS = 16, 20, 5
# Milliseconds of a TPU v5e-8 for a photograph of 512 pixels, by Google's compiler: EfficientNetV2-S, and V2-B0.
_MILLISECONDS_OF_LARGE, _MILLISECONDS, _PIXELS = 0.84, 0.2, 512
_MOST_HOURS = 2.0  # a tenth of the 20 that Kaggle lends a TPU each week


def batch_size(examples: int) -> int:
    """Examples per replica: a multiple of 8, with which 8 replicas still make 8 steps an epoch, from 8 to 128."""
    fitting = int(examples * _SHARE_TRAINED_ON) // (_REPLICAS * _STEPS)
    return max(_MULTIPLE, min(_LARGEST_BATCH, fitting // _MULTIPLE * _MULTIPLE))


def epochs(examples: int) -> int:
    """From 40 for a thousand examples down to 3: an epoch of many examples teaches more."""
    return max(_FEWEST_EPOCHS, min(_MOST_EPOCHS, round(_MOST_EPOCHS * math.sqrt(_ROWS_FOR_MOST / max(1, examples)))))


def photograph_epochs(examples: int) -> int:
    """Epochs of fine-tuning: 15 for the 16,465 flowers of tpu-getting-started, 20 at most."""
    usual = round(1.5 * _MOST_EPOCHS * math.sqrt(_ROWS_FOR_MOST / max(1, examples)))
    return max(_FEWEST_EPOCHS, min(_MOST_EPOCHS_OF_PHOTOGRAPHS, usual))


def photograph_hours(examples: int, times: int, pixels: int) -> float:
    """Hours of a TPU v5e-8 for the steps of five models of photographs, by the compiler's cycles."""
    milliseconds = _MILLISECONDS_OF_LARGE if are_large_photographs(pixels) else _MILLISECONDS
    seen = _FOLDS_OF_PHOTOGRAPHS * _SHARE_TRAINED_ON * examples * times
    return seen * milliseconds * (pixels / _PIXELS) ** 2 / 3.6e6


def text_seconds(tokens: int) -> float:
    """CPU seconds that training takes for a text of so many tokens: 0.027 for 128 and 0.155 for 512, as measured."""
    return tokens * (1.8e-4 + 2.4e-7 * tokens)


def text_budget(examples: int, tokens: int, *, has_linear_member: bool) -> tuple[int, int]:
    """The folds and the epochs with which few texts train in ten minutes, inference included.

    A linear member needs other folds to say how much it counts, so that it has two at least.
    """
    affordable = _SECONDS / (max(1, examples) * text_seconds(tokens))  # passes over all texts
    possible = {folds: int(affordable / (folds - 1)) for folds in _FOLDS}
    folds = next((folds for folds, least in _FOLDS.items() if possible[folds] >= least), min(_FOLDS))
    if folds == min(_FOLDS) and not has_linear_member:
        return 1, max(_FEWEST_EPOCHS_OF_TEXTS, min(epochs(examples), int(affordable / _SHARE_TRAINED_ON)))
    return folds, max(_FEWEST_EPOCHS_OF_TEXTS, min(epochs(examples), possible[folds]))


def settle_budget(family: str, examples: int, found: Findings, *, tiles: int = 1) -> None:
    """Settles both, and the folds of photographs and texts: a pretrained model of texts needs fewer epochs.

    Batches are of the tiles that examples are cut into.
    """
    size, times, usual = batch_size(examples * tiles), epochs(examples), f"usual for {examples:,} examples"
    channels, pixels = (found[key].value if key in found else None for key in ("channels", "image_size"))
    if are_photographs(channels, pixels, found.member("target_kind", TargetKind)):
        times, usual = photograph_epochs(examples), f"usual for fine-tuning with {examples:,} examples"
        size = min(size, _BATCH_OF_LARGE) if are_large_photographs(pixels) else size
        hours = photograph_hours(examples, times, int(str(pixels)))
        trained = f"{_FOLDS_OF_PHOTOGRAPHS} models train about {duration(3600 * hours)} on a TPU v5e-8"
        evidence = f"{trained}, which Kaggle lends for 20 hours a week"
        found.settle("fold_count", _FOLDS_OF_PHOTOGRAPHS if hours <= _MOST_HOURS else 1, evidence)
    elif preset := preset_of(family, found.text("pretrained")):
        length = int(found.text("sequence_length"))
        size, times = preset.batch_size(size, length), preset.epochs(times)
        usual = f"usual for {examples:,} examples and a pretrained model"
        if examples * length * times * (_USUAL_FOLDS - 1) <= _MOST_TOKENS:
            found.settle("fold_count", _USUAL_FOLDS, "five models take at most half an hour of a TPU")
    elif families()[family].medium is Medium.TEXT:
        times, usual = _settle_folds_of_texts(examples, times, usual, found)
    steps = max(1, int(examples * tiles * _SHARE_TRAINED_ON) // (_REPLICAS * size))
    unit, cut = "step" if steps == 1 else "steps", f" of {tiles} tiles" if tiles > 1 else ""
    found.settle("batch_size", size, f"with 8 replicas, {examples:,} examples{cut} are {steps:,} {unit} an epoch")
    found.settle("epochs", times, usual)


def _settle_folds_of_texts(examples: int, times: int, usual: str, found: Findings) -> tuple[int, str]:
    """Settles the folds of texts; returns the epochs, and why."""
    has_linear_member = "linear_member" in found and bool(found["linear_member"].value)
    tokens = int(str(found["sequence_length"].value))
    folds, fitting = text_budget(examples, tokens, has_linear_member=has_linear_member)
    why = "a linear model is mixed in by what other folds say" if has_linear_member else "as many as ten minutes allow"
    if has_linear_member or (folds > 1 and examples <= _FEW_TEXTS):
        found.settle("fold_count", folds, why)
    if examples > _FEW_TEXTS or fitting == times:
        return times, usual
    return fitting, f"for {examples:,} texts about ten minutes on two cores, with N_FOLDS = {folds}"
