"""Which family of tasks this is, and what that family needs to know."""

from dataclasses import dataclass, replace

from generator.competition.facts import Medium, TargetKind
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
from generator.competition.introspection.sequences import Groups, find_groups, sequence_details
from generator.competition.introspection.source import Source
from generator.competition.introspection.table_format import format_details, id_details, null_word_details
from generator.competition.introspection.tabular import column_details
from generator.competition.introspection.text import Prose, find_prose, text_details
from generator.competition.introspection.weighing import Reason, chosen, settled, weighed
from generator.competition.schema import Family, families
from generator.competition.survey.facts import ColumnKind

_KEY = "family"
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


def _can_be_read_as_text(name: str, contents: Contents) -> bool:
    family, features = families().get(name), contents.features
    has_text = features is not None and any(column.kind is ColumnKind.TEXT for column in features.columns)
    return family is not None and family.medium is Medium.TEXT and has_text


def find_details(
    family: Family, clues: Clues, contents: Contents, hints: Hints, *, id_column: str
) -> tuple[Finding, ...]:
    """The findings that a family needs, then what every family needs."""
    source = clues.source if family.medium.is_files else None
    features, groups, train = contents.features, contents.groups, clues.tables.train
    examples = source.examples if source is not None else train.rows if train is not None else 0
    examples //= len(clues.targets.row_labels) if source is not None and clues.targets.row_labels else 1
    folds = _folds(family, source, features, hints)
    has_table = source is None or source.labels_from in ("table", "pixels")
    if source is not None:
        details = _of_source(family, clues, source, hints)
    elif family.medium is Medium.TEXT and features is not None:
        details = text_details(contents.prose, features, hints)
    elif family.medium is Medium.SEQUENCE and groups is not None and features is not None:
        details = sequence_details(groups, features, hints)
        examples = max(1, round(examples / groups.rows))
    else:
        group = next((str(finding.value) for finding in folds if finding.key == "group_column"), "")
        details = column_details(features, hints, group=group) if features is not None else ()
    settled_already = {finding.key for finding in details}
    folds = tuple(finding for finding in folds if finding.key not in settled_already)
    return (*details, *folds, *budget(examples, hints), *_format(clues, id_column, hints, has_training_table=has_table))


def _folds(family: Family, source: Source | None, features: Features | None, hints: Hints) -> tuple[Finding, ...]:
    """What the folds depend on, of what the family's notebooks read."""
    is_from_table = source is None or source.labels_from in ("table", "pixels")
    if features is None or not is_from_table:
        return ()
    found = (group_of_folds(features, hints), time_of_folds(features, hints))
    return tuple(finding for finding in found if finding.key in family.folds_by)


def _of_files(kind: TargetKind, clues: Clues) -> list[Candidate]:
    source = clues.source
    if source is None:
        return []
    reasons = [
        Reason(source.labelling.weight, source.labelling.evidence),
        Reason(2, f"{source.medium} files are what the examples are"),
    ]
    of_medium = [family for family in families().values() if family.medium is source.medium]
    fitting = [family for family in of_medium if kind in family.targets] or of_medium
    return [weighed(family.name, reasons) for family in fitting]


def _of_table(contents: Contents) -> list[Candidate]:
    features, prose, groups = contents.features, contents.prose, contents.groups
    if features is None or not features.columns:
        return []
    numbers = _EACH_NUMBER * len(features.measures)
    beside = f"{len(features.columns)} columns describe an example"
    measured = f"{len(features.measures)} of them numbers"
    reasons = {Medium.ROW: [Reason(2, beside), Reason(min(_MOST_FOR_NUMBERS, numbers), measured)]}
    if prose.candidates:
        beside_text = Reason(-numbers, "numbers describe an example too")
        reasons[Medium.TEXT] = [Reason(prose.weight, prose.evidence), beside_text]
    if groups is not None:
        reasons[Medium.SEQUENCE] = [Reason(groups.weight + 2, groups.evidence)]
    known = families().values()
    return [weighed(each.name, why) for medium, why in reasons.items() for each in known if each.medium is medium]


def _of_source(family: Family, clues: Clues, source: Source, hints: Hints) -> tuple[Finding, ...]:
    if family.medium is Medium.AUDIO:
        sample = clues.tables.sample
        ids = sample.columns[0] if sample is not None and sample.columns else None
        return (*source.findings, *audio_details(source, clues.targets, ids, hints))
    more: tuple[Finding, ...] = ()
    if TargetKind.MASK in family.targets:
        more = mask_details(clues, hints)
    elif TargetKind.IMAGE in family.targets:
        more = image_target_details(clues, hints)
    details = (*source.findings, *more, *image_details(source, clues.tables.train, clues.targets, hints))
    if not more:
        details = (*details, *channel_details(source, hints), *owner_details(source, clues.tables.train, hints))
    known = {finding.key: finding.value for finding in details}
    target = clues.companions.image if TargetKind.IMAGE in family.targets else None
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
        *null_word_details(tables, (id_column, *clues.targets.names), hints),
        *id_details(tables, id_column, hints),
    )
