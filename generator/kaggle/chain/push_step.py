"""Pushing a version of a kernel exactly once.

Announced with the newest version that Kaggle has; a newer one that says what was sent is ours. One that
the pair did not push is not pushed over, unless that is asked for.
"""

from generator.kaggle.api_types import KernelPush, Pushed, RemoteKernel
from generator.kaggle.chain.errors import ChainError, EditedOnKaggleError, to_target
from generator.kaggle.chain.events import EventKind
from generator.kaggle.chain.exactly_once import ExactlyOnce
from generator.kaggle.chain.execution import ChainExecution
from generator.kaggle.chain.journal import Kind
from generator.kaggle.chain.kernel_history import KernelHistory
from generator.kaggle.chain.options import PushOptions
from generator.kaggle.chain.state import Push, Step
from generator.kaggle.errors import ForbiddenError, KaggleError, SourcesRefusedError, UnsafeAnswerError
from generator.pair.notebook import digest_of_cells
from generator.pair.workspace import Role
from generator.untrusted import printable


class KernelVersion(ExactlyOnce[Push]):
    """A version of one kernel of a pair, which runs as soon as it is pushed.

    Args:
        chain: The chain.
        role: Which kernel.
        kernel: What is sent.
        source: The digest of the kernel's folder.
        known: The newest version that earlier chains made; a Kaggle that says less is not up to date.
        history: What the pair sent before.
        options: What is asked for.
    """

    _noun, _withdrawn = "push", Kind.NOT_PUSHED

    def __init__(  # noqa: PLR0913 - a version is all of these
        self,
        chain: ChainExecution,
        role: Role,
        kernel: KernelPush,
        *,
        source: str,
        known: int,
        history: KernelHistory,
        options: PushOptions,
    ) -> None:
        poll = chain.poll(f"the {role} push", url=chain.page("code"))
        super().__init__(chain, Step(role), what=f"the {role} kernel {kernel.ref}", poll=poll)
        self._role, self._kernel, self._source, self._known = role, kernel, source, known
        self._history, self._options = history, options
        self._key, self._digest = {"role": str(role)}, digest_of_cells(kernel.text)

    def check_unedited(self) -> RemoteKernel | None:
        """Makes sure that a push loses nothing that the pair did not push, and returns the newest version on Kaggle.

        Raises:
            EditedOnKaggleError: It would.
        """
        found = self._newest(self._kernel.ref)
        if found is None:
            return None
        what = f"Version {found.version} of {self._kernel.ref}"
        edits = self._history.edits(self._role, self._kernel.ref, found, sends=self._kernel.text)
        if edits and self._options.over_edits:
            self._chain.tell(self._role, f"{what} was not pushed from this pair, and is pushed over ({edits}).")
        elif edits:
            raise EditedOnKaggleError(
                what=what,
                edits=edits,
                notebook=self._options.folder.notebook(self._role),
                page=self._page(self._kernel.ref),
                command=self._command,
            )
        return found

    @property
    def _current(self) -> Push | None:
        return self._chain.state.pushes.get(self._role)

    def _announce(self) -> None:
        before = self.check_unedited()
        self._history.keep(self._kernel.text)
        self._write_announced(baseline=max(before.version if before else 0, self._known))

    def _send(self) -> None:
        self._write_made(self._chain.kaggle.push(self._kernel))

    def _find(self) -> bool:
        push = self._chain.state.pushes[self._role]
        found = self._newest(push.ref)
        version = found.version if found else 0
        if found is not None and version > push.baseline and digest_of_cells(found.source) == push.sent:
            self._write_found(push.ref, version)
            return True
        if version > push.baseline + 1:
            why = f"it has version {version} now, which says something else, and there were versions before it"
            raise self._undecided(push, why)
        return False

    def _adopt(self) -> None:
        found = self._newest(self._kernel.ref)
        if found is not None and found.version > self._known and digest_of_cells(found.source) == self._digest:
            self._write_announced(baseline=found.version - 1)
            self._write_found(self._kernel.ref, found.version)

    def _explain(self, error: KaggleError) -> None:
        """Fails the step for a version that is there and runs, without its inputs."""
        if isinstance(error, SourcesRefusedError):
            self._write_found(self._kernel.ref, error.version)
            raise self._chain.fail(self._step, error)

    def _is_outcome_unknown(self, error: KaggleError) -> bool:
        return error.outcome_unknown or (isinstance(error, UnsafeAnswerError) and error.was_sent)

    def _newest(self, ref: str) -> RemoteKernel | None:
        try:
            return self._chain.read(f"the kernel {ref}", lambda: self._chain.kaggle.kernel(ref), url=self._page(ref))
        except ForbiddenError as error:
            if self._current is None:
                raise
            raise self._undecided(self._current, error.message) from error

    def _write_announced(self, *, baseline: int) -> None:
        self._chain.write(
            Kind.PUSHING,
            role=str(self._role),
            ref=self._kernel.ref,
            source=self._source,
            sent=self._digest,
            baseline=baseline,
            machine_shape=self._kernel.machine_shape,
        )

    def _write_found(self, ref: str, version: int) -> None:
        self._write_made(Pushed(ref, version, self._page(ref)))

    def _write_made(self, pushed: Pushed) -> None:
        asked, fields = self._chain.state.pushes[self._role].ref, vars(pushed)
        self._chain.write(Kind.PUSHED, role=str(self._role), **fields)
        if pushed.ref != asked:
            self._chain.tell(self._role, f"Kaggle saved {asked} as {pushed.ref}; following it there.")
        text = f"pushed {pushed.ref} as version {pushed.version}: {pushed.url}"
        self._chain.tell(self._role, text, kind=EventKind.STEP, **fields)

    def _page(self, ref: str) -> str:
        return self._chain.page(f"code/{ref}")

    @property
    def _command(self) -> str:
        return f"tandem push {printable(self._chain.begun.pair)}{to_target(self._chain.begun.target)}"

    def _undecided(self, push: Push, why: str) -> ChainError:
        command = self._command
        return ChainError(
            f"Whether the push of {printable(push.ref)} was taken cannot be found out: {printable(why)}. Look at "
            f"{printable(self._page(push.ref))}: if it is there, `{command}` finds it later; if it is not, take the "
            f"step again with `{command} --from {self._role}`."
        )
