"""The API of kernels: pushed, run, looked at, their output given away."""

import json
import logging
import os
import re
import shutil
import stat
import threading
import zipfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar

from generator.accelerators import AcceleratorKind
from generator.localkaggle.rpc import (
    Answer,
    ApiCall,
    ApiError,
    Fields,
    Methods,
    Redirect,
    StoredFile,
    as_wire,
    file_moment,
    page,
)
from generator.localkaggle.services.kernel_records import (
    SCHEMA,
    KernelRecord,
    KernelRecords,
    KernelSettings,
    KernelState,
    PushError,
    SaveRequest,
    SessionRecord,
    SourceLookup,
    Sources,
    VersionRecord,
    next_week,
    read_request,
    weekly_quota,
    weekly_usage,
)
from generator.localkaggle.storage import (
    DEEPEST,
    InvalidFileError,
    ListedFile,
    ServiceContext,
    checked_name,
    has_room,
    is_disk_full,
    pack_zip,
)
from generator.run.kernel import end_processes_of
from generator.sessions.notebook_runner import (
    LogPiece,
    SessionQueue,
    largest_memory,
    read_all,
    read_piece,
    script_notebook,
)
from generator.sessions.sandbox import (
    Runner,
    SessionEnd,
    SessionFolder,
    SessionOrder,
    disk_usage,
    end_recorded,
    remove_session_tree,
)
from generator.sessions.worker import TIMEOUT
from generator.text import slug_of

# From a version of a kernel to a session that is over: its limits, its place in the queue, its end.


