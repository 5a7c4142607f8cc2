"""Which columns hold the training labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from generator.competition.introspection.columns import parts_of
from generator.competition.introspection.errors import (
    MissingColumnError,
    NoTargetError,
    TargetNotInSampleError,
)
from generator.competition.introspection.facts import Candidate, Finding, Hints
from generator.competition.introspection.records import label_feature
from generator.competition.introspection.source import Source
from generator.competition.introspection.tables import Tables, names_classes
from generator.competition.introspection.weighing import Reason, chosen, flag, settled, weighed
from generator.competition.introspection.words import TARGET, looks_like_id, words
from generator.competition.survey.facts import Column, Survey, Table

_KEY = "targets"
_ALIKE = 0.6
_COLUMNS_COMPARED = 500
_FOLDER_TARGET = "label"


@dataclass(frozen=True)
class Targets:
    """The training labels.

    Attributes:
        names: Their columns.
        columns: The same with their sampled values; empty where no table has them.
        asked: The columns of the sample submission beside the id.
        answers: The same with their sampled values.
        parts: The parts of an example that an id of the sample names, if any.
        are_classes_asked: Whether the sample has a column for each class.
        finding: Why.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    asked: tuple[str, ...]
    answers: tuple[Column, ...]
    parts: tuple[str, ...]
    are_classes_asked: bool
    finding: Finding


@dataclass(frozen=True)
class _Question:
    """What there is to choose from: the table with the labels, and what the sample asks for."""

    labelled: Table
    tables: Tables
    id_column: str
    asked: tuple[str, ...]
    parts: tuple[str, ...]
    file_column: str

    @cached_property
    def only_in_training(self) -> tuple[Column, ...]:
        """The first columns that test examples lack, apart from ids and names of files."""
        test = self.tables.test
        known = set(test.column_names) if test is not None else set()
        known |= {self.id_column, self.file_column}
        return tuple(column for column in self.labelled.columns if column.name not in known)[:_COLUMNS_COMPARED]


def find_targets(survey: Survey, tables: Tables, source: Source | None, id_column: str, hints: Hints) -> Targets:
    """Finds the columns to learn from.

    Raises:
        NoTargetError: Nothing is known of the training examples that is not known of the test examples.
        TargetNotInSampleError: The sample asks for something else than can be learned.
        MissingColumnError: The user named a column that does not exist.
    """
    answers = _answers(tables, id_column)
    asked = tuple(column.name for column in answers)
    parts = _parts(tables, id_column)
    labelled = tables.labelled
    if labelled is None or (source is not None and source.labels_from in ("folders", "names", "records")):
        finding = _of_files(survey, source, asked, hints)
    else:
        column = source.labelling.column if source is not None else ""
        finding = _of_table(_Question(labelled, tables, id_column, asked, parts, column), hints)
    names = tuple(finding.value) if isinstance(finding.value, list) else (str(finding.value),)
    wanted = set(names)
    columns = tuple(column for column in labelled.columns if column.name in wanted) if labelled is not None else ()
    classes = source.labelling.classes if source is not None else ()
    return Targets(
        names=names,
        columns=columns,
        asked=asked,
        answers=answers,
        parts=parts,
        are_classes_asked=_asks_for_classes(asked, columns, classes),
        finding=finding,
    )


def _answers(tables: Tables, id_column: str) -> tuple[Column, ...]:
    """The columns of the sample to be filled: those beside the id that the test examples do not have already."""
    if tables.sample is None:
        return ()
    beside = tuple(column for column in tables.sample.columns if column.name != id_column)
    known = set(tables.test.column_names) if tables.test is not None else set()
    return tuple(column for column in beside if column.name not in known) or beside


def _parts(tables: Tables, id_column: str) -> tuple[str, ...]:
    column = tables.sample.column(id_column) if tables.sample is not None else None
    return parts_of(column.present) if column is not None else ()


def _asks_for_classes(asked: Sequence[str], columns: Sequence[Column], classes: Sequence[str]) -> bool:
    if len(asked) <= 1:
        return False
    if len(columns) == 1 and columns[0].name not in asked:
        return names_classes(columns[0], asked)
    return len(set(classes) & set(asked)) > 1


