"""The metric and the columns with the training labels, and what an inference server says of both."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

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
    split_words,
    weigh,
)
from generator.competition.introspection.files import ExampleFiles, label_feature
from generator.competition.introspection.ids import answer_columns, parts_of
from generator.competition.introspection.tables import Lookup, Tables, find_lookup, names_classes
from generator.competition.metrics import (
    MetricFacts,
    UnknownMetricError,
    find_metric,
    nearest_metric,
    parse_metric,
    suited_metric,
)
from generator.competition.schema import option_of
from generator.competition.survey.columns import as_number
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind, InferenceServer, Survey, Table
from generator.text import printable

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
        _check_decided(findings.decided_list(_TARGETS_KEY), question)
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
            "the test data have all of them.",
            remedy="Name the target with --target.",
            code="target-not-found",
        )
    if sample is not None and len(question.answer_names) != 1:
        column_names = [column.name for column in question.only_in_training]
        raise TargetNotInSampleError(
            sample=sample.path, answer_names=question.answer_names, table=target_table.path, column_names=column_names
        )


def _check_decided(decided_names: Sequence[str], question: _Question) -> None:
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
