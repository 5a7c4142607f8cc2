"""The folder that a run writes to: one run at a time, nothing of somebody else's emptied, a finished run kept.

OutputError
├── AlreadyRunningError     another process runs this pair into the same folder
├── ForeignFolderError      the folder holds files that no run wrote
└── NothingToResumeError    no earlier training left anything
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from generator.errors import RunError
from generator.files import FileWriteError
from generator.pair.workspace import Role
from generator.run.handover import HandOverError, read_handover
from generator.untrusted import printable

MARKER = ".tandem-run"

# What a notebook that was killed early has written already.
_NO_PROGRESS = {"train.ipynb", "infer.ipynb", "accelerator.json"}


class OutputError(RunError):
    """The output folder cannot be used."""


class AlreadyRunningError(OutputError):
    """Two runs would write over each other."""

    def __init__(self, *, folder: Path, process: str) -> None:
        super().__init__(
            f"Another run (process {printable(process) or 'unknown'}) is writing to {printable(str(folder))}. "
            f"Wait for it to end, or give this one a folder of its own with --output."
        )


class ForeignFolderError(OutputError):
    """Emptying the folder could destroy what the user wants to keep."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"{printable(str(folder))} holds files that no `tandem run` wrote, and a run begins by emptying it. "
            f"Move them away, or choose another folder with --output."
        )


class NothingToResumeError(OutputError):
    """`--resume` without an earlier training."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"There is nothing to resume: no earlier training left a checkpoint in {printable(str(folder))}. "
            f"Run it without --resume."
        )


@dataclass(frozen=True)
class OutputFolder:
    """The files that a run of a pair leaves."""

    path: Path

    def working(self, role: Role) -> Path:
        """The mirror of /kaggle/working."""
        return self.path / role

    def notebook(self, role: Role) -> Path:
        """The executed notebook."""
        return self.working(role) / f"{role}.ipynb"

    @property
    def previous(self) -> "OutputFolder":
        """What the last finished run left here before another replaced it."""
        return OutputFolder(self.path / "previous")

    @property
    def interrupted(self) -> "OutputFolder":
        """The training without an end that a resumed one goes on from; it is there until a training is complete."""
        return OutputFolder(self.path / "interrupted")

    @property
    def report(self) -> Path:
        """The page about the run."""
        return self.path / "report.html"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other runs out of this folder until the block, or this process, ends.

        Raises:
            AlreadyRunningError: Another run is in it.
            ForeignFolderError: The folder holds files that no run wrote.
            FileWriteError: It cannot be written to.
        """
        marker = self.path / MARKER
        if not marker.exists():
            for role in Role:
                _refuse_foreign(self.working(role))
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(marker, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise FileWriteError(path=self.path, cause=error) from error
        try:
            _lock(handle, self.path)
            os.truncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
            yield
        finally:
            # The system drops the lock with the handle, so a killed run leaves no stale one behind.
            os.close(handle)

    def empty(self, role: Role) -> None:
        """Makes the working folder as empty as a session on Kaggle finds it."""
        folder = self.working(role)
        try:
            folder.mkdir(exist_ok=True)
            for entry in folder.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
        except OSError as error:
            raise FileWriteError(path=folder, cause=error) from error

    def keep(self, role: Role) -> Path | None:
        """Moves what the next run of a notebook would replace out of its way, and returns where it is.

        What is finished goes to `previous`: a training with the inference and the report that came of it, or the
        inference alone. A training without an end goes to `interrupted`. What got nowhere stays, to be emptied.

        Raises:
            ForeignFolderError: Something else has the place.
            FileWriteError: It cannot be moved.
        """
        kept, roles = self.previous, tuple(Role) if role is Role.TRAIN else (role,)
        if not _is_finished(self.working(role), role):
            if role is not Role.TRAIN or not _has_progress(self.working(role)):
                return None
            kept, roles = self.interrupted, (role,)
        try:
            kept.claim()
            for each in roles:
                _move(self.working(each), kept.working(each))
            if kept == self.previous:
                _move(self.report, kept.report)
        except OSError as error:
            raise FileWriteError(path=kept.path, cause=error) from error
        return kept.path

    def set_aside(self) -> Path:
        """Moves the last training output away for a resumed training to read, and returns where it is.

        A training that got nowhere does not replace the one before it.

        Raises:
            NothingToResumeError: There is no training output with anything to go on from.
        """
        kept = self.keep(Role.TRAIN)
        candidates = [self.interrupted, self.previous] if kept is None else [OutputFolder(kept)]
        for candidate in candidates:
            if _has_progress(candidate.working(Role.TRAIN)):
                return candidate.working(Role.TRAIN)
        raise NothingToResumeError(folder=self.working(Role.TRAIN))

    def claim(self) -> None:
        """Makes this folder one of ours, or makes sure that it is.

        Raises:
            ForeignFolderError: It is somebody else's.
            OSError: It cannot be made.
        """
        marker = self.path / MARKER
        if self.path.is_symlink():
            raise ForeignFolderError(folder=self.path)
        if not marker.is_file():
            _refuse_foreign(self.path)
            self.path.mkdir(exist_ok=True)
            marker.touch(exist_ok=False)

    def remove(self) -> None:
        """Removes this folder with all that is in it, if it is one of ours."""
        if not self.path.is_symlink() and (self.path / MARKER).is_file():
            shutil.rmtree(self.path, ignore_errors=True)


def _is_finished(folder: Path, role: Role) -> bool:
    if role is not Role.TRAIN:
        return _has_progress(folder)
    try:
        return read_handover(folder).is_complete
    except HandOverError:
        return False


def _move(source: Path, target: Path) -> None:
    """Renames a file or a folder; what was there is gone, even if there is nothing to take its place."""
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    if source.exists():
        source.rename(target)


def _has_progress(folder: Path) -> bool:
    return folder.is_dir() and any(entry.name not in _NO_PROGRESS for entry in folder.iterdir())


def _refuse_foreign(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()):
        raise ForeignFolderError(folder=folder)


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
        process = os.pread(handle, 32, 0).decode(errors="replace").strip()
        raise AlreadyRunningError(folder=folder, process=process) from error
