"""Which real examples were seen: their names, and how these are put together."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from generator.competition.facts import SubmissionKind
from generator.competition.introspection.id_column import without_labels
from generator.competition.introspection.candidate_folders import best_match, candidate_folders, folder_trees
from generator.competition.introspection.tfrecords import training_records
from generator.competition.schema import families
from generator.competition.specimen.facts import Original
from generator.competition.survey.facts import Column, ColumnKind, Folder, RecordFeature, Table

_NUMBER_BEHIND = re.compile(r"[._\- ]?\d+$")
_MOST_PARTS = 100_000


def known_training(original: Original) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the sampled training examples, and the parts behind them."""
    task, survey = original.task, original.survey
    if original.labels_from in ("folders", "names"):
        folders = training_folders(original)
        return tuple(dict.fromkeys(name for folder in folders for name in folder.names)), ("",)
    if original.labels_from == "records":
        train = training_records(survey)
        feature = id_feature(train.features) if train is not None else None
        return (feature.values if feature is not None else ()), ("",)
    if original.has_label_rows:
        return _split(tuple(key for key, _ in _label_rows(original)), 1)
    column = key_column(original, survey.table(task.train_table))
    if column is None:
        return (), ("",)
    values = column.present
    return _split(values, _parts_behind(original, values, original.text("train_folder")))


def known_test(original: Original) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the sampled test examples, and the parts behind them in the sample submission."""
    task, survey = original.task, original.survey
    lookup = survey.table(original.text("lookup_table"))
    looked_up = lookup.column(original.text("example_column")) if lookup is not None else None
    if looked_up is not None:
        return tuple(dict.fromkeys(looked_up.present)), task.targets
    column = key_column(original, survey.table(task.test_table))
    sample = survey.table(task.sample_submission)
    asked = sample.column(task.id_column) if sample is not None else None
    if asked is not None and task.submission is SubmissionKind.KEYED_ROWS and len(task.targets) > 1:
        return without_labels(asked.present, task.targets), task.targets
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
    of_groups = original.text("group_column") * is_per_group(original)
    for name in (original.file_column, task.id_column, original.text("example_column"), of_groups):
        column = table.column(name) if name else None
        if column is not None and column.present:
            return column
    return None


def is_per_group(original: Original) -> bool:
    """Whether there is one prediction for a group of rows."""
    return original.text("prediction_per") == "group"


def training_folders(original: Original) -> list[Folder]:
    """The folder of the training files and those in it."""
    path = original.text("train_folder")
    return [folder for folder in original.survey.folders if is_below(folder.path, path) and _is_media(folder)]


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder itself or in it; everything is in the folder ""."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def _is_media(folder: Folder) -> bool:
    return folder.images is not None or folder.audio is not None


def names_by_class(original: Original) -> dict[str, list[str]]:
    """The names of the sampled training files of each class that folders or names say."""
    by_class: dict[str, list[str]] = defaultdict(list)
    for folder in training_folders(original):
        for name in folder.names:
            by_class[_class_of(original, folder, name)].append(name)
    return by_class


def _class_of(original: Original, folder: Folder, name: str) -> str:
    if original.labels_from == "folders":
        return folder.path[len(original.text("train_folder")) :].strip("/").partition("/")[0]
    return _NUMBER_BEHIND.sub("", name.rpartition(".")[0])


def id_feature(features: Iterable[RecordFeature]) -> RecordFeature | None:
    """The feature of records that names an example: bytes, or numbers, that are different each time."""
    fitting = [
        feature
        for feature in features
        if not feature.is_image and feature.length == 1 and len(set(feature.values)) == len(feature.values) > 1
    ]
    return next((feature for feature in fitting if "id" in feature.name.lower()), fitting[0] if fitting else None)


def label_columns(original: Original) -> tuple[Column, ...]:
    """A column of 0 and 1 for each label, where the training rows are `<example>_<label>` and whether it applies."""
    rows = dict(_label_rows(original))
    examples, labels = _split(tuple(rows), 1)
    return tuple(
        Column(label, ColumnKind.INTEGER, tuple(rows.get(f"{example}_{label}", "0") for example in examples))
        for label in labels
    )


def _label_rows(original: Original) -> list[tuple[str, str]]:
    task = original.task
    table = original.survey.table(task.labels_table or task.train_table)
    columns = [table.column(name) for name in (task.id_column, task.targets[0])] if table is not None else []
    cells = zip(*(column.values for column in columns if column is not None), strict=True)
    return [(key, label) for key, label in cells if key is not None and label is not None]


def _parts_behind(original: Original, values: Sequence[str], folder: str) -> int:
    """How many parts of the values do not belong to the name of a file."""
    medium = families()[original.task.family].medium
    if not original.text("labels_from") or original.labels_from == "pixels":
        return 0
    places = candidate_folders(original.survey, medium)
    near = [place for place in (*places, *folder_trees(places)) if place.path == folder]
    match = best_match(values, near)
    is_hidden = match is None and original.task.details.get("hidden_test") is True
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
