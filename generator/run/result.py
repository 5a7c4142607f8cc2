"""The result of a run, filled in as it gets on."""

from dataclasses import dataclass, field
from pathlib import Path

from generator.competition.baseline import Baseline
from generator.competition.builtin import BuiltIn
from generator.competition.metrics import UnknownMetricError, parse_metric
from generator.competition.submission import SubmissionSummary
from generator.errors import TandemError
from generator.pair.handover import HandOver, Score
from generator.pair.workspace import PairFolder, Role
from generator.run.execution import ExecutedNotebook, NotebookParameters
from generator.run.ledger import RunRecord


@dataclass
class RunResult:
    """The results of a run so far; a score is None where there is none to be had."""

    pair: str
    title: str
    is_smoke: bool
    is_specimen: bool
    report: Path
    seconds: float = 0.0
    notebooks: dict[Role, ExecutedNotebook] = field(default_factory=dict)
    parameters: dict[Role, NotebookParameters] = field(default_factory=dict)
    handover: HandOver | None = None
    submission: SubmissionSummary | None = None
    hidden_test: Score | None = None
    baselines: tuple[Baseline, ...] = ()
    failure: TandemError | None = None
    folder: PairFolder | None = None  # whose notebooks these are, as they were written
    record: RunRecord | None = None
    notes: list[str] = field(default_factory=list)  # on the ledger
    warnings: list[str] = field(default_factory=list)

    @property
    def is_measure(self) -> bool:
        """True if its scores say something of the model: it ran to its end, on all of the competition's own data."""
        is_whole = self.handover is not None and self.handover.is_complete and self.failure is None
        return is_whole and not self.is_smoke and not self.is_specimen

    @property
    def out_of_fold(self) -> Score | None:
        """The score that training measured itself."""
        return self.handover.out_of_fold if self.handover is not None else None

    @property
    def is_higher_better(self) -> bool | None:
        """Whether a larger out-of-fold score is better; None without a score, or for a metric that is not the kit's."""
        if self.out_of_fold is None:
            return None
        try:
            return parse_metric(self.out_of_fold.metric)[0].higher_is_better
        except UnknownMetricError:
            return None

    def score_hidden_test(self, built_in: BuiltIn, submission: Path) -> None:
        """Score a submission on the hidden test of a built-in competition."""
        self.hidden_test = Score(metric=str(built_in.task.metric), value=built_in.score(submission))
