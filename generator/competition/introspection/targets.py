"""The metric, the columns with the labels, the format of the tables, and the ids of the rows that are predicted."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import combinations, islice, pairwise, product

from generator.competition.facts import ServedAnswer, SubmissionKind, TargetKind
from generator.competition.introspection.evidence import (
    NULL_WORDS_KEY,
    TARGET,
    Candidate,
    Confidence,
    Findings,
    Hints,
    IntrospectionError,
    MissingColumnError,
    Reason,
    TargetNotInSampleError,
    UnusableValueError,
    as_answers,
    as_labels,
    certain,
    class_column,
    code_column,
    join_names,
    looks_like_id,
    null_words_of,
    split_words,
    weigh,
)
from generator.competition.introspection.files import ExampleFiles, label_feature
from generator.competition.introspection.tables import (
    Lookup,
    Tables,
    answer_columns,
    find_lookup,
    names_classes,
    parts_of,
    without_labels,
)
from generator.competition.metrics import (
    MetricFacts,
    UnknownMetricError,
    find_metric,
    nearest_metric,
    parse_metric,
    suited_metric,
)
from generator.competition.schema import option_of
from generator.competition.survey import NUMBERS, Column, ColumnKind, InferenceServer, Survey, Table, as_number
from generator.competition.tables import TableFormat
from generator.text import printable, quote_text

# Inference servers, which hand out the test data and ask for answers batch by batch.


# A gateway's own paths are those of Kaggle's first way of mounting, /kaggle/input/SLUG; the data are elsewhere now.
_MOUNT_PATH = re.compile(
    r"""["']/kaggle/input/(?:competitions/)?[\w-]+/?([\w./ -]*)["']"""
    # What is joined to the folder, by os.path.join or by Path's slash.
    r"""(?:\)?[ ]?[,/][ ]?["']([\w.-][\w./ -]*)["'])?"""
)
_NAMES_TARGET = re.compile(r"target_column_name\s*=(?!=)\s*(?!None\b)")
_TARGET = re.compile(r"target_column_name\s*=\s*(['\"])(.+?)\1")
_NAMES_ID = re.compile(r"row_id_column_name\s*=(?!=)\s*(?!None\b)")
_SUBMISSION_FILE = re.compile(r"\bsubmission\.(?:csv|parquet)\b")
_USUAL_FILE = "submission.parquet"
_MOST_FILES = 8
_ANSWER = "served_answer"


def settle_serving(server: InferenceServer | None, findings: Findings, *, columns: int) -> bool:
    """Settles what the inference notebook has to know to serve, after what the family needs to know.

    Args:
        server: The competition's inference server.
        findings: Takes the findings.
        columns: How many columns a row of the submission has to be filled in.

    Returns:
        Whether it serves: not where the test is files, or no notebook can serve.

    Raises:
        UnusableValueError: The user wants a single value for several columns.
    """
    # No notebook serves where a table of the public test says what is asked for.
    if server is None or ("lookup_table" in findings and findings["lookup_table"].value):
        return False
    findings.settle("inference_server", server.module, f"kaggle_evaluation/{server.module}.py serves the test data")
    paths = [(path or subpath).strip("/") or "." for path, subpath in _MOUNT_PATH.findall(server.gateway)]
    # What `run_local_gateway` is given: the paths that the gateway would take by itself, in their order.
    files = [path for path in dict.fromkeys(paths) if ".." not in path.split("/")][:_MOST_FILES]
    evidence = f"the paths in its {server.gateway_name}" if files else "its gateway finds the files itself"
    findings.settle("gateway_files", files, evidence)
    if columns > 1 and findings.decided_text(_ANSWER) == ServedAnswer.VALUE:
        requirement = f"targets or table, because an answer has {columns} columns"
        raise UnusableValueError(key=_ANSWER, value="value", requirement=requirement)
    findings.settle(_ANSWER, *_answer(server, findings, columns))
    return True


def served_file_name(server: InferenceServer) -> tuple[str, str]:
    """The name of the submission that a gateway writes, and the evidence for it."""
    match = _SUBMISSION_FILE.search(server.gateway)
    if match is None:
        return _USUAL_FILE, "the usual file of inference servers"
    return match[0], f"{server.gateway_name} writes it"


def served_target(server: InferenceServer | None) -> str:
    """The column of the answers by the name that a gateway gives it; "" if it says nothing of it."""
    match = _TARGET.search(server.gateway) if server is not None else None
    return match[2] if match else ""


def _answer(server: InferenceServer, findings: Findings, columns: int) -> tuple[str, str, Confidence]:
    """The form of an answer: a gateway that brings the ids wants none, and one that names the target a bare value."""
    if "mask_rows" in findings and findings["mask_rows"].value == "piece":
        return ServedAnswer.TABLE, "an image has one row per piece of its mask", Confidence.SURE
    if not server.gateway:
        return ServedAnswer.TABLE, "the usual answer; the gateway is not in the files", Confidence.THIN
    if columns <= 1 and _NAMES_TARGET.search(server.gateway):
        answer, names = ServedAnswer.VALUE, "names the column of the answers"
    elif _NAMES_ID.search(server.gateway):
        answer, names = ServedAnswer.TARGETS, "names the column of the ids"
    else:
        answer, names = ServedAnswer.TABLE, "names neither the ids nor the answers"
    return answer, f"{server.gateway_name} {names}", Confidence.LIKELY


