"""Processes that a run started and that outlive it: whoever their parent is now, they have the run's HOME."""

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

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
