"""The synthetic examples of a specimen: names, labels and groups, before any file is written."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product, zip_longest
from typing import TYPE_CHECKING

from generator.competition.facts import SubmissionKind, TargetKind, Task
from generator.competition.introspection.evidence import is_below
from generator.competition.introspection.files import (
    best_match,
    candidate_folders,
    class_in_name,
    folder_trees,
    training_records,
)
from generator.competition.introspection.tables import without_labels
from generator.competition.schema import families
from generator.competition.specimen.values import (
    Cells,
    are_alike,
    cells_like,
    correlated_quantiles,
    even_quantiles,
    id_format,
    random_for,
)
from generator.competition.survey import (
    NUMBERS,
    Column,
    ColumnKind,
    Folder,
    RecordFeature,
    Survey,
    Table,
    column_of,
    kind_of,
)

if TYPE_CHECKING:
    import numpy
    from PIL import Image


# Masks: ellipses inside of a picture, as pixels, as an image and as a run-length code.


_SMALLEST, _LARGEST = 0.1, 0.3
_FILL_PROBABILITY = 2 / 3
_DIRECTIONS, _WAVES, _MORE_WAVES = 3, 60.0, 40.0


@dataclass(frozen=True)
class Shape:
    """An ellipse, or nothing.

    Attributes:
        x: Its centre, as a share of the width.
        y: The same, of the height.
        across: Its radius across, as a share of the width; 0 if there is nothing.
        down: The same down, of the height.
        kind: The number of its class, by which it is filled: the first evenly, the others with stripes of their own.
    """

    x: float
    y: float
    across: float
    down: float
    kind: int = 0

    def pixels(self, size: tuple[int, int]) -> "numpy.ndarray":
        """The pixels of a picture of a size (width, height) that are inside, bool [height, width]."""
        rows, columns = _grid(size)
        if not self.across:
            return (rows < 0) & (columns < 0)
        inside: numpy.ndarray = ((columns - self.x) / self.across) ** 2 + ((rows - self.y) / self.down) ** 2 <= 1
        return inside

    def filling(self, size: tuple[int, int]) -> "numpy.ndarray":
        """The brightness of its pixels, from -1 to 1, were it as large as the picture, float32 [height, width]."""
        import numpy

        rows, columns = _grid(size)
        if not self.kind:
            return numpy.ones((size[1], size[0]), dtype="float32")
        along = (rows + 0 * columns, columns + 0 * rows, rows + columns)[self.kind % _DIRECTIONS]
        filling: numpy.ndarray = numpy.sin(along * (_WAVES + _MORE_WAVES * (self.kind // _DIRECTIONS)))
        return filling


def _grid(size: tuple[int, int]) -> "tuple[numpy.ndarray, numpy.ndarray]":
    """The middles of the pixels of a picture, from 0 to 1: float32 [height, 1] and [1, width]."""
    import numpy

    width, height = size
    rows, columns = numpy.arange(height, dtype="float32")[:, None], numpy.arange(width, dtype="float32")[None, :]
    return (rows + 0.5) / height, (columns + 0.5) / width


PIECES = ("0", "1", "2")  # the most that a mask is made of, where each has a row of its own
EMPTY = Shape(0.5, 0.5, 0.0, 0.0)


def any_shape(source: random.Random, kind: int = 0) -> Shape:
    """An ellipse that lies inside of the picture."""
    across, down = source.uniform(_SMALLEST, _LARGEST), source.uniform(_SMALLEST, _LARGEST)
    return Shape(source.uniform(across, 1 - across), source.uniform(down, 1 - down), across, down, kind)


def shapes_of(examples: int, kinds: Sequence[int], source: random.Random) -> tuple[tuple[Shape, ...], ...]:
    """For each example a shape of each kind, or nothing, as masks have to be empty now and then.

    The first example has all of them.
    """
    return tuple(
        tuple(any_shape(source, kind) if not row or source.random() < _FILL_PROBABILITY else EMPTY for kind in kinds)
        for row in range(examples)
    )


def run_length_code(pixels: "numpy.ndarray") -> str:
    """Pairs of a start and a length, counted from 1 down the columns from left to right, as Kaggle does.

    Args:
        pixels: Which are inside, bool [height, width].

    Returns:
        The numbers, separated by spaces; "" for an empty mask.
    """
    import numpy

    flat = numpy.concatenate([[False], pixels.T.ravel(), [False]])
    changes = numpy.flatnonzero(flat[1:] != flat[:-1]) + 1
    starts, ends = changes[::2], changes[1::2]
    return " ".join(f"{start} {end - start}" for start, end in zip(starts, ends, strict=True))


def mask_image(shapes: Sequence[Shape], size: tuple[int, int]) -> "Image.Image":
    """All shapes of a picture of a size (width, height) as an image: white inside, black outside."""
    from PIL import Image

    inside = EMPTY.pixels(size)
    for shape in shapes:
        inside |= shape.pixels(size)
    return Image.fromarray(inside.astype("uint8") * 255)


# The original of a specimen: what was seen of a competition, the task that it is, and how much of it to make up.


@dataclass(frozen=True)
class Original:
    """A competition that is copied, and what the user decides of the copy.

    Attributes:
        survey: Everything that was seen.
        task: What was made of it.
        rows: How many training rows the copy has.
        seed: The same seed gives the same bytes.
        signal: Whether the labels can be learned from the inputs.
    """

    survey: Survey
    task: Task
    rows: int
    seed: int
    signal: bool

    def text(self, key: str) -> str:
        """A detail of the task, "" where the family does not have it."""
        value = self.task.details.get(key, "")
        return value if isinstance(value, str) else ""

    def is_set(self, key: str) -> bool:
        """True if a detail of the task is true."""
        return self.task.details.get(key) is True

    def texts(self, key: str) -> tuple[str, ...]:
        """A list among the details of the task, () where the family does not have it."""
        value = self.task.details.get(key, ())
        return tuple(value) if isinstance(value, list) else ()

    def random(self, *names: object) -> random.Random:
        """A source of random numbers for one purpose."""
        return random_for(self.seed, *names)

    @property
    def train(self) -> Table | None:
        """The training table."""
        return self.survey.table(self.task.train_table)

    @property
    def target_table(self) -> Table | None:
        """The table with the training labels."""
        return self.survey.table(self.task.labels_table or self.task.train_table)

    @property
    def test(self) -> Table | None:
        """The test table."""
        return self.survey.table(self.task.test_table)

    @property
    def sample(self) -> Table | None:
        """The sample submission."""
        return self.survey.table(self.task.sample_submission)

    @property
    def lookup(self) -> Table | None:
        """The table that says what each row of the submission asks for."""
        return self.survey.table(self.text("lookup_table"))

    @property
    def labels_from(self) -> str:
        """Where the labels are; "table" for families without files."""
        return self.text("labels_from") or "table"

    @property
    def file_column(self) -> str:
        """The column that names the files of the examples, "" if none does."""
        return self.text("image_column") or self.text("audio_column")

    @property
    def file_suffix(self) -> str:
        """The suffix that has to be appended to the values of that column."""
        return self.text("image_suffix") or self.text("audio_suffix")

    @property
    def has_pieces(self) -> bool:
        """True if an image has a row for each piece of its mask."""
        return self.text("mask_rows") == "piece"

    @property
    def is_per_group(self) -> bool:
        """True if there is one prediction for a group of rows."""
        return self.text("prediction_per") == "group"

    def folder_of(self, role: str) -> str:
        """The folder of the training files, or of the test files."""
        return self.text("train_folder" if role == "train" else "test_folder")


# The names of the sampled real examples, and how these are put together.


_MOST_PARTS = 100_000


def known_training(original: Original) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the sampled training examples, and the parts behind them."""
    if original.labels_from in ("folders", "names"):
        return tuple(dict.fromkeys(name for folder in training_folders(original) for name in folder.names)), ("",)
    if original.labels_from == "records":
        train = training_records(original.survey)
        feature = example_id_feature(original, train.features) if train is not None else None
        return (feature.values if feature is not None else ()), ("",)
    if original.is_set("label_rows"):
        return _split(tuple(key for key, _ in _label_rows(original)), 1)
    column = example_id_column(original, original.train)
    if column is None:
        return (), ("",)
    return _split(column.present, _parts_behind(original, column.present, original.text("train_folder")))


