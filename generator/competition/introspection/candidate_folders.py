"""Folders that may hold the files of the examples, and how ids or the values of a column name these files."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from generator.competition.facts import Medium
from generator.competition.introspection.vocabulary import LABELS, SAMPLE, TEST, TRAIN, VALIDATION, words
from generator.competition.survey.facts import Folder, Survey
from generator.competition.tables.sample import evenly_drawn

_GLUE = "._-"
_MOST_KEY_PARTS = 2
_FEWEST_TRIED, _MOST_TRIED = 50, 100_000
_FILES_PER_VALUE = 6
_LEAST_SHARE = 0.3
_ALMOST_ALL, _CLEARLY_MORE = 0.9, 1.5
_FEWEST_CLASSES = 2
_NOT_CLASSES = TRAIN | TEST | VALIDATION | LABELS | SAMPLE | {"images", "image", "img", "masks", "mask", "audio"}


@dataclass(frozen=True)
class CandidateFolder:
    """A folder of examples: `names` are relative to `path`, sorted; `folders` are those that it is made of."""

    path: str
    names: tuple[str, ...]
    folders: tuple[Folder, ...]

    @property
    def files(self) -> int:
        """The number of files."""
        return sum(folder.files for folder in self.folders)

    @property
    def known(self) -> float:
        """The share of its names that is known, from 0 to 1: so many of the files that are named will be seen."""
        return min(1.0, len(self.names) / max(1, self.files))

    @cached_property
    def suffix(self) -> str:
        """The most frequent suffix of its files."""
        counts: Counter[str] = Counter()
        for folder in self.folders:
            counts.update(dict(folder.suffixes))
        return counts.most_common(1)[0][0] if counts else ""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its path."""
        return words(self.path)


@dataclass(frozen=True)
class FolderMatch:
    """A way in which values name files: `<value without its last parts><suffix>` in `folder`.

    Attributes:
        folder: Where the files are.
        suffix: What has to be appended to a value.
        parts: How many parts, separated by underscores, follow the file's name in a value.
        share: The share of the values whose file was seen; both are samples, so that it may be small.
        is_seen: Whether a file was seen at all; else the values only look like its names.
        others: What further files of most values end in, such as `.1.png` beside `.0.png`; the first few.
    """

    folder: CandidateFolder
    suffix: str
    parts: int
    share: float
    is_seen: bool = True
    others: tuple[str, ...] = ()


def candidate_folders(survey: Survey, medium: Medium) -> tuple[CandidateFolder, ...]:
    """Every folder with files of this medium."""
    found = ((folder, folder.images if medium is Medium.IMAGE else folder.audio) for folder in survey.folders)
    return tuple(CandidateFolder(folder.path, tuple(sorted(folder.names)), (folder,)) for folder, form in found if form)


def folder_trees(folders: Sequence[CandidateFolder]) -> tuple[CandidateFolder, ...]:
    """Every folder that has such folders below it, with the names of all files below, relative to it."""
    below: dict[str, list[CandidateFolder]] = defaultdict(list)
    for folder in folders:
        parts = folder.path.split("/") if folder.path else []
        for depth in range(len(parts)):
            below["/".join(parts[:depth])].append(folder)
    return tuple(_tree(path, inner) for path, inner in sorted(below.items()))


def with_bare_names(trees: Sequence[CandidateFolder]) -> tuple[CandidateFolder, ...]:
    """The same trees with the bare names of their files, where no two files are called the same.

    So a value finds its file in whatever folder it is, such as that of a patient or of the first letters of a hash.
    """
    found = []
    for tree in trees:
        names = sorted(name.rpartition("/")[2] for name in tree.names)
        if len(set(names)) == len(names):
            found.append(CandidateFolder(tree.path, tuple(names), tree.folders))
    return tuple(found)


def class_trees(folders: Sequence[CandidateFolder]) -> tuple[CandidateFolder, ...]:
    """Every folder whose folders are classes of examples: there are several, and none is named for a role."""
    children: dict[str, list[CandidateFolder]] = defaultdict(list)
    for folder in folders:
        parent, _, name = folder.path.rpartition("/")
        if parent and not words(name) & _NOT_CLASSES:
            children[parent].append(folder)
    return tuple(_tree(path, inner) for path, inner in sorted(children.items()) if len(inner) >= _FEWEST_CLASSES)


