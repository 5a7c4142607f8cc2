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
_ROUNDED = 0.01


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
        answers = _answers(beside, tables, id_column, classes)
    context = [column.name for column in beside if column not in answers]
    if context:
        found.settle(_KEY, context, f"columns of {sample.name} that are neither the id nor to be predicted")
    return tuple(answers)


def _answers(beside: Sequence[Column], tables: Tables, id_column: str, classes: Sequence[str]) -> list[Column]:
    codes = code_column(tables.labelled)
    of_masks = [column for column in beside if codes is not None and column.name == codes.name]
    if of_masks:
        return of_masks
    named = [column for column in beside if not is_nameless(column.name)] or list(beside)
    absent = [column for column in named if tables.test is None or tables.test.column(column.name) is None]
    filled = [column for column in named if column not in absent and _is_filled_in(column, tables)]
    # Where training examples alone have a column, that is the target, and what is the same in all test rows is context.
    unknown = absent if absent and _only_in_training(tables, id_column) else [*absent, *filled]
    unknown = [column for column in named if column in unknown] or named
    if len(unknown) <= 1:
        return unknown
    certain = [column for column in unknown if _is_asked(column, unknown, tables, classes)]
    if any(_is_labelled(column, tables) for column in certain):
        return certain
    # Placeholders are mostly the same number in every row, which tells them from what describes a row. That of a class
    # without training examples is one of the others', or makes one of their sum.
    constant = {column.name: column for column in unknown if column.kind in NUMBERS and len(column.distinct) == 1}
    of_classes = {value for column in certain if column.name in constant for value in column.distinct}
    sums = [sum(float(min(each.distinct)) for each in constant.values() if each in some) for some in (certain, unknown)]
    is_sum = sums[0] > 0 and abs(sums[1] - 1) < _ROUNDED
    usual = [
        column
        for column in unknown
        if column in certain
        or (column.name in constant and (is_sum or not of_classes or column.distinct <= of_classes))
    ]
    return usual or [column for column in unknown if column.kind in NUMBERS] or unknown


def _is_filled_in(column: Column, tables: Tables) -> bool:
    """True if the test table has a column with labels that is empty there, or has the sample's placeholder."""
    same = tables.test.column(column.name) if tables.test is not None else None
    labelled = tables.labelled.column(column.name) if tables.labelled is not None else None
    is_same = same is not None and len(same.distinct) <= 1 and same.distinct <= column.distinct
    return is_same and labelled is not None and len(labelled.distinct) > 1


def _only_in_training(tables: Tables, id_column: str) -> bool:
    known = {id_column, *(tables.test.column_names if tables.test is not None else ())}
    names = tables.labelled.column_names if tables.labelled is not None else ()
    return any(name not in known and not is_nameless(name) for name in names)


def _is_asked(column: Column, unknown: Sequence[Column], tables: Tables, classes: Sequence[str]) -> bool:
    """True if a column is called as one with labels, or as a class, or has labels in its cells."""
    labelled, test = tables.labelled, tables.test
    if column.name in classes:
        return True
    if labelled is None:
        return False
    if _is_labelled(column, tables):
        return True
    known = set(test.column_names) if test is not None else set()
    only = [each for each in labelled.columns[:_MOST_COLUMNS_COMPARED] if each.name not in known]
    names = [each.name for each in unknown if each.kind in NUMBERS or not each.present]
    if column.name in names:
        return any(
            names_classes(each, names) and any(column.name.endswith(label) for label in each.distinct) for each in only
        )
    return any(bool(column.distinct) and column.distinct <= each.distinct for each in only)


def _is_labelled(column: Column, tables: Tables) -> bool:
    names = tables.labelled.column_names if tables.labelled is not None else ()
    return column.name.lower() in map(str.lower, names)
