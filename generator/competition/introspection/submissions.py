"""What a row of the submission says."""

from collections import Counter

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection.clues import Clues
from generator.competition.introspection.columns import is_whole
from generator.competition.introspection.facts import Finding, Hints
from generator.competition.introspection.targets import Targets
from generator.competition.introspection.weighing import Reason, chosen, settled, weighed
from generator.competition.metrics import Wants
from generator.competition.survey.facts import Column, ColumnKind

_NAMES = frozenset((ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.DATE))


def find_submission(kind: TargetKind, clues: Clues, hints: Hints) -> Finding:
    """Weighs the shapes that a submission for such targets can have."""
    key, targets = "submission", clues.targets
    if kind is TargetKind.IMAGE:
        return settled(key, SubmissionKind.KEYED_ROWS, "each row is one pixel of an image, named by its id", hints)
    if kind is TargetKind.MASK:
        return settled(key, SubmissionKind.RUN_LENGTH, "masks are asked for as run-length codes", hints)
    if _is_keyed(targets):
        evidence = f"ids are <id>_<part>, with {len(targets.parts)} parts for each"
        return settled(key, SubmissionKind.KEYED_ROWS, evidence, hints)
    if kind is TargetKind.LABELS:
        return _of_labels(targets, hints)
    if kind is TargetKind.NUMBER:
        return _of_numbers(clues, hints)
    return _of_class(clues, hints)


def best_in_cell(targets: Targets) -> int:
    """How many labels a cell of the sample submission has, separated by spaces; 1 if there is one or no sample."""
    if len(targets.answers) != 1 or not targets.answers[0].present:
        return 1
    counts = Counter(len(value.split()) for value in targets.answers[0].present)
    return counts.most_common(1)[0][0]


def _is_keyed(targets: Targets) -> bool:
    """Whether a row is for one part: the parts are columns or labels to predict, not something in the ids by chance."""
    return (
        len(targets.parts) > 1
        and len(targets.asked) == 1
        and set(targets.parts) <= {*targets.names, *targets.row_labels}
    )


def _of_labels(targets: Targets, hints: Hints) -> Finding:
    key = "submission"
    if len(targets.names) > 1 or len(targets.asked) > 1:
        few = len(targets.asked) or len(targets.names)
        return settled(key, SubmissionKind.NUMBERS, f"a probability in each of {few} columns", hints)
    return settled(key, SubmissionKind.LABEL_SET, "all labels of an example stand in one column", hints)


def _of_numbers(clues: Clues, hints: Hints) -> Finding:
    targets, metric = clues.targets, clues.metric
    wants_labels = metric.facts is not None and metric.facts.wants is Wants.LABELS
    answers_whole = bool(targets.answers) and all(column.kind is ColumnKind.INTEGER for column in targets.answers)
    reasons = {
        SubmissionKind.NUMBERS: [Reason(4, "numbers are asked for")],
        SubmissionKind.LABEL: [
            Reason(6 * wants_labels, f"{metric.name} compares whole numbers"),
            Reason(1 * answers_whole, "the sample submission has whole numbers"),
        ],
    }
    return chosen("submission", [weighed(value, because) for value, because in reasons.items()], hints)


def _of_class(clues: Clues, hints: Hints) -> Finding:
    targets, traits, metric = clues.targets, clues.traits, clues.metric
    wants = metric.facts.wants if metric.facts is not None else None
    answer = targets.answers[0] if len(targets.answers) == 1 else None
    best = best_in_cell(targets)
    is_one = len(targets.names) == 1 and len(targets.asked) <= 1
    are_columns = targets.are_classes_asked or (traits.is_one_hot and len(targets.asked) > 1)
    ranks = answer is not None and answer.kind is ColumnKind.TEXT and best > 1 and not _is_spaced(clues)
    is_fraction = answer is not None and answer.kind is ColumnKind.NUMBER
    suits_probability = is_one and traits.distinct <= 2  # noqa: PLR2004
    reasons = {
        SubmissionKind.LABEL: [
            Reason(2.5 * (answer is not None and is_whole(answer)), _cells(answer)),
            Reason(3 * (answer is not None and answer.kind in _NAMES and not ranks), _cells(answer)),
            Reason(3 * (is_one and wants is Wants.LABELS), f"{metric.name} compares labels"),
            Reason(1 * (answer is None and not are_columns), "one label for each example is the simplest answer"),
        ],
        SubmissionKind.CLASS_COLUMNS: [Reason(5 * are_columns, "the sample submission has a column for each class")],
        SubmissionKind.TOP_K: [
            Reason(3 * ranks, f"a cell of the sample submission has {best} labels"),
            Reason(4 * (is_one and wants is Wants.RANKED), f"{metric.name} compares ranked labels"),
        ],
        SubmissionKind.PROBABILITY: [
            Reason(3 * (is_fraction and suits_probability), _cells(answer)),
            Reason(4 * (suits_probability and wants is Wants.PROBABILITIES), f"{metric.name} compares probabilities"),
        ],
    }
    return chosen("submission", [weighed(value, because) for value, because in reasons.items()], hints)


def _is_spaced(clues: Clues) -> bool:
    """Whether the classes themselves are of several words."""
    said = clues.source.labelling.classes if clues.source is not None else ()
    named = (value for column in clues.targets.columns for value in column.distinct)
    return any(" " in value.strip() for value in (*said, *named))


def _cells(answer: Column | None) -> str:
    if answer is None or not answer.present:
        return ""
    return f'the cells of {answer.name} in the sample submission are like "{answer.present[0][:40]}"'
