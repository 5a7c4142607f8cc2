"""A table that says what each row of the submission asks for: `RowId` is for `FeatureName` of `ImageId`."""

from dataclasses import dataclass

from generator.competition.introspection.column_statistics import shares_values
from generator.competition.introspection.table_roles import Tables
from generator.competition.survey.facts import Survey

_FEWEST_COLUMNS, _FEWEST_PARTS = 3, 2


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
    labelled, test = tables.labelled, tables.test
    asked = tables.sample.column(id_column) if tables.sample is not None else None
    if asked is None or test is None or labelled is None or test.column(id_column) is not None:
        return None
    known, keys = frozenset(labelled.column_names), {column.name for column in test.columns if column.is_unique}
    for table in survey.tables:
        ids = table.column(asked.name)
        is_free = table not in (tables.sample, tables.train, tables.labels, test)
        if not is_free or len(table.columns) < _FEWEST_COLUMNS or ids is None or not ids.is_unique:
            continue
        parts = [each for each in table.columns if len(each.distinct) >= _FEWEST_PARTS and each.distinct <= known]
        examples = [each for each in table.columns if each.name in keys and shares_values(each, test)]
        if parts and examples and shares_values(asked, table):
            targets = tuple(name for name in labelled.column_names if name in parts[0].distinct)
            return Lookup(table.path, examples[0].name, parts[0].name, targets)
    return None
