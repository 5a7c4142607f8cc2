"""Competitions at a Kaggle: what they are, their files, and submissions to them."""

import math
from collections.abc import Sequence
from typing import Any

from generator.kaggle import guards
from generator.kaggle.api import (
    Page,
    RemoteCompetition,
    RemoteFile,
    RemoteFolder,
    Submission,
    SubmissionLimits,
    SubmissionStatus,
)
from generator.kaggle.refusals import Errand
from generator.kaggle.sdk import COMPETITIONS
from generator.kaggle.wire import Wire

_PAGE_SIZE = 200  # the most that Kaggle gives

_STATUS = {
    "PENDING": SubmissionStatus.PENDING,
    "COMPLETE": SubmissionStatus.COMPLETE,
    "ERROR": SubmissionStatus.ERROR,
}


class Competitions:
    """The part of `Kaggle` that is about competitions."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def competition(self, slug: str) -> RemoteCompetition:
        """See `Kaggle.competition`."""
        errand = Errand(f"look up the competition {slug}", slug)
        found = self._wire.read(errand, COMPETITIONS, "get_competition", competition_name=slug)
        return RemoteCompetition(
            slug=_slug(found) or slug,
            title=found.title or "",
            url=found.url or f"{self._wire.endpoint.site.base}/competitions/{slug}",
            metric=found.evaluation_metric or "",
            is_code_competition=bool(found.is_kernels_submissions_only),
            has_accepted_rules=bool(found.user_has_entered),
            submissions_disabled=bool(found.submissions_disabled),
            deadline=found.deadline,
            max_daily_submissions=found.max_daily_submissions or None,
        )

    def pages(self, slug: str) -> tuple[Page, ...]:
        """See `Kaggle.pages`."""
        errand = Errand(f"read the pages of {slug}", slug)
        found = self._wire.read(errand, COMPETITIONS, "list_competition_pages", competition_name=slug)
        return tuple(Page(page.name, page.content) for page in found.pages)

    def files(self, slug: str) -> tuple[RemoteFile, ...]:
        """See `Kaggle.competition_files`."""
        errand = Errand(f"list the files of {slug}", slug)
        pages = self._wire.pages(errand, COMPETITIONS, "list_data_files", competition_name=slug, page_size=_PAGE_SIZE)
        files = [RemoteFile(file.name or file.ref, file.total_bytes) for page in pages for file in page.files]
        self._check(files, errand)
        return tuple(files)

    def folder(self, slug: str, path: str, *, most: int) -> RemoteFolder:
        """See `Kaggle.competition_folder`."""
        errand = Errand(f"list the folder {path or 'at the top'} of {slug}", slug)
        folders: list[str] = []
        files: list[RemoteFile] = []
        total = 0
        fields = {"competition_name": slug, "path": path or None, "page_size": _PAGE_SIZE}
        for page in self._wire.pages(errand, COMPETITIONS, "list_data_tree_files", **fields):
            folders += [folder.name or "" for folder in page.directories]
            files += [
                RemoteFile(f"{path}/{file.name}" if path else file.name or "", file.total_bytes) for file in page.files
            ]
            total = max(page.total_files, len(files))
            # Folders come before files, so what a further page would add are files.
            if len(files) >= most:
                break
        self._check(files, errand)
        guards.checked_names(folders, doing=errand.doing, remedy=guards.BY_HAND)
        return RemoteFolder(tuple(folders), tuple(files[:most]), total)

    def file_url(self, slug: str, name: str) -> str:
        """See `Kaggle.competition_file_url`."""
        errand = Errand(f"download {name} of {slug}", slug)
        return self._wire.location(errand, COMPETITIONS, "download_data_file", competition_name=slug, file_name=name)

    def archive_url(self, slug: str) -> str:
        """See `Kaggle.competition_archive_url`."""
        errand = Errand(f"download the data of {slug}", slug)
        return self._wire.location(errand, COMPETITIONS, "download_data_files", competition_name=slug)

    def submission_limits(self, slug: str) -> SubmissionLimits:
        """See `Kaggle.submission_limits`."""
        errand = Errand(f"read how many submissions to {slug} are left", slug)
        found = self._wire.read(errand, COMPETITIONS, "get_submission_limits", competition_name=slug)
        return SubmissionLimits(today=found.num_today, allowed_now=found.num_allowed_now)

    def submissions(self, slug: str) -> tuple[Submission, ...]:
        """See `Kaggle.submissions`."""
        errand = Errand(f"list the submissions to {slug}", slug)
        found = self._wire.read(
            errand, COMPETITIONS, "list_submissions", competition_name=slug, page=1, page_size=_PAGE_SIZE
        )
        return tuple(_submission(item) for item in found.submissions)

    def submission(self, slug: str, ref: int) -> Submission:
        """See `Kaggle.submission`."""
        errand = Errand(f"look up submission {ref} to {slug}", slug)
        return _submission(self._wire.read(errand, COMPETITIONS, "get_submission", ref=ref))

    def submit_kernel(self, slug: str, *, kernel: str, version: int, file_name: str, message: str) -> int:
        """See `Kaggle.submit_kernel`."""
        errand = Errand(f"submit version {version} of {kernel} to {slug}", slug, is_submission=True)
        owner, _, name = kernel.partition("/")
        answer = self._wire.change(
            errand,
            COMPETITIONS,
            "create_code_submission",
            competition_name=slug,
            kernel_owner=owner,
            kernel_slug=name,
            kernel_version=version,
            file_name=file_name,
            submission_description=message,
        )
        return self._number(answer, errand)

    def start_upload(self, slug: str, *, name: str, size: int, changed: int) -> tuple[str, str]:
        """Asks for a place for a file to be submitted: the token that will name it, and where its bytes go."""
        errand = Errand(f"submit {name} to {slug}", slug, is_submission=True)
        # An upload that nothing is made of is thrown away, so that asking twice does no harm.
        answer = self._wire.read(
            errand,
            COMPETITIONS,
            "start_submission_upload",
            competition_name=slug,
            file_name=name,
            content_length=size,
            last_modified_epoch_seconds=changed,
        )
        if not answer.token or not answer.create_url:
            raise self._wire.unexpected(errand, "names no place for the upload")
        return answer.token, answer.create_url

    def submit_blob(self, slug: str, *, token: str, file_name: str, message: str) -> int:
        """Submits a file that was uploaded, and returns the submission's number. Sent once."""
        errand = Errand(f"submit {file_name} to {slug}", slug, is_submission=True)
        answer = self._wire.change(
            errand,
            COMPETITIONS,
            "create_submission",
            competition_name=slug,
            blob_file_tokens=token,
            submission_description=message,
        )
        return self._number(answer, errand)

    def _check(self, files: Sequence[RemoteFile], errand: Errand) -> None:
        guards.checked_names((file.name for file in files), doing=errand.doing, remedy=guards.BY_HAND)
        if any(file.size < 0 for file in files):
            raise self._wire.unexpected(errand, "has a file of a negative size")

    def _number(self, answer: Any, errand: Errand) -> int:
        if answer.ref <= 0:
            raise self._wire.unexpected(errand, f"names no submission and says: {answer.message}")
        number: int = answer.ref
        return number


def _slug(found: Any) -> str:
    # `ref` is an address: https://www.kaggle.com/competitions/titanic
    return str(found.ref or found.url or "").rstrip("/").rpartition("/")[2]


def _submission(item: Any) -> Submission:
    status = _STATUS.get(item.status.name, SubmissionStatus.UNKNOWN) if item.status else SubmissionStatus.UNKNOWN
    return Submission(
        ref=item.ref,
        status=status,
        file_name=item.file_name or "",
        description=item.description or "",
        date=item.date,
        public_score=_score(item.public_score),
        private_score=_score(item.private_score),
        error=item.error_description or "",
    )


def _score(text: str | None) -> float | None:
    try:
        score = float(text or "")
    except ValueError:
        return None
    return score if math.isfinite(score) else None
