"""Where the inputs and labels of the examples come from, where these are files, records or pixels."""

from collections.abc import Sequence
from dataclasses import dataclass

from generator.competition.facts import Medium
from generator.competition.introspection.facts import Candidate, Confidence, Finding, Hints
from generator.competition.introspection.labelling import Labelling, labellings
from generator.competition.introspection.places import (
    Match,
    Place,
    further_below,
    match_of,
    places_of,
    scattered,
    trees_of,
)
from generator.competition.introspection.records import id_feature, test_records, training_records
from generator.competition.introspection.tables import Tables
from generator.competition.introspection.weighing import best_first, chosen, settled
from generator.competition.introspection.words import TEST, TRAIN, words
from generator.competition.schema import families
from generator.competition.survey.facts import AudioFormat, ImageFormat, Records, Survey

_LEAST_BESIDE_A_TABLE = 1.5
_HARDLY_A_FILE = 2  # a text that says so


@dataclass(frozen=True)
class Source:
    """Files, records or pixels of examples, with the findings on them.

    Attributes:
        medium: Images or sounds.
        labelling: How they are labelled.
        test: The folder of the test files, or None.
        parts: How many parts of an id follow the example's name in it.
        records: The training and the test records, where there are some.
        examples: How many training examples there are.
        findings: From the labels to the test folder.
        owner_column: The id column of the submission, where an id has several images; else "".
    """

    medium: Medium
    labelling: Labelling
    test: Place | None
    parts: int
    records: tuple[Records, ...]
    examples: int
    findings: tuple[Finding, ...]
    owner_column: str = ""

    @property
    def labels_from(self) -> str:
        """Where the labels are."""
        return self.labelling.labels_from

    @property
    def has_test(self) -> bool:
        """Whether test files or records were found."""
        return self.test is not None or len(self.records) > 1

    @property
    def has_examples(self) -> bool:
        """Whether both training and test examples were found."""
        return self.has_test or self.labels_from == "pixels"

    @property
    def images(self) -> ImageFormat | None:
        """What the training images are like."""
        if self.records:
            return image_of(self.records[0])
        train = self.labelling.train
        return next((found.images for found in train.folders if found.images), None) if train is not None else None

    @property
    def audio(self) -> AudioFormat | None:
        """What the training sounds are like."""
        train = self.labelling.train
        known = [found for found in train.folders if found.audio] if train is not None else []
        # That of the middle folder: minutes of noise may have one of their own beside words of a second.
        known.sort(key=lambda found: found.audio.seconds if found.audio else 0.0)
        return known[(len(known) - 1) // 2].audio if known else None


def image_of(records: Records) -> ImageFormat | None:
    """What the images of records are like; None if they have none."""
    return next((feature.image for feature in records.features if feature.image is not None), None)


def find_source(survey: Survey, tables: Tables, id_column: str, hints: Hints) -> Source | None:
    """Finds the files of the examples; None if the tables have everything, or if the user says so."""
    family = families().get(str(hints.overrides.get("family")))
    if family is not None and not family.medium.is_files:
        return None
    least = 0 if tables.train is None else _LEAST_BESIDE_A_TABLE
    found = [(medium, way) for medium, way in labellings(survey, tables) if way.weight > least]
    if not found:
        return None
    decided = hints.overrides.get("labels_from")
    medium, labelling = max(found, key=lambda pair: (pair[1].labels_from == decided, pair[1].weight))
    # Another column that names the same files is no other way.
    ways = {_way_of(way): way for _, way in sorted(found, key=lambda pair: pair[1].weight)}
    rivals = best_first(Candidate(way.labels_from, way.evidence, way.weight) for way in ways.values())
    return _source(
        survey, tables, _Choice(medium, labelling, rivals, id_column, is_served=survey.server is not None), hints
    )


def _way_of(labelling: Labelling) -> tuple[str, str]:
    return labelling.labels_from, labelling.train.path if labelling.train is not None else ""


@dataclass(frozen=True)
class _Choice:
    medium: Medium
    labelling: Labelling
    rivals: tuple[Candidate, ...]
    id_column: str
    is_served: bool


def _source(survey: Survey, tables: Tables, choice: _Choice, hints: Hints) -> Source:
    labelling = choice.labelling
    train_records = training_records(survey) if labelling.labels_from == "records" else None
    records: tuple[Records, ...] = ()
    test = None
    if train_records is not None:
        records = tuple(part for part in (train_records, test_records(survey, train_records)) if part is not None)
    elif labelling.labels_from != "pixels":
        test = _test_match(survey, tables, choice)
    return Source(
        medium=choice.medium,
        labelling=labelling,
        test=test.place if test is not None else None,
        parts=test.parts if test is not None else 0,
        records=records,
        examples=_examples(tables, labelling, train_records),
        findings=_findings(choice, test, records, hints),
        owner_column=choice.id_column if _owns_several(choice.id_column, labelling, tables) else "",
    )


def _owns_several(id_column: str, labelling: Labelling, tables: Tables) -> bool:
    """Whether an id has several files, such as all slides of a patient: a table has a row for each of them."""
    test = tables.test
    if labelling.labels_from != "table" or labelling.column == id_column or test is None or tables.labels is not None:
        return False
    known = [table.column(id_column) for table in (test, tables.train) if table is not None]
    repeats = any(column is not None and column.present and not column.is_unique for column in known)
    return repeats and {id_column, labelling.column} <= set(test.column_names)


def _examples(tables: Tables, labelling: Labelling, records: Records | None) -> int:
    if records is not None:
        return records.examples
    if labelling.labels_from in ("table", "pixels") and tables.train is not None:
        return tables.train.rows
    return labelling.train.files if labelling.train is not None else 0


def _test_match(survey: Survey, tables: Tables, choice: _Choice) -> Match | None:
    """Where the test files are: where the test ids lead, else the folder that is named so."""
    places = places_of(survey, choice.medium)
    labelling = choice.labelling
    others = [place for place in places if place is not labelling.train and not _is_inside(place, labelling.train)]
    named = _for_test(others)
    values = _test_values(tables, choice)
    trees = trees_of(places) if values and "/" in values[0] else ()
    match = match_of(values, [*named, *trees]) or match_of(values, others)
    match = further_below(values, match, _for_test(scattered(trees_of(places))))
    in_train = match_of(values, [labelling.train]) if labelling.train is not None else None
    if in_train is not None and in_train.is_seen and (match is None or not match.is_seen):
        return in_train
    if match is not None:
        return match
    place = max(_wholes(named, places), key=lambda place: place.files, default=None)
    if place is not None:
        return Match(place, place.suffix, 0, 0.0, is_seen=False)
    empty = _empty_test_folder(survey) if tables.sample is not None else None
    if empty is None or labelling.train is None:
        return None
    return Match(empty, labelling.train.suffix, 0, 0.0, is_seen=False)


def _empty_test_folder(survey: Survey) -> Place | None:
    """A folder that is named for the test and has hardly a file: some code competitions fill it when they score."""
    named = [folder for folder in survey.folders if words(folder.path) & TEST and not words(folder.path) & TRAIN]
    fewest = min(named, key=lambda folder: folder.files, default=None)
    is_empty = fewest is not None and fewest.files <= _HARDLY_A_FILE
    return Place(fewest.path, (), (fewest,)) if fewest is not None and is_empty else None


def _for_test(places: Sequence[Place]) -> list[Place]:
    return [place for place in places if place.words & TEST and not place.words & TRAIN]


def _wholes(named: Sequence[Place], places: Sequence[Place]) -> list[Place]:
    """The folders that are named for the test themselves, with those in them: all of `test` for `test/cats`."""
    trees = {tree.path: tree for tree in trees_of(places)}
    wholes = []
    for place in named:
        parts = place.path.split("/")
        depth = next(depth for depth in range(len(parts), 0, -1) if words(parts[depth - 1]) & TEST)
        path = "/".join(parts[:depth])
        wholes.append(place if depth == len(parts) else trees[path])
    return wholes


def _is_inside(place: Place, tree: Place | None) -> bool:
    return tree is not None and any(folder.path == place.path for folder in tree.folders)


def _test_values(tables: Tables, choice: _Choice) -> tuple[str, ...]:
    for table, name in (
        (tables.test, choice.labelling.column),
        (tables.test, choice.id_column),
        (tables.sample, choice.id_column),
    ):
        column = table.column(name) if table is not None and name else None
        if column is not None:
            return column.present
    return ()


def _findings(choice: _Choice, test: Match | None, records: tuple[Records, ...], hints: Hints) -> tuple[Finding, ...]:
    labelling, medium = choice.labelling, choice.medium
    is_needed = not choice.is_served and labelling.labels_from not in ("records", "pixels")
    return (
        chosen("labels_from", choice.rivals, hints),
        settled(f"{medium}_column", labelling.column, _column_evidence(labelling), hints),
        settled("train_folder", _train_path(labelling, records), labelling.evidence, hints),
        _test_folder(test, records, hints, is_needed=is_needed),
        _suffix(labelling, test, medium, hints),
        *_record_features(labelling, records, hints),
    )


def _record_features(labelling: Labelling, records: tuple[Records, ...], hints: Hints) -> tuple[Finding, ...]:
    if not records:
        return ()
    key, why = id_feature(records[0])
    return (
        settled("record_id", key, why, hints, confidence=Confidence.LIKELY),
        settled("record_image", labelling.column, _column_evidence(labelling), hints),
        settled("record_label", labelling.label, "the feature that the test records lack", hints),
    )


def _column_evidence(labelling: Labelling) -> str:
    match = labelling.match
    if not labelling.column:
        return "no column names the files"
    if match is None:
        return f'"{labelling.column}" begins like an image file'
    seen = f"{match.share:.0%} of its sampled values are seen as files there"
    return f"it names the files in {match.place.path or 'the folder'}: {seen if match.is_seen else 'they look alike'}"


def _train_path(labelling: Labelling, records: tuple[Records, ...]) -> str:
    if records:
        return records[0].path
    return labelling.train.path if labelling.train is not None else ""


def _test_path(test: Match | None, records: tuple[Records, ...]) -> tuple[str, str]:
    if len(records) > 1:
        return records[1].path, "its records have no class"
    if test is None:
        return "", "there are no test files"
    if test.is_seen:
        return test.place.path, f"{test.share:.0%} of the sampled test ids are seen as files there"
    if not test.place.names:
        return test.place.path, "its name says so, and it is empty as long as nothing is scored"
    return test.place.path, "its name says so" if not test.share else "the test ids look like the names of its files"


def _test_folder(test: Match | None, records: tuple[Records, ...], hints: Hints, *, is_needed: bool) -> Finding:
    path, evidence = _test_path(test, records)
    confidence = Confidence.THIN if is_needed and test is None else Confidence.SURE
    return settled("test_folder", path, evidence, hints, confidence=confidence)


def _suffix(labelling: Labelling, test: Match | None, medium: Medium, hints: Hints) -> Finding:
    match = labelling.match or test
    if match is None:
        return settled(f"{medium}_suffix", "", "there are no files to name", hints)
    if match.is_seen:
        example = f'files are named "<id>{match.suffix}"' if match.suffix else "the ids are whole file names"
        return settled(f"{medium}_suffix", match.suffix, example, hints)
    evidence = f'most files of {match.place.path} end in "{match.suffix}"'
    return settled(f"{medium}_suffix", match.suffix, evidence, hints, confidence=Confidence.LIKELY)
