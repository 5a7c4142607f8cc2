"""Looking at kernels: their source and settings, the state of a version's session, listings."""

from generator.accelerators.catalog import AcceleratorKind
from generator.localkaggle.clock import as_wire
from generator.localkaggle.rpc import Answer, Call, Fields, Methods, page
from generator.localkaggle.services.kernel_lookup import KernelLookup
from generator.localkaggle.services.kernel_records import KernelRecord, KernelRecords, VersionRecord
from generator.localkaggle.site import Site

_SERVICE = "kernels.KernelsApiService"
_UNKNOWN_STATUS = "WAITING_FOR_GODOT"


class KernelReading:
    """The methods that only look."""

    def __init__(self, site: Site, records: KernelRecords, *, lookup: KernelLookup) -> None:
        self._site = site
        self._records = records
        self._lookup = lookup

    def methods(self) -> Methods:
        """The methods by name."""
        return {
            f"{_SERVICE}/GetKernel": self._get,
            f"{_SERVICE}/GetKernelSessionStatus": self._status,
            f"{_SERVICE}/ListKernels": self._list,
        }

    def _get(self, call: Call) -> Answer:
        kernel = self._lookup.kernel(call)
        version = self._lookup.version(call, kernel)
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

    def _status(self, call: Call) -> Answer:
        kernel = self._lookup.kernel(call)
        version = self._lookup.version(call, kernel)
        faults = self._site.faults
        if version.number > 1 and faults.strikes("stale-status", at=call.method, also=kernel.ref):
            version = self._records.version(kernel, version.number - 1) or version
        if faults.strikes("unknown-status", at=call.method, also=kernel.ref):
            return {"status": _UNKNOWN_STATUS}
        session = self._records.session_of(version)
        if session is None:
            return {"status": "NEW_SCRIPT"}
        return {"status": session.state, **({"failureMessage": session.failure} if session.failure else {})}

    def _list(self, call: Call) -> Answer:
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
