"""The state of a chain: what it pushed, saw, checked and submitted; `replay` computes it from the journal."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from generator.kaggle.api_types import SessionState
from generator.pair.workspace import Role
from generator.untrusted import JsonObject


class Step(StrEnum):
    """The steps of a chain, to which it can be taken back."""

    TRAIN = "train"
    INFER = "infer"
    SUBMIT = "submit"


class Outcome(StrEnum):
    """A chain in one word."""

    UNFINISHED = "unfinished"
    FAILED = "failed"
    READY = "ready to submit"
    BY_HAND = "to be submitted by hand"
    SCORED = "scored"
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Begun:
    """The decisions that a chain began with; `target` is `local` or `kaggle`."""

    at: datetime
    pair: str
    pair_id: str
    target: str
    address: str
    account: str
    competition: str
    title: str
    is_code_competition: bool
    handoff: str
    submission_file: str
    commit: str
    parameters: JsonObject
    kit: str


@dataclass(frozen=True)
class SeenState:
    """When a session was first seen in a state."""

    state: SessionState
    at: datetime


@dataclass(frozen=True)
class Push:
    """A push that was announced; `version` is 0 as long as it is not known whether it was made.

    `source` is the digest of the kernel's folder, `sent` that of the cells that were sent.
    """

    role: Role
    ref: str
    source: str
    sent: str
    baseline: int
    machine_shape: str
    announced: datetime
    version: int = 0
    url: str = ""
    pushed: datetime | None = None
    seen: tuple[SeenState, ...] = ()

    @property
    def is_open(self) -> bool:
        """True as long as the answer to the push is not known."""
        return self.version == 0

    @property
    def last(self) -> SessionState | None:
        """The state the session was last seen in."""
        return self.seen[-1].state if self.seen else None

    def first_seen(self, *states: SessionState) -> datetime | None:
        """When the session was first seen in one of these states."""
        return next((seen.at for seen in self.seen if seen.state in states), None)

    @property
    def queued(self) -> timedelta | None:
        """The time that the session waited for a machine, as far as it was watched."""
        started = self.first_seen(SessionState.RUNNING) or self.ended
        return max(started - self.pushed, timedelta()) if started and self.pushed else None

    @property
    def ran(self) -> timedelta | None:
        """The time that the session ran, as far as it was watched."""
        started = self.first_seen(SessionState.RUNNING)
        return max(self.ended - started, timedelta()) if started and self.ended else None

    @property
    def ended(self) -> datetime | None:
        """When the session was seen to be over."""
        return self.first_seen(SessionState.COMPLETE, SessionState.ERROR, SessionState.CANCELLED)


@dataclass(frozen=True)
class Upload:
    """A dataset or model version that was announced; `version` is 0 as long as it is not known to be made."""

    what: str
    kind: str
    ref: str
    digest: str
    baseline: int
    announced: datetime
    version: int = 0

    @property
    def is_open(self) -> bool:
        """True as long as the answer to the upload is not known."""
        return self.version == 0


@dataclass(frozen=True)
class Submitted:
    """A submission that was announced; `reference` is 0 as long as it is not known to be made."""

    tag: str
    announced: datetime
    reference: int = 0

    @property
    def is_open(self) -> bool:
        """True as long as the answer to the submission is not known."""
        return self.reference == 0


@dataclass(frozen=True)
class ByHand:
    """The page and the button of a submission that Kaggle takes in a browser only."""

    page: str
    button: str


@dataclass(frozen=True)
class LeaderboardScore:
    """The scores that Kaggle gave the submission."""

    at: datetime
    public: float | None
    private: float | None


@dataclass(frozen=True)
class Failure:
    """A step that failed, in the words of its error."""

    step: Step
    message: str
    error: str
    at: datetime


@dataclass(frozen=True)
class QuotaSeen:
    """Accelerator hours used, in seconds, as the account had them at a moment."""

    at: datetime
    gpu: float | None
    tpu: float | None


@dataclass(frozen=True)
class State:
    """A chain, as far as it has come; with `is_repaired` it may have come further than its journal knows."""

    begun: Begun | None = None
    pushes: Mapping[Role, Push] = field(default_factory=dict)
    earlier: tuple[Push, ...] = ()
    trained: JsonObject | None = None
    uploads: Mapping[str, Upload] = field(default_factory=dict)
    predicted: JsonObject | None = None
    submitted: Submitted | None = None
    by_hand: ByHand | None = None
    score: LeaderboardScore | None = None
    failure: Failure | None = None
    quotas: tuple[QuotaSeen, ...] = ()
    is_finished: bool = False
    is_repaired: bool = False
    last: datetime | None = None

    @property
    def outcome(self) -> Outcome:
        """The chain in one word."""
        if self.failure is not None:
            return Outcome.FAILED
        if self.score is not None:
            return Outcome.SCORED
        if self.by_hand is not None:
            return Outcome.BY_HAND
        return Outcome.READY if self.predicted is not None and self.submitted is None else Outcome.UNFINISHED

    @property
    def is_at_rest(self) -> bool:
        """True if nothing is under way: all that was asked for is done."""
        return self.outcome in (Outcome.READY, Outcome.SCORED, Outcome.BY_HAND)
