"""Reading a survey as a task: the order of the questions, each of which rests on the answers before it."""

from generator.competition.facts import TargetKind
from generator.competition.introspection.data_profile import observe
from generator.competition.introspection.example_files import find_example_files
from generator.competition.introspection.family import find_family, settle_details
from generator.competition.introspection.findings import Findings, Hints, Reading
from generator.competition.introspection.id_column import find_id
from generator.competition.introspection.inference_server import settle_serving
from generator.competition.introspection.input_checks import (
    check_decisions,
    check_that_rows_have_targets,
    check_that_there_are_data,
)
from generator.competition.introspection.metric import settle_metric
from generator.competition.introspection.positive_class import settle_positive_class
from generator.competition.introspection.submission import (
    find_submission,
    labels_per_cell,
    settle_submission_file,
    settle_unseen_columns,
)
from generator.competition.introspection.table_roles import find_tables
from generator.competition.introspection.target_kind import find_target_kind
from generator.competition.introspection.unsupported import (
    check_that_answers_can_be_written,
    check_that_files_can_be_read,
    check_that_targets_can_be_learned,
    check_that_there_are_templates,
)
from generator.competition.introspection.warnings import unclear_keys, warnings_of
from generator.competition.schema import keys_of, task_of
from generator.competition.survey.facts import Survey

# What is shown first; the details of the family follow.
_FIRST = ("family", "metric", "target_kind", "submission", "id_column", "targets", "class_count")
_FILES = ("train_table", "labels_table", "test_table", "sample_submission", "submission_file", "submission_separator")
_SERVED = ("inference_server", "gateway_files", "served_answer")


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
    found = Findings(hints)
    tables = find_tables(survey, found)
    id_column = find_id(tables, survey.server, found)
    files = find_example_files(survey, tables, id_column, found)
    check_that_there_are_data(survey, tables, files)
    check_that_files_can_be_read(survey, tables, files, hints)
    seen = observe(survey, tables, files, found)

    check_that_there_are_templates(seen, hints)
    kind = find_target_kind(seen, found)
    check_that_targets_can_be_learned(kind, seen, hints)
    check_that_rows_have_targets(kind, seen)
    check_that_answers_can_be_written(kind, seen, hints)
    submission = find_submission(kind, seen, found)
    settle_unseen_columns(kind, submission, seen, found)
    settle_metric(seen.metric, submission, kind, found, sizes=(seen.classes, labels_per_cell(seen.targets)))
    if kind is TargetKind.CLASS and (seen.classes or "class_count" in hints.overrides):
        found.settle("class_count", seen.classes, f"{seen.classes:,} classes were seen")
    if kind is TargetKind.CLASS:
        settle_positive_class(submission, seen, found)
    family = find_family(kind, seen, found)
    settle_details(family, seen, found, is_served=survey.server is not None)
    is_served = settle_serving(survey.server, found, columns=len(seen.targets.asked or seen.targets.names))
    settle_submission_file(tables.sample, survey.server if is_served else None, found)
    for key, rule in keys_of(family.name).items():
        if key in hints.overrides and key not in found and rule.default is not None:
            found.settle(key, rule.default, "nothing in the files says otherwise")
    check_decisions(survey, seen, found)

    findings = {key: found[key] for key in (*_FIRST, *_FILES, *_SERVED, *found) if key in found}
    values = {key: finding.value for key, finding in findings.items()}
    evidence = {key: finding.evidence for key, finding in findings.items()}
    task = task_of(str(values.pop("family")), values, evidence)
    warnings, unclear = warnings_of(survey, findings, seen, hints), unclear_keys(found, seen, hints)
    return Reading(task=task, findings=findings, warnings=warnings, unclear=unclear)
