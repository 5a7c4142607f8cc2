"""The names of the sampled real examples, and how these are put together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection.candidate_folders import best_match, candidate_folders, folder_trees
from generator.competition.introspection.id_column import without_labels
from generator.competition.introspection.label_sources import class_in_name
from generator.competition.introspection.tfrecords import training_records
from generator.competition.introspection.vocabulary import is_below
from generator.competition.schema import families
from generator.competition.specimen.original import Original
from generator.competition.survey.facts import Column, ColumnKind, Folder, RecordFeature, Table

_MOST_PARTS = 100_000


def known_training(original: Original) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the sampled training examples, and the parts behind them."""
    if original.labels_from in ("folders", "names"):
        return tuple(dict.fromkeys(name for folder in training_folders(original) for name in folder.names)), ("",)
    if original.labels_from == "records":
        train = training_records(original.survey)
        feature = id_feature(original, train.features) if train is not None else None
        return (feature.values if feature is not None else ()), ("",)
    if original.is_set("label_rows"):
        return _split(tuple(key for key, _ in _label_rows(original)), 1)
    column = key_column(original, original.train)
    if column is None:
        return (), ("",)
    return _split(column.present, _parts_behind(original, column.present, original.text("train_folder")))


def known_test(original: Original) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the sampled test examples, and the parts behind them in the sample submission."""
    task, sample = original.task, original.sample
    looked_up = original.lookup.column(original.text("example_column")) if original.lookup is not None else None
    if looked_up is not None:
        return tuple(dict.fromkeys(looked_up.present)), task.targets
    column = key_column(original, original.test)
    asked = sample.column(task.id_column) if sample is not None else None
    is_keyed = task.submission is SubmissionKind.KEYED_ROWS
    if asked is not None and is_keyed and len(task.targets) > 1:
        return without_labels(asked.present, task.targets), task.targets
    if column is not None:
        known = tuple(dict.fromkeys(column.present))
        return known, _split(asked.present, 1)[1] if is_keyed and asked is not None else ("",)
    folder = original.text("test_folder")
    if asked is not None and asked.present:
        return _split(asked.present, _parts_behind(original, asked.present, folder) or is_keyed)
    folders = [found for found in original.survey.folders if found.path == folder]
    return tuple(dict.fromkeys(name.rpartition(".")[0] or name for found in folders for name in found.names)), ("",)


def key_column(original: Original, table: Table | None) -> Column | None:
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
    return key_column(original, original.train) if is_listed and not has_parts and not has_sequences else None


def rows_of_each_id(original: Original) -> list[int]:
    """The number of different rows of each sampled training id, in the table that has most; [1] where none repeats."""
    key = repeatable_ids(original)
    if key is None:
        return [1]
    tables = (table for table in (original.train, original.labelled) if table is not None)
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


def id_feature(original: Original, features: Iterable[RecordFeature]) -> RecordFeature | None:
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
    task, table = original.task, original.labelled
    columns = [table.column(name) for name in (task.id_column, task.targets[0])] if table is not None else []
    cells = zip(*(column.values for column in columns if column is not None), strict=True)
    return [(key, label) for key, label in cells if key is not None and label is not None]


def _parts_behind(original: Original, values: Sequence[str], folder: str) -> int:
    """The number of parts of the values that do not belong to the name of a file."""
    if original.text("labels_from") in ("", "pixels"):
        return 0
    folders = candidate_folders(original.survey, families()[original.task.family].medium)
    match = best_match(values, [each for each in (*folders, *folder_trees(folders)) if each.path == folder])
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
