"""The ways in which examples and their labels are given: by tables, folders, file names, records, or pixels."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from generator.competition.facts import Medium
from generator.competition.introspection.candidate_folders import (
    CandidateFolder,
    FolderMatch,
    best_match,
    candidate_folders,
    class_trees,
    folder_trees,
    further_below,
    with_bare_names,
)
from generator.competition.introspection.column_statistics import key_column
from generator.competition.introspection.findings import Candidate, Reason, joined, weighed
from generator.competition.introspection.pixels import PixelLists, pixel_columns, pixel_lists
from generator.competition.introspection.run_length import code_column
from generator.competition.introspection.table_roles import Tables, has_target
from generator.competition.introspection.tfrecords import (
    further_records,
    label_feature,
    labelled_records,
    training_records,
)
from generator.competition.introspection.vocabulary import COMPANIONS, TEST, TRAIN, VALIDATION
from generator.competition.survey.facts import Column, ColumnKind, Survey, Table

_COLUMNS_COMPARED = 60
_FEWEST_DIFFERENT, _FEWEST_DIFFERENT_OF_MASKS = 0.2, 0.005
_LISTED = 0.9
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
    named = tuple(_named_in_table(tables.train, folders))
    is_listed = any(found.match is not None and found.match.share > _LISTED for found in named)
    yield from named
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
    for column in table.columns[:_COLUMNS_COMPARED]:
        if column.kind not in (ColumnKind.TEXT, ColumnKind.INTEGER) or not column.present:
            continue
        if len(column.distinct) < fewest_different * len(column.present):
            continue
        if "/" in column.present[0]:
            match = best_match(column.present, [*trees, *folders])
        else:
            match = further_below(column.present, best_match(column.present, _for_training(folders)), below)
        if match is not None:
            yield _named(table, column, match)


def _for_training(folders: Sequence[CandidateFolder]) -> Sequence[CandidateFolder]:
    return [folder for folder in folders if not folder.words & TEST] or folders


def _named(table: Table, column: Column, match: FolderMatch) -> LabelSource:
    where = match.folder.path or "the competition's folder"
    seen = f"{match.share:.0%} of the sampled {column.name} of {table.name} are seen as files in {where}"
    alike = f"{column.name} of {table.name} looks like the names of the files in {where}"
    reasons = [
        Reason((3 + 2 * match.share) * match.is_seen, seen),
        Reason(2 * (not match.is_seen), alike),
        Reason(0.5 * (column is table.columns[0]), "it is the first column"),
        Reason(-1 * bool(match.folder.words & VALIDATION), "the folder is for something else"),
    ]
    return LabelSource(weighed("table", reasons), train=match.folder, match=match, column=column.name)


def _class_folders(folders: Sequence[CandidateFolder], tables: Tables, *, is_listed: bool) -> Iterator[LabelSource]:
    asked = set(tables.sample.column_names) if tables.sample is not None else set()
    ids = _ids(tables.train)
    is_labelled = tables.train is not None and tables.sample is not None and has_target(tables.train, tables.sample)
    for tree in class_trees(folders):
        classes = tuple(sorted({name.partition("/")[0] for name in tree.names}))
        reasons = [
            Reason(3, f"{tree.path} has {len(classes)} folders of files, none of them named for another use"),
            Reason(2 * (len(set(classes) & asked) > 1), "they are named like the columns of the sample submission"),
            Reason(1 * bool(tree.words & TRAIN), "its name says that it is for training"),
            Reason(-3 * bool(tree.words & (TEST | VALIDATION)), "it is for something else"),
            Reason(1 * (tables.train is None), "there is no table to train on"),
            Reason(3 * _are_values(classes, tables.train), "a column of the training table has these names"),
            Reason(-3 * is_listed, "a table lists the files"),
            Reason(-3 * is_labelled, "a table has the labels"),
            Reason(-2 * (tree.files < _FILES_PER_CLASS * len(classes)), "there are hardly more files than folders"),
            Reason(-4 * (len(ids & set(classes)) > len(classes) / 2), "they are named for single examples"),
        ]
        yield LabelSource(weighed("folders", reasons), train=tree, classes=classes)


def _ids(table: Table | None) -> frozenset[str]:
    ids = key_column(table)
    return ids.distinct if ids is not None and ids.is_unique else frozenset()


def _are_values(classes: Sequence[str], table: Table | None) -> bool:
    """True if a column that repeats has most of the classes among its values."""
    if table is None:
        return False
    columns = (column for column in table.columns[:_COLUMNS_COMPARED] if not column.is_unique)
    return any(len(column.distinct & set(classes)) > len(classes) / 2 for column in columns)


def class_in_name(name: str, pattern: str) -> str:
    """The class that the name of a file says by the group of a pattern; "" if it says none."""
    match = re.search(pattern, name.rpartition("/")[2].rpartition(".")[0])
    return (match[1] or "") if match is not None else ""


def _class_names(folders: Sequence[CandidateFolder], tables: Tables, decided: str) -> Iterator[LabelSource]:
    tests = [name for folder in folders if folder.words & TEST for name in folder.names]
    answers = tables.sample.columns[-1].distinct if tables.sample is not None and tables.sample.columns else frozenset()
    usual = {_BEFORE_A_NUMBER: "in front", _LAST: "at the end", _FIRST: "in front"}
    patterns = {decided: "where you say"} if decided else usual
    for folder, (pattern, where) in product(folders, patterns.items()):
        labels = Counter(class_in_name(name, pattern) for name in folder.names)
        if len(labels) < 2 or "" in labels or min(labels.values()) < 2 or folder.words & TEST:  # noqa: PLR2004 - two of each, at least
            continue
        is_plain = pattern in (_BEFORE_A_NUMBER, decided)
        in_tests = sum(class_in_name(name, pattern) in labels for name in tests)
        if not is_plain and (len(folder.names) < _FEWEST_FILES * len(labels) or 2 * in_tests > len(tests)):
            continue  # such as left and right, which test files are as well
        reasons = [
            Reason(
                2.5 if is_plain else 2,
                f"the files of {folder.path or 'the folder'} are named for {len(labels)} classes, {where}",
            ),
            Reason(2 * bool(decided), "you say where"),
            Reason(2 * (bool(answers) and answers <= labels.keys()), "the sample submission has such classes"),
            Reason(1 * bool(folder.words & TRAIN), "its name says that it is for training"),
            Reason(1 * (tables.train is None), "there is no table to train on"),
        ]
        yield LabelSource(weighed("names", reasons), train=folder, classes=tuple(sorted(labels)), pattern=pattern)


def _plain_folder(folders: Sequence[CandidateFolder], tables: Tables) -> Iterator[LabelSource]:
    """A folder of training files without a table: the labels are files too, such as masks or clean images."""
    training = sorted((folder for folder in folders if folder.words & TRAIN), key=lambda folder: len(folder.path))
    inputs = [folder for folder in training if not folder.words & COMPANIONS]
    if tables.train is None and inputs and len(training) > 1:
        clause = f"{inputs[0].path} is named for training, and so is a further folder"
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
        named, side = joined(list(lists.columns)), lists.side
        evidence = f"each cell of {named} in {tables.train.name} has {side} x {side} numbers"
        yield LabelSource(Candidate("pixels", evidence, 5.0), lists=lists)


def _records(survey: Survey) -> Iterator[LabelSource]:
    train = training_records(survey)
    if train is None:
        return
    image = next((feature for feature in train.features if feature.is_image), None)
    if image is not None:
        whole = labelled_records(train, survey)
        where = whole.path or "the folder"
        label = label_feature(train, survey)
        evidence = f'the records of {where} have an image in "{image.name}" and a class in "{label}"'
        left_out = further_records(whole, survey)
        evidence += f"; {joined(left_out)} is left out" if left_out else ""
        candidate = Candidate("records", evidence, 3.0 if label else 1.0)
        yield LabelSource(candidate, column=image.name, label=label)
