"""The columns of the sample submission to be filled; its other ones are repeated as they are."""

from collections.abc import Sequence

from generator.competition.introspection.errors import MissingColumnError
from generator.competition.introspection.findings import Findings
from generator.competition.introspection.run_length import class_column, code_column
from generator.competition.introspection.table_roles import Tables, names_classes
from generator.competition.introspection.vocabulary import is_nameless
from generator.competition.survey.facts import NUMBERS, Column

_KEY = "context_columns"
_MOST_COLUMNS_COMPARED = 200


def answer_columns(tables: Tables, id_column: str, classes: Sequence[str], found: Findings) -> tuple[Column, ...]:
    """Returns the columns of the sample that are neither the id nor context, and settles which are context.

    Args:
        tables: The tables.
        id_column: The column with the ids.
        classes: The classes that folders or names of files say.
        found: Takes the finding, where there is context.

    Raises:
        MissingColumnError: The user named a column that the sample does not have.
    """
    sample = tables.sample
    if sample is None:
        return ()
    of_masks = class_column(sample, tables.train)
    apart = {id_column, of_masks.name if of_masks is not None else ""}
    beside = [column for column in sample.columns if column.name not in apart]
    if _KEY in found.hints.overrides:
        decided = found.decided_list(_KEY)
        for name in decided:
            if name not in {column.name for column in beside}:
                raise MissingColumnError(
                    key=_KEY, column=name, table=sample.path, columns=[each.name for each in beside]
                )
        answers = [column for column in beside if column.name not in decided]
    else:
        answers = _answers(beside, tables, classes)
    context = [column.name for column in beside if column not in answers]
    if context:
        found.settle(_KEY, context, f"columns of {sample.name} that are neither the id nor to be predicted")
    return tuple(answers)


def _answers(beside: Sequence[Column], tables: Tables, classes: Sequence[str]) -> list[Column]:
    codes = code_column(tables.labelled)
    of_masks = [column for column in beside if codes is not None and column.name == codes.name]
    if of_masks:
        return of_masks
    named = [column for column in beside if not is_nameless(column.name)] or list(beside)
    unknown = [column for column in named if not _is_in_test(column, tables)] or named
    if len(unknown) <= 1:
        return unknown
    certain = [column for column in unknown if _is_asked(column, unknown, tables, classes)]
    # Placeholders are mostly the same number in every row, which tells them from what describes a row.
    usual = [
        column for column in unknown if column in certain or (column.kind in NUMBERS and len(column.distinct) == 1)
    ]
    return usual or [column for column in unknown if column.kind in NUMBERS] or unknown


def _is_in_test(column: Column, tables: Tables) -> bool:
    """True if the test table has the column; but one with labels that is empty there, or filled in, is a target."""
    same = tables.test.column(column.name) if tables.test is not None else None
    labelled = tables.labelled.column(column.name) if tables.labelled is not None else None
    is_filled_in = same is not None and len(same.distinct) <= 1 and same.distinct <= column.distinct
    return same is not None and not (is_filled_in and labelled is not None and len(labelled.distinct) > 1)


def _is_asked(column: Column, unknown: Sequence[Column], tables: Tables, classes: Sequence[str]) -> bool:
    """True if a column is called as one with labels, or as a class, or has labels in its cells."""
    labelled, test = tables.labelled, tables.test
    if column.name in classes:
        return True
    if labelled is None:
        return False
    if labelled.column(column.name) is not None:
        return True
    known = set(test.column_names) if test is not None else set()
    only = [each for each in labelled.columns[:_MOST_COLUMNS_COMPARED] if each.name not in known]
    names = [each.name for each in unknown if each.kind in NUMBERS or not each.present]
    if column.name in names:
        return any(
            names_classes(each, names) and any(column.name.endswith(label) for label in each.distinct) for each in only
        )
    return any(bool(column.distinct) and column.distinct <= each.distinct for each in only)