def known_test(original: Original) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the sampled test examples, and the parts behind them in the sample submission."""
    task, sample = original.task, original.sample
    looked_up = original.lookup.column(original.text("example_column")) if original.lookup is not None else None
    if looked_up is not None:
        return tuple(dict.fromkeys(looked_up.present)), task.targets
    column = example_id_column(original, original.test)
    id_column = sample.column(task.id_column) if sample is not None else None
    is_keyed = task.submission is SubmissionKind.KEYED_ROWS
    if id_column is not None and is_keyed and len(task.targets) > 1:
        return without_labels(id_column.present, task.targets), task.targets
    if column is not None:
        names = tuple(dict.fromkeys(column.present))
        return names, _split(id_column.present, 1)[1] if is_keyed and id_column is not None else ("",)
    folder = original.text("test_folder")
    if id_column is not None and id_column.present:
        return _split(id_column.present, _parts_behind(original, id_column.present, folder) or is_keyed)
    folders = [test_folder for test_folder in original.survey.folders if test_folder.path == folder]
    return tuple(
        dict.fromkeys(name.rpartition(".")[0] or name for test_folder in folders for name in test_folder.names)
    ), ("",)


def example_id_column(original: Original, table: Table | None) -> Column | None:
    """The column of a table that names the examples, if there is one."""
    if table is None:
        return None
    of_groups = original.text("group_column") * original.is_per_group
    for name in (original.file_column, original.task.id_column, original.text("example_column"), of_groups):
        column = table.column(name) if name else None
        if column is not None and column.present:
            return column
    return None


def repeatable_ids(original: Original) -> Column | None:
    """The column of the training ids, unless several rows of one are parts of an example, or a sequence."""
    has_parts = original.is_set("label_rows") or original.task.target_kind in (TargetKind.MASK, TargetKind.IMAGE)
    has_sequences = original.is_per_group or bool(original.text("order_column"))
    is_listed = original.labels_from in ("table", "pixels")
    return example_id_column(original, original.train) if is_listed and not has_parts and not has_sequences else None


def rows_of_each_id(original: Original) -> list[int]:
    """The number of different rows of each sampled training id, in the table that has most; [1] where none repeats."""
    key = repeatable_ids(original)
    if key is None:
        return [1]
    tables = (table for table in (original.train, original.target_table) if table is not None)
    counts = [list(Counter(row[0] for row in different_rows(table, key.name)).values()) for table in tables]
    return max(counts, key=lambda rows: sum(rows) / max(1, len(rows)))


def different_rows(table: Table, name: str) -> list[tuple[str | None, ...]]:
    """The different ones of the sampled rows that have an id, the id first; none if the table has no such column."""
    ids = table.column(name)
    rows = zip_longest(ids.values, *(column.values for column in table.columns)) if ids is not None else ()
    return [row for row in dict.fromkeys(rows) if row[0] is not None]


def training_folders(original: Original) -> list[Folder]:
    """The folder of the training files and those in it."""
    path, folders = original.text("train_folder"), original.survey.folders
    return [folder for folder in folders if is_below(folder.path, path) and (folder.images or folder.audio)]


def names_by_class(original: Original) -> dict[str, list[str]]:
    """The names of the sampled training files of each class that folders or names say."""
    by_class: dict[str, list[str]] = defaultdict(list)
    start, pattern = len(original.text("train_folder")), original.text("label_in_name")
    for folder in training_folders(original):
        of_folder = folder.path[start:].strip("/").partition("/")[0]
        for name in folder.names:
            by_class[of_folder if original.labels_from == "folders" else class_in_name(name, pattern)].append(name)
    return by_class


def example_id_feature(original: Original, features: Iterable[RecordFeature]) -> RecordFeature | None:
    """The feature of records that names an example, if they have it."""
    return next((feature for feature in features if feature.name == original.text("record_id")), None)


def label_columns(original: Original) -> tuple[Column, ...]:
    """A column of 0 and 1 for each label, where the training rows are `<example>_<label>` and whether it applies."""
    rows = dict(_label_rows(original))
    examples, labels = _split(tuple(rows), 1)
    return tuple(
        Column(label, ColumnKind.INTEGER, tuple(rows.get(f"{example}_{label}", "0") for example in examples))
        for label in labels
    )


def _label_rows(original: Original) -> list[tuple[str, str]]:
    task, table = original.task, original.target_table
    columns = [table.column(name) for name in (task.id_column, task.targets[0])] if table is not None else []
    cells = zip(*(column.values for column in columns if column is not None), strict=True)
    return [(key, label) for key, label in cells if key is not None and label is not None]


def _parts_behind(original: Original, values: Sequence[str], folder: str) -> int:
    """The number of parts of the values that do not belong to the name of a file."""
    if original.text("labels_from") in ("", "pixels"):
        return 0
    folders = candidate_folders(original.survey, families()[original.task.family].medium)
    match = best_match(
        values, [candidate for candidate in (*folders, *folder_trees(folders)) if candidate.path == folder]
    )
    is_hidden = match is None and original.is_set("hidden_test")
    return match.parts if match is not None else int(is_hidden and all("_" in value for value in values))


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


def runs_of(column: Column) -> list[list[int]]:
    """The rows of each value, in order of appearance."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, value in enumerate(column.values):
        if value is not None:
            rows[value].append(row)
    return list(rows.values())


