"""The refusals: missing data, unsupported tasks, decisions that do not fit."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator

from generator.competition.facts import TargetKind
from generator.competition.introspection.evidence import (
    TEST,
    TRAIN,
    Findings,
    Hints,
    IntrospectionError,
    MissingColumnError,
    MissingFileError,
    UnknownKeyError,
    UnusableValueError,
    join_names,
    likely_id_column,
    split_words,
    stem,
)
from generator.competition.introspection.files import ExampleFiles
from generator.competition.introspection.observations import Observations
from generator.competition.introspection.tables import Tables
from generator.competition.survey import media as images
from generator.competition.survey import media as sound
from generator.competition.survey.facts import Column, ColumnKind, Folder, Survey, Table
from generator.text import printable

# The limits of the kit: files that it cannot read, tasks without templates, targets that no family learns.


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
    ".txt": "Separate text files",
    ".xls": "Excel files",
    ".xlsx": "Excel files",
}
_REMEDIES = {
    "mp3 files": "convert them to wav or ogg files in folders of the same names",
    "Separate text files": "put the texts into one table with the columns id, text and label",
    "Excel files": "save them as csv",
}
_FEWEST_TEXTS = 10  # fewer are notes
_NAME_SHARE = 0.1  # of the values of a column, since both are samples
_ATTACH = "and on Kaggle attach a dataset with the new files and the competition's tables"
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
    names = ((folder, name) for folder in survey.folders for name in folder.names if split_words(name) & _FOR_EXAMPLES)
    archives = ((folder, name) for folder, name in names if f".{name.rpartition('.')[2].lower()}" in _ARCHIVES)
    archive_paths = [f"{folder.path}/{name}".lstrip("/") for folder, name in archives]
    sentences = []
    if archive_paths:
        sentences.append(
            f"{join_names(archive_paths)} cannot be unpacked here. Extract the files into the same folder, {_ATTACH}."
        )
    counts_by_kind: dict[str, dict[str, int]] = defaultdict(dict)
    for folder in survey.folders:
        for suffix in _unreadable_suffixes(folder):
            counts_by_kind[_UNREADABLE[suffix]][folder.path or "the folder"] = folder.suffixes[suffix]
    for kind, places in counts_by_kind.items():
        location, count = join_names(list(places)), sum(places.values())
        remedy = _REMEDIES.get(kind, "convert them to png images in folders of the same names")
        sentences.append(f"{kind} cannot be read; there are {count:,} in {location}. Remedy: {remedy}, {_ATTACH}.")
    damaged_folders = [folder.path or "the folder" for folder in survey.folders if _is_damaged(folder)]
    if damaged_folders:
        sentences.append(
            f"No sampled image or sound in {join_names(damaged_folders)} can be read. Check whether the files are "
            "empty or damaged."
        )
    return tuple(sentences)


def _is_damaged(folder: Folder) -> bool:
    """True if most files are called as images or sounds are, and none of those that were looked at is one."""
    most = max(folder.suffixes, key=lambda suffix: folder.suffixes[suffix], default="")
    return most in images.IMAGE_SUFFIXES | sound.SOUND_SUFFIXES and folder.images is None and folder.audio is None


def check_that_files_can_be_read(survey: Survey, tables: Tables, files: ExampleFiles | None, hints: Hints) -> None:
    """Refuses rows that name files which cannot be read, unless the user says of which family the task is.

    Raises:
        IntrospectionError: A column names them, so that they are what the examples are.
    """
    if files is not None or tables.train is None or "family" in hints.overrides:
        return
    suffixes = [(folder, suffix) for folder in survey.folders for suffix in _unreadable_suffixes(folder)]
    stems = {stem(name) for folder, suffix in suffixes for name in folder.names if name.lower().endswith(suffix)}
    for column in tables.train.columns if stems else ():
        if len(column.distinct & stems) > _NAME_SHARE * len(column.distinct):
            sentences = unsupported_files(survey)
            raise IntrospectionError(
                f"{printable(column.name)} of {printable(tables.train.path)} names unreadable files. "
                f"{' '.join(sentences)} To ignore these files, use --family tabular."
            )


def _unreadable_suffixes(folder: Folder) -> Iterator[str]:
    """Yields the endings of the files for training or the test in a folder that cannot be read."""
    for suffix, count in folder.suffixes.items():
        names = (name for name in folder.names if name.lower().endswith(suffix))
        is_for_examples = split_words(folder.path) & _FOR_EXAMPLES or any(
            split_words(name) & _FOR_EXAMPLES for name in names
        )
        is_note = suffix == ".txt" and count < _FEWEST_TEXTS
        if is_for_examples and suffix in _UNREADABLE and not is_note:
            yield suffix


def check_that_there_are_templates(observations: Observations, hints: Hints) -> None:
    """Stops where boxes around objects are asked for, unless the user says what it is.

    Raises:
        IntrospectionError: There is no family for such a task.
    """
    if observations.files is None or hints.overrides.keys() & {"family", "target_kind", "targets"}:
        return
    answers = [column.name for column in observations.targets.answers if split_words(column.name) >= _PREDICTION_STRING]
    box_columns = [
        column for column in observations.targets.columns if column.present and split_words(column.name) & _BOX_NAMES
    ]
    boxes = [column.name for column in box_columns if all(map(_BOX.fullmatch, column.distinct))]
    if boxes or answers:
        evidence = f"the cells of {boxes[0]} are boxes" if boxes else f"the sample submission has a column {answers[0]}"
        raise IntrospectionError(
            f"This looks like object detection: {printable(evidence)}. Tandem has no notebooks for it.",
            remedy="If it is another task, set --target and --target-kind.",
            code="task-unsupported",
        )


def check_that_targets_can_be_learned(kind: TargetKind, observations: Observations, hints: Hints) -> None:
    """Refuses cells that are lists of numbers, and texts that are to be written.

    Raises:
        IntrospectionError: The targets are such; not if the user decided what kind of targets they are.
    """
    columns, train = observations.targets.columns, observations.tables.train
    if "target_kind" in hints.overrides or not columns or kind in (TargetKind.MASK, TargetKind.IMAGE):
        return
    listed_cells = (
        candidate
        for candidate in columns
        if candidate.present and all(map(_is_series, candidate.present[:_FEWEST_CELLS]))
    )
    series = next(listed_cells, None)
    column = series or columns[0]
    if series is not None:
        problem = "a list of numbers in each cell"
    elif len(columns) == 1 and train is not None and _is_passage(column, train):
        problem = "a passage of another column"
    elif kind is TargetKind.CLASS and len(columns) == 1 and _is_written(column):
        problem = "a different text in nearly every row, as in text generation"
    else:
        return
    raise IntrospectionError(
        f'The target {printable(column.name)} is {problem} ("{printable(column.present[0][:_SHOWN])}"), which no '
        "family supports.",
        remedy="Name another target with --target, or set the kind of target with --target-kind.",
        code="task-unsupported",
    )


def check_that_answers_can_be_written(kind: TargetKind, observations: Observations, hints: Hints) -> None:
    """Refuses labels with a confidence behind each, which would be read as two labels.

    Raises:
        IntrospectionError: The sample has such cells; not if the user decided what a submission says.
    """
    answers, sample = observations.targets.answers, observations.tables.sample
    if kind is not TargetKind.CLASS or "submission" in hints.overrides or len(answers) != 1 or sample is None:
        return
    (cells,) = (answer.present for answer in answers)
    labels = {name for column in observations.targets.columns for name in column.distinct}
    is_rated = bool(cells) and all(map(_LABEL_AND_CONFIDENCE.fullmatch, cells))
    if is_rated and not labels & {confidence for cell in cells for confidence in cell.split()[1::2]}:
        raise IntrospectionError(
            f'The cells of {printable(sample.path)}, such as "{printable(cells[0][:_SHOWN])}", are pairs of a label '
            "and "
            "a confidence. Tandem has no such submission. Use --submission top_k for labels without confidences. To "
            "write the confidences too, add your own cell answers_of.py beside pair.toml."
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
    phrase_count = sum(" " in cell for cell in target.present)
    if target.kind is not ColumnKind.TEXT or phrase_count < len(target.present) / 2:
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


# Validation: that there are data, and that what the user decided exists and is of use.


_CHECKED_BEFORE = frozenset(("context_columns", "id_column", "id_columns", "targets"))
_FEWEST_ROWS = 5  # as many as there are folds
_MOST_NOTES = 3  # of what could not be read


def check_that_there_are_data(survey: Survey, tables: Tables, files: ExampleFiles | None) -> None:
    """Checks that there is something to train on and something to predict.

    Raises:
        IntrospectionError: There is neither a table nor files to learn from, or nothing to predict; the test examples
            are tables, one each, or their files are called otherwise than what is asked for; or a table has no rows.
    """
    paths = [table.path for table in survey.tables] + [folder.path for folder in survey.folders if folder.path]
    if tables.train is None and files is None:
        listing = f"it has only {join_names(paths)}" if paths else "it has no table, no images and no sounds"
        raise _no_data_error(f"no training data: {listing}", survey, remedy="Name the table with --train")
    is_served = survey.server is not None and files is not None
    if tables.test is None and not is_served and (files is None or not files.has_test):
        of_one = _table_of_one_example(survey, tables)
        if of_one and tables.sample is not None:
            raise IntrospectionError(
                f"Each example in {printable(tables.sample.path)} has a separate table, such as {printable(of_one)}. "
                "No family "
                "can read such tables. Put all of them into one table with an id column, and name it with --test."
            )
        trained_on = tables.train.path if tables.train is not None else ""
        left = [path for path in paths if path != trained_on]
        ids = likely_id_column(tables.sample)
        sample_ids = ids.present if ids is not None else ()
        file = _test_file(survey)
        if tables.sample is not None and file and {stem(file), file.rpartition("/")[2]} & set(sample_ids):
            raise IntrospectionError(
                f"The names of the test files, such as {printable(file)}, are the ids of "
                f"{printable(tables.sample.path)}, "
                f"but most training examples of {printable(trained_on)} have no file. Add the missing files, or use "
                "--train with a table that lists only examples with files."
            )
        if tables.sample is not None and sample_ids and file:
            raise IntrospectionError(
                f'The ids of {printable(tables.sample.path)}, such as "{printable(sample_ids[0])}", '
                "are not the names of "
                f"the test files, such as {printable(file)}. Rename the training and test files to their ids, "
                "and on Kaggle attach a dataset with them and the competition's tables."
            )
        listing = join_names(left) or "nothing"
        raise _no_data_error(
            f"no test data: beside the training data, it has {listing}",
            survey,
            remedy="Name the table of the test examples with --test",
        )
    required_tables = {"--train": tables.train, "--test": tables.test} if files is None else {}
    for flag, table in (required_tables | {"--sample": tables.sample}).items():
        if table is not None and not table.rows:
            raise IntrospectionError(
                f"{printable(table.path)} has a header but no rows. Replace it with the competition's file, or "
                f"name another table with {flag}."
            )


def check_that_rows_have_targets(kind: TargetKind, observations: Observations) -> None:
    """Refuses a table hardly any of whose rows can be learned from.

    Raises:
        IntrospectionError: Those that have every target are too few for folds.
    """
    missing, table = observations.unlabelled_count(kind), observations.tables.target_table
    if missing and table is not None and len(observations.targets.columns[0].values) - missing < _FEWEST_ROWS:
        flag = "--labels" if table is observations.tables.labels else "--train"
        raise IntrospectionError(
            f"{observations.unlabelled_in_words(kind)}, but training needs rows with all targets. Fill in the "
            f"missing values in a copy of the table, and name the copy with {flag}."
        )


def check_decisions(survey: Survey, observations: Observations, findings: Findings) -> None:
    """Checks the decisions on details; those on files, ids and targets were checked when they were used.

    Raises:
        UnknownKeyError: The family does not need such a value.
        MissingColumnError: The training table has no such column.
        MissingFileError: There is no such folder.
        UnusableValueError: The files show that it is otherwise.
    """
    _check_against_labels(observations, findings)
    folders, train = sorted(set(_folders(survey))), observations.tables.train
    for key in findings.hints.overrides:
        if key not in findings:
            raise UnknownKeyError(key=key, family=str(findings["family"].value), keys=findings)
        is_column = key.endswith(("_column", "_columns")) and key not in _CHECKED_BEFORE
        for name in filter(None, findings.decided_list(key)):
            if key.endswith("_folder") and name not in folders:
                raise MissingFileError(key=key, path=name, paths=folders)
            if is_column and train is not None and train.column(name) is None:
                columns = train.column_names
                raise MissingColumnError(key=key, column=name, table=train.path, columns=columns)
            if (
                is_column
                and key.endswith("_columns")
                and name in (*observations.targets.names, findings["id_column"].value)
            ):
                raise UnusableValueError(
                    key=key, value=name, requirement="a feature column, neither the id nor a target"
                )
    features, dropped_names = observations.features, findings.decided_list("drop_columns")
    if dropped_names and features is not None and {column.name for column in features.columns} <= set(dropped_names):
        requirement = "fewer columns, since no feature column would remain"
        raise UnusableValueError(key="drop_columns", value=join_names(dropped_names), requirement=requirement)


def _check_against_labels(observations: Observations, findings: Findings) -> None:
    """That names are not to be learned as numbers, and that there are as many classes as were decided on."""
    text_columns = [
        column for column in observations.targets.columns if column.kind in (ColumnKind.TEXT, ColumnKind.DATE)
    ]
    if text_columns and findings.decided_text("target_kind") == TargetKind.NUMBER:
        requirement = f'one for values such as "{text_columns[0].present[0]}" in {text_columns[0].name}'
        raise UnusableValueError(key="target_kind", value=TargetKind.NUMBER, requirement=requirement)
    target_table, decision = observations.tables.target_table, findings.decided_text("class_count")
    is_whole = observations.targets.are_classes_asked or (target_table is not None and target_table.is_complete)
    count = int(str(findings["class_count"].value)) if decision and "class_count" in findings else 0
    if observations.classes and count and (count < observations.classes or (is_whole and count > observations.classes)):
        raise UnusableValueError(
            key="class_count", value=decision, requirement=f"{observations.classes}, the number of classes in the data"
        )


def _no_data_error(purpose: str, survey: Survey, *, remedy: str) -> IntrospectionError:
    sentences = unsupported_files(survey)
    ending = f". {' '.join(sentences)}" if sentences else f". {remedy}."
    return IntrospectionError(
        " ".join((f"The competition's folder has {purpose}{ending}", *survey.notes[:_MOST_NOTES]))
    )


def _test_file(survey: Survey) -> str:
    """An image or a sound in a folder for the test; "" if there is none."""
    folders = (
        folder for folder in survey.folders if split_words(folder.path) & TEST and (folder.images or folder.audio)
    )
    return next((f"{folder.path}/{folder.names[0]}" for folder in folders if folder.names), "")


def _folders(survey: Survey) -> Iterator[str]:
    """Every folder that was seen, and those around it."""
    for path in (*(folder.path for folder in survey.folders), *(records.path for records in survey.records)):
        parts = path.split("/")
        yield from ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _table_of_one_example(survey: Survey, tables: Tables) -> str:
    """A table that is named like an id of the sample submission, as several are; "" if hardly one is."""
    ids = likely_id_column(tables.sample)
    paths = [table.path for table in survey.tables if ids is not None and stem(table.path) in ids.distinct]
    return paths[0] if len(paths) > 1 else ""
