"""Kernels, their versions and their sessions as pages show them, read from their records."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from generator.accelerators.catalog import AcceleratorKind, catalog
from generator.localkaggle.services.kernel_records import (
    KernelRecord,
    KernelRecords,
    SessionRecord,
    State,
    VersionRecord,
)
from generator.localkaggle.web.formats import path

_WORDS = {State.QUEUED: "Queued", State.RUNNING: "Running", State.COMPLETE: "Complete", State.ERROR: "Failed"}


@dataclass(frozen=True)
class SessionView:
    """The session of a version; `record` is None for a version that was saved without running."""

    record: SessionRecord | None
    title: str = ""

    @property
    def state(self) -> str:
        """The state in lower case."""
        return "saved" if self.record is None else self.record.state.lower()

    @property
    def word(self) -> str:
        """The state for people."""
        return "Saved" if self.record is None else _WORDS[self.record.state]

    @property
    def is_over(self) -> bool:
        """True if nothing more happens in it."""
        return self.record is None or self.record.is_over

    @property
    def failure(self) -> str:
        """The reason why it failed; empty if it did not."""
        return "" if self.record is None else self.record.failure

    @property
    def address(self) -> str:
        """The page of the version that ran; a rerun has none of its own."""
        return "" if self.record is None else _version_address(self.record.owner, self.record.slug, self.record.number)

    @property
    def machine(self) -> str:
        """The machine that it runs on, as the menu of accelerators calls it."""
        if self.record is None:
            return ""
        shapes = (
            each.machine_shape for each in catalog().accelerators.values() if each.kind is self.record.accelerator
        )
        return machine_name(next(shapes, self.record.accelerator.upper()))

    def elapsed(self, now: datetime) -> timedelta | None:
        """The time that it has been running, or ran in the end; None before it begins."""
        if self.record is None or self.record.started is None:
            return None
        return max(timedelta(), (self.record.ended or now) - self.record.started)

    def waited(self, now: datetime) -> timedelta | None:
        """The time that it waited in the queue, or has so far."""
        if self.record is None:
            return None
        return max(timedelta(), (self.record.started or self.record.ended or now) - self.record.created)


@dataclass(frozen=True)
class KernelView:
    """A version of a kernel, and its session; `newest` is the number of the kernel's newest version."""

    kernel: KernelRecord
    version: VersionRecord
    newest: int
    session: SessionView

    @property
    def address(self) -> str:
        """The page of the kernel."""
        return path("code", self.kernel.owner, self.kernel.slug)

    @property
    def version_address(self) -> str:
        """The page of the version."""
        return _version_address(self.kernel.owner, self.kernel.slug, self.version.number)

    @property
    def query(self) -> str:
        """The query that makes addresses below the kernel's mean this version."""
        return "" if self.version.number == self.newest else f"?version={self.version.number}"

    @property
    def machine(self) -> str:
        """The machine that the version asks for."""
        return machine_name(self.version.settings.machine_shape)

    @property
    def competitions(self) -> tuple[str, ...]:
        """The competitions whose data the version uses."""
        return self.version.settings.competitions

    @property
    def can_be_submitted(self) -> bool:
        """True if there is something of this version to submit."""
        return self.session.record is not None and self.session.record.state is State.COMPLETE


def machine_name(shape: str) -> str:
    """The name of a machine in the menu of accelerators."""
    offered = catalog().accelerators.get(shape)
    if offered is None:
        return shape
    return "CPU" if offered.kind is AcceleratorKind.CPU else offered.name


def kernel_views(records: KernelRecords, account: str, *, most: int | None = None) -> list[KernelView]:
    """The kernels that an account may see by their newest versions, the last saved first; or only `most` of them."""
    visible = [kernel for kernel in records.kernels() if kernel.is_visible_to(account)][:most]
    return [view for kernel in visible if (view := kernel_view(records, kernel)) is not None]


def kernel_view(records: KernelRecords, kernel: KernelRecord, number: int | None = None) -> KernelView | None:
    """A version of a kernel, the newest if no other is named; None if there is none."""
    newest = records.version(kernel)
    version = newest if number is None else records.version(kernel, number)
    if newest is None or version is None:
        return None
    return KernelView(kernel, version, newest.number, SessionView(records.session_of(version)))


def version_views(records: KernelRecords, kernel: KernelRecord) -> list[KernelView]:
    """The versions of a kernel, the newest first."""
    versions = records.versions(kernel)
    return [KernelView(kernel, each, versions[0].number, SessionView(records.session_of(each))) for each in versions]


def rerun_views(records: KernelRecords) -> dict[int, SessionView]:
    """The reruns of submitted versions, by the number of the submission."""
    reruns = [session for session in records.sessions() if session.submission is not None]
    return {session.submission or 0: view for session, view in zip(reruns, _titled(records, reruns), strict=True)}


def session_views(records: KernelRecords, account: str, *, most: int) -> list[SessionView]:
    """The last sessions of kernels that an account may see, the newest first, reruns among them."""
    visible = {kernel.ref for kernel in records.kernels() if kernel.is_visible_to(account)}
    return _titled(records, [session for session in records.sessions() if session.ref in visible][:most])


def _titled(records: KernelRecords, sessions: list[SessionRecord]) -> list[SessionView]:
    titles = {kernel.ref: kernel.title for kernel in records.kernels()}
    return [SessionView(session, titles.get(session.ref, session.ref)) for session in sessions]


def _version_address(owner: str, slug: str, number: int) -> str:
    return f"{path('code', owner, slug)}?version={number}"