# The labels of made-up examples, and what inputs show of them.


FEWEST_OF_A_CLASS = 3
_MOST_CLASSES = 1_000
_BANDS = 4
_STRENGTH = 0.8
_YES = ("1", "1.0", "True", "true", "TRUE")


@dataclass(frozen=True)
class ExampleLabels:
    """The labels of some examples, and what an input shows of them.

    Attributes:
        cells: By target column, one for each example.
        classes: The class of each example, where files say it; else empty.
        marks: For each example, the numbers of the classes that its input shows.
        levels: For each example, how bright, large or high its input is, from 0 to 1.
    """

    cells: Mapping[str, Cells]
    classes: tuple[str, ...]
    marks: tuple[tuple[int, ...], ...]
    levels: tuple[float, ...]

    def without_signal(self, source: random.Random) -> "ExampleLabels":
        """The same labels with inputs that say nothing of them."""
        order = list(range(len(self.levels)))
        source.shuffle(order)
        return replace(
            self,
            marks=tuple(self.marks[row] for row in order),
            levels=tuple(self.levels[row] for row in order),
        )


@dataclass(frozen=True)
class LabelSampler:
    """A source that labels can be drawn from.

    Attributes:
        kind: What is predicted.
        columns: The sampled training labels, where a table has them.
        classes: Otherwise the classes that files say.
        separator: What separates several labels in one cell.
    """

    kind: TargetKind
    columns: tuple[Column, ...] = ()
    classes: tuple[str, ...] = ()
    separator: str = ""

    @property
    def different(self) -> int:
        """The number of classes; 0 where there are none to be covered."""
        if self.columns and self.kind is TargetKind.CLASS:
            return len(set(self._rows()))
        return len(self.classes) if not self.columns else 0

    def draw(self, count: int, source: random.Random) -> ExampleLabels:
        """Makes up the labels of so many examples, at least a few of each class."""
        if not self.columns or not self._rows():
            return self._of_classes(count, source)
        if self.kind is TargetKind.NUMBER and all(column.kind in NUMBERS for column in self.columns):
            return self._of_numbers(count, source)
        rows = _covering(self._rows(), count, source)
        cells = {column.name: [row[at] for row in rows] for at, column in enumerate(self.columns)}
        marks = [self._marks(row) for row in rows]
        most = max(1, max((mark for row in marks for mark in row), default=1))
        levels = [sum(row) / len(row) / most if row else 0.0 for row in marks]
        return ExampleLabels(cells, (), tuple(marks), tuple(levels))

    def _rows(self) -> list[tuple[str | None, ...]]:
        rows = list(zip(*(column.values for column in self.columns), strict=True))
        return [row for row in rows if any(cell is not None for cell in row)] or rows

    def _of_classes(self, count: int, source: random.Random) -> ExampleLabels:
        if not self.classes:
            levels = tuple(even_quantiles(count, source))
            return ExampleLabels({}, (), tuple(_band(level) for level in levels), levels)
        classes = self.classes[:_MOST_CLASSES]
        positions = [position % len(classes) for position in range(count)]
        source.shuffle(positions)
        most = max(1, len(classes) - 1)
        levels = tuple(position / most for position in positions)
        names = tuple(classes[position] for position in positions)
        return ExampleLabels({}, names, tuple((position,) for position in positions), levels)

    def _of_numbers(self, count: int, source: random.Random) -> ExampleLabels:
        levels, cells = tuple(even_quantiles(count, source)), {}
        for column in self.columns:
            # Labels have no order of rows and no gaps.
            shuffled_values = random_for(0, "unsorted").sample(column.present, len(column.present))
            shuffled_column = replace(column, values=tuple(shuffled_values))
            cells[column.name] = cells_like(
                shuffled_column, correlated_quantiles(levels, source, strength=_STRENGTH), source
            )
        return ExampleLabels(cells, (), tuple(_band(level) for level in levels), levels)

    def _marks(self, row: Sequence[str | None]) -> tuple[int, ...]:
        if len(row) > 1 and self.kind in (TargetKind.CLASS, TargetKind.LABELS):
            return tuple(position for position, cell in enumerate(row) if cell in _YES)
        cell = row[0] or ""
        labels = cell.split(self.separator) if self.separator else [cell]
        return tuple(sorted(self._numbers[label] for label in labels if label))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        cells = self.columns[0].distinct
        labels = {label for cell in cells for label in (cell.split(self.separator) if self.separator else [cell])}
        is_number = kind_of(labels) in NUMBERS
        sorted_labels = sorted(labels, key=lambda label: (float(label) if is_number else 0.0, label))
        return {label: position for position, label in enumerate(sorted_labels)}


