"""Validation of what the user decided: that it exists and is of use."""

from collections.abc import Iterator

from generator.competition.introspection.errors import MissingColumnError, MissingFileError, UnknownKeyError
from generator.competition.introspection.findings import Findings
from generator.competition.introspection.table_roles import Tables
from generator.competition.schema import option_of
from generator.competition.survey.facts import Survey

_CHECKED_BEFORE = frozenset(("id_column", "targets"))


def check_decisions(survey: Survey, tables: Tables, found: Findings) -> None:
    """Checks the decisions on details; those on files, ids and targets were checked when they were used.

    Raises:
        UnknownKeyError: The family does not need such a value.
        MissingColumnError: The training table has no such column.
        MissingFileError: There is no such folder.
    """
    folders, train = sorted(set(_folders(survey))), tables.train
    for key, decided in found.hints.overrides.items():
        if key not in found:
            raise UnknownKeyError(key=key, family=str(found["family"].value), keys=found)
        names = filter(None, [decided] if isinstance(decided, str) else decided)
        is_column = key.endswith(("_column", "_columns")) and key not in _CHECKED_BEFORE
        for name in names:
            if key.endswith("_folder") and name not in folders:
                raise MissingFileError(flag=option_of(key), path=name, paths=folders)
            if is_column and train is not None and train.column(name) is None:
                columns = train.column_names
                raise MissingColumnError(flag=option_of(key), column=name, table=train.path, columns=columns)


def _folders(survey: Survey) -> Iterator[str]:
    """Every folder that was seen, and those around it."""
    for path in (*(folder.path for folder in survey.folders), *(records.path for records in survey.records)):
        parts = path.split("/")
        yield from ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
