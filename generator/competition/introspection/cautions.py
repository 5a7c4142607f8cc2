"""Warnings about a task that was read from a survey, and the values of it that are unclear."""

from collections import Counter
from collections.abc import Iterator, Mapping

from generator.competition.facts import Medium, SubmissionKind, TargetKind
from generator.competition.introspection.evidence import (
    TARGET,
    Confidence,
    Finding,
    Hints,
    split_words,
    unclear_null_words,
)
from generator.competition.introspection.features import COLUMN_KINDS
from generator.competition.introspection.limits import unsupported_files
from generator.competition.introspection.observations import Observations, classes_seen
from generator.competition.introspection.targets import are_named_alike
from generator.competition.schema import display_name, families, option_of
from generator.competition.survey.columns import MOST, numbers_of
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind, Survey
from generator.text import printable

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
