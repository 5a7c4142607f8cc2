"""The page about the runs of a workspace: a table, and pictures, for each competition."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from generator.competition.metrics import METRICS
from generator.kit_files import PageTemplates
from generator.pair.workspace import Role, Workspace
from generator.run.ledger import RunRecord, run_folder, sort_runs
from generator.run.run_comparison import changes_since_parent, correlations, read_predictions
from generator.text import duration

_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 486.0, 24.0, 262.0  # the edges of what the axes span
_COLOURS = ("#0b6e99", "#c2571a", "#4b7f2a", "#7a4fa3", "#a31545", "#6b5b00")
_MOST_PARAMETERS = 6
_MOST_CORRELATED = 16
_MARGIN = 0.08  # of the range of an axis
_FLATTEST = 1e-6  # of its values; less is no range that numbers can be told apart in
_LARGEST = 1e12  # of a number in a picture
_TICKS = 6


@dataclass(frozen=True)
class LinearAxis:
    """An axis from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> "LinearAxis":
        """An axis with room for all values."""
        low, high = min(values), max(values)
        margin = max((high - low) * _MARGIN, abs(high) * _FLATTEST) or 1.0
        return cls(low - margin, high + margin, start, end)

    def __call__(self, value: float) -> float:
        """The place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The places of round values, and the values."""
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / _TICKS))
        step *= next(factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (step * factor) <= _TICKS)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        values = [number * step for number in range(first, last + 1)]
        return [(self(value), f"{value:,.{digits}f}") for value in values]


class PlotPoint(NamedTuple):
    """A run in a picture; `bar` has the ends of the bar through it, if there is one."""

    x: float
    y: float
    label: str
    colour: str
    bar: tuple[float, float] | None = None


@dataclass(frozen=True)
class ScatterPlot:
    """A picture of points, with what its axes are."""

    title: str
    across_label: str
    up_label: str
    points: tuple[PlotPoint, ...]
    is_square: bool = False

    @property
    def across(self) -> LinearAxis:
        """The horizontal axis."""
        return LinearAxis.over([point.x for point in self.points], _LEFT, _RIGHT)

    @property
    def up(self) -> LinearAxis:
        """The vertical axis."""
        ends = [end for point in self.points for end in point.bar or (point.y,)]
        return LinearAxis.over(ends, _BOTTOM, _TOP)


class HeatCell(NamedTuple):
    """A correlation of two runs, and the strength of its colour from 0 to 1."""

    text: str
    strength: float


@dataclass(frozen=True)
class HeatMap:
    """The correlations of several runs."""

    labels: tuple[str, ...]
    rows: tuple[tuple[HeatCell, ...], ...]


class TableRow(NamedTuple):
    """A run in the table of the page."""

    record: RunRecord
    changes: str
    seconds: float


@dataclass(frozen=True)
class CompetitionRuns:
    """The part of the page on one competition."""

    competition: str
    rows: tuple[TableRow, ...]
    plots: tuple[ScatterPlot, ...]
    heat_map: HeatMap | None
    pairs: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]


def runs_page(workspace: Workspace, records: Sequence[RunRecord]) -> str:
    """The page about runs, a file of its own: no scripts, nothing from elsewhere."""
    parts = [
        _competition_part(workspace, name, [record for record in records if record.competition == name])
        for name in dict.fromkeys(record.competition for record in records)
    ]
    return PageTemplates(Path(__file__).parent, duration=duration).render(
        "runs.html.j2", parts=parts, count=len(records), created=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    )


