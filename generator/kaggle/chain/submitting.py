"""Submitting once, and waiting for the score.

Every submission carries a tag in its message, by which it is found again after a lost answer or a crash.
"""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from generator.kaggle.api import Submission, SubmissionStatus
from generator.kaggle.chain.errors import (
    NoSubmissionLeftError,
    NotAcceptedError,
    ScoringFailedError,
    SubmitByHandError,
    WaitedInVainError,
)
from generator.kaggle.chain.events import EventKind
from generator.kaggle.chain.journal import Kind
from generator.kaggle.chain.record import Record, Watch
from generator.kaggle.chain.state import Begun, Push, Step, Submitted
from generator.kaggle.errors import (
    KaggleError,
    SubmitForbiddenError,
)

_STEP = Step.SUBMIT
_TAG_BYTES = 4


@dataclass(frozen=True)
class Entrant:
    """What is submitted: the version of the inference kernel, or the file that it wrote."""

    begun: Begun
    push: Push
    file: Path
    message: str
    competition_page: str

    @property
    def page(self) -> str:
        """Where somebody submits by hand."""
        return self.push.url if self.begun.is_code_competition else f"{self.competition_page}/submit"

    @property
    def button(self) -> str:
        """What there is to press on that page."""
        if not self.begun.is_code_competition:
            return f"Submit Prediction, with {self.file}"
        return f"Submit to competition (version {self.push.version}, {self.begun.submission_file})"

    @property
    def submissions_page(self) -> str:
        """Where all submissions are listed."""
        return f"{self.competition_page}/submissions"


