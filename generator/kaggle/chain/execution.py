"""A chain under way: its journal and what that amounts to, the Kaggle it talks to, and who listens."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from generator.errors import TandemError
from generator.files import writing
from generator.kaggle.chain.errors import StepError
from generator.kaggle.chain.events import Event, EventKind, Listener
from generator.kaggle.chain.journal import Journal, Kind
from generator.kaggle.chain.polling import Clock, Poll, PollingPolicy
from generator.kaggle.chain.replay import state_in, state_of
from generator.kaggle.chain.state import Begun, State, Step
from generator.kaggle.gateway import Kaggle

T = TypeVar("T")
E = TypeVar("E", bound=TandemError)


@dataclass(frozen=True)
class RunContext:
    """The surroundings of a chain: who is told, how long it waits, and by which clocks."""

    listener: Listener = lambda _: None
    polling: PollingPolicy = field(default_factory=PollingPolicy)
    clock: Clock = field(default_factory=Clock)


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
        self.state: State = state_in(journal)
        self._entries = list(journal.entries())

    @property
    def begun(self) -> Begun:
        """The decisions that the chain began with."""
        assert self.state.begun is not None  # noqa: S101 - the first line of every journal
        return self.state.begun

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
        with writing(folder):
            self.journal.files.make_folder(folder)
        return folder

    def write(self, event: Kind, /, **fields: object) -> None:
        """Adds a line to the journal; what it announces may be done once this returns."""
        self._entries.append(self.journal.append(event, at=self.clock.now(), **fields))
        self.state = state_of(self._entries)

    def tell(self, step: str, text: str, *, kind: EventKind = EventKind.NOTE, **fields: object) -> None:
        """Tells whoever listens."""
        self._listener(Event(kind, step, text, fields))

    def fail(self, step: Step, error: E) -> E:
        """Writes down that a step failed, and returns the error to be raised."""
        self.write(Kind.FAILED, step=str(step), message=error.message, error=type(error).__name__)
        if isinstance(error, StepError):
            error.step = str(step)
        return error

    def poll(self, what: str, *, url: str, is_new: bool = False) -> Poll:
        """Asks about something for as long as it takes; `is_new` is what Kaggle may not know of yet."""
        return Poll(self.polling, self.clock, lambda text: self.tell(self.step, text), what, url, is_new)

    def read(self, what: str, ask: Callable[[], T], *, url: str) -> T:
        """Asks Kaggle something that may be asked again, until there is an answer.

        Raises:
            WaitedInVainError: It was out of reach for longer than is tolerated.
            KaggleError: It answered, and that will not change by waiting.
        """
        return self.poll(what, url=url).ask(ask)
