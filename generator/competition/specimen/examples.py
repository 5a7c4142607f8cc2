"""The synthetic examples of a specimen: their names, labels and groups, before any file is written."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection.tfrecords import training_records
from generator.competition.specimen.id_format import are_alike, format_of
from generator.competition.specimen.labels import FEWEST_OF_A_CLASS, Labels, LabelSampler
from generator.competition.specimen.masks import PIECES, Shape, shapes_of
from generator.competition.specimen.original import Original
from generator.competition.specimen.sampled_names import (
    known_test,
    known_training,
    label_columns,
    names_by_class,
    repeatable_ids,
    rows_of_each_id,
    runs_of,
)
from generator.competition.survey.columns import column_of
from generator.competition.survey.facts import Column, Table

_MOST_EXAMPLES_FOR_CLASSES = 600
_FEWEST_EXAMPLES, _FEWEST_TEST_EXAMPLES, _FEWEST_GROUPS = 12, 6, 8
_LONGEST_GROUP = 200
_MOST_PIXELS, _FEWEST_IMAGES = 400_000, 2


@dataclass(frozen=True)
class Examples:
    """The made-up examples of one part of the data.

    Attributes:
        role: "train", "test", or what else the files are for.
        known: The names of the sampled real examples.
        names: The names of the made-up ones, as tables and files have them.
        truth: Their labels.
        seen: What their inputs show: the same, or nothing that helps.
        shapes: For each example, what is to be segmented, one for each part.
        parts: The parts in the ids of the table that is keyed by example and part; one empty part if none is.
        lengths: How many rows each group has, where rows are grouped.
        folders: The folders that the files are scattered over; none if one folder has all.
        folder_of: Which of these has the file of each example.
        ids: The number of the name of each example, which grows, where consecutive ones have the same; else empty.
    """

    role: str
    known: tuple[str, ...]
    names: tuple[str, ...]
    truth: Labels
    seen: Labels
    shapes: tuple[tuple[Shape, ...], ...] = ()
    parts: tuple[str, ...] = ("",)
    lengths: tuple[int, ...] = ()
    folders: tuple[str, ...] = ()
    folder_of: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()

    def __len__(self) -> int:
        """The number of examples."""
        return len(self.names)

    @property
    def firsts(self) -> list[int]:
        """The first example of each name."""
        ids = self.ids or range(len(self))
        return [example for example, number in enumerate(ids) if not example or number != ids[example - 1]]

    @property
    def groups(self) -> list[int]:
        """The number of the group of each row, where rows are grouped."""
        return [group for group, length in enumerate(self.lengths) for _ in range(length)]


@dataclass(frozen=True)
class SyntheticData:
    """The examples of both sides, what they are like, and what their labels were drawn from."""

    original: Original
    train: Examples
    test: Examples
    sampler: LabelSampler


def synthetic_data(original: Original) -> SyntheticData:
    """Makes up the examples."""
    sampler = _label_sampler(original)
    classes = original.texts("mask_classes")
    known, parts = known_training(original)
    parts = classes or (PIECES if original.has_pieces else parts)
    count, lengths = _training_count(original, sampler, len(parts))
    ids = _ids_of_rows(original, count, lengths)
    names = _training_names(original, sampler, known, ids[-1] + 1)
    train = _examples(original, sampler, "train", [names[number] for number in ids], parts)
    train = replace(train, known=known, lengths=lengths, ids=ids if len(names) < count else ())
    test_known, parts = known_test(original)
    parts = classes or parts
    count, lengths = _test_count(original, len(parts))
    # At most one name is known, and others that look like it tell more of such names.
    is_one_of = len(test_known) <= 1 and bool(known) and (not test_known or are_alike(test_known[0], known))
    learned = (*known, *test_known) if is_one_of else test_known
    names = format_of(learned).fresh(count, original.random("names", "test"), set(train.names))
    test = replace(_examples(original, sampler, "test", names, parts), known=test_known, lengths=lengths)
    return SyntheticData(original, _with_classes_in_names(train, original), test, sampler)


def _label_sampler(original: Original) -> LabelSampler:
    kind = original.task.target_kind
    if kind in (TargetKind.MASK, TargetKind.IMAGE):
        return LabelSampler(kind)
    if original.labels_from == "records":
        return LabelSampler(kind, columns=_label_values(original))
    if original.labels_from in ("folders", "names"):
        return LabelSampler(kind, classes=tuple(sorted(filter(None, names_by_class(original)))))
    if original.is_set("label_rows"):
        return LabelSampler(kind, columns=label_columns(original))
    labelled, targets = original.labelled, original.task.targets
    columns = tuple(column for column in labelled.columns if column.name in targets) if labelled is not None else ()
    is_list = len(columns) == 1 and kind is TargetKind.LABELS
    return LabelSampler(kind, columns=columns, separator=original.text("label_separator") if is_list else "")


def _examples(
    original: Original, sampler: LabelSampler, role: str, names: Sequence[str], parts: tuple[str, ...] = ("",)
) -> Examples:
    source = original.random("truth", role)
    truth = sampler.draw(len(names), source)
    seen = truth if original.signal else truth.without_signal(source)
    shapes: tuple[tuple[Shape, ...], ...] = ()
    if sampler.kind is TargetKind.MASK:
        kinds = [0] * len(parts) if parts == PIECES else range(len(parts))
        shapes = shapes_of(len(names), kinds, source)
    return Examples(role, (), tuple(names), truth, seen, shapes, parts)


def validation_examples(data: SyntheticData, known: Sequence[str]) -> Examples:
    """The examples of TFRecords that are neither for training nor for the test."""
    count = max(_FEWEST_TEST_EXAMPLES, len(data.test))
    avoided = {*data.train.names, *data.test.names}
    names = format_of(known).fresh(count, data.original.random("names", "validation"), avoided)
    return _examples(data.original, data.sampler, "validation", names)


def _label_values(original: Original) -> tuple[Column, ...]:
    train, name = training_records(original.survey), original.text("record_label")
    features = train.features if train is not None else ()
    return tuple(column_of(name, each.values) for each in features if each.name == name and each.values)


def _training_count(original: Original, sampler: LabelSampler, parts: int) -> tuple[int, tuple[int, ...]]:
    """The number of training examples, and the lengths of their groups."""
    rows = max(_FEWEST_EXAMPLES, original.rows)
    if parts > 1:
        rows = max(_FEWEST_EXAMPLES, rows // parts)
    if sampler.different:
        rows = max(rows, min(FEWEST_OF_A_CLASS * sampler.different, _MOST_EXAMPLES_FOR_CLASSES))
    return _grouped(original, original.train, rows, original.random("groups"))


def _test_count(original: Original, parts: int) -> tuple[int, tuple[int, ...]]:
    task = original.task
    rows = max(_FEWEST_TEST_EXAMPLES, original.rows // 3)
    if task.target_kind is TargetKind.IMAGE and task.submission is SubmissionKind.KEYED_ROWS:
        folder = original.survey.folder(original.text("test_folder"))
        pixels = folder.images.width * folder.images.height if folder is not None and folder.images else 1
        rows = min(rows, max(_FEWEST_IMAGES, _MOST_PIXELS // max(1, pixels)))
    elif parts > 1:
        rows = max(_FEWEST_TEST_EXAMPLES, rows // parts)
    return _grouped(original, original.test, rows, original.random("groups", "test"))


def _grouped(original: Original, table: Table | None, rows: int, source: random.Random) -> tuple[int, tuple[int, ...]]:
    """The number of examples, and the rows of each group; none where the rows are not grouped."""
    column = table.column(original.text("group_column")) if table is not None else None
    if column is None or not column.present:
        return rows, ()
    counts = rows_of_each_id(original) if column is repeatable_ids(original) else [len(run) for run in runs_of(column)]
    # Runs may be cut at the ends of what was sampled, so the longer half is what groups are like.
    whole = sorted(counts)[len(counts) // 2 :]
    if original.is_per_group:
        return rows, tuple(min(source.choice(whole), _LONGEST_GROUP) for _ in range(rows))
    lengths: list[int] = []
    while sum(lengths) < rows or len(lengths) < _FEWEST_GROUPS:
        lengths.append(min(source.choice(whole if original.text("order_column") else counts), _LONGEST_GROUP))
    return sum(lengths), tuple(lengths)


def _ids_of_rows(original: Original, count: int, lengths: Sequence[int]) -> tuple[int, ...]:
    """The number of the id of each training row; ids repeat as in the real table, and lie within a group."""
    counts, source = rows_of_each_id(original), original.random("repeated ids")
    if max(counts) == 1:
        return tuple(range(count))
    key = repeatable_ids(original)
    is_of_ids = key is not None and key.name == original.text("group_column")
    ids: list[int] = []
    for length in lengths or (count,):
        end = len(ids) + length
        while len(ids) < end:
            rows = length if is_of_ids else min(source.choice(counts), end - len(ids))
            ids += [ids[-1] + 1 if ids else 0] * rows
    return tuple(ids)


def _training_names(original: Original, sampler: LabelSampler, known: Sequence[str], count: int) -> tuple[str, ...]:
    source = original.random("names", "train")
    if original.labels_from not in ("folders", "names") or not sampler.classes:
        return format_of(known).fresh(count, source)
    # The class is part of the name, or of its folder, whose files can have names of their own kind.
    truth = sampler.draw(count, original.random("truth", "train"))
    by_class = names_by_class(original)
    names = [name for of_class in by_class.values() for name in of_class]
    is_unique = len(set(names)) == len(names)
    made: dict[str, tuple[str, ...]] = {}
    for label in sorted(set(truth.classes)):
        avoided = {name for others in made.values() for name in others} if is_unique else ()
        made[label] = format_of(by_class.get(label, ())).fresh(truth.classes.count(label), source, avoided)
    fresh = {label: iter(names) for label, names in made.items()}
    return tuple(next(fresh[label]) for label in truth.classes)


def _with_classes_in_names(examples: Examples, original: Original) -> Examples:
    """Puts files in the folder of their class, where the real names begin with it."""
    targets, labelled = original.task.targets, original.labelled
    target = labelled.column(targets[0]) if labelled is not None and targets else None
    named = labelled.column(original.file_column) if labelled is not None and original.file_column else None
    cells = examples.truth.cells.get(targets[0]) if targets else None
    if target is None or named is None or not cells or len(cells) != len(examples):
        return examples
    pairs = [pair for pair in zip(named.values, target.values, strict=True) if pair[0] and pair[1]]
    if not pairs or not all(str(name).startswith(f"{label}/") for name, label in pairs):
        return examples
    moved = (f"{label}/{name.partition('/')[2]}" for name, label in zip(examples.names, cells, strict=True))
    return replace(examples, names=tuple(moved))
