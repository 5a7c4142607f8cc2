"""Reading a survey as a task: the order of the questions, each of which rests on the answers before it."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TypeVar

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection.errors import (
    NoTestDataError,
    NoTrainingDataError,
    TableForEachExampleError,
    UnusableValueError,
)
from generator.competition.introspection.example_files import ExampleFiles, find_example_files
from generator.competition.introspection.family import find_family, settle_details
from generator.competition.introspection.findings import Findings, Hints, Reading
from generator.competition.introspection.id_column import find_id
from generator.competition.introspection.inference_server import settle_serving
from generator.competition.introspection.metric import settle_metric
from generator.competition.introspection.observations import Observations, observe
from generator.competition.introspection.submission import best_in_cell, find_submission, settle_submission_file
from generator.competition.introspection.table_format import differences
from generator.competition.introspection.table_roles import Tables, find_tables
from generator.competition.introspection.target_kind import find_target_kind
from generator.competition.introspection.unsupported import (
    check_that_targets_can_be_learned,
    check_that_there_are_templates,
    unsupported_files,
)
from generator.competition.introspection.validation import check_decisions
from generator.competition.introspection.vocabulary import stem
from generator.competition.introspection.warnings import warnings_of
from generator.competition.schema import Family, task_of
from generator.competition.survey.facts import Survey
from generator.untrusted import printable

# What is shown first; the details of the family follow.
_FIRST = ("family", "metric", "target_kind", "submission", "id_column", "targets", "class_count")
_FILES = ("train_table", "labels_table", "test_table", "sample_submission", "submission_file", "submission_separator")
_SERVED = ("inference_server", "gateway_files", "served_answer")

_E = TypeVar("_E", bound=StrEnum)


def read_task(survey: Survey, hints: Hints) -> Reading:
    """Makes a task of what was seen in a competition's files.

    Args:
        survey: What was seen.
        hints: What is known beside, the user's decisions among it, which are taken as they are.

    Returns:
        The task, every value with its evidence, and what to warn of.

    Raises:
        IntrospectionError: What was seen does not make a task, or a decision does not fit it.
        UnknownMetricError: The user decided on a metric that the kit does not have.
    """
    found = Findings(hints)
    tables = find_tables(survey, found)
    id_column = find_id(tables, survey.server, found)
    files = find_example_files(survey, tables, id_column, found)
    _check_that_there_are_data(survey, tables, files)
    seen = observe(survey, tables, files, found)

    check_that_there_are_templates(seen, hints)
    find_target_kind(seen, found)
    kind = _member(TargetKind, "target_kind", found)
    check_that_targets_can_be_learned(kind, seen, hints)
    find_submission(kind, seen, found)
    submission = _member(SubmissionKind, "submission", found)
    settle_metric(seen.metric, submission, kind, found, sizes=(seen.classes, best_in_cell(seen.targets)))
    if kind is TargetKind.CLASS and (seen.classes or "class_count" in hints.overrides):
        found.settle("class_count", seen.classes, f"{seen.classes:,} classes were seen")
    family = find_family(kind, seen, found)
    _leave_out_training_table(family, files, found)
    settle_details(family, seen, found, is_served=survey.server is not None)
    is_served = settle_serving(survey.server, found, columns=len(seen.targets.asked or seen.targets.names))
    settle_submission_file(tables.sample, survey.server if is_served else None, found)
    check_decisions(survey, tables, found)
    return _reading(survey, seen, found)


def _reading(survey: Survey, seen: Observations, found: Findings) -> Reading:
    findings = {key: found[key] for key in (*_FIRST, *_FILES, *_SERVED, *found) if key in found}
    values = {key: finding.value for key, finding in findings.items()}
    evidence = {key: finding.evidence for key, finding in findings.items()}
    # What could not be read is left out, where examples seem to be in it and there is no other form of them.
    has_examples = seen.files is not None and (seen.files.has_test or seen.files.source.labels_from == "pixels")
    return Reading(
        task=task_of(str(values.pop("family")), values, evidence),
        findings=findings,
        warnings=(
            *warnings_of(findings, seen, found.hints),
            *differences(seen.tables),
            *(unsupported_files(survey) if not has_examples else ()),
            *_other_parts(survey, seen.tables),
        ),
    )


def _member(kinds: type[_E], key: str, found: Findings) -> _E:
    value = str(found[key].value)
    try:
        return kinds(value)
    except ValueError as error:
        raise UnusableValueError(key=key, value=value, wanted=f"one of {', '.join(kinds)}") from error


def _leave_out_training_table(family: Family, files: ExampleFiles | None, found: Findings) -> None:
    """There is no training table where the files have all there is to learn."""
    if files is not None and family.medium.is_files and not files.source.is_table:
        for key in ("train_table", "labels_table"):
            found.settle(key, "", f"the labels come from {files.source.labels_from}, not from a table")


def _check_that_there_are_data(survey: Survey, tables: Tables, files: ExampleFiles | None) -> None:
    seen = [table.path for table in survey.tables] + [folder.path for folder in survey.folders if folder.path]
    unsupported = unsupported_files(survey)
    if tables.train is None and files is None:
        raise NoTrainingDataError(seen=seen, unsupported=unsupported, notes=survey.notes)
    is_served = survey.server is not None and files is not None
    if tables.test is None and not is_served and (files is None or not files.has_test):
        of_one = _table_of_one_example(survey, tables)
        if of_one and tables.sample is not None:
            raise TableForEachExampleError(sample=tables.sample.path, table=of_one)
        trained_on = tables.train.path if tables.train is not None else ""
        left = [path for path in seen if path != trained_on]
        raise NoTestDataError(seen=left, unsupported=unsupported, notes=survey.notes)


def _other_parts(survey: Survey, tables: Tables) -> Iterator[str]:
    """That a table lies in a folder in parts, as partitioned Parquet does, and only one of them is trained on."""
    train, others = tables.train, (tables.test, tables.sample, tables.labels)
    top = train.path.split("/")[0] if train is not None and "/" in train.path else ""
    if train is None or not top:
        return
    parts = [
        table
        for table in survey.tables
        if table.path.startswith(f"{top}/") and table.column_names == train.column_names and table not in others
    ]
    if len(parts) > 1:
        yield (
            f"{printable(top)} has {len(parts)} tables with the columns of {printable(train.path)}, and the notebooks "
            "train on that one alone: put them into one, and name it with --train."
        )


def _table_of_one_example(survey: Survey, tables: Tables) -> str:
    """A table that is named like an id of the sample submission, as several are; "" if hardly one is."""
    ids = tables.sample.columns[0].distinct if tables.sample is not None and tables.sample.columns else frozenset()
    named = [table.path for table in survey.tables if stem(table.path) in ids]
    return named[0] if len(named) > 1 else ""
