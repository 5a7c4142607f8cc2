"""The folders of a specimen: a file for every example, and stand-ins for whatever else there is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from generator.competition.introspection.vocabulary import TEST, TRAIN, is_below, words
from generator.competition.specimen.example_folders import Ending, endings_of
from generator.competition.specimen.examples import Examples, SyntheticData
from generator.competition.specimen.id_format import format_of
from generator.competition.specimen.media_files import MediaFiles
from generator.competition.specimen.writing import Writer
from generator.competition.survey import images as image_files
from generator.competition.survey import sound as sound_files
from generator.competition.survey.facts import Folder
from generator.competition.survey.listing import suffix_of

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
    _nested: set[str] = field(default_factory=set, init=False)

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
                examples = [] if side.role in self._nested else side.firsts
                self._nested.add(side.role)
                yield side, examples, ((False, original.file_suffix),), base
                continue
            endings = endings_of(sorted(folder.names), side.known)
            here = side.firsts
            if folder.path in side.folders:
                here = [row for row in here if side.folder_of[row] == folder.path]
            if endings or folder.path in (base, *side.folders):
                yield side, here, endings or (self._usual_ending(folder, side),), folder.path

    def _sides(self, folder: Folder) -> Sequence[Examples]:
        """Whose files a folder may have; ids of both sides can be the same small numbers."""
        sides = (self.data.train, self.data.test)
        bases = [(side, self.data.original.folder_of(side.role)) for side in sides]
        owners = [side for side, base in bases if base and is_below(folder.path, base)]
        if owners:
            return owners
        said = words(folder.path)
        if bool(said & TRAIN) is not bool(said & TEST):
            return sides[:1] if said & TRAIN else sides[1:]
        return sides

    def _usual_ending(self, folder: Folder, side: Examples) -> Ending:
        """Where none of the sampled examples is among the sampled files, names without a suffix get the usual one."""
        known = image_files.SUFFIXES | sound_files.SUFFIXES
        if all(suffix_of(name) in known for name in side.names):
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
        for name in format_of(folder.names).fresh(count, original.random("strangers", folder.path)):
            self._write(folder, prefix + name, self.media.unrelated_file(folder, suffix_of(name), name))

    def _write(self, folder: Folder, path: str, content: bytes | None) -> None:
        if content is not None:
            self.writer.write(path, content, is_archived=folder.is_archive)
