"""The result of a rehearsal: a verdict on each thing that was tried, filled in as it gets on."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Verdict(StrEnum):
    """The result of a trial.

    One rule tells a failure from a warning: a trial has failed if it would fail on Kaggle. A hidden test on which the
    notebook fails here is a warning where Kaggle scores the file and runs no hidden test.
    """

    PASSED = "passed"
    STOPPED = "stopped"  # by the notebook itself, with a reason, where that is all that can be asked
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "not tried"


@dataclass(frozen=True)
class Trial:
    """One thing that was tried.

    Attributes:
        name: In a few words.
        tried: What was different, as a sentence.
        verdict: What came of it.
        found: What was seen, or why it failed or was not tried: sentences, the notebook's own words among them.
        when: Where a notebook ended before its end: after how long and in which cell.
        on_kaggle: What would have become of it there, "" where nothing would.
        rows: How many rows the test had that it was tried on.
        seconds: How long the session took.
        peak_memory: The most bytes that it had.
    """

    name: str
    tried: str
    verdict: Verdict
    found: str = ""
    when: str = ""
    on_kaggle: str = ""
    rows: int = 0
    seconds: float = 0.0
    peak_memory: int = 0


@dataclass
class Rehearsal:
    """The results of a rehearsal so far.

    Attributes:
        pair: The name of the pair.
        title: What the competition is called.
        data: What it was tried on, in words.
        report: The page.
        is_code_competition: Whether Kaggle runs the inference notebook again, on a hidden test.
        specimen: Whether it was tried on made-up data.
        isolation: What keeps the notebooks apart from this machine, in words.
        image: The versions that inference ran with, in words.
        training: The trials of the training notebook.
        hidden_test: Those of the inference notebook.
        seconds: How long all of it took.
    """

    pair: str
    title: str
    data: str
    report: Path
    is_code_competition: bool
    specimen: bool = False
    isolation: str = ""
    image: str = ""
    training: list[Trial] = field(default_factory=list)
    hidden_test: list[Trial] = field(default_factory=list)
    seconds: float = 0.0

    def trials(self) -> Iterator[Trial]:
        """Every trial, in the order in which they are told."""
        yield from self.training
        yield from self.hidden_test

    @property
    def failed(self) -> list[Trial]:
        """The trials that would have failed on Kaggle."""
        return [trial for trial in self.trials() if trial.verdict is Verdict.FAILED]

    @property
    def warnings(self) -> list[Trial]:
        """The trials that failed here and would not matter on Kaggle in this competition."""
        return [trial for trial in self.trials() if trial.verdict is Verdict.WARNING]

    @property
    def is_passed(self) -> bool:
        """True if both notebooks were tried and nothing failed."""
        return not self.failed and not self._untried

    @property
    def rerun(self) -> str:
        """A sentence on what Kaggle does with the inference notebook in this competition."""
        if self.is_code_competition:
            return "Kaggle runs the inference notebook again, on a hidden test."
        return (
            "Kaggle scores the submission file in this competition and does not run the notebook again: of the hidden "
            "tests only the first can fail, the others give warnings."
        )

    @property
    def conclusion(self) -> str:
        """The verdict on the pair, as a sentence that agrees with `is_passed` and with the verdicts of the trials."""
        tried = sum(trial.verdict is not Verdict.SKIPPED for trial in self.trials())
        warned = len(self.warnings)
        warnings = f", with {warned} warning{'s' if warned > 1 else ''}" if warned else ""
        if self.failed:
            return f"Not passed: {len(self.failed)} of {tried} trials would have failed on Kaggle{warnings}."
        if self._untried:
            return f"Not passed: {' and '.join(self._untried)} could not be tried{warnings}."
        return f"Passed: none of {tried} trials would have failed on Kaggle{warnings}."

    @property
    def _untried(self) -> list[str]:
        parts = {"training": self.training, "inference": self.hidden_test}
        return [name for name, part in parts.items() if all(trial.verdict is Verdict.SKIPPED for trial in part)]
