"""The columns that describe an example: those that training and test examples both have."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from generator.competition.introspection.table_roles import Tables
from generator.competition.introspection.target_columns import Targets
from generator.competition.introspection.vocabulary import looks_like_id
from generator.competition.survey.facts import NUMBERS, Column, ColumnKind, Table

_MOST_CODES = 20
_MEASURES = NUMBERS | {ColumnKind.BOOLEAN}


@dataclass(frozen=True)
class Features:
    """The columns that say something of an example beside its id.

    Attributes:
        train: The training table.
        test: The test table, or None.
        id_column: The column with the ids.
        columns: The columns of the training table that the test examples have too, without the id, unless it is a date.
        others: The columns that only training examples have, without the targets.
    """

    train: Table
    test: Table | None
    id_column: str
    columns: tuple[Column, ...]
    others: tuple[str, ...]

    @property
    def measures(self) -> tuple[Column, ...]:
        """Those that are numbers and say something about an example: ids of something else do not."""
        return tuple(column for column in self.columns if column.kind in _MEASURES and not self._is_id(column))

    def in_test(self, name: str) -> Column | None:
        """The same column of the test table, if there is one."""
        return self._by_name.get(name)

    def _is_id(self, column: Column) -> bool:
        if column.kind is not ColumnKind.INTEGER or not looks_like_id(column.name):
            return False
        later = self.in_test(column.name)
        return len(column.distinct) > _MOST_CODES or (later is not None and not column.distinct & later.distinct)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.test.columns} if self.test is not None else {}


def find_features(tables: Tables, targets: Targets, id_column: str) -> Features | None:
    """Sorts the columns of the training table; None if there is no such table."""
    if tables.train is None:
        return None
    ids = [table.column(id_column) for table in (tables.train, tables.test) if table is not None]
    # Where the ids are dates, they say something about their examples.
    is_date = all(column is not None and column.kind is ColumnKind.DATE for column in ids)
    apart = {*targets.names, *([] if is_date else [id_column])}
    columns = [column for column in tables.train.columns if column.name not in apart]
    known = set((tables.test or tables.train).column_names)
    both = [column for column in columns if column.name in known]
    return Features(
        train=tables.train,
        test=tables.test,
        id_column=id_column,
        columns=tuple(both),
        others=tuple(column.name for column in columns if column.name not in known),
    )
