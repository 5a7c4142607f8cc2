"""The result of a rehearsal: a verdict on each thing that was tried, filled in as it gets on."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Verdict(StrEnum):
    """What can come of a trial."""

    PASSED = "passed"
    STOPPED = "stopped"  # by the notebook itself, with a reason, where that is all that can be asked
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
        """What would have failed on Kaggle, which in some competitions is less than what failed here."""
        return [trial for trial in self.trials() if trial.verdict is Verdict.FAILED and trial.on_kaggle]

    @property
    def is_passed(self) -> bool:
        """True if both notebooks were tried and nothing failed."""
        parts = (self.training, self.hidden_test)
        was_tried = [any(trial.verdict is not Verdict.SKIPPED for trial in part) for part in parts]
        return all(was_tried) and not self.failed
