"""Who is in a specimen: its training and test examples, with names, labels and groups, before any file is written."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection.tfrecords import label_feature, training_records
from generator.competition.specimen.chance import chance
from generator.competition.specimen.facts import Original, Side, Wishes
from generator.competition.specimen.ids import are_alike, format_of
from generator.competition.specimen.known import (
    is_per_group,
    known_test,
    known_training,
    label_columns,
    names_by_class,
    runs_of,
)
from generator.competition.specimen.masks import PIECES, Shape, shapes_of
from generator.competition.specimen.signal import FEWEST_OF_A_CLASS, Labelling, column_of_values
from generator.competition.survey.facts import Column, Survey, Table

_MOST_EXAMPLES_FOR_CLASSES = 600
_FEWEST_EXAMPLES, _FEWEST_TEST_EXAMPLES, _FEWEST_GROUPS = 12, 6, 8
_LONGEST_GROUP = 200
_MOST_PIXELS, _FEWEST_IMAGES = 400_000, 2


@dataclass(frozen=True)
class Cast:
    """The examples of both sides, and how they are labelled."""

    train: Side
    test: Side
    labelling: Labelling


def cast_of(original: Original, wishes: Wishes) -> Cast:
    """Makes up the examples."""
    labelling = labelling_of(original)
    train_known, train_parts = known_training(original)
    train_parts = original.mask_classes or (PIECES if original.has_pieces else train_parts)
    count, lengths = _training_count(original, wishes, labelling, len(train_parts))
    names = _training_names(original, labelling, train_known, count, wishes)
    train = _side(_Part("train", train_known, train_parts, lengths), names, labelling, wishes)
    test_known, test_parts = known_test(original)
    test_parts = original.mask_classes or test_parts
    count, lengths = _test_count(original, wishes, len(test_parts))
    source = chance(wishes.seed, "names", "test")
    avoided = set(train.names)
    learned = (*train_known, *test_known) if _is_one_of(test_known, train_known) else test_known
    test_names = format_of(learned).fresh(count, source, avoided)
    test = _side(_Part("test", test_known, test_parts, lengths), test_names, labelling, wishes)
    return Cast(_with_classes_in_names(train, original), test, labelling)


def _is_one_of(known: Sequence[str], others: Sequence[str]) -> bool:
    """Whether at most one name is known, and others that look like it tell more of such names."""
    return len(known) <= 1 and bool(others) and (not known or are_alike(known[0], others))


def labelling_of(original: Original) -> Labelling:
    """What the labels can be drawn from."""
    task, survey = original.task, original.survey
    if task.target_kind in (TargetKind.MASK, TargetKind.IMAGE):
        return Labelling(task.target_kind)
    if original.labels_from == "records":
        return Labelling(task.target_kind, columns=_label_values(survey))
    if original.labels_from in ("folders", "names"):
        return Labelling(task.target_kind, classes=file_classes(original))
    if original.has_label_rows:
        return Labelling(task.target_kind, columns=label_columns(original))
    labelled = survey.table(task.labels_table or task.train_table)
    columns = tuple(column for column in labelled.columns if column.name in task.targets) if labelled else ()
    is_list = len(columns) == 1 and task.target_kind is TargetKind.LABELS
    return Labelling(task.target_kind, columns=columns, separator=original.text("label_separator") if is_list else "")


def file_classes(original: Original) -> tuple[str, ...]:
    """The classes that the folders or the names of the training files say."""
    return tuple(sorted(label for label in names_by_class(original) if label))


@dataclass(frozen=True)
class _Part:
    role: str
    known: tuple[str, ...]
    parts: tuple[str, ...]
    lengths: tuple[int, ...]


def _side(part: _Part, names: Sequence[str], labelling: Labelling, wishes: Wishes) -> Side:
    source = chance(wishes.seed, "truth", part.role)
    truth = labelling.draw(len(names), source)
    seen = truth if wishes.signal else truth.hidden(source)
    shapes: tuple[tuple[Shape, ...], ...] = ()
    if labelling.kind is TargetKind.MASK:
        kinds = [0] * len(part.parts) if part.parts == PIECES else range(len(part.parts))
        shapes = shapes_of(len(names), kinds, source)
    return Side(part.role, part.known, tuple(names), truth, seen, shapes, part.parts, part.lengths)


def record_side(cast: Cast, role: str, known: Sequence[str], wishes: Wishes) -> Side:
    """The examples of TFRecords that are neither for training nor for the test, such as validation records."""
    count = max(_FEWEST_TEST_EXAMPLES, len(cast.test))
    avoided = {*cast.train.names, *cast.test.names}
    names = format_of(known).fresh(count, chance(wishes.seed, "names", role), avoided)
    return _side(_Part(role, tuple(known), ("",), ()), names, cast.labelling, wishes)


def _label_values(survey: Survey) -> tuple[Column, ...]:
    train = training_records(survey)
    name = label_feature(train, survey) if train is not None else ""
    feature = next((feature for feature in train.features if feature.name == name), None) if train else None
    return (column_of_values(name, feature.values),) if feature is not None and feature.values else ()


def _training_count(
    original: Original, wishes: Wishes, labelling: Labelling, parts: int
) -> tuple[int, tuple[int, ...]]:
    """How many training examples there are, and the lengths of their groups."""
    rows = max(_FEWEST_EXAMPLES, wishes.rows)
    if parts > 1:
        rows = max(_FEWEST_EXAMPLES, rows // parts)
    if labelling.different:
        rows = max(rows, min(FEWEST_OF_A_CLASS * labelling.different, _MOST_EXAMPLES_FOR_CLASSES))
    return _grouped(original, original.survey.table(original.task.train_table), rows, chance(wishes.seed, "groups"))


def _test_count(original: Original, wishes: Wishes, parts: int) -> tuple[int, tuple[int, ...]]:
    task = original.task
    rows = max(_FEWEST_TEST_EXAMPLES, wishes.rows // 3)
    if task.target_kind is TargetKind.IMAGE and task.submission is SubmissionKind.KEYED_ROWS:
        folder = original.survey.folder(original.text("test_folder"))
        pixels = folder.images.width * folder.images.height if folder is not None and folder.images else 1
        rows = min(rows, max(_FEWEST_IMAGES, _MOST_PIXELS // max(1, pixels)))
    elif parts > 1:
        rows = max(_FEWEST_TEST_EXAMPLES, rows // parts)
    return _grouped(original, original.survey.table(task.test_table), rows, chance(wishes.seed, "groups", "test"))


def _grouped(original: Original, table: Table | None, rows: int, source: random.Random) -> tuple[int, tuple[int, ...]]:
    """The number of examples, and the rows of each group; none where the rows are not grouped."""
    column = table.column(original.text("group_column")) if table is not None else None
    if column is None or not column.present:
        return rows, ()
    counts = [len(run) for run in runs_of(column)]
    # Runs may be cut at the ends of what was sampled, so the longer half is what groups are like.
    whole = sorted(counts)[len(counts) // 2 :]
    if is_per_group(original):
        return rows, tuple(min(source.choice(whole), _LONGEST_GROUP) for _ in range(rows))
    lengths: list[int] = []
    while sum(lengths) < rows or len(lengths) < _FEWEST_GROUPS:
        lengths.append(min(source.choice(whole if original.text("order_column") else counts), _LONGEST_GROUP))
    return sum(lengths), tuple(lengths)


def _training_names(
    original: Original, labelling: Labelling, known: Sequence[str], count: int, wishes: Wishes
) -> tuple[str, ...]:
    source = chance(wishes.seed, "names", "train")
    if original.labels_from not in ("folders", "names") or not labelling.classes:
        return format_of(known).fresh(count, source)
    # The class is part of the name, or of its folder, whose files can have names of their own kind.
    truth = labelling.draw(count, chance(wishes.seed, "truth", "train"))
    by_class = names_by_class(original)
    names = [name for of_class in by_class.values() for name in of_class]
    is_unique = len(set(names)) == len(names)
    made: dict[str, tuple[str, ...]] = {}
    for label in sorted(set(truth.classes)):
        avoided = {name for others in made.values() for name in others} if is_unique else ()
        made[label] = format_of(by_class.get(label, ())).fresh(truth.classes.count(label), source, avoided)
    fresh = {label: iter(names) for label, names in made.items()}
    return tuple(next(fresh[label]) for label in truth.classes)


def _with_classes_in_names(side: Side, original: Original) -> Side:
    """Puts files in the folder of their class, where the real names begin with it."""
    labelled = original.survey.table(original.task.labels_table or original.task.train_table)
    target = labelled.column(original.task.targets[0]) if labelled is not None and original.task.targets else None
    named = labelled.column(original.file_column) if labelled is not None and original.file_column else None
    cells = side.truth.cells.get(original.task.targets[0]) if original.task.targets else None
    if target is None or named is None or not cells or len(cells) != len(side.names):
        return side
    pairs = [pair for pair in zip(named.values, target.values, strict=True) if pair[0] and pair[1]]
    if not pairs or not all(str(name).startswith(f"{label}/") for name, label in pairs):
        return side
    moved = (f"{label}/{name.partition('/')[2]}" for name, label in zip(side.names, cells, strict=True))
    return replace(side, names=tuple(moved))
