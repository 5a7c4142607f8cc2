"""The rows of a submission, or of the sample that it is held against; what is wrong with a file is one sentence."""

from collections.abc import Iterator
from pathlib import Path

from generator.competition.submission.errors import MissingReaderError, UnreadableSubmissionError
from generator.competition.tables.errors import PyarrowMissingError, UnreadableTableError
from generator.competition.tables.rows import Row, table_rows
from generator.files import reason


def read_table(path: Path, *, separator: str = "") -> Iterator[Row]:
    """Yields the header and then each row, as `table_rows` does.

    Raises:
        MissingReaderError: A package that reads the format is not installed.
        UnreadableSubmissionError: It cannot be read as what its name says.
    """
    try:
        yield from table_rows(path, separator=separator)
    except OSError as error:
        raise UnreadableSubmissionError(path=path, why=reason(error)) from error
    except PyarrowMissingError as error:
        raise MissingReaderError(path=path, package="pyarrow") from error
    except UnreadableTableError as error:
        raise UnreadableSubmissionError(path=path, why=f"it {error.problem}") from error
