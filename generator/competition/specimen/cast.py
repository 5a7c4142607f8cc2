"""Who is in a specimen: its training and test examples, with names, labels and groups, before any file is written."""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection.places import Medium, match_of, places_of, trees_of
from generator.competition.introspection.records import label_feature, training_records
from generator.competition.specimen.chance import chance
from generator.competition.specimen.facts import Original, Side, Wishes
from generator.competition.specimen.ids import format_of
from generator.competition.specimen.masks import EMPTY, Shape, any_shape
from generator.competition.specimen.signal import FEWEST_OF_A_CLASS, Labelling, column_of_values
from generator.competition.survey.facts import Column, Folder, RecordFeature, Survey, Table

NUMBER_BEHIND = re.compile(r"[._\- ]?\d+$")
_MOST_EXAMPLES_FOR_CLASSES = 600
_FEWEST_EXAMPLES, _FEWEST_TEST_EXAMPLES, _FEWEST_GROUPS = 12, 6, 8
_LONGEST_GROUP = 200
_MOST_PARTS = 100_000
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
    train_known, train_parts = _known_training(original)
    count, lengths = _training_count(original, wishes, labelling, len(train_parts))
    names = _training_names(original, labelling, train_known, count, wishes)
    train = _side(_Part("train", train_known, train_parts, lengths), names, labelling, wishes)
    test_known, test_parts = _known_test(original)
    count, lengths = _test_count(original, wishes, len(test_parts))
    source = chance(wishes.seed, "names", "test")
    avoided = set(train.names)
    learned = test_known if len(test_known) > 1 or not train_known else (*train_known, *test_known)
    test_names = format_of(learned).fresh(count, source, avoided)
    test = _side(_Part("test", test_known, test_parts, lengths), test_names, labelling, wishes)
    return Cast(_with_classes_in_names(train, original), test, labelling)


def labelling_of(original: Original) -> Labelling:
    """What the labels can be drawn from."""
    task, survey = original.task, original.survey
    if task.target_kind in (TargetKind.MASK, TargetKind.IMAGE):
        return Labelling(task.target_kind)
    if original.labels_from == "records":
        return Labelling(task.target_kind, columns=_label_values(survey))
    if original.labels_from in ("folders", "names"):
        return Labelling(task.target_kind, classes=file_classes(original))
    labelled = survey.table(task.labels_table or task.train_table)
    columns = tuple(column for column in labelled.columns if column.name in task.targets) if labelled else ()
    separator = task.details.get("label_separator", "")
    is_list = isinstance(separator, str) and len(columns) == 1 and task.target_kind is TargetKind.LABELS
    return Labelling(task.target_kind, columns=columns, separator=str(separator) if is_list else "")


def file_classes(original: Original) -> tuple[str, ...]:
    """The classes that the folders or the names of the training files say."""
    folders = training_folders(original)
    if original.labels_from == "folders":
        start = original.text("train_folder")
        inner = (folder.path[len(start) :].strip("/").partition("/")[0] for folder in folders)
        return tuple(sorted({name for name in inner if name}))
    names = (name for folder in folders for name in folder.names)
    return tuple(sorted({label for name in names if (label := NUMBER_BEHIND.sub("", name.rpartition(".")[0]))}))


def training_folders(original: Original) -> list[Folder]:
    """The folder of the training files and those in it."""
    path = original.text("train_folder")
    return [folder for folder in original.survey.folders if is_below(folder.path, path) and _is_media(folder)]


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder itself or in it; everything is in the folder ""."""
    return not folder or path == folder or path.startswith(f"{folder}/")


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
        # A mask has to be empty now and then, but not that of the first example.
        shapes = tuple(
            tuple(any_shape(source) if not row or source.random() < 2 / 3 else EMPTY for _ in part.parts)
            for row in range(len(names))
        )
    return Side(part.role, part.known, tuple(names), truth, seen, shapes, part.parts, part.lengths)


def record_side(cast: Cast, role: str, known: Sequence[str], wishes: Wishes) -> Side:
    """The examples of TFRecords that are neither for training nor for the test, such as validation records."""
    count = max(_FEWEST_TEST_EXAMPLES, len(cast.test))
    avoided = {*cast.train.names, *cast.test.names}
    names = format_of(known).fresh(count, chance(wishes.seed, "names", role), avoided)
    return _side(_Part(role, tuple(known), ("",), ()), names, cast.labelling, wishes)


def id_feature(features: Iterable[RecordFeature]) -> RecordFeature | None:
    """The feature of records that names an example: bytes, or numbers, that are different each time."""
    fitting = [
        feature
        for feature in features
        if not feature.is_image and feature.length == 1 and len(set(feature.values)) == len(feature.values) > 1
    ]
    return next((feature for feature in fitting if "id" in feature.name.lower()), fitting[0] if fitting else None)


def _label_values(survey: Survey) -> tuple[Column, ...]:
    train = training_records(survey)
    name = label_feature(train, survey) if train is not None else ""
    feature = next((feature for feature in train.features if feature.name == name), None) if train else None
    return (column_of_values(name, feature.values),) if feature is not None and feature.values else ()


def _is_media(folder: Folder) -> bool:
    return folder.images is not None or folder.audio is not None


def _known_training(original: Original) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the sampled training examples, and the parts behind them."""
    task, survey = original.task, original.survey
    if original.labels_from in ("folders", "names"):
        folders = training_folders(original)
        return tuple(dict.fromkeys(name for folder in folders for name in folder.names)), ("",)
    if original.labels_from == "records":
        train = training_records(survey)
        feature = id_feature(train.features) if train is not None else None
        return (feature.values if feature is not None else ()), ("",)
    column = key_column(original, survey.table(task.train_table))
    if column is None:
        return (), ("",)
    values = column.present
    return _split(values, _parts_behind(original, values, original.text("train_folder")))


