"""Kernels, put together: saved, run, looked at, deleted, and run again for submissions."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from generator.accelerators.catalog import AcceleratorKind
from generator.localkaggle.clock import as_wire
from generator.localkaggle.rpc import Answer, ApiError, Call, Methods
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.kernel_outputs import KernelOutputs
from generator.localkaggle.services.kernel_pushes import KernelPushes
from generator.localkaggle.services.kernel_queries import KernelQueries
from generator.localkaggle.services.kernel_quota import allowed, next_week, used
from generator.localkaggle.services.kernel_records import SCHEMA, KernelRecords, KernelSettings, State
from generator.localkaggle.services.kernel_sessions import KernelSessions, SessionRules
from generator.localkaggle.services.kernel_sources import KernelSources, Sources
from generator.sessions.runner import Runner
from generator.sessions.session_log import LogPiece, read_piece

_SERVICE = "kernels.KernelsApiService"


class Kernels:
    """The kernels of a local Kaggle."""

    SCHEMA: ClassVar[str] = SCHEMA

    def __init__(
        self, site: ServiceContext, *, runner: Runner, sources: Sources, rules: SessionRules | None = None
    ) -> None:
        self._site = site
        rules = rules or SessionRules()
        self.records = KernelRecords(site.database)
        found = KernelSources(site, self.records, sources, flat=rules.flat_mounts)
        self.sessions = KernelSessions(site, self.records, runner=runner, sources=found, slots=rules.slots)
        self._queries = KernelQueries(site, self.records)
        self.outputs = KernelOutputs(site, self.records, self._queries)
        self._pushes = KernelPushes(site, self.records, sources=found, sessions=self.sessions)

    def methods(self) -> Methods:
        """The methods of Kaggle's service of kernels."""
        table = {
            "DeleteKernel": self._delete,
            "DownloadKernelOutput": self.outputs.download,
            "DownloadKernelOutputZip": self.outputs.download_zip,
            "GetAcceleratorQuotaStatistics": self._quota,
            "GetKernel": self._queries.get,
            "GetKernelSessionStatus": self._queries.status,
            "ListKernelFiles": self.outputs.list_files,
            "ListKernelSessionOutput": self.outputs.list_output,
            "ListKernels": self._queries.list,
            "SaveKernel": self._pushes.save,
        }
        return {f"{_SERVICE}/{name}": handler for name, handler in table.items()}

    def read_log(self, call: Call, *, session: int | None = None, position: int = 0) -> tuple[int, LogPiece, bool]:
        """A piece of the log of the kernel that a call names (`userName`, `kernelSlug`, perhaps `versionLabel`).

        Args:
            call: Names the kernel.
            session: The session that the earlier pieces were of, or None for the one that the call names.
            position: Where the piece begins: 0, or what the last piece said.

        Returns:
            The session, the piece, and whether the session was over before: then nothing is added to its log.

        Raises:
            ApiError: There is no such kernel, or it has no session.
        """
        found = self.records.session(session) if session is not None else self._queries.session(call)[1]
        if found is None:
            raise ApiError(404, "This version has no session")
        return found.id, read_piece(self.sessions.folder(found.id).log, position=position), found.is_over

    def _delete(self, call: Call) -> Answer:
        owner, slug = call.text("userName") or call.caller, call.text("kernelSlug")
        kernel = self.records.kernel(owner, slug) if owner == call.caller else None
        if kernel is None:
            raise ApiError(404, "Notebook not found")
        sessions = [session for session in self.records.sessions() if session.ref == kernel.ref]
        self.records.delete(kernel)
        self.sessions.forget(sessions)
        return {}

    def _quota(self, _call: Call) -> Answer:
        now, sessions = self._site.clock.now(), self.records.sessions()
        answer: dict[str, object] = {"quotaRefreshTime": as_wire(next_week(now))}
        for kind in (AcceleratorKind.GPU, AcceleratorKind.TPU):
            total = allowed(kind)
            answer[f"{kind}Quota"] = {
                "timeUsed": f"{int(used(sessions, kind, now=now).total_seconds())}s",
                "timeReserved": "0s",
                "totalTimeAllowed": f"{int(total.total_seconds()) if total else 0}s",
                "minimumTimeAllowed": "0s",
                "hasEverRun": any(session.accelerator is kind for session in sessions),
            }
        return answer

    def finished_version(self, owner: str, slug: str, version: int) -> tuple[KernelSettings, Mapping[str, Path]] | None:
        """The settings of a version and what it wrote; None if there is none, or its session did not end well."""
        found = self.records.find_version(owner, slug, version)
        session = self.records.session_of(found) if found is not None else None
        if found is None or session is None or session.state is not State.COMPLETE:
            return None
        return found.settings, {file.name: file.path for file in self.outputs.files(session)}

    def rerun(self, owner: str, slug: str, version: int, *, competition: str, submission: int) -> None:
        """Queues a rerun of a version with the hidden test of a competition mounted."""
        found = self.records.find_version(owner, slug, version)
        if found is None:
            raise ApiError(404, "Notebook version not found")
        now = self._site.clock.now()
        session = self.records.add_session(found, now=now, submission=submission, competition=competition)
        self.sessions.queue.add(session)
