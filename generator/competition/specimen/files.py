"""The files of a specimen: folders, TFRecord files with the same features, and a stand-in for an inference server."""

import io
import json
import math
import random
import re
import struct
import wave
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import product
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from generator.competition.facts import ServedAnswer, SubmissionKind, TargetKind
from generator.competition.introspection.evidence import TEST, TRAIN, is_below, split_words
from generator.competition.introspection.files import (
    WHITE,
    PixelLists,
    endings_behind,
    pixel_columns,
    pixel_lists,
    records_role,
)
from generator.competition.specimen.examples import (
    Examples,
    Original,
    Shape,
    SyntheticData,
    example_id_column,
    example_id_feature,
    mask_image,
    validation_examples,
)
from generator.competition.specimen.values import Cells, cells_like, even_quantiles, id_format
from generator.competition.specimen.writer import Writer
from generator.competition.survey import (
    IMAGE_SUFFIXES,
    SOUND_SUFFIXES,
    AudioFormat,
    Column,
    Folder,
    ImageFormat,
    RecordFeature,
    Records,
    Survey,
    Table,
    column_of,
    suffix_of,
)
from generator.competition.tables import Values, record_file, tf_example
from generator.text import printable

MEDIA_SUFFIXES = IMAGE_SUFFIXES | SOUND_SUFFIXES

if TYPE_CHECKING:
    import numpy
    from PIL import Image


# Pictures that look like nothing, whose brightness and pattern tell of the label.


_COARSE = 8
_GRID = 4
_DARK, _RANGE, _PIXEL_NOISE, _CONTRAST = 60.0, 90.0, 24.0, 50.0
_GREY_TO_16_BIT = 257


@dataclass(frozen=True)
class Appearance:
    """The things that a picture shows.

    Attributes:
        marks: The numbers of its classes.
        level: How bright it is, from 0 to 1.
        shapes: What stands on it.
        grain: By how many shades its pixels are disturbed.
    """

    marks: tuple[int, ...]
    level: float
    shapes: tuple[Shape, ...] = ()
    grain: float = 0.0


def picture_size(image: ImageFormat, most: int, source: random.Random) -> tuple[int, int]:
    """Width and height of one picture, around the usual size where that varies.

    Args:
        image: What the real ones are like.
        most: How many pixels it may have.
        source: How far it is from the usual size.
    """
    width, height = max(1, image.width), max(1, image.height)
    if not image.is_uniform:
        factor = source.choice((0.8, 1.0, 1.0, 1.25))
        width, height = max(1, round(width * factor)), max(1, round(height * factor))
    if width * height > most:
        factor = (most / width / height) ** 0.5
        width, height = max(1, int(width * factor)), max(1, int(height * factor))
    return min(width, most), min(height, most)