# The metric: as the competition words it, else the one that is usual for such a submission.


_METRIC_KEY = "metric"
_SHOWN = 60
_USUAL_K = 5
_LABEL_SUBMISSIONS = frozenset((SubmissionKind.LABEL, SubmissionKind.LABEL_SET))


@dataclass(frozen=True)
class KnownMetric:
    """The metric as far as the user, the API or the pages say it; `name` is "" where they do not."""

    name: str = ""
    evidence: str = ""

    @property
    def facts(self) -> MetricFacts | None:
        """The kit's own facts on it."""
        return parse_metric(self.name)[0] if self.name else None

    def fits(self, kind: TargetKind, *, classes: int) -> bool:
        """True if it, or the form of it that is meant for such targets, can be computed."""
        return bool(self.name) and kind in parse_metric(suited_metric(self.name, kind, classes=classes))[0].target_kinds


def known_metric(hints: Hints) -> KnownMetric:
    """The metric that the user decided on, else the one that the API or the evaluation page names.

    Raises:
        UnknownMetricError: The user named a metric that the kit does not have.
        CompetitionError: The user gave it a parameter that it cannot have.
    """
    decision = hints.overrides.get(_METRIC_KEY)
    if isinstance(decision, str):
        return KnownMetric(_metric_name(decision), option_of(_METRIC_KEY))
    for text, source in ((hints.metric_text, "Kaggle calls it"), (hints.evaluation_text, "the evaluation page names")):
        name = find_metric(text) if text else None
        if name is not None:
            wording = f' "{text[:_SHOWN]}"' if text is hints.metric_text else " it"
            return KnownMetric(name, f"{source}{wording}")
    return KnownMetric()


def _metric_name(name: str) -> str:
    """The user's metric by the kit's name for it, which may also be one of Kaggle's names, such as "AUC"."""
    try:
        parse_metric(name)
    except UnknownMetricError:
        metric = find_metric(name)
        if metric is None:
            raise
        return metric
    return name


def settle_metric(
    metric: KnownMetric, submission: SubmissionKind, kind: TargetKind, findings: Findings, *, sizes: tuple[int, int]
) -> None:
    """Settles the metric.

    Args:
        metric: What is said of it.
        submission: What a row of the submission says.
        kind: What is predicted.
        findings: Takes the finding; knows the wording of a metric that the kit does not have.
        sizes: How many classes there are, and how many labels a cell of the sample submission has.

    Raises:
        UnusableValueError: The user decided on a metric that is not computed for such targets.
    """
    classes, best = sizes
    text = findings.hints.metric_text
    usual = _usual(text, submission, kind, classes=classes, best=best)
    # The user's metric is known by now, in the form that suits the target.
    if metric.name and metric.fits(kind, classes=classes):
        metric_form = suited_metric(metric.name, kind, classes=classes)
        findings[_METRIC_KEY] = certain(_METRIC_KEY, _with_k(metric_form, best), metric.evidence)
    elif _METRIC_KEY in findings.hints.overrides:
        requirement = f"a metric of {kind} targets, such as {usual}; or use {option_of('target_kind')}"
        raise UnusableValueError(key=option_of(_METRIC_KEY), value=metric.name, requirement=requirement)
    else:
        if metric.name:
            evidence = f"{metric.name} does not fit such targets; this metric is usual"
        elif text:
            evidence = f'the kit does not have "{text[:_SHOWN]}"; this metric is the closest'
        else:
            evidence = "no source names the metric; this one is usual for such a submission"
        findings.settle(_METRIC_KEY, usual, evidence, Confidence.THIN)


def _with_k(metric: str, best: int) -> str:
    """The k that the sample submission shows, where the wording leaves it open."""
    facts, _ = parse_metric(metric)
    is_open = facts.name.endswith("_at_k") and "@" not in metric
    return facts.task_name(best) if is_open and best > 1 else metric


def _usual(text: str, submission: SubmissionKind, kind: TargetKind, *, classes: int, best: int) -> str:
    if submission is SubmissionKind.TOP_K:
        return f"map@{best if best > 1 else _USUAL_K}"
    if submission is SubmissionKind.PROBABILITY and not text:
        return "auc"
    if kind is TargetKind.LABELS and submission is not SubmissionKind.LABEL_SET and not text:
        return "auc_mean_columns"
    nearest = nearest_metric(text, kind, wants_labels=submission in _LABEL_SUBMISSIONS)
    return suited_metric(nearest, kind, classes=classes)


# The columns with the training labels.


_TARGETS_KEY = "targets"
_ALIKE = 0.6
_TARGET_COLUMNS_COMPARED = 500
_FEWEST_LABELS, _SHORTEST_NAME = 2, 5
_FOLDER_TARGET = "label"
_ID_AND_LABEL = 2
_FEW_COLUMN_CLASSES = 20


