"""Pushes: which kernel is meant, whether it may run, and what the client is told."""

import threading
from dataclasses import dataclass, replace
from functools import partial

from generator.accelerators.catalog import AcceleratorKind
from generator.localkaggle.rpc import Answer, ApiError, Call, Fields, Methods
from generator.localkaggle.services.kernel_mounts import Sources
from generator.localkaggle.services.kernel_quota import next_week
from generator.localkaggle.services.kernel_records import KernelRecord, KernelRecords, VersionRecord
from generator.localkaggle.services.kernel_saving import (
    Invalid,
    PushError,
    SaveRequest,
    read_request,
    slug_of,
    without_unknown,
)
from generator.localkaggle.services.kernel_sessions import KernelSessions, quota_used_up, session_limit_reached
from generator.localkaggle.site import Site

SAVE_KERNEL = "kernels.KernelsApiService/SaveKernel"

_LONGEST_MOVED = 43


@dataclass(frozen=True)
class Target:
    """The kernel that a push means, which may not be there yet."""

    owner: str
    slug: str
    title: str

    @property
    def ref(self) -> str:
        """The kernel's name: `owner/slug`."""
        return f"{self.owner}/{self.slug}"


class KernelPushes:
    """The method that saves kernels."""

    def __init__(self, site: Site, records: KernelRecords, *, sources: Sources, sessions: KernelSessions) -> None:
        self._site = site
        self._records = records
        self._sources = sources
        self._sessions = sessions
        # Two pushes at once must not both find the last free session.
        self._one_at_a_time = threading.Lock()

    def methods(self) -> Methods:
        """The method by its name."""
        return {SAVE_KERNEL: self._save}

    def _save(self, call: Call) -> Answer:
        faults = self._site.faults
        ref = call.text("slug").strip("/")
        try:
            if faults.strikes("push-error", at=call.method, also=ref):
                raise PushError(session_limit_reached(AcceleratorKind.GPU, 2))
            if faults.strikes("no-quota", at=call.method, also=ref):
                raise PushError(quota_used_up(AcceleratorKind.TPU, f"{next_week(self._site.clock.now()):%Y-%m-%d}"))
            request = read_request(call)
            with self._one_at_a_time:
                answer, session = self._saved(call, request, self._target(call, request))
        except PushError as error:
            return {**_answer(Invalid()), "error": str(error)}
        if session is not None:
            self._sessions.queue(session)
        return answer

    def _saved(self, call: Call, request: SaveRequest, kernel: Target) -> tuple[Fields, int | None]:
        faults = self._site.faults
        settings, invalid = without_unknown(
            request.settings, self._sources.known(call.caller, partial(self._is_kernel, call.caller))
        )
        if settings.kernels and faults.strikes("invalid-sources", at=call.method, also=kernel.ref):
            invalid, settings = replace(invalid, kernels=request.settings.kernels), replace(settings, kernels=())
        if request.runs:
            self._sessions.require_room(settings)
        now = self._site.clock.now()
        saved = self._records.add_kernel(
            kernel.owner, kernel.slug, title=kernel.title, is_private=request.is_private, now=now
        )
        version = self._records.add_version(saved, settings, source=request.source, now=now)
        if faults.strikes("wedged", at=call.method, also=kernel.ref):
            self._records.wedge(saved)
        session = self._sessions.prepare(version) if request.runs else None
        return {**_answer(invalid), **_names(saved, version, base=call.base)}, session

    def _target(self, call: Call, request: SaveRequest) -> Target:
        """Which kernel a push means: that of the number, else that of the title, else that of the slug."""
        if request.owner != call.caller:
            raise ApiError(403, "Permission 'kernels.update' was denied")
        if request.number:
            kernel = self._records.kernel_by_id(request.number)
            if kernel is None or kernel.owner != call.caller:
                raise ApiError(404, "Notebook not found")
        elif request.title:
            slug = slug_of(request.title)
            if self._site.faults.strikes("slug-moved", at=call.method, also=f"{request.owner}/{slug}"):
                slug = f"{slug[:_LONGEST_MOVED]}-moved"
            kernel = self._records.kernel(call.caller, slug)
            if kernel is None:
                return Target(call.caller, slug, request.title)
        else:
            kernel = self._records.kernel(call.caller, request.slug)
            if kernel is None:
                raise PushError("A title is needed for a new notebook.")
        self._require_same_type(kernel, request)
        return Target(kernel.owner, kernel.slug, request.title or kernel.title)

    def _require_same_type(self, kernel: KernelRecord, request: SaveRequest) -> None:
        newest = self._records.version(kernel)
        if newest is not None and newest.settings.kernel_type != request.settings.kernel_type:
            raise PushError(f"The kernel type cannot be changed from {newest.settings.kernel_type}.")

    def _is_kernel(self, account: str, source: str) -> bool:
        owner, slug, *pinned = source.split("/")
        kernel = self._records.kernel(owner, slug)
        if kernel is None or not kernel.is_visible_to(account) or not pinned:
            return kernel is not None and kernel.is_visible_to(account)
        return pinned[0].isdecimal() and self._records.version(kernel, int(pinned[0])) is not None


def _names(kernel: KernelRecord, version: VersionRecord, *, base: str) -> Fields:
    return {
        "ref": f"/{kernel.ref}",
        "url": f"{base}/code/{kernel.ref}",
        "versionNumber": version.number,
        "kernelId": kernel.id,
    }


def _answer(invalid: Invalid) -> Fields:
    return {
        "ref": "",
        "url": "",
        "versionNumber": 0,
        "kernelId": 0,
        "error": "",
        "invalidTags": [],
        "invalidDatasetSources": list(invalid.datasets),
        "invalidCompetitionSources": list(invalid.competitions),
        "invalidKernelSources": list(invalid.kernels),
        "invalidModelSources": list(invalid.models),
    }
