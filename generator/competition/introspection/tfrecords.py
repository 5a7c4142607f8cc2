"""TFRecords: which are for training and for the test, and their features with ids and labels."""

from generator.competition.introspection.vocabulary import TEST, TRAIN, VALIDATION, looks_like_id, words
from generator.competition.survey.facts import Records, Survey

_LARGEST_IMAGE = 224
_NAMES_READ = 10
_LABEL_WORDS = frozenset(("class", "label", "target"))


def training_records(survey: Survey) -> Records | None:
    """The records to train on: labelled, of the largest images that are not above 224 pixels."""
    fitting = [records for records in survey.records if records_role(records) == "train"]
    return max(fitting, key=_record_preference, default=None)


def test_records(survey: Survey, train: Records) -> Records | None:
    """The test records that belong to some training records: those nearest by their path."""
    fitting = [records for records in survey.records if records_role(records) == "test"]
    parent = train.path.rpartition("/")[0]
    return max(fitting, key=lambda records: records.path.rpartition("/")[0] == parent, default=None)


def further_records(train: Records, survey: Survey) -> list[str]:
    """The folders beside the training records whose records are neither for training nor for the test."""
    parent = train.path.rpartition("/")[0]
    beside = (records for records in survey.records if records.path.rpartition("/")[0] == parent)
    return [records.path for records in beside if not records_role(records) and records.path != train.path]


def records_role(records: Records) -> str:
    """The role of records by the names of their folder and files: "train", "test" or ""."""
    said = words(records.path) | words(" ".join(records.names[:_NAMES_READ]))
    return "" if said & VALIDATION else "test" if said & TEST else "train" if said & TRAIN else ""


def id_feature(train: Records) -> tuple[str, str]:
    """The feature with the id, and why: short text that is different everywhere, or that is named so."""
    texts = [feature for feature in train.features if feature.kind == "bytes" and not feature.is_image]
    unique = [feature.name for feature in texts if len(set(feature.values)) == len(feature.values) > 1]
    named = [feature.name for feature in texts if looks_like_id(feature.name)]
    best = [name for name in unique if name in named] + unique + named
    return (best[0], "it is different in every record") if best else ("id", "its usual name")


def label_feature(train: Records, survey: Survey) -> str:
    """The feature with the class: one that the test records lack, or one that is named so; "" if there is none."""
    test = test_records(survey, train)
    in_test = {feature.name for feature in test.features} if test is not None else set()
    whole = [feature.name for feature in train.features if feature.kind == "int64" and feature.length == 1]
    named = [name for name in whole if words(name) & _LABEL_WORDS]
    lacking = [name for name in whole if test is not None and name not in in_test]
    return next(iter([name for name in lacking if name in named] + lacking + named), "")


def _record_preference(records: Records) -> tuple[bool, int]:
    size = max(records.image.width, records.image.height) if records.image is not None else 0
    return size <= _LARGEST_IMAGE, size if size <= _LARGEST_IMAGE else -size