@dataclass(frozen=True)
class Targets:
    """The training labels.

    Attributes:
        names: Their columns.
        columns: The same with their sampled values; empty where no table has them.
        answer_names: The columns of the sample submission to be filled.
        answers: The same with their sampled values.
        parts: The parts of an example that an id of the sample names, if any.
        are_classes_asked: Whether the sample has a column for each class.
        row_labels: The labels, where a row of the training table is for one label of an example, as in the sample.
        lookup: The table that says which of them each row of the submission asks for, if there is one.
        context: The other columns of the sample submission beside the id, which stay as they are.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    answer_names: tuple[str, ...]
    answers: tuple[Column, ...]
    parts: tuple[str, ...]
    are_classes_asked: bool
    row_labels: tuple[str, ...] = ()
    lookup: Lookup | None = None
    context: tuple[str, ...] = ()

    @property
    def are_keyed(self) -> bool:
        """True if a row is for one part: the parts are what is predicted, not something in the ids by chance."""
        is_known = set(self.parts) <= {*self.names, *self.row_labels}
        return len(self.parts) > 1 and len(self.answer_names) == 1 and is_known


@dataclass(frozen=True)
class _Question:
    """The question which columns are targets: the table with the labels, and what the sample asks for."""

    target_table: Table
    tables: Tables
    id_column: str
    answer_names: tuple[str, ...]
    parts: tuple[str, ...]
    file_column: str
    lookup: Lookup | None = None
    server: InferenceServer | None = None

    @cached_property
    def only_in_training(self) -> tuple[Column, ...]:
        """The first columns that test examples lack, apart from ids and names of files."""
        test = self.tables.test
        excluded_names = set(test.column_names) if test is not None else set()
        excluded_names |= {self.id_column, self.file_column}
        return tuple(column for column in self.target_table.columns if column.name not in excluded_names)[
            :_TARGET_COLUMNS_COMPARED
        ]

    @property
    def class_columns(self) -> list[Column]:
        """Columns whose values are the names of the columns that the sample asks for."""
        return [column for column in self.only_in_training if names_classes(column, self.answer_names)]

    @property
    def are_all_labels(self) -> bool:
        """True if a table of labels has nothing but numbers, and a server asks for what no sample names."""
        columns, tables = self.only_in_training, self.tables
        is_named = bool(tables.sample or self.server is None or served_target(self.server))
        are_numbers = all(column.kind in NUMBERS and not looks_like_id(column.name) for column in columns)
        return (
            not is_named and tables.labels is not None and are_numbers and 1 < len(columns) < _TARGET_COLUMNS_COMPARED
        )


def find_targets(
    survey: Survey, tables: Tables, files: ExampleFiles | None, id_column: str, findings: Findings
) -> Targets:
    """Finds the columns to learn from.

    Raises:
        IntrospectionError: Nothing is known of the training examples that is not known of the test examples.
        TargetNotInSampleError: The sample asks for something else than can be learned.
        MissingColumnError: The user named a column that does not exist.
        UnusableValueError: The user named the id.
    """
    classes = files.source.classes if files is not None else ()
    answers = answer_columns(tables, id_column, classes, findings)
    answer_names = tuple(column.name for column in answers)
    parts = _parts(tables, id_column)
    target_table = tables.target_table
    lookup = find_lookup(survey, tables, id_column)
    if target_table is None or (files is not None and not files.source.is_table):
        findings.settle(_TARGETS_KEY, *_of_files(survey, files, answer_names))
    else:
        column = files.source.column if files is not None else ""
        _of_table(
            _Question(target_table, tables, id_column, answer_names, parts, column, lookup, survey.server), findings
        )
    value = findings[_TARGETS_KEY].value
    names = tuple(value) if isinstance(value, list) else (str(value),)
    target_names = set(names)
    columns = (
        tuple(column for column in target_table.columns if column.name in target_names)
        if target_table is not None
        else ()
    )
    columns = tuple(_as_numbers(column, findings) for column in columns)
    columns = tuple(as_labels(column, answers, findings.decided_text(NULL_WORDS_KEY)) for column in columns)
    answers = tuple(as_answers(answer, columns) for answer in answers)
    return Targets(
        names=names,
        columns=columns,
        answer_names=answer_names,
        answers=answers,
        parts=parts,
        are_classes_asked=_asks_for_classes(answer_names, columns, classes),
        row_labels=_row_labels(columns, target_table, id_column, parts),
        lookup=lookup,
        context=_context(tables, id_column, answer_names),
    )


def _as_numbers(column: Column, findings: Findings) -> Column:
    """Return a target such as `$1,200` as numbers, unless there are so few of them that they may be classes."""
    decided_kind = findings.decided_text("target_kind")
    numbers = as_number(column, is_decided=bool(decided_kind)) if decided_kind in ("", TargetKind.NUMBER) else None
    return numbers if numbers is not None and (decided_kind or len(numbers.distinct) > _FEW_COLUMN_CLASSES) else column


def _context(tables: Tables, id_column: str, answer_names: Sequence[str]) -> tuple[str, ...]:
    of_masks = class_column(tables.sample, tables.train)
    apart = {id_column, *answer_names, of_masks.name if of_masks is not None else ""}
    return tuple(
        name for name in (tables.sample.column_names if tables.sample is not None else ()) if name not in apart
    )


def _parts(tables: Tables, id_column: str) -> tuple[str, ...]:
    column = tables.sample.column(id_column) if tables.sample is not None else None
    if column is None:
        return ()
    target_names = set(tables.target_table.column_names) if tables.target_table is not None else set()
    of_columns = parts_of(column.present, target_names) if target_names else ()
    return of_columns or parts_of(column.present)


def _row_labels(
    columns: Sequence[Column], target_table: Table | None, id_column: str, parts: Sequence[str]
) -> tuple[str, ...]:
    """The labels of rows such as `<example>_<label>,0`, where the sample submission has rows of the same labels."""
    ids = (
        target_table.column(id_column)
        if target_table is not None and len(target_table.columns) == _ID_AND_LABEL
        else None
    )
    if ids is None or len(columns) != 1 or not columns[0].distinct <= {"0", "1"}:
        return ()
    labels = parts_of(ids.present)
    return labels if len(labels) > 1 and set(labels) == set(parts) else ()


def _asks_for_classes(answer_names: Sequence[str], columns: Sequence[Column], classes: Sequence[str]) -> bool:
    if len(answer_names) <= 1:
        return False
    if len(columns) == 1 and columns[0].name not in answer_names:
        return names_classes(columns[0], answer_names)
    return len(set(classes) & set(answer_names)) > 1


def _of_files(survey: Survey, files: ExampleFiles | None, answer_names: Sequence[str]) -> tuple[list[str], str]:
    if files is not None and files.records:
        feature = label_feature(files.records[0], survey)
        return [feature or _FOLDER_TARGET], "the test records lack this feature"
    if len(answer_names) == 1:
        return list(answer_names), "the column of the sample submission that is not the id"
    return [_FOLDER_TARGET], "the files have the classes, and no column does"


def _of_table(question: _Question, findings: Findings) -> None:
    is_decided = _TARGETS_KEY in findings.hints.overrides
    if is_decided:
        _check_columns(findings.decided_list(_TARGETS_KEY), question)
    candidates = [*_named_elsewhere(question)]
    if not candidates:
        candidates = [_only_in_training(column, question, findings.hints) for column in question.only_in_training]
        if not is_decided:
            _check_that_there_is_one(candidates, question)
    findings.choose(_TARGETS_KEY, candidates or [Candidate([], "", 0.0)])


def _named_elsewhere(question: _Question) -> Iterator[Candidate]:
    """Columns that the sample submission or a table of what is asked for names, or that nothing else can be."""
    sample, target_table, answer_names, lookup = (
        question.tables.sample,
        question.target_table,
        question.answer_names,
        question.lookup,
    )
    # A row of the sample is for an image and a class.
    codes = code_column(target_table) if class_column(sample, target_table) is not None else None
    if codes is not None:
        yield weigh([codes.name], [Reason(8, "its cells are run-length codes")])
    if lookup is not None:
        phrase = "this column" if len(lookup.targets) == 1 else f"these {len(lookup.targets)} columns"
        yield weigh(list(lookup.targets), [Reason(5, f"{lookup.part_column} of {lookup.path} names {phrase}")])
    known_names = set(target_table.column_names)
    shared_names = [name for name in answer_names if name in known_names]
    if shared_names and len(shared_names) >= len(answer_names) / 2:
        phrase = "this column" if len(shared_names) == 1 else f"these {len(shared_names)} columns"
        sample_name = sample.name if sample is not None else ""
        clause = f"{sample_name} and {target_table.name} have {phrase}"
        yield weigh(shared_names, [Reason(5 if len(shared_names) == len(answer_names) else 1.5, clause)])
    clause = f"its values name the {len(answer_names)} columns of the sample submission"
    yield from (weigh([column.name], [Reason(4, clause)]) for column in question.class_columns)
    if len(question.parts) > 1 and known_names.issuperset(question.parts):
        clause = f"the ids of the sample submission end with these {len(question.parts)} names"
        yield weigh(list(question.parts), [Reason(4, clause)])
    if question.are_all_labels:
        columns = question.only_in_training
        clause = f"all {len(columns)} columns of {target_table.name} except the id are numeric"
        yield weigh([column.name for column in columns], [Reason(3, clause)])


def _only_in_training(column: Column, question: _Question, hints: Hints) -> Candidate:
    answer_name = question.answer_names[0] if len(question.answer_names) == 1 else ""
    is_alike = bool(answer_name) and are_named_alike(answer_name, column.name)
    test = question.tables.test
    metric = known_metric(hints).facts
    has_answers = _has_answers(column, question)
    is_measured = metric is not None and set(metric.target_kinds) == {TargetKind.NUMBER}
    server, is_served = question.server, column.name == served_target(question.server)
    reasons = [
        Reason(2 * (test is not None), f"not in {test.name}" if test is not None else ""),
        Reason(8 * is_served, f"named in {server.gateway_name}" if server is not None else ""),
        Reason(2 * (len(question.only_in_training) == 1), "no other column is possible"),
        Reason(2 * bool(split_words(column.name) & TARGET), "its name matches"),
        Reason(2 * is_alike, f"named like {answer_name} of the sample submission"),
        Reason(3 * has_answers, "the sample submission has values of this column"),
        Reason(2 * _is_in(column.name, hints.slug), "the competition's name contains it"),
        Reason(0.5 * (column is question.target_table.columns[-1]), "the last column"),
        Reason(-2 * (looks_like_id(column.name) and not has_answers), "its name is that of an id"),
        Reason(-2 * (column.kind is ColumnKind.DATE), "a date"),
        Reason(-3 * (len(column.distinct) <= 1), "it is constant"),
        Reason(-3 * (is_measured and column.kind not in NUMBERS), "the metric is for numbers"),
    ]
    return weigh([column.name], reasons)


def are_named_alike(answer_name: str, name: str) -> bool:
    """True if a column of the sample submission and one of the training table have much the same name."""
    return SequenceMatcher(None, answer_name.lower(), name.lower()).ratio() > _ALIKE


def _has_answers(column: Column, question: _Question) -> bool:
    """True if the sample's only column of answers names labels that this column has, one or several in a cell."""
    sample = question.tables.sample
    answer = sample.column(question.answer_names[0]) if sample is not None and len(question.answer_names) == 1 else None
    if answer is None or answer.kind is not ColumnKind.TEXT:
        return False
    labels = answer.distinct | {label for cell in answer.distinct for label in cell.split()}
    return len(labels & column.distinct) >= min(_FEWEST_LABELS, len(column.distinct))


