"""A table that says what each row of the submission asks for: `RowId` is for `FeatureName` of `ImageId`."""

from collections.abc import Iterator
from dataclasses import dataclass

from generator.competition.introspection.column_statistics import overlap
from generator.competition.introspection.table_roles import Tables
from generator.competition.survey.facts import Column, Survey, Table

_FEWEST_COLUMNS, _FEWEST_PARTS = 3, 2
_OVERLAP = 0.1


@dataclass(frozen=True)
class Lookup:
    """Such a table.

    Attributes:
        path: Where it is.
        example_column: Its column with the id of the test example, which the test table has too.
        part_column: Its column with the name of the training table's column that is asked for.
        targets: The columns that are asked for, in the order of the training table.
    """

    path: str
    example_column: str
    part_column: str
    targets: tuple[str, ...]


def find_lookup(survey: Survey, tables: Tables, id_column: str) -> Lookup | None:
    """Finds the table, if there is one."""
    asked = tables.sample.column(id_column) if tables.sample is not None else None
    if asked is None or tables.test is None or tables.labelled is None or tables.test.column(id_column) is not None:
        return None
    taken = (tables.sample, tables.train, tables.labels, tables.test)
    others = (table for table in survey.tables if table not in taken and len(table.columns) >= _FEWEST_COLUMNS)
    return next((found for table in others for found in _lookups(table, asked, tables)), None)


def _lookups(table: Table, asked: Column, tables: Tables) -> Iterator[Lookup]:
    ids, labelled, test = table.column(asked.name), tables.labelled, tables.test
    if ids is None or labelled is None or test is None or not ids.is_unique or overlap(ids, asked) <= _OVERLAP:
        return
    known = frozenset(labelled.column_names)
    parts = [column for column in table.columns if len(column.distinct) >= _FEWEST_PARTS and column.distinct <= known]
    examples = [column for column in table.columns if column is not ids and _is_key_of(column, test)]
    if parts and examples:
        targets = tuple(name for name in labelled.column_names if name in parts[0].distinct)
        yield Lookup(table.path, examples[0].name, parts[0].name, targets)


def _is_key_of(column: Column, test: Table) -> bool:
    match = test.column(column.name)
    return match is not None and match.is_unique and overlap(column, match) > _OVERLAP
