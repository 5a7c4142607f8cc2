"""Where a survey does not say enough to make a task of it.

IntrospectionError
├── TargetNotInSampleError    the sample asks for other columns than there are to learn from
├── NotPixelsError            images are to be predicted, and the submission has something else than grey pixels
├── MissingColumnError        a column that the user named does not exist
├── MissingFileError          a file or folder that the user named does not exist
├── UnknownKeyError           the user decided something that the family does not need
└── UnusableValueError        what the user decided is of the wrong kind
"""

from collections.abc import Iterable, Sequence

from generator.competition.schema import families, option_of
from generator.errors import CompetitionError, did_you_mean
from generator.untrusted import printable

_SHOWN = 6


def listed(names: Sequence[str]) -> str:
    """The first few of some names, for a message."""
    shown = ", ".join(printable(name) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else shown


class IntrospectionError(CompetitionError):
    """A survey that does not make a task; a flag may help."""


class TargetNotInSampleError(IntrospectionError):
    """The sample asks for other columns than there are to learn from."""

    def __init__(self, *, sample: str, asked: Sequence[str], table: str, there: Sequence[str]) -> None:
        wanted = f"asks for {listed(asked)}" if asked else "has no column beside the id"
        super().__init__(
            f"{printable(sample)} {wanted}, but what {printable(table)} has to learn from is "
            f"{listed(there) or 'none of it'}; name other files or columns with --sample, --train or --target, and "
            "with --set context_columns=A,B what stays as it is in the sample."
        )


class NotPixelsError(IntrospectionError):
    """Images are to be predicted, and the submission has something else than grey pixels."""

    def __init__(self, *, sample: str, example: str, problem: str) -> None:
        where = f'{printable(sample)} has ids like "{printable(example)}": ' if sample else ""
        super().__init__(
            f"{where}{problem}. Where images become images, the notebooks predict grey ones, and write a row for each "
            "pixel, <image>_<row>_<column>; name another sample with --sample, or another kind of task with --family."
        )


class MissingColumnError(IntrospectionError):
    """A column that the user named does not exist."""

    def __init__(self, *, key: str, column: str, table: str, columns: Sequence[str]) -> None:
        super().__init__(
            f'{option_of(key)}: {printable(table)} has no column "{printable(column)}", but {listed(columns)}.'
            f"{printable(did_you_mean(column, columns))}"
        )


class MissingFileError(IntrospectionError):
    """A file or folder that the user named does not exist."""

    def __init__(self, *, key: str, path: str, paths: Sequence[str]) -> None:
        super().__init__(
            f'{option_of(key)}: there is no "{printable(path)}" that can be read, but {listed(paths) or "nothing"}.'
            f"{printable(did_you_mean(path, paths))}"
        )


class UnknownKeyError(IntrospectionError):
    """The user decided something that the family does not need."""

    def __init__(self, *, key: str, family: str, keys: Iterable[str]) -> None:
        having = [other.title for other in families().values() if key in other.task]
        elsewhere = f" {', '.join(having)} have it; --family overrules." if having else did_you_mean(key, keys)
        super().__init__(f'The family {printable(family)} has no value "{printable(key)}" to decide on.{elsewhere}')


class UnusableValueError(IntrospectionError):
    """A decision of the user that is of the wrong kind."""

    def __init__(self, *, key: str, value: str, wanted: str) -> None:
        super().__init__(f'{printable(key)} cannot be "{printable(value)}": it has to be {printable(wanted)}.')