def _is_in(name: str, slug: str) -> bool:
    letters = "".join(filter(str.isalpha, name.lower()))
    return len(letters) >= _SHORTEST_NAME and letters in "".join(filter(str.isalpha, slug))


def _check_that_there_is_one(rivals: Sequence[Candidate], question: _Question) -> None:
    target_table, sample = question.target_table, question.tables.sample
    if not rivals:
        raise IntrospectionError(
            f"No column of {printable(target_table.path)} looks like a target: it has "
            f"{join_names(target_table.column_names)}, and "
            "the test data have all of them. Name the target with --target."
        )
    if sample is not None and len(question.answer_names) != 1:
        column_names = [column.name for column in question.only_in_training]
        raise TargetNotInSampleError(
            sample=sample.path, answer_names=question.answer_names, table=target_table.path, column_names=column_names
        )


def _check_columns(decided_names: Sequence[str], question: _Question) -> None:
    target_table, sample = question.target_table, question.tables.sample
    for name in decided_names:
        if target_table.column(name) is None:
            columns = [column.name for column in question.only_in_training] or target_table.column_names
            raise MissingColumnError(key=_TARGETS_KEY, column=name, table=target_table.path, columns=columns)
        if name == question.id_column:
            raise UnusableValueError(key=option_of(_TARGETS_KEY), value=name, requirement="another column than the id")
    answer_names = question.answer_names
    is_asked = len(answer_names) == len(decided_names) or bool(question.class_columns) or bool(question.parts)
    if sample is not None and not is_asked:
        raise TargetNotInSampleError(
            sample=sample.path, answer_names=answer_names, table=target_table.path, column_names=decided_names
        )


