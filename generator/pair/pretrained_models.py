"""Pretrained models of texts on Kaggle: which of them a framework reads."""

from collections.abc import Mapping

from generator.competition.presets import Preset, presets_of
from generator.errors import PairError
from generator.installation import template_folder
from generator.pair.template_catalog import frameworks
from generator.untrusted import printable


class ModelOfFrameworkError(PairError):
    """The user named a pretrained model that the framework does not read."""

    def __init__(self, *, handle: str, framework: str, suggested: Mapping[str, Preset], readers: list[str]) -> None:
        others = f"Leave pretrained out, or choose a framework that reads it: {', '.join(readers)}."
        if suggested:
            others = f"It reads {', '.join(suggested)}, and others that Kaggle has for the same library."
        super().__init__(
            f'pretrained is "{printable(handle)}", which the framework "{framework}" does not read. {others}'
        )


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
        ModelOfFrameworkError: It does not.
    """
    kinds = _kinds_read()
    if preset is None or preset.kind in kinds.get(framework, ()):
        return
    readers = [name for name, read in kinds.items() if preset.kind in read] or [name for name in kinds if kinds[name]]
    suggested = suggested_models(family, framework)
    raise ModelOfFrameworkError(handle=preset.handle, framework=framework, suggested=suggested, readers=readers)


def _kinds_read() -> dict[str, tuple[str, ...]]:
    return {each.name: each.models for each in frameworks(template_folder())}
