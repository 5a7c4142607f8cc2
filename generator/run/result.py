"""The result of a run, filled in as it gets on."""

from dataclasses import dataclass, field
from pathlib import Path

from generator.competition.submission import SubmissionSummary
from generator.errors import TandemError
from generator.pair.handover import HandOver, Score
from generator.pair.workspace import Role
from generator.run.execution import ExecutedNotebook
from generator.run.parameters import NotebookParameters


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
    failure: TandemError | None = None

    @property
    def out_of_fold(self) -> Score | None:
        """The score that training measured itself."""
        return self.handover.out_of_fold if self.handover is not None else None
