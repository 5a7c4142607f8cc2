"""What the model of an image needs to know: size, channels, whether a mirrored image means the same."""

import math
from collections.abc import Sequence

from generator.competition.introspection.companions import Companions
from generator.competition.introspection.facts import Confidence, Finding, Hints
from generator.competition.introspection.pixels import pixel_columns
from generator.competition.introspection.source import Source
from generator.competition.introspection.targets import Targets
from generator.competition.introspection.weighing import settled
from generator.competition.introspection.words import words
from generator.competition.survey.facts import ImageFormat, Table

_GREY_MODES = frozenset(("1", "L", "LA", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"))
_TINY, _VERY_TINY, _MULTIPLE, _LARGEST, _USUAL = 32, 12, 32, 224, 224
_SMALL_SCAN = 64
_CHARACTER_WORDS = frozenset(
    ("digit", "digits", "mnist", "letter", "letters", "character", "characters", "handwritten")
)
_CHARACTER_WORDS |= {"handwriting", "kanji", "hiragana", "emnist", "kmnist", "ocr"}
_DIGITS = frozenset("0123456789")
_FEWEST_LETTERS = 5


def image_details(source: Source, train: Table | None, targets: Targets, hints: Hints) -> tuple[Finding, ...]:
    """The findings on the images."""
    form = _pixel_format(train) if source.labels_from == "pixels" and train is not None else source.images
    size, channels = _size(form), 1 if form is not None and form.mode in _GREY_MODES else 3
    shown = f"{form.width} x {form.height} pixels" if form is not None else "unknown"
    sure = Confidence.SURE if form is not None else Confidence.THIN
    mode = f'the images are of mode "{form.mode}"' if form is not None else "no image could be read"
    return (
        settled("image_size", size, f"the images are {shown}", hints, confidence=sure),
        settled("channels", channels, mode, hints, confidence=sure),
        _flip(source, targets, form, hints),
    )


def companion_details(family: str, companions: Companions, targets: Targets, hints: Hints) -> tuple[Finding, ...]:
    """The findings on masks, or on the images that are the target."""
    if family == "image_to_image":
        place = companions.image.place.path if companions.image is not None else ""
        return (settled("target_folder", place, "it has an image for each training image", hints),)
    mask = companions.mask
    column = targets.columns[0].name if targets.columns else ""
    return (
        settled("mask_folder", mask.place.path if mask else "", _masks(companions), hints),
        settled("mask_suffix", mask.suffix if mask else "", _masks(companions), hints),
        settled("mask_column", column, "its cells are run-length codes" if column else "no column has codes", hints),
    )


def image_size(width: int, height: int) -> int:
    """The side of the square that images are brought to: as it is if tiny, else a multiple of 32 up to 224."""
    side = min(width, height)
    if side < _VERY_TINY:
        return 2 * side
    if side < _TINY:
        return side
    return max(_TINY, min(_LARGEST, round(side / _MULTIPLE) * _MULTIPLE))


def _size(form: ImageFormat | None) -> int:
    return image_size(form.width, form.height) if form is not None else _USUAL


def _pixel_format(train: Table) -> ImageFormat:
    side = math.isqrt(len(pixel_columns(train)))
    return ImageFormat(mode="L", width=side, height=side, is_uniform=True)


def _masks(companions: Companions) -> str:
    mask = companions.mask
    return (
        f'a mask is named "<id>{mask.suffix}" in {mask.place.path}' if mask is not None else "there are no mask files"
    )


def _flip(source: Source, targets: Targets, form: ImageFormat | None, hints: Hints) -> Finding:
    classes = _classes(source, targets)
    is_said = bool(words(hints.slug) & _CHARACTER_WORDS)
    is_scan = form is not None and (form.mode in _GREY_MODES or max(form.width, form.height) <= _SMALL_SCAN)
    are_digits = set(classes) >= _DIGITS and len(classes) == len(_DIGITS) and is_scan
    letters = [name for name in classes if len(name) == 1 and name.isalpha()]
    are_letters = len(letters) >= _FEWEST_LETTERS and len(letters) > len(classes) / 2
    if is_said or are_digits or are_letters:
        return settled("flip", False, "a mirrored digit or letter is another one or none", hints)
    return settled("flip", True, "a mirrored image means the same", hints, confidence=Confidence.LIKELY)


def _classes(source: Source, targets: Targets) -> Sequence[str]:
    if source.labelling.classes:
        return source.labelling.classes
    return sorted(targets.columns[0].distinct) if len(targets.columns) == 1 else []
