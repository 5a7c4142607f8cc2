"""Run-length codes in tables: which columns hold them, and which says what class a code is a mask of."""

from collections.abc import Sequence
from itertools import pairwise

from generator.competition.introspection.vocabulary import is_nameless
from generator.competition.survey.facts import Column, Table

_COLUMNS_COMPARED = 60
_FEWEST_CLASSES, _MOST_CLASSES = 2, 60
_FEWEST_COLUMNS = 3  # an image, a class and a code


def is_run_length(column: Column) -> bool:
    """True if the cells are run-length codes: an even number of whole numbers each, the first of a pair growing."""
    codes = column.distinct - column.null_words
    return bool(codes) and all(map(_is_code, codes))


def code_column(table: Table | None) -> Column | None:
    """The only column of a table with run-length codes; None if there is none, or several."""
    columns = table.columns[:_COLUMNS_COMPARED] if table is not None else ()
    found = [column for column in columns if is_run_length(column) and any(" " in cell for cell in column.distinct)]
    return found[0] if len(found) == 1 else None


def image_and_class(sample: Table | None, train: Table | None) -> tuple[Column, Column] | None:
    """The columns of a sample for the image and class of a mask, where an image has a row for each: no id is unique.

    Args:
        sample: The sample submission, with an image, a class and a code in a row, and perhaps context.
        train: The training table, whose columns for the image and for the class are called the same.
    """
    codes = code_column(train)
    named = [column for column in sample.columns if not is_nameless(column.name)] if sample is not None else []
    if train is None or len(named) < _FEWEST_COLUMNS or codes is None:
        return None
    in_both = [(column, train.column(column.name)) for column in named[:_COLUMNS_COMPARED] if column.name != codes.name]
    classes = [(column, len(column.distinct | same.distinct)) for column, same in in_both if same is not None]
    few = [column for column, count in classes if _FEWEST_CLASSES <= count <= _MOST_CLASSES]
    for image in sorted((column for column, _ in classes), key=lambda column: -len(column.distinct)):
        fitting = [column for column in few if column is not image and _are_unique_together(image, column)]
        if not image.is_unique and len(fitting) == 1:
            return image, fitting[0]
    return None


def class_column(sample: Table | None, train: Table | None) -> Column | None:
    """The column of a sample that names the class of a mask, where an image has a row for each."""
    found = image_and_class(sample, train)
    return found[1] if found is not None else None


def _are_unique_together(one: Column, other: Column) -> bool:
    rows = list(zip(one.values, other.values, strict=True))
    return len(set(rows)) == len(rows)


def class_column_of_parts(train: Table | None, parts: Sequence[str]) -> Column | None:
    """The column of the training table whose values are the ends of the ids `<image>_<class>`."""
    columns = train.columns[:_COLUMNS_COMPARED] if train is not None else ()
    return next((column for column in columns if column.distinct and column.distinct <= set(parts)), None)


def _is_code(value: str) -> bool:
    numbers = value.split()
    if len(numbers) % 2 or not all(map(str.isdecimal, numbers)):
        return False
    return all(int(one[:18]) < int(other[:18]) for one, other in pairwise(numbers[::2]))
