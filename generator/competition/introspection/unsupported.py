"""The limits of the kit: files that it cannot read, tasks without templates, targets that no family learns."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator

from generator.competition.facts import TargetKind
from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.errors import IntrospectionError, listed
from generator.competition.introspection.example_files import ExampleFiles
from generator.competition.introspection.findings import Hints
from generator.competition.introspection.table_roles import Tables
from generator.competition.introspection.vocabulary import TEST, TRAIN, stem, words
from generator.competition.survey import images, sound
from generator.competition.survey.facts import Column, ColumnKind, Folder, Survey, Table
from generator.untrusted import printable

_ARCHIVES = frozenset((".7z", ".rar", ".tar", ".tgz", ".zst"))
_UNREADABLE = {
    ".dcm": "DICOM images",
    ".dicom": "DICOM images",
    ".nii": "NIfTI volumes",
    ".svs": "Slide images",
    ".npy": "NumPy arrays",
    ".npz": "NumPy arrays",
    ".h5": "HDF5 files",
    ".hdf5": "HDF5 files",
    ".bson": "BSON files",
    ".mp4": "Videos",
    ".avi": "Videos",
    ".mov": "Videos",
    ".mp3": "mp3 files",
    ".txt": "Texts in files of their own",
    ".xls": "Excel files",
    ".xlsx": "Excel files",
}
_REMEDIES = {
    "mp3 files": "convert them to wav or ogg files in folders of the same names",
    "Texts in files of their own": "put them into one table with the columns id, text and label",
    "Excel files": "save them as csv",
}
_FEWEST_TEXTS = 10  # fewer are notes
_NAMED = 0.1  # of the values of a column, since both are samples
_ATTACH = "and on Kaggle attach a dataset with these files and the competition's tables"
_FOR_EXAMPLES = TRAIN | TEST
_BOX = re.compile(r"\[?\(?\s*-?[\d.]+(?:\s*,\s*|\s+)(?:-?[\d.]+(?:\s*,\s*|\s+)){2}-?[\d.]+\s*\)?\]?")
_LABEL_AND_CONFIDENCE = re.compile(r"\S+ [01]?\.\d+( \S+ [01]?\.\d+)*")
_BOX_NAMES = frozenset(("bbox", "bboxes", "box", "boxes"))
_PREDICTION_STRING = frozenset(("prediction", "string"))
_FEWEST_CELLS = 20
_LETTERS, _OWN_TEXTS = 8, 0.7
_PASSAGES = 0.8
_SHOWN = 30


def unsupported_files(survey: Survey) -> tuple[str, ...]:
    """Sentences on the archives and the files of examples that cannot be read."""
    names = ((folder, name) for folder in survey.folders for name in folder.names if words(name) & _FOR_EXAMPLES)
    archives = ((folder, name) for folder, name in names if f".{name.rpartition('.')[2].lower()}" in _ARCHIVES)
    packed = [f"{folder.path}/{name}".lstrip("/") for folder, name in archives]
    sentences = []
    if packed:
        sentences.append(f"{listed(packed)} cannot be unpacked here: put the files in it beside it, {_ATTACH}.")
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for folder in survey.folders:
        for suffix in _unreadable_suffixes(folder):
            found[_UNREADABLE[suffix]][folder.path or "the folder"] = folder.suffixes[suffix]
    for what, places in found.items():
        where, count = listed(list(places)), sum(places.values())
        remedy = _REMEDIES.get(what, "convert them to png images in folders of the same names")
        sentences.append(f"{what} cannot be read here, and there are {count:,} in {where}: {remedy}, {_ATTACH}.")
    damaged = [folder.path or "the folder" for folder in survey.folders if _is_damaged(folder)]
    if damaged:
        sentences.append(
            f"Of the images or sounds in {listed(damaged)} none that was looked at can be read: see whether they are "
            "empty or damaged."
        )
    return tuple(sentences)


def _is_damaged(folder: Folder) -> bool:
    """True if most files are called as images or sounds are, and none of those that were looked at is one."""
    most = max(folder.suffixes, key=lambda suffix: folder.suffixes[suffix], default="")
    return most in images.SUFFIXES | sound.SUFFIXES and folder.images is None and folder.audio is None


def check_that_files_can_be_read(survey: Survey, tables: Tables, files: ExampleFiles | None, hints: Hints) -> None:
    """Refuses rows that name files which cannot be read, unless the user says of which family the task is.

    Raises:
        IntrospectionError: A column names them, so that they are what the examples are.
    """
    if files is not None or tables.train is None or "family" in hints.overrides:
        return
    suffixes = [(folder, suffix) for folder in survey.folders for suffix in _unreadable_suffixes(folder)]
    known = {stem(name) for folder, suffix in suffixes for name in folder.names if name.lower().endswith(suffix)}
    for column in tables.train.columns if known else ():
        if len(column.distinct & known) > _NAMED * len(column.distinct):
            sentences = unsupported_files(survey)
            raise IntrospectionError(
                f"{printable(column.name)} of {printable(tables.train.path)} names files that cannot be read. "
                f"{' '.join(sentences)} --family tabular leaves them out."
            )


def _unreadable_suffixes(folder: Folder) -> Iterator[str]:
    """Yields the endings of the files for training or the test in a folder that cannot be read."""
    for suffix, count in folder.suffixes.items():
        names = (name for name in folder.names if name.lower().endswith(suffix))
        is_for_examples = words(folder.path) & _FOR_EXAMPLES or any(words(name) & _FOR_EXAMPLES for name in names)
        is_note = suffix == ".txt" and count < _FEWEST_TEXTS
        if is_for_examples and suffix in _UNREADABLE and not is_note:
            yield suffix


def check_that_there_are_templates(seen: Observations, hints: Hints) -> None:
    """Stops where boxes around objects are asked for, unless the user says what it is.

    Raises:
        IntrospectionError: There is no family for such a task.
    """
    if seen.files is None or hints.overrides.keys() & {"family", "target_kind", "targets"}:
        return
    answers = [column.name for column in seen.targets.answers if words(column.name) >= _PREDICTION_STRING]
    named = [column for column in seen.targets.columns if column.present and words(column.name) & _BOX_NAMES]
    boxes = [column.name for column in named if all(map(_BOX.fullmatch, column.distinct))]
    if boxes or answers:
        evidence = f"the cells of {boxes[0]} are boxes" if boxes else f"the sample submission has a column {answers[0]}"
        raise IntrospectionError(
            f"This looks like object detection: {printable(evidence)}. No family of notebooks does that; if it is "
            "something else, say what with --target and --target-kind."
        )


def check_that_targets_can_be_learned(kind: TargetKind, seen: Observations, hints: Hints) -> None:
    """Refuses cells that are lists of numbers, and texts that are to be written.

    Raises:
        IntrospectionError: The targets are such; not if the user decided what kind of targets they are.
    """
    columns, train = seen.targets.columns, seen.tables.train
    if "target_kind" in hints.overrides or not columns or kind in (TargetKind.MASK, TargetKind.IMAGE):
        return
    listed_cells = (each for each in columns if each.present and all(map(_is_series, each.present[:_FEWEST_CELLS])))
    series = next(listed_cells, None)
    column = series or columns[0]
    if series is not None:
        problem = "a list of numbers in each cell, one for each part of an example"
    elif len(columns) == 1 and train is not None and _is_passage(column, train):
        problem = "a passage of another column"
    elif kind is TargetKind.CLASS and len(columns) == 1 and _is_written(column):
        problem = "another text in nearly every row, which would have to be written"
    else:
        return
    raise IntrospectionError(
        f'The target {printable(column.name)} is {problem} ("{printable(column.present[0][:_SHOWN])}"), and no family '
        "of the kit learns that; name another target with --target, or say with --target-kind what it is."
    )


def check_that_answers_can_be_written(kind: TargetKind, seen: Observations, hints: Hints) -> None:
    """Refuses labels with a confidence behind each, which would be read as two labels.

    Raises:
        IntrospectionError: The sample has such cells; not if the user decided what a submission says.
    """
    answers, sample = seen.targets.answers, seen.tables.sample
    if kind is not TargetKind.CLASS or "submission" in hints.overrides or len(answers) != 1 or sample is None:
        return
    (cells,) = (answer.present for answer in answers)
    known = {name for column in seen.targets.columns for name in column.distinct}
    is_rated = bool(cells) and all(map(_LABEL_AND_CONFIDENCE.fullmatch, cells))
    if is_rated and not known & {confidence for cell in cells for confidence in cell.split()[1::2]}:
        raise IntrospectionError(
            f'The cells of {printable(sample.path)}, such as "{printable(cells[0][:_SHOWN])}", are labels with a '
            "confidence behind each, which no submission of the kit has: --submission top_k lists labels alone, and a "
            "cell of your own, answers_of.py beside pair.toml, can write such ones in their place."
        )


def _is_series(cell: str) -> bool:
    if not (cell.startswith("[") and cell.endswith("]") and "," in cell):
        return False
    try:
        return all(isinstance(value, int | float) for value in json.loads(cell))
    except (ValueError, RecursionError):
        return False


def _is_passage(target: Column, train: Table) -> bool:
    """True if the target, of several words, stands in another column of its own row."""
    spaced = sum(" " in cell for cell in target.present)
    if target.kind is not ColumnKind.TEXT or spaced < len(target.present) / 2:
        return False
    for column in train.columns:
        # Where the labels have a table of their own, there are other rows.
        is_beside = column.name != target.name and len(column.values) == len(target.values)
        if column.kind is ColumnKind.TEXT and is_beside:
            rows = [(cell, text) for cell, text in zip(target.values, column.values, strict=True) if cell and text]
            if sum(cell.strip() in text for cell, text in rows) > _PASSAGES * max(1, len(rows)):
                return True
    return False


def _is_written(column: Column) -> bool:
    """True if nearly every cell is a text of its own; short ones may be names of rare classes."""
    present = column.present
    if column.kind is not ColumnKind.TEXT or len(present) < _FEWEST_CELLS:
        return False
    letters = sum(map(len, present)) / len(present)
    return len(column.distinct) > _OWN_TEXTS * len(present) and letters > _LETTERS
