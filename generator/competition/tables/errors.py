"""The errors of files that cannot be read as tables.

UnreadableTableError
├── NotATableError         it is something else
└── PyarrowMissingError    the package that reads parquet is not installed
"""


class UnreadableTableError(Exception):
    """The file should be a table and cannot be read; its text is a predicate, such as "is empty"."""


class NotATableError(UnreadableTableError):
    """The file is something else; a survey counts it among the other files of its folder."""


class PyarrowMissingError(UnreadableTableError):
    """The package that reads parquet is not installed."""
