"""The versions of a pair's kernels: pushing each exactly once, and over nothing that the pair did not push."""

from dataclasses import replace

from generator.kaggle.api_types import PushResult, RemoteKernel
from generator.kaggle.chain.budget import check_quota, is_same_notebook
from generator.kaggle.chain.errors import ChainError, EditedOnKaggleError, to_target
from generator.kaggle.chain.execution import ChainExecution, ExactlyOnce, PushOptions
from generator.kaggle.chain.inputs import PreparedKernel
from generator.kaggle.chain.journal import (
    ChainStep,
    EntryKind,
    EventKind,
    Journals,
    KernelHistory,
    Push,
    newest_version,
)
from generator.kaggle.errors import ForbiddenError, KaggleError, SourcesRefusedError, UnsafeAnswerError
from generator.pair.notebook import digest_of_cells
from generator.pair.workspace import Role
from generator.text import printable

# Pushing a version of a kernel exactly once.
#
# Announced with the newest version that Kaggle has; a newer one that says what was sent is ours. One that the pair
# did not push is not pushed over, unless that is asked for.


class _KernelVersion(ExactlyOnce[Push]):
    """A version of one kernel of a pair, which runs as soon as it is pushed.

    Args:
        chain: The chain.
        role: Which kernel.
        kernel: What is sent.
        known_version: The newest version that earlier chains made; a Kaggle that says less is not up to date.
        history: What the pair sent before.
        options: What is asked for.
    """

    _noun, _withdrawn = "push", EntryKind.NOT_PUSHED

    def __init__(  # noqa: PLR0913 - a version is all of these
        self,
        chain: ChainExecution,
        role: Role,
        kernel: PreparedKernel,
        *,
        known_version: int,
        history: KernelHistory,
        options: PushOptions,
    ) -> None:
        poll = chain.poll(f"the {role} push", url=chain.page("code"))
        super().__init__(chain, ChainStep(role), subject=f"the {role} kernel {kernel.push.ref}", poll=poll)
        self._role, self._kernel, self._full_kernel, self._known_version = role, kernel.push, kernel, known_version
        self._history, self._options = history, options
        self._key, self._digest = {"role": str(role)}, digest_of_cells(kernel.push.text)

    def check_unedited(self) -> RemoteKernel | None:
        """Makes sure that a push loses nothing that the pair did not push, and returns the newest version on Kaggle.

        Raises:
            EditedOnKaggleError: It would.
        """
        newest = self._newest(self._kernel.ref)
        if newest is None:
            return None
        subject = f"Version {newest.version} of {self._kernel.ref}"
        edits = self._history.edits(self._role, self._kernel.ref, newest, sends=self._kernel.text)
        if edits and self._options.over_edits:
            self._chain.tell(self._role, f"{subject} was not pushed from this pair, and is pushed over ({edits}).")
        elif edits:
            raise EditedOnKaggleError(
                subject=subject,
                edits=edits,
                notebook=self._options.folder.notebook(self._role),
                page=self._page(self._kernel.ref),
                command=self._command,
            )
        return newest

    @property
    def _current(self) -> Push | None:
        return self._chain.state.pushes.get(self._role)

    def _announce(self) -> None:
        before = self.check_unedited()
        check_quota(self._chain, self._full_kernel, self._options)
        self._history.keep(self._kernel.text)
        self._write_announced(baseline=max(before.version if before else 0, self._known_version))

    def _send(self) -> None:
        self._write_made(self._chain.kaggle.kernels.push(self._kernel))

    def _find(self) -> bool:
        push = self._chain.state.pushes[self._role]
        newest = self._newest(push.ref)
        version = newest.version if newest else 0
        if newest is not None and version > push.baseline and digest_of_cells(newest.source) == push.sent:
            self._write_found(push.ref, version)
            return True
        if version > push.baseline + 1:
            reason = f"it has version {version} now, which says something else, and there were versions before it"
            raise self._outcome_error(push, reason)
        return False

    def _adopt(self) -> None:
        newest = self._newest(self._kernel.ref)
        if (
            newest is not None
            and newest.version > self._known_version
            and is_same_notebook(newest.source, self._kernel.text)
        ):
            self._write_announced(baseline=newest.version - 1)
            self._write_found(self._kernel.ref, newest.version)

    def _explain(self, error: KaggleError) -> None:
        """Fails the step for a version that is there and runs, without its inputs."""
        if isinstance(error, SourcesRefusedError):
            self._write_found(self._kernel.ref, error.version)
            raise self._chain.fail(self._step, error)

    def _is_outcome_unknown(self, error: KaggleError) -> bool:
        return error.outcome_unknown or (isinstance(error, UnsafeAnswerError) and error.was_sent)

    def _newest(self, ref: str) -> RemoteKernel | None:
        try:
            return self._chain.read(
                f"the kernel {ref}", lambda: self._chain.kaggle.kernels.find(ref), url=self._page(ref)
            )
        except ForbiddenError as error:
            if self._current is None:
                raise
            raise self._outcome_error(self._current, error.message) from error

    def _write_announced(self, *, baseline: int) -> None:
        self._chain.write(
            EntryKind.PUSHING,
            role=str(self._role),
            ref=self._kernel.ref,
            source=self._full_kernel.source,
            sent=self._digest,
            baseline=baseline,
            machine_shape=self._kernel.machine_shape,
            limit_seconds=self._kernel.limit_seconds,
        )

    def _write_found(self, ref: str, version: int) -> None:
        self._write_made(PushResult(ref, version, self._page(ref)))

    def _write_made(self, push: PushResult) -> None:
        ref, fields = self._chain.state.pushes[self._role].ref, vars(push)
        self._chain.write(EntryKind.PUSHED, role=str(self._role), **fields)
        if push.ref != ref:
            self._chain.tell(self._role, f"Kaggle saved {ref} as {push.ref}; following it there.")
        text = f"pushed {push.ref} as version {push.version}: {push.url}"
        self._chain.tell(self._role, text, kind=EventKind.STEP, **fields)

    def _page(self, ref: str) -> str:
        return self._chain.page(f"code/{ref}")

    @property
    def _command(self) -> str:
        return f"tandem push {printable(self._chain.setup.pair)}{to_target(self._chain.setup.target)}"

    def _outcome_error(self, push: Push, reason: str) -> ChainError:
        command = self._command
        return ChainError(
            f"Whether the push of {printable(push.ref)} was taken cannot be found out: {printable(reason)}. Look at "
            f"{printable(self._page(push.ref))}: if it is there, `{command}` finds it later; if it is not, take the "
            f"step again with `{command} --from {self._role}`."
        )


