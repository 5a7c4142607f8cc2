"""The submission: what inference predicted, checked, submitted exactly once, and scored."""

import secrets
from pathlib import Path

from generator.competition.submission import (
    MissingReaderError,
    SubmissionError,
    SubmissionSummary,
    is_known_format,
    sample_columns_of,
    summarize,
    tolerance_of,
    validate,
)
from generator.kaggle.api_types import ApiSubmission, SubmissionStatus
from generator.kaggle.chain.errors import (
    ChainError,
    ScoringFailedError,
    SessionFailedError,
    SubmissionUnfitError,
    SubmitByHandError,
    to_target,
)
from generator.kaggle.chain.execution import ChainExecution, ExactlyOnce, PushOptions
from generator.kaggle.chain.journal import AnnouncedSubmission, ChainStep, EntryKind, EventKind
from generator.kaggle.chain.session import KernelSession, file_digest
from generator.kaggle.errors import KaggleError, SubmitForbiddenError
from generator.pair.handover import DamagedError
from generator.pair.workspace import Role
from generator.text import printable

# The steps of a chain.


def await_submission_file(chain: ChainExecution, options: PushOptions) -> None:
    """Waits for the session of the inference, checks the submission that it wrote, and writes that down.

    Raises:
        StepError: The session failed, or the competition would refuse the submission.
        WaitedInVainError: Nothing was to be learned of the session for too long.
    """
    session, name = KernelSession(chain, Role.INFER, show_log=options.show_log), chain.setup.submission_file
    try:
        session.wait([name])
    except SessionFailedError as error:
        raise chain.fail(ChainStep.INFER, error) from error
    sample = fetch_sample(chain, options)
    with chain.record_failures(ChainStep.INFER):
        summary = session.fetch(
            name,
            lambda path: check_submission(path, sample, options),
            failure=lambda problem: SubmissionUnfitError(problem=problem),
        )
    digest, size = file_digest(session.file(name)), session.file(name).stat().st_size
    chain.write(EntryKind.PREDICTED, file=name, rows=summary.rows, bytes=size, sha256=digest)
    text = f"{name} has {summary.rows:,} rows, and has the format of the competition"
    if not summary.columns:
        reason = "pyarrow is not installed" if is_known_format(name) else "the kit does not read this format"
        text = f"{name} has {size:,} bytes; its rows were not checked, since {reason}"
    chain.tell(Role.INFER, text, kind=EventKind.STEP, rows=summary.rows, sha256=digest)


def submit_and_score(chain: ChainExecution, options: PushOptions) -> None:
    """Submits what was checked, exactly once, and waits for its score.

    Raises:
        ChainError: No submission is left today, Kaggle wants it made in a browser, or could not score it.
        KaggleError: Kaggle refuses.
    """
    submission = TaggedSubmission(chain, file=_restored_submission(chain, options), message=options.message)
    submission.wait(submission.execute())


def _restored_submission(chain: ChainExecution, options: PushOptions) -> Path:
    """The file that was checked, fetched again if somebody removed or changed it since."""
    session, name = KernelSession(chain, Role.INFER, show_log=options.show_log), chain.setup.submission_file
    digest = chain.state.prediction.text("sha256") if chain.state.prediction is not None else ""

    def check(path: Path) -> None:
        if file_digest(path) != digest:
            raise DamagedError(f"it is not the file of version {session.push.version} that was checked")

    file = session.file(name)
    if not file.is_file() or file_digest(file) != digest:
        session.fetch(name, check)
    return file


# Checking what inference predicted, against the competition's sample submission as this Kaggle has it.


_LARGEST = 512 * 1024 * 1024


