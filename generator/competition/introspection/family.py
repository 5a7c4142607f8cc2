"""The family of the task, and what that family needs to know."""

from dataclasses import replace

from generator.competition.facts import Medium, TargetKind
from generator.competition.introspection.audio import settle_audio
from generator.competition.introspection.cross_validation import find_repeated_ids, settle_folds
from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.errors import IntrospectionError, UnknownKeyError, UnusableValueError, listed
from generator.competition.introspection.example_files import ExampleFiles, describe_files
from generator.competition.introspection.feature_types import settle_columns
from generator.competition.introspection.findings import Candidate, Findings, Reason, weighed
from generator.competition.introspection.images import (
    settle_channels,
    settle_encoding,
    settle_images,
    settle_owners,
    settle_target_images,
    tiles_of_an_image,
)
from generator.competition.introspection.masks import settle_masks
from generator.competition.introspection.row_ids import settle_row_ids
from generator.competition.introspection.sequences import settle_sequences
from generator.competition.introspection.table_format import settle_format
from generator.competition.introspection.text import settle_texts
from generator.competition.introspection.training_budget import settle_budget
from generator.competition.schema import Family, families
from generator.competition.survey.facts import Column, ColumnKind
from generator.untrusted import printable

_KEY = "family"
_EACH_NUMBER, _MOST_FOR_NUMBERS = 0.2, 3.0


def find_family(kind: TargetKind, seen: Observations, found: Findings) -> Family:
    """Weighs the families.

    Raises:
        IntrospectionError: There is nothing to predict from.
        UnusableValueError: The user decided on a family that the files do not allow.
    """
    candidates = [*_of_files(kind, seen.files), *_of_table(seen)]
    if not candidates:
        tables = seen.tables
        train, test = tables.train.path if tables.train else "", tables.test.path if tables.test else "the test data"
        raise IntrospectionError(
            f"There is nothing to predict from: {printable(train)} and {printable(test)} share no column beside the "
            "id, and no files belong to their rows; name other tables with --train or --test."
        )
    decided, possible = found.decided(_KEY), [str(candidate.value) for candidate in candidates]
    if decided and decided not in possible and not _can_be_read_as_text(decided, seen):
        raise UnusableValueError(key=_KEY, value=decided, wanted=f"what the files allow, {' or '.join(possible)}")
    return families()[str(found.choose(_KEY, candidates))]


def settle_details(family: Family, seen: Observations, found: Findings, *, is_served: bool) -> None:
    """Settles what a family needs to know, then what every family needs.

    Args:
        family: The family.
        seen: What was seen.
        found: Takes the findings.
        is_served: Whether an inference server hands out the test data.

    Raises:
        IntrospectionError: Nothing leads from the test rows to the ids that are asked for.
        UnknownKeyError: The user said what ids are made of where they name files.
    """
    files = seen.files if family.medium.is_files else None
    features, groups, train = seen.features, seen.groups, seen.tables.train
    has_table = files is None or files.source.is_table
    examples = files.examples if files is not None else train.rows if train is not None else 0
    tiles, folds = 1, Findings(found.hints)
    if features is not None and has_table:
        of_ids = seen.row_ids.columns[:1] if seen.row_ids else ()
        repeated = _repeated_ids(family, seen, found)
        settle_folds(features, family.folds_by, folds, of_ids=of_ids, repeated=repeated)
    if files is not None:
        examples //= len(seen.targets.row_labels) or 1
        if files.source.train is not None:  # a mask of each class may have a row of its own
            examples = min(examples, files.source.train.files)
        _settle_files(family, seen, files, found, is_served=is_served)
        tiles = tiles_of_an_image(files, found)
    elif family.medium is Medium.TEXT and features is not None:
        settle_texts(seen.texts, features, examples, found)
        missing = sorted({word for column in seen.targets.columns for word in column.null_words - column.distinct})
        evidence = f"{listed(missing)} is no label" if missing else "no such word is in a target"
        found.settle("missing_words", missing, evidence)
    elif family.medium is Medium.SEQUENCE and groups is not None and features is not None:
        settle_sequences(groups, features, found, family)
        examples = max(1, round(examples / groups.rows))
    elif features is not None:
        group = str(folds["group_column"].value) if "group_column" in folds else ""
        settle_columns(features, found, family, group=group)
    found.update({key: finding for key, finding in folds.items() if key not in found})
    settle_budget(family.name, examples, found, tiles=tiles)
    _settle_label_cells(seen, found)
    tables = seen.tables if has_table else replace(seen.tables, train=None, labels=None)
    settle_format(tables, str(found["id_column"].value), seen.targets, found)
    if files is None:
        settle_row_ids(seen.row_ids, seen.tables, seen.targets, found)
    elif "has_sample_ids" in found:
        sample = seen.tables.sample.path if seen.tables.sample is not None else ""
        raise IntrospectionError(
            f"{printable(sample)} has no column of ids, by which the notebooks find the file of a row: put one into a "
            "copy of it, and name that with --sample."
        )
    elif "id_columns" in found.hints.overrides:
        raise UnknownKeyError(key="id_columns", family=family.name, keys=found)