# The ids of the test rows, where the test table has no column of them: put together from others, or counted.


_SEPARATORS = ("_", "-", ":", ".", "/", "|", "#", "+", "@", "~", " ", "")
_COLUMNS_COMPARED, _MOST_COLUMNS, _MOST_TRIED, _ROW_HEAD = 60, 3, 2_000, 20
_AS_MANY = 0.9  # rows that were only estimated


@dataclass(frozen=True)
class RowIds:
    """The ids of the rows of a table without a column of them.

    Attributes:
        columns: The columns whose values make an id; none where an id is the number of a row.
        separator: What stands between these values.
        first: The number of the first row.
        evidence: A clause on what was seen.
    """

    columns: tuple[str, ...]
    separator: str
    first: int
    evidence: str


def find_row_ids(tables: Tables, targets: Targets, id_column: str, findings: Findings) -> RowIds | None:
    """Finds how the ids of the sample submission are made from the test rows; None if they are not.

    Raises:
        MissingColumnError: The user named a column that the test table does not have.
        IntrospectionError: The sample has no ids, and neither the order of its rows nor its other columns say which are
            which.
    """
    sample, test = tables.sample, tables.test
    if sample is not None and test is not None and "has_sample_ids" in findings:
        return _of_sample_without_ids(sample, test, findings)
    sample_ids = sample.column(id_column) if sample is not None else None
    if sample is None or test is None or sample_ids is None or targets.lookup is not None:
        return None
    names = _decided_columns(test, findings)
    if test.column(id_column) is not None and not names:
        return None
    ids = without_labels(sample_ids.present, targets.names) if targets.are_keyed else sample_ids.present
    is_whole = sample.is_complete and test.is_complete
    # The pieces that were sampled of two long tables are the same only at their beginnings.
    compared_ids = ids if is_whole else ids[:_ROW_HEAD]
    first = _first_number(ids, sample, test)
    for parts, separator in islice(_ways(compared_ids, test, names, findings), _MOST_TRIED):
        is_other = first is not None and len(parts) == 1 and not looks_like_id(parts[0].name)
        if not is_other and _are_made(compared_ids, parts, separator):
            part_names = " and ".join(part.name for part in parts)
            separator_clause = f', with "{separator}" between them,' if separator else ""
            evidence = f"the values of {part_names} in {test.name}{separator_clause} form the ids of {sample.name}"
            return RowIds(tuple(part.name for part in parts), separator, 0, evidence)
    if names:
        evidence = "no sampled row contradicts it"
        return None if is_whole else RowIds(tuple(names), _SEPARATORS[0], 0, evidence)
    return (
        None
        if first is None
        else RowIds((), "", first, f"the ids of {sample.name} count the rows of {test.name} from {first}")
    )


