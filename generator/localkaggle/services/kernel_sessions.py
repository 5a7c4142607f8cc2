"""From a version of a kernel to a session that is over: its limits, its place in the queue, its end."""

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from generator.accelerators.catalog import AcceleratorKind
from generator.localkaggle.clock import file_moment
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.free_space import has_room, is_disk_full
from generator.localkaggle.services.kernel_quota import allowed, next_week, used
from generator.localkaggle.services.kernel_records import KernelRecords, KernelSettings, SessionRecord
from generator.localkaggle.services.kernel_sources import KernelSources
from generator.localkaggle.services.kernel_validation import PushError
from generator.run.left_processes import end_processes_of
from generator.sessions.first_process import end_recorded
from generator.sessions.folder_trees import remove_tree, size_of
from generator.sessions.queue import SessionQueue
from generator.sessions.resource_limits import largest_memory
from generator.sessions.runner import Runner, SessionEnd, SessionOrder
from generator.sessions.scripts import notebook_of
from generator.sessions.session_folder import SessionFolder

CUT_OFF = "The server was stopped while this session ran."
DELETED = "The notebook was deleted."
KILLED = "Your notebook was stopped because it exceeded the max allowed execution duration."
MACHINE_FAILED = "Kaggle Error: the machine of this session failed."
_RETRY_SECONDS = 2.0
_KILLED_AFTER = timedelta(seconds=5)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class SessionRules:
    """How many sessions run at a time, and where they find their inputs.

    Attributes:
        slots: How many sessions this machine runs at a time; the others wait. With 0 a session runs inside of the
            call that asks for it.
        flat_mounts: Whether inputs are mounted as they were before 2026, all in one folder.
    """

    slots: int = 2
    flat_mounts: bool = False