def picture(appearance: Appearance, size: tuple[int, int], mode: str, source: random.Random) -> "Image.Image":
    """Draws a picture of a size (width, height) in a mode of Pillow."""
    from PIL import Image

    grey = grey_values(appearance, size, source)
    if mode.startswith("I;16"):
        return Image.fromarray((grey * _GREY_TO_16_BIT).astype("uint16"))
    image = Image.fromarray(grey.round().astype("uint8"))
    if mode in ("RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "P", "PA"):
        # The classes have colours too: the share of red, green and blue is moved in turn.
        tint = [1.0 if mark % 3 == channel else 0.8 for mark in appearance.marks[:1] or (3,) for channel in range(3)]
        image = Image.merge("RGB", [image.point([round(shade * part) for shade in range(256)]) for part in tint])
    return in_mode(image, mode)


def in_mode(image: "Image.Image", mode: str) -> "Image.Image":
    """The image in a mode, or as it is where it cannot be converted."""
    try:
        return image.convert(mode)
    except ValueError:
        return image


def grey_values(appearance: Appearance, size: tuple[int, int], source: random.Random) -> "numpy.ndarray":
    """The shades from 0 to 255 of a grey picture of a size (width, height), float32 [height, width]."""
    import numpy
    from PIL import Image

    width, height = size
    noise = numpy.frombuffer(source.randbytes(_COARSE * _COARSE), dtype="uint8").reshape(_COARSE, _COARSE)
    ground = Image.fromarray(noise).resize(size, Image.Resampling.BILINEAR)
    grey = numpy.asarray(ground, dtype="float32") * numpy.float32(_PIXEL_NOISE / 255)
    grey += numpy.float32(_DARK + _RANGE * appearance.level - _PIXEL_NOISE / 2)
    for mark in appearance.marks:
        # Each class has a field of its own, filled or with stripes of its own.
        place, kind = mark % (_GRID * _GRID), mark // (_GRID * _GRID)
        down, across = place // _GRID, place % _GRID
        field = grey[
            height * down // _GRID : height * (down + 1) // _GRID,
            width * across // _GRID : width * (across + 1) // _GRID,
        ]
        rows = numpy.arange(field.shape[0], dtype="float32")[:, None] / height
        columns = numpy.arange(field.shape[1], dtype="float32")[None, :] / width
        field += _CONTRAST * (numpy.sin((columns + kind % 3 * rows) * (24 + 12 * (kind % 4))) if kind else 1)
    for shape in appearance.shapes:
        inside = shape.pixels(size)
        grey[inside] += _CONTRAST * shape.filling(size)[inside]
    if appearance.grain:
        grain = numpy.frombuffer(source.randbytes(width * height), dtype="uint8").reshape(height, width)
        grey += numpy.float32(appearance.grain) * (grain / numpy.float32(255) - numpy.float32(0.5))
    return grey.clip(0, 255, out=grey)


def encode_image(image: "Image.Image", suffix: str) -> bytes:
    """The bytes of an image file of this suffix; in a mode that the format has, if it does not have the image's.

    Raises:
        OSError: This Pillow cannot write such files.
    """
    from PIL import Image

    name = Image.registered_extensions().get(suffix, "PNG")
    for mode in (image.mode, "RGB", "L"):
        stream = io.BytesIO()
        with suppress(OSError, ValueError, KeyError):
            image.convert(mode).save(stream, name)
            return stream.getvalue()
    raise OSError(f"Pillow cannot write {name}")


# Sounds whose pitch and loudness tell of the label.


WRITABLE_SUFFIXES = frozenset((".wav", ".aif", ".aiff"))
_USUAL_LENGTH = 1.0  # seconds
_LOWEST_RATE, _HIGHEST_RATE = 1_000, 192_000
_MOST_CHANNELS = 8
_LOWEST_PITCH, _PITCHES = 200.0, 24
_LOUDEST, _SOUND_NOISE = 12_000, 800
_EXPONENT_OF_1 = 16_383
_MANTISSA_BITS = 63


def sound(audio: AudioFormat, suffix: str, marks: tuple[int, ...], level: float, source: random.Random) -> bytes:
    """The bytes of a sound file of 16 bits: AIFF where the suffix says so, else WAV whatever the suffix is.

    Args:
        audio: Its rate, channels and length; 1 second where no length is known.
        suffix: Of the file.
        marks: The numbers of its classes, each of which is a tone.
        level: How loud it is, from 0 to 1.
        source: For the noise.
    """
    import numpy

    rate = min(max(audio.sample_rate, _LOWEST_RATE), _HIGHEST_RATE)
    channels = min(max(audio.channels, 1), _MOST_CHANNELS)
    frames = max(1, round((audio.seconds or _USUAL_LENGTH) * rate))
    # A short piece again and again; it has all tones that tell of the classes.
    piece = _piece(min(frames, rate // 10), rate, marks, level, source)
    samples = numpy.repeat(numpy.resize(piece, frames), channels)
    if suffix in (".aif", ".aiff"):
        return _aiff(samples.astype(">i2").tobytes(), rate, channels)
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return stream.getvalue()


def _piece(frames: int, rate: int, marks: tuple[int, ...], level: float, source: random.Random) -> "numpy.ndarray":
    import numpy

    pitches = [_LOWEST_PITCH * 2 ** (mark % _PITCHES / 6) for mark in marks or (0,)]
    loud = _LOUDEST * (0.3 + 0.7 * level) / len(pitches)
    noise = numpy.frombuffer(source.randbytes(2 * frames), dtype="<i2").astype(int) * _SOUND_NOISE // 32_768
    at = numpy.arange(frames)
    tones = sum((numpy.sin(2 * math.pi * pitch * at / rate) for pitch in pitches), numpy.zeros(frames))
    piece: numpy.ndarray = (loud * tones).round().astype(int) + noise
    return piece


def _aiff(content: bytes, rate: int, channels: int) -> bytes:
    # The rate is an 80-bit number: 16 bits of exponent, 64 of mantissa, whose highest one is the 1 before the point.
    shift = rate.bit_length() - 1
    rate_bytes = struct.pack(">HQ", _EXPONENT_OF_1 + shift, rate << (_MANTISSA_BITS - shift))
    common = struct.pack(">hIh", channels, len(content) // (2 * channels), 16) + rate_bytes
    content = struct.pack(">II", 0, 0) + content
    chunks = b"COMM" + struct.pack(">I", len(common)) + common + b"SSND" + struct.pack(">I", len(content)) + content
    return b"FORM" + struct.pack(">I", 4 + len(chunks)) + b"AIFF" + chunks


# Pictures as a table has them: a pixel in each column, or all pixels of a channel in a cell.


_BETWEEN_POINTS = 100

Pictures = Callable[[int], Iterator[Sequence[float]]]


def pixel_cells(table: Table, pictures: Pictures) -> dict[str, Cells]:
    """The cells of the columns with pixels; none if a table has no such columns.

    Args:
        table: The original.
        pictures: Gives the shades from 0 to 255 of a square picture for each row, by the length of its side.
    """
    if names := pixel_columns(table):
        pixel_rows = [[str(round(shade)) for shade in picture] for picture in pictures(math.isqrt(len(names)))]
        return {name: [picture[at] for picture in pixel_rows] for at, name in enumerate(names)}
    lists = pixel_lists(table, None)
    if lists is None:
        return {}
    sample_cells = {column.name: column.present[0] for column in table.columns if column.name in lists.columns}
    all_pictures = list(pictures(lists.side))
    return {name: [_in_cell(picture, lists, cell) for picture in all_pictures] for name, cell in sample_cells.items()}


def _in_cell(picture: Sequence[float], lists: PixelLists, cell: str) -> str:
    """The pixels of a picture as the known cell has them: as a list, or between spaces; whole or not."""
    scale = (lists.high - lists.low) / WHITE
    # Some black and white points, so that the values have the range of the known ones.
    every = min(_BETWEEN_POINTS, len(picture) // 4)
    points = {at: WHITE * (at // every % 2) for at in range(0, len(picture), every)}
    numbers = [lists.low + points.get(at, shade) * scale for at, shade in enumerate(picture)]
    texts = [f"{number:.4f}" for number in numbers] if "." in cell else [str(round(number)) for number in numbers]
    return f"[{', '.join(texts)}]" if cell.startswith("[") else " ".join(texts)


# The content of one picture or sound, of an example or of nobody in particular.


_GRAIN = 60.0
_PIXELS, _LARGEST_PICTURE = 200_000_000, 2_000_000
_LARGEST_TARGET = 400_000  # each pixel of a picture that is predicted is a row of the sample submission
_SAMPLES, _LONGEST_SOUND = 40_000_000, 60.0  # of one side's sounds together, in 16 bits; of one sound, in seconds
_STRANGER_CLASSES = 4
_USUAL_PICTURE = ImageFormat("RGB", 256, 256, is_uniform=False)
_UNSEEN_PICTURE = ImageFormat("RGB", 64, 64, is_uniform=True)
_USUAL_SOUND = AudioFormat(sample_rate=16_000, seconds=5.0, channels=1)


def with_usual_formats(survey: Survey, note: Callable[[str], None]) -> Survey:
    """The survey with a usual format where the names alone say that files are pictures or sounds."""
    folders = []
    for folder in survey.folders:
        suffix = max(folder.suffixes, key=folder.suffixes.__getitem__, default="")
        medium = "pictures" if suffix in IMAGE_SUFFIXES else "sounds" if suffix in SOUND_SUFFIXES else ""
        if folder.images is not None or folder.audio is not None or not medium:
            folders.append(folder)
            continue
        note(f"Nothing is known of the {medium} in {printable(folder.path) or 'the folder'} but their names.")
        image, audio = (_USUAL_PICTURE, None) if medium == "pictures" else (None, _USUAL_SOUND)
        folders.append(replace(folder, images=image, audio=audio))
    return replace(survey, folders=tuple(folders))


@dataclass(frozen=True)
class MediaFiles:
    """Makes the files of a specimen.

    Attributes:
        original: What is copied.
        files: How many examples have files, who have to share what a small specimen can hold.
        note: Takes sentences on what is not like the original.
    """

    original: Original
    files: int
    note: Callable[[str], None]

    @property
    def most_pixels(self) -> int:
        """The number of pixels that a picture may have."""
        largest = _LARGEST_TARGET if self.original.task.target_kind is TargetKind.IMAGE else _LARGEST_PICTURE
        return min(largest, _PIXELS // max(1, self.files))

    def example_file(self, folder: Folder, suffix: str, side: Examples, example: int) -> bytes | None:
        """The file of an example in a folder; None if such files cannot be written."""
        is_mask = folder.path and folder.path == self.original.text("mask_folder")
        if is_mask and side.shapes and folder.images is not None:
            size = self.size_of(folder.images, side.role, example)
            return self._encode(in_mode(mask_image(side.shapes[example], size), folder.images.mode), suffix)
        # What is to be segmented is all that stands on a picture; without a signal not even that does.
        marks = () if side.shapes else side.shown_labels.marks[example]
        shapes = side.shapes[example] if side.shapes and self.original.signal else ()
        appearance = Appearance(marks, side.shown_labels.levels[example], shapes)
        return self._content(self._shorten_sounds(folder, len(side)), suffix, appearance, (side.role, example))

    def unrelated_file(self, folder: Folder, suffix: str, name: str) -> bytes | None:
        """A file that belongs to no example."""
        source = self.original.random("stranger", folder.path, name)
        appearance = Appearance((source.randrange(_STRANGER_CLASSES),), source.random())
        return self._content(self._shorten_sounds(folder, self.files), suffix, appearance, (folder.path, name))

    def size_of_example(self, side: Examples, example: int) -> tuple[int, int]:
        """Width and height of the picture of an example."""
        start = self.original.folder_of(side.role)
        inside = (folder.images for folder in self.original.survey.folders if is_below(folder.path, start))
        return self.size_of(next(filter(None, inside), _UNSEEN_PICTURE), side.role, example)

    def size_of(self, image: ImageFormat, *seed_key: object) -> tuple[int, int]:
        """Width and height of the picture of an example, the same in all folders of that size."""
        return picture_size(image, self.most_pixels, self.original.random("size", *seed_key))

    def image(
        self, image: ImageFormat, suffix: str, appearance: Appearance, seed_key: tuple[object, ...]
    ) -> bytes | None:
        """The bytes of a picture, None if this Pillow cannot write such files."""
        if image.width * image.height > self.most_pixels:
            sizes = f"{image.width:,} x {image.height:,} to {self.most_pixels / 1_000_000:.1f} million pixels"
            self.note(f"Pictures were made smaller, from {sizes}.")
        drawing = picture(
            appearance, self.size_of(image, *seed_key), image.mode, self.original.random("picture", *seed_key)
        )
        return self._encode(drawing, suffix)

    def _shorten_sounds(self, folder: Folder, files: int) -> Folder:
        """The folder with sounds that are short enough for so many of them."""
        audio = folder.audio
        if audio is None:
            return folder
        most = min(_LONGEST_SOUND, _SAMPLES / (max(1, audio.sample_rate) * max(1, audio.channels) * max(1, files)))
        if audio.seconds <= most:
            return folder
        self.note(f"Sounds were made shorter, from {audio.seconds:.1f} to {most:.1f} seconds.")
        return replace(folder, audio=replace(audio, seconds=most))

    def _content(
        self, folder: Folder, suffix: str, appearance: Appearance, seed_key: tuple[object, ...]
    ) -> bytes | None:
        if suffix in IMAGE_SUFFIXES and folder.images is not None:
            is_target = folder.path and folder.path == self.original.text("target_folder")
            is_disturbed = self.original.task.target_kind is TargetKind.IMAGE and not is_target
            return self.image(
                folder.images, suffix, replace(appearance, grain=_GRAIN) if is_disturbed else appearance, seed_key
            )
        if suffix in SOUND_SUFFIXES and folder.audio is not None:
            if suffix not in WRITABLE_SUFFIXES:
                self.note(
                    f"Files that end in {suffix} hold WAV sound, since {suffix[1:]} needs a library to be written."
                )
            return sound(
                folder.audio, suffix, appearance.marks, appearance.level, self.original.random("sound", *seed_key)
            )
        self.note(f"Files that end in {printable(suffix) or 'nothing'} beside pictures or sounds were left out.")
        return None

    def _encode(self, image: "Image.Image", suffix: str) -> bytes | None:
        try:
            return encode_image(image, suffix)
        except OSError:
            self.note(f"Pictures that end in {suffix} cannot be written by this Pillow and were left out.")
            return None


# The folders that the files of examples are scattered over, such as those of patients or classes.


_MOSTLY = 0.9
_ROWS_COMPARED, _NAMES_COMPARED = 500, 500
_FREQUENT_SHARE, _SOME_SHARE = 0.5, 0.02

# What follows a name in the name of its file, and whether the name loses its own suffix before that.
Ending = tuple[bool, str]


def endings_of(files: Sequence[str], names: Sequence[str]) -> tuple[Ending, ...]:
    """The ends of the sorted names of files behind those of examples; nothing if hardly any example has a file."""
    compared_names = names[:_NAMES_COMPARED]
    for is_stem in (False, True):
        starts = [name[: len(name) - len(suffix_of(name))] if is_stem else name for name in compared_names]
        counts = Counter(ending for start in starts for ending in endings_behind(start, files))
        most = max(counts.values(), default=0)
        if counts and most >= _SOME_SHARE * len(compared_names):
            return tuple(
                (is_stem, ending) for ending, count in sorted(counts.items()) if count >= _FREQUENT_SHARE * most
            )
    return ()


def with_folders(data: SyntheticData) -> SyntheticData:
    """The same examples, dealt to the folders below that of their side, where each of these has some of the files."""
    train, test = (_assign_folders(examples, data.original) for examples in (data.train, data.test))
    return replace(data, train=train, test=test)


def folder_cells(original: Original, table: Table, column: Column, examples: Examples) -> Cells | None:
    """The cells of a column that names the folders of the files, for each example; None for any other column."""
    key = example_id_column(original, table)
    if key is None or key is column or not examples.folders:
        return None
    names = {folder.path: folder.names for folder in original.survey.folders}
    names_by_example = {
        example: name
        for name, path in _by_name(examples.folders).items()
        for example in _named_in(names[path], key.present[:_ROWS_COMPARED])
    }
    pairs = [pair for pair in zip(key.values, column.values, strict=True) if pair[0] in names_by_example]
    fitting = sum(names_by_example[str(example)] == cell for example, cell in pairs)
    if not fitting or fitting < _MOSTLY * len(pairs):
        return None
    return [path.rpartition("/")[2] for path in examples.folder_of]


def _assign_folders(examples: Examples, original: Original) -> Examples:
    """Examples of a class go into the folder that is named for it, those of a group into one, others in turn."""
    folders = _find(examples, original)
    if len(folders) <= 1:
        return examples
    names = _by_name(folders)
    labels = examples.truth.cells.get(original.task.targets[0], []) if examples.role == "train" else []
    if labels and all(label in names for label in labels):
        example_folders = [names[str(label)] for label in labels]
    else:
        turns = examples.groups if len(examples.groups) == len(examples) else examples.ids or range(len(examples))
        example_folders = [folders[turn % len(folders)] for turn in turns]
    return replace(examples, folders=tuple(folders), folder_of=tuple(example_folders))


def _find(examples: Examples, original: Original) -> list[str]:
    base, folders = original.folder_of(examples.role), original.survey.folders
    inner = [folder for folder in folders if base and is_below(folder.path, base) and folder.images is not None]
    if original.task.target_kind in (TargetKind.MASK, TargetKind.IMAGE):
        # Folders of masks lie beside those of images.
        inner = [folder for folder in inner if endings_of(sorted(folder.names), examples.known_names)]
        example_names = [name for folder in inner for name in _named_in(folder.names, examples.known_names)]
        if len(set(example_names)) < len(example_names):
            return []
    return [] if any(folder.path == base for folder in inner) else [folder.path for folder in inner]


def _named_in(files: Sequence[str], names: Sequence[str]) -> set[str]:
    """The examples that have a file among some."""
    in_order = sorted(files)
    return {name for name in names if any(True for _ in endings_behind(name, in_order))}


def _by_name(folders: Sequence[str]) -> Mapping[str, str]:
    return {path.rpartition("/")[2]: path for path in folders}


# The folders of a specimen: a file for every example, and stand-ins for whatever else there is.


_FEWEST_OTHERS, _MOST_KEPT = 1, 12
_TEXT = b"A specimen does not have the text of this file.\n"
_STAND_INS = {".json": b"{}\n", ".txt": _TEXT, ".md": _TEXT, ".csv": b"", ".yaml": b"", ".py": b"", ".html": _TEXT}


# Files of some examples: whose, their endings, and the path of the folder that the names are relative to.
_Group = tuple[Examples, Sequence[int], tuple[Ending, ...], str]


@dataclass
class FolderMaker:
    """Writes the files that are neither tables nor records."""

    data: SyntheticData
    writer: Writer
    media: MediaFiles
    _nested_roles: set[str] = field(default_factory=set, init=False)

    def make(self) -> None:
        """Writes the files of all folders."""
        for folder in self.data.original.survey.folders:
            groups = list(self._groups(folder))
            for side, examples, endings, base in groups:
                for example, (is_stem, ending) in product(examples, endings):
                    name = side.names[example]
                    stem = name[: len(name) - len(suffix_of(name))] if is_stem else name
                    path = f"{base}/{stem}{ending}".lstrip("/")
                    self._write(folder, path, self.media.example_file(folder, suffix_of(path), side, example))
            if not groups:
                self._write_others(folder)

    def _groups(self, folder: Folder) -> Iterator[_Group]:
        """The examples that have files in a folder, and how these are named."""
        if folder.images is None and folder.audio is None:
            return
        train, original = self.data.train, self.data.original
        start = original.text("train_folder")
        inner = folder.path[len(start) :].strip("/").partition("/")[0] if is_below(folder.path, start) else ""
        if original.labels_from == "folders" and inner in train.truth.classes:
            of_class = [row for row, label in enumerate(train.truth.classes) if label == inner]
            yield train, of_class, ((False, ""),), folder.path
            return
        for side in self._sides(folder):
            base = original.folder_of(side.role)
            if any("/" in name for name in side.names) and is_below(folder.path, base):
                # The names have folders in them: one folder of the survey writes the files of all.
                examples = [] if side.role in self._nested_roles else side.firsts
                self._nested_roles.add(side.role)
                yield side, examples, ((False, original.file_suffix),), base
                continue
            endings = endings_of(sorted(folder.names), side.known_names)
            rows = side.firsts
            if folder.path in side.folders:
                rows = [row for row in rows if side.folder_of[row] == folder.path]
            if endings or folder.path in (base, *side.folders):
                yield side, rows, endings or (self._usual_ending(folder, side),), folder.path

    def _sides(self, folder: Folder) -> Sequence[Examples]:
        """Whose files a folder may have; ids of both sides can be the same small numbers."""
        sides = (self.data.train, self.data.test)
        bases = [(side, self.data.original.folder_of(side.role)) for side in sides]
        owners = [side for side, base in bases if base and is_below(folder.path, base)]
        if owners:
            return owners
        path_words = split_words(folder.path)
        if bool(path_words & TRAIN) is not bool(path_words & TEST):
            return sides[:1] if path_words & TRAIN else sides[1:]
        return sides

    def _usual_ending(self, folder: Folder, side: Examples) -> Ending:
        """Where none of the sampled examples is among the sampled files, names without a suffix get the usual one."""
        if all(suffix_of(name) in MEDIA_SUFFIXES for name in side.names):
            return False, ""
        return False, self.data.original.file_suffix or max(folder.suffixes, key=lambda suffix: folder.suffixes[suffix])

    def _write_others(self, folder: Folder) -> None:
        """Files that belong to no example: alike pictures and sounds, stand-ins for whatever else has a name."""
        prefix = f"{folder.path}/" if folder.path else ""
        if folder.images is None and folder.audio is None:
            for name in folder.names[:_MOST_KEPT]:
                stand_in = _STAND_INS.get(suffix_of(name))
                if stand_in is None:
                    self.writer.note(f"Files that end in {suffix_of(name) or 'nothing'} are empty in a specimen.")
                self._write(folder, prefix + name, stand_in or b"")
            return
        if not folder.names:
            return
        # There may be hundreds of such folders, but the specimen stays small.
        original = self.data.original
        share = min(original.rows // 3, 2 * original.rows // len(original.survey.folders))
        count = min(folder.files, max(_FEWEST_OTHERS, share))
        for name in id_format(folder.names).fresh(count, original.random("strangers", folder.path)):
            self._write(folder, prefix + name, self.media.unrelated_file(folder, suffix_of(name), name))

    def _write(self, folder: Folder, path: str, content: bytes | None) -> None:
        if content is not None:
            self.writer.write(path, content, is_archived=folder.is_archive)


def write_files(data: SyntheticData, writer: Writer, media: MediaFiles) -> None:
    """Write the files of the examples, in folders and in TFRecords."""
    FolderMaker(data, writer, media).make()
    RecordMaker(data, writer, media).make()


# The inference server of a specimen: a stand-in for the competition's own, which is somebody's code.


_PACKAGE = PurePosixPath("kaggle_evaluation")


def write_server(original: Original, writer: Writer) -> None:
    """Writes a module of the name of the competition's own, which hands out the made-up test rows."""
    task = original.task
    module = task.details.get("inference_server")
    if not module:
        return
    server, gateway = original.survey.server, {}
    if server is not None and server.gateway_name:
        gateway = {server.gateway_name: _gateway(original)}
    stand_in = files("generator.competition.specimen").joinpath("stand_in_server.py").read_bytes()
    content = {"__init__.py": b"", f"{module}.py": stand_in, f"{module}.json": _facts(original), **gateway}
    for name, file_bytes in content.items():
        writer.write(str(_PACKAGE / name), file_bytes)
    writer.note("The inference server is a stand-in: it asks the notebook as the competition's own would.")


def _gateway(original: Original) -> bytes:
    """The text of a gateway, with no more than the names that are read from it, since the stand-in does its work."""
    task = original.task
    paths = [f"/kaggle/input/a-specimen/{path.removeprefix('.')}" for path in original.texts("gateway_files")]
    constant_names = {ServedAnswer.TARGETS: "row_id_column_name", ServedAnswer.VALUE: "target_column_name"}
    lines = [
        f"FILES = {paths!r}",
        f"IDS = {task.id_column!r}",
        *(
            f"{name} = 'its own'"
            for answer, name in constant_names.items()
            if answer == task.details.get("served_answer")
        ),
    ]
    return ("\n".join(lines) + "\n").encode()


def _facts(original: Original) -> bytes:
    task, mask_rows = original.task, original.text("mask_rows")
    has_pixels = task.target_kind is TargetKind.IMAGE
    parts = list(task.targets) if task.submission is SubmissionKind.KEYED_ROWS and not has_pixels else []
    parts = list(original.texts("mask_classes")) if mask_rows == "id" else parts
    # The files that are handed out are those of training where only the real gateway has the test.
    test_folder = original.text("test_folder") or original.text("train_folder")
    columns = [name for name in original.sample.column_names if name != task.id_column] if original.sample else []
    facts = {
        "test_table": _table_facts(original.test),
        "sample": _table_facts(original.sample),
        "test_folder": "" if original.labels_from == "pixels" else test_folder,
        "file_column": original.file_column,
        "id_column": task.id_column,
        # Rows that are read together must not be torn apart.
        "batch_by": original.text("group_column") if original.text("prediction_per") == "row" else task.id_column,
        "parts_in_ids": parts,
        "has_pixels_in_ids": has_pixels,
        "has_parts": bool(parts) or has_pixels or mask_rows == "column",
        "any_rows": mask_rows == "piece",
        "columns": columns or list(task.targets),
        "answer": task.details.get("served_answer", ""),
        "submission_file": task.submission_file,
    }
    return (json.dumps(facts, indent=2) + "\n").encode()


def _table_facts(table: Table | None) -> dict[str, str] | None:
    """The way to read a table, None if there is none."""
    return {"path": table.path, "separator": table.separator, "encoding": table.encoding} if table else None


_MOST_FILES = 8
_MOST_VALUES = 100_000
_VALUES_WHERE_IT_VARIES = 3
_LARGEST_FLOAT = 3.4e38  # of 32 bits
_COUNT_IN_NAME = re.compile(r"(.*-)(\d+)(\.[a-z]+)")  # as in `00-224x224-798.tfrec`


@dataclass
class RecordMaker:
    """Writes the TFRecord files."""

    data: SyntheticData
    writer: Writer
    media: MediaFiles
    _validation: Examples | None = field(default=None, init=False)

    def make(self) -> None:
        """Writes the files of all groups."""
        for group in self.data.original.survey.records:
            side = self._side(group)
            cells = self._cells(group, side)
            files = max(1, min(len(group.names), _MOST_FILES, len(side)))
            for position, name in enumerate(group.names[:files]):
                rows = range(position, len(side), files)
                examples = (
                    {
                        feature.name: (feature.kind, self._values(feature, side, row, cells))
                        for feature in group.features
                    }
                    for row in rows
                )
                content = record_file(map(tf_example, examples))
                path = f"{group.path}/{_update_count(group, name, len(rows))}".lstrip("/")
                self.writer.write(path, content)

    def _side(self, group: Records) -> Examples:
        role = records_role(group)
        if role:
            return self.data.train if role == "train" else self.data.test
        # The same examples come in several sizes, in folders that are named alike but for the size.
        if self._validation is None:
            feature = example_id_feature(self.data.original, group.features)
            self._validation = validation_examples(self.data, feature.values if feature is not None else ())
        return self._validation

    def _cells(self, group: Records, side: Examples) -> Mapping[str, Sequence[str]]:
        """The values of the features that are one text or number for each example."""
        name_feature = example_id_feature(self.data.original, group.features)
        cells: dict[str, Sequence[str]] = {}
        for feature in group.features:
            if feature is name_feature:
                cells[feature.name] = side.names
            elif feature.name in side.truth.cells:
                cells[feature.name] = [cell or "0" for cell in side.truth.cells[feature.name]]
            elif feature.length == 1 and feature.values:
                source = self.data.original.random("feature", feature.name, side.role)
                # Missing values cannot occur: a feature without a value has another length.
                values = cells_like(column_of("", feature.values), even_quantiles(len(side), source), source)
                cells[feature.name] = [cell or "0" for cell in values]
        return cells

    def _values(self, feature: RecordFeature, side: Examples, row: int, cells: Mapping[str, Sequence[str]]) -> Values:
        cell = cells[feature.name][row] if feature.name in cells else None
        if feature.is_image and feature.image is not None:
            suffix = ".jpg" if feature.image.mode in ("RGB", "L") else ".png"
            appearance = Appearance(
                side.shown_labels.marks[row], side.shown_labels.levels[row], side.shapes[row] if side.shapes else ()
            )
            # A picture that is there in several sizes is the same picture.
            return [self.media.image(feature.image, suffix, appearance, (side.role, row)) or b""]
        source = self.data.original.random("values", feature.name, side.role, row)
        count = _VALUES_WHERE_IT_VARIES if feature.length is None else min(feature.length, _MOST_VALUES)
        texts = [cell] if cell is not None else [source.choice(feature.values or ("0",)) for _ in range(count)]
        if feature.kind == "bytes":
            if not feature.values and cell is None:
                self.writer.note(f'The bytes of the feature "{printable(feature.name)}" are made up.')
            return [text.encode("utf-8", "replace") for text in texts]
        return [_number(text, feature.kind, source) for text in texts]


def _number(text: str, kind: str, source: random.Random) -> float | int:
    try:
        if kind == "int64":
            return int(text)
        number = float(text) * source.uniform(0.9, 1.1)
    except ValueError:
        return 0
    return number if abs(number) < _LARGEST_FLOAT else 0.0


def _update_count(group: Records, name: str, count: int) -> str:
    """The name of a file with the number of examples that it has now, where names say it."""
    matches = [_COUNT_IN_NAME.fullmatch(file_name) for file_name in group.names]
    total = sum(int(match[2]) for match in matches if match is not None)
    match = _COUNT_IN_NAME.fullmatch(name)
    return f"{match[1]}{count}{match[3]}" if match is not None and total == group.examples else name
