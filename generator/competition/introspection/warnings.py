"""Warnings: values that are hardly more than a guess, and what the notebooks cannot do."""

from collections import Counter
from collections.abc import Iterator, Mapping

from generator.competition.facts import Medium, SubmissionKind, TargetKind
from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.feature_types import COLUMN_KINDS
from generator.competition.introspection.findings import Confidence, Finding, Hints
from generator.competition.introspection.null_words import unclear_null_words
from generator.competition.introspection.stages import warnings_of_stages
from generator.competition.introspection.submission import classes_seen
from generator.competition.introspection.table_format import differences
from generator.competition.introspection.table_roles import Tables
from generator.competition.introspection.target_columns import are_named_alike
from generator.competition.introspection.unsupported import unsupported_files
from generator.competition.introspection.vocabulary import TARGET, words
from generator.competition.schema import called, families, option_of
from generator.competition.survey.columns import MOST, numbers_of
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind, Survey
from generator.untrusted import printable

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


def warnings_of(survey: Survey, known: Mapping[str, Finding], seen: Observations, hints: Hints) -> tuple[str, ...]:
    """The sentences, each of which names the flag that settles its matter, or what the user can do."""
    # What could not be read is left out, where examples seem to be in it and there is no other form of them.
    has_examples = seen.files is not None and (seen.files.has_test or seen.files.source.labels_from == "pixels")
    return (
        *(_guess(finding) for finding in known.values() if finding.confidence is Confidence.THIN),
        *warnings_of_stages(seen.tables.stage, is_decided=bool(hints.overrides.keys() & _STAGE_KEYS)),
        *_about_files(known, seen),
        *_about_further_files(known, seen, hints),
        *_about_targets(seen, hints),
        *_about_missing_targets(known, seen),
        *(unclear_null_words(seen.tables.labelled, seen.targets.columns, seen.targets.asked, seen.targets.answers)),
        *_about_copies(known, seen),
        *_about_words_among_numbers(known, seen, hints),
        *_about_unseen_classes(known, seen),
        *_about_labels(known, seen),
        *_about_ids(known, seen),
        *_about_absent_ids(known, seen),
        *differences(seen.tables),
        *(unsupported_files(survey) if not has_examples else ()),
        *_other_parts(survey, seen.tables),
    )


def unclear_keys(known: Mapping[str, Finding], seen: Observations, hints: Hints) -> tuple[str, ...]:
    """The keys of values that are hardly more than a guess, or warned of, in the order in which they were settled."""
    is_warned_of = {"targets": any(_about_targets(seen, hints))}
    return tuple(
        key for key, finding in known.items() if finding.confidence is Confidence.THIN or is_warned_of.get(key)
    )


def _guess(finding: Finding) -> str:
    rivals = [rival for rival in finding.candidates[1:] if rival.weight > 0]
    instead = f", and {_shown(rivals[0].value)} is hardly less likely" if rivals else ""
    why = f": {finding.evidence}" if finding.evidence else ""
    return (
        f"{called(finding.key)} is a guess, {_shown(finding.value)}{instead}{why}; {option_of(finding.key)} settles it."
    )


def _about_files(known: Mapping[str, Finding], seen: Observations) -> Iterator[str]:
    tables = seen.tables
    is_served = "inference_server" in known and bool(known["inference_server"].value)
    if tables.sample is None and is_served:
        asked = _shown(list(seen.targets.names))
        yield f"There is no sample submission; the gateway is answered with a column for each target, {asked}."
    elif tables.sample is None:
        where = tables.test.path if tables.test is not None else "the test files"
        yield (
            f"There is no sample submission; the submission is built from the ids of {printable(where)}, "
            "--sample names one."
        )
    match = seen.files.source.match if seen.files is not None else None
    if match is not None and match.is_seen and match.folder.known == 1 and match.share < 1 and not match.parts:
        yield (
            f"{1 - match.share:.0%} of the sampled training examples have no file in {printable(match.folder.path)}, "
            "and training stops at such: put the missing files there, or leave these rows out of the table."
        )
    if _has_rows_for_parts(seen) and tables.train is not None:
        yield (
            f"A file has several rows in {printable(tables.train.path)}, one for each part that its ids end in; "
            "the notebooks need a table with one row for each file, --train names it."
        )


def _about_further_files(known: Mapping[str, Finding], seen: Observations, hints: Hints) -> Iterator[str]:
    """That an example has further numbered files, its other slices or views, which are not read."""
    match = seen.files.source.match if seen.files is not None else None
    if seen.files is None or match is None:
        return
    key = f"{seen.files.medium}_suffix"
    read_too = {part.suffix for part in (seen.masks, seen.target_images) if part is not None}
    others = [ending for ending in match.others if ending not in read_too and any(map(str.isdigit, ending))]
    is_chosen = key in hints.overrides or "channel_suffixes" in known
    if others and key in known and not is_chosen:
        endings = _shown([f"<id>{ending}" for ending in others])
        yield (
            f"Of an example's files in {printable(match.folder.path)} the notebooks read <id>{printable(match.suffix)} "
            f"alone, and not {endings}; {option_of(key)} names another ending."
        )