def _band(level: float) -> tuple[int, ...]:
    """The class that texts and pictures of a number show: low, middling, high."""
    return (min(int(level * _BANDS), _BANDS - 1),)


def _covering(
    sampled_rows: Sequence[tuple[str | None, ...]], count: int, source: random.Random
) -> list[tuple[str | None, ...]]:
    """Rows by their frequencies, a few of each that occurs, as far as there is room."""
    by_row = Counter(sampled_rows)
    frequent = sorted(by_row, key=lambda row: (-by_row[row], str(row)))
    repeats = max(1, min(FEWEST_OF_A_CLASS, count // len(frequent)))
    rows = [row for row in frequent for _ in range(repeats)][:count]
    rows += source.choices(frequent, weights=[by_row[row] for row in frequent], k=count - len(rows))
    source.shuffle(rows)
    return rows


_MOST_EXAMPLES_FOR_CLASSES = 600
_FEWEST_EXAMPLES, _FEWEST_TEST_EXAMPLES, _FEWEST_GROUPS = 12, 6, 8
_LONGEST_GROUP = 200
_MOST_PIXELS, _FEWEST_IMAGES = 400_000, 2


@dataclass(frozen=True)
class Examples:
    """The made-up examples of one part of the data.

    Attributes:
        role: "train", "test", or what else the files are for.
        known_names: The names of the sampled real examples.
        names: The names of the made-up ones, as tables and files have them.
        truth: Their labels.
        shown_labels: What their inputs show: the same, or nothing that helps.
        shapes: For each example, what is to be segmented, one for each part.
        parts: The parts in the ids of the table that is keyed by example and part; one empty part if none is.
        lengths: How many rows each group has, where rows are grouped.
        folders: The folders that the files are scattered over; none if one folder has all.
        folder_of: Which of these has the file of each example.
        ids: The number of the name of each example, which grows, where consecutive ones have the same; else empty.
    """

    role: str
    known_names: tuple[str, ...]
    names: tuple[str, ...]
    truth: ExampleLabels
    shown_labels: ExampleLabels
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
    known_names, parts = known_training(original)
    parts = classes or (PIECES if original.has_pieces else parts)
    count, lengths = _training_count(original, sampler, len(parts))
    ids = _ids_of_rows(original, count, lengths)
    names = _training_names(original, sampler, known_names, ids[-1] + 1)
    train = _examples(original, sampler, "train", [names[number] for number in ids], parts)
    train = replace(train, known_names=known_names, lengths=lengths, ids=ids if len(names) < count else ())
    test_known, parts = known_test(original)
    parts = classes or parts
    count, lengths = _test_count(original, len(parts))
    # At most one name is known, and others that look like it tell more of such names.
    is_one_of = len(test_known) <= 1 and bool(known_names) and (not test_known or are_alike(test_known[0], known_names))
    reference_names = (*known_names, *test_known) if is_one_of else test_known
    names = id_format(reference_names).fresh(count, original.random("names", "test"), set(train.names))
    test = replace(_examples(original, sampler, "test", names, parts), known_names=test_known, lengths=lengths)
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
    target_table, targets = original.target_table, original.task.targets
    columns = (
        tuple(column for column in target_table.columns if column.name in targets) if target_table is not None else ()
    )
    is_list = len(columns) == 1 and kind is TargetKind.LABELS
    return LabelSampler(kind, columns=columns, separator=original.text("label_separator") if is_list else "")


def _examples(
    original: Original, sampler: LabelSampler, role: str, names: Sequence[str], parts: tuple[str, ...] = ("",)
) -> Examples:
    source = original.random("truth", role)
    truth = sampler.draw(len(names), source)
    shown_labels = truth if original.signal else truth.without_signal(source)
    shapes: tuple[tuple[Shape, ...], ...] = ()
    if sampler.kind is TargetKind.MASK:
        kinds = [0] * len(parts) if parts == PIECES else range(len(parts))
        shapes = shapes_of(len(names), kinds, source)
    return Examples(role, (), tuple(names), truth, shown_labels, shapes, parts)


def validation_examples(data: SyntheticData, known_names: Sequence[str]) -> Examples:
    """The examples of TFRecords that are neither for training nor for the test."""
    count = max(_FEWEST_TEST_EXAMPLES, len(data.test))
    used_names = {*data.train.names, *data.test.names}
    names = id_format(known_names).fresh(count, data.original.random("names", "validation"), used_names)
    return _examples(data.original, data.sampler, "validation", names)


def _label_values(original: Original) -> tuple[Column, ...]:
    train, name = training_records(original.survey), original.text("record_label")
    features = train.features if train is not None else ()
    return tuple(column_of(name, feature.values) for feature in features if feature.name == name and feature.values)


def _training_count(original: Original, sampler: LabelSampler, parts: int) -> tuple[int, tuple[int, ...]]:
    """The number of training examples, and the lengths of their groups."""
    rows = max(_FEWEST_EXAMPLES, original.rows)
    if parts > 1:
        rows = max(_FEWEST_EXAMPLES, rows // parts)
    if sampler.different:
        rows = max(rows, min(FEWEST_OF_A_CLASS * sampler.different, _MOST_EXAMPLES_FOR_CLASSES))
    return _draw_groups(original, original.train, rows, original.random("groups"))


def _test_count(original: Original, parts: int) -> tuple[int, tuple[int, ...]]:
    task = original.task
    rows = max(_FEWEST_TEST_EXAMPLES, original.rows // 3)
    if task.target_kind is TargetKind.IMAGE and task.submission is SubmissionKind.KEYED_ROWS:
        folder = original.survey.folder(original.text("test_folder"))
        pixels = folder.images.width * folder.images.height if folder is not None and folder.images else 1
        rows = min(rows, max(_FEWEST_IMAGES, _MOST_PIXELS // max(1, pixels)))
    elif parts > 1:
        rows = max(_FEWEST_TEST_EXAMPLES, rows // parts)
    return _draw_groups(original, original.test, rows, original.random("groups", "test"))


def _draw_groups(
    original: Original, table: Table | None, rows: int, source: random.Random
) -> tuple[int, tuple[int, ...]]:
    """The number of examples, and the rows of each group; none where the rows are not grouped."""
    column = table.column(original.text("group_column")) if table is not None else None
    if column is None or not column.present:
        return rows, ()
    counts = (
        rows_of_each_id(original)
        if column is repeatable_ids(original)
        else [len(group_rows) for group_rows in runs_of(column)]
    )
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


def _training_names(
    original: Original, sampler: LabelSampler, known_names: Sequence[str], count: int
) -> tuple[str, ...]:
    source = original.random("names", "train")
    if original.labels_from not in ("folders", "names") or not sampler.classes:
        return id_format(known_names).fresh(count, source)
    # The class is part of the name, or of its folder, whose files can have names of their own kind.
    truth = sampler.draw(count, original.random("truth", "train"))
    by_class = names_by_class(original)
    names = [name for of_class in by_class.values() for name in of_class]
    is_unique = len(set(names)) == len(names)
    names_by_label: dict[str, tuple[str, ...]] = {}
    for label in sorted(set(truth.classes)):
        used_names = {name for label_names in names_by_label.values() for name in label_names} if is_unique else ()
        names_by_label[label] = id_format(by_class.get(label, ())).fresh(truth.classes.count(label), source, used_names)
    fresh = {label: iter(names) for label, names in names_by_label.items()}
    return tuple(next(fresh[label]) for label in truth.classes)


def _with_classes_in_names(examples: Examples, original: Original) -> Examples:
    """Puts files in the folder of their class, where the real names begin with it."""
    targets, target_table = original.task.targets, original.target_table
    target = target_table.column(targets[0]) if target_table is not None and targets else None
    name_column = (
        target_table.column(original.file_column) if target_table is not None and original.file_column else None
    )
    cells = examples.truth.cells.get(targets[0]) if targets else None
    if target is None or name_column is None or not cells or len(cells) != len(examples):
        return examples
    pairs = [pair for pair in zip(name_column.values, target.values, strict=True) if pair[0] and pair[1]]
    if not pairs or not all(str(name).startswith(f"{label}/") for name, label in pairs):
        return examples
    paths = (f"{label}/{name.partition('/')[2]}" for name, label in zip(examples.names, cells, strict=True))
    return replace(examples, names=tuple(paths))


# The ids of test rows without a column of them: put together from the cells of a row, or counted.


def with_different_ids(original: Original, rows: Mapping[str, Cells]) -> dict[str, Cells]:
    """Returns the cells of the test table with another combination of the columns of the ids in each row."""
    names = [name for name in original.texts("id_columns") if name in rows]
    if not names:
        return dict(rows)
    first, *other_columns = [[cell or "" for cell in rows[name]] for name in names]
    # New values for the first column are a reserve, where the combinations of what is there are too few.
    reserve = id_format(tuple(dict.fromkeys(first))).fresh(len(first), original.random("ids", *names), set(first))
    free = product((*dict.fromkeys(first), *reserve), *map(dict.fromkeys, other_columns))
    combinations = set(zip(first, *other_columns, strict=True))
    seen_rows: set[tuple[str, ...]] = set()
    new_rows = []
    for row in zip(first, *other_columns, strict=True):
        new = next(combination for combination in free if combination not in combinations) if row in seen_rows else row
        seen_rows.add(new)
        new_rows.append(new)
    return {**rows, **{name: list(cells) for name, cells in zip(names, zip(*new_rows, strict=True), strict=True)}}


def ids_of_rows(original: Original, rows: Mapping[str, Cells]) -> list[str]:
    """Returns the ids that the task makes of the rows of the test table; none where a column has them."""
    names, task = original.texts("id_columns"), original.task
    count = len(next(iter(rows.values()), ()))
    if names and rows.keys() >= set(names):
        cells = zip(*(rows[name] for name in names), strict=True)
        return [original.text("id_separator").join(cell or "" for cell in row) for row in cells]
    if "first_id" in task.details and task.id_column not in rows:
        first = int(str(task.details["first_id"]))
        return [str(first + row) for row in range(count)]
    return []
