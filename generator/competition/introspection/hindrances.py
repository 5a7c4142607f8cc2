"""What stands in the way: files that cannot be read, tasks that there are no templates for."""

import re
from collections import defaultdict

from generator.competition.introspection.clues import Clues
from generator.competition.introspection.errors import NoFamilyError, listed
from generator.competition.introspection.facts import Hints
from generator.competition.introspection.words import TEST, TRAIN, words
from generator.competition.survey.facts import Column, Folder, Survey

_ARCHIVES = frozenset((".7z", ".rar", ".tar", ".tgz", ".zst"))
_PICTURES = {
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
}
_ATTACH = "and on Kaggle attach a dataset with these files and the competition's tables"
_FOR_EXAMPLES = TRAIN | TEST
_BOX = re.compile(r"\[?\(?\s*-?[\d.]+(?:\s*,\s*|\s+)(?:-?[\d.]+(?:\s*,\s*|\s+)){2}-?[\d.]+\s*\)?\]?")
_BOX_NAMES = frozenset(("bbox", "bboxes", "box", "boxes"))
_PREDICTION_STRING = frozenset(("prediction", "string"))


def hindrances_of(survey: Survey) -> tuple[str, ...]:
    """Sentences on the archives and the files of examples that cannot be read."""
    packed = [folder_path(folder, name) for folder in survey.folders for name in folder.names if _is_archive(name)]
    sentences = []
    if packed:
        sentences.append(f"{listed(packed)} cannot be unpacked here: put the files in it beside it, {_ATTACH}.")
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for folder in survey.folders:
        for suffix, count in folder.suffixes.items():
            if suffix in _PICTURES and _is_for_examples(folder):
                found[_PICTURES[suffix]][folder.path or "the folder"] = count
    for what, places in found.items():
        where, count = listed(list(places)), sum(places.values())
        sentences.append(
            f"{what} cannot be read here, and there are {count:,} in {where}: convert them to png images in folders of "
            f"the same names, {_ATTACH}."
        )
    return tuple(sentences)


def check_that_there_are_templates(clues: Clues, hints: Hints) -> None:
    """Stops where boxes around objects are asked for, unless the user says what it is.

    Raises:
        NoFamilyError: There is no family for such a task.
    """
    if clues.source is None or hints.overrides.keys() & {"family", "target_kind", "targets"}:
        return
    answers = [column.name for column in clues.targets.answers if words(column.name) >= _PREDICTION_STRING]
    boxes = [column.name for column in clues.targets.columns if _are_boxes(column)]
    if boxes:
        raise NoFamilyError(task="object detection", evidence=f"the cells of {boxes[0]} are boxes")
    if answers:
        raise NoFamilyError(task="object detection", evidence=f"the sample submission has a column {answers[0]}")


def folder_path(folder: Folder, name: str) -> str:
    """The path of one of a folder's files."""
    return f"{folder.path}/{name}" if folder.path else name


def _is_archive(name: str) -> bool:
    return f".{name.rpartition('.')[2].lower()}" in _ARCHIVES and bool(words(name) & _FOR_EXAMPLES)


def _is_for_examples(folder: Folder) -> bool:
    return any(words(name) & _FOR_EXAMPLES for name in (folder.path, *folder.names))


def _are_boxes(column: Column) -> bool:
    return bool(column.present) and bool(words(column.name) & _BOX_NAMES) and all(map(_BOX.fullmatch, column.distinct))