def _about_targets(seen: Observations, hints: Hints) -> Iterator[str]:
    """That the only answer asked for is called as nothing in training is, where no name would do."""
    targets, sample = seen.targets, seen.tables.sample
    if sample is None or len(targets.asked) != 1 or len(targets.columns) != 1 or "targets" in hints.overrides:
        return
    asked, column = targets.asked[0], targets.columns[0]
    is_alike = are_named_alike(asked, column.name)
    has_answers = any(answer.distinct & column.distinct for answer in targets.answers if answer.kind is ColumnKind.TEXT)
    is_any = bool(words(column.name) & TARGET) or asked in column.distinct
    if is_alike or is_any or has_answers or words(asked) & (_ANY_ANSWER | words(column.name)) or targets.parts:
        return
    yield (
        f"{printable(sample.path)} asks for {printable(asked)}, which no training table has; {printable(column.name)} "
        f"is taken for it, {option_of('targets')} names another column."
    )


def _about_missing_targets(known: Mapping[str, Finding], seen: Observations) -> Iterator[str]:
    """That training rows lack what is to be learned."""
    kind = TargetKind(str(known["target_kind"].value))
    if seen.unlabelled(kind):
        is_whole = "prediction_per" in known and known["prediction_per"].value == "row"
        done = "the notebooks need a table without them" if is_whole else "training leaves them out"
        yield f"{seen.unlabelled_in_words(kind)}; {done}."


def _about_copies(known: Mapping[str, Finding], seen: Observations) -> Iterator[str]:
    """That an input column mostly is the answer, or that nearly every row has another class."""
    targets, kind, features = seen.targets, known["target_kind"].value, seen.features
    if len(targets.columns) != 1 or kind not in (TargetKind.CLASS, TargetKind.NUMBER):
        return
    (target,) = targets.columns
    if len(target.distinct) <= _FEW_ANSWERS or seen.tables.labelled is not seen.tables.train or features is None:
        return
    pairs = {column.name: zip(column.values, target.values, strict=True) for column in features.columns}
    equal = {name: sum(cell is not None and cell == answer for cell, answer in rows) for name, rows in pairs.items()}
    shares = {name: count / len(target.present) for name, count in equal.items()}
    name = max(shares, key=lambda name: shares[name], default="")
    named = "this looks like no classification, and " if kind == TargetKind.CLASS else ""
    if name and shares[name] >= (_MOSTLY if kind == TargetKind.CLASS else _NEARLY_ONE_EACH):
        yield (
            f"{printable(target.name)} is the same as {printable(name)} in {shares[name]:.0%} of the sampled rows: "
            f"{named}a model has to beat the copy of that column, which the report of a run scores as a baseline."
        )
    elif (
        kind == TargetKind.CLASS
        and target.kind is ColumnKind.TEXT
        and len(target.distinct) > _MOSTLY * len(target.present)
    ):
        yield (
            f"{printable(target.name)} has {len(target.distinct):,} different values in {len(target.present):,} "
            "sampled rows: this looks like no classification, and a class of one example is hardly ever predicted; "
            f"{option_of('targets')} names another column."
        )


def _about_words_among_numbers(known: Mapping[str, Finding], seen: Observations, hints: Hints) -> Iterator[str]:
    """That a column of numbers has so many other cells that it is read as text, or left out."""
    if seen.features is None or "number_columns" not in known or hints.overrides.keys() & COLUMN_KINDS:
        return
    for column in seen.features.columns:
        numbers = numbers_of(column, MOST) if numbers_of(column) is None else None
        if numbers is None or len(numbers.distinct) <= _FEW_ANSWERS:
            continue
        pairs = [pair for pair in zip(column.values, numbers.values, strict=True) if pair[0] is not None]
        others = Counter(str(cell) for cell, number in pairs if number is None)
        like = next(str(cell) for cell, number in pairs if number is not None)
        dropped = known["drop_columns"].value if "drop_columns" in known else []
        done = "left out" if isinstance(dropped, list) and column.name in dropped else "not read as numbers"
        yield (
            f'{printable(column.name)} is {done}: its cells are like "{printable(like)}", but '
            f'{others.total() / len(pairs):.0%} of the sampled ones like "{printable(others.most_common(1)[0][0])}"; '
            f"{option_of('number_columns')}={printable(column.name)} takes these for missing."
        )


def _about_unseen_classes(known: Mapping[str, Finding], seen: Observations) -> Iterator[str]:
    """That the sample asks for classes that no training example has."""
    sample, targets, submission = seen.tables.sample, seen.targets, known["submission"].value
    if sample is not None and "unseen_columns" in known and known["unseen_columns"].value:
        yield (
            f"{printable(sample.path)} asks for {_shown(known['unseen_columns'].value)}, and "
            f"{known['unseen_columns'].evidence}: the submission has the small probability UNSEEN_PROBABILITY there."
        )
    texts = [answer for answer in targets.answers if answer.kind is ColumnKind.TEXT]
    if sample is None or submission != SubmissionKind.LABEL or len(targets.answers) != 1 or not texts:
        return
    asked, classes = texts[0].distinct, classes_seen(seen)
    unseen = sorted(asked - classes)
    if classes and unseen and asked & classes:
        yield (
            f"{printable(sample.path)} has the labels {_shown(unseen)}, which no sampled training example has, so "
            "that they are never predicted: add training examples of them, or leave it at that."
        )


