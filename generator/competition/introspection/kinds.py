"""What kind of thing is to be predicted."""

from generator.competition.facts import TargetKind
from generator.competition.introspection.clues import Clues
from generator.competition.introspection.facts import Finding, Hints
from generator.competition.introspection.run_length import is_run_length
from generator.competition.introspection.weighing import Reason, chosen, weighed
from generator.competition.schema import families
from generator.competition.survey.facts import ColumnKind

_FEW_CLASSES, _MANY_NUMBERS = 20, 50


def find_kind(clues: Clues, hints: Hints) -> Finding:
    """Weighs the kinds of target."""
    by_kind = {
        TargetKind.CLASS: _for_class(clues),
        TargetKind.LABELS: _for_labels(clues),
        TargetKind.NUMBER: _for_number(clues),
        TargetKind.MASK: _for_mask(clues),
        TargetKind.IMAGE: _for_image(clues),
    }
    candidates = [weighed(kind, [*why, *_as_said(kind, clues, hints)]) for kind, why in by_kind.items()]
    return chosen("target_kind", candidates, hints)


def _as_said(kind: TargetKind, clues: Clues, hints: Hints) -> list[Reason]:
    """What the metric and the family say, where they are known."""
    metric, family = clues.metric, families().get(str(hints.overrides.get("family")))
    alike = (other for other in families().values() if family is not None and other.medium is family.medium)
    # A family says what is predicted where others of its medium predict something else.
    says = family is not None and {kind for other in alike for kind in other.targets} > set(family.targets)
    is_allowed, named = family is not None and kind in family.targets, f"the family is {family.name if family else ''}"
    fits = metric.fits(kind, classes=clues.classes)
    is_exact = metric.facts is not None and kind in metric.facts.target_kinds
    has_files = clues.source is not None or kind not in (TargetKind.MASK, TargetKind.IMAGE)
    return [
        Reason(-8 * (not has_files), "there are no images"),
        Reason(4 * is_exact, f"{metric.name} is computed for it"),
        Reason(1 * (fits and not is_exact), f"a form of {metric.name} is computed for it"),
        Reason(-3 * (bool(metric.name) and not fits), f"{metric.name} is not computed for it"),
        Reason((8 if is_allowed else -8) * says, named),
    ]


def _for_class(clues: Clues) -> list[Reason]:
    targets, traits, source = clues.targets, clues.traits, clues.source
    has_few = not traits.is_text and not traits.is_measured and 1 < traits.distinct <= _FEW_CLASSES
    is_said_by_files = source is not None and bool(source.labelling.classes or source.records)
    is_column = len(targets.names) == 1
    are_columns = targets.are_classes_asked and not traits.separator
    are_rows = bool(targets.row_labels)
    return [
        Reason(3 * (traits.is_text and not traits.separator and not traits.is_run_length), "its labels are names"),
        Reason(4 * are_columns, "the sample submission has a column for each class"),
        Reason(4 * is_said_by_files, "the files say the class"),
        Reason(4 * traits.is_one_hot, "exactly one of the columns is 1 in each row"),
        Reason(4 * (is_column and traits.is_binary and not traits.is_measured), "there are two different values"),
        Reason(3 * (is_column and has_few and not traits.is_binary), f"there are {traits.distinct} whole numbers"),
        Reason(3 * _asks_for_names(clues), "the sample submission has names, or several labels in a cell"),
        Reason(-1.5 * _asks_for_measures(clues), "the sample submission has fractions"),
        Reason(-4 * (traits.is_measured and traits.distinct > _FEW_CLASSES), "its values have fractions"),
        Reason(-4 * are_rows, "a row is for one label of several"),
        Reason(-2 * traits.is_different_everywhere, "no label occurs twice"),
    ]


def _asks_for_measures(clues: Clues) -> bool:
    """Whether the sample has numbers with a point where the labels are more than two whole numbers."""
    targets, traits = clues.targets, clues.traits
    has_points = any(column.kind is ColumnKind.NUMBER for column in targets.answers)
    return len(targets.asked) == 1 and has_points and not traits.is_text and not traits.is_binary


def _asks_for_names(clues: Clues) -> bool:
    """Whether the sample has text where the labels are whole numbers: the k best of them, most likely."""
    targets, traits = clues.targets, clues.traits
    has_text = any(column.kind is ColumnKind.TEXT for column in targets.answers)
    return len(targets.asked) == 1 and has_text and not (traits.is_text or traits.is_measured or traits.is_run_length)


def _for_labels(clues: Clues) -> list[Reason]:
    targets, traits = clues.targets, clues.traits
    many = len(targets.names)
    is_list = bool(traits.separator) and not traits.is_run_length
    rows = len(targets.row_labels)
    return [
        Reason(6 * bool(rows), f"a row of the training table is for one of {rows} labels of an example"),
        Reason(4 * (traits.are_flags and not traits.is_one_hot), f"{many} columns of 0 and 1, any of which may be 1"),
        Reason(2 * traits.is_one_hot, f"{many} columns of 0 and 1"),
        Reason(4 * is_list, f'cells hold several labels, separated by "{traits.separator}"'),
    ]


def _for_number(clues: Clues) -> list[Reason]:
    targets, traits, source = clues.targets, clues.traits, clues.source
    is_number = bool(targets.columns) and not traits.is_text and traits.distinct > 0
    is_counted = is_number and not traits.is_measured and traits.distinct > _FEW_CLASSES
    return [
        Reason(4 * (is_number and traits.is_measured), "its values have fractions"),
        Reason(2 * is_counted, f"there are {traits.distinct} different numbers among the sampled ones"),
        Reason(1 * (is_counted and traits.distinct > _MANY_NUMBERS), "that is too many for classes"),
        Reason(1 * (is_number and not traits.is_binary and not traits.are_flags), "its values are numbers"),
        Reason(1 * (is_number and _asks_for_measures(clues)), "the sample submission has fractions"),
        Reason(-1 * (source is not None and bool(source.labelling.classes)), "the files say a class"),
        Reason(-3 * _asks_for_names(clues), "the sample submission has no numbers"),
    ]


def _for_mask(clues: Clues) -> list[Reason]:
    targets, traits, source, mask = clues.targets, clues.traits, clues.source, clues.companions.mask
    asks = source is not None and any(is_run_length(column) or not column.present for column in targets.answers)
    asks = asks and len(targets.answers) == 1
    folder = mask.place.path if mask is not None else ""
    are_codes = source is not None and traits.is_run_length
    return [
        Reason(4 * (mask is not None), f"{folder} has a further image for each training image"),
        Reason(2 * (asks and (are_codes or not targets.columns)), "run-length codes are asked for"),
        Reason(4 * are_codes, "its labels are run-length codes"),
    ]


def _for_image(clues: Clues) -> list[Reason]:
    image = clues.companions.image
    folder = image.place.path if image is not None else ""
    return [Reason(6 * (image is not None), f"{folder} has a further image for each training image")]
