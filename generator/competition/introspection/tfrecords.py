"""TFRecords: which are for training and for the test, and their features with ids and labels."""

from dataclasses import replace
from itertools import takewhile

from generator.competition.introspection.vocabulary import TEST, TRAIN, VALIDATION, is_below, looks_like_id, words
from generator.competition.survey.facts import Records, Survey

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
    labelled = [records for records in around if label in {feature.name for feature in records.features}]
    needed = {feature.name for feature in train.features}
    sizes = {(image.width, image.height) for records in labelled if (image := records.image) and image.is_uniform}
    have_all = all(needed <= {feature.name for feature in records.features} for records in labelled)
    has_test = any(records_role(records) == "test" for records in labelled)
    if not train.path or labelled == [train] or len(sizes) > 1 or has_test or not have_all:
        return train
    return replace(train, path=parent, examples=sum(records.examples for records in labelled))


def further_records(train: Records, survey: Survey) -> list[str]:
    """The folders beside those that are trained on whose records are neither for training nor for the test."""
    parent = train.path.rpartition("/")[0]
    beside = (records for records in survey.records if records.path.rpartition("/")[0] == parent)
    return [records.path for records in beside if not records_role(records) and not is_below(records.path, train.path)]


def records_role(records: Records) -> str:
    """The role of records by the names of their folder and files: "train", "test" or ""."""
    of_files = words(" ".join(records.names[:_NAMES_READ]))
    said = words(records.path) | of_files
    if of_files & TRAIN and of_files & VALIDATION and not said & TEST:
        return "train"  # files of both are in one folder, and have the same features
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


def _shared_path(one: Records, other: Records) -> list[str]:
    """The folders at the beginning of both paths."""
    pairs = zip(one.path.split("/"), other.path.split("/"), strict=False)
    return [folder for folder, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def _record_preference(records: Records) -> tuple[bool, int]:
    size = max(records.image.width, records.image.height) if records.image is not None else 0
    return size <= _LARGEST_IMAGE, size if size <= _LARGEST_IMAGE else -size
