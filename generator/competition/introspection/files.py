"""The files, records or pixels of the examples: where they are, and how they are named and labelled."""

import math
import re
import statistics
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product, takewhile

from generator.competition.facts import Medium, Task
from generator.competition.introspection.evidence import (
    COMPANIONS,
    LABELS,
    SAMPLE,
    TEST,
    TRAIN,
    VALIDATION,
    Candidate,
    Confidence,
    Findings,
    Reason,
    UnusableValueError,
    best_first,
    code_column,
    is_below,
    is_whole,
    join_clauses,
    likely_id_column,
    looks_like_id,
    split_words,
    weigh,
)
from generator.competition.introspection.tables import Tables, has_target
from generator.competition.schema import families, keys_of, values_of
from generator.competition.survey import (
    AudioFormat,
    Column,
    ColumnKind,
    Folder,
    ImageFormat,
    Records,
    Survey,
    Table,
)
from generator.competition.tables import evenly_drawn
from generator.text import printable

# Folders that may hold the files of the examples, and how ids or the values of a column name these files.


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
    def known_share(self) -> float:
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
        return split_words(self.path)


@dataclass(frozen=True)
class FolderMatch:
    """A way in which values name files: `<value without its last parts><suffix>` in `folder`.

    Attributes:
        folder: Where the files are.
        suffix: What has to be appended to a value.
        parts: How many parts, separated by underscores, follow the file's name in a value.
        share: The share of the values whose file was seen; both are samples, so that it may be small.
        is_seen: Whether a file was seen at all; else the values only look like its names.
        other_suffixes: What further files of most values end in, such as `.1.png` beside `.0.png`; the first few.
    """

    folder: CandidateFolder
    suffix: str
    parts: int
    share: float
    is_seen: bool = True
    other_suffixes: tuple[str, ...] = ()


def candidate_folders(survey: Survey, medium: Medium) -> tuple[CandidateFolder, ...]:
    """Every folder with files of this medium."""
    pairs = ((folder, folder.images if medium is Medium.IMAGE else folder.audio) for folder in survey.folders)
    return tuple(CandidateFolder(folder.path, tuple(sorted(folder.names)), (folder,)) for folder, form in pairs if form)


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
    bare_trees = []
    for tree in trees:
        names = sorted(name.rpartition("/")[2] for name in tree.names)
        if len(set(names)) == len(names):
            bare_trees.append(CandidateFolder(tree.path, tuple(names), tree.folders))
    return tuple(bare_trees)


def class_trees(folders: Sequence[CandidateFolder]) -> tuple[CandidateFolder, ...]:
    """Every folder whose folders are classes of examples: there are several, and none is named for a role."""
    children: dict[str, list[CandidateFolder]] = defaultdict(list)
    for folder in folders:
        parent, _, name = folder.path.rpartition("/")
        if parent and not split_words(name) & _NOT_CLASSES:
            children[parent].append(folder)
    return tuple(_tree(path, inner) for path, inner in sorted(children.items()) if len(inner) >= _FEWEST_CLASSES)