def best_match(values: Sequence[str], folders: Iterable[CandidateFolder]) -> FolderMatch | None:
    """The folder whose files the values name, the one with the largest share of them."""
    there = list(folders)
    # Among thousands of folders, fewer values are enough to tell them apart.
    tried = evenly_drawn(values, max(_FEWEST_TRIED, _MOST_TRIED // max(1, len(there))))
    matches = [match for folder in there for match in _matches(tried, folder)]
    # A file that was seen outweighs any likeness, and whole values outweigh parts of them.
    return max(matches, key=lambda match: (match.is_seen, match.share, -match.parts), default=None)


def further_below(
    values: Sequence[str], match: FolderMatch | None, trees: Sequence[CandidateFolder]
) -> FolderMatch | None:
    """A match, or one in the folders below a tree, if the files of clearly more values are seen there.

    Args:
        values: What names the files.
        match: The best among single folders.
        trees: Trees as `with_bare_names` gives them; of those that fit alike, the deepest is taken.
    """
    if not trees or (match is not None and match.is_seen and match.share > _ALMOST_ALL):
        return match
    deepest_first = sorted(trees, key=lambda tree: -len(tree.path))
    below = best_match(values, deepest_first)
    if below is None or not below.is_seen or below.parts:
        return match
    least = match.share if match is not None and match.is_seen else 0.0
    return below if below.share > _CLEARLY_MORE * least else match


def _tree(path: str, inner: Sequence[CandidateFolder]) -> CandidateFolder:
    start = len(path) + 1 if path else 0
    names = sorted(f"{folder.path[start:]}/{name}" for folder in inner for name in folder.names)
    return CandidateFolder(path, tuple(names), tuple(part for folder in inner for part in folder.folders))


def _matches(values: Sequence[str], folder: CandidateFolder) -> Iterable[FolderMatch]:
    if not values or not folder.names:
        return
    for parts in range(_MOST_KEY_PARTS + 1):
        examples = [value.rsplit("_", parts)[0] for value in values] if parts else list(values)
        if parts and len(set(examples)) == 1:
            return
        suffixes = Counter(suffix for example in examples for suffix in endings_behind(example, folder.names))
        suffix, hits = suffixes.most_common(1)[0] if suffixes else ("", 0)
        if hits and hits / len(values) >= _LEAST_SHARE * folder.known:
            # Where ids are `1` and `1_2`, a file of the second begins with the first: in half of the cases at most.
            others = tuple(sorted(end for end, count in suffixes.items() if 2 * count > hits and end != suffix))
            yield FolderMatch(folder, suffix, parts, hits / len(values), others=others)
        if hits:
            return
    if folder.known < 1:
        likeness = _alike(values, folder)
        if likeness is not None:
            yield likeness


def endings_behind(value: str, names: Sequence[str]) -> Iterator[str]:
    """The ends of those of the sorted names of files that begin with a value."""
    if not value:
        return
    at = bisect_left(names, value)
    if at < len(names) and names[at] == value:
        yield ""
        return
    for glue in _GLUE:
        begin = bisect_left(names, value + glue)
        for name in names[begin : begin + _FILES_PER_VALUE]:
            if not name.startswith(value + glue):
                break
            yield name[len(value) :]


def _alike(values: Sequence[str], folder: CandidateFolder) -> FolderMatch | None:
    """Values that could be names of files which the sample of names does not have."""
    whole, stems = (
        {_shape(name) for name in folder.names},
        {_shape(name.rpartition(".")[0] or name) for name in folder.names},
    )
    as_names = sum(_shape(value) in whole for value in values) / len(values)
    as_stems = sum(_shape(value) in stems for value in values) / len(values)
    if max(as_names, as_stems) < 1 / 2:
        return None
    suffix = "" if as_names >= as_stems else folder.suffix
    return FolderMatch(folder, suffix, 0, max(as_names, as_stems), is_seen=False)


def _shape(text: str) -> tuple[int, bool, bool, str]:
    """The features that names of one kind share: the length, digits, letters, and whatever else there is."""
    others = "".join(character for character in text if not character.isalnum())
    return len(text), any(c.isdigit() for c in text), any(c.isalpha() for c in text), others
