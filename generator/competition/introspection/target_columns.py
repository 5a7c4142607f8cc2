"""The columns with the training labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from generator.competition.facts import TargetKind
from generator.competition.introspection.answer_columns import answer_columns
from generator.competition.introspection.errors import (
    IntrospectionError,
    MissingColumnError,
    TargetNotInSampleError,
    UnusableValueError,
    listed,
)
from generator.competition.introspection.example_files import ExampleFiles
from generator.competition.introspection.findings import Candidate, Findings, Hints, Reason, weighed
from generator.competition.introspection.id_column import parts_of
from generator.competition.introspection.inference_server import served_target
from generator.competition.introspection.lookup_table import Lookup, find_lookup
from generator.competition.introspection.metric import known_metric
from generator.competition.introspection.null_words import NULL_WORDS_KEY, as_answers, as_labels
from generator.competition.introspection.run_length import class_column, code_column
from generator.competition.introspection.table_roles import Tables, names_classes
from generator.competition.introspection.tfrecords import label_feature
from generator.competition.introspection.vocabulary import TARGET, looks_like_id, words
from generator.competition.schema import option_of
from generator.competition.survey.columns import as_number
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind, InferenceServer, Survey, Table
from generator.untrusted import printable

_KEY = "targets"
_ALIKE = 0.6
_COLUMNS_COMPARED = 500
_FEWEST_LABELS, _SHORTEST_NAME = 2, 5
_FOLDER_TARGET = "label"
_ID_AND_LABEL = 2
_FEW_CLASSES = 20


@dataclass(frozen=True)
class Targets:
    """The training labels.

    Attributes:
        names: Their columns.
        columns: The same with their sampled values; empty where no table has them.
        asked: The columns of the sample submission to be filled.
        answers: The same with their sampled values.
        parts: The parts of an example that an id of the sample names, if any.
        are_classes_asked: Whether the sample has a column for each class.
        row_labels: The labels, where a row of the training table is for one label of an example, as in the sample.
        lookup: The table that says which of them each row of the submission asks for, if there is one.
        context: The other columns of the sample submission beside the id, which stay as they are.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    asked: tuple[str, ...]
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
        return len(self.parts) > 1 and len(self.asked) == 1 and is_known


@dataclass(frozen=True)
class _Question:
    """The question which columns are targets: the table with the labels, and what the sample asks for."""

    labelled: Table
    tables: Tables
    id_column: str
    asked: tuple[str, ...]
    parts: tuple[str, ...]
    file_column: str
    lookup: Lookup | None = None
    server: InferenceServer | None = None

    @cached_property
    def only_in_training(self) -> tuple[Column, ...]:
        """The first columns that test examples lack, apart from ids and names of files."""
        test = self.tables.test
        known = set(test.column_names) if test is not None else set()
        known |= {self.id_column, self.file_column}
        return tuple(column for column in self.labelled.columns if column.name not in known)[:_COLUMNS_COMPARED]

    @property
    def class_columns(self) -> list[Column]:
        """Columns whose values are the names of the columns that the sample asks for."""
        return [column for column in self.only_in_training if names_classes(column, self.asked)]

    @property
    def are_all_labels(self) -> bool:
        """True if a table of labels has nothing but numbers, and a server asks for what no sample names."""
        columns, tables = self.only_in_training, self.tables
        is_named = bool(tables.sample or self.server is None or served_target(self.server))
        are_numbers = all(column.kind in NUMBERS and not looks_like_id(column.name) for column in columns)
        return not is_named and tables.labels is not None and are_numbers and 1 < len(columns) < _COLUMNS_COMPARED


def find_targets(
    survey: Survey, tables: Tables, files: ExampleFiles | None, id_column: str, found: Findings
) -> Targets:
    """Finds the columns to learn from.

    Raises:
        IntrospectionError: Nothing is known of the training examples that is not known of the test examples.
        TargetNotInSampleError: The sample asks for something else than can be learned.
        MissingColumnError: The user named a column that does not exist.
        UnusableValueError: The user named the id.
    """
    classes = files.source.classes if files is not None else ()
    answers = answer_columns(tables, id_column, classes, found)
    asked = tuple(column.name for column in answers)
    parts = _parts(tables, id_column)
    labelled = tables.labelled
    lookup = find_lookup(survey, tables, id_column)
    if labelled is None or (files is not None and not files.source.is_table):
        found.settle(_KEY, *_of_files(survey, files, asked))
    else:
        column = files.source.column if files is not None else ""
        _of_table(_Question(labelled, tables, id_column, asked, parts, column, lookup, survey.server), found)
    value = found[_KEY].value
    names = tuple(value) if isinstance(value, list) else (str(value),)
    wanted = set(names)
    columns = tuple(column for column in labelled.columns if column.name in wanted) if labelled is not None else ()
    columns = tuple(_measured(column, found) for column in columns)
    columns = tuple(as_labels(column, answers, found.decided(NULL_WORDS_KEY)) for column in columns)
    answers = tuple(as_answers(answer, columns) for answer in answers)
    return Targets(
        names=names,
        columns=columns,
        asked=asked,
        answers=answers,
        parts=parts,
        are_classes_asked=_asks_for_classes(asked, columns, classes),
        row_labels=_row_labels(columns, labelled, id_column, parts),
        lookup=lookup,
        context=_context(tables, id_column, asked),
    )