def _known_test(original: Original) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the sampled test examples, and the parts behind them in the sample submission."""
    task, survey = original.task, original.survey
    column = key_column(original, survey.table(task.test_table))
    sample = survey.table(task.sample_submission)
    asked = sample.column(task.id_column) if sample is not None else None
    if column is not None:
        known = tuple(dict.fromkeys(column.present))
        is_keyed = task.submission is SubmissionKind.KEYED_ROWS and asked is not None
        return known, _split(asked.present, 1)[1] if is_keyed and asked is not None else ("",)
    if asked is not None and asked.present:
        place = original.text("test_folder")
        count = _parts_behind(original, asked.present, place)
        return _split(asked.present, count or (task.submission is SubmissionKind.KEYED_ROWS))
    places = [folder for folder in survey.folders if folder.path == original.text("test_folder")]
    stems = (name.rpartition(".")[0] or name for folder in places for name in folder.names)
    return tuple(dict.fromkeys(stems)), ("",)


def key_column(original: Original, table: Table | None) -> Column | None:
    """The column of a table that names the examples, if there is one."""
    if table is None:
        return None
    task = original.task
    for name in (original.file_column, task.id_column, original.text("group_column") * _is_per_group(original)):
        column = table.column(name) if name else None
        if column is not None and column.present:
            return column
    return None


def _is_per_group(original: Original) -> bool:
    return original.text("prediction_per") == "group"


def _parts_behind(original: Original, values: Sequence[str], folder: str) -> int:
    """How many parts of the values do not belong to the name of a file."""
    medium = Medium.AUDIO if original.text("audio_column") or original.task.family == "audio" else Medium.IMAGE
    if not original.text("labels_from") or original.labels_from == "pixels":
        return 0
    places = places_of(original.survey, medium)
    near = [place for place in (*places, *trees_of(places)) if place.path == folder]
    match = match_of(values, near)
    return match.parts if match is not None else 0


def _split(values: Sequence[str], count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names without their last parts, each once, and the most parts that a name has."""
    if not count:
        return tuple(dict.fromkeys(values)), ("",)
    parts: dict[str, list[str]] = defaultdict(list)
    for value in values:
        pieces = value.rsplit("_", count)
        if len(pieces) > count:
            parts[pieces[0]].append("_".join(pieces[1:]))
    if not parts:
        return tuple(dict.fromkeys(values)), ("",)
    longest = max(parts.values(), key=len)
    return tuple(parts), tuple(dict.fromkeys(longest[:_MOST_PARTS]))


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
    if _is_per_group(original):
        return rows, tuple(min(source.choice(whole), _LONGEST_GROUP) for _ in range(rows))
    lengths: list[int] = []
    while sum(lengths) < rows or len(lengths) < _FEWEST_GROUPS:
        lengths.append(min(source.choice(whole if original.text("order_column") else counts), _LONGEST_GROUP))
    return sum(lengths), tuple(lengths)


def runs_of(column: Column) -> list[list[int]]:
    """The rows of each value, in order of appearance."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, value in enumerate(column.values):
        if value is not None:
            rows[value].append(row)
    return list(rows.values())


def _training_names(
    original: Original, labelling: Labelling, known: Sequence[str], count: int, wishes: Wishes
) -> tuple[str, ...]:
    source = chance(wishes.seed, "names", "train")
    if original.labels_from != "names" or not labelling.classes:
        return format_of(known).fresh(count, source)
    # The class is part of the name; it is put there when the class is known.
    truth = labelling.draw(count, chance(wishes.seed, "truth", "train"))
    by_class: dict[str, list[str]] = defaultdict(list)
    for name in known:
        by_class[NUMBER_BEHIND.sub("", name.rpartition(".")[0])].append(name)
    fresh = {
        label: iter(format_of(by_class[label]).fresh(truth.classes.count(label), source))
        for label in sorted(set(truth.classes))
    }
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
