"""Pretrained models by short names, as `templates/families/<family>/presets.toml` declares them."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from generator.competition.schema import SchemaError
from generator.installation import template_folder

_SMALLEST_BATCH, _FEWEST_EPOCHS = 8, 3
_EPOCHS_FROM_SCRATCH = 3  # for one of a model that has read before


@dataclass(frozen=True)
class Preset:
    """A pretrained model, and what suits its fine-tuning.

    Attributes:
        handle: The Kaggle Model, owner/model/framework/variation/version.
        description: What it reads, and its size.
        learning_rate: For 128 examples a step.
        tokens: How many a replica reads in a step.
        layers: Millions of parameters that each token passes: all but the embeddings.
        chosen_for: The language of texts for which it is taken unless the user says otherwise; "" for none.
    """

    handle: str
    description: str
    learning_rate: float
    tokens: int
    layers: int
    chosen_for: str = ""

    @property
    def kind(self) -> str:
        """The framework that Kaggle files it under, in lower case, such as "keras": the third part of its handle."""
        return "".join(self.handle.lower().split("/")[2:3])

    def batch_size(self, usual: int, sequence_length: int) -> int:
        """Return the examples per replica, where a model from scratch has so many as usual."""
        return min(usual, max(_SMALLEST_BATCH, self.tokens // sequence_length))

    def epochs(self, usual: int) -> int:
        """Return the epochs, where a model from scratch has so many as usual."""
        return max(_FEWEST_EPOCHS, round(usual / _EPOCHS_FROM_SCRATCH))


@cache
def presets_of(family: str) -> Mapping[str, Preset]:
    """Return the suggested models of a family by short name.

    Raises:
        SchemaError: The declaration is broken.
    """
    path = template_folder() / "families" / family / "presets.toml"
    try:
        declared = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return {name: Preset(**values) for name, values in declared.items()}
    except (OSError, ValueError, TypeError) as error:
        raise SchemaError(path=path, problem=str(error)) from error


def preset_for(family: str, *, language: str, kinds: Sequence[str]) -> str:
    """Return the name of the model to start from for texts in a language; "" where a framework reads none.

    Args:
        family: The family of the task.
        language: A language, or "".
        kinds: What the framework reads models of, such as "keras".
    """
    fitting = (name for name, preset in presets_of(family).items() if preset.kind in kinds and preset.chosen_for)
    return next((name for name in fitting if presets_of(family)[name].chosen_for == language), "")


def preset_of(family: str, pretrained: str) -> Preset | None:
    """Return the model that a short name or a handle means; None where none is named.

    A model that is not suggested is fine-tuned with the smallest steps of those that are, and taken for a usual one.
    """
    suggested = presets_of(family)
    if not pretrained or not suggested:
        return None
    by_handle = {preset.handle: preset for preset in suggested.values()}
    known = suggested.get(pretrained) or by_handle.get(pretrained)
    rates, tokens = zip(*((one.learning_rate, one.tokens) for one in suggested.values()), strict=True)
    return known or Preset(
        pretrained, "", min(rates), min(tokens), int(median(one.layers for one in suggested.values()))
    )
