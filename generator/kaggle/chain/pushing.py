"""Pushing a version of a kernel exactly once, whatever happens to the answer.

Announced in the journal first, with the newest version that Kaggle has. After a lost answer, or a crash, Kaggle is
asked for its newest version: a newer one that says what was sent is ours.
"""

from datetime import datetime, timedelta

from generator.kaggle.api import KernelPush, Pushed, RemoteKernel
from generator.kaggle.chain.errors import NotAcceptedError, UndecidedError
from generator.kaggle.chain.events import EventKind
from generator.kaggle.chain.journal import Kind
from generator.kaggle.chain.opening import target_name
from generator.kaggle.chain.record import Record, Watch
from generator.kaggle.chain.source import digest_of_cells
from generator.kaggle.chain.state import Push, Step
from generator.kaggle.errors import (
    ForbiddenError,
    KaggleError,
    SourcesRefusedError,
    UnsafeAnswerError,
)
from generator.pair.workspace import Role


class Pusher:
    """Pushes one kernel of a pair."""

    def __init__(self, record: Record, role: Role, *, pair: str, known: int = 0) -> None:
        """Pushes for a chain.

        Args:
            record: The chain.
            role: Which kernel.
            pair: The pair's name, for messages.
            known: The newest version that earlier chains made; a Kaggle that says less is not up to date.
        """
        self._record = record
        self._known = known
        self._role = role
        self._pair = pair
        self._crowded = Watch(record, f"the {role} push", url=record.page("code"))
        self._last = ""

    def push(self, kernel: KernelPush, *, source: str) -> Push:
        """Makes a version and runs it, or finds the one that an earlier attempt made.

        Raises:
            NotAcceptedError: Kaggle did not take it, several times.
            UndecidedError: Whether it did cannot be found out.
            KaggleError: Kaggle refused, and would refuse again.
        """
        attempts = 0
        if self._record.state.is_repaired:
            self._adopt(kernel, source)
        while attempts < self._record.patience.attempts:
            current = self._record.state.pushes.get(self._role)
            if current is not None and not current.is_open:
                return current
            if current is not None:
                self._settle(current, since=current.announced)
                continue
            if self._announce_and_push(kernel, source):
                continue
            attempts += 1
        raise NotAcceptedError(what=f"the {self._role} kernel {kernel.ref}", attempts=attempts, last=self._last)

    def _announce_and_push(self, kernel: KernelPush, source: str) -> bool:
        """One attempt; false if it counts as one that failed. Waiting for room does not."""
        before = self._newest(kernel.ref)
        self._announce(kernel, source, baseline=max(before.version if before else 0, self._known))
        try:
            pushed = self._record.kaggle.push(kernel)
        except SourcesRefusedError as error:
            raise self._saved_without_sources(error) from error
        except KaggleError as error:
            return self._after(error)
        self._made(pushed)
        return True

    def _adopt(self, kernel: KernelPush, source: str) -> None:
        """Takes a version that no journal knows for ours, if it is the newest and says what would be sent."""
        found = self._newest(kernel.ref) if self._role not in self._record.state.pushes else None
        is_ours = found is not None and digest_of_cells(found.source) == digest_of_cells(kernel.text)
        if found is not None and is_ours and found.version > self._known:
            self._announce(kernel, source, baseline=found.version - 1)
            self._made(Pushed(kernel.ref, found.version, self._page(kernel.ref)))

    def _announce(self, kernel: KernelPush, source: str, *, baseline: int) -> None:
        self._record.write(
            Kind.PUSHING,
            role=str(self._role),
            ref=kernel.ref,
            source=source,
            sent=digest_of_cells(kernel.text),
            baseline=baseline,
            machine_shape=kernel.machine_shape,
        )

    def _after(self, error: KaggleError) -> bool:
        """What an error means for the push that it answers."""
        self._last = error.message
        if error.outcome_unknown or (isinstance(error, UnsafeAnswerError) and error.was_sent):
            self._record.tell(self._role, f"{error.message} Looking whether the push was taken.")
            if self._settle(self._record.state.pushes[self._role], since=self._record.clock.now()):
                return True
            if isinstance(error, UnsafeAnswerError):
                raise error
            return False
        self._record.write(Kind.NOT_PUSHED, role=str(self._role), error=error.message)
        # Waits where waiting helps; what does not pass is raised again.
        self._crowded.endure(error)
        return True

    def _settle(self, push: Push, *, since: datetime) -> bool:
        """Finds out whether an announced push was made; one that was sent may take a while to show."""
        watch = Watch(self._record, f"the push of {push.ref}", url=self._page(push.ref))
        until = since + timedelta(seconds=self._record.patience.commit)
        while True:
            found = self._newest(push.ref)
            version = found.version if found else 0
            is_ours = found is not None and digest_of_cells(found.source) == push.sent
            if version > push.baseline and is_ours:
                self._made(Pushed(push.ref, version, self._page(push.ref)))
                return True
            if version > push.baseline + 1:
                why = f"it has version {version} now, which says something else, and there were versions before it"
                raise self._undecided(push, why)
            if self._record.clock.now() >= until:
                self._record.write(Kind.NOT_PUSHED, role=str(self._role), error=self._last)
                return False
            watch.wait()

    def _newest(self, ref: str) -> RemoteKernel | None:
        url = self._page(ref)
        try:
            return self._record.read(f"the kernel {ref}", lambda: self._record.kaggle.kernel(ref), url=url)
        except ForbiddenError as error:
            push = self._record.state.pushes.get(self._role)
            if push is None:
                raise
            raise self._undecided(push, error.message) from error

    def _made(self, pushed: Pushed) -> None:
        asked = self._record.state.pushes[self._role].ref
        self._record.write(Kind.PUSHED, role=str(self._role), ref=pushed.ref, version=pushed.version, url=pushed.url)
        if pushed.ref != asked:
            self._record.tell(self._role, f"Kaggle saved {asked} as {pushed.ref}; following it there.")
        text = f"pushed {pushed.ref} as version {pushed.version}: {pushed.url}"
        fields = {"ref": pushed.ref, "version": pushed.version, "url": pushed.url}
        self._record.tell(self._role, text, kind=EventKind.STEP, **fields)

    def _saved_without_sources(self, error: SourcesRefusedError) -> SourcesRefusedError:
        """The version is there and runs, without its inputs: the step has failed before it began."""
        step = Step(self._role)
        ref = self._record.state.pushes[self._role].ref
        self._made(Pushed(ref, error.version, self._page(ref)))
        self._record.write(Kind.FAILED, step=str(step), message=error.message, error=type(error).__name__)
        return error

    def _page(self, ref: str) -> str:
        return self._record.page(f"code/{ref}")

    def _undecided(self, push: Push, why: str) -> UndecidedError:
        return UndecidedError(
            what=f"the push of {push.ref}",
            why=why,
            url=self._page(push.ref),
            pair=self._pair,
            target=target_name(self._record.kaggle),
            step=str(self._role),
        )
