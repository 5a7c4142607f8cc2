"""Submitting exactly once, and waiting for the score.

Every submission carries a tag in its message, by which it is found again after a lost answer or a crash.
"""

import secrets
from pathlib import Path

from generator.kaggle.api_types import Submission, SubmissionStatus
from generator.kaggle.chain.errors import ChainError, ScoringFailedError, SubmitByHandError, to_target
from generator.kaggle.chain.events import EventKind
from generator.kaggle.chain.exactly_once import ExactlyOnce
from generator.kaggle.chain.execution import ChainExecution
from generator.kaggle.chain.journal import Kind
from generator.kaggle.chain.state import Step, Submitted
from generator.kaggle.errors import KaggleError, SubmitForbiddenError
from generator.pair.workspace import Role
from generator.untrusted import printable

_STEP = Step.SUBMIT
_TAG_BYTES = 4


class TaggedSubmission(ExactlyOnce[Submitted]):
    """The submission of a chain: the version of the inference kernel, or the file that it wrote.

    Args:
        chain: The chain.
        file: What that wrote, here.
        message: What the submission says of itself before its tag.
    """

    _noun, _withdrawn = "submission", Kind.NOT_SUBMITTED

    def __init__(self, chain: ChainExecution, *, file: Path, message: str) -> None:
        begun = chain.begun
        self._competition_page = chain.page(f"competitions/{begun.competition}")
        self._url = f"{self._competition_page}/submissions"
        poll = chain.poll("the submission", url=self._url)
        super().__init__(chain, _STEP, what=f"the submission to {begun.competition}", poll=poll)
        self._begun, self._push, self._file, self._message = begun, chain.state.pushes[Role.INFER], file, message
        self._beginning_of_tag = f"tandem {begun.pair} {chain.journal.number:04}-"

    def wait(self, submitted: Submitted) -> None:
        """Waits until the submission has its score.

        Raises:
            ScoringFailedError: It has none.
            WaitedInVainError: Nothing was to be learned of it for too long.
        """
        competition, reference = self._begun.competition, submitted.reference
        poll = self._chain.poll(f"submission {reference}", url=self._url, is_new=True)
        self._chain.tell(_STEP, "waiting for the score", kind=EventKind.STATE, state="pending")
        while True:
            found = poll.ask(lambda: self._chain.kaggle.submission(competition, reference))
            if found.status is SubmissionStatus.COMPLETE:
                break
            if found.status is SubmissionStatus.ERROR:
                failure = ScoringFailedError(reference=reference, problem=found.error, url=self._url)
                raise self._chain.fail(_STEP, failure)
            poll.give_up_after(self._chain.polling.queue, trouble=f"it is still {found.status}")
            poll.pause()
        fields = {"public": found.public_score, "private": found.private_score}
        self._chain.write(Kind.SCORED, **fields)
        shown = "no score shown" if found.public_score is None else f"public score {found.public_score:.5f}"
        self._chain.tell(_STEP, f"{competition}: {shown}", kind=EventKind.STEP, **fields)

    @property
    def _current(self) -> Submitted | None:
        return self._chain.state.submitted

    def _announce(self) -> None:
        competition = self._begun.competition
        left = self._chain.read(
            "the submission limits", lambda: self._chain.kaggle.submissions_left(competition), url=self._url
        )
        if left <= 0:
            raise ChainError(
                f"No submission to {printable(competition)} is left today; the count begins anew at 00:00 UTC. "
                "Everything is ready: "
                f"`tandem submit {printable(self._begun.pair)}{to_target(self._begun.target)}` goes on from here."
            )
        self._chain.write(Kind.SUBMITTING, tag=f"{self._beginning_of_tag}{secrets.token_hex(_TAG_BYTES)}")

    def _send(self) -> None:
        kaggle, competition = self._chain.kaggle, self._begun.competition
        message = f"{self._message} [{self._tag}]".strip()
        if self._begun.is_code_competition:
            reference = kaggle.submit_kernel(
                competition,
                kernel=self._push.ref,
                version=self._push.version,
                file_name=self._begun.submission_file,
                message=message,
            )
        else:
            reference = kaggle.submit_file(competition, path=self._file, message=message)
        self._write_made(self._tag, reference)

    def _find(self) -> bool:
        ours = next((each for each in self._submissions() if self._tag in each.description), None)
        if ours is not None:
            self._write_made(self._tag, ours.ref)
        return ours is not None

    def _adopt(self) -> None:
        for submission in self._submissions():
            _, beginning, rest = submission.description.rpartition(self._beginning_of_tag)
            if beginning:
                tag = beginning + rest[: 2 * _TAG_BYTES]
                self._chain.write(Kind.SUBMITTING, tag=tag)
                self._write_made(tag, submission.ref)
                return

    def _explain(self, error: KaggleError) -> None:
        """Names the page and the button, where Kaggle wants the submission to be made in a browser."""
        if not isinstance(error, SubmitForbiddenError):
            return
        begun, push, why = self._begun, self._push, error.said or "it gives no reason"
        page, button = f"{self._competition_page}/submit", f"Submit Prediction, with {self._file}"
        if begun.is_code_competition:
            page, button = push.url, f"Submit to competition (version {push.version}, {begun.submission_file})"
        self._chain.write(Kind.BY_HAND, page=page, button=button, why=why)
        raise SubmitByHandError(page=page, button=button, why=why, pair=begun.pair, target=begun.target) from error

    @property
    def _tag(self) -> str:
        submitted = self._chain.state.submitted
        return submitted.tag if submitted is not None else ""

    def _submissions(self) -> tuple[Submission, ...]:
        competition = self._begun.competition
        return self._chain.read(
            "the list of submissions", lambda: self._chain.kaggle.submissions(competition), url=self._url
        )

    def _write_made(self, tag: str, reference: int) -> None:
        self._chain.write(Kind.SUBMITTED, tag=tag, reference=reference)
        is_kernel, push = self._begun.is_code_competition, self._push
        what = f"version {push.version} of {push.ref}" if is_kernel else self._begun.submission_file
        text = f"submitted {what} to {self._begun.competition}: submission {reference}"
        self._chain.tell(_STEP, text, kind=EventKind.STEP, reference=reference)
