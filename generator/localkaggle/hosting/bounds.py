"""How large a submission may be, also one that is compressed, before anything is made of it."""

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from generator.competition.submission import SubmissionError

LARGEST_SUBMISSION = 1 << 30
_LONGEST_LINE = 1 << 24
_CHUNK = 1 << 20


class SubmissionTooLargeError(SubmissionError):
    """A submission that would fill the memory."""

    def __init__(self, *, what: str, limit: int) -> None:
        super().__init__(f"The submission has {what} of more than {limit:,} bytes.")


def require_bounded(submission: Path) -> None:
    """Makes sure that a file, once unpacked, is not too large, and that none of its lines is.

    Raises:
        SubmissionTooLargeError: It is. What cannot be unpacked is left to whoever reads it.
    """
    size = line = 0
    try:
        with _opened(submission) as file:
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                newline = chunk.rfind(b"\n")
                line = line + len(chunk) if newline < 0 else len(chunk) - newline - 1
                if size > LARGEST_SUBMISSION:
                    raise SubmissionTooLargeError(what="contents", limit=LARGEST_SUBMISSION)
                if line > _LONGEST_LINE:
                    raise SubmissionTooLargeError(what="a line", limit=_LONGEST_LINE)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes as `generator.competition.submission` reads them: of a zip the first file."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if not names:
                raise EOFError
            with archive.open(names[0]) as file:
                yield file
    elif path.suffix == ".gz":
        with gzip.open(path) as compressed:
            yield cast("IO[bytes]", compressed)
    else:
        with path.open("rb") as plain:
            yield plain
