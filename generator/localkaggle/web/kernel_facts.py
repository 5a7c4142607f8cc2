"""What the pages show of kernels, their versions and their sessions."""

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
class SessionFacts:
    """The session of a version; `record` is None for a version that was saved without running."""

    record: SessionRecord | None

    @property
    def state(self) -> str:
        """The state in lower case."""
        return "saved" if self.record is None else self.record.state.lower()

    @property
    def word(self) -> str:
        """The state for people."""
        return "Saved" if self.record is None else _WORDS[self.record.state]

    @property
    def colour(self) -> str:
        """The class that colours the state."""
        return "queued" if self.record is None else self.state

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens in it."""
        return self.record is None or self.record.is_over

    @property
    def failure(self) -> str:
        """Why it failed; empty if it did not."""
        return "" if self.record is None else self.record.failure

    def elapsed(self, now: datetime) -> timedelta | None:
        """How long it has been running, or ran in the end; None before it begins."""
        if self.record is None or self.record.started is None:
            return None
        return (self.record.ended or now) - self.record.started

    def waited(self, now: datetime) -> timedelta | None:
        """How long it waited in the queue, or does so far."""
        if self.record is None:
            return None
        return (self.record.started or self.record.ended or now) - self.record.created


@dataclass(frozen=True)
class KernelRow:
    """A kernel and the session of its newest version."""

    ref: str
    owner: str
    title: str
    address: str
    version: int
    machine: str
    is_private: bool
    saved: datetime
    competitions: tuple[str, ...]
    session: SessionFacts


@dataclass(frozen=True)
class VersionRow:
    """A version of a kernel and its session."""

    number: int
    address: str
    machine: str
    saved: datetime
    session: SessionFacts


@dataclass(frozen=True)
class SessionRow:
    """A session among all sessions; a rerun has no version's page of its own."""

    title: str
    address: str
    version: int
    machine: str
    is_rerun: bool
    competition: str
    created: datetime
    session: SessionFacts


def machine_name(shape: str) -> str:
    """What a machine is called in the menu of accelerators."""
    offered = catalog().accelerators.get(shape)
    if offered is None:
        return shape
    return "CPU" if offered.kind is AcceleratorKind.CPU else offered.name


def kernel_address(record: KernelRecord, *more: object) -> str:
    """The page of a kernel, or one below it."""
    return path("code", record.owner, record.slug, *more)


def kernel_rows(records: KernelRecords, account: str, *, most: int | None = None) -> list[KernelRow]:
    """The kernels with a version that an account may see, the last saved first; or only as many as `most` of them."""
    rows = []
    for kernel in [kernel for kernel in records.kernels() if kernel.is_visible_to(account)][:most]:
        version = records.version(kernel)
        if version is not None:
            rows.append(kernel_row(records, kernel, version))
    return rows


def kernel_row(records: KernelRecords, kernel: KernelRecord, version: VersionRecord) -> KernelRow:
    """A kernel with one of its versions."""
    return KernelRow(
        ref=kernel.ref,
        owner=kernel.owner,
        title=kernel.title,
        address=kernel_address(kernel),
        version=version.number,
        machine=machine_name(version.settings.machine_shape),
        is_private=kernel.is_private,
        saved=version.created,
        competitions=version.settings.competitions,
        session=SessionFacts(records.session_of(version)),
    )


def version_rows(records: KernelRecords, kernel: KernelRecord) -> list[VersionRow]:
    """The versions of a kernel, the newest first."""
    return [
        VersionRow(
            number=version.number,
            address=f"{kernel_address(kernel)}?version={version.number}",
            machine=machine_name(version.settings.machine_shape),
            saved=version.created,
            session=SessionFacts(records.session_of(version)),
        )
        for version in records.versions(kernel)
    ]


def rerun_rows(records: KernelRecords) -> dict[int, SessionRow]:
    """The reruns of submitted versions, by the number of the submission."""
    reruns = [session for session in records.sessions() if session.submission is not None]
    return {session.submission or 0: row for session, row in zip(reruns, _rows(records, reruns), strict=True)}


def session_rows(records: KernelRecords, account: str, *, most: int) -> list[SessionRow]:
    """The last sessions of kernels that an account may see, the newest first, reruns among them."""
    visible = {kernel.ref for kernel in records.kernels() if kernel.is_visible_to(account)}
    return _rows(records, [session for session in records.sessions() if session.ref in visible][:most])


def _rows(records: KernelRecords, sessions: list[SessionRecord]) -> list[SessionRow]:
    names = {kernel.ref: kernel for kernel in records.kernels()}
    return [
        SessionRow(
            title=names[session.ref].title if session.ref in names else session.ref,
            address=f"{path('code', session.owner, session.slug)}?version={session.number}",
            version=session.number,
            machine=next(
                (
                    machine_name(a.machine_shape)
                    for a in catalog().accelerators.values()
                    if a.kind is session.accelerator
                ),
                session.accelerator.upper(),
            ),
            is_rerun=session.submission is not None,
            competition=session.competition,
            created=session.created,
            session=SessionFacts(session),
        )
        for session in sessions
    ]
