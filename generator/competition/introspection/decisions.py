"""Whether what the user decided exists and is of use."""

from collections.abc import Iterator, Mapping, Sequence

from generator.competition.introspection.errors import MissingColumnError, MissingFileError, UnknownKeyError
from generator.competition.introspection.facts import Finding, Hints
from generator.competition.introspection.tables import Tables
from generator.competition.schema import option_of
from generator.competition.survey.facts import Survey

_CHECKED_BEFORE = frozenset(("id_column", "targets"))


def check_decisions(hints: Hints, findings: Mapping[str, Finding], survey: Survey, tables: Tables) -> None:
    """Checks the decisions on details; those on files, ids and targets were checked when they were used.

    Raises:
        UnknownKeyError: The family does not need such a value.
        MissingColumnError: The training table has no such column.
        MissingFileError: There is no such folder.
    """
    folders = sorted(set(_folders(survey)))
    for key, decided in hints.overrides.items():
        if key not in findings:
            raise UnknownKeyError(key=key, family=str(findings["family"].value), keys=findings)
        names = [decided] if isinstance(decided, str) else decided
        if key.endswith("_folder"):
            _check_folders(key, names, folders)
        elif key.endswith(("_column", "_columns")) and key not in _CHECKED_BEFORE:
            _check_columns(key, names, tables)


def _check_folders(key: str, paths: Sequence[str], folders: Sequence[str]) -> None:
    for path in paths:
        if path and path not in folders:
            raise MissingFileError(flag=option_of(key), path=path, paths=folders)


def _check_columns(key: str, names: Sequence[str], tables: Tables) -> None:
    train = tables.train
    if train is None:
        return
    for name in names:
        if name and train.column(name) is None:
            raise MissingColumnError(flag=option_of(key), column=name, table=train.path, columns=train.column_names)


def _folders(survey: Survey) -> Iterator[str]:
    """Every folder that was seen, and those around it."""
    for path in (*(folder.path for folder in survey.folders), *(records.path for records in survey.records)):
        parts = path.split("/")
        yield from ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
