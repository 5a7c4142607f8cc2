"""Following the log of a session that runs: server-sent events, taken up again where the connection broke."""

from collections.abc import Iterator

from generator.kaggle.api_types import LogLine
from generator.kaggle.errors import KaggleError, NotFoundError, UnreachableError
from generator.kaggle.http_errors import Operation
from generator.kaggle.kernels import Kernels
from generator.kaggle.log_events import END, log_events, log_line
from generator.kaggle.retries import TRANSIENT
from generator.kaggle.transport import StreamedResponse
from generator.untrusted import JsonObject

_FAILURES = 5  # in a row, without a new line between them
_LARGEST_LOG = 256 << 20  # bytes of one connection
_LARGEST_LINE = 4 << 20  # bytes


class LogStream(Kernels):
    """Follows the newest session of a kernel."""

    _silence = 60.0  # seconds without a byte after which the session is asked whether it is over

    def log_lines(self, ref: str) -> Iterator[LogLine]:
        """The log of the newest session as it grows, reconnecting by itself, to its end; never twice the same line."""
        seen = _SeenLines()
        failures = 0
        while True:
            before = seen.count
            try:
                yield from seen.new(self._connection(ref))
            except _EndOfLog:
                return
            except TRANSIENT as error:
                failures = 0 if seen.count > before else failures
                # Silence is what a long epoch sounds like; anything else that lasts is worth saying.
                is_silence = isinstance(error, UnreachableError) and error.timed_out
                if not is_silence or self._is_over(ref):
                    failures += 1
                if failures >= _FAILURES:
                    raise
            self._retries.sleep(1.0)

    def _connection(self, ref: str) -> Iterator[LogLine]:
        operation = Operation(f"follow the log of {ref}")
        path = f"kernels/logs/stream/{ref.strip('/')}"
        with self._stream(operation, path, read_timeout=self._silence) as stream:
            if stream.media_type == "text/event-stream":
                yield from _events(stream)
                # Without its end the stream broke, though the connection was closed in good order.
                raise self._unexpected(operation, "is a log without its end")
            if stream.media_type == "text/html":
                raise self._unexpected(operation, "is text/html where a log was expected")
            yield from log_events(stream.read(_LARGEST_LOG).decode("utf-8", "replace"))
            raise _EndOfLog

    def _is_over(self, ref: str) -> bool:
        try:
            return self.session_status(ref, None).state.is_final
        except NotFoundError:
            return True
        except KaggleError:
            return False


class _SeenLines:
    """The lines that came already of a log, which every connection tells anew from its start, or from what is left."""

    def __init__(self) -> None:
        self.count = 0
        self._first: LogLine | None = None
        self._last_seconds = 0.0

    def new(self, lines: Iterator[LogLine]) -> Iterator[LogLine]:
        """The lines that did not come in an earlier connection."""
        before, last_seconds = self.count, self._last_seconds
        is_whole = True
        for number, line in enumerate(lines, start=1):
            if number == 1:
                # Of a long log only the end is kept: then the numbers of lines say nothing, and their times do.
                is_whole = self._first in (None, line)
                self._first = self._first or line
            if number > before if is_whole else line.seconds > last_seconds:
                self.count += 1
                self._last_seconds = line.seconds
                yield line


class _EndOfLog(Exception):  # noqa: N818 - the good end of a stream, not an error
    """Nothing more comes."""


def _events(stream: StreamedResponse) -> Iterator[LogLine]:
    total = 0
    rest = b""
    for chunk in stream.chunks:
        total += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        if total > _LARGEST_LOG or len(rest) > _LARGEST_LINE:
            return
        for line in lines:
            yield from _event(line)


def _event(line: bytes) -> Iterator[LogLine]:
    text = line.decode("utf-8", "replace").strip()
    if not text.startswith("data:"):
        return
    data = text.removeprefix("data:").strip()
    if data == END:
        raise _EndOfLog
    if event := log_line(JsonObject.parsed(data)):
        yield event
