"""The limits: errors for missing data and unsupported tasks, warnings about a task, and values that are unclear."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from generator.competition.facts import Medium, SubmissionKind, TargetKind
from generator.competition.introspection.evidence import (
    TARGET,
    TEST,
    TRAIN,
    Confidence,
    Finding,
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
    unclear_null_words,
)
from generator.competition.introspection.features import COLUMN_KINDS
from generator.competition.introspection.files import ExampleFiles
from generator.competition.introspection.observations import Observations, classes_seen
from generator.competition.introspection.tables import Tables
from generator.competition.introspection.targets import are_named_alike
from generator.competition.schema import display_name, families, option_of
from generator.competition.survey import (
    IMAGE_SUFFIXES,
    MOST,
    NUMBERS,
    SOUND_SUFFIXES,
    Column,
    ColumnKind,
    Folder,
    Survey,
    Table,
    numbers_of,
)
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
    return most in IMAGE_SUFFIXES | SOUND_SUFFIXES and folder.images is None and folder.audio is None


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
            f"This looks like object detection: {printable(evidence)}. Tandem has no notebooks for it. If it is "
            "another task, set --target and --target-kind."
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
        "family supports. Name another target with --target, or set the kind of target with --target-kind."
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


_FEW_ANSWERS, _MOSTLY = 20, 0.5
_STAGE_KEYS = frozenset(("sample_submission", "test_table"))
_LIST_SHOWN, _NEARLY_ONE_EACH = 5, 0.9
_ROWS = (Medium.ROW, Medium.TEXT)
_NAMED_KINDS = (TargetKind.CLASS, TargetKind.LABELS)
_OF_NAMES = (SubmissionKind.LABEL, SubmissionKind.TOP_K, SubmissionKind.LABEL_SET)
# What samples call an answer whatever it is.
_ANY_ANSWER = TARGET | {"predicted", "predictions", "predict", "pred", "expected", "response", "responses", "answers"}
_ANY_ANSWER |= {"estimate", "forecast", "solution", "likelihood", "p", "proba", "predictedprob", "predictedprobability"}
_ANY_ANSWER |= {"answer", "result", "output", "value", "values", "probability", "prob", "tag", "tags", "rle", "mask"}


def warnings_of(
    survey: Survey, findings: Mapping[str, Finding], observations: Observations, hints: Hints
) -> tuple[str, ...]:
    """The sentences, each of which names the flag that settles its matter, or what the user can do."""
    # What could not be read is left out, where examples seem to be in it and there is no other form of them.
    has_examples = observations.files is not None and (
        observations.files.has_test or observations.files.source.labels_from == "pixels"
    )
    return (
        *(_guess(finding) for finding in findings.values() if finding.confidence is Confidence.THIN),
        *observations.stage_warnings(is_decided=bool(hints.overrides.keys() & _STAGE_KEYS)),
        *_about_files(findings, observations),
        *_about_further_files(findings, observations, hints),
        *_about_targets(observations, hints),
        *_about_missing_targets(findings, observations),
        *(
            unclear_null_words(
                observations.tables.target_table,
                observations.targets.columns,
                observations.targets.answer_names,
                observations.targets.answers,
            )
        ),
        *_about_copies(findings, observations),
        *_about_words_among_numbers(findings, observations, hints),
        *_about_unseen_classes(findings, observations),
        *_about_labels(findings, observations),
        *_about_ids(findings, observations),
        *_about_absent_ids(findings, observations),
        *observations.format_warnings(),
        *(unsupported_files(survey) if not has_examples else ()),
        *_other_parts(survey, observations),
    )


def unclear_keys(findings: Mapping[str, Finding], observations: Observations, hints: Hints) -> tuple[str, ...]:
    """The keys of values that are hardly more than a guess, or warned of, in the order in which they were settled."""
    is_warned_of = {"targets": any(_about_targets(observations, hints))}
    return tuple(
        key for key, finding in findings.items() if finding.confidence is Confidence.THIN or is_warned_of.get(key)
    )


def _guess(finding: Finding) -> str:
    rivals = [rival for rival in finding.candidates[1:] if rival.weight > 0]
    instead = f" ({_value_text(rivals[0].value)} is almost as likely)" if rivals else ""
    reason = f". Evidence: {finding.evidence}" if finding.evidence else ""
    value = _value_text(finding.value)
    return f"{display_name(finding.key)} is a guess: {value}{instead}{reason}. Set it with {option_of(finding.key)}."


def _about_files(findings: Mapping[str, Finding], observations: Observations) -> Iterator[str]:
    tables = observations.tables
    is_served = "inference_server" in findings and bool(findings["inference_server"].value)
    if tables.sample is None and is_served:
        target_text = _value_text(list(observations.targets.names))
        yield f"There is no sample submission. The answers to the gateway have one column per target: {target_text}."
    elif tables.sample is None:
        location = tables.test.path if tables.test is not None else "the test files"
        yield (
            f"There is no sample submission. The submission is built from the ids of {printable(location)}. If there "
            "is a sample, name it with --sample."
        )
    match = observations.files.source.match if observations.files is not None else None
    if match is not None and match.is_seen and match.folder.known_share == 1 and match.share < 1 and not match.parts:
        yield (
            f"{1 - match.share:.0%} of the sampled training examples have no file in {printable(match.folder.path)}, "
            "and training stops at such a row. Add the missing files, or remove these rows from the table."
        )
    if _has_rows_for_parts(observations) and tables.train is not None:
        yield (
            f"{printable(tables.train.path)} has several rows per file, one for each part at the end of an id. "
            "The notebooks need a table with one row per file. Name it with --train."
        )


def _about_further_files(findings: Mapping[str, Finding], observations: Observations, hints: Hints) -> Iterator[str]:
    """That an example has further numbered files, its other slices or views, which are not read."""
    match = observations.files.source.match if observations.files is not None else None
    if observations.files is None or match is None:
        return
    key = f"{observations.files.medium}_suffix"
    read_too = {part.suffix for part in (observations.masks, observations.target_images) if part is not None}
    other_endings = [
        ending for ending in match.other_suffixes if ending not in read_too and any(map(str.isdigit, ending))
    ]
    is_chosen = key in hints.overrides or "channel_suffixes" in findings
    if other_endings and key in findings and not is_chosen:
        endings = _value_text([f"<id>{ending}" for ending in other_endings])
        yield (
            f"In {printable(match.folder.path)} the notebooks read only the file <id>{printable(match.suffix)} of each "
            f"example, and not {endings}. To read another file, use {option_of(key)}."
        )


def _about_targets(observations: Observations, hints: Hints) -> Iterator[str]:
    """That the only answer asked for is called as nothing in training is, where no name would do."""
    targets, sample = observations.targets, observations.tables.sample
    if sample is None or len(targets.answer_names) != 1 or len(targets.columns) != 1 or "targets" in hints.overrides:
        return
    answer_name, column = targets.answer_names[0], targets.columns[0]
    is_alike = are_named_alike(answer_name, column.name)
    has_answers = any(answer.distinct & column.distinct for answer in targets.answers if answer.kind is ColumnKind.TEXT)
    is_any = bool(split_words(column.name) & TARGET) or answer_name in column.distinct
    if (
        is_alike
        or is_any
        or has_answers
        or split_words(answer_name) & (_ANY_ANSWER | split_words(column.name))
        or targets.parts
    ):
        return
    yield (
        f"{printable(sample.path)} has the column {printable(answer_name)}, which no training table has. "
        f"{printable(column.name)} is used as the target. For another column, use {option_of('targets')}."
    )


def _about_missing_targets(findings: Mapping[str, Finding], observations: Observations) -> Iterator[str]:
    """That training rows lack what is to be learned."""
    kind = TargetKind(str(findings["target_kind"].value))
    if observations.unlabelled_count(kind):
        is_whole = "prediction_per" in findings and findings["prediction_per"].value == "row"
        consequence = "The notebooks need a table without these rows" if is_whole else "Training skips these rows"
        yield f"{observations.unlabelled_in_words(kind)}. {consequence}."


def _about_copies(findings: Mapping[str, Finding], observations: Observations) -> Iterator[str]:
    """That an input column mostly is the answer, or that nearly every row has another class."""
    targets, kind, features = observations.targets, findings["target_kind"].value, observations.features
    if len(targets.columns) != 1 or kind not in (TargetKind.CLASS, TargetKind.NUMBER):
        return
    (target,) = targets.columns
    if (
        len(target.distinct) <= _FEW_ANSWERS
        or observations.tables.target_table is not observations.tables.train
        or features is None
    ):
        return
    pairs = {column.name: zip(column.values, target.values, strict=True) for column in features.columns}
    equal = {name: sum(cell is not None and cell == answer for cell, answer in rows) for name, rows in pairs.items()}
    shares = {name: count / len(target.present) for name, count in equal.items()}
    name = max(shares, key=lambda name: shares[name], default="")
    remark = "This does not look like classification. " if kind == TargetKind.CLASS else ""
    if name and shares[name] >= (_MOSTLY if kind == TargetKind.CLASS else _NEARLY_ONE_EACH):
        yield (
            f"{printable(target.name)} is the same as {printable(name)} in {shares[name]:.0%} of the sampled rows. "
            f"{remark}The report of a run scores a copy of that column as a baseline; a useful model must beat it."
        )
    elif (
        kind == TargetKind.CLASS
        and target.kind is ColumnKind.TEXT
        and len(target.distinct) > _MOSTLY * len(target.present)
    ):
        yield (
            f"{printable(target.name)} has {len(target.distinct):,} different values in {len(target.present):,} "
            "sampled rows. This does not look like classification: a class with one example is almost never predicted. "
            f"For another column, use {option_of('targets')}."
        )


def _about_words_among_numbers(
    findings: Mapping[str, Finding], observations: Observations, hints: Hints
) -> Iterator[str]:
    """That a column of numbers has so many other cells that it is read as text, or left out."""
    if observations.features is None or "number_columns" not in findings or hints.overrides.keys() & COLUMN_KINDS:
        return
    for column in observations.features.columns:
        numbers = numbers_of(column, MOST) if numbers_of(column) is None else None
        if numbers is None or len(numbers.distinct) <= _FEW_ANSWERS:
            continue
        pairs = [pair for pair in zip(column.values, numbers.values, strict=True) if pair[0] is not None]
        word_counts = Counter(str(cell) for cell, number in pairs if number is None)
        like = next(str(cell) for cell, number in pairs if number is not None)
        dropped_names = findings["drop_columns"].value if "drop_columns" in findings else []
        consequence = (
            "left out" if isinstance(dropped_names, list) and column.name in dropped_names else "not read as numbers"
        )
        yield (
            f'{printable(column.name)} is {consequence}. It has numbers such as "{printable(like)}", but '
            f"{word_counts.total() / len(pairs):.0%} of its sampled cells are text such as "
            f'"{printable(word_counts.most_common(1)[0][0])}". To read text as missing, use '
            f"{option_of('number_columns')}={printable(column.name)}."
        )


def _about_unseen_classes(findings: Mapping[str, Finding], observations: Observations) -> Iterator[str]:
    """That the sample asks for classes that no training example has."""
    sample, targets, submission = observations.tables.sample, observations.targets, findings["submission"].value
    if sample is not None and "unseen_columns" in findings and findings["unseen_columns"].value:
        yield (
            f"{printable(sample.path)} has the columns {_value_text(findings['unseen_columns'].value)}, but "
            f"{findings['unseen_columns'].evidence}. The submission has the small probability UNSEEN_PROBABILITY there."
        )
    texts = [answer for answer in targets.answers if answer.kind is ColumnKind.TEXT]
    if sample is None or submission != SubmissionKind.LABEL or len(targets.answers) != 1 or not texts:
        return
    answer_labels, classes = texts[0].distinct, classes_seen(observations)
    unseen = sorted(answer_labels - classes)
    if classes and unseen and answer_labels & classes:
        yield (
            f"{printable(sample.path)} has the labels {_value_text(unseen)}, which no sampled training example has. "
            "The model never predicts them. To predict them, add training examples."
        )


def _about_labels(findings: Mapping[str, Finding], observations: Observations) -> Iterator[str]:
    """That the sample names its classes otherwise than training does: by numbers, or by words that it never has."""
    targets, sample, files = observations.targets, observations.tables.sample, observations.files
    is_named = findings["target_kind"].value in _NAMED_KINDS and findings["submission"].value in _OF_NAMES
    if not is_named or "answers_are_flags" in findings or sample is None or len(targets.answers) != 1:
        return
    (answer,) = targets.answers
    classes = [
        *(files.source.classes if files is not None else ()),
        *(value for column in targets.columns for value in column.present),
    ]
    split = {part.strip() for value in classes for part in value.split(observations.labels.separator or None)}
    parts = {part for cell in answer.distinct for part in cell.split()}
    known_cells = (answer.distinct | parts) & {*classes, *split, *targets.names, *targets.row_labels}
    is_asked = answer.kind is ColumnKind.TEXT and len(answer.distinct | parts) > 1 and not known_cells
    are_numbers = len(targets.columns) == 1 and findings["submission"].value == SubmissionKind.LABEL
    is_other = are_numbers and (answer.kind in NUMBERS) != (targets.columns[0].kind in NUMBERS)
    if classes and answer.present and (is_asked or is_other):
        yield (
            f'The notebooks submit classes such as "{printable(classes[0])}", but {printable(sample.path)} has values '
            "such "
            f'as "{printable(answer.present[0])}". If the competition only accepts the latter, name a table with these '
            f"classes with --labels, or another column with {option_of('targets')}."
        )


def _about_ids(findings: Mapping[str, Finding], observations: Observations) -> Iterator[str]:
    """Test rows in no order, several for an id, are none of sequences, and the notebooks would refuse them."""
    name = str(findings["id_column"].value)
    if families()[str(findings["family"].value)].medium not in _ROWS or not _has_row_for_each_id(
        findings, observations
    ):
        return
    tables = {
        table.path: table for table in (observations.tables.test, observations.tables.sample) if table is not None
    }
    for path, table in tables.items():
        ids = table.column(name)
        if ids is None or not _repeat(ids) or table is observations.tables.train:
            continue
        if _repeat(ids, _NEARLY_ONE_EACH):
            yield (
                f"{printable(name)} repeats in {printable(path)}, and no column orders its rows, so they are not "
                "sequences. The notebooks need a table with one row per id: name it with --test. For sequences, name "
                "the columns with --set group_column and --set order_column."
            )
            return
        twice = next(value for value, count in Counter(ids.present).items() if count > 1)
        yield (
            f'{printable(path)} has several rows with the same {printable(name)}, such as "{printable(twice)}", and '
            "the notebooks stop there. Keep one row per id."
        )


def _about_absent_ids(findings: Mapping[str, Finding], observations: Observations) -> Iterator[str]:
    """That the sample asks for rows that the test table, of which all rows were seen, does not have."""
    test, sample, name = observations.tables.test, observations.tables.sample, str(findings["id_column"].value)
    test_ids, sample_ids = (table.column(name) if table is not None else None for table in (test, sample))
    is_files = families()[str(findings["family"].value)].medium.is_files
    is_told = observations.tables.stage is not None and bool(observations.tables.stage.parts)
    if (
        is_files
        or is_told
        or test is None
        or test_ids is None
        or sample_ids is None
        or not _has_row_for_each_id(findings, observations)
    ):
        return
    absent = next((value for value in sample_ids.present if value not in test_ids.distinct), None)
    if absent is not None and test.is_complete:
        yield (
            f"{printable(test.path)} lacks ids of the sample submission, such as "
            f'"{printable(absent)}", and inference stops there. Add their rows, or name another table with --test.'
        )


def _has_row_for_each_id(findings: Mapping[str, Finding], observations: Observations) -> bool:
    """True if the ids of the sample are those of the test rows, which are read from a table."""
    return (
        "inference_server" not in findings
        and not observations.targets.are_keyed
        and observations.targets.lookup is None
    )


def _repeat(ids: Column, share: float = 1.0) -> bool:
    """True if fewer of the values than this share are different."""
    return len(ids.distinct) < share * len(ids.present)


def _has_rows_for_parts(observations: Observations) -> bool:
    """True if training rows are for parts of examples; run-length codes of masks may be."""
    match = observations.files.source.match if observations.files is not None else None
    is_understood = observations.labels.is_run_length or bool(observations.targets.row_labels)
    return match is not None and match.parts > 0 and not is_understood


def _value_text(value: object) -> str:
    if isinstance(value, list):
        remainder = f" and {len(value) - _LIST_SHOWN} more" if len(value) > _LIST_SHOWN else ""
        return ", ".join(printable(str(item)) for item in value[:_LIST_SHOWN]) + remainder
    return printable(str(value)) or "none"


def _other_parts(survey: Survey, observations: Observations) -> Iterator[str]:
    """That a table lies in a folder in parts, as partitioned Parquet does, and only one of them is trained on."""
    train, other_tables = (
        observations.tables.train,
        (observations.tables.test, observations.tables.sample, observations.tables.labels),
    )
    top = train.path.split("/")[0] if train is not None and "/" in train.path else ""
    if train is None or not top:
        return
    parts = [
        table
        for table in survey.tables
        if table.path.startswith(f"{top}/") and table.column_names == train.column_names and table not in other_tables
    ]
    if len(parts) > 1:
        yield (
            f"{printable(top)} has {len(parts)} tables with the columns of {printable(train.path)}, but the notebooks "
            "train only on that one. Join them into one table, and name it with --train."
        )
