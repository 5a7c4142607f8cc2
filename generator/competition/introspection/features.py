"""The columns that describe an example: those that training and test examples both have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from generator.competition.introspection.tables import Tables
from generator.competition.introspection.targets import Targets
from generator.competition.survey.facts import Column, ColumnKind, Table

_NUMBERS = frozenset((ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.BOOLEAN))


@dataclass(frozen=True)
class Features:
    """What is known of an example beside its id.

    Attributes:
        train: The training table.
        test: The test table, or None.
        id_column: The column with the ids.
        columns: The columns of the training table that the test examples have too, without the id.
        others: The columns that only training examples have, without the targets.
    """

    train: Table
    test: Table | None
    id_column: str
    columns: tuple[Column, ...]
    others: tuple[str, ...]

    @property
    def numbers(self) -> tuple[Column, ...]:
        """Those that are numbers."""
        return tuple(column for column in self.columns if column.kind in _NUMBERS)

    def in_test(self, name: str) -> Column | None:
        """The same column of the test table, if there is one."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.test.columns} if self.test is not None else {}


def find_features(tables: Tables, targets: Targets, id_column: str) -> Features | None:
    """Sorts the columns of the training table; None if there is no such table."""
    if tables.train is None:
        return None
    apart = {*targets.names, id_column}
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


def names_of(columns: Sequence[Column]) -> list[str]:
    """The names of some columns."""
    return [column.name for column in columns]
