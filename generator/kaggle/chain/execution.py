"""A chain under way: asking Kaggle again and again, and sending exactly once."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from generator.accelerators import AcceleratorKind
from generator.errors import TandemError
from generator.files import writing
from generator.kaggle.api_types import Quota
from generator.kaggle.chain.errors import NotAcceptedError, StepError, WaitedInVainError
from generator.kaggle.chain.journal import (
    AnnouncedSubmission,
    AnnouncedUpload,
    ChainSetup,
    ChainState,
    ChainStep,
    EntryKind,
    Event,
    EventKind,
    Journal,
    Listener,
    Push,
    replay_journal,
    state_in,
)
from generator.kaggle.errors import (
    CredentialsError,
    ForbiddenError,
    KaggleError,
    NotFoundError,
    NotKaggleError,
    RateLimitedError,
    ServerFailedError,
    SessionLimitError,
    UnreachableError,
)
from generator.kaggle.gateway import DatasetApi, Kaggle, ModelApi
from generator.pair.folder import existing_pair
from generator.pair.workspace import PairFolder, Workspace

if TYPE_CHECKING:
    from generator.pair.spec import PairSpec


# The options of a chain, and the pair that they are for.


class Handoff(StrEnum):
    """The ways of the weights from one notebook to the other."""

    KERNEL = "kernel"
    DATASET = "dataset"
    MODEL = "model"


@dataclass(frozen=True)
class PushOptions:
    """The options of `tandem push` and `tandem submit`.

    Attributes:
        workspace: Where the pair is.
        pair: Its name.
        submit: Whether to submit, and to wait for the score.
        may_train: Whether a training notebook that changed since the last chain is pushed.
        back_to: The step to take again, with all behind it.
        restart: Whether to begin a new chain, whatever there is of the last one.
        repair: Whether to go on from a damaged journal, with what Kaggle says was done.
        handoff: How the weights travel; None for as the chain began, which is by the kernel's output if there is one.
        offline_wheels: Whether to take along what the inference notebook imports beyond Kaggle's image.
        message: What stands in the submission before the kit's tag.
        show_log: Whether to show the sessions' own lines.
        over_edits: Whether to push over a version that was edited on Kaggle.
        verify: Whether errors of `tandem check` refuse a push.
        allow: Rules of `tandem check` whose findings are passed by, by their ids.
        hours: The limit of each session; None for the one that earlier sessions suggest.
        anyway: Whether to push what is likely to take more than is left of the week's quota.
        may_cost_money: Whether a session may take more than the free quota of an account that pays for the rest.
    """

    workspace: Workspace
    pair: str
    submit: bool = False
    may_train: bool = True
    back_to: ChainStep | None = None
    restart: bool = False
    repair: bool = False
    handoff: Handoff | None = None
    offline_wheels: bool = False
    message: str = ""
    show_log: bool = False
    over_edits: bool = False
    verify: bool = True
    allow: tuple[str, ...] = ()
    hours: float | None = None
    anyway: bool = False
    may_cost_money: bool = False

    @cached_property
    def folder(self) -> PairFolder:
        """The folder of the pair.

        Raises:
            PairError: There is no pair of this name.
        """
        return existing_pair(self.workspace, self.pair)

    @cached_property
    def spec(self) -> "PairSpec":
        """The specification that the pair's choices amount to.

        Raises:
            PairError: There is no pair of this name, or its choices cannot be used.
        """
        from generator.pair.folder import read_pair_spec

        return read_pair_spec(self.folder)


# Asking Kaggle again and again: how long the pauses are, what is tolerated for how long, and by which clocks.
#
# Two clocks, because a laptop sleeps: the monotonic one stands still meanwhile and measures what was waited for in
# vain; the wall clock goes on and dates what is written down.


_ASLEEP_SECONDS = 30.0
_SILENCE = (UnreachableError, ServerFailedError, NotKaggleError, RateLimitedError)
"""Trouble that passes by itself: no answer, or none of Kaggle's API."""

T = TypeVar("T")


class ChainClock:
    """This machine's clocks."""

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)


