"""The content of one picture or sound, of an example or of nobody in particular."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from generator.competition.facts import TargetKind
from generator.competition.introspection.vocabulary import is_below
from generator.competition.specimen.examples import Examples
from generator.competition.specimen.images import Appearance, encoded, in_mode, picture, size_of
from generator.competition.specimen.masks import mask_image
from generator.competition.specimen.original import Original
from generator.competition.specimen.sounds import WRITTEN, sound
from generator.competition.survey import images as image_files
from generator.competition.survey import sound as sound_files
from generator.competition.survey.facts import AudioFormat, Folder, ImageFormat, Survey
from generator.untrusted import printable

if TYPE_CHECKING:
    from PIL import Image

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
        what = "pictures" if suffix in image_files.SUFFIXES else "sounds" if suffix in sound_files.SUFFIXES else ""
        if folder.images is not None or folder.audio is not None or not what:
            folders.append(folder)
            continue
        note(f"Nothing is known of the {what} in {printable(folder.path) or 'the folder'} but their names.")
        image, audio = (_USUAL_PICTURE, None) if what == "pictures" else (None, _USUAL_SOUND)
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
            return self._encoded(in_mode(mask_image(side.shapes[example], size), folder.images.mode), suffix)
        # What is to be segmented is all that stands on a picture; without a signal not even that does.
        marks = () if side.shapes else side.seen.marks[example]
        shapes = side.shapes[example] if side.shapes and self.original.signal else ()
        seen = Appearance(marks, side.seen.levels[example], shapes)
        return self._content(self._shortened(folder, len(side)), suffix, seen, (side.role, example))

    def unrelated_file(self, folder: Folder, suffix: str, name: str) -> bytes | None:
        """A file that belongs to no example."""
        source = self.original.random("stranger", folder.path, name)
        seen = Appearance((source.randrange(_STRANGER_CLASSES),), source.random())
        return self._content(self._shortened(folder, self.files), suffix, seen, (folder.path, name))

    def size_of_example(self, side: Examples, example: int) -> tuple[int, int]:
        """Width and height of the picture of an example."""
        start = self.original.folder_of(side.role)
        inside = (folder.images for folder in self.original.survey.folders if is_below(folder.path, start))
        return self.size_of(next(filter(None, inside), _UNSEEN_PICTURE), side.role, example)

    def size_of(self, image: ImageFormat, *who: object) -> tuple[int, int]:
        """Width and height of the picture of an example, the same in all folders of that size."""
        return size_of(image, self.most_pixels, self.original.random("size", *who))

    def image(self, image: ImageFormat, suffix: str, seen: Appearance, who: tuple[object, ...]) -> bytes | None:
        """The bytes of a picture, None if this Pillow cannot write such files."""
        if image.width * image.height > self.most_pixels:
            sizes = f"{image.width:,} x {image.height:,} to {self.most_pixels / 1_000_000:.1f} million pixels"
            self.note(f"Pictures were made smaller, from {sizes}.")
        drawn = picture(seen, self.size_of(image, *who), image.mode, self.original.random("picture", *who))
        return self._encoded(drawn, suffix)

    def _shortened(self, folder: Folder, files: int) -> Folder:
        """The folder with sounds that are short enough for so many of them."""
        audio = folder.audio
        if audio is None:
            return folder
        most = min(_LONGEST_SOUND, _SAMPLES / (max(1, audio.sample_rate) * max(1, audio.channels) * max(1, files)))
        if audio.seconds <= most:
            return folder
        self.note(f"Sounds were made shorter, from {audio.seconds:.1f} to {most:.1f} seconds.")
        return replace(folder, audio=replace(audio, seconds=most))

    def _content(self, folder: Folder, suffix: str, seen: Appearance, who: tuple[object, ...]) -> bytes | None:
        if suffix in image_files.SUFFIXES and folder.images is not None:
            is_target = folder.path and folder.path == self.original.text("target_folder")
            is_disturbed = self.original.task.target_kind is TargetKind.IMAGE and not is_target
            return self.image(folder.images, suffix, replace(seen, grain=_GRAIN) if is_disturbed else seen, who)
        if suffix in sound_files.SUFFIXES and folder.audio is not None:
            if suffix not in WRITTEN:
                self.note(
                    f"Files that end in {suffix} hold WAV sound, since {suffix[1:]} needs a library to be written."
                )
            return sound(folder.audio, suffix, seen.marks, seen.level, self.original.random("sound", *who))
        self.note(f"Files that end in {printable(suffix) or 'nothing'} beside pictures or sounds were left out.")
        return None

    def _encoded(self, drawn: "Image.Image", suffix: str) -> bytes | None:
        try:
            return encoded(drawn, suffix)
        except OSError:
            self.note(f"Pictures that end in {suffix} cannot be written by this Pillow and were left out.")
            return None
