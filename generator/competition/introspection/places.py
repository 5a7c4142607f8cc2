"""Where the files of the examples are, and how the ids or a column's values name them."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from generator.competition.facts import Medium
from generator.competition.introspection.words import LABELS, SAMPLE, TEST, TRAIN, VALIDATION, words
from generator.competition.survey.bounds import evenly_drawn
from generator.competition.survey.facts import Folder, Survey

_GLUE = "._-"
_MOST_KEY_PARTS = 2
_FEWEST_TRIED, _MOST_TRIED = 50, 100_000
_FILES_PER_VALUE = 6
_LEAST_SHARE = 0.3
_ALMOST_ALL, _CLEARLY_MORE = 0.9, 1.5
_FEWEST_CLASSES = 2
_NOT_CLASSES = TRAIN | TEST | VALIDATION | LABELS | SAMPLE | {"images", "image", "img", "masks", "mask", "audio"}


@dataclass(frozen=True)
class Place:
    """A folder of examples: `names` are relative to `path`, sorted; `folders` are those that it is made of."""

    path: str
    names: tuple[str, ...]
    folders: tuple[Folder, ...]

    @property
    def files(self) -> int:
        """How many files there are."""
        return sum(folder.files for folder in self.folders)

    @property
    def known(self) -> float:
        """Which share of its names is known, from 0 to 1: so many of the files that are named will be seen."""
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
class Match:
    """How values name files: `<value without its last parts><suffix>` in `place`.

    Attributes:
        place: Where the files are.
        suffix: What has to be appended to a value.
        parts: How many parts, separated by underscores, follow the file's name in a value.
        share: The share of the values whose file was seen; both are samples, so that it may be small.
        is_seen: Whether a file was seen at all; else the values only look like its names.
    """

    place: Place
    suffix: str
    parts: int
    share: float
    is_seen: bool = True


def places_of(survey: Survey, medium: Medium) -> tuple[Place, ...]:
    """Every folder with files of this medium."""
    holding = (folder for folder in survey.folders if _holds(folder, medium))
    return tuple(Place(folder.path, tuple(sorted(folder.names)), (folder,)) for folder in holding)


def trees_of(places: Sequence[Place]) -> tuple[Place, ...]:
    """Every folder that has such places below it, with the names of all files below, relative to it."""
    below: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        parts = place.path.split("/") if place.path else []
        for depth in range(len(parts)):
            below["/".join(parts[:depth])].append(place)
    return tuple(_tree(path, inner) for path, inner in sorted(below.items()))


def scattered(trees: Sequence[Place]) -> tuple[Place, ...]:
    """The same trees with the bare names of their files, where no two files are called the same.

    So a value finds its file in whatever folder it is, such as that of a patient or of the first letters of a hash.
    """
    found = []
    for tree in trees:
        names = sorted(name.rpartition("/")[2] for name in tree.names)
        if len(set(names)) == len(names):
            found.append(Place(tree.path, tuple(names), tree.folders))
    return tuple(found)


def class_trees(places: Sequence[Place]) -> tuple[Place, ...]:
    """Every folder whose folders are classes of examples: there are several, and none is named for a role."""
    children: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        parent, _, name = place.path.rpartition("/")
        if parent and not words(name) & _NOT_CLASSES:
            children[parent].append(place)
    return tuple(_tree(path, inner) for path, inner in sorted(children.items()) if len(inner) >= _FEWEST_CLASSES)


def match_of(values: Sequence[str], places: Iterable[Place]) -> Match | None:
    """The place whose files the values name, the one with the largest share of them."""
    there = list(places)
    # Among thousands of folders, fewer values are enough to tell them apart.
    tried = evenly_drawn(values, max(_FEWEST_TRIED, _MOST_TRIED // max(1, len(there))))
    matches = [match for place in there for match in _matches(tried, place)]
    # A file that was seen outweighs any likeness, and whole values outweigh parts of them.
    return max(matches, key=lambda match: (match.is_seen, match.share, -match.parts), default=None)


def further_below(values: Sequence[str], match: Match | None, trees: Sequence[Place]) -> Match | None:
    """A match, or one in the folders below a tree, if the files of clearly more values are seen there.

    Args:
        values: What names the files.
        match: The best among single folders.
        trees: Trees as `scattered` gives them; of those that fit alike, the deepest is taken.
    """
    if not trees or (match is not None and match.is_seen and match.share > _ALMOST_ALL):
        return match
    deepest_first = sorted(trees, key=lambda tree: -len(tree.path))
    below = match_of(values, deepest_first)
    if below is None or not below.is_seen or below.parts:
        return match
    least = match.share if match is not None and match.is_seen else 0.0
    return below if below.share > _CLEARLY_MORE * least else match


def _tree(path: str, inner: Sequence[Place]) -> Place:
    start = len(path) + 1 if path else 0
    names = sorted(f"{place.path[start:]}/{name}" for place in inner for name in place.names)
    return Place(path, tuple(names), tuple(folder for place in inner for folder in place.folders))


def _holds(folder: Folder, medium: Medium) -> bool:
    return (folder.images if medium is Medium.IMAGE else folder.audio) is not None


def _matches(values: Sequence[str], place: Place) -> Iterable[Match]:
    if not values or not place.names:
        return
    for parts in range(_MOST_KEY_PARTS + 1):
        examples = [value.rsplit("_", parts)[0] for value in values] if parts else list(values)
        if parts and len(set(examples)) == 1:
            return
        suffixes = Counter(suffix for example in examples for suffix in _suffixes(example, place.names))
        suffix, hits = suffixes.most_common(1)[0] if suffixes else ("", 0)
        if hits and hits / len(values) >= _LEAST_SHARE * place.known:
            yield Match(place, suffix, parts, hits / len(values))
        if hits:
            return
    if place.known < 1:
        likeness = _alike(values, place)
        if likeness is not None:
            yield likeness


def _suffixes(value: str, names: Sequence[str]) -> Iterable[str]:
    """What follows the value in the names of files that begin with it."""
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


def _alike(values: Sequence[str], place: Place) -> Match | None:
    """Values that could be names of files which the sample of names does not have."""
    whole, stems = {_shape(name) for name in place.names}, {_shape(_stem(name)) for name in place.names}
    as_names = sum(_shape(value) in whole for value in values) / len(values)
    as_stems = sum(_shape(value) in stems for value in values) / len(values)
    if max(as_names, as_stems) < 1 / 2:
        return None
    suffix = "" if as_names >= as_stems else place.suffix
    return Match(place, suffix, 0, max(as_names, as_stems), is_seen=False)


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _shape(text: str) -> tuple[int, bool, bool, str]:
    """What names of one kind have in common: the length, digits, letters, and whatever else there is."""
    others = "".join(character for character in text if not character.isalnum())
    return len(text), any(c.isdigit() for c in text), any(c.isalpha() for c in text), others
