"""Submission files: what they are written in, whether they are what their competition asks for, what they predict."""

from generator.competition.submission.checking import (
    CellKind,
    SubmissionShape,
    SubmissionSummary,
    read_rows,
    read_shape,
    summarize,
    validate,
)
from generator.competition.submission.errors import (
    MissingReaderError,
    SubmissionColumnsError,
    SubmissionError,
    SubmissionIdsError,
    SubmissionRowError,
    UnreadableSubmissionError,
)
from generator.competition.submission.formats import FileFormat, NamedFormat, format_of, opened
from generator.competition.submission.leeway import Leeway, leeway_of, leeway_of_kind
from generator.competition.submission.reading import read_table, separator_in

__all__ = [
    "CellKind",
    "FileFormat",
    "Leeway",
    "MissingReaderError",
    "NamedFormat",
    "SubmissionColumnsError",
    "SubmissionError",
    "SubmissionIdsError",
    "SubmissionRowError",
    "SubmissionShape",
    "SubmissionSummary",
    "UnreadableSubmissionError",
    "format_of",
    "leeway_of",
    "leeway_of_kind",
    "opened",
    "read_rows",
    "read_shape",
    "read_table",
    "separator_in",
    "summarize",
    "validate",
]
