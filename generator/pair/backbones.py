"""The names of backbones that a framework has, as far as they are known without it."""

from collections.abc import Collection, Mapping

from generator.competition.facts import TargetKind, Value
from generator.errors import PairError, did_you_mean
from generator.pair.choices import Choice
from generator.pair.spec import PairSpec
from generator.pair.template_catalog import frameworks
from generator.untrusted import printable

KNOB = "BACKBONE"


def check_backbone(spec: PairSpec, knobs: Mapping[str, Value], defaults: Mapping[str, Value]) -> None:
    """Makes sure that the framework can have the backbone that the user names, if any.

    Args:
        spec: The pair.
        knobs: Those that the user turns.
        defaults: All that there are.

    Raises:
        PairError: It cannot.
    """
    if KNOB not in knobs or KNOB not in defaults:
        return
    name, of_photographs, of_others = str(knobs[KNOB]), *_names_in(spec.framework)
    known = of_photographs if spec.has_backbone else of_others
    if not spec.has_backbone and spec.task.target_kind not in (TargetKind.MASK, TargetKind.IMAGE):
        known = (*of_others, *of_photographs)  # of sounds
    if not _is_possible(name, known):
        nearest = did_you_mean(name, known) or f' Take another, such as "{printable(str(defaults[KNOB]))}".'
        raise PairError(
            f'BACKBONE is "{printable(name)}", which the framework {spec.framework} does not have here.{nearest}'
        )


def without_foreign_backbone(knobs: Mapping[str, Choice], framework: str) -> dict[str, Choice]:
    """Returns the knobs that a pair keeps in another framework: all but a backbone that this one does not have."""
    of_photographs, of_others = _names_in(framework)
    known = (*of_photographs, *of_others)
    return {name: each for name, each in knobs.items() if name != KNOB or _is_possible(str(each.value), known)}


def _names_in(framework: str) -> tuple[Collection[str], Collection[str]]:
    found = frameworks().get(framework)
    return (found.backbones, found.encoders) if found else ((), ())


def _is_possible(name: str, known: Collection[str]) -> bool:
    """True unless the name is known to be wrong: timm, which has many, writes all of its own in lower case."""
    elsewhere = {other for each in frameworks().values() for other in each.backbones}
    return name in known if known else name.islower() or name not in elsewhere