def _of_files(survey: Survey, source: Source | None, asked: Sequence[str], hints: Hints) -> Finding:
    if source is not None and source.records:
        feature = label_feature(source.records[0], survey)
        return settled(_KEY, [feature or _FOLDER_TARGET], "the feature that the test records lack", hints)
    if len(asked) == 1:
        return settled(_KEY, list(asked), "the column of the sample submission beside the id", hints)
    return settled(_KEY, [_FOLDER_TARGET], "the files themselves say the class, no column does", hints)


def _of_table(question: _Question, hints: Hints) -> Finding:
    decided = hints.overrides.get(_KEY)
    if decided is not None:
        _check_decided([decided] if isinstance(decided, str) else decided, question)
    candidates = [*_asked_columns(question), *_class_column(question), *_part_columns(question)]
    if candidates:
        return chosen(_KEY, candidates, hints)
    rivals = [_only_in_training(column, question) for column in question.only_in_training]
    if decided is None:
        _check_that_there_is_one(rivals, question)
    return chosen(_KEY, rivals or [Candidate([], "", 0.0)], hints)


def _asked_columns(question: _Question) -> list[Candidate]:
    """The columns that the sample asks for, if there are such."""
    known = set(question.labelled.column_names)
    there = [name for name in question.asked if name in known]
    if not there or len(there) < len(question.asked) / 2:
        return []
    sample = question.tables.sample
    where = sample.name if sample is not None else ""
    few = "the column" if len(there) == 1 else f"the {len(there)} columns"
    clause = f"{few} of {where} beside the id, and in {question.labelled.name}"
    return [weighed(there, [Reason(5 if len(there) == len(question.asked) else 1.5, clause)])]


def _class_column(question: _Question) -> list[Candidate]:
    """A column whose values are the names of the columns that the sample asks for."""
    named = [column for column in question.only_in_training if names_classes(column, question.asked)]
    clause = f"its values name the {len(question.asked)} columns of the sample submission"
    return [weighed([column.name], [Reason(4, clause)]) for column in named]


def _part_columns(question: _Question) -> list[Candidate]:
    """Columns of the training table that the ids of the sample name: `<id>_<column>`."""
    there = [part for part in question.parts if question.labelled.column(part) is not None]
    if len(there) <= 1 or len(there) < len(question.parts):
        return []
    return [weighed(there, [Reason(4, f"the ids of the sample submission end in these {len(there)} names")])]


def _only_in_training(column: Column, question: _Question) -> Candidate:
    asked = question.asked[0] if len(question.asked) == 1 else ""
    is_alike = asked and SequenceMatcher(None, asked.lower(), column.name.lower()).ratio() > _ALIKE
    test = question.tables.test
    reasons = [
        Reason(2 * (test is not None), f"not in {test.name}" if test is not None else ""),
        Reason(2 * (len(question.only_in_training) == 1), "no other column could be it"),
        Reason(2 * bool(words(column.name) & TARGET), "its name says so"),
        Reason(2 * bool(is_alike), f"named like {asked} of the sample submission"),
        Reason(0.5 * (column is question.labelled.columns[-1]), "the last column"),
        Reason(-2 * looks_like_id(column.name), "named like an id"),
        Reason(-3 * (len(column.distinct) <= 1), "it never changes"),
    ]
    return weighed([column.name], reasons)


def _check_that_there_is_one(rivals: Sequence[Candidate], question: _Question) -> None:
    labelled, sample = question.labelled, question.tables.sample
    if not rivals:
        raise NoTargetError(table=labelled.path, columns=labelled.column_names)
    if sample is not None and len(question.asked) != 1:
        there = [column.name for column in question.only_in_training]
        raise TargetNotInSampleError(sample=sample.path, asked=question.asked, table=labelled.path, there=there)


def _check_decided(decided: Sequence[str], question: _Question) -> None:
    labelled, sample = question.labelled, question.tables.sample
    for name in decided:
        if labelled.column(name) is None:
            columns = [column.name for column in question.only_in_training] or labelled.column_names
            raise MissingColumnError(flag=flag(_KEY), column=name, table=labelled.path, columns=columns)
    asked = question.asked
    is_asked = len(asked) == len(decided) or bool(_class_column(question)) or bool(question.parts)
    if sample is not None and not is_asked:
        raise TargetNotInSampleError(sample=sample.path, asked=asked, table=labelled.path, there=decided)