CUT_OFF = "The server was stopped while this session ran."
DELETION_REASON = "The notebook was deleted."
TIMEOUT_REASON = "Your notebook was stopped because it exceeded the max allowed execution duration."
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
        sources: SourceLookup,
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
        for session in self._records.unfinished_sessions():
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
            for session in self._records.unfinished_sessions()
            if session.accelerator is kind and session.submission is None
        ]
        limit = settings.accelerator.concurrent_sessions
        if limit is not None and len(current) >= limit:
            raise PushError(session_limit_reached(kind, limit))
        now = self._site.clock.now()
        quota = weekly_quota(kind)
        if quota is not None and weekly_usage(self._records.sessions(), kind, now=now) >= quota:
            raise PushError(quota_used_up(kind, f"{next_week(now):%Y-%m-%d %H:%M} UTC"))

    def forget(self, sessions: list[SessionRecord]) -> None:
        """Stops sessions whose kernel is deleted, and removes their files where nothing writes to them any more."""
        for session in sessions:
            was_waiting = self.queue.stop(session.id)
            if was_waiting:
                self._has_written(partial(self._report, replace(session, failure=DELETION_REASON)))
            if session.is_over or was_waiting:
                self.folder(session.id).remove()

    def _execute(self, number: int, stop: threading.Event) -> None:
        session = self._records.session(number)
        if session is None or session.is_over:
            return
        start_time, began = self._site.clock.now(), self._site.clock.monotonic()
        try:
            self._records.begin(number, now=start_time)
            self.folder(number).make()
            end = self._run(session, stop)
        except Exception as error:  # noqa: BLE001 - whatever it is, the session is over and says so
            if is_disk_full(error):
                _LOG.warning("session %d of %s failed: the disk is full", number, session.ref)
            else:
                _LOG.exception("session %d of %s failed", number, session.ref)
            detail = f" {error.strerror}." if isinstance(error, OSError) and error.strerror else ""
            end = SessionEnd(f"{MACHINE_FAILED}{detail}")
        # The wall clock may have jumped; a session costs quota for as long as it ran.
        end_time = start_time + timedelta(seconds=self._site.clock.monotonic() - began)
        remove_session_tree(self.folder(number).private)
        failure = CUT_OFF if stop.is_set() and end.failure else end.failure
        # The disk may be full, and not remain so: if others make no room, what this session left is removed.
        has_waited = False
        while not self._has_written(partial(self._end, session, failure, end_time)) and not stop.wait(_RETRY_SECONDS):
            if has_waited:
                self._make_room(number)
            has_waited = True
        if failure:
            self._make_room(number)
        if self._records.session(number) is None:  # deleted meanwhile
            self.folder(number).remove()

    def _make_room(self, session: int) -> None:
        """Removes the output of a session that failed where the disk is full, or no session could run any more."""
        working = self.folder(session).working
        if working.exists() and not has_room(self._site.root, 0):
            _LOG.warning("the disk is full: the output of session %d, which failed, is removed", session)
            remove_session_tree(working)

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
            end = self._runner.run(order, stop=stop)
            return replace(end, failure=TIMEOUT_REASON) if end.failure == TIMEOUT else end
        self._runner.run(replace(order, time_limit=_KILLED_AFTER), stop=stop)
        return SessionEnd(TIMEOUT_REASON)

    def _order(self, session: SessionRecord) -> SessionOrder:
        version = self._records.find_version(session.owner, session.slug, session.number)
        if version is None:
            raise LookupError(f"{session.ref} was deleted before its session began")
        settings, folder, faults = version.settings, self.folder(session.id), self._site.faults
        source = self._records.source(version)
        if settings.kernel_type == "script":
            source = script_notebook(source, language=settings.language)
        folder.notebook.write_text(source, encoding="utf-8")
        accelerator = settings.accelerator
        # A pinned image replaces the TPU machine's own, and the TPU with it (Kaggle/kaggle-cli#1197).
        is_wrong = accelerator.kind is AcceleratorKind.TPU and (
            bool(settings.docker_image) or faults.strikes("wrong-image", at=session.ref)
        )
        mounts = self._sources.mounts(settings, hidden=session.competition)
        if session.submission is None and mounts and faults.strikes("empty-mount", at=session.ref):
            empty_folder = folder.path / "nothing"
            empty_folder.mkdir()
            mounts = dict.fromkeys(mounts, empty_folder)
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
            time_limit=settings.time_limit,
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
        freed_bytes = 0
        for session in self._records.sessions():
            folder = self.folder(session.id)
            for left in (folder.private, *folder.path.glob(".output*")):
                freed_bytes += disk_usage(left)
                remove_session_tree(left)
            if session.failure or (session.started is not None and not session.is_over):  # cut off
                self._make_room(session.id)
        return freed_bytes

    def _last_sign(self, session: SessionRecord) -> datetime:
        """When a session that was cut off last wrote to its log: when its server was killed, nobody knows."""
        now = self._site.clock.now()
        start_time = session.started or now
        with suppress(OSError):
            return max(start_time, min(now, file_moment(self.folder(session.id).log.stat().st_mtime)))
        return start_time

    def _end(self, session: SessionRecord, failure: str, end_time: datetime) -> None:
        self._records.end(session.id, failure=failure, now=end_time)
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


# Pushes: the kernel that one means, the version that it saves, and the session that begins.


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
        self, site: ServiceContext, records: KernelRecords, *, sources: SourceLookup, sessions: KernelSessions
    ) -> None:
        self._site = site
        self._records = records
        self._sources = sources
        self._sessions = sessions
        # Two pushes at once must not both find the last free session.
        self._one_at_a_time = threading.Lock()

    def save(self, call: ApiCall) -> Answer:
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
                answer, session = self._save_version(call, request, *self._target(call, request))
        except PushError as error:
            return {**_NOTHING_SAVED, "error": str(error)}
        if session is not None:
            self._sessions.queue.add(session)
        return answer

    def _save_version(self, call: ApiCall, request: SaveRequest, slug: str, title: str) -> tuple[Fields, int | None]:
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

    def _target(self, call: ApiCall, request: SaveRequest) -> tuple[str, str]:
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


# Looking at kernels: what calls name, and what they are told of sources, settings and states.


_LABEL = re.compile(r"v([1-9]\d{0,8})")
_UNKNOWN_STATUS = "WAITING_FOR_GODOT"


