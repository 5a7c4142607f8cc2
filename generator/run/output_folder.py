"""The folder that a run writes to: one run at a time, a finished run kept, nothing emptied that no run made there.

Its marker file holds the number of the process that writes, the inode of every folder that a run made here, and the
names and sizes of the files in it. In a workspace that was copied the inodes are others: there a folder counts as a
run's if it has no file but those.

OutputError
└── AlreadyRunningError     another process runs this pair into the same folder
"""

import errno
import json
import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from generator.errors import RunError, TandemError
from generator.files import WorkspaceFiles, writing
from generator.pair.folder import handled_signals
from generator.pair.handover import HandOver, HandOverError, read_handover
from generator.pair.workspace import Role
from generator.run.kernel import private_folder
from generator.text import JsonObject, printable

MARKER = ".tandem-run"
CHECKPOINTS = "checkpoints"
_LARGEST_MARKER = 1 << 20  # bytes
_LONGEST_LISTING = 150_000  # characters, of the files of one of the six folders
_MOST_FILES = 5_000

# What a notebook that was killed early has written already.
_NO_PROGRESS = {"train.ipynb", "infer.ipynb", "accelerator.json"}


class OutputError(RunError):
    """The output folder cannot be used."""


class AlreadyRunningError(OutputError):
    """Another run is writing to the same folder."""

    def __init__(self, *, folder: Path, process: str) -> None:
        super().__init__(
            f"Another run (process {printable(process) or 'unknown'}) is writing to {printable(str(folder))}.",
            remedy="Wait until it ends, or choose another folder for this run with --output.",
        )