class KernelSessions:
    """The sessions of all kernels."""

    def __init__(
        self,
        site: ServiceContext,
        records: KernelRecords,
        *,
        runner: Runner,
        sources: KernelSources,
        slots: int,
    ) -> None:
        self._site = site
        self._records = records
        self._runner = runner
        self._sources = sources
        self.when_rerun_ended: list[Callable[[SessionRecord], None]] = []
        """Told of every rerun that ends, also of those that a restart of the server cut off."""
        self.queue = SessionQueue(self._execute, slots=slots)

    def folder(self, session: int) -> SessionFolder:
        """The files of a session."""
        return SessionFolder(self._site.root, session)

    def start(self) -> None:
        """Takes up what the last run of the server left: what ran is lost, what waited waits again.

        To be called after `sweep`, when everybody listens who wants to.
        """
        for session in self._records.unreported_reruns():
            self._has_written(partial(self._report, session))
        for session in self._records.unfinished():
            if session.started is not None:
                self._has_written(partial(self._end, session, CUT_OFF, self._last_sign(session)))
            else:
                self.queue.add(session.id)

    def require_free_session(self, settings: KernelSettings) -> None:
        """Checks that one more session of these settings may begin.

        Raises:
            PushError: As many of its kind wait or run as may, or the week's quota is used up.
        """
        kind = settings.accelerator.kind
        current = [
            session
            for session in self._records.unfinished()
            if session.accelerator is kind and session.submission is None
        ]
        limit = settings.accelerator.concurrent_sessions
        if limit is not None and len(current) >= limit:
            raise PushError(session_limit_reached(kind, limit))
        now = self._site.clock.now()
        quota = allowed(kind)
        if quota is not None and used(self._records.sessions(), kind, now=now) >= quota:
            raise PushError(quota_used_up(kind, f"{next_week(now):%Y-%m-%d %H:%M} UTC"))

    def forget(self, sessions: list[SessionRecord]) -> None:
        """Stops sessions whose kernel is deleted, and removes their files where nothing writes to them any more."""
        for session in sessions:
            was_waiting = self.queue.stop(session.id)
            if was_waiting:
                self._has_written(partial(self._report, replace(session, failure=DELETED)))
            if session.is_over or was_waiting:
                self.folder(session.id).remove()

    def _execute(self, number: int, stop: threading.Event) -> None:
        session = self._records.session(number)
        if session is None or session.is_over:
            return
        started, began = self._site.clock.now(), self._site.clock.monotonic()
        try:
            self._records.begin(number, now=started)
            self.folder(number).make()
            end = self._run(session, stop)
        except Exception as error:  # noqa: BLE001 - whatever it is, the session is over and says so
            if is_disk_full(error):
                _LOG.warning("session %d of %s failed: the disk is full", number, session.ref)
            else:
                _LOG.exception("session %d of %s failed", number, session.ref)
            why = f" {error.strerror}." if isinstance(error, OSError) and error.strerror else ""
            end = SessionEnd(f"{MACHINE_FAILED}{why}")
        # The wall clock may have jumped; a session costs quota for as long as it ran.
        ended = started + timedelta(seconds=self._site.clock.monotonic() - began)
        remove_tree(self.folder(number).private)
        failure = CUT_OFF if stop.is_set() and end.failure else end.failure
        # The disk may be full, and not remain so: if others make no room, what this session left is removed.
        waited = False
        while not self._has_written(partial(self._end, session, failure, ended)) and not stop.wait(_RETRY_SECONDS):
            if waited:
                self._make_room(number)
            waited = True
        if failure:
            self._make_room(number)
        if self._records.session(number) is None:  # deleted meanwhile
            self.folder(number).remove()

    def _make_room(self, session: int) -> None:
        """Removes the output of a session that failed where the disk is full, or no session could run any more."""
        working = self.folder(session).working
        if working.exists() and not has_room(self._site.root, 0):
            _LOG.warning("the disk is full: the output of session %d, which failed, is removed", session)
            remove_tree(working)

    def _has_written(self, write: Callable[[], None]) -> bool:
        """Writes the end of a session down, or tells of it; False if that is to be tried again: the disk is full."""
        try:
            write()
        except Exception as error:  # noqa: BLE001 - what cannot be told now is told at the next start
            if is_disk_full(error):
                _LOG.warning("the disk is full: the end of a session waits for room")
                return False
            _LOG.exception("the end of a session could not be written")
        return True

    def _run(self, session: SessionRecord, stop: threading.Event) -> SessionEnd:
        faults = self._site.faults
        if faults.strikes("session-fails", at=session.ref):
            return SessionEnd(MACHINE_FAILED)
        order = self._order(session)
        if not faults.strikes("session-killed", at=session.ref):
            return self._runner.run(order, stop=stop)
        self._runner.run(replace(order, time_limit=_KILLED_AFTER), stop=stop)
        return SessionEnd(KILLED)

    def _order(self, session: SessionRecord) -> SessionOrder:
        version = self._records.find_version(session.owner, session.slug, session.number)
        if version is None:
            raise LookupError(f"{session.ref} was deleted before its session began")
        settings, folder, faults = version.settings, self.folder(session.id), self._site.faults
        source = self._records.source(version)
        if settings.kernel_type == "script":
            source = notebook_of(source, language=settings.language)
        folder.notebook.write_text(source, encoding="utf-8")
        accelerator = settings.accelerator
        # A pinned image replaces the TPU machine's own, and the TPU with it (Kaggle/kaggle-cli#1197).
        is_wrong = accelerator.kind is AcceleratorKind.TPU and (
            bool(settings.docker_image) or faults.strikes("wrong-image", at=session.ref)
        )
        mounts = self._sources.mounts(settings, hidden=session.competition)
        if session.submission is None and mounts and faults.strikes("empty-mount", at=session.ref):
            nothing = folder.path / "nothing"
            nothing.mkdir()
            mounts = dict.fromkeys(mounts, nothing)
        hours = timedelta(hours=accelerator.session_hours)
        return SessionOrder(
            title=f"{session.ref} version {session.number}",
            notebook=folder.notebook,
            files=folder,
            mounts=mounts,
            parameters={"ALLOW_CPU": True} if accelerator.kind is not AcceleratorKind.CPU and not is_wrong else {},
            environment=self._environment(session),
            internet=settings.internet,
            accelerator=AcceleratorKind.CPU if is_wrong else accelerator.kind,
            devices=1 if is_wrong else accelerator.devices,
            time_limit=min(hours, timedelta(seconds=settings.timeout_seconds)) if settings.timeout_seconds else hours,
            # As much as on Kaggle, where this machine has it.
            memory_limit=min(SessionOrder.memory_limit, largest_memory()),
        )

    def _environment(self, session: SessionRecord) -> Mapping[str, str]:
        # In a rerun an inference server waits for Kaggle's gateway. Here nobody would come: without the variable the
        # notebook runs the competition's own local gateway, on the hidden test.
        if session.submission is None or self._sources.has_gateway(session.competition):
            return {}
        return {"KAGGLE_IS_COMPETITION_RERUN": "1"}

    def sweep(self) -> int:
        """Ends the sessions of a server that was killed, and removes what they needed while they ran.

        To be called before anything is given away, and before any session begins.

        Returns:
            The bytes that were removed.
        """
        for record in self._site.root.glob("sessions/*/first-process.json"):
            end_recorded(record)
        for home in self._site.root.glob("sessions/*/private/home"):
            end_processes_of(home)  # of plain processes, which have no first one
        swept = 0
        for session in self._records.sessions():
            folder = self.folder(session.id)
            for left in (folder.private, *folder.path.glob(".output*")):
                swept += size_of(left)
                remove_tree(left)
            if session.failure or (session.started is not None and not session.is_over):  # cut off
                self._make_room(session.id)
        return swept

    def _last_sign(self, session: SessionRecord) -> datetime:
        """When a session that was cut off last wrote to its log: when its server was killed, nobody knows."""
        now = self._site.clock.now()
        started = session.started or now
        with suppress(OSError):
            return max(started, min(now, file_moment(self.folder(session.id).log.stat().st_mtime)))
        return started

    def _end(self, session: SessionRecord, failure: str, ended: datetime) -> None:
        self._records.end(session.id, failure=failure, now=ended)
        self._report(replace(session, failure=failure))

    def _report(self, session: SessionRecord) -> None:
        if session.submission is None:
            return
        for listener in self.when_rerun_ended:
            listener(session)
        self._records.mark_reported(session.id)


def session_limit_reached(kind: AcceleratorKind, limit: int) -> str:
    """The answer of Kaggle to a push too many."""
    return f"Maximum batch {kind.upper()} session count of {limit} reached."


def quota_used_up(kind: AcceleratorKind, until: str) -> str:
    """The answer to a push for which no accelerator hours are left."""
    return f"You have no accelerator quota left: the weekly {kind.upper()} quota is used up until {until}."