class KernelQueries:
    """Finds what calls name by `userName`, `kernelSlug` and `versionLabel`, and answers those that only look."""

    def __init__(self, site: ServiceContext, records: KernelRecords) -> None:
        self._site = site
        self._records = records

    def kernel(self, call: ApiCall, *, owner_field: str = "userName", may_be_public: bool = False) -> KernelRecord:
        """The kernel that a call names.

        Args:
            call: The call.
            owner_field: The field with the owner.
            may_be_public: Whether a public kernel of somebody else will do.

        Raises:
            ApiError: 404 if there is none, 403 if it is somebody else's or wedged.
        """
        owner, slug = call.text(owner_field) or call.caller, call.text("kernelSlug")
        ref = f"{owner}/{slug}"
        if self._site.faults.strikes("transient-404", at=call.method, also=ref):
            raise ApiError(404, "Notebook not found")
        kernel = None if "/" in slug else self._records.kernel(owner, slug)
        is_public = may_be_public and kernel is not None and kernel.is_visible_to(call.caller)
        if "/" in slug or not (owner == call.caller or is_public):
            raise ApiError(403, "Permission 'kernels.get' was denied")
        if kernel is None:
            raise ApiError(404, "Notebook not found")
        if kernel.is_wedged or self._site.faults.strikes("wedged", at=call.method, also=ref):
            raise ApiError(403, "Permission 'kernels.get' was denied")
        return kernel

    def version(self, call: ApiCall, kernel: KernelRecord) -> VersionRecord:
        """The version that a call names by `v3`, or else the newest.

        Raises:
            ApiError: 404 if there is none; also for a bare number, as on Kaggle.
        """
        label = call.text("versionLabel")
        match = _LABEL.fullmatch(label)
        if label and match is None:
            raise ApiError(404, "Notebook version not found")
        version = self._records.version(kernel, int(match[1]) if match else None)
        if version is None:
            raise ApiError(404, "Notebook version not found")
        return version

    def session(self, call: ApiCall) -> tuple[KernelRecord, SessionRecord | None]:
        """The kernel and the session that a call names; None if that version was saved only.

        Raises:
            ApiError: As `kernel` and `version` do.
        """
        kernel = self.kernel(call)
        return kernel, self._records.session_of(self.version(call, kernel))

    def get(self, call: ApiCall) -> Answer:
        """`GetKernel`."""
        kernel = self.kernel(call, may_be_public=True)
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

    def status(self, call: ApiCall) -> Answer:
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

    def list(self, call: ApiCall) -> Answer:
        """`ListKernels`."""
        search, user = call.text("search").lower(), call.text("user")
        rows = []
        for kernel in self._records.kernels():
            version = self._records.version(kernel)
            if version is None or kernel.owner != (user or call.caller) or not kernel.is_visible_to(call.caller):
                continue
            if search in f"{kernel.title} {kernel.slug}".lower() and _uses(version, call):
                rows.append(self._metadata(kernel, version))
        return page(rows, call, key="kernels")


def _uses(version: VersionRecord, call: ApiCall) -> bool:
    filters = (
        (call.text("competition"), version.settings.competitions),
        (call.text("dataset"), version.settings.datasets),
        (call.text("parentKernel"), version.settings.kernels),
    )
    return all(not source or source in sources for source, sources in filters)


# The output of sessions: the files and the log, as the API lists them and gives them away.


_LOG_EVENTS = 1_000
_TRUNCATED_EVENTS = 5
_MOST_FILES = 10_000


def _files(working: Path) -> Iterator[ListedFile]:
    """The regular files below a working folder.

    A notebook is a stranger: links are left out, as are hard links of files elsewhere, files of other users, and names
    that could mean another place on some system.
    """
    entries = list(_entries(working))
    names = Counter((status.st_dev, status.st_ino) for _, _, status in entries)
    for name, path, status in entries:
        if status.st_nlink <= names[status.st_dev, status.st_ino]:
            yield ListedFile(name, path, status.st_size, file_moment(status.st_mtime), below=working)


def _entries(working: Path) -> Iterator[tuple[str, Path, os.stat_result]]:
    count = 0
    try:
        owner = working.stat().st_uid
    except FileNotFoundError:  # a session that never began has none
        return
    for folder, folders, names, handle in os.fwalk(working):
        if len(Path(folder).relative_to(working).parts) >= DEEPEST - 1:
            folders.clear()  # no name below could be asked for, and a notebook can nest folders without end
        for name in names:
            path = Path(folder, name)
            try:
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
                relative = checked_name(path.relative_to(working).as_posix())
            except (InvalidFileError, OSError, UnicodeEncodeError):
                continue
            count += 1
            if count > _MOST_FILES:
                return
            if stat.S_ISREG(status.st_mode) and status.st_uid == owner:
                yield relative, path, status


