"""What the model of an image needs to know: size, channels, whether a mirrored image means the same."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from generator.competition.introspection.errors import listed
from generator.competition.introspection.facts import Confidence, Finding, Hints
from generator.competition.introspection.pixels import PixelLists, pixel_columns
from generator.competition.introspection.places import Place
from generator.competition.introspection.source import Source, image_of
from generator.competition.introspection.targets import Targets
from generator.competition.introspection.weighing import settled
from generator.competition.introspection.words import words
from generator.competition.survey import images
from generator.competition.survey.facts import Folder, ImageEncoding, ImageFormat, Table

_GREY_MODES = frozenset(("1", "L", "LA", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"))
_CHANNEL = re.compile(r"[._-](?:red|green|blue|yellow|[rgby]|(?:c|ch|channel|band|w)\d+)\.\w+", re.IGNORECASE)
_COLOURS, _RGB = "rgb", 3
_TINY, _VERY_TINY, _MULTIPLE, _LARGEST, _USUAL = 32, 12, 32, 224, 224
_SMALL_SCAN = 64
_CHARACTER_WORDS = frozenset(
    ("digit", "digits", "mnist", "letter", "letters", "character", "characters", "handwritten")
)
_CHARACTER_WORDS |= {"handwriting", "kanji", "hiragana", "emnist", "kmnist", "ocr"}
_DIGITS = frozenset("0123456789")
_FEWEST_LETTERS = 5
_ANY = "any"
_OF_SUFFIX = {".png": ImageEncoding.PNG, ".gif": ImageEncoding.GIF, ".bmp": ImageEncoding.BMP}
_OF_SUFFIX |= dict.fromkeys((".jpg", ".jpeg", ".jfif"), ImageEncoding.JPEG)
_CALLED = {ImageEncoding.JPEG: "JPEG", ImageEncoding.PNG: "8-bit PNG"}
_OF_EITHER_COLOUR = frozenset(_CALLED)
_OF_TENSORFLOW = _OF_EITHER_COLOUR | {ImageEncoding.GIF, ImageEncoding.BMP}  # which it does not make grey


def image_details(source: Source, train: Table | None, targets: Targets, hints: Hints) -> tuple[Finding, ...]:
    """The findings on the images."""
    lists = source.labelling.lists
    form = source.images
    if source.labels_from == "pixels" and train is not None:
        form = _list_format(lists) if lists is not None else _pixel_format(train)
    size, channels = _size(form), 1 if form is not None and form.mode in _GREY_MODES else 3
    shown = f"{form.width} x {form.height} pixels" if form is not None else "unknown"
    sure = Confidence.SURE if form is not None else Confidence.THIN
    mode = f'the images are of mode "{form.mode}"' if form is not None else "no image could be read"
    return (
        settled("image_size", size, f"the images are {shown}", hints, confidence=sure),
        settled("channels", channels, mode, hints, confidence=sure),
        _flip(source, targets, form, hints),
        *_places(targets, hints),
        *(_list_details(lists, source.labelling.evidence, hints) if lists is not None else ()),
        *_lookup_details(targets, hints),
    )


def encoding_details(source: Source, channels: int, hints: Hints, *further: Place) -> tuple[Finding, ...]:
    """The finding on what has to decode the images; none where a table has their pixels.

    Args:
        source: The training and the test images.
        channels: To how many the notebooks bring them.
        hints: With the user's decisions.
        further: More folders whose images are read like those.
    """
    if source.labels_from == "pixels":
        return ()
    value, evidence = _encoding(source, channels, further)
    return (settled("image_encoding", value, evidence, hints),)


def _encoding(source: Source, channels: int, further: Sequence[Place]) -> tuple[str, str]:
    if not source.has_test or (source.test is not None and not any(found.images for found in source.test.folders)):
        return _ANY, "no test image was seen"
    places = [place for place in (source.labelling.train, source.test, *further) if place is not None]
    folders = [folder for place in places for folder in place.folders]
    seen = [_encodings(folder) for folder in folders if folder.images is not None]
    if source.records:
        seen = [form.encodings if form is not None else frozenset() for form in map(image_of, source.records)]
    found = frozenset[ImageEncoding]().union(*seen)
    if not seen or frozenset() in seen or ImageEncoding.OTHER in found:
        return _ANY, "some of the sampled images are neither JPEG nor 8-bit PNG, or were not read"
    if len(found) == 1 and found <= _OF_EITHER_COLOUR:
        (encoding,) = found
        return str(encoding), f"all sampled images of training and test are {_CALLED[encoding]}"
    mix = listed(sorted(found))
    if found <= (_OF_TENSORFLOW if channels == _RGB else _OF_EITHER_COLOUR):
        return "tensorflow", f"the sampled images are {mix}, which TensorFlow decodes"
    return _ANY, f"the sampled images are {mix}, which TensorFlow does not make grey"


def _encodings(folder: Folder) -> frozenset[ImageEncoding]:
    """How the images of a folder are written; OTHER among them where those of a rarer suffix were not seen."""
    form = folder.images
    found = form.encodings if form is not None else frozenset[ImageEncoding]()
    rarer = [suffix for suffix in list(folder.suffixes)[1:] if suffix in images.SUFFIXES]
    unseen = any(_OF_SUFFIX.get(suffix, ImageEncoding.OTHER) not in found for suffix in rarer)
    return found | {ImageEncoding.OTHER} if unseen else found


def channel_details(source: Source, hints: Hints) -> tuple[Finding, ...]:
    """The findings on images of which each is several grey files, such as `<id>_red.png` and `<id>_green.png`."""
    endings = _channel_endings(source)
    if len(endings) < _RGB:
        return ()
    by_colour = [next((end for end in endings if end[1:2].lower() == colour), "") for colour in _COLOURS]
    taken = by_colour if all(by_colour) else list(endings[:_RGB])
    left_out = [ending for ending in endings if ending not in taken]
    evidence = f"an image has {len(endings)} grey files, of which three become its red, green and blue"
    evidence += f", {listed(left_out)} is left out" if left_out else ""
    return (settled("channel_suffixes", taken, evidence, hints), settled("channels", _RGB, evidence, hints))


def owner_details(source: Source, train: Table | None, hints: Hints) -> tuple[Finding, ...]:
    """The findings on ids that have several images each, whose predictions are averaged."""
    owner = source.owner_column
    if not owner:
        return ()
    evidence = f"a {owner} has several images, and the submission a row for each {owner}"
    has_owner = train is not None and train.column(owner) is not None
    group = settled("group_column", owner, f"the images of a {owner} are alike", hints)
    return (settled("has_several_images", True, evidence, hints), *((group,) if has_owner else ()))


def _channel_endings(source: Source) -> tuple[str, ...]:
    """How the names of an image's grey files end, those of its channels; nothing where an image is one file."""
    match, form = source.labelling.match, source.images
    if match is None or form is None or form.mode not in _GREY_MODES or not _CHANNEL.fullmatch(match.suffix):
        return ()
    found = (_CHANNEL.search(name) for name in match.place.names)
    counts = Counter(ending[0] for ending in found if ending is not None)
    return tuple(ending for ending in sorted(counts) if 2 * counts[ending] >= max(counts.values()))


