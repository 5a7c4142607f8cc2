"""Time and memory of inference at the size of the real test, from what it took on smaller ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression

from generator.rehearsal.result import Trial, Verdict
from generator.sessions.runner import SessionOrder

_MOST = 10**12  # more rows than this no test has
_GIB = 2**30


@dataclass(frozen=True)
class Line:
    """A straight line: `start` for a test without rows, and `slope` for each of them."""

    start: float
    slope: float

    def at(self, rows: int) -> float:
        """The value at a number of rows."""
        return self.start + self.slope * rows

    def rows_within(self, limit: float) -> int:
        """The most rows at which the value is within a limit."""
        return _MOST if self.slope <= 0 else max(0, min(_MOST, int((limit - self.start) / self.slope)))


def line_through(rows: Sequence[float], values: Sequence[float]) -> Line:
    """The line of least squares through points of two different numbers of rows at least; it does not fall."""
    slope, start = linear_regression(rows, values)
    return Line(start, slope) if slope > 0 else Line(fmean(values), 0.0)


def size_trial(trials: Sequence[Trial], session: SessionOrder, *, rows: int) -> Trial:
    """The trial of the limits, which is computed from those that passed.

    Args:
        trials: What was tried on tests of different sizes.
        session: A session with the limits of those on Kaggle.
        rows: How many rows the real test is taken to have.
    """
    name, tried = "time and memory", f"What they would be for {rows:,} rows, from what they were for fewer."
    done = [trial for trial in trials if trial.verdict is Verdict.PASSED and trial.rows and trial.seconds]
    if len({trial.rows for trial in done}) < 2:  # noqa: PLR2004 - a line
        return Trial(name, tried, Verdict.SKIPPED, "It takes two tests of different sizes that were answered.")
    sizes = [trial.rows for trial in done]
    time = line_through(sizes, [trial.seconds for trial in done])
    memory = line_through(sizes, [trial.peak_memory for trial in done])
    seconds, peak, longest = time.at(rows), memory.at(rows), session.time_limit.total_seconds()
    fits = min(time.rows_within(longest), memory.rows_within(session.memory_limit))
    room = "No number of rows comes near a limit." if fits == _MOST else f"About {_rounded(fits):,} rows would fit."
    taken = f"{peak / _GIB:.1f} of {session.memory_limit / _GIB:.0f} GiB"
    what = f"About {_hours(seconds)} of {_hours(longest)}, and {taken}. {room}"
    trial = Trial(name, tried, Verdict.PASSED, what, rows=rows)
    if seconds <= longest and peak <= session.memory_limit:
        return trial
    is_slow = time.rows_within(longest) < memory.rows_within(session.memory_limit)
    word = "Notebook Timeout" if is_slow else "Notebook Exceeded Allowed Compute"
    when = f"after {_hours(longest)}" if is_slow else "when its memory is full"
    return Trial(name, tried, Verdict.FAILED, what, when, on_kaggle=f"{word}.", rows=rows)


def _hours(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"  # noqa: PLR2004 - two hours


def _rounded(rows: int) -> int:
    """The number with two digits that say something."""
    unit: int = 10 ** max(0, len(str(rows)) - 2)
    return rows // unit * unit