def _measured(column: Column, found: Findings) -> Column:
    """Return a target such as `$1,200` as numbers, unless there are so few of them that they may be classes."""
    decided = found.decided("target_kind")
    numbers = as_number(column, is_decided=bool(decided)) if decided in ("", TargetKind.NUMBER) else None
    return numbers if numbers is not None and (decided or len(numbers.distinct) > _FEW_CLASSES) else column


def _context(tables: Tables, id_column: str, asked: Sequence[str]) -> tuple[str, ...]:
    of_masks = class_column(tables.sample, tables.train)
    apart = {id_column, *asked, of_masks.name if of_masks is not None else ""}
    return tuple(
        name for name in (tables.sample.column_names if tables.sample is not None else ()) if name not in apart
    )


def _parts(tables: Tables, id_column: str) -> tuple[str, ...]:
    column = tables.sample.column(id_column) if tables.sample is not None else None
    if column is None:
        return ()
    labelled = set(tables.labelled.column_names) if tables.labelled is not None else set()
    of_columns = parts_of(column.present, labelled) if labelled else ()
    return of_columns or parts_of(column.present)


def _row_labels(
    columns: Sequence[Column], labelled: Table | None, id_column: str, parts: Sequence[str]
) -> tuple[str, ...]:
    """The labels of rows such as `<example>_<label>,0`, where the sample submission has rows of the same labels."""
    ids = labelled.column(id_column) if labelled is not None and len(labelled.columns) == _ID_AND_LABEL else None
    if ids is None or len(columns) != 1 or not columns[0].distinct <= {"0", "1"}:
        return ()
    found = parts_of(ids.present)
    return found if len(found) > 1 and set(found) == set(parts) else ()


def _asks_for_classes(asked: Sequence[str], columns: Sequence[Column], classes: Sequence[str]) -> bool:
    if len(asked) <= 1:
        return False
    if len(columns) == 1 and columns[0].name not in asked:
        return names_classes(columns[0], asked)
    return len(set(classes) & set(asked)) > 1


def _of_files(survey: Survey, files: ExampleFiles | None, asked: Sequence[str]) -> tuple[list[str], str]:
    if files is not None and files.records:
        feature = label_feature(files.records[0], survey)
        return [feature or _FOLDER_TARGET], "the feature that the test records lack"
    if len(asked) == 1:
        return list(asked), "the column of the sample submission beside the id"
    return [_FOLDER_TARGET], "the files themselves say the class, no column does"


def _of_table(question: _Question, found: Findings) -> None:
    is_decided = _KEY in found.hints.overrides
    if is_decided:
        _check_decided(found.decided_list(_KEY), question)
    candidates = [*_named_elsewhere(question)]
    if not candidates:
        candidates = [_only_in_training(column, question, found.hints) for column in question.only_in_training]
        if not is_decided:
            _check_that_there_is_one(candidates, question)
    found.choose(_KEY, candidates or [Candidate([], "", 0.0)])


def _named_elsewhere(question: _Question) -> Iterator[Candidate]:
    """Columns that the sample submission or a table of what is asked for names, or that nothing else can be."""
    sample, labelled, asked, lookup = question.tables.sample, question.labelled, question.asked, question.lookup
    # A row of the sample is for an image and a class.
    codes = code_column(labelled) if class_column(sample, labelled) is not None else None
    if codes is not None:
        yield weighed([codes.name], [Reason(8, "its cells are run-length codes")])
    if lookup is not None:
        few = "this column" if len(lookup.targets) == 1 else f"these {len(lookup.targets)} columns"
        yield weighed(list(lookup.targets), [Reason(5, f"{lookup.part_column} of {lookup.path} names {few}")])
    known = set(labelled.column_names)
    there = [name for name in asked if name in known]
    if there and len(there) >= len(asked) / 2:
        few = "the column" if len(there) == 1 else f"the {len(there)} columns"
        clause = f"{few} of {sample.name if sample is not None else ''} beside the id, and in {labelled.name}"
        yield weighed(there, [Reason(5 if len(there) == len(asked) else 1.5, clause)])
    clause = f"its values name the {len(asked)} columns of the sample submission"
    yield from (weighed([column.name], [Reason(4, clause)]) for column in question.class_columns)
    if len(question.parts) > 1 and known.issuperset(question.parts):
        clause = f"the ids of the sample submission end in these {len(question.parts)} names"
        yield weighed(list(question.parts), [Reason(4, clause)])
    if question.are_all_labels:
        columns = question.only_in_training
        clause = f"all {len(columns)} columns of {labelled.name} beside the id are numbers"
        yield weighed([column.name for column in columns], [Reason(3, clause)])