@dataclass(frozen=True)
class OutputFolder:
    """The files that a run of a pair leaves, in a folder that the user named or below one, `root`."""

    path: Path
    root: Path | None = None

    @property
    def files(self) -> WorkspaceFiles:
        """The way to write there."""
        return WorkspaceFiles(self.root or self.path)

    def working(self, role: Role) -> Path:
        """The mirror of /kaggle/working."""
        return self.path / role

    def notebook(self, role: Role) -> Path:
        """The executed notebook."""
        return self.working(role) / f"{role}.ipynb"

    @property
    def previous(self) -> "OutputFolder":
        """The results of the last finished run that another one replaced."""
        return OutputFolder(self.path / "previous", self.root)

    @property
    def interrupted_output(self) -> "OutputFolder":
        """The training without an end that a resumed one goes on from; it is there until a training is complete."""
        return OutputFolder(self.path / "interrupted", self.root)

    @property
    def report(self) -> Path:
        """The page about the run."""
        return self.path / "report.html"

    @property
    def reports(self) -> tuple[Path, Path]:
        """The page about the run, and the same as JSON."""
        return self.report, self.report.with_suffix(".json")

    @contextmanager
    def lock(self, roles: Iterable[Role] = tuple(Role)) -> Iterator[None]:
        """Keeps other runs out of this folder until the block, or this process, ends.

        Args:
            roles: Whose working folders are to be emptied.

        Raises:
            AlreadyRunningError: Another run is in it.
            OutputError: A folder that is to be emptied holds files that no run wrote there.
            UnsafePlaceError: Something there is a link.
            FileWriteError: It cannot be written to.
        """
        with writing(self.path):
            for path in (self.path / MARKER, *self.reports, self.previous.path, self.interrupted_output.path):
                self.files.check(path)
            for role in roles:
                self._refuse_foreign(self.working(role))
            self.files.make_folder(self.path)
            handle = self.files.open(self.path / MARKER, os.O_RDWR | os.O_CREAT)
        try:
            _lock(handle, self.path)
            self._write_marker(handle)
            try:
                yield
            finally:
                with suppress(OSError, TandemError):
                    self._write_marker(handle)
        finally:
            # The system drops the lock with the handle, so a killed run leaves no stale one behind.
            os.close(handle)

    @contextmanager
    def reserve(self, roles: Iterable[Role] = tuple(Role)) -> Iterator[Path]:
        """Keep other runs out, and yield a private folder that vanishes with the block; signals end it as Ctrl+C does.

        Args:
            roles: Whose working folders are to be emptied.

        Raises:
            RunError: The folder cannot be used, as `lock` says.
            KeyboardInterrupt: A signal asked for the end.
        """
        with handled_signals(signal.default_int_handler), self.lock(roles), private_folder() as private:
            yield private

    def handover(self) -> HandOver:
        """Return what the training handed over.

        Raises:
            HandOverError: There is nothing that can be used.
        """
        return read_handover(self.working(Role.TRAIN))

    def empty(self, role: Role) -> None:
        """Makes the working folder as empty as a session on Kaggle finds it.

        Raises:
            OutputError: It holds files that no run wrote there.
            UnsafePlaceError: It is a link.
            FileWriteError: It cannot be written to.
        """
        folder = self.working(role)
        with writing(folder):
            self._refuse_foreign(folder)
            self.files.make_folder(folder)
            self._remember(folder)
            self.files.empty(folder)

    def keep(self, role: Role) -> Path | None:
        """Moves what the next run of a notebook would replace out of its way, and returns where it is.

        What is finished goes to `previous`: a training with the inference and the report that came of it, or the
        inference alone. A training without an end goes to `interrupted_output`. What got nowhere stays, to be emptied.

        Raises:
            OutputError: Something else has the place.
            FileWriteError: It cannot be moved.
        """
        destination, roles = self.previous, tuple(Role) if role is Role.TRAIN else (role,)
        if not _is_finished(self.working(role), role):
            if role is not Role.TRAIN or not _has_progress(self.working(role)):
                return None
            destination, roles = self.interrupted_output, (role,)
        with writing(destination.path):
            for place in (*map(destination.working, roles), *destination.reports):
                self._refuse_foreign(place)
            self.files.make_folder(destination.path)
            if destination == self.interrupted_output:
                self._take_along(destination.working(role) / CHECKPOINTS, self.working(role) / CHECKPOINTS)
            for output_role in roles:
                self.files.remove_tree(destination.working(output_role))
                self._move(self.working(output_role), destination.working(output_role))
            if destination == self.previous:
                for report, previous_report in zip(self.reports, destination.reports, strict=True):
                    self.files.remove(previous_report)
                    self._move(report, previous_report)
        return destination.path

    def set_aside(self) -> Path:
        """Moves the last training output away for a resumed training to read, and returns where it is.

        A training that got nowhere does not replace the one before it.

        Raises:
            OutputError: There is no training output with anything to go on from, or what it would take the place of is
                nothing that a run wrote there.
            UnsafePlaceError: One of the folders is a link.
            FileWriteError: It cannot be moved.
        """
        self.keep(Role.TRAIN)
        for candidate in (self.interrupted_output, self.previous):
            if _has_progress(candidate.working(Role.TRAIN)):
                return candidate.working(Role.TRAIN)
        raise OutputError(
            "There is nothing to resume: no earlier training left a checkpoint in "
            f"{printable(str(self.working(Role.TRAIN)))}.",
            remedy="Run it without --resume.",
            code="nothing-to-resume",
        )

    def forget_interrupted(self, run_name: str) -> None:
        """Removes the training without an end that a run has finished; a file that cannot be removed is left.

        Args:
            run_name: What the notebook calls the run, as its hand-over says; checkpoints of others stay.
        """
        folder = self.interrupted_output.working(Role.TRAIN)
        with suppress(OSError, OutputError):
            self._refuse_foreign(folder)
            runs = {path.name for path in (folder / CHECKPOINTS).glob("*")}
            finished_folder = folder / CHECKPOINTS / run_name if run_name and runs - {run_name} else folder
            if finished_folder == folder or run_name in runs:
                self.files.remove_tree(finished_folder)
        self.files.remove_empty([self.interrupted_output.path])

    def _move(self, source: Path, target: Path) -> None:
        if source.exists():
            self.files.move(source, target)

    def _take_along(self, earlier: Path, later: Path) -> None:
        """Moves the checkpoints of runs that the later training is none of to its own."""
        for run_folder in earlier.glob("*"):
            if not (later / run_folder.name).exists():
                self.files.make_folder(later)
                self.files.move(run_folder, later / run_folder.name)

    def _refuse_foreign(self, folder: Path) -> None:
        self.files.check(folder)
        if not folder.is_dir() or not any(folder.iterdir()):
            return
        marker_lines = self._read_marker()
        if not self._is_of_run(folder, marker_lines):
            name = _foreign_file(folder, _listing(self._key(folder), marker_lines) or {})
            example = f", such as {printable(name)}" if name else ""
            raise OutputError(
                f"{printable(str(folder))} has files that `tandem run` did not write{example}, and a run deletes all "
                "files there first.",
                remedy="Move them away, or choose another folder with --output.",
                code="output-in-use",
            )

    def _is_of_run(self, folder: Path, marker_lines: Iterable[str]) -> bool:
        """True if a run made a folder here, or if it is a copy of one and has no other files."""
        if _note(folder.stat().st_ino) in marker_lines:
            return True
        files = _listing(self._key(folder), marker_lines)
        return files is not None and _foreign_file(folder, files) is None

    def _folders_of_runs(self, marker_lines: Iterable[str]) -> list[Path]:
        """The folders that runs made here, as far as they are still here."""
        outputs = (self, self.previous, self.interrupted_output)
        folders = [output.working(role) for output in outputs for role in Role]
        return [folder for folder in folders if folder.is_dir() and self._is_of_run(folder, marker_lines)]

    def _key(self, folder: Path) -> str:
        return folder.relative_to(self.path).as_posix()

    def _read_marker(self) -> list[str]:
        try:
            with os.fdopen(self.files.open(self.path / MARKER, os.O_RDONLY), "rb") as file:
                return file.read(_LARGEST_MARKER).decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _write_marker(self, handle: int) -> None:
        """Write the process, and each folder that a run made, with the files in it."""
        folders = self._folders_of_runs(self._read_marker())
        lines = [str(os.getpid()), *(_note(folder.stat().st_ino) for folder in folders)]
        lines += filter(None, (_listing_line(self._key(folder), folder) for folder in folders))
        content = "".join(f"{line}\n" for line in lines).encode()
        os.truncate(handle, 0)
        while content:
            content = content[os.pwrite(handle, content, os.fstat(handle).st_size) :]

    def _remember(self, folder: Path) -> None:
        note = _note(folder.stat().st_ino)
        if note not in self._read_marker():
            self.files.append(self.path / MARKER, f"{note}\n".encode())


