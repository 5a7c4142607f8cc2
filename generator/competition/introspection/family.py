"""Which family of tasks this is, and what that family needs to know."""

from dataclasses import dataclass, replace

from generator.competition.facts import TargetKind
from generator.competition.introspection.audio import audio_details
from generator.competition.introspection.budget import budget
from generator.competition.introspection.clues import Clues
from generator.competition.introspection.errors import NoInputsError, UnusableValueError
from generator.competition.introspection.facts import Candidate, Finding, Hints
from generator.competition.introspection.features import Features, find_features
from generator.competition.introspection.folds import group_of_folds, time_of_folds
from generator.competition.introspection.image_targets import image_target_details
from generator.competition.introspection.images import channel_details, encoding_details, image_details, owner_details
from generator.competition.introspection.masks import mask_details
from generator.competition.introspection.places import Medium
from generator.competition.introspection.sequences import Groups, find_groups, sequence_details
from generator.competition.introspection.source import TABLE_FAMILIES, Source
from generator.competition.introspection.table_format import format_details, id_details
from generator.competition.introspection.tabular import column_details
from generator.competition.introspection.text import Prose, find_prose, text_details
from generator.competition.introspection.weighing import Reason, chosen, settled, weighed
from generator.competition.survey.facts import ColumnKind

_KEY = "family"
_IMAGE_FAMILIES = {
    TargetKind.CLASS: "image_classification",
    TargetKind.LABELS: "image_classification",
    TargetKind.NUMBER: "image_regression",
    TargetKind.MASK: "segmentation",
    TargetKind.IMAGE: "image_to_image",
}
_EACH_NUMBER, _MOST_FOR_NUMBERS = 0.2, 3.0


@dataclass(frozen=True)
class Contents:
    """What the tables hold beside ids and labels: the features, text to be read, rows in groups."""

    features: Features | None
    prose: Prose
    groups: Groups | None


def find_contents(clues: Clues, id_column: str, hints: Hints) -> Contents:
    """Looks for text and for groups of rows in the training table."""
    features = find_features(clues.tables, clues.targets, id_column)
    if features is None:
        return Contents(None, Prose((), ()), None)
    return Contents(features, find_prose(features), find_groups(clues.tables, features, hints))


def find_family(kind: TargetKind, clues: Clues, contents: Contents, hints: Hints) -> Finding:
    """Weighs the families.

    Raises:
        NoInputsError: There is nothing to predict from.
        UnusableValueError: The user decided on a family that the files do not allow.
    """
    candidates = [*_of_files(kind, clues), *_of_table(contents)]
    if not candidates:
        train, test = clues.tables.train, clues.tables.test
        raise NoInputsError(train=train.path if train else "", test=test.path if test else "the test data")
    decided = hints.overrides.get(_KEY)
    possible = [str(candidate.value) for candidate in candidates]
    if isinstance(decided, str) and decided not in possible and not _can_be_read_as_text(decided, contents):
        raise UnusableValueError(key=_KEY, value=decided, wanted=f"what the files allow, {' or '.join(possible)}")
    return chosen(_KEY, candidates, hints)


def _can_be_read_as_text(family: str, contents: Contents) -> bool:
    features = contents.features
    has_text = features is not None and any(column.kind is ColumnKind.TEXT for column in features.columns)
    return family == "text" and has_text


def find_details(family: str, clues: Clues, contents: Contents, hints: Hints, *, id_column: str) -> tuple[Finding, ...]:
    """The findings that a family needs, then what every family needs."""
    source = clues.source if family not in TABLE_FAMILIES else None
    features, groups, train = contents.features, contents.groups, clues.tables.train
    examples = source.examples if source is not None else train.rows if train is not None else 0
    examples //= len(clues.targets.row_labels) if source is not None and clues.targets.row_labels else 1
    folds = _folds(family, source, features, hints)
    has_table = source is None or source.labels_from in ("table", "pixels")
    if source is not None:
        details = _of_source(family, clues, source, hints)
    elif family == "text" and features is not None:
        details = text_details(contents.prose, features, hints)
    elif family == "sequence" and groups is not None and features is not None:
        details = sequence_details(groups, features, hints)
        examples = max(1, round(examples / groups.rows))
    else:
        group = next((str(finding.value) for finding in folds if finding.key == "group_column"), "")
        details = column_details(features, hints, group=group) if features is not None else ()
    settled_already = {finding.key for finding in details}
    folds = tuple(finding for finding in folds if finding.key not in settled_already)
    return (*details, *folds, *budget(examples, hints), *_format(clues, id_column, hints, has_training_table=has_table))


