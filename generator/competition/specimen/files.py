"""The files of a specimen: folders, TFRecord files with the same features, and a stand-in for an inference server."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import product
from pathlib import PurePosixPath

from generator.competition.facts import ServedAnswer, SubmissionKind, TargetKind
from generator.competition.introspection.evidence import TEST, TRAIN, is_below, split_words
from generator.competition.introspection.files import endings_behind, records_role
from generator.competition.specimen.examples import (
    Examples,
    Original,
    SyntheticData,
    example_id_column,
    example_id_feature,
    validation_examples,
)
from generator.competition.specimen.media import MEDIA_SUFFIXES, Appearance, MediaFiles
from generator.competition.specimen.values import Cells, cells_like, even_quantiles, id_format
from generator.competition.specimen.writer import Writer
from generator.competition.survey import Column, Folder, RecordFeature, Records, Table, column_of, suffix_of
from generator.competition.tables import Values, record_file, tf_example
from generator.text import printable

# The folders that the files of examples are scattered over, such as those of patients or classes.


_MOSTLY = 0.9
_ROWS_COMPARED, _NAMES_COMPARED = 500, 500
_FREQUENT_SHARE, _SOME_SHARE = 0.5, 0.02

# What follows a name in the name of its file, and whether the name loses its own suffix before that.
Ending = tuple[bool, str]


def endings_of(files: Sequence[str], names: Sequence[str]) -> tuple[Ending, ...]:
    """The ends of the sorted names of files behind those of examples; nothing if hardly any example has a file."""
    compared_names = names[:_NAMES_COMPARED]
    for is_stem in (False, True):
        starts = [name[: len(name) - len(suffix_of(name))] if is_stem else name for name in compared_names]
        counts = Counter(ending for start in starts for ending in endings_behind(start, files))
        most = max(counts.values(), default=0)
        if counts and most >= _SOME_SHARE * len(compared_names):
            return tuple(
                (is_stem, ending) for ending, count in sorted(counts.items()) if count >= _FREQUENT_SHARE * most
            )
    return ()


def with_folders(data: SyntheticData) -> SyntheticData:
    """The same examples, dealt to the folders below that of their side, where each of these has some of the files."""
    train, test = (_assign_folders(examples, data.original) for examples in (data.train, data.test))
    return replace(data, train=train, test=test)


def folder_cells(original: Original, table: Table, column: Column, examples: Examples) -> Cells | None:
    """The cells of a column that names the folders of the files, for each example; None for any other column."""
    key = example_id_column(original, table)
    if key is None or key is column or not examples.folders:
        return None
    names = {folder.path: folder.names for folder in original.survey.folders}
    names_by_example = {
        example: name
        for name, path in _by_name(examples.folders).items()
        for example in _named_in(names[path], key.present[:_ROWS_COMPARED])
    }
    pairs = [pair for pair in zip(key.values, column.values, strict=True) if pair[0] in names_by_example]
    fitting = sum(names_by_example[str(example)] == cell for example, cell in pairs)
    if not fitting or fitting < _MOSTLY * len(pairs):
        return None
    return [path.rpartition("/")[2] for path in examples.folder_of]


def _assign_folders(examples: Examples, original: Original) -> Examples:
    """Examples of a class go into the folder that is named for it, those of a group into one, others in turn."""
    folders = _find(examples, original)
    if len(folders) <= 1:
        return examples
    names = _by_name(folders)
    labels = examples.truth.cells.get(original.task.targets[0], []) if examples.role == "train" else []
    if labels and all(label in names for label in labels):
        example_folders = [names[str(label)] for label in labels]
    else:
        turns = examples.groups if len(examples.groups) == len(examples) else examples.ids or range(len(examples))
        example_folders = [folders[turn % len(folders)] for turn in turns]
    return replace(examples, folders=tuple(folders), folder_of=tuple(example_folders))


def _find(examples: Examples, original: Original) -> list[str]:
    base, folders = original.folder_of(examples.role), original.survey.folders
    inner = [folder for folder in folders if base and is_below(folder.path, base) and folder.images is not None]
    if original.task.target_kind in (TargetKind.MASK, TargetKind.IMAGE):
        # Folders of masks lie beside those of images.
        inner = [folder for folder in inner if endings_of(sorted(folder.names), examples.known_names)]
        example_names = [name for folder in inner for name in _named_in(folder.names, examples.known_names)]
        if len(set(example_names)) < len(example_names):
            return []
    return [] if any(folder.path == base for folder in inner) else [folder.path for folder in inner]


def _named_in(files: Sequence[str], names: Sequence[str]) -> set[str]:
    """The examples that have a file among some."""
    in_order = sorted(files)
    return {name for name in names if any(True for _ in endings_behind(name, in_order))}


def _by_name(folders: Sequence[str]) -> Mapping[str, str]:
    return {path.rpartition("/")[2]: path for path in folders}


# The folders of a specimen: a file for every example, and stand-ins for whatever else there is.


_FEWEST_OTHERS, _MOST_KEPT = 1, 12
_TEXT = b"A specimen does not have the text of this file.\n"
_STAND_INS = {".json": b"{}\n", ".txt": _TEXT, ".md": _TEXT, ".csv": b"", ".yaml": b"", ".py": b"", ".html": _TEXT}


# Files of some examples: whose, their endings, and the path of the folder that the names are relative to.
_Group = tuple[Examples, Sequence[int], tuple[Ending, ...], str]


@dataclass
class FolderMaker:
    """Writes the files that are neither tables nor records."""

    data: SyntheticData
    writer: Writer
    media: MediaFiles
    _nested_roles: set[str] = field(default_factory=set, init=False)

    def make(self) -> None:
        """Writes the files of all folders."""
        for folder in self.data.original.survey.folders:
            groups = list(self._groups(folder))
            for side, examples, endings, base in groups:
                for example, (is_stem, ending) in product(examples, endings):
                    name = side.names[example]
                    stem = name[: len(name) - len(suffix_of(name))] if is_stem else name
                    path = f"{base}/{stem}{ending}".lstrip("/")
                    self._write(folder, path, self.media.example_file(folder, suffix_of(path), side, example))
            if not groups:
                self._write_others(folder)

    def _groups(self, folder: Folder) -> Iterator[_Group]:
        """The examples that have files in a folder, and how these are named."""
        if folder.images is None and folder.audio is None:
            return
        train, original = self.data.train, self.data.original
        start = original.text("train_folder")
        inner = folder.path[len(start) :].strip("/").partition("/")[0] if is_below(folder.path, start) else ""
        if original.labels_from == "folders" and inner in train.truth.classes:
            of_class = [row for row, label in enumerate(train.truth.classes) if label == inner]
            yield train, of_class, ((False, ""),), folder.path
            return
        for side in self._sides(folder):
            base = original.folder_of(side.role)
            if any("/" in name for name in side.names) and is_below(folder.path, base):
                # The names have folders in them: one folder of the survey writes the files of all.
                examples = [] if side.role in self._nested_roles else side.firsts
                self._nested_roles.add(side.role)
                yield side, examples, ((False, original.file_suffix),), base
                continue
            endings = endings_of(sorted(folder.names), side.known_names)
            rows = side.firsts
            if folder.path in side.folders:
                rows = [row for row in rows if side.folder_of[row] == folder.path]
            if endings or folder.path in (base, *side.folders):
                yield side, rows, endings or (self._usual_ending(folder, side),), folder.path

    def _sides(self, folder: Folder) -> Sequence[Examples]:
        """Whose files a folder may have; ids of both sides can be the same small numbers."""
        sides = (self.data.train, self.data.test)
        bases = [(side, self.data.original.folder_of(side.role)) for side in sides]
        owners = [side for side, base in bases if base and is_below(folder.path, base)]
        if owners:
            return owners
        path_words = split_words(folder.path)
        if bool(path_words & TRAIN) is not bool(path_words & TEST):
            return sides[:1] if path_words & TRAIN else sides[1:]
        return sides

    def _usual_ending(self, folder: Folder, side: Examples) -> Ending:
        """Where none of the sampled examples is among the sampled files, names without a suffix get the usual one."""
        if all(suffix_of(name) in MEDIA_SUFFIXES for name in side.names):
            return False, ""
        return False, self.data.original.file_suffix or max(folder.suffixes, key=lambda suffix: folder.suffixes[suffix])

    def _write_others(self, folder: Folder) -> None:
        """Files that belong to no example: alike pictures and sounds, stand-ins for whatever else has a name."""
        prefix = f"{folder.path}/" if folder.path else ""
        if folder.images is None and folder.audio is None:
            for name in folder.names[:_MOST_KEPT]:
                stand_in = _STAND_INS.get(suffix_of(name))
                if stand_in is None:
                    self.writer.note(f"Files that end in {suffix_of(name) or 'nothing'} are empty in a specimen.")
                self._write(folder, prefix + name, stand_in or b"")
            return
        if not folder.names:
            return
        # There may be hundreds of such folders, but the specimen stays small.
        original = self.data.original
        share = min(original.rows // 3, 2 * original.rows // len(original.survey.folders))
        count = min(folder.files, max(_FEWEST_OTHERS, share))
        for name in id_format(folder.names).fresh(count, original.random("strangers", folder.path)):
            self._write(folder, prefix + name, self.media.unrelated_file(folder, suffix_of(name), name))

    def _write(self, folder: Folder, path: str, content: bytes | None) -> None:
        if content is not None:
            self.writer.write(path, content, is_archived=folder.is_archive)


def write_files(data: SyntheticData, writer: Writer, media: MediaFiles) -> None:
    """Write the files of the examples, in folders and in TFRecords."""
    FolderMaker(data, writer, media).make()
    RecordMaker(data, writer, media).make()


# The inference server of a specimen: a stand-in for the competition's own, which is somebody's code.


_PACKAGE = PurePosixPath("kaggle_evaluation")


def write_server(original: Original, writer: Writer) -> None:
    """Writes a module of the name of the competition's own, which hands out the made-up test rows."""
    task = original.task
    module = task.details.get("inference_server")
    if not module:
        return
    server, gateway = original.survey.server, {}
    if server is not None and server.gateway_name:
        gateway = {server.gateway_name: _gateway(original)}
    stand_in = files("generator.competition.specimen").joinpath("stand_in_server.py").read_bytes()
    content = {"__init__.py": b"", f"{module}.py": stand_in, f"{module}.json": _facts(original), **gateway}
    for name, file_bytes in content.items():
        writer.write(str(_PACKAGE / name), file_bytes)
    writer.note("The inference server is a stand-in: it asks the notebook as the competition's own would.")