def best_match(values: Sequence[str], folders: Iterable[CandidateFolder]) -> FolderMatch | None:
    """The folder whose files the values name, the one with the largest share of them."""
    candidates = list(folders)
    # Among thousands of folders, fewer values are enough to tell them apart.
    sample = evenly_drawn(values, max(_FEWEST_TRIED, _MOST_TRIED // max(1, len(candidates))))
    matches = [match for folder in candidates for match in _matches(sample, folder)]
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
        if hits and hits / len(values) >= _LEAST_SHARE * folder.known_share:
            # Where ids are `1` and `1_2`, a file of the second begins with the first: in half of the cases at most.
            other_suffixes = tuple(sorted(end for end, count in suffixes.items() if 2 * count > hits and end != suffix))
            yield FolderMatch(folder, suffix, parts, hits / len(values), other_suffixes=other_suffixes)
        if hits:
            return
    if folder.known_share < 1:
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
    punctuation = "".join(character for character in text if not character.isalnum())
    return len(text), any(c.isdigit() for c in text), any(c.isalpha() for c in text), punctuation


# TFRecords: which are for training and for the test, and their features with ids and labels.


_LARGEST_IMAGE = 512
_NAMES_READ = 10
_LABEL_WORDS = frozenset(("class", "label", "target"))


def training_records(survey: Survey) -> Records | None:
    """The records to train on: labelled, of the largest images that are not above 512 pixels."""
    fitting = [records for records in survey.records if records_role(records) == "train"]
    return max(fitting, key=_record_preference, default=None)


def test_records(survey: Survey, train: Records) -> Records | None:
    """The test records that belong to some training records: those nearest by their path."""
    fitting = [records for records in survey.records if records_role(records) == "test"]
    return max(fitting, key=lambda records: len(_shared_path(records, train)), default=None)


def labelled_records(train: Records, survey: Survey) -> Records:
    """All labelled records around the training records, as of one folder: those for validation are trained on, too.

    They are `train` alone where the folder around them has other images, or test records with a label.
    """
    label, parent = label_feature(train, survey), train.path.rpartition("/")[0]
    around = [records for records in survey.records if is_below(records.path, parent)]
    label_records = [records for records in around if label in {feature.name for feature in records.features}]
    feature_names = {feature.name for feature in train.features}
    sizes = {(image.width, image.height) for records in label_records if (image := records.image) and image.is_uniform}
    have_all = all(feature_names <= {feature.name for feature in records.features} for records in label_records)
    has_test = any(records_role(records) == "test" for records in label_records)
    if not train.path or label_records == [train] or len(sizes) > 1 or has_test or not have_all:
        return train
    return replace(train, path=parent, examples=sum(records.examples for records in label_records))


def further_records(train: Records, survey: Survey) -> list[str]:
    """The folders beside those that are trained on whose records are neither for training nor for the test."""
    parent = train.path.rpartition("/")[0]
    beside = (records for records in survey.records if records.path.rpartition("/")[0] == parent)
    return [records.path for records in beside if not records_role(records) and not is_below(records.path, train.path)]


def records_role(records: Records) -> str:
    """The role of records by the names of their folder and files: "train", "test" or ""."""
    of_files = split_words(" ".join(records.names[:_NAMES_READ]))
    name_words = split_words(records.path) | of_files
    if of_files & TRAIN and of_files & VALIDATION and not name_words & TEST:
        return "train"  # files of both are in one folder, and have the same features
    return "" if name_words & VALIDATION else "test" if name_words & TEST else "train" if name_words & TRAIN else ""


def record_id_feature(train: Records) -> tuple[str, str]:
    """The feature with the id, and why: short text that is different everywhere, or that is named so."""
    texts = [feature for feature in train.features if feature.kind == "bytes" and not feature.is_image]
    unique = [feature.name for feature in texts if len(set(feature.values)) == len(feature.values) > 1]
    id_names = [feature.name for feature in texts if looks_like_id(feature.name)]
    best = [name for name in unique if name in id_names] + unique + id_names
    return (best[0], "it is different in every record") if best else ("id", "its usual name")


def label_feature(train: Records, survey: Survey) -> str:
    """The feature with the class: one that the test records lack, or one that is named so; "" if there is none."""
    test = test_records(survey, train)
    in_test = {feature.name for feature in test.features} if test is not None else set()
    whole = [feature.name for feature in train.features if feature.kind == "int64" and feature.length == 1]
    label_names = [name for name in whole if split_words(name) & _LABEL_WORDS]
    lacking = [name for name in whole if test is not None and name not in in_test]
    return next(iter([name for name in lacking if name in label_names] + lacking + label_names), "")


def _shared_path(left: Records, right: Records) -> list[str]:
    """The folders at the beginning of both paths."""
    pairs = zip(left.path.split("/"), right.path.split("/"), strict=False)
    return [folder for folder, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def _record_preference(records: Records) -> tuple[bool, int]:
    size = max(records.image.width, records.image.height) if records.image is not None else 0
    return size <= _LARGEST_IMAGE, size if size <= _LARGEST_IMAGE else -size


# Images whose pixels are in a table: a column for each pixel, or all of them in a cell.


_PIXEL = re.compile(r"(?:pixel|pix|px|p|x)?[_.]?\d+(?:x\d+)?")
_LIST_OF_NUMBERS = re.compile(r"\[?\s*-?\d[-+.,eE\s\d]*\]?")
WHITE = 255
_FEWEST_PIXELS = 64
_PIXEL_COLUMNS_COMPARED, _CELLS_COMPARED = 60, 20
_CHANNELS = 3
_DIGITS, _PERCENTILES = 3, 1_000


@dataclass(frozen=True)
class PixelLists:
    """Columns whose cells hold all pixels of an image, such as `70 80 82 ...`.

    Attributes:
        columns: One for each channel, at most three.
        side: The height and the width of an image.
        low: The value that is black.
        high: The value that is white.
    """

    columns: tuple[str, ...]
    side: int
    low: float
    high: float


def pixel_columns(table: Table) -> tuple[str, ...]:
    """The columns that are the pixels of a square: numbered names, whole values from 0 to 255; none of other shapes."""
    pixels = (column for column in table.columns if _PIXEL.fullmatch(column.name.lower()) and is_whole(column))
    names = tuple(pixel.name for pixel in pixels if all(0 <= float(value) <= WHITE for value in pixel.distinct))
    return names if len(names) >= _FEWEST_PIXELS and math.isqrt(len(names)) ** 2 == len(names) else ()


def pixel_lists(train: Table, test: Table | None) -> PixelLists | None:
    """The columns with lists of pixels that training and test examples have; None if there are none.

    All of them have as many numbers, the square of a whole number. Where these are no shades, such as decibels, the
    lightest and the darkest thousandth of the sampled ones are left out.
    """
    known_names = set(test.column_names) if test is not None else set(train.column_names)
    images_by_column: dict[str, list[list[float]]] = {}
    for column in train.columns[:_PIXEL_COLUMNS_COMPARED]:
        images = _images(column) if column.name in known_names else []
        first = next(iter(images_by_column.values()), images)
        if images and len(images[0]) == len(first[0]) and len(images_by_column) < _CHANNELS:
            images_by_column[column.name] = images
    if not images_by_column:
        return None
    images = [image for images in images_by_column.values() for image in images]
    low, high = _range([value for image in images for value in image])
    return PixelLists(tuple(images_by_column), math.isqrt(len(images[0])), low, high)


def _images(column: Column) -> list[list[float]]:
    """The numbers in some cells of a column; nothing if they are no square images of one size."""
    cells = evenly_drawn(column.present, _CELLS_COMPARED)
    if not cells or not all(len(cell) >= 2 * _FEWEST_PIXELS - 1 and _LIST_OF_NUMBERS.fullmatch(cell) for cell in cells):
        return []
    try:
        images = [[float(number) for number in cell.strip("[] ").replace(",", " ").split()] for cell in cells]
    except ValueError:
        return []
    counts = {len(image) for image in images}
    count = counts.pop()
    return images if not counts and count >= _FEWEST_PIXELS and math.isqrt(count) ** 2 == count else []


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    if low >= 0 and high <= WHITE:
        return 0.0, float(WHITE)
    cuts = statistics.quantiles(values, n=_PERCENTILES)
    low, high = (float(f"{quantile:.{_DIGITS}g}") for quantile in (cuts[0], cuts[-1]))
    return (low, high) if low < high else (low, low + 1)


# The ways in which examples and their labels are given: by tables, folders, file names, records, or pixels.


_LABEL_COLUMNS_COMPARED = 60
_FEWEST_DIFFERENT, _FEWEST_DIFFERENT_OF_MASKS = 0.2, 0.005
_LISTED_SHARE = 0.9
_FILES_PER_CLASS = 3
_FEWEST_FILES = 10  # of a class that other words of names could be by chance
# Where the names of files say classes, as in `cat.123`, `rec_0017_cat` and `cat_jane_0017`.
_BEFORE_A_NUMBER = r"^(.*?[^\W\d_].*?)(?:[\W_]*\d+\W*)?$"
_LAST, _FIRST = r"^.*[\W_]([^\W_]+)$", r"^([^\W_]+)[\W_].*$"


@dataclass(frozen=True)
class LabelSource:
    """One way in which the examples and their labels are given.

    Attributes:
        candidate: "table", "folders", "names", "records" or "pixels", and what speaks for it.
        train: The folder of the training files, or None.
        match: How a column names them, where the labels are in a table.
        column: That column, or the feature of the records with the image.
        label: The feature of the records with the label.
        classes: The classes, where folders or names say them.
        lists: The columns whose cells are lists of pixels, where the images are given so.
        pattern: The regular expression whose group is the class in the name of a file, where names say it.
    """

    candidate: Candidate
    train: CandidateFolder | None = None
    match: FolderMatch | None = None
    column: str = ""
    label: str = ""
    classes: tuple[str, ...] = ()
    lists: PixelLists | None = None
    pattern: str = ""

    @property
    def labels_from(self) -> str:
        """Where the labels are."""
        return str(self.candidate.value)

    @property
    def is_table(self) -> bool:
        """True if a table has the labels, and not the names or the content of files."""
        return self.labels_from in ("table", "pixels")


def label_sources(survey: Survey, tables: Tables, pattern: str = "") -> Iterator[tuple[Medium, LabelSource]]:
    """Every way that the files allow, with the medium of the examples.

    Args:
        survey: What was seen.
        tables: The tables by their roles.
        pattern: Where the user says that the names of files have the class; "" leaves that open.
    """
    for medium in (Medium.IMAGE, Medium.AUDIO):
        yield from ((medium, way) for way in _of_files(tables, candidate_folders(survey, medium), pattern))
    yield from ((Medium.IMAGE, way) for way in (*_pixels(tables), *_records(survey)))


def _of_files(tables: Tables, folders: Sequence[CandidateFolder], pattern: str) -> Iterator[LabelSource]:
    if not folders:
        return
    table_sources = tuple(_named_in_table(tables.train, folders))
    is_listed = any(source.match is not None and source.match.share > _LISTED_SHARE for source in table_sources)
    yield from table_sources
    yield from _class_folders(folders, tables, is_listed=is_listed)
    yield from _class_names(folders, tables, pattern)
    yield from _plain_folder(folders, tables)


def _named_in_table(table: Table | None, folders: Sequence[CandidateFolder]) -> Iterator[LabelSource]:
    if table is None:
        return
    trees = folder_trees(folders)
    below = with_bare_names(_for_training(trees))
    # Where masks have rows, an image has as many as there are pieces of its mask.
    fewest_different = _FEWEST_DIFFERENT if code_column(table) is None else _FEWEST_DIFFERENT_OF_MASKS
    for column in table.columns[:_LABEL_COLUMNS_COMPARED]:
        if column.kind not in (ColumnKind.TEXT, ColumnKind.INTEGER) or not column.present:
            continue
        if len(column.distinct) < fewest_different * len(column.present):
            continue
        if "/" in column.present[0]:
            match = best_match(column.present, [*trees, *folders])
        else:
            match = further_below(column.present, best_match(column.present, _for_training(folders)), below)
        if match is not None:
            yield _column_source(table, column, match)


def _for_training(folders: Sequence[CandidateFolder]) -> Sequence[CandidateFolder]:
    return [folder for folder in folders if not folder.words & TEST] or folders


def _column_source(table: Table, column: Column, match: FolderMatch) -> LabelSource:
    location = match.folder.path or "the competition's folder"
    evidence = f"{match.share:.0%} of the sampled {column.name} of {table.name} are files in {location}"
    alike = f"{column.name} of {table.name} looks like the file names in {location}"
    reasons = [
        Reason((3 + 2 * match.share) * match.is_seen, evidence),
        Reason(2 * (not match.is_seen), alike),
        Reason(0.5 * (column is table.columns[0]), "it is the first column"),
        Reason(-1 * bool(match.folder.words & VALIDATION), "the folder's name suggests another use"),
    ]
    return LabelSource(weigh("table", reasons), train=match.folder, match=match, column=column.name)


def _class_folders(folders: Sequence[CandidateFolder], tables: Tables, *, is_listed: bool) -> Iterator[LabelSource]:
    sample_names = set(tables.sample.column_names) if tables.sample is not None else set()
    ids = _ids(tables.train)
    is_labelled = tables.train is not None and tables.sample is not None and has_target(tables.train, tables.sample)
    for tree in class_trees(folders):
        classes = tuple(sorted({name.partition("/")[0] for name in tree.names}))
        reasons = [
            Reason(3, f"{tree.path} has {len(classes)} folders of files"),
            Reason(2 * (len(set(classes) & sample_names) > 1), "their names are the columns of the sample submission"),
            Reason(1 * bool(tree.words & TRAIN), "its name suggests training"),
            Reason(-3 * bool(tree.words & (TEST | VALIDATION)), "its name suggests another use"),
            Reason(1 * (tables.train is None), "there is no training table"),
            Reason(3 * _are_values(classes, tables.train), "a column of the training table has these names"),
            Reason(-3 * is_listed, "a table lists the files"),
            Reason(-3 * is_labelled, "a table has the labels"),
            Reason(-2 * (tree.files < _FILES_PER_CLASS * len(classes)), "there are almost as many folders as files"),
            Reason(-4 * (len(ids & set(classes)) > len(classes) / 2), "their names are ids of examples"),
        ]
        yield LabelSource(weigh("folders", reasons), train=tree, classes=classes)


def _ids(table: Table | None) -> frozenset[str]:
    ids = likely_id_column(table)
    return ids.distinct if ids is not None and ids.is_unique else frozenset()


def _are_values(classes: Sequence[str], table: Table | None) -> bool:
    """True if a column that repeats has most of the classes among its values."""
    if table is None:
        return False
    columns = (column for column in table.columns[:_LABEL_COLUMNS_COMPARED] if not column.is_unique)
    return any(len(column.distinct & set(classes)) > len(classes) / 2 for column in columns)


def class_in_name(name: str, pattern: str) -> str:
    """The class that the name of a file says by the group of a pattern; "" if it says none."""
    match = re.search(pattern, name.rpartition("/")[2].rpartition(".")[0])
    return (match[1] or "") if match is not None else ""


def _class_names(folders: Sequence[CandidateFolder], tables: Tables, user_pattern: str) -> Iterator[LabelSource]:
    tests = [name for folder in folders if folder.words & TEST for name in folder.names]
    answers = tables.sample.columns[-1].distinct if tables.sample is not None and tables.sample.columns else frozenset()
    usual = {_BEFORE_A_NUMBER: "at the start", _LAST: "at the end", _FIRST: "at the start"}
    patterns = {user_pattern: "by your pattern"} if user_pattern else usual
    for folder, (pattern, place) in product(folders, patterns.items()):
        labels = Counter(class_in_name(name, pattern) for name in folder.names)
        if len(labels) < 2 or "" in labels or min(labels.values()) < 2 or folder.words & TEST:  # noqa: PLR2004 - two of each, at least
            continue
        is_plain = pattern in (_BEFORE_A_NUMBER, user_pattern)
        in_tests = sum(class_in_name(name, pattern) in labels for name in tests)
        if not is_plain and (len(folder.names) < _FEWEST_FILES * len(labels) or 2 * in_tests > len(tests)):
            continue  # such as left and right, which test files are as well
        reasons = [
            Reason(
                2.5 if is_plain else 2,
                f"the file names in {folder.path or 'the folder'} contain {len(labels)} classes, {place}",
            ),
            Reason(2 * bool(user_pattern), "you set the pattern"),
            Reason(2 * (bool(answers) and answers <= labels.keys()), "the sample submission has such classes"),
            Reason(1 * bool(folder.words & TRAIN), "its name suggests training"),
            Reason(1 * (tables.train is None), "there is no training table"),
        ]
        yield LabelSource(weigh("names", reasons), train=folder, classes=tuple(sorted(labels)), pattern=pattern)


def _plain_folder(folders: Sequence[CandidateFolder], tables: Tables) -> Iterator[LabelSource]:
    """A folder of training files without a table: the labels are files too, such as masks or clean images."""
    training = sorted((folder for folder in folders if folder.words & TRAIN), key=lambda folder: len(folder.path))
    inputs = [folder for folder in training if not folder.words & COMPANIONS]
    if tables.train is None and inputs and len(training) > 1:
        clause = f"the names of {inputs[0].path} and another folder suggest training"
        yield LabelSource(Candidate("folders", clause, 2.0), train=inputs[0])


def _pixels(tables: Tables) -> Iterator[LabelSource]:
    """Images whose pixels are columns, `pixel0`, `pixel783` or `1x1`, `28x28`, or whose pixels are all in one cell."""
    if tables.train is None:
        return
    if pixels := pixel_columns(tables.train):
        side = math.isqrt(len(pixels))
        evidence = f"{tables.train.name} has {len(pixels)} columns of pixels, {side} x {side}"
        yield LabelSource(Candidate("pixels", evidence, 5.0))
        return
    lists = pixel_lists(tables.train, tables.test)
    if lists is not None:
        names, side = join_clauses(list(lists.columns)), lists.side
        evidence = f"each cell of {names} in {tables.train.name} has {side} x {side} numbers"
        yield LabelSource(Candidate("pixels", evidence, 5.0), lists=lists)


def _records(survey: Survey) -> Iterator[LabelSource]:
    train = training_records(survey)
    if train is None:
        return
    image = next((feature for feature in train.features if feature.is_image), None)
    if image is not None:
        whole = labelled_records(train, survey)
        location = whole.path or "the folder"
        label = label_feature(train, survey)
        evidence = f'the records of {location} have an image in "{image.name}" and a class in "{label}"'
        left_out = further_records(whole, survey)
        evidence += f"; {join_clauses(left_out)} is not used" if left_out else ""
        candidate = Candidate("records", evidence, 3.0 if label else 1.0)
        yield LabelSource(candidate, column=image.name, label=label)


# The files, records or pixels of the examples: where they are, how they are labelled, which are for the test.


_LEAST_BESIDE_A_TABLE = 1.5
_CLASSES_SHOWN = 3
_HARDLY_A_FILE = 2  # a text that says so


@dataclass(frozen=True)
class ExampleFiles:
    """Files, records or pixels of examples.

    Attributes:
        medium: Images or sounds.
        source: How they are labelled.
        rivals: This way and the others that there are, best first.
        test_match: How the test ids name the test files, or None.
        records: The training and the test records, where there are some.
        examples: How many training examples there are.
        owner_column: The id column of the submission, where an id has several images; else "".
    """

    medium: Medium
    source: LabelSource
    rivals: tuple[Candidate, ...]
    test_match: FolderMatch | None
    records: tuple[Records, ...]
    examples: int
    owner_column: str = ""

    @property
    def test(self) -> CandidateFolder | None:
        """The folder of the test files, or None."""
        return self.test_match.folder if self.test_match is not None else None

    @property
    def parts(self) -> int:
        """The number of parts of a test id that follow the example's name in it."""
        return self.test_match.parts if self.test_match is not None else 0

    @property
    def has_test(self) -> bool:
        """True if test files or records were found."""
        return self.test is not None or len(self.records) > 1

    @property
    def images(self) -> ImageFormat | None:
        """The format of the training images."""
        if self.records:
            return self.records[0].image
        train = self.source.train
        return next((folder.images for folder in train.folders if folder.images), None) if train is not None else None

    @property
    def audio(self) -> AudioFormat | None:
        """The format of the training sounds."""
        train = self.source.train
        formats = [folder.audio for folder in train.folders if folder.audio] if train is not None else []
        # That of the middle folder: minutes of noise may have one of their own beside words of a second.
        formats.sort(key=lambda form: form.seconds)
        return formats[(len(formats) - 1) // 2] if formats else None


def find_example_files(survey: Survey, tables: Tables, id_column: str, findings: Findings) -> ExampleFiles | None:
    """Finds the files of the examples; None if the tables have everything, or if the user says so.

    Raises:
        UnusableValueError: What the user says of names of files says no label.
    """
    family = families().get(findings.decided_text("family"))
    if family is not None and not family.medium.is_files:
        return None
    least = 0 if tables.train is None else _LEAST_BESIDE_A_TABLE
    ways = [
        (medium, way)
        for medium, way in label_sources(survey, tables, _decided_pattern(findings))
        if way.candidate.weight > least
    ]
    if not ways:
        return None
    decision = findings.decided_text("labels_from")
    medium, source = max(ways, key=lambda pair: (pair[1].labels_from == decision, pair[1].candidate.weight))
    # Another column that names the same files is no other way.
    different = {
        (way.labels_from, way.train.path if way.train is not None else ""): way.candidate
        for _, way in sorted(ways, key=lambda pair: pair[1].candidate.weight)
    }
    records: tuple[Records, ...] = ()
    train_records = training_records(survey) if source.labels_from == "records" else None
    test = None
    if train_records is not None:
        test_ones = test_records(survey, train_records)
        train_records = labelled_records(train_records, survey)
        records = (train_records, *([test_ones] if test_ones is not None else []))
    elif source.labels_from != "pixels":
        test = _test_match(survey, tables, medium, source, id_column)
    return ExampleFiles(
        medium=medium,
        source=source,
        rivals=best_first(different.values()),
        test_match=test,
        records=records,
        examples=_examples(tables, source, train_records),
        owner_column=id_column if _owns_several(id_column, source, tables) else "",
    )


def _decided_pattern(findings: Findings) -> str:
    """Where the user says that the label is in the name of a file; "" if nothing is said."""
    pattern = findings.decided_text("label_in_name")
    try:
        groups = re.compile(pattern).groups if pattern else 1
    except re.error:
        groups = 0
    if groups != 1:
        requirement = "a regular expression whose only group is the label"
        raise UnusableValueError(key="label_in_name", value=pattern, requirement=requirement)
    return pattern


def describe_files(files: ExampleFiles, findings: Findings, *, is_served: bool) -> None:
    """Settles where the files of the examples are and what they are called.

    Args:
        files: The files.
        findings: Takes the findings.
        is_served: Whether an inference server hands out the test files.
    """
    source, test, records, medium = files.source, files.test_match, files.records, files.medium
    path = records[0].path if records else source.train.path if source.train is not None else ""
    is_needed = not is_served and source.labels_from not in ("records", "pixels")
    findings.choose("labels_from", files.rivals)
    if source.pattern:
        classes = ", ".join(map(printable, source.classes[:_CLASSES_SHOWN]))
        findings.settle("label_in_name", source.pattern, f"its group is the label, such as {classes}")
    findings.settle(f"{medium}_column", source.column, _column_evidence(source))
    findings.settle("train_folder", path, source.candidate.evidence)
    confidence = Confidence.THIN if is_needed and test is None else Confidence.SURE
    findings.settle("test_folder", *_test_folder(test, records), confidence)
    findings.settle(f"{medium}_suffix", *_suffix(source.match or test))
    if records:
        findings.settle("record_id", *record_id_feature(records[0]), Confidence.LIKELY)
        findings.settle("record_image", source.column, _column_evidence(source))
        findings.settle("record_label", source.label, "the test records lack this feature")


def _owns_several(id_column: str, source: LabelSource, tables: Tables) -> bool:
    """True if an id has several files, such as all slides of a patient: a table has a row for each of them."""
    test = tables.test
    if source.labels_from != "table" or source.column == id_column or test is None or tables.labels is not None:
        return False
    id_columns = [table.column(id_column) for table in (test, tables.train) if table is not None]
    repeats = any(column is not None and column.present and not column.is_unique for column in id_columns)
    return repeats and {id_column, source.column} <= set(test.column_names)


def _examples(tables: Tables, source: LabelSource, records: Records | None) -> int:
    if records is not None:
        return records.examples
    if source.is_table and tables.train is not None:
        return tables.train.rows
    return source.train.files if source.train is not None else 0


def _test_match(
    survey: Survey, tables: Tables, medium: Medium, source: LabelSource, id_column: str
) -> FolderMatch | None:
    """Where the test files are: where the test ids lead, else the folder that is named so."""
    folders, train = candidate_folders(survey, medium), source.train
    in_train = {folder.path for folder in train.folders} if train is not None else set()
    other_folders = [folder for folder in folders if folder.path not in in_train]
    test_folders = _for_test(other_folders)
    values = _test_values(tables, source.column, id_column)
    trees = folder_trees(folders) if values and "/" in values[0] else ()
    match = best_match(values, [*test_folders, *trees]) or best_match(values, other_folders)
    match = further_below(values, match, _for_test(with_bare_names(folder_trees(folders))))
    among_training = best_match(values, [train]) if train is not None else None
    if among_training is not None and among_training.is_seen and (match is None or not match.is_seen):
        return among_training
    if match is not None:
        return match
    largest = max(_wholes(test_folders, folders), key=lambda folder: folder.files, default=None)
    if largest is not None:
        return FolderMatch(largest, largest.suffix, 0, 0.0, is_seen=False)
    empty = _empty_test_folder(survey) if tables.sample is not None else None
    if empty is None or train is None:
        return None
    return FolderMatch(empty, train.suffix, 0, 0.0, is_seen=False)


def _empty_test_folder(survey: Survey) -> CandidateFolder | None:
    """A folder that is named for the test and has hardly a file: some code competitions fill it when they score."""
    test_folders = [
        folder for folder in survey.folders if split_words(folder.path) & TEST and not split_words(folder.path) & TRAIN
    ]
    fewest = min(test_folders, key=lambda folder: folder.files, default=None)
    is_empty = fewest is not None and fewest.files <= _HARDLY_A_FILE
    return CandidateFolder(fewest.path, (), (fewest,)) if fewest is not None and is_empty else None


def _for_test(folders: Sequence[CandidateFolder]) -> list[CandidateFolder]:
    return [folder for folder in folders if folder.words & TEST and not folder.words & TRAIN]


def _wholes(test_folders: Sequence[CandidateFolder], folders: Sequence[CandidateFolder]) -> list[CandidateFolder]:
    """The folders that are named for the test themselves, with those in them: all of `test` for `test/cats`."""
    trees = {tree.path: tree for tree in folder_trees(folders)}
    wholes = []
    for folder in test_folders:
        parts = folder.path.split("/")
        depth = next(depth for depth in range(len(parts), 0, -1) if split_words(parts[depth - 1]) & TEST)
        wholes.append(folder if depth == len(parts) else trees["/".join(parts[:depth])])
    return wholes


def _test_values(tables: Tables, file_column: str, id_column: str) -> tuple[str, ...]:
    candidates = ((tables.test, file_column), (tables.test, id_column), (tables.sample, id_column))
    columns = (table.column(name) for table, name in candidates if table is not None and name)
    return next((column.present for column in columns if column is not None), ())


def _column_evidence(source: LabelSource) -> str:
    match = source.match
    if not source.column:
        return "no column names the files"
    if match is None:
        return f'"{source.column}" starts like an image file'
    clause = f"{match.share:.0%} of its sampled values are files there"
    location = match.folder.path or "the folder"
    return f"it names the files in {location}: {clause if match.is_seen else 'the names look alike'}"


def _test_folder(test: FolderMatch | None, records: tuple[Records, ...]) -> tuple[str, str]:
    if len(records) > 1:
        return records[1].path, "its records have no class"
    if test is None:
        return "", "there are no test files"
    if test.is_seen:
        return test.folder.path, f"{test.share:.0%} of the sampled test ids are files there"
    if not test.folder.names:
        return test.folder.path, "its name matches, and it is empty until the notebook is scored"
    return test.folder.path, "its name matches" if not test.share else "the test ids look like its file names"


def _suffix(match: FolderMatch | None) -> tuple[str, str, Confidence]:
    if match is None:
        return "", "there are no files to name", Confidence.SURE
    if match.is_seen:
        example = f'file names are "<id>{match.suffix}"' if match.suffix else "the ids are complete file names"
        return match.suffix, example, Confidence.SURE
    evidence = f'most files of {match.folder.path} end in "{match.suffix}"'
    return match.suffix, evidence, Confidence.LIKELY


# The files of a competition that no notebook reads.


_NO_INPUT, _SERVER = "submission_file", "kaggle_evaluation"


def unused_files(survey: Survey, task: Task) -> tuple[str, ...]:
    """Returns the tables, files and whole folders that the task does not name, a folder with a slash, in their order.

    Of a folder it is enough that something in it, or around it, is used; those of an inference server always are.
    """
    keys = keys_of(task.family)
    values = values_of(task, keys)
    used_paths = {str(value) for key, value in values.items() if keys[key].form == "path" and key != _NO_INPUT}
    gateway_files = values.get("gateway_files")
    used_paths |= {*(gateway_files if isinstance(gateway_files, list) else ()), *([_SERVER] if survey.server else ())}
    used_paths = {path.rstrip("/") for path in used_paths} - {""}
    # Files of examples at the top of the data: any of them may be one.
    is_top_read = families()[task.family].medium.is_files and values.get("train_folder") == ""
    paths = (table.path for table in survey.tables) if is_top_read else _survey_paths(survey)
    unused_paths = [
        path for path in paths if not any(is_below(path.rstrip("/"), used_path) for used_path in used_paths)
    ]
    return tuple(sorted({_top(path, used_paths) for path in unused_paths}))


def _survey_paths(survey: Survey) -> Iterator[str]:
    """Yields the path of every table and file, and that of every folder of examples with a slash behind it."""
    yield from (table.path for table in survey.tables)
    yield from (f"{records.path}/" for records in survey.records)
    for folder in survey.folders:
        if folder.path:
            yield f"{folder.path}/"
        else:
            yield from folder.names


def _top(path: str, used_paths: set[str]) -> str:
    """The highest folder around a path in which nothing is used, or the path itself."""
    parts = path.rstrip("/").split("/")
    around = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    empty = (folder for folder in around if not any(is_below(used_path, folder) for used_path in used_paths))
    top = next(empty, "")
    return f"{top}/" if top else path
