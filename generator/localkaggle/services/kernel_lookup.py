"""Finding the kernel, the version and the session that a call names, or the refusal that Kaggle would answer."""

import re

from generator.localkaggle.rpc import ApiError, Call
from generator.localkaggle.services.kernel_records import KernelRecord, KernelRecords, SessionRecord, VersionRecord
from generator.localkaggle.site import Site

_LABEL = re.compile(r"v([1-9]\d{0,8})")


class KernelLookup:
    """What calls mean by their fields `userName`, `kernelSlug` and `versionLabel`."""

    def __init__(self, site: Site, records: KernelRecords) -> None:
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

    def session_by_number(self, call: Call) -> SessionRecord:
        """The session that a call names by `kernelSessionId`.

        Raises:
            ApiError: 404 if there is none, if it is somebody else's, or a rerun, which may have copied the hidden test.
        """
        session = self._records.session(call.integer("kernelSessionId"))
        if session is None or session.owner != call.caller or session.submission is not None:
            raise ApiError(404, "There is no such session")
        return session
