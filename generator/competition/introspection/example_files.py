"""The files, records or pixels of the examples: where they are, how they are labelled, which are for the test."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from generator.competition.facts import Medium
from generator.competition.introspection.candidate_folders import (
    CandidateFolder,
    FolderMatch,
    best_match,
    candidate_folders,
    folder_trees,
    further_below,
    with_bare_names,
)
from generator.competition.introspection.errors import UnusableValueError
from generator.competition.introspection.findings import Candidate, Confidence, Findings, best_first
from generator.competition.introspection.label_sources import LabelSource, label_sources
from generator.competition.introspection.table_roles import Tables
from generator.competition.introspection.tfrecords import id_feature, labelled_records, test_records, training_records
from generator.competition.introspection.vocabulary import TEST, TRAIN, words
from generator.competition.schema import families
from generator.competition.survey.facts import AudioFormat, ImageFormat, Records, Survey
from generator.untrusted import printable

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
        return next((found.images for found in train.folders if found.images), None) if train is not None else None

    @property
    def audio(self) -> AudioFormat | None:
        """The format of the training sounds."""
        train = self.source.train
        known = [found.audio for found in train.folders if found.audio] if train is not None else []
        # That of the middle folder: minutes of noise may have one of their own beside words of a second.
        known.sort(key=lambda form: form.seconds)
        return known[(len(known) - 1) // 2] if known else None


def find_example_files(survey: Survey, tables: Tables, id_column: str, found: Findings) -> ExampleFiles | None:
    """Finds the files of the examples; None if the tables have everything, or if the user says so.

    Raises:
        UnusableValueError: What the user says of names of files says no label.
    """
    family = families().get(found.decided("family"))
    if family is not None and not family.medium.is_files:
        return None
    least = 0 if tables.train is None else _LEAST_BESIDE_A_TABLE
    ways = [
        (medium, way)
        for medium, way in label_sources(survey, tables, _decided_pattern(found))
        if way.candidate.weight > least
    ]
    if not ways:
        return None
    decided = found.decided("labels_from")
    medium, source = max(ways, key=lambda pair: (pair[1].labels_from == decided, pair[1].candidate.weight))
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


def _decided_pattern(found: Findings) -> str:
    """Where the user says that the label is in the name of a file; "" if nothing is said."""
    pattern = found.decided("label_in_name")
    try:
        groups = re.compile(pattern).groups if pattern else 1
    except re.error:
        groups = 0
    if groups != 1:
        wanted = "a regular expression whose only group is the label"
        raise UnusableValueError(key="label_in_name", value=pattern, wanted=wanted)
    return pattern


def describe_files(files: ExampleFiles, found: Findings, *, is_served: bool) -> None:
    """Settles where the files of the examples are and what they are called.

    Args:
        files: The files.
        found: Takes the findings.
        is_served: Whether an inference server hands out the test files.
    """
    source, test, records, medium = files.source, files.test_match, files.records, files.medium
    path = records[0].path if records else source.train.path if source.train is not None else ""
    is_needed = not is_served and source.labels_from not in ("records", "pixels")
    found.choose("labels_from", files.rivals)
    if source.pattern:
        classes = ", ".join(map(printable, source.classes[:_CLASSES_SHOWN]))
        found.settle("label_in_name", source.pattern, f"its group is the label, such as {classes}")
    found.settle(f"{medium}_column", source.column, _column_evidence(source))
    found.settle("train_folder", path, source.candidate.evidence)
    confidence = Confidence.THIN if is_needed and test is None else Confidence.SURE
    found.settle("test_folder", *_test_folder(test, records), confidence)
    found.settle(f"{medium}_suffix", *_suffix(source.match or test))
    if records:
        found.settle("record_id", *id_feature(records[0]), Confidence.LIKELY)
        found.settle("record_image", source.column, _column_evidence(source))
        found.settle("record_label", source.label, "the feature that the test records lack")


def _owns_several(id_column: str, source: LabelSource, tables: Tables) -> bool:
    """True if an id has several files, such as all slides of a patient: a table has a row for each of them."""
    test = tables.test
    if source.labels_from != "table" or source.column == id_column or test is None or tables.labels is not None:
        return False
    known = [table.column(id_column) for table in (test, tables.train) if table is not None]
    repeats = any(column is not None and column.present and not column.is_unique for column in known)
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
    others = [folder for folder in folders if folder.path not in in_train]
    named = _for_test(others)
    values = _test_values(tables, source.column, id_column)
    trees = folder_trees(folders) if values and "/" in values[0] else ()
    match = best_match(values, [*named, *trees]) or best_match(values, others)
    match = further_below(values, match, _for_test(with_bare_names(folder_trees(folders))))
    among_training = best_match(values, [train]) if train is not None else None
    if among_training is not None and among_training.is_seen and (match is None or not match.is_seen):
        return among_training
    if match is not None:
        return match
    largest = max(_wholes(named, folders), key=lambda folder: folder.files, default=None)
    if largest is not None:
        return FolderMatch(largest, largest.suffix, 0, 0.0, is_seen=False)
    empty = _empty_test_folder(survey) if tables.sample is not None else None
    if empty is None or train is None:
        return None
    return FolderMatch(empty, train.suffix, 0, 0.0, is_seen=False)


def _empty_test_folder(survey: Survey) -> CandidateFolder | None:
    """A folder that is named for the test and has hardly a file: some code competitions fill it when they score."""
    named = [folder for folder in survey.folders if words(folder.path) & TEST and not words(folder.path) & TRAIN]
    fewest = min(named, key=lambda folder: folder.files, default=None)
    is_empty = fewest is not None and fewest.files <= _HARDLY_A_FILE
    return CandidateFolder(fewest.path, (), (fewest,)) if fewest is not None and is_empty else None


def _for_test(folders: Sequence[CandidateFolder]) -> list[CandidateFolder]:
    return [folder for folder in folders if folder.words & TEST and not folder.words & TRAIN]


def _wholes(named: Sequence[CandidateFolder], folders: Sequence[CandidateFolder]) -> list[CandidateFolder]:
    """The folders that are named for the test themselves, with those in them: all of `test` for `test/cats`."""
    trees = {tree.path: tree for tree in folder_trees(folders)}
    wholes = []
    for folder in named:
        parts = folder.path.split("/")
        depth = next(depth for depth in range(len(parts), 0, -1) if words(parts[depth - 1]) & TEST)
        wholes.append(folder if depth == len(parts) else trees["/".join(parts[:depth])])
    return wholes


def _test_values(tables: Tables, file_column: str, id_column: str) -> tuple[str, ...]:
    named = ((tables.test, file_column), (tables.test, id_column), (tables.sample, id_column))
    columns = (table.column(name) for table, name in named if table is not None and name)
    return next((column.present for column in columns if column is not None), ())


def _column_evidence(source: LabelSource) -> str:
    match = source.match
    if not source.column:
        return "no column names the files"
    if match is None:
        return f'"{source.column}" begins like an image file'
    seen = f"{match.share:.0%} of its sampled values are seen as files there"
    return f"it names the files in {match.folder.path or 'the folder'}: {seen if match.is_seen else 'they look alike'}"


def _test_folder(test: FolderMatch | None, records: tuple[Records, ...]) -> tuple[str, str]:
    if len(records) > 1:
        return records[1].path, "its records have no class"
    if test is None:
        return "", "there are no test files"
    if test.is_seen:
        return test.folder.path, f"{test.share:.0%} of the sampled test ids are seen as files there"
    if not test.folder.names:
        return test.folder.path, "its name says so, and it is empty as long as nothing is scored"
    return test.folder.path, "its name says so" if not test.share else "the test ids look like the names of its files"


def _suffix(match: FolderMatch | None) -> tuple[str, str, Confidence]:
    if match is None:
        return "", "there are no files to name", Confidence.SURE
    if match.is_seen:
        example = f'files are named "<id>{match.suffix}"' if match.suffix else "the ids are whole file names"
        return match.suffix, example, Confidence.SURE
    evidence = f'most files of {match.folder.path} end in "{match.suffix}"'
    return match.suffix, evidence, Confidence.LIKELY