@dataclass(frozen=True)
class PollingPolicy:
    """Seconds, and numbers of tries.

    Attributes:
        first: The pause before the second look at something.
        growth: How much longer each pause is than the one before.
        longest: The longest pause.
        missing: How long a kernel that was pushed may be answered with 404.
        forbidden_timeout: How long it may be answered with 401 or 403.
        silent: How long Kaggle may be out of reach, or answer nonsense.
        commit: How long a push or a submission whose answer was lost may take to appear.
        settle: How long a session may be over before its files are listed.
        confirm: How often a state that is final at the first look has to be seen; it may be that of an older version.
        attempts: How often something is tried whose answer says that it was not done.
        busy_timeout: How long to wait while as many sessions run as the account may have.
        ready: How long a dataset may take to be ready.
        queue: How long a session may take from its push to its end; Kaggle's queue for a TPU can take many hours.
    """

    first: float = 3.0
    growth: float = 1.4
    longest: float = 60.0
    missing: float = 300.0
    forbidden_timeout: float = 600.0
    silent: float = 6 * 3600.0
    commit: float = 45.0
    settle: float = 300.0
    confirm: int = 3
    attempts: int = 3
    busy_timeout: float = 12 * 3600.0
    ready: float = 3600.0
    queue: float = 72 * 3600.0


LOCAL_POLLING = PollingPolicy(
    first=0.1,
    longest=1.0,
    missing=20.0,
    forbidden_timeout=20.0,
    silent=60.0,
    commit=2.0,
    settle=15.0,
    busy_timeout=600.0,
    ready=120.0,
)
"""A local Kaggle answers at once, and whoever waits for it sits in front of it."""


