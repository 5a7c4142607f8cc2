"""Images: size, channels, encoding, whether a mirrored image means the same, and images that are targets."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from generator.competition.facts import TargetKind, are_photographs
from generator.competition.introspection.candidate_folders import FolderMatch
from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.errors import NotPixelsError, listed
from generator.competition.introspection.example_files import ExampleFiles
from generator.competition.introspection.findings import Confidence, Findings
from generator.competition.introspection.pixels import PixelLists, pixel_columns
from generator.competition.introspection.target_columns import Targets
from generator.competition.introspection.vocabulary import words
from generator.competition.survey import images
from generator.competition.survey.facts import Folder, ImageEncoding, ImageFormat, Table

_GREY_MODES = frozenset(("1", "L", "LA", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"))
_CHANNEL = re.compile(r"[._-](?:red|green|blue|yellow|[rgby]|(?:c|ch|channel|band|w)\d+)\.\w+", re.IGNORECASE)
_PIXEL, _PIXEL_CHANNEL = re.compile(r"(.+)_\d+_\d+"), re.compile(r"(.+)_\d+_\d+_\d+")
_COLOURS, _RGB = "rgb", 3
_TINY, _VERY_TINY, _MULTIPLE, _LARGEST, _LARGEST_PHOTOGRAPH, _USUAL = 32, 12, 32, 224, 512, 224
# A TPU lays out the few channels of whole images without waste where 128 tiles are a core's batch.
_LARGEST_TILE = 64
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


def settle_images(seen: Observations, files: ExampleFiles, found: Findings) -> None:
    """Settles size and channels of the images, and what their targets ask for."""
    train, targets, lists = seen.tables.train, seen.targets, files.source.lists
    form = files.images
    if files.source.labels_from == "pixels" and train is not None:
        form = _pixel_format(train, lists)
    channels = 1 if form is not None and form.mode in _GREY_MODES else _RGB
    has_backbone = are_photographs(channels, _LARGEST, found.member("target_kind", TargetKind))
    largest = _LARGEST_PHOTOGRAPH if has_backbone else _LARGEST
    size = image_size(form.width, form.height, largest=largest) if form is not None else _USUAL
    if "target_folder" in found:  # images that become images are cut into tiles
        size = min(size, _LARGEST_TILE)
    shown = f"{form.width} x {form.height} pixels" if form is not None else "unknown"
    sure = Confidence.SURE if form is not None else Confidence.THIN
    mode = f'the images are of mode "{form.mode}"' if form is not None else "no image could be read"
    found.settle("image_size", size, f"the images are {shown}", sure)
    found.settle("channels", channels, mode, sure)
    _settle_flip(files, targets, form, found)
    if are_coordinates(targets.names):
        evidence = f"{targets.names[0]} and the others are coordinates, which would move with the image"
        found.settle("has_fixed_places", True, evidence, Confidence.LIKELY)
    if lists is not None:
        found.settle("pixel_lists", list(lists.columns), files.source.candidate.evidence)
        found.settle("pixel_low", lists.low, "as the sampled values are")
        found.settle("pixel_high", lists.high, "as the sampled values are")
    if targets.lookup is not None:
        evidence = f"{targets.lookup.path} says what each row of the submission asks for"
        found.settle("lookup_table", targets.lookup.path, evidence)
        found.settle("example_column", targets.lookup.example_column, "it names the test examples there")
        found.settle("part_column", targets.lookup.part_column, "it names the targets there")


def settle_encoding(files: ExampleFiles, target_images: FolderMatch | None, found: Findings) -> None:
    """Settles what has to decode the images, and those that they are to become; nothing where a table has the pixels.

    To how many channels the notebooks bring them has been settled before.
    """
    if files.source.labels_from == "pixels":
        return
    channels = 1 if "channel_suffixes" in found else int(str(found["channels"].value))
    folders = [files.source.train, files.test, target_images.folder if target_images is not None else None]
    seen = [
        _encodings(part)
        for folder in folders
        if folder is not None
        for part in folder.folders
        if part.images is not None
    ]
    if files.records:
        seen = [each.image.encodings if each.image is not None else frozenset() for each in files.records]
    no_test = files.test is not None and not any(part.images for part in files.test.folders)
    if no_test or not files.has_test:
        found.settle("image_encoding", _ANY, "no test image was seen")
    else:
        found.settle("image_encoding", *_encoding(seen, channels))


def _encoding(seen: Sequence[frozenset[ImageEncoding]], channels: int) -> tuple[str, str]:
    encodings = frozenset[ImageEncoding]().union(*seen)
    if not seen or frozenset() in seen or ImageEncoding.OTHER in encodings:
        return _ANY, "some of the sampled images are neither JPEG nor 8-bit PNG, or were not read"
    if len(encodings) == 1 and encodings <= _OF_EITHER_COLOUR:
        (encoding,) = encodings
        return str(encoding), f"all sampled images of training and test are {_CALLED[encoding]}"
    mix = listed(sorted(encodings))
    if encodings <= (_OF_TENSORFLOW if channels == _RGB else _OF_EITHER_COLOUR):
        return "tensorflow", f"the sampled images are {mix}, which TensorFlow decodes"
    return _ANY, f"the sampled images are {mix}, which TensorFlow does not make grey"


def _encodings(folder: Folder) -> frozenset[ImageEncoding]:
    """The encodings of a folder's images; OTHER among them where those of a rarer suffix were not seen."""
    form = folder.images
    found = form.encodings if form is not None else frozenset[ImageEncoding]()
    rarer = [suffix for suffix in list(folder.suffixes)[1:] if suffix in images.SUFFIXES]
    unseen = any(_OF_SUFFIX.get(suffix, ImageEncoding.OTHER) not in found for suffix in rarer)
    return found | {ImageEncoding.OTHER} if unseen else found


