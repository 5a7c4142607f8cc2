"""The submission: what a row says, and what the file is called and written in."""

from collections import Counter

from generator.competition.facts import SubmissionKind, TargetKind
from generator.competition.introspection.column_statistics import ONES, is_whole
from generator.competition.introspection.data_profile import Observations
from generator.competition.introspection.errors import UnusableValueError, listed
from generator.competition.introspection.findings import Findings, Reason, weighed
from generator.competition.introspection.inference_server import served_file_name
from generator.competition.introspection.target_columns import Targets
from generator.competition.metrics import Wants
from generator.competition.pages import read_rules
from generator.competition.schema import option_of
from generator.competition.survey.facts import Column, ColumnKind, InferenceServer, Table
from generator.competition.tables.formats import TableFormat, format_of

_KEY = "submission"
_NAMES = frozenset((ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.DATE))
_USUAL_NAME = "submission.csv"
_SUFFIXES = {TableFormat.PARQUET: ".parquet", TableFormat.JSON: ".json", TableFormat.JSON_LINES: ".jsonl"}
_SUFFIX_OF = {"\t": ".tsv", "|": ".psv"}
_SPACES = r"\s+"
_ONE_COLUMN = frozenset(
    (SubmissionKind.PROBABILITY, SubmissionKind.LABEL, SubmissionKind.TOP_K, SubmissionKind.LABEL_SET)
)
_KINDS = {
    TargetKind.CLASS: _ONE_COLUMN - {SubmissionKind.LABEL_SET} | {SubmissionKind.CLASS_COLUMNS},
    TargetKind.LABELS: frozenset((SubmissionKind.NUMBERS, SubmissionKind.LABEL_SET)),
    TargetKind.NUMBER: frozenset((SubmissionKind.NUMBERS, SubmissionKind.LABEL)),
    TargetKind.MASK: frozenset((SubmissionKind.RUN_LENGTH,)),
    TargetKind.IMAGE: frozenset((SubmissionKind.KEYED_ROWS,)),
}


def find_submission(kind: TargetKind, seen: Observations, found: Findings) -> SubmissionKind:
    """Weighs the shapes that a submission for such targets can have.

    Raises:
        UnusableValueError: The user decided on another one.
    """
    targets = seen.targets
    few = len(targets.asked) or len(targets.names)
    if kind is TargetKind.IMAGE:
        found.settle(_KEY, SubmissionKind.KEYED_ROWS, "each row is one pixel of an image, named by its id")
    elif kind is TargetKind.MASK:
        found.settle(_KEY, SubmissionKind.RUN_LENGTH, "masks are asked for as run-length codes")
    elif targets.are_keyed:
        found.settle(_KEY, SubmissionKind.KEYED_ROWS, f"ids are <id>_<part>, with {len(targets.parts)} parts for each")
    elif kind is TargetKind.LABELS and (len(targets.names) > 1 or len(targets.asked) > 1):
        found.settle(_KEY, SubmissionKind.NUMBERS, f"a probability in each of {few} columns")
    elif kind is TargetKind.LABELS:
        found.settle(_KEY, SubmissionKind.LABEL_SET, "all labels of an example stand in one column")
    else:
        reasons = _for_number(seen) if kind is TargetKind.NUMBER else _for_class(seen)
        found.choose(_KEY, [weighed(value, because) for value, because in reasons.items()])
    submission = found.member(_KEY, SubmissionKind)
    if found.decided(_KEY):
        _check_decided(submission, kind, targets)
    return submission


def settle_unseen_columns(kind: TargetKind, submission: SubmissionKind, seen: Observations, found: Findings) -> None:
    """Settles which columns of the sample, or labels in its ids, are for classes without a training example."""
    targets, labels = seen.targets, seen.labels
    is_list = kind is TargetKind.LABELS and len(targets.names) == 1 and bool(labels.separator)
    asked = targets.parts if submission is SubmissionKind.KEYED_ROWS else targets.asked
    if submission is not SubmissionKind.CLASS_COLUMNS and not (is_list and len(asked) > 1):
        return
    classes = classes_seen(seen)
    beside = [name for name in classes if name not in asked]
    unseen = [name for name in asked if name not in classes and not any(map(name.endswith, beside))]
    if unseen and len(asked) - len(unseen) >= 2:  # noqa: PLR2004 - else the columns are called otherwise
        is_whole = seen.tables.labelled is None or seen.tables.labelled.is_complete
        evidence = f"no {'' if is_whole else 'sampled '}training example is of {listed(unseen)}"
        found.settle("unseen_columns", unseen, evidence)


def classes_seen(seen: Observations) -> set[str]:
    """The classes or labels that training examples have."""
    columns, separator = seen.targets.columns, seen.labels.separator
    if len(columns) > 1:
        return {column.name for column in columns if any(value.strip().lower() in ONES for value in column.distinct)}
    cells = [value for column in columns for value in column.distinct]
    split = {label.strip() for cell in cells for label in cell.split(separator)} if separator else set(cells)
    return split | set(seen.files.source.classes if seen.files is not None else ())


def settle_submission_file(sample: Table | None, server: InferenceServer | None, found: Findings) -> None:
    """Settles the name of the file, and of a text with another separator than the comma that and its decimal sign.

    Args:
        sample: The sample submission, if there is one.
        server: What hands out the test data and writes the submission, if something does.
        found: Takes the findings.
    """
    promised = format_of(found.settle("submission_file", *_file_name(sample, server, found)))
    key, separator = "submission_separator", _separator(sample)
    is_text = promised.format in (TableFormat.CSV, None) and not promised.separator
    if key in found.hints.overrides or (is_text and separator != ","):
        found.settle(key, separator, f"as {sample.name} is written" if sample is not None else "usual")
    if is_text and sample is not None and sample.decimal == "," and separator != ",":
        found.settle("submission_decimal", sample.decimal, f"as {sample.name} is written")