@dataclass
class Poll:
    """One thing that is asked about until it is as hoped: pauses that grow, and a limit for each sort of trouble.

    Attributes:
        policy: How long to wait.
        clock: By which clocks.
        tell: Told of trouble, once for each sort.
        subject: What is asked about, for messages.
        url: The page where somebody can look at it.
        is_new: Whether Kaggle may not know of it yet.
    """

    policy: PollingPolicy
    clock: ChainClock
    tell: Callable[[str], None]
    subject: str
    url: str
    is_new: bool = False

    def __post_init__(self) -> None:
        self._start_time = self.clock.monotonic()
        self._pause = self.policy.first
        self._reported_trouble = ""
        # The sort of trouble that there is at the moment, and since when.
        self._trouble: tuple[str, float] | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the beginning, without those in which the machine was suspended."""
        return self.clock.monotonic() - self._start_time

    def ask(self, question: Callable[[], T]) -> T:
        """Asks until there is an answer.

        Raises:
            WaitedInVainError: There was none for longer than is tolerated.
            TandemError: The answer is an error that does not pass.
        """
        while True:
            try:
                answer = question()
            except TandemError as error:
                self.tolerate(error)
            else:
                self._trouble, self._reported_trouble = None, ""
                return answer

    def tolerate(self, error: TandemError) -> None:
        """Pauses after an error that may pass.

        Raises:
            TandemError: This one does not pass.
            WaitedInVainError: It should have passed by now.
        """
        trouble, limit, remedy = self._tolerance(error)
        now = self.clock.monotonic()
        if self._trouble is None or self._trouble[0] != trouble:
            self._trouble = trouble, now
        if now - self._trouble[1] >= limit:
            raise self._in_vain(error.message.rstrip("."), remedy) from error
        if self._reported_trouble != trouble:
            self.tell(error.message)
            self._reported_trouble = trouble
        self.pause()

    def pause(self) -> None:
        """Pauses; a machine that was suspended meanwhile looks again at once, and has waited for nothing in vain."""
        wall, monotonic = self.clock.now(), self.clock.monotonic()
        self.clock.sleep(self._pause)
        self._pause = min(self._pause * self.policy.growth, self.policy.longest)
        asleep = (self.clock.now() - wall).total_seconds() - (self.clock.monotonic() - monotonic)
        if asleep > _ASLEEP_SECONDS:
            self.hurry()
            self.tell("This machine was asleep. Checking again.")
            self._trouble = None

    def hurry(self) -> None:
        """Goes back to short pauses: something changed, so something more may change soon."""
        self._pause = self.policy.first

    def give_up_after(self, seconds: float, *, trouble: str, remedy: str = "") -> None:
        """Makes sure that this has not taken too long.

        Raises:
            WaitedInVainError: It has.
        """
        if self.seconds >= seconds:
            raise self._in_vain(trouble, remedy)

    def _in_vain(self, trouble: str, remedy: str) -> WaitedInVainError:
        return WaitedInVainError(subject=self.subject, trouble=trouble, url=self.url, remedy=remedy)

    def _tolerance(self, error: TandemError) -> tuple[str, float, str]:
        """The sort of trouble, how long it may last, and what helps behind that."""
        if isinstance(error, _SILENCE):
            return "silent", self.policy.silent, "Check the connection."
        if isinstance(error, SessionLimitError):
            return "crowded", self.policy.busy_timeout, "Wait for other sessions of this account to end."
        if self.is_new and isinstance(error, NotFoundError):
            return "missing", self.policy.missing, "If it is not there, push it again with --from."
        if self.is_new and isinstance(error, ForbiddenError | CredentialsError):
            remedy = "If that page does not open either, the kernel is wedged: delete it there, and use --restart."
            return "forbidden", self.policy.forbidden_timeout, remedy
        raise error


E = TypeVar("E", bound=TandemError)


@dataclass(frozen=True)
class RunContext:
    """The surroundings of a chain: who is told, how long it waits, and by which clocks."""

    listener: Listener = lambda _: None
    polling: PollingPolicy = field(default_factory=PollingPolicy)
    clock: ChainClock = field(default_factory=ChainClock)


class ChainExecution:
    """A chain that is being executed: what every step needs.

    Attributes:
        kaggle: Where the chain goes.
        journal: What it has done.
        state: What the journal amounts to.
        polling: How long it waits.
        clock: By which clocks.
    """

    def __init__(self, kaggle: Kaggle, journal: Journal, context: RunContext) -> None:
        self.kaggle = kaggle
        self.journal = journal
        self.polling, self.clock = context.polling, context.clock
        self._listener = context.listener
        self.state: ChainState = state_in(journal)
        self._entries = list(journal.entries())

    @property
    def setup(self) -> ChainSetup:
        """The decisions that the chain began with."""
        assert self.state.setup is not None  # noqa: S101 - the first line of every journal
        return self.state.setup

    @property
    def step(self) -> ChainStep:
        """The step that the chain is at."""
        if self.state.training is None:
            return ChainStep.TRAIN
        return ChainStep.INFER if self.state.prediction is None else ChainStep.SUBMIT

    def page(self, path: str) -> str:
        """A page of this Kaggle for people, such as `code/owner/slug`."""
        return f"{self.kaggle.address if self.kaggle.is_local else 'https://www.kaggle.com'}/{path}"

    def folder(self, *names: str) -> Path:
        """The folder of what this chain fetched, or one in it, which is made if it is not there.

        Raises:
            FileWriteError: It cannot be made.
            UnsafePlaceError: It is a link.
        """
        folder = self.journal.folder.joinpath(*names)
        with writing(folder):
            self.journal.files.make_folder(folder)
        return folder

    def write(self, event: EntryKind, /, **fields: object) -> None:
        """Adds a line to the journal; what it announces may be done once this returns."""
        self._entries.append(self.journal.append(event, at=self.clock.now(), **fields))
        self.state = replay_journal(self._entries)

    def tell(self, step: str, text: str, *, kind: EventKind = EventKind.NOTE, **fields: object) -> None:
        """Tells whoever listens."""
        self._listener(Event(kind, step, text, fields))

    def fail(self, step: ChainStep, error: E) -> E:
        """Writes down that a step failed, and returns the error to be raised."""
        self.write(EntryKind.FAILED, step=str(step), message=error.message, error=type(error).__name__)
        if isinstance(error, StepError):
            error.step = str(step)
        return error

    @contextmanager
    def record_failures(self, step: ChainStep) -> Iterator[None]:
        """Writes down what goes wrong with a step, unless that was done already."""
        try:
            yield
        except StepError as error:
            if self.state.failure is None:
                self.fail(step, error)
            raise

    def note_quota(self, quota: Quota, kind: AcceleratorKind) -> None:
        """Writes down the accelerator time that was used, and tells what is left of this kind."""
        gpu, tpu = ((entry.usage if entry else timedelta()).total_seconds() for entry in (quota.gpu, quota.tpu))
        self.write(EntryKind.QUOTA, gpu=gpu, tpu=tpu)
        entry = quota.tpu if kind is AcceleratorKind.TPU else quota.gpu
        if entry is not None:
            text = f"{entry.left.total_seconds() / 3600:.1f} hours of {kind.upper()} are left this week"
            self.tell("quota", text, gpu_seconds=gpu, tpu_seconds=tpu)

    def note_final_quota(self, kinds: Collection[AcceleratorKind]) -> None:
        """Reads and writes down the time that was used in the end, which is good to know, and nothing to fail for.

        Args:
            kinds: The kinds of accelerator of both kernels; a session without one has no quota.
        """
        kind = next((kind for kind in (AcceleratorKind.TPU, AcceleratorKind.GPU) if kind in kinds), None)
        if kind is None:
            return
        try:
            self.note_quota(self.kaggle.kernels.quota(), kind)
        except KaggleError as error:
            self.tell("quota", f"The quota cannot be read: {error.message}")

    def finish(self) -> None:
        """Writes down that the chain has its score, and nothing is left to be done."""
        self.write(EntryKind.FINISHED)

    def uploads(self, kind: Handoff) -> DatasetApi | ModelApi:
        """The part of Kaggle that takes versions of this kind."""
        return self.kaggle.datasets if kind is Handoff.DATASET else self.kaggle.models

    def poll(self, subject: str, *, url: str, is_new: bool = False) -> Poll:
        """Asks about something for as long as it takes; `is_new` is what Kaggle may not know of yet."""
        return Poll(self.polling, self.clock, lambda text: self.tell(self.step, text), subject, url, is_new)

    def read(self, subject: str, ask: Callable[[], T], *, url: str) -> T:
        """Asks Kaggle something that may be asked again, until there is an answer.

        Raises:
            WaitedInVainError: It was out of reach for longer than is tolerated.
            KaggleError: It answered, and that will not change by waiting.
        """
        return self.poll(subject, url=url).ask(ask)


@dataclass(frozen=True)
class ChainResult:
    """A chain as a command left it; `has_advanced` says whether there was anything to do."""

    journal: Journal
    state: ChainState
    has_advanced: bool


# The exactly-once protocol: announce, send, and look for it after a lost answer or a crash before sending again.
#
# Kaggle's API knows no idempotency keys. So what changes something there is written down before it is sent, with
# what is needed to recognise it; only what Kaggle is known not to have is sent again.


Announcement = TypeVar("Announcement", Push, AnnouncedSubmission, AnnouncedUpload)


class ExactlyOnce(ABC, Generic[Announcement]):
    """Something that Kaggle is to make exactly once, whatever happens to the answer.

    Args:
        chain: The chain that wants it.
        step: The step that wants it.
        what: What it is, for the message that Kaggle did not take it.
        poll: Waits where an attempt was refused for a reason that passes.
    """

    _noun: str
    _withdrawn: EntryKind
    """The line of the journal that says that what was announced was not made."""

    def __init__(self, chain: ChainExecution, step: ChainStep, *, subject: str, poll: Poll) -> None:
        self._chain, self._step, self._subject, self._poll = chain, step, subject, poll
        self._key: dict[str, str] = {}  # the fields by which that line says what was announced
        self._last = ""

    def execute(self) -> Announcement:
        """Makes it, or finds what an earlier attempt made.

        Raises:
            NotAcceptedError: Kaggle did not take it, several times.
            KaggleError: Kaggle refused, and would refuse again.
        """
        attempts = 0
        if self._chain.state.is_repaired and self._current is None:
            self._adopt()
        while attempts < self._chain.polling.attempts:
            current = self._current
            if current is not None and not current.is_open:
                return current
            if current is not None:
                self._check_outcome()
            elif not self._attempt():
                attempts += 1
        raise NotAcceptedError(subject=self._subject, attempts=attempts, last=self._last)

    @property
    @abstractmethod
    def _current(self) -> Announcement | None:
        """The journal's knowledge of it: announced, or made as well; None before."""

    @abstractmethod
    def _announce(self) -> None:
        """Writes down what will be sent."""

    @abstractmethod
    def _send(self) -> None:
        """Sends it once, and writes down what was made."""

    @abstractmethod
    def _find(self) -> bool:
        """Looks for what was announced on Kaggle, and writes down what was made if it is there."""

    def _adopt(self) -> None:
        """Takes for ours what Kaggle has and a damaged journal has lost."""

    def _explain(self, error: KaggleError) -> None:
        """Raises another error where one means more than that the attempt was refused."""

    def _is_outcome_unknown(self, error: KaggleError) -> bool:
        return error.outcome_unknown

    def _attempt(self) -> bool:
        """One attempt; false if it counts as one that failed. Waiting until Kaggle has room for it does not."""
        self._announce()
        try:
            self._send()
        except KaggleError as error:
            self._explain(error)
            self._last = error.message
            if not self._is_outcome_unknown(error):
                self._withdraw()
                # Waits where waiting helps; what does not pass is raised again.
                self._poll.tolerate(error)
                return True
            self._chain.tell(self._step, f"{error.message} Checking whether Kaggle received the {self._noun}.")
            if self._check_outcome():
                return True
            if not error.outcome_unknown:
                raise
            return False
        return True

    def _check_outcome(self) -> bool:
        """Finds out whether what was announced was made; it may take a while to show.

        The moment of the announcement does not count: the clock may have jumped since, and a push that was taken for
        one that had time enough to show would be made twice.
        """
        poll = self._chain.poll(self._subject, url="")
        while not self._find():
            if poll.seconds >= self._chain.polling.commit:
                self._withdraw()
                return False
            poll.pause()
        return True

    def _withdraw(self) -> None:
        self._chain.write(self._withdrawn, **self._key, error=self._last)
