"""Sessions in a sandbox of bubblewrap: Kaggle's own paths, read-only inputs, no network where it is off."""

import shutil
import subprocess
from collections.abc import Sequence

from generator.localkaggle.sessions.isolation import (
    REAL_PLACE,
    SYSTEM_FILES,
    SYSTEM_FOLDERS,
    Place,
    input_folders,
    python_folders,
    session_folders,
)
from generator.localkaggle.sessions.runner import SessionOrder

_PROBE_SECONDS = 10


class Bubblewrap:
    """A new root folder with nothing in it but what a session needs; see `man bwrap`."""

    description = "a sandbox of bubblewrap (Kaggle's paths, read-only inputs, no network where it is off)"

    def __init__(self, program: str) -> None:
        self._program = program

    @classmethod
    def found(cls) -> "Bubblewrap | None":
        """The bubblewrap of this machine, if there is one that works for this user."""
        program = shutil.which("bwrap")
        if program is None:
            return None
        trial = [program, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
        try:
            # S603: the program of the user's own PATH.
            ended = subprocess.run(trial, capture_output=True, timeout=_PROBE_SECONDS, check=False)  # noqa: S603 - a program of ours
        except (OSError, subprocess.TimeoutExpired):
            return None
        return cls(program) if ended.returncode == 0 else None

    def place(self, _order: SessionOrder) -> Place:
        """Kaggle's own paths."""
        return REAL_PLACE

    def command(self, order: SessionOrder, program: Sequence[str]) -> list[str]:
        """The program in the sandbox; it dies with this process."""
        command = [self._program, "--unshare-all", "--die-with-parent", "--new-session", "--hostname", "kaggle"]
        if order.internet:
            command.append("--share-net")
        for path in (*SYSTEM_FOLDERS, *SYSTEM_FILES):
            command += ["--ro-bind-try", path, path]
        command += ["--proc", "/proc", "--dev", "/dev"]
        # First the folders of the session's own: Python may live below one of the places that they take.
        for at, folder in session_folders(order).items():
            command += ["--bind", str(folder), at]
        for folder in python_folders():
            command += ["--ro-bind", str(folder), str(folder)]
        command += ["--dir", REAL_PLACE.input_root]
        for at, folder in input_folders(order).items():
            command += ["--ro-bind", str(folder), at]
        # The folders between the mounts belong to an empty file system in memory: nothing may be written to it either.
        return [*command, "--remount-ro", "/", "--chdir", REAL_PLACE.working, "--", *program]
