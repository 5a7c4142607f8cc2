"""Run-length codes in tables: which columns hold them, and which says what class a code is a mask of."""

from collections.abc import Sequence
from itertools import pairwise

from generator.competition.introspection.vocabulary import is_nameless
from generator.competition.survey.facts import Column, Table

_COLUMNS_COMPARED = 60
_FEWEST_CLASSES, _MOST_CLASSES = 2, 60
_OF_ROWS = 3  # an image, a class and a code


def is_run_length(column: Column) -> bool:
    """True if the cells are run-length codes: an even number of whole numbers each, the first of a pair growing."""
    codes = column.distinct - column.null_words
    return bool(codes) and all(map(_is_code, codes))


def code_column(table: Table | None) -> Column | None:
    """The only column of a table with run-length codes; None if there is none, or several."""
    columns = table.columns[:_COLUMNS_COMPARED] if table is not None else ()
    found = [column for column in columns if is_run_length(column) and any(" " in cell for cell in column.distinct)]
    return found[0] if len(found) == 1 else None


def class_column(sample: Table | None, train: Table | None) -> Column | None:
    """The column of a sample that names the class of a mask, where an image has a row for each: no id is unique.

    Args:
        sample: The sample submission, with an image, a class and a code in a row, and perhaps an index without a name.
        train: The training table, whose columns for the image and for the class are called the same.
    """
    codes = code_column(train)
    named = [column for column in sample.columns if not is_nameless(column.name)] if sample is not None else []
    if train is None or len(named) != _OF_ROWS or codes is None:
        return None
    beside = [column for column in named if column.name != codes.name]  # few codes are no classes
    for image in sorted(beside, key=lambda column: -len(column.distinct)):
        in_both = [(column, train.column(column.name)) for column in beside if column is not image]
        classes = [(column, len(column.distinct | same.distinct)) for column, same in in_both if same is not None]
        fitting = [column for column, count in classes if _FEWEST_CLASSES <= count <= _MOST_CLASSES]
        if train.column(image.name) is None or image.is_unique or len(fitting) != 1:
            continue
        rows = list(zip(image.values, fitting[0].values, strict=True))
        if len(set(rows)) == len(rows):
            return fitting[0]
    return None


def class_column_of_parts(train: Table | None, parts: Sequence[str]) -> Column | None:
    """The column of the training table whose values are the ends of the ids `<image>_<class>`."""
    columns = train.columns[:_COLUMNS_COMPARED] if train is not None else ()
    return next((column for column in columns if column.distinct and column.distinct <= set(parts)), None)


def _is_code(value: str) -> bool:
    numbers = value.split()
    if len(numbers) % 2 or not all(map(str.isdecimal, numbers)):
        return False
    return all(int(one[:18]) < int(other[:18]) for one, other in pairwise(numbers[::2]))