def _only_in_training(column: Column, question: _Question, hints: Hints) -> Candidate:
    asked = question.asked[0] if len(question.asked) == 1 else ""
    is_alike = bool(asked) and are_named_alike(asked, column.name)
    test = question.tables.test
    metric = known_metric(hints).facts
    has_answers = _has_answers(column, question)
    is_measured = metric is not None and set(metric.target_kinds) == {TargetKind.NUMBER}
    server, is_served = question.server, column.name == served_target(question.server)
    reasons = [
        Reason(2 * (test is not None), f"not in {test.name}" if test is not None else ""),
        Reason(8 * is_served, f"named in {server.gateway_name}" if server is not None else ""),
        Reason(2 * (len(question.only_in_training) == 1), "no other column could be it"),
        Reason(2 * bool(words(column.name) & TARGET), "its name says so"),
        Reason(2 * is_alike, f"named like {asked} of the sample submission"),
        Reason(3 * has_answers, "the cells of the sample submission are values of it"),
        Reason(2 * _is_in(column.name, hints.slug), "the competition is named for it"),
        Reason(0.5 * (column is question.labelled.columns[-1]), "the last column"),
        Reason(-2 * (looks_like_id(column.name) and not has_answers), "named like an id"),
        Reason(-2 * (column.kind is ColumnKind.DATE), "a date"),
        Reason(-3 * (len(column.distinct) <= 1), "it never changes"),
        Reason(-3 * (is_measured and column.kind not in NUMBERS), "the metric is for numbers"),
    ]
    return weighed([column.name], reasons)


def are_named_alike(asked: str, name: str) -> bool:
    """True if a column of the sample submission and one of the training table have much the same name."""
    return SequenceMatcher(None, asked.lower(), name.lower()).ratio() > _ALIKE


def _has_answers(column: Column, question: _Question) -> bool:
    """True if the sample's only column of answers names labels that this column has, one or several in a cell."""
    sample = question.tables.sample
    answer = sample.column(question.asked[0]) if sample is not None and len(question.asked) == 1 else None
    if answer is None or answer.kind is not ColumnKind.TEXT:
        return False
    said = answer.distinct | {label for cell in answer.distinct for label in cell.split()}
    return len(said & column.distinct) >= min(_FEWEST_LABELS, len(column.distinct))


def _is_in(name: str, slug: str) -> bool:
    letters = "".join(filter(str.isalpha, name.lower()))
    return len(letters) >= _SHORTEST_NAME and letters in "".join(filter(str.isalpha, slug))


def _check_that_there_is_one(rivals: Sequence[Candidate], question: _Question) -> None:
    labelled, sample = question.labelled, question.tables.sample
    if not rivals:
        raise IntrospectionError(
            f"No column of {printable(labelled.path)} looks like a target: it has {listed(labelled.column_names)}, all "
            "of which the test data have too; name the target with --target."
        )
    if sample is not None and len(question.asked) != 1:
        there = [column.name for column in question.only_in_training]
        raise TargetNotInSampleError(sample=sample.path, asked=question.asked, table=labelled.path, there=there)


def _check_decided(decided: Sequence[str], question: _Question) -> None:
    labelled, sample = question.labelled, question.tables.sample
    for name in decided:
        if labelled.column(name) is None:
            columns = [column.name for column in question.only_in_training] or labelled.column_names
            raise MissingColumnError(key=_KEY, column=name, table=labelled.path, columns=columns)
        if name == question.id_column:
            raise UnusableValueError(key=option_of(_KEY), value=name, wanted="another column than the id")
    asked = question.asked
    is_asked = len(asked) == len(decided) or bool(question.class_columns) or bool(question.parts)
    if sample is not None and not is_asked:
        raise TargetNotInSampleError(sample=sample.path, asked=asked, table=labelled.path, there=decided)