def _of_sample_without_ids(sample: Table, test: Table, findings: Findings) -> RowIds:
    """How rows are told apart where the sample has no ids: by their position, or by columns that both tables have."""
    names, is_whole = _decided_columns(test, findings), sample.is_complete and test.is_complete
    pairs = [
        (column, test_column)
        for column in sample.columns
        if (test_column := test.column(column.name)) and test_column.present
    ]
    length = None if is_whole else _ROW_HEAD
    if not names and all(column.values[:length] == test_column.values[:length] for column, test_column in pairs):
        return RowIds((), "", 0, f"the rows of {sample.name} are those of {test.name}, in the same order")
    decided_ways = [[sample.column(name) for name in names]] if names else None
    shared_columns = [column for column, _ in pairs]
    ways = decided_ways or [
        list(way) for count in range(1, _MOST_COLUMNS + 1) for way in combinations(shared_columns, count)
    ]
    for way in ways[:_MOST_TRIED]:
        keys, test_keys = (
            _keys(way),
            _keys([test.column(column.name) if column is not None else None for column in way]),
        )
        if (
            keys
            and len(set(keys)) == len(keys)
            and len(set(test_keys)) == len(test_keys)
            and set(keys) == set(test_keys)
        ):
            columns = tuple(column.name for column in way if column is not None)
            evidence = f"the values of {' and '.join(columns)} identify the rows of {sample.name} and {test.name}"
            return RowIds(columns, _SEPARATORS[0], 0, evidence)
    raise IntrospectionError(
        f"No column of {printable(sample.path)} is an id, and its rows are in another order than those of "
        f"{printable(test.path)}. Add an id column to copies of both tables, and name the copies with --sample and "
        "--test."
    )


def _keys(columns: Sequence[Column | None]) -> list[tuple[str | None, ...]]:
    """The rows of some columns; nothing where one is not there."""
    values = [column.values for column in columns if column is not None]
    return list(zip(*values, strict=True)) if len(values) == len(columns) else []


def settle_row_ids(row_ids: RowIds | None, tables: Tables, targets: Targets, findings: Findings) -> None:
    """Settles how the test rows get their ids, where they have no column of them.

    Raises:
        IntrospectionError: Nothing leads from the test rows to the ids that are asked for.
    """
    if row_ids is not None and row_ids.columns:
        findings.settle("id_columns", list(row_ids.columns), row_ids.evidence)
        findings.settle("id_separator", row_ids.separator, row_ids.evidence)
        return
    if row_ids is not None:
        findings.settle("first_id", row_ids.first, row_ids.evidence)
        return
    sample, test, name = tables.sample, tables.test, str(findings["id_column"].value)
    sample_ids = sample.column(name) if sample is not None else None
    if sample is None or test is None or sample_ids is None or targets.lookup is not None:
        return
    ids = test.column(name)
    is_whole = sample.is_complete and test.is_complete and not targets.are_keyed
    are_others = ids is None or (is_whole and not ids.distinct & sample_ids.distinct)
    if are_others or "id_columns" in findings.hints.overrides:
        raise IntrospectionError(
            f'The ids of {printable(sample.path)}, such as "{printable(sample_ids.values[0] or "")}", are not in '
            f"{printable(test.path)}, and they are not composed of two or three of its columns. Name these columns "
            "with --set id_columns=A,B and --set id_separator=_, name another table with --test, or add a column "
            f"{printable(name)} to this one."
        )


def _first_number(ids: Sequence[str], sample: Table, test: Table) -> int | None:
    """The number of the first row, if the ids count the rows; else None."""
    head = ids if sample.is_complete else ids[:_ROW_HEAD]
    if not head or not all(key.isdecimal() and str(int(key)) == key for key in head):
        return None
    # Of all ids any order will do, as they are joined.
    numbers = sorted(map(int, head)) if sample.is_complete else list(map(int, head))
    is_growing = all(later == number + 1 for number, later in pairwise(numbers))
    fewer, larger = sorted((sample.rows, test.rows))
    return numbers[0] if is_growing and fewer >= _AS_MANY * larger else None


def _decided_columns(test: Table, findings: Findings) -> list[str]:
    names = findings.decided_list("id_columns")
    for name in names:
        if test.column(name) is None:
            columns = test.column_names
            raise MissingColumnError(key="id_columns", column=name, table=test.path, columns=columns)
    return names