class KernelOutputs:
    """The methods that give away what a session wrote."""

    def __init__(self, site: ServiceContext, records: KernelRecords, queries: KernelQueries) -> None:
        self._site = site
        self._records = records
        self._queries = queries

    def files(self, session: SessionRecord | None) -> list[ListedFile]:
        """The files that a session wrote; none while it may still write."""
        if session is None or not session.is_over:
            return []
        return sorted(_files(self._folder(session).working), key=lambda file: file.name)

    def archive(self, session: SessionRecord) -> Path:
        """A zip file with everything that a session wrote, made once."""
        archive = self._folder(session).path / "output.zip"
        if not archive.exists():
            pack_zip(self.files(session), archive, compression=zipfile.ZIP_DEFLATED)
        return archive

    def list_output(self, call: ApiCall) -> Answer:
        """`ListKernelSessionOutput`."""
        kernel, session = self._queries.session(call)
        files = self._visible_files(call, session)
        rows = [{"fileName": file.name, "url": self._address(call, session, file)} for file in files if session]
        if files and self._site.faults.strikes("output-hostile", at=call.method, also=kernel.ref):
            rows.append({"fileName": "../../escaped.txt", "url": rows[0]["url"]})
        return {**page(list(rows), call, key="files"), "log": self._log(call, kernel.ref, session)}

    def list_files(self, call: ApiCall) -> Answer:
        """`ListKernelFiles`."""
        _, session = self._queries.session(call)
        files = [
            {"name": file.name, "size": file.size, "creationDate": as_wire(file.write_time)}
            for file in self._visible_files(call, session)
        ]
        return page(list(files), call, key="files")

    def _folder(self, session: SessionRecord) -> SessionFolder:
        return SessionFolder(self._site.root, session.id)

    def _visible_files(self, call: ApiCall, session: SessionRecord | None) -> list[ListedFile]:
        if session is not None and self._site.faults.strikes("output-missing", at=call.method, also=session.ref):
            return []
        return self.files(session)

    def _address(self, call: ApiCall, session: SessionRecord, file: ListedFile) -> str:
        stored_file = StoredFile(file.path, file.name, below=file.below)
        if self._site.faults.strikes("output-truncated", at=call.method, also=session.ref):
            path = self._folder(session).path / "truncated" / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            with file.open() as source, path.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            os.truncate(path, file.size // 2)
            stored_file = StoredFile(path, file.name)
        return self._site.tickets.download(call, stored_file)

    def _log(self, call: ApiCall, ref: str, session: SessionRecord | None) -> str:
        if session is None:
            return ""
        fault = self._site.faults.first(["empty-log", "truncated-log"], at=call.method, also=ref)
        if fault == "empty-log":
            return ""
        event_limit = _TRUNCATED_EVENTS if fault else _LOG_EVENTS
        return json.dumps(list(deque(read_all(self._folder(session).log), maxlen=event_limit)))

    def download(self, call: ApiCall) -> Answer:
        """`DownloadKernelOutput`."""
        kernel = self._queries.kernel(call, owner_field="ownerSlug")
        version = self._records.version(kernel, call.integer("versionNumber") or None)
        session = self._records.session_of(version) if version is not None else None
        if session is None or not session.is_over:
            raise ApiError(404, "This version has no output")
        name = call.text("filePath")
        if not name:
            return self._redirect_to_archive(call, session)
        file = next((entry for entry in self.files(session) if entry.name == name), None)
        if file is None:
            raise ApiError(404, "There is no such file in the output")
        return Redirect(self._site.tickets.download(call, StoredFile(file.path, file.name, below=file.below)))

    def download_zip(self, call: ApiCall) -> Answer:
        """`DownloadKernelOutputZip`; not of a rerun, which may have copied the hidden test."""
        session = self._records.session(call.integer("kernelSessionId"))
        if session is None or session.owner != call.caller or session.submission is not None:
            raise ApiError(404, "There is no such session")
        if not session.is_over:
            raise ApiError(404, "The session is not over")
        return self._redirect_to_archive(call, session)

    def _redirect_to_archive(self, call: ApiCall, session: SessionRecord) -> Answer:
        stored_file = StoredFile(self.archive(session), f"{session.slug}.zip", "application/zip")
        return Redirect(self._site.tickets.download(call, stored_file))


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
        kernel_sources = SourceLookup(site, self.records, sources, flat=rules.flat_mounts)
        self.sessions = KernelSessions(site, self.records, runner=runner, sources=kernel_sources, slots=rules.slots)
        self._queries = KernelQueries(site, self.records)
        self.outputs = KernelOutputs(site, self.records, self._queries)
        self._pushes = KernelPushes(site, self.records, sources=kernel_sources, sessions=self.sessions)

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

    def read_log(self, call: ApiCall, *, session: int | None = None, position: int = 0) -> tuple[int, LogPiece, bool]:
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
        record = self.records.session(session) if session is not None else self._queries.session(call)[1]
        if record is None:
            raise ApiError(404, "This version has no session")
        return record.id, read_piece(self.sessions.folder(record.id).log, position=position), record.is_over

    def _delete(self, call: ApiCall) -> Answer:
        owner, slug = call.text("userName") or call.caller, call.text("kernelSlug")
        kernel = self.records.kernel(owner, slug) if owner == call.caller else None
        if kernel is None:
            raise ApiError(404, "Notebook not found")
        sessions = [session for session in self.records.sessions() if session.ref == kernel.ref]
        self.records.delete(kernel)
        self.sessions.forget(sessions)
        return {}

    def _quota(self, call: ApiCall) -> Answer:
        now, sessions = self._site.clock.now(), self.records.sessions()
        answer: dict[str, object] = {"quotaRefreshTime": as_wire(next_week(now))}
        for kind in (AcceleratorKind.GPU, AcceleratorKind.TPU):
            total = weekly_quota(kind)
            answer[f"{kind}Quota"] = {
                "timeUsed": f"{int(weekly_usage(sessions, kind, now=now).total_seconds())}s",
                "timeReserved": f"{int(self._reserved_time(sessions, kind, now=now).total_seconds())}s",
                "totalTimeAllowed": f"{int(total.total_seconds()) if total else 0}s",
                "minimumTimeAllowed": "0s",
                "isPayToScaleEnabled": self._site.faults.strikes("pay-to-scale", at=call.method),
                "hasEverRun": any(session.accelerator is kind for session in sessions),
            }
        return answer

    def _reserved_time(self, sessions: list[SessionRecord], kind: AcceleratorKind, *, now: datetime) -> timedelta:
        """The time that sessions of a kind may still run; reruns of submissions cost nothing."""
        total = timedelta()
        for session in sessions:
            if session.accelerator is not kind or session.submission is not None or session.is_over:
                continue
            version = self.records.find_version(session.owner, session.slug, session.number)
            if version is not None and session.started is not None:
                total += max(timedelta(), session.started + version.settings.time_limit - now)
        return total

    def finished_version(self, owner: str, slug: str, version: int) -> tuple[KernelSettings, Mapping[str, Path]] | None:
        """The settings of a version and what it wrote; None if there is none, or its session did not end well."""
        record = self.records.find_version(owner, slug, version)
        session = self.records.session_of(record) if record is not None else None
        if record is None or session is None or session.state is not KernelState.COMPLETE:
            return None
        return record.settings, {file.name: file.path for file in self.outputs.files(session)}

    def rerun(self, owner: str, slug: str, version: int, *, competition: str, submission: int) -> None:
        """Queues a rerun of a version with the hidden test of a competition mounted."""
        record = self.records.find_version(owner, slug, version)
        if record is None:
            raise ApiError(404, "Notebook version not found")
        now = self._site.clock.now()
        session = self.records.add_session(record, now=now, submission=submission, competition=competition)
        self.sessions.queue.add(session)
