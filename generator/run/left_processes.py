"""Processes that a run started and that outlive it: whoever their parent is now, they have the run's HOME."""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_CHILD_SUBREAPER = 36  # of prctl, Linux 3.4
_PATIENCE = 5.0  # seconds


def end_processes_of(home: Path) -> None:
    """Kills this user's processes whose HOME is a folder that one run alone had, and waits until they are gone.

    A process is known by a handle before it is looked at, so that none which is given its number later is killed. What
    changed its HOME is not found, and nothing is where there is no `/proc`.
    """
    until = time.monotonic() + _PATIENCE
    while (handles := list(_handles(home))) and time.monotonic() < until:
        for handle in handles:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            ended = select.poll()
            ended.register(handle, select.POLLIN)
            ended.poll(1_000)
            os.close(handle)
    for handle in handles:
        os.close(handle)


@dataclass(frozen=True)
class Orphans:
    """The processes that came to this one because theirs ended; `before` are its children from before."""

    before: frozenset[int]

    def end(self) -> None:
        """Kills them, and those that come to this process because of that."""
        until = time.monotonic() + _PATIENCE
        while (left := _children() - self.before) and time.monotonic() < until:
            for number in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(number, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(number, 0)


@contextmanager
def adopted_orphans() -> Iterator[Orphans]:
    """Makes this process the parent of whatever its descendants leave, on Linux, for the length of the block.

    Neither a session, nor an environment, nor a name of its own keeps a process from that. No other thread should start
    processes meanwhile: theirs cannot be told from orphans.
    """
    is_linux = sys.platform == "linux"
    libc = ctypes.CDLL(None) if is_linux else None
    orphans = Orphans(frozenset(_children()))
    if libc is not None:
        libc.prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield orphans
    finally:
        if libc is not None:
            libc.prctl(_CHILD_SUBREAPER, 0, 0, 0, 0)


def _children() -> set[int]:
    """The numbers of this process's children; none where there is no `/proc`."""
    numbers: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            # The name, in brackets, may have anything in it.
            if int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1]) == os.getpid():
                numbers.add(int(folder.name))
    return numbers


def _handles(home: Path) -> Iterator[int]:
    """Handles on the processes, to be closed by whoever takes them."""
    wanted = b"HOME=" + os.fsencode(home)
    for folder in Path("/proc").glob("[0-9]*") if hasattr(os, "pidfd_open") else ():
        with suppress(OSError):  # it ended meanwhile, or belongs to another user
            handle = os.pidfd_open(int(folder.name))
            try:
                is_one = wanted in (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                is_one = False
            if is_one:
                yield handle
            else:
                os.close(handle)
