"""A pair, a Kaggle in memory and clocks that stand still, for the tests of the chain."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chain_pair import FakeTime, pair_in, training_output
from fake_kaggle import SAMPLE, FakeKaggle

from generator.competition import builtin
from generator.errors import TandemError
from generator.kaggle.chain.chain import push_pair
from generator.kaggle.chain.execution import ChainResult, PollingPolicy, PushOptions, RunContext
from generator.kaggle.errors import ForbiddenError, NotFoundError, RateLimitedError, UnreachableError
from generator.pair.workspace import PairFolder, Workspace

if TYPE_CHECKING:
    from generator.kaggle.chain.journal import Event

LOST = UnreachableError(doing="push", host="kaggle", reason="gave no answer", was_sent=True)
LIMITED = RateLimitedError(doing="push", retry_after=None)
MISSING = NotFoundError(doing="look", words="", look_at="")
FORBIDDEN = ForbiddenError(doing="look", words="", remedy="look")


class Table:
    """A pair, a Kaggle and clocks, and the commands that a user types."""

    def __init__(self, root: Path, **options: object) -> None:
        self.folder: PairFolder = pair_in(root)
        self.workspace = Workspace(root)
        outputs = {"train": training_output(self.folder), "infer": {"submission.csv": SAMPLE.encode()}}
        self.kaggle = FakeKaggle(outputs, **options)
        self.time = FakeTime()
        self.events: list[Event] = []

    def push(self, **options: object) -> ChainResult:
        request = PushOptions(self.workspace, "digits", **{"submit": True, "verify": False, **options})
        return push_pair(self.kaggle, request, self.around)

    def stops(self, error: type[TandemError], *, match: str | None = None, **options: object) -> TandemError:
        """The error that a push ends with."""
        with pytest.raises(error, match=match) as caught:
            self.push(**options)
        return caught.value

    def as_of_a_real_competition(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From here on, `digits` counts as a competition of the real Kaggle, and that is the one at the table."""
        monkeypatch.delitem(builtin.BUILT_IN, "digits")
        self.kaggle.is_local = False

    @property
    def around(self) -> RunContext:
        return RunContext(self.events.append, PollingPolicy(), self.time)

    @property
    def submissions(self) -> int:
        return len(self.kaggle.made_submissions)

    @property
    def counts(self) -> tuple[int, int]:
        return self.kaggle.pushes, self.submissions


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)
