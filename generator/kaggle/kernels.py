"""Kernels at a Kaggle: pushing them, watching their sessions, and what those wrote."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from generator.kaggle import guards
from generator.kaggle.api import (
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
from generator.kaggle.log_events import log_text
from generator.kaggle.refusals import Errand
from generator.kaggle.sdk import KERNELS, enum_member
from generator.kaggle.wire import Wire
from generator.untrusted import is_slug

_PAGE_SIZE = 200  # the most that Kaggle gives
_MOST_FILES = 20_000
_STATES = {
    "QUEUED": SessionState.QUEUED,
    "RUNNING": SessionState.RUNNING,
    "COMPLETE": SessionState.COMPLETE,
    "ERROR": SessionState.ERROR,
    "CANCEL_REQUESTED": SessionState.CANCELLING,
    "CANCEL_ACKNOWLEDGED": SessionState.CANCELLED,
    "NEW_SCRIPT": SessionState.NEW,
}


@dataclass(frozen=True)
class _Name:
    """A kernel's name in two parts, as the API's requests want it."""

    owner: str
    slug: str

    @classmethod
    def of(cls, ref: str) -> "_Name":
        owner, _, slug = ref.strip("/").partition("/")
        return cls(owner, slug)

    @property
    def fields(self) -> dict[str, str]:
        return {"user_name": self.owner, "kernel_slug": self.slug}


class Kernels:
    """The part of `Kaggle` that is about kernels."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def kernel(self, ref: str) -> RemoteKernel | None:
        """See `Kaggle.kernel`."""
        errand = Errand(f"look up the kernel {ref}")
        name = _Name.of(ref)
        try:
            found = self._wire.read(errand, KERNELS, "get_kernel", **name.fields)
        except NotFoundError:
            return None
        except ForbiddenError:
            # Kaggle forbids what is not there as it forbids what is wedged: only a list of the account's own kernels
            # tells the two apart, and taking one for the other would push a second time.
            if self._is_listed(ref, name):
                raise
            return None
        if found.metadata is None:
            raise self._wire.unexpected(errand, "has no metadata of the kernel")
        return self._described(found, ref, errand)

    def push(self, kernel: KernelPush) -> Pushed:
        """See `Kaggle.push`."""
        errand = Errand(f"push {kernel.ref}")
        text = _as_sent(kernel.text)
        self._check_text(text, errand)
        answer = self._wire.change(
            errand,
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
            session_timeout_seconds=_seconds(kernel.timeout),
        )
        return self._pushed(answer, kernel, errand)

    def session_status(self, ref: str, version: int | None) -> SessionStatus:
        """See `Kaggle.session_status`; without a version, of the newest."""
        name = _Name.of(ref)
        errand = Errand(f"read the status of {_which(ref, version)}")
        found = self._wire.read(
            errand, KERNELS, "get_kernel_session_status", **name.fields, version_label=_label(version)
        )
        state = _STATES.get(found.status.name, SessionState.UNKNOWN) if found.status else SessionState.UNKNOWN
        return SessionStatus(state, guards.clean_log(found.failure_message or "").strip())

    def output(self, ref: str, version: int) -> KernelOutput:
        """See `Kaggle.output`."""
        name = _Name.of(ref)
        errand = Errand(f"list the output of {_which(ref, version)}")
        fields = {**name.fields, "version_label": _label(version), "page_size": _PAGE_SIZE}
        urls: dict[str, str] = {}
        names: list[str] = []
        log = ""
        for page in self._wire.pages(errand, KERNELS, "list_kernel_session_output", **fields):
            log = log or page.log or ""
            for file in page.files:
                names.append(file.file_name or "")
                urls[names[-1]] = file.url or ""
            self._check_count(len(names), errand)
        guards.checked_names(names, doing=errand.doing, reserved=(f"{name.slug}.log",))
        sizes = self._sizes(fields, errand) if names else {}
        files = [RemoteFile(each, sizes.get(each, 0), self._file_url(urls[each], errand)) for each in names]
        return KernelOutput(tuple(files), log_text(log))

    def quota(self) -> Quota:
        """See `Kaggle.quota`."""
        errand = Errand("read the accelerator quota")
        found = self._wire.read(errand, KERNELS, "get_accelerator_quota_statistics")
        return Quota(
            gpu_used=_time(found.gpu_quota, "time_used"),
            gpu_allowed=_time(found.gpu_quota, "total_time_allowed"),
            tpu_used=_time(found.tpu_quota, "time_used"),
            tpu_allowed=_time(found.tpu_quota, "total_time_allowed"),
            refresh=found.quota_refresh_time,
        )

    def _described(self, found: Any, ref: str, errand: Errand) -> RemoteKernel:
        metadata, blob = found.metadata, found.blob
        if metadata.slug and metadata.slug.casefold() != _Name.of(ref).slug.casefold():
            raise self._wire.unexpected(errand, f"is about another kernel, {metadata.slug}")
        # Some write a pulled notebook under this name, wherever it leads.
        if blob and blob.slug and not is_slug(blob.slug.casefold()):
            raise self._wire.unexpected(errand, f"calls the notebook {blob.slug}")
        return RemoteKernel(
            ref=metadata.ref.strip("/") or ref,
            title=metadata.title,
            version=max(metadata.current_version_number or 0, 0),
            machine_shape=metadata.machine_shape or "",
            is_private=metadata.is_private is not False,
            source=(blob.source or "") if blob else "",
            last_run=metadata.last_run_time,
        )

    def _is_listed(self, ref: str, name: _Name) -> bool:
        errand = Errand(f"look for {ref} among the kernels of this account")
        fields = {
            "group": enum_member("KernelsListViewType", "PROFILE"),
            "search": name.slug.replace("-", " "),
            "page_size": _PAGE_SIZE,
        }
        pages = self._wire.pages(errand, KERNELS, "list_kernels", **fields)
        return any(kernel.ref.strip("/").casefold() == ref.casefold() for page in pages for kernel in page.kernels)

    def _check_text(self, text: str, errand: Errand) -> None:
        guards.check_text(text, doing=errand.doing)
        if contains_secret(text, self._wire.credentials):
            raise UnsafeAnswerError(
                doing=errand.doing,
                what="the notebook holds the very credentials that it is pushed with",
                remedy="take them out; inside of Kaggle a notebook is signed in already. Nothing was sent",
                was_sent=False,
            )

    def _pushed(self, answer: Any, kernel: KernelPush, errand: Errand) -> Pushed:
        if answer.error:
            raise self._wire.refused(answer.error, errand)
        ref = answer.ref.strip("/").removeprefix("code/") or kernel.ref
        version = answer.version_number or 0
        if version <= 0:
            raise self._wire.unexpected(errand, "names no version")
        refused = {
            "competition": tuple(answer.invalid_competition_sources),
            "dataset": tuple(answer.invalid_dataset_sources),
            "kernel": tuple(answer.invalid_kernel_sources),
            "model": tuple(answer.invalid_model_sources),
        }
        if any(refused.values()):
            raise SourcesRefusedError(ref=ref, version=version, sources=refused)
        return Pushed(ref, version, answer.url or f"{self._wire.endpoint.site.base}/code/{ref}")

    def _sizes(self, fields: dict[str, Any], errand: Errand) -> dict[str, int]:
        """The sizes of output files, which another listing has; empty where that one is not to be had."""
        sizes: dict[str, int] = {}
        try:
            for page in self._wire.pages(errand, KERNELS, "list_kernel_files", **fields):
                sizes.update({file.name: max(file.size, 0) for file in page.files})
                self._check_count(len(sizes), errand)
        except (NotFoundError, ForbiddenError):
            return {}
        return sizes

    def _check_count(self, count: int, errand: Errand) -> None:
        if count > _MOST_FILES:
            raise self._wire.unexpected(errand, f"lists more than {_MOST_FILES:,} files")

    def _file_url(self, url: str, errand: Errand) -> str:
        return guards.checked_address(url, base=self._wire.endpoint.address, doing=errand.doing)


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


def _label(version: int | None) -> str | None:
    # A bare number is answered with 404.
    return f"v{version}" if version is not None else None


def _which(ref: str, version: int | None) -> str:
    return f"version {version} of {ref}" if version is not None else ref


def _seconds(time: timedelta | None) -> int | None:
    return round(time.total_seconds()) if time is not None else None


def _time(quota: Any, name: str) -> timedelta:
    value = getattr(quota, name, None)
    return value if isinstance(value, timedelta) else timedelta(0)
