"""The folder that a run writes to: one run at a time, a finished run kept, nothing emptied that no run made there.

Its marker file holds the number of the process that writes, and the inode of every folder that a run made here. A
workspace that was copied or sent, marker and all, has other inodes: its results are somebody's, and are not emptied.

OutputError
└── AlreadyRunningError     another process runs this pair into the same folder
"""

import errno
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from generator.errors import RunError
from generator.files import WorkspaceFiles, writing
from generator.pair.folder import handled_signals
from generator.pair.handover import HandOver, HandOverError, read_handover
from generator.pair.workspace import Role
from generator.run.kernel import private_folder
from generator.text import printable

MARKER = ".tandem-run"
CHECKPOINTS = "checkpoints"
_LARGEST_MARKER = 4_096  # bytes

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
            marker_text = f"{os.getpid()}\n" + "".join(map(_note, self._read_inodes()))
            os.truncate(handle, 0)
            os.pwrite(handle, marker_text.encode(), 0)
            yield
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
        if folder.is_dir() and any(folder.iterdir()) and folder.stat().st_ino not in self._read_inodes():
            raise OutputError(
                f"{printable(str(folder))} has files that `tandem run` did not write, and a run deletes all files "
                "there first.",
                remedy="Move them away, or choose another folder with --output.",
                code="output-in-use",
            )

    def _read_inodes(self) -> list[int]:
        """The inodes of the folders that runs made here, as far as they are still here."""
        try:
            with os.fdopen(self.files.open(self.path / MARKER, os.O_RDONLY), "rb") as file:
                marker_text = file.read(_LARGEST_MARKER).decode(errors="replace")
        except FileNotFoundError:
            return []
        folders = [output.working(role) for output in (self, self.previous, self.interrupted_output) for role in Role]
        inodes = [folder.stat().st_ino for folder in folders if folder.is_dir()]
        return [inode for inode in inodes if _note(inode) in marker_text.splitlines(keepends=True)]

    def _remember(self, folder: Path) -> None:
        inode = folder.stat().st_ino
        if inode not in self._read_inodes():
            self.files.append(self.path / MARKER, _note(inode).encode())


def _note(inode: int) -> str:
    """The marker's line on a folder that a run made."""
    return f"folder {inode}\n"


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
