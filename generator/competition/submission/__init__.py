"""Submission files: whether they are what their competition asks for.

In: a file, and the sample submission or the `SubmissionShape` that it has to have. Out: its rows, checked one by one
(`read_rows`), or how many there are (`validate`, `summarize`); a disagreement is a `SubmissionError`, one sentence with
its line and id. Which columns of the sample are no answers is its `SampleColumns`; what it does not show, but a task
allows, is a `Tolerance`. Files are read by `generator.competition.tables`.
"""

from generator.competition.submission.checking import SubmissionSummary, read_rows, summarize, validate
from generator.competition.submission.errors import (
    MissingReaderError,
    SubmissionError,
    SubmissionIdsError,
    SubmissionRowError,
    UnreadableSubmissionError,
)
from generator.competition.submission.shape import CellKind, SubmissionShape, read_shape, read_table
from generator.competition.submission.tolerance import (
    SampleColumns,
    Tolerance,
    sample_columns_of,
    tolerance_of,
    tolerance_of_kind,
)

__all__ = [
    "CellKind",
    "MissingReaderError",
    "SampleColumns",
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
    "sample_columns_of",
    "summarize",
    "tolerance_of",
    "tolerance_of_kind",
    "validate",
]
