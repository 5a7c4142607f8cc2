"""The bounds on the size of a submission, also a compressed one, before anything is made of it."""

from pathlib import Path

from generator.competition.submission import SubmissionError
from generator.competition.tables.compression import opened
from generator.competition.tables.errors import UnreadableTableError
from generator.competition.tables.formats import TableFormat, format_of

LARGEST_SUBMISSION = 1 << 30
_LONGEST_LINE = 1 << 24
_CHUNK = 1 << 20


class SubmissionTooLargeError(SubmissionError):
    """A submission that would fill the memory."""

    def __init__(self, *, what: str, limit: int) -> None:
        super().__init__(f"The submission has {what} of more than {limit:,} bytes.")


def require_bounded(submission: Path) -> None:
    """Makes sure that a file, once unpacked, is not too large, and that no line of a text is.

    Raises:
        SubmissionTooLargeError: It is. What cannot be unpacked is left to whoever reads it.
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
                    raise SubmissionTooLargeError(what="contents", limit=LARGEST_SUBMISSION)
                if has_lines and line > _LONGEST_LINE:
                    raise SubmissionTooLargeError(what="a line", limit=_LONGEST_LINE)
    except (OSError, UnreadableTableError):
        return
