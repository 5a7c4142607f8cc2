"""The story of a chain: train, verify, hand over, infer, validate, submit, score. A step that is done is passed by."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from generator.competition.submission import (
    MissingReaderError,
    SubmissionError,
    SubmissionSummary,
    summarize,
    tolerance_of,
    validate,
)
from generator.competition.tables.formats import format_of
from generator.kaggle.api import Kaggle, KernelPush
from generator.kaggle.chain.errors import NoChainError, SessionFailedError, StepError, SubmissionUnfitError
from generator.kaggle.chain.events import EventKind
from generator.kaggle.chain.handing import handed_over, offline_wheels
from generator.kaggle.chain.handover import (
    HANDOVER,
    MARKER,
    DamagedError,
    HandOver,
    check_accelerator,
    check_failed_session,
    check_handover,
    described,
    read_handover,
    read_marker,
)
from generator.kaggle.chain.journal import Journal, Journals, Kind
from generator.kaggle.chain.opening import Opening, latest, newest_version, target_name
from generator.kaggle.chain.pushing import Pusher
from generator.kaggle.chain.record import Record
from generator.kaggle.chain.request import Request, Subject, Surroundings
from generator.kaggle.chain.sample import fetch_sample
from generator.kaggle.chain.sessions import Session
from generator.kaggle.chain.state import Begun, Push, State, Step
from generator.kaggle.chain.submitting import Entrant, Submitter
from generator.kaggle.errors import KaggleError
from generator.pair.workspace import Role


@dataclass(frozen=True)
class Carried:
    """A chain as a command left it; `has_advanced` says whether there was anything to do."""

    journal: Journal
    state: State
    has_advanced: bool


def push_pair(kaggle: Kaggle, request: Request, surroundings: Surroundings | None = None) -> Carried:
    """Carries a pair as far as asked for, from wherever the last command left it.

    Args:
        kaggle: Where to.
        request: What is asked for.
        surroundings: Who is told, how long it waits, and by which clocks.

    Returns:
        The chain, with all that was asked for done.

    Raises:
        ChainError: It cannot go on by itself.
        KaggleError: Kaggle refuses.
        PairError: The pair cannot be read.
    """
    around = surroundings or Surroundings()
    opening = Opening.of(kaggle, request)
    journals = Journals(opening.subject.folder)
    with journals.locked():
        record = opening.record(journals, around)
        for role in Role:
            record.folder(role)  # what cannot be written is said before anything is sent
        before = len(record.journal.entries())
        _Chain(opening, record).carry()
        has_advanced = len(record.journal.entries()) > before
    return Carried(record.journal, record.state, has_advanced)


def submit_pair(kaggle: Kaggle, request: Request, surroundings: Surroundings | None = None) -> Carried:
    """As `push_pair` with `submit`, for a chain that has begun.

    Raises:
        NoChainError: There is none.
    """
    subject = Subject.of(request.workspace, request.pair)
    if latest(Journals(subject.folder), target_name(kaggle)) is None:
        raise NoChainError(pair=request.pair, target=target_name(kaggle), verb="submit")
    return push_pair(kaggle, replace(request, submit=True), surroundings)


class _Chain:
    def __init__(self, opening: Opening, record: Record) -> None:
        self._opening = opening
        self._record = record
        self._request = opening.request

    def carry(self) -> None:
        self._note_quota(is_first=True)
        self._push(Role.TRAIN)
        self._check_training()
        self._push(Role.INFER)
        self._check_submission()
        if self._request.submit:
            self._submit()
        self._finish()

    @property
    def _state(self) -> State:
        return self._record.state

    @property
    def _begun(self) -> Begun:
        assert self._state.begun is not None  # noqa: S101 - the first line of every journal
        return self._state.begun

    def _push(self, role: Role) -> None:
        current = self._state.pushes.get(role)
        if current is not None and not current.is_open:
            return
        kernel = self._opening.kernels[role]
        sent = kernel.push if role is Role.TRAIN else self._with_inputs(kernel.push)
        known = newest_version(Journals(self._opening.subject.folder), self._begun, sent.ref)
        Pusher(self._record, role, pair=self._request.pair, known=known).push(sent, source=kernel.source)

    def _with_inputs(self, push: KernelPush) -> KernelPush:
        """The inference kernel with what training handed over attached, and the wheels it was asked to take along."""
        trained = self._opening.kernels[Role.TRAIN].push.ref
        push = handed_over(self._record, push, trained=trained)
        if self._request.offline_wheels:
            push = offline_wheels(self._record, push)
        return push

    def _check_training(self) -> None:
        if self._state.trained is not None:
            return
        session = self._session(Role.TRAIN)
        push, wanted = session.push, self._opening.kernels[Role.TRAIN].wants
        try:
            listing = {file.name: file for file in session.wait([MARKER, HANDOVER]).files}
        except SessionFailedError as error:
            raise self._record.fail(Step.TRAIN, self._why_training_failed(session, error, wanted)) from error
        marker = session.fetch(MARKER, read_marker)
        handover = session.fetch(HANDOVER, read_handover)
        with self._failures_kept(Step.TRAIN):
            check_accelerator(marker, wanted=wanted, is_local=self._opening.kaggle.is_local, url=push.url)
            check_handover(handover, pair_id=self._begun.pair_id, listing=listing)
        self._record.write(Kind.TRAINED, accelerator=marker, handover=handover.summary())
        self._tell_of_training(handover, described(marker))

    def _why_training_failed(self, session: Session, error: SessionFailedError, wanted: str) -> StepError:
        """A session that ended for want of its accelerator says so in its marker, if it left one."""
        try:
            listed = self._opening.kaggle.output(session.push.ref, session.push.version).files
            if all(file.name != MARKER for file in listed):
                return error
            return (
                check_failed_session(session.fetch(MARKER, read_marker), wanted=wanted, url=session.push.url) or error
            )
        except (KaggleError, StepError):
            return error

    def _tell_of_training(self, handover: HandOver, accelerator: str) -> None:
        score = handover.summary()["out_of_fold"]
        shown = "" if score["score"] is None else f", out-of-fold {score['metric']} {score['score']:.4f}"
        text = f"trained on {accelerator}{shown}; the hand-over is whole"
        self._record.tell(Role.TRAIN, text, kind=EventKind.STEP, accelerator=accelerator, out_of_fold=score)

    def _check_submission(self) -> None:
        if self._state.predicted is not None:
            return
        session = self._session(Role.INFER)
        name = self._begun.submission_file
        try:
            session.wait([name])
        except SessionFailedError as error:
            raise self._record.fail(Step.INFER, error) from error
        sample = fetch_sample(self._record, self._opening.subject, self._request.workspace)
        with self._failures_kept(Step.INFER):
            summary = session.fetch_to(
                self._submission_file,
                name,
                lambda path: self._checked(path, sample),
                failure=lambda problem: SubmissionUnfitError(problem=problem),
            )
        digest = _digest(self._submission_file)
        size = self._submission_file.stat().st_size
        self._record.write(Kind.PREDICTED, file=name, rows=summary.rows, bytes=size, sha256=digest)
        text = f"{name} has {summary.rows:,} rows, and is what the competition asks for"
        if not summary.columns:
            is_known = format_of(name).format is not None
            why = "pyarrow is missing here" if is_known else "the kit does not read this format"
            text = f"{name} has {size:,} bytes; its rows were not checked, since {why}"
        self._record.tell(Role.INFER, text, kind=EventKind.STEP, rows=summary.rows, sha256=digest)

    def _checked(self, path: Path, sample: Path | None) -> SubmissionSummary:
        if format_of(path.name).format is None:
            if not path.stat().st_size:
                raise SubmissionUnfitError(problem=f"{path.name} is empty.")
            return SubmissionSummary(path=path, rows=0, columns=())
        try:
            if sample is None:
                return summarize(path)
            return validate(path, sample, tolerance=tolerance_of(self._opening.subject.spec.task))
        except MissingReaderError:
            # The notebook has checked it as well, and a chain is long: that is no reason to stop at its end.
            return SubmissionSummary(path=path, rows=0, columns=())
        except SubmissionError as error:
            # Half of a file looks like one with rows missing: it is fetched again before that is believed.
            raise DamagedError(error.message) from error

    @property
    def _submission_file(self) -> Path:
        return self._record.folder(Role.INFER) / Path(self._begun.submission_file).name

    def _submit(self) -> None:
        if self._state.score is not None:
            return
        infer = self._state.pushes[Role.INFER]
        self._restore_submission(infer)
        page = self._record.page(f"competitions/{self._begun.competition}")
        entrant = Entrant(self._begun, infer, self._submission_file, self._request.message, page)
        submitter = Submitter(self._record, entrant)
        submitter.wait(submitter.submit())

    def _restore_submission(self, infer: Push) -> None:
        """Fetches the file again if somebody removed or changed it since it was checked."""
        promised = str((self._state.predicted or {}).get("sha256", ""))
        if self._submission_file.is_file() and _digest(self._submission_file) == promised:
            return

        def same(path: Path) -> None:
            if _digest(path) != promised:
                raise DamagedError(f"it is not the file of version {infer.version} that was checked")

        self._session(Role.INFER).fetch_to(self._submission_file, self._begun.submission_file, same)

    def _finish(self) -> None:
        if self._state.score is None or self._state.is_finished:
            return
        self._note_quota(is_first=False)
        self._record.write(Kind.FINISHED)

    def _note_quota(self, *, is_first: bool) -> None:
        """Accelerator hours are good to know, and nothing to fail for."""
        if is_first and self._state.quotas:
            return
        try:
            quota = self._opening.kaggle.quota()
        except KaggleError as error:
            self._record.tell("quota", f"The quota cannot be read: {error.message}")
            return
        gpu, tpu = quota.gpu_used.total_seconds(), quota.tpu_used.total_seconds()
        self._record.write(Kind.QUOTA, gpu=gpu, tpu=tpu)
        left = (quota.tpu_allowed - quota.tpu_used).total_seconds() / 3600
        self._record.tell("quota", f"{left:.1f} hours of TPU are left this week", gpu_seconds=gpu, tpu_seconds=tpu)

    def _session(self, role: Role) -> Session:
        return Session(self._record, role, show_log=self._request.show_log)

    @contextmanager
    def _failures_kept(self, step: Step) -> Iterator[None]:
        """Writes down what goes wrong with a step, unless that was done already."""
        try:
            yield
        except StepError as error:
            if self._state.failure is None:
                self._record.fail(step, error)
            raise


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