def labels_per_cell(targets: Targets) -> int:
    """The number of labels in a cell of the sample, separated by spaces; 1 if there is one or no sample."""
    if len(targets.answers) != 1 or not targets.answers[0].present:
        return 1
    counts = Counter(len(value.split()) for value in targets.answers[0].present)
    return counts.most_common(1)[0][0]


def _check_decided(submission: SubmissionKind, kind: TargetKind, targets: Targets) -> None:
    """That such targets can be submitted so, in as many columns as the sample has."""
    apart = frozenset[SubmissionKind]()
    if len(targets.asked) > 1:
        apart = _ONE_COLUMN if kind is not TargetKind.NUMBER else apart
    elif targets.asked:
        apart = frozenset((SubmissionKind.CLASS_COLUMNS,))
    keyed = frozenset((SubmissionKind.KEYED_ROWS,)) if targets.parts else frozenset[SubmissionKind]()
    possible = (_KINDS[kind] | keyed) - apart
    if submission not in possible:
        columns = f" in {len(targets.asked)} columns" if submission in apart else ""
        wanted = f"what the kind of target, {kind}, can be submitted as{columns}: {' or '.join(sorted(possible))}"
        raise UnusableValueError(key=option_of(_KEY), value=submission, wanted=wanted)


def _for_number(seen: Observations) -> dict[SubmissionKind, list[Reason]]:
    answers, metric = seen.targets.answers, seen.metric
    wants_labels = metric.facts is not None and metric.facts.wants is Wants.LABELS
    answers_whole = bool(answers) and all(column.kind is ColumnKind.INTEGER for column in answers)
    return {
        SubmissionKind.NUMBERS: [Reason(4, "numbers are asked for")],
        SubmissionKind.LABEL: [
            Reason(6 * wants_labels, f"{metric.name} compares whole numbers"),
            Reason(1 * answers_whole, "the sample submission has whole numbers"),
        ],
    }


def _for_class(seen: Observations) -> dict[SubmissionKind, list[Reason]]:
    targets, labels, metric = seen.targets, seen.labels, seen.metric
    wants = metric.facts.wants if metric.facts is not None else None
    answer = targets.answers[0] if len(targets.answers) == 1 else None
    best = labels_per_cell(targets)
    is_one = len(targets.names) == 1 and len(targets.asked) <= 1
    are_columns = targets.are_classes_asked or (labels.is_one_hot and len(targets.asked) > 1)
    ranks = answer is not None and answer.kind is ColumnKind.TEXT and best > 1 and not _is_spaced(seen)
    is_fraction = answer is not None and answer.kind is ColumnKind.NUMBER
    suits_probability = is_one and labels.distinct <= 2  # noqa: PLR2004 - yes and no
    return {
        SubmissionKind.LABEL: [
            Reason(2.5 * (answer is not None and is_whole(answer)), _cells(answer)),
            Reason(3 * (answer is not None and answer.kind in _NAMES and not ranks), _cells(answer)),
            Reason(3 * (is_one and wants is Wants.LABELS), f"{metric.name} compares labels"),
            Reason(1 * (answer is None and not are_columns), "one label for each example is the simplest answer"),
        ],
        SubmissionKind.CLASS_COLUMNS: [Reason(5 * are_columns, "the sample submission has a column for each class")],
        SubmissionKind.TOP_K: [
            Reason(3 * ranks, f"a cell of the sample submission has {best} labels"),
            Reason(4 * (is_one and wants is Wants.RANKED), f"{metric.name} compares ranked labels"),
        ],
        SubmissionKind.PROBABILITY: [
            Reason(3 * (is_fraction and suits_probability), _cells(answer)),
            Reason(4 * (suits_probability and wants is Wants.PROBABILITIES), f"{metric.name} compares probabilities"),
        ],
    }


def _is_spaced(seen: Observations) -> bool:
    """True if the classes themselves are of several words."""
    said = seen.files.source.classes if seen.files is not None else ()
    named = (value for column in seen.targets.columns for value in column.distinct)
    return any(" " in value.strip() for value in (*said, *named))


def _cells(answer: Column | None) -> str:
    if answer is None or not answer.present:
        return ""
    return f'the cells of {answer.name} in the sample submission are like "{answer.present[0][:40]}"'


def _file_name(sample: Table | None, server: InferenceServer | None, found: Findings) -> tuple[str, str]:
    """The name that pages demand, else that which a server's gateway writes, else the usual one with a suffix."""
    said = found.hints.file_name or read_rules({"evaluation": found.hints.evaluation_text}).file_name
    if said is not None:
        return said.value, said.evidence
    if server is not None:
        return served_file_name(server)
    suffix = _suffix(sample) if sample is not None else ""
    if sample is not None and suffix:
        return f"submission{suffix}", f"{sample.name} is written so, and nothing names another"
    return _USUAL_NAME, "the usual name"


def _suffix(sample: Table) -> str:
    """The suffix of a file like the sample; "" for csv, compressed or not, which is the usual one."""
    if sample.format in _SUFFIXES:
        return _SUFFIXES[sample.format]
    return _SUFFIX_OF.get(format_of(sample.name).separator, "")


def _separator(sample: Table | None) -> str:
    """The separator of the sample's cells, unless its suffix says that this is what such files have."""
    if sample is None or sample.format is not TableFormat.CSV or format_of(sample.name).separator:
        return ","
    return " " if sample.separator == _SPACES else sample.separator or ","
