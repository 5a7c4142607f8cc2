"""Where the inputs and labels of the examples come from, where these are files, records or pixels."""

from dataclasses import dataclass

from generator.competition.introspection.facts import Candidate, Confidence, Finding, Hints
from generator.competition.introspection.labelling import Labelling, labellings
from generator.competition.introspection.places import Match, Medium, Place, match_of, places_of, trees_of
from generator.competition.introspection.records import id_feature, test_records, training_records
from generator.competition.introspection.tables import Tables
from generator.competition.introspection.weighing import best_first, chosen, settled
from generator.competition.introspection.words import TEST, TRAIN
from generator.competition.survey.facts import AudioFormat, ImageFormat, Records, Survey

TABLE_FAMILIES = frozenset(("tabular", "sequence", "text"))
_LEAST_BESIDE_A_TABLE = 1.5


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
    """

    medium: Medium
    labelling: Labelling
    test: Place | None
    parts: int
    records: tuple[Records, ...]
    examples: int
    findings: tuple[Finding, ...]

    @property
    def labels_from(self) -> str:
        """Where the labels are."""
        return self.labelling.labels_from

    @property
    def has_test(self) -> bool:
        """Whether test files or records were found."""
        return self.test is not None or len(self.records) > 1

    @property
    def images(self) -> ImageFormat | None:
        """What the training images are like."""
        if self.records:
            return next((feature.image for feature in self.records[0].features if feature.image is not None), None)
        train = self.labelling.train
        return next((found.images for found in train.folders if found.images), None) if train is not None else None

    @property
    def audio(self) -> AudioFormat | None:
        """What the training sounds are like."""
        train = self.labelling.train
        return next((found.audio for found in train.folders if found.audio), None) if train is not None else None


def find_source(survey: Survey, tables: Tables, id_column: str, hints: Hints) -> Source | None:
    """Finds the files of the examples; None if the tables have everything, or if the user says so."""
    if hints.overrides.get("family") in TABLE_FAMILIES:
        return None
    least = 0 if tables.train is None else _LEAST_BESIDE_A_TABLE
    found = [(medium, way) for medium, way in labellings(survey, tables) if way.weight > least]
    if not found:
        return None
    decided = hints.overrides.get("labels_from")
    medium, labelling = max(found, key=lambda pair: (pair[1].labels_from == decided, pair[1].weight))
    rivals = best_first(Candidate(other.labels_from, other.evidence, other.weight) for _, other in found)
    return _source(survey, tables, _Choice(medium, labelling, rivals, id_column), hints)


@dataclass(frozen=True)
class _Choice:
    medium: Medium
    labelling: Labelling
    rivals: tuple[Candidate, ...]
    id_column: str


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
    )


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
    named = [place for place in others if place.words & TEST and not place.words & TRAIN]
    values = _test_values(tables, choice)
    trees = trees_of(places) if values and "/" in values[0] else ()
    match = match_of(values, [*named, *trees]) or match_of(values, others)
    in_train = match_of(values, [labelling.train]) if labelling.train is not None else None
    if in_train is not None and in_train.is_seen and (match is None or not match.is_seen):
        return in_train
    if match is not None:
        return match
    place = max(named, key=lambda place: place.files, default=None)
    return Match(place, place.suffix, 0, 0.0, is_seen=False) if place is not None else None


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
    return (
        chosen("labels_from", choice.rivals, hints),
        settled(f"{medium}_column", labelling.column, _column_evidence(labelling), hints),
        _folder("train_folder", _train_path(labelling, records), labelling.evidence, hints),
        _folder("test_folder", *_test_path(test, records), hints),
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
    return test.place.path, "its name says so" if not test.share else "the test ids look like the names of its files"


def _folder(key: str, path: str, evidence: str, hints: Hints) -> Finding:
    return settled(key, path, evidence, hints)


def _suffix(labelling: Labelling, test: Match | None, medium: Medium, hints: Hints) -> Finding:
    match = labelling.match or test
    if match is None:
        return settled(f"{medium}_suffix", "", "there are no files to name", hints)
    if match.is_seen:
        example = f'files are named "<id>{match.suffix}"' if match.suffix else "the ids are whole file names"
        return settled(f"{medium}_suffix", match.suffix, example, hints)
    evidence = f'most files of {match.place.path} end in "{match.suffix}"'
    return settled(f"{medium}_suffix", match.suffix, evidence, hints, confidence=Confidence.LIKELY)
