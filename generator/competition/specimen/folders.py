"""The folders of a specimen: a file for every example, and stand-ins for whatever else there is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from generator.competition.introspection.vocabulary import TEST, TRAIN, words
from generator.competition.specimen.cast import Cast
from generator.competition.specimen.chance import chance
from generator.competition.specimen.endings import Ending, endings_of
from generator.competition.specimen.facts import Original, Side, Wishes
from generator.competition.specimen.ids import format_of
from generator.competition.specimen.known import is_below
from generator.competition.specimen.media import Media
from generator.competition.specimen.scattering import Scattering
from generator.competition.specimen.writing import Writer
from generator.competition.survey import images as image_files
from generator.competition.survey import sound as sound_files
from generator.competition.survey.facts import Folder, ImageFormat
from generator.competition.survey.listing import suffix_of

_FEWEST_OTHERS, _MOST_KEPT = 1, 12
_TEXT = b"A specimen does not have the text of this file.\n"
_STAND_INS = {".json": b"{}\n", ".txt": _TEXT, ".md": _TEXT, ".csv": b"", ".yaml": b"", ".py": b"", ".html": _TEXT}


@dataclass(frozen=True)
class _Group:
    """Files of some examples: their endings, and the path of the folder that the names are relative to."""

    side: Side
    examples: Sequence[int]
    endings: tuple[Ending, ...]
    base: str


@dataclass
class FolderMaker:
    """Writes the files that are neither tables nor records."""

    original: Original
    cast: Cast
    wishes: Wishes
    writer: Writer
    media: Media
    scattering: Scattering
    _nested: set[str] = field(default_factory=set, init=False)

    def make(self) -> None:
        """Writes the files of all folders."""
        for folder in self.original.survey.folders:
            groups = list(self._groups(folder))
            for group in groups:
                self._write_group(folder, group)
            if not groups:
                self._write_others(folder)

    def size_of(self, side: Side, example: int) -> tuple[int, int]:
        """Width and height of the picture of an example."""
        inside = (
            folder
            for folder in self.original.survey.folders
            if is_below(folder.path, self.original.folder_of(side.role))
        )
        known = next((folder.images for folder in inside if folder.images), None)
        return self.media.size_of(known or ImageFormat("RGB", 64, 64, is_uniform=True), side.role, example)

    def _groups(self, folder: Folder) -> Iterator[_Group]:
        """Which examples have files in a folder, and how these are named."""
        if folder.images is None and folder.audio is None:
            return
        train = self.cast.train
        start = self.original.text("train_folder")
        inner = folder.path[len(start) :].strip("/").partition("/")[0] if is_below(folder.path, start) else ""
        if self.original.labels_from == "folders" and inner in train.truth.classes:
            of_class = [row for row, label in enumerate(train.truth.classes) if label == inner]
            yield _Group(train, of_class, ((False, ""),), folder.path)
            return
        for side in self._sides(folder):
            base = self.original.folder_of(side.role)
            if any("/" in name for name in side.names) and is_below(folder.path, base):
                # The names have folders in them: one folder of the survey writes the files of all.
                examples = range(0 if side.role in self._nested else len(side))
                self._nested.add(side.role)
                yield _Group(side, examples, ((False, self.original.file_suffix),), base)
                continue
            endings = endings_of(sorted(folder.names), side.known)
            if folder.path in self.scattering.folders(side):
                dealt = [row for row, path in enumerate(self.scattering.places(side)) if path == folder.path]
                yield _Group(side, dealt, endings or (self._usual_ending(folder, side),), folder.path)
                continue
            if endings or folder.path == base:
                yield _Group(side, range(len(side)), endings or (self._usual_ending(folder, side),), folder.path)

    def _sides(self, folder: Folder) -> Sequence[Side]:
        """Whose files a folder may have; ids of both sides can be the same small numbers."""
        sides = (self.cast.train, self.cast.test)
        bases = [(side, self.original.folder_of(side.role)) for side in sides]
        owners = [side for side, base in bases if base and is_below(folder.path, base)]
        if owners:
            return owners
        said = words(folder.path)
        if bool(said & TRAIN) is not bool(said & TEST):
            return sides[:1] if said & TRAIN else sides[1:]
        return sides

    def _usual_ending(self, folder: Folder, side: Side) -> Ending:
        """Where none of the sampled examples is among the sampled files, names without a suffix get the usual one."""
        known = image_files.SUFFIXES | sound_files.SUFFIXES
        if all(suffix_of(name) in known for name in side.names):
            return False, ""
        return False, self.original.file_suffix or max(folder.suffixes, key=lambda suffix: folder.suffixes[suffix])

    def _write_group(self, folder: Folder, group: _Group) -> None:
        for example in group.examples:
            name = group.side.names[example]
            for is_stem, ending in group.endings:
                stem = name.removesuffix(name[len(name) - len(suffix_of(name)) :]) if is_stem else name
                path = f"{group.base}/{stem}{ending}".lstrip("/")
                content = self.media.of_example(folder, suffix_of(path), group.side, example)
                self._write(folder, path, content)

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
        share = min(self.wishes.rows // 3, 2 * self.wishes.rows // len(self.original.survey.folders))
        count = min(folder.files, max(_FEWEST_OTHERS, share))
        for name in format_of(folder.names).fresh(count, chance(self.wishes.seed, "strangers", folder.path)):
            self._write(folder, prefix + name, self.media.of_nobody(folder, suffix_of(name), name))

    def _write(self, folder: Folder, path: str, content: bytes | None) -> None:
        if content is not None:
            self.writer.write(path, content, is_archived=folder.is_archive)