def settle_channels(files: ExampleFiles, found: Findings) -> None:
    """Settles of which grey files an image is made, such as `<id>_red.png` and `<id>_green.png`; nothing of others."""
    endings = _channel_endings(files)
    if len(endings) < _RGB:
        return
    by_colour = [next((end for end in endings if end[1:2].lower() == colour), "") for colour in _COLOURS]
    taken = by_colour if all(by_colour) else list(endings[:_RGB])
    left_out = [ending for ending in endings if ending not in taken]
    evidence = f"an image has {len(endings)} grey files, of which three become its red, green and blue"
    evidence += f", {listed(left_out)} is left out" if left_out else ""
    found.settle("channel_suffixes", taken, evidence)
    found.settle("channels", _RGB, evidence)


def settle_owners(files: ExampleFiles, train: Table | None, found: Findings) -> None:
    """Settles that ids have several images each, whose predictions are averaged; nothing where they do not."""
    owner = files.owner_column
    if not owner:
        return
    evidence = f"a {owner} has several images, and the submission a row for each {owner}"
    found.settle("has_several_images", True, evidence)
    if train is not None and train.column(owner) is not None:
        found.settle("group_column", owner, f"the images of a {owner} are alike")


def _channel_endings(files: ExampleFiles) -> tuple[str, ...]:
    """The ends of the names of an image's grey files, its channels; nothing where an image is one file."""
    match, form = files.source.match, files.images
    if match is None or form is None or form.mode not in _GREY_MODES or not _CHANNEL.fullmatch(match.suffix):
        return ()
    endings = (_CHANNEL.search(name) for name in match.folder.names)
    counts = Counter(ending[0] for ending in endings if ending is not None)
    return tuple(ending for ending in sorted(counts) if 2 * counts[ending] >= max(counts.values()))


def are_coordinates(names: Sequence[str]) -> bool:
    """True if columns are the coordinates of points in an image: `nose_x` and `nose_y`."""
    stems = [Counter(name.lower()[:-1] for name in names if name.lower().endswith(axis)) for axis in "xy"]
    return len(names) > 1 and stems[0] == stems[1] and stems[0].total() * 2 == len(names)


