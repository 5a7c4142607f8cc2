"""Pushes: the kernel that one means, the version that it saves, and the session that begins."""

import threading
from dataclasses import replace

from generator.accelerators.catalog import AcceleratorKind
from generator.localkaggle.rpc import Answer, ApiError, Call, Fields
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.kernel_quota import next_week
from generator.localkaggle.services.kernel_records import KernelRecords
from generator.localkaggle.services.kernel_sessions import KernelSessions, quota_used_up, session_limit_reached
from generator.localkaggle.services.kernel_sources import KernelSources
from generator.localkaggle.services.kernel_validation import PushError, SaveRequest, read_request
from generator.untrusted import slug_of

SAVE_KERNEL = "kernels.KernelsApiService/SaveKernel"

_LONGEST_MOVED = 43
_NOTHING_SAVED: Fields = {
    "ref": "",
    "url": "",
    "versionNumber": 0,
    "kernelId": 0,
    "error": "",
    "invalidTags": [],
    "invalidDatasetSources": [],
    "invalidCompetitionSources": [],
    "invalidKernelSources": [],
    "invalidModelSources": [],
}


class KernelPushes:
    """The method that saves kernels."""

    def __init__(
        self, site: ServiceContext, records: KernelRecords, *, sources: KernelSources, sessions: KernelSessions
    ) -> None:
        self._site = site
        self._records = records
        self._sources = sources
        self._sessions = sessions
        # Two pushes at once must not both find the last free session.
        self._one_at_a_time = threading.Lock()

    def save(self, call: Call) -> Answer:
        """`SaveKernel`."""
        faults = self._site.faults
        ref = call.text("slug").strip("/")
        try:
            if faults.strikes("push-error", at=call.method, also=ref):
                raise PushError(session_limit_reached(AcceleratorKind.GPU, 2))
            if faults.strikes("no-quota", at=call.method, also=ref):
                raise PushError(quota_used_up(AcceleratorKind.TPU, f"{next_week(self._site.clock.now()):%Y-%m-%d}"))
            request = read_request(call)
            with self._one_at_a_time:
                answer, session = self._saved(call, request, *self._target(call, request))
        except PushError as error:
            return {**_NOTHING_SAVED, "error": str(error)}
        if session is not None:
            self._sessions.queue.add(session)
        return answer

    def _saved(self, call: Call, request: SaveRequest, slug: str, title: str) -> tuple[Fields, int | None]:
        faults, ref = self._site.faults, f"{call.caller}/{slug}"
        settings, missing = self._sources.without_missing(request.settings, call.caller)
        if settings.kernels and faults.strikes("invalid-sources", at=call.method, also=ref):
            missing, settings = {**missing, "kernels": request.settings.kernels}, replace(settings, kernels=())
        if request.runs:
            self._sessions.require_free_session(settings)
        now = self._site.clock.now()
        kernel = self._records.add_kernel(call.caller, slug, title=title, is_private=request.is_private, now=now)
        version = self._records.add_version(kernel, settings, source=request.source, now=now)
        if faults.strikes("wedged", at=call.method, also=ref):
            self._records.wedge(kernel)
        session = self._records.add_session(version, now=now) if request.runs else None
        answer = {
            **_NOTHING_SAVED,
            **{f"invalid{kind[:-1].capitalize()}Sources": list(names) for kind, names in missing.items()},
            "ref": f"/{kernel.ref}",
            "url": f"{call.base}/code/{kernel.ref}",
            "versionNumber": version.number,
            "kernelId": kernel.id,
        }
        return answer, session

    def _target(self, call: Call, request: SaveRequest) -> tuple[str, str]:
        """The slug and the title of the kernel that a push means: by its number, else its title, else its slug."""
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
                return slug, request.title
        else:
            kernel = self._records.kernel(call.caller, request.slug)
            if kernel is None:
                raise PushError("A title is needed for a new notebook.")
        newest = self._records.version(kernel)
        if newest is not None and newest.settings.kernel_type != request.settings.kernel_type:
            raise PushError(f"The kernel type cannot be changed from {newest.settings.kernel_type}.")
        return kernel.slug, request.title or kernel.title