def _about_labels(known: Mapping[str, Finding], seen: Observations) -> Iterator[str]:
    """That the sample names its classes otherwise than training does: by numbers, or by words that it never has."""
    targets, sample, files = seen.targets, seen.tables.sample, seen.files
    is_named = known["target_kind"].value in _NAMED_KINDS and known["submission"].value in _OF_NAMES
    if not is_named or "answers_are_flags" in known or sample is None or len(targets.answers) != 1:
        return
    (answer,) = targets.answers
    classes = [
        *(files.source.classes if files is not None else ()),
        *(value for each in targets.columns for value in each.present),
    ]
    split = {part.strip() for value in classes for part in value.split(seen.labels.separator or None)}
    parts = {part for cell in answer.distinct for part in cell.split()}
    known_cells = (answer.distinct | parts) & {*classes, *split, *targets.names, *targets.row_labels}
    is_asked = answer.kind is ColumnKind.TEXT and len(answer.distinct | parts) > 1 and not known_cells
    are_numbers = len(targets.columns) == 1 and known["submission"].value == SubmissionKind.LABEL
    is_other = are_numbers and (answer.kind in NUMBERS) != (targets.columns[0].kind in NUMBERS)
    if classes and answer.present and (is_asked or is_other):
        yield (
            f'The classes are like "{printable(classes[0])}", which the notebooks submit, and the cells of '
            f'{printable(sample.path)} like "{printable(answer.present[0])}": if only such are scored, put a table '
            f"beside it with the classes called so, and name it with --labels, or another column with "
            f"{option_of('targets')}."
        )


def _about_ids(known: Mapping[str, Finding], seen: Observations) -> Iterator[str]:
    """Test rows in no order, several for an id, are none of sequences, and the notebooks would refuse them."""
    name = str(known["id_column"].value)
    if families()[str(known["family"].value)].medium not in _ROWS or not _has_row_for_each_id(known, seen):
        return
    asked = {table.path: table for table in (seen.tables.test, seen.tables.sample) if table is not None}
    for path, table in asked.items():
        ids = table.column(name)
        if ids is None or not _repeat(ids) or table is seen.tables.train:
            continue
        if _repeat(ids, _NEARLY_ONE_EACH):
            yield (
                f"{printable(name)} repeats in {printable(path)}, and no column orders its rows, so that they are no "
                "sequences either; the notebooks need a table with one row for each id, --test names it, or a column "
                "that orders them, --set group_column and --set order_column name both."
            )
            return
        twice = next(value for value, count in Counter(ids.present).items() if count > 1)
        yield (
            f'{printable(path)} has several rows of the same {printable(name)}, such as "{printable(twice)}", at '
            "which the notebooks stop: leave one row for each id."
        )


def _about_absent_ids(known: Mapping[str, Finding], seen: Observations) -> Iterator[str]:
    """That the sample asks for rows that the test table, of which all rows were seen, does not have."""
    test, sample, name = seen.tables.test, seen.tables.sample, str(known["id_column"].value)
    there, asked = (table.column(name) if table is not None else None for table in (test, sample))
    is_files = families()[str(known["family"].value)].medium.is_files
    is_told = seen.tables.stage is not None and bool(seen.tables.stage.parts)
    if is_files or is_told or test is None or there is None or asked is None or not _has_row_for_each_id(known, seen):
        return
    absent = next((value for value in asked.present if value not in there.distinct), None)
    if absent is not None and test.is_complete:
        yield (
            f"{printable(test.path)} lacks ids that the sample submission asks for, such as "
            f'"{printable(absent)}", at which inference stops: put their rows there, or name another table with --test.'
        )


def _has_row_for_each_id(known: Mapping[str, Finding], seen: Observations) -> bool:
    """True if the ids of the sample are those of the test rows, which are read from a table."""
    return "inference_server" not in known and not seen.targets.are_keyed and seen.targets.lookup is None


def _repeat(ids: Column, share: float = 1.0) -> bool:
    """True if fewer of the values than this share are different."""
    return len(ids.distinct) < share * len(ids.present)


def _has_rows_for_parts(seen: Observations) -> bool:
    """True if training rows are for parts of examples; run-length codes of masks may be."""
    match = seen.files.source.match if seen.files is not None else None
    is_understood = seen.labels.is_run_length or bool(seen.targets.row_labels)
    return match is not None and match.parts > 0 and not is_understood


def _shown(value: object) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - _LIST_SHOWN} more" if len(value) > _LIST_SHOWN else ""
        return ", ".join(printable(str(item)) for item in value[:_LIST_SHOWN]) + more
    return printable(str(value)) or "none"


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