def image_size(width: int, height: int, *, largest: int = _LARGEST) -> int:
    """The side of the square that images are brought to: as it is if tiny, else a multiple of 32 up to the largest."""
    side = min(width, height)
    if side < _VERY_TINY:
        return 2 * side
    if side < _TINY:
        return side
    return max(_TINY, min(largest, round(side / _MULTIPLE) * _MULTIPLE))


def tiles_of_an_image(files: ExampleFiles, found: Findings) -> int:
    """How many tiles the notebooks cut an image into that is to become another; they overlap by an eighth."""
    form = files.images
    if form is None or "target_folder" not in found:
        return 1
    size = int(str(found["image_size"].value))
    overlap = size // 8
    return math.prod(-(-max(side - overlap, 1) // (size - overlap)) for side in (form.width, form.height))


def _pixel_format(train: Table, lists: PixelLists | None) -> ImageFormat:
    if lists is None:
        side = math.isqrt(len(pixel_columns(train)))
        return ImageFormat(mode="L", width=side, height=side, is_uniform=True)
    # The notebooks make a third channel of two, their mean.
    mode = "L" if len(lists.columns) == 1 else "RGB"
    return ImageFormat(mode=mode, width=lists.side, height=lists.side, is_uniform=True)


def _settle_flip(files: ExampleFiles, targets: Targets, form: ImageFormat | None, found: Findings) -> None:
    if are_coordinates(targets.names):
        found.settle("flip", False, "the targets are places in the image")
        return
    classes = files.source.classes or (sorted(targets.columns[0].distinct) if len(targets.columns) == 1 else ())
    is_said = bool(words(found.hints.slug) & _CHARACTER_WORDS)
    is_scan = form is not None and (form.mode in _GREY_MODES or max(form.width, form.height) <= _SMALL_SCAN)
    are_digits = set(classes) >= _DIGITS and len(classes) == len(_DIGITS) and is_scan
    letters = [name for name in classes if len(name) == 1 and name.isalpha()]
    are_letters = len(letters) >= _FEWEST_LETTERS and len(letters) > len(classes) / 2
    if is_said or are_digits or are_letters:
        found.settle("flip", False, "a mirrored digit or letter is another one or none")
    else:
        found.settle("flip", True, "a mirrored image means the same", Confidence.LIKELY)


def settle_target_images(seen: Observations, found: Findings) -> None:
    """Settles where the images are that the training images are to become.

    Raises:
        NotPixelsError: The submission has something else than the pixels of grey images.
    """
    _check_that_pixels_are_asked_for(seen)
    folder = seen.target_images.folder.path if seen.target_images is not None else ""
    found.settle("target_folder", folder, "it has an image for each training image")


def _check_that_pixels_are_asked_for(seen: Observations) -> None:
    sample, files = seen.tables.sample, seen.files
    columns = sample.columns if sample is not None else ()
    ids = next((column for column in columns if column.name not in seen.targets.asked), None)
    if sample is None or ids is None or not ids.present:
        raise NotPixelsError(sample="", example="", problem="there is no sample submission with ids of pixels")
    strange = next((value for value in ids.present if not _PIXEL.fullmatch(value)), None)
    if strange is not None:
        raise NotPixelsError(sample=sample.path, example=strange, problem="a row is something else")
    test = files.test if files is not None else None
    stems = {name.rpartition(".")[0] for name in test.names} if test is not None else set()
    channel = _PIXEL_CHANNEL.fullmatch(ids.present[0])
    pixel = _PIXEL.fullmatch(ids.present[0])
    if channel is not None and channel[1] in stems and (pixel is None or pixel[1] not in stems):
        raise NotPixelsError(
            sample=sample.path, example=ids.present[0], problem="a row is one channel of a pixel in colour"
        )