def _ways(
    ids: Sequence[str], test: Table, names: Sequence[str], findings: Findings
) -> Iterator[tuple[tuple[Column, ...], str]]:
    """Yields columns, and what may stand between their values, that can make the first ids."""
    decided_separator = findings.hints.overrides.get("id_separator")
    separators = _SEPARATORS if decided_separator is None else (str(decided_separator),)
    if names:
        parts = tuple(column for name in names for column in test.columns if column.name == name)
        yield from ((parts, separator) for separator in separators)
        return
    columns = [column for column in test.columns[:_COLUMNS_COMPARED] if column.present]
    yield from (((column,), "") for column in columns)
    for middle_count, separator in product(range(_MOST_COLUMNS - 1), separators):
        cuts = [list(_cuts(key, separator)) for key in ids[:_ROW_HEAD]]
        firsts = [
            candidate
            for candidate in columns
            if all(any(head in candidate.distinct for head, _ in splits) for splits in cuts)
        ]
        lasts = [
            candidate
            for candidate in columns
            if all(any(end in candidate.distinct for _, end in splits) for splits in cuts)
        ]
        for start, *middle, end in product(firsts, *[columns] * (middle_count if separator else 0), lasts):
            yield (start, *middle, end), separator


def _cuts(key: str, separator: str) -> Iterator[tuple[str, str]]:
    """Yields the beginning and the end of an id, cut at each separator."""
    for place in range(1, len(key)):
        if key.startswith(separator, place):
            yield key[:place], key[place + len(separator) :]


def _are_made(ids: Sequence[str], parts: Sequence[Column], separator: str) -> bool:
    """True if the values of some columns make all of these ids, each from one row."""
    rows = zip(*(part.values for part in parts), strict=True)
    row_keys = [separator.join(map(str, row)) for row in rows if None not in row]
    return set(ids) <= set(row_keys) and len(set(row_keys)) == len(row_keys)


# The format that suits all tables: separator, encoding, decimal sign, words for nothing, and where the ids are.


_UTF_8, _MARKED_UTF_8 = "utf-8", "utf-8-sig"
_OF_ASCII = frozenset((_UTF_8, _MARKED_UTF_8, "cp1252", "latin-1"))  # plain letters are the same bytes in all of them


def settle_format(tables: Tables, id_column: str, targets: Targets, findings: Findings) -> None:
    """Settles how the tables and the sample are written, and which tables have the id column.

    Words that pandas takes for missing, such as None, are kept where ids and labels are such words.

    Raises:
        UnusableValueError: The user decided on a separator or an encoding that a table does not have.
    """
    examples, texts = _examples(tables), _texts(tables)
    first = examples[0] if examples else None
    with_comma = next((table for table in examples if table.decimal == ","), first)
    reference = _first_that_tells(texts)
    _check_format(examples, texts, findings)
    for key, table, usual in (("separator", first, ","), ("encoding", reference, _UTF_8), ("decimal", with_comma, ".")):
        value = usual if table is None else str(getattr(table, key))
        findings.settle(key, value, "usual" if table is None else f"the format of {table.name}")
    trailing_table = next((table for table in texts if table.has_trailing_separator), None)
    evidence = (
        f"rows of {trailing_table.name} end in a separator"
        if trailing_table is not None
        else "no row ends in a separator"
    )
    findings.settle("trailing_separator", trailing_table is not None, evidence)
    findings.settle(NULL_WORDS_KEY, *_keeps_null_words(texts, id_column, targets))
    _settle_formatted(tables, id_column, targets.names, findings)
    for key, table in (("has_training_ids", tables.train), ("has_test_ids", tables.test)):
        if table is not None:
            has_ids = table.column(id_column) is not None
            findings.settle(key, has_ids, f"{table.name} has {'the' if has_ids else 'no'} column {id_column}")


def _settle_formatted(tables: Tables, id_column: str, targets: Collection[str], findings: Findings) -> None:
    """Settles the columns whose numbers are written with separators of thousands, a currency or a unit."""
    classes = set() if findings["target_kind"].value == TargetKind.NUMBER else {*targets}
    apart = {id_column, *classes}
    for key in ("category_columns", "short_text_columns", "text_columns", "drop_columns"):
        value = findings[key].value if key in findings else []
        apart |= {*value} if isinstance(value, list) else set()
    decided_names = {
        *findings.decided_list("number_columns"),
        *(targets if findings.decided_text("target_kind") else ()),
    }
    input_tables = (table for table in (tables.train, tables.labels, tables.test) if table is not None)
    columns = [column for table in input_tables for column in table.columns if column.name not in apart]
    pairs = [(column, as_number(column, is_decided=column.name in decided_names)) for column in columns]
    # Words among the numbers of a target are read as missing, too.
    formatted_pairs = [
        (column, numbers)
        for column, numbers in pairs
        if numbers is not None and (numbers.is_formatted or (column.name in targets and column.kind is ColumnKind.TEXT))
    ]
    signs = {column.name: numbers.decimal for column, numbers in reversed(formatted_pairs)}  # as in training
    names = list(dict.fromkeys(column.name for column, _ in formatted_pairs))
    evidence = "all numbers have the plain format"
    if formatted_pairs:
        evidence = f'the numbers of {join_names(names)} have the format "{quote_text(_longest(formatted_pairs[0][0]))}"'
    findings.settle("formatted_columns", names, evidence)
    other_names = [name for name in names if signs[name] != findings["decimal"].value]
    if other_names:
        evidence = f"the numbers of {join_names(other_names)} have another decimal sign than those of the file"
        findings.settle("other_decimal_columns", other_names, evidence)


