"""The scoring of submissions, one after the other, in a thread of its own."""

import logging
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import BinaryIO

from generator.competition.submission import SubmissionError
from generator.files import open_below
from generator.localkaggle.hosting import Hosted
from generator.localkaggle.hosting.bounds import LARGEST_SUBMISSION
from generator.localkaggle.rpc import ApiError
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.competitions.catalog import Catalog
from generator.localkaggle.services.competitions.records import Stage, Submission, Submissions
from generator.localkaggle.services.free_space import has_room
from generator.localkaggle.services.kernel_records import SessionRecord
from generator.localkaggle.services.kernels import Kernels
from generator.sessions.worker import THREW

_LOG = logging.getLogger(__name__)
_CUT_OFF = "Kaggle Error: Something went wrong on our end. Please try again."
# What a rerun ends with, by words of its session's failure; anything else is of the notebook's own doing.
_FAILURES = (
    (
        ("execution duration", "time limit", "timeout"),
        "Notebook Timeout: Your notebook hit the maximum allotted time for this type of competition.",
    ),
    (
        ("allowed compute", "memory"),
        "Notebook Exceeded Allowed Compute: Your notebook hit the maximum allotted compute, such as memory or disk.",
    ),
    (("server was stopped", "was deleted", "kaggle error"), _CUT_OFF),
)
_THREW = (
    "Notebook Threw Exception: While rerunning your code, your notebook encountered an unhandled error. Note that the "
    "hidden dataset can be larger/smaller/different than the public dataset."
)
_SCORING_FAILED = "Submission Scoring Error: Something went wrong while your submission was scored. Please try again."


class ScoringQueue:
    """Takes submissions from their arrival to their score."""

    def __init__(self, site: ServiceContext, catalog: Catalog, submissions: Submissions, kernels: Kernels) -> None:
        self._site = site
        self._catalog = catalog
        self._submissions = submissions
        self.kernels = kernels
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scoring")

    def start(self) -> None:
        """Takes up what a stop of the server left unscored, and gives up what it cut off on its way here."""
        for submission in self._submissions.at(Stage.RECEIVING):
            self._submissions.fail(submission.ref, _CUT_OFF)
        for submission in self._submissions.at(Stage.WAITING):
            self.queue(submission.ref)
        self.kernels.sessions.when_rerun_ended.append(self._rerun_ended)
        for submission in self._submissions.at(Stage.ASKED):
            self.rerun(submission)

    def rerun(self, submission: Submission) -> None:
        """Runs a submitted notebook on the hidden test; what it writes is scored when it has ended."""
        try:
            self.kernels.rerun(
                submission.owner,
                submission.kernel,
                submission.kernel_version,
                competition=submission.competition,
                submission=submission.ref,
            )
        except ApiError as error:
            self._submissions.fail(submission.ref, f"Kaggle Error: {error.message}")
            return
        self._submissions.rerunning(submission.ref)

    def receive(self, submission: Submission, file: BinaryIO) -> None:
        """Keeps a copy of the submitted file, which is open, and has it scored."""
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_SUBMISSION:
            self._submissions.fail(submission.ref, "Submission Scoring Error: The submission file is too large.")
            return
        kept = self._submissions.file(submission)
        kept.parent.mkdir(parents=True, exist_ok=True)
        if not has_room(kept.parent, size):
            failure = "Kaggle Error: There is no room for the submission on the disk of this server."
            self._submissions.fail(submission.ref, failure)
            return
        with kept.open("wb") as copy:
            shutil.copyfileobj(file, copy)
        self._submissions.received(submission.ref, kept.stat().st_size)
        self.queue(submission.ref)

    def queue(self, ref: int) -> None:
        """Has a submission scored whose file is here; after `close` it waits for the next start."""
        with suppress(RuntimeError):
            self._worker.submit(self._score, ref)

    def close(self) -> None:
        """Lets the submission that is being scored finish; the others wait for the next start."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _rerun_ended(self, rerun: SessionRecord) -> None:
        """Takes over what a rerun wrote; when this returns, the rerun may be forgotten."""
        submission = self._submissions.find(rerun.submission or 0)
        if submission is None or submission.stage not in (Stage.ASKED, Stage.RERUNNING):
            return
        if rerun.failure.startswith(THREW):
            self._submissions.fail(submission.ref, _THREW)
            return
        if rerun.failure:
            failed = (said for words, said in _FAILURES if any(word in rerun.failure.lower() for word in words))
            self._submissions.fail(submission.ref, next(failed, _THREW))
            return
        try:
            written = open_below(self.kernels.sessions.folder(rerun.id).working, submission.file_name)
        except OSError:
            missing = "Your notebook did not output the expected submission file when it was run again."
            self._submissions.fail(submission.ref, f"Submission CSV Not Found: {missing}")
            return
        with written:
            self.receive(submission, written)

    def _score(self, ref: int) -> None:
        submission = self._submissions.find(ref)
        if submission is None or submission.stage is not Stage.WAITING:
            return
        hosted = self._catalog.find(submission.competition)
        if hosted is None:
            self._submissions.fail(ref, "Kaggle Error: The competition is not hosted here any more.")
            return
        try:
            self._score_by(hosted, submission)
        except Exception:  # noqa: BLE001 - the next submission is to be scored whatever is wrong with this one
            _LOG.exception("submission %d could not be scored", ref)
            self._submissions.fail(ref, _SCORING_FAILED)

    def _score_by(self, hosted: Hosted, submission: Submission) -> None:
        if self._site.faults.strikes("score-fails", at=f"score/{submission.competition}"):
            self._submissions.fail(submission.ref, _SCORING_FAILED)
            return
        file = self._submissions.file(submission)
        try:
            scores = hosted.score(file)
        except SubmissionError as error:
            problem = error.message.replace(str(file), submission.file_name)
            self._submissions.fail(submission.ref, _told(hosted, submission, problem))
            return
        self._submissions.complete(submission.ref, public=scores.public, private=scores.private)


def _told(hosted: Hosted, submission: Submission, problem: str) -> str:
    """The error of a submission that cannot be scored, as the team is told it."""
    if not hosted.facts.is_code_competition:
        return f"Evaluation Exception: {problem}"
    # A notebook can write the hidden test into its submission, to read it in what is quoted of it; the host may see it.
    _LOG.warning("submission %d to %s cannot be scored: %s", submission.ref, hosted.facts.slug, problem)
    return (
        "Submission Scoring Error: Your notebook generated a submission file with incorrect format. Some examples "
        "causing this are: wrong number of rows or columns, empty values, an incorrect data type for a value, or "
        "invalid submission values from what is expected."
    )
