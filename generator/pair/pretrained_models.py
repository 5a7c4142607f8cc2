"""Pretrained models on Kaggle: what names one, and which of those of texts a framework reads."""

import re
from collections.abc import Mapping

from generator.competition.presets import Preset, presets_of
from generator.competition.schema import families
from generator.errors import PairError
from generator.pair.template_catalog import frameworks
from generator.untrusted import printable

_HANDLE = re.compile(r"[a-z0-9-]+/[A-Za-z0-9_.-]+/[A-Za-z]+/[A-Za-z0-9_.-]+/[1-9]\d*")


def is_handle(name: str) -> bool:
    """True if a name is one of Kaggle Models: owner/model/framework/variation/version."""
    return _HANDLE.fullmatch(name) is not None


def is_model(name: str) -> bool:
    """True if a name is that of a model to attach: a handle, or the short name of a suggested one of some family."""
    return is_handle(name) or any(name in presets_of(family) for family in families())


def suggested_models(family: str, framework: str) -> Mapping[str, Preset]:
    """Return the suggested models of a family that a framework reads, by short name."""
    kinds = _kinds_read().get(framework, ())
    return {name: preset for name, preset in presets_of(family).items() if preset.kind in kinds}


def check_model(preset: Preset | None, *, family: str, framework: str) -> None:
    """Makes sure that the framework reads a pretrained model of texts.

    Args:
        preset: The model; None where none is named.
        family: The family of the task.
        framework: The framework's name.

    Raises:
        PairError: It does not.
    """
    kinds = _kinds_read()
    if preset is None or preset.kind in kinds.get(framework, ()):
        return
    readers = [name for name, read in kinds.items() if preset.kind in read] or [name for name in kinds if kinds[name]]
    suggested = suggested_models(family, framework)
    others = f"Leave pretrained out, or choose a framework that reads it: {', '.join(readers)}."
    if suggested:
        others = f"It reads {', '.join(suggested)}, and others that Kaggle has for the same library."
    raise PairError(
        f'pretrained is "{printable(preset.handle)}", which the framework "{framework}" does not read. {others}'
    )


def _kinds_read() -> dict[str, tuple[str, ...]]:
    return {name: each.models for name, each in frameworks().items()}
