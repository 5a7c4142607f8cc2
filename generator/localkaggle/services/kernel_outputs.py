"""The output of sessions: the files and the log, as the API lists them and gives them away."""

import json
import os
import shutil
import stat
import zipfile
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

from generator.localkaggle.clock import as_wire, file_moment
from generator.localkaggle.file_names import DEEPEST, InvalidFileError, ListedFile, checked_name
from generator.localkaggle.rpc import Answer, ApiError, Call, Redirect, Stored, page
from generator.localkaggle.service_context import ServiceContext
from generator.localkaggle.services.archives import pack_zip
from generator.localkaggle.services.kernel_queries import KernelQueries
from generator.localkaggle.services.kernel_records import KernelRecords, SessionRecord
from generator.sessions.session_folder import SessionFolder
from generator.sessions.session_log import read_all

_LOG_EVENTS = 1_000
_TRUNCATED_EVENTS = 5
_MOST_FILES = 10_000


def _files(working: Path) -> Iterator[ListedFile]:
    """The regular files below a working folder.

    A notebook is a stranger: links are left out, as are hard links of files elsewhere, files of other users, and names
    that could mean another place on some system.
    """
    found = list(_entries(working))
    names = Counter((status.st_dev, status.st_ino) for _, _, status in found)
    for name, path, status in found:
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

    def list_output(self, call: Call) -> Answer:
        """`ListKernelSessionOutput`."""
        kernel, session = self._queries.session(call)
        files = self._listed(call, session)
        listed = [{"fileName": file.name, "url": self._address(call, session, file)} for file in files if session]
        if files and self._site.faults.strikes("output-hostile", at=call.method, also=kernel.ref):
            listed.append({"fileName": "../../escaped.txt", "url": listed[0]["url"]})
        return {**page(list(listed), call, key="files"), "log": self._log(call, kernel.ref, session)}

    def list_files(self, call: Call) -> Answer:
        """`ListKernelFiles`."""
        _, session = self._queries.session(call)
        files = [
            {"name": file.name, "size": file.size, "creationDate": as_wire(file.written)}
            for file in self._listed(call, session)
        ]
        return page(list(files), call, key="files")

    def _folder(self, session: SessionRecord) -> SessionFolder:
        return SessionFolder(self._site.root, session.id)

    def _listed(self, call: Call, session: SessionRecord | None) -> list[ListedFile]:
        if session is not None and self._site.faults.strikes("output-missing", at=call.method, also=session.ref):
            return []
        return self.files(session)

    def _address(self, call: Call, session: SessionRecord, file: ListedFile) -> str:
        stored = Stored(file.path, file.name, below=file.below)
        if self._site.faults.strikes("output-truncated", at=call.method, also=session.ref):
            path = self._folder(session).path / "truncated" / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            with file.open() as source, path.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            os.truncate(path, file.size // 2)
            stored = Stored(path, file.name)
        return self._site.tickets.download(call, stored)

    def _log(self, call: Call, ref: str, session: SessionRecord | None) -> str:
        if session is None:
            return ""
        fault = self._site.faults.first(["empty-log", "truncated-log"], at=call.method, also=ref)
        if fault == "empty-log":
            return ""
        kept = _TRUNCATED_EVENTS if fault else _LOG_EVENTS
        return json.dumps(list(deque(read_all(self._folder(session).log), maxlen=kept)))

    def download(self, call: Call) -> Answer:
        """`DownloadKernelOutput`."""
        kernel = self._queries.kernel(call, owner_field="ownerSlug")
        version = self._records.version(kernel, call.integer("versionNumber") or None)
        session = self._records.session_of(version) if version is not None else None
        if session is None or not session.is_over:
            raise ApiError(404, "This version has no output")
        name = call.text("filePath")
        if not name:
            return self._redirect_to_archive(call, session)
        file = next((each for each in self.files(session) if each.name == name), None)
        if file is None:
            raise ApiError(404, "There is no such file in the output")
        return Redirect(self._site.tickets.download(call, Stored(file.path, file.name, below=file.below)))

    def download_zip(self, call: Call) -> Answer:
        """`DownloadKernelOutputZip`; not of a rerun, which may have copied the hidden test."""
        session = self._records.session(call.integer("kernelSessionId"))
        if session is None or session.owner != call.caller or session.submission is not None:
            raise ApiError(404, "There is no such session")
        if not session.is_over:
            raise ApiError(404, "The session is not over")
        return self._redirect_to_archive(call, session)

    def _redirect_to_archive(self, call: Call, session: SessionRecord) -> Answer:
        stored = Stored(self.archive(session), f"{session.slug}.zip", "application/zip")
        return Redirect(self._site.tickets.download(call, stored))