def are_places(names: Sequence[str]) -> bool:
    """Whether columns are the coordinates of points in an image: `nose_x` and `nose_y`."""
    stems = [Counter(name.lower()[:-1] for name in names if name.lower().endswith(axis)) for axis in "xy"]
    return len(names) > 1 and stems[0] == stems[1] and stems[0].total() * 2 == len(names)


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


def _list_format(lists: PixelLists) -> ImageFormat:
    # The notebooks make a third channel of two, their mean.
    mode = "L" if len(lists.columns) == 1 else "RGB"
    return ImageFormat(mode=mode, width=lists.side, height=lists.side, is_uniform=True)


def _list_details(lists: PixelLists, evidence: str, hints: Hints) -> tuple[Finding, ...]:
    values = "as the sampled values are"
    return (
        settled("pixel_lists", list(lists.columns), evidence, hints),
        settled("pixel_low", lists.low, values, hints),
        settled("pixel_high", lists.high, values, hints),
    )


def _places(targets: Targets, hints: Hints) -> tuple[Finding, ...]:
    if not are_places(targets.names):
        return ()
    evidence = f"{targets.names[0]} and the others are coordinates, which would move with the image"
    return (settled("has_fixed_places", True, evidence, hints, confidence=Confidence.LIKELY),)


def _lookup_details(targets: Targets, hints: Hints) -> tuple[Finding, ...]:
    lookup = targets.lookup
    if lookup is None:
        return ()
    evidence = f"{lookup.path} says what each row of the submission asks for"
    return (
        settled("lookup_table", lookup.path, evidence, hints),
        settled("example_column", lookup.example_column, "it names the test examples there", hints),
        settled("part_column", lookup.part_column, "it names the targets there", hints),
    )


def _flip(source: Source, targets: Targets, form: ImageFormat | None, hints: Hints) -> Finding:
    if are_places(targets.names):
        return settled("flip", False, "the targets are places in the image", hints)
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
