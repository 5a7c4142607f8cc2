"""Submission files: whether they are what their competition asks for.

In: a file, and the sample submission or the `SubmissionShape` that it has to have. Out: its rows, checked one by one
(`read_rows`), or how many there are (`validate`, `summarize`); a disagreement is a `SubmissionError`, one sentence with
its line and id. What a sample does not show, but a task allows, is a `Tolerance`. Files are read by
`generator.competition.tables`.
"""

from generator.competition.submission.checking import (
    CellKind,
    SubmissionShape,
    SubmissionSummary,
    read_rows,
    read_shape,
    read_table,
    summarize,
    validate,
)
from generator.competition.submission.errors import (
    MissingReaderError,
    SubmissionError,
    SubmissionIdsError,
    SubmissionRowError,
    UnreadableSubmissionError,
)
from generator.competition.submission.tolerance import Tolerance, tolerance_of, tolerance_of_kind

__all__ = [
    "CellKind",
    "MissingReaderError",
    "SubmissionError",
    "SubmissionIdsError",
    "SubmissionRowError",
    "SubmissionShape",
    "SubmissionSummary",
    "Tolerance",
    "UnreadableSubmissionError",
    "read_rows",
    "read_shape",
    "read_table",
    "summarize",
    "tolerance_of",
    "tolerance_of_kind",
    "validate",
]