def fetch_sample(chain: ChainExecution, options: PushOptions) -> Path | None:
    """The sample, fetched once; the workspace's copy where Kaggle does not give it; None where there is neither."""
    slug, name = options.spec.competition.slug, options.spec.task.sample_submission
    if not name:
        return None
    archive, separator, member = name.partition(".zip/")
    file = archive + separator.removesuffix("/")
    copy = chain.folder("sample") / Path(file).name
    if not copy.is_file():
        url = chain.page(f"competitions/{slug}/data")
        try:
            chain.read(f"the sample submission of {slug}", lambda: _fetch(chain, slug, file, copy), url=url)
        except KaggleError as error:
            chain.tell("infer", f"The sample submission cannot be fetched: {error.message}")
    workspace_file = options.workspace.competition_data(slug) / file
    sample = next((path for path in (copy, workspace_file) if path.is_file()), None)
    return sample / member if sample is not None and member else sample


def check_submission(path: Path, sample: Path | None, options: PushOptions) -> SubmissionSummary:
    """The summary of a submission that is what the competition asks for; without columns where nothing here reads it.

    Raises:
        DamagedError: It is not, or it arrived in part.
        SubmissionUnfitError: It is empty.
    """
    unread = SubmissionSummary(path=path, rows=0, columns=())
    if not is_known_format(path.name):
        if not path.stat().st_size:
            raise SubmissionUnfitError(problem=f"{path.name} is empty.")
        return unread
    try:
        if sample is None:
            return summarize(path)
        task = options.spec.task
        return validate(path, sample, columns=sample_columns_of(task), tolerance=tolerance_of(task))
    except MissingReaderError:
        # The notebook has checked it as well, and a chain is long: that is no reason to stop at its end.
        return unread
    except SubmissionError as error:
        # Half of a file looks like one with rows missing: it is fetched again before that is believed.
        raise DamagedError(error.message) from error


def _fetch(chain: ChainExecution, slug: str, name: str, copy: Path) -> None:
    files = {file.name: file for file in chain.kaggle.competitions.list_files(slug)}
    if name not in files or files[name].size > _LARGEST:
        return
    for _ in chain.kaggle.files.download(chain.kaggle.competitions.file_url(slug, name), copy, size=files[name].size):
        pass


# Submitting exactly once, and waiting for the score.
#
# Every submission carries a tag in its message, by which it is found again after a lost answer or a crash.


_SUBMIT_STEP = ChainStep.SUBMIT
_TAG_BYTES = 4


