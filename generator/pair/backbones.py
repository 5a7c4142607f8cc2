"""The names of backbones that a framework has, as far as they are known without it."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from generator.competition.facts import TargetKind, Value
from generator.errors import PairError
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
        raise PairError(
            f'BACKBONE is "{printable(name)}", which the framework {spec.framework} does not have here.'
            f"{_nearest(name, known, default=str(defaults[KNOB]))}{_reason(name, spec, of_photographs)}"
        )


def untested_backbone(knobs: Mapping[str, Choice], framework: str) -> tuple[str, ...]:
    """Returns a sentence on what is not known of the backbone that the user chose; nothing of the others."""
    name, known = str(knobs[KNOB].value) if KNOB in knobs else "", frameworks().get(framework)
    if known is None or not name.startswith(tuple(known.untested)):
        return ()
    unknown = f"{printable(name)} is not tested here: its memory, its time and its LEARNING_RATE are not known"
    return (f"{unknown}; `tandem plan` measures a step.",)


def without_foreign_backbone(knobs: Mapping[str, Choice], framework: str) -> dict[str, Choice]:
    """Returns the knobs that a pair keeps in another framework: all but a backbone that this one does not have."""
    of_photographs, of_others = _names_in(framework)
    known = (*of_photographs, *of_others)
    return {name: each for name, each in knobs.items() if name != KNOB or _is_possible(str(each.value), known)}


def _names_in(framework: str) -> tuple[Collection[str], Collection[str]]:
    found = frameworks().get(framework)
    return (found.backbones, found.encoders) if found else ((), ())


def _reason(name: str, spec: PairSpec, of_photographs: Collection[str]) -> str:
    """Why there is no such backbone, as a sentence; nothing where the name is unknown altogether."""
    having = [each.title for each in frameworks().values() if name in (*each.backbones, *each.encoders)]
    if not of_photographs:
        return " It takes the models of timm, whose names are in lower case."
    if name in of_photographs:
        return f" It is offered for photographs with classes or numbers; this pair predicts {spec.task.target_kind}s."
    if having and spec.framework not in having:
        return f" It is a name of {' and '.join(having)}; other frameworks have other ones."
    return ""


def _nearest(name: str, known: Collection[str], *, default: str) -> str:
    """The nearest names, for the end of the message."""
    by_letters = {each.lower().replace("_", ""): each for each in known}
    letters = name[:100].lower().replace("_", "").replace("-", "")
    near = [letters] if letters in by_letters else get_close_matches(letters, by_letters, n=3)
    if not near:
        return f' Take another, such as "{printable(default)}".'
    return " Did you mean {}?".format(" or ".join(f'"{by_letters[each]}"' for each in near))


def _is_possible(name: str, known: Collection[str]) -> bool:
    """True unless the name is known to be wrong: timm, which has many, writes all of its own in lower case."""
    return name in known if known else name.islower() or bool(set("/:") & set(name))