def _gateway(original: Original) -> bytes:
    """The text of a gateway, with no more than the names that are read from it, since the stand-in does its work."""
    task = original.task
    paths = [f"/kaggle/input/a-specimen/{path.removeprefix('.')}" for path in original.texts("gateway_files")]
    constant_names = {ServedAnswer.TARGETS: "row_id_column_name", ServedAnswer.VALUE: "target_column_name"}
    lines = [
        f"FILES = {paths!r}",
        f"IDS = {task.id_column!r}",
        *(
            f"{name} = 'its own'"
            for answer, name in constant_names.items()
            if answer == task.details.get("served_answer")
        ),
    ]
    return ("\n".join(lines) + "\n").encode()


def _facts(original: Original) -> bytes:
    task, mask_rows = original.task, original.text("mask_rows")
    has_pixels = task.target_kind is TargetKind.IMAGE
    parts = list(task.targets) if task.submission is SubmissionKind.KEYED_ROWS and not has_pixels else []
    parts = list(original.texts("mask_classes")) if mask_rows == "id" else parts
    # The files that are handed out are those of training where only the real gateway has the test.
    test_folder = original.text("test_folder") or original.text("train_folder")
    columns = [name for name in original.sample.column_names if name != task.id_column] if original.sample else []
    facts = {
        "test_table": _table_facts(original.test),
        "sample": _table_facts(original.sample),
        "test_folder": "" if original.labels_from == "pixels" else test_folder,
        "file_column": original.file_column,
        "id_column": task.id_column,
        # Rows that are read together must not be torn apart.
        "batch_by": original.text("group_column") if original.text("prediction_per") == "row" else task.id_column,
        "parts_in_ids": parts,
        "has_pixels_in_ids": has_pixels,
        "has_parts": bool(parts) or has_pixels or mask_rows == "column",
        "any_rows": mask_rows == "piece",
        "columns": columns or list(task.targets),
        "answer": task.details.get("served_answer", ""),
        "submission_file": task.submission_file,
    }
    return (json.dumps(facts, indent=2) + "\n").encode()