def _note(inode: int) -> str:
    """The marker's line on a folder that a run made."""
    return f"folder {inode}"


def _listing_line(key: str, folder: Path) -> str:
    """The marker's line on the files in a folder; "" where there are too many."""
    files = dict(islice(_files(folder), _MOST_FILES + 1))
    line = f"files {key} {json.dumps(files)}"
    return line if len(files) <= _MOST_FILES and len(line) <= _LONGEST_LISTING else ""


def _listing(key: str, marker_lines: Iterable[str]) -> Mapping[str, object] | None:
    """The files of a folder with their sizes, as the marker has them; None if it has none."""
    prefix = f"files {key} "
    return next((JsonObject.parse(line[len(prefix) :]) for line in marker_lines if line.startswith(prefix)), None)


def _foreign_file(folder: Path, files: Mapping[str, object]) -> str | None:
    """The first file in a folder that is not among these."""
    return min((name for name, size in _files(folder) if files.get(name) != size), default=None)


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the path inside of a folder and the size of each file below it; a link is not followed."""
    for parent, names, file_names in os.walk(folder):
        links = [name for name in names if Path(parent, name).is_symlink()]
        for name in (*links, *file_names):
            path = Path(parent, name)
            yield path.relative_to(folder).as_posix(), path.lstat().st_size


def _is_finished(folder: Path, role: Role) -> bool:
    if role is not Role.TRAIN:
        return _has_progress(folder)
    try:
        return read_handover(folder).is_complete
    except HandOverError:
        return False


def _has_progress(folder: Path) -> bool:
    return folder.is_dir() and any(entry.name not in _NO_PROGRESS for entry in folder.iterdir())


def _lock(handle: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: the second run is not noticed
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOTSUP):
            return  # a file system without locks
        process = os.pread(handle, 32, 0).decode(errors="replace").partition("\n")[0]
        raise AlreadyRunningError(folder=folder, process=process) from error
