"""Competitions at a Kaggle: their facts, their files, and submissions to them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from generator.kaggle import guards
from generator.kaggle.api_types import (
    RemoteCompetition,
    RemoteFile,
    RemoteFolder,
    Submission,
    SubmissionStatus,
)
from generator.kaggle.http_errors import Operation
from generator.kaggle.sdk import COMPETITIONS
from generator.kaggle.uploads import Uploads

_PAGE_SIZE = 200  # the most that Kaggle gives


class Competitions(Uploads):
    """The part of `Kaggle` that is about competitions."""

    def competition(self, slug: str) -> RemoteCompetition:
        """The facts of a competition."""
        operation = Operation(f"look up the competition {slug}", slug)
        found = self._read(operation, COMPETITIONS, "get_competition", competition_name=slug)
        # `ref` is an address: https://www.kaggle.com/competitions/titanic
        named = (found.ref or found.url or "").rstrip("/").rpartition("/")[2]
        return RemoteCompetition(
            slug=named or slug,
            title=found.title or "",
            metric=found.evaluation_metric or "",
            is_code_competition=bool(found.is_kernels_submissions_only),
        )

    def pages(self, slug: str) -> Mapping[str, str]:
        """The pages of a competition by their names, such as `evaluation`, in Markdown or HTML."""
        operation = Operation(f"read the pages of {slug}", slug)
        found = self._read(operation, COMPETITIONS, "list_competition_pages", competition_name=slug)
        return {page.name: page.content for page in found.pages}

    def competition_files(self, slug: str) -> tuple[RemoteFile, ...]:
        """Every file of a competition's data, of all pages of the listing, in Kaggle's order."""
        operation = Operation(f"list the files of {slug}", slug)
        pages = self._pages(operation, COMPETITIONS, "list_data_files", competition_name=slug, page_size=_PAGE_SIZE)
        files = [RemoteFile(file.name or file.ref, file.total_bytes) for page in pages for file in page.files]
        self._check_files(files, operation)
        return tuple(files)

    def competition_folder(self, slug: str, path: str, *, most: int) -> RemoteFolder:
        """One folder of a competition's data, by `ListDataTreeFiles`: "" is the top; at most `most` files are in it."""
        operation = Operation(f"list the folder {path or 'at the top'} of {slug}", slug)
        folders: list[str] = []
        files: list[RemoteFile] = []
        total = 0
        fields = {"competition_name": slug, "path": path or None, "page_size": _PAGE_SIZE}
        for page in self._pages(operation, COMPETITIONS, "list_data_tree_files", **fields):
            folders += [folder.name or "" for folder in page.directories]
            files += [
                RemoteFile(f"{path}/{file.name}" if path else file.name or "", file.total_bytes) for file in page.files
            ]
            total = max(page.total_files, len(files))
            # Folders come before files, so what a further page would add are files.
            if len(files) >= most:
                break
        self._check_files(files, operation)
        guards.checked_names(folders, doing=operation.doing, remedy=guards.BY_HAND)
        return RemoteFolder(tuple(folders), tuple(files[:most]), total)

    def competition_file_url(self, slug: str, name: str) -> str:
        """The short-lived address of a file's bytes, which answers range requests."""
        operation = Operation(f"download {name} of {slug}", slug)
        return self._file_url(operation, COMPETITIONS, "download_data_file", competition_name=slug, file_name=name)

    def competition_archive_url(self, slug: str) -> str:
        """The short-lived address of the archive (zip) of all files, which answers range requests."""
        operation = Operation(f"download the data of {slug}", slug)
        return self._file_url(operation, COMPETITIONS, "download_data_files", competition_name=slug)

    def submissions_left(self, slug: str) -> int:
        """The submissions that are left today."""
        operation = Operation(f"read how many submissions to {slug} are left", slug)
        found = self._read(operation, COMPETITIONS, "get_submission_limits", competition_name=slug)
        left: int = found.num_allowed_now
        return left

    def submissions(self, slug: str) -> tuple[Submission, ...]:
        """This account's submissions, the newest first (one page of them)."""
        operation = Operation(f"list the submissions to {slug}", slug)
        found = self._read(
            operation, COMPETITIONS, "list_submissions", competition_name=slug, page=1, page_size=_PAGE_SIZE
        )
        return tuple(_submission(item) for item in found.submissions)

    def submission(self, slug: str, ref: int) -> Submission:
        """One submission, by the number that submitting returned."""
        operation = Operation(f"look up submission {ref} to {slug}", slug)
        return _submission(self._read(operation, COMPETITIONS, "get_submission", ref=ref))

    def submit_kernel(self, slug: str, *, kernel: str, version: int, file_name: str, message: str) -> int:
        """Submits a version of a kernel to a code competition, and returns the submission's number. Sent once."""
        operation = Operation(f"submit version {version} of {kernel} to {slug}", slug, is_submission=True)
        owner, _, name = kernel.partition("/")
        answer = self._change(
            operation,
            COMPETITIONS,
            "create_code_submission",
            competition_name=slug,
            kernel_owner=owner,
            kernel_slug=name,
            kernel_version=version,
            file_name=file_name,
            submission_description=message,
        )
        return self._number(answer, operation)

    def submit_file(self, slug: str, *, path: Path, message: str) -> int:
        """Submits a file, and returns the submission's number. The upload may resume; the submission is sent once."""
        operation = Operation(f"submit {path.name} to {slug}", slug, is_submission=True)
        guards.check_upload([(path.name, path)], doing=operation.doing)
        fields = {"competition_name": slug, "file_name": path.name}
        token = self._upload(operation, path, COMPETITIONS, "start_submission_upload", **fields)
        answer = self._change(
            operation,
            COMPETITIONS,
            "create_submission",
            competition_name=slug,
            blob_file_tokens=token,
            submission_description=message,
        )
        return self._number(answer, operation)

    def _check_files(self, files: Sequence[RemoteFile], operation: Operation) -> None:
        guards.checked_names((file.name for file in files), doing=operation.doing, remedy=guards.BY_HAND)
        if any(file.size < 0 for file in files):
            raise self._unexpected(operation, "has a file of a negative size")

    def _number(self, answer: Any, operation: Operation) -> int:
        if answer.ref <= 0:
            raise self._unexpected(operation, f"names no submission and says: {answer.message}")
        number: int = answer.ref
        return number


def _submission(item: Any) -> Submission:
    return Submission(
        ref=item.ref,
        status=SubmissionStatus.__members__.get(item.status.name if item.status else "", SubmissionStatus.UNKNOWN),
        description=item.description or "",
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