def _longest(column: Column) -> str:
    return max(sorted(column.distinct), key=len)  # the first of several, in whatever order a set has them


def format_differences(tables: Tables) -> Iterator[str]:
    """Sentences on tables that the notebooks would misread, which read all of them as they read the first."""
    examples, texts = _examples(tables), _texts(tables)
    yield from (
        _difference(table, "separator", examples[0])
        for table in examples
        if table.separator != examples[0].separator and len(table.columns) > 1
    )
    yield from (
        f"{printable(table.path)} has a space after its separators, which becomes part of names and labels. Save the "
        "table again without these spaces."
        for table in examples
        if any(name.startswith(" ") for name in table.column_names)
    )
    yield from (
        f"{printable(table.path)} has rows with more cells than its header, and the notebooks stop there. Put quotes "
        "around cells that contain a separator, or remove these rows."
        for table in texts
        if table.has_long_rows
    )
    with_comma = [table for table in examples if table.decimal == ","]
    for table in examples if with_comma else ():
        cells = (value for column in table.columns if column.kind is ColumnKind.NUMBER for value in column.distinct)
        if table.decimal == "." and any("." in value for value in cells):
            yield _difference(table, "decimal", with_comma[0])
    reference = _first_that_tells(texts)
    if reference is not None:
        yield from (_difference(table, "encoding", reference) for table in texts if not _is_read_as(table, reference))


def _keeps_null_words(texts: Sequence[Table], id_column: str, targets: Targets) -> tuple[bool, str]:
    ids = [column for table in texts if (column := table.column(id_column)) is not None]
    labels = [column for column in targets.columns if any(column.name in table.column_names for table in texts)]
    evidence = null_words_of(ids, labels, targets.answer_names, targets.answers)
    return bool(evidence), evidence or "no id or label is such a word"


def _check_format(examples: Iterable[Table], texts: Iterable[Table], findings: Findings) -> None:
    """That the tables have the separator, and can be read in the encoding; which one of several was meant, may be."""
    separator, encoding = findings.decided_text("separator"), findings.decided_text("encoding")
    for table in examples if separator else ():
        if len(table.columns) > 1 and separator != table.separator and not _divides(separator, table):
            requirement = f"{table.separator!a}, which {table.path} has"
            raise UnusableValueError(key="separator", value=separator, requirement=requirement)
    for table in texts if encoding else ():
        if not _can_be_read(table, encoding):
            requirement = f"{table.encoding}, the encoding of {table.path}, or a compatible one"
            raise UnusableValueError(key="encoding", value=encoding, requirement=requirement)


def _divides(separator: str, table: Table) -> bool:
    """True if this separates cells of the header; of several characters it is a pattern, as pandas takes it."""
    header = (table.separator if len(table.separator) == 1 else " ").join(table.column_names)
    try:
        return bool(re.search(separator if len(separator) > 1 else re.escape(separator), header))
    except re.error:
        return False


def _can_be_read(table: Table, encoding: str) -> bool:
    """True if the sampled bytes are text in this encoding too, with the same plain letters."""
    text = "".join((*table.column_names, ",", *(value for column in table.columns for value in column.distinct)))
    plain = "".join(filter(str.isascii, text))
    try:
        text.encode(table.encoding, errors="ignore").decode(encoding)
        return plain.encode(table.encoding).decode(encoding) == plain
    except (LookupError, UnicodeError):
        return False


def _examples(tables: Tables) -> list[Table]:
    candidates = (tables.train, tables.labels, tables.test)
    return [table for table in candidates if table is not None and table.format is TableFormat.CSV]


def _texts(tables: Tables) -> list[Table]:
    sample = tables.sample
    return [*_examples(tables), *([sample] if sample is not None and sample.format is TableFormat.CSV else [])]


def _first_that_tells(texts: list[Table]) -> Table | None:
    """The first table that has more than plain letters, since those are the same in most encodings."""
    telling = (table for table in texts if not _is_plain(table))
    return next(telling, texts[0] if texts else None)


def _is_plain(table: Table) -> bool:
    if table.encoding not in _OF_ASCII:
        return False
    cells = (value for column in table.columns for value in column.distinct)
    return all(map(str.isascii, table.column_names)) and all(map(str.isascii, cells))


def _is_read_as(table: Table, reference: Table) -> bool:
    if {table.encoding, reference.encoding} <= {_UTF_8, _MARKED_UTF_8}:
        return True
    return table.encoding == reference.encoding or (reference.encoding in _OF_ASCII and _is_plain(table))


def _difference(table: Table, name: str, first: Table) -> str:
    value, first_value = getattr(table, name), getattr(first, name)
    return (
        f"{printable(table.path)} and {printable(first.path)} differ in the {name}, {value!a} and {first_value!a}, but "
        "the notebooks read both with the same one. Save one of them again."
    )
