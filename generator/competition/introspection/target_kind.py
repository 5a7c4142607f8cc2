"""The kind of target: a class, several labels, numbers, a mask or an image."""

from generator.competition.facts import TargetKind
from generator.competition.introspection.candidate_folders import FolderMatch
from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.findings import Findings, Reason, weighed
from generator.competition.introspection.run_length import is_run_length
from generator.competition.schema import families
from generator.competition.survey.facts import ColumnKind

_FEW_CLASSES, _MANY_NUMBERS = 20, 50


def find_target_kind(seen: Observations, found: Findings) -> TargetKind:
    """Weighs the kinds of target."""
    by_kind = {
        TargetKind.CLASS: _for_class(seen),
        TargetKind.LABELS: _for_labels(seen),
        TargetKind.NUMBER: _for_number(seen),
        TargetKind.MASK: _for_mask(seen),
        TargetKind.IMAGE: [Reason(6 * (seen.target_images is not None), _further(seen.target_images))],
    }
    found.choose(
        "target_kind",
        [weighed(kind, [*why, *_as_said(kind, seen, found.decided("family"))]) for kind, why in by_kind.items()],
    )
    return found.member("target_kind", TargetKind)


def _as_said(kind: TargetKind, seen: Observations, decided: str) -> list[Reason]:
    """The reasons that metric and family give, where they are known."""
    metric, family = seen.metric, families().get(decided)
    alike = (other for other in families().values() if family is not None and other.medium is family.medium)
    # A family says what is predicted where others of its medium predict something else.
    says = family is not None and {kind for other in alike for kind in other.targets} > set(family.targets)
    is_allowed, named = family is not None and kind in family.targets, f"the family is {family.name if family else ''}"
    fits = metric.fits(kind, classes=seen.classes)
    is_exact = metric.facts is not None and kind in metric.facts.target_kinds
    has_files = seen.files is not None or kind not in (TargetKind.MASK, TargetKind.IMAGE)
    return [
        Reason(-8 * (not has_files), "there are no images"),
        Reason(4 * is_exact, f"{metric.name} is computed for it"),
        Reason(1 * (fits and not is_exact), f"a form of {metric.name} is computed for it"),
        Reason(-3 * (bool(metric.name) and not fits), f"{metric.name} is not computed for it"),
        Reason((8 if is_allowed else -8) * says, named),
    ]


def _for_class(seen: Observations) -> list[Reason]:
    targets, labels, files = seen.targets, seen.labels, seen.files
    has_few = not labels.is_text and not labels.is_measured and 1 < labels.distinct <= _FEW_CLASSES
    is_said_by_files = files is not None and bool(files.source.classes or files.records)
    is_column = len(targets.names) == 1
    are_columns = targets.are_classes_asked and not labels.separator
    are_rows = bool(targets.row_labels)
    return [
        Reason(3 * (labels.is_text and not labels.separator and not labels.is_run_length), "its labels are names"),
        Reason(4 * are_columns, "the sample submission has a column for each class"),
        Reason(4 * is_said_by_files, "the files say the class"),
        Reason(4 * labels.is_one_hot, "exactly one of the columns is 1 in each row"),
        Reason(4 * (is_column and labels.is_binary and not labels.is_measured), "there are two different values"),
        Reason(3 * (is_column and has_few and not labels.is_binary), f"there are {labels.distinct} whole numbers"),
        Reason(3 * _asks_for_names(seen), "the sample submission has names, or several labels in a cell"),
        Reason(-1.5 * _asks_for_measures(seen), "the sample submission has fractions"),
        Reason(-4 * (labels.is_measured and labels.distinct > _FEW_CLASSES), "its values have fractions"),
        Reason(-4 * are_rows, "a row is for one label of several"),
        Reason(-2 * labels.is_different_everywhere, "no label occurs twice"),
    ]


def _asks_for_measures(seen: Observations) -> bool:
    """True if the sample has numbers with a point where the labels are more than two whole numbers."""
    targets, labels = seen.targets, seen.labels
    has_points = any(column.kind is ColumnKind.NUMBER for column in targets.answers)
    return len(targets.asked) == 1 and has_points and not labels.is_text and not labels.is_binary


def _asks_for_names(seen: Observations) -> bool:
    """True if the sample has text where the labels are whole numbers: the k best of them, most likely."""
    targets, labels = seen.targets, seen.labels
    has_text = any(column.kind is ColumnKind.TEXT for column in targets.answers)
    return len(targets.asked) == 1 and has_text and not (labels.is_text or labels.is_measured or labels.is_run_length)


def _for_labels(seen: Observations) -> list[Reason]:
    targets, labels = seen.targets, seen.labels
    many = len(targets.names)
    is_list = bool(labels.separator) and not labels.is_run_length
    rows = len(targets.row_labels)
    return [
        Reason(6 * bool(rows), f"a row of the training table is for one of {rows} labels of an example"),
        Reason(4 * (labels.are_flags and not labels.is_one_hot), f"{many} columns of 0 and 1, any of which may be 1"),
        Reason(2 * labels.is_one_hot, f"{many} columns of 0 and 1"),
        Reason(4 * is_list, f'cells hold several labels, separated by "{labels.separator}"'),
    ]


def _for_number(seen: Observations) -> list[Reason]:
    targets, labels, files = seen.targets, seen.labels, seen.files
    is_number = bool(targets.columns) and not labels.is_text and labels.distinct > 0
    is_counted = is_number and not labels.is_measured and labels.distinct > _FEW_CLASSES
    is_ordinal = seen.metric.facts is not None and seen.metric.facts.is_ordinal
    return [
        Reason(4 * (is_number and labels.is_measured), "its values have fractions"),
        Reason(2 * is_counted, f"there are {labels.distinct} different numbers among the sampled ones"),
        Reason(1 * (is_counted and labels.distinct > _MANY_NUMBERS), "that is too many for classes"),
        Reason(1 * (is_number and not labels.is_binary and not labels.are_flags), "its values are numbers"),
        Reason(3 * (is_ordinal and labels.is_uneven), "its metric counts by how much numbers differ, unlike classes"),
        Reason(1 * (is_number and _asks_for_measures(seen)), "the sample submission has fractions"),
        Reason(-1 * (files is not None and bool(files.source.classes)), "the files say a class"),
        Reason(-3 * _asks_for_names(seen), "the sample submission has no numbers"),
    ]


def _for_mask(seen: Observations) -> list[Reason]:
    targets, files = seen.targets, seen.files
    asks = files is not None and any(is_run_length(column) or not column.present for column in targets.answers)
    asks = asks and len(targets.answers) == 1
    are_codes = files is not None and seen.labels.is_run_length
    return [
        Reason(4 * (seen.masks is not None), _further(seen.masks)),
        Reason(2 * (asks and (are_codes or not targets.columns)), "run-length codes are asked for"),
        Reason(4 * are_codes, "its labels are run-length codes"),
    ]


def _further(match: FolderMatch | None) -> str:
    return f"{match.folder.path if match is not None else ''} has a further image for each training image"
