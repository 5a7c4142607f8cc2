"""Validation: that there are data, and that what the user decided exists and is of use."""

from collections.abc import Iterator

from generator.competition.facts import TargetKind
from generator.competition.introspection.column_statistics import key_column
from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.errors import (
    IntrospectionError,
    MissingColumnError,
    MissingFileError,
    UnknownKeyError,
    UnusableValueError,
    listed,
)
from generator.competition.introspection.example_files import ExampleFiles
from generator.competition.introspection.findings import Findings
from generator.competition.introspection.table_roles import Tables
from generator.competition.introspection.unsupported import unsupported_files
from generator.competition.introspection.vocabulary import TEST, stem, words
from generator.competition.survey.facts import ColumnKind, Survey
from generator.untrusted import printable

_CHECKED_BEFORE = frozenset(("context_columns", "id_column", "id_columns", "targets"))
_FEWEST_ROWS = 5  # as many as there are folds
_MOST_NOTES = 3  # of what could not be read


def check_that_there_are_data(survey: Survey, tables: Tables, files: ExampleFiles | None) -> None:
    """Checks that there is something to train on and something to predict.

    Raises:
        IntrospectionError: There is neither a table nor files to learn from, or nothing to predict; the test examples
            are tables, one each, or their files are called otherwise than what is asked for; or a table has no rows.
    """
    seen = [table.path for table in survey.tables] + [folder.path for folder in survey.folders if folder.path]
    if tables.train is None and files is None:
        what = f"only {listed(seen)}" if seen else "no table, no images and no sounds"
        verb = "were" if len(seen) > 1 else "was"
        raise _nothing(f"to train on: {what} {verb} seen", survey, remedy="name the table with --train")
    is_served = survey.server is not None and files is not None
    if tables.test is None and not is_served and (files is None or not files.has_test):
        of_one = _table_of_one_example(survey, tables)
        if of_one and tables.sample is not None:
            raise IntrospectionError(
                f"Each example that {printable(tables.sample.path)} asks about has a table of its own, such as "
                f"{printable(of_one)}, which no family of the kit reads: put them into one table with a column of ids, "
                "and name it with --test."
            )
        trained_on = tables.train.path if tables.train is not None else ""
        left = [path for path in seen if path != trained_on]
        ids = key_column(tables.sample)
        asked = ids.present if ids is not None else ()
        file = _test_file(survey)
        if tables.sample is not None and file and {stem(file), file.rpartition("/")[2]} & set(asked):
            raise IntrospectionError(
                f"The test files, such as {printable(file)}, are called by the ids of {printable(tables.sample.path)}, "
                f"but hardly any training example of {printable(trained_on)} has a file: put the missing files beside "
                "those that are there, or name a table of these with --train."
            )
        if tables.sample is not None and asked and file:
            raise IntrospectionError(
                f'The ids of {printable(tables.sample.path)}, such as "{printable(asked[0])}", are not the names of '
                f"the test files, such as {printable(file)}: call these files, and those for training, by their ids, "
                "and on Kaggle attach a dataset with them and the competition's tables."
            )
        what, verb = listed(left) or "nothing", "were" if len(left) > 1 else "was"
        raise _nothing(
            f"to predict: beside what is trained on, {what} {verb} seen",
            survey,
            remedy="name the table of the test examples with --test",
        )
    needed = {"--train": tables.train, "--test": tables.test} if files is None else {}
    for flag, table in (needed | {"--sample": tables.sample}).items():
        if table is not None and not table.rows:
            raise IntrospectionError(
                f"{printable(table.path)} has a header and no rows: put the competition's own file in its place, or "
                f"name another with {flag}."
            )


def check_that_rows_have_targets(kind: TargetKind, seen: Observations) -> None:
    """Refuses a table hardly any of whose rows can be learned from.

    Raises:
        IntrospectionError: Those that have every target are too few for folds.
    """
    missing, table = seen.unlabelled(kind), seen.tables.labelled
    if missing and table is not None and len(seen.targets.columns[0].values) - missing < _FEWEST_ROWS:
        flag = "--labels" if table is seen.tables.labels else "--train"
        raise IntrospectionError(
            f"{seen.unlabelled_in_words(kind)}, and Tandem trains on rows that have every target: fill in what "
            f"is missing in a table beside it, and name that with {flag}."
        )


