"""A chain under way: its journal and what that amounts to, the clocks, the Kaggle it talks to, and who listens."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from generator.errors import TandemError
from generator.files import FileWriteError
from generator.kaggle.chain.errors import StepError, WaitedInVainError
from generator.kaggle.chain.events import Event, EventKind, Listener
from generator.kaggle.chain.folding import state_in, state_of
from generator.kaggle.chain.journal import Journal, Kind
from generator.kaggle.chain.patience import Pace, Patience, SystemTime, Time, Troubles
from generator.kaggle.chain.state import State, Step
from generator.kaggle.errors import (
    CredentialsError,
    ForbiddenError,
    NotFoundError,
    NotKaggleError,
    RateLimitedError,
    ServerFailedError,
    SessionLimitError,
    UnreachableError,
)
from generator.kaggle.gateway import Kaggle

SILENCE = (UnreachableError, ServerFailedError, NotKaggleError, RateLimitedError)
"""What passes by itself: no answer, or none of Kaggle's API."""

T = TypeVar("T")


@dataclass
class Record:
    """What every step needs.

    Attributes:
        kaggle: Where the chain goes.
        journal: What it has done.
        listener: Who is told.
        patience: How long it waits.
        clock: By which clocks.
    """

    kaggle: Kaggle
    journal: Journal
    listener: Listener
    patience: Patience = field(default_factory=Patience)
    clock: Time = field(default_factory=SystemTime)

    def __post_init__(self) -> None:
        self.state: State = state_in(self.journal)
        self._entries = list(self.journal.entries())

    @property
    def step(self) -> Step:
        """The step that the chain is at."""
        if self.state.trained is None:
            return Step.TRAIN
        return Step.INFER if self.state.predicted is None else Step.SUBMIT

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
        try:
            self.journal.files.make_folder(folder)
        except OSError as error:
            raise FileWriteError(path=folder, cause=error) from error
        return folder

    def write(self, event: Kind, /, **fields: object) -> None:
        """Adds a line to the journal; what it announces may be done once this returns."""
        self._entries.append(self.journal.append(event, at=self.clock.now(), **fields))
        self.state = state_of(self._entries)

    def tell(self, step: str, text: str, *, kind: EventKind = EventKind.NOTE, **fields: object) -> None:
        """Tells whoever listens."""
        self.listener(Event(kind, step, text, fields))

    def fail(self, step: Step, error: StepError) -> StepError:
        """Writes down that a step failed, and returns the error to be raised."""
        self.write(Kind.FAILED, step=str(step), message=error.message, error=type(error).__name__)
        return error

    def pace(self) -> Pace:
        """Pauses that grow."""
        return Pace(self.patience, self.clock)

    def read(self, what: str, ask: Callable[[], T], *, url: str) -> T:
        """Asks Kaggle something that may be asked again, until there is an answer.

        Raises:
            WaitedInVainError: It was out of reach for longer than there is patience for.
            KaggleError: It answered, and that will not change by waiting.
        """
        watch = Watch(self, what, url=url)
        while True:
            try:
                return ask()
            except TandemError as error:
                watch.endure(error)


class Watch:
    """One long look at something: what goes wrong meanwhile, and for how long that is normal."""

    def __init__(self, record: Record, what: str, *, url: str, is_new: bool = False) -> None:
        self._record = record
        self._what = what
        self._url = url
        self._is_new = is_new
        self._troubles = Troubles(record.clock.monotonic)
        self._told = ""
        self.pace = record.pace()

    def endure(self, error: TandemError) -> None:
        """Waits after an error that may pass.

        Raises:
            TandemError: This one does not pass.
            WaitedInVainError: It should have passed by now.
        """
        kind, grace, remedy = self._meaning(error)
        lasted = self._troubles.lasts(kind)
        if lasted >= grace:
            raise WaitedInVainError(
                what=self._what, trouble=error.message.rstrip("."), url=self._url, remedy=remedy
            ) from error
        if self._told != kind:
            self._record.tell(self._record.step, error.message)
            self._told = kind
        self.wait()

    def well(self) -> None:
        """An answer came."""
        self._troubles.clear()
        self._told = ""

    def wait(self) -> None:
        """Pauses; a machine that was suspended meanwhile looks again at once, and has waited for nothing in vain."""
        if self.pace.pause():
            self._record.tell(self._record.step, "This machine was asleep; looking again.")
            self._troubles.clear()

    def _meaning(self, error: TandemError) -> tuple[str, float, str]:
        patience = self._record.patience
        if isinstance(error, SILENCE):
            return "silent", patience.silent, "Check the connection."
        if isinstance(error, SessionLimitError):
            return "crowded", patience.crowded, "Sessions of this account have to end first."
        if self._is_new and isinstance(error, NotFoundError):
            return "missing", patience.missing, "If it is not there, push it again with --from."
        if self._is_new and isinstance(error, ForbiddenError | CredentialsError):
            remedy = "If that page does not open either, the kernel is wedged: delete it there, and use --restart."
            return "forbidden", patience.forbidden, remedy
        raise error
