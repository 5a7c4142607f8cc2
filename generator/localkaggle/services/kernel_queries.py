"""Looking at kernels: what calls name, and what they are told of sources, settings and states."""

import re

from generator.accelerators.catalog import AcceleratorKind
from generator.localkaggle.clock import as_wire
from generator.localkaggle.rpc import Answer, ApiError, Call, Fields, page
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.kernel_records import KernelRecord, KernelRecords, SessionRecord, VersionRecord

_LABEL = re.compile(r"v([1-9]\d{0,8})")
_UNKNOWN_STATUS = "WAITING_FOR_GODOT"


class KernelQueries:
    """Finds what calls name by `userName`, `kernelSlug` and `versionLabel`, and answers those that only look."""

    def __init__(self, site: ServiceContext, records: KernelRecords) -> None:
        self._site = site
        self._records = records

    def kernel(self, call: Call, *, owner_field: str = "userName") -> KernelRecord:
        """The kernel that a call names.

        Raises:
            ApiError: 404 if there is none, 403 if it is somebody else's or wedged.
        """
        owner, slug = call.text(owner_field) or call.caller, call.text("kernelSlug")
        ref = f"{owner}/{slug}"
        if self._site.faults.strikes("transient-404", at=call.method, also=ref):
            raise ApiError(404, "Notebook not found")
        if owner != call.caller or "/" in slug:
            raise ApiError(403, "Permission 'kernels.get' was denied")
        kernel = self._records.kernel(owner, slug)
        if kernel is None:
            raise ApiError(404, "Notebook not found")
        if kernel.is_wedged or self._site.faults.strikes("wedged", at=call.method, also=ref):
            raise ApiError(403, "Permission 'kernels.get' was denied")
        return kernel

    def version(self, call: Call, kernel: KernelRecord) -> VersionRecord:
        """The version that a call names by `v3`, or else the newest.

        Raises:
            ApiError: 404 if there is none; also for a bare number, as on Kaggle.
        """
        label = call.text("versionLabel")
        found = _LABEL.fullmatch(label)
        if label and found is None:
            raise ApiError(404, "Notebook version not found")
        version = self._records.version(kernel, int(found[1]) if found else None)
        if version is None:
            raise ApiError(404, "Notebook version not found")
        return version

    def session(self, call: Call) -> tuple[KernelRecord, SessionRecord | None]:
        """The kernel and the session that a call names; None if that version was saved only.

        Raises:
            ApiError: As `kernel` and `version` do.
        """
        kernel = self.kernel(call)
        return kernel, self._records.session_of(self.version(call, kernel))

    def get(self, call: Call) -> Answer:
        """`GetKernel`."""
        kernel = self.kernel(call)
        version = self.version(call, kernel)
        source = {
            "source": self._records.source(version),
            "language": version.settings.language,
            "kernelType": version.settings.kernel_type,
            "slug": kernel.slug,
        }
        return {"metadata": self._metadata(kernel, version), "blob": source}

    def _metadata(self, kernel: KernelRecord, version: VersionRecord) -> Fields:
        settings = version.settings
        newest = self._records.version(kernel) or version
        session = self._records.session_of(version)
        fields: dict[str, object] = {
            "id": kernel.id,
            "ref": kernel.ref,
            "title": kernel.title,
            "author": kernel.owner,
            "slug": kernel.slug,
            "lastRunTime": as_wire(session.created if session is not None else version.created),
            "language": settings.language,
            "kernelType": settings.kernel_type,
            "isPrivate": kernel.is_private,
            "enableGpu": settings.accelerator.kind is AcceleratorKind.GPU,
            "enableTpu": settings.accelerator.kind is AcceleratorKind.TPU,
            "enableInternet": settings.internet,
            "categoryIds": list(settings.keywords),
            "datasetDataSources": list(settings.datasets),
            "kernelDataSources": list(settings.kernels),
            "competitionDataSources": list(settings.competitions),
            "modelDataSources": list(settings.models),
            "totalVotes": 0,
            "currentVersionNumber": newest.number,
            "machineShape": settings.machine_shape,
        }
        return {**fields, "dockerImage": settings.docker_image} if settings.docker_image else fields

    def status(self, call: Call) -> Answer:
        """`GetKernelSessionStatus`."""
        kernel = self.kernel(call)
        version = self.version(call, kernel)
        faults = self._site.faults
        if version.number > 1 and faults.strikes("stale-status", at=call.method, also=kernel.ref):
            version = self._records.version(kernel, version.number - 1) or version
        if faults.strikes("unknown-status", at=call.method, also=kernel.ref):
            return {"status": _UNKNOWN_STATUS}
        session = self._records.session_of(version)
        if session is None:
            return {"status": "NEW_SCRIPT"}
        return {"status": session.state, **({"failureMessage": session.failure} if session.failure else {})}

    def list(self, call: Call) -> Answer:
        """`ListKernels`."""
        search, user = call.text("search").lower(), call.text("user")
        found = []
        for kernel in self._records.kernels():
            version = self._records.version(kernel)
            if version is None or kernel.owner != (user or call.caller) or not kernel.is_visible_to(call.caller):
                continue
            if search in f"{kernel.title} {kernel.slug}".lower() and _uses(version, call):
                found.append(self._metadata(kernel, version))
        return page(found, call, key="kernels")


def _uses(version: VersionRecord, call: Call) -> bool:
    wanted = (
        (call.text("competition"), version.settings.competitions),
        (call.text("dataset"), version.settings.datasets),
        (call.text("parentKernel"), version.settings.kernels),
    )
    return all(not source or source in sources for source, sources in wanted)