class TaggedSubmission(ExactlyOnce[AnnouncedSubmission]):
    """The submission of a chain: the version of the inference kernel, or the file that it wrote.

    Args:
        chain: The chain.
        file: What that wrote, here.
        message: What the submission says of itself before its tag.
    """

    _noun, _withdrawn = "submission", EntryKind.NOT_SUBMITTED

    def __init__(self, chain: ChainExecution, *, file: Path, message: str) -> None:
        setup = chain.setup
        self._competition_page = chain.page(f"competitions/{setup.competition}")
        self._url = f"{self._competition_page}/submissions"
        poll = chain.poll("the submission", url=self._url)
        super().__init__(chain, _SUBMIT_STEP, subject=f"the submission to {setup.competition}", poll=poll)
        self._setup, self._push, self._file, self._message = setup, chain.state.pushes[Role.INFER], file, message
        self._beginning_of_tag = f"tandem {setup.pair} {chain.journal.number:04}-"

    def wait(self, announcement: AnnouncedSubmission) -> None:
        """Waits until the submission has its score.

        Raises:
            ScoringFailedError: It has none.
            WaitedInVainError: Nothing was to be learned of it for too long.
        """
        competition, reference = self._setup.competition, announcement.reference
        poll = self._chain.poll(f"submission {reference}", url=self._url, is_new=True)
        self._chain.tell(_SUBMIT_STEP, "waiting for the score", kind=EventKind.STATE, state="pending")
        while True:
            submission = poll.ask(lambda: self._chain.kaggle.competitions.submission(competition, reference))
            if submission.status is SubmissionStatus.COMPLETE:
                break
            if submission.status is SubmissionStatus.ERROR:
                failure = ScoringFailedError(reference=reference, problem=submission.error, url=self._url)
                raise self._chain.fail(_SUBMIT_STEP, failure)
            poll.give_up_after(self._chain.polling.queue, trouble=f"it is still {submission.status}")
            poll.pause()
        fields = {"public": submission.public_score, "private": submission.private_score}
        self._chain.write(EntryKind.SCORED, **fields)
        score_text = (
            "no score shown" if submission.public_score is None else f"public score {submission.public_score:.5f}"
        )
        self._chain.tell(_SUBMIT_STEP, f"{competition}: {score_text}", kind=EventKind.STEP, **fields)

    @property
    def _current(self) -> AnnouncedSubmission | None:
        return self._chain.state.submission

    def _announce(self) -> None:
        competition = self._setup.competition
        left = self._chain.read(
            "the submission limits",
            lambda: self._chain.kaggle.competitions.submissions_left(competition),
            url=self._url,
        )
        if left <= 0:
            raise ChainError(
                f"No submission to {printable(competition)} is left today; the count begins anew at 00:00 UTC.",
                remedy=f"Everything is ready: "
                f"`tandem submit {printable(self._setup.pair)}{to_target(self._setup.target)}` goes on from here.",
                code="submissions-exhausted",
            )
        self._chain.write(EntryKind.SUBMITTING, tag=f"{self._beginning_of_tag}{secrets.token_hex(_TAG_BYTES)}")

    def _send(self) -> None:
        kaggle, competition = self._chain.kaggle, self._setup.competition
        message = f"{self._message} [{self._tag}]".strip()
        if self._setup.is_code_competition:
            reference = kaggle.competitions.submit_kernel(
                competition,
                kernel=self._push.ref,
                version=self._push.version,
                file_name=self._setup.submission_file,
                message=message,
            )
        else:
            reference = kaggle.competitions.submit_file(competition, path=self._file, message=message)
        self._write_made(self._tag, reference)

    def _find(self) -> bool:
        ours = next((submission for submission in self._submissions() if self._tag in submission.description), None)
        if ours is not None:
            self._write_made(self._tag, ours.ref)
        return ours is not None

    def _adopt(self) -> None:
        for submission in self._submissions():
            _, beginning, rest = submission.description.rpartition(self._beginning_of_tag)
            if beginning:
                tag = beginning + rest[: 2 * _TAG_BYTES]
                self._chain.write(EntryKind.SUBMITTING, tag=tag)
                self._write_made(tag, submission.ref)
                return

    def _explain(self, error: KaggleError) -> None:
        """Names the page and the button, where Kaggle wants the submission to be made in a browser."""
        if not isinstance(error, SubmitForbiddenError):
            return
        setup, push, reason = self._setup, self._push, error.words or "it gives no reason"
        page, button = f"{self._competition_page}/submit", f"Submit Prediction, with {self._file}"
        if setup.is_code_competition:
            page, button = push.url, f"Submit to competition (version {push.version}, {setup.submission_file})"
        self._chain.write(EntryKind.BY_HAND, page=page, button=button, why=reason)
        raise SubmitByHandError(
            page=page, button=button, reason=reason, pair=setup.pair, target=setup.target
        ) from error

    @property
    def _tag(self) -> str:
        submission = self._chain.state.submission
        return submission.tag if submission is not None else ""

    def _submissions(self) -> tuple[ApiSubmission, ...]:
        competition = self._setup.competition
        return self._chain.read(
            "the list of submissions", lambda: self._chain.kaggle.competitions.submissions(competition), url=self._url
        )

    def _write_made(self, tag: str, reference: int) -> None:
        self._chain.write(EntryKind.SUBMITTED, tag=tag, reference=reference)
        is_kernel, push = self._setup.is_code_competition, self._push
        subject = f"version {push.version} of {push.ref}" if is_kernel else self._setup.submission_file
        text = f"submitted {subject} to {self._setup.competition}: submission {reference}"
        self._chain.tell(_SUBMIT_STEP, text, kind=EventKind.STEP, reference=reference)
