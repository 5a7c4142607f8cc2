"""The exactly-once protocol: announce, send, and look for it after a lost answer or a crash before sending again.

Kaggle's API knows no idempotency keys. So what changes something there is written down before it is sent, with what is
needed to recognise it; only what Kaggle is known not to have is sent again.
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from generator.kaggle.chain.errors import NotAcceptedError
from generator.kaggle.chain.execution import ChainExecution
from generator.kaggle.chain.journal import Kind
from generator.kaggle.chain.polling import Poll
from generator.kaggle.chain.state import Push, Step, Submitted, Upload
from generator.kaggle.errors import KaggleError

Announced = TypeVar("Announced", Push, Submitted, Upload)


class ExactlyOnce(ABC, Generic[Announced]):
    """Something that Kaggle is to make exactly once, whatever happens to the answer.

    Args:
        chain: The chain that wants it.
        step: The step that wants it.
        what: What it is, for the message that Kaggle did not take it.
        poll: Waits where an attempt was refused for a reason that passes.
    """

    _noun: str
    _withdrawn: Kind
    """The line of the journal that says that what was announced was not made."""

    def __init__(self, chain: ChainExecution, step: Step, *, what: str, poll: Poll) -> None:
        self._chain, self._step, self._what, self._poll = chain, step, what, poll
        self._key: dict[str, str] = {}  # the fields by which that line says what was announced
        self._last = ""

    def execute(self) -> Announced:
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
                self._look()
            elif not self._attempt():
                attempts += 1
        raise NotAcceptedError(what=self._what, attempts=attempts, last=self._last)

    @property
    @abstractmethod
    def _current(self) -> Announced | None:
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
            self._chain.tell(self._step, f"{error.message} Looking whether the {self._noun} was taken.")
            if self._look():
                return True
            if not error.outcome_unknown:
                raise
            return False
        return True

    def _look(self) -> bool:
        """Finds out whether what was announced was made; it may take a while to show.

        The moment of the announcement does not count: the clock may have jumped since, and a push that was taken for
        one that had time enough to show would be made twice.
        """
        poll = self._chain.poll(self._what, url="")
        while not self._find():
            if poll.seconds >= self._chain.polling.commit:
                self._withdraw()
                return False
            poll.pause()
        return True

    def _withdraw(self) -> None:
        self._chain.write(self._withdrawn, **self._key, error=self._last)
