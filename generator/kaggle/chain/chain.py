"""The story of a chain: train, verify, hand over, infer, validate, submit, score. A step that is done is passed by."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from generator.competition.tables.formats import format_of
from generator.kaggle.api_types import KernelPush
from generator.kaggle.chain.errors import NoChainError, SessionFailedError, StepError, SubmissionUnfitError
from generator.kaggle.chain.events import EventKind
from generator.kaggle.chain.execution import ChainExecution, RunContext
from generator.kaggle.chain.inference_inputs import with_handover, with_wheels
from generator.kaggle.chain.journal import Journal, Journals, Kind
from generator.kaggle.chain.kernel_history import KernelHistory
from generator.kaggle.chain.options import PushOptions
from generator.kaggle.chain.push_step import KernelVersion
from generator.kaggle.chain.replay import latest, newest_version
from generator.kaggle.chain.resume import CheckedPair, target_of
from generator.kaggle.chain.sessions import Session
from generator.kaggle.chain.state import State, Step
from generator.kaggle.chain.submission_check import checked, fetch_sample
from generator.kaggle.chain.submit_step import TaggedSubmission
from generator.kaggle.chain.upload_step import file_digest
from generator.kaggle.chain.verification import (
    MARKER,
    check_accelerator,
    check_failed_session,
    check_handover,
    described,
    summary,
    way_to_continue,
    whole_handover,
)
from generator.kaggle.errors import KaggleError
from generator.kaggle.gateway import Kaggle
from generator.pair.handover import FILE_NAME as HANDOVER
from generator.pair.handover import DamagedError, HandOver, json_object
from generator.pair.workspace import Role
from generator.untrusted import JsonObject


@dataclass(frozen=True)
class ChainResult:
    """A chain as a command left it; `has_advanced` says whether there was anything to do."""

    journal: Journal
    state: State
    has_advanced: bool


def push_pair(kaggle: Kaggle, options: PushOptions, context: RunContext | None = None) -> ChainResult:
    """Carries a pair as far as asked for, from wherever the last command left it.

    Args:
        kaggle: Where to.
        options: What is asked for.
        context: Who is told, how long it waits, and by which clocks.

    Returns:
        The chain, with all that was asked for done.

    Raises:
        ChainError: It cannot go on by itself.
        KaggleError: Kaggle refuses.
        PairError: The pair cannot be read.
    """
    pair = CheckedPair.of(kaggle, options)
    journals = Journals(options.folder)
    with journals.locked():
        chain = pair.resumed(journals, context or RunContext())
        for role in Role:
            chain.folder(role)  # what cannot be written is said before anything is sent
        before = len(chain.journal.entries())
        _Story(pair, chain, journals).carry()
        has_advanced = len(chain.journal.entries()) > before
    return ChainResult(chain.journal, chain.state, has_advanced)


def submit_pair(kaggle: Kaggle, options: PushOptions, context: RunContext | None = None) -> ChainResult:
    """As `push_pair` with `submit`, for a chain that has begun; nothing is trained anew.

    Raises:
        NoChainError: There is none.
        ChainError: The training notebook changed since.
    """
    if latest(Journals(options.folder), target_of(kaggle)) is None:
        raise NoChainError(pair=options.pair, target=target_of(kaggle), verb="submit")
    return push_pair(kaggle, replace(options, submit=True, may_train=False), context)


class _Story:
    def __init__(self, pair: CheckedPair, chain: ChainExecution, journals: Journals) -> None:
        self._pair = pair
        self._chain = chain
        self._journals = journals
        self._options = pair.options
        self._begun = chain.begun
        self._sessions = {role: Session(chain, role, show_log=self._options.show_log) for role in Role}

    def carry(self) -> None:
        if not self._chain.state.quotas:
            self._note_quota()
        if self._pair.elsewhere is None:
            self._push(Role.TRAIN)
            if self._chain.state.trained is None:
                self._check_training()
        elif not self._pair.elsewhere.is_in(self._chain.state):
            self._write_trained(self._pair.elsewhere.marker, self._pair.elsewhere.handover)
        self._push(Role.INFER)
        if self._chain.state.predicted is None:
            self._check_submission()
        if self._options.submit and self._chain.state.score is None:
            file = self._restored_submission()
            submission = TaggedSubmission(self._chain, file=file, message=self._options.message)
            submission.wait(submission.execute())
        if self._chain.state.score is not None and not self._chain.state.is_finished:
            self._note_quota()
            self._chain.write(Kind.FINISHED)

    def _push(self, role: Role) -> None:
        current = self._chain.state.pushes.get(role)
        if current is not None and not current.is_open:
            return
        sent = self._pair.kernels[role].push
        if role is Role.TRAIN and current is None and not self._options.over_edits:
            # Said before hours of training, not behind them.
            self._version(Role.INFER, self._pair.kernels[Role.INFER].push).check_unedited()
        if role is Role.INFER:
            trained = self._pair.kernels[Role.TRAIN].push.ref
            sent = with_handover(self._chain, sent, trained=trained, elsewhere=self._pair.elsewhere)
            if self._options.offline_wheels:
                sent = with_wheels(self._chain, sent)
        if sent.ref in sent.kernel_sources and not newest_version(self._journals, self._begun, sent.ref):
            sent = self._without_itself(sent)
        self._version(role, sent).execute()

    def _version(self, role: Role, sent: KernelPush) -> KernelVersion:
        return KernelVersion(
            self._chain,
            role,
            sent,
            source=self._pair.kernels[role].source,
            known=newest_version(self._journals, self._begun, sent.ref),
            history=KernelHistory(self._options.folder, self._journals),
            options=self._options,
        )

    def _without_itself(self, kernel: KernelPush) -> KernelPush:
        """The kernel without its own output among its sources, unless Kaggle has the kernel already."""
        url = self._chain.page(f"code/{kernel.ref}")
        if self._chain.read(f"the kernel {kernel.ref}", lambda: self._pair.kaggle.kernel(kernel.ref), url=url):
            return kernel
        return replace(kernel, kernel_sources=tuple(each for each in kernel.kernel_sources if each != kernel.ref))

    def _check_training(self) -> None:
        session, wanted = self._sessions[Role.TRAIN], self._pair.kernels[Role.TRAIN].wants
        try:
            listing = {file.name: file for file in session.wait([MARKER, HANDOVER]).files}
        except SessionFailedError as error:
            raise self._chain.fail(Step.TRAIN, self._why_training_failed(session, error, wanted)) from error
        marker = session.fetch(MARKER, json_object)
        handover = session.fetch(HANDOVER, whole_handover)
        with self._failures_kept(Step.TRAIN):
            check_accelerator(marker, wanted=wanted, is_local=self._pair.kaggle.is_local, url=session.push.url)
            go_on = way_to_continue(self._options, target=self._begun.target)
            check_handover(handover, pair_id=self._begun.pair_id, listing=listing, if_interrupted=go_on)
        self._write_trained(marker, handover)

    def _write_trained(self, marker: JsonObject, handover: HandOver) -> None:
        kept, accelerator, score = summary(handover), described(marker), handover.out_of_fold
        self._chain.write(Kind.TRAINED, accelerator=marker, handover=kept)
        shown = "" if score is None else f", out-of-fold {score.metric} {score.value:.4f}"
        text = f"trained on {accelerator}{shown}; the hand-over is whole"
        fields = {"accelerator": accelerator, "out_of_fold": kept["out_of_fold"]}
        self._chain.tell(Role.TRAIN, text, kind=EventKind.STEP, **fields)

    def _why_training_failed(self, session: Session, error: SessionFailedError, wanted: str) -> StepError:
        """The error of a session that failed; one that ended for want of its accelerator says so in its marker."""
        try:
            listed = self._pair.kaggle.output(session.push.ref, session.push.version).files
            if all(file.name != MARKER for file in listed):
                return error
            marker = session.fetch(MARKER, json_object)
            return check_failed_session(marker, wanted=wanted, url=session.push.url) or error
        except (KaggleError, StepError):
            return error

    def _check_submission(self) -> None:
        session, name = self._sessions[Role.INFER], self._begun.submission_file
        try:
            session.wait([name])
        except SessionFailedError as error:
            raise self._chain.fail(Step.INFER, error) from error
        sample = fetch_sample(self._chain, self._options)
        with self._failures_kept(Step.INFER):
            found = session.fetch(
                name,
                lambda path: checked(path, sample, self._options),
                failure=lambda problem: SubmissionUnfitError(problem=problem),
            )
        digest, size = file_digest(session.file(name)), session.file(name).stat().st_size
        self._chain.write(Kind.PREDICTED, file=name, rows=found.rows, bytes=size, sha256=digest)
        text = f"{name} has {found.rows:,} rows, and is what the competition asks for"
        if not found.columns:
            is_known = format_of(name).format is not None
            why = "pyarrow is missing here" if is_known else "the kit does not read this format"
            text = f"{name} has {size:,} bytes; its rows were not checked, since {why}"
        self._chain.tell(Role.INFER, text, kind=EventKind.STEP, rows=found.rows, sha256=digest)

    def _restored_submission(self) -> Path:
        """The file that was checked, fetched again if somebody removed or changed it since."""
        session, name = self._sessions[Role.INFER], self._begun.submission_file
        promised = self._chain.state.predicted.text("sha256") if self._chain.state.predicted is not None else ""

        def check(path: Path) -> None:
            if file_digest(path) != promised:
                raise DamagedError(f"it is not the file of version {session.push.version} that was checked")

        file = session.file(name)
        if not file.is_file() or file_digest(file) != promised:
            session.fetch(name, check)
        return file

    def _note_quota(self) -> None:
        """Accelerator hours are good to know, and nothing to fail for."""
        try:
            quota = self._pair.kaggle.quota()
        except KaggleError as error:
            self._chain.tell("quota", f"The quota cannot be read: {error.message}")
            return
        gpu, tpu = quota.gpu_used.total_seconds(), quota.tpu_used.total_seconds()
        self._chain.write(Kind.QUOTA, gpu=gpu, tpu=tpu)
        left = (quota.tpu_allowed - quota.tpu_used).total_seconds() / 3600
        self._chain.tell("quota", f"{left:.1f} hours of TPU are left this week", gpu_seconds=gpu, tpu_seconds=tpu)

    @contextmanager
    def _failures_kept(self, step: Step) -> Iterator[None]:
        """Writes down what goes wrong with a step, unless that was done already."""
        try:
            yield
        except StepError as error:
            if self._chain.state.failure is None:
                self._chain.fail(step, error)
            raise
