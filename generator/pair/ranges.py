"""What the knobs of the kit's notebooks can be: numbers, or names; one that is not named here can be any."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt

from generator.competition.facts import Value

_HOLDS = {"at least": ge, "above": gt, "at most": le, "below": lt}


@dataclass(frozen=True)
class Range:
    """An interval: its bounds, by what a number is to each of them, as messages say it."""

    bounds: Mapping[str, float]

    def __contains__(self, number: float) -> bool:
        return all(_HOLDS[words](number, bound) for words, bound in self.bounds.items())

    def __str__(self) -> str:
        return " and ".join(f"{words} {bound:g}" for words, bound in self.bounds.items())


_ONE_OR_MORE = Range({"at least": 1})
_NOT_NEGATIVE = Range({"at least": 0})
_POSITIVE = Range({"above": 0})
_SHARE = Range({"at least": 0, "at most": 1})
_LESS_THAN_ALL = Range({"at least": 0, "below": 1})

RANGES = {
    **dict.fromkeys(("N_FOLDS", "EPOCHS", "BATCH_SIZE", "K", "TTA"), _ONE_OR_MORE),
    **dict.fromkeys(("IMAGE_SIZE", "CHANNELS", "SEQUENCE_LENGTH", "SAMPLE_RATE", "MELS"), _ONE_OR_MORE),
    **dict.fromkeys(("WIDTH", "DEPTH", "LAYERS", "EMBEDDING_DIM"), _ONE_OR_MORE),
    **dict.fromkeys(("LEARNING_RATE", "SECONDS", "KEEP_SECONDS", "HOP_MS", "SESSION_HOURS"), _POSITIVE),
    **dict.fromkeys(("SEED", "WARMUP_EPOCHS", "WEIGHT_DECAY", "RESERVE_MINUTES", "CACHE_GB"), _NOT_NEGATIVE),
    **dict.fromkeys(("ROTATE_DEGREES", "SHIFT", "MIXUP", "CUTMIX", "MASKS", "GAIN_DB", "LEAST_PIECE"), _NOT_NEGATIVE),
    **dict.fromkeys(("DROPOUT", "WORD_DROPOUT", "EMA", "LABEL_SMOOTHING", "ZOOM"), _LESS_THAN_ALL),
    **dict.fromkeys(("MASK_SHARE", "DICE_SHARE", "COLOR_JITTER"), _SHARE),
    "MIN_CROP_SCALE": Range({"above": 0, "at most": 1}),
    "DEVICES": _SHARE,
}

NAMES = {"PRECISION": ("auto", "float32", "mixed_bfloat16", "mixed_float16")}


def names_of(name: str, default: Value) -> tuple[str, ...]:
    """Returns the names that a knob can be, of which its default is one; nothing where it can be any text."""
    known = NAMES.get(name, ())
    return known if default in known else ()


def range_of(name: str, default: Value) -> Range:
    """Returns what numbers a knob can be; a default is one of them, as 0.0 is of a LEARNING_RATE that is looked up."""
    known = RANGES.get(name, Range({}))
    if isinstance(default, int | float) and default not in known:
        upper = {words: bound for words, bound in known.bounds.items() if words in ("at most", "below")}
        return Range({"at least": default, **upper})
    return known