def _competition_part(workspace: Workspace, competition: str, records: list[RunRecord]) -> CompetitionRuns:
    ranking = sort_runs(records)
    names = list(dict.fromkeys(record.pair for record in records))
    colours = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(names)}
    # Scores by different metrics are no one axis.
    metric = ranking[0].metric
    candidates = [record for record in ranking if record.metric == metric and record.cv is not None]
    candidates = [record for record in candidates if abs(record.cv or 0.0) < _LARGEST]
    board = _leaderboard_plot(candidates, colours)
    parameters = _parameter_plots(candidates, colours)
    heat_map = _heat_map(workspace, candidates)
    remarks = []
    if board is None:
        remarks.append("CV against leaderboard: no two runs have a score on the leaderboard yet.")
    if not parameters:
        remarks.append("Score against a parameter: no number among the parameters differs between runs.")
    if heat_map is None:
        remarks.append("Correlation: fewer than two runs have out-of-fold predictions of the same examples.")
    return CompetitionRuns(
        competition=competition,
        rows=tuple(
            TableRow(record, "; ".join(changes_since_parent(record, records)), sum(record.seconds.values()))
            for record in ranking
        ),
        plots=tuple(([board] if board else []) + parameters),
        heat_map=heat_map,
        pairs=tuple(colours.items()),
        remarks=tuple(remarks),
    )


def _leaderboard_plot(records: Sequence[RunRecord], colours: dict[str, str]) -> ScatterPlot | None:
    """CV against the public score, or against the private one where more runs have that."""
    boards = [("public", "public_score"), ("private", "private_score"), ("hidden test", "hidden_test")]
    entries = {
        label: [
            (record, float(getattr(record, name)))
            for record in records
            if getattr(record, name) is not None and abs(getattr(record, name)) < _LARGEST
        ]
        for label, name in boards
    }
    label = max(entries, key=lambda name: len(entries[name]))
    if len(entries[label]) < 2:  # noqa: PLR2004 - a single point shows nothing
        return None
    points = [PlotPoint(record.cv or 0.0, score, record.name, colours[record.pair]) for record, score in entries[label]]
    return ScatterPlot(
        f"CV against {'leaderboard' if label != 'hidden test' else label}",
        f"CV ({records[0].metric})",
        f"{label} score" if label != "hidden test" else "hidden-test score",
        tuple(points),
    )


def _parameter_plots(records: Sequence[RunRecord], colours: dict[str, str]) -> list[ScatterPlot]:
    """Score against each parameter of training that is a number and varies; those with the most values first."""
    names = dict.fromkeys(name for record in records for name in record.parameters.get(Role.TRAIN, {}))
    plots = []
    for name in names:
        values = [(record, record.values(Role.TRAIN).get(name)) for record in records]
        points = [
            PlotPoint(float(value), record.cv or 0.0, record.name, colours[record.pair], score_bar(record))
            for record, value in values
            if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
        ]
        if len({point.x for point in points}) > 1:
            plots.append(ScatterPlot(f"Score against {name}", name, f"CV ({records[0].metric})", tuple(points)))
    plots.sort(key=lambda plot: -len({point.x for point in plot.points}))
    return plots[:_MOST_PARAMETERS]


def score_bar(record: RunRecord) -> tuple[float, float] | None:
    """The score, less and more by a standard deviation, within the bounds of the metric as far as they are known."""
    if not record.spread:
        return None
    score, deviation = record.cv or 0.0, min(record.spread, _LARGEST)
    low, high = score - deviation, score + deviation
    name = record.metric.partition("@")[0]
    facts = METRICS.get(name) or METRICS.get(f"{name}_at_k")
    if facts is None:
        return low, high
    # No metric of the catalog is above 1 where higher is better, or below 0 where lower is.
    return (low, max(score, min(high, 1.0))) if facts.higher_is_better else (min(score, max(low, 0.0)), high)


def _heat_map(workspace: Workspace, records: Sequence[RunRecord]) -> HeatMap | None:
    members = []
    for record in records:
        predictions = read_predictions(run_folder(workspace, record.pair, record.number))
        if predictions is not None:
            members.append((record, predictions))
        if len(members) == _MOST_CORRELATED:
            break
    if len(members) < 2:  # noqa: PLR2004 - a run with itself
        return None
    table = correlations([predictions for _, predictions in members])
    numbers = [value for row in table for value in row if value is not None]
    low = min(numbers, default=0.0)
    rows = [
        tuple(
            HeatCell("" if value is None else f"{value:.3f}", 0.0 if value is None else _share(value, low))
            for value in row
        )
        for row in table
    ]
    return HeatMap(tuple(record.name for record, _ in members), tuple(rows))


def _share(value: float, low: float) -> float:
    return (value - low) / (1 - low) if low < 1 else 1.0