class KernelVersions:
    """The versions that a chain pushes of the kernels of its pair.

    Args:
        chain: The chain.
        journals: All chains of the pair, which say what was sent before.
        options: What is asked for.
    """

    def __init__(self, chain: ChainExecution, journals: Journals, options: PushOptions) -> None:
        self._chain, self._journals, self._options = chain, journals, options

    def check_unedited(self, role: Role, kernel: PreparedKernel) -> None:
        """Makes sure that a push of a kernel loses nothing that the pair did not push.

        Raises:
            EditedOnKaggleError: It would.
        """
        self._version(role, kernel).check_unedited()

    def push(self, role: Role, kernel: PreparedKernel) -> None:
        """Pushes a version of a kernel, or finds the one that an earlier attempt pushed.

        Raises:
            EditedOnKaggleError: It would go over what somebody wrote on Kaggle.
            NotAcceptedError: Kaggle did not take it, several times.
            KaggleError: Kaggle refused, and would refuse again.
        """
        ref = kernel.push.ref
        if ref in kernel.push.kernel_sources and not self._newest_version(ref):
            kernel = self._without_itself(kernel)
        self._version(role, kernel).execute()

    def _version(self, role: Role, kernel: PreparedKernel) -> _KernelVersion:
        return _KernelVersion(
            self._chain,
            role,
            kernel,
            known_version=self._newest_version(kernel.push.ref),
            history=KernelHistory(self._options.folder, self._journals),
            options=self._options,
        )

    def _newest_version(self, ref: str) -> int:
        return newest_version(self._journals, self._chain.setup, ref)

    def _without_itself(self, kernel: PreparedKernel) -> PreparedKernel:
        """The kernel without its own output among its sources, unless Kaggle has the kernel already."""
        push, ref = kernel.push, kernel.push.ref
        url = self._chain.page(f"code/{ref}")
        if self._chain.read(f"the kernel {ref}", lambda: self._chain.kaggle.kernels.find(ref), url=url):
            return kernel
        sources = tuple(source for source in push.kernel_sources if source != ref)
        return replace(kernel, push=replace(push, kernel_sources=sources))