class Submitter:
    """Submits, and waits for the score."""

    def __init__(self, record: Record, entrant: Entrant) -> None:
        self._record = record
        self._entrant = entrant
        self._last = ""

    def submit(self) -> Submitted:
        """Makes the submission, or finds the one that an earlier attempt made.

        Raises:
            NoSubmissionLeftError: None is left today.
            SubmitByHandError: Kaggle wants it to be made in a browser.
            NotAcceptedError: Kaggle did not take it, several times.
            KaggleError: Kaggle refused, and would refuse again.
        """
        watch = Watch(self._record, "the submission", url=self._entrant.submissions_page)
        attempts = 0
        if self._record.state.is_repaired and self._record.state.submitted is None:
            self._adopt()
        while attempts < self._record.patience.attempts:
            current = self._record.state.submitted
            if current is not None and current.reference:
                return current
            if current is not None:
                self._settle(current)
                continue
            if not self._announce_and_submit(watch):
                attempts += 1
        what = f"the submission to {self._entrant.begun.competition}"
        raise NotAcceptedError(what=what, attempts=attempts, last=self._last)

    def wait(self, submitted: Submitted) -> Submission:
        """Waits until the submission has its score.

        Raises:
            ScoringFailedError: It has none.
            WaitedInVainError: Nothing was to be learned of it for too long.
        """
        slug, reference = self._entrant.begun.competition, submitted.reference
        watch = Watch(self._record, f"submission {reference}", url=self._entrant.submissions_page, is_new=True)
        started = self._record.clock.monotonic()
        self._record.tell(_STEP, "waiting for the score", kind=EventKind.STATE, state="pending")
        while True:
            try:
                found = self._record.kaggle.submission(slug, reference)
            except KaggleError as error:
                watch.endure(error)
                continue
            watch.well()
            if found.status is SubmissionStatus.COMPLETE:
                self._score(found)
                return found
            if found.status is SubmissionStatus.ERROR:
                page = self._entrant.submissions_page
                failure = ScoringFailedError(reference=reference, problem=found.error, url=page)
                raise self._record.fail(_STEP, failure)
            if self._record.clock.monotonic() - started >= self._record.patience.queue:
                page = self._entrant.submissions_page
                trouble = f"it is still {found.status}"
                raise WaitedInVainError(what=f"submission {reference}", trouble=trouble, url=page, remedy="")
            watch.wait()

    def _announce_and_submit(self, watch: Watch) -> bool:
        begun = self._entrant.begun
        limits = self._record.read(
            "the submission limits",
            lambda: self._record.kaggle.submission_limits(begun.competition),
            url=self._entrant.submissions_page,
        )
        if limits.allowed_now <= 0:
            raise NoSubmissionLeftError(competition=begun.competition, pair=begun.pair, target=begun.target)
        tag = f"{self._beginning_of_tag}{secrets.token_hex(_TAG_BYTES)}"
        self._record.write(Kind.SUBMITTING, tag=tag)
        try:
            reference = self._send(tag)
        except SubmitForbiddenError as error:
            raise self._by_hand(error) from error
        except KaggleError as error:
            if error.outcome_unknown:
                self._last = error.message
                self._record.tell(_STEP, f"{error.message} Looking whether the submission was taken.")
                return self._settle(Submitted(tag, self._record.clock.now()))
            self._not_made(error.message)
            watch.endure(error)
            return True
        self._made(tag, reference)
        return True

    @property
    def _beginning_of_tag(self) -> str:
        return f"tandem {self._entrant.begun.pair} {self._record.journal.number:04}-"

    def _adopt(self) -> None:
        """Takes the newest submission of this chain for ours, though the journal does not know it."""
        for submission in self._submissions():
            _, beginning, rest = submission.description.rpartition(self._beginning_of_tag)
            if beginning:
                tag = beginning + rest[: 2 * _TAG_BYTES]
                self._record.write(Kind.SUBMITTING, tag=tag)
                self._made(tag, submission.ref)
                return

    def _submissions(self) -> tuple[Submission, ...]:
        competition = self._entrant.begun.competition
        return self._record.read(
            "the list of submissions",
            lambda: self._record.kaggle.submissions(competition),
            url=self._entrant.submissions_page,
        )

    def _send(self, tag: str) -> int:
        entrant, kaggle = self._entrant, self._record.kaggle
        message = f"{entrant.message} [{tag}]".strip()
        if not entrant.begun.is_code_competition:
            return kaggle.submit_file(entrant.begun.competition, path=entrant.file, message=message)
        return kaggle.submit_kernel(
            entrant.begun.competition,
            kernel=entrant.push.ref,
            version=entrant.push.version,
            file_name=entrant.begun.submission_file,
            message=message,
        )

    def _settle(self, submitted: Submitted) -> bool:
        """Finds out whether an announced submission was made, by its tag."""
        watch = Watch(self._record, "the submission", url=self._entrant.submissions_page)
        until = submitted.announced + timedelta(seconds=self._record.patience.commit)
        while True:
            for submission in self._submissions():
                if submitted.tag in submission.description:
                    self._made(submitted.tag, submission.ref)
                    return True
            if self._record.clock.now() >= until:
                self._not_made(self._last)
                return False
            watch.wait()

    def _made(self, tag: str, reference: int) -> None:
        self._record.write(Kind.SUBMITTED, tag=tag, reference=reference)
        what = (
            f"version {self._entrant.push.version} of {self._entrant.push.ref}"
            if self._entrant.begun.is_code_competition
            else self._entrant.begun.submission_file
        )
        text = f"submitted {what} to {self._entrant.begun.competition}: submission {reference}"
        self._record.tell(_STEP, text, kind=EventKind.STEP, reference=reference)

    def _not_made(self, why: str) -> None:
        self._last = why
        self._record.write(Kind.NOT_SUBMITTED, error=why)

    def _by_hand(self, error: SubmitForbiddenError) -> SubmitByHandError:
        entrant = self._entrant
        why = error.said or "it gives no reason"
        self._record.write(Kind.BY_HAND, page=entrant.page, button=entrant.button, why=why)
        pair, target = entrant.begun.pair, entrant.begun.target
        return SubmitByHandError(page=entrant.page, button=entrant.button, why=why, pair=pair, target=target)

    def _score(self, found: Submission) -> None:
        self._record.write(Kind.SCORED, public=found.public_score, private=found.private_score)
        shown = "no score shown" if found.public_score is None else f"public score {found.public_score:.5f}"
        fields = {"public": found.public_score, "private": found.private_score}
        self._record.tell(_STEP, f"{self._entrant.begun.competition}: {shown}", kind=EventKind.STEP, **fields)
