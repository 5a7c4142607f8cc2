"""Reading a survey as a task: the order of the questions, each of which rests on the answers before it."""

from collections.abc import Iterable, Iterator, Mapping

from generator.competition.facts import SubmissionKind, TargetKind, Task
from generator.competition.introspection.clues import Clues
from generator.competition.introspection.columns import find_id
from generator.competition.introspection.companions import find_companions
from generator.competition.introspection.decisions import check_decisions
from generator.competition.introspection.doubts import warnings_of
from generator.competition.introspection.errors import (
    NoTestDataError,
    NoTrainingDataError,
    TableForEachExampleError,
    UnusableValueError,
)
from generator.competition.introspection.facts import Finding, Hints, Reading
from generator.competition.introspection.family import find_contents, find_details, find_family
from generator.competition.introspection.hindrances import check_that_there_are_templates, hindrances_of
from generator.competition.introspection.kinds import find_kind
from generator.competition.introspection.metric import known_metric, settle_metric
from generator.competition.introspection.refusals import check_that_targets_can_be_learned
from generator.competition.introspection.serving import find_serving
from generator.competition.introspection.source import Source, find_source
from generator.competition.introspection.submission_files import find_submission_file
from generator.competition.introspection.submissions import best_in_cell, find_submission
from generator.competition.introspection.table_format import differences
from generator.competition.introspection.tables import Tables, find_tables
from generator.competition.introspection.targets import find_targets
from generator.competition.introspection.traits import traits_of
from generator.competition.introspection.weighing import settled
from generator.competition.introspection.words import stem
from generator.competition.schema import Family, families, task_of
from generator.competition.survey.facts import Survey
from generator.untrusted import printable


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
    tables = find_tables(survey, hints)
    id_column = find_id(tables, hints, survey.server)
    source = find_source(survey, tables, str(id_column.value), hints)
    _check_that_there_are_data(survey, tables, source)
    clues = _clues(survey, tables, source, id_column, hints)

    check_that_there_are_templates(clues, hints)
    kind_finding = find_kind(clues, hints)
    kind = _as_kind(kind_finding)
    check_that_targets_can_be_learned(kind, clues, hints)
    submission_finding = find_submission(kind, clues, hints)
    submission = _as_submission(submission_finding)
    sizes = (clues.classes, best_in_cell(clues.targets))
    metric = settle_metric(clues.metric, submission, kind, sizes=sizes, hints=hints)
    contents = find_contents(clues, str(id_column.value), hints)
    family_finding = find_family(kind, clues, contents, hints)
    family = families()[str(family_finding.value)]
    details = find_details(family, clues, contents, hints, id_column=str(id_column.value))

    needed = _needed_tables(tables, source, family, hints)
    has_count = clues.classes or "class_count" in hints.overrides
    of_classes = (_class_count(clues, hints),) if kind is TargetKind.CLASS and has_count else ()
    core = [family_finding, metric, kind_finding, submission_finding, id_column, clues.targets.finding]
    columns = len(clues.targets.asked or clues.targets.names)
    known = {finding.key: finding.value for finding in details}
    served = find_serving(survey.server, known, hints, columns=columns)
    written = find_submission_file(tables.sample, survey.server if served else None, hints)
    findings = {finding.key: finding for finding in (*core, *of_classes, *needed, *written, *served, *details)}
    check_decisions(hints, findings, survey, tables)
    return Reading(
        task=_task(findings),
        findings=findings,
        warnings=(
            *warnings_of(findings.values(), clues, hints),
            *differences(tables),
            *_left_out(survey, source),
            *_other_parts(survey, tables),
        ),
    )


def _class_count(clues: Clues, hints: Hints) -> Finding:
    return settled("class_count", clues.classes, f"{clues.classes:,} classes were seen", hints)


def _clues(survey: Survey, tables: Tables, source: Source | None, id_column: Finding, hints: Hints) -> Clues:
    targets = find_targets(survey, tables, source, str(id_column.value), hints)
    classes = source.labelling.classes if source is not None else ()
    return Clues(
        tables=tables,
        source=source,
        companions=find_companions(survey, source),
        targets=targets,
        traits=traits_of(targets.columns, classes),
        metric=known_metric(hints),
    )


def _needed_tables(tables: Tables, source: Source | None, family: Family, hints: Hints) -> tuple[Finding, ...]:
    """The findings on the tables, without a training table where the files have all there is to learn."""
    if source is None or not family.medium.is_files or source.labels_from not in ("folders", "names", "records"):
        return tables.findings
    evidence = f"the labels come from {source.labels_from}, not from a table"
    without = {key: settled(key, "", evidence, hints) for key in ("train_table", "labels_table")}
    return tuple(without.get(finding.key, finding) for finding in tables.findings)


def _check_that_there_are_data(survey: Survey, tables: Tables, source: Source | None) -> None:
    seen = [table.path for table in survey.tables] + [folder.path for folder in survey.folders if folder.path]
    hindrances = hindrances_of(survey)
    if tables.train is None and source is None:
        raise NoTrainingDataError(seen=seen, hindrances=hindrances, notes=survey.notes)
    is_served = survey.server is not None and source is not None
    if tables.test is None and not is_served and (source is None or not source.has_test):
        of_one = _table_of_one_example(survey, tables)
        if of_one and tables.sample is not None:
            raise TableForEachExampleError(sample=tables.sample.path, table=of_one)
        trained_on = tables.train.path if tables.train is not None else ""
        left = [path for path in seen if path != trained_on]
        raise NoTestDataError(seen=left, hindrances=hindrances, notes=survey.notes)


def _left_out(survey: Survey, source: Source | None) -> tuple[str, ...]:
    """What could not be read, where examples seem to be in it; not where there is another form of them."""
    return hindrances_of(survey) if source is None or not source.has_examples else ()


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


def _as_kind(finding: Finding) -> TargetKind:
    try:
        return TargetKind(str(finding.value))
    except ValueError as error:
        raise UnusableValueError(key=finding.key, value=str(finding.value), wanted=_one_of(TargetKind)) from error


def _as_submission(finding: Finding) -> SubmissionKind:
    try:
        return SubmissionKind(str(finding.value))
    except ValueError as error:
        raise UnusableValueError(key=finding.key, value=str(finding.value), wanted=_one_of(SubmissionKind)) from error


def _one_of(values: Iterable[str]) -> str:
    return f"one of {', '.join(values)}"


def _task(findings: Mapping[str, Finding]) -> Task:
    values = {key: finding.value for key, finding in findings.items()}
    evidence = {key: finding.evidence for key, finding in findings.items()}
    return task_of(str(values.pop("family")), values, evidence)