def _table_facts(table: Table | None) -> dict[str, str] | None:
    """The way to read a table, None if there is none."""
    return {"path": table.path, "separator": table.separator, "encoding": table.encoding} if table else None


_MOST_FILES = 8
_MOST_VALUES = 100_000
_VALUES_WHERE_IT_VARIES = 3
_LARGEST_FLOAT = 3.4e38  # of 32 bits
_COUNT_IN_NAME = re.compile(r"(.*-)(\d+)(\.[a-z]+)")  # as in `00-224x224-798.tfrec`


@dataclass
class RecordMaker:
    """Writes the TFRecord files."""

    data: SyntheticData
    writer: Writer
    media: MediaFiles
    _validation: Examples | None = field(default=None, init=False)

    def make(self) -> None:
        """Writes the files of all groups."""
        for group in self.data.original.survey.records:
            side = self._side(group)
            cells = self._cells(group, side)
            files = max(1, min(len(group.names), _MOST_FILES, len(side)))
            for position, name in enumerate(group.names[:files]):
                rows = range(position, len(side), files)
                examples = (
                    {
                        feature.name: (feature.kind, self._values(feature, side, row, cells))
                        for feature in group.features
                    }
                    for row in rows
                )
                content = record_file(map(tf_example, examples))
                path = f"{group.path}/{_update_count(group, name, len(rows))}".lstrip("/")
                self.writer.write(path, content)

    def _side(self, group: Records) -> Examples:
        role = records_role(group)
        if role:
            return self.data.train if role == "train" else self.data.test
        # The same examples come in several sizes, in folders that are named alike but for the size.
        if self._validation is None:
            feature = example_id_feature(self.data.original, group.features)
            self._validation = validation_examples(self.data, feature.values if feature is not None else ())
        return self._validation

    def _cells(self, group: Records, side: Examples) -> Mapping[str, Sequence[str]]:
        """The values of the features that are one text or number for each example."""
        name_feature = example_id_feature(self.data.original, group.features)
        cells: dict[str, Sequence[str]] = {}
        for feature in group.features:
            if feature is name_feature:
                cells[feature.name] = side.names
            elif feature.name in side.truth.cells:
                cells[feature.name] = [cell or "0" for cell in side.truth.cells[feature.name]]
            elif feature.length == 1 and feature.values:
                source = self.data.original.random("feature", feature.name, side.role)
                # Missing values cannot occur: a feature without a value has another length.
                values = cells_like(column_of("", feature.values), even_quantiles(len(side), source), source)
                cells[feature.name] = [cell or "0" for cell in values]
        return cells

    def _values(self, feature: RecordFeature, side: Examples, row: int, cells: Mapping[str, Sequence[str]]) -> Values:
        cell = cells[feature.name][row] if feature.name in cells else None
        if feature.is_image and feature.image is not None:
            suffix = ".jpg" if feature.image.mode in ("RGB", "L") else ".png"
            appearance = Appearance(
                side.shown_labels.marks[row], side.shown_labels.levels[row], side.shapes[row] if side.shapes else ()
            )
            # A picture that is there in several sizes is the same picture.
            return [self.media.image(feature.image, suffix, appearance, (side.role, row)) or b""]
        source = self.data.original.random("values", feature.name, side.role, row)
        count = _VALUES_WHERE_IT_VARIES if feature.length is None else min(feature.length, _MOST_VALUES)
        texts = [cell] if cell is not None else [source.choice(feature.values or ("0",)) for _ in range(count)]
        if feature.kind == "bytes":
            if not feature.values and cell is None:
                self.writer.note(f'The bytes of the feature "{printable(feature.name)}" are made up.')
            return [text.encode("utf-8", "replace") for text in texts]
        return [_number(text, feature.kind, source) for text in texts]


def _number(text: str, kind: str, source: random.Random) -> float | int:
    try:
        if kind == "int64":
            return int(text)
        number = float(text) * source.uniform(0.9, 1.1)
    except ValueError:
        return 0
    return number if abs(number) < _LARGEST_FLOAT else 0.0


def _update_count(group: Records, name: str, count: int) -> str:
    """The name of a file with the number of examples that it has now, where names say it."""
    matches = [_COUNT_IN_NAME.fullmatch(file_name) for file_name in group.names]
    total = sum(int(match[2]) for match in matches if match is not None)
    match = _COUNT_IN_NAME.fullmatch(name)
    return f"{match[1]}{count}{match[3]}" if match is not None and total == group.examples else name