def check_decisions(survey: Survey, seen: Observations, found: Findings) -> None:
    """Checks the decisions on details; those on files, ids and targets were checked when they were used.

    Raises:
        UnknownKeyError: The family does not need such a value.
        MissingColumnError: The training table has no such column.
        MissingFileError: There is no such folder.
        UnusableValueError: The files show that it is otherwise.
    """
    _check_against_labels(seen, found)
    folders, train = sorted(set(_folders(survey))), seen.tables.train
    for key in found.hints.overrides:
        if key not in found:
            raise UnknownKeyError(key=key, family=str(found["family"].value), keys=found)
        is_column = key.endswith(("_column", "_columns")) and key not in _CHECKED_BEFORE
        for name in filter(None, found.decided_list(key)):
            if key.endswith("_folder") and name not in folders:
                raise MissingFileError(key=key, path=name, paths=folders)
            if is_column and train is not None and train.column(name) is None:
                columns = train.column_names
                raise MissingColumnError(key=key, column=name, table=train.path, columns=columns)
            if is_column and key.endswith("_columns") and name in (*seen.targets.names, found["id_column"].value):
                raise UnusableValueError(
                    key=key, value=name, wanted="a column to learn from, neither the id nor a target"
                )
    features, dropped = seen.features, found.decided_list("drop_columns")
    if dropped and features is not None and {column.name for column in features.columns} <= set(dropped):
        wanted = "fewer columns, as none would be left to learn from"
        raise UnusableValueError(key="drop_columns", value=listed(dropped), wanted=wanted)


def _check_against_labels(seen: Observations, found: Findings) -> None:
    """That names are not to be learned as numbers, and that there are as many classes as were decided on."""
    named = [column for column in seen.targets.columns if column.kind in (ColumnKind.TEXT, ColumnKind.DATE)]
    if named and found.decided("target_kind") == TargetKind.NUMBER:
        wanted = f'one for values such as "{named[0].present[0]}" in {named[0].name}'
        raise UnusableValueError(key="target_kind", value=TargetKind.NUMBER, wanted=wanted)
    labelled, decided = seen.tables.labelled, found.decided("class_count")
    is_whole = seen.targets.are_classes_asked or (labelled is not None and labelled.is_complete)
    count = int(str(found["class_count"].value)) if decided and "class_count" in found else 0
    if seen.classes and count and (count < seen.classes or (is_whole and count > seen.classes)):
        raise UnusableValueError(key="class_count", value=decided, wanted=f"{seen.classes}, as so many were seen")


def _nothing(there: str, survey: Survey, *, remedy: str) -> IntrospectionError:
    unsupported = unsupported_files(survey)
    ending = f". {' '.join(unsupported)}" if unsupported else f"; {remedy}."
    return IntrospectionError(" ".join((f"There is nothing {there}{ending}", *survey.notes[:_MOST_NOTES])))


def _test_file(survey: Survey) -> str:
    """An image or a sound in a folder for the test; "" if there is none."""
    folders = (folder for folder in survey.folders if words(folder.path) & TEST and (folder.images or folder.audio))
    return next((f"{folder.path}/{folder.names[0]}" for folder in folders if folder.names), "")


def _folders(survey: Survey) -> Iterator[str]:
    """Every folder that was seen, and those around it."""
    for path in (*(folder.path for folder in survey.folders), *(records.path for records in survey.records)):
        parts = path.split("/")
        yield from ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _table_of_one_example(survey: Survey, tables: Tables) -> str:
    """A table that is named like an id of the sample submission, as several are; "" if hardly one is."""
    ids = key_column(tables.sample)
    named = [table.path for table in survey.tables if ids is not None and stem(table.path) in ids.distinct]
    return named[0] if len(named) > 1 else ""
