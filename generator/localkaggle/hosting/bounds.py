"""The bounds on the size of a submission, also a compressed one, before anything is made of it."""

from pathlib import Path

from generator.competition.submission import SubmissionError
from generator.competition.tables.compression import opened
from generator.competition.tables.errors import UnreadableTableError
from generator.competition.tables.formats import TableFormat, format_of

LARGEST_SUBMISSION = 1 << 30
_LONGEST_LINE = 1 << 24
_CHUNK = 1 << 20


def require_bounded(submission: Path) -> None:
    """Makes sure that a file, once unpacked, is not too large, and that no line of a text is.

    Raises:
        SubmissionError: It is. What cannot be unpacked is left to whoever reads it.
    """
    size = line = 0
    try:
        with opened(submission) as (file, name):
            has_lines = format_of(name).format not in (TableFormat.PARQUET, TableFormat.JSON)
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                newline = chunk.rfind(b"\n")
                line = line + len(chunk) if newline < 0 else len(chunk) - newline - 1
                if size > LARGEST_SUBMISSION:
                    raise SubmissionError(f"The submission has contents of more than {LARGEST_SUBMISSION:,} bytes.")
                if has_lines and line > _LONGEST_LINE:
                    raise SubmissionError(f"The submission has a line of more than {_LONGEST_LINE:,} bytes.")
    except (OSError, UnreadableTableError):
        return
