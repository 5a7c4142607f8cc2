"""Kernels at a Kaggle: pushing them, watching their sessions, and what those wrote."""

import json
from datetime import timedelta
from typing import Any

from generator.kaggle import guards
from generator.kaggle.api_client import ApiClient
from generator.kaggle.api_types import (
    KernelOutput,
    KernelPush,
    Pushed,
    Quota,
    RemoteFile,
    RemoteKernel,
    SessionState,
    SessionStatus,
)
from generator.kaggle.credentials import contains_secret
from generator.kaggle.errors import (
    ForbiddenError,
    NotFoundError,
    SourcesRefusedError,
    UnsafeAnswerError,
)
from generator.kaggle.http_errors import Operation
from generator.kaggle.log_events import log_text
from generator.kaggle.sdk import KERNELS
from generator.untrusted import is_slug

_PAGE_SIZE = 200  # the most that Kaggle gives
_MOST_FILES = 20_000
_STATES = {
    **SessionState.__members__,
    "CANCEL_REQUESTED": SessionState.CANCELLING,
    "CANCEL_ACKNOWLEDGED": SessionState.CANCELLED,
    "NEW_SCRIPT": SessionState.NEW,
}


class Kernels(ApiClient):
    """The part of `Kaggle` that is about kernels."""

    def kernel(self, ref: str) -> RemoteKernel | None:
        """A kernel of this account, or None if there is none of that name."""
        operation = Operation(f"look up the kernel {ref}")
        try:
            found = self._read(operation, KERNELS, "get_kernel", **_named(ref))
        except NotFoundError:
            return None
        except ForbiddenError:
            # Kaggle forbids what is not there as it forbids what is wedged: only a list of the account's own kernels
            # tells the two apart, and taking one for the other would push a second time.
            if self._is_listed(ref):
                raise
            return None
        if found.metadata is None:
            raise self._unexpected(operation, "has no metadata of the kernel")
        return self._described(found, ref, operation)

    def push(self, kernel: KernelPush) -> Pushed:
        """Saves a version and runs it. Sent once, whatever happens; raises `SourcesRefusedError` after checking."""
        operation = Operation(f"push {kernel.ref}")
        text = _as_sent(kernel.text)
        self._check_text(text, operation, may_hold_secrets=kernel.may_hold_secrets)
        answer = self._change(
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
        )
        return self._pushed(answer, kernel, operation)

    def session_status(self, ref: str, version: int | None) -> SessionStatus:
        """The state of the session of one version, or of the newest."""
        operation = Operation(f"read the status of {_which(ref, version)}")
        found = self._read(operation, KERNELS, "get_kernel_session_status", **_named(ref, version))
        state = _STATES.get(found.status.name if found.status else "", SessionState.UNKNOWN)
        return SessionStatus(state, guards.clean_log(found.failure_message or "").strip())

    def output(self, ref: str, version: int) -> KernelOutput:
        """The files that a version wrote, of every page of the listing, names checked, and its log."""
        operation = Operation(f"list the output of {_which(ref, version)}")
        fields = {**_named(ref, version), "page_size": _PAGE_SIZE}
        urls: dict[str, str] = {}
        names: list[str] = []
        log = ""
        for page in self._pages(operation, KERNELS, "list_kernel_session_output", **fields):
            log = log or page.log or ""
            for file in page.files:
                names.append(file.file_name or "")
                urls[names[-1]] = file.url or ""
            self._check_count(len(names), operation)
        guards.checked_names(names, doing=operation.doing, reserved=(f"{fields['kernel_slug']}.log",))
        sizes = self._sizes(fields, operation) if names else {}
        files = [RemoteFile(each, sizes.get(each, 0), self._checked_url(urls[each], operation)) for each in names]
        return KernelOutput(tuple(files), log_text(log))

    def quota(self) -> Quota:
        """The accelerator hours of this week."""
        operation = Operation("read the accelerator quota")
        found = self._read(operation, KERNELS, "get_accelerator_quota_statistics")
        return Quota(
            gpu_used=_time(found.gpu_quota, "time_used"),
            gpu_allowed=_time(found.gpu_quota, "total_time_allowed"),
            tpu_used=_time(found.tpu_quota, "time_used"),
            tpu_allowed=_time(found.tpu_quota, "total_time_allowed"),
        )

    def _described(self, found: Any, ref: str, operation: Operation) -> RemoteKernel:
        metadata, blob = found.metadata, found.blob
        if metadata.slug and metadata.slug.casefold() != _named(ref)["kernel_slug"].casefold():
            raise self._unexpected(operation, f"is about another kernel, {metadata.slug}")
        # Some write a pulled notebook under this name, wherever it leads.
        if blob and blob.slug and not is_slug(blob.slug.casefold()):
            raise self._unexpected(operation, f"calls the notebook {blob.slug}")
        version = max(metadata.current_version_number or 0, 0)
        return RemoteKernel(version, source=(blob.source or "") if blob else "")

    def _is_listed(self, ref: str) -> bool:
        operation = Operation(f"look for {ref} among the kernels of this account")
        fields = {
            "group": "PROFILE",
            "search": _named(ref)["kernel_slug"].replace("-", " "),
            "page_size": _PAGE_SIZE,
        }
        pages = self._pages(operation, KERNELS, "list_kernels", **fields)
        return any(kernel.ref.strip("/").casefold() == ref.casefold() for page in pages for kernel in page.kernels)

    def _check_text(self, text: str, operation: Operation, *, may_hold_secrets: bool) -> None:
        if not may_hold_secrets:
            guards.check_text(text, doing=operation.doing)
        if contains_secret(text, self._credentials):
            raise UnsafeAnswerError(
                doing=operation.doing,
                what="the notebook holds the very credentials that it is pushed with",
                remedy="take them out; inside of Kaggle a notebook is signed in already. Nothing was sent",
                was_sent=False,
            )

    def _pushed(self, answer: Any, kernel: KernelPush, operation: Operation) -> Pushed:
        if answer.error:
            raise self._refused(answer.error, operation)
        ref = answer.ref.strip("/").removeprefix("code/") or kernel.ref
        version = answer.version_number or 0
        if version <= 0:
            raise self._unexpected(operation, "names no version")
        kinds = ("competition", "dataset", "kernel", "model")
        refused = {kind: tuple(getattr(answer, f"invalid_{kind}_sources")) for kind in kinds}
        if any(refused.values()):
            raise SourcesRefusedError(ref=ref, version=version, sources=refused)
        return Pushed(ref, version, answer.url or f"{self._endpoint.site}/code/{ref}")

    def _sizes(self, fields: dict[str, Any], operation: Operation) -> dict[str, int]:
        """The sizes of output files, which another listing has; empty where that one is not to be had."""
        sizes: dict[str, int] = {}
        try:
            for page in self._pages(operation, KERNELS, "list_kernel_files", **fields):
                sizes.update({file.name: max(file.size, 0) for file in page.files})
                self._check_count(len(sizes), operation)
        except (NotFoundError, ForbiddenError):
            return {}
        return sizes

    def _check_count(self, count: int, operation: Operation) -> None:
        if count > _MOST_FILES:
            raise self._unexpected(operation, f"lists more than {_MOST_FILES:,} files")


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


def _named(ref: str, version: int | None = None) -> dict[str, Any]:
    """The fields that name a kernel in requests."""
    owner, _, slug = ref.strip("/").partition("/")
    # A bare number is answered with 404.
    return {"user_name": owner, "kernel_slug": slug, "version_label": f"v{version}" if version is not None else None}


def _which(ref: str, version: int | None) -> str:
    return f"version {version} of {ref}" if version is not None else ref


def _time(quota: Any, name: str) -> timedelta:
    value = getattr(quota, name, None)
    return value if isinstance(value, timedelta) else timedelta(0)
