"""Infer a task from a survey: every value with its evidence, its confidence and its alternatives.

`read_task` takes a `Survey` and `Hints`, and answers one question after the other. Each answer is a `Finding`.

    evidence      candidates, weights, statistics of columns, and the usual words in file names
    tables        the role of each table, and the columns that identify rows
    files         the files, records or pixels of the examples, and where their labels are
    targets       the metric, the columns with the labels, the format of the tables, and the ids of the answers
    features      the columns of an example and their types
    observations  all of these, and the kind of value to predict
    task_kind     family, submission, folds, training budget
    limits        errors for unsupported competitions, and warnings

`pair` calls `read_task`. `specimen` uses the same names of files and columns.
"""

from generator.competition.introspection.evidence import Candidate, Confidence, Finding, Findings, Hints, Reading
from generator.competition.introspection.limits import (
    check_decisions,
    check_that_answers_can_be_written,
    check_that_files_can_be_read,
    check_that_rows_have_targets,
    check_that_targets_can_be_learned,
    check_that_there_are_data,
    check_that_there_are_templates,
    unclear_keys,
    warnings_of,
)
from generator.competition.introspection.observations import (
    find_tables_and_files,
    find_target_kind,
    observe,
    settle_classes,
)
from generator.competition.introspection.targets import settle_metric, settle_serving
from generator.competition.introspection.task_kind import (
    find_family,
    find_submission,
    labels_per_cell,
    settle_details,
    settle_submission_file,
    settle_unseen_columns,
)
from generator.competition.schema import keys_of, task_of
from generator.competition.survey import Survey

# Reading a survey as a task: the order of the questions, each of which rests on the answers before it.


# What is shown first; the details of the family follow.
_FIRST = ("family", "metric", "target_kind", "submission", "id_column", "targets", "class_count")
_FILES = ("train_table", "labels_table", "test_table", "sample_submission", "submission_file", "submission_separator")
_SERVER_KEYS = ("inference_server", "gateway_files", "served_answer")


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
    survey = survey.with_null_words  # they may be ids and labels
    all_findings = Findings(hints)
    tables, files = find_tables_and_files(survey, all_findings)
    check_that_there_are_data(survey, tables, files)
    check_that_files_can_be_read(survey, tables, files, hints)
    observations = observe(survey, tables, files, all_findings)

    check_that_there_are_templates(observations, hints)
    kind = find_target_kind(observations, all_findings)
    check_that_targets_can_be_learned(kind, observations, hints)
    check_that_rows_have_targets(kind, observations)
    check_that_answers_can_be_written(kind, observations, hints)
    submission = find_submission(kind, observations, all_findings)
    settle_unseen_columns(kind, submission, observations, all_findings)
    settle_metric(
        observations.metric,
        submission,
        kind,
        all_findings,
        sizes=(observations.classes, labels_per_cell(observations.targets)),
    )
    settle_classes(kind, submission, observations, all_findings)
    family = find_family(kind, observations, all_findings)
    settle_details(family, observations, all_findings, is_served=survey.server is not None)
    is_served = settle_serving(
        survey.server, all_findings, columns=len(observations.targets.answer_names or observations.targets.names)
    )
    settle_submission_file(tables.sample, survey.server if is_served else None, all_findings)
    for key, rule in keys_of(family.name).items():
        if key in hints.overrides and key not in all_findings and rule.default is not None:
            all_findings.settle(key, rule.default, "the default; no file contradicts it")
    check_decisions(survey, observations, all_findings)

    findings = {
        key: all_findings[key] for key in (*_FIRST, *_FILES, *_SERVER_KEYS, *all_findings) if key in all_findings
    }
    values = {key: finding.value for key, finding in findings.items()}
    evidence = {key: finding.evidence for key, finding in findings.items()}
    task = task_of(str(values.pop("family")), values, evidence)
    warnings, unclear = (
        warnings_of(survey, findings, observations, hints),
        unclear_keys(all_findings, observations, hints),
    )
    return Reading(task=task, findings=findings, warnings=warnings, unclear=unclear)


__all__ = ["Candidate", "Confidence", "Finding", "Hints", "Reading", "read_task"]