def _folds(family: str, source: Source | None, features: Features | None, hints: Hints) -> tuple[Finding, ...]:
    """What the folds depend on; a sequence has its groups anyway, and a text's notebook reads no dates."""
    is_from_table = source is None or source.labels_from in ("table", "pixels")
    if features is None or not is_from_table or family == "sequence":
        return ()
    group = group_of_folds(features, hints)
    return (group,) if family == "text" else (group, time_of_folds(features, hints))


def _of_files(kind: TargetKind, clues: Clues) -> list[Candidate]:
    source = clues.source
    if source is None:
        return []
    family = "audio" if source.medium is Medium.AUDIO else _IMAGE_FAMILIES[kind]
    reasons = [
        Reason(source.labelling.weight, source.labelling.evidence),
        Reason(2, f"{source.medium} files are what the examples are"),
    ]
    return [weighed(family, reasons)]


def _of_table(contents: Contents) -> list[Candidate]:
    features, prose, groups = contents.features, contents.prose, contents.groups
    if features is None or not features.columns:
        return []
    numbers = _EACH_NUMBER * len(features.measures)
    beside = f"{len(features.columns)} columns describe an example"
    found = [
        weighed(
            "tabular",
            [Reason(2, beside), Reason(min(_MOST_FOR_NUMBERS, numbers), f"{len(features.measures)} of them numbers")],
        )
    ]
    if prose.candidates:
        found.append(
            weighed("text", [Reason(prose.weight, prose.evidence), Reason(-numbers, "numbers describe an example too")])
        )
    if groups is not None:
        found.append(weighed("sequence", [Reason(groups.weight + 2, groups.evidence)]))
    return found


def _of_source(family: str, clues: Clues, source: Source, hints: Hints) -> tuple[Finding, ...]:
    if source.medium is Medium.AUDIO:
        sample = clues.tables.sample
        ids = sample.columns[0] if sample is not None and sample.columns else None
        return (*source.findings, *audio_details(source, clues.targets, ids, hints))
    more: tuple[Finding, ...] = ()
    if family == "segmentation":
        more = mask_details(clues, hints)
    elif family == "image_to_image":
        more = image_target_details(clues, hints)
    details = (*source.findings, *more, *image_details(source, clues.tables.train, clues.targets, hints))
    if not more:
        details = (*details, *channel_details(source, hints), *owner_details(source, clues.tables.train, hints))
    known = {finding.key: finding.value for finding in details}
    target = clues.companions.image if family == "image_to_image" else None
    of_a_file = 1 if "channel_suffixes" in known else int(str(known["channels"]))
    return (*details, *encoding_details(source, of_a_file, hints, *([target.place] if target is not None else [])))


def _rows(clues: Clues) -> str:
    labels = clues.targets.row_labels
    if not labels:
        return "a row of the training table is an example"
    return f"training rows are <id>_<label>, with {len(labels)} labels for each, as those of the sample submission"


def _format(clues: Clues, id_column: str, hints: Hints, *, has_training_table: bool) -> tuple[Finding, ...]:
    """How labels and tables are written, and where ids are."""
    separator = "" if clues.traits.is_run_length else clues.traits.separator
    lists = f'cells are lists, separated by "{separator}"' if separator else "a cell is one label"
    if clues.targets.row_labels:
        separator, lists = ",", "the labels of an example are put into one cell"
    tables = clues.tables if has_training_table else replace(clues.tables, train=None, labels=None)
    return (
        settled("label_separator", separator, lists, hints),
        settled("label_rows", bool(clues.targets.row_labels), _rows(clues), hints),
        *format_details(tables, hints),
        *id_details(tables, id_column, hints),
    )
