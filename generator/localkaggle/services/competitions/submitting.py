"""Submitting: files, notebooks, the day's allowance, and what became of it all."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path, PurePosixPath

from generator.accelerators.catalog import AcceleratorKind
from generator.competition.metrics import parsed
from generator.files import open_below, open_file
from generator.localkaggle.clock import as_wire
from generator.localkaggle.file_names import checked_name
from generator.localkaggle.hosting import Hosted, HostedFacts
from generator.localkaggle.hosting.bounds import LARGEST_SUBMISSION
from generator.localkaggle.rpc import ApiError, Call, Fields, Redirect, Stored, page
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.competitions.catalog import Catalog, page_of
from generator.localkaggle.services.competitions.records import Stage, Submission, Submissions
from generator.localkaggle.services.competitions.scoring import ScoringQueue

_LONGEST_DESCRIPTION = 5_000
_NO_OUTPUT_FILE = "The output file was not found in this Notebook version. Save a version that writes it."
_ONLY_NOTEBOOKS = "Submission not allowed: This competition only accepts Submissions from Notebooks."


class Submitting:
    """Answers everything about submissions."""

    def __init__(self, site: ServiceContext, catalog: Catalog, submissions: Submissions, scoring: ScoringQueue) -> None:
        self._site = site
        self._catalog = catalog
        self._submissions = submissions
        self._scoring = scoring

    def start_upload(self, call: Call) -> Fields:
        """`StartSubmissionUpload`."""
        facts = self._catalog.named(call).facts
        self._require_entered(call)
        if facts.is_code_competition:
            raise ApiError(400, _ONLY_NOTEBOOKS)
        size = call.integer("contentLength")
        if not 0 <= size <= LARGEST_SUBMISSION:
            raise ApiError(400, f"A submission has at most {LARGEST_SUBMISSION:,} bytes.")
        name = checked_name(call.text("fileName") or "submission.csv")
        return self._site.uploads.start(call, name=name, size=size)

    def submit_file(self, call: Call) -> Fields:
        """`CreateSubmission`."""
        hosted = self._catalog.named(call)
        self._require_allowed(call)
        if hosted.facts.is_code_competition:
            raise ApiError(400, _ONLY_NOTEBOOKS)
        blob = self._site.uploads.take(call.text("blobFileTokens"), owner=call.caller)
        submission = self._added(call, hosted.facts, file_name=blob.name)
        with open_file(blob.path) as file:
            self._scoring.receive(submission, file)
        return _submitted(hosted, submission)

    def submit_notebook(self, call: Call) -> Fields:
        """`CreateCodeSubmission`: the version is run again on the hidden test, or else what it wrote is taken."""
        hosted = self._catalog.named(call)
        self._require_allowed(call)
        file_name = checked_name(call.text("fileName") or hosted.facts.submission_file)
        written = self._written(call, hosted.facts, file_name)
        if hosted.facts.is_code_competition:
            submission = self._added(call, hosted.facts, file_name=file_name)
            self._scoring.rerun(submission)
            return _submitted(hosted, submission)
        try:
            file = open_below(written, file_name)
        except OSError as error:
            raise ApiError(400, _NO_OUTPUT_FILE) from error
        with file:
            submission = self._added(call, hosted.facts, file_name=file_name)
            self._scoring.receive(submission, file)
        return _submitted(hosted, submission)

    def list(self, call: Call) -> Fields:
        """`ListSubmissions`, the newest first."""
        facts = self._catalog.named(call).facts
        found = self._submissions.of_team(facts.slug, call.caller)
        if call.text("group") == "SUBMISSION_GROUP_SUCCESSFUL":
            found = [each for each in found if each.stage is Stage.COMPLETE]
        if call.text("sortBy") == "SUBMISSION_SORT_BY_PUBLIC_SCORE":
            sign = -1 if parsed(facts.question.metric)[0].higher_is_better else 1
            found.sort(key=lambda each: (each.public is None, sign * (each.public or 0)))
        return page([self._fields(call, each) for each in found], call, key="submissions")

    def get(self, call: Call) -> Fields:
        """`GetSubmission`."""
        return self._fields(call, self._own(call, "ref"))

    def download(self, call: Call) -> Redirect:
        """`DownloadSubmission`; what a notebook wrote on the hidden test stays hidden."""
        submission = self._own(call, "submissionId")
        hosted = self._catalog.find(submission.competition)
        if hosted is None or hosted.facts.is_code_competition:
            raise ApiError(403, "The submission of a code competition cannot be downloaded.")
        file = self._submissions.file(submission)
        if not file.is_file():
            raise ApiError(404, "Submission not found")
        return Redirect(self._site.tickets.download(call, Stored(file, file.name)))

    def limits(self, call: Call) -> Fields:
        """`GetSubmissionLimits`."""
        facts = self._catalog.named(call).facts
        today, total = self._submissions.counts(facts.slug, call.caller, self._site.clock.now())
        return {
            "numToday": today,
            "numTotal": total,
            "numAllowedNow": max(facts.daily_limit - today, 0),
            "limitedByTotal": False,
        }

    def _require_entered(self, call: Call) -> None:
        if self._site.faults.strikes("rules-not-accepted", at=call.method, also=call.text("competitionName")):
            raise ApiError(403, "You must accept this competition's rules before you can submit.")

    def _require_allowed(self, call: Call) -> None:
        slug = call.text("competitionName")
        self._require_entered(call)
        if self._site.faults.strikes("submit-403", at=call.method, also=slug):
            raise ApiError(403, "Permission 'competitions.submit' was denied")
        if self._site.faults.strikes("submit-limit", at=call.method, also=slug):
            raise self._limit_reached(self._catalog.named(call).facts)

    def _limit_reached(self, facts: HostedFacts) -> ApiError:
        now = self._site.clock.now()
        tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        hours = (tomorrow - now).total_seconds() / 3600
        return ApiError(
            400,
            f"Submission not allowed: Your team has used its daily Submission allowance ({facts.daily_limit}) today, "
            f"please try again tomorrow UTC ({hours:.1f} hours from now).",
        )

    def _written(self, call: Call, facts: HostedFacts, file_name: str) -> Path:
        """The folder of what the submitted version wrote, with such a file in it, if it may be submitted at all."""
        owner, slug, number = call.text("kernelOwner"), call.text("kernelSlug"), call.integer("kernelVersion")
        # A team submits what it made itself: somebody else's notebook has to be forked first.
        version = self._scoring.kernels.finished_version(owner, slug, number) if owner == call.caller else None
        if version is None:
            raise ApiError(404, "Notebook version not found, or it has not run successfully.")
        settings, output = version
        if facts.is_code_competition:
            if settings.internet and not facts.allows_internet:
                raise ApiError(
                    400,
                    "Your Notebook cannot use internet access in this competition. Please disable internet in the "
                    "Notebook editor and save a new version.",
                )
            if settings.accelerator.kind is AcceleratorKind.TPU:
                raise ApiError(
                    400,
                    "Your Notebook cannot use TPUs in this competition. Please choose another accelerator in the "
                    "Notebook editor and save a new version.",
                )
        if file_name not in output:
            raise ApiError(400, _NO_OUTPUT_FILE)
        return output[file_name].parents[len(PurePosixPath(file_name).parts) - 1]

    def _added(self, call: Call, facts: HostedFacts, *, file_name: str) -> Submission:
        is_rerun = facts.is_code_competition
        new = Submission(
            ref=0,
            competition=facts.slug,
            owner=call.caller,
            moment=self._site.clock.now(),
            description=call.text("submissionDescription")[:_LONGEST_DESCRIPTION],
            file_name=file_name,
            kernel=call.text("kernelSlug"),
            kernel_version=call.integer("kernelVersion"),
            stage=Stage.ASKED if is_rerun else Stage.RECEIVING,
        )
        ref = self._submissions.add(new, daily_limit=facts.daily_limit)
        if ref is None:
            raise self._limit_reached(facts)
        return replace(new, ref=ref)

    def _own(self, call: Call, key: str) -> Submission:
        submission = self._submissions.find(call.integer(key))
        if submission is None or submission.owner != call.caller:
            raise ApiError(404, "Submission not found")
        return submission

    def _fields(self, call: Call, submission: Submission) -> Fields:
        hosted = self._catalog.find(submission.competition)
        # Until a competition is over, its private scores are hidden; one without an end has nothing to hide.
        ends = hosted.facts.deadline if hosted is not None else None
        is_rerun = bool(submission.kernel) and (hosted is None or hosted.facts.is_code_competition)
        shows_private = hosted is not None and (ends is None or ends <= self._site.clock.now())
        return {
            "ref": submission.ref,
            "fileName": submission.file_name,
            "date": as_wire(submission.moment),
            "description": submission.description,
            "errorDescription": submission.error,
            # A rerun chooses the size of what it writes by what it reads in the hidden test.
            "totalBytes": 0 if is_rerun else submission.size,
            "status": submission.stage.status,
            "publicScore": score_text(submission.public),
            "privateScore": score_text(submission.private) if shows_private else "",
            "submittedBy": submission.owner,
            "submittedByRef": submission.owner,
            "teamName": submission.owner,
            "url": f"{page_of(call, submission.competition)}/submissions",
        }


def score_text(score: float | None) -> str:
    """A score as Kaggle writes it; empty where there is none yet."""
    return "" if score is None else f"{score:.5f}"


def _submitted(hosted: Hosted, submission: Submission) -> Fields:
    return {"message": f"Successfully submitted to {hosted.facts.title}", "ref": submission.ref}