def _repeated_ids(family: Family, seen: Observations, found: Findings) -> tuple[Column, str] | None:
    """The ids that several rows have; None for sequences and masks, of which an example usually has several rows."""
    has_pictures = TargetKind.MASK in family.targets or TargetKind.IMAGE in family.targets
    if family.medium is Medium.SEQUENCE or has_pictures or seen.targets.row_labels:
        return None
    files = seen.files.source.column if family.medium.is_files and seen.files is not None else ""
    return find_repeated_ids(seen.tables, (str(found["id_column"].value), files), seen.targets.names)


def _can_be_read_as_text(name: str, seen: Observations) -> bool:
    family, features = families().get(name), seen.features
    has_text = features is not None and any(column.kind is ColumnKind.TEXT for column in features.columns)
    return family is not None and family.medium is Medium.TEXT and has_text


def _of_files(kind: TargetKind, files: ExampleFiles | None) -> list[Candidate]:
    if files is None:
        return []
    reasons = [
        Reason(files.source.candidate.weight, files.source.candidate.evidence),
        Reason(2, f"{files.medium} files are what the examples are"),
    ]
    of_medium = [family for family in families().values() if family.medium is files.medium]
    fitting = [family for family in of_medium if kind in family.targets] or of_medium
    return [weighed(family.name, reasons) for family in fitting]


def _of_table(seen: Observations) -> list[Candidate]:
    features, text, groups = seen.features, seen.texts.best, seen.groups
    if features is None or not features.columns:
        return []
    numbers = _EACH_NUMBER * len(features.measures)
    beside = f"{len(features.columns)} columns describe an example"
    measured = f"{len(features.measures)} of them numbers"
    reasons = {Medium.ROW: [Reason(2, beside), Reason(min(_MOST_FOR_NUMBERS, numbers), measured)]}
    if text is not None:
        beside_text = Reason(-numbers, "numbers describe an example too")
        reasons[Medium.TEXT] = [Reason(text.weight, text.evidence), beside_text]
    if groups is not None:
        reasons[Medium.SEQUENCE] = [Reason(groups.candidate.weight + 2, groups.candidate.evidence)]
    known = families().values()
    return [weighed(each.name, why) for medium, why in reasons.items() for each in known if each.medium is medium]


def _settle_files(family: Family, seen: Observations, files: ExampleFiles, found: Findings, *, is_served: bool) -> None:
    if not files.source.is_table:
        for key in ("train_table", "labels_table"):
            found.settle(key, "", f"the labels come from {files.source.labels_from}, not from a table")
    describe_files(files, found, is_served=is_served)
    if family.medium is Medium.AUDIO:
        settle_audio(seen, files, found)
        return
    predicts_masks, predicts_images = TargetKind.MASK in family.targets, TargetKind.IMAGE in family.targets
    if predicts_masks:
        settle_masks(seen, found)
    elif predicts_images:
        settle_target_images(seen, found)
    settle_images(seen, files, found)
    if not predicts_masks and not predicts_images:
        settle_channels(files, found)
        settle_owners(files, seen.tables.train, found)
    settle_encoding(files, seen.target_images if predicts_images else None, found)


def _settle_label_cells(seen: Observations, found: Findings) -> None:
    """Settles how labels are written: one in a cell, several in a cell, or several rows for an example."""
    separator, labels = "" if seen.labels.is_run_length else seen.labels.separator, seen.targets.row_labels
    lists = f'cells are lists, separated by "{separator}"' if separator else "a cell is one label"
    rows = "a row of the training table is an example"
    if labels:
        separator, lists = ",", "the labels of an example are put into one cell"
        rows = f"training rows are <id>_<label>, with {len(labels)} labels for each, as those of the sample submission"
    found.settle("label_separator", separator, lists)
    found.settle("label_rows", bool(labels), rows)
