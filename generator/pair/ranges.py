"""What the knobs of the kit's notebooks can be: numbers, or names; one that is not named here can be any."""

from dataclasses import dataclass

from generator.competition.facts import Value


@dataclass(frozen=True)
class Range:
    """An interval; a bound that is None is none.

    Attributes:
        least: The least number.
        above: What a number is greater than.
        most: The greatest number.
        below: What a number is less than.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None

    def __contains__(self, number: float) -> bool:
        return (
            (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
            and (self.below is None or number < self.below)
        )

    def __str__(self) -> str:
        bounds = {"at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        return " and ".join(f"{words} {bound:g}" for words, bound in bounds.items() if bound is not None)


_ONE_OR_MORE = Range(least=1)
_NOT_NEGATIVE = Range(least=0)
_POSITIVE = Range(above=0)
_SHARE = Range(least=0, most=1)
_LESS_THAN_ALL = Range(least=0, below=1)

RANGES = {
    **dict.fromkeys(("FOLDS", "EPOCHS", "BATCH_SIZE", "MEMBERS", "TTA"), _ONE_OR_MORE),
    **dict.fromkeys(("IMAGE_SIZE", "CHANNELS", "SEQUENCE_LENGTH", "SAMPLE_RATE", "MELS"), _ONE_OR_MORE),
    **dict.fromkeys(("WIDTH", "DEPTH", "LAYERS", "EMBEDDING"), _ONE_OR_MORE),
    **dict.fromkeys(("LEARNING_RATE", "SECONDS", "KEEP_SECONDS", "HOP_MS", "SESSION_HOURS"), _POSITIVE),
    **dict.fromkeys(("SEED", "WARMUP_EPOCHS", "WEIGHT_DECAY", "RESERVE_MINUTES", "CACHE_GB"), _NOT_NEGATIVE),
    **dict.fromkeys(("ROTATE_DEGREES", "SHIFT", "MIXUP", "CUTMIX", "MASKS", "GAIN_DB", "LEAST_PIECE"), _NOT_NEGATIVE),
    **dict.fromkeys(("DROPOUT", "WORD_DROPOUT", "EMA", "LABEL_SMOOTHING", "ZOOM"), _LESS_THAN_ALL),
    **dict.fromkeys(("MASK_SHARE", "DICE_SHARE", "COLOUR"), _SHARE),
    "CROP": Range(above=0, most=1),
    "DEVICES": Range(least=0, most=1),
}

NAMES = {"PRECISION": ("auto", "float32", "mixed_bfloat16", "mixed_float16")}


def names_of(name: str, default: Value) -> tuple[str, ...]:
    """Returns the names that a knob can be, of which its default is one; nothing where it can be any text."""
    known = NAMES.get(name, ())
    return known if default in known else ()


def range_of(name: str, default: Value) -> Range:
    """Returns what numbers a knob can be; a default is one of them, as 0.0 is of a LEARNING_RATE that is looked up."""
    known = RANGES.get(name, Range())
    if isinstance(default, int | float) and default not in known:
        return Range(least=default, most=known.most, below=known.below)
    return known
