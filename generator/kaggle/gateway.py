"""`Kaggle`: one account at the real Kaggle or at a local one: kernels, competitions, datasets and models."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from generator.kaggle import api_types
from generator.kaggle import errors as guards
from generator.kaggle.api_types import (
    BLOBS,
    COMPETITIONS,
    DATASETS,
    END,
    KERNELS,
    MODELS,
    AcceleratorQuota,
    ApiSubmission,
    DatasetState,
    DatasetUpload,
    KernelOutput,
    KernelPush,
    LogLine,
    PushResult,
    Quota,
    RemoteCompetition,
    RemoteFile,
    RemoteFolder,
    RemoteKernel,
    SessionState,
    SessionStatus,
    SubmissionStatus,
    log_events,
    log_line,
    model_framework,
    parse_log,
)
from generator.kaggle.client import ApiClient, Downloads, Uploads
from generator.kaggle.credentials import AccessToken, Credentials, contains_secret, exposed_files
from generator.kaggle.errors import (
    ForbiddenError,
    KaggleError,
    NotFoundError,
    OtherKaggleError,
    RefusedError,
    SlugTakenError,
    SourcesRefusedError,
    UnreachableError,
    UnsafeAnswerError,
)
from generator.kaggle.transport import TRANSIENT, Operation, StreamedResponse
from generator.kit_files import installed_version
from generator.local_server import ServerRecord, default_root, read_record, serve_command
from generator.text import JsonObject, is_slug, printable

# Kernels at a Kaggle: pushing them, watching their sessions, and what those wrote.


_PAGE_SIZE = 200  # the most that Kaggle gives
_MOST_FILES = 20_000
_FAILURES = 5  # of a log, in a row, without a new line between them
_LARGEST_LOG = 256 << 20  # bytes of one connection
_LARGEST_LINE = 4 << 20  # bytes
_SESSION_STATES = {
    **SessionState.__members__,
    "CANCEL_REQUESTED": SessionState.CANCELLING,
    "CANCEL_ACKNOWLEDGED": SessionState.CANCELLED,
    "NEW_SCRIPT": SessionState.NEW,
}


class KernelApi:
    """The kernels of an account, their sessions, and its quota.

    Attributes:
        silence: The seconds without a byte of a log after which the session is asked whether it is over.
    """

    silence = 60.0

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def find(self, ref: str, version: int | None = None) -> RemoteKernel | None:
        """A kernel in its newest version or another, or None if there is none of that name that this account sees."""
        operation = Operation(f"look up {_kernel_label(ref, version) if version else f'the kernel {ref}'}")
        try:
            answer = self._client.read(operation, KERNELS, "get_kernel", **_name_fields(ref, version))
        except NotFoundError:
            return None
        except ForbiddenError:
            # Kaggle forbids what is not there as it forbids what is wedged: only a list of the account's own kernels
            # tells the two apart, and taking one for the other would push a second time.
            if self._is_listed(ref):
                raise
            return None
        if answer.metadata is None:
            raise self._client.unexpected_answer(operation, "has no metadata of the kernel")
        kernel = self._read_kernel(answer, ref, operation)
        return kernel if version is None else replace(kernel, version=version)

    def push(self, kernel: KernelPush) -> PushResult:
        """Saves a version and runs it. Sent once, whatever happens; raises `SourcesRefusedError` after checking."""
        operation = Operation(f"push {kernel.ref}")
        text = _as_sent(kernel.text)
        self._check_text(text, operation, may_hold_secrets=kernel.may_hold_secrets)
        answer = self._client.change(
            operation,
            KERNELS,
            "save_kernel",
            slug=kernel.ref,
            new_title=kernel.title,
            text=text,
            language="python",
            kernel_type="notebook",
            dataset_data_sources=list(kernel.dataset_sources),
            competition_data_sources=list(kernel.competition_sources),
            kernel_data_sources=list(kernel.kernel_sources),
            model_data_sources=list(kernel.model_sources),
            is_private=kernel.is_private,
            enable_gpu=kernel.enable_gpu,
            enable_tpu=kernel.enable_tpu,
            # Left out it means true, whatever Kaggle's documents say.
            enable_internet=kernel.enable_internet,
            machine_shape=kernel.machine_shape or None,
            session_timeout_seconds=kernel.limit_seconds or None,
        )
        return self._read_push(answer, kernel, operation)

    def session_status(self, ref: str, version: int | None) -> SessionStatus:
        """The state of the session of one version, or of the newest."""
        operation = Operation(f"read the status of {_kernel_label(ref, version)}")
        answer = self._client.read(operation, KERNELS, "get_kernel_session_status", **_name_fields(ref, version))
        state = _SESSION_STATES.get(answer.status.name if answer.status else "", SessionState.UNKNOWN)
        return SessionStatus(state, guards.clean_log(answer.failure_message or "").strip())

    def output(self, ref: str, version: int) -> KernelOutput:
        """The files that a version wrote, of every page of the listing, names checked, and its log."""
        operation = Operation(f"list the output of {_kernel_label(ref, version)}")
        fields = {**_name_fields(ref, version), "page_size": _PAGE_SIZE}
        urls: dict[str, str] = {}
        names: list[str] = []
        log = ""
        for page in self._client.pages(operation, KERNELS, "list_kernel_session_output", **fields):
            log = log or page.log or ""
            for file in page.files:
                names.append(file.file_name or "")
                urls[names[-1]] = file.url or ""
            self._check_count(len(names), operation)
        guards.checked_names(names, doing=operation.doing, reserved_names=(f"{fields['kernel_slug']}.log",))
        sizes = self._sizes(fields, operation) if names else {}
        files = [
            RemoteFile(name, sizes.get(name, 0), self._client.checked_url(urls[name], operation)) for name in names
        ]
        seconds = max((event.seconds for event in log_events(log)), default=0.0)
        return KernelOutput(tuple(files), parse_log(log), seconds)

    def log_lines(self, ref: str) -> Iterator[LogLine]:
        """The log of the newest session as it grows, reconnecting by itself, to its end; never twice the same line."""
        lines = _SeenLines()
        failures = 0
        while True:
            before = lines.count
            try:
                yield from lines.new(self._connection(ref))
            except _EndOfLog:
                return
            except TRANSIENT as error:
                failures = 0 if lines.count > before else failures
                # Silence is what a long epoch sounds like; anything else that lasts is worth saying.
                is_silence = isinstance(error, UnreachableError) and error.timed_out
                if not is_silence or self._is_over(ref):
                    failures += 1
                if failures >= _FAILURES:
                    raise
            self._client.retries.sleep(1.0)

    def quota(self) -> Quota:
        """The accelerator hours of this week."""
        operation = Operation("read the accelerator quota")
        answer = self._client.read(operation, KERNELS, "get_accelerator_quota_statistics")
        return Quota(gpu=_accelerator_quota(answer.gpu_quota), tpu=_accelerator_quota(answer.tpu_quota))

    def _read_kernel(self, answer: Any, ref: str, operation: Operation) -> RemoteKernel:
        metadata, blob = answer.metadata, answer.blob
        if metadata.slug and metadata.slug.casefold() != _name_fields(ref)["kernel_slug"].casefold():
            raise self._client.unexpected_answer(operation, f"is about another kernel, {metadata.slug}")
        # Some write a pulled notebook under this name, wherever it leads.
        if blob and blob.slug and not is_slug(blob.slug.casefold()):
            raise self._client.unexpected_answer(operation, f"calls the notebook {blob.slug}")
        version = max(metadata.current_version_number or 0, 0)
        return RemoteKernel(
            version,
            source=(blob.source or "") if blob else "",
            competitions=tuple(filter(is_slug, metadata.competition_data_sources or ())),
            docker_image=metadata.docker_image or "",
        )

    def _is_listed(self, ref: str) -> bool:
        operation = Operation(f"look for {ref} among the kernels of this account")
        fields = {
            "group": "PROFILE",
            "search": _name_fields(ref)["kernel_slug"].replace("-", " "),
            "page_size": _PAGE_SIZE,
        }
        pages = self._client.pages(operation, KERNELS, "list_kernels", **fields)
        return any(kernel.ref.strip("/").casefold() == ref.casefold() for page in pages for kernel in page.kernels)

    def _check_text(self, text: str, operation: Operation, *, may_hold_secrets: bool) -> None:
        if not may_hold_secrets:
            guards.check_text(text, doing=operation.doing)
        if contains_secret(text, self._client.credentials):
            raise UnsafeAnswerError(
                doing=operation.doing,
                problem="the notebook holds the very credentials that it is pushed with",
                remedy="take them out; inside of Kaggle a notebook is signed in already. Nothing was sent",
                was_sent=False,
            )

    def _read_push(self, answer: Any, kernel: KernelPush, operation: Operation) -> PushResult:
        if answer.error:
            raise self._client.refusal_error(answer.error, operation)
        ref = answer.ref.strip("/").removeprefix("code/") or kernel.ref
        version = answer.version_number or 0
        if version <= 0:
            raise self._client.unexpected_answer(operation, "names no version")
        kinds = ("competition", "dataset", "kernel", "model")
        invalid_sources = {kind: tuple(getattr(answer, f"invalid_{kind}_sources")) for kind in kinds}
        if any(invalid_sources.values()):
            raise SourcesRefusedError(ref=ref, version=version, sources=invalid_sources)
        return PushResult(ref, version, answer.url or f"{self._client.endpoint.site}/code/{ref}")

    def _sizes(self, fields: dict[str, Any], operation: Operation) -> dict[str, int]:
        """The sizes of output files, which another listing has; empty where that one is not to be had."""
        sizes: dict[str, int] = {}
        try:
            for page in self._client.pages(operation, KERNELS, "list_kernel_files", **fields):
                sizes.update({file.name: max(file.size, 0) for file in page.files})
                self._check_count(len(sizes), operation)
        except (NotFoundError, ForbiddenError):
            return {}
        return sizes

    def _check_count(self, count: int, operation: Operation) -> None:
        if count > _MOST_FILES:
            raise self._client.unexpected_answer(operation, f"lists more than {_MOST_FILES:,} files")

    def _connection(self, ref: str) -> Iterator[LogLine]:
        operation = Operation(f"follow the log of {ref}")
        path = f"kernels/logs/stream/{ref.strip('/')}"
        with self._client.stream(operation, path, read_timeout=self.silence) as stream:
            if stream.media_type == "text/event-stream":
                yield from _events(stream)
                # Without its end the stream broke, though the connection was closed in good order.
                raise self._client.unexpected_answer(operation, "is a log without its end")
            if stream.media_type == "text/html":
                raise self._client.unexpected_answer(operation, "is text/html where a log was expected")
            yield from log_events(stream.read(_LARGEST_LOG).decode("utf-8", "replace"))
            raise _EndOfLog

    def _is_over(self, ref: str) -> bool:
        try:
            return self.session_status(ref, None).state.is_final
        except NotFoundError:
            return True
        except KaggleError:
            return False


def _as_sent(text: str) -> str:
    """The notebook as Kaggle takes it: it fails on cells whose source is a list of lines, and wants no outputs."""
    try:
        notebook = json.loads(text)
        cells = notebook["cells"]
        if all(isinstance(cell["source"], str) and not cell.get("outputs") for cell in cells):
            return text
        for cell in cells:
            cell["source"] = "".join(cell["source"])
            if cell.get("outputs"):
                cell.update(outputs=[], execution_count=None)
    except (ValueError, KeyError, TypeError):
        # What is no notebook is refused by Kaggle, in its own words.
        return text
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def _name_fields(ref: str, version: int | None = None) -> dict[str, Any]:
    """The fields that name a kernel in requests."""
    owner, _, slug = ref.strip("/").partition("/")
    # A bare number is answered with 404.
    return {"user_name": owner, "kernel_slug": slug, "version_label": f"v{version}" if version is not None else None}


def _kernel_label(ref: str, version: int | None) -> str:
    return f"version {version} of {ref}" if version is not None else ref


def _accelerator_quota(quota: Any) -> AcceleratorQuota | None:
    if quota is None:
        return None
    return AcceleratorQuota(
        usage=quota.time_used or timedelta(),
        reservation=quota.time_reserved or timedelta(),
        allowance=quota.total_time_allowed or timedelta(),
        is_pay_to_scale=bool(quota.is_pay_to_scale_enabled),
    )


# Following the log of a session that runs: server-sent events, taken up again where the connection broke.


class _SeenLines:
    """The lines that came already of a log, which every connection tells anew from its start, or from what is left."""

    def __init__(self) -> None:
        self.count = 0
        self._first: LogLine | None = None
        self._last_seconds = 0.0

    def new(self, lines: Iterator[LogLine]) -> Iterator[LogLine]:
        """The lines that did not come in an earlier connection."""
        before, last_seconds = self.count, self._last_seconds
        is_whole = True
        for number, line in enumerate(lines, start=1):
            if number == 1:
                # Of a long log only the end is kept: then the numbers of lines say nothing, and their times do.
                is_whole = self._first in (None, line)
                self._first = self._first or line
            if number > before if is_whole else line.seconds > last_seconds:
                self.count += 1
                self._last_seconds = line.seconds
                yield line


class _EndOfLog(Exception):  # noqa: N818 - the good end of a stream, not an error
    """Nothing more comes."""


def _events(stream: StreamedResponse) -> Iterator[LogLine]:
    total = 0
    rest = b""
    for chunk in stream.chunks:
        total += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        if total > _LARGEST_LOG or len(rest) > _LARGEST_LINE:
            return
        for line in lines:
            yield from _event(line)


def _event(line: bytes) -> Iterator[LogLine]:
    text = line.decode("utf-8", "replace").strip()
    if not text.startswith("data:"):
        return
    data = text.removeprefix("data:").strip()
    if data == END:
        raise _EndOfLog
    if event := log_line(JsonObject.parse(data)):
        yield event


# Competitions at a Kaggle: their facts, their files, and submissions to them.


class CompetitionApi:
    """The facts and files of competitions, and an account's submissions to them."""

    def __init__(self, client: ApiClient, uploads: Uploads) -> None:
        self._client, self._uploads = client, uploads

    def facts(self, slug: str) -> RemoteCompetition:
        """The facts of a competition."""
        operation = Operation(f"look up the competition {slug}", slug)
        answer = self._client.read(operation, COMPETITIONS, "get_competition", competition_name=slug)
        # `ref` is an address: https://www.kaggle.com/competitions/titanic
        name = (answer.ref or answer.url or "").rstrip("/").rpartition("/")[2]
        return RemoteCompetition(
            slug=name or slug,
            title=answer.title or "",
            metric=answer.evaluation_metric or "",
            is_code_competition=bool(answer.is_kernels_submissions_only),
        )

    def pages(self, slug: str) -> Mapping[str, str]:
        """The pages of a competition by their names, such as `evaluation`, in Markdown or HTML."""
        operation = Operation(f"read the pages of {slug}", slug)
        answer = self._client.read(operation, COMPETITIONS, "list_competition_pages", competition_name=slug)
        return {page.name: page.content for page in answer.pages}

    def list_files(self, slug: str) -> tuple[RemoteFile, ...]:
        """Every file of a competition's data, of all pages of the listing, in Kaggle's order."""
        operation = Operation(f"list the files of {slug}", slug)
        pages = self._client.pages(
            operation, COMPETITIONS, "list_data_files", competition_name=slug, page_size=_PAGE_SIZE
        )
        files = [RemoteFile(file.name or file.ref, file.total_bytes) for page in pages for file in page.files]
        self._check_files(files, operation)
        return tuple(files)

    def list_folder(self, slug: str, path: str, *, most: int) -> RemoteFolder:
        """One folder of a competition's data, by `ListDataTreeFiles`: "" is the top; at most `most` files are in it."""
        operation = Operation(f"list the folder {path or 'at the top'} of {slug}", slug)
        folders: list[str] = []
        files: list[RemoteFile] = []
        total = 0
        fields = {"competition_name": slug, "path": path or None, "page_size": _PAGE_SIZE}
        for page in self._client.pages(operation, COMPETITIONS, "list_data_tree_files", **fields):
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

    def file_url(self, slug: str, name: str) -> str:
        """The short-lived address of a file's bytes, which answers range requests."""
        operation = Operation(f"download {name} of {slug}", slug)
        return self._client.file_url(
            operation, COMPETITIONS, "download_data_file", competition_name=slug, file_name=name
        )

    def archive_url(self, slug: str) -> str:
        """The short-lived address of the archive (zip) of all files, which answers range requests."""
        operation = Operation(f"download the data of {slug}", slug)
        return self._client.file_url(operation, COMPETITIONS, "download_data_files", competition_name=slug)

    def submissions_left(self, slug: str) -> int:
        """The submissions that are left today."""
        operation = Operation(f"read how many submissions to {slug} are left", slug)
        answer = self._client.read(operation, COMPETITIONS, "get_submission_limits", competition_name=slug)
        return int(answer.num_allowed_now)

    def submissions(self, slug: str) -> tuple[ApiSubmission, ...]:
        """This account's submissions, the newest first (one page of them)."""
        operation = Operation(f"list the submissions to {slug}", slug)
        answer = self._client.read(
            operation, COMPETITIONS, "list_submissions", competition_name=slug, page=1, page_size=_PAGE_SIZE
        )
        return tuple(_submission(item) for item in answer.submissions)

    def submission(self, slug: str, ref: int) -> ApiSubmission:
        """One submission, by the number that submitting returned."""
        operation = Operation(f"look up submission {ref} to {slug}", slug)
        return _submission(self._client.read(operation, COMPETITIONS, "get_submission", ref=ref))

    def submit_kernel(self, slug: str, *, kernel: str, version: int, file_name: str, message: str) -> int:
        """Submits a version of a kernel to a code competition, and returns the submission's number. Sent once."""
        operation = Operation(f"submit version {version} of {kernel} to {slug}", slug, is_submission=True)
        owner, _, name = kernel.partition("/")
        answer = self._client.change(
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
        token = self._uploads.send(operation, path, COMPETITIONS, "start_submission_upload", **fields)
        answer = self._client.change(
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
            raise self._client.unexpected_answer(operation, "has a file of a negative size")

    def _number(self, answer: Any, operation: Operation) -> int:
        if answer.ref <= 0:
            raise self._client.unexpected_answer(operation, f"names no submission and says: {answer.message}")
        return int(answer.ref)


def _submission(item: Any) -> ApiSubmission:
    return ApiSubmission(
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


# Datasets and models at a Kaggle: whether they are ready, and new versions of them.


_LICENSE_OF_DATASET, _LICENSE_OF_MODEL = "other", "Apache 2.0"
_CONFLICT = 409
_DATASET_STATES = {
    "READY": DatasetState.READY,
    "FAILED": DatasetState.FAILED,
    "DELETED": DatasetState.MISSING,
}


class DatasetApi:
    """The datasets of an account."""

    def __init__(self, client: ApiClient, uploads: Uploads) -> None:
        self._client, self._uploads = client, uploads

    def state(self, ref: str) -> DatasetState:
        """The state of a dataset's newest version."""
        operation = Operation(f"read the status of the dataset {ref}")
        try:
            answer = self._client.read(operation, DATASETS, "get_dataset_status", **_dataset(ref))
        except NotFoundError:
            return DatasetState.MISSING
        # A name of tomorrow is no reason to give up waiting.
        return _DATASET_STATES.get(answer.status.name if answer.status else "", DatasetState.PREPARING)

    def version(self, ref: str) -> int:
        """The newest version of a dataset, 0 if there is no such dataset."""
        operation = Operation(f"look up the dataset {ref}")
        answer = self._client.read_or_none(operation, DATASETS, "get_dataset", **_dataset(ref))
        if answer is None:
            return 0
        # A version that is not ready yet may be the newest, and not the current one.
        versions: list[int] = [version.version_number for version in answer.versions]
        return max(1, answer.current_version_number or 0, *versions)

    def archive_url(self, ref: str) -> str:
        """The short-lived address of an archive of all files of a dataset's newest version."""
        return self._client.file_url(
            Operation(f"download the dataset {ref}"), DATASETS, "download_dataset", **_dataset(ref)
        )

    def upload(self, ref: str, upload: DatasetUpload) -> int:
        """Creates a private dataset or its next version, and returns the version. Uploads resume; creating is once."""
        operation = Operation(f"upload the dataset {ref}")
        version = self.version(ref)
        folder = _send_files(upload, self._uploads, operation, kind="DATASET")
        name = _dataset(ref)
        if version:
            body = {"version_notes": upload.notes, **folder}
            answer = self._client.change(operation, DATASETS, "create_dataset_version", **name, body=body)
        else:
            answer = self._client.change(
                operation,
                DATASETS,
                "create_dataset",
                owner_slug=name["owner_slug"],
                slug=name["dataset_slug"],
                title=upload.title,
                license_name=_LICENSE_OF_DATASET,
                is_private=True,
                **folder,
            )
        if answer.error or (answer.status or "ok").casefold() != "ok":
            raise self._client.refusal_error(answer.error or f"status {answer.status}", operation)
        return version + 1


class ModelApi:
    """The models of an account; a handle is `owner/model/framework/variation`."""

    def __init__(self, client: ApiClient, uploads: Uploads) -> None:
        self._client, self._uploads = client, uploads

    def archive_url(self, handle: str) -> str:
        """The short-lived address of an archive of all files of `owner/model/framework/variation/version`."""
        operation = Operation(f"download the model {handle}")
        variation, _, version = handle.rpartition("/")
        if not (version.isascii() and version.isdecimal()):
            raise RefusedError(doing=operation.doing, words=f"{handle} names no version", remedy="add it: …/1")
        fields = {**_variation(variation, operation), "version_number": int(version)}
        return self._client.file_url(operation, MODELS, "download_model_instance_version", **fields)

    def version(self, handle: str) -> int:
        """The newest version of a model's variation, 0 if there is none."""
        operation = Operation(f"look up the model {handle}")
        answer = self._client.read_or_none(operation, MODELS, "get_model_instance", **_variation(handle, operation))
        return 0 if answer is None else max(answer.version_number, 1)

    def upload(self, handle: str, upload: DatasetUpload) -> int:
        """Creates `owner/model/framework/variation` or its next version, privately, and returns the version."""
        operation = Operation(f"upload the model {handle}")
        name = _variation(handle, operation)
        version = self.version(handle)
        if not version:
            self._require_model(name, upload.title, operation)
        folder = _send_files(upload, self._uploads, operation, kind="MODEL")
        if not version and self._create_variation(name, folder, operation):
            return 1
        body = {"version_notes": upload.notes, **folder}
        answer = self._client.change(operation, MODELS, "create_model_instance_version", **name, body=body)
        if answer.error:
            raise self._client.refusal_error(answer.error, operation)
        # The variation was there, though it could not be seen before: what follows its last version is known by now.
        return version + 1 if version else self.version(handle)

    def _require_model(self, name: dict[str, str], title: str, operation: Operation) -> None:
        owner, slug = name["owner_slug"], name["model_slug"]
        if self._client.read_or_none(operation, MODELS, "get_model", owner_slug=owner, model_slug=slug) is not None:
            return
        fields = {"owner_slug": owner, "slug": slug, "title": title, "is_private": True}
        answer = self._client.change(operation, MODELS, "create_model", **fields)
        if answer.error and answer.error_code != _CONFLICT:
            raise self._client.refusal_error(answer.error, operation)

    def _create_variation(self, name: dict[str, str], folder: dict[str, Any], operation: Operation) -> bool:
        """Creates a variation with its first version; False if it is there already."""
        answer = self._client.change(
            operation,
            MODELS,
            "create_model_instance",
            owner_slug=name["owner_slug"],
            model_slug=name["model_slug"],
            body={
                "instance_slug": name["instance_slug"],
                "framework": name["framework"],
                "license_name": _LICENSE_OF_MODEL,
                **folder,
            },
        )
        if not answer.error:
            return True
        error = self._client.refusal_error(answer.error, operation)
        if answer.error_code == _CONFLICT or isinstance(error, SlugTakenError):
            return False
        raise error


def _send_files(upload: DatasetUpload, uploads: Uploads, operation: Operation, *, kind: str) -> dict[str, Any]:
    """Sends the files; returns the `files` and `directories` of the folder that holds them, as the API wants it."""
    if not upload.files:
        raise UnsafeAnswerError(doing=operation.doing, problem="there are no files", remedy="name at least one")
    guards.check_upload(upload.files.items(), doing=operation.doing)
    folders: dict[PurePosixPath, dict[str, Any]] = {PurePosixPath(): {"files": [], "directories": []}}
    for name, path in sorted(upload.files.items()):
        file = PurePosixPath(name)
        for folder in reversed(file.parents):
            if folder not in folders:
                folders[folder] = {"name": folder.name, "files": [], "directories": []}
                folders[folder.parent]["directories"].append(folders[folder])
        token = uploads.send(operation, path, BLOBS, "start_blob_upload", type=kind, name=file.name)
        folders[file.parent]["files"].append({"token": token})
    return folders[PurePosixPath()]


def _dataset(ref: str) -> dict[str, str]:
    owner, _, slug = ref.strip("/").partition("/")
    return {"owner_slug": owner, "dataset_slug": slug}


def _variation(handle: str, operation: Operation) -> dict[str, str]:
    """The fields that name a model's variation in requests."""
    match handle.strip("/").split("/"):
        case [owner, model, framework, variation] if kaggle_name := model_framework(framework):
            return {"owner_slug": owner, "model_slug": model, "framework": kaggle_name, "instance_slug": variation}
    raise RefusedError(
        doing=operation.doing,
        words=f"{handle} is no model",
        remedy="write OWNER/MODEL/FRAMEWORK/VARIATION with a framework that Kaggle has, such as keras or pyTorch",
    )


_OLDEST_SAFE = (2026, 10, 19)
"""Before this, certifi trusts roots that were compromised (GHSA-6q48-6c7w-9gw2): a stranger could take the token."""


class Kaggle:
    """An account at a Kaggle. Every method raises `generator.kaggle.errors.KaggleError` where it cannot answer.

    Methods that only read are repeated with back-off inside; those that change something are sent once. Tests hand the
    chain and its like an object with the same attributes in its place.

    Attributes:
        client: The calls that the others make.
        kernels: Kernels, their sessions, and the quota.
        competitions: Competitions, and submissions to them.
        datasets: Datasets.
        models: Models.
        files: Downloads from the addresses that the others name.
    """

    def __init__(self, address: str, credentials: Credentials, **options: Any) -> None:
        """Makes the parts around one client; `options` are those of `ApiClient`."""
        self.client = ApiClient(address, credentials, **options)
        uploads = Uploads(self.client)
        self.kernels = KernelApi(self.client)
        self.competitions = CompetitionApi(self.client, uploads)
        self.datasets = DatasetApi(self.client, uploads)
        self.models = ModelApi(self.client, uploads)
        self.files = Downloads(self.client)
        self._username = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    @property
    def address(self) -> str:
        """The base address of the API, such as `https://api.kaggle.com`; never with credentials in it."""
        return self.client.endpoint.address

    @property
    def is_local(self) -> bool:
        """True for a local Kaggle (loopback), where built-in competitions exist and TPUs are emulated."""
        return self.client.endpoint.is_local

    def warnings(self, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """Sentences that a user should know before credentials are sent, for standard error."""
        if not self.client.endpoint.is_real:
            return ()
        file_warnings = tuple(
            f"{printable(str(path))} can be read by other users of this machine: run `chmod 600` on it."
            for path in exposed_files(environment)
        )
        return tuple(warning for warning in (_certificate_warning(), *file_warnings) if warning)

    def username(self) -> str:
        """The account that the credentials belong to, asked of the server at most once."""
        if not isinstance(self.client.credentials, AccessToken) and self.client.credentials.username:
            return self.client.credentials.username
        if not self._username:
            operation = Operation("find out whose credentials these are")
            token = self.client.access_token(operation)
            try:
                answer = self.client.read(operation, api_types.OAUTH, "introspect_token", token=token)
            except (RefusedError, ForbiddenError, NotFoundError):
                raise self.client.credentials_refused() from None
            if not answer.active or not answer.username:
                raise self.client.credentials_refused()
            if not is_slug(answer.username.lower()):
                raise self.client.unexpected_answer(operation, f"names no user of Kaggle: {answer.username}")
            self._username = str(answer.username)
        return self._username


def _certificate_warning() -> str:
    """A sentence on certificates that are too old, or nothing."""
    version = installed_version("certifi")
    parts = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    if not version or parts >= _OLDEST_SAFE:
        return ""
    return (
        f"certifi {version} trusts certificates that were compromised, with which a stranger could take your Kaggle "
        f"token: update it with `pip install 'certifi>={'.'.join(map(str, _OLDEST_SAFE))}'` as soon as your index of "
        "packages has it."
    )


REAL_ADDRESS = "https://api.kaggle.com"


class Target(StrEnum):
    """The choices of `--to`."""

    KAGGLE = "kaggle"
    LOCAL = "local"


def connect(to: Target, *, environment: Mapping[str, str] = os.environ) -> "Kaggle":
    """An account at the Kaggle that was chosen; nothing is sent before it is asked something.

    Args:
        to: The real Kaggle, or the local one that runs on this machine.
        environment: Where credentials and the root of the local Kaggle are looked up, and for the real one the proxy
            and the certificates (`Route.from_environment`). The local one is reached without a proxy.

    Raises:
        OtherKaggleError: The real one is chosen where `KAGGLE_API_ENVIRONMENT` names another.
        CredentialsError: There are no credentials for the real Kaggle on this machine.
        ProxyAddressError: The environment names a proxy that is not one of HTTP.
        KaggleError: No local Kaggle runs.
    """
    from generator.kaggle.credentials import AccessToken, find_credentials
    from generator.kaggle.transport import Route

    if to is Target.KAGGLE:
        # The official client goes elsewhere for LOCALHOST alone; with any other value it goes to the real one, with
        # credentials that were most likely meant for a test.
        value = environment.get("KAGGLE_API_ENVIRONMENT", "")
        if value not in ("", "PROD"):
            raise OtherKaggleError(value=value)
        return Kaggle(REAL_ADDRESS, find_credentials(environment), route=Route.from_environment(environment))
    record = running_server(environment)
    return Kaggle(record.address, AccessToken(record.token, source="the local Kaggle"), is_local=True)


def running_server(environment: Mapping[str, str] = os.environ) -> ServerRecord:
    """The local Kaggle that runs on the root that the environment names.

    Raises:
        KaggleError: None runs there.
    """
    root = default_root(environment)
    record = read_record(root)
    if record is None or not record.is_running():
        raise KaggleError(
            f"No local Kaggle is running in {printable(str(root))}.",
            remedy=f"Start one with `{serve_command(root)}` in another terminal. If one runs with another folder, set "
            "TANDEM_LOCAL_KAGGLE to that folder.",
            code="local-kaggle-not-running",
        )
    return record
